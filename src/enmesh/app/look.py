"""What the page says of a recording: what was read, a line for every node, what could mislead, and what a run costs."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import enmesh as em
from enmesh import inspection
from enmesh.app import form
from enmesh.cli import arguments as a
from enmesh.cli import build
from enmesh.cli.infer import asked_of
from enmesh.data import roles
from enmesh.data.frames import pick
from enmesh.data.rules import rules_of
from enmesh.data.table import visible
from enmesh.data.tables import read_table
from enmesh.diagnostics import Finding, hazards_of_data, odd_samples
from enmesh.draw.shapes import extremes
from enmesh.errors import InputError, collected_hazards
from enmesh.events.sources import NODES, TIMES, TRIALS
from enmesh.options import plain

POINTS, DIGITS = 300, 4  # of a line
MOST_NODES = 400  # that are shown
MOST_WINDOWS = 20  # that a switch masks
BINS = 150  # of the lines of events
# A word for each kind of finding.
BADGES = {
    "synchronisation": "copy", "autocorrelation": "slow", "stationarity": "wanders", "sentinel": "odd number",
    "spike": "spikes", "stuck": "stuck", "apart": "apart", "trend": "trend", "season": "season", "variance": "variance",
}  # fmt: skip


class Reader:
    """Recordings as they were read last, so that a repair is seen at once."""

    def __init__(self) -> None:
        self._key: Any = None
        self._read: tuple[em.Series, list[str]]
        self._names: dict[Any, list[str]] = {}

    def look(self, file: str, values: dict[str, Any], example: str = "") -> dict[str, Any]:
        """Return what a recording holds, read and prepared as the values say; or what is wrong, and what would help."""
        words = form.words_of(file, values)
        said: dict[str, Any] = {"command": form.command_of(words), "names": []}
        given: a.Given | None = None
        try:
            given = form.typed(words)
            before, notes = self.read(given)
            said["names"] = self.names(given, before)
            with collected_hazards(show=False):
                after = prepared(given, before)
                asked_of(given, after)
            said |= {"python": form.python_of(given, after, example), "notes": notes}
            if isinstance(after, em.Events):
                return said | _seen_events(after)
            return said | _seen(before, after, values, said["names"])
        except InputError as error:
            message = form.in_words(error)
            said["names"] = said["names"] or (self.names(given, None) if given else [])
            fixes = [*form.advised(message, values), *_columns_without(message, said["names"], values)]
            events = _as_events(file, values)
            return said | {"error": message, "fixes": events + [fix for fix in fixes if fix not in events]}

    def read(self, given: a.Given) -> tuple[Any, list[str]]:
        """Return the recording before it is prepared, and what was taken for granted."""
        path = Path(given["data"][0]).absolute()
        key = (
            str(path),
            path.stat().st_mtime_ns if path.exists() else 0,
            repr(build.reading(given)),
            repr([given.get(name) for name in ("dt", "events", *build.OF_EVENTS)]),
        )
        if key != self._key:
            unprepared = {} if given.get("events") else dict.fromkeys((*build.PREPARING, "mask"))
            with collected_hazards(show=False) as notes:
                series = build.recording({**given, **unprepared})
            self._key, self._read = key, (series, [form.in_words(note) for note in notes])
        return self._read

    def names(self, given: a.Given, series: Any) -> list[str]:
        """Return the names of all columns that may be nodes, whether they are chosen or not."""
        words = build.reading(given)
        chosen = words.pop("columns", None)
        key = Path(given["data"][0]).absolute(), repr(words)
        if series is not None and chosen is None and not words.get("drop_constant"):
            self._names[key] = list(series.names)
        if key not in self._names:
            try:
                if given.get("events"):
                    return list(build.recording({**given, "columns": None}).names)
                self._names[key] = _nodes_of(given, words)
            except InputError:
                return []
        return self._names[key]


def _nodes_of(given: a.Given, words: dict[str, Any]) -> list[str]:
    """Return the columns of a recording that cannot be used as it is, without those that tell time or trials."""
    table, rules = read_table(given["data"][0], rules_of(words)), rules_of(words | {"missing": "drop"})
    with collected_hazards(show=False):
        try:
            return list(map(str, pick(table, rules).frame.columns))
        except InputError:
            pass
        try:
            taken = roles.found_times(table, rules, (), [np.arange(len(table.frame))], [])[1]
        except InputError:
            taken = ()
    return [str(name) for name in table.frame.columns if name not in taken]


def prepared(given: a.Given, series: Any) -> Any:
    """Return the recording prepared as it was asked for; events are taken as they are."""
    if isinstance(series, em.Events):
        return series
    for change, values in build.preparing(given, len(series)):
        series = getattr(series, change)(*values)
    return series


def _seen(before: em.Series, after: em.Series, values: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Return what is shown of a recording, before and after it was prepared."""
    changed, lines = after is not before, _lines(after)
    old = _lines(before) if changed else {}
    missing = [int(count) for count in np.isnan(after.values.astype(float)).sum(axis=0)]
    rows = [
        _row(name, kind, lines.get(name), before=old.get(name), missing=gone, range=_range(after, i))
        | {"labels": list(after.labels.get(name, ()))[:6]}
        for i, (name, kind, gone) in enumerate(zip(after.names[:MOST_NODES], after.kinds, missing))
    ]
    return {
        "nodes": rows,
        "facts": {
            "nodes": after.n_nodes, "samples": len(after), "trials": len(after.lengths), "missing": sum(missing),
            "step": after.every or f"{after.dt:g}", "start": "" if after.time is None else str(after.time.start),
            "known": bool(after.every or after.time), "prepared": list(after.prepared[len(before.prepared) :]),
        },
        "badges": _badges(before, after, values, names, changed),
    }  # fmt: skip


def _row(name: str, kind: str, line: Any, **more: Any) -> dict[str, Any]:
    """Return what is shown of a node; ``before`` is its line before it was prepared."""
    known = {"before": None, "missing": 0, "range": [], "labels": []} | more
    return {"name": name, "shown": visible(name), "kind": kind, "line": line, **known}


def _seen_events(events: em.Events) -> dict[str, Any]:
    """Return what is shown of events: how many each node has in equal parts of the first observed time."""
    first = events.stretches[0]
    counts = [np.histogram(times, BINS, (first.start, first.stop))[0] for times in first.times[:MOST_NODES]]
    rows = [_row(name, "events", plain(line), events=events.counts[name]) for name, line in zip(events.names, counts)]
    facts = {
        "nodes": events.n_nodes, "events": len(events), "trials": len(events.lengths), "missing": 0,
        "duration": plain(events.duration, 6), "guessed": events.guessed, "prepared": [],
    }  # fmt: skip
    return {"nodes": rows, "facts": facts, "badges": []}


def _as_events(file: str, values: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a switch that takes rows as events, where a table has columns for node and time (and trial) alone."""
    if values.get("events"):
        return []
    try:
        kept: dict[str, Any] = {name: values[name] for name in ("decimal", "encoding", "skip") if name in values}
        given = form.typed(form.words_of(file, kept | {"events": True}))
        columns = read_table(given["data"][0], rules_of(build.reading(given) | {"header": True})).frame.columns
        if {str(name).strip().lower() for name in columns} <= {*NODES, *TIMES, *TRIALS}:
            build.recording(given)
            return [{"name": "events", "value": True, "label": "Rows are events"}]
    except InputError:
        pass
    return []


def _lines(series: em.Series) -> dict[str, list[Any]]:
    """Return a thinned copy of the first trial of every node."""
    first = series.trials[0][:, :MOST_NODES].astype(float)
    return {name: plain(extremes(column, POINTS), DIGITS) for name, column in zip(series.names, first.T)}


def _range(series: em.Series, i: int) -> list[Any]:
    column = series.values[:, i].astype(float)
    column = column[np.isfinite(column)]
    return plain((column.min(), column.max()), DIGITS) if len(column) else []


def _badges(
    before: em.Series, after: em.Series, values: dict[str, Any], names: list[str], changed: bool
) -> list[dict[str, Any]]:
    """Return what could mislead, as it was read and as it is now; what a switch has repaired stays, as repaired."""
    now = {(one.kind, one.message.split(":")[0]): one for one in hazards_of_data(after)}
    was = {(one.kind, one.message.split(":")[0]): one for one in hazards_of_data(before)} if changed else now
    rows = []
    for key in {**was, **now}:
        finding, repaired = now.get(key) or was[key], key not in now
        message = form.in_words(finding.message)
        fixes = form.advised(message, values) or _masks(finding, before, values)
        fixes += _columns_without(message, names, values) if finding.kind == "synchronisation" else []
        badge = BADGES.get(finding.kind, finding.kind)
        row = {"kind": finding.kind, "badge": badge, "nodes": list(finding.nodes), "message": message}
        rows.append(row | {"repaired": repaired, "new": key not in was, "fixes": fixes})
    if before.missing is not None:
        gaps = [name for name, gone in zip(before.names, np.isnan(before.values).any(axis=0)) if gone]
        how = str(values.get("missing") or "drop")
        told = "Windows of samples that touch a missing value are left out."
        rows.append({"kind": "gaps", "badge": "gaps", "nodes": gaps, "message": told, "repaired": True, "new": False,
                     "fixes": [{"name": "missing", "value": how, "label": f"Missing values: {how}"}]})  # fmt: skip
    return rows


def _masks(finding: Finding, series: em.Series, values: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a switch that leaves out the samples of spikes or of a stuck sensor, where they are few windows."""
    if finding.kind not in ("spike", "stuck"):
        return []
    bad = odd_samples(series, finding.kind, finding.nodes)
    edges = np.flatnonzero(np.diff(np.r_[False, bad, False]))
    windows = [f"{first + 1}:{last}" for first, last in zip(edges[::2], edges[1::2])]
    if not 0 < len(windows) <= MOST_WINDOWS:
        return []
    mask = list(dict.fromkeys([*(values.get("mask") or []), *windows]))
    shown = ", ".join(windows[:3]) + (f" and {len(windows) - 3} more" if len(windows) > 3 else "")
    return [{"name": "mask", "value": mask, "label": f"Leave out samples {shown}"}]


def _columns_without(message: str, names: Iterable[str], values: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a switch that leaves out the column that a message says is of no use; of two, the second."""
    if "leave" not in message or "out" not in message or "--drop-constant" in message:
        return []
    known = list(values.get("columns") or names)
    named = [name for name in known if re.search(rf"(?<!\w){re.escape(visible(name))}(?!\w)", message)]
    drop = named[1:2] if "one out" in message else named
    kept = [name for name in known if name not in drop]
    if not drop or len(kept) < 2:
        return []
    return [{"name": "columns", "value": kept, "label": f"Leave out {', '.join(map(visible, drop[:4]))}"}]


def seconds_of(given: a.Given, series: Any, tell: Callable[..., None]) -> dict[str, Any]:
    """Return how long a run will take, from that of a part of the recording."""
    seconds, part = inspection.seconds_of(series, asked_of(given, series) | {"bootstrap": given["bootstrap"]}, tell)
    links = series.n_nodes * (series.n_nodes - 1)
    return {"seconds": plain(seconds, 3), "links": links, "samples": len(series), "of": part}
