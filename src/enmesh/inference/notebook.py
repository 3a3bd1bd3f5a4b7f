"""Progress in a notebook, where it is shown without being asked for: a bar in the output of the cell."""

import sys
from html import escape
from typing import Any

from enmesh.inference.bars import Bar


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook; IPython on a terminal is none.

    >>> in_notebook()
    False
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class NotebookBar(Bar):
    """A bar under the cell, once a job has lasted two seconds; it goes when the job is done. Needs no widgets."""

    def _open(self, what: str) -> None:
        self._bar = _Output()


class _Output:
    """One output of a cell, written anew with every update."""

    def __init__(self) -> None:
        from IPython.display import HTML, display

        self._html = HTML
        self._handle = display(HTML(""), display_id=True)

    def update(self, task: Any, *, description: str, completed: float, said: str) -> None:
        """Show the share that is done, and the words beside it."""
        bar = f'<progress value="{completed:.4f}" max="1" style="width:16em"></progress>'
        self._handle.update(self._html(f"{escape(description)} {bar} {completed:.0%} {escape(said)}"))

    def stop(self) -> None:
        """Leave nothing behind."""
        self._handle.update(self._html(""))
