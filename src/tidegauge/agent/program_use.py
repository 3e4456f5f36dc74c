"""What programs that are no part of a trial use of a host: CPU, disk and memory, by name and cgroup.

Who ran is asked of each process; what was busy, of the kernel. What was busy beyond all processes that can be seen is
kept as well: processes of other containers have no number here. A short process counts for the one that waited for it,
as the kernel has it.

Most processes of a host sleep. One that used nothing when it was looked at is looked at in every `IDLE_LOOKS`th look
only, by turns: what it used meanwhile then counts late, not never.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from tidegauge.hosts import procfs
from tidegauge.hosts.procfs import Identity, Stat, whole_name
from tidegauge.model.use import ProgramUse

IDLE_LOOKS = 5
BY_CPU_MAX, BY_BYTES_MAX, BY_MEMORY_MAX = 5, 3, 2
CPU_S_MIN, BYTES_MIN, RESIDENT_BYTES_MIN = 0.02, 100_000, 256 << 20
"""Programs that are named in a look, of each kind, and from which use of it on."""
_CGROUPS_MAX = 4096


@dataclass(frozen=True)
class ProgramAccounts:
    """What was used since the look before, by whom. Bytes are None where no process's may be read.

    `trial_cpu_s` is that of what belongs to the trial: servers, load generators, Tidegauge itself (`control_cpu_s`).
    """

    kernel_cpu_s: float
    trial_cpu_s: float
    control_cpu_s: float
    others_cpu_s: float
    others_read_bytes: int | None
    others_written_bytes: int | None
    others_resident_bytes: int
    programs: tuple[ProgramUse, ...]


@dataclass
class _Known:
    """A process at the look that saw it last."""

    stat: Stat
    idle: bool
    moved: tuple[int, int] | None = None
    """Bytes from and to devices."""


@dataclass
class _WaitedFor:
    """What was counted of processes that have ended: the one that waited for them has it among its own."""

    cpu_ticks: int = 0
    moved: tuple[int, int] = (0, 0)


@dataclass
class _ProgramSum:
    """What processes of one name and cgroup used."""

    processes: int = 0
    cpu_ticks: int = 0
    moved: list[tuple[int, int]] = field(default_factory=list)
    resident_pages: int = 0


@dataclass(frozen=True)
class Proc:
    """What is asked of the kernel (tests give their own answers)."""

    pids: Callable[[], Collection[int]] = procfs.pids
    stat: Callable[[int], Stat | None] = procfs.read_stat
    moved: Callable[[int], tuple[int, int] | None] = procfs.io_bytes
    cgroup: Callable[[int], str] = lambda pid: cgroup_place(procfs.short_file(f"/proc/{pid}/cgroup").decode())
    command_line: Callable[[int], bytes] = lambda pid: procfs.short_file(f"/proc/{pid}/cmdline")


def cgroup_place(text: str) -> str:
    """The place in the tree of cgroups that /proc/PID/cgroup names, "" for the root of all. Pure.

    Where hierarchies differ (cgroup v1), that of CPUs tells tenants apart, else the deepest.
    """
    fields = [line.split(":", 2) for line in text.splitlines() if line.count(":") >= 2]
    by_controller = {name: place for _, names, place in fields for name in names.split(",")}
    deepest = max(by_controller.values(), key=lambda place: place.count("/") if place != "/" else 0, default="/")
    of_cpus = by_controller.get("cpu", "/")
    place = of_cpus if of_cpus != "/" else deepest
    return "" if place == "/" else place


class ProgramWatch:
    """Remembers processes from look to look."""

    def __init__(self, proc: Proc | None = None) -> None:
        self._proc = proc or Proc()
        self._known: dict[int, _Known] = {}
        self._cgroups: dict[Identity, str] = {}
        self._names: dict[Identity, tuple[str, str]] = {}
        """As the kernel keeps it, and whole."""
        self._looks = 0
        self._unreadable = False
        """Whether somebody used CPU in this look whose bytes may not be read."""
        self._own_cgroup = self._proc.cgroup(os.getpid())

    def forget(self) -> None:
        """Begin anew."""
        self._known, self._cgroups, self._names, self._looks = {}, {}, {}, 0

    def take_accounts(self, of_trial: Collection[int], control: Collection[int] = ()) -> ProgramAccounts | None:
        """What was used since the last look; None at the first.

        `of_trial`: numbers of servers and load generators; `control`: of Tidegauge's own processes.
        """
        self._looks += 1
        self._unreadable = False
        now = set(self._proc.pids())
        waited_for = self._pop_ended(now)
        ours = {*of_trial, *control}
        ticks_of = dict.fromkeys(("kernel", "trial", "control"), 0)
        sums: defaultdict[tuple[str, str], _ProgramSum] = defaultdict(_ProgramSum)
        for pid in now:
            last_seen = self._known.get(pid)
            skipped = (
                last_seen is not None and last_seen.idle and pid not in waited_for and (pid + self._looks) % IDLE_LOOKS
            )
            ticks, moved = (0, None) if skipped else self._use_of_process(pid, waited_for[pid], pid in ours)
            if pid not in self._known:
                continue
            stat = self._known[pid].stat
            if stat.of_kernel:
                ticks_of["kernel"] += ticks
            elif pid in ours:
                ticks_of["control" if pid in control else "trial"] += ticks
            else:
                program_sum = sums[self._name_of(stat), self._cgroup_of(stat)]
                program_sum.processes += 1
                program_sum.cpu_ticks += ticks
                program_sum.resident_pages += stat.resident_pages
                program_sum.moved += [moved] if moved is not None else []
        return self._make_accounts(ticks_of, sums) if self._looks > 1 else None

    def _pop_ended(self, now: Collection[int]) -> defaultdict[int, _WaitedFor]:
        """What was counted of processes that have ended, by the ancestor that lives, which waits for them.

        Whole trees end at once, as when a script ends that ran a build.
        """
        gone = {pid: self._known.pop(pid) for pid in self._known.keys() - set(now)}
        waited_for: defaultdict[int, _WaitedFor] = defaultdict(_WaitedFor)
        for process in gone.values():
            self._cgroups.pop(process.stat.identity, None)
            self._names.pop(process.stat.identity, None)
            ancestor, passed = process.stat.parent, set[int]()
            while ancestor in gone and ancestor not in passed:
                passed.add(ancestor)
                ancestor = gone[ancestor].stat.parent
            (read, written), (read_more, written_more) = waited_for[ancestor].moved, process.moved or (0, 0)
            waited_for[ancestor].moved = read + read_more, written + written_more
            waited_for[ancestor].cpu_ticks += process.stat.cpu_ticks
        return waited_for

    def _use_of_process(self, pid: int, waited_for: _WaitedFor, of_trial: bool) -> tuple[int, tuple[int, int] | None]:
        """CPU of a process since it was looked at last, and bytes that it moved; what it waited for was counted."""
        stat = self._proc.stat(pid)
        before = self._known.pop(pid, None)
        if stat is None:
            return 0, None
        if before is not None and before.stat.identity != stat.identity:
            before = None
        ticks = stat.cpu_ticks - (before.stat.cpu_ticks + waited_for.cpu_ticks if before is not None else 0)
        ticks = max(0, ticks)
        # Whoever moves bytes uses CPU, and asking costs.
        asked = not of_trial and not stat.of_kernel and (ticks > 0 or before is None)
        counted = None
        if before is not None and before.moved is not None:
            counted = before.moved[0] + waited_for.moved[0], before.moved[1] + waited_for.moved[1]
        moved = self._proc.moved(pid) if asked else counted
        self._known[pid] = _Known(stat, ticks == 0 and before is not None and not of_trial, moved)
        self._unreadable |= asked and moved is None
        if not asked or moved is None:
            return ticks, None
        read, written = counted or (0, 0)
        return ticks, (max(0, moved[0] - read), max(0, moved[1] - written))

    def _name_of(self, stat: Stat) -> str:
        """The program's name, looked up once unless it becomes another program."""
        name, whole = self._names.get(stat.identity, ("", ""))
        if name != stat.name:
            whole = whole_name(stat.name, self._proc.command_line(stat.pid))
            self._names[stat.identity] = stat.name, whole
        return whole

    def _cgroup_of(self, stat: Stat) -> str:
        if stat.identity not in self._cgroups:
            if len(self._cgroups) >= _CGROUPS_MAX:
                self._cgroups.clear()
            place = self._proc.cgroup(stat.pid)
            self._cgroups[stat.identity] = "" if place == self._own_cgroup else place
        return self._cgroups[stat.identity]

    def _make_accounts(
        self, ticks_of: Mapping[str, int], sums: Mapping[tuple[str, str], _ProgramSum]
    ) -> ProgramAccounts:
        programs = [
            ProgramUse(
                name=name,
                cgroup=cgroup,
                processes=program_sum.processes,
                cpu_s=program_sum.cpu_ticks / procfs.TICKS_PER_S,
                read_bytes=sum(read for read, _ in program_sum.moved) if program_sum.moved else None,
                written_bytes=sum(written for _, written in program_sum.moved) if program_sum.moved else None,
                resident_bytes=program_sum.resident_pages * procfs.PAGE_BYTES,
            )
            for (name, cgroup), program_sum in sums.items()
        ]
        readable = [moved for program_sum in sums.values() for moved in program_sum.moved]
        unknown = self._unreadable and not readable
        return ProgramAccounts(
            kernel_cpu_s=ticks_of["kernel"] / procfs.TICKS_PER_S,
            trial_cpu_s=(ticks_of["trial"] + ticks_of["control"]) / procfs.TICKS_PER_S,
            control_cpu_s=ticks_of["control"] / procfs.TICKS_PER_S,
            others_cpu_s=sum(program_sum.cpu_ticks for program_sum in sums.values()) / procfs.TICKS_PER_S,
            others_read_bytes=None if unknown else sum(read for read, _ in readable),
            others_written_bytes=None if unknown else sum(written for _, written in readable),
            others_resident_bytes=sum(program.resident_bytes for program in programs),
            programs=worst_programs(programs),
        )


def worst_programs(programs: Iterable[ProgramUse]) -> tuple[ProgramUse, ...]:
    """Programs that used most CPU, moved most bytes or hold most memory, by CPU; none that did almost nothing. Pure."""
    all_programs = list(programs)
    measures: tuple[tuple[Callable[[ProgramUse], float], float, int], ...] = (
        (lambda program: program.cpu_s, CPU_S_MIN, BY_CPU_MAX),
        (lambda program: (program.read_bytes or 0) + (program.written_bytes or 0), BYTES_MIN, BY_BYTES_MAX),
        (lambda program: program.resident_bytes, RESIDENT_BYTES_MIN, BY_MEMORY_MAX),
    )
    chosen_by_id: dict[int, ProgramUse] = {}
    for measure, least, count in measures:
        most = sorted(all_programs, key=measure, reverse=True)[:count]
        chosen_by_id |= {id(program): program for program in most if measure(program) >= least}
    return tuple(sorted(chosen_by_id.values(), key=lambda program: -program.cpu_s))
