"""The synchronous graph dynamical system of the paper's Definition 1, which runs as written, node by node."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from enmesh.data.graph_input import parents_of
from enmesh.data.series import Series
from enmesh.errors import InputError, refuse_memory
from enmesh.options import whole
from enmesh.simulate.graphs import HELD, Graph, Link, link_lags, per_node, require_number, streams

LocalMap = Callable[[np.ndarray, tuple[np.ndarray, ...]], np.ndarray]
Orbit = Callable[[np.ndarray, np.ndarray], np.ndarray]

# A spread this small, relative to the values, is rounding error.
AT_REST = 1e-12


@dataclass(frozen=True, kw_only=True)
class GraphDynamicalSystem:
    """A graph, local maps f^i, observation functions psi^i, dynamic and observation noise.

    x^i_{n+1} = f^i(x^i_n, <x^ij_n>_j) + v_f   (paper eq. dynamics)
    y^i_{n+1} = psi^i(x^i_{n+1}) + v_psi       (paper eq. observation)

    A link with lag l gives f^i the parent's state x^ij_{n+1-l} instead; before the start a parent is at its start.

    Attributes
    ----------
    graph
        Who drives whom, in any form `parents_of` reads; cycles are allowed.
    maps
        f^i by name, or one for all: ``f(own, parents)`` gets the node's state ``(d_i,)`` and the tuple of its
        parents' states and returns the next state, or the velocity where ``continuous``.
    observe, dim
        psi^i, from states ``(n, d_i)`` to values ``(n,)``, by default the first coordinate; and d^i. Likewise.
    noise, obs_noise
        Standard deviations of the Gaussian v_f, for all or per state coordinate in node order, and v_psi. A continuous
        system gets them at every sample.
    continuous, dt
        Whether ``maps`` are velocities, to be integrated over the sampling step ``dt``.
    lags
        How many samples before the next one a parent's state is read: one number for all links, or some of them by
        ``(source, target)``; the rest is 1. In a continuous system lag 1 follows the parent as it moves.
    truth_lags
        The lags that the series reports as the truth, where a node's state itself holds past values.
    confine, start
        What brings a state that noise has pushed out of the domain back into it; ``start(rng, size)`` begins.
    orbit
        ``orbit(start, noise)``, states ``(steps + 1, sum of d)`` for noise ``(steps, sum of d)``: the compiled twin of
        `run` that ready-made systems bring. Set it to None when you exchange the maps or the lags.
    advice
        What to change when the state diverges.

    Examples
    --------
    A logistic map that multiplies the state of another:

    >>> def g(own, parents):
    ...     return 3.9 * own * (1 - own) * (1 - 0.2 * sum(parents))
    >>> GraphDynamicalSystem(graph="a>b", maps=g).simulate(n=100).truth
    {'a': (), 'b': ('a',)}
    """

    graph: Any
    maps: Any
    observe: Any = lambda states: states[..., 0]
    dim: Any = 1
    noise: float | np.ndarray = 0.0
    obs_noise: float = 0.0
    continuous: bool = False
    dt: float = 1.0
    lags: Any = 1
    truth_lags: Mapping[Link, tuple[int, ...]] | None = None
    confine: Callable[[np.ndarray], np.ndarray] | None = None
    start: Callable[[np.random.Generator, int], np.ndarray] = lambda rng, size: rng.uniform(size=size)
    orbit: Orbit | None = field(default=None, repr=False)
    advice: str = "lower the noise or start elsewhere"

    def __post_init__(self) -> None:
        graph: Graph = parents_of(self.graph)
        lags = link_lags(self.lags, graph)
        made: dict[str, Any] = {"graph": graph, "lags": lags}
        made |= {what: per_node(what, getattr(self, what), graph) for what in ("maps", "observe", "dim")}
        if self.truth_lags is None:
            made["truth_lags"] = {link: (lag,) for link, lag in lags.items()}
        for what, value in made.items():
            object.__setattr__(self, what, value)
        held = sum(made["dim"].values())
        if isinstance(self.noise, np.ndarray) and self.noise.shape not in ((), (held,)):
            raise InputError(f"noise has shape {self.noise.shape}; give one number, or {held}, one per coordinate")
        require_number("noise", self.noise, 0, each=isinstance(self.noise, np.ndarray))
        require_number(
            "obs_noise",
            self.obs_noise,
            0,
            each=isinstance(self.obs_noise, np.ndarray) and self.obs_noise.shape == (len(graph),),
        )
        require_number("dt", self.dt, 0, open_low=True)

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes, in the order of the series."""
        return tuple(self.graph)

    @cached_property
    def columns(self) -> dict[str, slice]:
        """Where each node's coordinates lie in the joint state."""
        ends = np.cumsum(list(self.dim.values())).tolist()
        return {name: slice(end - self.dim[name], end) for name, end in zip(self.graph, ends)}

    def step(self, state: np.ndarray, held: Mapping[Link, np.ndarray] | None = None) -> np.ndarray:
        """Advance the joint state by one sample, without noise.

        ``held`` has the parents' states of links that do not read them from ``state``.
        """
        at, late = self.columns, held or {}

        def f(state: np.ndarray) -> np.ndarray:
            result = np.empty_like(state)
            for name, parents in self.graph.items():
                read = tuple(late[p, name] if (p, name) in late else state[at[p]] for p in parents)
                result[at[name]] = self.maps[name](state[at[name]], read)
            return result

        if not self.continuous:
            return f(state)
        from scipy.integrate import solve_ivp

        run = solve_ivp(lambda _, x: f(x), (0, self.dt), state, "DOP853", rtol=1e-11, atol=1e-11)
        return run.y[:, -1] if run.success else np.full_like(state, np.nan)

    def run(self, start: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Iterate `step` node by node: states ``(len(noise) + 1, sum of d)``. NaN after a divergence."""
        states = np.full((len(noise) + 1, len(start)), np.nan)
        states[0] = start
        at, late = self.columns, {link: lag for link, lag in self.lags.items() if lag > 1}
        with np.errstate(over="ignore", invalid="ignore"):
            for n, kick in enumerate(noise):
                held = {link: states[max(0, n + 1 - lag), at[link[0]]] for link, lag in late.items()}
                moved = self.step(states[n], held) + kick
                states[n + 1] = moved if self.confine is None else self.confine(moved)
                if not np.isfinite(states[n + 1]).all():
                    break
        return states

    def states(self, n: int, *, seed: int = 0, burn_in: int = 1000) -> np.ndarray:
        """Return the hidden states x, ``(n, sum of d)``, after ``burn_in`` samples are dropped."""
        n, burn_in = whole("n", n, 3), whole("burn_in", burn_in, 0)
        begin, dynamic, _ = streams(seed, 3)
        size = sum(self.dim.values())
        refuse_memory(f"n={n:,}", HELD * (n + burn_in) * size)
        start = np.asarray(self.start(begin, size), dtype=float)
        noise = dynamic.standard_normal((burn_in + n - 1, size)) * self.noise
        states = (self.orbit or self.run)(start, noise)
        lost = ~np.isfinite(states)
        if lost.any():
            step = int(lost.any(1).argmax())
            named = [name for name, at in self.columns.items() if lost[step, at].any()]
            raise InputError(f"the state of {', '.join(named)} diverged at step {step}; {self.advice}")
        return states[burn_in:]

    def simulate(self, n: int, *, seed: int = 0, burn_in: int = 1000) -> Series:
        """Return ``n`` observations of every node as a `Series` whose ``truth`` is the graph, with ``truth_lags``.

        Start, dynamic noise and observation noise have random streams of their own: a longer run continues a
        shorter one, and observation noise leaves the hidden trajectory as it is.
        """
        states = self.states(n, seed=seed, burn_in=burn_in)
        values = np.column_stack([self.observe[name](states[:, at]) for name, at in self.columns.items()])
        at_rest = np.ptp(values, axis=0) <= AT_REST * np.abs(values).max(axis=0)
        if at_rest.any() and np.all(self.obs_noise == 0):
            still = ", ".join(np.array(self.names)[at_rest])
            raise InputError(f"{still} came to rest, which tells nothing; add noise or change parameters")
        values = values + self.obs_noise * streams(seed, 3)[2].standard_normal(values.shape)
        known: dict[str, Any] = {"truth": self.graph, "truth_lags": self.truth_lags}
        return Series(values, self.names, self.dt, duplicates="allow", **known)


def compiled(kernel: str, *arguments: Any) -> Orbit:
    """Return the orbit of a compiled kernel, which is loaded when it is first run."""

    def orbit(start: np.ndarray, noise: np.ndarray) -> np.ndarray:
        from enmesh.simulate import kernels

        return getattr(kernels, kernel)(start, noise, *arguments)

    return orbit
