"""The key `jvm`: which options of a JVM a campaign may set, and which flags follow from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegauge.campaign.model import Campaign
from tidegauge.campaign.plan.fairness import wanted_tilts
from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.config.jvm_options import problems_of_jvm_options, with_jvm_options
from tidegauge.errors import UserError
from tidegauge.fairness import Severity

OWN_FLAGS = ("-Xmx64m", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:+ExitOnOutOfMemoryError", "-Da=b")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"OnOutOfMemoryError": "touch /tmp/x"}, "can't be set"),
        ({"MaxHeapSize": "1g"}, "can't be set"),
        ({"UseZCG": "true"}, "did you mean 'UseZGC'"),
        ({"UseZGC": "1"}, "'1' must be true or false"),
        ({"MaxGCPauseMillis": "50 -XX:OnError=x"}, "must be a whole number"),
        ({"UseZGC": "true", "UseSerialGC": "true"}, "a JVM has one garbage collector"),
    ],
)
def test_what_is_refused(options: dict[str, str], expected: str) -> None:
    ((_, why),) = problems_of_jvm_options(options)
    assert expected in why


@pytest.mark.parametrize(
    "options",
    [{}, {"UseZGC": "true", "UseG1GC": "false"}, {"G1HeapRegionSize": "4m"}, {"AlwaysPreTouch": "false"}],
)
def test_what_may_be_set(options: dict[str, str]) -> None:
    assert list(problems_of_jvm_options(options)) == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, OWN_FLAGS),
        (
            {"UseZGC": "true"},
            ("-Xmx64m", "-XX:+ExitOnOutOfMemoryError", "-Da=b", "-XX:+UseZGC"),
        ),
        (
            {"MaxGCPauseMillis": "50"},
            ("-Xmx64m", "-XX:+UseG1GC", "-XX:+ExitOnOutOfMemoryError", "-Da=b", "-XX:MaxGCPauseMillis=50"),
        ),
        (
            {"UseParallelGC": "true", "MaxGCPauseMillis": "9"},
            ("-Xmx64m", "-XX:+ExitOnOutOfMemoryError", "-Da=b", "-XX:+UseParallelGC", "-XX:MaxGCPauseMillis=9"),
        ),
        ({"UseG1GC": "true"}, (*OWN_FLAGS[:1], *OWN_FLAGS[2:], "-XX:+UseG1GC")),
    ],
)
def test_a_campaigns_options_win(options: dict[str, str], expected: tuple[str, ...]) -> None:
    assert with_jvm_options(OWN_FLAGS, options) == expected


CAMPAIGN = """\
name: collectors
systems: [{systems}]
worker: {{jvm: {{{worker}}}}}
experiments: [peak]
"""


def read_campaign(path: Path, systems: str, worker: str = "", more: str = "") -> Campaign:
    path.write_text(CAMPAIGN.format(systems=systems, worker=worker) + more)
    return parse_campaign(path, {}, ["kafka", "pulsar", "rabbitmq"])


def test_systems_and_load_generators_have_options_of_their_own(tmp_path: Path) -> None:
    campaign = read_campaign(tmp_path / "c.yaml", "{name: kafka, jvm: {UseZGC: true}}, pulsar", "ConcGCThreads: 1")
    assert [system.jvm for system in campaign.systems] == [{"UseZGC": "true"}, {}]
    assert campaign.worker.jvm == {"ConcGCThreads": "1"}
    tilts = wanted_tilts(plan_campaign(campaign))
    assert [(tilt.rule, tilt.severity, tilt.what) for tilt in tilts if "JVM" in tilt.what] == [
        ("own-server-settings", Severity.ADVICE, "kafka@4.3.1 JVM UseZGC=true")
    ]


def test_a_sweep_may_go_over_collectors(tmp_path: Path) -> None:
    campaign = read_campaign(tmp_path / "c.yaml", "kafka", more="sweep: {systems.kafka.jvm.UseZGC: [false, true]}\n")
    assert [point.campaign.systems[0].jvm["UseZGC"] for point in campaign.points] == ["false", "true"]


@pytest.mark.parametrize(
    ("systems", "worker", "expected"),
    [
        ("{name: kafka, jvm: {UseZCG: true}}", "", "c.yaml:2: systems[0].jvm.UseZCG"),
        ("{name: rabbitmq, jvm: {UseZGC: true}}", "", "RabbitMQ does not run on a JVM"),
        ("kafka", "MaxHeapSize: 1g", "c.yaml:3: worker.jvm.MaxHeapSize"),
    ],
)
def test_what_can_not_be_set_is_refused_with_its_line(tmp_path: Path, systems: str, worker: str, expected: str) -> None:
    with pytest.raises(UserError) as refused:
        read_campaign(tmp_path / "c.yaml", systems, worker)
    assert expected in f"{refused.value.message} {refused.value.hint}"
