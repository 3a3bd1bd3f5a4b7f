"""What a lower room needs of a higher one: the package says where it is, and it is loaded when it is asked for.

Recordings of events are measured in `events`, and a test that leaves everything open asks as `infer` does
(`inference.plan`); both build on the rooms that ask for them.
"""

from collections.abc import Callable
from typing import Any

_places: dict[str, Callable[[], Any]] = {}


def register(name: str, load: Callable[[], Any]) -> None:
    """Say how a room is loaded."""
    _places[name] = load


def room(name: str) -> Any:
    """Return a room that was registered; ``import enmesh`` registers all of them."""
    return _places[name]()
