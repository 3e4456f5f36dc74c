"""Latency against load, and the steps of a search: plots of what experiments found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidegauge.model.finding import Finding
from tidegauge.model.trial import TrialResult, Validity
from tidegauge.numbers import count, ms
from tidegauge.report.plots.model import P99_MEANING, Axis, Form, Mark, Plot, Scale, Series
from tidegauge.search.goals import Goal, Outcome, judge

_SUSTAINED = "sustained"


def load_plots(findings: Sequence[Finding], prefix: str) -> list[Plot]:
    """Response p50 and p99, and end-to-end p99, by the load offered."""
    charts = [
        ("response-p50", "Median response time against load", "response p50, ms", "response_p50_ms"),
        ("response-p99", "Response p99 against load", "response p99, ms", "response_p99_ms"),
        ("end-to-end-p99", "End-to-end p99 against load", "end-to-end p99, ms", "end_to_end_p99_ms"),
    ]
    plots = []
    for name, title, label, key in charts:
        series = tuple(_curve(finding, key, findings) for finding in findings if finding.details.get("points"))
        if any(not one.empty for one in series):
            told = (
                "Latency at each load offered; hollow points are loads that were not sustained. "
                f"{'; '.join(_ends(one) for one in series if not one.empty)}."
            )
            x = Axis("offered, msg/s", form=Form.COUNT, from_zero=True)
            y = Axis(label, Scale.LOG, Form.MS, meaning=P99_MEANING if "p99" in key else "")
            plots.append(Plot(f"{prefix}-load-{name}", title, told, x, y, series))
    return plots


def _curve(finding: Finding, key: str, findings: Sequence[Finding]) -> Series:
    points: Sequence[Mapping[str, Any]] = finding.details["points"]
    usable = [one for one in points if one.get("offered_msgs_per_s") is not None]
    states = [str(one.get("state", "")) for one in usable]
    return Series(
        system=finding.system,
        label=_block(finding, findings),
        x=tuple(float(one["offered_msgs_per_s"]) for one in usable),
        y=tuple(None if one.get(key) is None else float(one[key]) for one in usable),
        mark=Mark.LINE_POINTS,
        hollow=tuple(state != _SUSTAINED for state in states),
        notes=tuple("" if state == _SUSTAINED else state for state in states),
    )


def _ends(series: Series) -> str:
    known = [(x, y) for x, y in zip(series.x, series.y, strict=True) if y is not None]
    (low_x, low), (high_x, high) = known[0], known[-1]
    return f"{series.name}: {ms(low)} ms at {count(low_x)} msg/s, {ms(high)} ms at {count(high_x)} msg/s"


def search_plots(findings: Sequence[Finding], results: Sequence[TrialResult], prefix: str) -> list[Plot]:
    """The rate of each trial of a search, in the order of the trials, and whether it was sustained."""
    series, parts = [], []
    for finding in findings:
        steps = [one for one in results if one.spec.trial_id.startswith(f"{finding.finding_id}-s")]
        rated = [one for one in steps if one.offered_msgs_per_s is not None]
        if not rated:
            continue
        states = [state(one) for one in rated]
        series.append(
            Series(
                system=finding.system,
                label=_block(finding, findings),
                x=tuple(float(number) for number in range(1, len(rated) + 1)),
                y=tuple(one.offered_msgs_per_s for one in rated),
                mark=Mark.LINE_POINTS,
                hollow=tuple(one != _SUSTAINED for one in states),
                notes=tuple(map(_words, rated, states)),
            )
        )
        parts.append(f"{series[-1].name}: {len(rated)} trials, {states.count(_SUSTAINED)} sustained")
    if not series:
        return []
    told = f"Rates tried one after the other; filled points were sustained, hollow ones not. {'; '.join(parts)}."
    x = Axis("trial of the search", form=Form.COUNT)
    y = Axis("offered, msg/s", form=Form.COUNT, from_zero=True)
    return [Plot(f"{prefix}-search", "Steps of the search", told, x, y, tuple(series))]


def state(result: TrialResult) -> str:
    """ "sustained", "INVALID", or what was not sustained."""
    if result.validity is Validity.INVALID:
        return "INVALID"
    verdict = judge(Goal(_SUSTAINED), result)
    return _SUSTAINED if verdict.outcome is Outcome.PASS else f"not sustained ({verdict.kind})"


def _words(result: TrialResult, state_words: str) -> str:
    confirmation = "confirmation" if result.spec.trial_id.endswith("-confirm") else ""
    return ", ".join(part for part in (confirmation, state_words) if part)


def _block(finding: Finding, findings: Sequence[Finding]) -> str:
    repeated = sum(one.system == finding.system for one in findings) > 1
    return f"block {finding.block + 1}" if repeated else ""
