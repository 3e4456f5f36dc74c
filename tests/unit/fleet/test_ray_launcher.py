"""What waits for Ray is given up when the part of Ray's that it depends on goes silent. Ray itself takes no part."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tidegauge.errors import RunFailedError
from tidegauge.fleet import ray_launcher
from tidegauge.fleet.code import code_version
from tidegauge.fleet.ray_launcher import RayLauncher, RayRemote, _Part, _run_watching_parts
from tidegauge.model.host import FleetHost

HOST = FleetHost("127.0.0.1", "server", "identifier")


@pytest.fixture
def part() -> Iterator[tuple[socket.socket, _Part]]:
    """One that answers until its socket is closed."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server, _Part(f"127.0.0.1:{server.getsockname()[1]}", "It gives no answer any more.", "Look at it.")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_launcher, "_SILENT_S_MAX", 0.3)
    monkeypatch.setattr(ray_launcher, "_LOOK_S", 0.1)


def waits_for_ever(*_: object) -> None:
    threading.Event().wait()


def test_what_waits_for_a_silent_part_is_given_up(part: tuple[socket.socket, _Part]) -> None:
    part[0].close()
    with pytest.raises(RunFailedError, match=r"^It gives no answer any more\."):
        _run_watching_parts(waits_for_ever, part[1])


def test_one_silent_part_of_several_is_enough(part: tuple[socket.socket, _Part]) -> None:
    answering, heard = part
    silent = socket.create_server(("127.0.0.1", 0))
    address = f"127.0.0.1:{silent.getsockname()[1]}"
    silent.close()
    with answering, pytest.raises(RunFailedError, match=r"^The other is silent\."):
        _run_watching_parts(waits_for_ever, heard, _Part(address, "The other is silent.", ""))


def test_a_part_that_answers_is_waited_for(part: tuple[socket.socket, _Part]) -> None:
    def slow() -> str:
        time.sleep(1.0)
        return "done"

    assert _run_watching_parts(slow, part[1]) == "done"


def test_what_the_work_raises_is_raised(part: tuple[socket.socket, _Part]) -> None:
    def fails() -> None:
        raise ConnectionError("refused")

    with pytest.raises(ConnectionError, match="refused"):
        _run_watching_parts(fails, part[1])


def test_a_host_says_its_version_before_anything_is_asked_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def node(number: int, **labels: str) -> dict[str, object]:
        address = f"10.0.0.{number}"
        return {
            "NodeManagerAddress": address,
            "NodeID": address,
            "Alive": number != 4,
            "Labels": {"role": "load", **labels},
        }

    launcher = RayLauncher.__new__(RayLauncher)
    launcher._control = _Part("127.0.0.1:1", "", "")
    monkeypatch.setattr(_Part, "answers", lambda part: part.address != "10.0.0.5:7001")
    nodes = [node(1, tidegauge=code_version()), node(2, tidegauge="0.1.0-0"), *map(node, (3, 4, 5))]
    launcher._ray = SimpleNamespace(nodes=lambda: nodes)
    problems = [host.problem for host in launcher.hosts()]
    assert problems[0] == ""
    assert problems[1].startswith("it has another Tidegauge (0.1.0-0)")
    assert problems[2].startswith("it has another Tidegauge (an older one")
    assert problems[3].startswith("it is lost")
    # Ray has not missed it yet.
    assert problems[4].startswith("it is lost")


def test_ending_does_not_wait_for_a_control_service_that_is_gone(part: tuple[socket.socket, _Part]) -> None:
    part[0].close()
    remote = RayRemote(SimpleNamespace(kill=waits_for_ever), None, HOST, [part[1]])
    ending = threading.Thread(target=remote.end, daemon=True)
    ending.start()
    ending.join(30.0)
    assert not ending.is_alive()
