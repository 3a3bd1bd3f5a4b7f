"""Synchronous graph dynamical systems with known truth (paper, Definition 1).

``coupled_map``, ``coupled_flow`` and ``var`` simulate in one call; ``map_system``, ``flow_system`` and
``var_system`` return the `GraphDynamicalSystem` behind them, whose parts can be exchanged. ``boolean`` and
``markov`` make discrete data, ``coupled_events`` makes trains of events; ``random_dag`` draws a graph.

>>> import enmesh as em
>>> em.simulate.coupled_map("a>b, b>c", n=500, map="logistic", coupling=0.3, seed=0).truth
{'a': (), 'b': ('a',), 'c': ('b',)}
"""

from enmesh.simulate.discrete import boolean, markov
from enmesh.simulate.events import coupled_events
from enmesh.simulate.flows import Lorenz, Rossler, coupled_flow, flow_system
from enmesh.simulate.graphs import random_dag
from enmesh.simulate.linear import var, var_system
from enmesh.simulate.maps import coupled_map, map_system
from enmesh.simulate.system import GraphDynamicalSystem

__all__ = [
    "GraphDynamicalSystem", "Lorenz", "Rossler", "boolean", "coupled_events", "coupled_flow", "coupled_map",
    "flow_system", "map_system", "markov", "random_dag", "var", "var_system",
]  # fmt: skip
