"""Delay embedding: which lagged variables are asked about, and how they are chosen from the data (`choose`)."""

from enmesh.embedding.blocks import Blocks, Column, Embedding, PerNode

__all__ = ["Blocks", "Column", "Embedding", "PerNode"]
