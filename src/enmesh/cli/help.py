"""The help of the commands: a screen with what is used most and the names of the rest; ``--help-all`` explains all."""

from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

# Options that are explained on the first screen, where a command has them; of short commands all are.
USUAL = (
    "out", "time", "columns", "max_lag", "estimator", "max_parents", "level", "acyclic", "bootstrap", "n_jobs",
    "resume",
)  # fmt: skip
FEW = 14
NAMES = 32  # columns of the names of options
ALL = "enmesh.help_all"


def _explain(ctx: typer.Context, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta[ALL] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


TOLD = "This text with every option explained."
HelpAll = Annotated[bool, typer.Option("--help-all", is_eager=True, callback=_explain, help=TOLD)]


class Group(TyperGroup):
    """The program itself: what it is for, and its commands."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        formatter.write_usage(ctx.command_path, "COMMAND ...")
        formatter.write_paragraph()
        formatter.write_text(self.help)
        commands = [(name, str(self.commands[name].help)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, told.splitlines()[0]) for name, told in commands])
        with formatter.section("Options"):
            formatter.write_dl([("--version", "Print the version."), ("-h, --help", "This text.")])


class Command(TyperCommand):
    """A command whose ``--help`` fits on a screen."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what is typed after the command."""
        return [*(name for name, _ in self._arguments()), "[OPTIONS]"]

    def _arguments(self) -> list[tuple[str, str]]:
        params: list[Any] = [p for p in self.params if p.param_type_name == "argument"]
        return [(p.metavar or p.name.upper(), p.help) for p in params]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options below the text."""
        if self._arguments():
            with formatter.section("Arguments"):
                formatter.write_dl(self._arguments())
        params: list[Any] = self.params
        options = [p for p in params if p.param_type_name == "option" and p.name != "help_all"]
        panels: dict[str, list[Any]] = {}
        for p in options:
            panels.setdefault(p.rich_help_panel, []).append(p)
        if ctx.meta.get(ALL) or len(options) <= FEW:
            for title, members in panels.items():
                with formatter.section(title):
                    formatter.write_dl([(_names(p), p.help) for p in members], NAMES)
            return
        with formatter.section("Options used most"):
            usual = [(_names(p), p.help.split(". ")[0].split("; ")[0]) for p in options if p.name in USUAL]
            formatter.write_dl([(names, f"{told.rstrip('.')}.") for names, told in usual], NAMES)
        # What is typed as one word is not broken.
        kept = str.maketrans({" ": "\u00a0", "-": "\u2011"})
        rows = [(title, "  ".join(_names(p).translate(kept) for p in panels[title])) for title in panels]
        with formatter.section(f"All options ({ctx.command_path} --help-all explains them)"):
            formatter.write_dl(rows)
        text = "".join(formatter.buffer)
        formatter.buffer[:] = [text.replace("\u00a0", " ").replace("\u2011", "-")]


def _names(param: Any) -> str:
    """Return an option as it is typed: ``--out DIR``, ``--header/--no-header``."""
    flags = "/".join([*param.opts[:1], *param.secondary_opts[:1]])
    return flags if param.is_flag else f"{flags} {param.metavar}"
