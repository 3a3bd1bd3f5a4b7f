"""The options of the commands, each declared once; commands say which of them they take.

Names of estimators, scores and so on stand here for completion and help; `build` maps them to classes.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Argument, Option


def _choice(name, *values):
    return StrEnum(name, {value.replace("-", "_"): value for value in values})


EstimatorName = _choice("EstimatorName", "gaussian", "discrete", "kernel", "ksg")
ScoreName = _choice("ScoreName", "te", "tea", "tee", "aic", "bic", "ml", "mit")
SearchName = _choice(
    "SearchName", "exact", "exhaustive", "hill-climb", "tabu", "basin", "rpdag", "independent"
)
SurrogateName = _choice("SurrogateName", "shift", "permute", "bootstrap", "local")
MethodName = _choice("MethodName", "ragwitz", "storage", "cao")
SystemName = _choice(
    "SystemName", "logistic", "tent", "henon", "lorenz", "rossler", "mixed", "var", "boolean", "markov"
)
NormaliseName = _choice("NormaliseName", "zscore", "rank")
MissingName = _choice("MissingName", "raise", "drop")
FormatName = _choice("FormatName", "graphml", "dot")


def _panel(title):
    def option(*names, help, **more):
        return Option(*names, help=help, rich_help_panel=title, show_default=False, **more)

    return option


_data, _estimate, _embed = _panel("Data"), _panel("Estimator"), _panel("Embedding")
_judge, _search, _output = _panel("Score"), _panel("Search"), _panel("Output")

Files = Annotated[
    list[Path],
    Argument(
        metavar="FILE...",
        help="Recording: csv, tsv, txt, xlsx, parquet, npy, npz or mat, also in gz, xz or zip; - is standard "
        "input. Each further file is a trial.",
    ),
]
File = Annotated[
    Path,
    Argument(metavar="FILE", help="Recording: csv, tsv, txt, xlsx, parquet, npy, npz or mat, - for stdin."),
]

Time = Annotated[
    list[str] | None,
    _data(
        "--time",
        metavar="NAME|sort|ignore|none",
        help="Column of times; sort: put rows in order; ignore: take rows as equally spaced. Can be repeated.",
    ),
]
States = Annotated[
    list[str] | None, _data("--states", metavar="A,B,..", help="Columns that hold names of states.")
]
Columns = Annotated[
    list[str] | None, _data("--columns", metavar="A,B,..", help="Nodes to use; all columns by default.")
]
Trial = Annotated[
    str | None, _data("--trial", metavar="NAME", help="Column that says the trial; 'none' if there is none.")
]
Header = Annotated[
    bool | None, _data("--header/--no-header", help="Whether line 1 holds names; seen by default.")
]
Missing = Annotated[
    MissingName | None,
    _data("--missing", help="Refuse missing values (raise), or leave out what touches them."),
]
Variable = Annotated[
    str | None, _data("--variable", metavar="NAME", help="Which array of an npz or mat file.")
]
Dt = Annotated[float | None, _data("--dt", help="Sampling step, in place of the one found.")]

Estimator = Annotated[EstimatorName | None, _estimate("--estimator", help="By default chosen by the data.")]
K = Annotated[int | None, _estimate("--k", help="Neighbours (ksg); 4.")]
Theiler = Annotated[
    int | None,
    _estimate("--theiler", metavar="SAMPLES", help="No neighbours this close in time (ksg, kernel); 0."),
]
Width = Annotated[float | None, _estimate("--width", help="Half-width in standard deviations (kernel); 0.5.")]
Normalise = Annotated[
    NormaliseName | None, _estimate("--normalise", help="Scaling (ksg); rank tames heavy tails.")
]
Device = Annotated[
    str | None, _estimate("--device", metavar="cpu|cuda|auto", help="Where to count (ksg, kernel).")
]

Dim = Annotated[
    str | None,
    _embed("--dim", metavar="N or a=N,b=N", help="Embedding dimension; by default chosen from the data."),
]
Delay = Annotated[
    str | None, _embed("--delay", metavar="N or a=N,b=N", help="Embedding delay; with --dim; 1.")
]
Lag = Annotated[
    str | None, _embed("--lag", metavar="N or a=N,b=N", help="Lag of a node as a source; with --dim; 1.")
]

ScoreOption = Annotated[
    ScoreName | None, _judge("--score", help="By default tea for gaussian and discrete, else tee.")
]
Alpha = Annotated[float | None, _judge("--alpha", help="Confidence level of tea, tee and mit; 0.99.")]
Surrogate = Annotated[SurrogateName | None, _judge("--surrogate", help="How a source is shuffled; shift.")]
Surrogates = Annotated[
    int | None, _judge("--surrogates", metavar="N", help="Number of surrogates per test; 199.")
]
Seed = Annotated[int, _judge("--seed", help="Seed of everything random; 0.")]

MaxParents = Annotated[
    int | None,
    _search("--max-parents", metavar="N", help="Drivers of a node at most; by default by sample size."),
]
Search = Annotated[SearchName | None, _search("--search", help="exact by default, which proves its optimum.")]
AllowCycles = Annotated[
    bool, _search("--allow-cycles", help="Allow feedback: each node gets its best drivers.")
]
Require = Annotated[
    list[str] | None, _search("--require", metavar="A:B", help="A must drive B. Can be repeated.")
]
Forbid = Annotated[
    list[str] | None, _search("--forbid", metavar="A:B", help="A must not drive B. Can be repeated.")
]
Screen = Annotated[
    bool | None,
    _search("--screen/--no-screen", help="Preselect candidates; by default where there are many."),
]
Jobs = Annotated[
    int, _search("--jobs", metavar="N", help="Workers, -1 for all cores; results are the same. 1.")
]
Resume = Annotated[
    bool, _search("--resume", help="Go on from run.db in the folder; without it run.db is kept aside.")
]
Force = Annotated[bool, _output("--force", help="Overwrite files that enmesh did not write.")]

Out = Annotated[
    Path | None, _output("--out", metavar="DIR", help="Folder for the results; by default NAME-results.")
]
Formats = Annotated[list[FormatName] | None, _output("--format", help="A further file. Can be repeated.")]
Json = Annotated[bool, _output("--json", help="Print the result as JSON and nothing else.")]
Quiet = Annotated[bool, _output("--quiet", "-q", help="Print nothing but warnings and errors.")]

GraphOption = Annotated[
    str,
    Option("--graph", metavar='"a>b, b>c"', help="Who drives whom; a name alone is a node without links."),
]
