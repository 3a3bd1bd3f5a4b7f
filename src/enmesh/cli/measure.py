"""enmesh te, embed and score: one number, one table, one graph."""

import math
from collections.abc import Mapping
from typing import Any, cast

import typer

from enmesh.cli import arguments as a
from enmesh.cli import build, show
from enmesh.cli import events as of_events
from enmesh.data.series import Series
from enmesh.embedding import Embedding
from enmesh.errors import hazard
from enmesh.estimators import Estimator
from enmesh.options import brief
from enmesh.scores import PerTarget
from enmesh.significance import Significance

SURROGATES = 199


@a.takes(a.estimator, a.embedding, a.max_lag, a.surrogate, a.data, a.preparing, of_events.options)
def te(
    ctx: typer.Context,
    data: a.File,
    source: a.Source,
    target: a.Target,
    given: a.Given = None,
    json: a.Json = False,
) -> None:
    """Measure and test one transfer entropy: how much source tells of target.

    It is the part of the source's past that helps to predict the target beyond
    the target's own past. Estimator, lags and test are those of enmesh infer
    where they are not given, so that a link has one value and one p-value. The
    corrected value is the measured one minus its mean under the null.

    \b
    Examples
      enmesh te recording.csv a b
      enmesh te recording.csv a b --given c --estimator ksg --dim 2
      enmesh te recording.csv a,c b --estimator gaussian --dim 3 --delay 2
      enmesh te spikes.csv a b --events --duration 600
    """
    from enmesh.inference.diagnostics import hazards_of_data
    from enmesh.inference.plan import asked, planned
    from enmesh.inference.wanted import wanted_of
    from enmesh.measures import link
    from enmesh.significance import significance

    words = a.words(ctx)
    if words["events"]:
        of_events.te(words, source, target, given, json)
        return
    series = build.series(words)
    for finding in hazards_of_data(series):
        hazard(finding.message)
    sources, conditions = build.names([source]), build.names(given)
    ends = link(series, sources, target, conditions)
    how = build.asked(words | {"score": None, "alpha": None, "n_surrogates": None, "surrogate": None})
    wanted = wanted_of(seed=words["seed"], **how)
    plan, choices = planned(series, wanted)
    score = dict(plan.score.scores)[target] if isinstance(plan.score, PerTarget) else plan.score
    if words["n_surrogates"] is None and words["surrogate"] is None:
        test = asked(series, wanted, *ends)
    else:
        with_surrogates = {"surrogate": build.surrogate(words), "n_surrogates": words["n_surrogates"]}
        chosen_too = {"estimator": score.estimator, "embedding": score.embedding, "seed": words["seed"]}
        test = significance(series, sources, target, given=conditions, **with_surrogates, **chosen_too)
    table = (score.embedding or Embedding()).table(series.names)
    lags = {name: list(table[series.index(name), ends[1]]) for name in sources}
    if json:
        about = {"source": sources, "target": target, "given": conditions, **_numbers(test)}
        show.as_json(about | {"estimator": str(score.estimator), "lags": lags, "lag": test.lag})
        return
    given_text = f" given {', '.join(conditions)}" if conditions else ""
    print(f"transfer entropy {', '.join(sources)} > {target}{given_text}")
    _print_test(test)
    print(f"  lags       {'; '.join(f'{name} {_listed(some)}' for name, some in lags.items())}")
    print(f"  estimator  {brief(score.estimator)}")
    for what, value, reason in choices.entries:
        if what in ("max_lag", "score", "embedding"):
            print(f"  {what:<10} {value} ({reason})")


def _listed(lags: list[int]) -> str:
    return ", ".join(map(str, lags))


def _numbers(test: Significance) -> dict[str, float]:
    return {
        "te": test.value,
        "p_value": test.p_value,
        "corrected": test.corrected,
        "surrogates": len(test.null),
    }


def _print_test(test: Significance) -> None:
    how = f"{len(test.null)} surrogates" if len(test.null) else "known null distribution"
    print(f"  measured   {test.value:.6f} nats ({test.value / math.log(2):.6f} bits)")
    print(f"  corrected  {test.corrected:.6f} nats ({test.corrected / math.log(2):.6f} bits)")
    print(f"  p-value    {test.p_value:.4g} ({how})")


def surrogates_asked(words: Mapping[str, Any], estimate: Estimator) -> int:
    """Return the number of surrogates: as asked, or 199 where the estimator's null distribution is not known."""
    if words["n_surrogates"] is not None:
        return int(words["n_surrogates"])
    return SURROGATES if words["surrogate"] is not None or not estimate.analytic else 0


def chosen(words: Mapping[str, Any], series: Series) -> tuple[Estimator, Embedding, dict[str, str]]:
    """Return estimator and embedding, and why, where they were chosen from the data."""
    from enmesh.embedding.choose import choose_embedding, embedding_method

    notes = {"estimator": "", "embedding": ""}
    estimate, embedding = build.estimator(words), build.embedding(words)
    if estimate is None:
        estimate = build.default_estimator(series)
        notes["estimator"] = " (chosen from the data)"
    if embedding is None:
        method = embedding_method(estimate)
        embedding = choose_embedding(series, method)
        notes["embedding"] = f" (chosen by {type(method).__name__})"
    return estimate, embedding, notes


@a.takes(a.method, a.estimator, a.data)
def embed(ctx: typer.Context, data: a.File, json: a.Json = False) -> None:
    """Choose embedding dimension (kappa) and delay (tau) of every node.

    ragwitz: smallest error of predicting the next value; storage: largest
    active information storage; cao: smallest dimension in which neighbours
    stay neighbours; small-tse: window of smallest description length. Each
    takes the shortest past that is as good as the best.

    \b
    Examples
      enmesh embed recording.csv
      enmesh embed recording.csv --method storage --max-dim 8 --max-delay 1
    """
    from enmesh.embedding.base import SelfPrediction, chosen_embedding
    from enmesh.embedding.choose import embedding_criteria

    words = a.words(ctx)
    series = build.series(words)
    way = cast(SelfPrediction, build.method(words, series))  # embedding_criteria refuses any other
    tables = embedding_criteria(series, way)
    if json:
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


@a.takes(a.estimator, a.embedding, a.max_lag, a.score, a.data, a.preparing)
def score(ctx: typer.Context, data: a.File, graph: a.Graph, json: a.Json = False) -> None:
    """Score a graph of your own against a recording; higher is better.

    Compare scores of one kind, estimator and embedding only: tea is on the
    scale of 2 N T, tee on that of T.

    \b
    Examples
      enmesh score recording.csv --graph "a>b, b>c" --score tea
      enmesh score recording.csv --graph "a>b>c" --estimator gaussian --score bic --dim 2
    """
    from enmesh.data.graph_input import parents_of
    from enmesh.inference.plan import planned
    from enmesh.inference.wanted import wanted_of
    from enmesh.scores import score_graph

    words = a.words(ctx)
    series = build.series(words)
    parents = parents_of(graph, series.names)
    plan, choices = planned(series, wanted_of(seed=words["seed"], **build.asked(words)))
    judge = plan.score
    found = score_graph(series, parents, judge)
    if json:
        show.as_json({"total": found.total, "local": found.local, "parents": parents, "score": str(judge)})
        return
    show.table(
        ["node", "drivers", "score"],
        [[name, ", ".join(parents[name]) or "none", found.local[name]] for name in series.names],
    )
    print(f"total {found.total:.6g}")
    if isinstance(judge.embedding, Embedding):
        print(f"score {brief(judge)}, embedding {show.embedding(judge.embedding, series.names)}")
    for what, value, reason in choices.entries:
        print(f"chosen {what}: {value} ({reason})")
