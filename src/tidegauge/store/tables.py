"""Tables that grow by rows while a trial goes, and become a Parquet file each when it ends.

While it grows a table is lines of JSON, each handed to the kernel at once, so that a kill loses nothing: an object a
row or, at half the bytes since rows of days wait there, the names of the columns and then an array a row. Both are read
alike.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegauge.atomic import replacing
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
                self._lines.append(_packed(self._columns))
        return self._lines

    def append(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Append rows. Raises `RunFailedError`."""
        for row in rows:
            values = [_short(row.get(column)) for column in self._columns]
            self.begin().append(_packed(values) if values else json.dumps(row))

    def close(self) -> None:
        """No more rows for now; what there is stays as it is. Twice is fine."""
        if self._lines is not None:
            self._lines.close()
            self._lines = None

    def finish(self) -> None:
        """Turn all rows into Parquet. Raises `RunFailedError`."""
        self.close()
        if self._growing.exists():
            write_parquet(read_lines(self._growing), self._path, self._schema())
            self._growing.unlink(missing_ok=True)


def _packed(values: Sequence[Any]) -> str:
    return json.dumps(list(values), separators=(",", ":"))


def _short(value: Any) -> Any:
    """Nobody measures to more than nine digits; as JSON they would be most of a row. Whole numbers stay whole."""
    if not isinstance(value, float) or value.is_integer():
        return value
    return float(f"{value:.9g}")


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a growing table; a last line cut short by a kill is left out."""
    with path.open("rb") as file:
        yield from _rows(file)


def _rows(lines: Iterable[bytes], names: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            content = json.loads(line)
        except ValueError:
            continue
        if isinstance(content, dict):
            yield content
        elif isinstance(content, list) and not names:
            names = content
        elif isinstance(content, list) and content != names and len(content) == len(names):
            yield dict(zip(names, content, strict=True))


def read_table(directory: Path, name: str) -> Iterator[dict[str, Any]]:
    """The rows of a table, grown up or still growing, oldest first; none if there is no such table.

    Raises `OSError`, `ValueError`.
    """
    finished, growing = directory / f"{name}.parquet", directory / f"{name}.jsonl"
    if finished.exists():
        import pyarrow.parquet as pq

        with pq.ParquetFile(finished) as file:
            for batch in file.iter_batches(batch_size=ROWS_AT_A_TIME):
                yield from batch.to_pylist()
    elif growing.exists():
        yield from read_lines(growing)


def last_lines(path: Path, bytes_max: int, rows_max: int | None = None) -> Iterator[dict[str, Any]]:
    """The newest rows of a growing table, without reading more of a long one. Raises `OSError`, `ValueError`."""
    with path.open("rb") as file:
        head = file.readline()
        names = json.loads(head) if head.startswith(b"[") else ()
        file.seek(max(file.tell() if names else 0, file.seek(0, 2) - bytes_max))
        # The first line may be cut, and so may the last.
        lines = file.read().split(b"\n")
    yield from _rows(lines if rows_max is None else lines[-rows_max - 1 :], names)


Row = dict[str, Any]
EDGES = ("second", "from_mono_ns", "until_mono_ns")
"""Which row it is, and no figure."""


def condensed(rows: Sequence[Row], rows_max: int) -> list[Row]:
    """At most so many rows: of equal stretches each one's first with the largest of every figure.

    Peaks are what a long line must not hide.
    """
    stretch = max(1, math.ceil(len(rows) / rows_max))
    return [_largest(rows[begin : begin + stretch]) for begin in range(0, len(rows), stretch)]


def _largest(rows: Sequence[Row]) -> Row:
    if len(rows) == 1:
        return rows[0]
    # The first one may lack what others have.
    columns = {name: value for row in reversed(rows) for name, value in row.items()}
    return {
        name: value
        if name in EDGES or isinstance(value, str | list)
        else max((row[name] for row in rows if row.get(name) is not None), default=None)
        for name, value in columns.items()
    }


def write_parquet(rows: Iterable[Mapping[str, Any]], path: Path, columns: pa.Schema) -> None:
    """Write all rows to one Parquet file, complete or not at all; some thousand of them are in memory at a time.

    Raises `RunFailedError`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    left = iter(rows)
    try:
        with replacing(path, durable=True) as new, pq.ParquetWriter(new, columns) as writer:
            while batch := [dict(row) for row in islice(left, ROWS_AT_A_TIME)]:
                writer.write_table(pa.Table.from_pylist(batch, schema=columns))
    except OSError as error:
        raise write_failed(path, error) from error
