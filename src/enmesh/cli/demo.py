"""The demonstration: five coupled logistic maps whose network is known, and how it is inferred."""

from enmesh.data.series import Series
from enmesh.embedding import Embedding
from enmesh.estimators import KSG
from enmesh.scores import TEE
from enmesh.search import Exact

TRUTH = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c"), "e": ("d",)}
DESCRIPTION = """\
        b
      ↗   ↘
    a       d → e       five chaotic logistic maps
      ↘   ↗             and what drives what
        c

Only their recordings are looked at, 1000 samples each:"""


def demo_series(seed: int = 0) -> Series:
    """Simulate the five maps: coupling 0.3, r 4, noise 0.05."""
    from enmesh.simulate import coupled_map

    return coupled_map(TRUTH, n=1000, map="logistic", r=4.0, coupling=0.3, noise=0.05, seed=seed)


def demo_options(seed: int = 0) -> dict:
    """Return the options of `enmesh.infer` for the demonstration."""
    # 399 surrogates are the fewest that can bring one link among 20 pairs to a q-value of 0.05.
    score = TEE(estimator=KSG(), embedding=Embedding(), n_surrogates=399, seed=seed)
    return {"score": score, "search": Exact(), "max_parents": 3, "seed": seed}
