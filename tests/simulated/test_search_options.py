"""Options, plans and the other experiments around a sustainable rate: what is refused, and what is expected."""

from __future__ import annotations

import io
import random
from dataclasses import replace
from typing import Any

import pytest
from campaign_doubles import FakeLab, spec_of
from pydantic import ValidationError
from rich.console import Console
from simulated_systems import SYSTEM, System, invalid, search, trial

from tidegauge.config.units import Rate
from tidegauge.experiments.curve import EXPERIMENT as CURVE
from tidegauge.experiments.curve import CurveOptions
from tidegauge.experiments.latency import EXPERIMENT as LATENCY
from tidegauge.experiments.latency import resolve_rate
from tidegauge.experiments.max_throughput import EXPERIMENT, MaxThroughputOptions
from tidegauge.experiments.procedure import PreconditionError
from tidegauge.model.trial import LoadResult, LoadSpec, ServerReuse
from tidegauge.model.workload import LateReaders
from tidegauge.report.lists import ShownPlan, plan_list
from tidegauge.search.goals import Limit


def base(name: str) -> LoadSpec:
    return replace(spec_of(name, SYSTEM), trial_id=f"0002-{name}-kafka")


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ({"min-rate": "50k", "max-rate": "20k"}, "min-rate must be below max-rate"),
        ({"goals": [{"name": "a"}, {"name": "a"}]}, "two goals have the same name"),
        ({"goals": []}, "at least 1"),
        ({"goals": [{"name": "a", "response-p99": "2ms"}]}, "response-p99"),
        ({"measure": "30s", "confirm": "20s"}, "confirm must be at least as long as measure"),
        ({"measure": "2s"}, "must be from 8s to 1h"),
        ({"width": "0.1%"}, "must be from 0.5% to 50%"),
        ({"width": 5}, "must be a share such as 5%"),
        ({"max-rate": "50% of lowest peak"}, "must be messages a second such as 20000 or 20k"),
        ({"servers": "new"}, "must be one of fresh, shared"),
        ({"trials-max": 1}, "greater than or equal to 3"),
    ],
)
def test_options_that_make_no_sense_are_refused(keys: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        MaxThroughputOptions.model_validate(keys)


def test_goals_are_read_with_their_limits() -> None:
    keys = {"goals": [{"name": "quick", "response-p99-max": "10ms", "end-to-end-p999-max": "1s"}], "width": "2.5%"}
    options = MaxThroughputOptions.model_validate(keys)
    (goal,) = (fields.goal() for fields in options.goals)
    assert goal.limits == (Limit("response", "p99", 10.0), Limit("end-to-end", "p99.9", 1000.0))
    assert options.width == 0.025


def test_a_plan_expects_a_usual_search_in_two_rows() -> None:
    planned = EXPERIMENT.plan(MaxThroughputOptions(), base("max-throughput"))
    assert planned[0].trial_id == "0002-max-throughput-kafka-s01"
    assert planned[-1].trial_id == "0002-max-throughput-kafka-s08-confirm"
    assert {spec.servers for spec in planned[:-1]} == {ServerReuse.SHARED}
    assert planned[-1].servers is ServerReuse.FRESH
    fresh = EXPERIMENT.plan(MaxThroughputOptions.model_validate({"servers": "fresh"}), base("max-throughput"))
    assert {spec.servers for spec in fresh} == {ServerReuse.FRESH}
    stream = io.StringIO()
    Console(file=stream, width=160).print(plan_list(ShownPlan(planned, 60.0)))
    assert "searched, about 7 trials" in stream.getvalue()
    assert "confirmation" in stream.getvalue()


def test_a_curve_measures_each_load_in_turn_up_to_more_than_is_sustained() -> None:
    system = System(100_000.0, random.Random(1))
    found = search(system)
    lab = FakeLab(system, findings=list(found.lab.findings))
    system.seen.clear()
    options = CurveOptions()
    CURVE.run(options, CURVE.plan(options, base("curve")), lab)
    rate = found.goal["sustainable_msgs_per_s"]
    offered = [spec.msgs_per_s for spec in system.seen]
    assert offered == [pytest.approx(rate * tenth / 10) for tenth in range(1, 12)]
    finding = lab.findings[-1]
    assert (finding.finding_id, finding.decided) == ("0002-curve-kafka", True)
    assert [row["load"] for row in finding.rows][:2] == ["10%", "20%"]
    assert finding.rows[0]["state"] == "sustained"
    assert finding.rows[-1]["state"] == "not sustained (rate)"
    assert len(finding.details["points"]) == 11
    assert lab.decisions[0][1] == 10


def test_a_curve_has_the_end_to_end_latency_of_the_tables() -> None:
    def several(spec: LoadSpec) -> LoadResult:
        found = trial(spec, spec.msgs_per_s or 0.0)
        slow = replace(found.subscriptions[0].end_to_end, p99_ms=8_000.0)
        late = replace(found.subscriptions[0], name="sub-1", end_to_end=slow)
        readers = LateReaders(1, 1000, "1000 messages", 0.99, 60.0)
        return replace(found, spec=replace(spec, late=readers), subscriptions=(*found.subscriptions, late))

    options = CurveOptions.model_validate({"full-rate": "20k", "shares": ["50%"]})
    lab = FakeLab(several)
    CURVE.run(options, CURVE.plan(options, base("curve")), lab)
    (point,) = lab.findings[0].points
    assert point.end_to_end_p99_ms == lab.results[0].subscriptions[0].end_to_end.p99_ms
    assert lab.findings[0].rows[0]["end-to-end p99, ms"] == point.end_to_end_p99_ms


def test_a_curve_without_a_scale_says_so() -> None:
    options = CurveOptions()
    with pytest.raises(PreconditionError, match="has no sustainable rate in this run"):
        CURVE.run(options, CURVE.plan(options, base("curve")), FakeLab(lambda spec: trial(spec, 1.0)))
    assert "needs a max-throughput experiment" in CURVE.objection(options, ["peak"])
    assert CURVE.objection(options, ["max-throughput"]) == ""
    given = CurveOptions.model_validate({"full-rate": "20k", "shares": ["50%", "100%"]})
    assert CURVE.objection(given, []) == ""
    assert [spec.msgs_per_s for spec in CURVE.plan(given, base("curve"))] == [10_000.0, 20_000.0]


def test_a_curve_keeps_its_points_when_the_system_fails() -> None:
    def dies(spec: LoadSpec) -> LoadResult:
        if (spec.msgs_per_s or 0) > 15_000:
            raise PreconditionError("It broke.")
        return trial(spec, spec.msgs_per_s or 0.0) if (spec.msgs_per_s or 0) < 9_000 else invalid(spec, 1.0)

    options = CurveOptions.model_validate({"full-rate": "20k", "shares": ["25%", "50%", "100%"]})
    lab = FakeLab(dies)
    with pytest.raises(PreconditionError):
        CURVE.run(options, CURVE.plan(options, base("curve")), lab)
    assert not lab.findings[0].decided
    assert [row["state"] for row in lab.findings[0].rows] == ["sustained", "INVALID"]
    assert "1 more were not measured" in lab.findings[0].summary[0]


@pytest.mark.parametrize("shares", [[], ["50%", "20%"], ["0%"], ["400%"], ["10%", "10%"]])
def test_shares_of_a_curve_must_rise(shares: list[str]) -> None:
    with pytest.raises(ValidationError):
        CurveOptions.model_validate({"shares": shares})


def test_latency_at_a_share_of_the_lowest_sustainable_rate() -> None:
    found = search(System(100_000.0, random.Random(1))).lab.findings
    slower = replace(found[0], system="pulsar@1", details={"goals": [{"sustainable_msgs_per_s": 40_000.0}]})
    rate = LATENCY.options.model_validate({"rate": "50% of lowest sustainable"}).rate
    assert str(rate) == "50% of lowest sustainable"
    assert resolve_rate(rate, SYSTEM, [], [*found, slower]) == 20_000
    with pytest.raises(PreconditionError, match="has no measured sustainable rate"):
        resolve_rate(rate, SYSTEM, [], [slower])
    share = LATENCY.options.model_validate({"rate": "50% of lowest sustainable"})
    assert "needs a max-throughput experiment" in LATENCY.objection(share, ["peak"])
    assert LATENCY.objection(share, ["max-throughput"]) == ""
    assert rate == Rate(share_of_lowest_sustainable=0.5)
