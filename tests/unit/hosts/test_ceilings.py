"""Measuring ceilings on this machine, in short: that it works, refuses, doubts and cleans up. Not how fast it is."""

from __future__ import annotations

import json
import os
import shutil
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report_samples import ceilings

from tidegauge.errors import UserError
from tidegauge.hosts import ceilings_disk, ceilings_measure
from tidegauge.hosts.ceilings_disk import DiskMeasure, Stream, doubts_of, fades
from tidegauge.hosts.ceilings_measure import (
    BRIEF,
    PREFIX,
    THOROUGH,
    THOROUGH_S_MAX,
    Effort,
    idle_words,
    measure_ceilings,
    measure_loopback,
    measure_memory,
    place_for,
    sustained_bytes,
    sustained_refusal,
)
from tidegauge.hosts.clock import clock_quality
from tidegauge.hosts.kept import SCHEMA, fresh_ceilings, keep_ceilings, kept_ceilings, path_of
from tidegauge.hosts.memory import unwritten_bytes
from tidegauge.model.ceilings import SYNC_BATCH_BYTES, SYNC_SMALL_BYTES, Ceilings, LoopbackCeiling

SHORT = Effort(write_s=0.05, read_s=0.05, sync_s=0.05, files_s=0.05, loopback_s=0.1, memory_s=0.0)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of 64 MiB: a test must not write gigabytes."""
    monkeypatch.setattr(ceilings_disk, "FILE_BYTES_MAX", ceilings_disk.FILE_BYTES_MIN)


def left_in(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()]


class TestMeasuring:
    def test_everything_is_measured_and_nothing_left(self, tmp_path: Path, small: None) -> None:
        tracked: list[tuple[Path, bool]] = []
        progress: list[tuple[str, float]] = []
        found = measure_ceilings(
            [tmp_path], SHORT, lambda path: tracked.append((path, path.exists())), lambda *left: progress.append(left)
        )
        (disk,) = found.disks
        assert disk.device == f"{os.major(tmp_path.stat().st_dev)}:{os.minor(tmp_path.stat().st_dev)}"
        if disk.direct:
            assert disk.write_bytes_per_s is not None and disk.write_bytes_per_s > 1e5
            assert disk.read_bytes_per_s is not None and disk.read_bytes_per_s > 1e5
        else:
            assert disk.write_bytes_per_s is None and disk.doubts
        assert [(sync.call, sync.write_bytes, sync.files) for sync in disk.syncs] == [
            ("fdatasync", SYNC_SMALL_BYTES, 1),
            ("fdatasync", SYNC_BATCH_BYTES, 1),
            ("fsync", SYNC_SMALL_BYTES, 1),
            ("fsync", SYNC_BATCH_BYTES, 1),
            ("fdatasync", SYNC_SMALL_BYTES, 8),
        ]
        assert all(
            sync.calls >= sync.files and sync.per_s > 0 and sync.max_ms >= sync.p50_ms > 0 for sync in disk.syncs
        )
        assert disk.syncs_per_s == max(sync.per_s for sync in disk.syncs if sync.write_bytes == SYNC_SMALL_BYTES)
        assert found.loopback is not None and found.loopback.bytes_per_s > 1e6
        assert left_in(tmp_path) == []
        # Whoever cleans up after a kill must know of a directory before it is there.
        assert [(path.parent, path.name.startswith(PREFIX), there) for path, there in tracked] == [
            (tmp_path, True, False)
        ]
        assert [left for _, left in progress] == sorted((left for _, left in progress), reverse=True)
        assert progress[0][1] == pytest.approx(SHORT.seconds(1))

    def test_directories_of_one_disk_are_measured_once(self, tmp_path: Path, small: None) -> None:
        places = [tmp_path / name for name in ("a", "b")]
        for place in places:
            place.mkdir()
        found = measure_ceilings(places, SHORT, lambda _: None, lambda *_: None, loopback=False)
        assert [disk.path for disk in found.disks] == [str(places[0])]
        assert found.loopback is None

    def test_what_fails_leaves_nothing_either(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*_: object) -> Stream:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(DiskMeasure, "read", broken)
        monkeypatch.setattr(DiskMeasure, "sync", broken)
        with pytest.raises(OSError, match="Input/output error"):
            measure_ceilings([tmp_path], SHORT, lambda _: None, lambda *_: None)
        assert left_in(tmp_path) == []

    def test_a_disk_that_is_nearly_full_is_not_measured(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        full = shutil.disk_usage(tmp_path)._replace(free=100 << 20)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
        with pytest.raises(OSError, match="only 100 MiB are free, 640 needed"):
            DiskMeasure(tmp_path).write(0.1)

    def test_without_direct_io_there_is_no_bandwidth(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: None
    ) -> None:
        real_open = os.open

        def refusing(path: object, flags: int, *more: int, **kinds: int) -> int:
            if flags & os.O_DIRECT:
                raise OSError(22, "Invalid argument")
            return real_open(path, flags, *more, **kinds)  # type: ignore[call-overload, no-any-return]

        monkeypatch.setattr(os, "open", refusing)
        (disk,) = measure_ceilings([tmp_path], SHORT, lambda _: None, lambda *_: None, loopback=False).disks
        assert (disk.direct, disk.write_bytes_per_s, disk.read_bytes_per_s) == (False, None, None)
        assert "no direct I/O" in disk.doubts[0]
        assert disk.syncs

    def test_a_disk_that_hangs_is_not_waited_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(ceilings_disk, "_PATIENCE_S", 0.1)
        stop = threading.Event()
        with pytest.raises(OSError, match="did not answer"):
            ceilings_disk._run_in_threads(lambda _place, _end_ns: stop.wait(30) and None, 1, 0.01)
        stop.set()

    def test_a_place_that_does_not_exist_yet_is_on_its_parents_disk(self, tmp_path: Path) -> None:
        assert place_for(tmp_path / "runs" / "later")[0] == tmp_path

    def test_a_file_is_no_disk(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(UserError, match="is no directory"):
            place_for(tmp_path / "file")

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    def test_a_place_that_can_not_be_written(self) -> None:
        with pytest.raises(UserError, match="can't be written"):
            place_for(Path("/proc"))

    def test_loopback_and_memory(self) -> None:
        found = measure_loopback(0.2, many=3)
        assert found.bytes_per_s > 1e6 and found.round_trip_p50_us > 0
        assert found.many == 3 and found.many_bytes_per_s is not None and found.many_bytes_per_s > 1e6
        assert measure_loopback(0.1, many=1).many_bytes_per_s is None
        assert measure_memory(0.05).copy_bytes_per_s > 1e7


class TestSustained:
    def test_what_waits_in_memory_has_not_reached_the_disk(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Known answer: memory takes 64 MiB before the measured time and nearly all of 8 MiB in it; 1 MiB goes on."""
        monkeypatch.setattr(ceilings_disk, "DEPTH", 1)
        looks: list[int] = []

        def waiting() -> int:
            looks.append(sum(path.stat().st_size for path in tmp_path.glob("append-*")))
            return looks[-1] - (1 << 20) * len(looks)

        found = DiskMeasure(tmp_path).sustain(16 << 20, 10.0, 0.05, waiting)
        assert looks[0] >= 16 << 20, "memory is filled first"
        assert looks[1] > looks[0]
        assert found is not None
        assert 0 < found <= (1 << 20) / 0.05
        assert left_in(tmp_path) == []

    def test_memory_that_takes_everything_leaves_nothing_for_the_disk(self, tmp_path: Path) -> None:
        def waiting() -> int:
            return sum(path.stat().st_size for path in tmp_path.glob("append-*"))

        assert DiskMeasure(tmp_path).sustain(0, 0.0, 0.05, waiting) == 0.0

    def test_nothing_is_reported_while_the_kernel_keeps_all_in_memory(self, tmp_path: Path) -> None:
        disk = DiskMeasure(tmp_path)
        assert disk.sustain(1 << 20, 1.0, 0.01, lambda: 99, waiting_min=100) is None
        assert disk.sustain(1 << 20, 1.0, 0.01, lambda: 100, waiting_min=100) is not None

    def test_it_writes_no_more_than_there_is_room_for(self, tmp_path: Path) -> None:
        most: list[int] = []

        def waiting() -> int:
            most.append(sum(path.stat().st_size for path in tmp_path.glob("append-*")))
            return 0

        DiskMeasure(tmp_path).sustain(8 << 20, 10.0, 10.0, waiting, bytes_max=32 << 20)
        assert 32 << 20 <= most[-1] <= (32 << 20) + ceilings_disk.DEPTH * ceilings_disk.BLOCK_BYTES
        assert sustained_bytes(8 << 30, 1e9, 20.0) == (16 << 30) + 20 * 10**9

    @pytest.mark.parametrize(
        ("direct", "name", "wanted", "free", "why"),
        [
            (True, "ext4 on vda", 40, 60, ""),
            (
                True,
                "ext4 on vda",
                50,
                60,
                "it would write up to 53.7 GB, and 64.4 GB are free, of which 20% must stay so",
            ),
            (True, "ext4 on vda", 130, 1000, "it would take up to 139.6 GB of writing"),
            (False, "zfs on a", 1, 60, "what is written there may never leave memory"),
            (True, "tmpfs", 1, 60, "what is written there may never leave memory"),
        ],
    )
    def test_it_is_refused_where_it_would_harm(self, direct: bool, name: str, wanted: int, free: int, why: str) -> None:
        assert sustained_refusal(direct, name, wanted << 30, free << 30) == why

    def test_it_is_measured_where_it_is_wanted_and_said_how_much_it_writes(
        self, tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ceilings_measure, "dirty_limit_bytes", lambda name="": 0 if name else 8 << 20)
        progress: list[str] = []
        wanted = replace(SHORT, sustain_s=0.2, fill_s=0.1)
        (disk,) = measure_ceilings(
            [tmp_path], wanted, lambda _: None, lambda what, _: progress.append(what), loopback=False
        ).disks
        assert disk.sustained_write_bytes_per_s or disk.sustained_problem
        assert any("sustained" in what for what in progress)
        if disk.direct:
            assert any(what.endswith(" GB") for what in progress)
        assert left_in(tmp_path) == []
        (brief,) = measure_ceilings([tmp_path], SHORT, lambda _: None, lambda *_: None, loopback=False).disks
        assert not (brief.sustained_write_bytes_per_s or brief.sustained_problem)

    def test_a_disk_with_time_to_spare_was_not_at_its_limit(self) -> None:
        words = "the disk was busy only 15% of the time, so it was not the limit"
        assert idle_words((100.0, 5_000), (120.0, 8_000)) == words
        assert idle_words((100.0, 5_000), (120.0, 24_000)) == ""
        assert idle_words((100.0, None), (120.0, None)) == "", "nothing says so"

    @pytest.mark.parametrize(("words", "expected"), [("", 3e8), ("the disk was busy only 15%", None)])
    def test_what_it_took_is_reported_only_if_it_was_busy(
        self, tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch, words: str, expected: float | None
    ) -> None:
        def sustain(_measure: DiskMeasure, _dirty: int, _fill: float, _s: float, waiting: Any, **_: object) -> float:
            waiting()
            return 3e8

        monkeypatch.setattr(ceilings_measure, "dirty_limit_bytes", lambda **_: 8 << 20)
        monkeypatch.setattr(ceilings_measure, "idle_words", lambda _begun, _ended: words)
        monkeypatch.setattr(DiskMeasure, "sustain", sustain)
        wanted = replace(SHORT, sustain_s=0.2, fill_s=0.1)
        (disk,) = measure_ceilings([tmp_path], wanted, lambda _: None, lambda *_: None, loopback=False).disks
        if disk.direct:
            assert (disk.sustained_write_bytes_per_s, disk.sustained_problem) == (expected, words)

    @pytest.mark.parametrize(("reached", "seconds"), [(None, "0.1"), (0.0, "0.2")])
    def test_what_never_reached_the_disk_is_no_rate_of_it(
        self, tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch, reached: float | None, seconds: str
    ) -> None:
        monkeypatch.setattr(DiskMeasure, "sustain", lambda *_, **__: reached)
        wanted = replace(SHORT, sustain_s=0.2, fill_s=0.1)
        (disk,) = measure_ceilings([tmp_path], wanted, lambda _: None, lambda *_: None, loopback=False).disks
        assert disk.sustained_write_bytes_per_s is None
        if disk.direct:
            assert disk.sustained_problem == f"memory took all that could be written in {seconds} s"

    def test_a_disk_that_is_full_meanwhile_keeps_what_was_measured_before(
        self, tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: object, **__: object) -> float:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(DiskMeasure, "sustain", full)
        wanted = replace(SHORT, sustain_s=0.2, fill_s=0.1)
        (disk,) = measure_ceilings([tmp_path], wanted, lambda _: None, lambda *_: None, loopback=False).disks
        assert disk.sustained_write_bytes_per_s is None
        if disk.direct:
            assert disk.write_bytes_per_s
            assert disk.sustained_problem == "No space left on device"

    def test_windows_as_long_are_held_against_it(self) -> None:
        (disk,) = ceilings().ceilings.disks
        known = replace(disk, write_bytes_per_s=1e9, sustained_write_bytes_per_s=4e8)
        assert [known.writes_per_s_of(seconds) for seconds in (15, 20, 600)] == [1e9, 4e8, 4e8]
        assert replace(disk, write_bytes_per_s=1e9).writes_per_s_of(600) == 1e9

    def test_what_waits_is_read_from_the_kernel(self, tmp_path: Path) -> None:
        assert unwritten_bytes(tmp_path) == 0
        (tmp_path / "proc").mkdir()
        (tmp_path / "proc/meminfo").write_text("Dirty:   100 kB\nWriteback:   20 kB\nWritebackTmp:  7 kB\n")
        assert unwritten_bytes(tmp_path) == 120 * 1024


class TestLoopback:
    ONE = LoopbackCeiling(3e9, 20.0, None)
    MANY = replace(ONE, many=8, many_bytes_per_s=8e9)

    def test_the_ceiling_is_that_of_as_many_connections(self) -> None:
        assert [self.MANY.bytes_per_s_over(count) for count in (0, 1, 2, 3, 100)] == [3e9, 3e9, 6e9, 8e9, 8e9]
        assert [self.ONE.bytes_per_s_over(count) for count in (1, 100)] == [3e9, 3e9], "several were not measured"

    def test_several_that_carried_less_than_one_are_no_lower_ceiling(self) -> None:
        slower = replace(self.ONE, many=8, many_bytes_per_s=2e9)
        assert slower.bytes_per_s_over(8) == slower.most_bytes_per_s == 3e9

    def test_cpus_for_two_at_once_are_needed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[int] = []
        monkeypatch.setattr(
            ceilings_measure,
            "_measure_bandwidth",
            lambda _s, connections: float(asked.append(connections) or connections),
        )
        monkeypatch.setattr(ceilings_measure, "_measure_round_trips", lambda _s: [1.0])
        for cpus in (2, 16, 128):
            monkeypatch.setattr(os, "sched_getaffinity", lambda _, cpus=cpus: set(range(cpus)))
            measure_loopback(0.1)
        assert asked == [1, 1, 8, 1, 16]


class TestEffort:
    def test_many_disks_share_the_time(self) -> None:
        assert THOROUGH.within(THOROUGH_S_MAX, 1) == THOROUGH
        sustained_s = 6 * (THOROUGH.sustain_s + THOROUGH.fill_s)
        assert THOROUGH.within(THOROUGH_S_MAX, 6).seconds(6) == pytest.approx(THOROUGH_S_MAX + sustained_s)

    def test_before_a_run_it_is_short(self) -> None:
        assert BRIEF.seconds(1) < 6
        assert BRIEF.sustain_s == 0


class TestDoubts:
    def test_a_bandwidth_that_falls(self) -> None:
        assert fades((400.0, 390.0, 200.0, 100.0))
        assert not fades((400.0, 200.0, 390.0, 380.0))
        assert not fades(())
        (doubt,) = doubts_of(True, Stream(200e6, 100, (400e6, 300e6, 150e6, 100e6)), Stream(9e8, 100, (9e8,) * 4))
        assert "write bandwidth fell from 400 to 100 MB/s" in doubt

    def test_a_steady_one_has_none(self) -> None:
        assert doubts_of(True, Stream(4e8, 100, (4e8,) * 4), Stream(9e8, 100, (9e8,) * 4)) == ()


NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def kept(hours_ago: float, device: str = "254:0", machine: str = "boot/2", *, loopback: bool = True) -> Ceilings:
    found = ceilings().ceilings
    return replace(
        found,
        measured_at=(NOW - timedelta(hours=hours_ago)).isoformat(),
        machine=machine,
        disks=(replace(found.disks[0], device=device),),
        loopback=found.loopback if loopback else None,
    )


def test_a_disk_that_gives_up_is_reported_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measure = DiskMeasure(tmp_path)
    monkeypatch.setattr(os, "pwritev", lambda *_: 17)
    with pytest.raises(OSError, match="only 17 of 1048576 bytes were transferred"):
        measure.write(0.1)


class TestKept:
    @pytest.fixture(autouse=True)
    def own_state(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "state"))

    def fresh(
        self, *found: Ceilings, devices: tuple[str, ...] = ("254:0",), load_average: float = 0.0
    ) -> Ceilings | None:
        return fresh_ceilings(found, "boot/2", devices, NOW, load_average)

    def test_what_is_fresh_serves(self) -> None:
        assert self.fresh(kept(11)) == kept(11)

    @pytest.mark.parametrize(
        "stale",
        [kept(13), kept(-1), kept(1, machine="other/2"), kept(1, device="8:0"), kept(1, loopback=False)],
        ids=["old", "of the future", "of another machine", "of another disk", "without loopback"],
    )
    def test_what_is_not(self, stale: Ceilings) -> None:
        assert self.fresh(stale) is None

    def test_two_disks_from_two_measurements_are_as_old_as_the_older(self) -> None:
        found = self.fresh(kept(1, device="8:0"), kept(5), devices=("254:0", "8:0"))
        assert found is not None
        assert [disk.device for disk in found.disks] == ["254:0", "8:0"]
        assert found.measured_at == kept(5).measured_at

    def test_the_newest_is_taken(self) -> None:
        assert self.fresh(kept(1), kept(2)) == kept(1)

    def test_those_of_a_busy_machine_are_measured_again_once_it_is_calmer(self) -> None:
        busy = replace(kept(1), load_average=7.0)
        assert self.fresh(busy, load_average=7.5) == busy
        assert self.fresh(busy, load_average=6.5) is None
        assert self.fresh(busy, kept(2), load_average=6.5) == kept(2)

    def test_of_two_measurements_the_busier_time_is_reported(self) -> None:
        busy = replace(kept(1, device="8:0"), load_average=7.0)
        found = self.fresh(busy, kept(5), devices=("254:0", "8:0"), load_average=8.0)
        assert found is not None
        assert found.load_average == 7.0

    def test_written_and_read_back_without_those_of_other_machines(self) -> None:
        for measured in (kept(3, machine="other/2"), kept(2), kept(1)):
            keep_ceilings(measured)
        assert kept_ceilings() == [kept(1), kept(2)]

    @pytest.mark.parametrize("text", ["", "[]", '{"schema": 99, "kept": []}', '{"schema": 1, "kept": [{}]}'])
    def test_a_damaged_file_is_none(self, text: str) -> None:
        keep_ceilings(kept(1))
        path_of("ceilings").write_text(text)
        assert kept_ceilings() == []

    def test_the_file_says_its_schema(self) -> None:
        keep_ceilings(kept(1))
        assert json.loads(path_of("ceilings").read_text())["schema"] == SCHEMA


def test_the_machine_is_another_after_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    before = ceilings_measure.machine_id()
    assert before == ceilings_measure.machine_id()
    monkeypatch.setattr(ceilings_measure.procfs, "boot_id", lambda: "another")
    assert ceilings_measure.machine_id() != before


def test_the_clock_of_this_host() -> None:
    found = clock_quality()
    assert found.read_ns > 0 and found.step_ns > 0 and found.resolution_ns > 0
    assert found.error_ms_max is None or found.error_ms_max >= 0


def test_syncs_of_several_files_count_by_the_time_that_all_took() -> None:
    took_ns = np.full(2000, 2_000_000)
    found = ceilings_disk._summarise_syncs("fsync", 4096, 4, took_ns, 1.0)
    assert (found.per_s, found.calls, found.files) == (2000.0, 2000, 4), "four at a time of 2 ms each"
    assert (found.p50_ms, found.p95_ms, found.p99_ms, found.max_ms) == (2.0, 2.0, 2.0, 2.0)
    few = ceilings_disk._summarise_syncs("fsync", 4096, 1, took_ns[:200], 0.4)
    assert (few.per_s, few.p95_ms, few.p99_ms) == (pytest.approx(500.0), 2.0, None)
