"""Thresholds ruled on results that a test makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from run_samples import result, spec

from tidegauge.model.finding import Finding
from tidegauge.model.trial import LoadResult
from tidegauge.thresholds import Asked, Ruling, parse_threshold, rule_on_thresholds


def latencies(*scales: float, system: str = "kafka@4.3.1", **changes: object) -> list[LoadResult]:
    """A trial a block with a response p99 of 7.8 ms times the scale."""
    return [
        replace(result(spec(system, block=block), scale), **changes)  # type: ignore[arg-type]
        for block, scale in enumerate(scales)
    ]


def ruled(text: str, results: Sequence[LoadResult], findings: Sequence[Finding] = (), **asked: object) -> list[Ruling]:
    made = Asked("latency", "latency", {}, False, results=results)
    sought = Asked("max-throughput", "max-throughput", {}, False, findings=findings)
    groups = [replace(made, **asked), sought] if results else [sought]  # type: ignore[arg-type]
    return list(rule_on_thresholds([parse_threshold(text)], groups))


def rates(*values: float, decided: bool = True) -> list[Finding]:
    return [
        Finding(f"{n}", "max-throughput", "kafka", n, decided, (), figures={"sustainable_msgs_per_s": value})
        for n, value in enumerate(values)
    ]
