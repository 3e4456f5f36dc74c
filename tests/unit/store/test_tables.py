"""Growing tables, of objects and of arrays: written, cut short, read to their end, and turned into Parquet."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from tidegauge.store.tables import FLOAT, INT, Table, last_lines, read_lines, read_table

ROWS = [{"second": number, "rate": number / 8} for number in range(50)]
KINDS = {"second": INT, "rate": FLOAT}


def table(directory: Path, columns: tuple[str, ...]) -> Table:
    return Table(directory, "t", lambda: pa.schema({"second": pa.int64(), "rate": pa.float64()}), columns)


@pytest.fixture(params=[(), ("second", "rate")], ids=["objects", "arrays"])
def growing(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    """A table with `ROWS`."""
    made = table(tmp_path, request.param)
    made.append(ROWS)
    return made


def test_rows_read_alike_while_it_grows_and_when_it_is_finished(growing: Table, tmp_path: Path) -> None:
    assert list(read_table(tmp_path, "t", KINDS)) == ROWS
    growing.finish()
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]
    assert list(read_table(tmp_path, "t", KINDS)) == ROWS


def test_a_line_cut_short_or_damaged_loses_that_row_only(growing: Table, tmp_path: Path) -> None:
    growing.close()
    path = tmp_path / "t.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[-3] = b"\xff\x00\n"
    path.write_bytes(b"".join(lines)[:-4])
    assert list(read_lines(path)) == [row for row in ROWS if row["second"] not in (47, 49)]
    assert [row["second"] for row in last_lines(path, KINDS, 1 << 20)][-2:] == [46, 48]


def test_of_a_long_one_only_the_end_is_read(growing: Table, tmp_path: Path) -> None:
    growing.close()
    newest = list(last_lines(tmp_path / "t.jsonl", KINDS, 200))
    assert 3 < len(newest) < 25
    assert newest == ROWS[-len(newest) :]
    assert list(last_lines(tmp_path / "t.jsonl", KINDS, 1 << 20)) == ROWS
    assert list(last_lines(tmp_path / "t.jsonl", KINDS, 1 << 20, rows_max=3)) == ROWS[-3:]


def test_a_table_that_goes_on_after_a_kill_keeps_the_rows_before_it(tmp_path: Path) -> None:
    for row in ROWS[:2]:
        made = table(tmp_path, ("second", "rate"))
        made.append([row])
        made.close()
    assert list(read_table(tmp_path, "t", KINDS)) == ROWS[:2], "the line of names stands in it twice"


def test_objects_are_written_as_they_are_and_arrays_shortened(tmp_path: Path) -> None:
    row = {"second": 1, "rate": 1.23456789012345}
    for columns in ((), ("second", "rate")):
        made = table(tmp_path, columns)
        made.append([row])
        made.close()
    assert (tmp_path / "t.jsonl").read_text().splitlines() == [
        json.dumps(row),
        '["second","rate"]',
        "[1,1.23456789]",
    ]
