"""enmesh te, lags, embed and score: one number, one profile, one table, one graph."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import enmesh as em
from enmesh.cli import arguments as a
from enmesh.cli import build, show
from enmesh.data.graph_input import parents_of
from enmesh.data.sources import refuse_existing
from enmesh.diagnostics import hazards_of_data
from enmesh.embedding.base import SelfPrediction, chosen_embedding
from enmesh.errors import hazard
from enmesh.inference.plan import planned
from enmesh.inference.wanted import Request
from enmesh.measures import link
from enmesh.options import brief

LONGEST = 20  # lags of a profile of which an embedding is given
PICTURE = a.group("Output", out=(Path, "FILE", "Picture of the profile: png, svg or pdf."))


def _planned(words: a.Given, series: em.Series) -> tuple[Any, list[tuple[str, str, str]]]:
    """Say what could mislead in a recording, and return the score that `infer` would have, with its choices."""
    for finding in hazards_of_data(series):
        hazard(finding.message)
    plan, choices = planned(series.in_order(), Request(seed=words["seed"], **build.asked(words)))
    return plan.score, choices


def _for_target(words: a.Given, series: em.Series, target: str) -> tuple[Any, dict[str, str]]:
    """Return what `infer` would test links to a target with, and in words what was chosen for that.

    The default test makes its own circular shifts: surrogates that are asked for test the paper's score.
    """
    default = build.estimator(words) is None and build.embedding(words) is None
    sampled = any(words[name] is not None for name in ("surrogate", "n_surrogates"))
    by = {"score": "tee" if default and sampled else None, "surrogate": None, "n_surrogates": None}
    score, choices = _planned({**words, **by}, series)
    scorer = score.bind(series).of_target(series.index(target))
    default = isinstance(scorer.score, em.LinkTest)
    told = {"estimator": "regression, the default test" if default else brief(scorer.score.estimator)}
    chosen = {what: f"{value} ({reason})" for what, value, reason in choices}
    return scorer, told | {what: chosen[what] for what in ("max_lag", "score", "embedding") if what in chosen}


def _measure(score: Any) -> str:
    """Return the name of what measures a link."""
    return "LinkTest" if isinstance(score, em.LinkTest) else str(score.estimator)


def _print(entries: Mapping[str, str]) -> None:
    for what, said in entries.items():
        print(f"  {what:<10} {said}")


def _listed(lags: Any) -> str:
    return ", ".join(map(str, lags))


def _null(null: Any) -> str:
    return f"{len(null)} surrogates" if len(null) else "known null distribution"


def _title(sources: Any, target: str, given: Any) -> str:
    return f"transfer entropy {_listed(sources)} > {target}" + (f" given {_listed(given)}" if given else "")


@a.with_options(a.FILE, a.LINK, a.JSON, a.ESTIMATOR, a.EMBEDDING, a.surrogate, a.DATA, build.EVENTS)
def te(words: a.Given) -> None:
    """Measure and test one transfer entropy: how much SOURCE helps to predict TARGET.

    Transfer entropy is the information in the past of the source about the
    target, beyond the target's own past. By default lags and test are those of
    enmesh infer, so both commands give a link the same value and p-value. The
    corrected value is the measured value minus its mean without a link.

    \b
    Examples
      enmesh te recording.csv a b
      enmesh te recording.csv a b --given c --estimator ksg --dim 2
      enmesh te recording.csv a,c b --estimator gaussian --dim 3 --delay 2
      enmesh te spikes.csv a b --events --duration 600
    """
    sources, target = build.names([words["source"]]), words["target"]
    given, told = build.names(words["given"]), dict[str, str]()
    how, about, unit = dict[str, Any](), dict[str, Any](), "nats"
    data: Any = build.recording(words)
    if words["events"]:
        how["estimator"] = build.events_estimator(words)
        unit, told, about = how["estimator"].unit, {"events": str(data)}, {"estimator": str(how["estimator"])}
    else:
        starts, end, _ = link(data, sources, target, given)
        scorer, chosen = _for_target(words, data, target)
        if words["n_surrogates"] is None and words["surrogate"] is None:
            how = build.present(build.asked(words), ("estimator", "embedding", "max_lag"))
        else:
            how = {"estimator": scorer.score.estimator, "embedding": scorer.score.embedding or em.Embedding()}
    by = {option: words[option] for option in ("surrogate", "n_surrogates", "seed")}
    test = em.significance(data, sources, target, given=given, **how, **by)
    if not words["events"]:
        lags = {data.names[i]: scorer.lags(i, end) for i in starts}
        if isinstance(scorer.score, em.LinkTest) and len(starts) == 1 and test.lag:
            lags = {data.names[starts[0]]: tuple(sorted({*scorer.acts_at(starts[0], end), test.lag}))}
        told = {"lags": "; ".join(f"{name} {_listed(each)}" for name, each in lags.items())} | chosen
        about = {"estimator": _measure(scorer.score), "lags": lags, "lag": test.lag}
    if words["json"]:
        about |= {"source": sources, "target": target, "given": given, "te": test.value}
        about |= {"p_value": test.p_value, "corrected": test.corrected, "surrogates": len(test.null)}
        show.as_json(about)
        return
    print(_title(sources, target, given))
    for what, value in {"measured": test.value, "corrected": test.corrected}.items():
        bits = f" ({value / math.log(2):.6f} bits)" if unit == "nats" else ""
        _print({what: f"{value:.6f} {unit}{bits}"})
    _print({"p-value": f"{test.p_value:.4g} ({_null(test.null)})", **told})


@a.with_options(a.FILE, a.LINK, PICTURE, a.FORCE, a.JSON, a.ESTIMATOR, a.EMBEDDING, a.surrogate, a.DATA)
def lags(words: a.Given) -> None:
    """Measure transfer entropy at every lag: when does SOURCE act on TARGET?

    By default lags and test are those of enmesh infer, and the p-value is that
    of the link. Low and high are the 5 % and 95 % points of chance at each lag.
    A star marks a value above the 95 % point of the largest value of all lags
    by chance. With --dim or --surrogates the best lag is tested, and each
    surrogate chooses its own best lag too.

    \b
    Examples
      enmesh lags recording.csv a b
      enmesh lags recording.csv a b --max-lag 60 --out lags.png
      enmesh lags recording.csv a b --given c --estimator gaussian --json
    """
    source, target, out = (words[name] for name in ("source", "target", "out"))
    refuse_existing(out, words["force"])
    series, asked = build.recording(words), build.asked(words)
    link(series, source, target, build.names(words["given"]))
    embedded = asked["embedding"] is not None
    scorer, told = _for_target({**words, "max_lag": None} if embedded else words, series, target)
    how = build.present(asked, ("max_lag", "estimator", "n_surrogates", "surrogate"))
    if embedded or how.keys() & {"n_surrogates", "surrogate"}:
        how = {"max_lag": getattr(scorer.score, "max_lag", None) or scorer.transfers.blocks.searched or LONGEST} | how
        how |= {"estimator": scorer.score.estimator, "embedding": scorer.score.embedding or em.Embedding()}
    given = build.names(words["given"])
    profile = em.lag_profile(series, source, target, given=given, seed=words["seed"], **how)
    if out is not None:
        profile.plot(out)
    if words["json"]:
        kept = ("source", "target", "given", "lags", "te", "low", "high", "threshold", "best")
        about = {name: getattr(profile, name) for name in (*kept, "tested", "value", "p_value")}
        about |= {"surrogates": len(profile.null), "estimator": _measure(scorer.score)}
        show.as_json(about | {"file": out})
        return
    rows = [
        [lag, *map(float, row[:3]), " ".join(["*"] * bool(row[3]) + ["best"] * (lag == profile.best)) or "-"]
        for lag, *row in profile.table.itertuples()
    ]
    show.table(["lag", "te", "low", "high", "mark"], rows, f"{_title([source], target, profile.given)}, nats")
    tested = f"lag {_listed(profile.tested)}, {profile.value:.6f} nats; {_null(profile.null)}"
    best = f"{profile.best}, p-value {profile.p_value:.4g} (tested: {tested})"
    _print({"best lag": best, "threshold": f"{profile.threshold:.4g}"})
    _print(told | ({"picture": str(out)} if out is not None else {}))


@a.with_options(a.FILE, a.JSON, a.METHOD, a.ESTIMATOR, a.DATA)
def embed(words: a.Given) -> None:
    """Choose embedding dimension (kappa) and delay (tau) of every node.

    Methods: ragwitz (smallest error of predicting the next value), storage
    (largest active information storage), cao (smallest dimension without false
    neighbours), small-tse (smallest description length). Each takes the
    shortest past that is as good as the best.

    \b
    Examples
      enmesh embed recording.csv
      enmesh embed recording.csv --method storage --max-dim 8 --max-delay 1
    """
    series = build.recording(words)
    way = cast(SelfPrediction, build.method(words, series))  # embedding_criteria refuses any other
    tables = em.embedding_criteria(series, way)
    if words["json"]:
        show.as_json({"method": str(way), "nodes": {name: table.to_dict() for name, table in tables.items()}})
        return
    print(f"method: {brief(way)}")
    rows = []
    for name, table in tables.items():
        dim, delay = table.best
        largest = "largest tried" if 1 < table.dims[-1] == dim else "-"
        value = table.values[table.dims.index(dim)][table.delays.index(delay)]
        rows.append([name, dim, delay, value, largest])
    show.table(["node", "kappa", "tau", way.criterion, "note"], rows)
    print(f"as options: {show.embedding(chosen_embedding(tables), series.names)}")


@a.with_options(a.FILE, a.GRAPH, a.JSON, a.ESTIMATOR, a.EMBEDDING, a.score, a.DATA)
def score(words: a.Given) -> None:
    """Score a graph of your own against a recording; higher is better.

    Compare scores of one kind, estimator and embedding only: tea is on the
    scale of 2 N T, tee on that of T.

    \b
    Examples
      enmesh score recording.csv --graph "a>b, b>c" --score tea
      enmesh score recording.csv --graph "a>b>c" --estimator gaussian --score bic --dim 2
    """
    series = build.recording(words)
    parents = parents_of(words["graph"], series.names)
    judge, choices = _planned(words, series)
    found = em.score(series, parents, judge)
    if words["json"]:
        show.as_json({"total": found.total, "local": found.local, "parents": parents, "score": str(judge)})
        return
    rows = [[name, ", ".join(parents[name]) or "none", found.local[name]] for name in series.names]
    show.table(["node", "drivers", "score"], rows)
    print(f"total {found.total:.6g}")
    if isinstance(judge.embedding, em.Embedding):
        print(f"score {brief(judge)}, embedding {show.embedding(judge.embedding, series.names)}")
    for what, value, reason in choices:
        print(f"chosen {what}: {value} ({reason})")
