"""Why Maven could not resolve a version, told from what it printed. Pure, apart from the words it returns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from tidegauge.distribution.coordinates import Recipe


class Cause(StrEnum):
    """What went wrong."""

    NO_SUCH_VERSION = "no such version"
    INCOMPLETE = "incomplete"
    UNREACHABLE = "unreachable"
    CHECKSUM = "checksum"
    DISK_FULL = "disk full"
    OTHER = "other"


@dataclass(frozen=True)
class Failure:
    """A cause and the thing concerned: the missing artifact, the address, or Maven's own words."""

    cause: Cause
    detail: str


ARTIFACT = r"((?:[\w.\-]+:){3,4}[\w.\-]+)"
MISSING = (
    re.compile(rf"Could not find artifact {ARTIFACT}"),
    re.compile(rf"Failure to find {ARTIFACT}"),
    # Central said no, then a further repository named by some project file could not be asked.
    re.compile(rf"Could not transfer artifact {ARTIFACT} from/to (?!central )\S+ \(\S+\): .*Unknown host"),
    re.compile(rf"The following artifacts could not be resolved: {ARTIFACT}"),
)
UNREACHABLE = re.compile(
    r"Unknown host|UnknownHostException|Connection refused|Connect(?:ion)? timed out|Network is unreachable|"
    r"Connection reset|No route to host|Read timed out|PKIX path|SSLHandshake|in offline mode|status code: 5\d\d",
    re.IGNORECASE,
)


def explain(output: str, recipe: Recipe) -> Failure:
    """The cause of a failed resolution."""
    errors = "\n".join(line for line in output.splitlines() if "[ERROR]" in line or "[FATAL]" in line) or output
    if "No space left on device" in output:
        return Failure(Cause.DISK_FULL, "")
    if "Checksum validation failed" in errors:
        return Failure(Cause.CHECKSUM, _first(r"Could not transfer artifact (\S+)", errors))
    central_down = re.search(r"from/to central .*?: (.*)", errors)
    if central_down and UNREACHABLE.search(central_down.group(1)):
        return Failure(Cause.UNREACHABLE, central_down.group(1)[:200])
    for pattern in MISSING:
        match = pattern.search(errors)
        if match:
            missing = match.group(1)
            own = missing.startswith(f"{recipe.root.group}:{recipe.root.artifact}:")
            return Failure(Cause.NO_SUCH_VERSION if own else Cause.INCOMPLETE, missing)
    unreachable = UNREACHABLE.search(errors)
    if unreachable:
        return Failure(Cause.UNREACHABLE, unreachable.group(0))
    return Failure(Cause.OTHER, _first(r"\[ERROR\]\s*(.+)", errors)[:400])


def _first(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    return match.group(1) if match else ""
