"""Ray on a host: its command, settings and token. That it starts and ends is shown in tests/integration."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import psutil
import pytest

from tidegauge.cli.main import run_command
from tidegauge.errors import UserError
from tidegauge.fleet import ray_node
from tidegauge.fleet.code import code_version
from tidegauge.fleet.ray_node import RayNode
from tidegauge.hosts import network

TOKEN = "0123456789abcdef" * 4


@pytest.fixture(autouse=True)
def own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "state"))
    return tmp_path


def test_the_head_and_a_joiner_have_fixed_ports_and_nothing_that_ray_would_choose() -> None:
    head = ray_node.ray_arguments(RayNode("10.0.0.1", "10.0.0.1:6379", "controller", "mark", "/tmp/x"))
    joiner = ray_node.ray_arguments(RayNode("10.0.0.2", "10.0.0.1:6379", "load", "mark", "/tmp/x"))
    assert {"--head", "--port=6379", "--include-dashboard=false"} <= set(head)
    assert [label.partition(",")[0] for label in head if label.startswith("--labels")] == ["--labels=role=controller"]
    assert {"--address=10.0.0.1:6379", "--node-ip-address=10.0.0.2"} <= set(joiner)
    assert [label.partition(",")[0] for label in joiner if label.startswith("--labels")] == ["--labels=role=load"]
    assert "--head" not in joiner
    assert all(any(part.endswith(f",tidegauge={code_version()}") for part in line) for line in (head, joiner))
    for line in (head, joiner):
        assert {"--block", "--num-cpus=0", "--min-worker-port=7100", "--max-worker-port=7199"} <= set(line)
        assert not any(TOKEN in part for part in line)
        # In a directory that only its user can enter: Ray lets everybody write to what it is given.
        assert "--temp-dir=/tmp/x/r" in line
    ports = ["6379", "7001 to 7007", "7100 to 7199", "7200 to 7999", "7201 to 7219/udp"]
    assert ray_node.ports_to_open(head=True) == ports
    assert "6379" not in ray_node.ports_to_open(head=False)
    settings = ray_node.ray_environment(RayNode("10.0.0.1", "10.0.0.1:6379", "controller", "mark", "/tmp/x"))
    assert not any("TLS" in name for name in settings)
    assert settings["RAY_AUTH_MODE"] == "token"
    assert settings["RAY_worker_niceness"] == settings["RAY_worker_oom_score_adjustment"] == "0"
    assert not any("health_check" in name for name in settings)


def test_a_process_that_is_just_ending_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ending:
        pid = os.getpid()

        def status(self) -> str:
            return psutil.STATUS_RUNNING

        def environ(self) -> dict[str, str]:
            return {}

        def cmdline(self) -> list[str]:
            return []

    monkeypatch.setattr(psutil, "process_iter", lambda: [Ending()])
    node = RayNode("10.0.0.1", "10.0.0.1:6379", "load", "mark", "/tmp/x", session=os.getsid(0))
    assert ray_node._processes_of_node(node) == []


def test_rays_own_tls_takes_a_directory_of_certificates(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"tls.crt can't be read there"):
        ray_node.check_tls(tmp_path)
    for name in ("tls.crt", "tls.key", "ca.crt"):
        (tmp_path / name).touch(mode=0o644)
    with pytest.raises(UserError, match=r"others on this host may read tls.key"):
        ray_node.check_tls(tmp_path)
    (tmp_path / "tls.key").chmod(0o600)
    node = RayNode("10.0.0.1", "10.0.0.1:6379", "load", "mark", "/tmp/x", tls=ray_node.check_tls(tmp_path))
    found = {name: value for name, value in ray_node.ray_environment(node).items() if "TLS" in name}
    assert found == {
        "RAY_USE_TLS": "1",
        "RAY_TLS_SERVER_CERT": f"{tmp_path}/tls.crt",
        "RAY_TLS_SERVER_KEY": f"{tmp_path}/tls.key",
        "RAY_TLS_CA_CERT": f"{tmp_path}/ca.crt",
    }


def test_a_token_is_made_once_and_only_its_user_may_read_it() -> None:
    path = ray_node.make_token()
    text = path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(text) == 64
    assert ray_node.make_token().read_text() == text


def test_a_copy_of_a_token_is_taken(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.write_text(TOKEN + "\n")
    copy.chmod(0o600)
    assert ray_node.take_token(copy).read_text() == TOKEN
    assert ray_node.take_token(ray_node.token_path()).read_text() == TOKEN


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [
        (TOKEN, 0o644, r"others on this host may read it \(mode 644\)"),
        ("short", 0o600, r"this is no token of a fleet: 5 characters, where 64 hexadecimal"),
        ("\u00e4", 0o600, "it can't be read: not plain text"),
    ],
)
def test_a_token_that_is_none_or_not_secret_is_refused(tmp_path: Path, text: str, mode: int, message: str) -> None:
    copy = tmp_path / "copy"
    copy.write_text(text)
    copy.chmod(mode)
    with pytest.raises(UserError, match=message):
        ray_node.take_token(copy)
    assert not ray_node.token_path().exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["status"], "Error: This host is in no fleet.\n  Begin one: tidegauge fleet head"),
        (["check"], "Error: This host is in no fleet."),
        (["join", "10.0.0.1"], "'10.0.0.1' must be the head's address and port, such as 10.77.0.1:6379."),
        (["join", "127.0.0.1:6379"], "'127.0.0.1:6379' is reached by no other host: name the head's address in"),
        (["join", "0.0.0.0:6379"], "'0.0.0.0:6379' is reached by no other host"),
        (["join", "1.2.3.4:\u00b2"], "'1.2.3.4:\u00b2' must be the head's address and port, such as 10.77.0.1:6379."),
        (["join", f"1.2.3.4:{'1' * 5000}"], "must be the head's address and port, such as 10.77.0.1:6379."),
        (["head", "--address", "10.0.0"], "--address 10.0.0: this is no IPv4 address."),
        (["head", "--address", "127.0.0.1"], "--address 127.0.0.1: no other host reaches it."),
        (
            ["head", "--address", "192.0.2.1"],
            "--address 192.0.2.1: this host has no such address; it has 198.51.100.7.",
        ),
        (
            ["join", "198.51.100.1:6379", "--address", "198.51.100.7"],
            "token: it can't be read: No such file or directory.",
        ),
        (
            ["head", "--role", "A"],
            "--role A: must begin with a letter and hold only lower-case letters, digits and '-', at most 31.",
        ),
    ],
)
def test_what_is_wrong_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: list[str], message: str
) -> None:
    monkeypatch.setattr(ray_node, "own_addresses", lambda: ["198.51.100.7"])
    assert run_command(["fleet", *line]) == 2
    assert message in capsys.readouterr().err


@pytest.fixture
def with_ray(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ray is here, and would fail."""
    (tmp_path / "ray").write_text("#!/bin/false\n")
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setattr(ray_node, "_HEAD_S_MAX", 0.6)


@pytest.mark.usefixtures("with_ray")
def test_a_head_that_is_not_there_is_named_at_once() -> None:
    with pytest.raises(UserError, match=r"No head of a fleet answers at 127\.0\.0\.9:9: nothing listens there"):
        ray_node.start_node("127.0.0.1", "127.0.0.9:9", "load")
    assert ray_node.end_node() == []


@pytest.mark.usefixtures("with_ray")
def test_a_port_of_rays_that_another_program_has_is_named_with_that_program(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.create_server(("127.0.0.1", 0)) as head:
        port = taken.getsockname()[1]
        monkeypatch.setattr(ray_node, "_PORTS", {"node-manager": port})
        message = rf"Ray can't listen on port {port} of this host: .* \(process {os.getpid()}\) has it"
        with pytest.raises(UserError, match=message):
            ray_node.start_node("127.0.0.2", f"127.0.0.1:{head.getsockname()[1]}", "load")
    assert ray_node.end_node() == []


def test_a_host_without_ray_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(UserError, match="Fleets need Ray") as raised:
        ray_node.start_node("10.0.0.1", "10.0.0.1:6379", "load")
    # Not by a name that anybody may register where pip looks.
    assert "make fleet" in raised.value.hint
    assert "pip install tidegauge" not in raised.value.hint.replace("'", "")
    assert ray_node.end_node() == []


def test_nothing_runs_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["fleet", "down"]) == 0
    assert capsys.readouterr().out == "Nothing ran here.\n"


def test_only_a_head_that_starts_hosts_has_rays_monitor_whose_figures_anybody_may_read(tmp_path: Path) -> None:
    head = RayNode("10.0.0.1", "10.0.0.1:6379", "controller", "mark", "/tmp/x")
    assert "--no-monitor" in ray_node.ray_arguments(head)
    assert "--no-monitor" not in ray_node.ray_arguments(head, tmp_path / "autoscaling.yaml")
    assert "--no-monitor" not in ray_node.ray_arguments(RayNode("10.0.0.2", "10.0.0.1:6379", "load", "mark", "/tmp/x"))


def test_rays_ports_are_reached_at_one_address_and_its_private_ones_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its monitor's 7008 answers without a token, also to hosts of the fleet."""
    made: list[str] = []
    monkeypatch.setattr(network.commands, "capability_refusal", lambda *_: "")
    monkeypatch.setattr(network, "apply_rules", made.append)
    assert network.restrict_ports("rays", "10.0.0.1", ray_node._GUARDED_PORTS, ray_node._PRIVATE_PORTS) == ""
    (rules,) = made
    lines = rules.splitlines()
    assert "tcp dport { 6379, 7001-7007, 7100-7199 } ip daddr != 10.0.0.1 drop" in lines
    assert lines.index('iifname "lo" accept') < lines.index("tcp dport { 7008, 7009 } drop")
