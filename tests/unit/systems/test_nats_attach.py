"""NATS: clusters that others run, by a campaign, one line, or OMB's driver file; the figures of its servers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tidegauge.campaign.read.one_line import addresses_of
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.config.source import Source
from tidegauge.errors import UserError
from tidegauge.model.level import LevelChoice
from tidegauge.model.server import Setting
from tidegauge.omb.files import read_driver
from tidegauge.systems.attach import AttachChoice, SecretReference
from tidegauge.systems.attached import AttachRequest, connection_settings
from tidegauge.systems.metrics import Combine, Metric, MetricKind, figures_of_span, read_text
from tidegauge.systems.nats import RULES, attach
from tidegauge.systems.nats.deployment import METRICS
from tidegauge.systems.omb import DriverTerms

DRIVER = "io.openmessaging.benchmark.driver.nats.NatsBenchmarkDriver"


def attached(directory: Path, more: str) -> AttachChoice:
    path = directory / "campaign.yaml"
    path.write_text(
        f"name: a\nsystems:\n  - {{name: nats, attach: {{servers: 'tls://a:4222, tls://b:4222', {more}}}}}\n"
        "experiments: [peak]\n"
    )
    (system,) = parse_campaign(path, {}, ["nats"]).systems
    assert system.attach is not None
    return system.attach


def test_an_nkey_is_a_secret_of_its_own(tmp_path: Path) -> None:
    choice = attached(tmp_path, "monitoring-url: 'http://a:8222', auth: {method: nkey, token: {file: seed}}")
    assert choice.auth.method == "nkey"
    assert choice.auth.token == SecretReference("file", str(tmp_path / "seed"))
    settings = connection_settings(choice, RULES, {"token": "SUSEED"})
    assert settings["servers"] == "tls://a:4222,tls://b:4222"
    assert settings["monitoringUrl"] == "http://a:8222"
    assert (settings["auth.method"], settings["auth.token.path"]) == ("nkey", str(tmp_path / "seed"))
    assert "SUSEED" not in repr(settings)


@pytest.mark.parametrize(
    ("auth", "says"),
    [
        ("{method: nkey}", "'nkey' needs token, such as {file: PATH}"),
        ("{method: nkey, token: SUSEED}", "a token must not stand in a campaign"),
        ("{method: nkey, token: {env: S}, user: u}", "the method has no use for it"),
        ("{method: tls, token: {env: S}}", "the method has no use for it"),
        ("{method: nkye, token: {env: S}}", "(did you mean 'nkey'?)"),
    ],
)
def test_mistakes_in_logins_are_refused(tmp_path: Path, auth: str, says: str) -> None:
    with pytest.raises(UserError) as caught:
        attached(tmp_path, f"auth: {auth}")
    assert says in caught.value.message
    assert "SUSEED" not in caught.value.message


def test_one_line_names_the_servers_alone() -> None:
    assert addresses_of("nats://a", RULES) == {"servers": "nats://a:4222"}
    assert addresses_of("a:4333", RULES) == {"servers": "nats://a:4333"}


def test_monitoring_endpoints_are_looked_for_at_their_usual_port(tmp_path: Path) -> None:
    choice = attached(tmp_path, "label: here")
    assert attach(AttachRequest(choice, LevelChoice(3))).connection["monitoringUrl"] == "http://a:8222,http://b:8222"
    named = attached(tmp_path, "monitoring-url: 'https://c:1'")
    cluster = attach(AttachRequest(named, LevelChoice(3)))
    assert cluster.connection["monitoringUrl"] == "https://c:1"
    unread = Setting("cluster", "sync_interval", "unknown: no monitoring endpoint could be read (refused)")
    assert cluster.unread([unread, Setting("cluster", "version", "2.15.1")]) == [unread]


def omb(directory: Path, text: str, managed: bool = False) -> tuple[DriverTerms | None, Source]:
    path = directory / "nats.yaml"
    path.write_text(f"name: NATS\ndriverClass: {DRIVER}\n{text}\n")
    driver, source = read_driver(path, managed)
    return (driver.terms if driver else None), source


def test_ombs_driver_file(tmp_path: Path) -> None:
    terms, _ = omb(tmp_path, "natsHostUrl: localhost:4222\nreplicationFactor: 3")
    assert terms is not None
    assert terms.addresses == {"servers": "nats://localhost:4222", "monitoring-url": "http://localhost:8222"}
    assert (terms.level.level, terms.level.as_found, terms.nodes, terms.copies) == (2, True, 3, 3)
    managed, _ = omb(tmp_path, "natsHostUrl: nats://localhost", managed=True)
    assert managed is not None
    assert (managed.level.level, managed.level.as_found, managed.nodes) == (4, False, 1)
    for address, says in (("nats://u:hunter2@h", "holds a user"), ("http://h:1", "must be addresses such as")):
        terms, source = omb(tmp_path, f"natsHostUrl: {address}")
        assert terms is None
        (problem,) = source.problems
        assert says in problem.text
        assert "hunter2" not in problem.text


def varz(**numbers: object) -> str:
    return json.dumps({"server_name": "nats-1", "jetstream": {"stats": {"storage": 7}}, **numbers})


def test_figures_are_read_from_json() -> None:
    before = read_text(varz(mem=5, in_msgs=100, disk_io_wait_stats={"waits": 10, "wait_time": 1_000_000}), METRICS)
    after = read_text(varz(mem=6, in_msgs=300, disk_io_wait_stats={"waits": 20, "wait_time": 31_000_000}), METRICS)
    figures = figures_of_span(before, after, 10.0, METRICS)
    assert figures == {"resident_bytes": 6, "stored_bytes": 7, "received_msgs_per_s": 20, "disk_wait_ms": 3}
    metric = Metric("m", "", r"a\.\w+\.n", MetricKind.GAUGE, Combine.SUM)
    assert read_text('{"a": {"b": {"n": 1}, "c": {"n": 2}, "d": "x"}}', [metric]) == {"m": 3.0}
    with pytest.raises(ValueError, match="Expecting"):
        read_text("{", [metric])
