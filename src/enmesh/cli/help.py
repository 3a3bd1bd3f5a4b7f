"""The help of the commands: a screen with what is used most and the names of the rest; ``--help-all`` explains all."""

import inspect
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from enum import Enum
from textwrap import shorten, wrap
from typing import Annotated, Any, get_args

import typer
from typer.core import TyperCommand, TyperGroup

# Options that are explained on the first screen, where a command has them; of short commands all are.
USUAL = (
    "out", "time", "columns", "max_lag", "estimator", "max_parents", "allow_cycles", "bootstrap", "jobs", "resume",
)  # fmt: skip
FEW = 14
NAMES = 30  # columns of the names of options


def width() -> int:
    """Return how many columns text may take."""
    return max(40, min(shutil.get_terminal_size((80, 24)).columns, 100))


class Command(TyperCommand):
    """A command whose ``--help`` fits on a screen."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        formatter.write("\n".join(_help(self, ctx, everything=False)) + "\n")


def _explain(ctx: typer.Context, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        typer.echo("\n".join(_help(ctx.command, ctx, everything=True)))
        raise typer.Exit


HelpAll = Annotated[
    bool,
    typer.Option(
        "--help-all", is_eager=True, callback=_explain, help="This text with every option explained."
    ),
]


class Group(TyperGroup):
    """The program itself: what it is for, and its commands."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        told = inspect.cleandoc(self.help or "").replace("\b\n", "")
        lines = [f"Usage: {ctx.command_path} COMMAND ...", "", told, "", _title("Commands")]
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            said = inspect.cleandoc(command.help or "").splitlines()[0] if command else ""
            lines += _entry(name, said, 12)
        lines += [
            "",
            _title("Options"),
            *_entry("--version", "Print the version."),
            *_entry("-h, --help", "This text."),
        ]
        formatter.write("\n".join(lines) + "\n")


def _options(params: Sequence[Any]) -> list[Any]:
    return [p for p in params if p.param_type_name == "option" and p.name not in ("help", "help_all")]


def _help(command: Any, ctx: Any, everything: bool) -> Iterator[str]:
    """Yield the lines of a command's help."""
    options = _options(command.get_params(ctx))
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    ends = " ".join(_metavar(p) or p.name.upper() for p in arguments)
    yield f"Usage: {ctx.command_path} {ends} [OPTIONS]".replace("  ", " ")
    yield ""
    for line in inspect.cleandoc(command.help or "").replace("\b\n", "").splitlines():
        yield from wrap(line, width(), subsequent_indent="  ", break_on_hyphens=False) or [""]
    if arguments:
        yield from ["", _title("Arguments")]
        for p in arguments:
            yield from _entry(_metavar(p) or p.name.upper(), p.help or "")
    short = len(options) <= FEW
    shown = options if everything or short else [p for p in options if p.name in USUAL]
    groups = list(dict.fromkeys(getattr(p, "rich_help_panel", None) or "Options" for p in options))
    if everything or short:
        for group in groups:
            yield from ["", _title(group)]
            for p in shown:
                if (getattr(p, "rich_help_panel", None) or "Options") == group:
                    yield from _entry(_names(p), p.help or "")
        return
    yield from ["", _title("Options used most")]
    for p in shown:
        yield from _entry(_names(p, brief=True), _first_clause(p.help or ""), cut=True)
    yield from ["", _title(f"All options ({ctx.command_path} --help-all explains them)")]
    for group in groups:
        names = [_names(p) for p in options if (getattr(p, "rich_help_panel", None) or "Options") == group]
        kept = [part.replace(" ", "\u00a0") for name in names for part in _parts(name)]
        lines = wrap("  ".join(kept), width() - 12, break_on_hyphens=False, break_long_words=False)
        for k, line in enumerate(lines):
            yield f"  {group if k == 0 else '':<10}{line}".replace("\u00a0", " ")


def _names(param: Any, brief: bool = False) -> str:
    """Return an option as it is typed: ``--out DIR``, ``--header/--no-header``."""
    flags = "/".join([*param.opts[:1], *param.secondary_opts[:1]])
    value = _metavar(param)
    if brief and len(value) > NAMES - len(flags) - 3:
        value = "NAME"
    return f"{flags} {value}".strip()


def _metavar(param: Any) -> str:
    if getattr(param, "is_flag", False):
        return ""
    if param.metavar:
        return str(param.metavar)
    kind: Any = param.type_descriptor.annotation if hasattr(param, "type_descriptor") else param.type
    kind = (get_args(kind) or (kind,))[0]
    choices = getattr(kind, "choices", None) or (
        list(kind) if isinstance(kind, type) and issubclass(kind, Enum) else ()
    )
    if choices:
        return "|".join(str(getattr(one, "value", one)) for one in choices)
    if param.param_type_name == "argument":
        return str(param.name).upper()
    return {int: "N", float: "X", "integer": "N", "float": "X"}.get(getattr(kind, "name", kind), "TEXT")


def _first_clause(said: str) -> str:
    return said.split(". ")[0].split("; ")[0].rstrip(".") + "."


def _entry(name: str, said: str, column: int = NAMES, cut: bool = False) -> list[str]:
    """Return an option and what it does, in two columns; a long name has a line to itself."""
    room = width() - column - 4
    if room < 24:  # a narrow terminal: below each other
        return [f"  {name}", *(f"      {line}" for line in wrap(said, width() - 6))]
    lines = (
        [shorten(said, room, placeholder=" …")] if cut else wrap(said, room, break_on_hyphens=False) or [""]
    )
    if len(name) > column:
        head = [f"  {part}" for part in _parts(name)]
        return [*head, *(f"  {'':<{column}}  {line}" for line in lines)]
    return [f"  {name if k == 0 else '':<{column}}  {line}".rstrip() for k, line in enumerate(lines)]


def _parts(name: str) -> list[str]:
    """Return an option in pieces that fit a line: a long list of choices is broken between them."""
    room = width() - 14
    if len(name) <= room:
        return [name]
    return [part.replace("| ", "|") for part in wrap(name.replace("|", "| "), room, break_on_hyphens=False)]


def _title(words: str) -> str:
    return typer.style(words, bold=True) if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else words
