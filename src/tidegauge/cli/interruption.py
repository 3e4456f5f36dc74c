"""Ctrl-C, SIGTERM and a closed terminal: say at once what happens now, then let the clean-up run."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType

from tidegauge.fleet.signals import HANDLED, interruptible

Handler = Callable[[int, FrameType | None], object]
_SHOW_CURSOR = "\x1b[?25h"


@contextmanager
def announced_interruption(announce: Callable[[], None]) -> Iterator[None]:
    """`fleet.signals.interruptible`, but the first signal is announced before the stopping begins."""
    with interruptible(leave_now=_leave_now):
        said = False

        def handle(original: Handler, number: int, frame: FrameType | None) -> None:
            nonlocal said
            if not said:
                said = True
                with suppress(Exception):
                    announce()
            original(number, frame)

        for number in HANDLED:
            original = signal.getsignal(number)
            if callable(original):
                signal.signal(number, partial(handle, original))
        yield


def _leave_now(signal_number: int) -> None:
    """A second Ctrl-C: leave the terminal usable and end; the agent ends everything else."""
    with suppress(OSError):
        if sys.stdout.isatty():
            os.write(sys.stdout.fileno(), _SHOW_CURSOR.encode())
    os._exit(130)
