"""Running the host's own tools, and saying in one line why one failed."""

from __future__ import annotations

import subprocess

_COMMAND_S = 300.0
"""Replaying a journal on a busy disk takes its time."""


def run(*command: str, text: str = "") -> str:
    """What a command prints; it reads `text`. Raises `OSError` with its own words if it fails."""
    done = finished(*command, text=text)
    if done.returncode != 0:
        raise OSError(0, f"{command[0]}: {' '.join(done.stderr.split())[:200] or f'exit code {done.returncode}'}")
    return done.stdout.strip()


def finished(*command: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """A command that has ended, however. Raises `OSError` if it can't be run or takes too long."""
    try:
        return subprocess.run(command, input=text, capture_output=True, text=True, timeout=_COMMAND_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise OSError(0, f"{command[0]} took over {_COMMAND_S:.0f} s") from error
