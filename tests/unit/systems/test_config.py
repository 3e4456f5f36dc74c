"""What is written for the servers, how systems are named, and what a bookie's answers mean."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tidegauge.errors import RunFailedError, StartFailedError, UserError
from tidegauge.model.level import LevelChoice
from tidegauge.model.server import Distribution, Setting
from tidegauge.systems import registry
from tidegauge.systems.api import DeployRequest
from tidegauge.systems.jvm import java_major, java_process, jvm_flags, properties_text
from tidegauge.systems.kafka import recipe as kafka_recipe
from tidegauge.systems.kafka.deployment import KafkaNode, cluster_id, server_properties
from tidegauge.systems.kafka.deployment import nodes_of as kafka_nodes
from tidegauge.systems.pulsar import JAR_PATTERN as PULSAR_JAR
from tidegauge.systems.pulsar import recipe as pulsar_recipe
from tidegauge.systems.pulsar.bookie import parse_config, parse_metrics
from tidegauge.systems.pulsar.cluster import plan_of as pulsar_plan
from tidegauge.systems.pulsar.config import Ports, standalone_conf
from tidegauge.systems.pulsar.deployment import _port_among_settings as pulsar_port
from tidegauge.systems.pulsar.deployment import deploy_standalone
from tidegauge.systems.pulsar.level import JOURNAL_ENTRIES, JOURNAL_SYNCS

STANDALONE = DeployRequest(
    Distribution("pulsar", "4.2.4", Path("/d"), None, "25", "", ""), 1, LevelChoice(3), Path("/t"), Path("/l"), 512, 512
)
PORTS = Ports(client=6650, admin=8080, bookie=3181, bookie_http=8000)


def java_request(java_version: str) -> DeployRequest:
    """Servers with another Java."""
    return replace(STANDALONE, distribution=replace(STANDALONE.distribution, java_version=java_version))


NODES = [KafkaNode(n, 9091 + n, 9191 + n, 9291 + n, (Path(f"/data/{n}"),)) for n in (1, 2, 3)]


class TestRegistry:
    def test_finds_the_folders(self) -> None:
        assert {"kafka", "pulsar", "null"} <= set(registry.all_systems())

    def test_unknown_names_the_nearest(self) -> None:
        with pytest.raises(UserError) as caught:
            registry.system_named("kafak")
        assert "did you mean 'kafka'" in caught.value.message
        assert "pulsar" in caught.value.hint
        assert "null" not in caught.value.hint

    @pytest.mark.parametrize(
        ("product", "spoken", "how"),
        [
            ("Redpanda", "kafka", ", with 'product: redpanda'"),
            ("msk", "kafka", ", with 'product: msk'"),
            ("streamnative", "pulsar", "; that has not been tried"),
        ],
    )
    def test_a_product_that_speaks_a_protocol_is_attached_as_its_system(
        self, product: str, spoken: str, how: str
    ) -> None:
        names = sorted(registry.all_systems())
        title = registry.system_named(spoken).title
        meant = f"(it speaks {title}'s protocol: attach a cluster of it as '{spoken}'{how})"
        assert registry.unknown_system_complaint(product, names) == (
            f"unknown system '{product}' {meant}; known: {', '.join(registry.system_names_for_users(names))}"
        )
        with pytest.raises(UserError, match="attach a cluster of it"):
            registry.system_named(product)

    def test_an_unknown_product_is_near_to_nothing(self) -> None:
        assert registry.unknown_system_complaint("zzz", ["kafka", "null"]) == "unknown system 'zzz'; known: kafka"


class TestKafkaConfig:
    def test_one_node_needs_one_copy(self) -> None:
        settings = server_properties(NODES[0], NODES[:1], {})
        factors = {value for name, value in settings.items() if name.endswith("replication.factor")}
        assert factors == {"1"}
        assert settings["controller.quorum.voters"] == "1@127.0.0.1:9192"

    def test_three_nodes(self) -> None:
        settings = server_properties(NODES[1], NODES, {})
        assert settings["node.id"] == "2"
        assert settings["controller.quorum.voters"].count("@") == 3
        assert settings["offsets.topic.replication.factor"] == "3"
        assert settings["min.insync.replicas"] == "2"

    def test_listens_on_loopback_only(self) -> None:
        settings = server_properties(NODES[0], NODES, {})
        for name in ("listeners", "advertised.listeners"):
            assert set(re.findall(r"//([^:]*):", settings[name])) == {"127.0.0.1"}

    def test_the_users_settings_win(self) -> None:
        settings = server_properties(NODES[0], NODES[:1], {"log.retention.ms": "5", "num.io.threads": "3"})
        assert settings["log.retention.ms"] == "5"
        assert settings["num.io.threads"] == "3"

    def test_cluster_id_never_looks_like_an_option(self) -> None:
        for number in (0, 2**127, (1 << 128) - 1):
            text = cluster_id(UUID(int=number))
            assert len(text) == 22
            assert not text.startswith("-")


class TestPulsarConfig:
    def test_listens_on_loopback_only(self) -> None:
        settings = standalone_conf(STANDALONE, PORTS)
        for name in ("bindAddress", "advertisedAddress", "httpServerHost"):
            assert settings[name] == "127.0.0.1"
        assert (settings["listeningInterface"], settings["allowLoopback"]) == ("lo", "true")

    @pytest.mark.parametrize(
        ("choice", "write", "sync"),
        [
            (LevelChoice(3), "true", "true"),
            (LevelChoice(4), "true", "false"),
            (LevelChoice(4, "journal"), "true", "false"),
            (LevelChoice(4, "bypass"), "false", "false"),
        ],
    )
    def test_journal_follows_the_level(self, choice: LevelChoice, write: str, sync: str) -> None:
        settings = standalone_conf(replace(STANDALONE, choice=choice), PORTS)
        assert (settings["journalWriteData"], settings["journalSyncData"]) == (write, sync)
        assert settings["managedLedgerDefaultAckQuorum"] == "1"
        assert settings["managedLedgerNewEntriesCheckDelayInMillis"] == "0"

    def test_caches_fit_the_smaller_memory(self) -> None:
        for heap_mb, direct_mb, cache_mb in ((512, 4096, "64"), (4096, 256, "32"), (64, 64, "16")):
            settings = standalone_conf(replace(STANDALONE, heap_mb=heap_mb, direct_memory_mb=direct_mb), PORTS)
            assert settings["dbStorage_writeCacheMaxSizeMb"] == cache_mb

    def test_the_users_settings_win(self) -> None:
        settings = standalone_conf(replace(STANDALONE, settings={"journalSyncData": "false"}), PORTS)
        assert settings["journalSyncData"] == "false"


class TestBookie:
    def test_config(self) -> None:
        text = (
            '{"journalSyncData" : "true", "bookiePort" : "3181", "brokerServicePort" : "6650", '
            '"metadata-store-instance" : "org.example.Store@5bb3131b"}'
        )
        assert parse_config(1, text) == [
            Setting("bookie 1", "bookiePort", "3181"),
            Setting("bookie 1", "journalSyncData", "true"),
        ]

    @pytest.mark.parametrize("text", ["", "<html>", "[1, 2]", "null"])
    def test_no_config_is_an_error(self, text: str) -> None:
        with pytest.raises(RunFailedError, match="could not be read back"):
            parse_config(1, text)

    def test_metrics_of_all_journals_are_summed(self) -> None:
        text = (
            'bookie_journal_journalIndex_0_JOURNAL_ADD_ENTRY_count{cluster="pulsar", success="false"} 7\n'
            'bookie_journal_journalIndex_0_JOURNAL_ADD_ENTRY_count{cluster="pulsar", success="true"} 100\n'
            'bookie_journal_journalIndex_1_JOURNAL_ADD_ENTRY_count{cluster="pulsar", success="true"} 23\n'
            'bookie_journal_journalIndex_0_JOURNAL_SYNC_count{cluster="pulsar", success="true"} 32\n'
            'bookie_journal_journalIndex_0_JOURNAL_SYNC{cluster="pulsar", success="true", quantile="0.5"} 1.0\n'
        )
        found = {s.name: s.value for s in parse_metrics(1, text)}
        assert found == {JOURNAL_ENTRIES: "123", JOURNAL_SYNCS: "32"}
        assert parse_metrics(1, "") == []


class TestJvm:
    def test_memory_and_collector(self) -> None:
        flags = jvm_flags(java_request("17.0.15"), 512, 256, Path("/data"))
        assert {"-Xms512m", "-Xmx512m", "-XX:MaxDirectMemorySize=256m", "-XX:+UseG1GC"} <= set(flags)
        assert not any("sun-misc-unsafe" in flag for flag in flags)
        assert any("sun-misc-unsafe" in flag for flag in jvm_flags(java_request("25"), 512, 256, Path("/data")))

    def test_another_collector_goes_without_the_flags_of_the_usual_one(self) -> None:
        request = replace(java_request("25"), jvm={"UseZGC": "true", "ConcGCThreads": "2"})
        flags = jvm_flags(request, 512, 256, Path("/data"))
        assert flags[-2:] == ("-XX:+UseZGC", "-XX:ConcGCThreads=2")
        assert not {"-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"} & {*flags}
        usual = jvm_flags(replace(request, jvm={"MaxGCPauseMillis": "50"}), 512, 256, Path("/data"))
        assert {"-XX:+UseG1GC", "-XX:MaxGCPauseMillis=50"} <= {*usual}
        assert "-XX:MaxGCPauseMillis=20" not in usual

    @pytest.mark.parametrize(("version", "major"), [("17.0.15", 17), ("25", 25), ("21-ea", 21), ("25+36", 25)])
    def test_major(self, version: str, major: int) -> None:
        assert java_major(version) == major

    def test_nothing_is_inherited(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xmx1m")
        spec = java_process("x", Path("/jvm"), ["-version"], cwd=Path("/"), log_path=Path("/log"))
        assert "JAVA_TOOL_OPTIONS" not in spec.env
        assert spec.argv == (
            "/jvm/bin/java",
            "-Xlog:async",
            '-Xlog:gc:file="/log-gc.log":uptime,tags:filecount=1,filesize=8m',
            "-version",
        )
        assert spec.gc_log_path == "/log-gc.log"

    def test_pauses_of_zgc_are_logged_as_phases(self) -> None:
        spec = java_process("x", Path("/jvm"), ["-XX:+UseZGC"], cwd=Path("/"), log_path=Path("/log"))
        assert spec.argv[2].startswith("-Xlog:gc,gc+phases:file=")

    def test_a_tool_has_no_log_of_its_collector(self) -> None:
        spec = java_process("x", Path("/jvm"), ["-version"], cwd=Path("/"), log_path=Path("/log"), follow_gc=False)
        assert (spec.argv, spec.gc_log_path) == (("/jvm/bin/java", "-version"), "")
        with pytest.raises(StartFailedError):
            java_process("x", None, [], cwd=Path("/"), log_path=Path("/log"))


class TestFiles:
    def test_properties(self) -> None:
        assert properties_text({"b": "2", "a": "x\\y\nz"}) == "a=x\\\\y\\nz\nb=2\n"


class TestRecipes:
    def test_java_limits(self) -> None:
        assert kafka_recipe("4.3.1").java_max is None
        assert kafka_recipe("3.7.0").java_max == 21
        assert kafka_recipe("weird").java_max is None
        assert pulsar_recipe("4.2.4").java_max is None
        assert pulsar_recipe("3.3.2").java_max == 21

    def test_one_logging_back_end(self) -> None:
        assert "ch.qos.reload4j:*" in kafka_recipe("3.9.2").exclusions
        assert any(c.artifact == "slf4j-simple" for c in kafka_recipe("3.9.2").extra)

    @pytest.mark.parametrize("jar", ["pulsar-broker-4.2.4.jar", "org.apache.pulsar-pulsar-broker-4.0.8.jar"])
    def test_pulsar_says_its_version(self, jar: str) -> None:
        match = re.fullmatch(PULSAR_JAR, jar)
        assert match is not None
        assert match.group(1) in ("4.2.4", "4.0.8")
        assert re.fullmatch(PULSAR_JAR, "pulsar-broker-common-4.2.4.jar") is None


def test_null_passes_its_settings_on(tmp_path: Path) -> None:
    system = registry.system_named("null")
    distribution = system.provision("1", lambda _: None)
    request = DeployRequest(distribution, 1, LevelChoice(4), tmp_path, tmp_path, 1, 1, {"delay.ms": "2"})
    deployment = system.deploy(request, None)  # type: ignore[arg-type]
    assert deployment.connection == {"delay.ms": "2"}
    assert deployment.processes == ()
    with pytest.raises(UserError, match="can't give level 3"):
        system.deploy(DeployRequest(distribution, 1, LevelChoice(3), tmp_path, tmp_path, 1, 1), None)  # type: ignore[arg-type]


@pytest.mark.parametrize("port", ["x", "0", "-1", "65536", "80.5", "\u00b2", ""])
def test_a_port_of_the_bookie_that_is_none_is_a_user_error(port: str) -> None:
    with pytest.raises(UserError, match="httpServerPort") as caught:
        pulsar_port({"httpServerPort": port}, "httpServerPort")
    assert "65535" in caught.value.hint
    assert pulsar_port({"httpServerPort": "8080"}, "httpServerPort") == 8080


def test_pulsar_is_not_started_with_a_port_that_is_none(tmp_path: Path) -> None:
    class Host:
        def free_ports(self, count: int) -> list[int]:
            return list(range(1, count + 1))

    distribution = Distribution("pulsar", "4.2.4", tmp_path, None, "25", "", "")
    settings = {"httpServerPort": "x"}
    request = DeployRequest(distribution, 1, LevelChoice(3), tmp_path / "data", tmp_path / "logs", 512, 512, settings)
    host: Any = Host()
    with pytest.raises(UserError, match="'x' is no port"):
        deploy_standalone(request, host)


def test_pulsar_standalone_keeps_journal_and_ledgers_together(tmp_path: Path) -> None:
    distribution = Distribution("pulsar", "4.2.4", tmp_path, None, "25", "", "")
    directories = (tmp_path / "data", tmp_path / "logs")
    request = DeployRequest(
        distribution, 1, LevelChoice(3), *directories, 512, 512, journal_disks=(tmp_path / "journals",)
    )
    host: Any = None
    with pytest.raises(UserError, match="journal and ledgers can't be on different disks"):
        deploy_standalone(request, host)


class _Ports:
    def free_ports(self, count: int) -> list[int]:
        return list(range(9000, 9000 + count))


def _with_disks(name: str, disks: int, journals: int = 0) -> DeployRequest:
    distribution = Distribution(name, "1.0.0", Path("/d"), None, "25", "", "")
    return DeployRequest(
        distribution,
        3,
        LevelChoice(1),
        Path("/t"),
        Path("/l"),
        512,
        512,
        disks=tuple(Path(f"/{number}") for number in range(1, disks + 1)),
        journal_disks=tuple(Path(f"/j{number}") for number in range(1, journals + 1)),
    )


@pytest.mark.parametrize(
    ("disks", "log_dirs"),
    [
        (0, "/t/kafka-2"),
        (2, "/2/kafka-2"),
        (3, "/2/kafka-2"),
        (5, "/2/kafka-2,/5/kafka-2"),
        (6, "/2/kafka-2,/5/kafka-2"),
    ],
)
def test_kafkas_logs_are_on_every_disk_of_a_node(disks: int, log_dirs: str) -> None:
    nodes = kafka_nodes(_with_disks("kafka", disks), range(9000, 9009))
    assert server_properties(nodes[1], nodes, {})["log.dirs"] == log_dirs


@pytest.mark.parametrize(
    ("disks", "journals", "journal", "ledgers"),
    [
        (0, 0, "/t/pulsar-2/journal", ["/t/pulsar-2/ledgers"]),
        (3, 0, "/2/pulsar-2/journal", ["/2/pulsar-2/ledgers"]),
        (6, 0, "/5/pulsar-2/journal", ["/2/pulsar-2/ledgers"]),
        (9, 0, "/8/pulsar-2/journal", ["/2/pulsar-2/ledgers", "/5/pulsar-2/ledgers"]),
        (6, 3, "/j2/pulsar-2/journal", ["/2/pulsar-2/ledgers", "/5/pulsar-2/ledgers"]),
    ],
)
def test_pulsars_journal_is_apart_where_a_node_has_several_disks(
    disks: int, journals: int, journal: str, ledgers: list[str]
) -> None:
    host: Any = _Ports()
    bookie = pulsar_plan(_with_disks("pulsar", disks, journals), host).bookies[1]
    assert str(bookie.journal_directory) == journal
    assert list(map(str, bookie.ledger_directories)) == ledgers
