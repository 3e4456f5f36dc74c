"""Options of the command line in the place of a campaign's values: memory, window, and which systems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tidegauge.campaign.model import Campaign, WorkerChoice
from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.campaign.read.fingerprint import meaning_of_campaign
from tidegauge.campaign.read.overriding import auto_mb
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.errors import UserError
from tidegauge.hosts.memory import Machine
from tidegauge.report.lists import window_words
from tidegauge.systems.registry import all_systems
from tidegauge.systems.registry import system_named as find_system

CAMPAIGN = """\
name: example
systems:
  - {name: kafka, heap: 640MiB, direct-memory: 384MiB, settings: {num.io.threads: 4}, optional: true}
  - {name: pulsar, heap: 640MiB, direct-memory: 384MiB}
nodes: 3
durability: 1
workload: {partitions: 4, in-flight: 300}
experiments: [peak]
"""


def parse(directory: Path, text: str = CAMPAIGN, **overrides: Any) -> Campaign:
    path = directory / "campaign.yaml"
    path.write_text(text)
    return parse_campaign(
        path, {key.replace("_", "-"): value for key, value in overrides.items()}, sorted(all_systems())
    )


def complaint(directory: Path, text: str = CAMPAIGN, **overrides: Any) -> str:
    with pytest.raises(UserError) as caught:
        parse(directory, text, **overrides)
    assert caught.value.exit_code == 2
    return caught.value.message


def memory(campaign: Campaign) -> list[tuple[str, str, int, int]]:
    return [(system.name, system.version, system.heap_mb, system.direct_memory_mb) for system in campaign.systems]


class TestSystems:
    def test_one_that_is_named_keeps_the_campaigns_memory_and_settings(self, tmp_path: Path) -> None:
        for text, version in (("kafka", ""), ("kafka@3.9.2", "3.9.2")):
            campaign = parse(tmp_path, systems=[text])
            assert memory(campaign) == [("kafka", version, 640, 384)]
            assert campaign.systems[0].settings == {"num.io.threads": "4"}
            assert not campaign.systems[0].optional, "what is asked for by name is not left out"

    def test_one_that_the_campaign_has_not_gets_the_memory_of_all_others(self, tmp_path: Path) -> None:
        assert memory(parse(tmp_path, systems=["rabbitmq"])) == [("rabbitmq", "", 640, 384)]
        unequal = CAMPAIGN.replace("pulsar, heap: 640MiB", "pulsar, heap: 900MiB")
        assert memory(parse(tmp_path, unequal, systems=["rabbitmq"])) == [("rabbitmq", "", 1024, 384)]

    def test_a_name_is_every_entry_of_it_and_a_version_its_own(self, tmp_path: Path) -> None:
        two = CAMPAIGN.replace("{name: pulsar,", '{name: kafka, version: "3.9.2",').replace("640MiB, d", "700MiB, d", 1)
        both = [("kafka", "", 700, 384), ("kafka", "3.9.2", 640, 384)]
        assert memory(parse(tmp_path, two, systems=["kafka"])) == both
        assert memory(parse(tmp_path, two, systems=["kafka@3.9.2"])) == both[1:]

    def test_a_mistake_of_an_entry_that_stays_is_reported_at_its_line(self, tmp_path: Path) -> None:
        wrong = CAMPAIGN.replace("pulsar, heap: 640MiB", "pulsar, heap: 1B")
        assert f"{tmp_path / 'campaign.yaml'}:4: systems[1].heap: '1B'" in complaint(
            tmp_path, wrong, systems=["pulsar"]
        )
        assert parse(tmp_path, wrong, systems=["kafka"])

    def test_a_mistake_of_the_option_names_the_option(self, tmp_path: Path) -> None:
        assert complaint(tmp_path, systems=["kafak"]).startswith("--systems: systems[0].name: unknown system 'kafak'")
        assert complaint(tmp_path, systems=["kafka@"]).startswith("--systems: systems[0]: 'kafka@': a version must")


class TestMemory:
    def test_the_campaigns_own_is_of_each_system_that_says_nothing(self, tmp_path: Path) -> None:
        text = CAMPAIGN.replace("heap: 640MiB, direct-memory: 384MiB, settings", "heap: 700MiB, settings")
        text += "heap: 2GiB\ndirect-memory: 3GiB\n"
        assert memory(parse(tmp_path, text)) == [("kafka", "", 700, 3072), ("pulsar", "", 640, 384)]

    def test_an_option_is_for_every_system(self, tmp_path: Path) -> None:
        campaign = parse(tmp_path, heap="12GiB", direct_memory="2GiB")
        assert memory(campaign) == [("kafka", "", 12288, 2048), ("pulsar", "", 12288, 2048)]
        assert complaint(tmp_path, heap="1B") == "--heap: heap: '1B': must be from 128MiB to 1024GiB, or 'auto'"
        assert complaint(tmp_path, direct_memory="much").startswith("--direct-memory: direct-memory: 'much': must be")

    def test_auto_follows_from_the_machine_and_is_the_same_for_all(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tidegauge.campaign.read.overriding.this_machine", lambda: Machine(8, 65536))
        campaign = parse(tmp_path, heap="auto", direct_memory="auto")
        assert memory(campaign) == [("kafka", "", 5440, 5440), ("pulsar", "", 5440, 5440)]
        assert meaning_of_campaign(campaign)["systems.0.heap_mb"] == "5440", (
            "another machine makes another campaign of it"
        )
        tiered = CAMPAIGN.replace("{name: pulsar,", "{name: pulsar, shape: {layout: tiered},")
        assert memory(parse(tmp_path, tiered, heap="auto"))[0][2] == 2688, "brokers have nodes of their own"

    def test_auto_is_half_of_the_machine_in_steps_and_bounded(self) -> None:
        assert [auto_mb(65536, nodes) for nodes in (1, 3)] == [16384, 5440]
        assert 3 * 2 * auto_mb(65536, 3) <= 65536 // 2
        assert auto_mb(1 << 20, 1) == 31 << 10

    def test_a_machine_that_is_too_small_is_reported(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tidegauge.campaign.read.overriding.this_machine", lambda: Machine(2, 1024))
        assert complaint(tmp_path, heap="auto").startswith(
            "--heap: heap: 'auto': this machine has 1,024 MiB, too little"
        )

    def test_it_can_stand_in_a_published_campaigns_original(self, tmp_path: Path) -> None:
        claims = "published: {report: confluent-2020, claims: [kafka-twice-pulsar], original: {heap: 12GiB}}\n"
        text = CAMPAIGN.replace("heap: 640MiB, ", "") + "heap: 640MiB\n" + claims
        assert memory(parse(tmp_path, text))[0][2] == 640
        assert memory(parse(tmp_path, text, scale="original"))[0][2] == 12288

    def test_a_swept_heap_and_the_option_are_refused_together(self, tmp_path: Path) -> None:
        swept = CAMPAIGN + "sweep: {systems.pulsar.heap: [1GiB, 2GiB]}\n"
        assert "is swept, so --heap can't be given beside" in complaint(tmp_path, swept, heap="3GiB")
        assert len(parse(tmp_path, swept, direct_memory="3GiB").points) == 2


class TestInFlight:
    def test_the_plan_says_where_the_window_limits(self, tmp_path: Path) -> None:
        campaign = parse(tmp_path, CAMPAIGN.replace("[peak]", "[{name: latency, rate: 100k}]"), in_flight=2000)
        (words,) = window_words(plan_campaign(campaign).trials)
        assert words.startswith(
            "Window: 2,000 messages (1.953 MiB) may be in flight over all producers: this limits 100,000 msg/s"
        )
        assert "once acknowledgements take 20" in words
        (words,) = window_words(plan_campaign(parse(tmp_path, in_flight=2000)).trials)
        assert "if acknowledgements take 100 ms, this limits the rate to 20,000 msg/s" in words
        sizes = CAMPAIGN.replace("workload: {", "workload: {message-size: {100B: 50%, 10KiB: 50%}, ")
        (words,) = window_words(plan_campaign(parse(tmp_path, sizes, in_flight=2000)).trials)
        assert "2,000 messages (about 9.865 MiB) may be in flight" in words

    def test_it_wins_over_the_workload_in_the_campaign_and_in_a_file(self, tmp_path: Path) -> None:
        assert parse(tmp_path, in_flight=70).workload.client.in_flight_messages_max == 70
        (tmp_path / "w.yaml").write_text("partitions: 4\nin-flight: 300\n")
        text = CAMPAIGN.replace("{partitions: 4, in-flight: 300}", "w.yaml")
        assert parse(tmp_path, text).workload.client.in_flight_messages_max == 300
        assert parse(tmp_path, text, in_flight=70).workload.client.in_flight_messages_max == 70

    def test_it_stays_at_every_point_of_a_sweep(self, tmp_path: Path) -> None:
        campaign = parse(tmp_path, CAMPAIGN + "sweep: {partitions: [1, 2]}\n", in_flight=70)
        assert [point.campaign.workload.client.in_flight_messages_max for point in campaign.points] == [70, 70]
        swept = complaint(tmp_path, CAMPAIGN + "sweep: {in-flight: [1, 2]}\n", in_flight=70)
        assert "is swept, so --in-flight can't be given beside" in swept

    def test_the_load_generators_memory_follows_from_it(self, tmp_path: Path) -> None:
        text = CAMPAIGN + "worker: {heap: 512MiB, direct-memory: 256MiB, precision: 10%}\n"
        campaign = parse(tmp_path, text, in_flight=100_000)
        assert campaign.worker == WorkerChoice(precision=0.1)
        (note,) = campaign.notes
        assert "instead of the campaign's (heap 512MiB, direct-memory 256MiB)" in note.text
        assert parse(tmp_path, text).worker == WorkerChoice(512, 256, 0.1)

    def test_a_wrong_one_names_the_option(self, tmp_path: Path) -> None:
        assert complaint(tmp_path, in_flight=0) == "--in-flight: '0': must be at least 1"


def test_a_misspelt_form_is_refused_whatever_systems_are_chosen(tmp_path: Path) -> None:
    wrong = CAMPAIGN.replace("durability: 1", "durability: {level: 2, form: bypas}")
    with pytest.raises(UserError, match=r"no system .* a form 'bypas' of level 2 \(did you mean 'bypass'\?\)"):
        plan_campaign(parse(tmp_path, wrong, systems=["kafka"]), find_system)
    right = parse(tmp_path, wrong.replace("bypas}", "bypass}"), systems=["kafka"])
    assert plan_campaign(right, find_system).trials[0].choice.form == "", "Pulsar, which was left out, has it"
