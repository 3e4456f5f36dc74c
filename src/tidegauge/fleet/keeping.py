"""Keeps this host in its fleet: `python -m tidegauge.fleet.keeping` starts Ray, and again when it ended by itself.

A host whose link was cut for some 25 s is dead to Ray's control service, and Ray there ends as soon as it learns so. It
is a new node when it comes back. `tidegauge fleet down` ends this process first of all.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tidegauge.fleet import ray_node

GIVE_UP_S = 600.0
"""Without a head, or without Ray staying up."""
_PAUSE_S = 2.0
_STAYS_S = 30.0
"""Ray that ran for so long has been in the fleet."""


def keep_in_fleet(
    run_ray: Callable[[], int],
    head_answers: Callable[[], bool],
    has_started: Callable[[], bool],
    pause: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Run Ray until it can't be started, or the fleet is gone for `GIVE_UP_S`. Returns its last exit code.

    `run_ray` returns when Ray has ended; `has_started`: whether it ever was up.
    """
    up_s = clock()
    while True:
        begun_s = clock()
        code = run_ray()
        if not has_started():
            return code
        if clock() - begun_s >= _STAYS_S:
            up_s = clock()
        pause(_PAUSE_S)
        while not head_answers():
            if clock() - up_s > GIVE_UP_S:
                return code
            pause(_PAUSE_S)
        if clock() - up_s > GIVE_UP_S:
            return code


def main(arguments: list[str]) -> int:
    """Keep the node that is recorded here. `arguments`: the program `ray`, and Ray's autoscaler file if it has one."""
    program, *autoscaling = arguments
    node = ray_node.recorded_node()
    if node is None:
        return 1
    return keep_in_fleet(
        # Its labels say when it joined.
        lambda: (
            subprocess.run(
                [program, *ray_node.ray_arguments(node, Path(autoscaling[0]) if autoscaling else None)], check=False
            ).returncode
        ),
        lambda: node.is_head or not ray_node.problem_of_head(node.head, 1.0),
        lambda: ray_node.STARTED_TEXT in node.log.read_text(errors="replace"),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
