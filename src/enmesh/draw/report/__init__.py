"""The page to share: one HTML file with everything in it, which opens offline and loads nothing.

Sentences and tables are written here and stand in the file as text. Pictures are drawn in the browser from
the data block, by a few hundred lines of plain JavaScript without a library, so that the page stays small:
about 60 kB for five nodes. A content security policy forbids it to fetch anything.
"""

from importlib.resources import files
from pathlib import Path
from string import Template

from enmesh.draw.arrows import lag_unit
from enmesh.draw.report import raster, sections
from enmesh.draw.report.contents import contents, embed, picture_contents
from enmesh.draw.report.words import headline, past, recording, standing
from enmesh.draw.subject import Network
from enmesh.errors import InputError

__all__ = ["inline", "page", "save", "write"]

PICTURE = ("base.js", "graph.js", "export.js")
SCRIPTS = (*PICTURE, "table.js", "charts.js")


def write(network: Network, path: str | Path) -> Path:
    """Write the page of a network and return its path."""
    return save(page(network), path)


def save(text: str, path: str | Path) -> Path:
    """Write a page and return its path."""
    path = Path(path)
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent} to write {path.name} in; make it first")
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
    return path


def page(network: Network, more: str = "") -> str:
    """Return the page as HTML; the same network gives the same text. ``more`` are further sections (`report.more`)."""
    return Template(_asset("page.html")).substitute(
        title=sections.text(": ".join(filter(None, [recording(network), headline(network)]))),
        recording=sections.recorded(network),
        recordings=sections.recordings(network),
        past=sections.text(past(network)),
        headline=sections.text(headline(network)),
        standing=sections.text(standing(network)),
        facts=sections.facts(network),
        warnings=sections.warnings(network),
        meaning=sections.meaning(network),
        choices=sections.choices(network),
        methods=sections.methods(network),
        provenance=sections.provenance(network),
        more=raster.section(network) + more,
        network=_asset("network.html").replace("lag in samples", f"lag in {lag_unit(network)}"),
        style=_asset("page.css"),
        script="\n".join(_asset(name) for name in SCRIPTS),
        data=embed(contents(network)),
    )


def inline(network: Network) -> str:
    """Return the interactive network alone as HTML, for a frame in a notebook."""
    return Template(_asset("inline.html")).substitute(
        title=sections.text(headline(network)),
        network=_asset("network.html").replace("lag in samples", f"lag in {lag_unit(network)}"),
        style=_asset("page.css"),
        script="\n".join(_asset(name) for name in PICTURE),
        data=embed(picture_contents(network)),
    )


def _asset(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
