"""A whole inference on the GPU: 20 coupled maps, N = 10,000, KSG TEE with 199 surrogates, candidates screened.

    python benchmarks/gpu_infer.py                          on a machine with a GPU
    python benchmarks/gpu_infer.py --device cpu --nodes 5 --samples 500    a small one, to see it work

Prints the time, the share of it the device was busy (as nvidia-smi samples it), what was tested and what was found.
"""

import argparse
import shutil
import subprocess
import time
import warnings

import enmesh as em


class Busy:
    """Samples the device's utilisation while a block runs."""

    def __enter__(self):
        self.samples = []
        self._process = None
        if shutil.which("nvidia-smi"):
            command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-lms", "200"]
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *error):
        if self._process:
            self._process.terminate()
            lines = self._process.communicate()[0].split()
            self.samples = [int(line) for line in lines if line.isdigit()]


def warm_up(estimator):
    """Compile the kernels for every number of parents, and load what infer loads: not part of a user's second run."""
    series = em.simulate.coupled_map("a>b, a>c, d>e", n=600, noise=0.01, seed=0)
    embedding = em.Embedding(dim=2)
    for size in range(4):
        given = list("bcd"[:size])
        em.significance(series, "a", "e", given=given, estimator=estimator, embedding=embedding, n_surrogates=39)
    em.infer(series, score=em.TEE(estimator=estimator, embedding=embedding, alpha=0.9, n_surrogates=19))


def run(nodes, samples, device, jobs, max_lag):
    graph = em.simulate.random_dag(nodes, max_parents=2, seed=3)
    series = em.simulate.coupled_map(graph, n=samples, coupling=0.3, noise=0.01, seed=0)
    estimator = em.KSG(device=device)
    warm_up(estimator)
    embedding = em.Embedding(dim=2) if max_lag is None else None
    score = em.TEE(estimator=estimator, embedding=embedding, n_surrogates=199)
    began = time.perf_counter()
    with Busy() as busy:
        network = em.infer(
            series, score=score, max_parents=3, screen=True if embedding else None, n_jobs=jobs, max_lag=max_lag
        )
    seconds = time.perf_counter() - began
    found = {(s, t) for t, some in network.parents.items() for s in some}
    true = {(s, t) for t, some in series.truth.items() for s in some}
    f1 = 2 * len(found & true) / (len(found) + len(true))
    used = f"{sum(busy.samples) / len(busy.samples):.0f} %" if busy.samples else "not sampled"
    print(f"{nodes} nodes, N = {samples}, {device}, {jobs} threads: {seconds:.1f} s, device busy {used}")
    print(f"  families {network.evaluated}, screening {network.options['screening']}")
    print(f"  F1 {f1:.3f}, proven optimal among the candidates: {network.optimal}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nodes", type=int, default=20)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--jobs", type=int, nargs="*", default=[1])
    parser.add_argument("--max-lag", type=int, help="find lags up to this instead of a fixed embedding of dim 2")
    options = parser.parse_args()
    warnings.simplefilter("ignore", em.HazardWarning)
    for jobs in options.jobs:
        run(options.nodes, options.samples, options.device, jobs, options.max_lag)


if __name__ == "__main__":
    main()
