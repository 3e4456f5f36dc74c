"""What is done to nodes on hosts of their own: on which hosts, and when."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from doubles_compared import differences

from tidegauge.agent.client import AgentRigCalls
from tidegauge.errors import RunFailedError
from tidegauge.fleet.rigs import RigHost, RigOfHosts
from tidegauge.model.host import DiskCheck
from tidegauge.model.rig import CLIENTS, CutReport

Arrivals = dict[str, dict[str, float]]
PROCESSES = {"kafka-1": "server-1", "kafka-2": "server-2", "kafka-3": "server-3", "keeper": "server-1"}


class Agent:
    """Remembers what it was asked for, in the order of all agents."""

    def __init__(self, address: str, done: list[tuple[str, str, Any]], arrivals: Arrivals) -> None:
        self._address = address
        self._done = done
        self._arrivals = arrivals
        self.refused: dict[str, str] = {}
        self.fails = ""
        self.cannot = ""

    def _note(self, what: str, details: Any = None) -> None:
        self._done.append((self._address, what, details))

    def refusals(self) -> Mapping[str, str]:
        return self.refused

    def make_disk(self, place: Path, size_bytes: int, file_system: str = "ext4", node: str = "") -> None:
        if self.fails:
            raise RunFailedError(self.fails)
        self._note("make", place.name)

    def remove_disk(self, place: Path) -> None:
        self._note("remove", place.name)

    def hang_disk(self, place: Path) -> None:
        self._note("hang", place.name)

    def pause(self, processes: Sequence[str]) -> None:
        if self.cannot == "pause":
            raise RunFailedError("kafka could not be stopped.")
        self._note("pause", list(processes))

    def resume(self, processes: Sequence[str]) -> None:
        self._note("resume", list(processes))
        if self.cannot:
            raise RunFailedError("The host is lost.")

    def cut_power(self, processes: Sequence[str], places: Sequence[Path]) -> CutReport:
        if self.cannot == "cut":
            raise RunFailedError("bash has files open there.")
        self._note("cut", (list(processes), [place.name for place in places]))
        # This host's clock shows another time.
        checks = tuple(DiskCheck(str(place), "ext4", True, "") for place in places)
        return CutReport(10, 20, 30, 40, 50, len(processes), checks)

    def lose_arrivals(self, shares: Mapping[str, float], spared_ports: str) -> None:
        assert spared_ports == "7000-7299"
        self._arrivals[self._address] = dict(shares)

    def lift_all(self) -> None:
        self._note("lift")
        self._arrivals.pop(self._address, None)


class Stage:
    """Three hosts of servers, the host of the run, and one of load."""

    def __init__(self) -> None:
        self.done: list[tuple[str, str, Any]] = []
        self.arrivals: Arrivals = {}
        addresses = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.8", "10.0.0.9"]
        self.agents = {address: Agent(address, self.done, self.arrivals) for address in addresses}
        self.hosts = [RigHost(address, agent) for address, agent in self.agents.items()]  # type: ignore[arg-type]
        servers = {f"server-{number}": host for number, host in enumerate(self.hosts[:3], 1)}
        self.rig = RigOfHosts(servers, self.hosts[3:], PROCESSES.__getitem__, "7000-7299")

    def hosts_of(self, what: str) -> list[str]:
        return sorted(address for address, done, _ in self.done if done == what)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_a_disk_is_made_where_its_node_is_and_found_there_again(stage: Stage) -> None:
    stage.rig.make_disk(Path("/d/disk-2"), 1 << 20, "ext4", "server-2")
    stage.rig.hang_disk(Path("/d/disk-2"))
    stage.rig.remove_disk(Path("/d/disk-2"))
    assert [(address, what) for address, what, _ in stage.done] == [
        ("10.0.0.2", "make"),
        ("10.0.0.2", "hang"),
        ("10.0.0.2", "remove"),
    ]
    stage.rig.remove_disk(Path("/d/disk-2"))
    assert len(stage.done) == 3, "gone already is fine"


def test_disks_at_one_place_of_several_hosts_go_together(stage: Stage) -> None:
    stage.rig.make_disk(Path("/d/data"), 1 << 20, node="server-1")
    stage.agents["10.0.0.3"].fails = "No disk can be made: no space."
    with pytest.raises(RunFailedError, match="no space"):
        stage.rig.make_disk(Path("/d/data"), 1 << 20, node="server-3")
    stage.rig.make_disk(Path("/d/data"), 1 << 20, node="server-2")
    stage.rig.remove_disk(Path("/d/data"))
    assert stage.hosts_of("remove") == ["10.0.0.1", "10.0.0.2"]


def test_all_stand_still_on_all_hosts_before_the_first_disk_is_cut_off(stage: Stage) -> None:
    places = [Path(f"/d/disk-{number}") for number in (1, 2, 3)]
    for number, place in enumerate(places, 1):
        stage.rig.make_disk(place, 1 << 20, "ext4", f"server-{number}")
    stage.done.clear()
    begun_ns = time.monotonic_ns()
    report = stage.rig.cut_power(list(PROCESSES), places)
    assert [what for _, what, _ in stage.done] == ["pause"] * 3 + ["cut"] * 3
    cuts = {address: details for address, what, details in stage.done if what == "cut"}
    assert cuts["10.0.0.1"] == (["kafka-1", "keeper"], ["disk-1"])
    assert cuts["10.0.0.3"] == (["kafka-3"], ["disk-3"])
    assert report.processes == 4
    assert [Path(disk.place).name for disk in report.disks] == ["disk-1", "disk-2", "disk-3"]
    times_ns = [report.asked_ns, report.frozen_ns, report.cut_ns, report.killed_ns, report.mounted_ns]
    assert begun_ns <= times_ns[0]
    assert times_ns[-1] <= time.monotonic_ns()
    # By this host's clock, and as far apart as by theirs.
    assert report.mounted_ns - report.cut_ns == 20


@pytest.mark.parametrize(("cannot", "why"), [("pause", "could not be stopped"), ("cut", "has files open there")])
def test_all_go_on_where_one_host_refuses_a_power_cut(stage: Stage, cannot: str, why: str) -> None:
    stage.rig.make_disk(Path("/d/disk-2"), 1 << 20, "ext4", "server-2")
    stage.agents["10.0.0.2"].cannot = cannot
    with pytest.raises(RunFailedError, match=why):
        stage.rig.cut_power(list(PROCESSES), [Path("/d/disk-2")])
    assert set(stage.hosts_of("resume")) == {"10.0.0.1", "10.0.0.2", "10.0.0.3"}
    last = {address: what for address, what, _ in stage.done if what in ("pause", "resume")}
    assert set(last.values()) == {"resume"}


def test_all_go_on_where_one_host_cannot_pause(stage: Stage) -> None:
    stage.agents["10.0.0.3"].cannot = "pause"
    with pytest.raises(RunFailedError, match="could not be stopped"):
        stage.rig.pause(list(PROCESSES))
    assert {address: what for address, what, _ in stage.done} == dict.fromkeys(list(stage.agents)[:3], "resume")


def test_a_link_is_cut_where_packets_arrive(stage: Stage) -> None:
    stage.rig.partition(["server-2"], ["server-1", "server-3"], both_ways=False)
    assert stage.arrivals == {"10.0.0.1": {"10.0.0.2": 1.0}, "10.0.0.3": {"10.0.0.2": 1.0}}
    stage.rig.partition(["server-2"], [CLIENTS])
    assert stage.arrivals["10.0.0.8"] == stage.arrivals["10.0.0.9"] == {"10.0.0.2": 1.0}
    assert stage.arrivals["10.0.0.2"] == {"10.0.0.8": 1.0, "10.0.0.9": 1.0}
    assert stage.arrivals["10.0.0.1"] == {"10.0.0.2": 1.0}, "what was cut before stays"
    stage.rig.heal()
    assert all(shares == {} for shares in stage.arrivals.values())


def test_what_shares_a_host_is_not_parted(stage: Stage) -> None:
    stage.rig.partition(["server-1"], ["server-1"])
    assert stage.arrivals == {}


def test_lost_packets_of_two_nodes_add_up_between_them(stage: Stage) -> None:
    stage.rig.lose_packets("server-1", 0.5)
    stage.rig.lose_packets("server-2", 0.5)
    assert stage.arrivals["10.0.0.1"]["10.0.0.2"] == stage.arrivals["10.0.0.2"]["10.0.0.1"] == 0.75
    assert stage.arrivals["10.0.0.3"] == {"10.0.0.1": 0.5, "10.0.0.2": 0.5}
    assert stage.arrivals["10.0.0.9"] == {"10.0.0.1": 0.5, "10.0.0.2": 0.5}
    stage.rig.lose_packets("server-1", 0.0)
    assert stage.arrivals["10.0.0.3"] == {"10.0.0.2": 0.5}
    stage.rig.lift_all()
    assert stage.arrivals == {}
    assert stage.hosts_of("lift") == sorted(stage.agents)


def test_a_share_of_packets_is_lost_once_however_many_nodes_a_host_has() -> None:
    stage = Stage()
    first, second, *_ = stage.hosts
    shared = {"server-1": first, "server-2": second, "server-3": first, "server-4": second}
    # A host that the run is on and that has load generators has two agents.
    clients = [stage.hosts[3], replace(stage.hosts[4], address="10.0.0.8")]
    rig = RigOfHosts(shared, clients, PROCESSES.__getitem__, "7000-7299")
    rig.lose_packets("server-1", 0.1)
    assert stage.arrivals["10.0.0.2"] == pytest.approx({"10.0.0.1": 0.1})
    assert stage.arrivals["10.0.0.1"] == pytest.approx({"10.0.0.2": 0.1, "10.0.0.8": 0.1})
    assert stage.arrivals["10.0.0.8"] == pytest.approx({"10.0.0.1": 0.1})
    assert "10.0.0.9" not in stage.arrivals, "the same host"


def test_who_has_no_node_needs_no_disk() -> None:
    stage = Stage()
    servers = {"server-1": stage.hosts[0], "keeper": stage.hosts[1]}
    rig = RigOfHosts(servers, stage.hosts[3:], PROCESSES.__getitem__, "7000-7299")
    stage.agents["10.0.0.2"].refused = {"ext4": "needs root", "partition": "needs root"}
    assert rig.refusals()["partition"] == "10.0.0.2: needs root"
    assert "ext4" not in rig.refusals()


def test_what_some_host_cannot_do_is_said_with_its_address(stage: Stage) -> None:
    assert stage.rig.refusals() == {"rate_limit": "the links of a fleet's hosts belong to the hosts"}
    stage.agents["10.0.0.2"].refused = {"ext4": "needs root", "network": "no ip(8)"}
    stage.agents["10.0.0.9"].refused = {"ext4": "needs root", "partition": "nft can't be found"}
    found = stage.rig.refusals()
    assert found["ext4"] == "10.0.0.2: needs root"
    assert found["partition"] == "10.0.0.9: nft can't be found", "clients drop what nodes send them"
    assert "network" not in found, "hosts are in one"
    with pytest.raises(RunFailedError, match=r"can't be limited: the links"):
        stage.rig.limit_rate("server-1", 1000)
    stage.rig.limit_rate("server-1", None)


def test_the_double_is_no_wider_than_an_agents_rig() -> None:
    assert differences(Agent, AgentRigCalls) == []
