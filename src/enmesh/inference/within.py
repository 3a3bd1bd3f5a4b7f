"""What is added to a network once its lagged links are found: dependence within one sample, and hidden drivers.

The caution comes first in the list, since it concerns what every arrow means.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding import Embedding, Lagged, Lags
from enmesh.errors import InputError, first_few, hazard
from enmesh.inference.network import LEVEL, Network
from enmesh.links.samples import Samples
from enmesh.options import restore
from enmesh.scores import LinkTest
from enmesh.within.pairs import Pair, dependent_pairs, given_lagged

SURE = 0.01  # error rate of the caution, over all pairs (Bonferroni)


class Asked:
    """The samples of a network, and the lagged variables that each node is given, by position in the series."""

    def __init__(self, network: Network, series: Series):
        score = restore(network.options["score"])
        self.series, self.network = series, network
        self.parents = [series.indices(network.parents[name]) for name in series.names]
        table = (score.embedding or Embedding()).table(series.names)
        by_test = isinstance(score, LinkTest)
        context = score.context if by_test else ()
        reach = max([lag for lags in table.values() for lag in lags], default=1)
        self.samples = Samples.of(series, max(reach, score.max_lag) if by_test else reach)
        always = [
            Lagged(series.index(name), lag) for name in context for lag in range(self.samples.max_lag + 1)
        ]
        clocks = dict(score.clocks) if by_test else {}
        self.clocks = [clocks.get(name, 0) for name in series.names]
        self.lagged = []
        for i, sources in enumerate(self.parents):
            known = {Lagged(j, lag) for j in sources for lag in table[j, i]}
            known |= {v for v in always if v.node != i}
            self.lagged.append([*(Lagged(i, lag) for lag in table[i, i]), *sorted(known)])

    def pairs(self) -> list[Pair]:
        """Test the dependence of every pair within one sample; none where too few samples are complete."""
        try:
            return dependent_pairs(given_lagged(self.samples, self.lagged, self.clocks))
        except InputError:  # missing values leave too few samples of a node and what drives it
            return []


def with_within(network: Network, series: Series) -> Network:
    """Return the network with the dependence of its nodes within one sample, and the caution about it."""
    asked = Asked(network, series)
    pairs, names = asked.pairs(), series.names
    found = tuple((names[a], names[b], value, p, q) for a, b, value, p, q in pairs)
    network = replace(network, together=found)
    sentence = caution(network, pairs, names)
    if sentence:
        hazard(sentence)
        network = replace(network, warnings=(sentence, *network.warnings))
    return network


def caution(network: Network, pairs: Sequence[Pair], names: Sequence[str]) -> str:
    """Return the sentence on dependence within one sample; nothing where it is not sure."""
    if min((pair.p_value for pair in pairs), default=1.0) * len(pairs) > SURE:
        return ""
    together = sorted((pair for pair in pairs if pair.q_value <= LEVEL), key=lambda pair: pair.p_value)
    listed = [f"{names[pair.first]} and {names[pair.second]}" for pair in together]
    said = f"within one sample: {first_few(listed, 4)} depend on each other beyond all pasts"
    through = [
        f"{s} -> {t}" for s, t in could_pass(network, [(names[p.first], names[p.second]) for p in together])
    ]
    if not through:
        return f"{said}; a hidden common driver, or an effect faster than one sample, does this"
    return f"{said}; the links {first_few(through, 6)} could come through such a pair, or through a hidden driver"


def could_pass(network: Network, together: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the links whose source reaches the target through its own past, or another target, within one sample."""
    near: dict[str, set[str]] = {name: set() for name in network.names}
    for a, b in together:
        near[a].add(b)
        near[b].add(a)
    driven: dict[str, set[str]] = {name: {name} for name in network.names}
    for source, target in network:
        driven[source].add(target)
    return [(s, t) for s, t in network if near[t] & driven[s] - {t}]
