"""Asking a cluster of others before a run: what follows from what it reports, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from doubles_compared import differences

from tidegauge.campaign.plan.plan import Plan, plan_campaign
from tidegauge.campaign.read.one_line import BENCH, CommandLine, compose_line
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.campaign.run.asking import AskedCluster, ClusterBook, expected_level_words, level_to_expect
from tidegauge.cli import asking, one_line, planning
from tidegauge.cli.main import run_command
from tidegauge.errors import AccessRefusedError, RunFailedError, UserError
from tidegauge.model.server import Setting
from tidegauge.systems.attach import AttachChoice
from tidegauge.systems.registry import all_systems, system_named
from tidegauge.worker.api import LoadWorker
from tidegauge.worker.brief_worker import BriefWorkers

KAFKA = system_named("kafka")
CAMPAIGN = """\
name: orders
systems: [{name: kafka, attach: {bootstrap-servers: "h1:9092"}}]
experiments: [{name: latency, rate: 100}]
"""


def reported(brokers: int, copies: int = 3, partitions: int = 1) -> tuple[Setting, ...]:
    values = {
        "default.replication.factor": str(copies),
        "num.partitions": str(partitions),
        "min.insync.replicas": "2",
        "log.flush.interval.messages": str(2**63 - 1),
    }
    each = (Setting(f"broker {n}", name, value) for n in range(brokers) for name, value in values.items())
    return (Setting("cluster", "brokers", str(brokers)), *each)


class Worker:
    """A load generator that connects to nothing."""

    def __init__(self, settings: tuple[Setting, ...] | RunFailedError) -> None:
        self.settings = settings
        self.asked = 0
        self.closed = 0

    def describe(self, driver: str, connection: Any, topics: list[str]) -> list[Setting]:
        assert (driver, topics) == ("kafka", [])
        self.asked += 1
        if isinstance(self.settings, RunFailedError):
            raise self.settings
        return list(self.settings)

    def close(self) -> None:
        self.closed += 1


def book_of(worker: Worker) -> ClusterBook:
    @contextmanager
    def host() -> Iterator[Any]:
        yield SimpleNamespace(track_directory=lambda _directory: None)

    return ClusterBook(BriefWorkers(host, lambda *_: worker))  # type: ignore[arg-type,return-value]


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Worker:
    made = Worker(reported(3))
    book = book_of(made)
    monkeypatch.setattr(asking, "cluster_book", lambda: book)
    monkeypatch.setattr(one_line, "cluster_book", lambda: book)
    return made


def plan_of(directory: Path, more: str = "") -> Plan:
    path = directory / "orders.yaml"
    path.write_text(CAMPAIGN + more)
    return plan_campaign(parse_campaign(path, {}, sorted(all_systems())))


def test_a_cluster_is_asked_once_and_the_load_generator_ends() -> None:
    worker = Worker(reported(3))
    book = book_of(worker)
    choice = AttachChoice({"bootstrap-servers": "h1:9092"})
    for _ in range(2):
        assert book.ask(KAFKA, choice, "kafka@attached") == AskedCluster(reported(3), 3)
    book.ask(KAFKA, replace(choice, addresses={"bootstrap-servers": "h2:9092"}), "kafka@attached")
    assert (worker.asked, worker.closed) == (2, 2)


def test_the_level_to_expect_is_said(tmp_path: Path) -> None:
    step = plan_of(tmp_path).steps[0]
    for brokers, words in (
        (3, "kafka@attached has 3 nodes. Level 2, replicated, in memory, is to be expected: topic of the campaign: "),
        (1, "kafka@attached has 1 node. Level 4, one copy in memory, is to be expected: topic of the campaign: "),
    ):
        asked = AskedCluster(reported(brokers), brokers)
        assert expected_level_words("kafka@attached", asked, level_to_expect(step, asked)).startswith(words)
    unsaid = AskedCluster((), None)
    assert level_to_expect(step, unsaid) is None
    assert expected_level_words("kafka@attached", unsaid, None) == ""
    silent = AskedCluster((), 3)
    words = expected_level_words("kafka@attached", silent, level_to_expect(step, silent))
    assert words == "kafka@attached has 3 nodes. Its level is read back during the run."


def test_a_level_that_a_cluster_can_not_have_is_refused_before_there_is_a_run(tmp_path: Path, worker: Worker) -> None:
    worker.settings = reported(1)
    with pytest.raises(UserError) as caught:
        planning._ask_clusters(plan_of(tmp_path, "durability: 2\n"))
    assert "orders.yaml:4: durability: kafka@attached can't have it: level 2 was asked for" in caught.value.message
    assert "one node: there is no second copy" in caught.value.message
    assert "as-found" in caught.value.hint
    worker.settings = reported(3)


def test_a_cluster_that_does_not_answer_is_reported_and_refuses_nothing(tmp_path: Path, worker: Worker) -> None:
    worker.settings = RunFailedError("No Kafka broker reachable at h1:9092 (connection refused)")
    (words,), unreached = planning._ask_clusters(plan_of(tmp_path))
    assert words.startswith("kafka@attached did not say which level it can have: No Kafka broker reachable")
    assert unreached == ("kafka@attached",)


def test_a_cluster_that_does_not_answer_is_not_waited_for_again_and_named_once(tmp_path: Path, worker: Worker) -> None:
    """Of each experiment, and each repeat, it would be another wait, and its message may have other times in it."""

    class Slower(Worker):
        def describe(self, driver: str, connection: Any, topics: list[str]) -> list[Setting]:
            self.settings = RunFailedError(f"no answer within {self.asked} ms")
            return super().describe(driver, connection, topics)

    slow = Slower(())
    book = book_of(slow)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking, "cluster_book", lambda: book)
        plan = plan_of(tmp_path, "repeat: 3\n")
        assert len(plan.steps) == 3
        (words,), unreached = planning._ask_clusters(plan)
    assert words == "kafka@attached did not say which level it can have: no answer within 0 ms"
    assert (slow.asked, unreached) == (1, ("kafka@attached",))


def test_a_dry_run_says_first_that_a_cluster_was_not_reached(
    tmp_path: Path, worker: Worker, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["bench", "kafka", "h1:9092", "--partitions", "1", "--dry-run", "--runs-dir", str(tmp_path)]
    assert run_command(line) == 0
    assert "Not reached" not in capsys.readouterr().out
    book_with_failure = book_of(Worker(RunFailedError("No Kafka broker reachable at h1:9092 (connection refused)")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking, "cluster_book", lambda: book_with_failure)
        assert run_command(line) == 1
    shown = capsys.readouterr().out
    assert shown.startswith("Not reached: kafka@attached. The plan is made without asking; a run would fail.")
    assert "Nothing was started." in shown
    assert "--attach" not in shown


VARIANTS = """\
variants:
  - {name: all, producer: {acks: all}}
  - {name: one, producer: {acks: 1}}
  - {name: waits, producer: {linger.ms: 20}}
"""


def test_variants_that_get_another_level_are_said_apart(tmp_path: Path, worker: Worker) -> None:
    worker.settings = reported(3)
    sentences, _ = planning._ask_clusters(plan_of(tmp_path, VARIANTS))
    assert [words.partition(", is to be expected")[0] for words in sorted(sentences)] == [
        "variant=all; variant=waits: kafka@attached has 3 nodes. Level 2, replicated, in memory",
        "variant=one: kafka@attached has 3 nodes. Level 4, one copy in memory",
    ]


def test_variants_that_get_the_same_level_share_a_sentence(tmp_path: Path, worker: Worker) -> None:
    worker.settings = reported(1)
    (words, *others), _ = planning._ask_clusters(plan_of(tmp_path, VARIANTS))
    assert not others
    assert words.startswith("kafka@attached has 1 node. Level 4")


def test_a_secret_that_is_not_here_keeps_nobody_from_planning(
    tmp_path: Path, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NOBODY_SETS_THIS", raising=False)
    path = tmp_path / "orders.yaml"
    auth = "{method: plain, user: me, password: {env: NOBODY_SETS_THIS}}"
    path.write_text(CAMPAIGN.replace('"h1:9092"}', f'"h1:9092", auth: {auth}}}'))
    assert run_command(["run", str(path), "--dry-run", "--runs-dir", str(tmp_path)]) == 0


def test_the_plan_has_what_the_cluster_said(tmp_path: Path, worker: Worker, capsys: pytest.CaptureFixture[str]) -> None:
    worker.settings = reported(3, partitions=6)
    assert run_command(["bench", "kafka", "h1:9092", "--rate", "5", "--dry-run", "--runs-dir", str(tmp_path)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "kafka@attached: topics get 6 partitions (its default is 6, and it has 3 nodes)" in shown
    assert "1 topic of 6 partitions" in shown
    assert "kafka@attached has 3 nodes. Level 2, replicated, in memory, is to be expected" in shown
    assert worker.asked == 1


def test_a_printed_campaign_is_alone_on_standard_output(
    tmp_path: Path, worker: Worker, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["bench", "kafka", "h1:9092", "--rate", "5", "--print-campaign"]) == 0
    shown = capsys.readouterr()
    path = tmp_path / "printed.yaml"
    path.write_text(shown.out)
    campaign = parse_campaign(path, {}, sorted(all_systems()))
    # One for each broker at least.
    assert campaign.workload.partitions == 3
    assert "topics get 3 partitions (its default is 1, and it has 3 nodes)" in shown.err


@pytest.mark.parametrize("partitions", [(), ("--partitions", "1")])
def test_a_cluster_that_can_not_be_asked_ends_it(
    tmp_path: Path, worker: Worker, partitions: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    worker.settings = RunFailedError("No Kafka broker reachable at h1:9092 (connection refused)")
    assert run_command(["bench", "kafka", "h1:9092", *partitions, "--runs-dir", str(tmp_path / "runs")]) == 1
    assert not (tmp_path / "runs").exists()
    said = capsys.readouterr().err
    assert said.count("No Kafka broker reachable at h1:9092") == 1
    assert "Check the address, and that it is up." in said
    assert "--attach" not in said


def test_who_is_kept_out_is_told_where_to_say_how_clients_get_in(
    tmp_path: Path, worker: Worker, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "client.properties"
    file.write_text("linger.ms=1\n")
    line = ["bench", "kafka", "h1:9092", "--runs-dir", str(tmp_path / "runs")]
    for more, hint in (
        ([], "--client-properties FILE (that of the system's own tools), or --attach FILE."),
        (["--client-properties", str(file)], f"Check what {file} says of encryption, and of who the client is."),
    ):
        worker.settings = AccessRefusedError("Kafka at h1:9092 wants TLS")
        assert run_command([*line, *more]) == 1
        said = capsys.readouterr().err
        assert "Kafka at h1:9092 wants TLS" in said
        assert hint in said
    assert not (tmp_path / "runs").exists()


def test_brokers_that_differ_say_no_number_of_partitions() -> None:
    assert KAFKA.partitions_by_default(reported(3, partitions=6)) == 6
    assert KAFKA.partitions_by_default([*reported(3), Setting("broker 9", "num.partitions", "9")]) == 0
    assert system_named("pulsar").partitions_by_default(reported(3)) == 0
    assert compose_line(CommandLine(BENCH, "kafka", "h1")).needs_partitions


def test_the_double_is_no_wider_than_a_load_generator() -> None:
    assert differences(Worker, LoadWorker) == []
