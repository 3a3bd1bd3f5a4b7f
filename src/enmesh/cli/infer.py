"""enmesh infer: from a recording to a network, a picture and a page."""

import sys
from dataclasses import replace
from pathlib import Path

import typer

from enmesh.cli import arguments as a
from enmesh.cli import build, show
from enmesh.errors import InputError
from enmesh.inference.defaults import Choices

STORE = "run.db"


class Interrupted(Exception):
    """The user stopped a run. The message says what was kept and how to go on."""


@a.takes(a.output, a.estimator, a.embedding, a.max_lag, a.score, a.search, a.data)
def infer(ctx: typer.Context, data: a.Files, json: a.Json = False, quiet: a.Quiet = False) -> None:
    """Infer which node drives which; write the network, pictures and a page.

    What is not given is chosen from the data and reported with its reason.
    The folder gets network.json, edges.csv, network.png, network.svg,
    report.html and run.db, which keeps what is finished: a stopped run goes
    on with --resume. Without --resume an existing run.db is replaced.

    \b
    Examples
      enmesh infer recording.csv
      enmesh infer recording.csv --out results/ --format graphml
      enmesh infer recording.csv --estimator gaussian --score tea --jobs 2
      enmesh infer recording.csv --dim 2 --alpha 0.95 --surrogates 499 --seed 1
      enmesh infer recording.csv --allow-cycles --require a:b --forbid c:a
      enmesh infer one.csv two.csv --time seconds --columns heart,chest --json
    """
    given, choices = a.words(ctx), Choices()
    series = build.series(given)
    options = {
        "score": build.score(given, series, choices),
        "search": build.search(given),
        "max_parents": given["max_parents"],
        "acyclic": not given["allow_cycles"],
        "required": _edges(series, "require", given["require"]),
        "forbidden": _edges(series, "forbid", given["forbid"]),
        "screen": given["screen"],
        "n_jobs": given["jobs"],
        "seed": given["seed"],
        "progress": not (quiet or json) and sys.stderr.isatty(),
    }
    folder, formats = _folder(given["out"], data[0]), given["formats"] or ()
    network, files = run(series, folder, options, formats, given["resume"], choices.entries)
    if json:
        show.as_json(show.network_json(network, files))
    elif not quiet:
        show.network(network, files)


def run(series, folder: Path, options: dict, formats=(), resume: bool = False, choices=()):
    """Infer, keep what is finished in the folder, and write the results there."""
    from enmesh.inference.infer import infer as infer_network
    from enmesh.inference.results import results_folder, write_results

    store = _store(results_folder(folder), resume)
    try:
        network = infer_network(series, store=store, **options)
        network = replace(network, choices=(*choices, *network.choices))
        return network, [*write_results(network, folder, formats), store]
    except KeyboardInterrupt:
        raise Interrupted(
            f"stopped; what was finished is in {store}, and the same command with --resume goes on from there"
        ) from None


def _folder(out, data) -> Path:
    return out if out is not None else Path(f"{data.stem}-results")


def _store(folder, resume) -> Path:
    """Return the path of the store; unless it is to be resumed, one that is there goes, if it is one."""
    from enmesh.inference.store import runs

    store = folder / STORE
    if resume or not store.exists():
        return store
    if store.is_file() and store.stat().st_size and any(run["status"] == "running" for run in runs(store)):
        raise InputError(
            f"{store} belongs to a run that is still going on; wait for it or give another --out"
        )
    for ending in ("", "-wal", "-shm"):
        Path(f"{store}{ending}").unlink(missing_ok=True)
    return store


def _edges(series, option, words):
    edges = build.edges(option, words)
    for edge in edges:
        series.indices(edge)
    return edges
