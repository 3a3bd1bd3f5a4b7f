"""The paper's figures and experiments, one module each: ``run(name, out=folder)`` writes data and pictures.

A module offers ``experiment(job, **sizes) -> Outcome`` and its sizes ``QUICK`` and ``FULL``. Nothing in the library
needs this folder but the command ``enmesh reproduce``.
"""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from enmesh.errors import InputError

NAMES = ("fig1", "fig2", "theorem1", "corollary1", "networks")


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
    name
        One of `NAMES`.
    out
        Folder for tables (CSV), pictures (PNG, SVG) and the summary (TXT); made if it is not there. A run of
        ``networks`` that was stopped goes on from what the folder holds.
    quick
        The small version, or all of it.
    seed
        Seed of the simulations and surrogates.
    n_jobs
        Processes for ``networks``; -1 for one per core. Results do not depend on it.
    progress
        True shows progress; or a callback, as in `infer`.
    sizes
        Further arguments of the experiment, in place of those of the quick or full version, such as ``n=500``.
    """
    from enmesh.reproduce.outcome import write

    if name not in NAMES:
        raise InputError(f"there is no experiment {name!r}; choose one of {', '.join(NAMES)}")
    try:
        Path(out).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {out}: {error.strerror}") from None
    module = import_module(f"enmesh.reproduce.{name}")
    job = Job(out=Path(out), seed=seed, n_jobs=n_jobs, progress=progress)
    outcome = module.experiment(job, **(module.QUICK if quick else module.FULL) | sizes)
    print(outcome.summary)
    return write(outcome, name, job.out)
