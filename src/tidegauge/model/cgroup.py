"""How a cgroup is called where people read of it: those of containers are called by 32 to 64 digits. Pure."""

from __future__ import annotations

import re

_LONG_ID = re.compile(r"[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{24,}")
_ID_CHARS_SHOWN = 12
"""As many as docker shows, and takes."""


def short_cgroup(place: str) -> str:
    """What tells a cgroup from others, of its place in the tree: "docker/3f9a0b1c2d3e", "ci.slice"; "" for the root."""
    parts = [part for part in place.split("/") if part]
    of_containers = [index for index, part in enumerate(parts) if _LONG_ID.search(part)]
    index = of_containers[-1] if of_containers else len(parts) - 1
    first = max(0, index - 1) if of_containers and _LONG_ID.fullmatch(parts[index]) else index
    return "/".join(_LONG_ID.sub(_begin_of_id, part) for part in parts[first : index + 1])


def cgroup_pattern(path: str) -> str:
    """A cgroup's directory as a pattern that the shell completes: "/sys/fs/cgroup/docker/3f9a0b1c2d3e*"."""
    return _LONG_ID.sub(lambda match: f"{_begin_of_id(match)}*", path)


def _begin_of_id(match: re.Match[str]) -> str:
    return re.split("[-_]", match[0])[0][:_ID_CHARS_SHOWN]
