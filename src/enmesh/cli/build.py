"""From the words of a command line to values: the only place that maps names to classes.

Every function takes what was given as a mapping of parameter names to values, where None means not given, and
refuses an option that would have no effect.
"""

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import Any

from enmesh.data.series import Series
from enmesh.embedding import Embedding
from enmesh.errors import InputError
from enmesh.estimators import KSG, Discrete, Estimator, Gaussian, Kernel
from enmesh.scores import MIT, TE, TEA, TEE, Criterion, Score
from enmesh.surrogates import Bootstrap, CircularShift, LocalPermute, Permute, Surrogate

Given = Mapping[str, Any]

# The options of each estimator; where none is named, the first that takes all that are given is meant.
ESTIMATORS = {
    "ksg": (KSG, ("k", "theiler", "normalise", "device")),
    "kernel": (Kernel, ("width", "theiler", "device")),
    "gaussian": (Gaussian, ()),
    "discrete": (Discrete, ()),
}
ESTIMATOR_OPTIONS = ("k", "theiler", "width", "normalise", "device")
SURROGATES = {"shift": CircularShift, "permute": Permute, "bootstrap": Bootstrap, "local": LocalPermute}
# Field of a score that each option sets.
SCORE_OPTIONS = {"alpha": "alpha", "surrogate": "surrogate", "surrogates": "n_surrogates"}
SCORES = {
    "te": (TE, ("surrogate", "surrogates")),
    "tea": (TEA, ("alpha",)),
    "tee": (TEE, ("alpha", "surrogate", "surrogates")),
    "aic": (Criterion, ()),
    "bic": (Criterion, ()),
    "ml": (Criterion, ()),
    "mit": (MIT, ("alpha",)),
}
SEEDED = (TE, TEE)
ANALYTIC = (TEA, Criterion, MIT)


def words(ctx) -> dict[str, Any]:
    """Return what was given on the command line as plain values."""
    return {name: _plain(value) for name, value in ctx.params.items()}


def _plain(value):
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Enum) else value


def series(given: Given) -> Series:
    """Read the recording."""
    from enmesh.data.readers import read

    paths = given["data"] if isinstance(given["data"], (list, tuple)) else [given["data"]]
    return read(
        list(paths),
        time=[_or_none(word) for word in names(given.get("time"))] or None,
        trial=_or_none(given.get("trial")),
        columns=names(given.get("columns")) or None,
        header=given.get("header"),
        missing=given.get("missing") or "raise",
        variable=given.get("variable"),
        dt=given.get("dt"),
        states=names(given.get("states")) or None,
    )


def names(words) -> list[str]:
    """Return the names in words that may hold several with commas."""
    return [name.strip() for word in words or () for name in word.split(",") if name.strip()]


def _or_none(word):
    return False if word == "none" else word


def estimator(given: Given) -> Estimator | None:
    """Return the estimator that is named or meant by its options; None leaves the choice to the data."""
    name, wanted = given.get("estimator"), present(given, ESTIMATOR_OPTIONS)
    if name is None:
        if not wanted:
            return None
        name = next((one for one, (_, taken) in ESTIMATORS.items() if set(wanted) <= set(taken)), "ksg")
    cls, taken = ESTIMATORS[name]
    refuse_idle(wanted, taken, f"the estimator {name}")
    return cls(**wanted)


def embedding(given: Given) -> Embedding | None:
    """Return the embedding that is given; None leaves the choice to the data."""
    wanted = present(given, ("dim", "delay", "lag"))
    if wanted and "dim" not in wanted:
        raise InputError(
            f"--{next(iter(wanted))} goes with --dim; without --dim the embedding is chosen from the data"
        )
    return Embedding(**{field: _per_node(field, word) for field, word in wanted.items()}) if wanted else None


def _per_node(field, word):
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
    return SURROGATES[name]() if name is not None else None


def score(given: Given, data: Series, choices) -> Score:
    """Return the score that is named or meant; what is left open is chosen and noted in ``choices``."""
    from enmesh.inference.infer import default_estimator, default_score

    name, wanted = given.get("score"), present(given, SCORE_OPTIONS)
    estimate = estimator(given)
    if name is None and not wanted:
        return replace(default_score(data, given["seed"], choices, estimate), embedding=embedding(given))
    if estimate is None and name == "mit" and data.is_integer:
        estimate = Discrete()
    if estimate is None:
        estimate = default_estimator(data, choices, analytic=name is not None and SCORES[name][0] in ANALYTIC)
    if name is None:
        empirical = not estimate.analytic or "surrogate" in wanted or "surrogates" in wanted
        name = "tee" if empirical else "tea"
        reason = (
            "tested by surrogates"
            if empirical
            else f"{type(estimate).__name__} has a known null distribution"
        )
        choices.add("score", name.upper(), reason)
    cls, taken = SCORES[name]
    refuse_idle(wanted, taken, f"the score {name}")
    fields = {SCORE_OPTIONS[option]: value for option, value in wanted.items()}
    if "surrogate" in fields:
        fields["surrogate"] = surrogate(given)
    if cls in SEEDED:
        fields["seed"] = given["seed"]
    embed = embedding(given)
    if cls is MIT:
        if embed is not None:
            raise InputError(
                "--dim, --delay and --lag have no effect on the score mit, which takes single samples"
            )
        return MIT(estimator=estimate, **fields)
    kind = (name,) if cls is Criterion else ()
    return cls(*kind, estimator=estimate, embedding=embed, **fields)


def search(given: Given):
    """Return the search that is named; None leaves the choice to `infer`."""
    from enmesh.search import RPDAG, BasinFlooding, Exact, Exhaustive, HillClimb, Independent, Tabu

    classes = {"exact": Exact, "exhaustive": Exhaustive, "hill-climb": HillClimb, "tabu": Tabu}
    classes |= {"basin": BasinFlooding, "rpdag": RPDAG, "independent": Independent}
    name = given.get("search")
    if name == "independent" and not given.get("allow_cycles"):
        raise InputError(
            "--search independent takes each node alone, which allows cycles; add --allow-cycles"
        )
    return classes[name]() if name is not None else None


def edges(option: str, words) -> list[tuple[str, str]]:
    """Read ``a:b`` as the edge from a to b."""
    found = []
    for word in words or ():
        ends = [end.strip() for end in word.split(":")]
        if len(ends) != 2 or not all(ends):
            raise InputError(f"--{option} {word} is not an edge; write SOURCE:TARGET, as in a:b")
        found.append((ends[0], ends[1]))
    return found


def method(given: Given, data: Series):
    """Return the method that chooses an embedding: the named one, or that of `infer`."""
    from enmesh.embedding.choose import ActiveStorage, Cao, Ragwitz, embedding_method
    from enmesh.inference.infer import Choices, default_estimator

    name, wanted = given.get("method"), present(given, ("max_dim", "max_delay"))
    estimate = estimator(given)
    if name in ("ragwitz", "cao"):
        if estimate is not None:
            raise InputError(f"--estimator has no effect on --method {name}; it goes with storage")
        return {"ragwitz": Ragwitz, "cao": Cao}[name](**wanted)
    estimate = estimate or default_estimator(data, Choices())
    if name == "storage":
        return ActiveStorage(estimator=estimate, **wanted)
    return replace(embedding_method(estimate), **wanted)


def present(given: Given, options) -> dict:
    """Return those of the options that were given."""
    return {name: given[name] for name in options if given.get(name) is not None}


def refuse_idle(wanted, taken, what: str) -> None:
    """Refuse options that would have no effect."""
    idle = [f"--{name.replace('_', '-')}" for name in wanted if name not in taken]
    if idle:
        raise InputError(f"{', '.join(idle)} has no effect on {what}; leave it out")
