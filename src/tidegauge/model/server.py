"""A system's files, settings and disks, as everybody needs to know them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Distribution:
    """The files of one version of a system, ready to start.

    Attributes:
        version: what was asked for ("4.3.1") or, for a local directory, what its files say.
        directory: where the files are.
        java_home: the Java runtime chosen for it; None for a system that needs none.
        digest: SHA-256 over the sorted (file name, SHA-256) list: says whether two runs used the same files.
        source: "maven central", "directory /opt/kafka".
    """

    system: str
    version: str
    directory: Path
    java_home: Path | None
    java_version: str
    digest: str
    source: str


def node_disks(disks: tuple[Path, ...], number: int, nodes: int) -> tuple[Path, ...]:
    """The data disks of node `number` (from 1) of so many; none if none was chosen.

    One, which nodes take by turns; several where more disks were chosen than there are nodes: of six, the first of
    three nodes has the first and the fourth.
    """
    return disks[number - 1 :: nodes] or tuple(by_turns(disks, number)[-1:])


def by_turns(disks: tuple[Path, ...], nodes: int) -> list[Path]:
    """The disk of each of so many nodes, in their order; none if none was chosen."""
    return [disks[number % len(disks)] for number in range(nodes)] if disks else []


@dataclass(frozen=True)
class Handles:
    """Open files and memory maps of one process."""

    files: int
    maps: int


@dataclass(frozen=True)
class Setting:
    """A setting in force, read back from the running system (never from what we wrote)."""

    scope: str
    name: str
    value: str
    is_default: bool | None = None
