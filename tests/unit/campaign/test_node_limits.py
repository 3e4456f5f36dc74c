"""What a trial's servers may use: made before they start, undone after, and reported where it can't be."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from doubles_compared import differences
from run_samples import spec

from tidegauge.agent import api
from tidegauge.agent.api import ProcessSpec
from tidegauge.campaign.run.node_limits import limit_servers
from tidegauge.errors import RunFailedError
from tidegauge.model.workload import ServerLimits
from tidegauge.systems.api import Seat

LIMITED = replace(spec(), limits=ServerLimits(512 << 20, direct_io=True))
PROCESS = ProcessSpec("kafka-1", ("java",), {}, "/", "/log")


class Host:
    """Remembers what it was asked for. Its disks fail for what `fails` says of them."""

    name = "local"

    def __init__(self, fails: Mapping[str, str] | None = None, refused: Mapping[str, str] | None = None) -> None:
        self.started: list[ProcessSpec] = []
        self.made: list[tuple[Path, int]] = []
        self.nodes: list[str] = []
        self.removed: list[Path] = []
        self.rig = self
        self._fails = fails or {}
        self._refused = refused or {}

    def start(self, spec: ProcessSpec) -> Any:
        self.started.append(spec)

    def refusals(self) -> Mapping[str, str]:
        return self._refused

    def make_disk(self, place: Path, size_bytes: int, file_system: str = "ext4", node: str = "") -> None:
        self.nodes.append(node)
        if problem := self._fails.get(place.name):
            raise RunFailedError(f"{problem}.")
        self.made.append((place, size_bytes))

    def remove_disk(self, place: Path) -> None:
        self.removed.append(place)


def limited(host: Any, place: Path, trial: Any = LIMITED, seats: Mapping[int, Seat] | None = None) -> Any:
    with ExitStack() as cleanup:
        found = limit_servers(trial, host, [place], cleanup, seats or {})
        found.host.start(PROCESS)
        return found


def test_every_process_is_limited_and_every_disk_made_and_removed(tmp_path: Path) -> None:
    host = Host()
    found = limited(host, tmp_path / "data")
    assert found.problems == ()
    assert [process.memory_bytes_max for process in host.started] == [512 << 20]
    assert [place for place, _ in host.made] == host.removed == [tmp_path / "data"]
    assert host.made[0][1] > 2 << 30


def test_without_rights_the_trial_goes_on_and_says_what_is_missing(tmp_path: Path) -> None:
    host = Host(refused={"ext4": "needs root", "memory": "needs root"})
    found = limited(host, tmp_path / "data")
    assert len(found.problems) == 2
    assert all("could not be set (needs root)" in problem for problem in found.problems)
    assert host.started == [PROCESS]
    assert host.made == []


def test_a_disk_that_cannot_be_made_is_reported_with_its_reason(tmp_path: Path) -> None:
    found = limited(Host({"data": "No space left on device"}), tmp_path / "data")
    assert "could not be set (No space left on device), so" in found.problems[0]


def test_of_several_disks_all_are_made_or_none(tmp_path: Path) -> None:
    host: Any = Host({"b": "No space left on device"})
    with ExitStack() as cleanup:
        found = limit_servers(LIMITED, host, [tmp_path / "a", tmp_path / "b"], cleanup, {})
        assert "No space left on device" in found.problems[0]
        assert host.removed == [tmp_path / "a"]
    assert host.removed == [tmp_path / "a"]


def test_on_hosts_each_has_a_disk_for_its_own_nodes(tmp_path: Path) -> None:
    here, three = Host(), replace(LIMITED, nodes=3)
    limited(here, tmp_path / "data", three)
    apart = Host()
    seats = {number: Seat(f"10.0.0.{number}", f"server-{number}") for number in (1, 2, 3)}
    seats[0] = Seat("10.0.0.9", "keeper")
    limited(apart, tmp_path / "data", three, seats)
    assert (here.nodes, apart.nodes) == ([""], ["server-1", "server-2", "server-3"])
    assert apart.made[0][1] < here.made[0][1], "one node's"


def test_servers_of_others_are_not_limited(tmp_path: Path) -> None:
    host = Host()
    found = limited(host, tmp_path, replace(LIMITED, attached=True))
    assert "others run" in found.problems[0]
    assert host.started == [PROCESS]


def test_without_limits_nothing_is_done(tmp_path: Path) -> None:
    host = Host()
    assert limited(host, tmp_path, spec()).problems == ()
    assert host.made == []


def test_the_double_is_no_wider_than_a_host_and_its_rig() -> None:
    assert differences(Host, api.Host, api.Rig) == []
