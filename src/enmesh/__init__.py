"""enmesh: which subsystem drives which, from a multivariate time series, by transfer entropy.

Implements and extends Cliff, Prokopenko and Fitch, "Inferring Coupling of Distributed Dynamical Systems via Transfer
Entropy". All values are in nats.
"""

import warnings

from enmesh import datasets, simulate
from enmesh.data.files import read
from enmesh.data.series import Series
from enmesh.diagnostics import diagnose
from enmesh.draw.report import write as report
from enmesh.embedding import Embedding, Lags
from enmesh.embedding.cao import Cao
from enmesh.embedding.choose import choose_embedding, embedding_bounds, embedding_criteria
from enmesh.embedding.nonuniform import NonUniform
from enmesh.embedding.ragwitz import Ragwitz
from enmesh.embedding.small_tse import SmallTse
from enmesh.embedding.storage import ActiveStorage
from enmesh.errors import HazardWarning, InputError
from enmesh.estimators import KSG, Discrete, Gaussian, Kernel, Mixed, Ordinal, Regression
from enmesh.events.events import Events
from enmesh.events.point_process import NearbyHistories, PointProcess
from enmesh.exchange.accessor import register as _register
from enmesh.inference.infer import infer
from enmesh.inspection import inspect
from enmesh.lag_profile import lag_profile
from enmesh.measures import (
    active_information,
    cmi,
    conditional_entropy,
    instantaneous_dependence,
    kl_divergence,
    log_likelihood,
    stochastic_interaction,
    transfer_entropy,
)
from enmesh.model.model import Model
from enmesh.model.parts import parts
from enmesh.model.power import plan, power
from enmesh.network.network import Network
from enmesh.scores import MIT, TE, TEA, TEE, Criterion, LinkTest
from enmesh.scores import score_graph as score
from enmesh.search import RPDAG, BasinFlooding, Exact, Exhaustive, HillClimb, Independent, Tabu
from enmesh.significance import significance
from enmesh.sureness.compare import compare
from enmesh.sureness.group import group
from enmesh.sureness.interval import interval
from enmesh.sureness.regimes import regimes
from enmesh.sureness.stability import stability
from enmesh.sureness.windows import windows
from enmesh.surrogates import Bootstrap, CircularShift, LocalPermute, Permute
from enmesh.te_matrix import te_matrix

__version__ = "1.0.0"

__all__ = [
    "KSG", "MIT", "RPDAG", "TE", "TEA", "TEE", "ActiveStorage", "BasinFlooding", "Bootstrap", "Cao",
    "CircularShift", "Criterion", "Discrete", "Embedding", "Events", "Exact", "Exhaustive",
    "Gaussian", "HazardWarning", "HillClimb", "Independent", "InputError", "Kernel", "Lags", "LinkTest", "LocalPermute",
    "Mixed", "Model", "NearbyHistories", "Network", "NonUniform", "Ordinal", "Permute", "PointProcess",
    "Ragwitz", "Regression", "Series", "SmallTse", "Tabu", "active_information", "choose_embedding", "cmi",
    "compare", "conditional_entropy", "datasets", "diagnose", "embedding_bounds", "embedding_criteria", "group",
    "infer", "inspect", "instantaneous_dependence", "interval", "kl_divergence", "lag_profile", "log_likelihood",
    "parts", "plan", "power", "read", "regimes", "report", "score", "significance", "simulate", "stability",
    "stochastic_interaction", "te_matrix", "transfer_entropy", "windows",
]  # fmt: skip

_register()

# Names of version 0.2, kept with a warning until version 1.2.
RENAMED = {"bootstrap": "stability", "kl_floor": "instantaneous_dependence", "embedding_notes": "embedding_bounds"}


def __getattr__(name: str) -> object:
    if name not in RENAMED:
        raise AttributeError(f"module 'enmesh' has no attribute {name!r}")
    warnings.warn(f"em.{name} is called em.{RENAMED[name]} now", DeprecationWarning, stacklevel=2)
    return globals()[RENAMED[name]]
