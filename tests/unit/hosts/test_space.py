"""The room on disks, looked at during a trial."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from report_samples import ceilings
from run_samples import spec
from shown_runs import peak

from tidegauge.cli.running import _room_notes
from tidegauge.errors import DiskFullError, RunFailedError, UserError
from tidegauge.hosts import space, storage
from tidegauge.hosts.ceilings_measure import machine_id, place_for
from tidegauge.hosts.kept import keep_ceilings
from tidegauge.hosts.memory import dirty_limit_bytes
from tidegauge.hosts.space import (
    ASSUMED,
    FreeRoom,
    FullSpeed,
    check_during,
    full_speed,
    full_speed_known,
    is_open_ended,
    room_note,
)
from tidegauge.hosts.storage import free_space
from tidegauge.model.ceilings import Ceilings
from tidegauge.model.host import FreeSpace
from tidegauge.report.lists import disk_words


def test_a_disk_that_is_gone_fails_the_trial_with_its_name(tmp_path: Path) -> None:
    check_during(free_space([tmp_path]))
    with pytest.raises(RunFailedError, match=r"/gone can't be looked at any more: No such file") as caught:
        check_during(free_space([tmp_path, tmp_path / "gone"]))
    assert not isinstance(caught.value, DiskFullError)


@pytest.mark.parametrize("failing", [(storage.shutil, "disk_usage"), (Path, "stat")])
def test_a_disk_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: tuple[Any, str]) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(*failing, fail)
    with pytest.raises(RunFailedError, match=rf"{tmp_path} can't be looked at any more: Input/output error"):
        free_space([tmp_path])


def test_an_almost_full_disk_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space, "FREE_BYTES_DURING", 1 << 60)
    with pytest.raises(DiskFullError, match="is almost full"):
        check_during(free_space([tmp_path]))


GIB = 1 << 30


class Disk:
    """A disk that a load fills, looked at every 0.25 s."""

    def __init__(self, free_bytes: int, fills_by: float) -> None:
        self.now_s, self.free, self.fills_by = 0.0, float(free_bytes), fills_by
        self.room = FreeRoom(lambda: self.now_s)

    @property
    def space(self) -> list[FreeSpace]:
        return [FreeSpace(Path("/data"), 1, int(self.free))]

    def look(self) -> None:
        check_during(self.space, self.room)
        self.now_s += 0.25
        self.free -= self.fills_by * 0.25


@pytest.mark.parametrize("fills_by", [2e9, 6e8, 5e7])
def test_a_disk_is_never_full_before_the_run_is_ended(fills_by: float) -> None:
    disk = Disk(20 * GIB, fills_by)
    with pytest.raises(DiskFullError, match="is almost full"):
        for _ in range(10_000):
            disk.look()
    # Whoever takes notice needs more than a look, and the load writes on meanwhile.
    assert disk.free > fills_by * 1.0
    assert disk.free < 2.5 * fills_by + space.FREE_BYTES_DURING, "and not long before it is"


def test_a_reserve_that_does_not_know_how_fast_it_goes_is_not_enough() -> None:
    """The reason for the check above: 2 GB/s go through 256 MiB between two looks."""
    disk = Disk(20 * GIB, 2e9)
    left = []
    with pytest.raises(DiskFullError):
        for _ in range(10_000):
            left.append(disk.free)
            check_during(disk.space)
            disk.free -= 2e9 * 0.25
    assert min(left) < 2e9 * 0.25


def test_room_that_is_taken_at_once_and_stays_ends_nothing() -> None:
    disk = Disk(3 * GIB, 0.0)
    for number in range(100):
        disk.free -= GIB // 8 if number == 50 else 0
        disk.look()


def test_a_full_disk_on_a_host_is_named_with_its_host() -> None:
    # A trial on another's servers has no directories there.
    with pytest.raises(DiskFullError, match=r"The disk of /data on 10\.7\.0\.3 is almost full"):
        check_during([FreeSpace(Path("/data"), 1, GIB // 8, is_there=False, host="10.7.0.3")])
    check_during([FreeSpace(Path("/data"), 1, GIB, is_there=False, host="10.7.0.3")])
    with pytest.raises(DiskFullError, match=r"The disk of /data on 10\.7\.0\.3 is almost full"):
        check_during([FreeSpace(Path("/data"), 1, GIB // 8, host="10.7.0.3")])


def known(write_bytes_per_s: float | None, loopback_bytes_per_s: float) -> Ceilings:
    measured = ceilings().ceilings
    assert measured.loopback is not None
    disk = replace(measured.disks[0], device="254:0", write_bytes_per_s=write_bytes_per_s)
    return replace(measured, disks=(disk,), loopback=replace(measured.loopback, bytes_per_s=loopback_bytes_per_s))


def test_what_full_speed_writes_follows_from_what_the_machine_can_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space, "dirty_limit_bytes", lambda: 8 * GIB)
    trial = replace(peak("kafka@4.3.1"), warmup_s_max=15.0, measure_s=20.0)
    by_disk = full_speed(known(1e9, 100e9), ["254:0", "254:0"])
    assert by_disk.bytes_written(trial) == 40 * 10**9 + 8 * GIB
    by_loopback = full_speed(known(1e9, 0.1e9), ["254:0"])
    assert by_loopback.bytes_written(trial) == 2 * 40 * 10**8
    longer = replace(trial, measure_s=40.0)
    assert by_disk.bytes_written(longer) == 60 * 10**9 + 8 * GIB
    for unknown in (
        full_speed(None, ["254:0"]),
        full_speed(known(None, 1e9), ["254:0"]),
        full_speed(known(1e9, 1e9), ["8:0"]),
    ):
        assert unknown is ASSUMED
    assert not ASSUMED.measured


def test_the_plan_says_what_full_speed_may_write() -> None:
    trials = [peak("kafka@4.3.1"), spec()]
    words = disk_words(trials, FullSpeed(1.1e9, 0))
    seconds = trials[0].warmup_s_max + trials[0].measure_s + 5
    assert f"up to {1.1e9 * seconds / GIB:.1f} GiB where the rate is found during the run" in words
    assert "(1,100 MB/s, measured here)" in words
    assert "while a trial at a known rate runs" in words
    assert "(2,000 MB/s, assumed: `tidegauge doctor` measures it)" in disk_words(trials)
    assert "found during the run" not in disk_words([spec()])
    assert disk_words([replace(peak("kafka@4.3.1"), attached=True)]) == ""
    assert not is_open_ended(spec())


def test_a_plan_takes_what_was_measured_shortly_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(space, "dirty_limit_bytes", lambda: 0)
    assert full_speed_known([tmp_path]) is ASSUMED
    measured = known(3e8, 1e9)
    disk = replace(measured.disks[0], device=place_for(tmp_path)[1])
    now = datetime.now(UTC).isoformat(timespec="seconds")
    keep_ceilings(replace(measured, measured_at=now, machine=machine_id(), disks=(disk,), load_average=0.0))
    assert full_speed_known([tmp_path]) == FullSpeed(3e8, 0, 1e9)
    assert full_speed_known([Path("/proc/nothing")]) is ASSUMED


def test_too_little_room_for_full_speed_is_reported_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage.shutil, "disk_usage", lambda _: SimpleNamespace(free=20 * GIB))
    trial = peak("kafka@4.3.1")
    note = room_note([trial, spec()], FullSpeed(1.1e9), [tmp_path])
    assert "20.0 GiB are free" in note
    assert room_note([trial], FullSpeed(1e8), [tmp_path]) == ""
    assert room_note([spec()], FullSpeed(1.1e9), [tmp_path]) == "", (
        "what a known rate needs is asked for before it begins"
    )


def test_of_a_fleets_disks_no_room_is_asked_for_here(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    on_hosts, measured = [tmp_path / "file" / "disk"], ceilings()
    ready: Any = SimpleNamespace(campaign=SimpleNamespace(fleet=""), plan=SimpleNamespace(trials=[peak("kafka@4.3.1")]))
    with pytest.raises(UserError, match="can't be measured"):
        _room_notes(ready, measured, on_hosts)
    ready.campaign.fleet = "fleet.yaml"
    assert _room_notes(ready, measured, on_hosts) == []


def test_the_kernels_dirty_limit(tmp_path: Path) -> None:
    vm = tmp_path / "proc/sys/vm"
    vm.mkdir(parents=True)
    assert dirty_limit_bytes(tmp_path) == 0
    (vm / "dirty_bytes").write_text("0\n")
    (vm / "dirty_ratio").write_text("20\n")
    (tmp_path / "proc/meminfo").write_text("MemTotal: 10240000 kB\nMemAvailable: 5120000 kB\n")
    assert dirty_limit_bytes(tmp_path) == 1000 << 20
    (vm / "dirty_background_bytes").write_text("0\n")
    (vm / "dirty_background_ratio").write_text("10\n")
    assert dirty_limit_bytes(tmp_path, "dirty_background") == 500 << 20
    (vm / "dirty_bytes").write_text("268435456\n")
    assert dirty_limit_bytes(tmp_path) == 256 << 20
