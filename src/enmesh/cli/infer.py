"""enmesh infer: from a recording to a network, a picture and a page; enmesh runs: what its store holds."""

import logging
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import enmesh as em
from enmesh import late
from enmesh.cli import arguments as a
from enmesh.cli import build, cluster, results, show
from enmesh.errors import InputError, was_stopped
from enmesh.inference import store
from enmesh.inference.infer import check_numbers
from enmesh.inference.progress import Progress
from enmesh.options import whole

log = logging.getLogger("enmesh")

# The store of a results folder, and the endings of its name and of those SQLite keeps beside it.
STORE, ENDINGS = "run.db", ("", "-wal", "-shm")

WHERE = a.group(
    "Search",
    cluster=(str, "ADDRESS", "Scheduler of a dask cluster that computes, tcp://host:8786, or its scheduler file."),
    subjects=(bool, None, "Each file is a subject: the network of all, and who has each link."),
)
NOTHING = "it has no scores of these data; all are computed"


class Interrupted(Exception):
    """The user stopped a run. The message says what was kept and how to go on."""


@a.with_options(
    a.FILES,
    a.JSON,
    a.QUIET,
    a.OUTPUT,
    a.LEVEL,
    a.DEFAULT_TEST,
    a.ESTIMATOR,
    a.EMBEDDING,
    a.score,
    a.search,
    a.DATA,
    build.EVENTS,
    WHERE,
)
def infer(given: a.Given) -> None:
    """Infer which node drives which; write the network, pictures and a page.

    Every choice that you leave open is made from the data, and its reason is
    reported. The folder gets network.json, edges.csv, network.png,
    network.svg and report.html. run.db keeps finished work: add --resume to
    continue a stopped run. Without --resume, an old run.db becomes run-1.db.
    Only --force overwrites files that enmesh did not write.

    \b
    Examples
      enmesh infer recording.csv
      enmesh infer recording.csv --out results/ --format graphml
      enmesh infer recording.csv --level 0.05 --acyclic --context temperature
      enmesh infer prices.csv --time sort --time ignore
      cat recording.csv | enmesh infer - --out results/
      enmesh infer one.csv two.csv --time seconds --columns heart,chest --json
      enmesh infer spikes.csv --events --duration 600
      enmesh infer subjects/*.csv --subjects --cluster tcp://head:8786
    """
    if given["subjects"]:
        late.lazy_import("subjects")(given)
        return
    data: list[Path] = given["data"]
    name = Path(re.sub(r"\.(gz|xz|zip)$", "", data[0].name, flags=re.I)).stem
    typed = [word for word in given["typed"] if word != "--resume"]
    folder = Path(given["out"] or ("results" if name == "-" else f"{name}-results"))
    how: dict[str, Any] = {"command": shlex.join(["enmesh", *typed]), "formats": given["formats"] or ()}
    how |= {name: given[name] for name in ("resume", "force")}
    loud = not (given["quiet"] or given["json"])
    with cluster.on(given["cluster"], given["n_jobs"]), Progress(loud and sys.stderr.isatty()) as progress:
        with progress.phase("reading the data"):
            series = build.recording(given)
        shown: list[str] = []
        with show.cautions_in_order(shown):
            network, files = run(series, folder, asked_of(given, series) | {"progress": progress}, data, **how)
            shown += network.warnings * loud
    if given["json"]:
        show.as_json(show.network_json(network, files))
    elif loud:
        show.network(results.with_visible_names(network), files)


def asked_of(given: a.Given, series: Any) -> dict[str, Any]:
    """Return the options of `enmesh.infer` that the words of a command line say."""
    edges = {option: build.edges(option, given[option]) for option in ("require", "forbid")}
    for edge in (*edges["require"], *edges["forbid"]):
        series.indices(edge)
    if given["search"] == "independent" and given["acyclic"]:
        told = "--search independent takes each node alone, which allows cycles"
        raise InputError(f"{told}; leave out --acyclic")
    tiers = given["tiers"] and [part.replace(",", " ").split() for part in given["tiers"].split("|")]
    return {
        **build.asked(given),
        **{name: given[name] for name in ("max_parents", "screen", "seed", "search")},
        "n_jobs": None if given.get("cluster") else given["n_jobs"],
        "tiers": tiers,
        "acyclic": bool(given["acyclic"] and not given["allow_cycles"]),
        "within_sample": bool(given["within_sample"]),
        "level": given["level"],
        "fdr": given["fdr"],
        "context": build.names(given["context"]),
        "required": edges["require"],
        "forbidden": edges["forbid"],
        "bootstrap": given["bootstrap"] or 0,
    }


def run(
    series: em.Series, folder: Path, options: dict[str, Any], inputs: Sequence[Path] = (), *,
    command: str = "", formats: Sequence[str] = (), resume: bool = False, force: bool = False,
) -> tuple[em.Network, list[Path]]:  # fmt: skip
    """Infer, keep what is finished in the folder, and write the results there; what was read is not overwritten."""
    check_numbers(**options)
    whole("seed", options.get("seed", 0))
    if options.get("n_surrogates") is not None and options.get("alpha") != 0:
        whole("n_surrogates", options["n_surrogates"], 1)
    names = [*results.FILES, *(f"network.{name}" for name in formats)]
    results.refuse_foreign(folder, names, "network", inputs, force)
    results.results_folder(folder)
    try:
        with Progress.of(options.get("progress")) as progress:
            with kept_in(folder / STORE, series.digest, inputs, resume, command) as path:
                network = em.infer(series, store=path, **options | {"progress": progress})
            origin = {"file": ", ".join(str(one) for one in inputs if str(one) != "-"), "command": command}
            known = {name: said for name, said in origin.items() if said}
            network = replace(network, provenance={**network.provenance, **known})
            with progress.phase("writing the results"):
                files = results.write_results(network, folder, names)
        return network, [*files, path]
    except (KeyboardInterrupt, SystemError, ImportError) as error:
        raise stopped(error, folder / STORE) from None


def stopped(error: BaseException, store: Path) -> BaseException:
    """Return what to raise for an error: where the user stopped the run, how it goes on."""
    told = f"stopped; finished work is in {store}, and the same command with --resume goes on from there"
    return Interrupted(told) if was_stopped(error) else error


@contextmanager
def kept_in(path: Path, digest: str, inputs: Sequence[Path], resume: bool, command: str) -> Iterator[Path]:
    """Give the store a run may write to: the one that is resumed, or a new one; the old one is set aside.

    One earlier store is kept, as run-1.db. A run that is refused before it computes anything leaves all as it was.
    """
    if path.exists() and any(path.samefile(one) for one in inputs if one.exists()):
        raise InputError(f"{path} is what was read and would be overwritten; give another --out")
    held = store.runs(path) if path.is_file() and path.stat().st_size else []
    if resume:
        known = digest, em.__version__
        kept = sum(run["answers"] for run in held if (run["data"], run["code"].split("/")[0]) == known)
        before = store.note_command(path, command)
        told = f"{kept:,} scores of an earlier run are kept" if kept else NOTHING
        other = kept and _core(before) != _core(command) and before
        log.warning("resuming: %s%s", told, f"; it was: {before}; only differences are computed" if other else "")
        yield path
        return
    if any(run["status"] == "running" for run in held):
        raise InputError(f"{path} belongs to a run that is still going on; wait for it or give another --out")
    aside = next(one for one in _numbered(path) if not one.exists()) if path.exists() else None
    if aside is not None:
        _move(path, aside)
    try:
        store.note_command(path, command)
        yield path
    except InputError:
        if path.is_file() and not any(run["answers"] for run in store.runs(path)):
            _move(path)
            if aside is not None:
                _move(aside, path)
        raise
    finally:
        if held and aside is not None and aside.exists():
            name = _oldest(path, aside)
            log.warning(
                "%s holds this run, and the earlier run is kept as %s; nothing needs to be done. To continue the "
                "earlier run instead, rename %s to %s and add --resume", path, name, name, path.name,
            )  # fmt: skip


def _core(command: str) -> list[str]:
    """Return the words of a command line that can change what is computed."""
    words, core = iter(shlex.split(command)), list[str]()
    for word in words:
        if word in ("--out", "--jobs", "--format"):
            next(words, None)
        elif word not in ("--quiet", "-q", "--json", "--force"):
            core.append(word)
    return core


def _numbered(path: Path) -> Iterator[Path]:
    """Yield the names of stores that are set aside: run-1.db, run-2.db and so on."""
    return (path.with_name(f"{path.stem}-{number}{path.suffix}") for number in count(1))


def _oldest(path: Path, aside: Path) -> str:
    """Let a store that was set aside take the place of those that were set aside before; return its name."""
    first = next(_numbered(path))
    for older in takewhile(aside.__ne__, _numbered(path)):
        if older.exists() and not store.is_store(older):
            return aside.name  # somebody else's file: it stays
        _move(older)
    _move(aside, first)
    return first.name


def _move(store: Path, to: Path | None = None) -> None:
    """Rename a store with what SQLite keeps beside it, or remove it; reading has left empty files, which go."""
    beside = [Path(f"{store}{ending}") for ending in ENDINGS]
    empty = beside[1].exists() and not beside[1].stat().st_size
    for file, ending in zip(beside, ENDINGS):
        if to is None or (ending and empty):
            file.unlink(missing_ok=True)
        elif file.exists():
            file.rename(f"{to}{ending}")


@a.with_options(a.argument("path", Path, "A run.db that infer wrote, or its folder.", "STORE"), a.JSON)
def runs(given: a.Given) -> None:
    """List the runs that a store holds, and how they ended; each may have several steps.

    \b
    Examples
      enmesh runs recording-results
    """
    found = store.whole_runs(given["path"] / STORE if given["path"].is_dir() else given["path"])
    if given["json"]:
        show.as_json(found)
        return
    fields = ("started", "last", "status", "nodes", "steps", "families", "tests", "answers")
    rows = [run | {"nodes": len(run["names"])} for run in found]
    show.table(["run", *fields], [[run["key"][:8], *(run[field] for field in fields)] for run in rows])
