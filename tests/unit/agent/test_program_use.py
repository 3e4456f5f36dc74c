"""Who used a host's CPUs, from what the kernel says of each process."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidegauge.agent.program_use import IDLE_LOOKS, Proc, ProgramAccounts, ProgramWatch, cgroup_place, worst_programs
from tidegauge.agent.sampler import host_with_accounts, programs_within
from tidegauge.hosts.procfs import TICKS_PER_S, Identity, Stat, parse_stat
from tidegauge.model.use import HostUse, ProgramUse

SERVER, AGENT = 10, 11


class Machine:
    """Processes that are told what they used."""

    def __init__(self) -> None:
        self.stats: dict[int, Stat] = {}
        self.moved: dict[int, tuple[int, int] | None] = {}
        self.asked: list[int] = []
        self.called: dict[int, bytes] = {}
        self.named: list[int] = []
        self.run(SERVER, "java", 0)
        self.run(AGENT, "python", 0)

    def run(self, pid: int, name: str, ticks: int, parent: int = 1, **changes: object) -> None:
        stat = Stat(Identity(pid, pid), "R", parent, pid, ticks, 1000, name)
        self.stats[pid] = replace(stat, **changes)  # type: ignore[arg-type]

    def spend(self, pid: int, seconds: float) -> None:
        known = self.stats[pid]
        self.stats[pid] = replace(known, cpu_ticks=known.cpu_ticks + round(seconds * TICKS_PER_S))

    def stat(self, pid: int) -> Stat | None:
        self.asked.append(pid)
        return self.stats.get(pid)

    def command_line(self, pid: int) -> bytes:
        self.named.append(pid)
        return self.called.get(pid, b"")

    def watch(self) -> ProgramWatch:
        groups = {20: "ci.slice"}
        proc = Proc(
            lambda: list(self.stats),
            self.stat,
            lambda pid: self.moved.get(pid, (0, 0)),
            lambda pid: groups.get(pid, ""),
            self.command_line,
        )
        return ProgramWatch(proc)


def look(watch: ProgramWatch) -> ProgramAccounts:
    found = watch.take_accounts({SERVER}, control=(AGENT,))
    assert found is not None
    return found


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_each_second_has_its_owner(machine: Machine) -> None:
    machine.run(20, "stress", 500)
    machine.run(21, "dd", 900)
    machine.run(30, "kworker/0:1", 0, of_kernel=True)
    watch = machine.watch()
    assert watch.take_accounts({SERVER}, control=(AGENT,)) is None
    for pid, seconds in ((SERVER, 0.5), (AGENT, 0.02), (20, 0.8), (21, 0.1), (30, 0.2)):
        machine.spend(pid, seconds)
    machine.moved[21] = (0, 10**9)
    found = look(watch)
    assert (found.trial_cpu_s, found.control_cpu_s) == (0.52, 0.02)
    assert (found.kernel_cpu_s, found.others_cpu_s) == (0.2, pytest.approx(0.9))
    assert [(program.name, program.cgroup, program.cpu_s) for program in found.programs] == [
        ("stress", "ci.slice", 0.8),
        ("dd", "", 0.1),
    ]
    assert (found.others_written_bytes, found.others_read_bytes) == (10**9, 0)


@pytest.mark.parametrize(
    ("name", "command_line", "whole"),
    [
        ("systemd-resolve", b"/lib/systemd/systemd-resolved\0", "systemd-resolved"),
        ("prometheus-node", b"/usr/bin/python3\0/opt/prometheus-node-exporter\0--port\0", "prometheus-node-exporter"),
        ("gnome-keyring-d", b"gnome-keyring-d\0", "gnome-keyring-d"),
        ("ThreadPoolForeg", b"/opt/chrome\0--type=renderer\0ThreadPoolForeground\0", "ThreadPoolForeg"),
        ("abcdefghijklmno", b"", "abcdefghijklmno"),
        ("short", b"/bin/shorter\0", "short"),
    ],
)
def test_a_name_that_the_kernel_cuts_is_whole_if_the_command_line_says_it(
    machine: Machine, name: str, command_line: bytes, whole: str
) -> None:
    machine.run(20, name, 500)
    machine.called[20] = command_line
    watch = machine.watch()
    watch.take_accounts({SERVER}, control=(AGENT,))
    for _ in range(2):
        machine.spend(20, 0.8)
        (program,) = look(watch).programs
        assert program.name == whole
    assert machine.named.count(20) == 1, "asked once"
    machine.stats[20] = replace(machine.stats[20], name="another")
    machine.spend(20, 0.8)
    assert look(watch).programs[0].name == "another"


def test_a_short_process_counts_once_for_whoever_waited_for_it(machine: Machine) -> None:
    machine.run(20, "make", 0)
    watch = machine.watch()
    watch.take_accounts({SERVER})
    machine.run(40, "cc1", 0, parent=20)
    machine.spend(40, 0.6)
    assert look(watch).others_cpu_s == pytest.approx(0.6)
    # It ends: its parent, which slept so far, now has its time, of which 0.6 s were counted.
    del machine.stats[40]
    machine.spend(20, 0.9)
    assert look(watch).others_cpu_s == pytest.approx(0.3)
    assert look(watch).others_cpu_s == 0.0


@pytest.mark.parametrize("late_s", [0.0, 0.3])
def test_what_a_short_process_wrote_counts_once_too(machine: Machine, late_s: float) -> None:
    """The kernel gives its bytes to whoever waited for it, as it does with its time."""
    machine.run(20, "sh", 0)
    watch = machine.watch()
    watch.take_accounts({SERVER})
    machine.run(40, "dd", 0, parent=20)
    machine.spend(40, 0.6)
    machine.moved[40] = (0, 10**9)
    assert look(watch).others_written_bytes == 10**9
    del machine.stats[40]
    machine.spend(20, 0.6 + late_s)
    machine.moved[20] = (0, 10**9 + (10**8 if late_s else 0))
    assert look(watch).others_written_bytes == (10**8 if late_s else 0)
    # Whatever it does from now on is its own.
    machine.spend(20, 0.1)
    machine.moved[20] = (0, machine.moved[20][1] + 10**7)  # type: ignore[index]
    assert sum(look(watch).others_written_bytes or 0 for _ in range(IDLE_LOOKS)) == 10**7


def test_a_whole_tree_that_ends_at_once_counts_once(machine: Machine) -> None:
    machine.run(20, "script", 0)
    machine.run(40, "build", 0, parent=20)
    machine.run(41, "cc1", 0, parent=40)
    watch = machine.watch()
    watch.take_accounts({SERVER})
    machine.spend(41, 0.9)
    assert look(watch).others_cpu_s == pytest.approx(0.9)
    # It was waited for by what was waited for: 0.95 s in all.
    del machine.stats[40], machine.stats[41]
    machine.spend(20, 0.95)
    assert look(watch).others_cpu_s == pytest.approx(0.05)


def test_sleepers_are_looked_at_by_turns_and_what_they_used_counts_late(machine: Machine) -> None:
    for pid in range(100, 150):
        machine.run(pid, "sleeper", 100)
    watch = machine.watch()
    for _ in range(2):
        watch.take_accounts({SERVER})
    machine.asked.clear()
    for pid in range(100, 150):
        machine.spend(pid, 0.01)
    first = look(watch)
    assert len([pid for pid in machine.asked if pid >= 100]) == 50 / IDLE_LOOKS
    later = [look(watch).others_cpu_s for _ in range(IDLE_LOOKS - 1)]
    assert first.others_cpu_s + sum(later) == pytest.approx(0.5)


def test_a_number_that_was_used_again_is_another_process(machine: Machine) -> None:
    machine.run(20, "old", 10_000)
    watch = machine.watch()
    watch.take_accounts({SERVER})
    machine.run(20, "new", round(0.3 * TICKS_PER_S), identity=Identity(20, 99))
    found = look(watch)
    assert (found.others_cpu_s, found.programs[0].name) == (pytest.approx(0.3), "new")


def test_bytes_that_may_not_be_read_are_unknown_and_not_none(machine: Machine) -> None:
    machine.run(20, "dd", 0)
    machine.moved[20] = None
    watch = machine.watch()
    watch.take_accounts({SERVER})
    machine.spend(20, 0.5)
    assert look(watch).others_written_bytes is None
    assert look(watch).others_written_bytes == 0


def test_what_is_busy_beyond_all_that_is_seen_is_kept_apart() -> None:
    host = HostUse(2, 1.9, 0.2, 0.1, 0.1, 8 << 30, 4 << 30, 0, 0, 0, 0, 0, 0, 0, cpu_kernel_s=0.1)
    known = host_with_accounts(host, ProgramAccounts(0.2, 0.5, 0.02, 0.3, 0, 0, 0, ()))
    assert (known.cpu_kernel_s, known.others_cpu_s, known.unseen_cpu_s) == (pytest.approx(0.3), 0.3, pytest.approx(0.7))
    assert host_with_accounts(host, None) == host
    late = host_with_accounts(host, ProgramAccounts(0.2, 0.5, 0.02, 9.0, 0, 0, 0, ()))
    assert late.others_cpu_s == pytest.approx(1.3), "no more than was busy"


def test_a_program_that_is_looked_at_late_is_not_said_to_use_more_than_was_busy() -> None:
    programs = tuple(ProgramUse(name, "", 1, cpu_s, 0, 0, 0) for name, cpu_s in (("python", 4.66), ("java", 1.17)))
    host = HostUse(2, 1.9, 0.2, 0.1, 0.1, 8 << 30, 4 << 30, 0, 0, 0, 0, 0, 0, 0, cpu_kernel_s=0.1)
    for others_cpu_s, shown in ((5.83, [1.039, 0.261]), (1.0, [4.66, 1.17])):
        accounts = ProgramAccounts(0.2, 0.5, 0.02, others_cpu_s, 0, 0, 0, programs)
        named = programs_within(host_with_accounts(host, accounts), accounts)
        assert [program.cpu_s for program in named] == [pytest.approx(cpu_s, abs=1e-3) for cpu_s in shown]
    assert programs_within(host, None) == ()


def test_kernel_threads_and_names_are_read() -> None:
    behind = "S 2 0 0 0 -1 69238880 0 0 0 0 3 4 0 0 20 0 1 0 55 0 0 18446744073709551615"
    stat = parse_stat(f"17 (ksoftirqd/1) {behind}")
    assert (stat.name, stat.of_kernel, stat.cpu_ticks) == ("ksoftirqd/1", True, 7)
    assert not parse_stat(f"17 (a) b) {behind.replace('69238880', '4194304')}").of_kernel


def test_the_place_of_cpus_else_the_deepest_is_the_cgroups() -> None:
    assert cgroup_place("0::/\n") == ""
    assert cgroup_place("9:memory:/a/b\n1:cpu:/\n0::/system.slice\n") == "/a/b"
    assert cgroup_place("4:memory:/sandbox/0123\n2:cpu,cpuacct:/tenant\n0::/\n") == "/tenant"
    assert cgroup_place("") == ""
    container = f"/docker/{'0123456789abcdef' * 4}"
    assert cgroup_place(f"0::{container}\n") == container, "whole, so that it can be found"


def test_those_that_hold_memory_or_move_bytes_are_among_the_worst() -> None:
    idle = [ProgramUse(f"idle-{number}", "", 1, 0.0, 0, 0, 1 << 20) for number in range(20)]
    busy = ProgramUse("busy", "", 1, 0.5, 0, 0, 0)
    writer = ProgramUse("writer", "", 1, 0.0, 0, 10**8, 0)
    hog = ProgramUse("hog", "", 1, 0.0, 0, 0, 1 << 32)
    assert [program.name for program in worst_programs([*idle, hog, writer, busy])] == ["busy", "writer", "hog"]
