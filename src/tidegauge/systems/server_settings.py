"""Which settings servers of a version have, and which of them a campaign may not give. A slip of the pen is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tidegauge.errors import did_you_mean
from tidegauge.systems.api import System

_COMPARED_MAX = 20
DATA = "decides where data is kept, which is on the campaign's disks and removed after the trial: use 'data-directory'"
FILES = "decides where files are written, which is among the trial's own"
PORTS = "decides where servers are reached: free ports and addresses of their own are chosen for each trial"
MEMBERS = "decides who belongs to the cluster, which follows from 'nodes'"


@dataclass(frozen=True)
class ServerSettings:
    """The settings of one version: by name, and those whose names are partly free, by regular expressions.

    `internal`: names that its documentation leaves out, which nobody is pointed to.
    """

    names: frozenset[str]
    patterns: tuple[str, ...] = ()
    internal: frozenset[str] = frozenset()

    def has(self, name: str) -> bool:
        """Whether there is such a setting."""
        return name in self.names | self.internal or any(re.fullmatch(pattern, name) for pattern in self.patterns)


def setting_problems(system: System, version: str, settings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yields the name of each setting that can't be given, and why. Names are checked once the files are there."""
    version_settings = system.server_settings(version) if settings else None
    names, compared = sorted(version_settings.names) if version_settings else [], 0
    for name, value in settings.items():
        if len(f"{value}.".splitlines()) > 1:
            # What follows would be a setting of its own in a server's file, which nobody has checked.
            yield name, "must be one line"
            continue
        reason = next((why for pattern, why in system.reserved_settings.items() if re.fullmatch(pattern, name)), "")
        if reason:
            yield name, f"can't be given: it {reason}"
        elif version_settings is not None and not version_settings.has(name):
            # A slip of the pen is one of few, and to compare a name with hundreds takes a while.
            near = did_you_mean(name, names) if compared < _COMPARED_MAX else ""
            compared += 1
            yield name, f"{system.title} {version} has no such setting of its servers{near}"
