"""What results have that draw themselves, show themselves in a notebook, or have a page; drawing is loaded then."""

from pathlib import Path
from typing import Any


class Shown:
    """A result that draws itself, and shows itself in a notebook."""

    def plot(self, path: Any = None, **how: Any) -> Any:
        """Draw it, save the picture to ``path`` (``.png``, ``.svg``, ``.pdf``) if one is given, return the axes.

        ``ax`` are axes to draw in, ``theme`` is ``"light"``, ``"dark"``, ``"grey"`` or ``"auto"``.
        """
        from enmesh.draw.curves import PICTURES

        return PICTURES[type(self).__name__](self, path=path, **how)

    def _repr_html_(self) -> str:
        from enmesh.draw.report.notebook import FACES

        return FACES[type(self).__name__](self)


class Reported(Shown):
    """A result that has a page, too."""

    def report(self, path: str | Path, *, title: str = "", notes: str = "") -> Path:
        """Write the self-contained HTML page and return its path; ``title`` and ``notes`` are one's own words on it."""
        from enmesh.draw.report import write

        return write(self, path, title=title, notes=notes)
