"""enmesh: which subsystem drives which, from a multivariate time series, by transfer entropy.

Implements and extends Cliff, Prokopenko and Fitch, "Inferring Coupling of Distributed Dynamical Systems via Transfer
Entropy". All values are in nats.
"""

from enmesh.embedding import Embedding
from enmesh.errors import HazardWarning, InputError
from enmesh.network import Network
from enmesh.series import Series

__version__ = "0.1.0"

__all__ = ["Embedding", "HazardWarning", "InputError", "Network", "Series"]
