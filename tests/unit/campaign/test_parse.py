"""Reading campaigns: what is right becomes objects, what is wrong is shown with its file, line and the nearest key."""

from __future__ import annotations

from pathlib import Path

import pytest
from campaign_texts import GOOD, KNOWN, complaint, parse

from tidegauge.campaign.model import WorkerChoice
from tidegauge.campaign.read.parse import campaign_keys, parse_campaign
from tidegauge.config.units import Rate
from tidegauge.errors import UserError
from tidegauge.experiments.latency import LatencyOptions
from tidegauge.experiments.procedure import experiments
from tidegauge.model.level import LevelChoice
from tidegauge.model.workload import Arrival, Compression, Keys
from tidegauge.systems.registry import all_systems

ROOT = Path(__file__).parents[3]

EXPERIMENTS = ", ".join(experiments())


def test_a_short_campaign_takes_the_defaults(tmp_path: Path) -> None:
    campaign = parse(tmp_path, GOOD)
    assert [system.name for system in campaign.systems] == ["kafka", "pulsar"]
    assert campaign.durability == LevelChoice(3)
    assert (campaign.repeat, campaign.seed, campaign.nodes) == (1, 1, 1)
    assert campaign.workload.payload.message_bytes == 1024
    assert campaign.experiments[0].name == "peak"


def test_everything_can_be_said(tmp_path: Path) -> None:
    campaign = parse(
        tmp_path,
        """\
name: everything
description: All keys.
systems:
  - kafka@4.3.1
  - kafka@/opt/kafka
  - name: pulsar
    version: "4.2.4"
    settings: {journalMaxGroupWaitMSec: 1, journalSyncData: true, numIOThreads: 0.5, superUserRoles: plain}
    producer: {sendTimeoutMs: 0}
    consumer: {ackTimeoutMillis: 0}
    heap: 2GiB
    direct-memory: 512MiB
durability: {level: 4, form: bypass}
workload:
  topics: 2
  partitions: 3
  producers: 4
  subscriptions: 5
  consumers: 6
  message-size: 100B
  random-share: 0.5
  payload-bodies: 16
  keys: round-robin
  distinct-keys: 99
  arrival: poisson
  batch-size: 64KiB
  batch-delay: 2ms
  compression: lz4
  in-flight: 1000
  receive-queue: 500
  connections: 2
experiments:
  - name: latency
    rate: 20k
    warm-up-min: 5s
    warm-up-max: 1m
    measure: 2m
    drain-max: 30s
repeat: 3
seed: 99
data-directory: /mnt/disk
""",
    )
    assert [(system.name, system.version) for system in campaign.systems] == [
        ("kafka", "4.3.1"),
        ("kafka", "/opt/kafka"),
        ("pulsar", "4.2.4"),
    ]
    pulsar = campaign.systems[2]
    assert pulsar.settings == {
        "journalMaxGroupWaitMSec": "1",
        "journalSyncData": "true",
        "numIOThreads": "0.5",
        "superUserRoles": "plain",
    }
    assert (pulsar.producer, pulsar.consumer) == ({"sendTimeoutMs": "0"}, {"ackTimeoutMillis": "0"})
    assert (pulsar.heap_mb, pulsar.direct_memory_mb) == (2048, 512)
    assert campaign.durability == LevelChoice(4, "bypass")
    workload = campaign.workload
    assert (workload.topics, workload.partitions, workload.producers) == (2, 3, 4)
    assert (workload.subscriptions, workload.consumers) == (5, 6)
    assert (workload.payload.message_bytes, workload.payload.random_share, workload.payload.pool_bodies) == (
        100,
        0.5,
        16,
    )
    assert (workload.keys, workload.distinct_keys, workload.arrival) == (Keys.ROUND_ROBIN, 99, Arrival.POISSON)
    client = workload.client
    assert (client.batch_bytes_max, client.batch_delay_ms_max, client.compression) == (65536, 2.0, Compression.LZ4)
    assert (client.in_flight_messages_max, client.receive_queue_messages, client.connections_per_broker) == (
        1000,
        500,
        2,
    )
    options = campaign.experiments[0].options
    assert isinstance(options, LatencyOptions)
    assert options.rate == Rate(msgs_per_s=20_000)
    assert (options.warm_up_min, options.warm_up_max, options.measure, options.drain_max) == (5.0, 60.0, 120.0, 30.0)
    assert (campaign.repeat, campaign.seed, campaign.data_directory) == (3, 99, "/mnt/disk")


@pytest.mark.parametrize(
    ("wrong", "line", "says"),
    [
        ("systemss: [kafka]", 7, "systemss: unknown key 'systemss' (did you mean 'systems'?)"),
        ("repeat: 0", 7, "repeat: '0': must be at least 1"),
        ("repeat: three", 7, "repeat: 'three': must be a whole number"),
        ("repeat: true", 7, "repeat: true: must be a whole number"),
        ("seed: -1", 7, "seed: '-1': must be at least 0"),
        ("description: [a]", 7, "description: a list: must be text"),
        ("durability: 5", 7, "durability: '5': must be a durability level from 1 to 4"),
        ("durability: high", 7, "durability: 'high': must be a durability level from 1 to 4"),
        ("durability: {level: 4, from: bypass}", 7, "durability.from: unknown key 'from' (did you mean 'form'?)"),
        ("name: other", 7, "the key 'name' is given twice (first on line 1); keep one"),
        ("repeat:", 7, "repeat: empty: must be a whole number"),
        ("<<: {repeat: 2}", 7, "unknown key '<<'"),
    ],
)
def test_a_wrong_top_level_key_is_shown(tmp_path: Path, wrong: str, line: int, says: str) -> None:
    message = complaint(tmp_path, GOOD + wrong + "\n")
    assert f"campaign.yaml:{line}: " in message
    assert says in message


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("kafak", "systems[1].name: unknown system 'kafak' (did you mean 'kafka'?); known: kafka, pulsar"),
        ("kafka@", "systems[1]: 'kafka@': a version must follow the '@'"),
        ("{name: pulsar, heep: 1GiB}", "systems[1].heep: unknown key 'heep' (did you mean 'heap'?)"),
        ("{version: 4.3.1}", "systems[1].name: this key is missing"),
        ("{name: pulsar, version: 4.2}", "systems[1].version: '4.2': put the version in quotes"),
        ("kafka@..", "systems[1].version: '..': must be a version such as 4.3.1, or the path of a directory"),
        (f"kafka@4.{'3' * 5000}", "must be a version such as 4.3.1"),
        ("kafka@latest", "systems[1].version: 'latest': must be a version such as 4.3.1"),
        ("{name: pulsar, version: 4 2}", "systems[1].version: '4 2': must be a version"),
        ("{name: pulsar, heap: 1KiB}", "systems[1].heap: '1KiB': must be from 128MiB to 1024GiB"),
        ("{name: pulsar, heap: big}", "systems[1].heap: 'big': must be a size such as"),
        ("{name: pulsar, settings: {a: [1]}}", "the setting 'a' must be one value"),
        ("{name: pulsar, settings: x}", "must be a mapping of the system's own settings"),
        ("7", "systems[1]: must be a system such as kafka or pulsar"),
        ("kafka", "systems[1]: 'kafka' is listed twice; use 'repeat'"),
    ],
)
def test_a_wrong_system_is_shown_on_its_line(tmp_path: Path, wrong: str, says: str) -> None:
    message = complaint(tmp_path, f"name: x\nsystems:\n  - kafka\n  - {wrong}\nexperiments: [peak]\n")
    assert "campaign.yaml:4: " in message
    assert says in message


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("mesage-size: 1KiB", "unknown key 'mesage-size' (did you mean 'message-size'?)"),
        ("message_size: 1KiB", "unknown key 'message_size' (did you mean 'message-size'?)"),
        ("message-size: 21MiB", "workload.message-size: '21MiB': must be from 1B to 20MiB"),
        ("message-size: 0B", "must be from 1B to 20MiB"),
        ("batch-delay: 5", "workload.batch-delay: '5': must be a duration with its unit"),
        ("arrival: unifrom", "must be one of uniform, poisson (did you mean 'uniform'?)"),
        ("arrival: closed-loop", "must be one of uniform, poisson"),
        ("keys: sticky", "must be one of none, round-robin, random"),
        ("compression: gzp", "(did you mean 'gzip'?)"),
        ("random-share: 1.5", "workload.random-share: '1.5': must be at most 1"),
        ("topics: 0", "workload.topics: '0': must be at least 1"),
        ('topics: "3"', "workload.topics: '3': must be a whole number"),
        ("partitions: 10000001", "must be at most 10000000"),
        ("payload-file: no.bin", "workload.payload-file: 'no.bin': there is no such file"),
    ],
)
def test_a_wrong_workload_key_is_shown_on_its_line(tmp_path: Path, wrong: str, says: str) -> None:
    message = complaint(tmp_path, f"name: x\nsystems: [kafka]\nexperiments: [peak]\nworkload:\n  {wrong}\n")
    assert "campaign.yaml:5: " in message
    assert says in message


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("peek", f"experiments[0].name: unknown experiment 'peek' (did you mean 'peak'?); known: {EXPERIMENTS}"),
        ("latency", "experiments[0].rate: this key is missing"),
        ("{name: peak, mesure: 30s}", "unknown key 'mesure' (did you mean 'measure'?)"),
        ("{name: peak, rate: 20k}", "experiments[0].rate: unknown key 'rate'"),
        ("{name: latency, rate: fast}", "experiments[0].rate: 'fast': must be messages a second such as"),
        ("{name: latency, rate: 50% of lowest peak}", "needs a peak experiment listed before this one"),
        ("{name: peak, measure: 30}", "experiments[0].measure: '30': must be a duration with its unit"),
        ("{name: peak, measure: 500ms}", "experiments[0].measure: '500ms': must be from 1s to 30d"),
        ("{name: peak, warm-up-min: 2h}", "must be from 1s to 1h"),
        ("{name: peak, drain-max: 1s}", "must be from 6s to 1h"),
        ("{measure: 30s}", f"must be an experiment ({EXPERIMENTS}), or a mapping with its 'name'"),
        ("[peak]", f"must be an experiment ({EXPERIMENTS})"),
        ("{name: max-throughput, width: 5}", "experiments[0].width: '5': must be a share such as 5%"),
        ("{name: max-throughput, min-rate: 5k, max-rate: 1k}", "min-rate must be below max-rate"),
        ("{name: max-throughput, goals: [{name: a, response-p99: 1s}]}", "unknown key 'response-p99'"),
        ("{name: max-throughput, goals: [{response-p99-max: 1s}]}", "goals[0].name: this key is missing"),
        ("{name: curve}", "needs a max-throughput experiment listed before this one"),
    ],
)
def test_a_wrong_experiment_is_shown_on_its_line(tmp_path: Path, wrong: str, says: str) -> None:
    message = complaint(tmp_path, f"name: x\nsystems: [kafka]\nexperiments:\n  - {wrong}\n")
    assert "campaign.yaml:4: " in message
    assert says in message


def test_all_problems_are_shown_at_once_in_the_order_of_lines(tmp_path: Path) -> None:
    message = complaint(tmp_path, "name: Bad Name\nsystems: [kafak]\nexperiments: [peek]\nrepeat: 0\n")
    lines = message.splitlines()
    assert lines[0] == "4 problems in the campaign:"
    assert [line.split("campaign.yaml:")[1][0] for line in lines[1:]] == ["1", "2", "3", "4"]


@pytest.mark.parametrize("missing", ["name", "systems", "experiments"])
def test_a_missing_key_is_named(tmp_path: Path, missing: str) -> None:
    keys = {"name": "name: x", "systems": "systems: [kafka]", "experiments": "experiments: [peak]"}
    text = "\n".join(line for key, line in keys.items() if key != missing)
    assert f"{missing}: this key is missing" in complaint(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "campaign.yaml:1: the campaign file is empty"),
        ("# only a comment\n", "is empty"),
        ("- kafka\n", "campaign.yaml:1: a campaign file must hold keys and values, not a list"),
        ("kafka\n", "not a single value"),
        ("name: x\nsystems: [kafka\nexperiments: y\n", "campaign.yaml:3: this is not valid YAML"),
        ("name: x\n  systems: 3\n", "campaign.yaml:2: this is not valid YAML"),
        ("name: x\n\tsystems: 3\n", "campaign.yaml:2: this is not valid YAML: a line begins with a tab (write spaces)"),
        ("name: x\n---\nname: y\n", "not valid YAML"),
        ("name: \x00\n", "not valid YAML"),
        ("name: &a [*a]\n", "refers to itself"),
        ("1: x\n[a]: 3\n", "campaign.yaml:2: a key must be plain text"),
        ("name: !!python/object x\n", "can't be read as a value"),
    ],
)
def test_a_file_that_is_no_campaign_is_refused_clearly(tmp_path: Path, text: str, says: str) -> None:
    assert says in complaint(tmp_path, text)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no such campaign file"):
        parse_campaign(tmp_path / "none.yaml", {}, KNOWN)


def test_a_directory_is_no_campaign(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="this is a directory"):
        parse_campaign(tmp_path, {}, KNOWN)


def test_a_binary_file_is_no_campaign(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="not a text file"):
        parse_campaign(tmp_path / "c.yaml", {}, KNOWN)


def test_a_huge_file_is_no_campaign(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_bytes(b"#" * (2 << 20))
    with pytest.raises(UserError, match="larger than 64 KiB"):
        parse_campaign(tmp_path / "c.yaml", {}, KNOWN)


def test_the_command_line_wins_and_is_recorded(tmp_path: Path) -> None:
    campaign = parse(tmp_path, GOOD, durability=4, systems=["kafka@4.4.0"], repeat=5)
    assert campaign.durability == LevelChoice(4)
    assert [(system.name, system.version) for system in campaign.systems] == [("kafka", "4.4.0")]
    assert campaign.repeat == 5
    assert campaign.overrides == {"durability": 4, "systems": ["kafka@4.4.0"], "repeat": 5}


def test_a_wrong_command_line_value_names_the_option_and_not_the_file(tmp_path: Path) -> None:
    message = complaint(tmp_path, GOOD, durability=9)
    assert message.startswith("--level: durability: '9'")
    assert "campaign.yaml" not in message


def test_a_workload_file_is_found_beside_the_campaign_and_in_its_project(tmp_path: Path) -> None:
    (tmp_path / "campaigns").mkdir()
    (tmp_path / "workloads").mkdir()
    (tmp_path / "workloads" / "small.yaml").write_text("name: small\ndescription: Small.\nmessage-size: 100B\n")
    text = "name: x\nsystems: [kafka]\nexperiments: [peak]\nworkload: workloads/small.yaml\n"
    assert parse(tmp_path / "campaigns", text).workload.payload.message_bytes == 100
    assert parse(tmp_path, text).workload.payload.message_bytes == 100


def test_a_problem_in_a_workload_file_is_shown_there(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text("topics: 1\npartitons: 3\n")
    message = complaint(tmp_path, "name: x\nsystems: [kafka]\nexperiments: [peak]\nworkload: w.yaml\n")
    assert "w.yaml:2: partitons: unknown key 'partitons' (did you mean 'partitions'?)" in message


def test_a_workload_file_that_is_not_there(tmp_path: Path) -> None:
    message = complaint(tmp_path, "name: x\nsystems: [kafka]\nexperiments: [peak]\nworkload: w.yaml\n")
    assert "campaign.yaml:4: workload: 'w.yaml': there is no such workload file" in message


def test_a_payload_file_is_found_beside_the_campaign(tmp_path: Path) -> None:
    (tmp_path / "body.bin").write_bytes(b"abc")
    text = "name: x\nsystems: [kafka]\nexperiments: [peak]\nworkload: {payload-file: body.bin}\n"
    assert parse(tmp_path, text).workload.payload.file == str(tmp_path / "body.bin")


@pytest.mark.parametrize("path", sorted((ROOT / "campaigns").glob("*.yaml")), ids=lambda path: path.stem)
def test_ready_campaigns_are_right(path: Path) -> None:
    campaign = parse_campaign(path, {}, sorted(all_systems()))
    assert campaign.name == path.stem
    assert campaign.description


def test_the_keys_can_be_listed() -> None:
    assert campaign_keys()[:2] == ["name", "description"]
    assert set(experiments()) >= {"latency", "peak"}


def test_the_workers_memory_can_be_chosen(tmp_path: Path) -> None:
    assert parse(tmp_path, GOOD).worker == WorkerChoice(0, 0)
    assert parse(tmp_path, GOOD + "worker: {heap: 1GiB}\n").worker == WorkerChoice(1024, 0)
    assert parse(tmp_path, GOOD + "worker: {direct-memory: 64MiB}\n").worker == WorkerChoice(0, 64)


@pytest.mark.parametrize(("text", "share"), [("0%", 0.0), ("2.5%", 0.025), ("100%", 1.0)])
def test_the_workers_precision_can_be_chosen(tmp_path: Path, text: str, share: float) -> None:
    assert parse(tmp_path, GOOD).worker.precision == 0.05
    assert parse(tmp_path, GOOD + f"worker: {{precision: {text}}}\n").worker == WorkerChoice(precision=share)


@pytest.mark.parametrize(("text", "ns"), [("0us", 0), ("50us", 50_000), ("500us", 500_000)])
def test_the_workers_grain_can_be_chosen(tmp_path: Path, text: str, ns: int) -> None:
    assert parse(tmp_path, GOOD).worker.grain_ns is None
    assert parse(tmp_path, GOOD + f"worker: {{grain: {text}}}\n").worker == WorkerChoice(grain_ns=ns)


@pytest.mark.parametrize(
    ("worker", "said"),
    [
        ("{grain: 1ms}", "must be from 0us to 500us"),
        ("{grain: 50}", "must be a duration with its unit"),
        ("{heap: 1MiB}", "must be from 32MiB"),
        ("{haep: 1GiB}", "did you mean 'heap'"),
        ("1GiB", "must be a mapping"),
        ("{precision: 101%}", "must be from 0% to 100%"),
        ("{precision: 0.05}", "must be a share such as 5%"),
        ("{precision: -1%}", "must be a share such as 5%"),
        ("{presicion: 5%}", "did you mean 'precision'"),
    ],
)
def test_a_worker_that_cannot_be_is_refused(tmp_path: Path, worker: str, said: str) -> None:
    text = complaint(tmp_path, GOOD + f"worker: {worker}\n")
    assert "campaign.yaml:7" in text
    assert said in text


def test_what_aborts_a_trial_is_checked_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    head = "name: x\nsystems: [kafka]\nexperiments: [{name: latency, rate: 1k}]\n"
    text = f"{head}abort-on:\n  - response_ms_p99 > 100 for 5s\n"
    path.write_text(text)
    assert parse_campaign(path, {}, ["kafka"]).abort_on == ("response_ms_p99 > 100 for 5s",)
    path.write_text(text + "  - lost > 0\n  - response_ms_p99 > 9 in peak\n")
    with pytest.raises(UserError) as caught:
        parse_campaign(path, {}, ["kafka"])
    assert "c.yaml:6: abort-on[1]: 'lost > 0': a trial is aborted by a figure of its seconds" in str(caught.value)
    assert "c.yaml:7: abort-on[2]: the campaign has no experiment 'peak'" in str(caught.value)
