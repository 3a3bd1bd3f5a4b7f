"""Options are values: frozen, keyword-only dataclasses that hash, pickle, print and round-trip to JSON.

>>> from enmesh import KSG
>>> restore(describe(KSG(k=3))) == KSG(k=3)
True
"""

from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar, dataclass_transform

import numpy as np

from enmesh.errors import InputError

_CLASSES: dict[str, type] = {}
Cls = TypeVar("Cls", bound=type)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def option(cls: Cls) -> Cls:
    """Make ``cls`` a frozen, keyword-only dataclass that `describe` and `restore` know by its name."""
    made = dataclass(frozen=True, kw_only=True, init="__init__" not in vars(cls))(cls)
    _CLASSES[made.__name__] = made
    return made


def whole(name: str, value: Any, least: int = 0) -> int:
    """Return a whole number of at least ``least``, or refuse what was given by its name."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name}={value!r} is not possible; give a whole number of at least {least}")
    return int(value)


def known_options() -> tuple[type, ...]:
    """Return every option class that has been defined."""
    return tuple(_CLASSES.values())


def describe(value: Any) -> Any:
    """Return ``value`` as plain JSON data; an option becomes ``{"type": name, field: ...}``.

    Fields that two equal options may differ in (``compare=False``: they change no result) are left out.
    """
    if type(value).__name__ in _CLASSES and type(value) is _CLASSES[type(value).__name__]:
        named = [f.name for f in fields(value) if f.compare]
        return {"type": type(value).__name__} | {name: describe(getattr(value, name)) for name in named}
    if isinstance(value, (tuple, list)):
        return [describe(item) for item in value]
    if isinstance(value, dict):
        return {str(key): describe(item) for key, item in value.items()}
    return value


def restore(data: Any) -> Any:
    """Return the value that `describe` wrote."""
    if isinstance(data, dict) and "type" in data:
        if data["type"] not in _CLASSES:
            raise InputError(f"unknown option type {data['type']!r}; known: {', '.join(sorted(_CLASSES))}")
        return _CLASSES[data["type"]](**{key: restore(item) for key, item in data.items() if key != "type"})
    if isinstance(data, list):
        return tuple(restore(item) for item in data)
    return data


def brief(value: Any) -> str:
    """Say an option by its name and the fields that are not at their defaults; embeddings are said elsewhere."""
    shown = [f for f in fields(value) if f.name != "embedding" and getattr(value, f.name) != f.default]
    parts = (getattr(value, f.name) for f in shown)
    said = [f"{f.name}={brief(part) if is_dataclass(part) else repr(part)}" for f, part in zip(shown, parts)]
    return f"{type(value).__name__}({', '.join(said)})"
