"""The process that records system calls: `python -m tidegauge.hosts.tracer`. Root only.

It is a process of its own because a mount namespace is, and so that an instance in the kernel outlives nobody: when its
standard input ends, however its parent ended, it removes what it made and ends.

Standard input: one line of JSON, {"calls": ["fsync", ...], "processes": {"a": 1}}, or {"clean": true}. It answers
with a line, "ready" or "no REASON". Any further line makes it answer with everything recorded, and end. With "clean" it
removes the instances that dead tracers left, and answers with their names, a line each.
"""

from __future__ import annotations

import contextlib
import json
import signal
import sys
from types import FrameType

from tidegauge.hosts import tracefs
from tidegauge.hosts.tracefs import NoTraceError


def main() -> int:
    """Carry out one order. 0 if it could be."""
    signal.signal(signal.SIGTERM, _end)
    line = sys.stdin.readline()
    if not line:
        return 0
    order = json.loads(line)
    try:
        tracefs.mount_privately()
        if order.get("clean"):
            _say("".join(f"{name}\n" for name in tracefs.remove_abandoned(tracefs.MOUNT_POINT)))
            return 0
        with tracefs.instance(tracefs.MOUNT_POINT, order["calls"], order["processes"]) as path:
            _say("ready\n")
            if sys.stdin.readline():
                _say(tracefs.recorded(path))
    except NoTraceError as error:
        _say(f"no {error}\n")
        return 1
    return 0


def _say(text: str) -> None:
    # A parent that died does not read any more; removing the instance must go on all the same.
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(text)
        sys.stdout.flush()


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(1)


if __name__ == "__main__":
    sys.exit(main())
