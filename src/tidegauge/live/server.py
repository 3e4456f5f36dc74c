"""The HTTP server: an index, reports, live pages and their state. GET only, no files by path, nothing cached.

Only this machine may read, or whoever has the token. A page of another site, opened in the same browser, can send
requests to a local port and, by a name of its own that resolves to loopback (DNS rebinding), could read the answers.
So the host that a request names must be one of ours.

Python's own server is enough for a few readers on one machine, and brings no dependency along beside a measurement.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import threading
from dataclasses import dataclass
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from tidegauge import store
from tidegauge.errors import RunFailedError, TidegaugeError
from tidegauge.live.state import Follower
from tidegauge.report.html.page import index_page, index_row, live_page, report_page

COOKIE = "tidegauge-token"


@dataclass(frozen=True)
class Access:
    """`address` is what the server is bound to; `token` "" = none is needed, which only loopback allows."""

    address: str
    token: str

    def host_problem(self, host_header: str) -> str:
        """Why a request with this Host header is refused; "" if it is not. With a token the name does not matter."""
        if self.token:
            return ""
        name = host_header.rsplit(":", 1)[0] if host_header.rpartition(":")[2].isdigit() else host_header
        if name.strip("[]").lower() in ("localhost", "127.0.0.1", "::1", self.address):
            return ""
        return f"This page is for this machine; '{name}' is not one of its names."

    def permitted(self, query_token: str, cookie_header: str) -> bool:
        """Whether the token in the address or the cookie is the right one, or none is needed."""
        if not self.token:
            return True
        given = query_token or _cookie(cookie_header)
        return hmac.compare_digest(given.encode(), self.token.encode())


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def _cookie(header: str) -> str:
    try:
        morsel = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return morsel.value if morsel else ""


Answer = tuple[HTTPStatus, str, bytes]


class Pages:
    """What is served of a directory of runs. Names are looked up among the runs there are, never joined to paths."""

    def __init__(self, runs_directory: Path) -> None:
        self._runs = runs_directory
        self._followers: dict[str, Follower] = {}
        self._drawing = threading.Lock()

    def answer(self, path: str) -> Answer:
        """The answer to a GET of this path."""
        parts = [unquote(part) for part in path.split("/") if part]
        if not parts:
            return _html(self._index())
        kinds = {"live": self._live, "report": self._report, "state": self._state}
        run = self._path(parts[1]) if len(parts) == 2 and parts[0] in kinds else None
        if run is not None:
            return kinds[parts[0]](run)
        return _refusal(HTTPStatus.NOT_FOUND, "There is no such page.")

    def _path(self, name: str) -> Path | None:
        return next((path for path in store.run_directories(self._runs) if path.name == name), None)

    def _index(self) -> str:
        rows = []
        for run in reversed(store.list_runs(self._runs)):
            kind = "live" if run.status == "running" else "report"
            rows.append(index_row(run, f"/{kind}/{quote(run.path.name, safe='')}"))
        return index_page(rows)

    def _live(self, run: Path) -> Answer:
        return _html(live_page(run.name, quote(run.name, safe="")))

    def _report(self, run: Path) -> Answer:
        written = run / store.REPORT_NAME
        if written.is_file():
            return HTTPStatus.OK, "text/html; charset=utf-8", written.read_bytes()
        with self._drawing:  # matplotlib's settings belong to the whole process.
            stored = store.load_run(run)
            return _html(report_page(stored, store.details_of(stored)))

    def _state(self, run: Path) -> Answer:
        state = self._followers.setdefault(run.name, Follower(run)).state()
        return HTTPStatus.OK, "application/json", json.dumps(state, allow_nan=False).encode()


def _html(text: str) -> Answer:
    return HTTPStatus.OK, "text/html; charset=utf-8", text.encode()


def _refusal(status: HTTPStatus, text: str) -> Answer:
    return status, "text/plain; charset=utf-8", text.encode()


class LiveServer:
    """A server that is up; its threads end with the process."""

    def __init__(self, runs_directory: Path, address: str, port: int, token: str = "") -> None:
        """Raises `RunFailedError` if it can't listen there."""
        access, pages = Access(address, token), Pages(runs_directory)
        handler = type("Handler", (_Handler,), {"access": access, "pages": pages})
        try:
            self._server = _Server((address, port), handler)
        except OSError as error:
            raise RunFailedError(
                f"The page can't be served on {address} port {port}: {error.strerror or error}.",
                "Choose another with --port, or 0 for any that is free.",
            ) from error
        self.port = int(self._server.server_address[1])
        host = f"[{address}]" if ":" in address else address
        self._root = f"http://{host}:{self.port}"
        self._token = token

    def url(self, path: str = "/") -> str:
        """The address of a page, with the token where one is needed."""
        return f"{self._root}{path}" + (f"?token={quote(self._token)}" if self._token else "")

    def live_url(self, run: Path) -> str:
        """The address of the live page of a run."""
        return self.url(f"/live/{quote(run.name, safe='')}")

    def start(self) -> None:
        """Serve in a thread of its own."""
        threading.Thread(target=self._server.serve_forever, name="live-page", daemon=True).start()

    def serve(self) -> None:
        """Serve until interrupted."""
        self._server.serve_forever()

    def close(self) -> None:
        """Stop listening. Only after `start`, or when `serve` has returned."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Readers come and go; nothing is printed beside a run."""


class _Handler(BaseHTTPRequestHandler):
    access: Access
    pages: Pages
    timeout = 10
    server_version = "Tidegauge"
    sys_version = ""

    def do_GET(self) -> None:
        """Every request that there is."""
        address = urlsplit(self.path)
        query_token = parse_qs(address.query).get("token", [""])[0]
        problem = self.access.host_problem(self.headers.get("Host", ""))
        if problem:
            self._send(_refusal(HTTPStatus.FORBIDDEN, problem))
        elif not self.access.permitted(query_token, self.headers.get("Cookie", "")):
            self._send(_refusal(HTTPStatus.FORBIDDEN, "A token is needed: use the whole address that was printed."))
        else:
            self._send(self._answer(address.path), query_token)

    def _answer(self, path: str) -> Answer:
        try:
            return self.pages.answer(path)
        except TidegaugeError as error:
            return _refusal(HTTPStatus.NOT_FOUND, error.message)
        except OSError as error:
            return _refusal(HTTPStatus.INTERNAL_SERVER_ERROR, f"The run's directory can't be read: {error.strerror}.")

    def _send(self, answer: Answer, token: str = "") -> None:
        status, kind, body = answer
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Referrer-Policy", "no-referrer")
        if token and self.access.token:
            self.send_header("Set-Cookie", f"{COOKIE}={quote(token)}; HttpOnly; SameSite=Strict; Path=/")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed beside a run."""
