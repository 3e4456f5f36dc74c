"""How good this host's clock is: what the kernel says of it, and how finely and how cheaply it can be read."""

from __future__ import annotations

import ctypes
import re
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tidegauge.hosts.commands import call_libc
from tidegauge.hosts.storage import read_stripped_text

_READS = 20_000
_TIME_ERROR = 5
"""State that adjtimex(2) returns for a clock that nothing keeps in step."""
_STA_UNSYNC = 0x40

CLOCK_SOURCES = Path("sys/devices/system/clocksource/clocksource0")


@dataclass(frozen=True)
class ClockQuality:
    """The clocks of this host.

    Attributes:
        source: what the kernel reads time from: "tsc", "kvm-clock", "hpet"; "" if it does not say.
        available: the sources that it could use.
        synchronised: whether something (NTP, PTP, the hypervisor) keeps the wall clock in step; None if not known.
        error_ms_max: the kernel's own bound of the wall clock's error; None if not known. Without anything that keeps
            it in step the kernel lets it grow to 16 s and stops there.
        resolution_ns: of the monotonic clock, as the kernel states it.
        step_ns: the smallest step seen between two readings of it that differ.
        read_ns: what one reading costs, median, Python's own call included.
        tsc: flags of the CPU that make its counter fit for time: "constant_tsc", "nonstop_tsc"; () if it says none.
    """

    source: str
    available: tuple[str, ...]
    synchronised: bool | None
    error_ms_max: float | None
    resolution_ns: int
    step_ns: int
    read_ns: float
    tsc: tuple[str, ...]


def clock_quality(root: Path = Path("/")) -> ClockQuality:
    """Read and measure. Takes some 10 ms. Never raises."""
    state, timex = _read_adjtimex()
    synchronised = None if state < 0 else state != _TIME_ERROR and not timex.status & _STA_UNSYNC
    error_ms = None if state < 0 else timex.maxerror / 1e3
    # Smallest step and median cost of a reading, ns.
    clock = time.perf_counter_ns
    readings = [clock() for _ in range(_READS)]
    steps = sorted(after - before for before, after in pairwise(readings))
    step_ns, read_ns = (next((step for step in steps if step > 0), 0), float(steps[len(steps) // 2]))
    flags = re.search(r"^flags\s*:\s*(.*)$", read_stripped_text(root / "proc/cpuinfo"), re.MULTILINE)
    present = flags.group(1).split() if flags else []
    return ClockQuality(
        source=read_stripped_text(root / CLOCK_SOURCES / "current_clocksource"),
        available=tuple(read_stripped_text(root / CLOCK_SOURCES / "available_clocksource").split()),
        synchronised=synchronised,
        error_ms_max=error_ms,
        resolution_ns=round(time.clock_getres(time.CLOCK_MONOTONIC) * 1e9),
        step_ns=step_ns,
        read_ns=read_ns,
        tsc=tuple(flag for flag in ("constant_tsc", "nonstop_tsc", "tsc_reliable") if flag in present),
    )


class _Timex(ctypes.Structure):
    """`struct timex` of adjtimex(2), as far as it is read; the rest is room."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("constant", ctypes.c_long),
        ("precision", ctypes.c_long),
        ("tolerance", ctypes.c_long),
        ("time", ctypes.c_long * 2),
        ("tick", ctypes.c_long),
        ("room", ctypes.c_char * 256),
    )


_TICK_US = 10_000
_PPM_OF_TICK_US = 100
_STA_NANO = 0x2000
_SHIFT_PLL = 2


def slew_ppm() -> float:
    """By how much the kernel lets its clocks, the monotonic one too, run faster or slower now, to set them.

    By a longer tick (as chrony does) or by its own loop (kernel/time/ntp.c, `ntp_update_offset`). The correction of a
    clock's usual error does not count, nor does what adjtime(3) is asked for. 0 where the kernel does not say. Never
    raises.
    """
    _, timex = _read_adjtimex()
    offset_us = abs(timex.offset) / (1000 if timex.status & _STA_NANO else 1)
    # Each second so much of what is left is corrected.
    loop_ppm = offset_us / 2.0 ** (_SHIFT_PLL + timex.constant)
    tick_ppm = abs(timex.tick - _TICK_US) * _PPM_OF_TICK_US if timex.tick else 0
    return float(max(loop_ppm, tick_ppm))


def namespace_shift_ns(root: Path = Path("/")) -> int:
    """How far the monotonic clock of this process is ahead of the kernel's own: of its time namespace, else 0.

    Source: time_namespaces(7). Never raises.
    """
    offsets = read_stripped_text(root / "proc/self/timens_offsets")
    match = re.search(r"^(?:monotonic|1)\s+(-?\d+)\s+(-?\d+)$", offsets, re.MULTILINE)
    return int(match[1]) * 1_000_000_000 + int(match[2]) if match else 0


def _read_adjtimex() -> tuple[int, _Timex]:
    """The answer of adjtimex(2), negative if there is none, and what it filled in; changes nothing."""
    timex = _Timex()
    try:
        return call_libc("adjtimex", ctypes.byref(timex)), timex
    except (OSError, AttributeError):
        return -1, timex
