"""The verb `attest`: a campaign with one experiment, and what must be there before anything is started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidegauge.campaign.model import Campaign
from tidegauge.durability.levels import NODES_FOR_REPLICATION, level_named
from tidegauge.errors import UserError
from tidegauge.experiments.attest import NAME, AttestOptions
from tidegauge.hosts import disks
from tidegauge.model.cut_method import FUSE_LABEL, FileSystem, Means
from tidegauge.model.scenario import Scenario

CRASH_HINT = (
    "`--crash` (in a campaign `means: crash`) kills the servers' processes instead. That needs no rights, but it is a "
    "process crash, not a power cut: what is in the page cache survives it."
)
FUSE_HINT = (
    "`--file-system fuse` (in a campaign `file-system: fuse`) needs no root: what servers have not synced is lost with "
    f"libfuse's daemon. It is a {FUSE_LABEL}."
)


@dataclass(frozen=True)
class AttestRequest:
    """What the user asked of `attest`. `nodes` None = as many as the level needs."""

    system: str
    level: int
    form: str
    nodes: int | None
    cuts: int
    scenarios: tuple[str, ...]
    second_cut: bool
    file_system: FileSystem
    crash: bool
    seed: int | None


def overrides_of(request: AttestRequest) -> dict[str, Any]:
    """The request as values of the campaign `attest`, by its keys."""
    nodes = request.nodes or (NODES_FOR_REPLICATION if level_named(request.level).replication_sync else 1)
    options: dict[str, Any] = {
        "name": NAME,
        "scenarios": list(map(str, request.scenarios)) or [Scenario.ALL.value],
        "cuts": request.cuts,
        "second-cut": request.second_cut,
        "means": (Means.CRASH if request.crash else Means.POWER).value,
        "file-system": request.file_system.value,
    }
    wanted: dict[str, Any] = {
        "systems": [request.system],
        "durability": {"level": request.level, "form": request.form} if request.form else request.level,
        "nodes": nodes,
        "experiments": [options],
    }
    if request.seed is not None:
        wanted["seed"] = request.seed
    return wanted


def check_means(campaign: Campaign) -> None:
    """Raise `UserError` if power can't be cut here as asked, before anything is started; it offers what can be done."""
    for point in campaign.each:
        for chosen in point.campaign.experiments:
            options = chosen.options
            if not isinstance(options, AttestOptions) or options.means is Means.CRASH:
                continue
            why = disks.refusal(options.file_system.value)
            if why:
                raise UserError(
                    f"Power can't be cut here ({why}): each node's data must be on a disk of its own, a file system "
                    "that can be shut down.",
                    CRASH_HINT if disks.refusal("fuse") else f"{FUSE_HINT} {CRASH_HINT}",
                )
