"""Pauses of a Java server's garbage collector, from the log that it writes of them as they end.

A line a collection costs nothing; the JVM's shared performance file, which would tell as well, can stall its collector,
and asking by JMX or attaching would run code in it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

_PAUSE = re.compile(rb"\bPause [^\n]*? ([0-9]+(?:\.[0-9]+)?)ms\s*$", re.MULTILINE)
_READ_BYTES_MAX = 1 << 20


@dataclass(frozen=True)
class Pauses:
    """All pauses that ended in a span, together, and the longest."""

    total_s: float = 0.0
    longest_s: float = 0.0


def parse_pauses(text: bytes) -> Pauses:
    """Of whole lines: "[1.234s][gc] GC(5) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 1.234ms". Pure."""
    found = [float(match) / 1e3 for match in _PAUSE.findall(text)]
    return Pauses(sum(found), max(found, default=0.0))


class GcLog:
    """Follows one log. A log that was rotated or begun anew is read from its start."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._inode = 0
        self._offset = 0
        self._begun = b""

    def new_pauses(self) -> Pauses | None:
        """Those that were logged since the last call; None while there is no log."""
        try:
            with self._path.open("rb") as file:
                status = os.fstat(file.fileno())
                if status.st_ino != self._inode or status.st_size < self._offset:
                    self._inode, self._offset, self._begun = status.st_ino, 0, b""
                if status.st_size == self._offset:
                    return Pauses()
                file.seek(self._offset)
                text = self._begun + file.read(_READ_BYTES_MAX)
                self._offset = file.tell()
        except OSError:
            return None
        whole, _, self._begun = text.rpartition(b"\n")
        return parse_pauses(whole)
