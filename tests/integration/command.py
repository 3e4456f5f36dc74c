"""The command `tidegauge` as a user runs it: a process of its own, with its own state and runs directories."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

NULL_CAMPAIGN = """
name: tiny
systems: ["null"]
durability: 4
workload: {message-size: 200B}
experiments:
  - {name: latency, rate: 1000, warm-up-min: 1s, warm-up-max: 2s, measure: 3s, drain-max: 8s}
"""

KAFKA_CAMPAIGN = NULL_CAMPAIGN.replace('["null"]', "[kafka]").replace("measure: 3s", "measure: 4s")


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

    def start(self, *arguments: str, **more: Any) -> subprocess.Popen[str]:
        """Start the command; its output goes to pipes."""
        return subprocess.Popen(
            [sys.executable, "-m", "tidegauge.cli", *arguments],
            env=self.environment(),
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **more,
        )

    def run(self, *arguments: str, timeout_s: float = 200) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=timeout_s)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

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


def wait_for(what: Callable[[], Any], seconds_max: float, name: str) -> Any:
    """Wait until `what()` is true and return it."""
    deadline_s = time.monotonic() + seconds_max
    while time.monotonic() < deadline_s:
        found = what()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"{name} did not happen within {seconds_max} s")


def measuring(place: Place) -> bool:
    """Whether a trial has per-second figures already."""
    return any(path.stat().st_size > 0 for path in place.runs.glob("*/trials/*/seconds.jsonl"))
