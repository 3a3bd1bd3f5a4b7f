"""The works that a methods paragraph cites: complete, in order, as text and as BibTeX."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from enmesh.draw.subject import Network
from enmesh.errors import InputError
from enmesh.methods import Method
from enmesh.options import known_options, restore

CLIFF = (
    "Cliff, O. M., Prokopenko, M. and Fitch, R. (2016). Inferring Coupling of Distributed Dynamical Systems "
    "via Transfer Entropy. Preprint; extended in Entropy 20(2), 51 (2018), doi:10.3390/e20020051."
)
SCHREIBER = "Schreiber, T. (2000). Measuring Information Transfer. Physical Review Letters 85, 461."
BENJAMINI = (
    "Benjamini, Y. and Hochberg, Y. (1995). Controlling the False Discovery Rate: a Practical and Powerful "
    "Approach to Multiple Testing. Journal of the Royal Statistical Society B 57, 289."
)
SHAH = (
    "Shah, R. D. and Samworth, R. J. (2013). Variable selection with error control: another look at stability "
    "selection. Journal of the Royal Statistical Society B 75, 55."
)
# Works that sentences on methods cite in passing; those that a method class names itself are not here.
CITED = (
    "White, H. (1980). A Heteroskedasticity-Consistent Covariance Matrix Estimator and a Direct Test for "
    "Heteroskedasticity. Econometrica 48, 817.",
    "Ince, R. A. A., Giordano, B. L., Kayser, C., Rousselet, G. A., Gross, J. and Schyns, P. G. (2017). A Statistical "
    "Framework for Neuroimaging Data Analysis Based on Mutual Information Estimated via a Gaussian Copula. Human Brain "
    "Mapping 38, 1541.",
    "Rahimi, A. and Recht, B. (2007). Random Features for Large-Scale Kernel Machines. Advances in Neural Information "
    "Processing Systems 20, 1177.",
    "Miller, G. A. (1955). Note on the Bias of Information Estimates. Information Theory in Psychology, 95.",
    "Grassberger, P. (2003). Entropy Estimates from Insufficient Samplings. arXiv:physics/0307138.",
    "Barnett, L., Barrett, A. B. and Seth, A. K. (2009). Granger Causality and Transfer Entropy Are Equivalent for "
    "Gaussian Variables. Physical Review Letters 103, 238701.",
    "Kraskov, A., Stögbauer, H. and Grassberger, P. (2004). Estimating Mutual Information. Physical Review E 69, "
    "066138.",
    "Frenzel, S. and Pompe, B. (2007). Partial Mutual Information for Coupling Analysis of Multivariate Time Series. "
    "Physical Review Letters 99, 204101.",
)
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
    usual = [BENJAMINI, SHAH, *CITED]
    asked = citations(paragraph)
    further = [work for work in usual if any(is_of(work, *one) for one in asked)]
    known = [CLIFF, SCHREIBER, *named]
    return tuple(dict.fromkeys([*known, *(work for work in further if _key(work) not in map(_key, known))]))


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
    used = {table.get("method") for table in network.criteria.values()}
    return [cls() for cls in known_options() if cls.__name__ in used and issubclass(cls, Method)]
