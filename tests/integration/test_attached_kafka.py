"""A Kafka that somebody else started: measured by campaign, and its topics are gone afterwards, whatever happens."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from command import PATIENCE_S, Place, valid_unless_starved, wait_for, wait_until_measuring
from deployments import Ready, ready
from kafka_names import alter_topics, broker_names

from tidegauge.model.level import LevelChoice

pytestmark = pytest.mark.integration

USERS_TOPIC = "bench.orders"
SECRET = "hunter2-hunter2"
CAMPAIGN = """
name: borrowed
systems:
  - name: kafka
    attach: {{bootstrap-servers: "{servers}", topic-prefix: bench.}}
durability: {level}
workload: {{message-size: 200B, partitions: 2}}
experiments:
  - {{name: latency, rate: 500, warm-up-min: 1s, warm-up-max: 2s, measure: {measure}, drain-max: 8s}}
"""


@dataclass
class Cluster:
    """Somebody's Kafka, with a topic of theirs that begins like those of a run."""

    kafka: Ready

    @property
    def servers(self) -> str:
        return self.kafka.deployment.connection["bootstrap.servers"]

    def topics(self) -> set[str]:
        return {name for kind, name in broker_names(self.servers) if kind == "topic"}

    def campaign(self, place: Place, level: int = 3, measure: str = "3s") -> str:
        return str(place.write(CAMPAIGN.format(servers=self.servers, level=level, measure=measure)))

    def untouched(self) -> bool:
        """Whether only the user's own topic is there, and no group of a run."""
        mine = [(kind, name) for kind, name in broker_names(self.servers) if name.startswith("bench.")]
        return mine == [("topic", USERS_TOPIC)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with ready("kafka", LevelChoice(3), tmp_path_factory.mktemp("kafka")) as kafka:
        found = Cluster(kafka)
        broker_names(found.servers, USERS_TOPIC)
        yield found


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    for line in place.strays():
        os.kill(int(line.split()[0]), signal.SIGKILL)


def records(place: Place) -> list[Path]:
    return list((place.state / "attached").glob("*.json"))


@pytest.mark.slow
def test_a_campaign_measures_it_and_leaves_nothing_there(cluster: Cluster, place: Place) -> None:
    done = place.run("run", cluster.campaign(place))
    valid_unless_starved(done, place)
    shown = " ".join(place.run("show", "last").stdout.split())
    # It is on this host, so it is found by whom the clients talk to.
    assert "Servers that others run were on it, too." in shown
    assert "The servers' CPU is not known" not in shown
    assert "level 3 for kafka@attached, as asked, read back from the running servers" in shown
    (result,) = (json.loads(path.read_text())["result"] for path in place.only_run().glob("trials/*/result.json"))
    (account,) = result["accounts"]
    assert result["server_cpu_s"] == pytest.approx(account["servers"] * result["measured_s"], rel=0.05)
    assert result["server_cpu_s"] > 0
    assert result["spec"]["nodes"] == 1
    (settings,) = (json.loads(path.read_text()) for path in place.only_run().glob("trials/*/settings.json"))
    (topic,) = {one["scope"] for one in settings["server"] if one["scope"].startswith("topic ")}
    assert topic.startswith("topic bench.")
    assert cluster.untouched()
    assert records(place) == []
    assert place.left_behind() == []


def test_one_line_measures_it_at_the_level_that_it_has(cluster: Cluster, place: Place) -> None:
    short = [word for pair in ("warm-up-min=1s", "warm-up-max=2s", "drain-max=8s") for word in ("--set", pair)]
    done = place.run(
        "bench", "kafka", cluster.servers, "--rate", "300", "--duration", "3s", *short,
        "--set", "producer.linger.ms=5", "--markdown", str(place.root / "bench.md"),
    )  # fmt: skip
    valid_unless_starved(done, place)
    assert "level 4 for kafka@attached, as found" in " ".join(done.stdout.split())
    assert "Durability: level 4 for kafka@attached, as found" in (place.root / "bench.md").read_text()
    run = place.only_run()
    (result,) = (json.loads(path.read_text())["result"] for path in run.glob("trials/*/result.json"))
    assert result["spec"]["choice"] == {"level": 0, "form": "", "as_found": True}
    (settings,) = (json.loads(path.read_text()) for path in run.glob("trials/*/settings.json"))
    of_topic = {one["name"]: one for one in settings["server"] if one["scope"].startswith("topic ")}
    # What the brokers give any topic, and nothing of ours.
    assert all(of_topic[name]["is_default"] for name in ("flush.messages", "max.message.bytes"))
    assert {"linger.ms": "5", "acks": "-1"}.items() <= {
        one["name"]: one["value"] for one in settings["client"] if one["scope"] == "producer"
    }.items()
    assert not any(name.startswith("tidegauge-") for name in cluster.topics())
    assert records(place) == place.left_behind() == []
    # The run keeps the campaign that does the same.
    again = place.run("run", str(run / "campaign.yaml"), "--dry-run")
    assert again.returncode == 0, again.printed
    assert "as found" in again.stdout


@pytest.mark.slow
def test_a_level_that_it_can_not_have_is_refused_before_there_is_a_run(cluster: Cluster, place: Place) -> None:
    campaign = cluster.campaign(place, level=1)
    for options in ((), ("--dry-run",)):
        done = place.run("run", campaign, *options)
        assert done.returncode == 2
        assert "durability: kafka@attached can't have it: level 1 was asked for" in done.stderr
        assert "one node: there is no second copy" in done.stderr
    assert not list(place.runs.glob("*"))
    assert cluster.untouched()


@pytest.mark.slow
def test_a_setting_that_somebody_changes_meanwhile_is_named(cluster: Cluster, place: Place) -> None:
    process = place.start("run", cluster.campaign(place, measure="40s"))
    wait_until_measuring(place, process)
    (topic,) = alter_topics(cluster.servers, "bench.", USERS_TOPIC, "flush.messages", "1000")
    process.finish()
    (path,) = place.only_run().glob("trials/*/result.json")
    result = json.loads(path.read_text())["result"]
    assert result["validity"] != "valid"
    shown = " ".join(place.run("show", "last").stdout.split())
    assert f"settings changed while it was measured: topic {topic}: flush.messages was 1, is 1000" in shown
    assert "(level 3 until then, level 4 after)" in shown
    assert cluster.untouched()


@pytest.mark.slow
def test_an_interrupted_run_deletes_its_topics(cluster: Cluster, place: Place) -> None:
    process = place.start("run", cluster.campaign(place, measure="60s"))
    wait_until_measuring(place, process)
    assert not cluster.untouched()
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    assert cluster.untouched()
    assert records(place) == []


@pytest.mark.slow
def test_a_killed_worker_is_replaced_to_delete_its_topics(cluster: Cluster, place: Place) -> None:
    process = place.start("run", cluster.campaign(place, measure="60s"))
    wait_until_measuring(place, process)
    os.kill(place.held()["worker"], signal.SIGKILL)
    out, err = process.communicate()
    assert process.returncode == 1, out + err
    assert "Deleted 2 topics of the run" in " ".join((out + err).split())
    assert cluster.untouched()


@pytest.mark.slow
def test_after_kill_9_clean_deletes_the_topics(cluster: Cluster, place: Place) -> None:
    process = place.start("run", cluster.campaign(place, measure="60s"))
    wait_until_measuring(place, process)
    process.kill()
    process.communicate()
    (record,) = records(place)
    left = set(json.loads(record.read_text())["topics"]) & cluster.topics()
    assert left
    wait_for(lambda: not place.strays(), PATIENCE_S, "the end of the worker")
    cleaned = place.run("clean")
    assert cleaned.returncode == 0, cleaned.stdout
    assert f"on kafka@attached ({cluster.servers})" in " ".join(cleaned.stdout.split())
    assert cluster.untouched()
    assert records(place) == []
    assert "Nothing was left behind" in place.run("clean").stdout


# In `make test`: test_unreachable_clusters.py, by `bench`.
@pytest.mark.slow
@pytest.mark.often
def test_a_cluster_that_does_not_answer_is_reported_and_makes_no_topic(place: Place) -> None:
    campaign = place.write(CAMPAIGN.format(servers="127.0.0.1:1", level=3, measure="3s"))
    done = place.run("run", str(campaign))
    assert done.returncode == 1
    assert "No Kafka broker reachable at 127.0.0.1:1" in done.stderr
    assert "Traceback" not in done.stderr
    assert records(place) == []


@pytest.mark.parametrize("by_option", [pytest.param(False, marks=[pytest.mark.slow, pytest.mark.often]), True])
def test_settings_that_only_the_client_can_judge_are_to_be_changed(
    cluster: Cluster, place: Place, by_option: bool
) -> None:
    settings = {"enable.idempotence": "true", "acks": "1"}
    if by_option:
        given = [word for name, value in settings.items() for word in ("--set", f"producer.{name}={value}")]
        done = place.run("bench", "kafka", cluster.servers, "--rate", "300", "--duration", "3s", *given)
        wheres = {name: f"--set producer.{name}={value}" for name, value in settings.items()}
    else:
        text = CAMPAIGN.format(servers=cluster.servers, level="as-found", measure="3s")
        lines = "".join(f"      {name}: {value}\n" for name, value in settings.items())
        campaign = place.write(text.replace("durability:", f"    producer:\n{lines}durability:"))
        done = place.run("run", str(campaign), "--repeat", "2")
        wheres = {name: f"{campaign}:{number}" for number, name in enumerate(settings, 7)}
    said = " ".join(done.stderr.split())
    assert done.returncode == 2
    assert "Must set acks to all in order to use the idempotent producer." in said
    for name, value in settings.items():
        assert f"{name} '{value}' ({wheres[name]})" in said
    shown = " ".join(done.stdout.split())
    assert "Change what the client refuses, and start it again" in shown
    assert "--resume" not in shown + said
    assert shown.count("Must set acks") <= 1
    assert cluster.untouched()


# In `make test`: one line above, and tests/unit/campaign/test_client_properties.py for what the file says.
@pytest.mark.slow
@pytest.mark.often
def test_the_file_of_kafkas_own_tools_suffices(cluster: Cluster, place: Place) -> None:
    file = place.root / "client.properties"
    file.write_text(f"bootstrap.servers={cluster.servers}\nlinger.ms=7\nkey.serializer=X\nacks=1\n")
    short = [word for pair in ("warm-up-min=1s", "warm-up-max=2s", "drain-max=8s") for word in ("--set", pair)]
    line = ["bench", "kafka", "--client-properties", str(file), "--rate", "300", "--duration", "3s", *short]
    done = place.run(*line)
    valid_unless_starved(done, place)
    (settings,) = (json.loads(path.read_text()) for path in place.only_run().glob("trials/*/settings.json"))
    values = {one["name"]: one["value"] for one in settings["client"] if one["scope"] == "producer"}
    assert (values["linger.ms"], values["acks"]) == ("7", "1")
    assert any(f"{file}:3: key.serializer has no effect" in note for note in notes_of(place))


def notes_of(place: Place) -> list[str]:
    notes: list[str] = json.loads((place.only_run() / "run.json").read_text())["notes"]
    return notes


def test_a_secret_is_nowhere(cluster: Cluster, place: Place) -> None:
    """The broker asks for no password, so the run fails; whatever it wrote or said must not hold the secret."""
    (place.root / "password").write_text(f"{SECRET}\n")
    auth = "auth: {method: plain, user: bench, password: {file: password}}"
    text = CAMPAIGN.format(servers=cluster.servers, level=3, measure="3s").replace(
        "topic-prefix", f"{auth}, topic-prefix"
    )
    done = place.run("run", str(place.write(text)), "--json")
    assert done.returncode == 1
    written = [path for path in place.root.rglob("*") if path.is_file() and path.name != "password"]
    assert len(written) > 5
    assert [path for path in written if SECRET.encode() in path.read_bytes()] == []
    assert SECRET not in done.stdout + done.stderr
    (place.root / "password").unlink()
    missing = place.run("run", str(place.root / "campaign.yaml"))
    assert missing.returncode == 2
    assert "kafka@attached: attach.auth.password: the file" in missing.stderr
    assert place.only_run()
