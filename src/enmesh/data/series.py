"""Series: validated observations y of M subsystems over time, in one or more trials.

Everything downstream trusts a `Series`; whatever is wrong with the data is said here, once, with the column named.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from enmesh.errors import InputError

# A transition needs a past and a next value, and a constant cannot be told from so few.
MIN_LENGTH = 3


class Series:
    """A multivariate time series: ``y[trial][time, node]``, names and sampling step.

    Parameters
    ----------
    values
        ``(time, node)``, ``(trial, time, node)``, a list of ``(time, node)`` trials of any lengths, a pandas
        DataFrame, or any object with the dataframe interchange protocol (polars). Integers stay integers; text
        becomes integer codes (see ``labels``).
    names
        One name per node; by default the DataFrame's columns or ``x0, x1, ...``.
    dt
        Sampling step, in the user's unit of time.
    missing
        ``"raise"`` refuses NaN; ``"drop"`` keeps it and every window that touches one is left out.
    duplicates
        ``"raise"`` refuses two identical columns; ``"allow"`` keeps them (synchronised simulations).
    truth
        The graph that generated the data, ``{target: parents}``, where it is known.
    truth_lags
        The lags at which its links act, ``{(source, target): lags}``, where they are known.

    Examples
    --------
    >>> Series([[0.1, 1.0], [0.4, 0.5], [0.3, 0.2], [0.8, 0.9]], names=["a", "b"])
    Series(2 nodes: a, b; 1 trial of 4 samples; dt=1)
    """

    def __init__(
        self,
        values,
        names: Sequence[str] | None = None,
        dt: float = 1.0,
        *,
        missing: str = "raise",
        duplicates: str = "raise",
        truth: Mapping[str, Sequence[str]] | None = None,
        truth_lags: Mapping[tuple[str, str], tuple[int, ...]] | None = None,
    ):
        if missing not in ("raise", "drop"):
            raise InputError(f"missing={missing!r} is not an option; use 'raise' or 'drop'")
        if duplicates not in ("raise", "allow"):
            raise InputError(f"duplicates={duplicates!r} is not an option; use 'raise' or 'allow'")
        if not (np.isscalar(dt) and np.isfinite(dt) and dt > 0):
            raise InputError(f"dt={dt!r} is not a sampling step; give a positive number")
        trials, found_names = _as_trials(values)
        self.names: tuple[str, ...] = _check_names(
            names if names is not None else found_names, trials[0].shape[1]
        )
        self.dt = float(dt)
        self.trials, self.labels = _as_numbers(trials, self.names)
        self.missing = _missing_mask(self.trials) if missing == "drop" else None
        self._validate(missing, duplicates)
        self.truth = None if truth is None else {str(t): tuple(map(str, p)) for t, p in truth.items()}
        self.truth_lags = None if truth_lags is None else dict(truth_lags)
        for trial in self.trials:
            trial.flags.writeable = False

    @property
    def n_nodes(self) -> int:
        """Number of nodes, M."""
        return len(self.names)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Number of samples in each trial."""
        return tuple(len(trial) for trial in self.trials)

    @property
    def is_integer(self) -> bool:
        """Whether the values are integers (or codes of labels)."""
        return self.trials[0].dtype.kind == "i"

    @property
    def values(self) -> np.ndarray:
        """All trials, one below the other: ``(total time, node)``."""
        return self.trials[0] if len(self.trials) == 1 else np.concatenate(self.trials)

    def index(self, node: str | int) -> int:
        """Return the position of a node given by name (or by position)."""
        if isinstance(node, (int, np.integer)) and not isinstance(node, bool) and 0 <= node < self.n_nodes:
            return int(node)
        if node in self.names:
            return self.names.index(node)
        raise InputError(f"there is no node {node!r}; the nodes are {', '.join(self.names)}")

    def indices(self, nodes) -> tuple[int, ...]:
        """Return the positions of one node or several, without repeats."""
        nodes = [nodes] if isinstance(nodes, (str, int, np.integer)) else list(nodes)
        found = tuple(self.index(node) for node in nodes)
        if len(set(found)) < len(found):
            raise InputError(
                f"a node is named twice in {', '.join(self.names[i] for i in found)}; name each once"
            )
        return found

    def select(self, nodes: Sequence[str]) -> "Series":
        """Return the series of the given nodes alone."""
        keep = list(self.indices(nodes))
        chosen = [self.names[i] for i in keep]
        truth = self.truth and {
            t: [p for p in ps if p in chosen] for t, ps in self.truth.items() if t in chosen
        }
        return self._derive([trial[:, keep] for trial in self.trials], chosen, truth)

    def discretise(self, levels: int = 3) -> "Series":
        """Return the series with each node cut into ``levels`` equally filled bins, coded ``0 .. levels-1``."""
        if levels < 2:
            raise InputError(f"levels={levels} is too few; give at least 2")

        def cut(column, _index, _name):
            return np.searchsorted(np.quantile(column, np.arange(1, levels) / levels), column, side="right")

        if self.missing is not None:
            raise InputError("cannot discretise a series with missing values; fill or cut them first")
        coded = np.split(self.transform(cut).T, np.cumsum(self.lengths)[:-1])
        return self._derive(coded, self.names, self.truth)

    def transform(self, condition: Callable[[np.ndarray, int, str], np.ndarray]) -> np.ndarray:
        """Apply ``condition(column, index, name)`` to each node, pooled over trials; return ``(node, total time)``.

        Missing samples are not shown to ``condition`` and are 0 in the result; the embedding drops them.
        """
        pooled = self.values
        present = None if self.missing is None else ~np.concatenate(self.missing)
        columns = []
        for i, name in enumerate(self.names):
            if present is None:
                columns.append(condition(pooled[:, i], i, name))
            else:
                known = condition(pooled[present[:, i], i], i, name)
                columns.append(np.zeros(len(pooled), known.dtype))
                columns[-1][present[:, i]] = known
        return np.stack(columns)

    @property
    def digest(self) -> str:
        """SHA-256 of values, trial lengths, names and dt: the identity of the data."""
        digest = hashlib.sha256(repr((self.names, self.lengths, self.dt, self.trials[0].dtype.str)).encode())
        for trial in self.trials:
            digest.update(np.ascontiguousarray(trial).tobytes())
        return digest.hexdigest()

    def to_dataframe(self):
        """Return all trials as one pandas DataFrame; several trials get a first column ``trial``."""
        import pandas as pd

        frame = pd.DataFrame(self.values, columns=list(self.names))
        if len(self.trials) > 1:
            frame.insert(0, "trial", np.repeat(np.arange(len(self.trials)), self.lengths))
        return frame

    def __repr__(self):
        lengths = sorted(set(self.lengths))
        samples = str(lengths[0]) if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"
        shown = ", ".join(self.names if self.n_nodes <= 8 else (*self.names[:6], "..."))
        trials = "1 trial" if len(self.trials) == 1 else f"{len(self.trials)} trials"
        return f"Series({self.n_nodes} nodes: {shown}; {trials} of {samples} samples; dt={self.dt:g})"

    def _repr_html_(self):
        from enmesh.draw.report.notebook import series_html

        return series_html(self)

    def _derive(self, trials, names, truth):
        missing = "raise" if self.missing is None else "drop"
        lags = self.truth_lags and {
            link: at for link, at in self.truth_lags.items() if set(link) <= set(names)
        }
        kept = {"truth": truth, "truth_lags": lags}
        return Series(list(trials), names, self.dt, missing=missing, duplicates="allow", **kept)

    def _validate(self, missing, duplicates):
        short = min(self.lengths)
        if short < MIN_LENGTH:
            raise InputError(f"a trial has {short} samples; at least {MIN_LENGTH} are needed")
        pooled = self.values
        if pooled.dtype.kind == "f":
            self._refuse("infinite", np.isinf(pooled).sum(0), "replace or cut them")
            nans = np.isnan(pooled)
            if missing == "raise":
                self._refuse("missing (NaN)", nans.sum(0), "fill or cut them, or pass missing='drop'")
            empty = [name for name, gone in zip(self.names, nans.all(0)) if gone]
            if empty:
                raise InputError(f"no value at all in column {', '.join(empty)}; leave it out")
            low, high = np.nanmin(pooled, 0), np.nanmax(pooled, 0)
        else:
            low, high = pooled.min(0), pooled.max(0)
        constant = [name for name, same in zip(self.names, low == high) if same]
        if constant:
            raise InputError(
                f"constant column: {', '.join(constant)}; it carries no information, leave it out"
            )
        if duplicates == "raise":
            self._refuse_identical(pooled)

    def _refuse(self, what, counts, advice):
        if counts.any():
            listed = ", ".join(f"{name} ({count})" for name, count in zip(self.names, counts) if count)
            raise InputError(f"{what} values in column {listed}; {advice}")

    def _refuse_identical(self, pooled):
        seen: dict[bytes, str] = {}
        for name, column in zip(self.names, np.ascontiguousarray(pooled.T)):
            first = seen.setdefault(hashlib.sha256(column.tobytes()).digest(), name)
            if first != name:
                raise InputError(f"columns {first} and {name} are identical; leave one out")


def _as_trials(values) -> tuple[list[np.ndarray], list[str] | None]:
    """Return the values as a list of (time, node) arrays, and the names a DataFrame brought."""
    if isinstance(values, Series):
        return list(values.trials), list(values.names)
    if not hasattr(values, "columns") and hasattr(values, "__dataframe__"):
        raise InputError(f"a {type(values).__name__} has no columns; give (time, node) values")
    if hasattr(values, "columns"):
        return [_frame_values(values)], [str(name) for name in values.columns]
    if isinstance(values, (list, tuple)) and values and np.ndim(values[0]) == 2:
        trials = [np.asarray(trial) for trial in values]
    else:
        try:
            array = np.asarray(values)
        except ValueError:
            raise InputError(
                "the rows differ in length; give (time, node) values or a list of such trials"
            ) from None
        trials = [array] if array.ndim == 2 else list(array) if array.ndim == 3 else []
    if not trials or any(trial.ndim != 2 for trial in trials):
        raise InputError(
            f"values have shape {np.shape(values) if not trials else [t.shape for t in trials]}; "
            "give (time, node), (trial, time, node) or a list of (time, node)"
        )
    widths = {trial.shape[1] for trial in trials}
    if len(widths) > 1:
        raise InputError(
            f"the trials have different numbers of nodes ({', '.join(map(str, sorted(widths)))})"
        )
    if widths == {0}:
        raise InputError("there is no column; give at least one node")
    return trials, None


def _frame_values(frame) -> np.ndarray:
    """Return a DataFrame's values: numeric columns as one array, text columns as labels."""
    if not hasattr(frame, "iloc"):
        from pandas.api.interchange import from_dataframe

        frame = from_dataframe(frame)
    kinds = [getattr(frame[name].dtype, "kind", "O") for name in frame.columns]
    odd = [str(name) for name, kind in zip(frame.columns, kinds) if kind in "Mmc"]
    if odd:
        raise InputError(f"column {', '.join(odd)} holds times or complex numbers; leave it out")
    return frame.to_numpy(dtype=float, na_value=np.nan) if _nullable(frame, kinds) else frame.to_numpy()


def _nullable(frame, kinds) -> bool:
    return all(kind in "iufb" for kind in kinds) and frame.isna().to_numpy().any()


def _check_names(names, n_nodes) -> tuple[str, ...]:
    names = (
        tuple(str(name) for name in names) if names is not None else tuple(f"x{i}" for i in range(n_nodes))
    )
    if len(names) != n_nodes:
        raise InputError(f"{len(names)} names for {n_nodes} columns; give one name per column")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"duplicate name: {', '.join(twice)}; names must differ")
    return names


def _as_numbers(trials, names):
    """Return float64 or int64 trials, and ``{name: labels}`` for text columns that became codes."""
    pooled = np.concatenate(trials)
    if pooled.dtype.kind in "biu":
        return tuple(trial.astype(np.int64) for trial in trials), {}
    if pooled.dtype.kind == "f":
        return tuple(trial.astype(np.float64) for trial in trials), {}
    columns, labels = [], {}
    for name, column in zip(names, pooled.T):
        kind, codes = _column_numbers(name, column)
        columns.append(codes)
        if kind is not None:
            labels[name] = kind
    stacked = np.column_stack(columns)
    return tuple(np.split(stacked, np.cumsum([len(t) for t in trials])[:-1])), labels


def _column_numbers(name, column):
    """Return (labels or None, numbers) of one column of objects or text."""
    if all(isinstance(value, (int, np.integer, bool, np.bool_)) for value in column):
        return None, column.astype(np.int64)
    if all(isinstance(value, (int, float, np.number, bool, np.bool_)) or value is None for value in column):
        return None, column.astype(np.float64)
    if all(isinstance(value, str) for value in column):
        found, codes = np.unique(column.astype(str), return_inverse=True)
        return tuple(found.tolist()), codes.astype(np.int64)
    raise InputError(f"column {name} mixes text and numbers; make it one or the other")


def _missing_mask(trials):
    masks = tuple(
        np.isnan(trial) if trial.dtype.kind == "f" else np.zeros(trial.shape, bool) for trial in trials
    )
    return masks if any(mask.any() for mask in masks) else None
