"""`rates-at`: rates are found at one point of a sweep and hold for the others."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from run_samples import result

from tidegauge.campaign.plan.plan import Plan, is_made, plan_campaign, point_of_rates
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.campaign.run.execute import StepLab
from tidegauge.campaign.run.recorded import NOTHING_RECORDED
from tidegauge.errors import UserError
from tidegauge.model.trial import LoadResult, LoadSpec

BASE = """name: swept
systems: [kafka, pulsar]
experiments: [peak, {name: latency, rate: 50% of lowest peak}]
repeat: 2
sweep: {partitions: [1, 100, 500], durability: [3, {level: 4, form: bypass}]}
"""


def plan(tmp_path: Path, more: str) -> Plan:
    path = tmp_path / "campaign.yaml"
    path.write_text(BASE + more)
    return plan_campaign(parse_campaign(path, {}, ["kafka", "pulsar"]))


@pytest.mark.parametrize("deployment", ["fresh", "shared"])
def test_rates_are_found_there_first_and_nowhere_else(tmp_path: Path, deployment: str) -> None:
    found = plan(tmp_path, f"deployment: {deployment}\nrates-at: {{partitions: 100}}\n")
    for block in (0, 1):
        trials = [trial for trial in found.trials if trial.block == block]
        peaks = [trial for trial in trials if trial.experiment == "peak"]
        assert sorted(tuple(trial.point.values()) for trial in peaks) == [("100", "3")] * 2 + [("100", "4 bypass")] * 2
        assert trials[: len(peaks)] == peaks
        assert len(trials) == len(peaks) + 12


def test_each_axis_that_is_not_named_keeps_rates_of_its_own(tmp_path: Path) -> None:
    found = plan(tmp_path, "rates-at: {partitions: 100}\n")
    points = {tuple(step.trials[0].point.values()): step.rates_point for step in found.steps}
    assert points["1", "4 bypass"] == {"partitions": "100", "durability": "4 bypass"}
    assert points["500", "3"] == {"partitions": "100", "durability": "3"}


def test_without_it_every_point_has_rates_of_its_own(tmp_path: Path) -> None:
    found = plan(tmp_path, "")
    assert all(step.rates_point == step.trials[0].point for step in found.steps)
    assert sum(trial.experiment == "peak" for trial in found.trials) == 2 * 12


def test_the_reference_of_a_point() -> None:
    assert point_of_rates({"partitions": "1", "durability": "3"}, {"partitions": "100"}) == {
        "partitions": "100",
        "durability": "3",
    }
    assert is_made("peak", {"partitions": "100"}, {"partitions": "100"})
    assert not is_made("peak", {"partitions": "1"}, {"partitions": "100"})
    assert is_made("latency", {"partitions": "1"}, {"partitions": "100"})


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("rates-at: {partition: 100}", "the sweep has no such axis (did you mean 'partitions'?)"),
        ("rates-at: {partitions: 7}", "'7' is none of its values: 1, 100, 500"),
        ("rates-at: 100", "must be a mapping of axes"),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(tmp_path: Path, more: str, expected: str) -> None:
    with pytest.raises(UserError) as caught:
        plan(tmp_path, more + "\n")
    assert expected in caught.value.message
    assert "campaign.yaml:6" in caught.value.message


def test_a_step_takes_its_share_of_the_rates_found_there_and_of_nothing_else_there(tmp_path: Path) -> None:
    found = plan(tmp_path, "rates-at: {partitions: 100}\n")
    steps = [step for step in found.steps if step.trials[0].block == 0 and step.trials[0].point["durability"] == "3"]
    peaks = [step.trials[0] for step in steps if step.trials[0].experiment == "peak"]
    late = [step for step in steps if step.trials[0].experiment == "latency"]
    results = [result(spec, msgs_per_s=rate) for spec, rate in zip(peaks, (40_000.0, 30_000.0), strict=True)]
    elsewhere = next(step.trials[0] for step in late if step.trials[0].point["partitions"] == "100")
    results.append(result(elsewhere))
    step = next(step for step in late if step.trials[0].point["partitions"] == "500")
    measured: list[LoadSpec] = []

    def measure(spec: LoadSpec) -> LoadResult:
        measured.append(spec)
        return result(spec)

    resources = SimpleNamespace(observer=lambda _: None)
    run: Any = SimpleNamespace(
        results=results, findings=[], expected=[step.trials], resources=resources, recorded=NOTHING_RECORDED
    )
    lab = StepLab(run, 0, step, measure)
    assert [result.spec.experiment for result in lab.results] == ["peak", "peak"]
    step.experiment.run(step.options, step.trials, lab)
    assert [spec.msgs_per_s for spec in measured] == [15_000.0]
