"""What strikes a cluster where a claim speaks of a guarantee: how, and how many of its nodes."""

from __future__ import annotations

from enum import StrEnum

from tidegauge.model.attest import AttestPlan, FileSystem, Means, Scenario


class Incident(StrEnum):
    """How nodes end, and which. A crash ends processes only, and what they gave to the kernel survives it."""

    CRASH_OF_ALL = "crash-of-all"
    CRASH_OF_ONE = "crash-of-one"
    POWER_CUT_OF_ALL = "power-cut-of-all"
    POWER_CUT_OF_ONE = "power-cut-of-one"

    @property
    def words(self) -> str:
        """ "power cut of all nodes"."""
        return f"{self.value.replace('-', ' ')} node{'s' if _STRIKES[self][1] is Scenario.ALL else ''}"

    @property
    def means(self) -> Means:
        """How nodes are ended."""
        return _STRIKES[self][0]

    @property
    def scenario(self) -> Scenario:
        """Which nodes are ended."""
        return _STRIKES[self][1]


_STRIKES = {
    Incident.CRASH_OF_ALL: (Means.CRASH, Scenario.ALL),
    Incident.CRASH_OF_ONE: (Means.CRASH, Scenario.ONE),
    Incident.POWER_CUT_OF_ALL: (Means.POWER, Scenario.ALL),
    Incident.POWER_CUT_OF_ONE: (Means.POWER, Scenario.ONE),
}


def incidents_of_plan(plan: AttestPlan) -> frozenset[Incident]:
    """What an attestation does to the level that it tries: nothing if it is a control, or less than a power cut."""
    if plan.control or plan.file_system is FileSystem.FUSE:
        return frozenset()
    strikes = {(plan.means, cycle.scenario) for cycle in plan.cycles}
    return frozenset(incident for incident, strike in _STRIKES.items() if strike in strikes)
