"""Delay embedding: which lagged variables are asked about, and how they are chosen from the data (`choose`)."""

from enmesh.embedding.blocks import Blocks
from enmesh.embedding.lagged import Embedding, Lagged, Lags, Pasts, PerNode, checked_pasts, reach

__all__ = ["Blocks", "Embedding", "Lagged", "Lags", "Pasts", "PerNode", "checked_pasts", "reach"]
