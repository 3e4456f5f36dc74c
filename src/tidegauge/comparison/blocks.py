"""A run's results sorted into what is compared with each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tidegauge.model.trial import TrialResult, Validity, point_words
from tidegauge.model.workload import Arrival


@dataclass(frozen=True)
class Block:
    """Results that are compared: the same experiment at the same load on the same workload, at one point of a sweep."""

    experiment: str
    results: tuple[TrialResult, ...]

    @property
    def closed_loop(self) -> bool:
        """Whether there was no schedule."""
        return self.results[0].spec.workload.arrival is Arrival.CLOSED_LOOP

    @property
    def point(self) -> Mapping[str, str]:
        """Of the sweep; empty without one."""
        return self.results[0].spec.point

    @property
    def systems(self) -> tuple[str, ...]:
        """Systems by name: the order of measuring is drawn by lot, and a reader wants the same rows each time."""
        return tuple(sorted({result.spec.system for result in self.results}))

    def label(self, system: str) -> str:
        """A system with the form in which it gives its durability level."""
        return self.of(system)[0].spec.label

    def of(self, system: str) -> tuple[TrialResult, ...]:
        """All trials of one system."""
        return tuple(result for result in self.results if result.spec.system == system)

    def usable(self, system: str) -> tuple[TrialResult, ...]:
        """Its trials whose figures may be used."""
        return tuple(result for result in self.of(system) if result.validity is not Validity.INVALID)


def blocks(results: Sequence[TrialResult]) -> list[Block]:
    """Results sorted into tables, in the order they were first measured; exploratory ones are their finding's."""
    found: dict[tuple[object, ...], list[TrialResult]] = {}
    for result in results:
        spec = result.spec
        if spec.exploratory:
            continue
        # A system's own client settings differ between systems by their nature: they don't part what is compared.
        common = replace(spec.workload, producer_overrides={}, consumer_overrides={})
        point = point_words(spec.point)
        key = (spec.experiment, spec.rate_rule, result.offered_msgs_per_s, spec.measure_s, repr(common), spec.nodes)
        found.setdefault((*key, point, spec.faults), []).append(result)
    return [Block(group[0].spec.experiment, tuple(group)) for group in found.values()]
