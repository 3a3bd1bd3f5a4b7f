"""The command line. Results go to stdout; an error is one line on stderr and never a traceback."""

import errno
import logging
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import Annotated, Any

import typer

from enmesh import __version__
from enmesh.cli import arguments, compare, help, infer, inspect, measure, model, regimes, show, simulate
from enmesh.cli import open as page
from enmesh.data.rules import Reading
from enmesh.data.table import visible
from enmesh.errors import InputError, was_stopped

OK, FAILED, REFUSED, STOPPED = 0, 1, 2, 130
# Typer brings its own copy of click or uses the one installed; this is the base of usage errors in either.
UsageError: Any = next(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException")

# Advice in the words of Python, and what a user of the shell must type instead; `_in_shell_words` has rules besides.
IN_WORDS_OF_THE_SHELL = {
    "pass duration= or windows=": "use --duration",
    "give the right duration or windows": "give the right --duration",
    "read it with em.Events": "use --events",
    "give n_surrogates": "give --surrogates",
    "n_surrogates has no effect": "--surrogates has no effect",
    "surrogate has no effect on the default": "--surrogate has no effect on the default",
    "screen has no effect": "--screen has no effect",
    "add score='tee'": "add --score tee",
    "give level=": "give --level ",
    "give fdr=": "give --fdr ",
    "n_jobs=": "--jobs=",
    "pass node= with": "use --node with",
    "give the file that was passed as store=": "give the run.db of a results folder",
    "allow cycles to keep": "leaving out --acyclic keeps",
    "acyclic=False": "no --acyclic",
    "acyclic=True": "--acyclic",
    "lower kappa": "lower --dim",
    "within_sample=True": "--within-sample",
    "give a smaller shortest=": "give a smaller --shortest",
    "series.difference()": "--difference",
    "series.detrend()": "--detrend",
    "Series.discretise()": "--bins",
    "Value error, ": "",
}
VALUE = r"'[^']*'|\([^)]*\)|-?\d+(?:\.\d+)?|\w+"
WORDS = "|".join([*Reading.__annotations__, "dt", "mend", "force"])
# An option that a message begins with is named as it was typed: n_surrogates=0 as --surrogates 0.
NUMBERS = (
    "n_surrogates n_permutations n_jobs seed max_lag max_parents lag dim delay level fdr alpha bootstrap k theiler "
    "width horizon levels n coupling noise obs_noise"
)
BEGINNING = re.compile(rf"(?P<word>{NUMBERS.replace(' ', '|')})=(?P<value>\S+) ")
READING_WORD = re.compile(rf"(?P<verb>pass )?\b(?P<word>{WORDS})=(?P<value>{VALUE})?")

COMMANDS = (
    simulate.demo, inspect.inspect, infer.infer, measure.te, measure.lags, measure.embed, measure.score,
    compare.compare, regimes.regimes, model.whatif, model.power, simulate.simulate, simulate.datasets,
    simulate.reproduce, infer.runs, page.open,
)  # fmt: skip


def command_line(words: Sequence[str] = ()) -> typer.Typer:
    """Return the command line with the options of all methods that are known now, for the words to come.

    Where these begin with a command, it is made alone: the others would take as long as many a command runs.
    """
    app = typer.Typer(
        name="enmesh",
        pretty_exceptions_enable=False,
        cls=help.Group,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(enmesh)
    for command in [one for one in COMMANDS if one.__name__ in words[:1]] or COMMANDS:
        app.command(cls=help.Command)(arguments.widened(command))
    return app


def enmesh(ctx: typer.Context, version: Annotated[bool, typer.Option("--version")] = False) -> None:
    """Which subsystem drives which: networks from multivariate time series by transfer entropy.

    \b
    enmesh demo                            the two-minute tour
    enmesh open recording.csv              a local page to look, run and explore
    enmesh inspect recording.csv           what it holds, and what to do first
    enmesh infer recording.csv             network, picture, page to share
    enmesh te recording.csv a b --given c  one transfer entropy, tested
    enmesh lags recording.csv a b          at which lag a acts on b
    enmesh COMMAND --help                  options and examples
    """
    if version:
        print(f"enmesh {__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code: 0, 1 unexpected, 2 refused, 128 and its number for a signal."""
    words, signals = list(sys.argv[1:] if arguments is None else arguments), list[int]()
    with _stopped_by_signals(signals, for_good=arguments is None):
        return _run(words, signals)


def _run(words: list[str], signals: list[int]) -> int:
    shown = redirect_stdout(show.SafeStream(sys.stdout, escape=True))
    try:
        with shown, redirect_stderr(show.SafeStream(sys.stderr)), _spoken():
            program = typer.main.get_command(command_line(words))
            code = program.main(words, prog_name="enmesh", standalone_mode=False, obj=words)
            sys.stdout.flush()
        return _fail("stopped", _stopped(signals)) if code == STOPPED else int(code or OK)
    except (UsageError, InputError) as error:
        return _fail(error.format_message() if isinstance(error, UsageError) else error, REFUSED)
    except (KeyboardInterrupt, typer.Abort, infer.Interrupted) as error:
        return _fail(str(error) or "stopped", _stopped(signals))
    except BrokenPipeError:
        # The reader has enough; the rest must not be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except Exception as error:
        if signals or was_stopped(error):  # a module that is stopped while it loads may not say why it failed
            return _fail("stopped", _stopped(signals))
        if os.environ.get("ENMESH_TRACEBACK"):
            raise
        return _fail(_unexpected(error), FAILED)


def _unexpected(error: Exception) -> str:
    """Say what went wrong in the machine, or else name the error."""
    if isinstance(error, MemoryError):
        return "the memory of this machine does not suffice; take fewer rows or columns, or fewer --jobs"
    if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or "disk is full" in str(error):
        return "the disk is full; make room and run again, with --resume to go on"
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"unexpected {said} (run again with ENMESH_TRACEBACK=1 to see where)"


def _fail(message: object, code: int) -> int:
    # The terminal may be gone (SIGHUP); the exit code still says what happened.
    with suppress(OSError), redirect_stderr(show.SafeStream(sys.stderr)):
        show.say(f"enmesh: {_in_shell_words(message)}", sys.stderr)
    return code


def _in_shell_words(message: object) -> str:
    said = visible(" ".join(str(message).split()))
    if begun := BEGINNING.match(said):
        flag = {"levels": "--bins", "n": "-n"}.get(begun["word"], arguments.flag_of(begun["word"]))
        said = f"{flag} {begun['value'].removesuffix('.0')} {said[begun.end() :]}"
    for python, shell in IN_WORDS_OF_THE_SHELL.items():
        said = said.replace(python, shell)
    said = re.sub(r"\bmax_(parents|lag|dim)\b(?!=)", r"--max-\1", READING_WORD.sub(_as_option, said))
    return re.sub(r"series\.deseason\(period=(\d+)\)", r"--season \1", said)


def _as_option(found: re.Match[str]) -> str:
    """Return ``pass missing='drop'`` as ``use --missing drop``."""
    verb, word, value = "use " if found["verb"] else "", found["word"], found["value"] or ""
    flag = arguments.flag_of(word)
    if value == "False":
        return verb + (f"{flag} none" if word in ("time", "trials") else f"--no-{flag[2:]}")
    values = [one.strip().strip("'\"") for one in (value.strip("()").split(",") if "(" in value else [value])]
    if word == "time" and len(values) > 1:
        return verb + " ".join(f"{flag} {one}" for one in values)
    said = ",".join(values) if value != "True" else ""
    said = f'"{said}"' if re.search(r"[^\w.:,%/-]", said) else said
    return f"{verb}{flag} {said}".rstrip()


class _OnStderr(logging.Handler):
    """Says what is logged on stderr as it is now: above the line of progress, if there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        print("enmesh:", record.getMessage(), file=sys.stderr)


@contextmanager
def _spoken() -> Iterator[None]:
    """Say on stderr what is logged, at once, and each hazard once, when the command is done; no other warnings."""
    handler, log = _OnStderr(), logging.getLogger("enmesh")
    log.addHandler(handler)
    try:
        with show.held_hazards() as met:
            yield
    finally:
        log.removeHandler(handler)
    for message in met:
        show.say(f"enmesh: warning: {_in_shell_words(message)}", sys.stderr)


def _stopped(signals: Sequence[int]) -> int:
    return 128 + signals[0] if signals else STOPPED


class Stop(KeyboardInterrupt):
    """Raised by a signal; after a KeyboardInterrupt that passed an ``exec`` Python would end by SIGINT itself."""


@contextmanager
def _stopped_by_signals(received: list[int], for_good: bool) -> Iterator[None]:
    """Let Ctrl-C, SIGTERM and SIGHUP stop a command, unless whoever started it wants them ignored.

    One is enough: further ones do not disturb what is kept and said, until the fourth ends the program at once. Where
    Python drops the exception, as in a callback of its import system, the signal is raised once more. A program that
    was stopped and ends now (``for_good``) ignores them.
    """

    def stop(number: int, frame: object) -> None:
        received.append(number)
        if len(received) == 1:
            raise Stop
        if len(received) > 3:
            os._exit(128 + number)

    def dropped(what: "sys.UnraisableHookArgs") -> None:
        if isinstance(what.exc_value, Stop):
            number = received[-1]
            received.clear()
            threading.Timer(0.05, signal.raise_signal, [number]).start()
        else:
            hook(what)

    hook, before = sys.unraisablehook, {}
    if threading.current_thread() is threading.main_thread():
        sys.unraisablehook = dropped
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            usual = signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL
            if number is not None and signal.getsignal(number) is usual:
                before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if received and for_good else handler)
