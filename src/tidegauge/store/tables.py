"""Tables that grow by rows while a trial goes, and become a Parquet file each when it ends.

While it grows a table is lines of JSON: the names of the columns, then an array a row, each handed to the kernel at
once, so that a kill loses nothing. Half the bytes of objects, since rows of days wait there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegauge.atomic import replacing
from tidegauge.store.files import LineFile, write_failed

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_AT_A_TIME = 3600
"""In memory while a table is turned into Parquet."""


class Table:
    """One table that grows. A row has a value for each of `columns`: the name, and pyarrow's name of the type."""

    def __init__(self, directory: Path, name: str, columns: Mapping[str, str], schema: str) -> None:
        self._path = directory / f"{name}.parquet"
        self._growing = directory / f"{name}.jsonl"
        self._columns, self._schema = columns, schema
        self._lines: LineFile | None = None

    def append(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Append rows. Raises `RunFailedError`."""
        for row in rows:
            if self._lines is None:
                self._lines = LineFile(self._growing)
                self._lines.append(json.dumps(list(self._columns), separators=(",", ":")))
            values = [_short(row.get(column)) for column in self._columns]
            self._lines.append(json.dumps(values, separators=(",", ":")))

    def close(self) -> None:
        """No more rows for now; what there is stays as it is. Twice is fine."""
        if self._lines is not None:
            self._lines.close()
            self._lines = None

    def finish(self) -> None:
        """Turn all rows into Parquet. Raises `RunFailedError`."""
        self.close()
        if self._growing.exists():
            import pyarrow as pa

            columns = [pa.field(column, kind) for column, kind in self._columns.items()]
            schema = pa.schema(columns, metadata={"tidegauge.schema": self._schema})
            write_parquet(read_lines(self._growing), self._path, schema)
            self._growing.unlink(missing_ok=True)


def _short(value: Any) -> Any:
    """Nobody measures to more than nine digits; as JSON they would be most of a row. Whole numbers stay whole."""
    if not isinstance(value, float) or value.is_integer():
        return value
    return float(f"{value:.9g}")


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a growing table; a last line cut short by a kill is left out."""
    names: Sequence[str] = ()
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                content = json.loads(line)
            except ValueError:
                continue
            if not isinstance(content, list):
                continue
            if not names:
                names = content
            elif content != names:
                yield dict(zip(names, content, strict=False))


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


def last_lines(path: Path, bytes_max: int) -> Iterator[dict[str, Any]]:
    """The newest rows of a growing table, without reading more of a long one. Raises `OSError`, `ValueError`."""
    with path.open("rb") as file:
        names = json.loads(file.readline())
        file.seek(max(file.tell(), file.seek(0, 2) - bytes_max))
        # The first line may be cut, and so may the last.
        for line in file.read().split(b"\n"):
            try:
                content = json.loads(line)
            except ValueError:
                continue
            if isinstance(content, list) and len(content) == len(names):
                yield dict(zip(names, content, strict=True))


def write_parquet(rows: Iterable[Mapping[str, Any]], path: Path, columns: pa.Schema) -> None:
    """Write all rows to one Parquet file, complete or not at all; some thousand of them are in memory at a time.

    Raises `RunFailedError`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    left = iter(rows)
    try:
        with replacing(path, durable=True) as new, pq.ParquetWriter(new, columns) as writer:
            while batch := [dict(one) for one in islice(left, ROWS_AT_A_TIME)]:
                writer.write_table(pa.Table.from_pylist(batch, schema=columns))
    except OSError as error:
        raise write_failed(path, error) from error
