"""All kinds of faults: a new one is a class in a file beside this one, and a line here."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from tidegauge.model.faults.disks import HungDisk, SlowDisk
from tidegauge.model.faults.network import PacketLoss, Partition, RateLimit
from tidegauge.model.faults.power import PowerCut
from tidegauge.model.faults.procedure import FaultProcedure
from tidegauge.model.faults.processes import Kill, Pause
from tidegauge.model.faults.restarts import Restart, RollingRestart


class FaultKind(StrEnum):
    """What is done to nodes."""

    procedure: FaultProcedure

    def __new__(cls, name: str, procedure: FaultProcedure) -> Self:
        """Make a member: its value is the kind's name in campaigns and stored runs."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.procedure = procedure
        return member

    KILL = "kill", Kill()
    PAUSE = "pause", Pause()
    POWER_CUT = "power-cut", PowerCut()
    SLOW_DISK = "slow-disk", SlowDisk()
    HUNG_DISK = "hung-disk", HungDisk()
    PARTITION = "partition", Partition()
    PACKET_LOSS = "packet-loss", PacketLoss()
    RATE_LIMIT = "rate-limit", RateLimit()
    RESTART = "restart", Restart()
    ROLLING_RESTART = "rolling-restart", RollingRestart()
