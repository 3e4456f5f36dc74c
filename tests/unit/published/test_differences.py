"""What a plan does otherwise than the report: computed from both, so that no scale shows another's differences."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from published_campaigns import FOLDER, NAMES, PATHS, SCALES, dry_run, plan_published, read_published
from published_conditions import WHERE
from published_samples import MINE, SERVERS
from run_samples import spec

from tidegauge.campaign.read.published import with_differences
from tidegauge.model.trial import RateRule
from tidegauge.model.workload import ClientSettings, LateReaders, Payload, ServerLimits, Workload
from tidegauge.published.differences import differences_from_report
from tidegauge.published.examine import report_named
from tidegauge.published.model import FIGURES, LOSING_CUTS, Placement, Planned, PublishedReport, ServerSetup


def differs(path: Path, **overrides: Any) -> tuple[str, ...]:
    plan = plan_published(path, **overrides)
    choice = with_differences(plan.campaign, plan.trials).published
    assert choice is not None
    return choice.differs


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_the_original_scale_never_shows_differences_of_another(path: Path) -> None:
    original = differs(path, scale="original")
    assert not [sentence for sentence in original if "% of" in sentence or sentence.startswith("offered rate")]
    assert any(sentence.startswith("servers ") for sentence in original)


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
@pytest.mark.parametrize("scale", SCALES)
def test_the_window_is_always_reported(path: Path, scale: str) -> None:
    """It bounds the rate where acknowledgements take long, and no report had one."""
    trials = plan_published(path, scale=scale).trials
    least, *_, most = [*sorted({trial.workload.in_flight_messages() for trial in trials}) * 2]
    others = f", in other trials up to {most:,}" if most > least else ""
    sentence = f"a producer has at most {least:,} unacknowledged messages{others}; the report's had no such bound"
    assert sentence in differs(path, scale=scale)


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
@pytest.mark.parametrize("scale", ["shares", "brief"])
def test_shares_of_what_was_measured_are_reported_where_they_are_offered(path: Path, scale: str) -> None:
    trials = plan_published(path, scale=scale).trials
    rules = {str(trial.rate_rule) for trial in trials if trial.rate_rule.is_share}
    sentences = " ".join(differs(path, scale=scale))
    assert all(f"{rule}" in sentences for rule in rules), sentences


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_a_ready_campaign_has_no_sentences_of_its_own(path: Path) -> None:
    """Those would hold for whatever systems, levels and disks somebody chooses."""
    for scale in SCALES:
        campaign = read_published(path, scale=scale)
        assert campaign.published is not None
        assert campaign.published.differs == ()
    # No report tried what it says of guarantees.
    claims = report_named(campaign.published.report).claims
    assert all(bool(claim.test) is (claim.figure != LOSING_CUTS) for claim in claims)


def test_a_dry_run_shows_the_differences_before_anything_runs(capsys: pytest.CaptureFixture[str]) -> None:
    shown = " ".join(dry_run(capsys, "confluent-2020-latency").split())
    assert "Differs: partitions: 24 here, 100 in the report" in shown
    assert "Differs: offered rate: 65% of lowest sustainable here, 200,000 msg/s in the report" in shown
    sentences = json.loads(dry_run(capsys, "confluent-2020-latency", "--scale", "original", "--json"))["examines"][
        "differs"
    ]
    assert not [sentence for sentence in sentences if sentence.startswith(("partitions", "offered rate"))]
    assert "pulsar: heap of a broker: 512 MiB here, 12 GiB in the report" in shown


ALWAYS = ("servers ", "a producer has at most", "latencies count from", *WHERE)
MEMORY = (" of a broker: ", " of a bookie: ", " of a node: ")
CHECK_DELAY = "pulsar: managedLedgerNewEntriesCheckDelayInMillis: 0 here, 10 in the report"
SWITCH = "pulsar: batchingPartitionSwitchFrequencyByPublishDelay: the product's default here, 1 in the report"
QUEUES = "rabbitmq: partitions: 100 here, 24 in the report"
PERSISTENT = {
    "rabbitmq: levels of durability: 1 here, 2 and 4 in the report",
    "rabbitmq: form of the level: mirrored here, mirrored-transient and transient in the report",
    "rabbitmq: autoAck: the product's default here, true in the report",
}
SOME_BY_HAND = "rabbitmq: autoAck: true and the product's default here, true in the report"
PULSAR_LEVELS = "pulsar: levels of durability: 1 and 2 here, 1 in the report"
PULSAR_DELAY = "pulsar: batch delay: 10 ms here, 50 ms in the report"
CHANNELS = "pulsar: bookkeeperNumberOfChannelsPerBookie: the product's default here, 64 in the report"
OF_2022 = {"kafka: levels of durability: 1 and 2 here, 2 in the report", CHANNELS}
FIVE_MINUTES = "length of a trial: 300 s here, {theirs} s in the report"
SETTINGS_THAT_DIFFER: dict[str, set[str]] = {
    "confluent-2020-latency-as-run": {
        "pulsar and kafka: offered rate: 30,000 msg/s here, 200,000 msg/s in the report",
    },
    "confluent-2020-durability": {CHECK_DELAY, SWITCH},
    "confluent-2020-fsync": {PULSAR_LEVELS, PULSAR_DELAY, CHECK_DELAY, SWITCH},
    "confluent-2020-latency": {PULSAR_LEVELS, CHECK_DELAY, SWITCH},
    "confluent-2020-latency-rabbitmq": {
        QUEUES,
        CHECK_DELAY,
        SWITCH,
        *PERSISTENT,
        "pulsar and kafka: offered rate: 30,000 msg/s here, 200,000 msg/s in the report",
    },
    "confluent-2020-rabbitmq": {
        "levels of durability: 1, 2, 3 and 4 here, 2 and 4 in the report",
        "form of the level: classic, mirrored, mirrored-transient and transient here, mirrored-transient and transient "
        "in the report",
        SOME_BY_HAND,
    },
    "confluent-2020-rabbitmq-rates": {
        "levels of durability: 1, 2 and 4 here, 2 and 4 in the report",
        "form of the level: mirrored, mirrored-transient, quorum and transient here, mirrored-transient and transient "
        "in the report",
        SOME_BY_HAND,
    },
    "confluent-2020-shapes": {SWITCH},
    "confluent-2020-throughput": {QUEUES, PULSAR_DELAY, CHECK_DELAY, SWITCH, *PERSISTENT},
    "streamnative-2022-catch-up": OF_2022,
    "streamnative-2022-latency": OF_2022,
    "streamnative-2022-throughput": {*OF_2022, "kafka: batch size: 128 KiB here, 1 MiB in the report"},
}
"""At the original scale, beside what differs always, versions and memory: where systems must have equal settings."""


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_the_original_scale_has_the_settings_of_the_report_but_for_these(path: Path) -> None:
    own = {
        sentence
        for sentence in differs(path, scale="original")
        if not sentence.startswith(ALWAYS) and ": version " not in sentence
    }
    own = {
        sentence.replace("kafka and pulsar", "pulsar and kafka")
        for sentence in own
        if not any(part in sentence for part in MEMORY)
    }
    theirs = 600 if path.stem.startswith("confluent") else 180
    length = {FIVE_MINUTES.format(theirs=theirs)} if "2020" in path.stem else set()
    without_length = any(word in path.stem for word in ("catch-up", "mixed", "durability"))
    assert own == SETTINGS_THAT_DIFFER.get(path.stem, set()) | (set() if without_length else length)


def test_memory_is_compared_process_by_process() -> None:
    """A node's memory is no process's where a broker and a bookie share it."""
    own = [
        sentence
        for sentence in differs(FOLDER / "confluent-2020-latency.yaml")
        if any(part in sentence for part in MEMORY)
    ]
    assert [sentence for sentence in own if sentence.startswith("pulsar")] == [
        "pulsar: heap of a bookie: 256 MiB here, 12 GiB in the report",
        "pulsar: heap of a broker: 512 MiB here, 12 GiB in the report",
        "pulsar: direct memory of a bookie: 341 MiB here, 12 GiB in the report",
        "pulsar: direct memory of a broker: 682 MiB here, 12 GiB in the report",
    ]
    assert [sentence for sentence in own if sentence.startswith("kafka")] == [
        "kafka: heap of a node: 768 MiB here, 6 GiB in the report"
    ]


@pytest.mark.parametrize("path", [path for path in PATHS if "2022" in path.stem], ids=lambda path: path.stem)
@pytest.mark.parametrize("scale", SCALES)
def test_the_memory_of_2022_is_compared_and_follows_no_machine(path: Path, scale: str) -> None:
    memory = [sentence for sentence in differs(path, scale=scale) if any(part in sentence for part in MEMORY)]
    assert any(
        "pulsar: direct memory of a bookie" in sentence and "48 GiB in the report" in sentence for sentence in memory
    )
    assert any(sentence.startswith("kafka: heap") and "16 GiB in the report" in sentence for sentence in memory) == (
        scale != "original"
    )


def test_a_systems_own_batches_are_those_that_are_compared() -> None:
    """Pulsar's 50 ms are its own producer's setting there, and in the other campaign the 10 ms of all systems."""
    alike = [
        sentence
        for sentence in differs(FOLDER / "confluent-2020-as-run.yaml", scale="original")
        if "batch delay" in sentence
    ]
    other = [
        sentence
        for sentence in differs(FOLDER / "confluent-2020-throughput.yaml", scale="original")
        if "batch delay" in sentence
    ]
    assert (alike, other) == ([], ["pulsar: batch delay: 10 ms here, 50 ms in the report"])


def found(
    *systems: str,
    test: str = "one",
    servers: ServerSetup = SERVERS,
    attached: bool = False,
    figures: Sequence[str] = ("publish-p99",),
    limits: ServerLimits | None = None,
) -> tuple[str, ...]:
    workload = Workload(partitions=100, payload=Payload(1024), client=ClientSettings(batch_delay_ms_max=10.0))
    late = LateReaders(1, 2 << 20, "2GiB", 0.99, 10.0)
    trials = [
        replace(
            spec(system),
            workload=workload,
            msgs_per_s=200e3,
            rate_rule=RateRule("200k"),
            late=late,
            attached=attached,
            limits=limits,
            measure_s=30.0,
        )
        for system in systems
    ]
    of = {} if attached else {system.partition("@")[0]: [servers] for system in systems}
    sentences = differences_from_report(
        PublishedReport.model_validate(MINE), [test], Planned(trials, of, Placement(one_machine=not attached), figures)
    )
    return tuple(
        sentence
        for sentence in sentences
        if " unacknowledged " not in sentence and not sentence.startswith("latencies count")
    )


def test_what_is_alike_is_no_difference() -> None:
    (hosts, *others) = found("kafka@4.3.1")
    assert "one machine" in hosts
    assert others == ["always so", "of servers"]


def test_a_search_is_reported_only_where_there_is_one() -> None:
    searches = [replace(spec("kafka@4.3.1"), experiment="max-throughput")]

    def sentences_on(*figures: str) -> tuple[str, ...]:
        report = PublishedReport.model_validate(MINE)
        return differences_from_report(report, ["one"], Planned(searches, {"kafka": [SERVERS]}, figures=figures))

    assert "of a search" in sentences_on("throughput")
    assert "of a search" not in sentences_on("publish-p99")
    assert "of a search" not in found("kafka@4.3.1", figures=("throughput",))


def test_what_differs_is_said_once_however_often_a_campaign_is_planned() -> None:
    plan = plan_published(PATHS[0])
    once = with_differences(plan.campaign, plan.trials)
    assert once.published is not None
    assert once.published.differs
    assert with_differences(once, plan.trials) == once


def test_memory_that_is_not_decided_yet_is_not_compared() -> None:
    sentences = found("kafka@4.3.1", servers=replace(SERVERS, memory_bytes={"broker": (-1 << 20, 0)}))
    assert not [sentence for sentence in sentences if "heap" in sentence]


def test_memory_that_points_differ_in_is_reported_with_both() -> None:
    points = [ServerSetup({"broker": (size << 20, 0)}, {"num.network.threads": "8"}) for size in (768, 256)]
    planned = Planned([spec("kafka@4.3.1")], {"kafka": points})
    sentences = differences_from_report(PublishedReport.model_validate(MINE), ["one"], planned)
    assert "heap of a broker: 256 MiB and 768 MiB here, 1 GiB in the report" in sentences


def test_consumers_own_settings_are_compared() -> None:
    sentences = found("rabbitmq@3.10.8")
    assert "rabbitmq: autoAck: the product's default here, true in the report" in sentences
    assert not [
        sentence
        for sentence in found("rabbitmq@3.10.8", servers=ServerSetup(consumer={"autoAck": "true"}))
        if "Ack" in sentence
    ]


def test_the_length_of_a_trial_is_compared_where_its_own_figures_are_examined() -> None:
    """Neither of those that find a rate, nor of those that end with a backlog."""
    shown = [
        sentence
        for sentence in differs(FOLDER / "confluent-2020-latency.yaml")
        if sentence.startswith("length of a trial")
    ]
    assert shown == ["length of a trial: 30 s here, 600 s in the report"]
    shown = [
        sentence
        for sentence in differs(FOLDER / "streamnative-2020-mixed.yaml")
        if sentence.startswith("length of a trial")
    ]
    assert shown == []
    (shown_search,) = [
        sentence
        for sentence in differs(FOLDER / "streamnative-2022-throughput.yaml")
        if sentence.startswith("length of a trial")
    ]
    assert shown_search == "length of a trial: 20 s here, 300 s in the report"


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_latencies_are_said_to_count_from_the_intended_send_where_there_are_any(path: Path) -> None:
    campaign = read_published(path)
    assert campaign.published is not None
    whole = report_named(campaign.published.report)
    latencies = [
        claim for claim in whole.claims if claim.id in campaign.published.claims and FIGURES[claim.figure].unit == "ms"
    ]
    assert any(sentence.startswith("latencies count from") for sentence in differs(path)) is bool(latencies)


def test_limits_of_servers_with_a_backlog_are_reported() -> None:
    limited = found("kafka@4.3.1", limits=ServerLimits(1536 << 20, direct_io=True))
    assert any(sentence.startswith("a server process may use 1.5 GiB of memory") for sentence in limited)
    assert any("loop device with direct I/O" in sentence for sentence in limited)
    path = FOLDER / "streamnative-2020-mixed.yaml"
    counted = [
        sum("direct I/O" in sentence or "page cache" in sentence for sentence in differs(path, scale=scale))
        for scale in SCALES
    ]
    assert counted == [2, 0, 2]


def test_what_is_different_is_reported_with_both_values() -> None:
    assert "partitions: 100 here, 7 in the report" in found("kafka@4.3.1", test="other")
    assert "kafka: version 4.4.1 here, in the report 4.3" in found("kafka@4.4.1")
    assert "kafka: version 4.30.1 here, in the report 4.3" in found("kafka@4.30.1")
    small = found("kafka@4.3.1", servers=replace(SERVERS, memory_bytes={"broker": (768 << 20, 0)}, settings={}))
    assert "heap of a broker: 768 MiB here, 1 GiB in the report" in small
    assert "kafka: num.network.threads: the product's default here, 8 in the report" in small


def test_a_systems_own_settings_come_before_those_of_the_test() -> None:
    sentences = found("kafka@4.3.1", "pulsar@4.2.4", test="other")
    assert "kafka: partitions: 100 here, 7 in the report" in sentences
    assert "pulsar: partitions: 100 here, 9 in the report" in sentences
    assert "pulsar: batch delay: 10 ms here, 50 ms in the report" in sentences


def test_of_attached_clusters_only_what_is_known_is_reported() -> None:
    sentences = found("kafka@attached", attached=True)
    assert sentences == ("the load comes from one host; the report's came from several", "always so")
