"""The nearest-neighbour seam: one interface, `Neighbours`, on every device.

``Neighbours(y, z, times=..., theiler=...)`` is prepared once; ``ksg(x, k, algorithm)`` and ``within(x, radius)``
return counts for a batch of x. See `enmesh.neighbours.cpu`.
"""

from enmesh.errors import InputError

DEVICES = ("cpu", "cuda", "auto")


def check_device(device: str) -> None:
    """Refuse a device that no engine is made for."""
    if device not in DEVICES:
        raise InputError(f"device={device!r} is not known; use {', '.join(map(repr, DEVICES))}")


def engine(device: str) -> type:
    """Return the ``Neighbours`` class of a device; imported here so that only its users pay for it."""
    check_device(device)
    if device == "cpu":
        from enmesh.neighbours.cpu import Neighbours
    else:
        raise InputError(f"device={device!r} is not available; use 'cpu'")
    return Neighbours
