"""A threshold, and what became of it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tidegauge.statistics.intervals import Interval

OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}


@dataclass(frozen=True)
class Threshold:
    """One line of `thresholds`.

    Attributes:
        text: as it was written.
        figure: a name of `statistics.figures`.
        above, below: the systems of a ratio; "" where the figure itself is asked of.
        experiment, system: what it is restricted to; "" = everything.
        point: values of a sweep that it is restricted to.
    """

    text: str
    figure: str
    operator: str
    limit: float
    above: str = ""
    below: str = ""
    experiment: str = ""
    system: str = ""
    point: Mapping[str, str] = field(default_factory=dict)

    def holds(self, value: float) -> bool:
        """Whether a single value meets it."""
        return OPERATORS[self.operator](value, self.limit)

    @property
    def is_ratio(self) -> bool:
        """Whether two systems are held against each other."""
        return bool(self.above)

    def concerns(self, experiment: str, point: Mapping[str, str]) -> bool:
        """Whether it is asked of an experiment at a point of a sweep."""
        return self.experiment in ("", experiment) and all(point.get(key) == at for key, at in self.point.items())


def is_system(wanted: str, label: str) -> bool:
    """Whether a system is meant: "kafka" means every version, "kafka@4.3.1" that one."""
    return wanted in ("", label, label.partition("@")[0])


class Outcome(StrEnum):
    """MET, MISSED, or INCONCLUSIVE: the interval holds the limit, or there is no figure."""

    MET = "met"
    MISSED = "missed"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Ruling:
    """What became of a threshold where it was asked.

    Attributes:
        threshold: its text.
        subject: the system, or both of a ratio; "" where there was none to ask.
        where: the experiment, with the load and the point of a sweep.
        value: of COUNTED figures the worst of all trials; else the mean over blocks. None without a figure.
        why: in words, for a reader.
    """

    threshold: str
    experiment: str
    subject: str
    where: str
    outcome: Outcome
    value: float | None
    interval: Interval | None
    blocks: int
    why: str
