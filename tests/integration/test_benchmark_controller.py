"""`benchmarks/controller.py` as a command, with few workers: its players still speak what the controller expects."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from null_worker import ROOT

pytestmark = pytest.mark.integration
COMMAND = (sys.executable, str(ROOT / "benchmarks" / "controller.py"))


def test_a_few_workers_are_played_and_measured(tmp_path: Path) -> None:
    command = (*COMMAND, "--workers", "3", "--seconds", "2", "--messages", "10")
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []
    *_, row = done.stdout.splitlines()
    assert row.startswith("| 3 | 0.")
    found = json.loads(done.stderr.splitlines()[-1])
    assert found["workers"] == 3
    assert 0 < found["watch_cpu_s"] < found["watch_s"] * 4
    assert found["memory_watching_mb"] > found["memory_before_mb"]
