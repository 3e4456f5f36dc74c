"""Emptying the page cache, so that every trial begins alike. Root only."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_DROP = Path("/proc/sys/vm/drop_caches")
_PAGES_ONLY = "1"


@dataclass(frozen=True)
class CacheDrop:
    """Whether the page cache was dropped, and if not, why."""

    done: bool
    reason: str = ""


def drop_page_cache(control: Path = _DROP) -> CacheDrop:
    """Write back what is dirty, then drop the page cache. Never raises."""
    try:
        # Dirty pages can't be dropped.
        os.sync()
        control.write_text(_PAGES_ONLY)
    except PermissionError:
        return CacheDrop(False, "needs root")
    except OSError as error:
        return CacheDrop(False, f"{control}: {error.strerror}")
    return CacheDrop(True)
