"""Why Maven could not resolve a version, told from what it printed. Pure, apart from the words it returns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from tidegauge.distribution.coordinates import Recipe
from tidegauge.distribution.fetch import without_credentials


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
OURS = r"(?:central|tidegauge)"
"""Maven's names for the repository that is asked first: as it comes, and with MAVEN_REPO set."""
MISSING = (
    re.compile(rf"Could not find artifact {ARTIFACT}"),
    re.compile(rf"Failure to find {ARTIFACT}"),
    # Central, or the mirror of it in MAVEN_REPO, said no; then a repository that some project file names was unknown.
    re.compile(rf"Could not transfer artifact {ARTIFACT} from/to (?!{OURS} )\S+ \(\S+\): .*Unknown host"),
    re.compile(rf"The following artifacts could not be resolved: {ARTIFACT}"),
)
UNREACHABLE = re.compile(
    r"Unknown host|UnknownHostException|Connection refused|Connect(?:ion)? timed out|Network is unreachable|"
    r"Connection reset|No route to host|Read timed out|PKIX path|SSLHandshake|in offline mode|"
    # Maven 3.8 says "status: 503", and of a connection that ended in the middle at first only that the request failed.
    r"status(?: code)?: (?:429|5\d\d)|GET request of: \S+ from \S+ failed|"
    r"Premature end|closed prematurely|failed to respond|Unexpected end of (?:file|stream)",
    re.IGNORECASE,
)


def explain(output: str, recipe: Recipe) -> Failure:
    """The cause of a failed resolution."""
    errors = "\n".join(line for line in output.splitlines() if "[ERROR]" in line or "[FATAL]" in line) or output
    if "No space left on device" in output:
        return Failure(Cause.DISK_FULL, "")
    if "Checksum validation failed" in errors:
        return Failure(Cause.CHECKSUM, _first(r"Could not transfer artifact (\S+)", errors))
    central_down = re.search(rf"from/to {OURS} .*?: (.*)", errors)
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


def unreached(output: str) -> str:
    """What a build could not fetch from where, and why, in words; "" if it failed of something else."""
    transfers = re.findall(r"Could not transfer artifact (\S+) from/to \S+ \((\S+?)\): (.*)", output)
    failed = [transfer for transfer in transfers if UNREACHABLE.search(transfer[2])]
    if not failed:
        return ""
    # Maven repeats itself; the last time it adds the cause.
    artifact, repository, why = failed[-1]
    why = re.sub(r" and 'parent\.relativePath'.*? @ line \d+, column \d+| -> \[Help \d+\]$", "", why)
    return f"{artifact} could not be fetched from {without_credentials(repository)} ({without_credentials(why)[:200]})"


def _first(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    return match.group(1) if match else ""
