"""What a lower room needs of a higher one: imported when it is asked for, since it builds on the room that asks."""

from pkgutil import resolve_name
from typing import Any

PLACES = {
    "csv text": "enmesh.data.files:csv_text",
    "events": "enmesh.events.transfers",
    "scorer of events": "enmesh.events.scorer",
    "diagnose": "enmesh.diagnostics:diagnose",
    "plan": "enmesh.inference.plan",
    "odd samples": "enmesh.diagnostics:odd_samples",
    "outlook": "enmesh.model.page:outlook",
    "power": "enmesh.model.power:power",
    "progress": "enmesh.inference.progress:Progress",
    "server": "enmesh.app.server",
    "stability": "enmesh.sureness.stability:stability",
    "subjects": "enmesh.cli.subjects:infer_group",
}


def lazy_import(name: str) -> Any:
    """Return what has this name in `PLACES`."""
    return resolve_name(PLACES[name])
