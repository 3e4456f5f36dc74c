"""Bytes that a trial needs of disks, with known answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from run_samples import spec

from tidegauge.errors import DiskFullError
from tidegauge.hosts import storage
from tidegauge.hosts.storage import free_space
from tidegauge.model.disk_needs import FREE_BYTES_BEFORE, check_before, journal_bytes, needed_rooms, stays_bytes
from tidegauge.model.host import FreeSpace
from tidegauge.model.trial import LoadSpec
from tidegauge.model.workload import LateReaders, Payload
from tidegauge.report.lists import disk_words

GIB = 1 << 30
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
    check_before("t", needed_rooms(catching_up(), on_disks(monkeypatch, THEIRS, THEIRS, THEIRS), [], free_space))
    (alone,) = needed_rooms(catching_up(), on_disks(monkeypatch, THEIRS)[:1] * 3, [], free_space)
    assert alone.needed_bytes > 2.5 * THEIRS, "three copies on one disk are three times as much"
    with pytest.raises(DiskFullError, match=r"Not enough room for .* may need 6,5"):
        check_before("t", needed_rooms(catching_up(), on_disks(monkeypatch, THEIRS)[:1] * 3, [], free_space))


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
        room.places: room.needed_bytes
        for room in needed_rooms(catching_up(), [first, second, first], [third] * 3, free_space)
    }
    stays, journal = stays_bytes(catching_up()), journal_bytes(catching_up())
    floor = FREE_BYTES_BEFORE
    assert found == {(first,): 2 * stays + floor, (second,): stays + floor, (third,): 3 * journal + floor}


def test_two_disks_of_a_node_have_room_together_and_the_last_of_them_a_journals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trial, floor = catching_up(), FREE_BYTES_BEFORE
    stays, journal = stays_bytes(trial), journal_bytes(trial)
    half = stays // 2 + journal + floor
    disks = on_disks(monkeypatch, *[half] * 6)
    check_before("t", needed_rooms(trial, disks, [], free_space))
    found = {room.places: (room.needed_bytes, room.free_bytes) for room in needed_rooms(trial, disks, [], free_space)}
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
        stays_bytes(trial) + 2 * FREE_BYTES_BEFORE
    }
    with pytest.raises(DiskFullError, match=r"and /journals on 10\.7\.0\.3 has 2\.0 GiB free"):
        check_before("t", needed_rooms(trial, data, journals, look, alone))
    together = needed_rooms(trial, data, journals, look, {**alone, 3: "10.7.0.2"})
    assert [str(room) for room in together if "/data" in str(room)] == [
        "/data1 on 10.7.0.2",
        "/data2 on 10.7.0.3",
    ]
    assert together[0].needed_bytes == 2 * stays_bytes(trial) + FREE_BYTES_BEFORE


def test_a_full_disk_of_a_journal_is_seen_before_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    disks = on_disks(monkeypatch, *[10 * THEIRS] * 5, GIB)
    with pytest.raises(DiskFullError, match=r"and /disk5 has 1\.0 GiB free"):
        check_before("t", needed_rooms(catching_up(), disks, [], free_space))
    apart = needed_rooms(catching_up(), disks, disks[:3], free_space)
    assert all(room.free_bytes >= room.needed_bytes for room in apart), "its journal is elsewhere"
    with pytest.raises(DiskFullError, match="/disk0 and /disk3 together have"):
        check_before(
            "t",
            needed_rooms(catching_up(), on_disks(monkeypatch, *[stays_bytes(catching_up()) // 3] * 6), [], free_space),
        )


def test_the_plan_says_which_disk_has_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = on_disks(monkeypatch, THEIRS, GIB, THEIRS)
    words = disk_words([catching_up(), spec()], places=((first, second, third), ()))
    assert words.count("free on the disk of") == 3
    assert words.count("TOO LITTLE") == 1
    assert "free on the disk of /disk1 (it has 1.0 GiB: TOO LITTLE" in words
