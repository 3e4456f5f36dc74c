"""Workload files on their own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tidegauge.config.source import Source, raise_problems, read_source
from tidegauge.config.workload import parse_workload_file
from tidegauge.errors import UserError
from tidegauge.model.workload import (
    IN_FLIGHT_BYTES_MAX,
    IN_FLIGHT_MESSAGES_MOST,
    RECEIVE_QUEUE_BYTES_MAX,
    Payload,
    SubscriptionType,
    Workload,
)

ROOT = Path(__file__).parents[3]


def read_workload(path: Path) -> tuple[Workload | None, Source]:
    source = read_source(path, "workload")
    return parse_workload_file(source), source


@pytest.mark.parametrize("path", sorted((ROOT / "workloads").glob("*.yaml")), ids=lambda path: path.stem)
def test_ready_workloads_are_right(path: Path) -> None:
    workload, source = read_workload(path)
    raise_problems([source], "workload")
    assert workload is not None
    assert source.data["name"] == path.stem


def test_an_empty_mapping_means_the_defaults_of_the_model(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text("{}\n")
    workload, _ = read_workload(tmp_path / "w.yaml")
    assert workload == Workload()


def test_an_empty_payload_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "body.bin").touch()
    (tmp_path / "w.yaml").write_text("payload-file: body.bin\n")
    workload, source = read_workload(tmp_path / "w.yaml")
    assert workload is None
    with pytest.raises(UserError, match="it is empty"):
        raise_problems([source], "workload")


def test_a_payload_that_is_no_file_is_told_from_one_that_is_not_there(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for name, problem in (("fifo", "it is no file"), ("nowhere", "there is no such file")):
        (tmp_path / "w.yaml").write_text(f"payload-file: {name}\n")
        _, source = read_workload(tmp_path / "w.yaml")
        with pytest.raises(UserError, match=f"'{name}': {problem} "):
            raise_problems([source], "workload")


def test_ready_campaigns_hold_their_workloads() -> None:
    # A wheel carries the ready campaigns, and the workload files stay behind.
    for path in (ROOT / "campaigns").glob("*.yaml"):
        assert "workload:\n" in path.read_text(), path


def test_messages_in_flight_are_bounded_in_bytes_over_all_producers() -> None:
    assert Workload().in_flight_messages() == 5000
    large = Workload(producers=4, payload=Payload(message_bytes=1 << 20))
    assert large.in_flight_messages() == 8
    assert Workload(producers=100, payload=Payload(message_bytes=1 << 20)).in_flight_messages() == 1


def test_what_consumers_hold_is_bounded_in_bytes_over_all_of_them() -> None:
    assert Workload().receive_queue_messages() == 5000
    large = Payload(message_bytes=1 << 20)
    assert Workload(payload=large).receive_queue_messages() == RECEIVE_QUEUE_BYTES_MAX >> 20 == 32
    assert Workload(topics=2, subscriptions=2, consumers=4, payload=large).receive_queue_messages() == 2
    assert Workload(consumers=100, payload=large).receive_queue_messages() == 1


def test_a_window_that_is_asked_for_is_given(tmp_path: Path) -> None:
    asked, _ = parse(tmp_path, "producers: 2\nin-flight: 100000\n")
    assert asked is not None
    assert (asked.in_flight_messages(), asked.window_messages()) == (100_000, 200_000)
    assert asked.window_bytes() == 200_000 * 1024 > IN_FLIGHT_BYTES_MAX
    every, _ = parse(tmp_path, "producers: 4\nin-flight: 1000000\n")
    assert every is not None
    assert every.in_flight_messages() == IN_FLIGHT_MESSAGES_MOST // 4, "the worker keeps a place for each"
    unasked, _ = parse(tmp_path, "producers: 16\n")
    assert unasked is not None
    assert unasked.in_flight_messages() == 2048, "32 MiB in all, where nobody says more"


def parse(tmp_path: Path, text: str) -> tuple[Workload | None, str]:
    """The workload, or every complaint about it."""
    (tmp_path / "w.yaml").write_text(text)
    workload, source = read_workload(tmp_path / "w.yaml")
    return workload, "; ".join(map(str, source.problems))


def test_one_side_only_and_topics_of_others(tmp_path: Path) -> None:
    workload, problems = parse(tmp_path, "subscriptions: 0\n")
    assert workload and not problems and workload.subscriptions == 0
    workload, _ = parse(tmp_path, "producers: 0\nexisting-topics: [orders, t/space/paid]\nsubscription-type: shared\n")
    assert workload and (workload.topics, workload.producers) == (2, 0)
    assert workload.existing_topics == ("orders", "t/space/paid")
    assert workload.subscription_type is SubscriptionType.SHARED
    assert workload.in_flight_messages() > 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("producers: 0\n", "name them in 'existing-topics'"),
        ("producers: 0\nsubscriptions: 0\nexisting-topics: [a]\n", "there is nothing to measure"),
        ("existing-topics: [a]\npartitions: 3\n", "can't be given beside 'existing-topics'"),
        ("existing-topics: [a, a]\n", "names a topic twice"),
        ("existing-topics: ['a b']\n", "must match"),
        ("subscriptions: 0\nsubscription-type: shared\n", "has no effect with 'subscriptions: 0'"),
        ("subscription-type: exclusive\nconsumers: 2\n", "one consumer"),
        ("subscription-type: key-shared\n", "needs messages with keys"),
        (
            "subscription-type: key-shared\nkeys: random\ndistinct-keys: 9000000\n",
            "8,388,608 at most, and are 9,000,000",
        ),
        ("subscription-type: keyshared\n", "did you mean 'key-shared'?"),
    ],
)
def test_what_does_not_go_together_is_reported(tmp_path: Path, text: str, expected: str) -> None:
    workload, problems = parse(tmp_path, text)
    assert workload is None
    assert expected in problems


def test_all_producers_of_all_topics_share_what_may_be_in_flight() -> None:
    large = Workload(topics=4, producers=2, payload=Payload(message_bytes=1 << 20))
    assert large.in_flight_messages() == IN_FLIGHT_BYTES_MAX // (8 << 20) == 4
