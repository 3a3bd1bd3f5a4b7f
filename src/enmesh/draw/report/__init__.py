"""The page to share, written from the command line, from Python and shown in notebooks."""

from collections.abc import Mapping
from pathlib import Path

from enmesh.draw.subject import Network
from enmesh.errors import InputError


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
    from enmesh.draw.report.page import page, save, several

    if isinstance(network, Mapping) and not network:
        raise InputError("there is no network to show; give {name: network, ...}")
    made = several if isinstance(network, Mapping) else page
    return save(made(network, title=title, notes=notes), path)
