"""Options are values: frozen, keyword-only dataclasses that hash, pickle, print and round-trip to JSON.

>>> from enmesh import KSG
>>> restore(describe(KSG(k=3))) == KSG(k=3)
True
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, fields, is_dataclass
from functools import wraps
from numbers import Real
from operator import index
from typing import Any, TypeVar, dataclass_transform

import numpy as np

from enmesh.errors import InputError

_CLASSES: dict[str, type] = {}
T = TypeVar("T")
SIMPLE: dict[Any, tuple[Any, str]] = {float: (Real, "a number"), str: (str, "a word"), bool: (bool, "True or False")}
METHODS = ("estimator", "surrogate")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def option(cls: type[T]) -> type[T]:
    """Make ``cls`` a frozen, keyword-only dataclass that `describe` and `restore` know by its name."""
    made = dataclass(frozen=True, kw_only=True, init="__init__" not in vars(cls))(cls)
    known = _CLASSES.get(made.__name__)
    if known is not None and known.__module__ != made.__module__:
        where = f"there is a class {made.__name__} already, in {known.__module__}"
        raise InputError(f"{where}; give yours another name")
    _CLASSES[made.__name__] = made
    init, hashed = made.__init__, made.__hash__
    checked = {one.name: _kind(one) for one in fields(made) if one.type in SIMPLE or one.name in METHODS}  # type: ignore[arg-type]

    @wraps(init)
    def plain_init(self: Any, *args: Any, **given: Any) -> None:
        """Take NumPy's numbers as Python's, so that options compare, hash and travel as JSON."""
        given = {name: _item(value) for name, value in given.items()}
        for name in checked.keys() & given.keys():
            kind, wanted = checked[name]
            if not isinstance(given[name], kind) or (kind is Real and isinstance(given[name], bool)):
                raise InputError(f"{name}={given[name]!r} is not possible; give {wanted}")
        init(self, *map(_item, args), **given)

    @wraps(hashed)
    def kept_hash(self: Any) -> int:
        """Hash once: lags of a large network are many, and keys of many tables."""
        kept = self.__dict__.get("_hash")
        if kept is None:
            kept = self.__dict__["_hash"] = hashed(self)
        return kept

    def state(self: Any) -> dict[str, Any]:
        """Leave the hash at home: that of words differs between processes."""
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}

    made.__init__ = plain_init  # type: ignore[method-assign]
    made.__hash__, made.__getstate__ = kept_hash, state  # type: ignore[method-assign]
    return made


def _kind(one: Field[Any]) -> tuple[Any, str]:
    """Return what a field of an option must be, and how that is said; whole numbers are checked by `whole`."""
    if one.type in SIMPLE:
        return SIMPLE[one.type]
    return (one.type if one.default is not None else (one.type, type(None))), f"one of enmesh.{one.name}s"


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def known_options() -> tuple[type, ...]:
    """Return every option class that has been defined."""
    return tuple(_CLASSES.values())


NUMBERS = (int, float, np.integer, np.floating)
# The largest number that an option may have, and the least time that each unit of it takes, in seconds; others: MOST.
MOST = 2**31 - 1
HUGE = 10**40  # beyond it a number is not repeated in a message
LIMITS = {
    "n_surrogates": (10**7, 1e-4), "n_permutations": (10**7, 1e-3), "bootstrap": (10**6, 0.01), "n": (10**9, 1e-8),
    "max_lag": (10**6, 1e-2), "lag": (10**6, 0.0), "lags": (10**6, 0.0), "dim": (10**4, 0.0), "delay": (10**6, 0.0),
    "k": (10**6, 0.0), "theiler": (10**9, 0.0), "restarts": (10**6, 1e-2), "seed": (2**128, 0.0),
    "memory": (2**60, 0.0),
}  # fmt: skip


def whole(name: str, value: Any, least: int = 0, *, limit: str = "") -> int:
    """Return ``value`` as an int; refuse what is no whole number of at least ``least``, or too large for any machine.

    The largest possible value is that of the name in ``LIMITS``, or of ``limit``.

    >>> whole("k", 4, 1)
    4
    """
    try:
        number = None if isinstance(value, bool) else index(value)
    except TypeError:
        number = None
    huge = number is not None and abs(number) > HUGE
    if number is None or number < least:
        shown = "a number of so many digits" if huge else f"{name}={value!r}"
        raise InputError(f"{shown} is not possible; give a whole number of at least {least}")
    most, seconds = LIMITS.get(limit or name, (MOST, 0.0))
    if number > most:
        hours, shown = min(number, HUGE) * seconds / 3600, "so many" if huge else str(number)
        cost = f"would take {hours:,.0f} hours or more" if 1 < hours < 1e9 else "is more than can be computed"
        raise InputError(f"{name}={shown} {cost}; give at most {most:,}")
    return number


def whole_fields(value: Any, **least: int) -> None:
    """Make the named fields of an option ints; refuse those that are not whole numbers of at least that."""
    for name, low in least.items():
        object.__setattr__(value, name, whole(name, getattr(value, name), low))


def known_fields(value: Any, **words: tuple[Any, ...]) -> None:
    """Refuse named fields of an option that are none of the given words."""
    for name, known in words.items():
        one_of(name, getattr(value, name), known)


def error_rate(name: str, value: Any) -> float:
    """Return a probability of error; refuse one from 0.5 on, which is most likely meant as a confidence level.

    >>> error_rate("level", 0.05)
    0.05
    """
    usable = isinstance(value, NUMBERS) and not isinstance(value, bool)
    if usable and 0.5 <= float(value) < 1:
        told = f"{name}={value!r} is an error rate, not a confidence level"
        raise InputError(f"{told}; give one below 0.5, such as 0.05")
    if not (usable and 0 < float(value) < 0.5):
        raise InputError(f"{name}={value!r} is not possible; give an error rate such as 0.05")
    return float(value)


def one_of(name: str, value: Any, known: Iterable[Any]) -> None:
    """Refuse what is none of some words.

    >>> one_of("rule", "xor", ("xor", "and"))
    """
    known = tuple(known)
    if not isinstance(value, (str, int, type(None))) or value not in known:
        use = (" or " if len(known) == 2 else ", ").join(map(repr, known))
        raise InputError(f"{name}={value!r} is not known; use {use}")


def switch(name: str, value: Any) -> bool:
    """Return True or False; refuse anything else, such as the word "no", which Python takes for True.

    >>> switch("acyclic", True)
    True
    """
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name}={value!r} is not possible; give True or False")
    return bool(value)


def names_in(name: str, value: Any) -> list[str]:
    """Return names that were given as texts; refuse what is no list of them.

    >>> names_in("names", ("a", "b"))
    ['a', 'b']
    """
    if not isinstance(value, Iterable) or (isinstance(value, np.ndarray) and not value.ndim):
        raise InputError(f"{name}={value!r} holds no names; give a list such as ['a', 'b']")
    return list(map(str, value))


def describe(value: Any) -> Any:
    """Return ``value`` as plain JSON data; an option becomes ``{"type": name, field: ...}``.

    Fields that two equal options may differ in (``compare=False``: they change no result) are left out.
    """
    if type(value) in (str, int):  # nearly all that there is to describe in a large network
        return value
    if is_dataclass(value) and _CLASSES.get(type(value).__name__) is type(value):
        named = [f.name for f in fields(value) if f.compare]
        return {"type": type(value).__name__} | {name: describe(getattr(value, name)) for name in named}
    if isinstance(value, (tuple, list)):
        return [describe(item) for item in value]
    if isinstance(value, dict):
        return {str(key): describe(item) for key, item in value.items()}
    if hasattr(type(value), "cli_name"):
        told = f"the class {type(value).__name__} is no option"
        raise InputError(f"{told}; put @option (enmesh.options) above it")
    return _item(value)


def restore(data: Any) -> Any:
    """Return the value that `describe` wrote."""
    if isinstance(data, dict) and "type" in data:
        if data["type"] not in _CLASSES:
            raise InputError(f"unknown option type {data['type']!r}; known: {', '.join(sorted(_CLASSES))}")
        return _CLASSES[data["type"]](**{key: restore(item) for key, item in data.items() if key != "type"})
    if isinstance(data, list):
        return tuple(restore(item) for item in data)
    return data


def plain(value: Any, digits: int | None = None) -> Any:
    """Return strict JSON types, of so many digits: NumPy's and tuples do not survive, nor what is not finite."""
    if isinstance(value, Mapping):
        return {str(key): plain(item, digits) for key, item in value.items()}
    if isinstance(value, (tuple, list, np.ndarray)):
        return [plain(item, digits) for item in value]
    value = _item(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return float(f"{value:.{digits}g}") if digits and isinstance(value, float) else value


def brief(value: Any) -> str:
    """Say an option by its name and the fields that are not at their defaults; embeddings are said elsewhere."""
    shown = [f for f in fields(value) if f.name != "embedding" and getattr(value, f.name) != f.default]
    parts = (getattr(value, f.name) for f in shown)
    words = [f"{f.name}={brief(part) if is_dataclass(part) else repr(part)}" for f, part in zip(shown, parts)]
    return f"{type(value).__name__}({', '.join(words)})"
