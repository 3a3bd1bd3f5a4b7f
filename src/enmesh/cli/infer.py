"""enmesh infer: from a recording to a network, a picture and a page."""

import logging
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from enmesh.cli import arguments as a
from enmesh.cli import build, show
from enmesh.cli import events as of_events
from enmesh.errors import InputError, was_stopped
from enmesh.inference.defaults import Choices

if TYPE_CHECKING:
    from enmesh.data.series import Series
    from enmesh.inference.network import Network

log = logging.getLogger("enmesh")

STORE = "run.db"


class Interrupted(Exception):
    """The user stopped a run. The message says what was kept and how to go on."""


@a.takes(
    a.output, a.estimator, a.embedding, a.max_lag, a.score, a.search, a.data, a.preparing, of_events.options
)
def infer(ctx: typer.Context, data: a.Files, json: a.Json = False, quiet: a.Quiet = False) -> None:
    """Infer which node drives which; write the network, pictures and a page.

    What is not given is chosen from the data and reported with its reason.
    The folder gets network.json, edges.csv, network.png, network.svg,
    report.html and run.db, which keeps what is finished: a stopped run goes
    on with --resume; without it, an existing run.db is kept as run-1.db.
    Files that enmesh did not write are not overwritten without --force.

    \b
    Examples
      enmesh infer recording.csv
      enmesh infer recording.csv --out results/ --format graphml
      enmesh infer recording.csv --estimator gaussian --score tea --jobs 2
      enmesh infer recording.csv --dim 2 --alpha 0.95 --surrogates 499 --seed 1
      enmesh infer recording.csv --allow-cycles --require a:b --forbid c:a
      enmesh infer prices.csv --time sort --time ignore
      cat recording.csv | enmesh infer - --out results/
      enmesh infer one.csv two.csv --time seconds --columns heart,chest --json
      enmesh infer spikes.csv --events --duration 600
    """
    from enmesh.inference.results import with_visible_names

    given, choices = a.words(ctx), Choices()
    series: Any = of_events.read(given) if given["events"] else build.series(given)
    scored = of_events.score(given) if given["events"] else {"score": build.score(given, series, choices)}
    options = {
        **scored,
        "search": build.search(given),
        "max_lag": given["max_lag"],
        "tiers": build.tiers(given["tiers"]),
        "max_parents": given["max_parents"],
        "acyclic": not given["allow_cycles"],
        "required": _edges(series, "require", given["require"]),
        "forbidden": _edges(series, "forbid", given["forbid"]),
        "screen": given["screen"],
        "bootstrap": given["bootstrap"] or 0,
        "n_jobs": given["jobs"],
        "seed": given["seed"],
        "progress": not (quiet or json) and sys.stderr.isatty(),
    }
    place = Place(
        folder=_folder(given["out"], data[0]),
        inputs=tuple(data),
        command=shlex.join(["enmesh", *(word for word in ctx.find_root().obj or () if word != "--resume")]),
        resume=given["resume"],
        force=given["force"],
    )
    network, files = run(series, place, options, given["formats"] or (), choices.entries)
    if json:
        show.as_json(show.network_json(network, files))
    elif not quiet:
        show.network(with_visible_names(network), files)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where results come from and go, and what must not be lost there: what was read, others' files, a stored run."""

    folder: Path
    inputs: tuple[Path, ...] = ()
    command: str = ""
    resume: bool = False
    force: bool = False

    @property
    def origin(self) -> dict[str, str]:
        """The files that were read and the command, as far as they are known, for the result's provenance."""
        files = ", ".join(str(path) for path in self.inputs if str(path) != "-")
        known = {"file": files, "command": self.command}
        return {name: value for name, value in known.items() if value}


def run(
    series: "Series",
    place: Place,
    options: dict[str, Any],
    formats: Sequence[str] = (),
    choices: Sequence[tuple[str, str, str]] = (),
) -> "tuple[Network, list[Path]]":
    """Infer, keep what is finished in the folder, and write the results there."""
    from enmesh.inference.infer import infer as infer_network
    from enmesh.inference.results import refuse_foreign, result_names, results_folder, write_results

    refuse_foreign(place.folder, result_names(formats), place.inputs, place.force)
    results_folder(place.folder)
    store = _store(place)
    try:
        with _changes_said(place.resume):
            network = infer_network(series, store=store, **options)
        origin = {**network.provenance, **place.origin}
        network = replace(network, choices=(*choices, *network.choices), provenance=origin)
        files = write_results(network, place.folder, formats, inputs=place.inputs, force=place.force)
        return network, [*files, store]
    except (KeyboardInterrupt, SystemError) as error:
        if not was_stopped(error):
            raise
        raise Interrupted(
            f"stopped; what was finished is in {store}, and the same command with --resume goes on from there"
        ) from None


def _folder(out: Path | None, data: Path) -> Path:
    if out is not None:
        return Path(out)
    if str(data) == "-":
        return Path("results")
    name = data.stem if data.suffix.lower() in (".gz", ".xz", ".zip") else data.name
    return Path(f"{Path(name).stem}-results")


def _store(place: Place) -> Path:
    """Return the path of the store; unless it is to be resumed, one that is there is kept under another name."""
    from enmesh.inference.store import runs

    store = place.folder / STORE
    if not store.exists():
        if place.resume:
            log.warning("there is no %s to go on from; starting afresh", store)
        return store
    if any(store.samefile(one) for one in place.inputs if one.exists()):
        raise InputError(f"{store} is what was read and would be overwritten; give another --out")
    held = runs(store) if store.is_file() and store.stat().st_size else []
    if place.resume:
        return store
    if any(run["status"] == "running" for run in held):
        raise InputError(
            f"{store} belongs to a run that is still going on; wait for it or give another --out"
        )
    aside = next(one for one in map(_aside(store), count(1)) if not one.exists())
    log_of_writes = Path(f"{store}-wal")
    if log_of_writes.exists() and not log_of_writes.stat().st_size:  # reading has left it, empty
        log_of_writes.unlink()
        Path(f"{store}-shm").unlink(missing_ok=True)
    for ending in ("", "-wal", "-shm", ".halves.jsonl"):
        if Path(f"{store}{ending}").exists():
            Path(f"{store}{ending}").rename(f"{aside}{ending}")
    if held:
        log.warning("%s of an earlier run is kept as %s; --resume would go on from it", store, aside.name)
    return store


def _aside(store: Path) -> Callable[[int], Path]:
    return lambda number: store.with_name(f"{store.stem}-{number}{store.suffix}")


@contextmanager
def _changes_said(resume: bool) -> Iterator[None]:
    """Let the store say what differs between the run that is resumed and those it holds."""
    told = logging.getLogger("enmesh.store")
    before = told.level
    told.setLevel(logging.INFO if resume else before)
    try:
        yield
    finally:
        told.setLevel(before)


def _edges(series: "Series", option: str, words: Sequence[str] | None) -> list[tuple[str, str]]:
    edges = build.edges(option, words)
    for edge in edges:
        series.indices(edge)
    return edges
