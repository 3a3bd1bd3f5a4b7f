"""Events in continuous time: known values, JIDT on the same trains, error rates, networks and speed.

python benchmarks/events.py values       transfer entropy rates against known ones
python benchmarks/events.py jidt         the same trains with JIDT (see benchmarks/jidt.py)
python benchmarks/events.py levels       p-values of unrelated trains: the table of docs/calibration.md
python benchmarks/events.py networks     mother and daughters, and eight neurons, by defaults
python benchmarks/events.py drivers      copies of several kinds of drivers, by defaults
python benchmarks/events.py speed        200 surrogates of 10,000 target events, and 10 with JIDT
"""

import argparse
import time
import warnings
from functools import partial

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import truncnorm

import enmesh as em

EIGHT = "a>b, a>c, b>d, c>d, d>e, f>e, f>g, g>h"


def poisson(n, seed):
    rng = np.random.default_rng([11, seed])
    trains = [np.cumsum(rng.exponential(1.0, n)) for _ in "ab"]
    stop = min(train[-1] for train in trains)
    return em.Events({"a": trains[0], "b": trains[1]}, duration=stop, mend="outside")


def bursts(n, seed):
    """b is driven by a train that is not given, and bursts; a is a Poisson process."""
    driven = em.simulate.coupled_events("c>b, a", duration=n / 1.25, seed=seed)
    return driven.select(["a", "b"])


def common_rate(n, seed, depth=0.5, period=100.0, names="ab"):
    """Poisson processes whose rates rise and fall together, slowly."""
    rng = np.random.default_rng([12, seed])
    trains = {}
    for name in names:
        times = np.sort(rng.uniform(0, n, rng.poisson(n * (1 + depth))))
        kept = rng.random(len(times)) * (1 + depth) < 1 + depth * np.sin(2 * np.pi * times / period)
        trains[name] = times[kept]
    return em.Events(trains, duration=n)


def listener(n, seed):
    """a follows b as in the canonical pair, and says nothing of it."""
    return em.simulate.coupled_events("b>a", duration=n, seed=seed)


def daughters(n, seed, width=0.25):
    delays = {("m", "a"): 0.25, ("m", "b"): 0.5}
    how = {"kind": "copies", "delay": delays, "width": width, "rest": 1.0}
    return em.simulate.coupled_events("m>a, m>b", duration=2 * n, seed=seed, **how)


def back(n, seed):
    """a copies the events of b, and says nothing of them."""
    family = daughters(n, seed)
    return em.Events({"a": family["a"], "b": family["m"]}, family.duration)


def driven_by(kind, n, seed, chain=False, width=0.25, lost=0.0):
    """Return copies, some of them lost, of a driver of n events: both of m, or b of a."""
    rng, stop = np.random.default_rng([14, seed]), 2.0 * n
    short, usual = rng.random(4 * n) < 0.6, rng.exponential(1.0, 4 * n)
    intervals = {"Poisson": 2 * usual, "rest": 1 + usual, "bursts": np.where(short, 0.1 + 0.2 * usual, 1 + 3 * usual)}
    if kind == "Hawkes":
        born = [np.sort(rng.uniform(0, stop, n // 2))]
        while len(born[-1]):
            parents = np.repeat(born[-1], rng.poisson(0.5, len(born[-1])))
            born.append(parents + rng.exponential(0.3, len(parents)))
        times = np.unique(np.concatenate(born))
    else:
        times = np.cumsum(intervals[kind])
    trains = {"m": times[times <= stop]}
    for name, source, delay in (("a", "m", 0.25), ("b", "a" if chain else "m", 0.5)):
        kept = trains[source][rng.random(len(trains[source])) >= lost]
        some = kept + truncnorm.rvs(-delay / width, np.inf, delay, width, len(kept), random_state=rng)
        trains[name] = np.sort(some[some <= stop])
    return em.Events(trains, stop, truth={"m": [], "a": ["m"], "b": ["a" if chain else "m"]})


def with_another(n, seed):
    """Return daughters that follow closely, and a train that is unrelated to all."""
    family, rng = daughters(n, seed, width=0.1), np.random.default_rng([13, seed])
    another = np.sort(rng.uniform(0, family.duration, rng.poisson(0.7 * family.duration)))
    return em.Events({name: family[name] for name in family} | {"c": another}, family.duration)


def far_behind(n, seed):
    """Return daughters of which one follows an event of the mother before the last."""
    delays = {("m", "a"): 2.0, ("m", "b"): 0.5}
    how = {"kind": "copies", "delay": delays, "width": 0.1, "rest": 1.0}
    return em.simulate.coupled_events("m>a, m>b", duration=2 * n, seed=seed, **how)


NULLS = {
    "independent Poisson trains": (poisson, ()),
    "a target that bursts": (bursts, ()),
    "a source that follows the target": (listener, ()),
    "a source that copies the target": (back, ()),
    "a common slow rate": (common_rate, ()),
    "the same, given a third such train": (partial(common_rate, names="abc"), ["c"]),
    "two targets of one driver, given it": (daughters, ["m"]),
    "noise .1, given it": (partial(daughters, width=0.1), ["m"]),
    "noise .1, given it and an unrelated train": (with_another, ["m", "c"]),
    "noise .1, delay 2, given two intervals": (far_behind, ["m"]),
}


def values(repeats, n_jobs):
    for n, lx, truth in [(10_000, 1, (0.5190, 0.0227)), (10_000, 2, (0.4980, 0.0199)), (10_000, 3, (0.4835, 0.0171))]:

        def one(seed, n=n, lx=lx):
            pair = em.simulate.coupled_events("a>b", duration=n / 1.256, seed=seed)
            return em.transfer_entropy(pair, "a", "b", estimator=em.PointProcess(target_history=lx, seed=seed))

        found = Parallel(n_jobs=n_jobs)(delayed(one)(seed) for seed in range(repeats))
        print(
            f"canonical pair, {n} events, l_x {lx}: {np.mean(found):.4f} +- {np.std(found, ddof=1):.4f}; known {truth}"
        )
    for n in (1000, 10_000):
        how = em.PointProcess(k=5, target_history=1)
        found = [em.transfer_entropy(poisson(n, s), "a", "b", estimator=how) for s in range(2 * repeats)]
        print(f"independent, {n} events: {np.mean(found):.4f} +- {np.std(found, ddof=1):.4f}")
    family = daughters(10_000, 0)
    for given in ((), "m"):
        print(f"daughters given {given or 'nothing'}: {em.transfer_entropy(family, 'a', 'b', given=given):.4f}")


JIDT = "infodynamics.measures.spiking.integration.TransferEntropyCalculatorSpikingIntegration"


def jidt(draws=20):
    """Three trains, JIDT and enmesh: on the same histories, then with random times of their own.

    By default JIDT takes ln(h + 1.1) of histories h and adds noise; both are off if the noise is 0. Random times in
    one interval of the target have that interval in common, and so may be equally far from an event: JIDT then counts
    k, and enmesh all of them. With noise there are no such ties, and values are equal but for JIDT's digamma. JIDT
    compares histories that share time, and draws two random times per event.
    """
    from benchmarks.jidt import Jidt

    found = Jidt.found()
    if isinstance(found, str):
        raise SystemExit(found)
    trains = {
        "canonical pair": em.simulate.coupled_events("a>b", duration=4000, seed=1),
        "independent": poisson(5000, 1),
        "Hawkes": em.simulate.coupled_events("a>b", duration=4000, kind="hawkes", seed=1),
    }
    alike = {"enmesh with exclusion=False, ratio=2": {"exclusion": False, "ratio": 2.0}, "enmesh": {}}
    for what, events in trains.items():
        calculator = found.jpype.JClass(JIDT)()
        value = partial(their_value, found, calculator, events)
        both = value("1e-8"), on_histories_of(calculator)
        print(f"{what}: on the same histories JIDT {both[0]:.7f}, enmesh {both[1]:.7f}")
        began = time.process_time()
        theirs = [value("0") for _ in range(draws)]
        print(f"  JIDT: {mean(theirs)}, {(time.process_time() - began) / draws:.2f} CPU s each")
        for words, options in alike.items():
            how = [em.PointProcess(seed=s, **options) for s in range(draws)]
            print(f"  {words}: {mean([em.transfer_entropy(events, 'a', 'b', estimator=one) for one in how])}")


def their_value(found, calculator, events, noise):
    settings = {"DEST_PAST_INTERVALS": "1,2", "SOURCE_PAST_INTERVALS": "1", "NORM_TYPE": "MAX_NORM"}
    for key, setting in (settings | {"Knns": "4", "NOISE_LEVEL_TO_ADD": noise}).items():
        calculator.setProperty(key, setting)
    calculator.initialise()
    calculator.setObservations(found.doubles(events["a"]), found.doubles(events["b"]))
    return float(calculator.computeAverageLocalOfObservations())


def mean(values):
    return f"{np.mean(values):.4f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.4f}"


def on_histories_of(calculator, k=4):
    """Return enmesh's estimate on the histories that JIDT made, its random times among them."""
    from scipy.special import digamma

    from enmesh.neighbours import cross

    def held(name):
        field = calculator.getClass().getDeclaredField(name)
        field.setAccessible(True)
        return np.array([list(row) for row in field.get(calculator)])

    total = 0.0
    for sign, space in ((1, "joint"), (-1, "conditioning")):
        points, others = held(f"{space}EmbeddingsFromSpikes"), held(f"{space}EmbeddingsFromSamples")
        alone = np.arange(len(points) + len(others))[:, None] + np.array([0.0, 0.5, 0.0, 0.5])
        spans = alone[: len(points)], alone[len(points) :]
        psi = digamma(np.arange(len(points) + len(others) + 1))
        total += sign * cross.brackets(points, others, *spans, k, psi).sum()
    field = calculator.getClass().getDeclaredField("processTimeLengths")
    field.setAccessible(True)
    return total / sum(map(float, field.get(calculator)))


def p_value(make, given, n, seed):
    how = em.PointProcess(condition_history=2 if make is far_behind else 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        test = em.significance(make(n, seed), "a", "b", given=given, estimator=how, n_surrogates=99, seed=seed)
    return test.p_value


def levels(repeats, n_jobs, first=0, n=500):
    from scipy.stats import kstest

    print("| unrelated trains | target events | p at most .01 | .05 | .10 | KS test of uniformity | repetitions |")
    print("|---|---|---|---|---|---|---|")
    for what, (make, given) in NULLS.items():
        seeds = range(first, first + repeats)
        p = np.array(Parallel(n_jobs=n_jobs)(delayed(p_value)(make, given, n, seed) for seed in seeds))
        rates = [
            f"{(p <= level + 1e-9).mean():.3f} ± {np.sqrt(level * (1 - level) / repeats):.3f}"
            for level in (0.01, 0.05, 0.1)
        ]
        uniform = kstest(p - np.random.default_rng(0).random(len(p)) / 100, "uniform").pvalue
        print(f"| {what} | {n} | {' | '.join(rates)} | {uniform:.2f} | {repeats} |", flush=True)


def links(events):
    return {(s, t) for t, some in events.truth.items() for s in some}


def right(events, net):
    found, truth = set(net), links(events)
    return 2 * len(found & truth) / (len(found) + len(truth)), sorted(found - truth), sorted(truth - found)


def networks(repeats, n_jobs, first=0):
    warnings.simplefilter("ignore")
    whole = 0
    for seed in range(first, first + repeats):
        family = daughters(1000, seed)
        f1, false, missed = right(family, em.infer(family, n_jobs=n_jobs))
        whole += f1 == 1
        print(f"mother and daughters {seed}: F1 {f1:.2f} false {false} missed {missed}", flush=True)
    print(f"mother and daughters right in {whole} of {repeats}")
    for seed in range(first, first + max(1, repeats // 10)):
        eight = em.simulate.coupled_events(EIGHT, duration=890, seed=seed)
        f1, false, missed = right(eight, em.infer(eight, n_jobs=n_jobs))
        print(f"eight neurons {seed}, {len(eight)} spikes: F1 {f1:.2f} false {false} missed {missed}", flush=True)


def drivers(repeats, n_jobs, first=0, n=500):
    """Count false and missed links of `infer`, and recordings with a caution, by the kind of the driver."""
    warnings.simplefilter("ignore")
    print("| driver | copies | all right | links back | other false links | missed | caution |")
    print("|---|---|---|---|---|---|---|")
    for chain, width, lost in ((False, 0.25, 0), (False, 0.1, 0), (False, 0.25, 0.3), (True, 0.25, 0), (True, 0.1, 0)):
        for kind in ("rest", "Poisson", "bursts", "Hawkes"):
            rows = []
            for seed in range(first, first + repeats):
                events = driven_by(kind, n, seed, chain, width, lost)
                net = em.infer(events, n_jobs=n_jobs, progress=False)
                f1, false, missed = right(events, net)
                to_driver = {(t, s) for s, t in links(events)}
                backward = [link for link in false if link in to_driver]
                said = any("short histories" in one for one in net.warnings)
                rows.append((f1 == 1, len(backward), len(false) - len(backward), len(missed), said))
            counts = " | ".join(map(str, np.sum(rows, axis=0)))
            print(f"| {kind} | {'chain' if chain else 'fork'}, {width}, {lost:.0%} lost | {counts} |", flush=True)


def speed(device):
    pair, how = em.simulate.coupled_events("a>b", duration=7965, seed=0), em.PointProcess(device=device)
    em.significance(pair, "a", "b", estimator=how, n_surrogates=9)
    began, start = time.process_time(), time.perf_counter()
    em.significance(pair, "a", "b", estimator=how, n_surrogates=200)
    spent = f"{time.process_time() - began:.2f} CPU s, {time.perf_counter() - start:.2f} s"
    print(f"200 surrogates of {pair.counts['b']} target events on {device}: {spent}")
    from benchmarks.jidt import Jidt

    found = Jidt.found()
    if isinstance(found, str):
        return print(f"JIDT: {found}")
    calculator = found.jpype.JClass(JIDT)()
    measured = their_value(found, calculator, pair, "0")
    calculator.computeSignificance(5, measured)
    began = time.process_time()
    calculator.computeSignificance(10, measured)
    print(f"JIDT, 10 surrogates: {time.process_time() - began:.2f} CPU s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["values", "jidt", "levels", "networks", "drivers", "speed"])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="cpu", help="of speed")
    parser.add_argument("--first", type=int, default=0, help="first seed of levels, networks and drivers")
    asked = parser.parse_args()
    if asked.what == "jidt":
        jidt()
    elif asked.what == "speed":
        speed(asked.device)
    else:
        more = () if asked.what == "values" else (asked.first,)
        globals()[asked.what](asked.repeats, asked.jobs, *more)


if __name__ == "__main__":
    main()
