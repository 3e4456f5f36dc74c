"""What the fleet's tests share: a state directory of their own, process specs, and waiting with generous deadlines."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from patience import wait_for

from tidegauge.agent.api import ProcessSpec
from tidegauge.hosts import procfs

DEADLINE_S = 60.0


def spec(tmp_path: Path, script: str, name: str = "p", grace_s: float = 20.0, **more: object) -> ProcessSpec:
    return ProcessSpec(
        name=name,
        argv=("/bin/sh", "-c", script),
        env={"PATH": os.defpath},
        cwd=str(tmp_path),
        log_path=str(tmp_path / f"{name}.log"),
        stop_grace_s=grace_s,
        **more,  # type: ignore[arg-type]
    )


@contextlib.contextmanager
def slow_to_read(directory: Path, seconds: float) -> Iterator[Path]:
    """An empty file that takes so long to read: whoever opens it waits for somebody who writes."""
    pipe = directory / "pipe"
    os.mkfifo(pipe)
    writer = threading.Timer(seconds, lambda: os.close(os.open(pipe, os.O_WRONLY)))
    writer.start()
    yield pipe
    writer.join()


def wait_until(condition: Callable[[], object], what: str) -> None:
    wait_for(condition, DEADLINE_S, what)


def read_number(path: Path) -> int:
    """A process number that a script writes into a file."""
    wait_until(lambda: path.exists() and path.read_text().strip(), f"{path} written")
    return int(path.read_text())


def runs(pid: int) -> bool:
    stat = procfs.read_stat(pid)
    return stat is not None and not stat.ended


def controller(state: Path, script: str, *arguments: str) -> subprocess.Popen[str]:
    """Another Tidegauge: a Python process that runs `script` and is in nobody's session."""
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        env={
            **os.environ,
            "TIDEGAUGE_STATE": str(state),
            "PYTHONPATH": str(Path(__file__).parent),
        },
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
