"""A wrong name is answered with the keys of the mapping that it stands in, and the name that was meant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from run_samples import spec

from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.errors import UserError
from tidegauge.fleet.file import read_fleet_file
from tidegauge.model.host import MemoryNeed, WorkerMemory
from tidegauge.model.workload import RatePhase, RateSchedule
from tidegauge.omb.files import read_driver
from tidegauge.report.lists import planned_load
from tidegauge.report.tables import axis_name
from tidegauge.systems import registry
from tidegauge.thresholds import parse_threshold


def refused(directory: Path, experiment: str, system: str = "kafka") -> str:
    path = directory / "c.yaml"
    path.write_text(f"name: c\nsystems: [{system}]\nexperiments: [{experiment}]\n")
    with pytest.raises(UserError) as caught:
        parse_campaign(path, {}, sorted(registry.all_systems()))
    assert caught.value.exit_code == 2
    return caught.value.message


NESTED = """\
name: typo
driverClass: io.openmessaging.benchmark.driver.pulsar.PulsarBenchmarkDriver
client: {serviceUrl: "pulsar://localhost:6650", httpUrl: "http://localhost:8080"}
producer: {batchingEnabld: true}
consumer: {receiverQueueSise: 100}
"""


def test_a_nested_key_is_one_of_its_own_mapping(tmp_path: Path) -> None:
    file = tmp_path / "driver.yaml"
    file.write_text(NESTED)
    _, source = read_driver(file, managed=False)
    producer, consumer = map(str, sorted(source.problems, key=lambda problem: problem.line))
    assert "producer.batchingEnabld: unknown key 'batchingEnabld' (did you mean 'batchingEnabled'?)" in producer
    assert "consumer.receiverQueueSise: unknown key 'receiverQueueSise' (did you mean 'receiverQueueSize'?)" in consumer
    assert "driverClass" not in producer + consumer


def test_a_fleets_nested_key_is_one_of_its_own_mapping(tmp_path: Path) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_text("launcher: ray\nroles: {load: {label: {rol: load}, count: 1, worker-per-host: 2}}\n")
    with pytest.raises(UserError) as caught:
        read_fleet_file(file)
    message = caught.value.message
    assert "roles.load.label.rol: unknown key 'rol' (did you mean 'role'?); allowed: role" in message
    assert "roles.load.worker-per-host: unknown key 'worker-per-host' (did you mean 'workers-per-host'?)" in message
    assert "launcher" not in message


def test_names_that_other_tools_have_are_understood(tmp_path: Path) -> None:
    assert "'duration' (did you mean 'measure'?)" in refused(tmp_path, "{name: peak, duration: 1h}")
    near = "near it are service_ms_p99, delay_ms_p99, end_to_end_ms_p99; docs/tables/columns.md lists all of them"
    with pytest.raises(ValueError, match=rf"unknown figure 'p99' \(did you mean 'response_ms_p99'\?\); {near}$"):
        parse_threshold("p99<10")


def test_a_key_beside_the_options_of_an_experiment_is_near_too(tmp_path: Path) -> None:
    assert "falts: unknown key 'falts' (did you mean 'faults'?)" in refused(tmp_path, "{name: peak, falts: 3}")


def test_a_mistyped_key_is_not_missing_as_well(tmp_path: Path) -> None:
    message = refused(tmp_path, "{name: latency, rat: 1k}")
    assert "rat: unknown key 'rat' (did you mean 'rate'?)" in message
    assert "missing" not in message
    assert "rate: this key is missing" in refused(tmp_path, "{name: latency, zzz: 1k}")
    assert "missing" not in refused(tmp_path, "peak", "{name: kafka, attach: {bootstrap-server: 'h:1'}}")


def test_a_long_list_is_left_out_where_a_name_is_near(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("name: c\nsystms: [kafka]\nexperiments: [peak]\nzzz: 1\n")
    with pytest.raises(UserError) as caught:
        parse_campaign(path, {}, sorted(registry.all_systems()))
    near, far = caught.value.message.splitlines()[1:]
    assert near.endswith("unknown key 'systms' (did you mean 'systems'?)")
    assert "; allowed: name, description, systems" in far


def test_what_stands_for_no_system_is_not_listed(tmp_path: Path) -> None:
    listed = refused(tmp_path, "peak", "kafak").partition("known: ")[2]
    assert "kafka" in listed
    assert "null" not in listed
    with pytest.raises(UserError) as caught:
        registry.system_named("kafak")
    assert "null" not in caught.value.hint


@pytest.mark.parametrize(
    ("axis", "words"),
    [
        ("systems.kafka.producer.linger.ms", "linger.ms"),
        ("systems.kafka.settings.num.io.threads", "num.io.threads"),
        ("systems.kafka.version", "version"),
        ("workload.partitions", "partitions"),
        ("latency.rate", "rate"),
        ("tuning", "tuning"),
    ],
)
def test_an_axis_keeps_the_whole_name_of_a_setting(axis: str, words: str) -> None:
    assert axis_name(axis) == words


def test_a_changing_rate_is_planned_with_both_ends() -> None:
    ramp = RateSchedule((RatePhase(1000.0, 50_000.0, 60.0, 0),), ("ramp",))
    assert planned_load(replace(spec(), msgs_per_s=1000.0, schedule=ramp)) == "1,000 to 50,000 msg/s"
    assert planned_load(spec()) == "20,000 msg/s"


def test_a_system_without_servers_is_not_one_of_others() -> None:
    assert "it has no servers" in str(MemoryNeed("null", (), WorkerMemory(300, 100), nodes=1))
    assert "its servers are others'" in str(MemoryNeed("kafka@attached", (), WorkerMemory(300, 100)))
