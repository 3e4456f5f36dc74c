"""What a trial's servers may use: memory limits and disks of their own, made before they start and undone after them.

A limit that can't be had does not end the trial: its result says which, and why.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tidegauge.campaign.model import SystemChoice
from tidegauge.errors import RunFailedError
from tidegauge.fleet.api import Host
from tidegauge.fleet.limited import LimitedHost
from tidegauge.hosts import space
from tidegauge.model.trial import TrialSpec

_MIB = 1 << 20


def _not_here() -> str:
    return "not asked of this machine"


def _no_disk(_place: Path, _image: Path, _size_bytes: int) -> Callable[[], None]:
    raise OSError(0, _not_here())


@dataclass(frozen=True)
class Means:
    """How limits are set on this machine.

    Attributes:
        memory_refusal, disk_refusal: "" or why processes can't be limited, or disks not be made.
        mount_disk: makes a disk (place, file, bytes) and returns what undoes it. Raises `OSError`.
    """

    memory_refusal: Callable[[], str] = _not_here
    disk_refusal: Callable[[], str] = _not_here
    mount_disk: Callable[[Path, Path, int], Callable[[], None]] = _no_disk


@dataclass(frozen=True)
class Limited:
    """The host to start servers on, and which limits could not be had, with the reason."""

    host: Host
    problems: tuple[str, ...] = ()


def too_small(spec: TrialSpec, system: SystemChoice) -> str:
    """ "" or why the memory limit of a trial leaves servers no room for what they are given. Pure."""
    limit_bytes = spec.limits.memory_bytes if spec.limits else None
    own_mb = system.heap_mb + system.direct_memory_mb
    if limit_bytes is None or system.attach is not None or limit_bytes >= own_mb * _MIB:
        return ""
    return (
        f"server-memory {limit_bytes // _MIB} MiB is less than heap ({system.heap_mb} MiB) and direct-memory "
        f"({system.direct_memory_mb} MiB) of {system.name} together"
    )


def limit_servers(spec: TrialSpec, host: Host, means: Means, places: Sequence[Path], cleanup: ExitStack) -> Limited:
    """Make what the trial's limits ask for. `places` are where servers write, one for each disk; empty directories."""
    limits = spec.limits
    if limits is None:
        return Limited(host)
    if spec.attached:
        return Limited(host, ("server-memory and disk have no effect on servers that others run",))
    problems = []
    if limits.direct_io:
        why = means.disk_refusal() or _own_disks(spec, host, means, places, cleanup)
        if why:
            problems.append(f"disk: direct-io could not be had ({why}), so the data is where it would be without it")
    if limits.memory_bytes is not None:
        why = means.memory_refusal()
        if why:
            size = f"{limits.memory_bytes // _MIB} MiB"
            problems.append(f"server-memory: {size} could not be had ({why}), so servers use what the machine has")
        else:
            host = LimitedHost(host, limits.memory_bytes)
    return Limited(host, tuple(problems))


def _own_disks(spec: TrialSpec, host: Host, means: Means, places: Sequence[Path], cleanup: ExitStack) -> str:
    """A disk at each place, or at none. "" or why not."""
    with ExitStack() as made:
        for place in places:
            nodes = -(-spec.nodes // len(places))
            beside = place.with_name(f"{place.name}.disk")
            host.track_directory(beside)
            try:
                beside.mkdir(parents=True, exist_ok=True)
                undo = means.mount_disk(place, beside / "image", space.bytes_needed(spec, nodes))
            except OSError as error:
                shutil.rmtree(beside, ignore_errors=True)
                return error.strerror or str(error)
            made.callback(_undo, undo, place, beside)
        cleanup.push(made.pop_all())
    return ""


def _undo(undo: Callable[[], None], place: Path, beside: Path) -> None:
    """The file goes only when nothing is mounted from it: else whoever cleans up could not find out what is."""
    try:
        undo()
    except OSError as error:
        raise RunFailedError(
            f"The disk of a trial at {place} could not be unmounted: {error.strerror or error}.",
            "`tidegauge clean` tries it again.",
        ) from error
    shutil.rmtree(beside, ignore_errors=True)
