"""The few prctl(2) calls that Python does not offer. Linux only; numbers from `linux/prctl.h`."""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1
_PR_SET_TIMERSLACK = 29
_PR_SET_CHILD_SUBREAPER = 36

_libc = ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def become_subreaper() -> None:
    """Orphaned descendants become children of this process instead of init's. Raises `OSError`."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent_pid: int) -> None:
    """The kernel kills this process when its parent ends; has that ended already, it exits. Kept across exec, not fork.

    "Parent" is the thread that forked: only for parents with a single thread. Raises `OSError`.
    """
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:  # It ended before the line above took effect.
        os._exit(1)


def set_timer_slack(slack_ns: int) -> None:
    """Timer slack of the calling thread, in ns; inherited by its threads and kept across exec. Raises `OSError`."""
    _prctl(_PR_SET_TIMERSLACK, slack_ns)
