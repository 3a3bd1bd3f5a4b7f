"""Methods are classes that say themselves what the command line, the report and the docs need to know of them.

Nothing else in the package lists methods by hand: whoever needs them asks `members`.

>>> from enmesh.estimators import Estimator
>>> members(Estimator)["ksg"].__name__
'KSG'
"""

import re
import sys
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from inspect import cleandoc, isabstract
from pkgutil import iter_modules
from typing import Any, ClassVar, TypeVar, cast

from enmesh.errors import InputError
from enmesh.options import known_options

# Installed packages bring methods of their own by an entry point of this group that names a module to import.
ENTRY_POINTS = "enmesh.methods"


class Method:
    """What every method says of itself.

    ``cli_name`` is its name on the command line, and in Python where a string is taken; ``cli_variants`` are names of
    variants there, such as ``"aic"``, which are given as its first argument; ``cli_options`` are the fields that can be
    set there, with the help texts of the docstring's parameters. ``summary`` says in one line when to use it;
    ``references`` are works to cite, in full; ``phrase`` is what was done, as a part of a sentence of the methods
    paragraph, and may name fields in braces.
    """

    cli_name: ClassVar[str] = ""
    cli_variants: ClassVar[tuple[str, ...]] = ()
    cli_options: ClassVar[tuple[str, ...]] = ()
    summary: ClassVar[str] = ""
    references: ClassVar[tuple[str, ...]] = ()
    phrase: ClassVar[str] = ""

    def sentence(self) -> str:
        """Say what was done: by default `phrase`, or the name of the class."""
        return self.phrase.format(**vars(self)) or type(self).__name__


Kind = TypeVar("Kind", bound=Method)


def members(kind: Callable[..., Kind]) -> dict[str, type[Kind]]:
    """Return all methods of a kind (such as ``Estimator``) by their name on the command line.

    They are the options defined in the modules beside the kind, in installed packages with an entry point in the group
    ``enmesh.methods``, and in any module that was imported before.
    """
    base = cast(type[Kind], kind)
    package = import_module(base.__module__.rpartition(".")[0])
    for module in iter_modules(package.__path__):
        if not module.name.endswith("kernels") and not module.ispkg:
            import_module(f"{package.__name__}.{module.name}")
    _load_installed(tuple(sys.path))
    found: dict[str, type[Kind]] = {}
    for cls in known_options():
        if issubclass(cls, base) and not isabstract(cls) and cls.cli_name:
            other = found.setdefault(cls.cli_name, cls)
            if other is not cls:
                both = f"{other.__name__} and {cls.__name__} have the same cli_name, {cls.cli_name!r}"
                raise InputError(f"{both}; give yours another")
    return found


@lru_cache(maxsize=1)
def _load_installed(path: tuple[str, ...]) -> None:
    """Import the methods of installed packages, once for the places where packages are."""
    from importlib.metadata import entry_points

    for entry in entry_points(group=ENTRY_POINTS):
        entry.load()


def by_name(kind: Callable[..., Kind]) -> dict[str, type[Kind]]:
    """Return the methods of a kind by every name that they can be asked for by, variants too."""
    return {word: cls for name, cls in members(kind).items() for word in cls.cli_variants or (name,)}


def from_name(kind: Callable[..., Kind], name: str, **options: Any) -> Kind:
    """Return the method of a kind with this name (that of the command line or of the class), with the given fields."""
    known = by_name(kind)
    classes = {cls.__name__: word for word, cls in known.items() if not cls.cli_variants}
    name = classes.get(name, name)
    if name not in known:
        raise InputError(f"{kind.__name__.lower()}={name!r} is not known; use {', '.join(sorted(known))}")
    return known[name](*[name] if known[name].cli_variants else (), **options)


def resolve(kind: Callable[..., Kind], value: Any) -> Kind:
    """Return a method that was given as itself or by its name; refuse anything else."""
    if isinstance(value, cast(type[Kind], kind)):
        return value
    if isinstance(value, str):
        return from_name(kind, value)
    what, example = kind.__name__.lower(), next(iter(members(kind).values())).__name__
    if isinstance(value, type):
        raise InputError(f"{what}={value.__name__} is a class; give an instance, {value.__name__}()")
    raise InputError(f"{what}={value!r} is no {what}; give one such as {example}(), or its name")


def help_of(cls: type[Method]) -> dict[str, str]:
    """Return the help text of each field: its entry under Parameters in the docstring, as one line.

    >>> from enmesh.estimators import KSG
    >>> help_of(KSG)["algorithm"]
    '1 (hypercubes) or 2 (hyper-rectangles).'
    """
    text = cleandoc(cls.__doc__ or "")
    section = re.search(r"\n(?:Parameters|Attributes)\n-+\n(.*?)(?:\n\n\S|\Z)", text, re.S)
    entries = re.findall(r"^(\w[\w, ]*)\n((?:^[ ]+.*\n?|^\n)+)", section[1] + "\n", re.M) if section else []
    return {name.strip(): " ".join(text.split()) for names, text in entries for name in names.split(",")}
