"""A trial's result in the JSON of the OpenMessaging Benchmark (OMB), with all its fields and no others.

Periods of ten seconds, as OMB's, or as long as a fork's workload says. Publish latency is from the actual send (our
service time), publish delay the time before it, both as OMB defines them; end-to-end latency is ours, from the intended
time. Units as OMB's: milliseconds, and microseconds for the delay. Source: OMB's classes TestResult, WorkloadGenerator
and WorkerStats.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tidegauge.model.workload import Workload
from tidegauge.places import entries_of_directory
from tidegauge.statistics.histograms import EMPTY, Histogram, add_histograms, sum_of
from tidegauge.store.files import write_bytes, write_files
from tidegauge.store.hlog import each_interval
from tidegauge.store.read import StoredTrial
from tidegauge.store.seconds import read_seconds

PERIOD_S = 10.0
_PERCENTILES = {"50pct": 50.0, "75pct": 75.0, "95pct": 95.0, "99pct": 99.0, "999pct": 99.9, "9999pct": 99.99}
_TICKS_PER_HALF_DISTANCE = 100
_SERIES = {"publishLatency": "service", "publishDelayLatency": "delay", "endToEndLatency": "end-to-end"}
_NS_PER_MS, _NS_PER_US = 1e6, 1e3


def write_omb_result(
    trial: StoredTrial, names: tuple[str, str], workload: Workload, path: Path, period_s: float = PERIOD_S
) -> None:
    """Write a finished trial's result. `names`: of workload and driver. Raises `RunFailedError` if that can't be."""
    text = json.dumps(omb_result(trial.directory, names, workload, period_s), indent=2, allow_nan=False) + "\n"
    write_bytes(path, text.encode())


def keep_omb_files(run: Path, texts: Mapping[str, str]) -> None:
    """Keep the files that a run was made of, by name, in its directory `omb`. Raises `RunFailedError`."""
    write_files(run / "omb", {name: text.encode() for name, text in texts.items()})


def kept_omb_files(run: Path) -> list[str]:
    """Names of the files that `keep_omb_files` kept; none of a run of a campaign."""
    return [path.name for path in entries_of_directory(run / "omb")]


def omb_result(
    directory: Path, names: tuple[str, str], workload: Workload, period_s: float = PERIOD_S
) -> dict[str, Any]:
    """The fields of OMB's result from a finished trial's directory."""
    content: dict[str, Any] = {
        "workload": names[0],
        "driver": names[1],
        "messageSize": workload.payload.message_bytes,
        "topics": workload.topics,
        "partitions": workload.partitions,
        "producersPerTopic": workload.producers,
        "consumersPerTopic": workload.consumers,
    }
    totals = json.loads((directory / "result.json").read_bytes())["totals"]["window"]
    from_ns, until_ns = int(totals["from_mono_ns"]), int(totals["until_mono_ns"])
    rows = read_seconds(directory)
    measured = _rows_of_window(rows, from_ns, until_ns)
    periods = periods_of(measured, from_ns, period_s)
    content |= _rates_by_period(periods)
    window = list(each_interval(directory / "window.hlog"))
    for field, series in _SERIES.items():
        unit_ns = _NS_PER_US if series == "delay" else _NS_PER_MS
        by_second = _by_second(directory / f"{series}.hlog", series, rows)
        merged = [sum_of(by_second.get(row["from_mono_ns"], EMPTY) for row in period) for period in periods]
        figures_of_periods = [_figures_by_ending(histogram, unit_ns) for histogram in merged]
        content |= {
            f"{field}{name}": [figures[name] for figures in figures_of_periods]
            for name in ("Avg", *_PERCENTILES, "Max")
        }
        overall = sum_of(interval.histogram for interval in window if interval.tag.partition("/")[0] == series)
        aggregated = f"aggregated{field[0].upper()}{field[1:]}"
        content |= {f"{aggregated}{name}": value for name, value in _figures_by_ending(overall, unit_ns).items()}
        content[f"{aggregated}Quantiles"] = quantiles(overall, unit_ns)
    return content


def _rows_of_window(rows: Sequence[Mapping[str, Any]], from_ns: int, until_ns: int) -> list[Mapping[str, Any]]:
    """Seconds of the measured window: those with their middle in it, else the one that has most of it.

    A window hardly longer than a second may hold no middle, and scripts for OMB's results need one period at least.
    """
    inside = [row for row in rows if from_ns <= _middle_ns(row) < until_ns]
    if inside or not rows:
        return inside
    return [max(rows, key=lambda row: min(row["until_mono_ns"], until_ns) - max(row["from_mono_ns"], from_ns))]


def periods_of(
    rows: Sequence[Mapping[str, Any]], from_ns: int, period_s: float = PERIOD_S
) -> list[list[Mapping[str, Any]]]:
    """Seconds by periods; a rest shorter than half a period joins the one before."""
    periods: list[list[Mapping[str, Any]]] = []
    for row in rows:
        number = int((_middle_ns(row) - from_ns) / 1e9 / period_s)
        while len(periods) <= number:
            periods.append([])
        periods[number].append(row)
    periods = [period for period in periods if period]
    if len(periods) > 1 and len(periods[-1]) < period_s / 2:
        last = periods.pop()
        periods[-1] = [*periods[-1], *last]
    return periods


def quantiles(histogram: Histogram, unit_ns: float) -> dict[str, float | int]:
    """Values by the share of samples at or below them, in percent, at steps that halve with the distance to 100."""
    values: dict[str, float | int] = {}
    level = 0.0
    while histogram.count and level < 100:
        value_ns = histogram.percentile_ns(level)
        share = 100.0 * (1 - histogram.share_above(value_ns))
        values[repr(share)] = _value_in_unit(value_ns, unit_ns)
        if share >= 100:
            break
        halvings = math.floor(math.log2(100 / (100 - level))) + 1
        level += 100 / (_TICKS_PER_HALF_DISTANCE * 2**halvings)
    if histogram.count:
        values["100.0"] = _value_in_unit(histogram.max_ns(), unit_ns)
    return values


def _rates_by_period(periods: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, list[float] | list[int]]:
    lengths_s = [float(sum(row["until_mono_ns"] - row["from_mono_ns"] for row in period)) / 1e9 for period in periods]

    def rates(column: str) -> list[float]:
        of_periods = zip(periods, lengths_s, strict=True)
        return [sum(row[column] for row in period) / length_s for period, length_s in of_periods]

    return {
        "publishRate": rates("acked_msgs"),
        "publishErrorRate": rates("failed_msgs"),
        "consumeRate": rates("received_msgs"),
        "backlog": [
            sum(max(0, subscription["backlog_msgs"]) for subscription in period[-1]["subscriptions"])
            for period in periods
        ],
    }


def _figures_by_ending(histogram: Histogram, unit_ns: float) -> dict[str, float | int]:
    """Figures of a histogram by the end of a field's name. The mean is never a whole number, as in OMB."""
    return {
        "Avg": histogram.mean_ns() / unit_ns,
        **{
            name: _value_in_unit(histogram.percentile_ns(percentile), unit_ns)
            for name, percentile in _PERCENTILES.items()
        },
        "Max": _value_in_unit(histogram.max_ns(), unit_ns),
    }


def _value_in_unit(value_ns: int, unit_ns: float) -> float | int:
    """A time in OMB's unit, in whose results microseconds are whole ones."""
    return int(value_ns // unit_ns) if unit_ns == _NS_PER_US else value_ns / unit_ns


def _by_second(path: Path, series: str, rows: Sequence[Mapping[str, Any]]) -> dict[int, Histogram]:
    """Samples of all tags by the first instant (monotonic ns) of their second.

    A log counts from its own first interval, which is the first second in which anything of the series was recorded.
    """
    column = f"{series.replace('-', '_')}_max_ms"
    starts = [row["from_mono_ns"] for row in rows if row[column] is not None]
    histograms: dict[int, Histogram] = {}
    for interval in each_interval(path) if starts else []:
        at_ns = starts[0] + round(interval.start_s * 1e9)
        after = bisect_left(starts, at_ns)
        nearest = min(starts[max(0, after - 1) : after + 1], key=lambda start: abs(start - at_ns))
        histograms[nearest] = add_histograms(histograms.get(nearest, EMPTY), interval.histogram)
    return histograms


def _middle_ns(row: Mapping[str, Any]) -> float:
    return float(row["from_mono_ns"] + row["until_mono_ns"]) / 2
