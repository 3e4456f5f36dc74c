"""How nodes are ended in an attestation, on which file systems, and what that does not show. Pure."""

from __future__ import annotations

from enum import StrEnum


class Means(StrEnum):
    """How nodes are ended."""

    POWER = "power"
    """Each node's disk is a file system of its own that is shut down: what was not synced is gone."""
    CRASH = "crash"
    """kill -9. The page cache survives it."""


class FileSystem(StrEnum):
    """What the nodes' disks are formatted with."""

    EXT4 = "ext4"
    XFS = "xfs"
    FUSE = "fuse"
    """A directory behind libfuse's `passthrough_ll` in writeback mode, which needs no rights."""


CRASH_LABEL = "process crash, not a power cut"
FUSE_LABEL = "loss of unsynced pages by libfuse, less than a power cut"

NOT_MODELLED = (
    "the drive's own volatile write cache (what the kernel has sent to the drive counts as kept)",
    "torn sectors",
    "hardware faults that strike several nodes alike",
)
"""What a cut of this kind does not show; said in every output."""


def label(means: Means, file_system: FileSystem) -> str:
    """What ends of this kind are called wherever they are told of, "" for power cuts."""
    if means is Means.CRASH:
        return CRASH_LABEL
    return FUSE_LABEL if file_system is FileSystem.FUSE else ""


def not_modelled(means: Means, file_system: FileSystem) -> str:
    """The sentence that goes with every attestation."""
    if means is Means.CRASH:
        return (
            f"Every end was a {CRASH_LABEL}: the page cache survived, so nothing is said of a loss of power. "
            f"Not modelled either: {'; '.join(NOT_MODELLED)}."
        )
    if file_system is FileSystem.FUSE:
        return (
            f"Every cut was a {FUSE_LABEL}: names of files, sizes that were set, and all of a file that was closed "
            f"count as kept. Not modelled either: {'; '.join(NOT_MODELLED)}."
        )
    return f"Not modelled: {'; '.join(NOT_MODELLED)}."


def counted_cuts(cuts: int) -> str:
    """ "1 cut", "2 cuts"."""
    return f"{cuts:,} cut{'' if cuts == 1 else 's'}"
