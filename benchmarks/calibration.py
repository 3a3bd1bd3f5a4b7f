"""Are the error rates what they say? Simulates, counts, and writes docs/calibration.md.

    python benchmarks/calibration.py            the table of the docs
    python benchmarks/calibration.py --quick    a tenth of the repetitions, printed only

Every repetition has its own seed; results do not depend on the number of workers.
"""

import argparse
import warnings
from itertools import chain
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

import enmesh as em
from enmesh.tasks import run

ALPHAS = (0.9, 0.95, 0.99)
FIRST_SEED = 5_000_000
PAGE = Path(__file__).parents[1] / "docs" / "calibration.md"
# The part of the page that another benchmark makes begins with this line; it is kept.
NEXT = "## False links of infer"


def driven(n, seed):
    """a drives y; b says nothing of it. All are autoregressive."""
    rng = np.random.default_rng([1, seed])
    values = np.zeros((n + 100, 3))
    for t in range(1, n + 100):
        values[t] = 0.5 * values[t - 1] + rng.normal(size=3)
        values[t, 2] += 0.5 * values[t - 1, 0]
    return em.Series(values[100:], names=["a", "b", "y"])


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
    rng = np.random.default_rng([2, seed])
    values = np.zeros((n + 500, 2))
    for t in range(1, n + 500):
        values[t] = coefficient * values[t - 1] + rng.normal(size=2)
    return em.Series(values[500:], names=["a", "b"])


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


def tea(penalty, null="chi2"):
    return lambda alpha, seed: em.TEA(embedding=em.Embedding(), alpha=alpha, penalty=penalty, null=null)


SCORES = {
    "TEA sum, Gaussian": (tea("sum"), 12_000),
    "TEA sum, Gaussian, F null": (tea("sum", "f"), 12_000),
    "TEA collective, Gaussian": (tea("collective"), 4000),
    "TEE sequential, Gaussian": (tee(em.Gaussian(), "sequential"), 12_000),
    "TEE collective, Gaussian": (tee(em.Gaussian(), "collective"), 1000),
    "TEE sequential, KSG": (tee(em.KSG(), "sequential"), 1000),
    "TEE collective, KSG": (tee(em.KSG(), "collective"), 300),
}


def keeps_spurious(make_score, n, max_lag, seed):
    """Whether b is kept beside the true parent a, for every alpha; they share the tests a score is made of."""
    series = driven(n, seed)
    scores = [make_score(alpha, seed) for alpha in ALPHAS]
    searched = max_lag > 1
    pasts = with_searched_lags(series, max_lag, scores[0].estimator) if searched else em.Embedding()
    scorers = [score.embedded(pasts).bind(series) for score in scores]
    tests = {link: run(scorers[0].test(link)) for link in scorers[0].tests(2, (0, 1))}
    return [scorer.combine(2, (0, 1), tests) > scorer.combine(2, (0,), tests) for scorer in scorers]


def rates_kept(make_score, n, repeats, n_jobs, first_seed=FIRST_SEED, max_lag=1):
    """Share of repetitions that keep a spurious second parent, and its standard error if nominal, per alpha."""
    kept = Parallel(n_jobs=n_jobs)(
        delayed(keeps_spurious)(make_score, n, max_lag, first_seed + i) for i in range(repeats)
    )
    errors = [float(np.sqrt(alpha * (1 - alpha) / repeats)) for alpha in ALPHAS]
    return list(zip(np.mean(kept, axis=0).tolist(), errors))


# Scores whose lags are searched: (name in SCORES, lags searched, N, repetitions).
SEARCHED = (
    ("TEA sum, Gaussian", 5, 300, 4000),
    ("TEA sum, Gaussian", 20, 300, 4000),
    ("TEA sum, Gaussian, F null", 20, 300, 4000),
    ("TEE sequential, Gaussian", 5, 300, 2000),
    ("TEE sequential, Gaussian", 5, 1000, 2000),
    ("TEE sequential, Gaussian", 20, 300, 2000),
    ("TEE sequential, Gaussian", 20, 1000, 2000),
    ("TEE sequential, KSG", 5, 300, 400),
    ("TEE sequential, KSG", 5, 1000, 400),
)

# Independent pairs, tested at the best of so many lags: (estimator, surrogates, repetitions).
BEST_LAG = {
    "Gaussian, shifts": (em.Gaussian(), 199, 2000),
    "Gaussian, chi-square": (em.Gaussian(), 0, 4000),
    "Discrete, shifts": (em.Discrete(), 199, 2000),
    "Discrete, chi-square": (em.Discrete(), 0, 4000),
    "KSG, shifts": (em.KSG(), 99, 500),
}
LAGS = (1, 5, 20)


def unrelated(n, seed, discrete):
    """Three first-order processes that say nothing of one another: autoregressive, or chains of two states."""
    rng = np.random.default_rng([6, seed])
    if discrete:
        stays = rng.random((n, 3)) < 0.7
        return em.Series(np.cumsum(~stays, axis=0) % 2, names="abc")
    values = np.zeros((n + 50, 3))
    for t in range(1, n + 50):
        values[t] = 0.5 * values[t - 1] + rng.normal(size=3)
    return em.Series(values[50:], names="abc")


def best_lag_p_value(estimator, count, max_lag, given, n, seed):
    """p-value of the best lag of an unrelated source; of several surrogates that reach it alike, some at random."""
    series = unrelated(n, seed, estimator.discrete)
    test = em.significance(
        series,
        "a",
        "b",
        given=given,
        estimator=estimator,
        max_lag=max_lag,
        n_surrogates=count,
        seed=seed,
    )
    if not count:
        return test.p_value
    above, equal = (test.null > test.value).sum(), (test.null == test.value).sum()
    return (above + np.random.default_rng([7, seed]).random() * (1 + equal)) / (len(test.null) + 1)


def best_lag_p_values(name, max_lag, given, repeats, n_jobs, n=300, count=None):
    estimator, usual, _ = BEST_LAG[name]
    asked = estimator, usual if count is None else count, max_lag, given, n
    return np.array(Parallel(n_jobs=n_jobs)(delayed(best_lag_p_value)(*asked, s) for s in range(repeats)))


SURROGATES = {
    "CircularShift": em.CircularShift(),
    "Permute": em.Permute(),
    "Bootstrap": em.Bootstrap(),
    "LocalPermute": em.LocalPermute(),
}
ESTIMATORS = {"Gaussian": em.Gaussian(), "KSG": em.KSG()}


def fires(estimator, surrogate, coefficient, n, seed, count=39):
    series = uncoupled(n, coefficient, seed)
    test = em.significance(
        series, "a", "b", estimator=estimator, surrogate=surrogate, n_surrogates=count, seed=seed
    )
    return test.p_value <= 0.05


def false_positive_rate(estimator, surrogate, coefficient, repeats, n_jobs, n=300):
    given = ESTIMATORS[estimator], SURROGATES[surrogate], coefficient, n
    fired = Parallel(n_jobs=n_jobs)(delayed(fires)(*given, seed) for seed in range(repeats))
    return float(np.mean(fired))


def spurious_table(scale, n_jobs):
    yield (
        "| score | N | " + " | ".join(f"alpha {a} (nominal {1 - a:.2f})" for a in ALPHAS) + " | repetitions |"
    )
    yield "|---|---|---|---|---|---|"
    for name, (make_score, repeats) in SCORES.items():
        repeats = max(20, int(repeats * scale))
        for n in (300, 1000):
            shown = " | ".join(f"{r:.4f} ± {e:.4f}" for r, e in rates_kept(make_score, n, repeats, n_jobs))
            yield f"| {name} | {n} | {shown} | {repeats} |"
    for name, max_lag, n, repeats in SEARCHED:
        repeats = max(20, int(repeats * scale))
        rates = rates_kept(SCORES[name][0], n, repeats, n_jobs, max_lag=max_lag)
        shown = " | ".join(f"{r:.4f} ± {e:.4f}" for r, e in rates)
        yield f"| {name}, best of {max_lag} lags | {n} | {shown} | {repeats} |"


def best_lag_table(scale, n_jobs):
    from scipy.stats import kstest

    yield "| test | lags | given | p up to .10 | up to .05 | up to .01 | uniform (KS) | repetitions |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, (_, _, repeats) in BEST_LAG.items():
        repeats = max(20, int(repeats * scale))
        for max_lag in LAGS:
            for given in ("", "c"):
                p = best_lag_p_values(name, max_lag, given or (), repeats, n_jobs)
                shares = " | ".join(f"{(p <= level).mean():.3f}" for level in (0.1, 0.05, 0.01))
                row = f"| {name} | {max_lag} | {given or 'nothing'} | {shares}"
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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", choices=("spurious", "lags", "shuffling"), help="one table, printed only")
    options = parser.parse_args()
    warnings.simplefilter("ignore", em.HazardWarning)
    scale = 0.1 if options.quick else 1.0
    lines = []
    tables = {
        "spurious": (INTRODUCTION, spurious_table),
        "lags": (BEST_OF_LAGS, best_lag_table),
        "shuffling": (SHUFFLING, surrogate_table),
    }
    for title, table in tables.values() if options.only is None else [tables[options.only]]:
        for line in chain([title], table(scale, options.jobs), [""]):
            print(line, flush=True)
            lines.append(line)
    if not options.quick and options.only is None:
        kept = PAGE.read_text().partition(NEXT)
        PAGE.write_text("\n".join([*lines, kept[1] + kept[2]]))
        print(f"written to {PAGE}")


INTRODUCTION = """# Calibration

Made by `python benchmarks/calibration.py`: every number is a share of simulated data sets. The last part is made by
`python benchmarks/false_links.py`.

## A spurious second parent

Three AR(1) processes with coefficient .5; `a` drives `y` with .5, `b` says nothing of it. How often is `b` kept beside
`a`? TEE has its 199 surrogates. The ± is the standard error at the nominal rate.

The summed penalty of TEA and the sequential one of TEE keep it as often as asked. The collective forms of the paper
compare both parents together with a null in which neither matters; beside a strong true parent the spurious one rides
along, and asking for a higher alpha does not help.

"Best of L lags": the lags of `a` and `b` are those that say most, chosen from the same data, as `Lags(..., searched=L)`
says. TEE's surrogates choose in the same way, and the rate is as asked where the series is long: shifts of one series
that are nearer than L share most of their lags, so that N samples hold about N / L independent ones, and levels under
L / N are not reached honestly (`em.significance` warns of it). TEA divides its level by L; at so small a level the
chi-square null shows that it is one for large N, and the F null is nearer.
"""

BEST_OF_LAGS = """
## The best of several lags

Two unrelated processes (autoregressive with .5; chains of two states), N = 300; the source is taken at the lag up to L
that says most, `em.significance(..., max_lag=L)`, given nothing or an unrelated third. Shifts choose their own best
lag, and the p-values are uniform, but for those under L / N (see above). The chi-square p-value is multiplied by L and
cut at 1: where it is small it holds, as a whole it is not uniform, but too large.
"""

SHUFFLING = """
## False positives of a single test, nominal .05

Two uncoupled AR(1) processes, N = 300, 39 surrogates. Shuffling a source destroys its autocorrelation; where the
target's own past is not fully conditioned away, that makes chance look too small. The circular shift keeps it.
"""


if __name__ == "__main__":
    main()
