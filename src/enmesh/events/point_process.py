"""PointProcess: transfer entropy of events in continuous time, and the surrogates that suit it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from enmesh.errors import InputError
from enmesh.estimators.base import NEIGHBOUR_DIMENSION, Estimator
from enmesh.neighbours import check_device
from enmesh.options import known_fields, option, whole, whole_fields
from enmesh.surrogates.base import Draw, Surrogate

SHORTEN = (
    "Shorten, D. P., Spinney, R. E. and Lizier, J. T. (2021). Estimating Transfer Entropy in Continuous Time Between "
    "Neural Spike Trains or Other Event-Based Data. PLoS Computational Biology 17, e1008054."
)
GREEDY = "greedy"


@option
class PointProcess(Estimator):
    """Nearest-neighbour estimator of the transfer entropy rate between trains of events (Shorten et al. 2021).

    At every target event, and at random times, histories are taken: the time since the node's last event, then the
    intervals before it. Where histories of the source make events denser, or rarer, than random times with the same
    history of the target and of the conditions, there is transfer.

    Parameters
    ----------
    k
        Neighbours among events and among random times: more lowers variance and raises bias.
    target_history
        Values of the target's own history: 1 is the time since its last event alone. One number, one per node as in
        ``{"a": 2, "b": 3}``, or ``"greedy"``: intervals are added as long as the next one says something of the node's
        events, tested at 0.05, up to 5.
    source_history
        Values of the history of a source.
    condition_history
        Values of the history of a condition; by default that of sources.
    ratio
        Random times for each target event.
    exclusion
        Whether histories that share time are not compared. False compares all but an event with itself.
    per
        ``"time"``: nats per unit of time; ``"event"``: nats per target event.
    seed
        Seed of the random times.
    device
        ``"cpu"``, ``"cuda"`` or ``"auto"`` (a GPU if there is one), with the same values.

    Examples
    --------
    >>> import enmesh as em
    >>> events = em.simulate.coupled_events("a>b", duration=500, seed=0)
    >>> em.transfer_entropy(events, "a", "b", estimator=em.PointProcess(k=4)) > 0.1
    True
    """

    summary = "events in continuous time: spikes, trades, alarms"
    references = (SHORTEN,)
    releases_gil = True

    k: int = 4
    target_history: Any = 2
    source_history: int = 1
    condition_history: int | None = None
    ratio: float = 1.0
    exclusion: bool = True
    per: str = "time"
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        check_device(self.device)
        others = {} if self.condition_history is None else {"condition_history": 1}
        whole_fields(self, k=1, source_history=1, seed=0, **others)
        known_fields(self, per=("time", "event"))
        own = self.target_history
        if isinstance(own, (Mapping, tuple, list)):
            pairs = own.items() if isinstance(own, Mapping) else own
            if not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs):
                forms = f"2, {{node: 2, ...}} or {GREEDY!r}"
                raise InputError(f"target_history={own!r} is not possible; give {forms}")
            own = tuple(sorted((str(n), whole(f"target_history of {n}", h, 1)) for n, h in pairs))
        elif own != GREEDY:
            own = whole("target_history", own, 1)
        object.__setattr__(self, "target_history", own)
        if not (isinstance(self.ratio, (int, float)) and 0.1 <= self.ratio <= 100):
            raise InputError(f"ratio={self.ratio!r} is not possible; give random times per event, 1 is usual")

    def history(self, role: str, name: str) -> int:
        """Return the length of a node's history as ``"target"``, ``"source"`` or ``"condition"``."""
        if role != "target":
            return (role == "condition" and self.condition_history) or self.source_history
        if isinstance(self.target_history, int):
            return self.target_history
        known = dict(self.target_history)
        if name not in known:
            raise InputError(f"target_history has no entry for {name}; give one for each node, or a number")
        return known[name]

    @property
    def unit(self) -> str:
        """What values are in."""
        return "nats per unit of time" if self.per == "time" else "nats per event"

    def sentence(self) -> str:
        """Say what was done, for the methods paragraph."""
        own = self.target_history
        lengths = own if isinstance(own, int) else f"{min(h for _, h in own)} to {max(h for _, h in own)}"
        apart = "; histories that share time were not compared" if self.exclusion else ""
        return (
            f"nearest neighbours of histories in continuous time (Shorten, Spinney and Lizier 2021; k = {self.k}, "
            f"{lengths} values of the target's history, {self.source_history} of a source's, {self.ratio:g} random "
            f"times per event{apart}), as a rate per {'unit of time' if self.per == 'time' else 'event'}"
        )

    @property
    def usual_surrogate(self) -> Surrogate:
        """The surrogates of its tests, unless others are asked for."""
        return NearbyHistories()

    def max_parents_for(self, n: int, widths: Sequence[int], states: Sequence[int]) -> tuple[int, str]:
        """Return how many parents keep the joint dimension where neighbours are near."""
        own = self.target_history if isinstance(self.target_history, int) else 2
        bearable = (NEIGHBOUR_DIMENSION - 2 - own) // (self.condition_history or self.source_history)
        return max(1, bearable), "joint dimension of the histories"

    # --- what samples need and events have not -----------------------------------------------------------------

    def condition(self, *_: Any, **__: Any) -> Any:
        """Refuse samples."""
        raise InputError("PointProcess takes events, not samples; give em.Events, or use KSG for a Series")

    _prepare = entropy = condition


@option
class NearbyHistories(Surrogate):
    """Surrogates of events: each takes the source's history at a random time with much the same conditions.

    Each target event takes the source history of one of the ``neighbours`` random times that are nearest in the
    histories of target and conditions and in the source's rate over the events around, unused ones first. What source
    and target share with the conditions, or as a slow common rate, is kept. Conditions that do not help to predict the
    source's history weigh less in what is near.

    Attributes
    ----------
    neighbours
        Random times to choose from.

    Examples
    --------
    >>> import enmesh as em
    >>> events = em.simulate.coupled_events("a>b", duration=500, seed=0)
    >>> em.significance(events, "a", "b", surrogate=em.NearbyHistories(neighbours=5), n_surrogates=39).p_value
    0.025
    """

    summary = "For events: keeps what source and target share with the conditions; their default."
    references = (SHORTEN,)

    neighbours: int = 10

    def __post_init__(self) -> None:
        whole_fields(self, neighbours=1)

    def sentence(self) -> str:
        """Say what was done, for the methods paragraph."""
        return "in which each event takes the source's history at a random time with nearly the same conditions"

    def plan(self, x: np.ndarray, z: np.ndarray, *, starts: np.ndarray, span: int) -> Draw:
        """Refuse samples."""
        raise InputError("NearbyHistories is for events; for a Series use CircularShift() or LocalPermute()")
