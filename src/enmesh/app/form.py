"""The one table of what the page offers, and the same choices as a command line and as lines of Python.

A field is an option of ``enmesh infer``: its help and its choices are those of the command line, and values are read
by the command line's own parser. What can be typed and what can be clicked is thus one and the same.
"""

import inspect
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from enum import EnumType
from typing import Any, get_args

import typer

import enmesh as em
from enmesh.cli import _in_shell_words, build
from enmesh.cli import arguments as a
from enmesh.cli.infer import asked_of, infer
from enmesh.errors import InputError

LONGEST = 4000  # letters of a value
Values = Mapping[str, Any]
"""Name of a field -> text, True or False, or a list of texts."""


@dataclass(frozen=True)
class Field:
    """One option of ``enmesh infer`` on the page.

    ``kind`` says how it is shown and typed: ``text``, ``number``, ``switch`` (a flag), ``answer`` (yes, no, or
    undecided), ``choice``, ``list`` (joined with commas) or ``each`` (the flag is repeated). ``suggested`` are values
    to pick from; choices without them are those of the command line. ``usual`` says what an empty field means.
    """

    section: str
    name: str
    kind: str
    label: str
    suggested: tuple[str, ...] = ()
    usual: str = "from the data"


# Sections: "read" (how the file is read), "prepare" (repairs), "run" (what is asked for first), "more" (the rest).
FIELDS = (
    Field("read", "time", "list", "Time", ("ignore", "sort", "none")),
    Field("read", "trials", "text", "Trials", ("none",)),
    Field("read", "columns", "list", "Columns"),
    Field("read", "rows", "text", "Rows"),
    Field("read", "states", "list", "States"),
    Field("read", "missing", "text", "Missing values", ("drop", "interpolate:5")),
    Field("read", "na", "list", "Also missing", ("-999", "?"), "none"),
    Field("read", "header", "answer", "First line holds names"),
    Field("read", "units", "answer", "Second line holds units"),
    Field("read", "skip", "number", "Lines to skip"),
    Field("read", "decimal", "choice", "Decimal mark", (".", ",")),
    Field("read", "thousands", "choice", "Thousands mark", (".", ",", " ")),
    Field("read", "encoding", "text", "Encoding", ("utf-8", "latin-1", "utf-16")),
    Field("read", "date_format", "text", "Format of dates", ("%d.%m.%Y", "%m/%d/%Y")),
    Field("read", "variable", "text", "Array of the file"),
    Field("read", "sheet", "text", "Sheet"),
    Field("read", "pivot", "text", "Long table"),
    Field("read", "transpose", "answer", "Rows are nodes"),
    Field("read", "dims", "text", "Axes of an array", ("trial,node,time", "node,time,trial", "trial,time,node")),
    Field("read", "drop_constant", "switch", "Leave out constant columns"),
    Field("read", "resample", "number", "Interpolate times to a step of"),
    Field("read", "dt", "number", "Sampling step"),
    Field("read", "sfreq", "number", "Samples per unit of time"),
    Field("read", "events", "switch", "Rows are events"),
    Field("read", "node", "text", "Column of nodes"),
    Field("read", "duration", "number", "Observed time"),
    Field("read", "mend", "each", "Put right", ("sort", "duplicates", "outside")),
    Field("prepare", "detrend", "switch", "Remove trends"),
    Field("prepare", "season", "number", "Remove a season of", usual="none"),
    Field("prepare", "difference", "switch", "Take differences"),
    Field("prepare", "standardise", "switch", "Standardise"),
    Field("prepare", "bins", "number", "Cut into states", usual="not cut"),
    Field("prepare", "mask", "each", "Leave out samples", usual="none"),
    Field("run", "max_lag", "number", "Largest lag"),
    Field("run", "level", "number", "Error rate of a link", ("0.01", "0.05", "0.001"), "0.01 or less"),
    Field("run", "acyclic", "switch", "No feedback loops"),
    Field("run", "context", "list", "Context", usual="none"),
    Field("more", "fdr", "number", "False discovery rate", usual="not used"),
    Field("more", "estimator", "choice", "Estimator"),
    Field("more", "score", "choice", "Score"),
    Field("more", "surrogate", "choice", "Surrogates"),
    Field("more", "n_surrogates", "number", "Number of surrogates"),
    Field("more", "dim", "text", "Embedding dimension"),
    Field("more", "delay", "text", "Embedding delay"),
    Field("more", "max_parents", "number", "Most sources of a node"),
    Field("more", "target_history", "text", "Own history of events"),
    Field("more", "source_history", "number", "History of a source"),
    Field("more", "search", "choice", "Search"),
    Field("more", "screen", "answer", "Preselect sources"),
    Field("more", "require", "each", "Links that must be there", usual="none"),
    Field("more", "forbid", "each", "Links that must not be there", usual="none"),
    Field("more", "tiers", "text", "Order of groups", usual="none"),
    Field("more", "bootstrap", "number", "Networks from halves of the data", usual="none"),
    Field("more", "n_jobs", "number", "Processor cores", usual="1"),
    Field("more", "seed", "number", "Seed", usual="0"),
)
BY_NAME = {field.name: field for field in FIELDS}
BY_FLAG = {a.flag_of(field.name): field for field in FIELDS}
# An option in a message, with the value that it names: --missing drop.
ADVISED = re.compile(r"(--[a-z-]+)(?: (\"[^\"]*\"|[\w.:,%+-]+))?")
USUAL = {"n_jobs": 1}  # defaults of the command line that mean the same as those of `enmesh.infer`


def described() -> list[dict[str, Any]]:
    """Return the fields for the page, each with its flag, help and choices."""
    options = a.options_of(infer)
    rows = []
    for field in FIELDS:
        annotation = options[field.name][0]
        kinds = get_args(get_args(annotation)[0]) or (get_args(annotation)[0],)
        words = [str(word) for kind in kinds if isinstance(kind, EnumType) for word in kind]  # type: ignore[var-annotated]
        row = asdict(field) | {"flag": a.flag_of(field.name), "help": annotation.__metadata__[0].help}
        rows.append(row | {"suggested": list(field.suggested or words)})
    return rows


def checked(values: Any) -> dict[str, Any]:
    """Return values that came from a browser, without those that say nothing; refuse what no field can hold."""
    if not isinstance(values, dict):
        raise InputError('the options are no object of names and values; send {"max_lag": "5"}')
    for name, value in values.items():
        many = value if isinstance(value, list) else [value]
        if name not in BY_NAME or not all(isinstance(one, (str, bool, int, float)) for one in many):
            raise InputError(f"there is no option {str(name)[:40]!r} with this value; choose one that the page offers")
        if sum(len(str(one)) for one in many) > LONGEST:
            raise InputError(f"{a.flag_of(name)} is longer than {LONGEST} letters; give a shorter value")
    return {name: value for name, value in values.items() if value not in ("", [], None)}


def words_of(file: str, values: Values) -> list[str]:
    """Return the words of ``enmesh infer`` that say a file and the values of fields.

    >>> words_of("rec.csv", {"detrend": True, "max_lag": "5", "columns": ["a", "b"], "mask": ["1:3"]})
    ['infer', 'rec.csv', '--columns', 'a,b', '--detrend', '--mask', '1:3', '--max-lag', '5']
    """
    words = ["infer", f"./{file}" if file.startswith("-") else file]
    for field in FIELDS:
        value, flag = values.get(field.name), a.flag_of(field.name)
        if value is None or (field.kind == "switch" and not value):
            continue
        if field.kind == "switch":
            words.append(flag)
        elif field.kind == "answer":
            words.append(flag if value in (True, "yes") else f"--no-{flag[2:]}")
        else:
            many = list(map(str, value)) if isinstance(value, list) else [str(value)]
            for one in many if field.kind == "each" else [",".join(many)]:
                words += [f"{flag}={one}"] if one.startswith("-") else [flag, one]
    return words


def command_of(words: Sequence[str]) -> str:
    """Return words as a line to type."""
    return shlex.join(["enmesh", *words])


def typed(words: Sequence[str]) -> a.Given:
    """Read the words of ``enmesh infer`` as the command line does."""
    caught: list[a.Given] = []
    catch = a.with_options(*infer.__dict__["groups"])(lambda given: caught.append(given))
    app = typer.Typer(rich_markup_mode=None)
    app.command()(a.widened(catch))
    try:
        typer.main.get_command(app).main(list(words[1:]), standalone_mode=False, obj=["enmesh", *words])
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        raise InputError(error.format_message()) from None
    return caught[0]


def python_of(given: a.Given, series: Any, example: str = "") -> str:
    """Return the lines of Python that give the same network; an example is made by its name."""
    source = f"em.datasets.load({example!r})"
    if given.get("events"):
        source = _call("em.Events", [str(given["data"][0])], build.reading_of_events(given))
    elif (said := build.reading(given) | build.present(given, ("dt",))) or not example:
        source = _call("em.read", [str(given["data"][0])], said)
    lines = ["import enmesh as em", "", f"series = {source}"]
    samples = 0 if given.get("events") else len(series) + bool(given.get("difference")) * len(series.trials)
    changes = build.preparing(given, samples) if samples else []
    prepared = "".join(f".{name}({_arguments(name, values)})" for name, values in changes)
    lines += [f"series = series{prepared}"] if prepared else []
    usual = {name: one.default for name, one in inspect.signature(em.infer).parameters.items()} | USUAL
    options = {name: value for name, value in asked_of(given, series).items() if value not in (None, [], usual[name])}
    return "\n".join([*lines, _call("net = em.infer", [], options).replace("(", "(series, ", 1).replace(", )", ")")])


def _arguments(name: str, values: tuple[Any, ...]) -> str:
    """Return arguments as Python; rows to mask as ranges."""
    if name != "mask":
        return ", ".join(map(repr, values))
    rows, ranges = list(values[0]), []
    while rows:
        length = next((i for i, row in enumerate(rows) if row != rows[0] + i), len(rows))
        ranges.append(f"*range({rows[0]}, {rows[0] + length})")
        rows = rows[length:]
    return f"[{', '.join(ranges)}]"


def _call(name: str, values: Iterable[Any], options: Mapping[str, Any]) -> str:
    return f"{name}({', '.join([*map(repr, values), *(f'{key}={_written(value)}' for key, value in options.items())])})"


def _written(value: Any) -> str:
    """Return a value as Python; options are names of ``em`` with the fields that differ from their defaults."""
    if not is_dataclass(value):
        return repr(value)
    held = {field.name: (getattr(value, field.name), field.default) for field in fields(value)}
    said = {name: one for name, (one, usual) in held.items() if one != usual}
    return _call(f"em.{type(value).__name__}", [], said)


def in_words(message: object) -> str:
    """Return a message in the words of the command line, which the page shows beside its fields."""
    return _in_shell_words(message).replace("series.mask(rows)", "--mask")


def advised(message: str, values: Values) -> list[dict[str, Any]]:
    """Return what a message in the words of the command line advises to set: ``{name, value, label}``.

    >>> advised("missing values in column b (5); use --missing drop", {})
    [{'name': 'missing', 'value': 'drop', 'label': 'Missing values: drop'}]
    """
    found: dict[str, dict[str, Any]] = {}
    for flag, word in ADVISED.findall(message):
        field, word = BY_FLAG.get(flag), word.strip('"').rstrip(".,:")
        if field is None or field.section not in ("read", "prepare") or field.kind == "each" or field.name in found:
            continue
        value: Any = word
        if field.kind == "switch":
            value = True
        elif not {"number": re.fullmatch(r"[\d.]+", word), "choice": word in field.suggested}.get(field.kind, True):
            continue
        elif field.kind == "list" and word:
            held = values.get(field.name) or ""
            listed = held if isinstance(held, list) else [one.strip() for one in str(held).split(",") if one]
            value = [*listed, *(one for one in word.split(",") if one not in listed)]
            if value == listed:
                continue
        if value:
            label = field.label if value is True else f"{field.label}: {word}"
            found[field.name] = {"name": field.name, "value": value, "label": label}
    return list(found.values())
