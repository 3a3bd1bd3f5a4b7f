"""Shapes of JSON: each checks a value, and says itself as a JSON schema.

A shape is called with a value and where it stands, and raises ValueError.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

DRAFT = "https://json-schema.org/draft/2020-12/schema"
NAMES = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object"}


@dataclass(frozen=True)
class Shape:
    """A check of a value, and the JSON schema that says the same as far as a schema can."""

    check: Callable[[Any, str], None]
    schema: Mapping[str, Any]

    def __call__(self, value: Any, where: str) -> None:
        """Refuse a value of another shape."""
        self.check(value, where)


def _fault(where: str, value: Any, needed: str) -> ValueError:
    text = repr(value)
    return ValueError(f"{where} is {text if len(text) < 40 else text[:36] + '...'}, not {needed}")


def of_kind(needed: str, *kinds: type, null: bool = False) -> Shape:
    """Return the shape of values of some types; booleans are no numbers."""

    def check(value: Any, where: str) -> None:
        odd = isinstance(value, float) and not math.isfinite(value)
        fits = isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool)) and not odd
        if not fits and not (null and value is None):
            raise _fault(where, value, needed)

    named = [NAMES[kind] for kind in kinds if not (kind is int and float in kinds)] + ["null"] * null
    return Shape(check, {"type": named[0] if len(named) == 1 else named})


TEXT, FLAG = of_kind("text", str), of_kind("true or false", bool)
NUMBER, WHOLE = of_kind("a number", int, float), of_kind("a whole number", int)
MAYBE = of_kind("a number or null", int, float, null=True)
MAPPING = of_kind("a mapping", dict)


def listed(shape: Shape) -> Shape:
    """Return the shape of a list of such values."""

    def each(value: Any, where: str) -> None:
        if not isinstance(value, list):
            raise _fault(where, value, "a list")
        for i, one in enumerate(value):
            shape(one, f"{where}[{i}]")

    return Shape(each, {"type": "array", "items": shape.schema})


def row(*shapes: Shape) -> Shape:
    """Return the shape of a list of so many values."""

    def each(value: Any, where: str) -> None:
        if not isinstance(value, list) or len(value) != len(shapes):
            raise _fault(where, value, f"a list of {len(shapes)}")
        for i, (one, shape) in enumerate(zip(value, shapes)):
            shape(one, f"{where}[{i}]")

    items = [shape.schema for shape in shapes]
    return Shape(each, {"type": "array", "prefixItems": items, "minItems": len(items), "items": False})


def mapped(shape: Shape) -> Shape:
    """Return the shape of a mapping to such values."""

    def each(value: Any, where: str) -> None:
        MAPPING(value, where)
        for key, one in value.items():
            shape(one, f"{where}.{key}")

    return Shape(each, {"type": "object", "additionalProperties": shape.schema})


def parts(needed: Mapping[str, Shape], more: Mapping[str, Shape] | None = None) -> Shape:
    """Return the shape of a mapping that has the needed keys, and may have more of them."""
    more = more or {}

    def each(value: Any, where: str) -> None:
        MAPPING(value, where)
        for key, shape in needed.items():
            if key not in value:
                raise ValueError(f"{where}.{key} is missing")
            shape(value[key], f"{where}.{key}")
        for key, shape in more.items():
            if key in value:
                shape(value[key], f"{where}.{key}")

    properties = {key: shape.schema for key, shape in {**needed, **more}.items()}
    return Shape(each, {"type": "object", "properties": properties, "required": list(needed)})


def schema_of(shape: Shape, title: str, form: str) -> dict[str, Any]:
    """Return the JSON schema of a file whose entry ``format`` is ``form``."""
    known = shape.schema
    properties = {"format": {"const": form}, **known["properties"]}
    return {"$schema": DRAFT, "title": title, **known, "properties": properties,
            "required": ["format", *known["required"]]}  # fmt: skip
