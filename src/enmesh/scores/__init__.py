"""Scores of (target, parents); each stands in a file of its own."""

from enmesh.scores.base import Link, Score, Scorer, score_graph
from enmesh.scores.criterion import Criterion
from enmesh.scores.links import LinkTest
from enmesh.scores.mit import MIT
from enmesh.scores.te import TE
from enmesh.scores.tea import TEA
from enmesh.scores.tee import TEE

__all__ = ["MIT", "TE", "TEA", "TEE", "Criterion", "Link", "LinkTest", "Score", "Scorer", "score_graph"]
