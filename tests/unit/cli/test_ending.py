from __future__ import annotations

import os
import signal

import pytest

from tidegauge.cli.ending import SAME_PRESS_S, interruptible


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_first_signal_raises(number: signal.Signals) -> None:
    with pytest.raises(KeyboardInterrupt) as caught, interruptible():
        os.kill(os.getpid(), number)
    assert str(caught.value) == number.name


def test_only_the_first_signal_is_announced() -> None:
    said: list[str] = []

    def announce() -> None:
        said.append("stopping")
        raise OSError("nobody reads")

    with pytest.raises(KeyboardInterrupt), interruptible(announce):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os.kill(os.getpid(), signal.SIGHUP)
    assert said == ["stopping"]


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with interruptible():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


def signals_while_unwinding(*numbers: int, after_s: float) -> list[int]:
    """Which signals ended the process at once while it was unwinding from a first one."""
    left: list[int] = []
    clock = Clock()
    with pytest.raises(KeyboardInterrupt), interruptible(leave_now=left.append, clock_s=clock):
        try:
            os.kill(os.getpid(), signal.SIGINT)
        finally:
            clock.now_s = after_s
            for number in numbers:
                os.kill(os.getpid(), number)
    return left


def test_the_same_press_twice_unwinds_on() -> None:
    assert signals_while_unwinding(signal.SIGINT, signal.SIGTERM, after_s=SAME_PRESS_S / 2) == []


def test_a_second_press_ends_at_once() -> None:
    assert signals_while_unwinding(signal.SIGINT, after_s=SAME_PRESS_S * 2) == [signal.SIGINT]
    assert signals_while_unwinding(signal.SIGTERM, after_s=SAME_PRESS_S * 2) == [signal.SIGTERM]


def test_a_closed_terminal_does_not_hurry() -> None:
    assert signals_while_unwinding(signal.SIGHUP, after_s=SAME_PRESS_S * 2) == []
