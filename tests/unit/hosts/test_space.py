"""The room on disks, looked at during a trial."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
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
from tidegauge.errors import RunFailedError, UserError
from tidegauge.hosts import space, storage
from tidegauge.hosts.ceilings_measure import machine_id, place_for
from tidegauge.hosts.kept import keep_ceilings
from tidegauge.hosts.memory import dirty_limit_bytes
from tidegauge.hosts.space import (
    ASSUMED,
    DiskFullError,
    FreeRoom,
    FullSpeed,
    check_before,
    check_during,
    full_speed,
    full_speed_known,
    is_open_ended,
    journal_bytes,
    needed_rooms,
    room_note,
    stays_bytes,
)
from tidegauge.hosts.storage import free_space
from tidegauge.model.ceilings import Ceilings
from tidegauge.model.host import FreeSpace
from tidegauge.model.trial import LoadSpec
from tidegauge.model.workload import LateReaders, Payload
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


THEIRS = 2328 * GIB
"""A disk of the hosts of the published reports."""


def catching_up(rate: float = 200_000.0) -> LoadSpec:
    """512 GB to be caught up with at the reports' rate, for two hours at most."""
    late = LateReaders(subscriptions=1, backlog_msgs=500_000_000, rule="512GB", drained_share=0.0, chase_s_max=7200.0)
    return replace(spec(), nodes=3, msgs_per_s=rate, late=late, warmup_s_max=60.0, measure_s=300.0)


def on_disks(monkeypatch: pytest.MonkeyPatch, *free: int) -> list[Path]:
    """Places on disks of their own, with so much free."""
    places = {Path(f"/disk{number}"): free_bytes for number, free_bytes in enumerate(free)}
    devices = {place: number for number, place in enumerate(places)}
    monkeypatch.setattr(storage, "nearest_existing", lambda place: place)
    monkeypatch.setattr(storage, "_device_and_free_bytes", lambda place: (devices[place], places[place]))
    return list(places)


def test_the_backlog_of_the_reports_fits_on_disks_like_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    check_before("t", needed_rooms(catching_up(), on_disks(monkeypatch, THEIRS, THEIRS, THEIRS), []))
    (alone,) = needed_rooms(catching_up(), on_disks(monkeypatch, THEIRS)[:1] * 3, [])
    assert alone.needed_bytes > 2.5 * THEIRS, "three copies on one disk are three times as much"
    with pytest.raises(DiskFullError, match=r"Not enough room for .* may need 6,5"):
        check_before("t", needed_rooms(catching_up(), on_disks(monkeypatch, THEIRS)[:1] * 3, []))


def test_everything_that_may_be_written_is_counted() -> None:
    trial = catching_up()
    sent = 200_000 * (60 + 300 + 5 + 2500 + 7200)
    assert stays_bytes(trial) == sent * (1024 + 128), "the backlog, and what is sent while it is read away"
    assert stays_bytes(trial) > 1.1 * sent * 1024
    assert journal_bytes(trial) < stays_bytes(trial) / 50, "a journal is removed as it goes"
    short = replace(spec(), msgs_per_s=100.0)
    assert journal_bytes(short) == stays_bytes(short), "but until then it holds all"
    small = replace(trial, workload=replace(trial.workload, payload=Payload(48)))
    assert stays_bytes(small) > 3 * sent * 48, "of small messages most is not the message"


def test_journals_on_disks_of_their_own_are_counted_there(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = on_disks(monkeypatch, THEIRS, THEIRS, 100 * GIB)
    found = {
        room.places: room.needed_bytes for room in needed_rooms(catching_up(), [first, second, first], [third] * 3)
    }
    stays, journal = stays_bytes(catching_up()), journal_bytes(catching_up())
    floor = space.FREE_BYTES_BEFORE
    assert found == {(first,): 2 * stays + floor, (second,): stays + floor, (third,): 3 * journal + floor}


def test_two_disks_of_a_node_have_room_together_and_the_last_of_them_a_journals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trial, floor = catching_up(), space.FREE_BYTES_BEFORE
    stays, journal = stays_bytes(trial), journal_bytes(trial)
    half = stays // 2 + journal + floor
    disks = on_disks(monkeypatch, *[half] * 6)
    check_before("t", needed_rooms(trial, disks, []))
    found = {room.places: (room.needed_bytes, room.free_bytes) for room in needed_rooms(trial, disks, [])}
    for number in range(3):
        first, last = disks[number], disks[number + 3]
        assert found[first, last] == (stays + journal + 2 * floor, 2 * half)
        assert found[last,] == (journal + floor, half)
    assert len(found) == 6
    words = disk_words([trial], places=(tuple(disks), ()))
    assert "free on the disks of /disk0 and /disk3 together" in words
    assert "TOO LITTLE" not in words


def test_a_disk_with_too_little_is_named_with_its_host() -> None:
    """Nodes that are alone on their hosts have all disks there; else each takes its turn."""
    trial = catching_up()
    data, journals = [Path("/data1"), Path("/data2")], [Path("/journals")]

    def look(places: Sequence[Path]) -> list[FreeSpace]:
        return [
            FreeSpace(place, number, 2 * GIB if (host, place) == ("10.7.0.3", journals[0]) else THEIRS, host=host)
            for host in ("10.7.0.2", "10.7.0.3", "10.7.0.4")
            for number, place in enumerate(places)
        ]

    alone = {1: "10.7.0.2", 2: "10.7.0.3", 3: "10.7.0.4"}
    found = needed_rooms(trial, data, journals, look, alone)
    assert [str(room) for room in found[:2]] == ["/data1 and /data2 on 10.7.0.2 together", "/journals on 10.7.0.2"]
    assert {room.needed_bytes for room in found if len(room.places) == 2} == {
        stays_bytes(trial) + 2 * space.FREE_BYTES_BEFORE
    }
    with pytest.raises(DiskFullError, match=r"and /journals on 10\.7\.0\.3 has 2\.0 GiB free"):
        check_before("t", needed_rooms(trial, data, journals, look, alone))
    together = needed_rooms(trial, data, journals, look, {**alone, 3: "10.7.0.2"})
    assert [str(room) for room in together if "/data" in str(room)] == [
        "/data1 on 10.7.0.2",
        "/data2 on 10.7.0.3",
    ]
    assert together[0].needed_bytes == 2 * stays_bytes(trial) + space.FREE_BYTES_BEFORE
    # A trial on another's servers has no directories there.
    with pytest.raises(DiskFullError, match=r"The disk of /data on 10\.7\.0\.3 is almost full"):
        check_during([FreeSpace(Path("/data"), 1, GIB // 8, is_there=False, host="10.7.0.3")])
    check_during([FreeSpace(Path("/data"), 1, GIB, is_there=False, host="10.7.0.3")])
    with pytest.raises(DiskFullError, match=r"The disk of /data on 10\.7\.0\.3 is almost full"):
        check_during([FreeSpace(Path("/data"), 1, GIB // 8, host="10.7.0.3")])


def test_a_full_disk_of_a_journal_is_seen_before_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    disks = on_disks(monkeypatch, *[10 * THEIRS] * 5, GIB)
    with pytest.raises(DiskFullError, match=r"and /disk5 has 1\.0 GiB free"):
        check_before("t", needed_rooms(catching_up(), disks, []))
    apart = needed_rooms(catching_up(), disks, disks[:3])
    assert all(room.free_bytes >= room.needed_bytes for room in apart), "its journal is elsewhere"
    with pytest.raises(DiskFullError, match="/disk0 and /disk3 together have"):
        check_before(
            "t", needed_rooms(catching_up(), on_disks(monkeypatch, *[stays_bytes(catching_up()) // 3] * 6), [])
        )


def test_the_plan_says_which_disk_has_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = on_disks(monkeypatch, THEIRS, GIB, THEIRS)
    words = disk_words([catching_up(), spec()], places=((first, second, third), ()))
    assert words.count("free on the disk of") == 3
    assert words.count("TOO LITTLE") == 1
    assert "free on the disk of /disk1 (it has 1.0 GiB: TOO LITTLE" in words


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
