"""Checks of what a simulation is given: numbers in range, one value for all nodes or one per node."""

from collections.abc import Mapping

import numpy as np

from enmesh.errors import InputError


def per_node(value, names, what) -> dict:
    """Return ``{name: value}`` from one value for all nodes or a mapping that has them all."""
    if not isinstance(value, Mapping):
        return dict.fromkeys(names, value)
    given = {str(name): item for name, item in value.items()}
    if set(given) != set(names):
        odd = sorted(set(given) ^ set(names))
        raise InputError(f"{what} and the graph differ in {', '.join(odd)}; give one for all or one per node")
    return {name: given[name] for name in names}


def require_number(name, value, low=-np.inf, high=np.inf, *, open_low=False):
    """Refuse what is not a finite number (or array of numbers) between low and high."""
    try:
        numbers = np.asarray(list(value.values()) if isinstance(value, Mapping) else value, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name}={value!r} is not a number") from None
    inside = (numbers > low if open_low else numbers >= low) & (numbers <= high)
    if not (np.isfinite(numbers) & inside).all():
        most = f" and at most {high:g}" if high < np.inf else ""
        bound = (
            f"{'over' if open_low else 'of at least'} {low:g}{most}" if low > -np.inf else "that is finite"
        )
        raise InputError(f"{name}={value!r} is not possible; give a number {bound}")


def require_count(name, value, low):
    """Refuse what is not a whole number of at least ``low``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < low:
        raise InputError(f"{name}={value!r} is not possible; give a whole number of at least {low}")
