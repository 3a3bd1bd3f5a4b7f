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
