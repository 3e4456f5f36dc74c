"""The kernel's trace as text, to calls of a node. Pure.

  # entries-in-buffer/entries-written: 4/4   #P:2
             java-790     [000] .....  1041.202001: sched_process_fork: comm=java pid=790 child_comm=java child_pid=812
  kafka-req-h-812     [001] .....  1041.350712: sys_fsync(fd: 1f)
  kafka-req-h-812     [001] .....  1041.351904: sys_fsync -> 0x0

Times are seconds of the clock that was set, cut to microseconds. Source: `kernel/trace/trace_output.c`,
`trace_syscalls.c`. The name before the number may hold blanks and hyphens.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tidegauge.durability.witness import SyncCall, Watch

_LINE = re.compile(
    r"-(?P<thread>\d+) +(?:\([ \d-]+\) +)?\[\d+\] +(?:\S+ +)?(?P<s>\d+)\.(?P<us>\d{6}): "
    r"sys_(?P<call>\w+)(?:\((?P<arguments>.*)\)| -> (?P<result>0x[0-9a-f]+|-?\d+))\s*$"
)
_FORK = re.compile(r": sched_process_fork: comm=.* pid=(?P<parent>\d+) child_comm=.* child_pid=(?P<child>\d+)\s*$")
_WRITTEN = re.compile(r"entries-in-buffer/entries-written: (\d+)/(\d+)")
_NS_PER_US = 1000


def parse_trace(text: str, nodes: Mapping[int, str]) -> Watch:
    """What was recorded. `nodes` by thread number; a thread that was started meanwhile belongs where its parent does.

    A call of any other thread is no node's and left out. So is one that was under way when recording began or ended: it
    can't have served a message.
    """
    calls: list[SyncCall] = []
    entered: dict[tuple[int, str], int] = {}
    node_of = dict(nodes)
    for line in text.splitlines():
        forked = _FORK.search(line)
        if forked is not None and int(forked["parent"]) in node_of:
            node_of[int(forked["child"])] = node_of[int(forked["parent"])]
        found = _LINE.search(line)
        if found is None:
            continue
        thread, call = int(found["thread"]), found["call"]
        at_ns = (int(found["s"]) * 1_000_000 + int(found["us"])) * _NS_PER_US
        if found["result"] is None:
            entered[(thread, call)] = at_ns
            continue
        since_ns = entered.pop((thread, call), None)
        if since_ns is not None and thread in node_of:
            calls.append(SyncCall(node_of[thread], thread, call, since_ns, at_ns, int(found["result"], 0) == 0))
    return Watch(tuple(calls), _lost(text))


def _lost(text: str) -> int:
    """Records that had to make room for later ones, or found none."""
    written = _WRITTEN.search(text)
    dropped = sum(int(number) for number in re.findall(r"LOST (\d+) EVENTS", text))
    return dropped + (int(written[2]) - int(written[1]) if written else 0)
