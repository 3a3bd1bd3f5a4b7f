"""Surrogates of a source, which break its dependence on the target; each kind stands in a file of its own."""

from enmesh.surrogates.base import BATCH_VALUES, Draw, Surrogate, batches
from enmesh.surrogates.bootstrap import Bootstrap
from enmesh.surrogates.local import LocalPermute
from enmesh.surrogates.permute import Permute
from enmesh.surrogates.random_words import random_words, stream_of
from enmesh.surrogates.shift import CircularShift, decorrelation_time, parted
