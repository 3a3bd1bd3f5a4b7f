"""enmesh infer --subjects: each file is a subject; one network, one page, and who has each link."""

import shlex
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import enmesh as em
from enmesh.cli import arguments as a
from enmesh.cli import build, cluster, infer, results, show
from enmesh.data.sources import write_whole
from enmesh.data.table import listed
from enmesh.errors import InputError
from enmesh.inference.progress import Progress
from enmesh.sureness.units import pooled, standardised

FILES = ("network.json", "edges.csv", "network.png", "network.svg")
MORE = ("group.csv", "subjects.csv", "report.html")
FOLDER = "subjects-results"


def infer_group(given: a.Given) -> None:
    """Infer the network of the subjects, write it with the page of the group, and print it."""
    files: list[Path] = given["data"]
    _refuse(given, files)
    typed = shlex.join(["enmesh", *(word for word in given["typed"] if word != "--resume")])
    folder = Path(given["out"] or FOLDER)
    names = [*FILES, *(f"network.{name}" for name in given["formats"] or ())]
    results.refuse_foreign(folder, [*names, *MORE], "network", files, given["force"])
    results.results_folder(folder)
    loud = not (given["quiet"] or given["json"])
    with cluster.on(given["cluster"], given["n_jobs"]), Progress(loud and sys.stderr.isatty()) as progress:
        with progress.phase("reading the subjects", len(files)):
            series = [_read(given, file, progress) for file in files]
        everyone = pooled([standardised(one) for one in series])
        asked = {name: value for name, value in infer.asked_of(given, everyone).items() if name != "bootstrap"}
        try:
            with infer.kept_in(folder / infer.STORE, everyone.digest, files, given["resume"], typed) as store:
                found = em.group(series, labels=_labels(files), store=store, progress=progress, **asked)
            with progress.phase("writing the results"):
                made = _write(found, folder, names)
        except (KeyboardInterrupt, SystemError, ImportError) as error:
            raise infer.stopped(error, folder / infer.STORE) from None
    if given["json"]:
        links = found.links.to_dict("records")
        show.as_json({**show.network_json(found.network, made), "subjects": found.subjects, "links": links})
    elif loud:
        show.network(results.with_visible_names(found.network), made)
        seen = [row for row in found.links.itertuples() if (row.source, row.target) in found.network]
        columns = ["source", "target", "subjects", "mean TE (nats)", "p", "q"]
        rows = [[r.source, r.target, f"{r.share:.0%}", r.te, r.p_value, r.q_value] for r in seen]
        show.table(columns, rows, f"{found.subjects} subjects")


def _refuse(given: a.Given, files: Sequence[Path]) -> None:
    if len(files) < 2:
        raise InputError("--subjects takes at least 2 files; name one for each subject")
    if twice := sorted({str(file) for file in files if files.count(file) > 1}):
        raise InputError(f"{listed(twice)} is given more than once; give each subject once")
    for name in ("events", "bootstrap"):
        if given[name]:
            raise InputError(f"--{name} does not go with --subjects; leave one of them out")


def _read(given: a.Given, file: Path, progress: Any) -> em.Series:
    try:
        return build.recording({**given, "data": file})
    except InputError as error:
        told = str(error)
        raise InputError(told if str(file) in told else f"{file}: {told}") from None
    finally:
        progress.advance()


def _labels(files: Sequence[Path]) -> list[str]:
    """Return the names of the files, with their folders where names alone are not different."""
    names = [file.name.split(".")[0] for file in files]
    return names if len(set(names)) == len(names) else [str(file) for file in files]


def _write(found: Any, folder: Path, names: Sequence[str]) -> list[Path]:
    """Write the network, a table of links, a table of each subject's own links, and the page."""
    import pandas as pd

    made = results.write_results(found.network, folder, names)
    nodes = found.network.names
    own = [(subject, nodes[i], nodes[j]) for subject, links in found.own.items() for i, j in zip(*links.nonzero())]
    tables = {"group.csv": found.links, "subjects.csv": pd.DataFrame(own, columns=["subject", "source", "target"])}
    for name, table in tables.items():
        made.append(write_whole(folder / name, partial(results.write_links, table)))
    return [*made, write_whole(folder / "report.html", found.report)]
