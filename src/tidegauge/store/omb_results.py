"""Results of the OpenMessaging Benchmark (OMB), read: those of others, and of a run's trials as OMB would word them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from tidegauge.errors import UserError
from tidegauge.model.trial import LoadResult, Validity
from tidegauge.regular import read_regular
from tidegauge.statistics.intervals import geometric_mean
from tidegauge.store.omb import omb_result

_BYTES_MAX = 64 << 20
_HINT = "Name a run, or a result that OMB wrote, whose name ends in .json."
_PERCENTILES = {"p50": "50pct", "p99": "99pct", "p999": "999pct", "max": "Max"}
_SERIES = {"publish": "PublishLatency", "delay": "PublishDelayLatency", "end_to_end": "EndToEndLatency"}
_RATES = {
    "publish_msgs_per_s": "publishRate",
    "failed_msgs_per_s": "publishErrorRate",
    "consume_msgs_per_s": "consumeRate",
}
_FACTS = {
    "message_bytes": "messageSize",
    "topics": "topics",
    "partitions": "partitions",
    "producers": "producersPerTopic",
    "consumers": "consumersPerTopic",
}
_CUT_MS = 60_000
"""Where OMB cuts latencies."""
_ROUNDING_MS = 0.005
"""How far whole ms of a histogram may be from whole ones."""
_STEADY = 2.0
"""A rate that changes by more than this factor between periods was not one rate."""


@dataclass(frozen=True)
class OmbResult:
    """A result in OMB's terms.

    Attributes:
        name: of the file, or of the run with its system.
        theirs: whether OMB measured it.
        figures: by their names in our JSON, ms and messages a second; without those that the result does not have.
        facts: of the workload, likewise.
        whole_ms: whether all end-to-end latencies are whole milliseconds.
        is_cut: whether latencies reach OMB's limit.
        rates: the lowest and the highest publish rate of a period where these are far apart, else None.
        validity: of a trial of ours that is not valid; "" of all others.
        repeats: how many trials the figures are of.
        left_out: how many more are INVALID.
    """

    name: str
    theirs: bool
    workload: str
    driver: str
    figures: Mapping[str, float]
    facts: Mapping[str, float] = field(default_factory=dict)
    whole_ms: bool = False
    is_cut: bool = False
    rates: tuple[float, float] | None = None
    validity: str = ""
    repeats: int = 1
    left_out: int = 0


def read_omb_result(path: Path) -> OmbResult:
    """A result that OMB wrote. Raises `UserError`."""
    try:
        content = json.loads(read_regular(path, _BYTES_MAX))
    except OSError as error:
        raise UserError(f"{path}: can't be read: {error.strerror}.", _HINT) from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: this is no JSON.", _HINT) from error
    if not isinstance(content, dict) or not _numbers(content.get("publishRate")):
        raise UserError(f"{path}: this is no result of OMB: it has no 'publishRate'.", _HINT)
    return _result_of(path.name, True, content)


def trial_as_omb_result(name: str, directory: Path, result: LoadResult) -> OmbResult:
    """A finished load as OMB would word it, with the response time, which OMB does not have."""
    spec, response = result.spec, result.response
    times_ms = {"p50": response.p50_ms, "p99": response.p99_ms, "p999": response.p999_ms, "max": response.max_ms}
    in_omb_terms = _result_of(name, False, omb_result(directory, (spec.experiment, spec.system), spec.workload))
    figures = {f"response_ms_{figure}": value for figure, value in times_ms.items() if value is not None}
    return replace(
        in_omb_terms,
        figures={**in_omb_terms.figures, **figures},
        validity="" if result.validity is Validity.VALID else result.validity.shown,
    )


def merge_repeats(trials: Sequence[OmbResult]) -> OmbResult:
    """The trials of one load as one result: geometric means, of maxima the largest.

    INVALID ones are left out while there are others.
    """
    kept = [trial for trial in trials if trial.validity != Validity.INVALID.shown] or list(trials)
    figures = {}
    for figure in kept[0].figures:
        values = [trial.figures[figure] for trial in kept if figure in trial.figures]
        if len(values) == len(kept):
            figures[figure] = (
                max(values) if figure.endswith("_max") else geometric_mean(values) if min(values) > 0 else fmean(values)
            )
    return replace(
        kept[0],
        figures=figures,
        validity=next((trial.validity for trial in kept if trial.validity), ""),
        repeats=len(kept),
        left_out=len(trials) - len(kept),
    )


def _result_of(name: str, theirs: bool, content: Mapping[str, Any]) -> OmbResult:
    rates = _numbers(content.get("publishRate"))
    figures = {figure: fmean(values) for figure, key in _RATES.items() if (values := _numbers(content.get(key)))}
    for series, key in _SERIES.items():
        # OMB has the delay in microseconds.
        per_ms = 1000 if series == "delay" else 1
        for figure, ending in _PERCENTILES.items():
            if values := _numbers([content.get(f"aggregated{key}{ending}")]):
                figures[f"{series}_ms_{figure}"] = values[0] / per_ms
    longest_ms = max(figures.get("publish_ms_max", 0.0), figures.get("end_to_end_ms_max", 0.0))
    of_ends = [figures[figure] for figure in ("end_to_end_ms_p50", "end_to_end_ms_p99") if figure in figures]
    return OmbResult(
        name=name,
        theirs=theirs,
        workload=str(content.get("workload", ""))[:100],
        driver=str(content.get("driver", ""))[:100],
        figures=figures,
        facts={fact: value for fact, key in _FACTS.items() for value in _numbers([content.get(key)])},
        whole_ms=bool(of_ends) and all(abs(value - round(value)) < _ROUNDING_MS for value in of_ends),
        is_cut=longest_ms >= _CUT_MS,
        rates=(min(rates), max(rates)) if rates and max(rates) > _STEADY * min(rates) else None,
    )


def _numbers(values: object) -> list[float]:
    """What is a number in a list; [] of anything else."""
    items = values if isinstance(values, list) else []
    kinds = [item for item in items if isinstance(item, int | float) and not isinstance(item, bool)]
    return [float(item) for item in kinds if math.isfinite(item)]
