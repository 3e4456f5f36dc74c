"""Systems as sentences name them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegauge.store.read import StoredRun
from tidegauge.systems import registry


@dataclass(frozen=True)
class SystemNames:
    """Names for sentences: "Kafka", or "Kafka 4.3.1" where the run has several of them."""

    systems: tuple[str, ...]

    def of(self, system: str) -> str:
        """That of "kafka@4.3.1"."""
        name, _, version = system.partition("@")
        known = registry.all_systems().get(name)
        title = known.title.removeprefix("Apache ").partition(" (")[0] if known else name
        alone = sum(other.partition("@")[0] == name for other in self.systems) < 2
        return title if alone else f"{title} {version}"

    def listed(self, systems: Sequence[str]) -> str:
        """ "Kafka, Pulsar and RabbitMQ"."""
        return listed([self.of(system) for system in systems])


def names_of(run: StoredRun) -> SystemNames:
    """Of all systems that a run planned or measured."""
    planned = [spec.system for spec in run.planned]
    return SystemNames(tuple(dict.fromkeys((*planned, *(one.spec.system for one in run.results)))))


def listed(words: Sequence[str]) -> str:
    """ "a, b and c"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
