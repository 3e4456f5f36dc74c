"""Where Tidegauge keeps what outlives a run."""

from __future__ import annotations

import os
from pathlib import Path


def state_directory() -> Path:
    """Where Tidegauge keeps state between runs: $TIDEGAUGE_STATE, else the XDG state directory."""
    own = os.environ.get("TIDEGAUGE_STATE")
    if own:
        return Path(own).absolute()
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base).absolute() / "tidegauge"
