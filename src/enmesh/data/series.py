"""Series: validated observations y of M subsystems over time, in one or more trials.

Everything downstream trusts a `Series`; whatever is wrong with the data is said here, once, with the column named.
"""

import hashlib
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from enmesh import late
from enmesh.data import values as prepare
from enmesh.data.graph_input import truth_in
from enmesh.data.objects import values_of
from enmesh.data.rules import Reading, Rules, rules_of, step_of
from enmesh.data.sources import is_source
from enmesh.data.table import listed, visible
from enmesh.data.times import Time, step_in_words
from enmesh.data.values import FLOAT, INTEGER, TEXT, Values, check_names, validate
from enmesh.errors import InputError, hazard, refuse_if
from enmesh.options import names_in, whole

if TYPE_CHECKING:
    import pandas as pd


# Samples that each bin must hold where values are cut into bins.
FEWEST_IN_BIN = 3


class Words(Reading, total=False):
    """What may be said of values: how they are to be taken, and what is known of a simulation."""

    duplicates: str
    truth: Mapping[str, Sequence[str]] | None
    truth_lags: Mapping[tuple[str, str], tuple[int, ...]] | None


class Series:
    """A multivariate time series: ``y[trial][time, node]``, names, kinds, sampling step and time axis.

    Parameters
    ----------
    values
        ``(time, node)``, ``(trial, time, node)``, a list of ``(time, node)`` trials of any lengths, a pandas
        DataFrame or a list of them (one per trial, columns matched by name), any other table that narwhals knows
        (polars, pyarrow, ...), a mapping of columns, an xarray DataArray or Dataset, or Raw or Epochs of MNE. What is
        masked is missing. A path is read as by `read`.
    names
        One name per node; by default the DataFrame's columns or ``x0, x1, ...``.
    dt, sfreq
        Sampling step in the user's unit of time, or samples per unit; by default that of the times of the rows, or 1.
    missing
        ``"raise"`` refuses NaN and gaps in time; ``"drop"`` keeps them and every window that touches one is left out;
        ``"interpolate:5"`` fills gaps of up to 5 samples of measurements by straight lines and drops the others.
    duplicates
        ``"raise"`` refuses two identical columns; ``"allow"`` keeps them (synchronised simulations).
    truth, truth_lags
        The graph that generated the data, ``{target: parents}``, and the lags at which its links act,
        ``{(source, target): lags}``, where they are known.
    transpose, dims
        ``transpose=True`` takes rows for nodes; False says that they are not, where an array has more columns than
        rows. ``dims`` names the axes of an array in any order: ``("trial", "node", "time")``; for a list of arrays
        those of each.
    drop_constant
        True leaves out nodes that are constant or have no value, and says which.
    resample
        Step, or True for the usual one, to which uneven times are interpolated by straight lines.
    time, columns, trials, rows, states, pivot, date_format, decimal, thousands, na
        For what has columns, as in `read`.

    Attributes
    ----------
    trials
        The samples, one array ``(time, node)`` per trial: int64 if every node is integer or text and nothing is
        missing, else float64. Text is held as codes.
    kinds
        Of each node: ``"float"`` (measurements), ``"integer"`` (whole numbers) or ``"text"`` (states with names).
    labels
        ``{name: (label of code 0, label of code 1, ...)}`` of the nodes that are text.
    time
        When the first sample was taken and in which unit, where it is known (`Time`).
    prepared
        What was done to the values, in words: ``("differenced",)``.
    file
        Name of the file or files it was read from (`read`); empty if it was not.

    Examples
    --------
    >>> Series([[0.1, 1.0], [0.4, 0.5], [0.3, 0.2], [0.8, 0.9]], names=["a", "b"])
    Series(2 nodes: a, b; 1 trial of 4 samples; dt=1)
    """

    time: Time | None = None
    prepared: tuple[str, ...] = ()
    file: str = ""
    truth: dict[str, tuple[str, ...]] | None = None
    truth_lags: dict[tuple[str, str], tuple[int, ...]] | None = None

    def __init__(
        self, values: Any, names: Sequence[str] | None = None, dt: float | None = None, **words: Unpack[Words]
    ):
        names = None if names is None else names_in("names", names)
        duplicates = words.pop("duplicates", None) or "raise"
        truth, lags = words.pop("truth", None), words.pop("truth_lags", None)
        source = is_source(values)
        if hasattr(values, "stretches"):
            takes = "transfer_entropy, significance, te_matrix, score and infer take events"
            raise InputError(f"these are events, not samples; {takes}")
        rules = rules_of(words, counters=names is not None and not source)
        if isinstance(values, Series):
            if rules.given - {"missing", "drop_constant"}:
                raise InputError("a Series has its time, trials and nodes already; say them where it is made")
            self.prepared, self.file = values.prepared, values.file
            found = values._held()
        else:
            found = values_of(values, rules, step_of(dt, rules), names)
        try:
            self._take(found, None if source else names, dt, rules, duplicates)
        except InputError as error:
            raise InputError(f"{found.file}: {error}" if source else str(error)) from None
        if source:
            files = values if isinstance(values, (list, tuple)) else [values]
            self.file = ", ".join(str(one) for one in files if not hasattr(one, "read") and str(one) != "-")
        self.truth = truth_in(truth)
        self.truth_lags = None if lags is None else dict(lags)

    @classmethod
    def of(cls, data: Any, **words: Any) -> "Series":
        """Return whatever holds a recording as a series: a series as it is, an array, a table, a path or an open file.

        >>> Series.of([[0.1, 1.0], [0.4, 0.5], [0.3, 0.2], [0.8, 0.9]]).names
        ('x0', 'x1')
        """
        return data if isinstance(data, cls) and not words else cls(data, **words)

    def _take(self, values: Values, names: Any, dt: Any, rules: Rules, duplicates: str) -> None:
        """Take values under other names, with another step, with short gaps filled, where that is asked for."""
        names = check_names(values.names if names is None else names, len(values.kinds))
        if rules.drop_constant:
            values = replace(values, names=names, labels=_renamed(values, names))
            values, dropped = prepare.without_constant(values)
            names = values.names
            if dropped:
                hazard(f"left out {listed(dropped)}: constant, or without any value")
                self.prepared = (*self.prepared, f"left out {listed(dropped)}, which are constant")
        step = step_of(dt, rules, values.dt)
        if values.time is not None and values.dt and isinstance(step, Real) and not math.isclose(step, values.dt):
            told = f"dt={step:g} is used, and the times step by {values.dt:g}"
            hazard(f"{told}; leave dt (or sfreq) out if the times are right")
        values = replace(values, names=names, labels=_renamed(values, names), dt=step)
        if rules.longest:
            values, count = prepare.interpolated(values, rules.longest)
            note = f"{count} missing values in gaps of up to {rules.longest} samples interpolated"
            self.prepared = (*self.prepared, note) if count else self.prepared
        self._fill(values, rules.missing, duplicates)

    def _fill(self, values: Values, missing: str, duplicates: str) -> None:
        dt: Any = 1.0 if values.dt is None else values.dt
        if not (isinstance(dt, Real) and math.isfinite(dt) and float(dt) > 0):
            raise InputError(f"dt={dt!r} is not a sampling step; give a positive number")
        self._names = self.given_names = values.names
        self.dt, self.time = float(dt), values.time
        self.trials, self.kinds, self.labels = values.trials, values.kinds, values.labels
        absent = tuple(np.isnan(trial) for trial in self.trials)
        self.missing = absent if any(mask.any() for mask in absent) else None
        for trial in self.trials:
            trial.flags.writeable = False
        validate(values, missing, duplicates)

    def _held(self) -> Values:
        return Values(self.names, self.trials, self.kinds, self.labels, self.dt, self.time)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the nodes."""
        return self._names

    @property
    def n_nodes(self) -> int:
        """Number of nodes, M."""
        return len(self.names)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Number of samples in each trial."""
        return tuple(len(trial) for trial in self.trials)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples in all trials together, and of nodes."""
        return sum(self.lengths), self.n_nodes

    @property
    def every(self) -> str:
        """The sampling step in words, such as ``"1 day"``; empty where nothing but the rows is known."""
        unit = "" if self.time is None else self.time.unit
        return step_in_words(self.dt, unit) if unit or self.dt != 1 else ""

    @property
    def is_integer(self) -> bool:
        """Whether every node is whole numbers or text, so that its values can be counted as states."""
        return FLOAT not in self.kinds

    @property
    def values(self) -> np.ndarray:
        """All trials, one below the other: ``(total time, node)``; text as codes."""
        return self.trials[0] if len(self.trials) == 1 else np.concatenate(self.trials)

    def __len__(self) -> int:
        """Return the number of samples in all trials together."""
        return sum(self.lengths)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, node: object) -> bool:
        return node in self.names

    def __getitem__(self, nodes: Any) -> Any:
        """Return the samples of one node, text as words; of a list of nodes their series; of a slice of samples theirs.

        A slice counts the samples of all trials, as ``len`` does: ``series[:100]`` are the first hundred.

        >>> Series([[0.1, 1.0], [0.4, 0.5], [0.3, 0.2], [0.8, 0.9]])[1:].lengths
        (3,)
        """
        if isinstance(nodes, slice):
            return self._part(nodes)
        if isinstance(nodes, (list, tuple)):
            return self.select(nodes)
        i = self.index(nodes)
        column = self.values[:, i]
        there = ~np.isnan(column)
        if there.all():
            return self._typed(i, column)
        words = np.full(len(column), None, object)
        words[there] = self._typed(i, column[there])
        return words if self.kinds[i] == TEXT else column

    def _part(self, rows: slice) -> "Series":
        """Return some consecutive samples, counted over all trials."""
        try:
            start, stop, step = rows.indices(len(self))
        except TypeError:
            raise InputError(f"{rows} is no range of samples; give whole numbers, as in series[:100]") from None
        if step != 1 or start >= stop:
            told = f"{rows.start}:{rows.stop}:{rows.step} of {len(self)} samples"
            raise InputError(f"{told} are no consecutive samples; give series[FROM:TO] without a step")
        begins = np.cumsum([0, *self.lengths])
        cuts = [(max(start - b, 0), min(stop - b, n)) for b, n in zip(begins, self.lengths)]
        kept = [(trial[low:high], low) for trial, (low, high) in zip(self.trials, cuts) if high > low]
        short = min(len(trial) for trial, _ in kept)
        if short < prepare.MIN_LENGTH:
            told = f"{start}:{stop} leaves {short} samples of a trial"
            raise InputError(f"{told}; at least {prepare.MIN_LENGTH} are needed, begin or end elsewhere")
        made = self.with_trials([trial for trial, _ in kept])
        made.time = None if self.time is None else self.time.later(kept[0][1] * self.dt)
        return made

    def __eq__(self, other: object) -> bool:
        """Say whether two series hold the same values of the same nodes at the same step."""
        return isinstance(other, Series) and (self is other or self.digest == other.digest)

    def __hash__(self) -> int:
        return hash((self.names, self.lengths, self.dt))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype) if copy else np.asarray(self.values, dtype=dtype)

    def index(self, node: str | int) -> int:
        """Return the position of a node given by name (or by its position among the columns that were given)."""
        if isinstance(node, (int, np.integer)) and not isinstance(node, bool) and 0 <= node < self.n_nodes:
            node = self.given_names[node]
        if isinstance(node, str) and node in self._places:
            return self._places[node]
        raise InputError(f"there is no node {visible(repr(node))}; the nodes are {listed(self.names)}")

    def indices(self, nodes: Any) -> tuple[int, ...]:
        """Return the positions of one node, of several without repeats, or of None."""
        if not isinstance(nodes, (str, int, np.integer, Iterable, type(None))):
            raise InputError(f"{nodes!r} names no node; the nodes are {listed(self.names)}")
        nodes = np.ravel(nodes) if isinstance(nodes, np.ndarray) else () if nodes is None else nodes
        nodes = [nodes] if isinstance(nodes, (str, int, np.integer)) else list(nodes)
        found = tuple(self.index(node) for node in nodes)
        if len(set(found)) < len(found):
            raise InputError(f"a node is named twice in {listed(nodes)}; name each once")
        return found

    def select(self, nodes: Sequence[str]) -> "Series":
        """Return the series of the given nodes alone."""
        keep = list(self.indices(nodes))
        refuse_if(not keep, f"no node is selected; name at least one of {listed(self.names)}")
        names, kinds = tuple(self.names[i] for i in keep), tuple(self.kinds[i] for i in keep)
        known = self.truth or {}
        truth = {t: tuple(p for p in known[t] if p in names) for t in known if t in names}
        return self._derive([trial[:, keep] for trial in self.trials], kinds, names, truth)

    def in_order(self) -> "Series":
        """Return the series with its nodes in the order of their names.

        In this order everything is computed, so that no result depends on the order of the columns, not even in its
        last bits; ``given_names`` are the names as they stood.
        """
        if list(self.names) == (order := sorted(self.names)):
            return self
        made = self.select(order)
        made.given_names = self.given_names
        return made

    def with_trials(self, trials: Sequence[np.ndarray]) -> "Series":
        """Return a series of other samples ``(time, node)`` of the same nodes, such as parts of the trials."""
        return self._derive(trials, self.kinds)

    def discretise(self, levels: int = 3, nodes: Sequence[str] | None = None) -> "Series":
        """Return the series with nodes cut into ``levels`` equally filled bins, coded from 0.

        By default every node but text, which is states already, is cut.
        """
        levels, most = whole("levels", levels, 2), max(2, len(self) // FEWEST_IN_BIN)
        if levels > most:
            told = f"levels={levels} leaves fewer than {FEWEST_IN_BIN} of {len(self)} samples in each bin"
            raise InputError(f"{told}; give at most {most}, and few enough to count: 2 to 5")
        if self.missing is not None:
            raise InputError("cannot discretise a series with missing values; fill or cut them first")
        cut = self._to_change(nodes, "discretised", keep=(TEXT,))
        pooled, kinds = self.values.copy(), list(self.kinds)
        for i in cut:
            column = self._typed(i, pooled[:, i])
            edges = np.quantile(column, np.arange(1, levels) / levels)
            pooled[:, i], kinds[i] = np.searchsorted(edges, column, side="right"), INTEGER
        note = f"cut into {levels} equally filled bins"
        return self._derive(self._split(pooled), tuple(kinds), note=self._noted(note, cut))

    def transform(self, condition: Callable[..., np.ndarray], in_runs: bool = False) -> np.ndarray:
        """Apply ``condition(column, index, name)`` to each node, pooled over trials; return ``(node, total time)``.

        ``condition`` sees each column in its own type: float64, int64, or words for text. Missing samples are not
        shown to it and are 0 in the result; the embedding drops them. With ``in_runs`` it is told by ``starts`` at
        which of the samples it sees runs of consecutive ones begin.
        """
        pooled = self.values
        present = None if self.missing is None else ~np.concatenate(self.missing)
        changed = []
        for i, name in enumerate(self.names):
            there = slice(None) if present is None else present[:, i]
            how = {"starts": self._run_starts(there)} if in_runs else {}
            known = condition(self._typed(i, pooled[there, i]), i, name, **how)
            changed.append(np.zeros(len(pooled), known.dtype))
            changed[i][there] = known
        return np.array(changed)

    def _run_starts(self, there: Any) -> np.ndarray:
        """Return where, among the samples that are there, runs begin: with a trial or after a gap."""
        begins, present = np.zeros((2, len(self)), bool)
        begins[np.cumsum([0, *self.lengths[:-1]])] = present[there] = True
        begins[1:] |= ~present[:-1]
        return np.flatnonzero(begins[present])

    def _typed(self, i: int, column: np.ndarray) -> np.ndarray:
        """Return samples of node i, none of them missing, in its own type."""
        if self.kinds[i] == FLOAT:
            return column
        codes = column.astype(np.int64, copy=False)
        return np.array(self.labels[self.names[i]])[codes] if self.kinds[i] == TEXT else codes

    def difference(self, nodes: Sequence[str] | None = None) -> "Series":
        """Return the series of changes, ``x[t + 1] - x[t]`` in each trial, which is one sample shorter.

        As in all preparing, measurements (float) are changed and states are not: integer nodes only if they are
        named in ``nodes``, text never. Nodes that are not changed keep their values at t + 1.
        """
        changed = self._prepared(lambda trial: np.diff(trial, axis=0), nodes, "differenced", shorter=1)
        changed.time = None if self.time is None else self.time.later(self.dt)
        return changed

    def detrend(self, nodes: Sequence[str] | None = None) -> "Series":
        """Return the series without the straight line that fits each node best in each trial."""
        return self._prepared(prepare.detrended, nodes, "detrended")

    def deseason(self, period: int, nodes: Sequence[str] | None = None) -> "Series":
        """Return the series without its season: each sample less the mean of its phase in the trial.

        ``period`` is the length of a season in samples.
        """
        what = f"deseasoned (period {period})"
        return self._prepared(lambda trial: prepare.deseasoned(trial, period), nodes, what)

    def standardise(self, nodes: Sequence[str] | None = None) -> "Series":
        """Return the series with mean 0 and standard deviation 1 of each node in each trial."""
        return self._prepared(prepare.standardised, nodes, "standardised")

    def mask(self, rows: Any) -> "Series":
        """Return the series in which the given samples are missing; every window that touches one is left out.

        ``rows`` are positions among the samples of all trials, a slice of them, or True for each sample to mask.
        """
        masked = np.zeros(len(self), bool)
        try:
            masked[rows if isinstance(rows, slice) else np.ravel(rows).tolist()] = True
        except (IndexError, ValueError, TypeError) as error:
            raise InputError(f"cannot mask these rows of {len(self)} ({error}); give positions below that") from None
        refuse_if(masked.all(), "every row is masked; leave some samples")
        refuse_if(not masked.any(), "no row is masked; name at least one, or use the series as it is")
        values = self._split(np.where(masked[:, None], np.nan, self.values))
        return self._derive(values, self.kinds, note=f"{masked.sum()} of {len(self)} samples masked")

    def _prepared(self, change: Callable, nodes: Any, what: str, shorter: int = 0) -> "Series":
        picked = self._to_change(nodes, what, keep=(TEXT, INTEGER))
        changed = [trial.astype(np.float64)[shorter:] for trial in self.trials]
        for trial, values in zip(self.trials, changed):
            values[:, picked] = change(trial[:, picked].astype(np.float64))
        before, after = self.values[:, picked], np.concatenate(changed)[:, picked]
        size = 1.0 if what == "standardised" else np.nanmax(np.abs(before), 0)
        left = np.nanmax(after, 0) - np.nanmin(after, 0) > 1e-12 * size
        if not left.all():  # but rounding errors
            gone = ", ".join(self.names[i] for i, kept in zip(picked, left) if not kept)
            raise InputError(f"column {gone} is constant when it is {what}; leave it out")
        kinds = tuple(FLOAT if i in picked else kind for i, kind in enumerate(self.kinds))
        return self._derive(changed, kinds, note=self._noted(what, picked))

    def _to_change(self, nodes: Sequence[str] | None, what: str, keep: tuple[str, ...]) -> list[int]:
        """Return the positions of the nodes to change: the named ones, or all but the kinds to keep."""
        picked = [i for i, kind in enumerate(self.kinds) if kind not in keep]
        picked = picked if nodes is None else list(self.indices(nodes))
        words = [self.names[i] for i in picked if self.kinds[i] == TEXT]
        refuse_if(words, f"{listed(words)} is text and cannot be {what}; leave it out")
        if not picked:
            held = "text" if keep == (TEXT,) else "whole numbers or text"
            raise InputError(f"every node is {held}, which stands for states; name the nodes to be {what}")
        return picked

    def _noted(self, what: str, picked: list[int]) -> str:
        names = ", ".join(self.names[i] for i in picked)
        return what if len(picked) == self.n_nodes else f"{what} ({names})"

    def _split(self, pooled: np.ndarray) -> list[np.ndarray]:
        return np.split(pooled, np.cumsum(self.lengths)[:-1])

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of values, trial lengths, names, dt and kinds: the identity of the data."""
        digest = hashlib.sha256(repr((self.names, self.lengths, self.dt, self.trials[0].dtype.str)).encode())
        for trial in self.trials:
            digest.update(np.ascontiguousarray(trial).data)
        if len(set(self.kinds)) > 1 or self.labels:
            digest.update(repr((self.kinds, sorted(self.labels.items()))).encode())
        return digest.hexdigest()

    def to_dataframe(self) -> "pd.DataFrame":
        """Return all trials as one pandas DataFrame; several trials get a first column ``trial``."""
        import pandas as pd

        frame = pd.DataFrame({name: self[name] for name in self.names})
        for name, kind in zip(self.names, self.kinds):
            if kind == TEXT:
                frame[name] = pd.Categorical(self[name], categories=list(self.labels[name]))
            elif kind == INTEGER and frame[name].dtype.kind == "f":
                frame[name] = frame[name].astype("Int64")
        if len(self.trials) > 1:
            frame.insert(0, "trial", np.repeat(np.arange(len(self.trials)), self.lengths))
        return frame

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the series as csv text that `read` gives back, and write it to ``path`` if one is given."""
        return str(late.lazy_import("csv text")(self, path))

    def __repr__(self) -> str:
        lengths = sorted(set(self.lengths))
        samples = str(lengths[0]) if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"
        names = [visible(name) for name in self.names[:8]]
        shown = ", ".join(names if self.n_nodes <= 8 else (*names[:6], "..."))
        trials = "1 trial" if len(self.trials) == 1 else f"{len(self.trials)} trials"
        return f"Series({self.n_nodes} nodes: {shown}; {trials} of {samples} samples; dt={self.dt:g})"

    def _repr_html_(self) -> str:
        from enmesh.draw.report.notebook import series_html

        return series_html(self)

    def _derive(self, trials: Any, kinds: Any, names: Any = None, truth: Any = None, note: str = "") -> Any:
        """Return a series of other values that keeps what is known of this one."""
        made, names = object.__new__(Series), self.names if names is None else names
        made.file, made.prepared = self.file, (*self.prepared, note) if note else self.prepared
        whole = FLOAT not in kinds and not any(np.isnan(trial).any() for trial in trials)
        arrays = tuple(np.array(trial, np.int64 if whole else np.float64) for trial in trials)
        labels = {name: self.labels[name] for name, kind in zip(names, kinds) if kind == TEXT}
        values = replace(self._held(), names=names, trials=arrays, kinds=kinds, labels=labels)
        made._fill(values, "drop", "allow")
        made.truth = truth or self.truth
        made.given_names = self.given_names if names == self.names else names
        lags = self.truth_lags
        made.truth_lags = lags and {link: lags[link] for link in lags if set(link) <= set(names)}
        return made


def _renamed(values: Values, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the labels of the codes of words under other names of nodes."""
    return {new: values.labels[old] for old, new in zip(values.names, names) if old in values.labels}
