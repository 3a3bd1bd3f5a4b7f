"""enmesh lags: at which lag a source acts."""

from pathlib import Path
from typing import Annotated, Any

import typer

from enmesh.cli import arguments as a
from enmesh.cli import build, show
from enmesh.cli.measure import chosen, surrogates_asked
from enmesh.lag_profile import LagProfile
from enmesh.options import brief

MaxLag = Annotated[int, typer.Option("--max-lag", metavar="N", help="Largest lag that is measured.")]
Picture = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Picture of the profile: png, svg or pdf.")
]


@a.takes(a.estimator, a.embedding, a.surrogate, a.data, a.preparing)
def lags(
    ctx: typer.Context,
    data: a.File,
    source: Annotated[str, typer.Argument(help="Node that may drive.")],
    target: a.Target,
    max_lag: MaxLag = 20,
    given: a.Given = None,
    out: Picture = None,
    force: a.Force = False,
    json: a.Json = False,
) -> None:
    """Measure transfer entropy at every lag: when does source act on target?

    Low and high are what chance gives at each lag alone, 5 % below and 5 %
    above. A star is over the threshold that the largest of all lags exceeds
    by chance in 5 %. The p-value is that of the best lag: surrogates choose
    their own best lag too.

    \b
    Examples
      enmesh lags recording.csv a b --max-lag 60 --out lags.png
      enmesh lags recording.csv a b --given c --estimator gaussian --json
    """
    from enmesh.data.export import refuse_existing
    from enmesh.lag_profile import lag_profile

    words = a.words(ctx)
    if out is not None:
        refuse_existing(out, force)
    series = build.series(words)
    estimate, embedding, notes = chosen(words, series)
    profile = lag_profile(
        series,
        source,
        target,
        max_lag=max_lag,
        given=build.names(given),
        estimator=estimate,
        embedding=embedding,
        surrogate=build.surrogate(words),
        n_surrogates=surrogates_asked(words, estimate),
        seed=words["seed"],
    )
    if out is not None:
        profile.plot(out)
    if json:
        show.as_json(_plain(profile) | {"estimator": str(estimate), "file": out and str(out)})
        return
    _print(profile)
    print(f"  estimator  {brief(estimate)}{notes['estimator']}")
    print(f"  embedding  {show.embedding(embedding, series.names)}{notes['embedding']}")
    if out is not None:
        print(f"  picture    {out}")


def _plain(profile: LagProfile) -> dict[str, Any]:
    return {
        "source": profile.source,
        "target": profile.target,
        "given": profile.given,
        "lags": profile.lags,
        "te": profile.te,
        "low": profile.low,
        "high": profile.high,
        "threshold": profile.threshold,
        "best": profile.best,
        "p_value": profile.p_value,
        "surrogates": len(profile.null),
    }


def _print(profile: LagProfile) -> None:
    given = f" given {', '.join(profile.given)}" if profile.given else ""
    rows = [
        [lag, *map(float, row[:3]), " ".join(["*"] * bool(row[3]) + ["best"] * (lag == profile.best)) or "-"]
        for lag, *row in profile.table.itertuples()
    ]
    columns = ["lag", "te", "low", "high", "mark"]
    show.table(columns, rows, f"transfer entropy {profile.source} > {profile.target}{given}, nats")
    count = len(profile.null)
    how = f"{count} surrogates" if count else "chi-square, level divided by the lags"
    print(
        f"  best lag   {profile.best}, p-value {profile.p_value:.4g} (of the best of {len(rows)} lags; {how})"
    )
    print(f"  threshold  {profile.threshold:.4g}")
