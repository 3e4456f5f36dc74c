"""Agents on other hosts, here at addresses of loopback: real agents, real TLS, no launcher."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import psutil
import pytest
from doubles_compared import differences
from fleet_samples import runs, slow_to_read, spec, wait_until

from tidegauge.agent import registry
from tidegauge.agent.api import AGENT_PORTS
from tidegauge.agent.authority import Authority, agent_context, make_request
from tidegauge.agent.listening import _ARRIVALS_MAX, AgentStarter, interface_of, link_to_agent
from tidegauge.agent.local import LocalHost
from tidegauge.attestation.data_files import Copy
from tidegauge.errors import RunFailedError, StartFailedError, UserError
from tidegauge.fleet import remote
from tidegauge.fleet.api import Launcher, Remote
from tidegauge.fleet.remote import ManyHosts, RemoteHost, agents_on
from tidegauge.hosts.tracefs import NoTraceError
from tidegauge.model.host import FleetHost

HOSTS = [FleetHost("127.0.0.2", "server", "a"), FleetHost("127.0.0.3", "server", "b")]


_AT_ONE = threading.Lock()


class Direct:
    """`Launcher` and `Remote` without hosts: an object is made and called here, with a state directory by address."""

    def __init__(self, made: object = None, address: str = "") -> None:
        self._made = made
        self._address = address

    def hosts(self) -> Sequence[FleetHost]:
        return HOSTS

    def start(self, host: FleetHost, kind: Callable[[], object]) -> Direct:
        return Direct(kind(), host.address)

    def call(self, method: str, *arguments: object, timeout_s: float) -> Any:
        with _AT_ONE, pytest.MonkeyPatch.context() as patch:
            patch.setenv("TIDEGAUGE_STATE", f"{os.environ['TIDEGAUGE_STATE']}-{self._address}")
            return getattr(self._made, method)(*arguments)

    def end(self) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "state"))
    # Both addresses are this host's, though no interface names them.
    monkeypatch.setattr("tidegauge.agent.listening.interface_of", lambda _: "lo")


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def agents(said: list[str]) -> Iterator[list[RemoteHost]]:
    with agents_on(HOSTS, Direct(), said.append) as opened:
        yield opened


def agent_pid(agent: RemoteHost) -> int:
    """By its log, which is its standard error."""
    for process in psutil.process_iter():
        # Others come and go meanwhile.
        with contextlib.suppress(psutil.Error):
            line = process.cmdline()
            # Tests that run at the same time have agents at the same address.
            own = process.environ().get("TIDEGAUGE_STATE", "").startswith(os.environ["TIDEGAUGE_STATE"])
            if "tidegauge.agent.main" in line and line[-1] == agent.name and own:
                return process.pid
    raise AssertionError(f"no agent at {agent.name}")


def test_what_an_agent_does_here_it_does_there(agents: list[RemoteHost], tmp_path: Path) -> None:
    agent = agents[0]
    agent.write(tmp_path / "there/conf", "a = 1\n")
    agent.start(spec(tmp_path, "cat there/conf; sleep 1000"))
    wait_until(lambda: agent.read_end(tmp_path / "p.log", 100) == "a = 1\n", "it has printed")
    assert agent.status("p").running
    assert agent.stop("p").exit_code == -signal.SIGTERM
    agent.track_directory(tmp_path / "there")
    agent.remove_directory(tmp_path / "there")
    assert not (tmp_path / "there").exists()
    large = "x" * 3_000_000
    agent.write(tmp_path / "large", large)
    assert agent.read_end(tmp_path / "large", 2_500_000) == large[:2_500_000]


def test_it_is_in_a_session_of_its_own_and_ends_with_the_block(said: list[str], tmp_path: Path) -> None:
    with agents_on(HOSTS, Direct(), said.append) as (agent, _):
        agent.start(spec(tmp_path, "sleep 1000"))
        pid, server = agent_pid(agent), agent.status("p").pid
        assert os.getsid(pid) == pid
        assert psutil.Process(pid).ppid() != os.getpid()
    wait_until(lambda: not runs(pid) and not runs(server), "both are gone")
    assert said == []
    assert registry.all_records() == []


def test_a_lost_agent_is_named_at_once(agents: list[RemoteHost], said: list[str], tmp_path: Path) -> None:
    agent, other = agents
    agent.start(spec(tmp_path, "sleep 1000"))
    server = agent.status("p").pid
    os.kill(agent_pid(agent), signal.SIGKILL)
    wait_until(lambda: bool(said), "it is said")
    assert said == ["The host 127.0.0.2 is lost: its agent can't be reached any more."]
    with pytest.raises(RunFailedError, match="is lost: its agent"):
        agent.status("p")
    wait_until(lambda: not runs(server), "what it ran has ended")
    assert other.agent_cpu_s() > 0
    agent.close()
    said.clear()


def test_a_stopped_agent_is_lost_too(monkeypatch: pytest.MonkeyPatch, said: list[str], tmp_path: Path) -> None:
    monkeypatch.setattr(remote, "_UNHEARD_S_MAX", 1.0)
    with agents_on(HOSTS[:1], Direct(), said.append, lease_s=2.0) as (agent,):
        agent.start(spec(tmp_path, "sleep 1000"))
        pid = agent_pid(agent)
        os.kill(pid, signal.SIGSTOP)
        try:
            wait_until(lambda: bool(said), "it is said")
        finally:
            os.kill(pid, signal.SIGCONT)
        with pytest.raises(RunFailedError, match="is lost") as raised:
            agent.status("p")
        assert "ends all that it started when it goes on, and is ended with it 2 s after it was" in raised.value.hint
        # Its lease has run out, and its controller is gone.
        wait_until(lambda: not runs(pid), "it has ended")
    lost = "The host 127.0.0.2 is lost: its agent does not answer any more. What it started may still run there: p."
    assert set(said) == {lost, f"127.0.0.2: {lost}"}


def test_an_agent_that_stays_stopped_is_ended_with_all_that_it_started(
    monkeypatch: pytest.MonkeyPatch, said: list[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(remote, "_UNHEARD_S_MAX", 1.0)
    state = Path(f"{os.environ['TIDEGAUGE_STATE']}-{HOSTS[0].address}")
    with agents_on(HOSTS[:1], Direct(), said.append, lease_s=1.0) as (agent,):
        agent.write(tmp_path / "data/file", "of a server")
        agent.track_directory(tmp_path / "data")
        agent.start(spec(tmp_path, "sleep 1000 & exec sleep 1000"))
        pid, server = agent_pid(agent), agent.status("p").pid
        beside = [child.pid for child in psutil.Process(server).children()]
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: not runs(pid) and not any(map(runs, (server, *beside))), "all has ended")
        wait_until(lambda: not (tmp_path / "data").exists(), "its data is removed")
        wait_until(lambda: not list((state / "agents").glob("*.json")), "and its record")


def test_a_watchdog_ends_with_its_agent(said: list[str]) -> None:
    def dogs() -> list[int]:
        lines = [(process.pid, process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
        return [number for number, line in lines if "tidegauge.agent.watchdog" in line and str(pid) in line]

    with agents_on(HOSTS[:1], Direct(), said.append) as (agent,):
        pid = agent_pid(agent)
        wait_until(dogs, "it watches")
    wait_until(lambda: not dogs(), "it has ended")


def test_an_agent_that_does_what_takes_long_is_not_lost(
    monkeypatch: pytest.MonkeyPatch, said: list[str], tmp_path: Path
) -> None:
    """Nor does its lease run out meanwhile, though it reads no renewals."""
    monkeypatch.setattr(remote, "_UNHEARD_S_MAX", 0.2)
    with agents_on(HOSTS[:1], Direct(), said.append, lease_s=1.0) as (agent,):
        agent.start(spec(tmp_path, "sleep 1000"))
        with slow_to_read(tmp_path, 2.5) as pipe:
            assert agent.read_end(pipe, 100) == ""
        assert agent.status("p").running
    assert said == []


def test_nobody_else_is_let_in(tmp_path: Path) -> None:
    """Neither without TLS, nor with a certificate of another run, nor with that of another agent of this run."""
    authority, starter = Authority(), AgentStarter()
    address = HOSTS[0].address
    certificate = authority.sign(starter.request(), address)
    listening = starter.start(certificate, authority.certificate_pem, 30.0, address)
    assert listening.port in AGENT_PORTS
    with socket.create_connection((address, listening.port), timeout=5) as plain:
        plain.sendall(b'{"id": 1, "call": "hello"}\n')
        plain.settimeout(5)
        with contextlib.suppress(ConnectionResetError):
            assert b"protocol" not in plain.recv(1000)

    other_key, request = make_request()
    others = agent_context(other_key, authority.sign(request, "127.0.0.3"), authority.certificate_pem)
    as_client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    as_client.check_hostname = False
    as_client.load_verify_locations(cadata=authority.certificate_pem)
    with ExitStack() as closing:
        key = tmp_path / "key.pem"
        key.write_text(other_key + authority.sign(request, "127.0.0.3"))
        as_client.load_cert_chain(key)
        assert others.verify_mode is ssl.CERT_REQUIRED
        for context in (as_client, Authority().controller_context()):
            with pytest.raises(OSError, match=r"(?i)certificate|alert|closed|reset|EOF"):
                link = link_to_agent(address, listening.port, context, 5.0)
                closing.callback(link.close)
                link.send(b'{"id": 1, "call": "hello"}\n')
                if not link.receive():
                    raise OSError("closed")

    agent = RemoteHost(
        HOSTS[0], listening, link_to_agent(address, listening.port, authority.controller_context(), 5.0), 30.0, print
    )
    assert agent.agent_cpu_s() > 0
    assert agent.close() == []


def test_who_connects_and_says_nothing_keeps_nobody_waiting() -> None:
    """One after the other, each with its time for a handshake, they would outlast the agent's patience."""
    authority, starter = Authority(), AgentStarter()
    address = HOSTS[0].address
    certificate = authority.sign(starter.request(), address)
    listening = starter.start(certificate, authority.certificate_pem, 30.0, address)
    with ExitStack() as closing:
        for _ in range(_ARRIVALS_MAX + 6):
            closing.enter_context(socket.create_connection((address, listening.port), timeout=30))
        link = link_to_agent(address, listening.port, authority.controller_context(), 30.0)
        agent = RemoteHost(HOSTS[0], listening, link, 30.0, print)
        assert agent.agent_cpu_s() > 0
        assert agent.close() == []


def test_an_agent_that_nobody_asks_for_anything_ends(tmp_path: Path) -> None:
    authority, starter = Authority(), AgentStarter()
    certificate = authority.sign(starter.request(), "127.0.0.2")
    starter.start(certificate, authority.certificate_pem, 1.0, "127.0.0.2")
    wait_until(lambda: not list(registry.agents_directory().glob("*.log")), "it has given up")


def test_a_certificate_is_for_one_address(tmp_path: Path) -> None:
    authority, starter = Authority(), AgentStarter()
    certificate = authority.sign(starter.request(), "127.0.0.9")
    listening = starter.start(certificate, authority.certificate_pem, 2.0, "127.0.0.2")
    with pytest.raises(OSError, match="certificate"):
        link_to_agent("127.0.0.2", listening.port, authority.controller_context(), 5.0)
    with pytest.raises(ValueError, match="Unable to load PEM"):
        authority.sign("nonsense", "127.0.0.2")


def test_a_host_without_the_address_is_named() -> None:
    with pytest.raises(StartFailedError, match=r"No network interface here has the address 203\.0\.113\.9"):
        interface_of("203.0.113.9")


@pytest.fixture
def many(agents: list[RemoteHost], tmp_path: Path) -> Iterator[ManyHosts]:
    with LocalHost.open() as own:
        yield ManyHosts(
            own,
            "127.0.0.1",
            {"server-1": agents[0], "server-2": agents[1]},
            {},
            directory=tmp_path,
            spared_ports="7000-7299",
        )


def on(tmp_path: Path, name: str, link: str, command: str = "sleep 1000") -> Any:
    return spec(tmp_path, command, name, network_node=link)


def test_each_process_is_on_the_host_of_its_link(many: ManyHosts, agents: list[RemoteHost], tmp_path: Path) -> None:
    for name, link in (("here", ""), ("one", "server-1"), ("two", "server-2")):
        many.start(on(tmp_path, name, link, "echo $0; exec sleep 1000"))
    assert agents[0].status("one").running
    assert agents[1].status("two").running
    with pytest.raises(RunFailedError, match="was never started here"):
        agents[0].status("two")
    assert {many.status(name).running for name in ("here", "one", "two")} == {True}
    many.rig.pause(["one"])
    assert psutil.Process(many.status("one").pid).status() == psutil.STATUS_STOPPED
    many.rig.resume(["one"])
    many.rig.kill(["two"])
    assert many.status("two").exit_code == -signal.SIGKILL
    with pytest.raises(RunFailedError, match="nobody was never started on another host"):
        many.rig.kill(["nobody"])


def test_files_of_servers_are_searched_on_all_their_hosts(many: ManyHosts, tmp_path: Path) -> None:
    header = struct.pack("<4sIQIIQ", b"TDG1", 0, 7, 3, 0, 5)
    many.write(tmp_path / "data/here.log", "")
    (tmp_path / "data/here.log").write_bytes(b"x" * 100 + header)
    found = many.find_copies([tmp_path / "data"], 7, [(3, 5), (3, 6)])
    # Both see the same files here.
    assert found == {(3, 5): (Copy(tmp_path / "data/here.log", 100),) * 2}
    here = str(tmp_path / "data/here")
    assert [file.partition(":")[2] for file in many.list_data_files([tmp_path / "data"])] == [here, here]
    assert len(set(many.list_data_files([tmp_path / "data"]))) == 2
    assert many.write_back([tmp_path / "data"]) == ""


def test_a_disk_that_cannot_be_looked_at_is_named_with_its_host(many: ManyHosts, tmp_path: Path) -> None:
    disk = tmp_path / ("d" * 300)
    with pytest.raises(RunFailedError, match=r"On .*: The disk of .*d can't be looked at any more: File name too long"):
        many.free_space([disk])
    with pytest.raises(RunFailedError, match=r"On .*: The disk's fsync could not be measured: File name too long"):
        many.calm_disk(disk)


SYNCS = """
import os, time
file = open('synced', 'w')
while True: os.fsync(file.fileno()); print('synced', flush=True); time.sleep(0.01)
"""


@pytest.mark.root
def test_syncs_there_are_seen_here_by_this_hosts_clock(many: ManyHosts, tmp_path: Path) -> None:
    for name, link in (("one", "server-1"), ("two", "server-2")):
        many.start(on(tmp_path, name, link, f'exec "{sys.executable}" -c "{SYNCS}"'))
    begun_ns = time.monotonic_ns()
    try:
        with many.watch_syncs(["one", "two"]) as finish:
            before = {log: log.stat().st_size for log in (tmp_path / "one.log", tmp_path / "two.log")}
            wait_until(lambda: all(log.stat().st_size > size + 100 for log, size in before.items()), "both synced")
            seen = finish()
    except NoTraceError as error:
        pytest.skip(str(error))
    assert {call.node for call in seen.calls} == {"one", "two"}
    assert {call.call for call in seen.calls} == {"fsync"}
    assert all(begun_ns < call.left_mono_ns < time.monotonic_ns() for call in seen.calls)


def test_who_cannot_watch_says_why(many: ManyHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RunFailedError, match="nobody was never started"), many.watch_syncs(["nobody"]):
        pass


def test_a_log_is_brought_here_when_its_process_has_ended(many: ManyHosts, tmp_path: Path) -> None:
    """Where both see the same files, it is here already, and stays as it is."""
    log = tmp_path / "far.log"
    many.start(on(tmp_path, "far", "server-1", "echo from there; exec sleep 1000"))
    wait_until(lambda: many.read_end(log, 100) == "from there\n", "it has printed")
    many.stop("far")
    assert log.read_text() == "from there\n"


def test_ports_are_free_on_all_hosts(many: ManyHosts, agents: list[RemoteHost]) -> None:
    with socket.create_server(("127.0.0.3", 0)) as server:
        taken = server.getsockname()[1]
        assert agents[1].hold_ports([taken]) == [taken]
    ports = many.free_ports(5)
    assert len(set(ports)) == 5
    # Held by all of them.
    assert agents[0].hold_ports(ports) == ports
    many.release_ports(ports)
    assert agents[0].hold_ports(ports) == []


def test_ports_that_not_all_hosts_have_are_given_back(
    many: ManyHosts, agents: list[RemoteHost], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agents[1], "hold_ports", lambda ports: ports[:1])
    with pytest.raises(StartFailedError, match="No 5 TCP ports from 7300 to 7999 are free on all hosts"):
        many.free_ports(5)
    state = os.environ["TIDEGAUGE_STATE"]
    for place in (state, *(f"{state}-{host.address}" for host in HOSTS)):
        monkeypatch.setenv("TIDEGAUGE_STATE", place)
        assert [record.ports for record in registry.all_records()] == [()]
    monkeypatch.setenv("TIDEGAUGE_STATE", state)


def test_what_is_used_there_is_seen_here(many: ManyHosts, tmp_path: Path) -> None:
    many.start(on(tmp_path, "busy", "server-1", "while :; do :; done"))
    seen: dict[str, float] = {}
    where: set[tuple[str, str]] = set()
    hosts: dict[str, float] = {}
    after, deadline_s = 0, time.monotonic() + 30
    while seen.get("busy", 0.0) == 0.0 and time.monotonic() < deadline_s:
        for sample in many.samples(after):
            after = sample.number
            for process in sample.processes:
                seen[process.name] = seen.get(process.name, 0.0) + process.cpu_s
                where.add((process.name, process.host))
            for other in sample.others:
                hosts[other.host] = hosts.get(other.host, 0.0) + other.use.cpu_s
        time.sleep(0.3)
    assert seen["busy"] > 0
    assert where == {("busy", "127.0.0.2")}
    assert hosts["127.0.0.2"] > 0, "the whole host's"
    assert set(hosts) == {"127.0.0.2", "127.0.0.3"}


def test_too_few_hosts_are_refused() -> None:
    from tidegauge.campaign.run.apart import hosts_of_role

    lost = FleetHost("127.0.0.4", "server", "c", alive=False)
    load = FleetHost("127.0.0.5", "load", "d")
    assert hosts_of_role([*HOSTS, lost, load], "server", 2, not_on="127.0.0.5") == HOSTS
    with pytest.raises(UserError, match=r"needs 3 hosts for its servers, and the fleet has 2 of role server"):
        hosts_of_role([*HOSTS, lost, load], "server", 3)
    other = FleetHost("127.0.0.6", "server", "e", refused="it has another Tidegauge")
    with pytest.raises(
        UserError, match=r"of role server \(127\.0\.0\.4 is left out: it is lost: .*; 127\.0\.0\.6 is left"
    ):
        hosts_of_role([*HOSTS, lost, other], "server", 3)
    with pytest.raises(UserError, match="has 1 of role server beside this one"):
        hosts_of_role(HOSTS, "server", 2, not_on="127.0.0.2")
    with pytest.raises(UserError, match=r"has 0 of role server beside this one in 10\.0\.0\.0/8"):
        hosts_of_role(HOSTS, "server", 1, IPv4Network("10.0.0.0/8"), not_on="127.0.0.5")


def test_nodes_that_share_hosts_are_on_them_by_turns(agents: list[RemoteHost]) -> None:
    from tidegauge.campaign.run.apart import Seated

    shared = Seated(3, agents, [])
    assert [shared.seats[number].address for number in (1, 2, 3)] == ["127.0.0.2", "127.0.0.3", "127.0.0.2"]
    assert len({seat.link for number, seat in shared.seats.items() if number}) == 3
    assert shared.seats[0] == shared.seats[1], "what belongs to no node"
    own = Seated(1, agents[:1], agents[1:])
    assert own.by_link["keeper"] is agents[1]
    assert str(own) == "Servers: node 1 on 127.0.0.2, what belongs to no node on 127.0.0.3"


def test_the_double_is_no_wider_than_a_launcher_and_what_it_starts() -> None:
    assert differences(Direct, Launcher, Remote) == []
