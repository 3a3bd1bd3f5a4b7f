"""enmesh simulate, datasets and demo: recordings whose network is known."""

import sys
from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import typer

from enmesh.cli import arguments as a
from enmesh.cli import build, show
from enmesh.cli.infer import Place, run
from enmesh.data.series import Series

MAPS, FLOWS = ("logistic", "tent", "henon"), ("lorenz", "rossler", "mixed")
# The options each kind of system takes.
TAKES = {
    **dict.fromkeys(MAPS, ("coupling", "noise", "obs_noise", "lags")),
    **dict.fromkeys(FLOWS, ("coupling", "noise", "obs_noise", "lags", "dt")),
    "var": ("coupling", "noise", "obs_noise", "lags"),
    "boolean": (),
    "markov": (),
}


def system() -> a.Group:
    """Return the argument that names a system."""
    told = "What each node is; mixed: lorenz and rossler in turn."
    return {"system": (Annotated[a.system_names(), typer.Argument(help=told)], Parameter.empty)}


def numbers() -> a.Group:
    """Return the numbers that a system may be given; None leaves them as the system has them."""

    def number(flag: str, told: str) -> tuple[Any, Any]:
        return Annotated[float | None, typer.Option(flag, help=told, show_default=False)], None

    return {
        "coupling": number("--coupling", "Strength; 0.3 for maps, 2 for flows, 0.4 for var."),
        "noise": number("--noise", "Standard deviation of the noise on the state; 0, but 1 for var."),
        "obs_noise": number("--obs-noise", "Standard deviation of the noise on the observation; 0."),
        "dt": number("--dt", "Sampling step of flows; 0.05."),
    }


Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="csv, npz or parquet; by default csv on stdout."),
]


@a.takes(system, numbers)
def simulate(
    ctx: typer.Context,
    graph: a.Graph,
    n: Annotated[int, typer.Option("-n", help="Number of samples.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of start and noise.")] = 0,
    lags: Annotated[
        str | None,
        typer.Option(
            "--lags",
            metavar="N or a:b=N,..",
            help="Samples after which links act; 1.",
            show_default=False,
        ),
    ] = None,
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
    from enmesh import datasets as known

    if name is not None:
        _write(known.load(name), out, force, json)
    elif json:
        show.as_json([known.about(one) for one in known.names()])
    else:
        for entry in map(known.about, known.names()):
            print(f"{entry['name']:<14} {entry['summary']} [{entry['licence']}]")


def _write(series: Series, out: Path | None, force: bool, json: bool) -> None:
    """Write a recording to a file or to stdout, and say what is known of it."""
    from enmesh.data.export import refuse_existing, series_table, write_series

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
        links = ", ".join(f"{s}>{t}{_said_lags(acting.get((s, t), (1,)))}" for s, t in pairs) or "none"
        print(f"{out}: {series.n_nodes} nodes, {series.lengths[0]} samples, dt {series.dt:g}; links: {links}")
    else:
        series_table(series).to_csv(sys.stdout, index=False)


def _said_lags(lags: Iterable[int]) -> str:
    """Say the lags of a link unless it acts after one sample."""
    return "" if tuple(lags) == (1,) else f" (lag {', '.join(map(str, lags))})"


def _simulated(given: Mapping[str, Any]) -> Series:
    from enmesh import simulate as systems
    from enmesh.data.graph_input import parents_of

    name = given["system"]
    options = build.present(given, ("coupling", "noise", "obs_noise", "lags", "dt"))
    build.refuse_idle(options, TAKES[name], f"the system {name}")
    if "lags" in options:
        options["lags"] = build.link_lags(options["lags"])
    graph = parents_of(given["graph"])
    common = {"n": given["n"], "seed": given["seed"], **options}
    if name in MAPS:
        return systems.coupled_map(graph, map=name, **common)
    if name in FLOWS:
        turns = {node: ("lorenz", "rossler")[i % 2] for i, node in enumerate(graph)}
        return systems.coupled_flow(graph, system=turns if name == "mixed" else name, **common)
    others: dict[str, Callable[..., Series]]
    others = {"var": systems.var, "boolean": systems.boolean, "markov": systems.markov}
    return others[name](graph, **common)


def demo(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the results.")] = Path(
        "demo-results"
    ),
    seed: Annotated[int, typer.Option("--seed", help="Seed of the simulation and the surrogates.")] = 0,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", help="Workers, -1 for all cores.")] = -1,
    json: a.Json = False,
    quiet: a.Quiet = False,
) -> None:
    """The two-minute tour: simulate a network, infer it, show both.

    \b
    Examples
      enmesh demo
      enmesh demo --out /tmp/tour --seed 7
    """
    from enmesh.cli.demo import DESCRIPTION, demo_options, demo_series
    from enmesh.inference.results import results_folder

    results_folder(out)
    series = demo_series(seed)
    talk = not (json or quiet)
    if talk:
        print(DESCRIPTION)
    options = demo_options(seed) | {"n_jobs": jobs, "progress": talk and sys.stderr.isatty()}
    network, files = run(series, Place(folder=out), options)
    if json:
        show.as_json(show.network_json(network, files) | {"truth": series.truth})
    elif talk:
        show.network(network, files, series.truth)
        print(f"Open {(out / 'report.html').resolve()} in a browser.")
