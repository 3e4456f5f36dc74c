"""Which versions exist, and which of them are nearest to one that does not. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence


def parse_metadata(xml: str) -> list[str]:
    """The versions listed in a repository's maven-metadata.xml, in its order."""
    return re.findall(r"<version>\s*([^<\s]+)\s*</version>", xml.partition("<versions>")[2].partition("</versions>")[0])


def nearest_versions(wanted: str, existing: Sequence[str], count: int = 4) -> list[str]:
    """The versions nearest to `wanted`, nearest first: by major, minor, patch number; releases before others."""
    target = _numbers(wanted)

    def distance(version: str) -> tuple[object, ...]:
        gaps = [abs(a - b) for a, b in zip(_numbers(version), target, strict=True)]
        return (gaps[0], not _is_release(version), *gaps[1:])

    return sorted(existing, key=distance)[:count]


def _numbers(version: str) -> tuple[int, int, int]:
    """The first three numbers of a version; 0 for those it does not have."""
    numbers = [int(part) for part in re.findall(r"\d+", version.partition("-")[0])[:3]]
    return tuple([*numbers, 0, 0, 0][:3])  # type: ignore[return-value]


def _is_release(version: str) -> bool:
    return re.fullmatch(r"[\d.]+", version) is not None
