"""Several load generators for each trial: how many there may be, what each gets, and what a plan shows of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from campaign_texts import GOOD, complaint, parse
from omb_samples import DRIVER, WORKLOAD
from run_samples import spec

from tidegauge.campaign.model import WorkerChoice
from tidegauge.campaign.plan.generators import check_workers, generators_of_trial
from tidegauge.campaign.plan.memory import worker_memory
from tidegauge.campaign.run.apart import LoadHosts
from tidegauge.cli.main import run_command
from tidegauge.errors import UserError
from tidegauge.hosts.memory import Machine
from tidegauge.limiting.decide import JudgedLoad, _generator_of_consumer
from tidegauge.model.attest import AttestPlan
from tidegauge.model.host import MemoryNeed, MemoryPlan, WorkerMemory
from tidegauge.model.trial import AttestSpec, LoadSpec
from tidegauge.model.workload import WORKERS_MAX, Arrival, Workload
from tidegauge.omb.translate import Chosen, translate_all
from tidegauge.report.lists import share_words
from tidegauge.store.telemetry import WORKER
from tidegauge.worker.api import DIRECT_MEMORY_MB_LEAST, HEAP_MB_LEAST

HERE = Path("campaign.yaml")
FOUR = WorkerChoice(count=4)


def trial(rate: float | None = 1000.0, **workload: Any) -> LoadSpec:
    return replace(spec(), trial_id="0001-latency-kafka", msgs_per_s=rate, workload=Workload(**workload))


def test_on_a_fleet_a_trial_has_no_more_than_its_producers_and_consumers() -> None:
    """The file of a fleet is for many campaigns; here somebody asked for so many, and is told that it can't be."""
    fleet = WorkerChoice(count=4, hosts=4)
    assert generators_of_trial(trial(), fleet) == 2
    assert generators_of_trial(trial(producers=2, consumers=3), fleet) == 4
    check_workers([trial()], fleet, "campaign.yaml")
    assert generators_of_trial(trial(), FOUR) == 4
    with pytest.raises(UserError, match="more than 0001-latency-kafka has work for"):
        check_workers([trial()], FOUR, "campaign.yaml")
    assert generators_of_trial(replace(trial(), generators=3), WorkerChoice()) == 3


def test_shares_name_no_load_generator_without_producers_and_consumers() -> None:
    (words,) = share_words([trial()], 4)
    assert words.startswith("1: 1 producer, 0 consumers") and "2: 0 producers, 1 consumer" in words
    assert "3 to 4" not in words and "0 producers, 0 consumers" not in words


def test_the_first_load_generators_of_a_fleet_are_on_several_hosts_and_have_their_own_clocks() -> None:
    authority: Any = SimpleNamespace(controller_keys=lambda: ("", ""))
    clocks: Any = SimpleNamespace(ahead_ns=lambda: [10, 20])
    hosts: Any = [SimpleNamespace(host=SimpleNamespace(address=address)) for address in ("a", "b")]
    four = LoadHosts(hosts, 2, clocks, {}, {}, authority)
    assert four.ahead_ns() == [10, 20, 10, 20]
    assert four.of_first(3).ahead_ns() == [10, 20, 10]
    assert four.of_first(3).have_same_clock(0, 2) and not four.of_first(2).have_same_clock(0, 1)
    assert four.ahead_ns() == [10, 20, 10, 20], "the others are there for the next trial"


def test_a_campaign_and_the_command_line_say_how_many(tmp_path: Path) -> None:
    assert parse(tmp_path, GOOD).worker.count == 1
    text = GOOD + "worker: {count: 4, heap: 1GiB}\n"
    assert parse(tmp_path, text).worker == WorkerChoice(1024, count=4)
    assert parse(tmp_path, text, workers=2).worker == WorkerChoice(1024, count=2)
    assert parse(tmp_path, GOOD, workers=3).worker == WorkerChoice(count=3)


@pytest.mark.parametrize("count", ["0", "1001", "two", "1.5"])
def test_another_number_is_refused_with_its_line(tmp_path: Path, count: str) -> None:
    assert "campaign.yaml:7: worker.count" in complaint(tmp_path, GOOD + f"worker: {{count: {count}}}\n")


def test_a_campaign_says_how_often_a_trial_is_made_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert parse(tmp_path, GOOD).retry == 0
    assert parse(tmp_path, GOOD + "retry: 2\n").retry == 2
    assert "campaign.yaml:7: retry" in complaint(tmp_path, GOOD + "retry: 11\n")
    path = tmp_path / "retried.yaml"
    path.write_text(GOOD + "retry: 2\n")
    assert run_command(["run", str(path), "--dry-run"]) == 0
    assert "A trial whose load generators fail is made again, up to 2 times." in capsys.readouterr().out
    assert run_command(["run", str(path), "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["retry"] == 2


def test_omb_files_run_with_several(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(WORKLOAD)
    (tmp_path / "d.yaml").write_text(DRIVER)
    (read,) = translate_all([tmp_path / "w.yaml"], [tmp_path / "d.yaml"], False, 1.0, Chosen(workers=4))
    assert read.campaign.worker.count == 4


def test_so_does_the_command_for_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "w.yaml").write_text(WORKLOAD.replace("consumerPerSubscription: 1", "consumerPerSubscription: 3"))
    (tmp_path / "d.yaml").write_text(DRIVER)
    command = ["omb", str(tmp_path / "w.yaml"), "--driver", str(tmp_path / "d.yaml"), "--dry-run"]
    assert run_command([*command, "--workers", "4", "--json"]) == 0
    (only,) = json.loads(capsys.readouterr().out)["runs"]
    (shares,) = only["plan"]["workers"]
    assert [(each["producers"], each["consumers"]) for each in shares["shares"]] == [(1, 0), (0, 1), (0, 1), (0, 1)]
    assert run_command([*command, "--workers", "5"]) == 2
    assert "5 load generators are more than" in capsys.readouterr().err


def test_each_has_a_producer_or_a_consumer() -> None:
    enough = trial(topics=1, producers=1, subscriptions=1, consumers=3)
    check_workers([enough], FOUR, HERE)
    few = trial(topics=1, producers=1, subscriptions=1, consumers=2)
    check_workers([few], WorkerChoice(count=3), HERE)
    with pytest.raises(UserError, match=r"campaign.yaml: worker.count: 4 load generators .* are 3 together") as caught:
        check_workers([enough, few], FOUR, HERE)
    assert caught.value.hint.startswith("At most 3 would do")


def test_an_attestation_has_one() -> None:
    attest = AttestSpec(**trial(producers=9).shared, msgs_per_s=1000.0, attest=AttestPlan.__new__(AttestPlan))
    check_workers([attest], WorkerChoice(), HERE)
    with pytest.raises(UserError, match="4 load generators can't carry out 0001-latency-kafka: an attestation has one"):
        check_workers([attest], FOUR, HERE)


def test_memory_is_that_of_a_share_and_counted_for_each() -> None:
    large = replace(trial(None, partitions=100, producers=40, consumers=400), nodes=1)
    large = replace(large, workload=replace(large.workload, arrival=Arrival.CLOSED_LOOP))
    machine = Machine(16, 128_000)
    one, four = (worker_memory(large, WorkerChoice(count=count), machine) for count in (1, 4))
    assert four.heap_mb < one.heap_mb / 3 + 128
    assert four.direct_memory_mb <= one.direct_memory_mb / 4 + 128
    assert "100 consumers and 10 producers may hold" in four.because
    need = MemoryNeed("kafka@4.3.1", (), WorkerMemory(300, 100), workers=4)
    assert need.worker_mb == 4 * 600
    assert "2,400 for 4 load generators" in str(need)
    plan = MemoryPlan((need,), None, workers=4)
    assert "Each of the 4 load generators gets at most: heap 300 MiB, direct memory 100 MiB" in plan.sentences()


def test_one_consumer_does_not_make_each_need_room_for_all_producers() -> None:
    many = trial(1000.0, topics=1, producers=1000, subscriptions=1, consumers=1)
    one, ten = (worker_memory(many, WorkerChoice(count=count), Machine(2, 24_000)) for count in (1, 10))
    assert "1 consumer and 1,000 producers may hold" in one.because
    assert ten == WorkerMemory(HEAP_MB_LEAST, DIRECT_MEMORY_MB_LEAST), "a hundred producers each"


def test_the_plan_says_what_each_has() -> None:
    (words,) = share_words([trial(topics=2, producers=2, subscriptions=1, consumers=2)], 3)
    assert words == (
        "1: 2 producers, 1 consumer, 1 of the topics to create, 500 msg/s; "
        "2: 1 producer, 2 consumers, 1 of the topics to create, 250 msg/s; "
        "3: 1 producer, 1 consumer, no topic to create, 250 msg/s"
    )
    (alike,) = share_words([trial(None, topics=4, producers=1, consumers=1)], 4)
    assert alike == "1 to 4, each: 1 producer, 1 consumer, 1 of the topics to create, 1/4 of the rate"
    both = share_words([trial(producers=3), replace(trial(producers=5), trial_id="0002-other")], 2)
    assert [sentence.partition(":")[0] for sentence in both] == ["0001-latency-kafka", "0002-other"]


def test_a_dry_run_shows_shares_also_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "campaign.yaml"
    path.write_text("name: x\nsystems: [kafka]\nworkload: {producers: 3}\nexperiments: [{name: latency, rate: 3000}]\n")
    assert run_command(["run", str(path), "--workers", "2", "--dry-run"]) == 0
    assert "2 load generators" in capsys.readouterr().out
    assert run_command(["run", str(path), "--workers", "2", "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    (shares,) = plan["workers"]
    assert [each["msgs_per_s"] for each in shares["shares"]] == [2000.0, 1000.0]
    assert [each["consumers"] for each in shares["shares"]] == [0, 1]
    assert run_command(["run", str(path), "--workers", "5", "--dry-run"]) == 2


def test_the_help_says_how_many_there_are_by_default_and_at_most(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["run", "--help"]) == 0
    assert "(default: 1, or what a campaign says)" in " ".join(capsys.readouterr().out.split())
    assert run_command(["run", "x.yaml", "--workers", str(WORKERS_MAX + 1), "--dry-run"]) == 2
    assert f"{WORKERS_MAX}" in capsys.readouterr().err


def test_processes_of_load_generators_are_known_by_their_names() -> None:
    assert all(WORKER.fullmatch(name) for name in ("worker", "worker-1", "worker-12"))
    assert not any(WORKER.fullmatch(name) for name in ("kafka-1", "worker-x", "coworker", "bookie-1"))


@pytest.mark.parametrize(
    ("consumer", "workers", "whose"),
    [
        ("sub-0 consumer 1 (load generator 2 of 2)", ("worker-1", "worker-2"), "load generator 2 of 2"),
        ("sub-0 consumer 1", ("worker",), "worker"),
    ],
)
def test_a_busy_consumer_belongs_to_its_load_generator(consumer: str, workers: tuple[str, ...], whose: str) -> None:
    load = JudgedLoad.__new__(JudgedLoad)
    object.__setattr__(load, "consumer", consumer)
    object.__setattr__(load, "workers", workers)
    assert _generator_of_consumer(load) == whose
