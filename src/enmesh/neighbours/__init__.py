"""The nearest-neighbour seam: one interface, `Neighbours`, on every device.

``Neighbours(y, z, times=..., theiler=...)`` is prepared once; ``ksg(x, k, algorithm)``, ``within(x, radius)`` and, for
data with many equal distances, ``tied(x, k, far)`` return counts for a batch of x. See `enmesh.neighbours.cpu`, its
twin `enmesh.neighbours.plain`, and `enmesh.neighbours.cuda`.
"""

import functools
import logging
import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

from enmesh.errors import InputError
from enmesh.options import one_of

DEVICES = ("cpu", "cuda", "auto")


def check_device(device: str) -> None:
    """Refuse a device that no engine is made for."""
    one_of("device", device, DEVICES)


def engine(device: str, precision: str = "double", threads: int = 1) -> Callable[..., Any]:
    """Return the ``Neighbours`` of a device; imported here so that only its users pay for it.

    ``precision`` is that of distances on a GPU, the CPU's are always double; ``threads`` are the CPU's. On a CPU the
    environment variable ENMESH_NEIGHBOURS chooses between ``fast``, the default, and ``plain``.
    """
    word, on_cpu = os.environ.get("ENMESH_NEIGHBOURS", "fast"), chosen(device) == "cpu"
    if on_cpu and word not in ("fast", "plain"):
        raise InputError(f"ENMESH_NEIGHBOURS={word!r} is not known; use 'fast' or 'plain'")
    name = ("plain" if word == "plain" else "cpu") if on_cpu else "cuda"
    how: dict[str, Any] = {"threads": threads} if on_cpu else {"precision": precision}
    return functools.partial(import_module(f"enmesh.neighbours.{name}").Neighbours, **how)


def crossing(device: str) -> Any:
    """Return the module of a device that searches one set of points for the neighbours of another."""
    return import_module(f"enmesh.neighbours.{'cross' if chosen(device) == 'cpu' else 'cuda'}")


@functools.cache
def chosen(device: str) -> str:
    """Return ``"cpu"`` or ``"cuda"``: what ``"auto"`` finds, or what was asked for, if it is there."""
    check_device(device)
    if device == "cpu":
        return device
    missing = _missing_for_cuda()
    if device == "cuda" and missing:
        advice = "install enmesh[gpu] on a machine with a GPU, or use device='cpu'"
        raise InputError(f"device='cuda' needs CuPy and an NVIDIA GPU, but {missing}; {advice}")
    found = "cpu" if missing else "cuda"
    if device == "auto":
        logging.getLogger("enmesh").info("device='auto' uses %s%s", found, f": {missing}" if missing else "")
    return found


def _missing_for_cuda() -> str:
    """Return why the GPU cannot be used, or nothing."""
    try:
        import cupy
    except ImportError:
        return "CuPy is not installed"
    try:
        return "" if cupy.cuda.runtime.getDeviceCount() else "there is no GPU"
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"CuPy finds no GPU ({error})"
