"""The page to share, written from the command line, from Python and shown in notebooks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from enmesh.data.sources import write_whole
from enmesh.errors import InputError


def write(
    network: Any, path: str | Path, *, title: str = "", notes: str = "", positions: Any = None, projection: str = "",
    background: Any = None,
) -> Path:  # fmt: skip
    """Write the page of a network, of several by their names, or of another result; return its path.

    Parameters
    ----------
    network
        A network, several of them (``{"rest": net, "task": net}``), or what `compare`, `group`, `windows`,
        `regimes` or `stability` returned.
    path
        Where the page goes, one file that loads nothing.
    title, notes
        Words of one's own: over the finding, and paragraphs before all else, between blank lines.
    positions, projection, background
        Places of the nodes of one network, as for `Network.plot`.

    Examples
    --------
    >>> import enmesh as em, tempfile, pathlib
    >>> nets = {f"seed {k}": em.infer(em.simulate.var("a>b", n=300, seed=k), estimator="gaussian") for k in (0, 1)}
    >>> em.report(nets, pathlib.Path(tempfile.mkdtemp()) / "both.html", title="Two recordings").name
    'both.html'
    """
    from enmesh.draw.report.page import html_of

    if isinstance(network, Mapping) and not network:
        raise InputError("there is no network to show; give {name: network, ...}")
    where = {"positions": positions, "projection": projection, "background": background}
    html = html_of(network, title=title, notes=notes, **where)
    return write_whole(path, lambda file: file.write_text(html, encoding="utf-8", errors="backslashreplace"))
