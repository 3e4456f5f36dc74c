"""The fleet's pure parts: parsing /proc, the wire format, the choice of ports."""

from __future__ import annotations

import fcntl
import resource
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidegauge.agent import link
from tidegauge.agent.api import ProcessSpec, ProcessStatus
from tidegauge.agent.registry import find_free_ports, port_candidates, remove_directory, tracking_refusal
from tidegauge.errors import RunFailedError, StartFailedError
from tidegauge.hosts.procfs import Identity, parse_stat
from tidegauge.hosts.tracefs import NoTraceError


def test_stat_with_brackets_in_the_command() -> None:
    text = "42 (a) b (c)) S 7 42 40 0 -1 4194560 0 0 0 0 10 20 3 4 20 0 1 0 12345 1000000 256 18446744073709551615\n"
    stat = parse_stat(text)
    assert stat.identity == Identity(42, 12345)
    assert (stat.state, stat.parent, stat.session, stat.cpu_ticks, stat.resident_pages) == ("S", 7, 40, 37, 256)
    assert not stat.ended


def test_messages_survive_the_wire() -> None:
    spec = ProcessSpec("a", ("x", "ü"), {"K": "\udcff\n"}, "/", "/l", "s\n", 2.5, 1)
    status = ProcessStatus("a", 1, False, -9, 0.25, 4096)
    message = link.from_line(link.to_line({"spec": spec, "status": status, "paths": (Path("/p"),), "ports": {1}}))
    assert link.spec_from_json(message["spec"]) == spec
    assert ProcessStatus(**message["status"]) == status
    assert (message["paths"], message["ports"]) == (["/p"], [1])
    assert link.to_line({"text": "two\nlines"}).count(b"\n") == 1


def test_errors_survive_the_wire() -> None:
    for error in (RunFailedError("m", "h", Path("/log")), StartFailedError("m"), NoTraceError("m")):
        back = link.error_from_json(link.error_to_json(error))
        assert type(back) is type(error)
        assert (back.message, back.hint, back.log_path) == (error.message, error.hint, error.log_path)


def test_a_line_that_is_no_object_is_refused() -> None:
    with pytest.raises(ValueError, match="not a JSON object"):
        link.from_line(b"[1]\n")


@pytest.fixture
def many_files() -> Iterator[None]:
    """A process that may have as many as a controller of a very large fleet."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2048:
        pytest.skip(f"{hard} files may be open")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_link_may_have_a_number_that_select_does_not_know(many_files: None) -> None:
    one, other = socket.socketpair()
    with one, other:
        near = link.Link(socket.socket(fileno=fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, 1500)))
        threading.Timer(0.1, other.sendall, [b"late"]).start()
        assert near.receive() == b"late"
        sender = threading.Thread(target=near.send, args=[bytes(1 << 20)])
        sender.start()
        sent = 0
        while sent < 1 << 20:
            sent += len(other.recv(1 << 16))
        sender.join()
        near.close()
        assert (near.receive(), other.recv(1)) == (b"", b"")


def test_ports_lie_outside_the_kernels_own_range() -> None:
    assert port_candidates(32768, 60999) == range(10_000, 32768)
    assert port_candidates(1024, 40_000) == range(40_001, 65_536)
    assert port_candidates(1024, 65_535) == range(10_000, 65_536), "no room outside it"


def test_a_port_in_use_is_not_given() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        low, high = (int(part) for part in Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
        everything = set(port_candidates(low, high))
        free = find_free_ports(1, ())[0]
        assert free in everything
        assert find_free_ports(1, everything - {free}) == [free]
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("0.0.0.0", free))
            listener.listen()
            with pytest.raises(StartFailedError, match="Only 0 of 1"):
                find_free_ports(1, everything - {free})


def test_dangerous_directories_are_refused(tmp_path: Path) -> None:
    assert tracking_refusal(tmp_path / "data") == ""
    for path in (Path("/"), Path("/var"), Path.home(), Path.home().parent, Path("relative")):
        assert tracking_refusal(path)
        assert remove_directory(path)
    assert Path.home().exists()


def test_a_link_is_removed_and_not_what_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert remove_directory(tmp_path / "link") == ""
    assert (tmp_path / "real").exists()
    assert not (tmp_path / "link").is_symlink()
