"""What a regression says of a link: the signed linear effect, the shape of the dependence, and its lags.

All of it is read from the embedded samples on which the network was inferred, given the target's own past and its
other parents; none of it decides about a link. Nodes whose values are names have no such numbers.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from enmesh.data.series import Series
from enmesh.draw.shapes import extremes
from enmesh.embedding import Blocks, Lagged
from enmesh.estimators.residuals import Residuals
from enmesh.inference.network import Candidate

POINTS = 720  # of a recording that are kept for pictures


def with_effects(
    tests: Sequence[Candidate], series: Series, blocks_of: Callable[[int], Blocks], parents: Sequence[Any]
) -> tuple[Candidate, ...]:
    """Return the tests with their ``effect``; ``blocks_of(target)`` are the samples a target was asked on."""
    place = {name: i for i, name in enumerate(series.names)}
    into: dict[int, list[int]] = {}
    for row, test in enumerate(tests):
        into.setdefault(place[test.target], []).append(row)
    made = list(tests)
    for target, rows in into.items():
        links = [(place[tests[row].source], tests[row].lag) for row in rows]
        for row, effect in zip(rows, effects(series, blocks_of(target), target, parents[target], links)):
            made[row] = replace(tests[row], effect=effect)
    return tuple(made)


def effects(
    series: Series, blocks: Blocks, target: int, parents: Sequence[int], links: Sequence[tuple[int, int]]
) -> list[float]:
    """Return the linear effect of each ``(source, lag)`` on a target, in standard deviations of both.

    It is the coefficient of the source at that lag in the regression of the target on it, the target's own past and
    the pasts of the other parents, where source and target are measured in their own standard deviations.
    """
    found = np.full(len(links), np.nan)
    together: dict[tuple[int, ...], list[int]] = {}
    for at, (source, _) in enumerate(links):
        if "text" not in (series.kinds[source], series.kinds[target]):
            together.setdefault(tuple(p for p in parents if p != source), []).append(at)
    for given, rows in together.items():
        basis = Residuals("linear", samples(series, blocks, known(blocks, target, given))).basis
        columns = samples(series, blocks, [Lagged(target, 0), *(Lagged(*links[at]) for at in rows)])
        left, spread = columns - basis @ (basis.T @ columns), columns.std(axis=0)
        size = (left[:, 1:] ** 2).sum(axis=0)
        clear = (size > 1e-12 * (columns[:, 1:] ** 2).sum(axis=0)) & (spread[0] > 0)
        slope = left[:, 1:].T @ left[:, 0] / np.where(clear, size, 1)
        found[rows] = np.where(clear, slope * spread[1:] / (spread[0] or 1), np.nan)
    return found.tolist()


def known(blocks: Blocks, target: int, given: Sequence[int]) -> list[Lagged]:
    """Return what is held fixed: the own past of the target and the pasts of the other parents."""
    return blocks.past([target], target) + blocks.past(sorted(given), target)


def samples(series: Series, blocks: Blocks, variables: Sequence[Lagged], rows: Any = None) -> np.ndarray:
    """Return lagged variables in the units of the data, ``(n, number of variables)``."""
    rows, values = blocks.rows if rows is None else rows, series.values
    columns = [values[rows - lag, node].astype(float) for node, lag in variables]
    return np.stack(columns, axis=1) if columns else np.empty((len(rows), 0))


def normal_scores(column: np.ndarray) -> np.ndarray:
    """Return the normal scores of a column; missing values stay missing."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    there = np.isfinite(column)
    scored = np.full(len(column), np.nan)
    scored[there] = ndtri((rankdata(column[there]) - 0.5) / there.sum())
    return scored


def lag_curve(
    series: Series, blocks: Blocks, source: int, target: int, given: Sequence[int], lags: Sequence[int]
) -> tuple[np.ndarray, float]:
    """Return transfer entropy at each lag by regression on the source and its square, and what chance exceeds in 5 %.

    Everything is taken as normal scores; squares and products of what is given are held fixed too. One regression for
    each lag by itself: a lag beside the one that acts can show an echo of it.
    """
    from scipy.stats import chi2

    first = np.repeat(np.concatenate([[0], np.cumsum(series.lengths)[:-1]]), series.lengths)
    rows = blocks.rows[blocks.rows - first[blocks.rows] >= max(lags)]
    scored: dict[int, np.ndarray] = {}

    def taken(variables: Sequence[Lagged]) -> np.ndarray:
        for node, _ in variables:
            if node not in scored:
                scored[node] = normal_scores(series.values[:, node].astype(float))
        columns = [scored[node][rows - lag] for node, lag in variables]
        return np.stack(columns, axis=1) if columns else np.empty((len(rows), 0))

    everything = taken(
        [Lagged(target, 0), *known(blocks, target, given), *(Lagged(source, lag) for lag in lags)]
    )
    whole = everything[np.isfinite(everything).all(axis=1)]
    if len(whole) < 20:
        return np.full(len(lags), np.nan), float("nan")
    y, z, x = whole[:, :1], whole[:, 1 : -len(lags)], whole[:, -len(lags) :]
    left = Residuals("quadratic", z)
    y_left, features = left(y)[:, 0], left(np.hstack([x, x**2]))
    value = np.empty(len(lags))
    for k in range(len(lags)):
        pair = features[:, [k, k + len(lags)]]
        explained = y_left - pair @ np.linalg.lstsq(pair, y_left, rcond=None)[0]
        value[k] = -0.5 * np.log(max(float(explained @ explained) / float(y_left @ y_left), 1e-12))
    return value, float(chi2.isf(0.05, 2) / (2 * len(whole)))


def preview(series: Series) -> dict[str, tuple[float, ...]]:
    """Return the first trial of each node for pictures: of many samples the extremes of each piece, in their order."""
    shown = (extremes(column, POINTS) for column in series.trials[0].T)
    return {name: tuple(map(float, column)) for name, column in zip(series.names, shown)}
