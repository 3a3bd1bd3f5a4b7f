"""Write the JSON schemas of network.json and of ``enmesh inspect --json`` into the package.

python tools/schemas.py
"""

import json
from pathlib import Path
from typing import Any

from enmesh import inspection
from enmesh.network import network, network_json
from enmesh.network.json_shape import Schema

DRAFT = "https://json-schema.org/draft/2020-12/schema"
FOLDER = Path(__file__).parents[1] / "src" / "enmesh" / "schemas"


def schema_of(schema: Schema, title: str, form: str) -> dict[str, Any]:
    """Return the JSON schema of a file whose entry ``format`` is ``form``."""
    properties = {"format": {"const": form}, **schema["properties"]}
    required = ["format", *schema["required"]]
    return {"$schema": DRAFT, "title": title, **schema, "properties": properties, "required": required}


def schemas() -> dict[str, dict[str, Any]]:
    """Return every schema by the name of its file."""
    return {
        "network.schema.json": schema_of(network_json.NETWORK, "A network of enmesh", network.FORMAT),
        "inspection.schema.json": schema_of(
            inspection.INSPECTION, "What enmesh inspect --json prints", inspection.FORMAT
        ),
    }


def text(schema: dict[str, Any]) -> str:
    """Return a schema as it is written."""
    return json.dumps(schema, indent=1) + "\n"


if __name__ == "__main__":
    for name, schema in schemas().items():
        (FOLDER / name).write_text(text(schema), encoding="utf-8")
