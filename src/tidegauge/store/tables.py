"""Tables that grow by rows while a trial goes, and become a Parquet file each when it ends.

While it grows a table is lines of JSON, each handed to the kernel at once, so that a kill loses nothing: an object a
row or, at half the bytes since rows of days wait there, the names of the columns and then an array a row. Both are read
alike.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tidegauge.atomic import replacing
from tidegauge.extras import has_package, require_package
from tidegauge.plain import is_unicode
from tidegauge.regular import open_regular
from tidegauge.store.files import LineFile, write_failed

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_AT_A_TIME = 3600
"""In memory while a table is turned into Parquet."""


INT, FLOAT, TEXT = "int64", "float64", "string"
"""Types of columns, as pyarrow calls them."""


def parquet_schema(schema: str, columns: Mapping[str, Any]) -> pa.Schema:
    """Names and types of a table's columns. Made when first needed: plans and help do without pyarrow."""
    import pyarrow as pa

    fields = [pa.field(column, kind) for column, kind in columns.items()]
    return pa.schema(fields, metadata={"tidegauge.schema": schema})


class Table:
    """One table that grows.

    Args:
        schema: of the Parquet file; asked for when the table is finished, since plans and help do without pyarrow.
        columns: names of all columns of a table of arrays; () for one of objects.
    """

    def __init__(
        self, directory: Path, name: str, schema: Callable[[], pa.Schema], columns: Sequence[str] = ()
    ) -> None:
        self._path = directory / f"{name}.parquet"
        self._growing = directory / f"{name}.jsonl"
        self._columns, self._schema = columns, schema
        self._lines: LineFile | None = None

    def begin(self) -> LineFile:
        """The file, made with the first row if not before. Raises `RunFailedError`."""
        if self._lines is None:
            self._lines = LineFile(self._growing)
            if self._columns:
                self._lines.append(_pack_json(self._columns))
        return self._lines

    def append(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Append rows. Raises `RunFailedError`."""
        for row in rows:
            values = [_shorten_number(row.get(column)) for column in self._columns]
            self.begin().append(_pack_json(values) if values else json.dumps(row))

    def close(self) -> None:
        """No more rows for now; what there is stays as it is. Twice is fine."""
        if self._lines is not None:
            self._lines.close()
            self._lines = None

    def finish(self) -> None:
        """Turn all rows into Parquet; without pyarrow they stay lines, read alike. Raises `RunFailedError`."""
        self.close()
        if self._growing.exists() and has_package("pyarrow"):
            write_parquet(read_lines(self._growing), self._path, self._schema())
            self._growing.unlink(missing_ok=True)


def _pack_json(values: Sequence[Any]) -> str:
    return json.dumps(list(values), separators=(",", ":"))


def _shorten_number(value: Any) -> Any:
    """Nobody measures to more than nine digits; as JSON they would be most of a row. Whole numbers stay whole."""
    if not isinstance(value, float) or value.is_integer():
        return value
    return float(f"{value:.9g}")


ROW_BYTES_MAX = 16 << 20
"""Of a line: a second of a thousand subscriptions has some hundred thousand."""
_GROWING_BYTES_MAX = 1 << 36
_PARQUET_BYTES_MAX = 1 << 34
_GROUP_BYTES_MAX = 1 << 30
"""Of a group of rows of a Parquet file when it is unpacked: they are written `ROWS_AT_A_TIME`."""
_GROUP_VALUES_MAX = 1 << 22
"""Of a column in a group of rows: of lists in each it has more than there are rows, and the same ones take no bytes."""
_BATCH_BYTES_MAX = 1 << 28
"""Of rows that are unpacked at once, were each text of a column all that the column has: a dictionary has it once."""
TEXT_CHARS_MAX = 1 << 16
"""A text in a table that is longer is none of ours."""
ROWS_READ_MAX = 20_000_000
"""A table of more rows is none of ours: a file of some hundred kilobytes can claim any number."""

ColumnKinds = Mapping[str, Any]
"""The type of each column, as pyarrow calls it; of a list of objects the `ColumnKinds` of these."""


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a growing table; a last line cut short by a kill is left out. Raises `OSError`, `ValueError`."""
    with open_regular(path, _GROWING_BYTES_MAX) as file:
        yield from _parse_rows(bounded_lines(file))


def bounded_lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file. Raises `ValueError` for one that is longer than any of ours."""
    while line := file.readline(ROW_BYTES_MAX):
        if len(line) == ROW_BYTES_MAX:
            raise ValueError(f"a line of more than {ROW_BYTES_MAX:,} bytes")
        yield line


def _parse_rows(lines: Iterable[bytes], names: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            content = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(content, dict):
            yield content
        elif isinstance(content, list) and not names:
            names = _column_names(content)
        elif isinstance(content, list) and content != names and len(content) == len(names):
            yield dict(zip(names, content, strict=True))


def _column_names(head: object) -> list[str]:
    """The names of columns in the first line of a table of arrays. Raises `ValueError` if they are none."""
    if isinstance(head, list) and all(isinstance(name, str) for name in head):
        return head
    raise ValueError("no names of columns")


def read_table(
    directory: Path, name: str, kinds: ColumnKinds, rows_max: int = ROWS_READ_MAX
) -> Iterator[dict[str, Any]]:
    """The rows of a table, grown up or still growing, oldest first; none if there is no such table.

    Each has all columns of `kinds` and no others, None where there is no value; what has other types is left out.

    Raises `OSError`, `ValueError`.
    """
    finished, growing = directory / f"{name}.parquet", directory / f"{name}.jsonl"
    if os.path.lexists(finished):
        rows = _parquet_rows(finished, list(kinds), rows_max)
    elif os.path.lexists(growing):
        rows = islice(read_lines(growing), rows_max)
    else:
        return
    for row in rows:
        fitted = fit_row(row, kinds)
        if fitted is not None:
            yield fitted


def _parquet_rows(path: Path, columns: list[str], rows_max: int) -> Iterator[dict[str, Any]]:
    require_package("pyarrow", "Tables of this run")
    import pyarrow.parquet as pq

    with open_regular(path, _PARQUET_BYTES_MAX) as source, pq.ParquetFile(source) as file:
        head = file.metadata
        groups_bytes = [head.row_group(number).total_byte_size for number in range(head.num_row_groups)]
        parts = [
            head.row_group(group).column(column)
            for group in range(head.num_row_groups)
            for column in range(head.num_columns)
        ]
        values = max((part.num_values for part in parts), default=0)
        too_large = max(groups_bytes, default=0) > _GROUP_BYTES_MAX or values > _GROUP_VALUES_MAX
        if head.num_rows > rows_max or too_large:
            raise ValueError(
                f"a table of {head.num_rows:,} rows, {sum(groups_bytes):,} bytes unpacked, {values:,} values at once"
            )
        # Unpacked but for dictionaries.
        texts_bytes = max(
            (part.total_uncompressed_size for part in parts if part.physical_type == "BYTE_ARRAY"), default=0
        )
        rows_at_a_time = min(ROWS_AT_A_TIME, max(1, _BATCH_BYTES_MAX // max(1, texts_bytes)))
        for batch in file.iter_batches(batch_size=rows_at_a_time, columns=columns):
            yield from batch.to_pylist()


def fit_row(row: Mapping[str, Any], kinds: ColumnKinds) -> dict[str, Any] | None:
    """A row with all columns of `kinds` and no others; None if one has another type, or it is of no stretch of time.

    Numbers that there are not (NaN) are None.
    """
    fitted: dict[str, Any] = {}
    for column, kind in kinds.items():
        value = row.get(column)
        if isinstance(kind, Mapping):
            parts = [
                fit_row(part, kind) if isinstance(part, dict) else None
                for part in (value if isinstance(value, list) else [])
            ]
            if (value is not None and not isinstance(value, list)) or None in parts:
                return None
            fitted[column] = parts
            continue
        if isinstance(value, float) and not math.isfinite(value):
            value = None
        if value is not None and not _is_of_kind(value, kind):
            return None
        fitted[column] = value
    if any(column in kinds and fitted[column] is None for column in EDGES):
        return None
    backwards = "until_mono_ns" in kinds and not 0 <= fitted["from_mono_ns"] <= fitted["until_mono_ns"]
    return None if backwards else fitted


def _is_of_kind(value: object, kind: str) -> bool:
    if isinstance(value, str) and len(value) > TEXT_CHARS_MAX:
        raise ValueError(f"a text of {len(value):,} characters")
    if kind == TEXT:
        return isinstance(value, str) and is_unicode(value)
    whole = isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63
    return whole or (kind == FLOAT and isinstance(value, float))


def last_lines(path: Path, kinds: ColumnKinds, bytes_max: int, rows_max: int | None = None) -> Iterator[dict[str, Any]]:
    """The newest rows of a growing table, without reading more of a long one. Raises `OSError`, `ValueError`."""
    with open_regular(path, _GROWING_BYTES_MAX) as file:
        head = file.readline(ROW_BYTES_MAX)
        names = _column_names(json.loads(head)) if head.startswith(b"[") else ()
        file.seek(max(file.tell() if names else 0, file.seek(0, 2) - bytes_max))
        # The first line may be cut, and so may the last.
        lines = file.read(bytes_max).split(b"\n")
    newest = _parse_rows(lines if rows_max is None else lines[-rows_max - 1 :], names)
    fitted = (fit_row(row, kinds) for row in newest)
    yield from (row for row in fitted if row is not None)


Row = dict[str, Any]
EDGES = ("second", "from_mono_ns", "until_mono_ns")
"""Which row it is, and no figure."""
ROWS_MAX = 7200
"""In memory at once; beyond it, neighbours are merged (`condense_rows`)."""


def condense_stream(rows: Iterable[Row], rows_max: int) -> list[Row]:
    """Condense rows as `condense_rows` does, without ever holding many more."""
    rows_kept: list[Row] = []
    kept_max = max(ROWS_MAX, 2 * rows_max)
    for row in rows:
        rows_kept.append(row)
        if len(rows_kept) >= kept_max:
            rows_kept = condense_rows(rows_kept, kept_max // 2)
    return condense_rows(rows_kept, rows_max)


def condense_rows(rows: Sequence[Row], rows_max: int) -> list[Row]:
    """At most so many rows: of equal stretches the first with the least of every figure, the middle with the largest.

    A long line must hide neither dips nor peaks; of a single row it can show the peaks alone.
    """
    if len(rows) <= rows_max:
        return list(rows)
    if rows_max < 2:
        return [_reduce_rows(rows, rows[0], max)]
    stretch = math.ceil(len(rows) / (rows_max // 2))
    rows_kept = []
    for begin in range(0, len(rows), stretch):
        part = rows[begin : begin + stretch]
        rows_kept.append(_reduce_rows(part, part[0], min))
        if len(part) > 1:
            rows_kept.append(_reduce_rows(part, part[len(part) // 2], max))
    return rows_kept


def _reduce_rows(rows: Sequence[Row], like: Row, choose: Callable[[Iterable[Any]], Any]) -> Row:
    """A row of what is chosen of the figures of all. `like`: whose edges and words it has."""
    columns: Row = {}
    for row in (*reversed(rows), like):  # One of them may lack what others have.
        columns.update({name: value for name, value in row.items() if value is not None or name not in columns})
    values_by_column = {name: [row[name] for row in rows if row.get(name) is not None] for name in columns}
    return {
        name: value
        if name in EDGES or isinstance(value, str | list) or value is None
        else choose(values_by_column[name])
        for name, value in columns.items()
    }


def write_parquet(rows: Iterable[Mapping[str, Any]], path: Path, columns: pa.Schema) -> None:
    """Write all rows to one Parquet file, complete or not at all; some thousand of them are in memory at a time.

    Raises `RunFailedError`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows_left = iter(rows)
    try:
        with replacing(path, durable=True) as new, pq.ParquetWriter(new, columns) as writer:
            while batch := [dict(row) for row in islice(rows_left, ROWS_AT_A_TIME)]:
                writer.write_table(pa.Table.from_pylist(batch, schema=columns))
    except OSError as error:
        raise write_failed(path, error) from error
