"""Recordings to begin with, each with its known answer: one real, the others simulated with a fixed seed.

>>> import enmesh as em
>>> em.datasets.names()
('gas-furnace', 'heart-breath', 'cortex', 'plankton', 'markets', 'plant', 'logistic-maps', 'mixed-flows')
>>> em.datasets.gas_furnace().truth
{'gas_rate': (), 'co2': ('gas_rate',)}
"""

from collections.abc import Callable, Mapping
from inspect import getdoc
from typing import Any

import numpy as np

from enmesh.data.series import Series
from enmesh.data.times import Time
from enmesh.errors import InputError


def gas_furnace() -> Series:
    """Gas furnace (real): methane feed rate and CO2 in the outlet gas, 296 samples 9 s apart.

    The feed was varied by the experimenters, so it drives CO2 and nothing drives it; CO2 answers after about three
    samples, 27 s. Box, G. E. P. and Jenkins, G. M. (1970), Time Series Analysis: Forecasting and Control, series J.

    >>> gas_furnace()
    Series(2 nodes: gas_rate, co2; 1 trial of 296 samples; dt=9)
    """
    from importlib.resources import files  # slow to load

    with (files("enmesh.datasets") / "gas_furnace.csv").open(encoding="utf-8") as file:
        names = file.readline().strip().split(",")
        values = np.loadtxt(file, delimiter=",")
    series = _known(values, names, {("gas_rate", "co2"): ()}, dt=9.0, unit="s")
    series.truth_lags = None
    return series


def heart_breath() -> Series:
    """Heart and breath (simulated stand-in): 1200 samples twice a second; breath drives heart, heart breath weakly.

    A stand-in for the recording of a sleeping patient (Rigney et al. 1993) on which Schreiber (2000) showed transfer
    entropy: breath is a noisy oscillation with a period of four seconds and acts on the heart through a curve that
    saturates.
    """
    rng = np.random.default_rng(0)
    breath, heart = np.zeros(1300), np.zeros(1300)
    for i in range(1, 1299):
        breath[i + 1] = 1.3 * breath[i] - 0.9 * breath[i - 1] + 0.25 * heart[i] + rng.normal()
        heart[i + 1] = 0.7 * heart[i] + 1.5 * np.tanh(breath[i] / 2) + rng.normal()
    links = {("breath", "heart"): (1,), ("heart", "breath"): (1,)}
    values = np.column_stack([heart, breath])[100:]
    return _known(values, ["heart", "breath"], links, dt=0.5, unit="s")


def cortex() -> Series:
    """Cortex (simulated): five channels at 250 Hz, 1000 samples; links at lags 1 to 3 and a loop.

    The model by which partial directed coherence was introduced: ch1 is a resonant source that drives three others
    after two or three samples; ch4 and ch5 drive each other. Baccala, L. A. and Sameshima, K. (2001), Biol. Cybern. 84,
    463, example 3.
    """
    root = np.sqrt(2)
    links = {(0, 1, 2): 0.5, (0, 2, 3): -0.4, (0, 3, 2): -0.5}
    links |= {(4, 3, 1): 0.25 * root, (3, 4, 1): -0.25 * root}
    own = {(0, 0, 1): 0.95 * root, (0, 0, 2): -0.9025, (3, 3, 1): 0.25 * root, (4, 4, 1): 0.25 * root}
    values = np.random.default_rng(1).normal(size=(1200, 5))
    for i in range(3, len(values)):
        for (source, target, lag), strength in (links | own).items():
            values[i, target] += strength * values[i - lag, source]
    names = [f"ch{i}" for i in range(1, 6)]
    truth = {(names[s], names[t]): (lag,) for s, t, lag in links}
    return _known(values[200:], names, truth, dt=0.004, unit="s")


def plankton() -> Series:
    """Plankton (simulated): 40 years of months; temperature drives algae, algae and grazers drive each other.

    Logarithms of abundances with density dependence and a temperature with a yearly season, which is best taken out
    before anything else: ``plankton().deseason(12)``.
    """
    rng, n = np.random.default_rng(2), 480
    temperature, algae, grazers = np.zeros((3, n))
    for i in range(n - 1):
        temperature[i + 1] = 0.6 * temperature[i] + rng.normal()
        growth = 0.5 * np.tanh(temperature[i]) + 0.6 * (1 - np.exp(algae[i] / 2)) - 0.5 * np.tanh(grazers[i])
        algae[i + 1] = 0.8 * algae[i] + growth + 0.3 * rng.normal()
        grazers[i + 1] = 0.6 * grazers[i] + 0.5 * np.tanh(algae[i]) + 0.3 * rng.normal()
    season = 6 * np.cos(2 * np.pi * (np.arange(n) - 7) / 12)
    values = np.column_stack([14 + season + temperature, 2 + algae, 1 + grazers]).round(4)
    links = {("temperature", "algae"): (1,), ("grazers", "algae"): (1,), ("algae", "grazers"): (1,)}
    return _known(values, ["temperature", "algae", "grazers"], links, unit="month", start="1980-01")


def markets() -> Series:
    """Markets (simulated): daily returns in per cent, 1500 trading days; america leads, gold stands apart.

    Heavy tails and volatility that clusters (GARCH(1, 1) with Student t noise), a common shock within each day to the
    three share markets, and spill-over on the next day.
    """
    rng, n = np.random.default_rng(3), 1500
    names = ["america", "europe", "asia", "gold"]
    links = {(0, 1): 0.3, (0, 2): 0.35, (1, 2): 0.2}
    values, variance, shock = np.zeros((n + 100, 4)), np.ones(4), np.zeros(4)
    for i in range(1, n + 100):
        variance = 0.05 + 0.08 * shock**2 + 0.87 * variance
        noise = rng.standard_t(5, size=4) * np.sqrt(0.6)
        noise[:3] = 0.9 * noise[:3] + 0.4 * rng.normal()
        shock = np.sqrt(variance) * noise
        values[i] = shock
        for (source, target), strength in links.items():
            values[i, target] += strength * values[i - 1, source]
    return _known(values[100:].round(4), names, {(names[s], names[t]): (1,) for s, t in links})


def plant() -> Series:
    """Plant (simulated): valve, flow, level and temperature of a tank, 1500 samples 5 s apart, a chain with delays.

    An operator moves the valve; the flow follows after 2 samples, the level after 3 more, and the temperature falls 5
    samples after the level rises.
    """
    rng, n = np.random.default_rng(4), 1600
    valve = np.repeat(rng.uniform(-1, 1, n // 8), 8) + 0.3 * rng.normal(size=n)
    flow, level, temperature = np.zeros((3, n))
    for i in range(5, n):
        flow[i] = 0.5 * flow[i - 1] + 0.8 * valve[i - 2] + 0.2 * rng.normal()
        level[i] = 0.7 * level[i - 1] + 0.4 * flow[i - 3] + 0.2 * rng.normal()
        temperature[i] = 0.7 * temperature[i - 1] - 0.5 * level[i - 5] + 0.3 * rng.normal()
    values = np.column_stack([50 + 10 * valve, 20 + 4 * flow, 3 + level, 60 + 5 * temperature])[100:].round(4)
    links = {("valve", "flow"): (2,), ("flow", "level"): (3,), ("level", "temperature"): (5,)}
    return _known(values, ["valve", "flow", "level", "temperature"], links, dt=5.0, unit="s")


def logistic_maps() -> Series:
    """Logistic maps (simulated): five chaotic maps, 1000 samples, as in the paper and `enmesh demo`."""
    from enmesh.simulate import coupled_map

    return coupled_map("a>b, a>c, b>d, c>d, d>e", n=1000, map="logistic", coupling=0.3, noise=0.001, seed=0)


def mixed_flows() -> Series:
    """Mixed flows (simulated): Lorenz and Rossler systems in a chain, 2000 samples, as in the paper."""
    from enmesh.simulate import coupled_flow

    turns = {"a": "lorenz", "b": "rossler", "c": "lorenz"}
    return coupled_flow("a>b, b>c", n=2000, system=turns, coupling=2.0, dt=0.05, seed=0)


MAKERS = (gas_furnace, heart_breath, cortex, plankton, markets, plant, logistic_maps, mixed_flows)
ALL = {make.__name__.replace("_", "-"): make for make in MAKERS}


def names() -> tuple[str, ...]:
    """Return the names of all recordings."""
    return tuple(ALL)


def load(name: str) -> Series:
    """Return a recording by its name, as on the command line: ``load("gas-furnace")``."""
    return _maker(name)()


def about(name: str) -> dict[str, str]:
    """Return what a recording is, in a line and at length, and its licence.

    >>> about("gas-furnace")["licence"]
    'published numbers, public'
    """
    summary, _, text = (getdoc(_maker(name)) or "").split(">>>")[0].partition("\n\n")
    own = "simulated by enmesh, BSD-3-Clause"  # what is simulated belongs to the package
    licence = "published numbers, public" if _maker(name) is gas_furnace else own
    return {"name": name, "summary": summary, "text": " ".join(text.split()), "licence": licence}


def _maker(name: str) -> Callable[[], Series]:
    found = ALL.get(str(name).replace("_", "-"))
    if found is None:
        raise InputError(f"there is no dataset {name}; choose one of {', '.join(ALL)}")
    return found


Links = Mapping[tuple[str, str], tuple[int, ...]]


def _known(
    values: np.ndarray, nodes: list[str], links: Links, *, dt: float = 1.0, unit: str = "", start: Any = 0.0
) -> Series:
    truth = {target: tuple(s for s, t in links if t == target) for target in nodes}
    series = Series(values, nodes, dt, truth=truth, truth_lags=links)
    series.time = Time(start=start, unit=unit) if unit else None
    return series
