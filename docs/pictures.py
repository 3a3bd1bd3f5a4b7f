"""Draw the pictures of the pages: run the code of every page that shows one, on light and on dark ground.

A page shows ``_gallery/PAGE/NAME.png`` if one of its blocks writes ``NAME.png``. Blocks that draw are run twice, the
second time with a dark style, and the site shows whichever fits. ``python docs/pictures.py`` draws the picture of the
README, which is that of the front page.
"""

import doctest
import hashlib
import re
import shutil
import sys
import warnings
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path

HERE = Path(__file__).parent
DRAWN = HERE / "_gallery"
BLOCK = re.compile(r"(<!-- not run: [^\n]+ -->\n)?```python\n(.*?)```", re.S)
COMMON = {
    "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 9, "axes.titlelocation": "left",
    "figure.constrained_layout.use": True, "savefig.dpi": 160, "savefig.bbox": "tight",
}  # fmt: skip
LIGHT = {"axes.prop_cycle": "cycler('color', ['2f5fa8', 'c2410c', '2f7d5b', '8a4b9c'])"}
DARK = {
    "axes.prop_cycle": "cycler('color', ['86aff2', 'ff9a5c', '7fc8a9', 'd9a3d9'])",
    **dict.fromkeys(("figure.facecolor", "savefig.facecolor", "axes.facecolor"), "#15171b"),
    **dict.fromkeys(("text.color", "axes.labelcolor"), "#e8e6e1"),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), "#a2a7b1"),
}


def code_of(page: Path) -> list[str]:
    """Return the blocks of a page as plain code, prompts and printed answers left out."""
    bodies = [body for marked, body in BLOCK.findall(page.read_text(encoding="utf-8")) if not marked]
    parse = doctest.DocTestParser().get_examples
    return ["".join(each.source for each in parse(body)) if ">>> " in body else body for body in bodies]


def draw(page: Path, folder: Path) -> None:
    """Run the code of a page in a folder; pictures for dark pages go to its folder ``dark``."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    shutil.rmtree(folder, ignore_errors=True)
    (folder / "dark").mkdir(parents=True)
    names: dict[str, object] = {"__name__": page.stem}
    for body in code_of(page):
        for style, where in ((LIGHT, folder), (DARK, folder / "dark")) if ".png" in body else ((LIGHT, folder),):
            with mpl.rc_context(COMMON | style), chdir(where), redirect_stdout(StringIO()):
                exec(compile(body, page.name, "exec"), names)
    plt.close("all")


def digest(page: Path) -> str:
    """Return a fingerprint of a page and of the package: a page is drawn again when either has changed."""
    sources = [page, Path(__file__), *sorted((HERE.parent / "src").rglob("*.py"))]
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


def draw_all() -> None:
    """Draw the pictures of all pages that show some, but for those that are there and of today."""
    import matplotlib as mpl

    mpl.use("Agg")
    for page in sorted(HERE.glob("*.md")):
        if not re.search(f"(_gallery|live)/{page.stem}/", page.read_text(encoding="utf-8")):
            continue
        folder, now = DRAWN / page.stem, digest(page)
        made = folder / "made.txt"
        if made.exists() and made.read_text() == now:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            draw(page, folder)
        made.write_text(now)


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent / "src"))
    draw(HERE / "index.md", DRAWN / "index")
    shutil.copy(DRAWN / "index" / "network.png", HERE / "network.png")
