"""What the page of a network shows of its model: nodes held at values, whether it predicts, who acts together."""

from typing import Any

import numpy as np

from enmesh.errors import InputError, collected_hazards
from enmesh.model.effects import Worlds, _assumptions
from enmesh.model.fit import fitted
from enmesh.model.model import Model
from enmesh.model.outlook import named
from enmesh.model.parts import measured
from enmesh.options import plain

MOST_NODES, MOST_VALUES = 12, 20_000  # so that a page is made within a second or two
PLACES = (0.05, 0.25, 0.5, 0.75, 0.95)  # quantiles at which a node is held; a page draws lines between them
HORIZONS = (1, 2, 3, 5, 10)
STARTS = 80
DIGITS, LEAST = 4, 1e-4  # nats below which a part of three sources is not drawn


def outlook(network: Any) -> dict[str, Any] | None:
    """Return what the page draws of the model, as plain data; None where the series is not there, or is large."""
    series = network.series
    if not hasattr(series, "trials") or "events" in network.provenance or not len(network):
        return None
    if len(network.names) > MOST_NODES or series.values.size > MOST_VALUES:
        return None
    try:
        with collected_hazards(show=False):
            model = network.fit()
            return _held(model) | {"predicts": _predicts(model), "parts": _parts(network)}
    except InputError:  # too few samples, or a model that runs away: the page goes without
        return None


def _held(model: Model) -> dict[str, Any]:
    """Return the change of all nodes, if one is kept at a value: ``held[node][value][horizon][column]``."""
    starts, told, _ = model.starts(None, STARTS)
    starts = np.repeat(starts, 2, axis=0)
    every, steps = tuple(range(len(model.names))), HORIZONS[-1]
    noise = model.shocks(np.random.default_rng(3), len(starts), steps, mirrored=True)
    best = {i: model.nodes[i].best for i in every}
    worlds = Worlds(model, starts, noise, best, 0, steps, every)
    base = worlds.run(starts)

    def means(run: np.ndarray) -> np.ndarray:
        return np.asarray(named(model, run)[1].mean(axis=0)[list(HORIZONS)])

    def kept(i: int, x: float) -> np.ndarray:
        return means(worlds.changed(base, {i: np.full(base.shape[:2], x)}, True)) - means(base)

    values: list[Any] = [
        model.states[i] if i in model.states else np.quantile(model.recent[:, i], PLACES) for i in every
    ]
    tried = [range(len(one)) if i in model.states else one for i, one in enumerate(values)]
    owner, (columns, seen) = _owners(model), named(model, model.recent)
    made = {
        "columns": columns, "owner": owner, "first": [owner.index(i) for i in every], "horizons": HORIZONS,
        "states": [i in model.states for i in every], "values": values, "before": means(base),
        "held": [[kept(i, float(x)) for x in tried[i]] for i in every],
        "ranges": np.quantile(seen, (0.02, 0.98), axis=0).T,
    }  # fmt: skip
    linear = all(node.linear for node in model.nodes.values())
    return plain(made, DIGITS) | {"assumed": _assumptions(model, told, linear, False, every)[:2]}


def _owners(model: Model) -> list[int]:
    """Return the node of each column."""
    many = {i: len(known) for i, known in model.states.items() if isinstance(known[0], str)}
    return [i for i in range(len(model.names)) for _ in range(many.get(i, 1))]


def _predicts(model: Model) -> list[list[Any]]:
    """Return per node the share that its own past predicts, and that its parents predict with it (leave one out)."""
    alone = fitted(model.data(model.series), dict.fromkeys(range(len(model.names)), ()))
    return [[model.names[i], *plain((alone[i].r2, node.r2), DIGITS)] for i, node in sorted(model.nodes.items())]


def _parts(network: Any) -> dict[str, list[Any]]:
    """Return what the two or three strongest drivers of a target tell of it: ``{target: (part, kind, nats)}``."""
    made = {}
    strongest = network.edges.groupby("target", sort=False)["source"].apply(list)
    for target, sources in strongest.items():
        if len(sources) > 1:
            found = measured(network.series, sources[:3], target, network)
            rows = [row for row in found if abs(row[2]) > LEAST or len(sources) == 2]
            made[str(target)] = [[part, kind, plain(value, DIGITS)] for part, kind, value in rows]
    return made
