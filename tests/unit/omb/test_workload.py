"""OMB's workload files: read strictly, translated or refused by the key's name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from omb_samples import write

from tidegauge.model.message_sizes import MessageSizes, SizeKind
from tidegauge.model.workload import Keys
from tidegauge.omb.files import read_workload, translate_workload, workload_notes


def refused(tmp_path: Path, **changes: Any) -> list[str]:
    """The problems of a file with these changes, read and translated."""
    read, source = read_workload(write(tmp_path, **changes))
    if read is not None:
        assert translate_workload(read) is None
    return [str(problem).partition("w.yaml:")[2] for problem in source.problems]


def test_every_key_has_its_counterpart(tmp_path: Path) -> None:
    read, source = read_workload(write(tmp_path))
    assert source.problems == []
    assert read is not None
    workload = translate_workload(read)
    assert workload is not None
    assert (workload.topics, workload.partitions, workload.producers) == (2, 3, 4)
    assert (workload.subscriptions, workload.consumers, workload.keys) == (1, 5, Keys.ROUND_ROBIN)
    assert workload.distinct_keys == 10_000
    assert (workload.payload.message_bytes, workload.payload.random_share) == (1024, 0.5)
    assert workload.payload.pool_bodies == 1000
    assert read.fields.warmup_duration_minutes == 1


def test_an_unknown_key_is_refused_with_its_line_and_the_nearest(tmp_path: Path) -> None:
    (problem,) = refused(tmp_path, producerRate=None, producerrate=10)
    assert problem.startswith("14: producerrate: unknown key")
    assert "did you mean 'producerRate'?" in problem


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"topics": 10_000_001}, ["topics: '10000001'", "at most 10,000,000"]),
        ({"subscriptionsPerTopic": 101}, ["subscriptionsPerTopic: '101'", "at most 100"]),
        ({"producersPerTopic": 0}, ["producersPerTopic: '0'", "at least 1"]),
        ({"subscriptionsPerTopic": 0, "consumerBacklogSizeGB": 1}, ["consumerBacklogSizeGB: '1'", "nobody reads"]),
        ({"consumerBacklogSizeGB": 100, "producerRate": 0}, ["producerRate: '0'", "consumerBacklogSizeGB"]),
        ({"consumerBacklogSizeGB": 100, "producerRate": 10_000_000}, ["producerRate: '10000000'"]),
        ({"consumerBacklogSizeGB": 1, "backlogDrainRatio": 0.001}, ["backlogDrainRatio: '0.001'", "at least 0.01"]),
        ({"consumerBacklogSizeGB": 10**30}, ["consumerBacklogSizeGB: '1000000000", "at most 1,000,000"]),
        ({"testDurationMinutes": 0}, ["testDurationMinutes: '0'", "never ends"]),
        ({"messageSize": 0}, ["messageSize: '0'", "from 1 to 20971520"]),
        ({"messageSize": 7, "producersPerTopic": 2}, ["messageSize: '7'", "8B or more", "name no producer"]),
        ({"keyDistributor": "KEY_ROUNDROBIN"}, ["keyDistributor", "did you mean 'KEY_ROUND_ROBIN'?"]),
        ({"useRandomizedPayloads": "false", "payloadFile": "none.data"}, ["'none.data': there is no such file"]),
        ({"randomizedPayloadPoolSize": 0}, ["randomizedPayloadPoolSize: '0'"]),
        ({"producerRate": -2}, ["producerRate: '-2'"]),
        ({"producerRate": "fast"}, ["producerRate: 'fast'", "whole number"]),
    ],
)
def test_what_cannot_be_run_is_refused_by_name(tmp_path: Path, changes: dict[str, Any], words: list[str]) -> None:
    problems = refused(tmp_path, **changes)
    assert len(problems) == 1, problems
    for word in words:
        assert word in problems[0]


def test_messages_may_be_as_short_and_as_long_as_those_of_campaigns(tmp_path: Path) -> None:
    for message_bytes in (1, 20 << 20):
        read, source = read_workload(
            write(tmp_path, messageSize=message_bytes, producersPerTopic=1, consumerPerSubscription=1)
        )
        workload = translate_workload(read) if read else None
        assert source.problems == []
        assert workload is not None
        assert workload.payload.message_bytes == message_bytes
    (problem,) = refused(tmp_path, messageSize=15, topicNames="[orders]")
    assert "messageSize: '15': must be 16B or more" in problem
    read, _ = read_workload(write(tmp_path, messageSize=15, topicNames="[orders]", consumerOnly="true"))
    assert read is not None
    assert translate_workload(read) is not None


def test_a_payload_file_is_found_above_the_workload_and_must_have_the_size(tmp_path: Path) -> None:
    (tmp_path / "payload").mkdir()
    (tmp_path / "payload/p.data").write_bytes(b"x" * 1024)
    (tmp_path / "workloads").mkdir()
    changes = {"useRandomizedPayloads": "false", "payloadFile": "payload/p.data"}
    read, _ = read_workload(write(tmp_path / "workloads", **changes))
    assert read is not None
    workload = translate_workload(read)
    assert workload is not None
    assert workload.payload.file == str(tmp_path / "payload/p.data")
    (problem,) = refused(tmp_path / "workloads", **changes, messageSize=100)
    assert "has 1024 bytes, but messageSize is 100" in problem


def test_keys_without_effect_are_reported(tmp_path: Path) -> None:
    read, _ = read_workload(write(tmp_path, payloadFile="x", backlogDrainRatio=0.9))
    assert read is not None
    text_of_notes = " ".join(workload_notes(read))
    assert "payloadFile has no effect" in text_of_notes
    assert "backlogDrainRatio has no effect" in text_of_notes
    plain, _ = read_workload(write(tmp_path))
    assert plain is not None
    assert workload_notes(plain) == []


def test_without_readers_producers_are_alone(tmp_path: Path) -> None:
    for changes in ({"consumerPerSubscription": 0}, {"subscriptionsPerTopic": 0}):
        read, _ = read_workload(write(tmp_path, **changes))
        assert read is not None
        workload = translate_workload(read)
        assert workload is not None and workload.subscriptions == 0
        assert any("Nobody reads" in note for note in workload_notes(read))


def test_messages_of_a_range_have_the_size_in_its_middle(tmp_path: Path) -> None:
    """messageSizeDistribution, as a fork has it: ranges of bytes with weights."""
    weights = '{"0-200": 30, "200-1800": 10, "100-100": 60}'
    read, _ = read_workload(write(tmp_path, messageSizeDistribution=weights))
    assert read is not None
    workload = translate_workload(read)
    assert workload is not None
    assert workload.payload.sizes == MessageSizes(SizeKind.MIXED, (100, 1000), (0.9, 0.1))
    assert (workload.payload.message_bytes, workload.payload.random_share) == (190, 0.5)
    # By which a backlog in bytes becomes one in messages.
    assert read.fields.message_bytes_mean == pytest.approx(190.0)
    assert "messageSize has no effect beside messageSizeDistribution." in workload_notes(read)


@pytest.mark.parametrize(
    ("weights", "complaint"),
    [
        ('{"0-200": 0}', "messageSizeDistribution: all weights are 0"),
        ('{"0-64": 1, "64-128": 1}', "of several sizes each must be 48B to 20MiB"),
        ('{"200": 1}', "must be a range of bytes such as 0-256"),
        ('{"200-100": 1}', "must be a range of bytes such as 0-256"),
        ('{"100-200": -1}', "messageSizeDistribution"),
    ],
)
def test_ranges_that_can_not_be_are_refused(tmp_path: Path, weights: str, complaint: str) -> None:
    (problem,) = refused(tmp_path, messageSizeDistribution=weights)
    assert complaint in problem


def test_one_body_and_several_sizes_do_not_go_together(tmp_path: Path) -> None:
    changes = {"useRandomizedPayloads": "false", "payloadFile": "one.data"}
    (problem,) = refused(tmp_path, messageSizeDistribution='{"100-200": 1}', **changes)
    assert "payloadFile: is one body" in problem
