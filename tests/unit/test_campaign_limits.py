"""What a trial's servers may use: made before they start, undone after, and reported where it can't be."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from run_samples import spec

from tidegauge.campaign.model import SystemChoice
from tidegauge.campaign.plan.limits import LimitTools, limit_servers, too_small
from tidegauge.errors import RunFailedError
from tidegauge.fleet.api import ProcessSpec
from tidegauge.model.workload import ServerLimits

LIMITED = replace(spec(), limits=ServerLimits(512 << 20, direct_io=True))
PROCESS = ProcessSpec("kafka-1", ("java",), {}, "/", "/log")


class Host:
    """Remembers what it was asked for."""

    name = "local"

    def __init__(self) -> None:
        self.started: list[ProcessSpec] = []
        self.tracked: list[Path] = []

    def start(self, process: ProcessSpec) -> Any:
        self.started.append(process)

    def track_directory(self, path: Path) -> None:
        self.tracked.append(path)


class Disks:
    """Remembers what was mounted and unmounted."""

    def __init__(self, failure: str = "", undo_failure: str = "") -> None:
        self.mounted: list[tuple[Path, int]] = []
        self.undone: list[Path] = []
        self._failure = failure
        self._undo_failure = undo_failure

    def mount(self, place: Path, image: Path, size_bytes: int) -> Callable[[], None]:
        if self._failure:
            raise OSError(28, self._failure)
        self.mounted.append((place, size_bytes))

        def undo() -> None:
            if self._undo_failure:
                raise OSError(16, self._undo_failure)
            self.undone.append(place)

        return undo


def limit_tools(disks: Disks, why: str = "") -> LimitTools:
    return LimitTools(lambda: why, lambda: why, disks.mount)


def limited(host: Any, how: LimitTools, place: Path, trial: Any = LIMITED) -> Any:
    with ExitStack() as cleanup:
        found = limit_servers(trial, host, how, [place], cleanup)
        found.host.start(PROCESS)
        return found


def test_every_process_is_limited_and_every_disk_made_and_undone(tmp_path: Path) -> None:
    host, disks = Host(), Disks()
    found = limited(host, limit_tools(disks), tmp_path / "data")
    assert found.problems == ()
    assert [process.memory_bytes_max for process in host.started] == [512 << 20]
    assert [place for place, _ in disks.mounted] == disks.undone == [tmp_path / "data"]
    assert disks.mounted[0][1] > 2 << 30
    assert host.tracked == [tmp_path / "data.disk"]
    assert not (tmp_path / "data.disk").exists()


def test_without_rights_the_trial_goes_on_and_says_what_is_missing(tmp_path: Path) -> None:
    host, disks = Host(), Disks()
    found = limited(host, limit_tools(disks, "needs root"), tmp_path / "data")
    assert len(found.problems) == 2
    assert all("could not be set (needs root)" in problem for problem in found.problems)
    assert host.started == [PROCESS]
    assert disks.mounted == []


def test_a_disk_that_cannot_be_made_is_reported_with_its_reason(tmp_path: Path) -> None:
    found = limited(Host(), limit_tools(Disks("No space left on device")), tmp_path / "data")
    assert "No space left on device" in found.problems[0]


def test_of_several_disks_all_are_made_or_none(tmp_path: Path) -> None:
    disks = Disks()
    mount = disks.mount

    def second_fails(place: Path, image: Path, size_bytes: int) -> Callable[[], None]:
        if disks.mounted:
            raise OSError(28, "No space left on device")
        return mount(place, image, size_bytes)

    places = [tmp_path / "a", tmp_path / "b"]
    with ExitStack() as cleanup:
        found = limit_servers(LIMITED, Host(), replace(limit_tools(disks), mount_disk=second_fails), places, cleanup)
        assert "No space left on device" in found.problems[0]
        assert disks.undone == [tmp_path / "a"]
    assert disks.undone == [tmp_path / "a"]
    assert list(tmp_path.glob("*.disk")) == []


def test_a_disk_that_cannot_be_unmounted_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunFailedError, match="could not be unmounted: target is busy"):
        limited(Host(), limit_tools(Disks(undo_failure="target is busy")), tmp_path / "data")


def test_servers_of_others_are_not_limited(tmp_path: Path) -> None:
    host = Host()
    found = limited(host, limit_tools(Disks()), tmp_path, replace(LIMITED, attached=True))
    assert "others run" in found.problems[0]
    assert host.started == [PROCESS]


def test_without_limits_nothing_is_done(tmp_path: Path) -> None:
    host, disks = Host(), Disks()
    assert limited(host, limit_tools(disks), tmp_path, spec()).problems == ()
    assert disks.mounted == []


def test_a_limit_below_what_the_servers_are_given_is_refused() -> None:
    assert "less than heap (1024 MiB)" in too_small(LIMITED, SystemChoice("kafka"))
    assert too_small(LIMITED, SystemChoice("kafka", heap_mb=256, direct_memory_mb=128)) == ""
    assert too_small(spec(), SystemChoice("kafka")) == ""
