"""enmesh compare: what grew and what fell between two recordings."""

import json as js
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from enmesh.cli import arguments as a
from enmesh.cli import build, show
from enmesh.errors import InputError
from enmesh.inference.defaults import Choices
from enmesh.inference.network import LEVEL

if TYPE_CHECKING:
    from enmesh.sureness.compare import Comparison

FILES = ("difference.json", "difference.csv", "difference.png", "difference.svg")
FORMAT = "enmesh difference 1"

Before = Annotated[Path, typer.Argument(metavar="FIRST", help=f"Recording: {a.FORMATS}.")]
After = Annotated[Path, typer.Argument(metavar="SECOND", help="Recording of the same nodes.")]
Permutations = Annotated[
    int, typer.Option("--permutations", metavar="N", help="Exchanges of labels; 999.", show_default=False)
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the results.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that enmesh did not write.")]
Jobs = Annotated[int, typer.Option("--jobs", metavar="N", help="Workers, -1 for all cores.")]


@a.takes(a.estimator, a.embedding, a.max_lag, a.score, a.data, a.preparing)
def compare(
    ctx: typer.Context,
    first: Before,
    second: After,
    out: Out = Path("difference"),
    permutations: Permutations = 999,
    jobs: Jobs = 1,
    force: Force = False,
    json: a.Json = False,
    quiet: a.Quiet = False,
) -> None:
    """Compare the links of two recordings: what grew, what fell, and is it chance?

    Every pair of nodes is measured in both, given the parents found in either;
    labels of trials, or of contiguous blocks, are exchanged to see what chance
    gives. The folder gets difference.csv, .json, .png and .svg.

    \b
    Examples
      enmesh compare before.csv after.csv
      enmesh compare before.csv after.csv --out difference/ --permutations 4999
      enmesh compare rest.csv task.csv --estimator gaussian --dim 2 --jobs 2
    """
    from enmesh.inference.results import refuse_foreign
    from enmesh.sureness.compare import compare as compared

    words, choices = a.words(ctx), Choices()
    refuse_foreign(out, FILES, (first, second), force or _is_ours(out))
    series = [build.series({**words, "data": path}) for path in (first, second)]
    found = compared(
        series[0],
        series[1],
        permutations,
        words["seed"],
        n_jobs=jobs,
        progress=not (quiet or json) and sys.stderr.isatty(),
        score=build.score(words, series[0], choices),
        max_lag=words["max_lag"],
    )
    data = _plain(found)
    files = _write(found, data, out)
    if json:
        show.as_json({**data, "files": [str(file) for file in files]})
    elif not quiet:
        _show(found, files)


def _plain(found: "Comparison") -> dict[str, Any]:
    return {"format": FORMAT, "exchanged": found.exchanged, "links": found.links.to_dict("records")}


def _show(found: "Comparison", files: list[Path]) -> None:
    links = found.links
    changed = links[links.q_value <= LEVEL]
    said = f"{len(changed)} of {len(links)} pairs differ" if len(changed) else "no pair differs"
    print(f"{said} (q up to {LEVEL:g}; {found.exchanged})")
    columns = ["source", "target", "TE first", "TE second", "difference", "p", "q"]
    show.table(columns, [list(row) for row in links.itertuples(index=False)])
    print(f"files in {files[0].parent}: {', '.join(file.name for file in files)}")


def _write(found: "Comparison", data: dict[str, Any], out: Path) -> list[Path]:
    """Write the table, the data and the pictures into a folder."""
    from enmesh.data.export import write_whole
    from enmesh.data.text_tables import guarded
    from enmesh.inference.results import results_folder

    folder, links = results_folder(out), found.links
    for end in ("source", "target"):
        links[end] = [guarded(str(name)) for name in links[end]]
    writers: dict[str, Any] = {
        "difference.json": lambda file: file.write_text(js.dumps(data, indent=1), encoding="utf-8"),
        "difference.csv": lambda file: links.to_csv(file, index=False),
        "difference.png": found.plot,
        "difference.svg": found.plot,
    }
    return [write_whole(folder / name, writers[name]) for name in FILES]


def _is_ours(folder: Path) -> bool:
    """Say whether an earlier comparison was written there."""
    try:
        return FORMAT in (folder / "difference.json").read_text(encoding="utf-8")[:200]
    except FileNotFoundError:
        return False
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {folder / 'difference.json'}: {error}") from None
