"""How far a fault goes: how slow, how lossy, towards whom."""

from __future__ import annotations

from dataclasses import dataclass

from tidegauge.numbers import size

SERVERS, CLIENTS, EVERYBODY = "servers", "clients", "everybody"
PEERS = (SERVERS, CLIENTS, EVERYBODY)
BOTH, INTO, OUT_OF = "both", "in", "out"
WAYS = (BOTH, INTO, OUT_OF)


@dataclass(frozen=True)
class FaultExtent:
    """What only some kinds of faults have, as `Fault` has it; what a kind has no use for is as it is here."""

    bytes_per_s: int | None = None
    ops_per_s: int | None = None
    share: float | None = None
    peers: str = EVERYBODY
    ways: str = BOTH


def describe_bandwidth(bytes_per_s: int | None) -> list[str]:
    """ "1 MiB/s", or nothing where it is not limited."""
    return [] if bytes_per_s is None else [f"{size(bytes_per_s)}/s"]
