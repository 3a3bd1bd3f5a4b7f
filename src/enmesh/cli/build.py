"""From the words of a command line to values.

Every function takes what was given as a mapping of parameter names to values, where None means not given, and refuses
an option that would have no effect. Names are mapped to classes by `enmesh.methods`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from enmesh.cli.arguments import flag_of
from enmesh.data.series import Series
from enmesh.embedding import Embedding
from enmesh.embedding.base import EmbeddingMethod
from enmesh.errors import InputError
from enmesh.estimators import Estimator
from enmesh.inference.evidence import Evidence
from enmesh.inference.wanted import Choices, Scores, wanted_of
from enmesh.methods import Method, from_name, members
from enmesh.scores import Score
from enmesh.search.base import Search
from enmesh.surrogates import Surrogate

Given = Mapping[str, Any]


def series(given: Given) -> Series:
    """Read the recording."""
    from enmesh.data.readers import read
    from enmesh.data.rules import Reading

    paths = given["data"] if isinstance(given["data"], (list, tuple)) else [given["data"]]
    said: dict[str, Any] = {
        word: given[word] for word in Reading.__annotations__ if given.get(word) not in (None, [])
    }
    said |= {name: names(said[name]) for name in ("columns", "states", "na", "time") if name in said}
    if "time" in said:
        said["time"] = [False if word == "none" else word for word in said["time"]]
    if "trials" in said:
        said["trials"] = said["trials"] != "none" and names([said["trials"]])
    return _prepared(read(list(paths), dt=given.get("dt"), **said), given)


def _prepared(recording: Series, given: Given) -> Series:
    """Change the recording as the options of preparing say, in a fixed order."""
    if given.get("mask"):
        recording = recording.mask(_masked(given["mask"], sum(recording.lengths)))
    if given.get("detrend"):
        recording = recording.detrend()
    if given.get("season") is not None:
        recording = recording.deseason(period=given["season"])
    if given.get("difference"):
        recording = recording.difference()
    if given.get("standardise"):
        recording = recording.standardise()
    return recording.discretise(given["bins"]) if given.get("bins") is not None else recording


def _masked(windows: Sequence[str], samples: int) -> list[int]:
    """Read windows of samples, ``101:150``, counted from 1, both ends included."""
    rows: list[int] = []
    for window in windows:
        ends = window.split(":")
        if len(ends) != 2 or not all(end.strip().isdigit() for end in ends):
            raise InputError(f"--mask {window} is not a window of samples; give FROM:TO, such as 101:150")
        first, last = int(ends[0]), int(ends[1])
        if not 1 <= first <= last <= samples:
            raise InputError(
                f"--mask {window} is not in the recording of {samples} samples; count from 1, FROM first"
            )
        rows += range(first - 1, last)
    return rows


def tiers(word: str | None) -> list[list[str]] | None:
    """Read ``a | b c`` as groups of nodes, earlier ones first."""
    if word is None:
        return None
    return [part.replace(",", " ").split() for part in word.split("|")]


def names(words: Iterable[str] | None) -> list[str]:
    """Return the names in words that may hold several with commas."""
    return [name.strip() for word in words or () for name in word.split(",") if name.strip()]


def estimator(given: Given) -> Estimator | None:
    """Return the estimator that is named or meant by its options; None leaves the choice to the data."""
    name, known = given.get("estimator"), members(Estimator)
    wanted = present(given, _fields(known))
    if name is None:
        if not wanted:
            return None
        first = {
            "ksg": known["ksg"]
        } | known  # where none is named, the first that takes all that are given is meant
        name = next((one for one, cls in first.items() if set(wanted) <= set(cls.cli_options)), "ksg")
    refuse_idle(wanted, known[name].cli_options, f"the estimator {name}")
    return from_name(Estimator, name, **wanted)


def embedding(given: Given) -> Embedding | None:
    """Return the embedding that is given; None leaves the choice to the data."""
    wanted = present(given, ("dim", "delay", "lag"))
    return Embedding(**{field: _per_node(field, word) for field, word in wanted.items()}) if wanted else None


def _per_node(field: str, word: str) -> int | dict[str, int]:
    """Read ``3`` or ``a=3,b=2``."""
    try:
        if "=" not in word:
            return int(word)
        pairs = [part.split("=") for part in word.split(",")]
        return {name.strip(): int(number) for name, number in pairs}
    except ValueError:
        raise InputError(
            f"--{field} {word} cannot be read; give a number, or one per node as in a=3,b=2"
        ) from None


def surrogate(given: Given) -> Surrogate | None:
    """Return the kind of surrogate that is named."""
    name = given.get("surrogate")
    return from_name(Surrogate, name) if name is not None else None


def asked(given: Given) -> dict[str, Any]:
    """Return what was given of score, estimator, pasts and tests, as `infer` takes it; None leaves it to the data."""
    alpha, name = given.get("alpha"), given.get("score")
    if alpha is not None and 0 < alpha < 0.5:
        raise InputError(
            f"--alpha {alpha:g} is a confidence level; for a {alpha:.2g} test write --alpha {1 - alpha:g}"
        )
    if name is not None:
        cls = next(
            c for word, c in members(Score).items() if name in (getattr(c, "cli_variants", ()) or (word,))
        )
        refuse_idle(present(given, _fields(members(Score)) - {"seed"}), cls.cli_options, f"the score {name}")
        if embedding(given) is not None and "embedding" not in cls.__dataclass_fields__:  # type: ignore[attr-defined]
            raise InputError(
                f"--dim, --delay and --lag have no effect on the score {name}, which takes single samples"
            )
        further = present(given, _fields(members(Score)) - {"seed", "alpha", "surrogate", "n_surrogates"})
        if further:  # fields that only this score has: it is made here, with all that was given
            how = {"estimator": estimator(given), "embedding": embedding(given), "alpha": alpha}
            fields = {key: value for key, value in how.items() if value is not None} | further
            return {
                "score": from_name(Score, name, **fields),
                "max_lag": given.get("max_lag"),
                "estimator": None,
            }
    return {
        "score": name,
        "estimator": estimator(given),
        "embedding": embedding(given),
        "alpha": alpha,
        "surrogate": surrogate(given),
        "n_surrogates": given.get("n_surrogates"),
        "max_lag": given.get("max_lag"),
    }


def search(given: Given) -> Search | None:
    """Return the search that is named; None leaves the choice to `infer`."""
    name = given.get("search")
    if name == "independent" and not given.get("allow_cycles"):
        raise InputError(
            "--search independent takes each node alone, which allows cycles; add --allow-cycles"
        )
    return from_name(Search, name) if name is not None else None


def edges(option: str, words: Iterable[str] | None) -> list[tuple[str, str]]:
    """Read ``a:b`` as the edge from a to b."""
    found = []
    for word in words or ():
        ends = [end.strip() for end in word.split(":")]
        if len(ends) != 2 or not all(ends):
            raise InputError(f"--{option} {word} is not an edge; write SOURCE:TARGET, as in a:b")
        found.append((ends[0], ends[1]))
    return found


def link_lags(word: str) -> int | dict[tuple[str, str], int]:
    """Read ``3`` or ``a:b=3,b:c=2``."""
    try:
        if "=" not in word:
            return int(word)
        pairs = [part.rsplit("=", 1) for part in word.split(",")]
        numbers = [int(number) for _, number in pairs]
    except ValueError:
        raise InputError(
            f"--lags {word} cannot be read; give a number, or one per link as in a:b=3,b:c=2"
        ) from None
    return dict(zip(edges("lags", [link for link, _ in pairs]), numbers))


def method(given: Given, data: Series) -> EmbeddingMethod:
    """Return the method that chooses an embedding: the named one, or that of `infer`."""
    from enmesh.embedding.choose import embedding_method

    name, known = given.get("method"), members(EmbeddingMethod)
    wanted = present(given, _fields(known))
    estimate = estimator(given)
    if name is None:
        usual = embedding_method(estimate or default_estimator(data))
        refuse_idle(wanted, usual.cli_options, f"the method {usual.cli_name}")
        return replace(usual, **wanted)  # type: ignore[type-var]
    refuse_idle(wanted, known[name].cli_options, f"the method {name}")
    if "estimator" in known[name].__dataclass_fields__:  # type: ignore[attr-defined]
        wanted["estimator"] = estimate or default_estimator(data)
    elif estimate is not None:
        raise InputError(f"--estimator has no effect on --method {name}; it goes with storage and nonuniform")
    return from_name(EmbeddingMethod, name, **wanted)


def default_estimator(data: Series) -> Estimator:
    """Return the estimator that one method for all nodes has by default."""
    return Scores(data, wanted_of(None, None), Choices(), Evidence(data)).estimator()


def present(given: Given, options: Iterable[str]) -> dict[str, Any]:
    """Return those of the options that were given."""
    return {name: given[name] for name in options if given.get(name) is not None}


def _fields(known: Mapping[str, type[Method]]) -> set[str]:
    return {field for cls in known.values() for field in cls.cli_options}


def refuse_idle(wanted: Iterable[str], taken: Iterable[str], what: str) -> None:
    """Refuse options that would have no effect."""
    idle = sorted(flag_of(name) for name in wanted if name not in taken)
    if idle:
        raise InputError(f"{', '.join(idle)} has no effect on {what}; leave it out")
