"""`benchmarks/controller.py` as a command, with few workers: its players still speak what the controller expects."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from null_worker import ROOT

pytestmark = pytest.mark.integration
COMMAND = (sys.executable, str(ROOT / "benchmarks" / "controller.py"))


def test_a_few_workers_are_played_and_measured() -> None:
    options = ("--workers", "3", "--seconds", "2", "--messages", "10")
    done = subprocess.run([*COMMAND, *options], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    *_, row = done.stdout.splitlines()
    assert row.startswith("| 3 | 0.")
    found = json.loads(done.stderr.splitlines()[-1])
    assert found["workers"] == 3
    assert 0 < found["watch_cpu_s"] < found["watch_s"] * 4
    assert found["memory_watching_mb"] > found["memory_before_mb"]
