"""Settings of servers are checked against the version's own files; those that move data or ports are refused."""

from __future__ import annotations

import struct
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.campaign.run.execute import _check_settings
from tidegauge.distribution.class_files import ClassField, fields_of
from tidegauge.errors import UserError
from tidegauge.systems import registry
from tidegauge.systems.kafka import settings as kafka
from tidegauge.systems.pulsar import settings as pulsar
from tidegauge.systems.rabbitmq import settings as rabbitmq
from tidegauge.systems.server_settings import ServerSettings


def class_file(fields: Mapping[str, str | None]) -> bytes:
    """A class with these fields: static ones with a constant text, others without."""
    pool: list[bytes] = []

    def add(entry: bytes, places: int = 1) -> int:
        pool.extend([entry] + [b""] * (places - 1))
        return len(pool) - places + 1

    def text(value: str) -> int:
        return add(struct.pack(">BH", 1, len(value.encode())) + value.encode())

    add(struct.pack(">Bq", 5, 7), places=2)  # A long takes two places.
    kind, attribute = text("Ljava/lang/String;"), text("ConstantValue")
    body = b""
    for name, constant in fields.items():
        if constant is None:
            body += struct.pack(">HHHH", 0x0002, text(name), kind, 0)
        else:
            string = add(struct.pack(">BH", 8, text(constant)))
            body += struct.pack(">HHHHHIH", 0x0018, text(name), kind, 1, attribute, 2, string)
    head = struct.pack(">IIH", 0xCAFEBABE, 61, len(pool) + 1) + b"".join(pool)
    return head + struct.pack(">HHHH", 0, 0, 0, 0) + struct.pack(">H", len(fields)) + body


def jar(path: Path, classes: Mapping[str, Mapping[str, str | None]]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, fields in classes.items():
            archive.writestr(name, class_file(fields))


def test_fields_of_a_class_are_read_without_java() -> None:
    assert fields_of(class_file({"ONE": "one.two", "three": None})) == [
        ClassField("ONE", True, "one.two"),
        ClassField("three", False, None),
    ]
    for broken in (b"", b"no class", class_file({"A": "a"})[:30]):
        with pytest.raises(ValueError, match="class file"):
            fields_of(broken)


def test_pulsars_settings_are_fields_of_its_own_classes(tmp_path: Path) -> None:
    jar(
        tmp_path / "pulsar-broker-common-4.2.4.jar",
        {"org/apache/pulsar/broker/ServiceConfiguration.class": {"numIOThreads": None, "CATEGORY": "Server"}},
    )
    jar(
        tmp_path / "bookkeeper-server-4.17.2.jar",
        {
            "org/apache/bookkeeper/conf/ServerConfiguration.class": {"SYNC": "journalSyncData"},
            "org/apache/bookkeeper/bookie/Other.class": {"A": "notASetting"},
        },
    )
    version = pulsar.server_settings(tmp_path)
    assert version is not None
    assert version.names == {"numIOThreads", "journalSyncData"}, "not any text that is in some class"
    assert version.has("bookkeeper_numIOThreads"), "passed on"
    assert pulsar.server_settings(tmp_path / "nothing") is None


def test_rabbitmqs_settings_are_mapped_by_schemas_of_what_is_started(tmp_path: Path) -> None:
    plugins = tmp_path / "plugins"
    for plugin, mapping in (("rabbit-4.3.6", "heartbeat"), ("rabbitmq_mqtt-4.3.6", "mqtt.prefetch")):
        schema = plugins / plugin / "priv/schema/a.schema"
        schema.parent.mkdir(parents=True)
        schema.write_text(f'%% x\n{{mapping, "{mapping}", "rabbit.a", []}}.\n{{mapping,\n "a.$name.b", "x", []}}.\n')
    with zipfile.ZipFile(plugins / "rabbitmq_management-4.3.6.ez", "w") as archive:
        inner = "rabbitmq_management-4.3.6/priv/schema/m.schema"
        archive.writestr(inner, '{mapping, "management.rates_mode", "x", []}.')
    version = rabbitmq.server_settings(tmp_path)
    assert version is not None
    assert all(map(version.has, ("heartbeat", "management.rates_mode", "a.guest.b")))
    assert not version.has("a.guest.x.b")
    assert not version.has("mqtt.prefetch"), "of a plugin that is not started"


PAGE = '<h4><a id="num.io.threads"></a><a id="brokerconfigs_num.io.threads" href="#brokerconfigs_num.io.threads">x</a>'


def test_kafkas_settings_are_those_of_its_own_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kafka.setting_names_on_page(PAGE) == ["num.io.threads"]
    monkeypatch.setenv("TIDEGAUGE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "jars").mkdir()
    jar(
        tmp_path / "jars/kafka-server-4.3.1.jar",
        {
            "org/apache/kafka/server/config/ServerConfigs.class": {"UNSTABLE_CONFIG": "unstable.api.enable"},
            "org/apache/kafka/group/GroupConfig.class": {"SESSION_CONFIG": "consumer.session.ms"},
        },
    )
    asked = []

    def listed(jars: Path) -> list[str]:
        asked.append(jars)
        return ["num.io.threads"]

    monkeypatch.setattr(kafka, "_list_setting_names", listed)
    for _ in range(2):
        version = kafka.server_settings.__wrapped__(tmp_path / "jars")
        assert all(map(version.has, ("num.io.threads", "unstable.api.enable", "listener.name.x.ssl.key.password")))
        assert not any(map(version.has, ("num.io.thread", "consumer.session.ms", "linger.ms")))
    assert len(asked) == 1, "kept for the same jars"


def complaint(directory: Path, system: str) -> str:
    path = directory / "c.yaml"
    path.write_text(f"name: c\nsystems:\n  - {system}\nexperiments: [peak]\n")
    with pytest.raises(UserError) as caught:
        parse_campaign(path, {}, sorted(registry.all_systems()))
    assert caught.value.exit_code == 2
    return caught.value.message


@pytest.mark.parametrize(
    ("system", "names"),
    [
        ("kafka", ["log.dirs", "log.dir", "metadata.log.dir", "listeners", "advertised.listeners", "broker.id"]),
        ("pulsar", ["journalDirectories", "journalDirectory", "ledgerDirectories", "bookiePort", "webServicePort"]),
        ("kafka", ["inter.broker.listener.name", "listener.security.protocol.map", "security.inter.broker.protocol"]),
        ("pulsar", ["bookieId"]),
        ("pulsar", ["narExtractionDirectory", "dbStorage_rocksDB_logPath", "statusFilePath"]),
        ("rabbitmq", ["log.dir", "raft.data_dir", "listeners.tcp.default", "management.tcp.port"]),
        ("rabbitmq", ["log.file", "log.connection.file", "management.http_log_dir", "http_dispatch.access_log_dir"]),
        ("rabbitmq", ["stream.advertised_port", "stream.replication.port_range.min"]),
    ],
)  # fmt: skip
def test_what_moves_data_or_ports_is_refused_with_the_reason(tmp_path: Path, system: str, names: list[str]) -> None:
    given = ", ".join(f"{name}: /data/foo" for name in names)
    message = complaint(tmp_path, f"{{name: {system}, settings: {{{given}}}}}")
    for name in names:
        assert f"c.yaml:3: systems[0].settings.{name}: can't be given: it decides" in message


@pytest.mark.parametrize("end", ["\\n", "\\r", "\\r\\n", "\\N", "\\L"])
def test_a_value_can_t_bring_a_setting_of_its_own_into_a_server_s_file(tmp_path: Path, end: str) -> None:
    message = complaint(tmp_path, f'{{name: rabbitmq, settings: {{heartbeat: "8{end}log.dir = /data/foo"}}}}')
    assert "c.yaml:3: systems[0].settings.heartbeat: must be one line" in message
    assert (
        complaint(tmp_path, f'{{name: kafka, settings: {{num.io.threads: "8{end}"}}}}').count("must be one line") == 1
    )


def known(monkeypatch: pytest.MonkeyPatch, settings: ServerSettings | None) -> Any:
    system = registry.system_named("kafka")
    monkeypatch.setattr(type(system), "server_settings", lambda _self, _version: settings)
    return system


def test_an_unknown_setting_is_refused_with_the_nearest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, ServerSettings(frozenset({"num.io.threads", "listeners"}), (r"listener\.name\..+",)))
    message = complaint(tmp_path, "{name: kafka, settings: {num.io.thread: 8}}")
    assert "settings.num.io.thread: Apache Kafka 4.3.1 has no such setting of its servers" in message
    assert "(did you mean 'num.io.threads'?)" in message


def test_thousands_that_there_are_not_are_refused_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To compare each with all that there are took a minute."""
    known(monkeypatch, ServerSettings(frozenset(f"managedLedgerSetting{number}OfBrokers" for number in range(700))))
    settings = ", ".join(f"managedLedger{number}: 1" for number in range(2300))
    began_s = time.process_time()
    message = complaint(tmp_path, f"{{name: kafka, settings: {{{settings}}}}}")
    assert time.process_time() - began_s < 8.0
    assert "settings.managedLedger0: Apache Kafka 4.3.1 has no such setting of its servers (did you mean" in message


def test_files_that_are_fetched_later_are_asked_before_servers_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("name: c\nsystems: [{name: kafka, settings: {num.io.thread: 8}}]\nexperiments: [peak]\n")
    system = known(monkeypatch, None)
    campaign = parse_campaign(path, {}, ["kafka"])
    ((_, choice),) = campaign.systems_at_points
    _check_settings(campaign, system, "4.3.1", choice)
    known(monkeypatch, ServerSettings(frozenset({"num.io.threads"})))
    with pytest.raises(UserError, match=r"num\.io\.thread: .*did you mean 'num\.io\.threads'"):
        _check_settings(campaign, system, "4.3.1", choice)
