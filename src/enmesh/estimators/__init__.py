"""Estimators of conditional mutual information; each stands in a file of its own."""

from enmesh.estimators.base import Estimator, Prepared
from enmesh.estimators.discrete import Discrete
from enmesh.estimators.gaussian import Gaussian
from enmesh.estimators.kernel import Kernel
from enmesh.estimators.ksg import KSG
from enmesh.estimators.mixed import Mixed
from enmesh.estimators.ordinal import Ordinal
from enmesh.estimators.regression import Regression
