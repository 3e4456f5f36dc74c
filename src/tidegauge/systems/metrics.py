"""Servers' own figures, from HTTP in Prometheus's text format or as JSON: a short declared list for each system.

A system's folder says which figures matter and where to fetch them; everything here is the same for all. Pure, except
for `fetch_text`.

Source: https://github.com/prometheus/docs/blob/main/docs/instrumenting/exposition_formats.md
"""

from __future__ import annotations

import http.client
import json
import math
import re
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

FETCH_S_MAX = 5.0
FETCH_BYTES_MAX = 16 << 20
"""A server with very many topics reports more; then it is asked no further, because answering costs it too much."""


class MetricKind(StrEnum):
    """How a figure comes from what is reported."""

    GAUGE = "gauge"
    """As reported."""
    RATE = "rate"
    """Growth of a counter a second."""
    MEAN = "mean"
    """Growth of a sum over growth of its count: the mean of what happened since the last look."""


class Combine(StrEnum):
    """How several series (of topics, listeners, cores) become one figure of a process."""

    SUM = "sum"
    MAX = "max"
    MIN = "min"
    MEAN = "mean"


@dataclass(frozen=True)
class Metric:
    """One figure that matters.

    Attributes:
        name: in Tidegauge's words, its unit last.
        meaning: one clause for the reference.
        series: name of the sample as the server reports it, a regular expression where it holds a number or a path. Of
            JSON the keys down to a number: "jetstream.stats.storage".
        labels: that a series must have, with their values.
        count_series: for `MetricKind.MEAN`, the sample that counts.
        factor: from the server's unit to ours.
        is_sync_ms: whether it is the mean time of a sync to disk, in ms.
    """

    name: str
    meaning: str
    series: str
    kind: MetricKind = MetricKind.GAUGE
    combine: Combine = Combine.SUM
    labels: Mapping[str, str] = field(default_factory=dict)
    count_series: str = ""
    factor: float = 1.0
    is_sync_ms: bool = False


@dataclass(frozen=True)
class Endpoint:
    """Where one process reports its figures."""

    process: str
    url: str


Reported = Mapping[str, float]
"""By metric: what a server reported at one moment, series combined. Counters and sums as they stand."""


def fetch_text(url: str, seconds_max: float = FETCH_S_MAX) -> str:
    """The text of an endpoint. Raises `OSError`, `ValueError` if there is far too much of it."""
    # Never by a proxy: endpoints are on loopback, on hosts of the fleet, or of a cluster that clients reach directly.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url, headers={"Accept": "text/plain"})
    try:
        with opener.open(request, timeout=seconds_max) as answer:
            content: bytes = answer.read(FETCH_BYTES_MAX + 1)
            if answer.length and len(content) <= FETCH_BYTES_MAX:
                raise http.client.IncompleteRead(content)
    except http.client.HTTPException as error:
        # A server that is killed in the middle of its answer; not all of these are `OSError`s.
        raise OSError(f"its answer broke off ({type(error).__name__})") from error
    if len(content) > FETCH_BYTES_MAX:
        raise ValueError(f"it reports more than {FETCH_BYTES_MAX >> 20} MiB")
    return content.decode("utf-8", "replace")


def read_text(text: str, metrics: Sequence[Metric]) -> dict[str, float]:
    """The declared metrics in a text; those that are not in it are left out.

    Only their own lines are parsed: a server with many topics reports a thousand times as many.
    """
    if text.lstrip().startswith("{"):
        samples_by_name: _Samples = {name: [({}, value)] for name, value in _numbers_in(json.loads(text))}
    else:
        samples_by_name = _declared_samples(text, metrics)
    reported: dict[str, float] = {}
    for metric in metrics:
        for series, key in ((metric.series, metric.name), (metric.count_series, _count_key(metric))):
            if not series:
                continue
            alike = [samples for name, samples in samples_by_name.items() if re.fullmatch(series, name)]
            values = [
                value
                for samples in alike
                for labels, value in samples
                if all(labels.get(name) == value for name, value in metric.labels.items())
            ]
            if values:
                reported[key] = combine_series(values, metric.combine)
    return reported


_Samples = dict[str, list[tuple[Mapping[str, str], float]]]


def _numbers_in(value: object, name: str = "") -> Iterator[tuple[str, float]]:
    """Yields every number in JSON's objects with the keys that lead to it."""
    if isinstance(value, dict):
        for key, content in value.items():
            yield from _numbers_in(content, f"{name}.{key}" if name else str(key))
    elif isinstance(value, int | float):
        yield name, float(value)


def _declared_samples(text: str, metrics: Sequence[Metric]) -> _Samples:
    from prometheus_client.parser import text_string_to_metric_families  # Not needed before servers run.

    names = {name for metric in metrics for name in (metric.series, metric.count_series) if name}
    declared_series = re.compile(rf"(?:{'|'.join(sorted(names))})[ {{]")
    lines = [line for line in text.splitlines() if declared_series.match(line)]
    samples_by_name: _Samples = {}
    for family in text_string_to_metric_families("\n".join(lines) + "\n"):
        for sample in family.samples:
            samples_by_name.setdefault(sample.name, []).append((sample.labels, float(sample.value)))
    return samples_by_name


def _count_key(metric: Metric) -> str:
    return f"{metric.name} (count)"


def combine_series(values: Iterable[float], how: Combine) -> float:
    """Several series as one; what is not a number is left out where another is."""
    numbers = [value for value in values if not math.isnan(value)] or [float("nan")]
    if how is Combine.MAX:
        return max(numbers)
    if how is Combine.MIN:
        return min(numbers)
    return sum(numbers) / (len(numbers) if how is Combine.MEAN else 1)


def figures_of_span(before: Reported, now: Reported, seconds: float, metrics: Sequence[Metric]) -> dict[str, float]:
    """The figures of a span from what was reported at its two ends. A counter that began anew gives none."""
    figures_by_metric = {}
    for metric in metrics:
        value = _figure_of_metric(before, now, seconds, metric)
        if value is not None and not math.isnan(value):
            figures_by_metric[metric.name] = value * metric.factor
    return figures_by_metric


def _figure_of_metric(before: Reported, now: Reported, seconds: float, metric: Metric) -> float | None:
    if metric.name not in now:
        return None
    if metric.kind is MetricKind.GAUGE:
        return now[metric.name]
    if metric.name not in before:
        return None
    growth = now[metric.name] - before[metric.name]
    if metric.kind is MetricKind.RATE:
        return growth / seconds if growth >= 0 else None
    count = now.get(_count_key(metric), 0.0) - before.get(_count_key(metric), 0.0)
    return growth / count if count > 0 and growth >= 0 else None
