"""enmesh regimes: when do links change, and what is the network before and after?"""

import sys
from pathlib import Path
from typing import Any

import enmesh as em
from enmesh.cli import arguments as a
from enmesh.cli import build, show
from enmesh.cli.results import refuse_foreign, write_answer

FILES = ("regimes.json", "changes.csv", "regimes.png", "regimes.svg", "regimes.html")
FORMAT = "enmesh regimes 1"

OPTIONS = a.group(
    "Options",
    level=(float, "P", "Error rate of a change point; 0.05.", 0.05),
    shortest=(int, "N", "Samples of the shortest regime; a tenth of the recording."),
    max_lag=(int, "N", "Largest lag at which sources are looked for."),
    n_jobs=(*a.JOBS, 1),
)
OUT = a.group("Output", out=(*a.FOLDER, Path("regimes")))


@a.with_options(a.FILE, OPTIONS, OUT, a.FORCE, a.JSON, a.QUIET, a.DATA)
def regimes(words: a.Given) -> None:
    """Find when links change, and infer one network for each regime.

    The folder gets regimes.json, changes.csv (which links change, when, and how
    sure), .png, .svg and .html, a page to share. The p-values allow for the
    search for the time of a change.

    \b
    Examples
      enmesh regimes recording.csv
      enmesh regimes recording.csv --shortest 300 --max-lag 3 --out regimes/
    """
    out, loud = words["out"], not (words["json"] or words["quiet"])
    refuse_foreign(out, FILES, "regimes", [words["data"]], words["force"])
    series = build.recording(words)
    how = build.present(words, ("n_jobs", "level", "shortest", "max_lag"))
    found = em.regimes(series, progress=loud and sys.stderr.isatty(), **how)
    made = {
        "format": FORMAT,
        "change_points": list(found.change_points),
        "p_values": list(found.p_values),
        "bounds": [list(one) for one in found.bounds],
        "changes": found.changes.to_dict("records"),
        "parents": [{t: list(s) for t, s in one.parents.items()} for one in found.networks],
    }
    files = write_answer(out, FILES, made, found.changes, found)
    if words["json"]:
        show.as_json({**made, "files": files})
    elif loud:
        _say(found)
        show.where(files)


def _say(found: Any) -> None:
    """Print the change points, the network of each regime and the links that change."""
    if not found.change_points:
        show.say(f"no change of the links found (error rate {found.level:g})")
    for point, p in zip(found.change_points, found.p_values):
        show.say(f"links change at sample {point + 1} (p = {p:.2g}; it allows for the search for the time)")
    for (first, last), network in zip(found.bounds, found.networks):
        links = ", ".join(f"{source} -> {target}" for source, target in network) or "no link"
        show.say(f"samples {first + 1} to {last}: {links}")
    if len(found.changes):
        rows = found.changes.assign(at=found.changes["at"] + 1)  # samples count from 1, as above
        show.table(list(rows), [list(row) for row in rows.itertuples(index=False)])
