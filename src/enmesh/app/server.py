"""The server of the page: on this machine alone, for those who know its address, and with nothing of the disk to read.

Every address begins with a secret word. Requests for another host, or from another page, are refused, which keeps the
pages that the same browser shows from asking. Pages may run the scripts that stand in them and nothing else.
"""

import base64
import hashlib
import hmac
import html
import ipaddress
import json
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote, unquote

import anyio
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from enmesh import __version__, datasets
from enmesh.app import form
from enmesh.app.session import LARGEST, Session
from enmesh.errors import InputError

SCRIPTS = ("base.js", "look.js", "runs.js", "start.js")
MOST_BYTES = 2**20  # of a question
WAIT = 20.0  # seconds that a question for news is held
KINDS = ("graph", "circle", "matrix", "timegraph", "lags", "intervals", "nulls")
FORMATS = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}
HEADERS = {
    "x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}  # fmt: skip
ESCAPES = str.maketrans({mark: f"\\u{ord(mark):04x}" for mark in "<>&"})  # no text may end a script element
UNKNOWN = "Open the address that enmesh open has printed."


class Guard:
    """Lets through what is asked of this host, by its own page, by those who know the token."""

    def __init__(self, app: Any, token: str, hosts: set[str], port: Callable[[], int], network: bool = False):
        self._app, self._start, self._hosts, self._port, self._network = (app, f"/{token}/", hosts, port, network)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Refuse a request, or hand it on without the token."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host, origin, path = headers.get("host", ""), headers.get("origin"), scope["path"]
        start = path[: len(self._start)].encode()

        async def secured(message: Any) -> None:
            if message["type"] == "http.response.start":
                there = {name for name, _ in message["headers"]}
                more = [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in there]
                message["headers"] = [*message["headers"], *more]
            await send(message)

        if not self._is_ours(host) or origin not in (None, f"http://{host}"):
            return await PlainTextResponse("This host or page is not allowed.", 403)(scope, receive, secured)
        if not hmac.compare_digest(start, self._start.encode()):
            return await PlainTextResponse(UNKNOWN, 403)(scope, receive, secured)
        inner = path[len(self._start) - 1 :]
        await self._app(scope | {"path": inner, "raw_path": inner.encode()}, receive, secured)

    def _is_ours(self, host: str) -> bool:
        """Say whether a host is this one; where the network may ask, any number: a name can be made to point here."""
        name, _, port = host.rpartition(":")
        if not port.isdigit() or int(port) != self._port():
            return False
        if name in self._hosts:
            return True
        with suppress(ValueError):
            return self._network and bool(ipaddress.ip_address(name.strip("[]")))
        return False


def hashes(text: str, tag: str) -> str:
    """Return the sources of a policy that allow the scripts or styles of a page, and of the pages in its frames."""
    frames = map(html.unescape, re.findall(r'srcdoc="([^"]*)"', text))
    bodies = [body for part in (text, *frames) for body in re.findall(rf"<{tag}>(.*?)</{tag}>", part, re.S)]
    digests = (hashlib.sha256(body.encode()).digest() for body in dict.fromkeys(bodies))
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def own_page() -> tuple[str, str]:
    """Return the page and its policy."""
    parts = files("enmesh.app") / "page"
    style, *scripts = ((parts / name).read_text(encoding="utf-8") for name in ("page.css", *SCRIPTS))
    data: dict[str, Any] = {"fields": form.described(), "examples": [datasets.about(name) for name in datasets.names()]}
    data |= {"largest": LARGEST, "kinds": KINDS, "formats": list(FORMATS)}
    text = json.dumps(data).translate(ESCAPES)
    known = {"style": style, "script": "\n".join(scripts), "data": text, "version": __version__}
    text = Template((parts / "page.html").read_text(encoding="utf-8")).substitute(known)
    own = "img-src 'self' data:; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'"
    policy = f"default-src 'none'; script-src {hashes(text, 'script')}; style-src {hashes(text, 'style')}; {own}"
    return text, f"{policy}; frame-ancestors 'none'"


def safe_name(name: str) -> str:
    """Return the name of an uploaded file, without folders and what no name may hold.

    >>> safe_name("../../etc/pass\\x00wd.csv"), safe_name("..")
    ('pass_wd.csv', 'recording.csv')
    """
    last = re.split(r"[/\\]", name)[-1]
    last = re.sub(r'[\x00-\x1f\x7f<>:"|?*]', "_", last).strip()
    return last[-120:] if last.strip(". ") else "recording.csv"


class Pages:
    """What can be asked, one method for each address."""

    def __init__(self, session: Session):
        self.session = session
        self.page, self.policy = own_page()

    async def show(self, request: Request) -> Response:
        """Return the page."""
        return HTMLResponse(self.page, headers={"content-security-policy": self.policy})

    async def state(self, request: Request) -> Response:
        """Return recordings and runs, at once or as soon as there is news."""
        seen = request.query_params.get("seen", "")
        if seen.isdigit():
            await self.session.wait(int(seen), WAIT)
        state = self.session.state()
        if request.query_params.get("cards") == str(len(state["cards"])):  # they are there already
            del state["cards"]
        return JSONResponse(state)

    async def upload(self, request: Request) -> Response:
        """Take a file, as it comes, up to a size."""
        room = self.session.room()
        if int(request.headers.get("content-length") or 0) > room:
            return JSONResponse({"error": _too_large(room)}, 413, {"connection": "close"})
        recording = self.session.new_recording(safe_name(unquote(request.headers.get("x-name", ""))))
        folder = Path(recording["cwd"])
        try:
            async with await anyio.open_file(folder / recording["name"], "xb") as file:
                async for chunk in request.stream():
                    recording["size"] += len(chunk)
                    if recording["size"] > room:
                        raise InputError(_too_large(room))
                    await file.write(chunk)
        except (InputError, OSError, ClientDisconnect) as error:
            (folder / recording["name"]).unlink(missing_ok=True)
            folder.rmdir()
            return JSONResponse({"error": str(error) or "the upload was cut off"}, 413, {"connection": "close"})
        return JSONResponse(self.session.add(recording)["id"])

    async def do(self, request: Request) -> Response:
        """Do what the page asks for, with plain values."""
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_BYTES:
                raise InputError("the question is too long")
        try:
            given = json.loads(body or b"{}")
        except ValueError:
            raise InputError("the question is not JSON") from None
        action = ACTIONS.get(request.path_params["action"])
        if action is None or not isinstance(given, dict):
            return PlainTextResponse("not found", 404)
        return JSONResponse(await action(self.session, given))

    async def report(self, request: Request) -> Response:
        """Return the page of a run, as it stands in its results."""
        return _shown(self.session.result(request.path_params["run"], "report.html"))

    async def noted(self, request: Request) -> Response:
        """Return the page of a run with title and notes, to keep."""
        run, network = self._network(request)
        path = self.session.folder / "runs" / run["id"] / "noted.html"
        await self.session.ask("page", network=network, path=str(path), title=run["shown"], notes=run["notes"])
        return FileResponse(path, filename=f"{run['title']}.html")

    async def zipped(self, request: Request) -> Response:
        """Return the folder of a run."""
        key = request.path_params["run"]
        path = await anyio.to_thread.run_sync(self.session.zipped, key)
        name = f"{self.session.run(key)['folder']}.zip"
        return FileResponse(path, filename=name, media_type="application/zip", background=BackgroundTask(path.unlink))

    async def picture(self, request: Request) -> Response:
        """Return a picture of a network."""
        run, network = self._network(request)
        kind, ending = request.path_params["kind"], request.path_params["ending"]
        theme = "dark" if request.query_params.get("theme") == "dark" else "light"
        if kind not in KINDS or ending not in FORMATS:
            return PlainTextResponse("not found", 404)
        path = self.session.folder / "runs" / run["id"] / f"{kind}-{theme}.{ending}"
        if not path.exists():
            await self.session.ask("picture", network=network, path=str(path), kind=kind, theme=theme)
        name = f"{run['title']}-{kind}.{ending}" if request.query_params.get("save") else None
        return FileResponse(path, media_type=FORMATS[ending], filename=name)

    async def several(self, request: Request) -> Response:
        """Return the page of several networks, side by side."""
        keys = request.query_params.getlist("run")[:12]
        networks = {self.session.run(key)["title"]: str(self.session.result(key, "network.json")) for key in keys}
        if len(networks) < 2:
            raise InputError("choose two finished runs or more")
        path = self.session.folder / "compared.html"
        await self.session.ask("several", networks=networks, path=str(path))
        return _shown(path)

    def _network(self, request: Request) -> tuple[dict[str, Any], str]:
        key = request.path_params["run"]
        return self.session.run(key), str(self.session.result(key, "network.json"))


def _too_large(room: int) -> str:
    told = f"files of up to {room / 2**20:,.0f} MB can be opened here"
    return f"{told}; type enmesh open FILE to open a larger one where it is, or thin it"


def _shown(path: Path) -> Response:
    """Return a page that we wrote, which may run its own scripts and ask for nothing."""
    text = path.read_text(encoding="utf-8")
    policy = f"default-src 'none'; script-src {hashes(text, 'script')}; style-src 'unsafe-inline'; img-src data:"
    policy += "; sandbox allow-scripts allow-downloads allow-modals; frame-ancestors 'self'"
    return HTMLResponse(text, headers={"content-security-policy": policy})


# --- what the page asks for: the session and plain values, to a plain answer ---------------------------------------


async def _example(session: Session, given: dict[str, Any]) -> Any:
    if given.get("name") not in datasets.names():
        raise InputError("there is no such example")
    return (await session.example(given["name"]))["id"]


async def _run(session: Session, given: dict[str, Any]) -> Any:
    values, one = form.checked(given.get("values", {})), session.recording(given.get("recording"))
    return session.start(one, values, form.command_of(form.words_of(one["file"], values)))["id"]


async def _resume(session: Session, given: dict[str, Any]) -> Any:
    session.resume(given.get("run"))


async def _note(session: Session, given: dict[str, Any]) -> Any:
    run = session.run(given.get("run"))
    run["notes"], run["shown"] = (str(given.get(key, ""))[:20_000] for key in ("notes", "title"))
    session.changed()


async def _keep(session: Session, given: dict[str, Any]) -> Any:
    session.keep = bool(given.get("keep"))
    session.changed()


ACTIONS: dict[str, Callable[[Session, dict[str, Any]], Awaitable[Any]]] = {
    "look": lambda session, given: session.look(given.get("recording"), form.checked(given.get("values", {}))),
    "cost": lambda session, given: session.cost(given.get("recording"), form.checked(given.get("values", {}))),
    "remove": lambda session, given: session.remove(given.get("recording")),
    "cancel": lambda session, given: session.cancel(given.get("run")),
    "whatif": lambda session, given: session.of_run("whatif", given.get("run"), given),
    "power": lambda session, given: session.of_run("power", given.get("run"), given),
    "example": _example, "run": _run, "resume": _resume, "note": _note, "keep": _keep,
}  # fmt: skip


async def _refused(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 400)


def application(session: Session, host: str = "127.0.0.1") -> Any:
    """Return the page as an application; ``session.port`` is where it is asked."""
    pages = Pages(session)
    routes = [
        Route("/", pages.show),
        Route("/state", pages.state),
        Route("/upload", pages.upload, methods=["POST"]),
        Route("/do/{action}", pages.do, methods=["POST"]),
        Route("/several", pages.several),
        Route("/runs/{run}/report", pages.report),
        Route("/runs/{run}/noted", pages.noted),
        Route("/runs/{run}/results.zip", pages.zipped),
        Route("/runs/{run}/{kind}.{ending}", pages.picture),
    ]
    app = Starlette(routes=routes, exception_handlers={InputError: _refused})
    hosts = {"127.0.0.1", "localhost", "[::1]", host}
    return Guard(app, session.token, hosts, lambda: session.port, network=not is_local(host))


def is_local(host: str) -> bool:
    """Say whether a host is this machine alone.

    >>> is_local("localhost"), is_local("0.0.0.0")
    (True, False)
    """
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def address(session: Session, host: str) -> str:
    """Return where the page is."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{session.port}/{quote(session.token)}/"
