"""Looking for messages in servers' data files."""

from __future__ import annotations

import struct
from pathlib import Path

from tidegauge.attestation.data_files import Copy, find_copies, list_data_files

TRIAL = 0xD1CEC0FFEE123456


def header(producer: int, sequence: int, trial: int = TRIAL, magic: bytes = b"TDG1") -> bytes:
    """As `io.tidegauge.worker.engine.message.MessageHeader` writes it."""
    return struct.pack("<4sIQIIQQII", magic, 7, trial, producer, 9, sequence, 123, 48, 0)


def test_every_copy_is_found_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    first, second = tmp_path / "00.log", tmp_path / "deep" / "entry.log"
    first.write_bytes(b"x" * 13 + header(0, 5) + b"y" * 500 + header(1, 5))
    second.write_bytes(header(0, 5))
    found = find_copies([tmp_path], TRIAL, {(0, 5), (1, 5), (0, 6)})
    assert found == {(0, 5): (Copy(first, 13), Copy(second, 0)), (1, 5): (Copy(first, 561),)}


def test_what_is_not_a_message_of_the_trial_is_not_found(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(header(0, 5, trial=TRIAL + 1))
    (tmp_path / "no-magic").write_bytes(header(0, 5, magic=b"none"))
    (tmp_path / "cut-short").write_bytes(header(0, 5)[:20])
    (tmp_path / "tail-only").write_bytes(header(0, 5)[8:])
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "loop").symlink_to(tmp_path / "other")
    assert find_copies([tmp_path], TRIAL, {(0, 5)}) == {}


def test_only_what_is_wanted_is_reported(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(header(0, 1) + header(0, 2))
    assert list(find_copies([tmp_path], TRIAL, {(0, 2)})) == [(0, 2)]


def test_a_segment_is_one_file_whatever_stands_beside_it(tmp_path: Path) -> None:
    (tmp_path / "topic-0").mkdir()
    for name in ("00.log", "00.index", "00.log.deleted", "64.log", ".lock"):
        (tmp_path / "topic-0" / name).touch()
    (tmp_path / "topic-0" / "link.log").symlink_to(tmp_path / "topic-0" / "00.log")
    assert list_data_files([tmp_path, tmp_path]) == [str(tmp_path / "topic-0" / name) for name in (".lock", "00", "64")]
