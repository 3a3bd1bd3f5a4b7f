"""enmesh open: a local page to look at a recording, run it and explore the network."""

import asyncio
import signal
import socket
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from enmesh import late
from enmesh.cli import arguments as a
from enmesh.cli import show
from enmesh.data.table import visible
from enmesh.errors import InputError

LOCAL = "127.0.0.1"
EVERY = ("0.0.0.0", "::")
PAGE = a.group(
    "Page",
    port=(int, "N", "Port; by default a free one."),
    host=(str, "ADDRESS", "Listen there, such as 0.0.0.0 for the network; by default this computer only."),
    no_browser=(bool, None, "Print the address and open no browser."),
    folder=(Path, "DIR", "Keep uploads and runs here, also after the end; by default a private folder, deleted."),
)


@a.with_options(a.argument("data", Path | None, "Recording to begin with.", "FILE"), PAGE)
def open(given: a.Given) -> None:
    """Open a local page: look at a recording, run it, explore who drives whom.

    Only this computer can open the page; its address has a secret word. Ctrl-C
    ends it. If it was killed, recordings and runs are there at the next start.

    \b
    Examples
      enmesh open
      enmesh open recording.csv
      enmesh open recording.csv --folder study/
      enmesh open --port 8765 --no-browser
    """
    path = given["data"]
    if path is not None and not path.is_file():
        raise InputError(f"there is no file {visible(path)}; give a recording, or none to choose one on the page")
    if missing := [name for name in ("starlette", "uvicorn") if find_spec(name) is None]:
        raise InputError(f"enmesh open needs {' and '.join(missing)}; pip install 'enmesh[app]'")
    asyncio.run(_serve(path, given))


async def _serve(path: Path | None, given: a.Given) -> None:
    import uvicorn

    from enmesh.datasets import names

    page = late.lazy_import("server")
    address, application, is_local, Session = page.address, page.application, page.is_local, page.Session

    session, host = Session(given["folder"]), given["host"] or LOCAL
    config = uvicorn.Config(application(session, host), log_level="error", timeout_graceful_shutdown=1, lifespan="off")
    server = uvicorn.Server(config)
    server.capture_signals = nullcontext  # type: ignore[method-assign,assignment]
    with _listening(host, given["port"], session.port) as listening, _stopped_by_signals(server, session):
        session.port = listening.getsockname()[1]
        if path is not None:
            session.open_file(path)
        session.changed()
        shown = address(session, LOCAL if host in EVERY else host)
        if session.resumed:
            show.say("Recordings and runs of the last page are there again.")
        if not is_local(host):
            show.say("Anyone on the network who knows the address can use the page, unencrypted.", sys.stderr)
            shown = address(session, _own_address() if host in EVERY else host)
        show.say(f"enmesh is open at {shown}")
        show.say("Ctrl-C ends it.")
        sys.stdout.flush()
        if not given["no_browser"]:
            webbrowser.open(shown)
        cards = asyncio.create_task(session.cards(list(names())))
        try:
            await server.serve(sockets=[listening])
        finally:
            cards.cancel()
            await session.close()
    if session.keep:
        show.say(f"Everything is kept; enmesh open --folder {session.folder} goes on.")


@contextmanager
def _stopped_by_signals(server: Any, session: Any) -> Iterator[None]:
    """Let Ctrl-C, SIGTERM and SIGHUP end the server, as a command that is done; a second one ends it at once."""

    def stop(number: int, frame: object) -> None:
        server.force_exit = server.should_exit
        server.should_exit = True
        session.release()

    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _listening(host: str, port: int | None, last: int) -> Iterator[socket.socket]:
    """Listen at a port: the given one, or the one of the page that is gone on with, or any."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        for number in [port] if port is not None else [last, 0] if last else [0]:
            try:
                made.bind((host, number))
                break
            except (OSError, OverflowError) as error:
                if port is not None or number == 0:
                    reason = getattr(error, "strerror", None) or error
                    raise InputError(
                        f"cannot listen at {host}:{number}: {reason}; give another --port or --host"
                    ) from None
        made.listen(128)  # whoever comes before the server is ready waits
        yield made


def _own_address() -> str:
    """Return the address of this machine in its network; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        try:
            made.connect(("192.0.2.1", 9))
            return str(made.getsockname()[0])
        except OSError:
            return socket.gethostname()
