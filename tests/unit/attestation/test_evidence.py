"""Histories and read logs as the worker writes them, byte by byte."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from histories import history_of
from history_files import TRIAL, header, record, write

from tidegauge.attestation.evidence import RecordKind, load_read, read_history
from tidegauge.errors import RunFailedError
from tidegauge.model.message import Flag, PartitionRead, ReadBack, SendOutcome, Sent


def test_outcomes_are_joined_with_what_was_invoked(tmp_path: Path) -> None:
    write(
        tmp_path,
        3,
        record(RecordKind.INVOKED, 0, 100),
        record(RecordKind.INVOKED, 1, 200),
        record(RecordKind.ACKNOWLEDGED, 1, 250, 2, 17),
        record(RecordKind.INVOKED, 2, 300),
        record(RecordKind.UNKNOWN, 0, 310, 1),
        record(RecordKind.REFUSED, 2, 320, 0),
        record(RecordKind.INVOKED, 3, 400),
    )
    write(tmp_path, 1, record(RecordKind.INVOKED, 0, 90), record(RecordKind.ACKNOWLEDGED, 0, 95, 0, 0))
    history = read_history(tmp_path, TRIAL)
    assert [history.row(i) for i in range(len(history))] == [
        Sent(1, 0, 90, SendOutcome.ACKNOWLEDGED, 95, 0, 0),
        Sent(3, 0, 100, SendOutcome.UNKNOWN, 310, 1),
        Sent(3, 1, 200, SendOutcome.ACKNOWLEDGED, 250, 2, 17),
        Sent(3, 2, 300, SendOutcome.REFUSED, 320, 0),
        Sent(3, 3, 400),
    ]
    assert history.doubts == ()


def test_a_record_cut_short_is_left_out_and_said(tmp_path: Path) -> None:
    path = write(tmp_path, 0, record(RecordKind.INVOKED, 0, 100), record(RecordKind.ACKNOWLEDGED, 0, 110))
    path.write_bytes(path.read_bytes()[:-3])
    history = read_history(tmp_path, TRIAL)
    assert history.row(0).outcome is SendOutcome.UNKNOWN
    assert history.doubts == ("producer-00000.history: the last 29 bytes are part of a record only, and left out",)


def test_what_can_not_be_is_doubted(tmp_path: Path) -> None:
    write(
        tmp_path,
        0,
        record(RecordKind.ACKNOWLEDGED, 9, 50),
        record(RecordKind.INVOKED, 0, 100),
        record(RecordKind.ACKNOWLEDGED, 0, 110),
        record(RecordKind.UNKNOWN, 0, 120),
    )
    history = read_history(tmp_path, TRIAL)
    assert history.row(0).outcome is SendOutcome.ACKNOWLEDGED
    assert history.row(0).resolved_ns == 110
    assert [doubt.split(": ")[1] for doubt in history.doubts] == [
        "outcomes of messages that were never invoked",
        "outcomes reported twice; the first counts",
    ]


def test_an_empty_history_of_a_producer_is_one(tmp_path: Path) -> None:
    write(tmp_path, 0)
    history = read_history(tmp_path, TRIAL)
    assert len(history) == 0
    assert history.doubts == ()
    assert history.newest_before(10) == -1


def test_only_an_outcome_is_doubted(tmp_path: Path) -> None:
    write(tmp_path, 0, record(RecordKind.ACKNOWLEDGED, 0, 110))
    assert len(read_history(tmp_path, TRIAL).doubts) == 1


def test_files_that_are_no_histories_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFailedError, match="There is no history in"):
        read_history(tmp_path, TRIAL)
    path = write(tmp_path, 0, trial=1)
    with pytest.raises(RunFailedError, match="is the history of trial 1, not of fedcba9876543210"):
        read_history(tmp_path, TRIAL)
    path.write_bytes(b"x" * 31)
    with pytest.raises(RunFailedError, match="it has 31 bytes, less than its header"):
        read_history(tmp_path, TRIAL)
    path.write_bytes(header(b"TGHIST01", 24))
    with pytest.raises(RunFailedError, match="or one of another version"):
        read_history(tmp_path, TRIAL)


def test_the_instants_of_a_history() -> None:
    history = history_of(
        [
            Sent(0, 0, 100, SendOutcome.ACKNOWLEDGED, 150),
            Sent(0, 1, 200, SendOutcome.ACKNOWLEDGED, 290),
            Sent(0, 2, 260, SendOutcome.UNKNOWN, 900),
            Sent(0, 3, 280),
            Sent(0, 4, 400, SendOutcome.ACKNOWLEDGED, 450),
            Sent(0, 5, 500, SendOutcome.REFUSED, 510),
        ]
    )
    assert history.acknowledged_between(140, 290) == 2
    assert history.acknowledged_between(151, 289) == 0
    assert history.in_flight_at(285) == 3
    assert history.in_flight_at(99) == 0
    assert history.newest_before(300) == 290
    assert history.newest_before(289) == 280
    assert history.first_acknowledged_after(250) == 450
    assert history.first_acknowledged_after(400) == -1


def read_file(tmp_path: Path, body: bytes, messages: int, trial: int = TRIAL) -> ReadBack:
    path = tmp_path / "pass.read"
    path.write_bytes(header(b"TGREAD01", 40, trial=trial) + body)
    return ReadBack(path, 1, 2, (PartitionRead(0, 0, messages, True, end="offset 2"),))


def test_where_the_last_messages_were_acknowledged() -> None:
    history = history_of(
        [
            Sent(0, 0, 10, SendOutcome.ACKNOWLEDGED, 15, 0, 900),
            Sent(0, 1, 20, SendOutcome.ACKNOWLEDGED, 35, 0, 901),  # On its way in a cut at 30: it may be gone.
            Sent(0, 2, 40, SendOutcome.ACKNOWLEDGED, 45, 0, 7),
            Sent(1, 0, 41, SendOutcome.ACKNOWLEDGED, 44, 1, 3),
            Sent(1, 1, 42, SendOutcome.UNKNOWN, 50, 1, 9),
            Sent(1, 2, 43, SendOutcome.ACKNOWLEDGED, 52, -1, -1),  # A client that gives no positions.
        ]
    )
    assert history.last_positions(0) == {(0, 0): 901, (0, 1): 3}
    assert history.last_positions(30) == {(0, 0): 7, (0, 1): 3}
    assert history_of([]).last_positions(0) == {}


def test_a_read_log(tmp_path: Path) -> None:
    body = struct.pack("<qqIIIIII", 7, 40, 3, 1, 0, 2, 0, 0) + struct.pack(
        "<qqIIIIII", -1, 41, 0xFFFFFFFF, 0, 0, 2, 3, 0
    )
    read = load_read("first read", read_file(tmp_path, body, 2), TRIAL)
    assert (read.sequence.tolist(), read.position.tolist(), read.partition.tolist()) == ([7, -1], [40, 41], [2, 2])
    assert read.producer[0] == 3
    assert read.flags.tolist() == [0, Flag.CORRUPT | Flag.UNATTRIBUTED]
    assert read.intact.tolist() == [True, False]
    assert read.incomplete == ()


def test_a_read_log_that_does_not_fit_what_the_worker_said_is_refused(tmp_path: Path) -> None:
    body = struct.pack("<qqIIIIII", 7, 40, 3, 1, 0, 2, 0, 0)
    with pytest.raises(RunFailedError, match="has 40 bytes of records; the worker says it wrote 80"):
        load_read("r", read_file(tmp_path, body, 2), TRIAL)
    with pytest.raises(RunFailedError, match="was read for trial 9"):
        load_read("r", read_file(tmp_path, body, 1, trial=9), TRIAL)
    answer = read_file(tmp_path, body, 1)
    answer.file.write_bytes(b"TGREAD01")
    with pytest.raises(RunFailedError, match="less than its header"):
        load_read("r", answer, TRIAL)
    answer.file.write_bytes(header(b"TGHIST01", 32))
    with pytest.raises(RunFailedError, match="is no read log"):
        load_read("r", answer, TRIAL)
