"""enmesh simulate, datasets, demo and reproduce: recordings whose network is known."""

import sys
from pathlib import Path
from typing import Any

import enmesh as em
from enmesh.cli import arguments as a
from enmesh.cli import build, show
from enmesh.cli.infer import run
from enmesh.cli.results import results_folder
from enmesh.data.files import series_table, write_series
from enmesh.data.graph_input import parents_of
from enmesh.data.sources import refuse_existing

MAPS, FLOWS = ("logistic", "tent", "henon"), ("lorenz", "rossler", "mixed")
# The options each kind of system takes.
COMMON = ("coupling", "noise", "obs_noise", "lags")
TAKES: dict[str, tuple[str, ...]] = dict.fromkeys((*MAPS, "var"), COMMON)
TAKES |= dict.fromkeys(FLOWS, (*COMMON, "dt")) | {"boolean": (), "markov": ()}
TRUTH = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c"), "e": ("d",)}
DESCRIPTION = """\
        b
      ↗   ↘
    a       d → e       five chaotic logistic maps
      ↘   ↗             and what drives what
        c

Only their recordings are looked at, 1000 samples each:"""


TOLD = f"What each node is: {', '.join(TAKES)} (lorenz and rossler in turn is mixed)."
NAME = a.argument("system", a.choice("SystemName", TAKES), TOLD)
SYSTEM = a.group(
    "Options",
    coupling=(float, "X", "Strength; 0.3 for maps, 2 for flows, 0.4 for var."),
    noise=(float, "X", "Standard deviation of the noise on the state; 0, but 1 for var."),
    obs_noise=(float, "X", "Standard deviation of the noise on the observation; 0."),
    lags=(str, "N or a:b=N,..", "Samples after which links act; 1."),
    dt=(float, "X", "Sampling step of flows; 0.05."),
    n=(int, "N", "Number of samples; 1000.", 1000, "-n"),
)
OUT = a.group("Output", out=(Path, "FILE", "csv, npz or parquet; by default csv on stdout."))
TOUR = a.group("Output", out=(*a.FOLDER, Path("demo-results")))


@a.with_options(NAME, a.GRAPH, SYSTEM, a.SEED, OUT, a.FORCE, a.JSON)
def simulate(given: a.Given) -> None:
    """Simulate a network whose links are known.

    \b
    Examples
      enmesh simulate logistic --graph "a>b, b>c" -n 1000 --out data.csv
      enmesh simulate mixed --graph "a>b, a>c" --dt 0.05 --out flows.npz
      enmesh simulate var --graph "a>b, c" -n 500 | head
      enmesh simulate var --graph "a>b, b>c" --lags a:b=3,b:c=2 --out data.csv
    """
    name, graph = given["system"], parents_of(given["graph"])
    options = build.present(given, (*COMMON, "dt"))
    build.refuse_idle(options, TAKES[name], f"the system {name}")
    if "lags" in options:
        options["lags"] = build.link_lags(options["lags"])
    options |= {"n": given["n"], "seed": given["seed"]}
    if name in MAPS:
        series = em.simulate.coupled_map(graph, map=name, **options)
    elif name in FLOWS:
        turns = {node: ("lorenz", "rossler")[i % 2] for i, node in enumerate(graph)}
        series = em.simulate.coupled_flow(graph, system=turns if name == "mixed" else name, **options)
    else:
        series = getattr(em.simulate, name)(graph, **options)
    _write(series, given)


@a.with_options(a.argument("name", str | None, "Recording; without it, all of them."), OUT, a.FORCE, a.JSON)
def datasets(given: a.Given) -> None:
    """Get a recording to begin with, whose network is known.

    \b
    Examples
      enmesh datasets
      enmesh datasets gas-furnace --out rec.csv
      enmesh datasets cortex | enmesh infer - --out results/
    """
    if given["name"] is not None:
        _write(em.datasets.load(given["name"]), given)
        return
    known = [em.datasets.about(one) for one in em.datasets.names()]
    if given["json"]:
        show.as_json(known)
        return
    for entry in known:
        print(f"{entry['name']:<14} {entry['summary']} [{entry['licence']}]")


def _write(series: em.Series, given: a.Given) -> None:
    """Write a recording to a file or to stdout, and say what is known of it."""
    truth, acting, out = series.truth or {}, series.truth_lags or {}, given["out"]
    refuse_existing(out, given["force"])
    if out is not None:
        write_series(series, out)
    if given["json"]:
        about = {"names": series.names, "dt": series.dt, "truth": series.truth, "samples": series.lengths[0]}
        about["lags"] = {f"{s}:{t}": found for (s, t), found in acting.items()}
        show.as_json(about | ({"file": out} if out is not None else {"values": series.values}))
    elif out is not None:
        pairs = [(s, t) for t, sources in truth.items() for s in sources]
        late = {ends: f" (lag {', '.join(map(str, lags))})" for ends, lags in acting.items() if lags != (1,)}
        links = ", ".join(f"{s}>{t}{late.get((s, t), '')}" for s, t in pairs) or "none"
        print(f"{out}: {series.n_nodes} nodes, {series.lengths[0]} samples, dt {series.dt:g}; links: {links}")
    else:
        series_table(series).to_csv(sys.stdout, index=False)


def demo_options(seed: int = 0) -> dict[str, Any]:
    """Return the options of `enmesh.infer` for the demonstration: the paper's score and class of graphs."""
    # 399 surrogates are the fewest that can bring one link among 20 pairs to a q-value of 0.05.
    score = em.TEE(estimator=em.KSG(), embedding=em.Embedding(), n_surrogates=399, seed=seed)
    return {"score": score, "search": em.Exact(), "max_parents": 3, "acyclic": True, "seed": seed}


@a.with_options(TOUR, a.group("Options", n_jobs=(*a.JOBS, -1)), a.SEED, a.JSON, a.QUIET)
def demo(given: a.Given) -> None:
    """The two-minute tour: simulate a network, infer it, show both.

    \b
    Examples
      enmesh demo
      enmesh demo --out /tmp/tour --seed 7
    """
    out, seed, talk = results_folder(given["out"]), given["seed"], not (given["json"] or given["quiet"])
    system: Any = {"map": "logistic", "r": 4.0, "coupling": 0.3, "noise": 0.05}
    series = em.simulate.coupled_map(TRUTH, n=1000, seed=seed, **system)
    if talk:
        print(DESCRIPTION)
    options = demo_options(seed) | {"n_jobs": given["n_jobs"], "progress": talk and sys.stderr.isatty()}
    network, files = run(series, out, options)
    if given["json"]:
        show.as_json(show.network_json(network, files) | {"truth": series.truth})
    elif talk:
        show.network(network, files, series.truth)
        print(f"Open {(out / 'report.html').resolve()} in a browser.")


def _experiments(incomplete: str) -> list[str]:
    import enmesh_reproduce

    return [name for name in enmesh_reproduce.NAMES if name.startswith(incomplete)]


NAMES = "Figure or experiment; without it, their names."
EXPERIMENT = a.argument("name", str | None, NAMES, autocompletion=_experiments)
SIZE = bool, None, "A smaller version in minutes, or all.", True, "--quick/--full"
QUICK = a.group("Options", quick=SIZE, n_jobs=(*a.JOBS, 1))
FIGURES = a.group("Output", out=(Path, "DIR", "Folder; by default reproduce-NAME."))


@a.with_options(EXPERIMENT, QUICK, FIGURES, a.SEED)
def reproduce(given: a.Given) -> None:
    """Repeat a figure or experiment of the paper.

    \b
    Examples
      enmesh reproduce
      enmesh reproduce fig1
      enmesh reproduce fig1 --full --out fig1/
    """
    import enmesh_reproduce

    name = given["name"]
    if name is None:
        print("\n".join(enmesh_reproduce.NAMES))
        return
    how = {option: given[option] for option in ("quick", "seed", "n_jobs")}
    folder = given["out"] or Path(f"reproduce-{name}")
    files = enmesh_reproduce.run(name, out=folder, progress=sys.stderr.isatty(), **how)
    show.where(files)
