"""What pictures and pages show: `enmesh.Network` with its tests, `enmesh.Series`, and other results.

They draw themselves, so that drawing can import none of them: it takes them as they are, by these names.
"""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

LEVEL = 0.05
"""False discovery rate that q-values are held against: a link with a larger one is doubtful."""

Network: TypeAlias = Any
Series: TypeAlias = Any
Candidate: TypeAlias = Any
Result: TypeAlias = Any

UNTESTED = SimpleNamespace(
    te=math.nan, p_value=math.nan, q_value=math.nan, lag=math.nan, lags=(1,), null=(), effect=math.nan
)
"""What is known of an edge that was not tested."""


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
