"""What this process may ask of the kernel. Root in a container often lacks what root elsewhere has."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

_BITS = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}
"""From `linux/capability.h`."""


def refusal(capability: str, tools: Iterable[str] = (), root: Path = Path("/")) -> str:
    """Why this process can't do what needs a capability and these tools; "" if it can, as far as one can tell before.

    Args:
        capability: "CAP_SYS_ADMIN" or "CAP_NET_ADMIN".
        tools: commands that must be found.
        root: where /proc is (for tests).
    """
    if os.geteuid() != 0:
        return "needs root"
    effective = re.search(r"^CapEff:\s*([0-9a-f]+)$", _status(root), re.MULTILINE)
    if effective is not None and not int(effective[1], 16) >> _BITS[capability] & 1:
        return f"needs {capability}, which this container does not give"
    missing = [tool for tool in tools if shutil.which(tool) is None]
    return f"{', '.join(missing)} can't be found" if missing else ""


def _status(root: Path) -> str:
    try:
        return (root / "proc/self/status").read_text()
    except OSError:
        return ""
