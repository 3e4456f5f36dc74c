"""The HTTP server: an index, reports, live pages and their state. GET only, no files by path, nothing cached.

Only this machine may read, or whoever has the token. A page of another site, opened in the same browser, can send
requests to a local port and, by a name of its own that resolves to loopback (DNS rebinding), could read the answers.
So the host that a request names must be one of ours.

A report that came with a run from elsewhere may hold any script: each is shown in a sandbox, an origin of its own, from
which nothing else that is served here can be read.

Python's own server is enough for a few readers on one machine, and brings no dependency along beside a measurement.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote, unquote_to_bytes, urlsplit

from tidegauge import store
from tidegauge.errors import RunFailedError, TidegaugeError, printable
from tidegauge.live.state import RunFollower
from tidegauge.regular import is_regular, read_regular
from tidegauge.report.html.index_rows import index_row
from tidegauge.report.html.page import index_page, live_page, report_page

COOKIE = "tidegauge-token"
REPORT_BYTES_MAX = 256 << 20
REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'"
)
"""What a report may do, whoever wrote it: run its script on itself."""
THREADS_MAX = 64
REQUEST_S_MAX = 20.0
"""How long all of a request may take: whoever sends it byte by byte must not keep others out."""


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

    def is_permitted(self, query_token: str, cookie_header: str) -> bool:
        """Whether the token in the address or the cookie is the right one, or none is needed."""
        if not self.token:
            return True
        token_offered = query_token or _token_in_cookie(cookie_header)
        return hmac.compare_digest(token_offered.encode(), self.token.encode())


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def _token_in_cookie(header: str) -> str:
    try:
        morsel = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return morsel.value if morsel else ""


class HttpAnswer(NamedTuple):
    """What is sent. `policy`: a Content-Security-Policy beside the page's own, "" without one."""

    status: HTTPStatus
    kind: str
    body: bytes
    policy: str = ""


class Pages:
    """What is served of a directory of runs. Names are looked up among the runs there are, never joined to paths."""

    def __init__(self, runs_directory: Path) -> None:
        self._runs = runs_directory
        self._followers: dict[str, RunFollower] = {}
        self._drawing = threading.Lock()

    def answer(self, path: str) -> HttpAnswer:
        """The answer to a GET of this path."""
        parts = [os.fsdecode(unquote_to_bytes(part)) for part in path.split("/") if part]
        if not parts:
            rows = []
            for stored in reversed(store.list_runs(self._runs)):
                kind = "live" if stored.status == "running" else "report"
                rows.append(index_row(stored, f"/{kind}/{_quote_run_name(stored.path)}"))
            return _html_answer(index_page(rows))
        kinds: dict[str, Callable[[Path], HttpAnswer]] = {
            "live": lambda run: _html_answer(live_page(run.name, _quote_run_name(run))),
            "report": self._report_answer,
            "state": self._state_answer,
        }
        if len(parts) == 3 and parts[0] == "state" and (run := self._find_run(parts[1])) is not None:
            return self._state_answer(run, parts[2])
        run = self._find_run(parts[1]) if len(parts) == 2 and parts[0] in kinds else None
        if run is not None:
            return kinds[parts[0]](run)
        return _refusal_answer(HTTPStatus.NOT_FOUND, "There is no such page.")

    def _find_run(self, name: str) -> Path | None:
        return next((path for path in store.run_directories(self._runs) if path.name == name), None)

    def _report_answer(self, run: Path) -> HttpAnswer:
        report_file = run / store.REPORT_NAME
        if is_regular(report_file):
            return HttpAnswer(HTTPStatus.OK, HTML, read_regular(report_file, REPORT_BYTES_MAX), REPORT_POLICY)
        with self._drawing:  # matplotlib's settings belong to the whole process.
            stored = store.load_run(run)
            return _html_answer(report_page(stored, store.details_of(stored)), REPORT_POLICY)

    def _state_answer(self, run: Path, trial_id: str = "") -> HttpAnswer:
        state = self._followers.setdefault(run.name, RunFollower(run)).state(trial_id)
        return HttpAnswer(HTTPStatus.OK, "application/json", json.dumps(state, allow_nan=False).encode())


HTML = "text/html; charset=utf-8"


def _html_answer(text: str, policy: str = "") -> HttpAnswer:
    return HttpAnswer(HTTPStatus.OK, HTML, text.encode("utf-8", "replace"), policy)


def _refusal_answer(status: HTTPStatus, text: str) -> HttpAnswer:
    return HttpAnswer(status, "text/plain; charset=utf-8", printable(text).encode("utf-8", "replace"))


def _quote_run_name(run: Path) -> str:
    """The name of a run as part of an address, whatever bytes it has."""
    return quote(os.fsencode(run.name), safe="")


_ANY = ("", "0.0.0.0", "::")
"""Addresses to listen on that mean every one of this machine's."""
_ELSEWHERE = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
"""Addresses reserved for documentation (RFC 5737, RFC 3849): nobody has them."""


def reachable_address(address: str) -> str:
    """The address to give to readers; where all of this machine's are meant, the one by which it reaches others."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    if address in _ANY:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((_ELSEWHERE[family], 9))  # Nothing is sent.
                address = str(probe.getsockname()[0])
            except OSError:
                address = "::1" if family == socket.AF_INET6 else "127.0.0.1"
    return f"[{address}]" if ":" in address else address


class LiveServer:
    """A server that is up; its threads end with the process."""

    def __init__(self, runs_directory: Path, address: str, port: int, token: str = "") -> None:
        """Raises `RunFailedError` if it can't listen there."""
        access, pages = Access(address, token), Pages(runs_directory)
        handler = type("Handler", (_Handler,), {"access": access, "pages": pages})
        try:
            self._server = _Server(address, port, handler)
        except OSError as error:
            raise RunFailedError(
                f"The page can't be served on {address} port {port}: {error.strerror or error}.",
                "Choose another with --port, or 0 for any that is free.",
            ) from error
        self.port = int(self._server.server_address[1])
        self._root = f"http://{reachable_address(address)}:{self.port}"
        self._token = token

    def url(self, path: str = "/") -> str:
        """The address of a page, with the token where one is needed."""
        return f"{self._root}{path}" + (f"?token={quote(self._token)}" if self._token else "")

    def live_url(self, run: Path) -> str:
        """The address of the live page of a run."""
        return self.url(f"/live/{_quote_run_name(run)}")

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
    """A thread for each connection, of which there is a bound, as there is for how long each may take to ask."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: str, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._free = threading.BoundedSemaphore(THREADS_MAX)
        self._asking: dict[socket.socket, float] = {}
        super().__init__((address, port), handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Begin with a connection as soon as a thread is free."""
        while not self._free.acquire(timeout=0.5):
            self.service_actions()
        self._asking[request] = time.monotonic() + REQUEST_S_MAX
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one connection to its end."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._asking.pop(request, None)
            self._free.release()

    def asked(self, request: Any) -> None:
        """A connection has sent its request: the answer may take what it takes."""
        self._asking.pop(request, None)

    def service_actions(self) -> None:
        """End connections that take too long to ask."""
        now_s = time.monotonic()
        for connection, until_s in list(self._asking.items()):
            if now_s > until_s:
                self._asking.pop(connection, None)
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Readers come and go; nothing is printed beside a run."""


class _Handler(BaseHTTPRequestHandler):
    access: Access
    pages: Pages
    server: _Server
    timeout = 10
    server_version = "Tidegauge"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer a request; there is no other kind."""
        self.server.asked(self.connection)
        address = urlsplit(self.path)
        query_token = parse_qs(address.query).get("token", [""])[0]
        problem = self.access.host_problem(self.headers.get("Host", ""))
        if problem:
            self._send_answer(_refusal_answer(HTTPStatus.FORBIDDEN, problem))
        elif not self.access.is_permitted(query_token, self.headers.get("Cookie", "")):
            self._send_answer(
                _refusal_answer(HTTPStatus.FORBIDDEN, "A token is needed: use the whole address that was printed.")
            )
        else:
            self._send_answer(self._answer_of_path(address.path), query_token)

    def _answer_of_path(self, path: str) -> HttpAnswer:
        try:
            return self.pages.answer(path)
        except TidegaugeError as error:
            return _refusal_answer(HTTPStatus.NOT_FOUND, error.message)
        except OSError as error:
            reason = f"The run's directory can't be read: {error.strerror}."
            return _refusal_answer(HTTPStatus.INTERNAL_SERVER_ERROR, reason)
        except Exception as error:
            # Of one page; the others are not touched by it.
            reason = f"This page can't be made: Tidegauge itself failed ({type(error).__name__}: {error})."
            return _refusal_answer(HTTPStatus.INTERNAL_SERVER_ERROR, reason)

    def _send_answer(self, answer: HttpAnswer, token: str = "") -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.body)))
        if answer.policy:
            self.send_header("Content-Security-Policy", answer.policy)
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Referrer-Policy", "no-referrer")
        if token and self.access.token:
            self.send_header("Set-Cookie", f"{COOKIE}={quote(token)}; HttpOnly; SameSite=Strict; Path=/")
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed beside a run."""
