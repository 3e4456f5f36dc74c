"""What a trial's servers may use: made before they start, undone after, and reported where it can't be."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from run_samples import spec

from tidegauge.campaign.model import SystemChoice
from tidegauge.campaign.plan.limits import limit_servers, too_small
from tidegauge.errors import RunFailedError
from tidegauge.fleet.api import ProcessSpec
from tidegauge.model.workload import ServerLimits

LIMITED = replace(spec(), limits=ServerLimits(512 << 20, direct_io=True))
PROCESS = ProcessSpec("kafka-1", ("java",), {}, "/", "/log")


class Host:
    """Remembers what it was asked for. Its disks fail for what `fails` says of them."""

    name = "local"

    def __init__(self, fails: Mapping[str, str] | None = None, why_no_disk: str = "") -> None:
        self.started: list[ProcessSpec] = []
        self.made: list[tuple[Path, int]] = []
        self.removed: list[Path] = []
        self.rig = self
        self._fails = fails or {}
        self._why_no_disk = why_no_disk

    def start(self, process: ProcessSpec) -> Any:
        self.started.append(process)

    def refusals(self) -> Mapping[str, str]:
        return {"ext4": self._why_no_disk} if self._why_no_disk else {}

    def make_disk(self, place: Path, size_bytes: int) -> None:
        if problem := self._fails.get(place.name):
            raise RunFailedError(f"{problem}.")
        self.made.append((place, size_bytes))

    def remove_disk(self, place: Path) -> None:
        self.removed.append(place)


def limited(host: Any, place: Path, trial: Any = LIMITED, why: str = "") -> Any:
    with ExitStack() as cleanup:
        found = limit_servers(trial, host, lambda: why, [place], cleanup)
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
    host = Host(why_no_disk="needs root")
    found = limited(host, tmp_path / "data", why="needs root")
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
        found = limit_servers(LIMITED, host, lambda: "", [tmp_path / "a", tmp_path / "b"], cleanup)
        assert "No space left on device" in found.problems[0]
        assert host.removed == [tmp_path / "a"]
    assert host.removed == [tmp_path / "a"]


def test_servers_of_others_are_not_limited(tmp_path: Path) -> None:
    host = Host()
    found = limited(host, tmp_path, replace(LIMITED, attached=True))
    assert "others run" in found.problems[0]
    assert host.started == [PROCESS]


def test_without_limits_nothing_is_done(tmp_path: Path) -> None:
    host = Host()
    assert limited(host, tmp_path, spec()).problems == ()
    assert host.made == []


def test_a_limit_below_what_the_servers_are_given_is_refused() -> None:
    assert "less than heap (1024 MiB)" in too_small(LIMITED, SystemChoice("kafka"))
    assert too_small(LIMITED, SystemChoice("kafka", heap_mb=256, direct_memory_mb=128)) == ""
    assert too_small(spec(), SystemChoice("kafka")) == ""
