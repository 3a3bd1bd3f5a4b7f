"""The page to share: one HTML file with everything in it, which opens offline and loads nothing.

Sentences and tables are written here and stand in the file as text. Pictures are drawn in the browser from
the data block, by a few hundred lines of plain JavaScript without a library, so that the page stays small:
about 60 kB for five nodes. A content security policy forbids it to fetch anything.
"""

import re
from importlib.resources import files
from pathlib import Path
from string import Template

from enmesh.draw.report import sections
from enmesh.draw.report.contents import contents, embed, picture_contents
from enmesh.draw.report.words import headline, past, recording, standing
from enmesh.draw.subject import Network
from enmesh.errors import InputError

__all__ = ["asset", "inline", "page", "save", "write"]

PICTURE = ("base.js", "panel.js", "graph.js", "export.js")
SCRIPTS = (*PICTURE, "table.js", "timegraph.js", "charts.js")
SECTION = re.compile(r'<section id="(\w+)"[^>]*>\s*<h2>(.*?)</h2>')


def write(network: Network, path: str | Path, *, title: str = "", notes: str = "") -> Path:
    """Write the page of a network and return its path."""
    return save(page(network, title=title, notes=notes), path)


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


def page(network: Network, more: str = "", *, title: str = "", notes: str = "", script: str = "") -> str:
    """Return the page as HTML; the same network gives the same text.

    ``more`` are further sections (`report.more`), ``script`` what they need; ``title`` stands over the finding, and
    ``notes`` (paragraphs between blank lines) before all else.
    """
    body = Template(asset("body.html")).substitute(
        notes=sections.own_notes(notes),
        warnings=sections.warnings(network),
        network=asset("network.html"),
        more=more,
        meaning=sections.meaning(network),
        recordings=sections.recordings(network),
        past=sections.text(past(network)),
        choices=sections.choices(network),
        methods=sections.methods(network),
        provenance=sections.provenance(network),
    )
    name = title or recording(network)
    return Template(asset("page.html")).substitute(
        title=sections.text(": ".join(filter(None, [name, headline(network)]))),
        contents="".join(f'<a href="#{anchor}">{words}</a>' for anchor, words in SECTION.findall(body)),
        recording=sections.recorded(network, title),
        headline=sections.text(headline(network)),
        standing=sections.text(standing(network)),
        facts=sections.facts(network),
        body=body,
        style=asset("page.css"),
        script="\n".join([*map(asset, SCRIPTS), script]),
        data=embed(contents(network)),
    )


def inline(network: Network) -> str:
    """Return the interactive network alone as HTML, for a frame in a notebook."""
    return Template(asset("inline.html")).substitute(
        title=sections.text(headline(network)),
        network=asset("network.html"),
        style=asset("page.css"),
        script="\n".join(asset(name) for name in PICTURE),
        data=embed(picture_contents(network)),
    )


def asset(name: str) -> str:
    """Return a file of the page's own."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
