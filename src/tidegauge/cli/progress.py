"""Shows a run while it goes: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live

from tidegauge.cli.output import Output
from tidegauge.model.events import Event
from tidegauge.report.live import LiveState, advance, lasting, live_view, plain_lines

DRAWN_PER_S = 2.0
"""Drawing costs CPU on the host that is measured."""


class Progress:
    """An observer of a run. May be called from any thread; never raises because of its output."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._state = LiveState()
        self._lock = threading.Lock()
        self._live: Live | None = None

    def __call__(self, event: Event) -> None:
        """Take in an event and show it."""
        now_s = time.monotonic()
        with self._lock:
            before, self._state = self._state, advance(self._state, event, now_s)
        if self._live is None or lasting(event):
            for line in plain_lines(before, event, now_s):
                self._out.say(line)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The live view of this moment."""
        with self._lock:
            state = self._state
        yield live_view(state, time.monotonic())

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """While in this block, draw the live view if the output is a terminal."""
        console = self._out.progress
        if not console.is_terminal or console.is_dumb_terminal:
            yield
            return
        live = Live(
            self,
            console=console,
            refresh_per_second=DRAWN_PER_S,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        try:
            with contextlib.suppress(OSError):
                live.start()
                self._live = live
            yield
        finally:
            self._live = None
            with contextlib.suppress(OSError, ValueError):
                live.stop()
