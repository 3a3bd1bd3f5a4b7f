"""Where a whole inference spends its time: five coupled maps, KSG TEE, 199 surrogates, exact search.

python benchmarks/profile_infer.py [--samples 1000] [--max-lag 5]

With --max-lag the lags of own pasts and sources are found too, and tested as they were found.
"""

import argparse
import cProfile
import pstats
import time
import warnings
from pathlib import Path

import enmesh as em

GRAPH = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"], "e": ["d"]}


def infer(samples, max_lag):
    series = em.simulate.coupled_map(GRAPH, n=samples, coupling=0.3, noise=0.001, seed=0)
    if max_lag is not None:
        return em.infer(series, estimator="ksg", max_lag=max_lag)
    return em.infer(series, score=em.TEE(estimator=em.KSG()), search=em.Exact())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--max-lag", type=int)
    options = parser.parse_args()
    warnings.simplefilter("ignore", em.HazardWarning)
    infer(200, options.max_lag)  # loads compiled code
    profile = cProfile.Profile()
    start = time.process_time()
    network = profile.runcall(infer, options.samples, options.max_lag)
    seconds = time.process_time() - start
    print(
        f"{seconds:.1f} s of CPU for {network.evaluated} families and {len(network.candidates)} edge tests\n"
    )
    print("| seconds | share | calls | function |\n|---|---|---|---|")
    stats = pstats.Stats(profile).stats
    for (file, line, name), (_, calls, own, _, _) in sorted(stats.items(), key=lambda item: -item[1][2])[:12]:
        where = f"{Path(file).name}:{line} {name}" if line else name
        print(f"| {own:.2f} | {own / seconds:.0%} | {calls} | {where} |")


if __name__ == "__main__":
    main()
