"""enmesh reproduce and runs: the paper's experiments; what a store holds."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from enmesh.cli import arguments as a
from enmesh.cli import show
from enmesh.cli.infer import STORE
from enmesh.errors import InputError


def _known_names(incomplete: str = "") -> list[str]:
    from enmesh.reproduce import NAMES

    return [name for name in NAMES if name.startswith(incomplete)]


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(help="Figure or experiment; without it, their names.", autocompletion=_known_names),
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
    from enmesh.reproduce import NAMES
    from enmesh.reproduce import run as reproduce_one

    if name is None:
        print("\n".join(NAMES))
        return
    if name not in NAMES:
        raise InputError(f"there is no experiment {name}; choose one of {', '.join(NAMES)}")
    folder, watched = out or Path(f"reproduce-{name}"), sys.stderr.isatty()
    files = reproduce_one(name, out=folder, quick=quick, seed=seed, n_jobs=jobs, progress=watched)
    print(f"files in {folder}: {', '.join(file.name for file in files)}")


def runs(
    store: Annotated[Path, typer.Argument(help="A run.db that infer wrote, or its folder.")],
    json: a.Json = False,
) -> None:
    """List the runs that a store holds, and how they ended.

    \b
    Examples
      enmesh runs recording-results
    """
    from enmesh.inference.store import runs as stored

    found = stored(store / STORE if store.is_dir() else store)
    if json:
        show.as_json(found)
        return
    fields = ("started", "last", "status", "nodes", "score", "families", "tests")
    rows = [run | {"nodes": len(run["names"]), "score": run["score"]["type"]} for run in found]
    show.table(["run", *fields], [[run["key"][:8], *(run[field] for field in fields)] for run in rows])
