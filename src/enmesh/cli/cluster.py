"""--cluster: the workers of a dask scheduler that was started elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from enmesh.data.sources import library
from enmesh.errors import InputError
from enmesh.inference.workers import by_dask

PATIENCE = 10  # seconds for a scheduler to answer
WAIT = 3600  # seconds for its first worker, which may stand in the queue of a cluster


@contextmanager
def on(address: str | None, n_jobs: int = 1) -> Iterator[None]:
    """Let the workers of a scheduler compute; its address is ``tcp://host:8786``, or a scheduler file."""
    if address is None:
        yield
        return
    if n_jobs != 1:
        raise InputError("--jobs has no effect with --cluster, which has its own workers; leave it out")
    distributed = library("dask.distributed", "--cluster", "cluster")
    how = {"scheduler_file": address} if address.endswith(".json") else {"address": address}
    if "scheduler_file" in how and not Path(address).is_file():  # dask would wait for it for ever
        raise InputError(f"there is no scheduler file {address}; start: dask scheduler --scheduler-file {address}")
    try:
        client = distributed.Client(**how, timeout=PATIENCE)
    except (OSError, ValueError, ImportError) as error:
        reason = " ".join(str(error).split())[:160]
        raise InputError(f"no dask scheduler answers at {address} ({reason}); start one: dask scheduler") from None
    try:
        with by_dask(WAIT):
            yield
    finally:
        with suppress(Exception):  # a scheduler that is gone cannot be told
            client.close()
