"""What the JSON of a network must hold: each part that is used later is checked when it is loaded.

Fields that are not listed are left as they are.
"""

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from enmesh.errors import InputError
from enmesh.explain import Explanation
from enmesh.network.json_shape import FLAG, MAYBE, NUMBER, TEXT, WHOLE, check, listed, mapped, parts, row
from enmesh.options import restore

METHOD = parts({"type": TEXT})


def _check_options(value: Any, where: str) -> None:
    if value.get("search") is not None:
        check(METHOD, value["search"], f"{where}.search")
    score = value.get("score")
    if score is None:
        return
    check(METHOD, score, f"{where}.score")
    _check_methods(score, f"{where}.score")
    try:
        restore(score)
    except InputError as error:
        if "unknown option type" not in str(error):  # of a package that is not installed here
            raise ValueError(f"{where}.score: {error}") from None
    except (TypeError, ValueError, AttributeError, KeyError, IndexError, OverflowError) as error:
        raise ValueError(f"{where}.score cannot be read: {error}") from None


def _check_methods(value: Any, where: str) -> None:
    """Refuse a score in which an estimator, an embedding or a surrogate is none."""
    if isinstance(value, list):
        for one in value:
            _check_methods(one, where)
    elif isinstance(value, dict):
        for key, one in value.items():
            if key in ("estimator", "embedding", "surrogate") and one is not None:
                check(METHOD, one, f"{where}.{key}")
            _check_methods(one, f"{where}.{key}")


def _check_criterion(value: Any, where: str) -> None:
    if isinstance(value, list):
        check(listed(listed(MAYBE)), value, where)
    if not isinstance(value, dict) or not {"dims", "delays", "best", "values"} <= set(value):
        return
    shape = {"dims": listed(WHOLE), "delays": listed(WHOLE), "best": row(WHOLE, WHOLE), "values": listed(listed(MAYBE))}
    check(parts(shape, {"method": TEXT}), value, where)
    dims, delays, (dim, delay) = value["dims"], value["delays"], value["best"]
    sizes = {len(one) for one in value["values"]}
    if dim not in dims or delay not in delays or len(value["values"]) != len(dims) or sizes != {len(delays)}:
        raise ValueError(f"{where} has a best value or a table that does not fit its dims and delays")
    if all(number is None for one in value["values"] for number in one):
        raise ValueError(f"{where} has no value")


POINTS = listed(row(MAYBE, MAYBE))
CANDIDATE = parts(
    {"source": TEXT, "target": TEXT, "te": MAYBE, "p_value": MAYBE, "q_value": MAYBE, "lag": NUMBER, "selected": FLAG}
    | {"null": listed(MAYBE)},
    {"lags": listed(NUMBER), "effect": MAYBE, "partner": TEXT, "strongest": MAYBE, "hidden": FLAG},
)
PAIRS = parts(
    dict.fromkeys(("sources", "targets"), listed(WHOLE))
    | dict.fromkeys(("te", "p_value", "q_value", "lag"), listed(MAYBE))
)
EXPLAINED = {one.name for one in fields(Explanation)}
EVIDENCE = parts(
    {"source": TEXT, "target": TEXT},
    dict.fromkeys(("te", "p_value", "q_value", "effect", "effect_error", "stability", "low", "high", "chance"), MAYBE)
    | {name: listed(MAYBE) for name in ("lag_te", "times", "local")}
    | {"null": listed(NUMBER)}
    | {"given": listed(TEXT), "lag": NUMBER, "lags": listed(NUMBER), "scatter": POINTS, "curve": POINTS}
    | {"by_formula": FLAG, "sentence": TEXT},
)
ORIGIN = dict.fromkeys(("enmesh", "python", "numpy", "date", "time", "data", "every", "file", "command"), TEXT)
ORIGIN |= dict.fromkeys(("nodes", "trials", "samples", "events"), WHOLE) | {"lengths": listed(WHOLE)}
ORIGIN |= {"dt": MAYBE, "duration": NUMBER, "shown": row(NUMBER, NUMBER), "prepared": listed(TEXT)}
NETWORK = parts(
    {"names": listed(TEXT), "parents": mapped(listed(TEXT)), "local": mapped(MAYBE), "optimal": FLAG, "bound": MAYBE}
    | {"gap": MAYBE, "removed": listed(row(TEXT, TEXT)), "evaluated": WHOLE, "candidates": listed(CANDIDATE)}
    | {"options": {"type": "object"}, "provenance": parts({}, ORIGIN), "choices": listed(row(TEXT, TEXT, TEXT))}
    | {"warnings": listed(TEXT), "preview": mapped(listed(MAYBE)), "criteria": mapped({"type": ["object", "array"]})},
    {"together": listed(row(TEXT, TEXT, NUMBER, NUMBER, NUMBER)), "stability": mapped(NUMBER)}
    | {"marks": listed(row(TEXT, TEXT, TEXT, TEXT, NUMBER))}
    | {"evidence": mapped(EVIDENCE), "score": MAYBE, "pair_tests": PAIRS},
)


def check_network(data: Mapping[str, Any]) -> None:
    """Refuse, by a ValueError that names the part, what a network cannot be made of."""
    check(NETWORK, data, "the network")
    _check_options(data["options"], "the network.options")
    for name, table in data["criteria"].items():
        _check_criterion(table, f"the network.criteria.{name}")


def check_agreement(data: Mapping[str, Any]) -> None:
    """Refuse parts that do not agree with one another, so that they could not be used."""
    names = set(data["names"])
    for where in ("preview", "criteria"):
        if odd := sorted(set(data[where]) - names):
            raise ValueError(f"{where} has {odd[0]}, which is not among its names")
    pairs = data.get("pair_tests")
    if pairs is not None:
        if len({len(column) for column in pairs.values()}) > 1:
            raise ValueError("pair_tests has columns of different lengths")
        if any(not 0 <= one < len(data["names"]) for one in (*pairs["sources"], *pairs["targets"])):
            raise ValueError("pair_tests has a node that is not among its names")
    for part in ("together", "marks"):
        for pair in data.get(part, ()):
            if not set(pair[:2]) <= names:
                raise ValueError(f"{part} has a node that is not among its names")
    for ends, about in data.get("evidence", {}).items():
        if not {about["source"], about["target"]} <= names or ends != f"{about['source']}>{about['target']}":
            raise ValueError(f"evidence of {ends} has a node that is not among its names")
        if odd := sorted(set(about) - EXPLAINED):
            raise ValueError(f"evidence of {ends} has {odd[0]!r}, which is no part of an explanation")
        if len(about.get("lags", ())) != len(about.get("lag_te", ())):
            raise ValueError(f"evidence of {ends} has lags without values")
        if len(about.get("times", ())) != len(about.get("local", ())):
            raise ValueError(f"evidence of {ends} has times without values")
        if about.get("by_formula") and not about.get("null"):
            raise ValueError(f"evidence of {ends} has no null values")
    if data["evaluated"] < 0 or any(not math.isfinite(share) for share in data.get("stability", {}).values()):
        raise ValueError("a number is out of range")
