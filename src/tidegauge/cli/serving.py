"""The live page from the command line: `tidegauge serve`, and `--live` of runs."""

from __future__ import annotations

import secrets
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tidegauge.cli.exit_codes import EXIT_GOOD
from tidegauge.cli.output import Output
from tidegauge.errors import RunFailedError, UserError
from tidegauge.live.access import is_loopback

if TYPE_CHECKING:
    from tidegauge.live.server import LiveServer
    from tidegauge.model.events import Observer

LOOPBACK = "127.0.0.1"
_TOKEN_BYTES = 18


def serve(runs_directory: Path, bind: str, port: int, out: Output) -> int:
    """Serve until interrupted, which is how it is meant to end. Raises `UserError`, `RunFailedError`."""
    from tidegauge.live.server import LiveServer

    if not runs_directory.is_dir():
        raise UserError(f"There is no directory {runs_directory}.", "Start a run with `tidegauge quick`.")
    token = "" if is_loopback(bind) else secrets.token_urlsafe(_TOKEN_BYTES)
    server = LiveServer(runs_directory, bind, port, token)
    out.say(f"Runs in {runs_directory}: {server.url()}")
    if token:
        out.say("Whoever has this address can read them; the connection is not encrypted. Ctrl-C ends it.")
    with suppress(KeyboardInterrupt):
        server.serve()
    return EXIT_GOOD


@contextmanager
def live_page(wanted: bool, run: Path, out: Output) -> Iterator[None]:
    """The page of a run as long as it goes, if wanted. That it can't be served harms no run: it is told."""
    server = _started(run, out) if wanted else None
    try:
        yield
    finally:
        if server is not None:
            server.close()


@contextmanager
def prometheus(port: int | None, out: Output) -> Iterator[list[Observer]]:
    """The endpoint for Prometheus as long as a run goes, if a port was given. Raises `UserError`."""
    if port is None:
        yield []
        return
    from tidegauge.live.exporter import Exporter

    with Exporter(port) as exporter:
        out.say(f"Prometheus: {exporter.url}")
        yield [exporter]


def _started(run: Path, out: Output) -> LiveServer | None:
    from tidegauge.live.server import LiveServer

    try:
        server = LiveServer(run.parent, LOOPBACK, 0)
    except RunFailedError as error:
        out.alert(f"No live page: {error.message}")
        return None
    server.start()
    out.say(f"Live: {server.live_url(run)}")
    if sys.stdout.isatty():
        with suppress(webbrowser.Error, OSError):
            webbrowser.get()  # Raises where there is none, as over SSH.
            webbrowser.open(server.live_url(run))
    return server
