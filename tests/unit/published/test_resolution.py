"""Verdicts on published claims are no finer than the searches that they rest on."""

from __future__ import annotations

from published_samples import CONFIRMED, CONTRADICTED, NOT_DECIDED, TWICE, judged, throughput

from tidegauge.published.observe import ExaminedRun


def test_repeats_with_the_same_rate_decide_no_finer_than_a_search_goes() -> None:
    def repeated(kafka: float) -> ExaminedRun:
        made = [
            throughput(system, rate, block=block)
            for block in range(3)
            for system, rate in (("kafka", kafka), ("pulsar", 10_000.0))
        ]
        return ExaminedRun(tuple(one for one, _ in made), (), tuple(one for _, one in made))

    for rate, size in (
        (20_500.0, NOT_DECIDED),
        (19_500.0, NOT_DECIDED),
        (21_500, CONFIRMED),
        (18_500, CONTRADICTED),
    ):
        assert judged(TWICE, repeated(rate)).parts[0].size is size
