"""Hosts joined over ssh, in whose place a program runs what is asked on this one, each with a home of its own."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tidegauge.cli.main import run_command
from tidegauge.errors import RunFailedError, UserError
from tidegauge.fleet import by_ssh, ray_node
from tidegauge.fleet.by_ssh import SshFleet, SshHost, fleet_text, read_hosts
from tidegauge.fleet.file import read_fleet_file
from tidegauge.fleet.ray_node import RayNode

SSH = """#!/bin/sh
# As ssh: options, the destination, and the command.
while [ "${1#-}" != "$1" ]; do shift 2; done
case "$1" in *away*) echo "ssh: connect to host $1 port 22: No route to host" >&2; exit 255;; esac
export HOME="$HOMES/$1"; mkdir -p "$HOME"; shift; exec sh -c "$*"
"""
PROGRAM = """#!/bin/sh
echo "$@" >> "$HOME/called"
case "$HOME $*" in *broken*join*) echo "Error: Ray can't listen on port 7002 of this host." >&2; exit 2;; esac
"""


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, text in (("ssh", SSH), ("tidegauge", PROGRAM)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("HOMES", str(tmp_path / "homes"))
    monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "state"))
    node = RayNode("10.77.0.1", "10.77.0.1:6379", "controller", "mark", "/tmp/x")
    monkeypatch.setattr(ray_node, "running_node", lambda: node)
    monkeypatch.setattr(ray_node, "end_node", list)
    ray_node.make_token()
    return str(tmp_path / "ssh")


def called(tmp_path: Path, host: str) -> list[str]:
    return (tmp_path / "homes" / host / "called").read_text().splitlines()


def test_hosts_join_and_leave_over_ssh(tmp_path: Path, ssh: str, capsys: pytest.CaptureFixture[str]) -> None:
    hosts = tmp_path / "hosts.txt"
    hosts.write_text("# Ours.\nubuntu@a server\nubuntu@b  server # with a comment\n\nc load\n")
    arguments = ["--ssh", f"{ssh} -p 2222", "--program", str(tmp_path / "tidegauge")]
    assert run_command(["fleet", "up", str(hosts), *arguments]) == 0
    out = capsys.readouterr().out
    assert f"3 of 3 hosts joined 10.77.0.1:6379.\n  tidegauge fleet check {tmp_path / 'hosts.yaml'}\n" in out
    for host, role in (("ubuntu@a", "server"), ("ubuntu@b", "server"), ("c", "load")):
        token = tmp_path / "homes" / host / ".local/share/tidegauge-fleet/token"
        assert called(tmp_path, host) == ["fleet down", f"fleet join 10.77.0.1:6379 --token {token} --role {role}"]
        assert token.read_text() == ray_node.token_path().read_text()
        assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert read_fleet_file(tmp_path / "hosts.yaml").hosts_of_role == {"server": 2, "load": 1}
    assert run_command(["fleet", "down", "--all"]) == 0
    assert called(tmp_path, "c")[-1] == "fleet down"
    capsys.readouterr()
    assert run_command(["fleet", "down", "--all"]) == 2
    assert "No hosts are known here." in capsys.readouterr().err


def test_what_goes_wrong_on_a_host_is_said_with_its_name_and_the_others_join(
    tmp_path: Path, ssh: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = tmp_path / "hosts.txt"
    hosts.write_text("good server\naway server\nbroken load\n")
    arguments = ["--ssh", ssh, "--program", str(tmp_path / "tidegauge")]
    assert run_command(["fleet", "up", str(hosts), *arguments, "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["joined"] == 1
    assert said["problems"] == [
        "away (ssh has no access): ssh: connect to host away port 22: No route to host",
        "broken: Error: Ray can't listen on port 7002 of this host.",
    ]
    # Who could not be asked is asked again.
    assert run_command(["fleet", "down", "--all"]) == 1
    assert by_ssh.kept_ssh_fleet() is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "names no host"),
        ("10.77.0.2\n", ':1: "10.77.0.2": a host and its role are wanted'),
        ("a server\na load\n", ":2: a is there twice"),
        ("-oProxyCommand=x server\n", ':1: "-oProxyCommand=x server": a host and its role are wanted'),
        ("a Server\n", ':1: "a Server": a host and its role are wanted'),
    ],
)
def test_a_list_that_can_not_be_meant_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "hosts.txt"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        read_hosts(path)
    assert message in caught.value.message


def test_another_tidegauge_than_this_is_not_left_on_a_host(tmp_path: Path, ssh: str) -> None:
    host = SshHost("a", "server")
    fleet = SshFleet((host,), (ssh,))
    with pytest.raises(UserError, match="There is no wheel"):
        fleet.install(host, None)
    place = tmp_path / "homes/a/.local/share/tidegauge-fleet/venv/bin"
    place.mkdir(parents=True)
    (place / "python").write_text("#!/bin/sh\necho 0.1.0-other\n")
    (place / "pip").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/pip\n')
    for each in place.iterdir():
        each.chmod(0o755)
    wheel = tmp_path / "tidegauge-0.1.0-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    # The environment is made by a python3 that does nothing.
    (tmp_path / "python3").symlink_to("/bin/true")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        with pytest.raises(RunFailedError, match=r"a has 0\.1\.0-other now and this host") as caught:
            fleet.install(host, wheel)
    assert caught.value.hint == "Build the wheel of this one: make wheel"
    assert "tidegauge-0.1.0-py3-none-any.whl[fleet]" in (tmp_path / "pip").read_text()
    assert fleet_text(fleet) == (
        "# Made by tidegauge fleet up.\nlauncher: ray\nroles:\n  servers: {label: {role: server}, count: 1}\n"
    )
