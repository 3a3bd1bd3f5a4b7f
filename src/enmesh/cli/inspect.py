"""enmesh inspect: what a recording holds, what would be done with it, what that costs, and what to do first."""

import shlex

import enmesh as em
from enmesh.cli import arguments as a
from enmesh.cli import build, show
from enmesh.errors import collected_hazards


@a.with_options(a.FILES, a.JSON, a.LEVEL, a.DEFAULT_TEST, a.ESTIMATOR, a.EMBEDDING, a.score, a.DATA)
def inspect(given: a.Given) -> None:
    """Say what a recording holds, what infer would do, its cost, and what to do first.

    It writes no file and infers no network. The options are those of infer.
    With --json the answer follows inspection.schema.json of the package.

    \b
    Examples
      enmesh inspect recording.csv
      enmesh inspect recording.csv --json
      enmesh inspect recording.csv --detrend --level 0.05
    """
    with collected_hazards(show=False):
        series = build.recording(given)
    asked = build.asked(given) | {"context": build.names(given["context"])}
    asked |= {name: given[name] for name in ("level", "fdr", "seed")}
    words = [word for word in given["typed"][1:] if word != "--json"]
    found = em.inspect(series, command=shlex.join(["enmesh", "infer", *words]), **asked)
    if given["json"]:
        show.as_json(found.to_dict())
        return
    for sentence in found.sentences():
        show.say(sentence)
