"""The command `tidegauge` as a user runs it: a process of its own, with its own state and runs directories."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet
from patience import Patience, starved_us, wait_for

from tidegauge.model.reason import ReasonKind
from tidegauge.store.tables import ROWS_MAX
from tidegauge.store.telemetry import use_rows

PATIENCE_S = 90.0
"""How long tests wait for a step of a short run, on a calm machine of usual speed."""
STARVED_SHARE = 0.25
"""Of a time, in which somebody was ready to run and had no CPU: less does not explain a late generator."""
STALL_S_MAX = 0.25
"""What one stall of the machine or of the JVM may take. A virtual CPU that its host withholds is counted nowhere."""
NEVER_BROKEN = "nothing was broken up to"
"""Why a search that nothing fails at leaves its question open."""

NULL_CAMPAIGN = """
name: tiny
systems: ["null"]
durability: 4
workload: {message-size: 200B}
experiments:
  - {name: latency, rate: 1000, warm-up-min: 1s, warm-up-max: 2s, measure: 3s, drain-max: 8s}
"""

KAFKA_CAMPAIGN = NULL_CAMPAIGN.replace('["null"]', "[kafka]").replace("measure: 3s", "measure: 4s")


class Done(subprocess.CompletedProcess[str]):
    """A command that has ended. `starved`: the share of its time in which somebody lacked a CPU."""

    began_s = 0.0
    """Since 1970."""
    starved = 0.0

    @property
    def printed(self) -> str:
        """The end of all that it printed, and how busy the machine was."""
        return f"{self.stdout[-4000:]}{self.stderr[-4000:]}\n(exit code {self.returncode}, starved {self.starved:.0%})"


class Command(subprocess.Popen[str]):
    """The command as it runs. Waiting for its end follows the machine, see `patience`."""

    def __init__(self, *arguments: str | Path, **more: Any) -> None:
        self._starved_us, self._began_s = starved_us(), time.time()
        super().__init__(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)

    def communicate(self, input: str | None = None, timeout: float | None = PATIENCE_S) -> tuple[str, str]:
        """Its output, once it has ended. Kills it, and fails with its output, if it does not end in `timeout`."""
        patience = Patience(timeout or PATIENCE_S)
        while True:
            try:
                return super().communicate(input, 1.0)
            except subprocess.TimeoutExpired:
                if patience.is_over():
                    self.kill()
                    out, err = super().communicate()
                    raise AssertionError(f"{self.args} did not end within {patience}: {out}{err}") from None

    def finish(self, seconds_max: float = PATIENCE_S) -> Done:
        """Wait for its end."""
        out, err = self.communicate(timeout=seconds_max)
        done = Done(self.args, self.returncode, out, err)
        done.began_s = self._began_s
        done.starved = (starved_us() - self._starved_us) / 1e6 / (time.time() - self._began_s)
        return done

    def check(self) -> None:
        """Fail with its output if it has ended: what a test waits for won't happen any more."""
        if self.poll() is not None:
            raise AssertionError(f"the command ended meanwhile: {self.finish().printed}")


@dataclass
class Place:
    """Directories of one test. `cache` None = the user's own, shared, so that nothing is fetched twice."""

    root: Path
    cache: Path | None = None
    reports: bool = False
    """Whether runs write their report: it takes a few seconds, and few tests look at it."""
    ceilings: bool = False
    """Whether runs measure the machine first, likewise."""

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def state(self) -> Path:
        return self.root / "state"

    def environment(self) -> dict[str, str]:
        own = {"TIDEGAUGE_STATE": str(self.state), "TIDEGAUGE_RUNS": str(self.runs), "COLUMNS": "100"}
        own["TIDEGAUGE_REPORT"] = "on" if self.reports else "off"
        own["TIDEGAUGE_CEILINGS"] = "on" if self.ceilings else "off"
        if self.cache:
            own["TIDEGAUGE_CACHE"] = str(self.cache)
        return {**os.environ, **own}

    def write(self, text: str, name: str = "campaign.yaml") -> Path:
        path = self.root / name
        path.write_text(text)
        return path

    def start(self, *arguments: str, **more: Any) -> Command:
        """Start the command; its output goes to pipes."""
        command = (sys.executable, "-m", "tidegauge.cli", *arguments)
        return Command(*command, env=self.environment(), cwd=self.root, **more)

    def run(self, *arguments: str, timeout_s: float = 200) -> Done:
        return self.start(*arguments).finish(timeout_s)

    def agents(self) -> list[dict[str, Any]]:
        """What each agent of this place holds, from the crash registry."""
        found = []
        for path in (self.state / "agents").glob("*.json"):
            try:
                found.append(json.loads(path.read_text()))
            except (OSError, ValueError):
                continue
        return found

    def held(self) -> dict[str, int]:
        """Processes by name that an agent of this place holds."""
        return {one["name"]: one["identity"]["pid"] for agent in self.agents() for one in agent["processes"]}

    def strays(self) -> list[str]:
        """Processes that belong to this place: its directories are in their command line or environment."""
        found = []
        for process in psutil.process_iter():
            try:
                text = " ".join(process.cmdline()) + " " + " ".join(process.environ().values())
                if str(self.root) in text and process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(f"{process.pid} {' '.join(process.cmdline())[:200]}")
            except psutil.Error:
                continue
        return found

    def left_behind(self) -> list[str]:
        """Everything that should not be there once a run is over."""
        data = [str(path) for path in self.runs.glob("*/data/*")]
        records = [str(path) for path in (self.state / "agents").glob("*.json")]
        return [*self.strays(), *data, *records]

    def only_run(self) -> Path:
        (run,) = [path for path in self.runs.iterdir() if path.is_dir() and not path.is_symlink()]
        return run


def wait_until_measuring(place: Place, process: Command) -> None:
    """Until a trial has per-second figures."""
    wait_for(lambda: measuring(place), PATIENCE_S, "measuring", process.check)


def shown_by_processes(process: Command) -> list[str]:
    """What other users' tools could show of a command that runs, and of what it started: lines, and environments.

    The command's own environment is its user's.
    """
    command = psutil.Process(process.pid)
    children = command.children(recursive=True)
    lines = [" ".join(one.cmdline()) for one in (command, *children)]
    assert any("io.tidegauge" in line for line in lines), "the load generator is among them"
    return [*lines, *(" ".join(one.environ().values()) for one in children)]


def measuring(place: Place) -> bool:
    """Whether a trial has per-second figures already."""
    return any(path.stat().st_size > 0 for path in place.runs.glob("*/trials/*/seconds.jsonl"))


def valid_unless_starved(done: Done, place: Place, left_open: str = "") -> bool:
    """Whether the run came to valid trials and decided findings; False where the generator provably lacked CPU.

    That is: the exit code is 3, each INVALID trial has a lag of the generator's own that makes up half of its response,
    or consumers of the generator without time left that make up half of the end-to-end time, each undecided finding
    rests on such a trial, and somebody lacked a CPU in the run or in what that trial measured: one of a second can be
    starved in a run that is not. Nor is a generator at fault whose messages were late for one stall of a short window.
    All else fails.
    Findings that say `left_open` are undecided by what the campaign asks for, and nobody's fault.
    """
    runs = [path.parent for path in place.runs.glob("*/run.json") if path.stat().st_mtime >= done.began_s - 1]
    trials = [stored_result(path.parent) for run in runs for path in run.glob("trials/*/result.json")]
    findings = [json.loads(path.read_text())["finding"] for run in runs for path in run.glob("findings/*.json")]
    undecided = [finding for finding in findings if not finding["decided"]]
    meant = [one for one in undecided if left_open and left_open in " ".join(one["summary"])]
    invalid = [trial for trial in trials if trial["validity"] == "invalid" and not trial["spec"]["exploratory"]]
    if done.returncode == 0:
        assert trials and not invalid, done.printed
        return True
    assert done.returncode == 3, done.printed
    late = [trial for trial in trials if _is_late(trial) or is_slow(trial)]
    unexplained = [one["reasons"] for one in invalid if one not in late]
    spoilt = {(one["spec"]["experiment"], one["spec"]["system"]) for one in late}
    unexplained += [
        one["summary"] for one in undecided if (one["experiment"], one["system"]) not in spoilt and one not in meant
    ]
    assert not unexplained, (unexplained, done.printed)
    if meant and not invalid:
        return True
    assert late, f"nothing that was stored explains the exit code: {done.printed}"
    for one in late:
        if _is_late_for_one_stall(one):
            continue
        starved = _starved_while_measured(one["directory"])
        assert max(done.starved, starved) >= STARVED_SHARE, (
            f"{one['directory']}: late on a machine that was calm ({starved:.0%} starved): {done.printed}"
        )
    return False


def stored_result(trial: Path) -> dict[str, Any]:
    """A trial's result with the kinds of its reasons, and where it is."""
    content = json.loads((trial / "result.json").read_text())
    kinds = [ReasonKind(reason["kind"]) for reason in content["remarks"]["reasons"]]
    return {**content["result"], "kinds": kinds, "directory": trial}


def _starved_while_measured(trial: Path) -> float:
    """The share of a trial's measured seconds in which some task of this machine waited for a CPU."""
    seconds = pyarrow.parquet.read_table(trial / "seconds.parquet").to_pylist()
    measured = [row for row in seconds if row["phase"] not in ("", "warm-up", "drain")]
    looks = [
        row["cpu_stall_percent"] or 0.0
        for row in use_rows(trial, ROWS_MAX)
        if any(
            row["until_mono_ns"] > one["from_mono_ns"] and row["from_mono_ns"] < one["until_mono_ns"]
            for one in measured
        )
    ]
    return sum(looks) / 100 / len(looks) if looks else 0.0


def _is_late(result: dict[str, Any]) -> bool:
    """Whether a trial is INVALID by the own lag of a generator of its, which its figures must bear out."""
    judged = [(part["own_lag"], part["response"]) for part in (result, *result.get("workers", ()))]
    names = ("p50_ms", "p95_ms", "p99_ms")
    figures = [
        (lag[name], response[name]) for lag, response in judged for name in names if lag[name] and response[name]
    ]
    bears_out = any(own_ms >= 1.0 and own_ms >= 0.5 * all_ms for own_ms, all_ms in figures)
    return result["kinds"][:1] == [ReasonKind.OWN_LAG] and bears_out


def _is_late_for_one_stall(result: dict[str, Any]) -> bool:
    """Whether a generator was on time but for the slowest twentieth of a window so short that one stall makes them."""
    late_s_max = 0.05 * result["spec"]["measure_s"]
    return bool(_is_late(result) and result["own_lag"]["p95_ms"] < 0.5 and late_s_max <= STALL_S_MAX)


def is_slow(result: dict[str, Any]) -> bool:
    """Whether a trial is INVALID by consumers of its generator without time left, which its figures must bear out."""
    found = result["busy_consumer"]
    if found is None or ReasonKind.BUSY_CONSUMER not in result["kinds"]:
        return False
    return bool(5 * found["busy_seconds"] >= found["seconds"] > 0 and found["waiting_ms"] >= 1.0)
