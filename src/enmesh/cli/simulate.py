"""enmesh simulate, datasets, demo and reproduce: recordings whose network is known."""

import sys
from collections.abc import Mapping
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer

import enmesh as em
from enmesh import reproduce as experiments
from enmesh.cli import arguments as a
from enmesh.cli import build, show
from enmesh.cli.infer import run
from enmesh.cli.results import results_folder
from enmesh.data.export import series_table, write_series
from enmesh.data.graph_input import parents_of
from enmesh.data.sources import refuse_existing

MAPS, FLOWS = ("logistic", "tent", "henon"), ("lorenz", "rossler", "mixed")
# The options each kind of system takes.
COMMON = ("coupling", "noise", "obs_noise", "lags")
TAKES = {
    **dict.fromkeys((*MAPS, "var"), COMMON),
    **dict.fromkeys(FLOWS, (*COMMON, "dt")),
    "boolean": (),
    "markov": (),
}
TRUTH = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c"), "e": ("d",)}
DESCRIPTION = """\
        b
      ↗   ↘
    a       d → e       five chaotic logistic maps
      ↘   ↗             and what drives what
        c

Only their recordings are looked at, 1000 samples each:"""


TOLD = f"What each node is: {', '.join(TAKES)} (lorenz and rossler in turn is mixed)."
NAMED: Any = Annotated[a.choice("SystemName", TAKES), typer.Argument(help=TOLD)]
SYSTEM = {
    "system": (NAMED, Parameter.empty),
    **a.group(
        "Options",
        {
            "coupling": (float, "X", "Strength; 0.3 for maps, 2 for flows, 0.4 for var."),
            "noise": (float, "X", "Standard deviation of the noise on the state; 0, but 1 for var."),
            "obs_noise": (float, "X", "Standard deviation of the noise on the observation; 0."),
            "lags": (str, "N or a:b=N,..", "Samples after which links act; 1."),
            "dt": (float, "X", "Sampling step of flows; 0.05."),
        },
    ),
}
Out = Annotated[
    Path | None, a.option("Output", "--out", "FILE", "csv, npz or parquet; by default csv on stdout.")
]


@a.with_options(SYSTEM)
def simulate(
    ctx: typer.Context,
    graph: a.Graph,
    n: Annotated[int, a.option("Options", "-n", "N", "Number of samples; 1000.")] = 1000,
    seed: a.Seed = 0,
    out: Out = None,
    force: a.Force = False,
    json: a.Json = False,
) -> None:
    """Simulate a network whose links are known.

    \b
    Examples
      enmesh simulate logistic --graph "a>b, b>c" -n 1000 --out data.csv
      enmesh simulate mixed --graph "a>b, a>c" --dt 0.05 --out flows.npz
      enmesh simulate var --graph "a>b, c" -n 500 | head
      enmesh simulate var --graph "a>b, b>c" --lags a:b=3,b:c=2 --out data.csv
    """
    _write(_simulated(a.words(ctx)), out, force, json)


def datasets(
    name: Annotated[str | None, typer.Argument(help="Name of a recording; without it, all of them.")] = None,
    out: Out = None,
    force: a.Force = False,
    json: a.Json = False,
) -> None:
    """Get a recording to begin with, whose network is known.

    \b
    Examples
      enmesh datasets
      enmesh datasets gas-furnace --out rec.csv
      enmesh datasets cortex | enmesh infer - --out results/
    """
    if name is not None:
        _write(em.datasets.load(name), out, force, json)
        return
    known = [em.datasets.about(one) for one in em.datasets.names()]
    if json:
        show.as_json(known)
    for entry in () if json else known:
        print(f"{entry['name']:<14} {entry['summary']} [{entry['licence']}]")


def _write(series: em.Series, out: Path | None, force: bool, json: bool) -> None:
    """Write a recording to a file or to stdout, and say what is known of it."""
    truth, acting = series.truth or {}, series.truth_lags or {}
    if out is not None:
        refuse_existing(out, force)
        write_series(series, out)
    if json:
        about = {"names": series.names, "dt": series.dt, "truth": series.truth, "samples": series.lengths[0]}
        about["lags"] = {f"{s}:{t}": found for (s, t), found in acting.items()}
        show.as_json(about | ({"file": str(out)} if out is not None else {"values": series.values}))
    elif out is not None:
        pairs = [(s, t) for t, sources in truth.items() for s in sources]
        late = {ends: f" (lag {', '.join(map(str, lags))})" for ends, lags in acting.items() if lags != (1,)}
        links = ", ".join(f"{s}>{t}{late.get((s, t), '')}" for s, t in pairs) or "none"
        print(f"{out}: {series.n_nodes} nodes, {series.lengths[0]} samples, dt {series.dt:g}; links: {links}")
    else:
        series_table(series).to_csv(sys.stdout, index=False)


def _simulated(given: Mapping[str, Any]) -> em.Series:
    name, graph = given["system"], parents_of(given["graph"])
    options = build.present(given, (*COMMON, "dt"))
    build.refuse_idle(options, TAKES[name], f"the system {name}")
    if "lags" in options:
        options["lags"] = build.link_lags(options["lags"])
    options |= {"n": given["n"], "seed": given["seed"]}
    if name in MAPS:
        return em.simulate.coupled_map(graph, map=name, **options)
    if name in FLOWS:
        turns = {node: ("lorenz", "rossler")[i % 2] for i, node in enumerate(graph)}
        return em.simulate.coupled_flow(graph, system=turns if name == "mixed" else name, **options)
    made: em.Series = getattr(em.simulate, name)(graph, **options)
    return made


def demo_options(seed: int = 0) -> dict[str, Any]:
    """Return the options of `enmesh.infer` for the demonstration."""
    # 399 surrogates are the fewest that can bring one link among 20 pairs to a q-value of 0.05.
    score = em.TEE(estimator=em.KSG(), embedding=em.Embedding(), n_surrogates=399, seed=seed)
    return {"score": score, "search": em.Exact(), "max_parents": 3, "seed": seed}


def demo(
    out: a.Folder = Path("demo-results"),
    seed: a.Seed = 0,
    jobs: a.Jobs = -1,
    json: a.Json = False,
    quiet: a.Quiet = False,
) -> None:
    """The two-minute tour: simulate a network, infer it, show both.

    \b
    Examples
      enmesh demo
      enmesh demo --out /tmp/tour --seed 7
    """
    results_folder(out)
    series = em.simulate.coupled_map(
        TRUTH, n=1000, map="logistic", r=4.0, coupling=0.3, noise=0.05, seed=seed
    )
    talk = not (json or quiet)
    if talk:
        print(DESCRIPTION)
    options = demo_options(seed) | {"n_jobs": jobs, "progress": talk and sys.stderr.isatty()}
    network, files = run(series, out, options)
    if json:
        show.as_json(show.network_json(network, files) | {"truth": series.truth})
    elif talk:
        show.network(network, files, series.truth)
        print(f"Open {(out / 'report.html').resolve()} in a browser.")


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Figure or experiment; without it, their names.",
            autocompletion=lambda incomplete: [
                name for name in experiments.NAMES if name.startswith(incomplete)
            ],
        ),
    ] = None,
    quick: Annotated[
        bool, a.option("Options", "--quick/--full", None, "A smaller version in minutes, or all.")
    ] = True,
    out: Annotated[
        Path | None, a.option("Output", "--out", "DIR", "Folder; by default reproduce-NAME.")
    ] = None,
    seed: a.Seed = 0,
    jobs: a.Jobs = 1,
) -> None:
    """Repeat a figure or experiment of the paper.

    \b
    Examples
      enmesh reproduce
      enmesh reproduce fig1
      enmesh reproduce fig1 --full --out fig1/
    """
    if name is None:
        print("\n".join(experiments.NAMES))
        return
    folder, watched = out or Path(f"reproduce-{name}"), sys.stderr.isatty()
    files = experiments.run(name, out=folder, quick=quick, seed=seed, n_jobs=jobs, progress=watched)
    print(f"files in {folder}: {', '.join(file.name for file in files)}")
