"""The kernel's trace text, as Linux 6.18 wrote it, and damaged."""

from __future__ import annotations

from tidegauge.durability import SyncCall
from tidegauge.hosts.syscalls import parse_trace

TEXT = """# tracer: nop
#
# entries-in-buffer/entries-written: 8/8   #P:2
#
#                                _-----=> irqs-off/BH-disabled
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
#              | |         |   |||||     |         |
 data-plane kaf-812     [001] .....  1041.350712: sys_fsync(fd: 0x0000001f)
           java-790     [000] .....  1041.350900: sched_process_fork: comm=java pid=790 child_comm=java child_pid=911
 data-plane kaf-812     [001] .....  1041.351904: sys_fsync -> 0x0
     pool-1-2-3-911     [000] .....  1041.360000: sys_fdatasync(fd: 0x00000021)
     pool-1-2-3-911     [000] .....  1041.360001: sys_fdatasync -> 0xfffffffffffffffb
           java-812     [001] .....  1041.400000: sys_msync(start: 0x7f00, len: 0x1000, flags: 0x4)
           java-812     [000] .....  1041.400250: sys_msync -> 0x0
"""
NODES = {790: "kafka-1", 812: "kafka-1"}


def test_calls_have_node_times_and_outcome() -> None:
    assert parse_trace(TEXT, NODES).calls == (
        SyncCall("kafka-1", 812, "fsync", 1_041_350_712_000, 1_041_351_904_000, True),
        SyncCall("kafka-1", 911, "fdatasync", 1_041_360_000_000, 1_041_360_001_000, False),
        SyncCall("kafka-1", 812, "msync", 1_041_400_000_000, 1_041_400_250_000, True),
    )


def test_threads_of_no_node_are_left_out() -> None:
    assert {c.thread for c in parse_trace(TEXT, {812: "kafka-1"}).calls} == {812}
    assert parse_trace(TEXT, {}).calls == ()


def test_a_call_under_way_at_an_end_of_the_recording_is_left_out() -> None:
    lines = TEXT.splitlines()
    without_enter = "\n".join(line for line in lines if "sys_fsync(" not in line)
    without_exit = "\n".join(line for line in lines if "sys_fsync ->" not in line)
    assert {c.call for c in parse_trace(without_enter, NODES).calls} == {"fdatasync", "msync"}
    assert {c.call for c in parse_trace(without_exit, NODES).calls} == {"fdatasync", "msync"}


def test_lost_records_are_counted() -> None:
    assert parse_trace(TEXT, NODES).lost == 0
    assert parse_trace(TEXT.replace("8/8", "8/30"), NODES).lost == 22
    assert parse_trace(TEXT + "CPU:1 [LOST 17 EVENTS]\n", NODES).lost == 17


def test_other_formats_of_the_columns_are_read() -> None:
    with_group = TEXT.replace("-812     [001]", "-812     (    790) [001]")
    assert len(parse_trace(with_group, NODES).calls) == 3
    without_flags = TEXT.replace(" ..... ", " ")
    assert len(parse_trace(without_flags, NODES).calls) == 3
