"""Reading back the .hlog files that Tidegauge wrote (`store.hlog` writes them)."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tidegauge.statistics.histograms import Histogram, decode


@dataclass(frozen=True)
class Interval:
    """One line of a .hlog: seconds after the log's first interval, the series' tag, and the samples."""

    start_s: float
    tag: str
    histogram: Histogram


def read_intervals(path: Path) -> list[Interval]:
    """The intervals of a .hlog file that Tidegauge wrote; none if there is no file, as when nothing was recorded."""
    return list(each_interval(path))


def each_interval(path: Path) -> Iterator[Interval]:
    """The same one after the other: a log of a day does not fit into memory decoded."""
    if not path.exists():
        return
    with path.open() as lines:
        for line in lines:
            if line.startswith(("#", '"')):
                continue
            fields = line.rstrip("\n").split(",")
            tag = fields.pop(0).removeprefix("Tag=") if fields[0].startswith("Tag=") else ""
            yield Interval(float(fields[0]), tag, decode(base64.b64decode(fields[3])))
