"""Names as a picture shows them: on lines that fit, shortened in the middle, never two of them alike."""

import re
from collections.abc import Iterable, Sequence
from textwrap import TextWrapper

from rich.cells import cell_len

LINE = 20  # characters on a line of a node
LONGEST = 4 * LINE  # characters of a label in a node


class _Wrapper(TextWrapper):
    """Breaks lines at spaces and after signs."""

    wordsep_simple_re = re.compile(r"(\s+)|(?<=[_/.:,;|-])(?=\S)")


def flat(name: str) -> str:
    """Return a name on one line; a dot stands for a blank one."""
    return " ".join(str(name).split()) or "·"


def short(names: Iterable[str], longest: int = LONGEST) -> tuple[str, ...]:
    """Return one label per name, each at most ``longest`` characters, alike only where the names are.

    A longer name keeps its beginning and its end around an ellipsis. Where two names would still look the same
    each gets its number in front.

    >>> short(["temperature north", "temperature south"], 12)
    ('temper…north', 'temper…south')
    >>> short(["x" * 20 + "a" + "x" * 20, "x" * 41], 12)
    ('1: xxxx…xxxx', '2: xxxx…xxxx')
    """
    full = [flat(name) for name in names]
    labels = [_cut(name, longest) for name in full]
    owners: dict[str, set[str]] = {}
    for name, label in zip(full, labels):
        owners.setdefault(label, set()).add(name)
    for at, (name, label) in enumerate(zip(full, labels)):
        if len(owners[label]) > 1:
            number = f"{at + 1}: "
            labels[at] = number + _cut(name, max(longest - len(number), 3))
    return tuple(labels)


def key(names: Iterable[str], labels: Iterable[str]) -> tuple[str, ...]:
    """Return ``label = name`` for each name whose label is shortened: what stands under the picture."""
    return tuple(f"{label} = {flat(name)}" for name, label in zip(names, labels) if label != flat(name))


def wrap(label: str) -> tuple[str, ...]:
    """Return the lines of a label, broken at spaces and signs where it can be; as few lines as `LINE` allows.

    >>> wrap("blood pressure, left arm (mmHg)")
    ('blood pressure, left', 'arm (mmHg)')
    """
    found = [tuple(_Wrapper(LINE + more, break_on_hyphens=False).wrap(label)) for more in range(5)]
    return min(found, key=len)


def box(lines: Sequence[str]) -> tuple[float, float]:
    """Return the width and height of a node around its lines, in units of the height of one line's node."""
    widest = max(map(cell_len, lines))  # wide (East Asian) characters count two, marks none
    return max(1.6, 0.75 + 0.34 * widest), 0.38 + 0.62 * len(lines)


def _cut(name: str, longest: int) -> str:
    if len(name) <= longest:
        return name
    tail = (longest - 1) // 2
    return f"{name[: longest - 1 - tail].rstrip()}…{name[len(name) - tail :].lstrip()}"
