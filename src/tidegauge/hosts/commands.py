"""Running the host's own tools, why one failed, and what this process asks, and may ask, of the kernel."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from tidegauge.hosts.storage import read_stripped_text

_COMMAND_S = 300.0
"""Replaying a journal on a busy disk takes its time."""


def run_command(*command: str, text: str = "") -> str:
    """Run a command, which reads `text`; what it prints. Raises `OSError` with its own words if it fails."""
    done = run_to_end(*command, text=text)
    if done.returncode != 0:
        raise OSError(0, f"{command[0]}: {' '.join(done.stderr.split())[:200] or f'exit code {done.returncode}'}")
    return done.stdout.strip()


def run_to_end(*command: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command to its end, however it ends. Raises `OSError` if it can't be run or takes too long."""
    try:
        return subprocess.run(command, input=text, capture_output=True, text=True, timeout=_COMMAND_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise OSError(0, f"{command[0]} took over {_COMMAND_S:.0f} s") from error


_libc = ctypes.CDLL(None, use_errno=True)


def call_libc(function: str, *arguments: object) -> int:
    """What a function of the C library returns that asks the kernel for something. Raises `OSError` if it refuses."""
    result = int(getattr(_libc, function)(*arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


_BITS = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}
"""From `linux/capability.h`."""


def capability_refusal(capability: str, tools: Iterable[str] = (), root: Path = Path("/")) -> str:
    """Why this process can't do what needs a capability and these tools; "" if it can, as far as is known before.

    Args:
        capability: "CAP_SYS_ADMIN" or "CAP_NET_ADMIN".
        tools: commands that must be found.
        root: where /proc is (for tests).
    """
    if os.geteuid() != 0:
        return "needs root"
    effective = re.search(r"^CapEff:\s*([0-9a-f]+)$", read_stripped_text(root / "proc/self/status"), re.MULTILINE)
    if effective is not None and not int(effective[1], 16) >> _BITS[capability] & 1:
        return f"needs {capability}, which this container does not give"
    return tools_refusal(missing_tools(tools))


def missing_tools(tools: Iterable[str]) -> list[str]:
    """Which of these commands can't be found."""
    return [tool for tool in tools if shutil.which(tool) is None]


def tools_refusal(missing: Iterable[str]) -> str:
    """That commands can't be found; "" without any."""
    names = ", ".join(missing)
    return f"{names} can't be found" if names else ""
