"""Trials in which some subscriptions begin to read only when a backlog waits for them. Plain data.

Terms: *before* is the time with the backlog still growing, *during* the time from the late readers' start until their
backlog is gone, *after* the time that is measured then. A second belongs to the phase in which its middle lies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

BEFORE, DURING, AFTER = "before", "during", "after"
PHASES = (BEFORE, DURING, AFTER)
FROM_DEVICE_SHARE_MIN = 0.5
"""Below this share of the backlog read from the device, it was served from memory for the most part."""

FROM_DEVICE_BYTES_MIN = 16 << 20
"""Fewer bytes may be servers' own program code, read when it is first used (7 MB were seen)."""


@dataclass(frozen=True)
class LateReaders:
    """Which subscriptions read late, and when.

    Attributes:
        subscriptions: the last so many of each topic.
        backlog_msgs: acknowledged messages that wait for each of them when they begin to read.
        rule: the backlog as the campaign words it ("2GiB", "500k messages").
        drained_share: the backlog counts as gone when this share of it is.
        chase_s_max: how long they may take to get there.
    """

    subscriptions: int
    backlog_msgs: int
    rule: str
    drained_share: float
    chase_s_max: float


@dataclass(frozen=True)
class ServerLimits:
    """What servers of a trial may use, so that a backlog does not fit into memory on a large machine.

    Attributes:
        memory_bytes: of each server process, page cache included; None = no limit.
        direct_io: their data is on a disk of its own (a loop device) whose file this machine does not cache as well.
    """

    memory_bytes: int | None = None
    direct_io: bool = False


@dataclass(frozen=True)
class DeviceReads:
    """What the server processes read from block devices while the backlog was read, as the kernel counts it for each.

    Attributes:
        read_bytes: in the phase *during*; None where nobody can tell, then `unknown` says why.
        usual_bytes_per_s: what they read in the phase *before*, which has nothing to do with the backlog.
        backlog_bytes: message values that waited when the readers began.
        seconds: length of the phase.
    """

    read_bytes: int | None
    usual_bytes_per_s: float
    backlog_bytes: int
    seconds: float
    unknown: str = ""

    @property
    def share(self) -> float | None:
        """Bytes read, without the usual ones, as a share of the backlog's bytes; it may be above 1. None if unknown."""
        if self.read_bytes is None or not self.backlog_bytes:
            return None
        return max(0.0, self.read_bytes - self.usual_bytes_per_s * self.seconds) / self.backlog_bytes

    @property
    def from_device(self) -> bool:
        """Whether the backlog was read from the device for the most part; of a very small one nobody can tell."""
        share = self.share
        if share is None:
            return False
        return share >= FROM_DEVICE_SHARE_MIN and share * self.backlog_bytes >= FROM_DEVICE_BYTES_MIN


def late_names(subscriptions: int, late: LateReaders | None) -> Sequence[str]:
    """Names of the subscriptions that read late, as the load generator calls them."""
    return [f"sub-{number}" for number in range(subscriptions - late.subscriptions, subscriptions)] if late else []
