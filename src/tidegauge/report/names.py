"""Systems as sentences name them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tidegauge.model.trial import AttestSpec, family, point_words, with_form
from tidegauge.numbers import join_with_and
from tidegauge.plain import grouped
from tidegauge.store.read import StoredRun
from tidegauge.systems import registry


@dataclass(frozen=True)
class SystemNames:
    """Names for sentences: "Kafka", or "Kafka 4.3.1" where the run has several of them, and "Pulsar (bypass)".

    `forms`: in which forms each system gives its durability level, by the points of a sweep in words.
    """

    systems: tuple[str, ...]
    forms: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def form(self, system: str, at: str | None = None) -> str:
        """The form at a point in words; without one that of all points, "" if they differ."""
        forms_by_point = self.forms.get(system, {})
        if at is not None and at in forms_by_point:
            return forms_by_point[at]
        return next(iter(forms_by_point.values())) if len(set(forms_by_point.values())) == 1 else ""

    def label(self, system: str, at: str | None = None) -> str:
        """How a table calls a system: "pulsar@4.2.4 (bypass)"."""
        return with_form(system, self.form(system, at))

    def name_of(self, system: str, at: str | None = None) -> str:
        """How a sentence calls a system such as "kafka@4.3.1", at a point in words or at all of them."""
        name, _, version = system.partition("@")
        registered_system = registry.all_systems().get(name)
        title = registered_system.short_title or registered_system.title if registered_system else name
        alone = sum(family(other) == name for other in self.systems) < 2
        return with_form(title if alone else f"{title} {version}", self.form(system, at))

    def where(self, system: str, at: str) -> str:
        """A point in words, with the form in which the system gives its level there, if that is not so everywhere."""
        form = "" if self.form(system) else self.form(system, at)
        return at if form in at.split() else ", ".join(filter(None, (at, form)))

    def listed(self, systems: Sequence[str]) -> str:
        """ "Kafka, Pulsar and RabbitMQ"."""
        return join_with_and([self.name_of(system) for system in systems])


def names_of(run: StoredRun) -> SystemNames:
    """Names of all systems that a run planned or measured."""
    # A positive control has another level, and so perhaps another form, at the point of what it is the control of.
    specs = [spec for spec in run.specs if not (isinstance(spec, AttestSpec) and spec.attest.control)]
    by_system = grouped((spec.system, (point_words(spec.point), spec.form)) for spec in specs)
    forms = {system: dict(at_points) for system, at_points in by_system.items()}
    return SystemNames(tuple(forms), forms)
