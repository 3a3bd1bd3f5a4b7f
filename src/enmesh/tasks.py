"""Conversations: questions that pause while their answers are under way, so that one thread can hold several.

A conversation is a generator that yields whenever it waits and returns its answer. A GPU answers one while the next is
put; on a CPU they come one after the other.
"""

from collections import deque
from collections.abc import Generator, Iterable, Iterator
from typing import Any

Conversation = Generator[None, None, Any]


def at_hand(answer: Any) -> Conversation:
    """Return a conversation that need not wait."""
    return answer
    yield  # never reached: makes this a generator


def finish(conversation: Conversation) -> Any:
    """Hold a conversation to its end and return the answer."""
    ((_, answer),) = side_by_side([conversation], 1)
    return answer


def side_by_side(conversations: Iterable[Conversation], width: int) -> Iterator[tuple[int, Any]]:
    """Hold up to ``width`` conversations in turn; yield position and answer of each as it ends.

    >>> def count(n):
    ...     for _ in range(n):
    ...         yield
    ...     return f"{n} turns"
    >>> list(side_by_side(map(count, [4, 1, 1]), 2))
    [(1, '1 turns'), (2, '1 turns'), (0, '4 turns')]
    """
    waiting, held = enumerate(conversations), deque()
    while True:
        while len(held) < width and (new := next(waiting, None)) is not None:
            held.append(new)
        if not held:
            return
        position, conversation = held.popleft()
        try:
            next(conversation)
        except StopIteration as end:
            yield position, end.value
        else:
            held.append((position, conversation))
