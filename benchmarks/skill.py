"""Does the network predict? Its forecast beside the own past alone and all nodes.

    python benchmarks/skill.py

Ten data sets, named here beforehand. The graph is inferred by the defaults from the first half, with feedback allowed;
coefficients are fitted anew five times, and the second half is predicted one sample ahead. A contender is beaten where
the squared error relative to it, averaged over nodes, is smaller.
"""

import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import enmesh as em

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def numbers(name, **words):
    return em.Series(pd.read_csv(SHARED / name, **words).select_dtypes("number").dropna(), time=False)


def from_npz(name, place=0):
    with np.load(SHARED / name) as held:
        array = np.asarray(held[held.files[0]], float)
    return em.Series(array if array.ndim == 2 else array[place])


def gas():
    return em.datasets.gas_furnace()


SETS = {
    "var3_sparse T500 d1": lambda: numbers("var3_sparse/T500_d1.csv"),
    "var3_sparse T1000 d2": lambda: numbers("var3_sparse/T1000_d2.csv"),
    "lorenz96 F10 T500": lambda: from_npz("lorenz96_f10/F10_T500.npz"),
    "gas furnace": gas,
    "danube rivers": lambda: numbers("danube_rivers/data.csv"),
    "assaad v-structure": lambda: from_npz("assaad_structures/v_structure.npz"),
    "heart and breath": lambda: numbers("sfi_heart_breath/schreiber_2350_3550.csv"),
    "VAR of 12 nodes": lambda: em.simulate.var(
        ", ".join(f"x{i}>x{(i + 1) % 12}" for i in range(12)), n=1000, coupling=0.3, seed=77
    ),
    "logistic maps, 6 nodes": lambda: em.simulate.coupled_map("a>b, b>c, c>d, a>e, e>f", n=1000, noise=0.02, seed=77),
    "flows, 3 nodes": lambda: em.simulate.coupled_flow("a>b, b>c", n=2000, dt=0.1, seed=77),
}


def half(series):
    parts = []
    for trial in series.trials:
        parts.append(trial[: len(trial) // 2])
    return series.with_trials(parts)


def main():
    warnings.simplefilter("ignore")
    rows = []
    for name, read in SETS.items():
        series, started = read(), time.process_time()
        first = half(series)
        net = em.infer(first, acyclic=False)  # feedback is allowed
        inferred = time.process_time() - started
        model = net.fit(first)
        found = model.skill(series, first=0.5, horizons=(1, 5))
        far = found.table[found.table.horizon == 5]
        rows.append(
            (
                name,
                series.n_nodes,
                len(series),
                len(net),
                found.against_own,
                found.against_all,
                far.against_own.mean(),
                far.against_all.mean(),
                found.covered,
                " ".join(sorted(set(model.summary.basis))),
                inferred,
                time.process_time() - started - inferred,
            )
        )
        print(name, found.sentence, flush=True)
    columns = [
        "data",
        "nodes",
        "samples",
        "links",
        "against_own",
        "against_all",
        "own_5",
        "all_5",
        "covered",
        "bases",
        "infer_s",
        "skill_s",
    ]
    frame = pd.DataFrame(rows, columns=columns)
    print(frame.to_string(float_format="{:.3f}".format))
    both = (frame.against_own > 0) & (frame.against_all > 0)
    print(
        f"better than the own past on {(frame.against_own > 0).sum()}, "
        f"than all nodes on {(frame.against_all > 0).sum()}, "
        f"than both on {both.sum()} of {len(frame)}"
    )


if __name__ == "__main__":
    main()
