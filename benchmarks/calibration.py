"""Are the error rates what they say? Simulates, counts, and writes the tables of docs/calibration.md.

    python benchmarks/calibration.py                       all tables of the docs
    python benchmarks/calibration.py --only estimators     one table; the others on the page stay as they are
    python benchmarks/calibration.py --quick               a tenth of the repetitions, printed only
    python benchmarks/calibration.py --jobs 16             so many processes

Every repetition has its own seed; results do not depend on the number of workers.
"""

import argparse
import re
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.signal import lfilter

import enmesh as em
from enmesh.scores import Link
from enmesh.tasks import run

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import false_links

ALPHAS = (0.9, 0.95, 0.99)
FIRST_SEED = 5_000_000
SHIFT = 0  # added to every seed
PAGE = Path(__file__).parents[1] / "docs" / "calibration.md"


def seeds(count):
    """Return so many seeds."""
    return range(SHIFT, SHIFT + count)


def driven(n, seed, noise="normal", memory=0.5):
    """a drives y; b says nothing of it. All are autoregressive, with normal noise or that of t(2)."""
    rng = np.random.default_rng([1, seed])
    values = rng.normal(size=(n + 100, 3)) if noise == "normal" else rng.standard_t(2, size=(n + 100, 3))
    values[0] = 0
    values[:, :2] = autoregressive(values[:, :2], memory)
    values[1:, 2] += 0.5 * values[:-1, 0]
    values[:, 2] = autoregressive(values[:, 2], memory)
    return em.Series(values[100:], names=["a", "b", "y"])


def autoregressive(noise, memory):
    """Return x_t = memory x_{t-1} + noise_t, column by column."""
    return lfilter([1.0], [1.0, -memory], noise, axis=0)


def white(n, seed):
    return driven(n, seed, memory=0.0)


def heavy_tailed(n, seed):
    return driven(n, seed, noise="t(2)")


def chains(n, seed):
    """The same with two states: each stays as it is with .7; y is then a's last state instead with .4."""
    rng = np.random.default_rng([8, seed])
    changes, copies = rng.random((n, 3)) > 0.7, rng.random(n) < 0.4
    states = rng.integers(0, 2, (n, 3))
    for t in range(1, n):
        states[t] = states[t - 1] ^ changes[t]
        states[t, 2] = states[t - 1, 0] if copies[t] else states[t, 2]
    return em.Series(states, names=["a", "b", "y"])


def states_and_numbers(n, seed):
    """Chains a and b; y is autoregressive and higher after a = 1."""
    rng = np.random.default_rng([9, seed])
    states = chains(n, seed).values[:, :2].astype(int)
    y = rng.normal(size=n)
    for t in range(1, n):
        y[t] += 0.5 * y[t - 1] + 0.8 * states[t - 1, 0]
    return em.Series({"a": states[:, 0], "b": states[:, 1], "y": y})


def with_searched_lags(series, max_lag, estimator):
    """Pasts of y in which the lags of a and b are those that say most, b's given a: chosen from the data."""
    found = {}
    for source, given in (("a", ()), ("b", ("a",))):

        def said(lag, source=source, given=given):
            pasts = em.Lags(found | {(source, "y"): (lag,)}, searched=max_lag)
            return em.transfer_entropy(series, source, "y", given=given, estimator=estimator, embedding=pasts)

        found[source, "y"] = (max(range(1, max_lag + 1), key=said),)
    return em.Lags(found, searched=max_lag)


def uncoupled(n, coefficient, seed):
    noise = np.random.default_rng([2, seed]).normal(size=(n + 499, 2))
    return em.Series(autoregressive(noise, coefficient)[499:], names=["a", "b"])


def tee(estimator, penalty, n_surrogates=199):
    def score(alpha, seed):
        return em.TEE(
            estimator=estimator,
            embedding=em.Embedding(),
            alpha=alpha,
            penalty=penalty,
            n_surrogates=n_surrogates,
            seed=seed,
        )

    return score


def tea(penalty, null="chi2", estimator=None):
    chosen = estimator or em.Gaussian()

    def score(alpha, seed):
        return em.TEA(estimator=chosen, embedding=em.Embedding(), alpha=alpha, penalty=penalty, null=null)

    return score


SCORES = {
    "TEA sum, Gaussian": (tea("sum"), 12_000),
    "TEA sum, Gaussian, F null": (tea("sum", "f"), 12_000),
    "TEA collective, Gaussian": (tea("collective"), 4000),
    "TEE sequential, Gaussian": (tee(em.Gaussian(), "sequential"), 12_000),
    "TEE collective, Gaussian": (tee(em.Gaussian(), "collective"), 1000),
    "TEE sequential, KSG": (tee(em.KSG(), "sequential"), 1000),
    "TEE collective, KSG": (tee(em.KSG(), "collective"), 300),
}


def keeps_spurious(make_score, n, max_lag, seed, data=driven):
    """Whether b is kept beside the true parent a, for every alpha; they share the tests a score is made of."""
    series = data(n, seed)
    scores = [make_score(alpha, seed) for alpha in ALPHAS]
    searched = max_lag > 1
    pasts = with_searched_lags(series, max_lag, scores[0].estimator) if searched else em.Embedding()
    scorers = [score.embedded(pasts).bind(series) for score in scores]
    asked = {link for parents in ((0,), (0, 1)) for link in scorers[0].tests(2, parents)}
    tests = {link: run(scorers[0].test(link)) for link in asked}
    return [scorer.combine(2, (0, 1), tests) > scorer.combine(2, (0,), tests) for scorer in scorers]


def rates_kept(make_score, n, repeats, n_jobs, first_seed=FIRST_SEED, max_lag=1, data=driven):
    """Share of repetitions that keep a spurious second parent, and its standard error if nominal, per alpha."""
    kept = Parallel(n_jobs=n_jobs)(
        delayed(keeps_spurious)(make_score, n, max_lag, first_seed + i, data) for i in seeds(repeats)
    )
    errors = [float(np.sqrt(alpha * (1 - alpha) / repeats)) for alpha in ALPHAS]
    return list(zip(np.mean(kept, axis=0).tolist(), errors))


class Member(NamedTuple):
    """An estimator, the data it is asked about, which of its known nulls is used if any, and repetitions."""

    estimator: Any
    data: Any = driven
    null: str | None = None
    repeats: int = 1000

    def score(self):
        """Return what makes its score: TEE with 199 surrogates, or TEA."""
        return tea("sum", self.null, self.estimator) if self.null else tee(self.estimator, "sequential")

    def single(self, n, seed):
        """Return the p-value of b for y given nothing but its past; b says nothing of y."""
        if self.null:
            return run(self.score()(0.95, seed).bind(self.data(n, seed)).test(Link(1, 2, ()))).p_value
        asked = {"estimator": self.estimator, "n_surrogates": 39, "seed": seed}
        return em.significance(self.data(n, seed), "b", "y", **asked).p_value


RANKED = em.Gaussian(normalise="rank")
MEMBERS = {
    "Gaussian(rank), chi-square": Member(RANKED, null="chi2", repeats=4000),
    "Gaussian(rank), chi-square, noise of t(2)": Member(RANKED, heavy_tailed, null="chi2", repeats=4000),
    "Gaussian(rank)": Member(RANKED, repeats=4000),
    "Regression(), F": Member(em.Regression(), null="f", repeats=4000),
    "Regression(), F, white": Member(em.Regression(), white, null="f", repeats=4000),
    "Regression(), shift": Member(em.Regression(), null="shift"),
    "Regression(fourier), F": Member(em.Regression("fourier"), null="f"),
    "Regression(basis), F": Member(em.Regression("basis"), null="f"),
    "Regression(basis), shift": Member(em.Regression("basis"), null="shift"),
    "KSG(rank)": Member(em.KSG(normalise="rank")),
    "KSG(rank), noise of t(2)": Member(em.KSG(normalise="rank"), heavy_tailed),
    **{f"KSG({kind} residuals)": Member(em.KSG(residual=kind)) for kind in ("linear", "quadratic", "features")},
    "Mixed(), numbers": Member(em.Mixed(), repeats=400),
    "Mixed(), states and numbers": Member(em.Mixed(), states_and_numbers, repeats=400),
    "Ordinal(order=2)": Member(em.Ordinal(order=2), repeats=8000),
    "Ordinal(), order 3": Member(em.Ordinal(), repeats=8000),
    "Discrete(), chi-square": Member(em.Discrete(), chains, null="chi2", repeats=4000),
    **{
        f"Discrete({correction})": Member(em.Discrete(correction=correction), chains, repeats=8000)
        for correction in ("none", "miller-madow", "grassberger")
    },
}


def single_rate(member, n, repeats, n_jobs):
    """Share of repetitions in which a single test at .05 takes b for a source of y."""
    p_values = Parallel(n_jobs=n_jobs)(delayed(member.single)(n, seed) for seed in seeds(repeats))
    return float(np.mean(np.array(p_values) <= 0.05 + 1e-12))


def member_table(scale, n_jobs):
    nominal = " | ".join(f"alpha {a} (nominal {1 - a:.2f})" for a in ALPHAS)
    yield f"| estimator | N | {nominal} | single test (.05) | repetitions |"
    yield "|---|---|---|---|---|---|---|"
    for name, member in MEMBERS.items():
        repeats = max(20, int(member.repeats * scale))
        single_error = np.sqrt(0.05 * 0.95 / repeats)
        for n in (300, 1000):
            rates = rates_kept(member.score(), n, repeats, n_jobs, data=member.data)
            rates.append((single_rate(member, n, repeats, n_jobs), single_error))
            yield f"| {name} | {n} | {' | '.join(shown(*rate) for rate in rates)} | {repeats} |"


def shown(rate, error):
    return f"{rate:.4f} ± {error:.4f}"


# Scores whose lags are searched: (name in SCORES, lags searched, N, repetitions).
SEARCHED = (
    ("TEA sum, Gaussian", 5, 300, 4000),
    ("TEA sum, Gaussian", 20, 300, 4000),
    ("TEA sum, Gaussian, F null", 20, 300, 4000),
    ("TEE sequential, Gaussian", 5, 300, 1000),
    ("TEE sequential, Gaussian", 5, 1000, 1000),
    ("TEE sequential, Gaussian", 20, 1000, 1000),
    ("TEE sequential, KSG", 5, 300, 400),
    ("TEE sequential, KSG", 5, 1000, 400),
)

# Independent pairs, tested at the best of so many lags: (estimator, surrogates, repetitions).
BEST_LAG = {
    "Gaussian, shifts": (em.Gaussian(), 199, 1000),
    "Gaussian, chi-square": (em.Gaussian(), 0, 4000),
    "Discrete, shifts": (em.Discrete(), 199, 1000),
    "Discrete, chi-square": (em.Discrete(), 0, 4000),
    "KSG, shifts": (em.KSG(), 99, 300),
}
LAGS = {1: 300, 5: 300, 20: 1000}
"""Lags that are tried, and samples."""


def unrelated(n, seed, discrete):
    """Three first-order processes that say nothing of one another: autoregressive, or chains of two states."""
    rng = np.random.default_rng([6, seed])
    if discrete:
        stays = rng.random((n, 3)) < 0.7
        return em.Series(np.cumsum(~stays, axis=0) % 2, names="abc")
    return em.Series(autoregressive(rng.normal(size=(n + 49, 3)), 0.5)[49:], names="abc")


def best_lag_p_value(estimator, count, max_lag, given, n, seed):
    """p-value of the best lag of an unrelated source; of several surrogates that reach it alike, some at random."""
    series = unrelated(n, seed, estimator.discrete)
    test = em.significance(
        series, "a", "b", given=given, estimator=estimator, max_lag=max_lag, n_surrogates=count, seed=seed
    )
    if not count:
        return test.p_value
    above, equal = (test.null > test.value).sum(), (test.null == test.value).sum()
    return (above + np.random.default_rng([7, seed]).random() * (1 + equal)) / (len(test.null) + 1)


def best_lag_p_values(name, max_lag, given, repeats, n_jobs, count=None):
    estimator, usual, _ = BEST_LAG[name]
    asked = estimator, usual if count is None else count, max_lag, given, LAGS[max_lag]
    return np.array(Parallel(n_jobs=n_jobs)(delayed(best_lag_p_value)(*asked, s) for s in seeds(repeats)))


SURROGATES = {
    "CircularShift": em.CircularShift(),
    "Permute": em.Permute(),
    "Bootstrap": em.Bootstrap(),
    "LocalPermute": em.LocalPermute(),
}
ESTIMATORS = {"Gaussian": em.Gaussian(), "KSG": em.KSG()}


def fires(estimator, surrogate, coefficient, n, seed, count=39):
    series = uncoupled(n, coefficient, seed)
    test = em.significance(series, "a", "b", estimator=estimator, surrogate=surrogate, n_surrogates=count, seed=seed)
    return test.p_value <= 0.05


def false_positive_rate(estimator, surrogate, coefficient, repeats, n_jobs, n=300):
    given = ESTIMATORS[estimator], SURROGATES[surrogate], coefficient, n
    fired = Parallel(n_jobs=n_jobs)(delayed(fires)(*given, seed) for seed in seeds(repeats))
    return float(np.mean(fired))


# Unrelated nodes, by their names in benchmarks/false_links.py, on which several responses are tested.
UNRELATED = (
    "white noise", "AR .9", "AR .98", "heavy tails (t, 2 degrees)", "GARCH", "rounded to halves", "counts",
    "common changes of variance",
)  # fmt: skip


def responses_p_value(process, responses, null, n, seed):
    """p-value of one of two unrelated nodes for the other: functions of the target, given its last value."""
    values = false_links.PROCESSES[process](np.random.default_rng([10, seed, n]), n, 2)
    score = tea("sum", null, em.Regression("basis", responses=responses))(0.95, seed)
    return run(score.bind(em.Series(values, names=["a", "b"])).test(Link(0, 1, ()))).p_value


def responses_table(scale, n_jobs):
    from scipy.stats import kstest

    yield "| process | responses | null | N | p up to .10 | up to .05 | up to .01 | uniform (KS) | repetitions |"
    yield "|---|---|---|---|---|---|---|---|---|"
    repeats = max(20, int(1000 * scale))
    for process in UNRELATED:
        count = 1 if process == "common changes of variance" else 4
        for null in ("shift", "f", "chi2") if process == "white noise" else ("shift",):
            for n in (200, 1000):
                asked = (delayed(responses_p_value)(process, count, null, n, seed) for seed in seeds(repeats))
                p = np.array(Parallel(n_jobs=n_jobs)(asked))
                shares = " | ".join(f"{(p <= level).mean():.3f}" for level in (0.1, 0.05, 0.01))
                row = f"| {process} | {count} | {null} | {n} | {shares}"
                yield f"{row} | {kstest(p, 'uniform').pvalue:.2g} | {repeats} |"


def spurious_table(scale, n_jobs):
    yield ("| score | N | " + " | ".join(f"alpha {a} (nominal {1 - a:.2f})" for a in ALPHAS) + " | repetitions |")
    yield "|---|---|---|---|---|---|"
    for name, (make_score, repeats) in SCORES.items():
        repeats = max(20, int(repeats * scale))
        for n in (300, 1000):
            rates = rates_kept(make_score, n, repeats, n_jobs)
            yield f"| {name} | {n} | {' | '.join(shown(*rate) for rate in rates)} | {repeats} |"
    for name, max_lag, n, repeats in SEARCHED:
        repeats = max(20, int(repeats * scale))
        rates = rates_kept(SCORES[name][0], n, repeats, n_jobs, max_lag=max_lag)
        in_words = " | ".join(shown(*rate) for rate in rates)
        yield f"| {name}, best of {max_lag} lags | {n} | {in_words} | {repeats} |"


def best_lag_table(scale, n_jobs):
    from scipy.stats import kstest

    yield "| test | lags | N | given | p up to .10 | up to .05 | up to .01 | uniform (KS) | repetitions |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name, (_, _, repeats) in BEST_LAG.items():
        repeats = max(20, int(repeats * scale))
        for max_lag, n in LAGS.items():
            for given in ("", "c"):
                p = best_lag_p_values(name, max_lag, given or (), repeats, n_jobs)
                shares = " | ".join(f"{(p <= level).mean():.3f}" for level in (0.1, 0.05, 0.01))
                row = f"| {name} | {max_lag} | {n} | {given or 'nothing'} | {shares}"
                yield f"{row} | {kstest(p, 'uniform').pvalue:.2g} | {repeats} |"


def surrogate_table(scale, n_jobs):
    yield "| estimator | surrogate | AR .5 | AR .95 | repetitions |"
    yield "|---|---|---|---|---|"
    for estimator, repeats in (("Gaussian", 1000), ("KSG", 300)):
        repeats = max(20, int(repeats * scale))
        for surrogate in SURROGATES:
            rates = [false_positive_rate(estimator, surrogate, c, repeats, n_jobs) for c in (0.5, 0.95)]
            yield f"| {estimator} | {surrogate} | {rates[0]:.3f} | {rates[1]:.3f} | {repeats} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the repetitions, printed only")
    parser.add_argument("--jobs", type=int, default=2, help="processes; -1: one per core")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS), help="these tables")
    parser.add_argument("--first-seed", type=int, default=0, help="added to every seed")
    options = parser.parse_args()
    globals()["SHIFT"] = options.first_seed
    warnings.simplefilter("ignore", em.HazardWarning)
    made = {}
    for name in options.only:
        heading, table = SECTIONS[name]
        print(heading, flush=True)
        lines = []
        for line in table(0.1 if options.quick else 1.0, options.jobs):
            print(line, flush=True)
            lines.append(line)
        made[heading] = "\n".join(lines)
    if not options.quick:
        PAGE.write_text(with_tables(PAGE.read_text(), made))
        print(f"written to {PAGE}")


def with_tables(page, made):
    """Return the page with the table of some sections replaced."""
    head, *parts = re.split(r"^(?=## )", page, flags=re.M)
    for i, part in enumerate(parts):
        if table := made.get(part.partition("\n")[0]):
            parts[i] = re.sub(r"(^\|.*\n)+", lambda _, table=table: table + "\n", part, count=1, flags=re.M)
    return head + "".join(parts)


SECTIONS = {
    "spurious": ("## A spurious second parent", spurious_table),
    "estimators": ("## Every estimator", member_table),
    "responses": ("## Several functions of the target", responses_table),
    "lags": ("## The best of several lags", best_lag_table),
    "shuffling": ("## False positives of a single test, nominal .05", surrogate_table),
}


if __name__ == "__main__":
    main()
