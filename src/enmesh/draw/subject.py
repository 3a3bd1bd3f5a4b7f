"""What pictures and pages show: `enmesh.Network` with its tests, `enmesh.Series`, and other results.

They draw themselves, so that drawing can import none of them: it takes them as they are, by these names.
"""

import math
from types import SimpleNamespace
from typing import Any, TypeAlias

LEVEL = 0.05
"""False discovery rate that q-values are held against: a link with a larger one is doubtful."""

Network: TypeAlias = Any
Series: TypeAlias = Any
Candidate: TypeAlias = Any
Result: TypeAlias = Any

UNKNOWN = dict.fromkeys(("te", "p_value", "q_value", "lag", "effect"), math.nan)
UNTESTED = SimpleNamespace(**UNKNOWN, lags=(1,), null=())
"""What is known of an edge that was not tested."""


def all_tests(network: Network) -> list[Candidate]:
    """Return the test of every pair that was tested: candidates first, then the pairs that have numbers alone."""
    known = {(c.source, c.target) for c in network.candidates}
    names, rows = network.names, network.pair_tests
    more = [
        SimpleNamespace(
            source=names[i], target=names[j], te=te, p_value=p, q_value=q, lag=lag, lags=(lag,), effect=math.nan,
            null=(), selected=False,
        )
        for i, j, te, p, q, lag in zip(rows.sources, rows.targets, rows.te, rows.p_value, rows.q_value, rows.lag)
        if (names[i], names[j]) not in known
    ]  # fmt: skip
    return [*network.candidates, *more]
