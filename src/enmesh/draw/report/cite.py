"""The works that a methods paragraph cites: complete, in order, as text and as BibTeX."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from enmesh.draw.subject import Network
from enmesh.errors import InputError
from enmesh.methods import Method
from enmesh.options import known_options, restore

IN_TEXT = re.compile(r"([A-Z][\w'-]+)(?: et al\.|(?:, [A-Z][\w'-]+)* and [A-Z][\w'-]+)? \(?([12]\d{3})\b")
WORK = re.compile(r"(?P<author>.+?) \((?P<year>\d{4})\)\. (?P<title>.+?[.?!]) (?P<rest>.+)", re.S)
SOURCE = re.compile(r"(?P<journal>[^\d]+?),? (?P<volume>\d+)(?:\((?P<number>\d+)\))?, (?P<pages>[\w–-]+)\.?$")


def citations(paragraph: str) -> list[tuple[str, str]]:
    """Return first author and year of every work that a text cites, in order.

    >>> citations("with KSG (Kraskov et al. 2004; Frenzel and Pompe 2007) and Cao (1997)")
    [('Kraskov', '2004'), ('Frenzel', '2007'), ('Cao', '1997')]
    """
    return list(dict.fromkeys(IN_TEXT.findall(paragraph)))


def works(network: Network, paragraph: str) -> tuple[str, ...]:
    """Return the works that the methods paragraph of a network cites, the method's own first."""
    used = [*filter(None, map(described_method, described(network.options))), *criteria(network)]
    named = [work for method in used for work in method.references]
    own, usual = _listed()[:2], _listed()[2:]
    asked = citations(paragraph)
    further = [work for work in usual if any(is_of(work, *one) for one in asked)]
    known = [*own, *named]
    return tuple(dict.fromkeys([*known, *(work for work in further if _key(work) not in map(_key, known))]))


@cache
def _listed() -> list[str]:
    """Return the method's own two works, and those that sentences cite in passing; method classes name theirs."""
    from enmesh.draw.report.more import asset  # loads what draws, which the command line does not need

    return asset("works.txt").splitlines()


def is_of(work: str, author: str, year: str) -> bool:
    """Return whether a work is by this first author and of this year."""
    return work.startswith(f"{author},") and f"({year})" in work


def bibtex(listed: Sequence[str]) -> str:
    """Return works as BibTeX.

    >>> print(bibtex(["Cao, L. (1997). Practical Method. Physica D 110, 43."]))
    @article{cao1997,
      author = {Cao, L.},
      title = {{Practical Method}},
      journal = {Physica D},
      volume = {110},
      pages = {43},
      year = {1997},
    }
    """
    taken: dict[str, int] = {}
    entries = []
    for work in listed:
        key = _key(work)
        taken[key] = taken.get(key, 0) + 1
        entries.append(_entry(work, key + "abcdefgh"[taken[key] - 1] * (taken[key] > 1)))
    return "\n\n".join(entries)


def _key(work: str) -> str:
    found = WORK.match(work)
    if not found:
        return "work"
    return re.sub(r"\W", "", found["author"].split(",")[0].lower()) + found["year"]


def _entry(work: str, key: str) -> str:
    """Return one entry; what is no article in a journal keeps its source as a note."""
    found = WORK.match(work)
    if not found:
        return f"@misc{{{key},\n  note = {{{work}}},\n}}"
    source = SOURCE.match(found["rest"])
    authors = re.sub(r"(\.),? and |(\.), (?=[A-ZÀ-Þ])", r". and ", found["author"])
    fields = {"author": authors, "title": f"{{{found['title'].rstrip('.')}}}"}
    if source:
        fields |= {name: value for name, value in source.groupdict().items() if value}
    else:
        fields["note"] = found["rest"].rstrip(".")
    fields["year"] = found["year"]
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return f"@{'article' if source else 'misc'}{{{key},\n{lines}}}"


def described(options: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every option in plain data, outer ones first."""
    if isinstance(options, Mapping):
        if "type" in options:
            yield options
        for part in options.values():
            yield from described(part)
    elif isinstance(options, (list, tuple)):
        for part in options:
            yield from described(part)


def described_method(options: Any) -> Method | None:
    """Return the method that plain data describe; None for what is no method, or not known here."""
    try:
        found = restore(options)
    except (InputError, TypeError):
        return None
    return found if isinstance(found, Method) else None


def criteria(network: Network) -> list[Method]:
    """Return the methods that chose dimensions and delays."""
    used = {table.get("method") for table in network.criteria.values() if isinstance(table, Mapping)}
    return [cls() for cls in known_options() if cls.__name__ in used and issubclass(cls, Method)]
