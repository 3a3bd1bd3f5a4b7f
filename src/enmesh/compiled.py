"""How loops are compiled: once for a machine, kept on disk where a folder can be written, and not in silence.

A `kernel` is called from Python and kept on disk; a `part` is called by kernels alone, and its machine code is kept
with theirs. Only modules that are imported on first use import this one, because numba is slow to load.
"""

import logging
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event

log = logging.getLogger("enmesh")
njit: Any = numba.njit  # its stubs leave out some options

# What the kernels do without saves half of the time to compile: counting the users of arrays, exceptions for a
# division by zero, rewritten expressions.
_LEAN = {"nogil": True, "_nrt": False, "error_model": "numpy", "no_rewrites": True}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls and that makes no arrays; threads can run it side by side."""
    return _kept(function, _LEAN)


def allocating_kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls and that may make arrays."""
    return _kept(function, {"nogil": True})


def part(function: Callable[..., Any]) -> Any:
    """Compile a function that kernels call; without what Python would need to call it."""
    return njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_LEAN)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a short function as if it were written where it is called."""
    return njit(inline="always", **_LEAN)(function)


def _kept(function: Callable[..., Any], how: dict[str, Any]) -> Any:
    try:
        made = njit(cache=True, **how)(function)
    except (RuntimeError, OSError) as reason:
        if isinstance(reason, RuntimeError) and "no locator" not in str(reason):
            raise
        notice.unkept = True
        return njit(**how)(function)
    if hasattr(made, "_cache"):  # not where numba is switched off
        _never_fail(made._cache)
    return made


def _never_fail(cache: Any) -> None:
    """Let a cache that cannot be read or written, as on a full disk, cost the time to compile and nothing else."""
    load, save = cache.load_overload, cache.save_overload

    def loaded(*what: Any) -> Any:
        try:
            return load(*what)
        except Exception:  # whatever a damaged file provokes
            return None

    def saved(*what: Any) -> None:
        try:
            save(*what)
        except (OSError, ValueError, EOFError):
            notice.unkept = True

    cache.load_overload, cache.save_overload = loaded, saved


class Notice(event.Listener):
    """Takes note of what is compiled, and says once for a process that it takes a while.

    ``compiled`` are the functions of this package that were compiled, not loaded; ``unkept`` says that no folder can
    be written to keep them, neither the package's nor one in the user's home.
    """

    def __init__(self) -> None:
        self.compiled: list[str] = []
        self.unkept = False

    def on_start(self, what: Any) -> None:
        """Take note of a function of this package; say so if it is the first."""
        function = what.data["dispatcher"].py_func
        if not function.__module__.startswith("enmesh."):
            return
        if not self.compiled:
            advice = "no folder can be written to keep them for the next process, set NUMBA_CACHE_DIR to one that can"
            how = ("", f"; {advice}") if self.unkept else (", once on this machine", "")
            log.warning("compiling kernels%s, about 3 to 8 s%s", *how)
        self.compiled.append(f"{function.__module__}.{function.__name__}")

    def on_end(self, what: Any) -> None:
        """Nothing is left to do."""


notice = Notice()
event.register("numba:compile", notice)
