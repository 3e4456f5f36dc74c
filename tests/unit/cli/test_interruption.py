"""Ctrl-C, SIGTERM and a closed terminal, with a real agent and a real process that must not outlive them."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from patience import Patience

from tidegauge import store

SCRIPT = """
import os, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from run_samples import result, second, totals
from tidegauge.cli import running
from tidegauge.cli.main import run_command
from tidegauge.agent.api import ProcessSpec

def execute(plan, run, host, observer, recorded, **more):
    trials = plan.trials
    run.write_plan(trials)
    Path("planned").write_text(str(len(trials)))
    run.open_trial(trials[0]).finish(result(trials[0]), totals())
    trial = run.open_trial(trials[1])
    trial.append_second(second())
    log = str(trial.log_directory / "sleeper.log")
    spec = ProcessSpec("sleeper", ("/bin/sleep", "600"), {}, "/", log)
    Path("sleeper.pid").write_text(str(host.start(spec).pid))
    Path("ready").touch()
    time.sleep(600)

running.execute = execute
sys.exit(run_command(["quick"]))
"""


def _started(tmp_path: Path, stdout: int, stderr: int | None = None) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "TIDEGAUGE_RUNS": str(tmp_path / "runs"),
        "TIDEGAUGE_STATE": str(tmp_path / "state"),
        "TIDEGAUGE_CEILINGS": "off",
    }
    command = [sys.executable, "-c", SCRIPT, str(Path(__file__).parents[2] / "support")]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=stdout, stderr=stderr or stdout, start_new_session=True
    )
    patience = Patience(120)
    while not (tmp_path / "ready").exists():
        assert process.poll() is None
        assert not patience.is_over()
        time.sleep(0.05)
    return process


def _sleeper(tmp_path: Path) -> int:
    return int((tmp_path / "sleeper.pid").read_text())


def _assert_kept_and_ended(tmp_path: Path) -> None:
    assert not psutil.pid_exists(_sleeper(tmp_path))
    (run,) = store.list_runs(tmp_path / "runs")
    assert run.status == "interrupted"
    assert [trial.status for trial in run.trials] == ["finished", "interrupted"]
    assert not (run.path / "data").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_everything_and_keeps_what_was_measured(tmp_path: Path, number: signal.Signals) -> None:
    process = _started(tmp_path, subprocess.PIPE, subprocess.PIPE)
    process.send_signal(number)
    out, err = process.communicate()
    text = out.decode()
    assert process.returncode == 130
    assert err.decode().startswith("Interrupted: stopping 1 process;")
    assert "Traceback" not in err.decode()
    # Four, or six where RabbitMQ is available.
    planned = (tmp_path / "planned").read_text()
    assert f"1 of {planned} trials finished" in text
    assert "To go on with it: tidegauge run --resume" in text
    _assert_kept_and_ended(tmp_path)


def test_a_closed_terminal_ends_everything_too(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = _started(tmp_path, theirs)
    os.close(theirs)
    os.close(ours)
    process.send_signal(signal.SIGHUP)
    assert process.wait() == 130
    _assert_kept_and_ended(tmp_path)


def test_the_live_view_on_a_terminal_leaves_the_cursor_visible(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = _started(tmp_path, theirs)
    os.close(theirs)
    process.send_signal(signal.SIGINT)
    shown = b""
    while chunk := _read(ours):
        shown += chunk
    assert process.wait() == 130
    assert b"\x1b[?25l" in shown, "the live view hides the cursor while it draws"
    assert shown.rindex(b"\x1b[?25h") > shown.rindex(b"\x1b[?25l")
    assert b"Interrupted: stopping 1 process" in shown
    os.close(ours)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


INTERRUPTED = """
import sys
from tidegauge.cli import main

def app(**_):
    print("begun", flush=True)
    sys.stdin.readline()
    sys.stdout.write("what is left in the buffer")
    raise KeyboardInterrupt

main._command_tree = lambda: app
sys.exit(main.run_command(["runs"]))
"""


def test_the_exit_code_is_kept_where_nobody_can_read_the_last_words() -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdin=subprocess.PIPE, stdout=theirs, stderr=theirs)
    os.close(theirs)
    assert os.read(ours, 100)
    os.close(ours)
    process.communicate(b"go on\n")
    assert process.returncode == 130
