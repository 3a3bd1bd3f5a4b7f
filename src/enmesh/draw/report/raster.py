"""The page's raster: events as marks over time, a row per node, where the data are events and not samples."""

from html import escape
from typing import Any

from enmesh.draw.labels import short
from enmesh.draw.subject import Network

WIDTH, ROW, LEFT, MOST_ROWS = 760, 22, 130, 60


def shown(network: Network) -> tuple[float, float] | None:
    """Return start and stop of the raster; None where the data are samples."""
    known = network.provenance.get("shown")
    return (float(known[0]), float(known[1])) if known and "events" in network.provenance else None


def without_series(network: Network) -> dict[str, Any]:
    """Return what the page's data have in place of recordings where there are none."""
    return {"preview": [[] for _ in network.names], "span": None} if shown(network) else {}


def section(network: Network) -> str:
    """Return the section with the raster; nothing where the data are samples."""
    span = shown(network)
    if span is None:
        return ""
    start, stop = span
    names = network.names[:MOST_ROWS]
    rows = [
        _row(i, name, network.preview.get(name, ()), start, stop) for i, name in enumerate(short(names, 16))
    ]
    height = ROW * len(names)
    ticks = [start + (stop - start) * part / 4 for part in range(5)]
    axis = "".join(
        f'<text class="tick" x="{_x(t, start, stop):.1f}" y="{height + 18}" text-anchor="middle">{t:.3g}</text>'
        for t in ticks
    )
    more = f" The first {MOST_ROWS} nodes." if len(network.names) > MOST_ROWS else ""
    return (
        '<section id="raster"><h2>Events</h2><p class="quiet">Each mark is an event, over time: the beginning of the '
        f"recording, {start:.4g} to {stop:.4g} of {network.provenance.get('duration', stop):.4g} units.{more}</p>"
        f'<div class="scroll"><svg viewBox="0 0 {WIDTH} {height + 26}" width="{WIDTH}" role="img" '
        f'aria-label="Raster of {len(names)} nodes">{"".join(rows)}{axis}</svg></div></section>'
    )


def _x(time: float, start: float, stop: float) -> float:
    return LEFT + (WIDTH - LEFT - 20) * (time - start) / (stop - start or 1)


def _row(i: int, name: str, times: Any, start: float, stop: float) -> str:
    top, bottom = ROW * i + 4, ROW * (i + 1) - 4
    path = "".join(f"M{_x(t, start, stop):.1f} {top}V{bottom}" for t in times)
    label = f'<text x="{LEFT - 10}" y="{bottom - 2}" text-anchor="end" font-size="12" fill="currentColor">'
    return (
        f'{label}{escape(name)}</text><path class="spark" d="{path}"/>'
        if path
        else f"{label}{escape(name)}</text>"
    )
