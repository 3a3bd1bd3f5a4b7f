"""Search: the best graph under local scores. One procedure, one file, ``run(evaluate, problem) -> Found``."""

from enmesh.search.base import Bounds, Evaluate, Family, Found, Problem, Search
from enmesh.search.basin import BasinFlooding
from enmesh.search.exact import Exact
from enmesh.search.exhaustive import Exhaustive
from enmesh.search.hill_climb import HillClimb
from enmesh.search.independent import Independent
from enmesh.search.rpdag import RPDAG
from enmesh.search.tabu import Tabu
