"""Differences from a report that can't be computed, each with the plans that it holds for. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from tidegauge.config.fields import Fields
from tidegauge.model.trial import TrialSpec
from tidegauge.published.planned import Planned, Servers, family


class Condition(Fields):
    """Which plans a sentence holds for. A key that is not given asks for nothing.

    Attributes:
        system, level, form, without_form, variant: a trial must be there that has all of these: one of the levels, one
            of the forms, none of those that it must be without, a value of one of the sweep's axes.
        examines: a figure of this experiment is examined.
        started: servers are started here; of `system` if one is given.
        data_disks_max, journal_apart: the same servers are on so many disks at most, have their journal apart or not.
    """

    system: str = ""
    level: list[int] = Field(default_factory=list)
    form: list[str] = Field(default_factory=list)
    without_form: list[str] = Field(default_factory=list)
    variant: str = ""
    examines: str = ""
    started: bool = False
    data_disks_max: int | None = None
    journal_apart: bool | None = None

    def holds(self, planned: Planned) -> bool:
        """Whether everything that it asks for is in a plan."""
        return (
            self.examines in ("", *planned.experiments)
            and any(map(self._of_trial, planned.trials))
            and self._of_servers(planned)
        )

    def _of_trial(self, trial: TrialSpec) -> bool:
        return (
            self.system in ("", family(trial.system))
            and (not self.level or trial.choice.level in self.level)
            and (not self.form or trial.choice.form in self.form)
            and trial.choice.form not in self.without_form
            and (not self.variant or self.variant in trial.point.values())
        )

    def _of_servers(self, planned: Planned) -> bool:
        if not self.started and self.data_disks_max is None and self.journal_apart is None:
            return True
        own: Sequence[Servers] = [
            servers for name, points in planned.servers.items() if self.system in ("", name) for servers in points
        ]
        return any(
            (self.data_disks_max is None or servers.data_disks <= self.data_disks_max)
            and self.journal_apart in (None, servers.journal_apart)
            for servers in own
        )


class Difference(Fields):
    """A sentence, and where it holds: always, without a condition."""

    text: str
    where: Condition = Condition()

    @property
    def sentence(self) -> str:
        """The text without the line breaks of its file."""
        return " ".join(self.text.split())
