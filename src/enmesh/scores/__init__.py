"""Scores of (target, parents); each stands in a file of its own."""

from enmesh.scores.base import Link, Score, Scorer, score_graph
from enmesh.scores.criterion import Criterion
from enmesh.scores.mit import MIT
from enmesh.scores.per_target import PerTarget
from enmesh.scores.te import TE
from enmesh.scores.tea import TEA
from enmesh.scores.tee import TEE

__all__ = ["MIT", "TE", "TEA", "TEE", "Criterion", "Link", "PerTarget", "Score", "Scorer", "score_graph"]
