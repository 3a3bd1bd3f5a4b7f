"""The options of the commands, in groups that are declared once; `with_options` gives a command the groups it needs.

One rule makes an option: parameter ``max_lag`` is ``--max-lag``, ``n_jobs`` is ``--jobs``; what is not given is None.
Options of estimators, scores and embedding methods follow from their classes (`enmesh.methods`): their names are the
choices, the fields they open to the command line are options, and help texts are those of their docstrings.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import partial
from inspect import Parameter, Signature
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer import Argument, Option

from enmesh.cli.help import HelpAll
from enmesh.embedding.base import EmbeddingMethod
from enmesh.estimators import Estimator
from enmesh.methods import Method, by_name, help_of, members
from enmesh.scores import TEE, Score
from enmesh.search.base import Search
from enmesh.surrogates import Surrogate

Given = Mapping[str, Any]
"""What was given on the command line: parameter name -> plain value."""
Command = Callable[[Given], None]
Group = Mapping[str, tuple[Any, Any]]
"""Parameter name -> (annotation, default)."""
LONGEST = 25  # letters of choices that help lists


def with_options(*groups: Group | Callable[[], Group]) -> Callable[[Command], Command]:
    """Say which groups of options a command takes; one that depends on the methods that are known is a function."""

    def note(command: Command) -> Command:
        command.__dict__["groups"] = groups
        return command

    return note


def options_of(command: Command) -> Group:
    """Return the options of a command with those of all methods that are known now."""
    options: dict[str, tuple[Any, Any]] = {}
    for one in command.__dict__["groups"]:
        options |= one() if callable(one) else one
    return options


def widened(command: Command) -> Callable[..., None]:
    """Return a command with the options of its groups, as they are when this is called."""

    def call(ctx: typer.Context, **given: Any) -> None:
        command({name: _plain(value) for name, value in given.items()} | {"typed": ctx.find_root().obj or ()})

    options: dict[str, tuple[Any, Any]] = {"ctx": (typer.Context, Parameter.empty), **options_of(command)}
    options["help_all"] = HelpAll, False
    made = partial(Parameter, kind=Parameter.KEYWORD_ONLY)
    parameters = [made(name, default=usual, annotation=of) for name, (of, usual) in options.items()]
    call.__dict__["__signature__"] = Signature(parameters)
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    call.__name__, call.__doc__ = command.__name__, command.__doc__
    return call


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, StrEnum) else value


def choice(name: str, values: Iterable[str], several: bool = False) -> Any:
    """Return an enumeration of words that completion and help can list, or the type of a list of them."""
    named = [(value.replace("-", "_"), value) for value in values]
    words: Any = StrEnum(name, named)  # type: ignore[misc]
    return GenericAlias(list, (words,)) if several else words


def flag_of(field: str) -> str:
    """Return the option that sets a parameter: ``n_surrogates`` is ``--surrogates``."""
    return "--" + field.removeprefix("n_").replace("_", "-")


def group(panel: str, **rows: tuple[Any, ...]) -> Group:
    """Return options from rows ``parameter: (type, metavar, help)``, and a default or flags where they are unusual.

    Without a metavar the choices are listed, where they fit. A ``bool`` is a switch, ``bool | None`` one that can also
    be turned off; all else is None where it is not given.
    """
    made: dict[str, tuple[Any, Any]] = {}
    for name, (kind, metavar, told, *more) in rows.items():
        default = next((one for one in more if not isinstance(one, str)), False if kind is bool else None)
        flags = next((one for one in more if isinstance(one, str)), flag_of(name))
        if kind == bool | None:
            flags = f"{flags}/--no-{flags[2:]}"
        if metavar is None and kind not in (bool, bool | None):
            listed = "|".join((get_args(kind) or (kind,))[0])
            metavar = listed if len(listed) < LONGEST else "NAME"
        of = kind if default is not None else kind | None
        option = Option(*flags.split(), metavar=metavar, help=told, rich_help_panel=panel, show_default=False)
        made[name] = Annotated[of, option], default
    return made


def argument(name: str, kind: Any, told: str, metavar: str | None = None, **more: Any) -> Group:
    """Return a word that is given by its place; one that may be left out has the type ``... | None``."""
    default = None if kind == kind | None else Parameter.empty
    return {name: (Annotated[kind, Argument(metavar=metavar, help=told, **more)], default)}


WORDS = list[str]
FORMATS = "csv, tsv, txt, xlsx, parquet, npy, npz, mat, edf or what MNE reads, or in gz, xz, zip; - is stdin"
FILE = argument("data", Path, f"Recording: {FORMATS}.", "FILE")
FILES = argument("data", list[Path], f"Recording: {FORMATS}. Each further file is a trial.", "FILE...")
SOURCE = "Source node, or several with commas for their collective transfer entropy."
LINK = {
    **argument("source", str, SOURCE),
    **argument("target", str, "Target node."),
    **group("Options", given=(WORDS, "C,..", "Nodes to condition on.")),
}
A_GRAPH = "The graph. a>b means that a drives b. A name alone is a node without links."
GRAPH = group("Options", graph=(str, '"a>b, b>c"', A_GRAPH, Parameter.empty))
SEED = group("Options", seed=(int, "N", "Seed of random numbers; 0.", 0))
JSON = group("Output", json=(bool, None, "Print the result as JSON and nothing else."))
QUIET = group("Output", quiet=(bool, None, "Print nothing but warnings and errors.", "--quiet -q"))
FORCE = group("Output", force=(bool, None, "Overwrite a file that is there already."))
# Rows of options whose default is that of the command.
FOLDER = Path, "DIR", "Folder for the results."
JOBS = int, "N", "Number of workers; -1 for all cores. Results do not depend on it."
TIME = "Column of times. sort: put rows in order. ignore: take rows as evenly spaced. Can be repeated."
MISSING = "Missing values: refuse them, drop the samples that need them, or fill gaps of up to N samples."
MAX_LAG = "Largest lag of sources; by default 5, or more if a scan of longer lags finds a source."
PAIRS = "N or a=N,b=N"

# The words of `enmesh.read`, and what changes a recording before it is used.
DATA = group(
    "Data",
    time=(WORDS, "NAME|sort|ignore|none", TIME),
    columns=(WORDS, "A,B,..", "Nodes to use; all columns by default."),
    trials=(str, "NAME", "Column that tells the trial; 'none' if there is none.", "--trials --trial"),
    rows=(str, "FROM:TO", "Rows to use, counted from 1."),
    states=(WORDS, "A,B,..", "Columns whose numbers are names of states."),
    missing=(str, "raise|drop|interpolate:N", MISSING),
    na=(WORDS, "WORD,..", "Words or numbers that stand for a missing value."),
    header=(bool | None, None, "Whether line 1 holds names; by default detected."),
    units=(bool | None, None, "Whether line 2 holds units; by default detected."),
    skip=(int, "N", "Lines to leave out at the top."),
    decimal=(str, "MARK", "Decimal mark of numbers: . or ,"),
    thousands=(str, "MARK", "Mark between thousands: , . or a space."),
    encoding=(str, "NAME", "Encoding of text, such as latin-1; by default UTF-8."),
    date_format=(str, "FORMAT", "How times are written, such as %d.%m.%Y."),
    variable=(str, "NAME", "Which array of an npz or mat file."),
    sheet=(str, "NAME", "Which sheet of an xlsx file."),
    pivot=(str, "TIME,VARIABLE,VALUE", "The three columns of a long table."),
    transpose=(bool | None, None, "Whether rows are nodes and columns are times."),
    dims=(str, "A,B,C", "Axes of an array in an npy, npz or mat file, such as trial,node,time."),
    resample=(float, "X", "Interpolate uneven times to this step."),
    drop_constant=(bool, None, "Leave out nodes that never change, and name them."),
    dt=(float, "X", "Sampling step; by default found from the times."),
    sfreq=(float, "X", "Samples per unit of time, instead of --dt."),
    difference=(bool, None, "Use differences of successive samples, for random walks."),
    detrend=(bool, None, "Subtract the linear trend of each node."),
    season=(int, "N", "Subtract the mean cycle of a period of N samples."),
    mask=(WORDS, "FROM:TO", "Leave out these samples, counted from 1. Can be repeated."),
    standardise=(bool, None, "Scale each trial of each node to mean 0 and variance 1."),
    bins=(int, "N", "Turn numbers into N states of equal frequency, for the discrete estimator."),
)
EMBEDDING = group(
    "Embedding",
    dim=(str, PAIRS, "Embedding dimension of each node; by default chosen from the data."),
    delay=(str, PAIRS, "Embedding delay; 1."),
    lag=(str, PAIRS, "Lag of a node as a source; 1."),
    max_lag=(int, "N", MAX_LAG),
)
OUTPUT = group(
    "Output",
    out=(Path, "DIR", "Folder for the results; by default NAME-results."),
    formats=(choice("FormatName", ("graphml", "gexf", "dot"), True), None, "A further file.", "--format"),
    force=(bool, None, "Overwrite files that enmesh did not write."),
)


# --- options that follow from classes -----------------------------------------------------------------------------


def _named(parameter: str, kind: type[Any], told: str, panel: str = "") -> Group:
    """Return the option that names a method of a kind, and one for each field that such methods open."""
    known = members(kind)
    names = choice(f"{kind.__name__}Name", by_name(kind))
    rows: dict[str, tuple[Any, ...]] = {parameter: (names, None, f"{told}. {_summaries(known)}")}
    for field in dict.fromkeys(field for cls in known.values() for field in cls.cli_options):
        takers = {name: cls for name, cls in known.items() if field in cls.cli_options}
        first = next(iter(takers.values()))
        default, kinds = getattr(first(), field), (get_type_hints(first).get(field, str),)
        kinds = get_args(kinds[0]) or kinds
        of = next((kind for kind in kinds if kind in (int, float, str)), str)
        said = help_of(first).get(field, "").split(". ")[0].rstrip(".").replace("``", "")
        metavar = {int: "N", float: "X"}.get(of, "WORD")
        rows[field] = of, metavar, f"{said} ({', '.join(takers)})" + ("." if default is None else f"; {default}.")
    return group(panel or parameter.capitalize(), **rows)


def _summaries(known: Mapping[str, type[Method]]) -> str:
    told = {"/".join(cls.cli_variants or (name,)): cls.summary for name, cls in known.items()}
    said = "; ".join(f"{name}: {summary}" for name, summary in told.items() if summary)
    return f"{said}." if said else ""


def surrogate(panel: str = "Test") -> Group:
    """Return the options of a test by surrogates."""
    told = f"{help_of(TEE)['n_surrogates']} Default 199."
    seed = int, "N", "Seed of random numbers; 0.", 0
    named = _named("surrogate", Surrogate, "How surrogates of a source are made; by default shift", panel)
    return {**named, **group(panel, n_surrogates=(int, "N", told), seed=seed)}


def search() -> Group:
    """Return the options of the search for a graph."""
    told = f"How the best graph is found; by default exact. {_summaries(members(Search))}"
    return group(
        "Search",
        max_parents=(int, "N", "Largest number of parents of a node; by default chosen from the data."),
        search=(choice("SearchName", members(Search)), None, told),
        acyclic=(bool, None, "Exclude feedback. The network is the best one without cycles."),
        within_sample=(bool, None, "Orient effects within one sample, and test lagged links given them."),
        allow_cycles=(bool, None, "Allow feedback (the default); undoes --acyclic."),
        require=(WORDS, "A:B", "A must drive B. Can be repeated."),
        forbid=(WORDS, "A:B", "A must not drive B. Can be repeated."),
        tiers=(str, '"a | b c"', "Groups of nodes in order. No link goes from a later group to an earlier one."),
        screen=(bool | None, None, "Preselect sources by tests; by default if there are too many."),
        bootstrap=(int, "N", "Infer N networks from halves of the data. Gives the stability of links."),
        n_jobs=(*JOBS, 1),
        resume=(bool, None, "Continue the stopped run of the folder. Without it, run.db is renamed."),
    )


ESTIMATED = "How transfer entropy is estimated; by default chosen from the data"
ESTIMATOR = partial(_named, "estimator", Estimator, ESTIMATED)
METHOD = partial(_named, "method", EmbeddingMethod, "How the past is chosen; by default that of infer")
SCORE = "Score of a node and its parents; by default tea if its null distribution is known, else tee"


LEVEL = group("Test", level=(float, "X", "Error rate of a link; 0.01, lower in large networks (about one false link)."))
DEFAULT_TEST = group(
    "Test",
    fdr=(float, "X", "False discovery rate, such as 0.05; with --level, links must pass both."),
    context=(WORDS, "A,B,..", "Nodes that every test is conditioned on and that nothing drives."),
)


def score() -> Group:
    """Return ``--score`` and the options of all scores."""
    return {**_named("score", Score, SCORE), **surrogate("Score")}
