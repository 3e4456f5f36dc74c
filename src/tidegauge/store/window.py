"""The measured window of a trial, second by second, from what was read back of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegauge.statistics.histograms import Histogram
from tidegauge.store.details import TrialDetails
from tidegauge.store.intervals import read_intervals


def window_rows(details: TrialDetails) -> list[Mapping[str, Any]]:
    """The rows of `seconds.parquet` that lie in the window; [] where they are not known."""
    if details.window_ns is None:
        return []
    begin, end = details.window_ns
    return [row for row in details.seconds if row["from_mono_ns"] >= begin and row["until_mono_ns"] <= end]


def response_by_second(details: TrialDetails) -> list[Histogram]:
    """Response times of each second of the window, by when their acknowledgements came; [] if they can't be read.

    A log counts, in ms, from its first interval, which is the first second with an acknowledgement.
    """
    try:
        intervals = read_intervals(details.trial.directory / "response.hlog")
    except (OSError, ValueError, IndexError):
        return []
    base = next((row["from_mono_ns"] for row in details.seconds if row["acked_msgs"]), None)
    if base is None:
        return []
    by_start_ms = {round(one.start_s * 1000): one.histogram for one in intervals}
    starts_ms = [round((row["from_mono_ns"] - base) / 1e6) for row in window_rows(details)]
    found = [_near(by_start_ms, start_ms) for start_ms in starts_ms]
    return [histogram for histogram in found if histogram is not None]


def _near(by_start_ms: Mapping[int, Histogram], start_ms: int) -> Histogram | None:
    """The interval that begins then, as far as rounding tells."""
    return next((by_start_ms[at] for at in (start_ms, start_ms - 1, start_ms + 1) if at in by_start_ms), None)
