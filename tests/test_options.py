"""Options: whole numbers are checked in one place; methods know their own names and words."""

import numpy as np
import pytest

from enmesh.errors import InputError
from enmesh.methods import from_name, members
from enmesh.options import describe, option, whole, whole_fields
from enmesh.search import Search
from enmesh.surrogates import Surrogate

SEARCHES = {
    "exact": "an exact search",
    "exhaustive": "enumeration of all networks",
    "hill-climb": "greedy hill climbing with restarts",
    "tabu": "tabu search",
    "basin": "basin flooding",
    "rpdag": "a search over restricted partially directed graphs",
    "independent": "choosing each node's parents on their own",
}
SURROGATES = {
    "shift": "circular shifts of the source",
    "permute": "permutations of the source's embedded samples",
    "bootstrap": "bootstrap samples of the source",
    "local": "local permutations of the source among near conditions",
}


@option
class Counted:
    count: int = 1


@pytest.mark.parametrize("value", [0, -3, 1.0, "2", None, True, np.float64(2), np.array([1, 2]), 2.5])
def test_whole_refuses_what_is_no_whole_number_and_says_what_is(value):
    with pytest.raises(InputError, match=r"k=.* is not possible; give a whole number of at least 1"):
        whole("k", value, 1)


@pytest.mark.parametrize("value", [1, 7, np.int64(7), np.uint8(1)])
def test_whole_returns_an_int(value):
    assert whole("k", value, 1) == value
    assert type(whole("k", value, 1)) is int


def test_whole_fields_become_ints_that_json_can_hold():
    counted = Counted(count=np.int32(5))
    whole_fields(counted, count=2)
    assert type(describe(counted)["count"]) is int
    with pytest.raises(InputError, match="count=5"):
        whole_fields(counted, count=6)


@pytest.mark.parametrize(("kind", "words"), [(Search, SEARCHES), (Surrogate, SURROGATES)])
def test_methods_are_found_by_name_and_say_what_they_do(kind, words):
    own = {name: cls for name, cls in members(kind).items() if cls.__module__.startswith("enmesh.")}
    assert {name: cls().sentence() for name, cls in own.items()} == words
    assert all(cls.summary for cls in own.values())
    assert type(from_name(kind, next(iter(words)))) is own[next(iter(words))]


@pytest.mark.parametrize("kind", [Search, Surrogate])
def test_a_kind_is_abstract(kind):
    with pytest.raises(TypeError, match="abstract"):
        kind()
