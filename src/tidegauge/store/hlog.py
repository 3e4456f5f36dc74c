"""HdrHistogram interval logs, format 1.3, as HdrHistogram's own HistogramLogWriter writes and its tools read.

Values are in ns; the column Interval_Max is in ms, as that format's convention has it. Times count from the first
interval, whose wall-clock time stands in the head. Source: HdrHistogram 2.2.2, `HistogramLogWriter`.
"""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tidegauge.regular import open_regular
from tidegauge.statistics.histograms import Histogram, compressed, decode_histogram
from tidegauge.store.files import LineFile
from tidegauge.store.tables import bounded_lines

NS_PER_MS = 1_000_000.0
_BYTES_MAX = 1 << 36
_SECONDS_MAX = 1e9
"""After a log's first interval: thirty years."""


class IntervalLog:
    """One .hlog file, appended line by line. The head is written with the first interval."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: LineFile | None = None
        self._base_mono_ns = 0

    def append(
        self, encoded: bytes, from_mono_ns: int, until_mono_ns: int, tag: str = "", max_ms: float | None = None
    ) -> None:
        """Append one interval's histogram. An empty `encoded` (nothing recorded) leaves no line.

        Args:
            tag: names one of several series in the file; no comma, blank or line break.
            max_ms: the largest value, where it is known already: each second there are several histograms to append
                beside the systems that are measured.

        Raises `RunFailedError` if the file can't be written.
        """
        if not encoded:
            return
        if self._file is None:
            self._base_mono_ns = from_mono_ns
            wall_s = time.time() - (time.monotonic_ns() - from_mono_ns) / 1e9
            written_out = time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(wall_s))
            self._file = LineFile(self._path)
            self._file.append(
                "#[Histogram log format version 1.3]\n"
                f"#[StartTime: {wall_s:.3f} (seconds since epoch), {written_out}]\n"
                f"#[BaseTime: {wall_s:.3f} (seconds since epoch)]\n"
                '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'
            )
        file = self._file
        whole = compressed(encoded)
        text = base64.b64encode(whole).decode()
        largest = decode_histogram(whole).max_ns() / NS_PER_MS if max_ms is None else max_ms
        start_s = max(0, from_mono_ns - self._base_mono_ns) / 1e9
        length_s = (until_mono_ns - from_mono_ns) / 1e9
        name = f"Tag={tag}," if tag else ""
        file.append(f"{name}{start_s:.3f},{length_s:.3f},{largest:.3f},{text}")

    def close(self, durable: bool = False) -> None:
        """Close the file, if there is one."""
        if self._file is not None:
            self._file.close(durable)


@dataclass(frozen=True)
class LogInterval:
    """One line of a .hlog: seconds after the log's first interval, the series' tag, and the samples."""

    start_s: float
    tag: str
    histogram: Histogram


def each_interval(path: Path) -> Iterator[LogInterval]:
    """The intervals of a .hlog file that Tidegauge wrote; none if there is no file, as when nothing was recorded.

    One after the other: a log of a day does not fit into memory decoded. Raises `OSError`, `ValueError`.
    """
    if not os.path.lexists(path):
        return
    with open_regular(path, _BYTES_MAX) as file:
        for line in bounded_lines(file):
            if line.startswith((b"#", b'"')):
                continue
            fields = line.decode().rstrip("\n").split(",")
            tag = fields.pop(0).removeprefix("Tag=") if fields[0].startswith("Tag=") else ""
            if len(fields) < 4 or not 0 <= (start_s := float(fields[0])) <= _SECONDS_MAX:
                raise ValueError(f"{path}: a line that is no interval")
            yield LogInterval(start_s, tag, decode_histogram(base64.b64decode(fields[3])))
