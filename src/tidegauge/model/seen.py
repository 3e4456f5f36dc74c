"""What was seen of the machine during a trial, as far as it is held against ceilings. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Seen:
    """What was seen of the machine over the measured window, a second; empty or None where nobody looked.

    Everything that moved is counted, whoever moved it. By device ("254:0"): bytes written and read, and flushes of its
    cache; each flush is the end of one sync or of several that a file system committed together.
    """

    written_bytes_per_s: Mapping[str, float] = field(default_factory=dict)
    read_bytes_per_s: Mapping[str, float] = field(default_factory=dict)
    flushes_per_s: Mapping[str, float] = field(default_factory=dict)
    loopback_bytes_per_s: float | None = None


NOTHING_SEEN = Seen()
