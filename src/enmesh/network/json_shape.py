"""JSON schemas, and the check of a value against one."""

import math
from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]
# The types that schemas name, in Python, and how they are said.
TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "string": ((str,), "text"), "boolean": ((bool,), "true or false"), "integer": ((int,), "a whole number"),
    "number": ((int, float), "a number"), "object": ((dict,), "a mapping"), "array": ((list,), "a list"),
    "null": ((type(None),), "null"),
}  # fmt: skip
TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
MAYBE: Schema = {"type": ["number", "null"]}


def listed(schema: Schema) -> Schema:
    """Return the schema of a list of such values."""
    return {"type": "array", "items": schema}


def row(*schemas: Schema) -> Schema:
    """Return the schema of a list of so many values."""
    return {"type": "array", "prefixItems": list(schemas), "minItems": len(schemas), "items": False}


def mapped(schema: Schema) -> Schema:
    """Return the schema of a mapping to such values."""
    return {"type": "object", "additionalProperties": schema}


def parts(needed: Mapping[str, Schema], more: Mapping[str, Schema] | None = None) -> Schema:
    """Return the schema of a mapping that has the needed keys, and may have more of them."""
    return {"type": "object", "properties": {**needed, **(more or {})}, "required": list(needed)}


def check(schema: Schema, value: Any, where: str) -> None:
    """Refuse a value that a schema does not allow, by a ValueError that says where it stands."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    several = schema.get("prefixItems")
    if not any(_is(value, kind) for kind in kinds) or (several is not None and len(value) != len(several)):
        text, needed = repr(value), " or ".join(TYPES[kind][1] for kind in kinds)
        told = f"{where} is {text if len(text) < 40 else text[:36] + '...'}"
        raise ValueError(f"{told}, not {needed}{'' if several is None else f' of {len(several)}'}")
    if isinstance(value, list):
        for i, one in enumerate(value):
            if inner := schema.get("items") if several is None else several[i]:
                check(inner, one, f"{where}[{i}]")
    elif isinstance(value, dict):
        for key in schema.get("required", ()):
            if key not in value:
                raise ValueError(f"{where}.{key} is missing")
        known, other = schema.get("properties", {}), schema.get("additionalProperties")
        for key, one in value.items():
            if inner := known.get(key, other):
                check(inner, one, f"{where}.{key}")


def _is(value: Any, kind: str) -> bool:
    """Say whether a value is of a type; booleans are no numbers, nor is what is not finite."""
    odd = (isinstance(value, bool) and kind != "boolean") or (isinstance(value, float) and not math.isfinite(value))
    return isinstance(value, TYPES[kind][0]) and not odd
