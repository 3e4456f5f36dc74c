"""Files of the OpenMessaging Benchmark on a real Kafka that others (here: the test) run and a driver file names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import Place, valid_unless_starved
from deployments import ready
from kafka_names import broker_names
from ruamel.yaml import YAML

from tidegauge.model.level import LevelChoice
from tidegauge.store.seconds import read_seconds

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1300)]

DRIVER = """\
name: Kafka-one-copy
driverClass: io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver
replicationFactor: 1
topicConfig: |
  min.insync.replicas=1
commonConfig: |
  bootstrap.servers={address}
producerConfig: |
  acks=all
  linger.ms=1
  batch.size=131072
consumerConfig: |
  auto.offset.reset=earliest
  enable.auto.commit=false
"""

STEADY: dict[str, Any] = {
    "name": "steady rate",
    "topics": 1,
    "partitionsPerTopic": 2,
    "messageSize": 1024,
    "useRandomizedPayloads": True,
    "randomBytesRatio": 0.5,
    "randomizedPayloadPoolSize": 100,
    "subscriptionsPerTopic": 2,
    "producersPerTopic": 1,
    "consumerPerSubscription": 1,
    "producerRate": 1000,
    "consumerBacklogSizeGB": 0,
    "testDurationMinutes": 1,
}
OWN = Path(__file__).parents[1] / "omb_files/workloads"
SEARCH = "search-for-the-rate"
"""Not among the dozen: a search takes minutes."""
DOZEN = sorted(path.stem for path in OWN.glob("*.yaml") if path.stem != SEARCH)
EXPERIMENTS = {"max-rate": "peak", "a-backlog": "catch-up"}
"""What becomes of workloads at no fixed rate, or with a backlog."""


def workload_file(directory: Path, label: str, **changes: Any) -> Path:
    path = directory / f"{label}.yaml"
    path.write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in {**STEADY, **changes}.items()))
    return path


def trial_file(run: dict[str, Any], trial_id: str) -> Path:
    return Path(run["report"]["run"]["path"]) / "trials" / trial_id / "result.json"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("omb"))
    (place.root / "results").mkdir()
    return place


@pytest.fixture(scope="module")
def driver(place: Place) -> Iterator[Path]:
    """A driver file that names a Kafka of one node."""
    with ready("kafka", LevelChoice(4), place.root / "kafka") as running:
        yield place.write(DRIVER.format(address=running.deployment.connection["bootstrap.servers"]), "driver.yaml")


@pytest.fixture(scope="module")
def steady(place: Place, driver: Path) -> dict[str, Any]:
    """The report of one workload at a fixed rate: 21 s measured."""
    workload = workload_file(place.root, "steady")
    done = place.run(
        *("omb", str(workload), "--driver", str(driver), "--time-scale", "0.35"),
        *("--output-directory", str(place.root / "results"), "--json"),
    )
    valid_unless_starved(done, place)
    (run,) = json.loads(done.stdout)["runs"]
    found: dict[str, Any] = run
    return found


def test_the_rate_is_measured_at_the_level_of_the_files_settings(steady: dict[str, Any]) -> None:
    (experiment,) = steady["report"]["experiments"]
    (result,) = experiment["results"]
    assert (experiment["experiment"], result["offered_msgs_per_s"]) == ("latency", 1000)
    assert result["level"]["level"] == 4
    assert len(result["subscriptions"]) == 2
    assert all(one["received"] == result["acked"] > 0 and one["lost"] == 0 for one in result["subscriptions"])
    sent = result["sending"]
    assert (sent["batch_bytes"], sent["batch_delay_ms"], sent["compression"]) == (131_072, 1, "none")
    assert sent["read_back"] is True
    assert sent["library"].startswith("kafka-clients 4.")
    kept = json.loads(trial_file(steady, result["spec"]["trial_id"]).with_name("settings.json").read_text())["client"]
    (linger,) = (one for one in kept if (one["scope"], one["name"]) == ("producer", "linger.ms"))
    assert (linger["is_default"], linger["default_value"]) == (False, "5"), "as the client's library defines it"


def test_a_forks_files_fill_and_read_a_topic_that_is_there(place: Place, driver: Path) -> None:
    text = driver.read_text()
    broker_names(text.partition("bootstrap.servers=")[2].split()[0], "orders")
    fork = place.write(text.replace("kafka.Kafka", "redpanda.Redpanda") + "reset: true\n", "redpanda.yaml")
    results = []
    for name, more in (("fills", {}), ("reads", {"consumerOnly": True})):
        workload = workload_file(place.root, name, topicNames="orders", **more)
        done = place.run("omb", str(workload), "--driver", str(fork), "--time-scale", "0.1", "--json")
        valid_unless_starved(done, place)
        (run,) = json.loads(done.stdout)["runs"]
        results.append(run["report"]["experiments"][0]["results"][0])
        assert len(run["omb_results"]) == (0 if more else 1), "OMB's fields are of messages that are sent"
    filled, read = results
    assert filled["spec"]["workload"]["existing_topics"] == ["orders"]
    assert read["spec"]["experiment"] == "read"
    assert all(one["received"] >= filled["acked"] > 0 for one in read["subscriptions"])


def test_the_json_has_the_same_figures_as_the_run(steady: dict[str, Any], place: Place) -> None:
    in_run, beside = map(Path, steady["omb_results"])
    assert beside.parent == place.root / "results"
    assert beside.name.startswith("steady-Kafka-one-copy-20")
    written = json.loads(beside.read_text())
    assert written == json.loads(in_run.read_text())
    (experiment,) = steady["report"]["experiments"]
    (result,) = experiment["results"]
    assert (written["workload"], written["driver"]) == ("steady rate", "Kafka-one-copy")
    assert len(written["publishRate"]) == 2
    assert written["publishRate"][0] == pytest.approx(1000, rel=0.2)
    assert written["consumeRate"][0] == pytest.approx(2000, rel=0.2)
    assert written["aggregatedPublishLatency99pct"] == pytest.approx(result["service"]["p99_ms"], rel=0.01)
    assert written["aggregatedPublishDelayLatencyAvg"] == pytest.approx(result["delay"]["mean_ms"] * 1000, rel=0.01)
    slowest = max(one["end_to_end"]["max_ms"] for one in result["subscriptions"])
    assert written["aggregatedEndToEndLatencyMax"] == pytest.approx(slowest, rel=0.01)


def test_the_run_keeps_the_files_and_tells_what_differs(steady: dict[str, Any], place: Place, driver: Path) -> None:
    run = Path(steady["report"]["run"]["path"])
    yaml = YAML(typ="safe")
    for kept, given in (("driver-driver.yaml", driver), ("workload-steady.yaml", place.root / "steady.yaml")):
        assert yaml.load(run / "omb" / kept) == yaml.load(given)
    notes = " ".join(steady["report"]["run"]["notes"])
    for word in ("enable.auto.commit", "level 4", "--time-scale", "publishLatency"):
        assert word in notes


@pytest.mark.slow
def test_a_dozen_workloads_run_one_after_the_other(place: Place, driver: Path) -> None:
    """What OMB's own files vary, each in a small form, and in a fiftieth of its time."""
    assert len(DOZEN) >= 12
    files = [str(OWN / f"{label}.yaml") for label in DOZEN]
    done = place.run("omb", *files, "--driver", str(driver), "--time-scale", "0.02", "--json", timeout_s=900)
    valid_unless_starved(done, place)
    runs = json.loads(done.stdout)["runs"]
    assert [Path(run["workload_file"]).stem for run in runs] == DOZEN
    for run in runs:
        (experiment,) = run["report"]["experiments"]
        assert experiment["experiment"] == EXPERIMENTS.get(Path(run["workload_file"]).stem, "latency")
        (result,) = experiment["results"]
        assert result["acked"] > 0
        assert all(one["lost"] == one["corrupt"] == 0 for one in result["subscriptions"]), run["workload_file"]
        written = json.loads(Path(run["omb_results"][0]).read_text())
        # A window of a second in which a busy machine acknowledged nothing is no defect; empty lists would be.
        assert written["publishRate"]
        assert len(written["consumeRate"]) == len(written["publishRate"])
        assert written["aggregatedPublishLatencyMax"] > 0
        assert written["aggregatedEndToEndLatencyQuantiles"]["100.0"] == written["aggregatedEndToEndLatencyMax"]


@pytest.mark.slow
def test_rate_0_is_searched_and_only_what_was_confirmed_is_in_the_json(place: Place, driver: Path) -> None:
    workload = str(OWN / f"{SEARCH}.yaml")
    done = place.run("omb", workload, "--driver", str(driver), "--time-scale", "0.15", "--json", timeout_s=1200)
    assert done.returncode in (0, 3), done.printed
    (run,) = json.loads(done.stdout)["runs"]
    (finding,) = run["report"]["findings"]
    (goal,) = finding["details"]["goals"]
    assert finding["experiment"] == "max-throughput"
    assert any("producerRate: 0 becomes `max-throughput`" in note for note in run["report"]["run"]["notes"])
    # At full speed on a busy machine a search may rightly stay open: then it says why, and exits with 3.
    assert goal["decided"] == (done.returncode == 0) == (not goal["problem"]), done.printed
    if goal["confirmation_trial_id"] is None:
        assert not goal["decided"]
        assert run["omb_results"] == []
        return
    written = json.loads(Path(run["omb_results"][0]).read_text())
    rate = goal["sustainable_msgs_per_s"]
    confirmed = json.loads(trial_file(run, goal["confirmation_trial_id"]).read_text())["result"]
    assert confirmed["offered_msgs_per_s"] == pytest.approx(rate, rel=0.01)
    # A window of seconds on a busy machine may acknowledge what an earlier second stalled: more than was offered in it.
    seconds = read_seconds(trial_file(run, goal["confirmation_trial_id"]).parent)
    acked = [second["acked_msgs"] * 1e9 / (second["until_mono_ns"] - second["from_mono_ns"]) for second in seconds]
    assert min(acked) <= sum(written["publishRate"]) / len(written["publishRate"]) <= max(acked)
    assert written["aggregatedPublishLatency99pct"] == pytest.approx(confirmed["service"]["p99_ms"], rel=0.01)


@pytest.mark.slow
def test_a_cluster_that_is_not_there_is_reported_and_the_next_driver_goes_on(place: Place, driver: Path) -> None:
    absent = place.write(DRIVER.format(address="127.0.0.1:9").replace("one-copy", "absent"), "absent.yaml")
    workload = workload_file(place.root, "both")
    done = place.run(
        *("omb", str(workload), "--driver", str(absent), "--driver", str(driver), "--time-scale", "0.05", "--json"),
    )
    assert done.returncode == 1
    first, second = json.loads(done.stdout)["runs"]
    assert first["omb_results"] == []
    assert "Kafka" in first["error"]["message"] or "kafka" in first["error"]["message"]
    assert second["omb_results"]


RABBITMQ = """\
name: secret-{name}
driverClass: io.openmessaging.benchmark.driver.rabbitmq.RabbitMqBenchmarkDriver
amqpUris: [{uri}]
queueType: QUORUM
messagePersistence: true
"""
NEEDLE = "hunter2canary"


@pytest.mark.slow
def test_no_password_of_a_driver_file_is_in_a_run(tmp_path: Path) -> None:
    place = Place(tmp_path, reports=True)
    uris = {
        "escaped": f'"amqp:\\/\\/bench:{NEEDLE}@127.0.0.1:1"',
        "at": f"amqp://bench:x@{NEEDLE}@127.0.0.1:1 # {NEEDLE}",
    }
    drivers = [place.write(RABBITMQ.format(name=name, uri=uri + "\n"), f"{name}.yaml") for name, uri in uris.items()]
    comment = f'client.id=x\n  #sasl.jaas.config=a.Module required username="u" password="{NEEDLE}";'
    commented = DRIVER.format(address=f"127.0.0.1:9\n  {comment}").replace("name:", f"# {NEEDLE}\nname:")
    drivers.append(place.write(commented, "commented.yaml"))
    workload = workload_file(place.root, "closed-port")
    done = place.run(
        *("omb", str(workload), "--time-scale", "0.05"),
        *(word for driver in drivers for word in ("--driver", str(driver))),
    )
    assert done.returncode == 1, done.printed
    assert NEEDLE not in done.printed
    runs = list(place.runs.iterdir())
    assert len(runs) == len(drivers)
    for run in runs:
        assert {"campaign.yaml", "omb", "report.html", "run.json"} <= {path.name for path in run.iterdir()}
    written = [path for top in (place.runs, place.state) for path in top.rglob("*") if path.is_file()]
    assert [path for path in written if NEEDLE.encode() in path.read_bytes()] == []
