"""Forecast: what comes next, with limits that hold the noise and the doubt about coefficients."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.draw.shown import Shown
from enmesh.errors import InputError, refuse_if
from enmesh.model.equations import Equations
from enmesh.options import whole

if TYPE_CHECKING:
    import pandas as pd

DRAWS = 40  # sets of coefficients that the data do not exclude


def level_of(confidence: Any) -> tuple[float, float]:
    """Return the two shares that limits of a confidence stand at."""
    if not (isinstance(confidence, (int, float)) and 0 < confidence < 1):
        raise InputError(f"confidence={confidence!r} is not possible; give a number between 0 and 1, such as 0.95")
    return (1 - confidence) / 2, (1 + confidence) / 2


class Drawn(Shown):
    """A result of a model that draws itself (`draw.outlook`)."""

    def plot(self, path: Any = None, **how: Any) -> Any:
        """Draw it, save the picture to ``path`` if one is given, return the axes."""
        from enmesh.draw.outlook import PICTURES

        return PICTURES[type(self).__name__](self, path=path, **how)

    def _repr_html_(self) -> str:
        from enmesh.draw.report.more import figure, text
        from enmesh.draw.report.notebook import face

        assumed = "".join(f"<li>{text(one)}</li>" for one in getattr(self, "assumptions", ()))
        notes = [f"<p>This assumes:</p><ul>{assumed}</ul>"] if assumed else []
        return face(str(getattr(self, "sentence", repr(self))), figure(self.plot), *notes)


@dataclass(frozen=True, repr=False)
class Forecast(Drawn):
    """What a model expects of each node at horizons 1, 2, ...

    Attributes
    ----------
    mean, low, high
        DataFrames, a row per horizon, a column per node; of text nodes a column ``node=state`` per state, which
        holds its probability.
    confidence
        The share of recordings whose values lie between low and high.
    past
        The samples before, for pictures.
    """

    mean: "pd.DataFrame"
    low: "pd.DataFrame"
    high: "pd.DataFrame"
    confidence: float
    past: "pd.DataFrame"

    def __repr__(self) -> str:
        return f"Forecast({len(self.mean)} steps of {', '.join(self.mean.columns[:8])}; {self.confidence:.0%})"


def named(model: Equations, values: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return columns and values of paths: numbers of states, and of text nodes whether each state is there."""
    names: list[str] = []
    parts = []
    for i, name in enumerate(model.names):
        known = model.states.get(i)
        if known is None:
            names.append(name)
            parts.append(values[..., i])
        elif isinstance(known[0], str):
            names += [f"{name}={state}" for state in known]
            parts += [(values[..., i] == number).astype(float) for number in range(len(known))]
        else:
            names.append(name)
            parts.append(np.array(known, float)[values[..., i].astype(int)])
    return names, np.stack(parts, axis=-1)


def forecast(
    model: Equations,
    series: Any = None,
    horizon: int = 10,
    *,
    confidence: float = 0.95,
    paths: int = 2000,
    seed: int = 0,
) -> Forecast:
    """Return what comes after the last sample of a recording, or of the data that were fitted.

    Parameters
    ----------
    series
        The recording that is to be continued; by default the fitted one.
    horizon
        Number of samples.
    confidence
        Share of recordings whose values lie within the limits.
    paths, seed
        Number of simulated continuations, and their seed.

    >>> import enmesh as em
    >>> series = em.simulate.var("a>b", n=400, seed=0)
    >>> model = em.model.fit(series, {"b": ["a"]})
    >>> model.forecast(series, horizon=5).mean.shape
    (5, 2)
    """
    import pandas as pd

    horizon, paths, seed = whole("horizon", horizon, 1), whole("paths", paths, 100), whole("seed", seed)
    low, high = level_of(confidence)
    span = model.span
    values = model.recent if series is None else model.data(series).trials[-1]
    history = values[-span:]
    refuse_if(len(history) < span, f"{span} samples are needed to start from, {len(history)} are given")
    refuse_if(np.isnan(history).any(), f"one of the last {span} samples is missing; cut the series before it")
    rng = np.random.default_rng([seed, 2])
    params = {i: node.drawn(rng, DRAWS) for i, node in model.nodes.items()}
    start = np.repeat(history[None], paths, axis=0)
    noise = model.shocks(rng, paths, horizon)
    found = model.run(start, horizon, noise, params=params, draw=np.arange(paths) % DRAWS)[:, span:]
    columns, shown = named(model, found)
    index = pd.RangeIndex(1, horizon + 1, name="horizon")
    mean = shown.mean(axis=0)
    if all(node.linear for node in model.nodes.values()):  # the mean path has no noise
        mean = model.run(history[None], horizon)[0, span:]
    limits = (np.quantile(shown, share, axis=0) for share in (low, high))
    expected, *ends = (pd.DataFrame(part, index, columns) for part in (mean, *limits))
    past = pd.DataFrame(named(model, values[-max(3 * horizon, 40) :])[1], columns=columns)
    return Forecast(expected, ends[0], ends[1], confidence, past)
