"""Tasks that pause while their answer is being computed, so that one thread can keep several under way.

A task is a generator that yields whenever it waits and returns its result. A GPU works on one task while the next is
started; on a CPU they run one after the other.
"""

import sys
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, TypeVar

Result = TypeVar("Result")
Task = Generator[None, None, Result]


def ready(result: Result) -> Task[Result]:
    """Return a task that need not wait."""
    return result
    yield  # never reached: makes this a generator


def run(task: Task[Result]) -> Result:
    """Run a task to its end and return its result."""
    ((_, result),) = interleave([task], 1)
    return result


def interleave(tasks: Iterable[Task[Result]], width: int) -> Iterator[tuple[int, Result]]:
    """Run up to ``width`` tasks in turn; yield position and result of each as it ends.

    >>> def count(n):
    ...     for _ in range(n):
    ...         yield
    ...     return f"{n} turns"
    >>> list(interleave(map(count, [4, 1, 1]), 2))
    [(1, '1 turns'), (2, '1 turns'), (0, '4 turns')]
    """
    waiting = enumerate(tasks)
    running: deque[tuple[int, Task[Result]]] = deque()
    while True:
        while len(running) < width and (new := next(waiting, None)) is not None:
            running.append(new)
        if not running:
            return
        position, task = running.popleft()
        try:
            next(task)
        except StopIteration as end:
            yield position, end.value
        else:
            running.append((position, task))


@cache
def _pools(with_scipy: bool) -> Any:
    """Return the libraries of linear algebra that are loaded; scipy brings one of its own."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def single_thread() -> AbstractContextManager[Any]:
    """Keep linear algebra to one thread: from now on, or as long as the ``with`` block lasts.

    Workers share cores, threads that wait for one another waste them, and sums split over threads round otherwise.
    """
    return _pools("scipy.linalg" in sys.modules).limit(limits=1)
