"""Model: a network with numbers. It forecasts, is simulated, intervened upon, and scored on data it has not seen."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.data.series import Series
from enmesh.data.sources import write_whole
from enmesh.data.table import visible
from enmesh.errors import InputError, refuse_memory
from enmesh.model import effects, outlook
from enmesh.model.equations import BURN_IN, Equations
from enmesh.model.fit import Data, fitted, links_of, richer
from enmesh.model.nodes import DIGITS, KINDS, Curve
from enmesh.model.skill import skill
from enmesh.options import plain, whole
from enmesh.simulate.graphs import HELD

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "enmesh model 1"


@dataclass(frozen=True, kw_only=True)
class Model(Equations):
    """A network with numbers (`Network.fit`): the fitted equations, and what they are asked.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> net = em.infer(series, score="tea", estimator="gaussian", max_lag=1)
    >>> model = net.fit(series)
    >>> model.summary[["basis", "own_past"]].to_dict("list")
    {'basis': ['linear', 'linear', 'linear'], 'own_past': [1, 1, 1]}
    >>> effect = model.effect("a", "b", change=1.0, horizon=3)
    >>> bool(effect.low[1] < 0.4 < effect.high[1])
    True
    """

    forecast = outlook.forecast
    skill = skill
    effect = effects.effect
    intervene = effects.intervene

    @property
    def summary(self) -> "pd.DataFrame":
        """A row per node: parents, basis, length of the own past, whether the spread depends on inputs, R2.

        R2 is out of sample (leave one out); of states it is the share of their entropy that is explained.
        """
        import pandas as pd

        rows = []
        for i, name in enumerate(self.names):
            node = self.nodes[i]
            kind = node.basis.kind if isinstance(node, Curve) else "table"
            spread = "depends on inputs" if isinstance(node, Curve) and len(node.gamma) else "constant"
            spread = spread if isinstance(node, Curve) else ""
            rows.append((name, ", ".join(self.parents[name]), kind, node.own, spread, node.r2))
        return pd.DataFrame(rows, columns=["node", "parents", "basis", "own_past", "spread", "r2"])

    def simulate(self, n: int = 1000, *, seed: int = 0, burn_in: int = BURN_IN) -> Series:
        """Return a recording that the model makes up, of the same kinds of nodes; its truth is the graph."""
        n, burn_in = whole("n", n, 3), whole("burn_in", burn_in, 0)
        refuse_memory(f"n={n:,}", HELD * (burn_in + n) * len(self.names))
        noise = self.shocks(np.random.default_rng([whole("seed", seed), 0]), 1, burn_in + n)
        values = self.run(self.recent[None, -self.span :], burn_in + n, noise)[0, -n:]
        return self.as_series([values])

    def as_series(self, trials: Sequence[np.ndarray]) -> Series:
        """Return samples in the words of the data: states by their names."""
        import pandas as pd

        frames = []
        for trial in trials:
            columns: dict[str, Any] = dict(zip(self.names, trial.T))
            for i, known in self.states.items():
                columns[self.names[i]] = np.array(known)[trial[:, i].astype(int)]
            frames.append(pd.DataFrame(columns))
        about: dict[str, Any] = {"truth": self.parents, "truth_lags": self.lags}
        return Series(frames, dt=self.dt, duplicates="allow", time=False, **about)

    # --- in a file -----------------------------------------------------------------------------------------------

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the model as JSON text, and write it to ``path`` if one is given; the series is not in it."""
        pairs = [(i, j) for i, j in zip(*np.nonzero(np.triu(self.noise, 1)))] if len(self.noise) else []
        data = {
            "format": FORMAT,
            "names": self.names,
            "samples": self.samples,
            "digest": self.digest,
            "dt": self.dt,
            "states": {self.names[i]: list(known) for i, known in self.states.items()},
            "links": [(self.names[s], self.names[t], lag) for t, all_ in self.links.items() for s, lag in all_],
            "stability": self.stability,
            "noise": [(self.names[i], self.names[j], plain(self.noise[i, j], 6)) for i, j in pairs],
            "recent": plain(self.recent[-self.span :], DIGITS),
            "spread": plain(self._usual[1], 6),
            "nodes": {self.names[i]: node.to_dict() for i, node in self.nodes.items()},
            "richer": {self.names[i]: node.to_dict() for i, node in self.richer.items()},
        }
        rows = [f" {json.dumps(key)}: {_lines(plain(value))}" for key, value in data.items()]
        text = "{\n" + ",\n".join(rows) + "\n}"
        if path is not None:
            write_whole(path, lambda file: file.write_text(text, encoding="utf-8"))
        return text

    @classmethod
    def from_json(cls, source: str | Path) -> "Model":
        """Return the model that `to_json` wrote; ``source`` is a path or the text itself."""
        text = str(source)
        where = visible(text) if len(text) < 200 else "the text"
        try:
            if not text.lstrip().startswith("{"):
                text = Path(source).read_text(encoding="utf-8")
            data = json.loads(text)
        except OSError as error:
            told = f"cannot read {where}: {error.strerror}"
            raise InputError(f"{told}; give the path of a model, or its text") from None
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where} is not JSON: {error}") from None
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise InputError(f"{where} is not a model of enmesh (no {FORMAT!r} in it); give a file of Model.to_json")
        try:
            return _revived(data)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise InputError(f"{where} is a damaged model of enmesh: {visible(str(error))[:160]}") from None

    def __repr__(self) -> str:
        kinds = self.summary.basis.value_counts().to_dict()
        return f"Model({len(self.names)} nodes: {', '.join(f'{n} {kind}' for kind, n in kinds.items())})"


def _lines(value: Any) -> str:
    """Return JSON with each entry of a mapping on a line of its own."""
    if not isinstance(value, dict):
        return json.dumps(value, allow_nan=False)
    rows = [f"  {json.dumps(key)}: {json.dumps(item, allow_nan=False)}" for key, item in value.items()]
    return "{\n" + ",\n".join(rows) + "\n }" if rows else "{}"


def _revived(data: Mapping[str, Any]) -> Model:
    names = tuple(map(str, data["names"]))
    at = {name: i for i, name in enumerate(names)}
    nodes, richer = (
        {at[name]: KINDS[node["kind"]].from_dict(node) for name, node in data[key].items()}
        for key in ("nodes", "richer")
    )
    links: dict[int, Any] = dict.fromkeys(range(len(names)), ())
    for source, target, lag in data["links"]:
        links[at[target]] = (*links[at[target]], (at[source], int(lag)))
    noise = np.eye(len(names)) if data["noise"] else np.empty((0, 0))
    for first, second, value in data["noise"]:
        noise[at[first], at[second]] = noise[at[second], at[first]] = float(value)
    if set(nodes) != set(at.values()):
        raise ValueError("its nodes are not those of its names")
    recent = np.array(data["recent"], float).reshape(-1, len(names))
    known: dict[str, Any] = {name: data[name] for name in ("samples", "digest", "dt", "stability")}
    states = {at[name]: tuple(each) for name, each in data["states"].items()}
    known |= {"richer": richer, "states": states, "noise": noise, "recent": recent}
    made = Model(names=names, nodes=nodes, links=links, **known)
    made.__dict__["_usual"] = recent.mean(axis=0), np.array(data["spread"], float)
    return made


def fit(
    series: Any,
    parents: Mapping[str, Sequence[str]],
    lags: Mapping[tuple[str, str], Any] | None = None,
    *,
    own_past: int | None = None,
    basis: str | None = None,
    stability: Mapping[str, float] | None = None,
) -> Model:
    """Return the model of a graph: for each node its distribution given its parents and its own past.

    Parameters
    ----------
    series
        The recording.
    parents, lags
        ``{target: (source, ...)}``, and ``{(source, target): (lag, ...)}`` where lags are not 1.
    own_past
        Number of own lags of each node; by default chosen for each (Bayesian information criterion).
    basis
        ``"linear"``, ``"quadratic"``, ``"cubic"``, ``"spline"`` or ``"fine spline"`` for all nodes; by default each
        node gets the simplest that predicts as well as any (leave-one-out error).
    stability
        Shares of cuts that have a link, ``{"a>b": share}``.
    """
    series = Series.of(series)
    data, links = Data.of(series), links_of(series.names, parents, lags)
    nodes = fitted(data, links, own_past=own_past, basis=basis)
    about = {"stability": dict(stability or {}), "digest": series.digest, "dt": series.dt, "series": series}
    return Model.of(data, links, nodes, **about, richer=richer(data, links, nodes, own_past, basis))
