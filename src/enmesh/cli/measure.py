"""enmesh te, embed and score: one number, one table, one graph."""

import math
from typing import Annotated

import typer

from enmesh.cli import arguments as a
from enmesh.cli import build, show
from enmesh.options import brief

SURROGATES = 199


def te(
    ctx: typer.Context,
    data: a.File,
    source: Annotated[str, typer.Argument(help="Node, or several with commas: their transfer together.")],
    target: Annotated[str, typer.Argument(help="Node that is driven.")],
    given: Annotated[
        list[str] | None, typer.Option("--given", metavar="C,..", help="Nodes to condition on.")
    ] = None,
    json: a.Json = False,
    estimator: a.Estimator = None,
    k: a.K = None,
    theiler: a.Theiler = None,
    width: a.Width = None,
    normalise: a.Normalise = None,
    device: a.Device = None,
    dim: a.Dim = None,
    delay: a.Delay = None,
    lag: a.Lag = None,
    surrogate: a.Surrogate = None,
    surrogates: a.Surrogates = None,
    seed: a.Seed = 0,
    time: a.Time = None,
    columns: a.Columns = None,
    trial: a.Trial = None,
    header: a.Header = None,
    missing: a.Missing = None,
    variable: a.Variable = None,
    dt: a.Dt = None,
    states: a.States = None,
):
    """Measure and test one transfer entropy: how much source tells of target.

    Told is what helps to predict target beyond its own past. Gaussian and
    discrete are tested by their known null distribution unless --surrogates
    is given, the others by 199 surrogates. The corrected value is the
    measured one less what chance gives on average.

    \b
    Examples
      enmesh te recording.csv a b
      enmesh te recording.csv a b --given c --estimator ksg --dim 2
      enmesh te recording.csv a,c b --estimator gaussian --dim 3 --delay 2
    """
    from enmesh.significance import significance

    words = build.words(ctx)
    series = build.series(words)
    estimate, embedding, notes = _chosen(words, series)
    asked = surrogates is not None or surrogate is not None
    count = (SURROGATES if surrogates is None else surrogates) if asked or not estimate.analytic else 0
    sources, conditions = build.names([source]), build.names(given)
    test = significance(
        series,
        sources,
        target,
        given=conditions,
        estimator=estimate,
        embedding=embedding,
        surrogate=build.surrogate(words),
        n_surrogates=count,
        seed=seed,
    )
    if json:
        show.as_json(
            {
                "source": sources,
                "target": target,
                "given": conditions,
                "te": test.value,
                "p_value": test.p_value,
                "corrected": test.corrected,
                "surrogates": count,
                "estimator": str(estimate),
                "embedding": embedding.per_node(series.names),
            }
        )
        return
    how = f"{count} surrogates" if count else "chi-square"
    given_text = f" given {', '.join(conditions)}" if conditions else ""
    print(f"transfer entropy {', '.join(sources)} > {target}{given_text}")
    print(f"  measured   {test.value:.6f} nats ({test.value / math.log(2):.6f} bits)")
    print(f"  corrected  {test.corrected:.6f} nats ({test.corrected / math.log(2):.6f} bits)")
    print(f"  p-value    {test.p_value:.4g} ({how})")
    print(f"  estimator  {brief(estimate)}{notes['estimator']}")
    print(f"  embedding  {show.embedding(embedding, series.names)}{notes['embedding']}")


def _chosen(words, series):
    """Return estimator and embedding, and why, where they were chosen from the data."""
    from enmesh.embedding.choose import choose_embedding, embedding_method
    from enmesh.inference.infer import Choices, default_estimator

    notes, choices = {"estimator": "", "embedding": ""}, Choices()
    estimate, embedding = build.estimator(words), build.embedding(words)
    if estimate is None:
        estimate = default_estimator(series, choices)
        notes["estimator"] = f" (chosen: {choices.made[-1][2]})"
    if embedding is None:
        method = embedding_method(estimate)
        embedding = choose_embedding(series, method)
        notes["embedding"] = f" (chosen by {type(method).__name__})"
    return estimate, embedding, notes


def embed(
    ctx: typer.Context,
    data: a.File,
    method: Annotated[
        a.MethodName | None,
        typer.Option("--method", help="By default that of infer: ragwitz, or storage.", show_default=False),
    ] = None,
    max_dim: Annotated[int | None, typer.Option("--max-dim", help="Largest dimension that is tried.")] = None,
    max_delay: Annotated[int | None, typer.Option("--max-delay", help="Largest delay that is tried.")] = None,
    json: a.Json = False,
    estimator: a.Estimator = None,
    time: a.Time = None,
    columns: a.Columns = None,
    trial: a.Trial = None,
    header: a.Header = None,
    missing: a.Missing = None,
    variable: a.Variable = None,
    dt: a.Dt = None,
    states: a.States = None,
):
    """Choose embedding dimension (kappa) and delay (tau) of every node.

    ragwitz: smallest error of predicting the next value; storage: largest
    active information storage; cao: smallest dimension in which neighbours
    stay neighbours.

    \b
    Examples
      enmesh embed recording.csv
      enmesh embed recording.csv --method storage --max-dim 8 --max-delay 1
    """
    from enmesh.embedding.choose import chosen_embedding, embedding_criteria

    words = build.words(ctx)
    series = build.series(words)
    way = build.method(words, series)
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
    meaning = {"Ragwitz": "error", "ActiveStorage": "storage (nats)", "Cao": "E1"}[type(way).__name__]
    show.table(["node", "kappa", "tau", meaning, "note"], rows)
    print(f"as options: {show.embedding(chosen_embedding(tables), series.names)}")


def score(
    ctx: typer.Context,
    data: a.File,
    graph: a.GraphOption,
    json: a.Json = False,
    estimator: a.Estimator = None,
    k: a.K = None,
    theiler: a.Theiler = None,
    width: a.Width = None,
    normalise: a.Normalise = None,
    device: a.Device = None,
    dim: a.Dim = None,
    delay: a.Delay = None,
    lag: a.Lag = None,
    score: a.ScoreOption = None,
    alpha: a.Alpha = None,
    surrogate: a.Surrogate = None,
    surrogates: a.Surrogates = None,
    seed: a.Seed = 0,
    time: a.Time = None,
    columns: a.Columns = None,
    trial: a.Trial = None,
    header: a.Header = None,
    missing: a.Missing = None,
    variable: a.Variable = None,
    dt: a.Dt = None,
    states: a.States = None,
):
    """Score a graph of your own against a recording; higher is better.

    Compare scores of one kind, estimator and embedding only: tea is on the
    scale of 2 N T, tee on that of T.

    \b
    Examples
      enmesh score recording.csv --graph "a>b, b>c" --score tea
      enmesh score recording.csv --graph "a>b>c" --estimator gaussian --score bic --dim 2
    """
    from enmesh.data.graph_input import parents_of
    from enmesh.inference.infer import Choices
    from enmesh.scores import score_graph

    words, choices = build.words(ctx), Choices()
    series = build.series(words)
    parents = parents_of(graph, series.names)
    judge = build.score(words, series, choices).with_embedding(series)
    found = score_graph(series, parents, judge)
    if json:
        show.as_json({"total": found.total, "local": found.local, "parents": parents, "score": str(judge)})
        return
    show.table(
        ["node", "drivers", "score"],
        [[name, ", ".join(parents[name]) or "none", found.local[name]] for name in series.names],
    )
    print(f"total {found.total:.6g}")
    print(f"score {brief(judge)}, embedding {show.embedding(judge.embedding, series.names)}")
    for what, value, reason in choices.made:
        print(f"chosen {what}: {value} ({reason})")
