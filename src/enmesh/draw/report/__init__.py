"""The page to share: one HTML file with everything in it, which opens offline and loads nothing.

Sentences and tables are written here and stand in the file as text. Pictures are drawn in the browser from
the data block, by a few hundred lines of plain JavaScript without a library, so that the page stays small:
about 60 kB for five nodes. A content security policy forbids it to fetch anything.
"""

import math
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from string import Template

from enmesh.draw.arrows import lag_unit
from enmesh.draw.report import raster, sections
from enmesh.draw.report.contents import contents, embed, picture_contents
from enmesh.draw.report.more import table
from enmesh.draw.report.small import Line, side_by_side
from enmesh.draw.report.words import headline, past, recording, standing
from enmesh.draw.subject import Network
from enmesh.errors import InputError

__all__ = ["asset", "inline", "page", "save", "several", "write"]

PICTURE = ("base.js", "panel.js", "graph.js", "export.js")
SCRIPTS = (*PICTURE, "table.js", "timegraph.js", "charts.js")
SECTION = re.compile(r'<section id="(\w+)"[^>]*>\s*<h2>(.*?)</h2>')


def write(
    network: "Network | Mapping[str, Network]", path: str | Path, *, title: str = "", notes: str = ""
) -> Path:
    """Write the page of a network, or of several by their names (``{"rest": net, "task": net}``); return its path.

    Parameters
    ----------
    network
        A network, or several of them.
    path
        Where the page goes, one file that loads nothing.
    title, notes
        Words of one's own: over the finding, and paragraphs before all else, between blank lines.

    Examples
    --------
    >>> import enmesh as em, tempfile, pathlib
    >>> nets = {f"seed {k}": em.infer(em.simulate.var("a>b", n=300, seed=k), estimator="gaussian") for k in (0, 1)}
    >>> em.report(nets, pathlib.Path(tempfile.mkdtemp()) / "both.html", title="Two recordings").name
    'both.html'
    """
    if isinstance(network, Mapping):
        if not network:
            raise InputError("there is no network to show; give {name: network, ...}")
        return save(several(network, title=title, notes=notes), path)
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
        network=asset("network.html").replace("lag in samples", f"lag in {lag_unit(network)}"),
        more=raster.section(network) + more,
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


def several(networks: Mapping[str, Network], *, title: str = "", notes: str = "") -> str:
    """Return one page of several networks: side by side, every link in all of them, and the whole page of each."""
    shown = [network.with_evidence() for network in networks.values()]
    names = list(dict.fromkeys(name for network in shown for name in network.names))
    place = {name: i for i, name in enumerate(names)}
    tests = [{(place[c.source], place[c.target]): c for c in network.candidates} for network in shown]
    links = [{(place[s], place[t]) for t in network.names for s in network.parents[t]} for network in shown]
    top = max(
        (c.te for found, own in zip(tests, links) for pair, c in found.items() if pair in own), default=1.0
    )
    looks = {
        name: {pair: Line(found[pair].te / top if pair in found else 0.0) for pair in own}
        for name, found, own in zip(networks, tests, links)
    }
    rows = [
        [f"{names[i]} → {names[j]}", *(found[i, j].te if (i, j) in own and (i, j) in found else math.nan
                                       for found, own in zip(tests, links))]
        for i, j in sorted(set().union(*links), key=lambda pair: (-sum(pair in own for own in links), pair))
    ]  # fmt: skip
    frames = "".join(
        f'<details class="whole"><summary>{sections.text(name)}: {sections.text(headline(network))}</summary>'
        f'<iframe title="{sections.text(name)}" loading="lazy" sandbox="allow-scripts allow-downloads allow-modals" '
        f'srcdoc="{sections.text(page(network, title=name))}"></iframe></details>'
        for name, network in zip(networks, shown)
    )
    return Template(asset("several.html")).substitute(
        title=sections.text(title or "Networks"),
        headline=sections.text(title or f"{len(networks)} networks of {len(names)} nodes"),
        notes=sections.own_notes(notes),
        sides=side_by_side(names, looks),
        table=table(("link", *networks), rows),
        frames=frames,
        style=asset("page.css"),
    )


def inline(network: Network) -> str:
    """Return the interactive network alone as HTML, for a frame in a notebook."""
    return Template(asset("inline.html")).substitute(
        title=sections.text(headline(network)),
        network=asset("network.html").replace("lag in samples", f"lag in {lag_unit(network)}"),
        style=asset("page.css"),
        script="\n".join(asset(name) for name in PICTURE),
        data=embed(picture_contents(network)),
    )


def asset(name: str) -> str:
    """Return a file of the page's own."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
