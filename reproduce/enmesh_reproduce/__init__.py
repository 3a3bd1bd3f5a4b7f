"""The paper's figures and experiments: ``run(name, out=folder)`` writes data and pictures.

An experiment is a function ``(job, **sizes) -> Outcome`` of its own name; its defaults are the quick sizes. This
package is no part of the library, which it uses; the command ``enmesh reproduce`` loads it.
"""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from enmesh.errors import InputError

# Where each experiment is, and the sizes of its full version.
EXPERIMENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "fig1": ("figures", {}),
    "fig2": ("figures", {}),
    "theorem1": ("divergence", {"n": 10_000, "n_surrogates": 999}),
    "corollary1": ("divergence", {"n": 2000, "seeds": 20, "n_surrogates": 199}),
    "networks": ("networks", {"seeds": 5, "n_surrogates": 199, "usual_n": 2000, "full": True}),
}
NAMES = tuple(EXPERIMENTS)


@dataclass(frozen=True, kw_only=True)
class Job:
    """Where an experiment may keep what is finished, its seed, its workers, and who is told of progress."""

    out: Path
    seed: int = 0
    n_jobs: int = 1
    progress: Any = False


def run(
    name: str,
    *,
    out: str | Path,
    quick: bool = True,
    seed: int = 0,
    n_jobs: int = 1,
    progress: Any = False,
    **sizes: Any,
) -> list[Path]:
    """Repeat a figure or experiment, print its summary, and return the files it wrote.

    Parameters
    ----------
    name, quick
        One of `NAMES`, in its small version or all of it.
    out
        Folder for tables (CSV), pictures (PNG, SVG) and the summary (TXT); made if it is not there. A run of
        ``networks`` that was stopped goes on from what the folder holds.
    seed, n_jobs, progress
        Seed of simulations and surrogates; processes for ``networks``, on which results do not depend; as in `infer`.
    sizes
        Further arguments of the experiment, in place of those of the quick or full version, such as ``n=500``.
    """
    from enmesh_reproduce.outcome import write

    if name not in NAMES:
        raise InputError(f"there is no experiment {name!r}; choose one of {', '.join(NAMES)}")
    try:
        Path(out).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {out}: {error.strerror}") from None
    module, full = EXPERIMENTS[name]
    experiment = getattr(import_module(f"enmesh_reproduce.{module}"), name)
    job = Job(out=Path(out), seed=seed, n_jobs=n_jobs, progress=progress)
    outcome = experiment(job, **({} if quick else full) | sizes)
    print(outcome.summary)
    return write(outcome, name, job.out)
