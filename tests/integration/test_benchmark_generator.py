"""`benchmarks/generator.py` as a command: with a real Kafka, all contenders, tiny windows; and interrupted."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from null_worker import BUILT, ROOT
from patience import Patience

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not BUILT, reason="the worker is not built"),
]
COMMAND = (sys.executable, str(ROOT / "benchmarks" / "generator.py"))
TINY = ("--rounds", "1", "--warm-up", "2", "--seconds", "2")
COLUMNS = 100


def processes_of(directory: Path) -> list[psutil.Process]:
    """Those that were started with something in this directory."""
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if any(str(directory) in word for word in process.info["cmdline"] or ()) and process.pid != psutil.Process().pid
    ]


def test_all_contenders_are_measured_and_nothing_is_left(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    files = ("--json", str(tmp_path / "table.json"), "--markdown", str(tmp_path / "table.md"))
    rows = ("--rows", "full-1", "rate-20k", "null-1m", "engine")
    arguments = [*COMMAND, *rows, *TINY, "--directory", str(disk), *files]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = {row["name"]: row for row in json.loads((tmp_path / "table.json").read_text())["rows"]}
    assert list(found) == ["full-1", "rate-20k", "null-1m", "engine"]
    for row in found.values():
        for contender, figures in row["contenders"].items():
            for key in ("kmsgs_per_s", "cpu_s_per_million", "rss_peak_mb", "gc_percent", "host_cpu_percent"):
                figure = figures[key]
                assert figure is not None and figure["median"] >= 0, (row["name"], contender, key)
            assert figures["cpu_s_per_million"]["median"] > 0
    kafka = found["rate-20k"]
    assert len(kafka["ratios"]) == 2
    own, tools = kafka["contenders"]["Tidegauge"], kafka["contenders"]["Kafka's tools"]
    assert own["delay_us_p99"] and own["end_to_end_ms_p50"] and own["response_ms_p999"] and own["service_ms_p50"]
    assert tools["service_ms_p999"] and not tools["delay_us_p99"]
    # Nothing is late without a schedule.
    assert not found["full-1"]["contenders"]["Tidegauge"]["delay_us_p50"]
    assert "schedule delay p99, us" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= COLUMNS
    assert "### 20,000 msg/s" in (tmp_path / "table.md").read_text()
    assert list(disk.iterdir()) == []
    assert processes_of(disk) == []


def test_an_interruption_leaves_nothing_behind(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    arguments = [*COMMAND, "--rows", "full-1", *TINY, "--directory", str(disk)]
    command = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert command.stderr is not None
    for line in command.stderr:
        if "bare loop" in line:
            break
    assert any(process.pid != command.pid for process in processes_of(disk))
    command.send_signal(signal.SIGINT)
    said = command.stderr.read()
    assert command.wait(120) == 130
    assert "Interrupted" in said
    assert list(disk.iterdir()) == []
    patience = Patience(10)
    while processes_of(disk) and not patience.is_over():
        time.sleep(0.1)
    assert processes_of(disk) == []
