"""enmesh compare: what grew and what fell between two recordings or two groups of subjects."""

import sys
from pathlib import Path
from typing import Any

import enmesh as em
from enmesh.cli import arguments as a
from enmesh.cli import build, show
from enmesh.cli.results import refuse_foreign, write_answer
from enmesh.data.table import listed, visible
from enmesh.errors import InputError
from enmesh.network.network import LEVEL

FILES = ("difference.json", "difference.csv", "difference.png", "difference.svg", "difference.html")
FORMAT = "enmesh difference 1"
BETWEEN = "vs"  # the word that stands between two groups

TOLD = f"Two recordings ({a.FORMATS}), or two groups with vs between them: each file is a subject."
SIDES = a.argument("data", list[Path], TOLD, "FIRST... [vs] SECOND...")
OPTIONS = a.group(
    "Options",
    paired=(bool, None, "Both groups are the same subjects in the same order."),
    permutations=(int, "N", "Exchanges of labels; 999.", 999),
    n_jobs=(*a.JOBS, 1),
)
OUT = a.group("Output", out=(*a.FOLDER, Path("difference")))


@a.with_options(SIDES, OPTIONS, OUT, a.FORCE, a.JSON, a.QUIET, a.ESTIMATOR, a.EMBEDDING, a.score, a.DATA)
def compare(words: a.Given) -> None:
    """Compare the links of two recordings or groups: what grew, what fell, and is it chance?

    Every pair of nodes is measured in both recordings, given the parents found
    in either. Exchanging the labels of trials, or of blocks of samples, shows
    what chance gives. Several files on each side are subjects: then the labels
    of subjects are exchanged, or with --paired the two sides of each subject.
    The folder gets difference.csv, .json, .png, .svg and .html, a page to share.

    \b
    Examples
      enmesh compare before.csv after.csv
      enmesh compare before.csv after.csv --out difference/ --permutations 4999
      enmesh compare rest.csv task.csv --estimator gaussian --dim 2 --jobs 2
      enmesh compare patients/*.csv vs controls/*.csv --jobs 2
      enmesh compare rest/*.csv vs task/*.csv --paired
    """
    sides, out, loud = _sides(words["data"]), words["out"], not (words["json"] or words["quiet"])
    refuse_foreign(out, FILES, "difference", sides[0] + sides[1], words["force"])
    series = [[build.recording({**words, "data": path}) for path in side] for side in sides]
    first, second = (side[0] if len(side) == 1 else side for side in series)
    called = [visible(side[0].stem if len(side) == 1 else side[0].parent.name) for side in sides]
    how: dict[str, Any] = {"paired": words["paired"], "n_jobs": words["n_jobs"]}
    how["labels"] = called if all(called) and called[0] != called[1] else None
    how["progress"] = loud and sys.stderr.isatty()
    found = em.compare(first, second, words["permutations"], words["seed"], **how, **build.asked(words))
    made = {
        "format": FORMAT,
        "first": [str(file) for file in sides[0]],
        "second": [str(file) for file in sides[1]],
        "exchanged": found.exchanged,
        "links": found.links.to_dict("records"),
    }
    links = found.links
    files = write_answer(out, FILES, made, links, found)
    if words["json"]:
        show.as_json({**made, "files": files})
    elif loud:
        changed = links[links.q_value <= LEVEL]
        differ = "differs" if len(changed) == 1 else "differ"
        said = f"{len(changed)} of {len(links)} pairs {differ}" if len(changed) else "no pair differs"
        print(f"{said} (q up to {LEVEL:g}; {found.exchanged})")
        columns = ["source", "target", *(f"TE {name}" for name in found.labels), "difference", "p", "q"]
        show.table(columns, [list(row) for row in links.itertuples(index=False)])
        show.where(files)


def _sides(files: list[Path]) -> tuple[list[Path], list[Path]]:
    """Return the files on both sides of the word vs; two files need no word between them."""
    words = [str(file) for file in files]
    if len(files) == 2 and BETWEEN not in words:
        sides = files[:1], files[1:]
    elif words.count(BETWEEN) == 1:
        at = words.index(BETWEEN)
        sides = files[:at], files[at + 1 :]
    else:
        told = f"{len(files)} file{'s' * (len(files) != 1)}" if BETWEEN not in words else "vs more than once"
        groups = "two groups as in a1.csv a2.csv vs b1.csv b2.csv"
        raise InputError(f"{told} cannot be compared; give two recordings, or {groups}")
    sizes = [len(side) for side in sides]
    if sizes != [1, 1] and min(sizes) < 2:
        advice = "give one on each side, or at least 2 subjects on each side of vs"
        raise InputError(f"{sizes[0]} and {sizes[1]} recordings; {advice}")
    if twice := sorted({word for word in words if words.count(word) > 1}):
        raise InputError(f"{listed(twice)} is given more than once; give each recording once")
    return sides
