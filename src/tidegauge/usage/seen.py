"""What was seen of the machine during a trial, as far as it is held against ceilings. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Seen:
    """What was seen of the machine over the measured window, a second; empty or None where nobody looked.

    `written_bytes_per_s`, `read_bytes_per_s` and `syncs_per_s` are by device ("254:0").
    """

    written_bytes_per_s: Mapping[str, float] = field(default_factory=dict)
    read_bytes_per_s: Mapping[str, float] = field(default_factory=dict)
    syncs_per_s: Mapping[str, float] = field(default_factory=dict)
    loopback_bytes_per_s: float | None = None


NOTHING_SEEN = Seen()
