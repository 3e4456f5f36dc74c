"""Turning signals into an exception once, so that servers are stopped in order; a second Ctrl-C ends at once."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SAME_PRESS_S = 1.0
"""One Ctrl-C can arrive twice: from the terminal, and forwarded by a parent such as make or uv."""


class Interrupted(KeyboardInterrupt):
    """The user, or the system, wants us to end. `signal_number` says how."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(signal.Signals(signal_number).name)
        self.signal_number = signal_number


def _leave_now(signal_number: int) -> None:
    """End without unwinding. The agent sees its pipe close and ends every process by force."""
    os._exit(128 + signal_number)


@contextmanager
def interruptible(
    leave_now: Callable[[int], None] = _leave_now, clock_s: Callable[[], float] = time.monotonic
) -> Iterator[None]:
    """In this block SIGINT, SIGTERM and SIGHUP raise `Interrupted` in the main thread, once.

    While that unwinds, further ones are ignored, except that a second SIGINT or SIGTERM more than `SAME_PRESS_S` after
    the first ends the process at once. Must be entered in the main thread.
    """
    first_s: float | None = None

    def handle(signal_number: int, _frame: FrameType | None) -> None:
        nonlocal first_s
        if first_s is None:
            first_s = clock_s()
            raise Interrupted(signal_number)
        # A closed terminal has nobody left who could be impatient.
        if signal_number != signal.SIGHUP and clock_s() - first_s > SAME_PRESS_S:
            leave_now(signal_number)

    before = {number: signal.signal(number, handle) for number in HANDLED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
