"""Variants carried out with simulated parts: each with its own settings, all at one rate, a level reported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from run_scenes import Scene

from tidegauge.campaign.model import Campaign, Point
from tidegauge.campaign.run.trial import load as trial
from tidegauge.model.trial import LoadResult, LoadSpec
from tidegauge.model.variant import VARIANT, Variant


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    return Scene(tmp_path)


def with_variants(campaign: Campaign, **changes: Any) -> Campaign:
    """Two variants of the first system: with 1 and 100 partitions, and with acks of their own."""
    variants = tuple(Variant(name, {"producer acks": acks}) for name, acks in (("a", "all"), ("b", "1")))
    campaign = replace(campaign, variants=variants, systems=campaign.systems[:1], repeat=2, **changes)
    points = tuple(
        Point(
            {VARIANT: variant.name},
            replace(
                campaign,
                workload=replace(campaign.workload, partitions=partitions),
                systems=(replace(campaign.systems[0], producer={"acks": variant.sets["producer acks"]}),),
            ),
        )
        for variant, partitions in zip(variants, (1, 100), strict=True)
    )
    return replace(points[0].campaign, points=points)


def test_all_variants_face_the_share_of_the_lowest_peak_of_any(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    real = trial.make_result

    def by_partitions(spec: LoadSpec, *rest: Any) -> LoadResult:
        return replace(real(spec, *rest), msgs_per_s=1000.0 * spec.workload.partitions)

    monkeypatch.setattr(trial, "make_result", by_partitions)
    scene.campaign = with_variants(scene.campaign)
    results = scene.run()
    loads = [result.spec for result in results if result.spec.experiment == "latency"]
    assert [load.msgs_per_s for load in loads] == [500.0] * 4, "in the second block as well"
    assert {(load.point[VARIANT], load.workload.partitions) for load in loads} == {("a", 1), ("b", 100)}
    assert [load.workload.producer_overrides["kafka"]["acks"] for load in loads if load.point[VARIANT] == "b"] == [
        "1"
    ] * 2


def test_a_level_that_a_variant_changes_is_reported_and_nothing_refused(scene: Scene) -> None:
    # The doubles report level 3, whatever is asked for.
    campaign = replace(scene.campaign, durability=replace(scene.campaign.durability, level=4))
    scene.campaign = with_variants(campaign, experiments=campaign.experiments[:1])
    results = scene.run()
    assert [result.level.level for result in results] == [3] * 4
    assert scene.store.ended == ("finished", "")
