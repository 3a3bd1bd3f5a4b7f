"""The same thing many times: in parallel, without the warnings of each, and told as it goes."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

from enmesh.errors import HazardWarning, InputError
from enmesh.inference.progress import reporter
from enmesh.tasks import single_thread


def each(
    function: Callable[..., Any],
    arguments: Sequence[tuple[Any, ...]],
    *,
    n_jobs: int | None = None,
    progress: Any = None,
    what: str = "networks",
    before: int = 0,
) -> Iterator[tuple[int, Any]]:
    """Yield ``(position, function(*arguments[position]))`` as each is finished, in any order.

    Results do not depend on ``n_jobs``. Progress is told after the consumer has taken a result, ``before`` of them
    counted as done already.
    """
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    if n_jobs == 0 or isinstance(n_jobs, bool):
        raise InputError(f"n_jobs={n_jobs!r} is not possible; give a number of workers, or -1 for all cores")
    tell, total = reporter(progress), before + len(arguments)
    calls = (delayed(_quietly)(function, position, given) for position, given in enumerate(arguments))
    tell(before, total, what=what)
    if not arguments:
        return
    streams = get_active_backend()[0].supports_return_generator  # some clusters give all results at the end
    run = Parallel(n_jobs, return_as="generator_unordered" if streams else "list")
    with closing(one for one in run(calls)) as results:
        for done, result in enumerate(results, before + 1):
            yield result
            tell(done, total, what=what)


def in_order(
    function: Callable[..., Any],
    arguments: Sequence[tuple[Any, ...]],
    **how: Any,
) -> list[Any]:
    """Return the results of `each` in the order of the arguments."""
    found = dict(each(function, arguments, **how))
    return [found[position] for position in range(len(arguments))]


def _quietly(function: Callable[..., Any], position: int, given: tuple[Any, ...]) -> tuple[int, Any]:
    """Answer without hazards: those of the whole recording are told once, where it is inferred."""
    with warnings.catch_warnings(), single_thread():
        warnings.simplefilter("ignore", HazardWarning)
        return position, function(*given)
