"""Which Tidegauge this is: version, and in a checkout the git commit."""

from __future__ import annotations

import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

import tidegauge

_PACKAGE = Path(tidegauge.__file__).parent


@dataclass(frozen=True)
class ToolFacts:
    """`git_commit` is "" outside a checkout; `git_modified` says that tracked files differ from it."""

    version: str
    python: str
    git_commit: str
    git_modified: bool


def tool_facts(package: Path = _PACKAGE) -> ToolFacts:
    """Facts about this Tidegauge. Never raises."""
    root = package.parents[1]
    in_checkout = (root / ".git").exists() and (root / "src" / package.name) == package
    commit = _git(root, "rev-parse", "HEAD") if in_checkout else ""
    modified = bool(commit) and bool(_git(root, "status", "--porcelain", "--untracked-files=no"))
    return ToolFacts(tidegauge.__version__, platform.python_version(), commit, modified)


def _git(root: Path, *arguments: str) -> str:
    """What git prints; "" if there is no git or it refuses."""
    try:
        # A checkout that belongs to another user is not dangerous here: nothing of it is run.
        command = ["git", "-C", str(root), "-c", f"safe.directory={root}", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
