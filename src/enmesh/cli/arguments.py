"""The options of the commands, in groups that are declared once; `takes` gives a command the groups it needs.

Options of estimators, scores and embedding methods follow from their classes (`enmesh.methods`): their names are the
choices, the fields they open to the command line are options, and the help texts are those of their docstrings.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import wraps
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Any

import typer
from typer import Argument, Option

from enmesh.cli.help import HelpAll
from enmesh.methods import Method, help_of, members

Group = Mapping[str, tuple[Any, Any]]
"""Parameter name -> (annotation, default)."""


def takes(*groups: Callable[[], Group]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say which groups of options a command takes; it finds their values in ``ctx.params``."""

    def note(command: Callable[..., Any]) -> Callable[..., Any]:
        command.__dict__["groups"] = groups
        return command

    return note


def widened(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command with the options of its groups, as they are when this is called."""
    own = inspect.signature(command)

    @wraps(command)
    def wide(**given: Any) -> Any:
        return command(**{name: given[name] for name in own.parameters})

    options = {name: option for group in getattr(command, "groups", ()) for name, option in group().items()}
    keyword = inspect.Parameter.KEYWORD_ONLY
    added = [
        inspect.Parameter(name, keyword, default=default, annotation=annotation)
        for name, (annotation, default) in options.items()
        if name not in own.parameters
    ]
    added.append(inspect.Parameter("help_all", keyword, default=False, annotation=HelpAll))
    first = [part.replace(kind=keyword) for part in own.parameters.values()]
    wide.__dict__["__signature__"] = inspect.Signature([*first, *added])
    wide.__annotations__ = {part.name: part.annotation for part in (*first, *added)}
    return wide


def choice(name: str, values: Iterable[str]) -> Any:
    """Return an enumeration of words that completion and help can list."""
    return StrEnum(name, {value.replace("-", "_"): value for value in values})


def several(kind: Any) -> Any:
    """Return the type of a list of a kind that is known only when the program runs, such as a `choice`."""
    return GenericAlias(list, (kind,))


def _panel(title: str) -> Callable[..., Any]:
    def option(*names: str, help: str, **more: Any) -> Any:
        return Option(*names, help=help, rich_help_panel=title, show_default=False, **more)

    return option


_data, _embed, _search, _output = map(_panel, ("Data", "Embedding", "Search", "Output"))

FORMATS = (
    "csv, tsv, txt, xlsx, parquet, npy, npz, mat, edf or what MNE reads, also in gz, xz or zip; - is stdin"
)
Files = Annotated[
    list[Path], Argument(metavar="FILE...", help=f"Recording: {FORMATS}. Each further file is a trial.")
]
File = Annotated[Path, Argument(metavar="FILE", help=f"Recording: {FORMATS}.")]
Json = Annotated[bool, _output("--json", help="Print the result as JSON and nothing else.")]
Quiet = Annotated[bool, _output("--quiet", "-q", help="Print nothing but warnings and errors.")]
Force = Annotated[bool, _output("--force", help="Overwrite a file that is there already.")]
Graph = Annotated[
    str,
    Option(
        "--graph",
        metavar='"a>b, b>c"',
        help="The graph: a>b means that a drives b; a name alone is a node without links.",
    ),
]
Given = Annotated[list[str] | None, Option("--given", metavar="C,..", help="Nodes to condition on.")]
Source = Annotated[
    str, Argument(help="Source node, or several with commas for their collective transfer entropy.")
]
Target = Annotated[str, Argument(help="Target node.")]


def data() -> Group:
    """Return the options of reading a recording: the words of `enmesh.read`."""

    def word(flag: str, metavar: str | None, told: str, kind: Any = str, also: str = "") -> tuple[Any, Any]:
        names = [one for one in (flag, also) if one]
        return Annotated[kind | None, _data(*names, metavar=metavar, help=told)], None

    return {
        "time": word(
            "--time",
            "NAME|sort|ignore|none",
            "Column of times; sort: put rows in order; ignore: rows are evenly spaced. Can be repeated.",
            list[str],
        ),
        "columns": word("--columns", "A,B,..", "Nodes to use; all columns by default.", list[str]),
        "trials": word(
            "--trials", "NAME", "Column that tells the trial; 'none' if there is none.", also="--trial"
        ),
        "rows": word("--rows", "FROM:TO", "Rows to use, counted from 1."),
        "states": word("--states", "A,B,..", "Columns that hold names of states.", list[str]),
        "missing": word(
            "--missing",
            "raise|drop|interpolate:N",
            "Refuse missing values, leave out the samples that need them, or fill gaps of up to N samples first.",
        ),
        "na": word("--na", "WORD,..", "Words or numbers that stand for a missing value.", list[str]),
        "header": word(
            "--header/--no-header", None, "Whether line 1 holds names; by default detected.", bool
        ),
        "units": word("--units/--no-units", None, "Whether line 2 holds units; by default detected.", bool),
        "skip": word("--skip", "N", "Lines to leave out at the top.", int),
        "decimal": word("--decimal", "MARK", "Decimal mark of numbers: . or ,"),
        "thousands": word("--thousands", "MARK", "Mark between thousands: , . or a space."),
        "encoding": word("--encoding", "NAME", "Encoding of text, such as latin-1; UTF-8."),
        "date_format": word("--date-format", "FORMAT", "How times are written, as %d.%m.%Y."),
        "variable": word("--variable", "NAME", "Which array of an npz or mat file."),
        "sheet": word("--sheet", "NAME", "Which sheet of an xlsx file."),
        "pivot": word("--pivot", "TIME,VARIABLE,VALUE", "The three columns of a long table."),
        "transpose": word(
            "--transpose/--no-transpose", None, "Whether rows are nodes and columns are times.", bool
        ),
        "dt": word("--dt", "X", "Sampling step, in place of the one found.", float),
        "sfreq": word("--sfreq", "X", "Samples per unit of time, in place of --dt.", float),
    }


def preparing() -> Group:
    """Return the options that change the recording before it is used."""

    def flag(name: str, told: str) -> tuple[Any, Any]:
        return Annotated[bool, _data(name, help=told)], False

    return {
        "difference": flag("--difference", "Take differences of neighbouring samples: for random walks."),
        "detrend": flag("--detrend", "Subtract each node's straight line over time."),
        "season": (
            Annotated[
                int | None,
                _data("--season", metavar="N", help="Subtract the mean cycle of a period of N samples."),
            ],
            None,
        ),
        "mask": (
            Annotated[
                list[str] | None,
                _data(
                    "--mask",
                    metavar="FROM:TO",
                    help="Leave out the samples from one to another, counted from 1; may be given several times.",
                ),
            ],
            None,
        ),
        "standardise": flag("--standardise", "Scale each trial of each node to mean 0 and variance 1."),
        "bins": (
            Annotated[
                int | None,
                _data(
                    "--bins",
                    metavar="N",
                    help="Turn numbers into N states of equal frequency, for the discrete estimator.",
                ),
            ],
            None,
        ),
    }


def estimator() -> Group:
    """Return ``--estimator`` and the options of all estimators."""
    from enmesh.estimators import Estimator

    return _named(
        "estimator",
        Estimator,
        "Estimator",
        "How transfer entropy is estimated; by default chosen from the data",
    )


def score() -> Group:
    """Return ``--score`` and the options of all scores."""
    from enmesh.scores import Score

    told = "Score of a node and its parents; by default tea for estimators with a known null distribution, else tee"
    seed = Annotated[int, _panel("Score")("--seed", help="Seed of everything random; 0.")]
    return {**_named("score", Score, "Score", told), **_surrogate_name(), "seed": (seed, 0)}


def surrogate() -> Group:
    """Return the options of a test by surrogates."""
    from enmesh.scores import TEE

    count = help_of(TEE)["n_surrogates"]
    return {
        **_surrogate_name(),
        "n_surrogates": (
            Annotated[int | None, _panel("Test")("--surrogates", metavar="N", help=f"{count} Default 199.")],
            None,
        ),
        "seed": (Annotated[int, _panel("Test")("--seed", help="Seed of everything random; 0.")], 0),
    }


def embedding() -> Group:
    """Return the options that give an embedding, or bound the search for lags."""
    pairs = "N or a=N,b=N"
    return {
        "dim": (
            _text(_embed, "--dim", pairs, "Embedding dimension of pasts; by default chosen from the data."),
            None,
        ),
        "delay": (_text(_embed, "--delay", pairs, "Embedding delay; 1."), None),
        "lag": (_text(_embed, "--lag", pairs, "Lag at which a node acts as a source; 1."), None),
    }


def max_lag() -> Group:
    """Return the option that bounds the search for lags."""
    told = "Search the lags of sources from 1 to this; by default chosen from the data. 1: lag 1 alone."
    return {"max_lag": (Annotated[int | None, _embed("--max-lag", metavar="N", help=told)], None)}


def search() -> Group:
    """Return the options of the search for a graph."""
    from enmesh.search.base import Search

    names = choice("SearchName", members(Search))
    told = f"How the best graph is found; exact by default. {_summaries(members(Search))}"
    return {
        "max_parents": (
            Annotated[
                int | None,
                _search(
                    "--max-parents",
                    metavar="N",
                    help="Largest number of parents of a node; by default chosen from the data.",
                ),
            ],
            None,
        ),
        "search": (Annotated[names | None, _search("--search", help=told)], None),
        "allow_cycles": (
            Annotated[
                bool,
                _search("--allow-cycles", help="Allow cycles (feedback): each node gets its best parents."),
            ],
            False,
        ),
        "require": (_edges("--require", "A must drive B. Can be repeated."), None),
        "forbid": (_edges("--forbid", "A must not drive B. Can be repeated."), None),
        "tiers": (
            _text(
                _search,
                "--tiers",
                '"a | b c"',
                "Groups in order: no link from a later one to an earlier one.",
            ),
            None,
        ),
        "screen": (
            Annotated[
                bool | None,
                _search(
                    "--screen/--no-screen",
                    help="Preselect candidate parents by tests; by default where there are too many.",
                ),
            ],
            None,
        ),
        "bootstrap": (
            Annotated[
                int | None,
                _search(
                    "--bootstrap",
                    metavar="N",
                    help="Infer N more networks from halves of the data: how stable is a link.",
                ),
            ],
            None,
        ),
        "jobs": (
            Annotated[
                int,
                _search("--jobs", metavar="N", help="Workers, -1 for all cores; results are the same. 1."),
            ],
            1,
        ),
        "resume": (
            Annotated[
                bool,
                _search(
                    "--resume",
                    help="Continue the run of run.db in the folder; otherwise an old run.db is renamed.",
                ),
            ],
            False,
        ),
    }


def output() -> Group:
    """Return the options of what is written."""
    formats = choice("FormatName", ("graphml", "dot"))
    return {
        "out": (
            Annotated[
                Path | None,
                _output("--out", metavar="DIR", help="Folder for the results; by default NAME-results."),
            ],
            None,
        ),
        "formats": (
            Annotated[several(formats) | None, _output("--format", help="A further file. Can be repeated.")],
            None,
        ),
        "force": (
            Annotated[bool, _output("--force", help="Overwrite files that enmesh did not write.")],
            False,
        ),
    }


def method() -> Group:
    """Return ``--method`` and the options of the methods that choose an embedding."""
    from enmesh.embedding.base import EmbeddingMethod

    return _named("method", EmbeddingMethod, "Method", "How the past is chosen; by default that of infer")


def system_names() -> Any:
    """Return the enumeration of systems that can be simulated."""
    words = ("logistic", "tent", "henon", "lorenz", "rossler", "mixed", "var", "boolean", "markov")
    return choice("SystemName", words)


# --- options that follow from classes -----------------------------------------------------------------------------


def names_of(known: Mapping[str, type[Method]]) -> list[str]:
    """Return the words that name methods; a class with variants is named by these."""
    return [word for name, cls in known.items() for word in (getattr(cls, "cli_variants", ()) or (name,))]


def flag_of(field: str) -> str:
    """Return the option that sets a field: ``n_surrogates`` is ``--surrogates``."""
    return "--" + field.removeprefix("n_").replace("_", "-")


def _named(parameter: str, kind: type[Any], panel: str, told: str) -> Group:
    """Return the option that names a method of a kind, and one for each field that such methods open."""
    known, option = members(kind), _panel(panel)
    names = choice(f"{kind.__name__}Name", names_of(known))
    group: dict[str, tuple[Any, Any]] = {
        parameter: (
            Annotated[names | None, option(f"--{parameter}", help=f"{told}. {_summaries(known)}")],
            None,
        )
    }
    for field in dict.fromkeys(field for cls in known.values() for field in cls.cli_options):
        if field not in ("seed", "surrogate"):
            group[field] = (
                _field(field, {n: c for n, c in known.items() if field in c.cli_options}, option),
                None,
            )
    return group


def _field(field: str, takers: Mapping[str, type[Method]], option: Callable[..., Any]) -> Any:
    """Return the annotation of an option that sets one field of the methods that have it."""
    first = next(iter(takers.values()))
    default = getattr(first(), field)
    kind = type(default) if isinstance(default, (int, float, str)) else str
    told = help_of(first).get(field, "").split(". ")[0].rstrip(".").replace("``", "")
    metavar = {int: "N", float: "X"}.get(kind, "WORD")
    return Annotated[
        kind | None,
        option(flag_of(field), metavar=metavar, help=f"{told} ({', '.join(takers)}); {default}."),
    ]


def _summaries(known: Mapping[str, type[Method]]) -> str:
    said = [f"{'/'.join(names_of({name: cls}))}: {cls.summary}" for name, cls in known.items() if cls.summary]
    return "; ".join(said) + "." if said else ""


def _surrogate_name() -> Group:
    from enmesh.surrogates import Surrogate

    known = members(Surrogate)
    names = choice("SurrogateName", known)
    told = f"How a source is resampled; shift by default. {_summaries(known)}"
    return {"surrogate": (Annotated[names | None, _panel("Score")("--surrogate", help=told)], None)}


def _text(option: Callable[..., Any], flag: str, metavar: str, told: str) -> Any:
    return Annotated[str | None, option(flag, metavar=metavar, help=told)]


def _edges(flag: str, told: str) -> Any:
    return Annotated[list[str] | None, _search(flag, metavar="A:B", help=told)]


def words(ctx: typer.Context) -> dict[str, Any]:
    """Return what was given on the command line as plain values."""
    return {name: _as_text(value) for name, value in ctx.params.items()}


def _as_text(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_as_text(item) for item in value]
    return str(value) if isinstance(value, StrEnum) else value
