"""What others than servers and load generators used of a host while a trial was measured, and what that disturbed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum

from tidegauge.model.cgroup import short_cgroup

SWITCH = "TIDEGAUGE_DISTURBANCE"
"""Environment variable: "decide" (default) or "report" = what others disturb is said and decides nothing."""


class Disturbed(StrEnum):
    """What was short because of others."""

    CPU = "CPU"
    STEAL = "CPU (hypervisor)"
    QUOTA = "CPU quota"
    DISK = "disk"
    MEMORY = "memory"


class Harm(StrEnum):
    """What a disturbance makes of a trial's figures, the least first."""

    NOTED = "noted"
    DOUBTFUL = "doubtful"
    INVALID = "invalid"


@dataclass(frozen=True)
class Disturbance:
    """One thing that disturbed a trial.

    Attributes:
        words: one clause, with figures and the names of the worst programs.
        remedy: what to do about it.
        host: of a fleet's, on which it was; "" = the one that ran the trial.
        excused: the harm that it would have been, where `SWITCH` let it decide nothing; None where it decides.
    """

    what: Disturbed
    harm: Harm
    words: str
    remedy: str
    host: str = ""
    excused: Harm | None = field(default=None, metadata={"if_any": True})


@dataclass(frozen=True)
class Program:
    """All processes of one name in one cgroup that were no part of the trial, over the window.

    Attributes:
        cgroup: its place in the tree of cgroups, "" where it is in none of its own.
        read_bytes_per_s, written_bytes_per_s: from and to block devices; None where that may not be read.
    """

    name: str
    cgroup: str
    cpus: float
    read_bytes_per_s: float | None
    written_bytes_per_s: float | None
    resident_bytes: int
    host: str = ""

    @property
    def title(self) -> str:
        """Its name, with the cgroup where it has one."""
        return f"{self.name} (cgroup {short_cgroup(self.cgroup)})" if self.cgroup else self.name


@dataclass(frozen=True)
class HostAccount:
    """Who used the CPUs of one host over the window, in CPUs; None where that is not known.

    Attributes:
        control: Tidegauge's own, beside its load generators.
        kernel: its threads and interrupts, which work for everybody.
        stolen: what a hypervisor held back, for others or by a limit of its own.
        others: programs that are no part of the trial, as far as they can be seen from here.
        unseen: busy beyond all that: programs in other containers, or what counters that tick are not sure of.
        others_bytes_per_s: what those programs read from and wrote to block devices; None where it may not be read.
        programs: the worst of them.
    """

    host: str
    cpus: int
    busy: float
    servers: float
    generators: float
    control: float | None
    kernel: float | None
    stolen: float
    others: float | None
    unseen: float | None
    others_bytes_per_s: float | None
    programs: tuple[Program, ...] = ()

    @property
    def disturbing(self) -> float | None:
        """CPUs that programs which are no part of the trial had, seen or not; None if that is not known."""
        return None if self.others is None else self.others + (self.unseen or 0.0)


def taken_words(account: HostAccount) -> str:
    """ "1.50 of 2 CPUs (stress 0.90, dd 0.55)", with the host if it is another than the one that ran the trial."""
    of = f" of {account.host}" if account.host else ""
    names = program_words(account)
    in_brackets = f" ({', '.join(names)})" if names else ""
    return f"{account.disturbing or 0.0:.2f} of {account.cpus} CPUs{of}{in_brackets}"


PROGRAMS_NAMED = 3
CPUS_NAMED_MIN = 0.01


def program_words(account: HostAccount) -> list[str]:
    """The worst programs with their CPUs, and what can't be seen."""
    programs = sorted(account.programs, key=lambda program: -program.cpus)[:PROGRAMS_NAMED]
    # Rounded down, so that together they are never more than the whole before them.
    named = [
        f"{program.title} {math.floor(100 * program.cpus + 1e-9) / 100:.2f}"
        for program in programs
        if program.cpus >= CPUS_NAMED_MIN
    ]
    return [*named, *([f"programs that can't be seen from here {account.unseen:.2f}"] if account.unseen else [])]
