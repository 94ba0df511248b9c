"""A web server for one person on one machine: it reads, answers GET and HEAD, and nobody else's page may ask it.

It listens on 127.0.0.1 only. Pages of other sites can still send requests there from the same browser, so the Host
header must name this machine (a foreign name that was made to point here is refused: DNS rebinding), and the browser's
own word on where a request comes from is heard. What is asked for is looked up in the list of runs, never on disk.
"""

import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote_to_bytes, urlsplit

from fairflac.errors import UserError
from fairflac.serving.listing import RunLine
from fairflac.serving.pages import MOST, Pages, asset

HOST, PORT = "127.0.0.1", 8421
HTML, CSS, JS, TEXT = (f"text/{kind}; charset=utf-8" for kind in ("html", "css", "javascript", "plain"))
# A report page says itself which script it has; these rules cannot be said in a page.
FRAMES = "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
POLICY = f"default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; {FRAMES}"
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True)
class Reply:
    """An answer without its envelope."""

    text: str
    kind: str = HTML
    status: HTTPStatus = HTTPStatus.OK
    policy: str = POLICY


class Refusal(Exception):
    """A request that gets nothing but a line."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status, self.text = status, text


class Server(ThreadingHTTPServer):
    """The pages of one folder, at `address`."""

    daemon_threads = True  # who still waits for a page does not keep the program from ending

    def __init__(self, root: Path, port: int | None = None) -> None:
        self.pages = Pages(root)
        try:
            super().__init__((HOST, PORT if port is None else port), Handler)
        except (OSError, OverflowError) as error:
            if port is not None:
                raise UserError(
                    f"port {port} cannot be used: it is taken or reserved; port 0 takes a free one"
                ) from error
            super().__init__((HOST, 0), Handler)  # nobody asked for the usual one
        self.hosts = {f"{name}:{self.server_port}" for name in (HOST, "localhost")}
        if self.server_port == 80:
            self.hosts |= {HOST, "localhost"}

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.server_port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that hangs up is no event."""

    @contextmanager
    def running(self) -> Iterator[None]:
        """Answers in the background until the block ends."""
        thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.shutdown()
            self.server_close()
            thread.join()


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server
    timeout = 30  # seconds for a request to arrive

    def do_GET(self) -> None:
        self._answer(self._reply())

    do_HEAD = do_GET  # noqa: N815

    def _refuse_method(self) -> None:
        self._answer(Reply("only GET and HEAD: nothing can be changed here\n", TEXT, HTTPStatus.METHOD_NOT_ALLOWED))

    do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_TRACE = do_CONNECT = _refuse_method  # noqa: N815

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the library refuses by itself: a request that is none."""
        self._answer(Reply(f"{HTTPStatus(code).phrase}\n", TEXT, HTTPStatus(code)))

    def version_string(self) -> str:
        return "fairflac"

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are nobody's business."""

    def _answer(self, reply: Reply) -> None:
        body = reply.text.encode(errors="backslashreplace")
        self.send_response(reply.status)
        headers = {**HEADERS, "Content-Type": reply.kind, "Content-Length": str(len(body))}
        headers["Content-Security-Policy"] = reply.policy
        if reply.status is HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = "GET, HEAD"
        for name, value in headers.items():
            self.send_header(name, value)
        with suppress(ConnectionError):
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    def _reply(self) -> Reply:
        try:
            self._check_origin()
            return self._page()
        except Refusal as refused:
            return Reply(f"{refused.text}\n", TEXT, refused.status)
        except UserError as error:
            return self._message(HTTPStatus.CONFLICT, "This page cannot be made", str(error))
        except OSError:  # a run that was deleted meanwhile
            return self._message(HTTPStatus.NOT_FOUND, "It is gone", "The files of this run are not there any more.")
        except Exception:  # a fault of ours: it is told where the server was started, and the other pages stay
            traceback.print_exc()
            return Reply("this page failed: see what the server said\n", TEXT, HTTPStatus.INTERNAL_SERVER_ERROR)

    def _check_origin(self) -> None:
        """Refuse whatever another site may have sent."""
        if self.headers.get_all("Host", []) not in [[host] for host in self.server.hosts]:
            raise Refusal(HTTPStatus.MISDIRECTED_REQUEST, f"this server is {self.server.address} and nothing else")
        if not self.path.startswith("/") or self.path.startswith("//"):
            raise Refusal(HTTPStatus.BAD_REQUEST, "no such address")
        origin = self.headers.get("Origin")
        own = origin is None or origin in {f"http://{host}" for host in self.server.hosts}
        followed = self.path == "/" and self.headers.get("Sec-Fetch-Mode") == "navigate"  # a link to the list
        if not own or (self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin") and not followed):
            raise Refusal(HTTPStatus.FORBIDDEN, "asked for by another site")

    def _page(self) -> Reply:
        address, pages = urlsplit(self.path), self.server.pages
        plain: dict[str, Callable[[], Reply]] = {
            "/": lambda: Reply(pages.overview()),
            "/rows": lambda: Reply(pages.overview("rows.html")),
            "/compare": lambda: self._compare(parse_qs(address.query).get("run", [])),
            "/serve.css": lambda: Reply(asset("serve.css"), CSS),
            "/serve.js": lambda: Reply(asset("serve.js"), JS),
        }
        if address.path in plain:
            return plain[address.path]()
        kind, _, place = address.path[1:].partition("/")
        of_run: dict[str, Callable[[RunLine], Reply]] = {
            "run": lambda line: Reply(pages.run(line)),
            "curves": lambda line: Reply(pages.run(line, "curves.html")),
            "report": lambda line: self._report([line]),
        }
        line = pages.catalogue.find(quote(unquote_to_bytes(place))) if kind in of_run else None
        if line is None:
            return self._message(
                HTTPStatus.NOT_FOUND, "Nothing here", "There is no such page, or no such run any more."
            )
        return of_run[kind](line)

    def _compare(self, places: list[str]) -> Reply:
        found = [self.server.pages.catalogue.find(place) for place in dict.fromkeys(places)]
        lines = [line for line in found if line is not None]
        if len(lines) < len(found):
            return self._message(HTTPStatus.NOT_FOUND, "Nothing here", "One of these runs is not there any more.")
        if not 2 <= len(lines) <= MOST:
            text = f"Choose two runs or more in the list, {MOST} at most."
            return self._message(HTTPStatus.BAD_REQUEST, "Which runs?", text)
        return self._report(lines)

    def _report(self, lines: list[RunLine]) -> Reply:
        for line in lines:
            if not line.comparable:
                text = f"{line.place}: {line.state}, {line.role}. A report is about finished models of the classes."
                return self._message(HTTPStatus.CONFLICT, "There is no report of this run", text)
        return Reply(self.server.pages.report(lines), policy=FRAMES)

    def _message(self, status: HTTPStatus, title: str, text: str) -> Reply:
        return Reply(self.server.pages.message(title, text), status=status)
