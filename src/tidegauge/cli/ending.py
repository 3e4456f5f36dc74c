"""How the command ends early: on Ctrl-C, a closed terminal, or a defect of its own."""

from __future__ import annotations

import os
import platform
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from tidegauge import __version__
from tidegauge.cli.output import command_line
from tidegauge.errors import RunFailedError, TidegaugeError
from tidegauge.store import write_crash_report


def error_of_crash(error: Exception, run_path: Path | None = None) -> TidegaugeError:
    """The error to show for an unexpected exception; its trace is kept in the run's directory or a temporary file."""
    trace = "".join(traceback.format_exception(error))
    head = f"tidegauge {__version__}, Python {platform.python_version()}, {platform.platform()}\n{command_line()}\n\n"
    crash_error = TidegaugeError(
        f"Tidegauge itself failed ({type(error).__name__}: {error}).",
        "This is a defect, not your mistake: please report it with the file below.",
        _keep_crash_report(head + trace, run_path),
    )
    crash_error.__cause__ = error
    return crash_error


def _keep_crash_report(text: str, run_path: Path | None) -> Path | None:
    """Keep a text in the run's directory, else in a temporary file; None where neither can be written."""
    if run_path is not None:
        with suppress(RunFailedError):
            return write_crash_report(run_path, text)
    with (
        suppress(OSError),
        tempfile.NamedTemporaryFile(
            "w", prefix="tidegauge-crash-", suffix=".txt", delete=False, errors="replace"
        ) as file,
    ):
        file.write(text)
        return Path(file.name)
    return None


HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SAME_PRESS_S = 1.0
"""One Ctrl-C can arrive twice: from the terminal, and forwarded by a parent such as make or uv."""
_SHOW_CURSOR = "\x1b[?25h"


def _leave_now(_signal_number: int) -> None:
    """End without unwinding, the terminal usable. The agent sees its pipe close and ends every process by force."""
    with suppress(OSError):
        if sys.stdout.isatty():
            os.write(sys.stdout.fileno(), _SHOW_CURSOR.encode())
    os._exit(130)


@contextmanager
def interruptible(
    announce: Callable[[], None] = lambda: None,
    leave_now: Callable[[int], None] = _leave_now,
    clock_s: Callable[[], float] = time.monotonic,
) -> Iterator[None]:
    """In this block SIGINT, SIGTERM and SIGHUP are announced and raise `KeyboardInterrupt` in the main thread, once.

    While that unwinds, further ones are ignored, except that a second SIGINT or SIGTERM more than `SAME_PRESS_S` after
    the first ends the process at once. Must be entered in the main thread.
    """
    first_s: float | None = None

    def handle(signal_number: int, _frame: FrameType | None) -> None:
        nonlocal first_s
        if first_s is None:
            first_s = clock_s()
            with suppress(Exception):
                announce()
            raise KeyboardInterrupt(signal.Signals(signal_number).name)
        # A closed terminal has nobody left who could be impatient.
        if signal_number != signal.SIGHUP and clock_s() - first_s > SAME_PRESS_S:
            leave_now(signal_number)

    before = {number: signal.signal(number, handle) for number in HANDLED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
