"""Figures as curves: latency by percentile, figures over the offered load, and the steps of a search.

Percentiles are from merged histograms: they show what averages hide, up to where ten samples still lie beyond.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tidegauge.comparison.compared_trials import ComparedTrials
from tidegauge.experiments.sizing import Sized
from tidegauge.model.finding import Finding
from tidegauge.model.trial import LoadResult, TrialResult, Validity, point_words
from tidegauge.numbers import count, ms, trimmed
from tidegauge.plain import grouped
from tidegauge.report.plots.context import context_of_findings, context_of_trials, validity_words
from tidegauge.report.plots.model import P99_MEANING, Axis, Details, Form, Mark, Plot, Scale, Series
from tidegauge.report.tables import short_point
from tidegauge.search.goals import Goal, PassFail, judge_goal
from tidegauge.statistics.figures import prompt_readers
from tidegauge.statistics.histograms import EMPTY, Histogram, add_histograms
from tidegauge.store.details import END_TO_END

_NS_PER_MS = 1e6
_BEYOND_MIN = 10
"""Samples that must lie beyond a percentile that is drawn, as in tables."""
_POINTS_PER_DECADE = 12


def percentile_plots(compared: ComparedTrials, details: Details, prefix: str) -> list[Plot]:
    """Response time, and end-to-end latency of the slowest subscription, each where there is any."""
    kinds = [
        ("response", "Response time by percentile", "response time", "from the intended send to the acknowledgement"),
        (END_TO_END, "End-to-end latency by percentile", "end-to-end latency", "from the intended send to the receipt"),
    ]
    plots = []
    for kind, title, what, meaning in kinds:
        series = [
            line for system in compared.systems if (line := _system_series(compared, system, details, kind)) is not None
        ]
        if series:
            plot_id = f"{prefix}-{kind}-percentiles"
            x = Axis("share of messages that took at most so long", Scale.PERCENTILE, Form.PERCENT)
            y = Axis(f"{what}, ms", Scale.LOG, Form.MS)
            of_receipts = _words_on_readers(compared) if kind == END_TO_END else ()
            # Of systems that are not in the picture nothing is said.
            drawn = [result for result in compared.results if result.spec.system in {line.system for line in series}]
            merged = _merged_words(replace(compared, results=tuple(drawn)))
            reading = " ".join(filter(None, (merged, *of_receipts)))
            about = _percentile_description(meaning, series)
            shown = context_of_trials(compared.results)
            plots.append(Plot(plot_id, title, about, x, y, tuple(series), context=shown, reading=reading))
    return plots


def _merged_words(compared: ComparedTrials) -> str:
    """Which trials a line is of, and which of these are not valid; "" where each is of a single valid one."""
    used = {system: compared.usable(system) or compared.of_system(system) for system in compared.systems}
    unusable = [system for system in compared.systems if not compared.usable(system)]
    words = []
    if any(len(trials) > 1 for trials in used.values()):
        whole = all(len(trials) == len(compared.of_system(system)) for system, trials in used.items())
        some = "Of each system all trials merged that are not INVALID."
        if unusable:
            some = "Of each system that has any the trials merged that are not INVALID."
        words.append("Of each system all trials merged." if whole else some)
    words += [f"INVALID: {', '.join(unusable)}."] if unusable else []
    return " ".join(filter(None, (*words, validity_words(compared, Validity.DOUBTFUL))))


def _words_on_readers(compared: ComparedTrials) -> tuple[str, str]:
    """Whose times they are: not of late readers, whose times hold how long they were made to wait, beside others."""
    prompt = [(len(prompt_readers(load)), len(load.subscriptions)) for load in compared.loads]
    return (
        "Without those that read late." if any(number < of_all for number, of_all in prompt) else "",
        "At each share the slowest subscription." if any(number > 1 for number, _ in prompt) else "",
    )


def percentile_curve(*histograms: Histogram) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Percentiles, in percent, and the largest latency in ms at each; none without enough samples for the median."""
    samples = min((histogram.count for histogram in histograms), default=0)
    highest = 1 - _BEYOND_MIN / samples if samples > 2 * _BEYOND_MIN else 0.0
    if highest < 0.5:
        return (), ()
    decades = -math.log10(1 - highest)
    steps = max(2, math.ceil(decades * _POINTS_PER_DECADE))
    shares = [1 - 10 ** (-decades * step / steps) for step in range(1, steps + 1)]
    landmarks = [share for share in (0.5, 0.9, 0.95, 0.99, 0.999, 0.9999) if share <= highest]
    percentiles = tuple(sorted({round(100 * share, 7) for share in (*shares, *landmarks)}))
    return percentiles, tuple(
        max(histogram.percentile_ns(percentile) for histogram in histograms) / _NS_PER_MS for percentile in percentiles
    )


def _merged_histograms(results: Sequence[LoadResult], details: Details, kind: str) -> list[Histogram]:
    """Samples of all trials; of end-to-end those of each subscription but late readers, as the figures have it."""
    whole: dict[str, Histogram] = {}
    for result in results:
        prompt = {reader.name for reader in prompt_readers(result)}
        late = {reader.name for reader in result.subscriptions} - prompt
        for tag, histogram in details[result.spec.trial_id].histograms.items():
            series, _, subscription = tag.partition("/")
            if series == kind and subscription not in late:
                whole[tag] = add_histograms(whole.get(tag, EMPTY), histogram)
        # Whoever received nothing has no histogram, and must not be hidden by those that did.
        seen = {tag.partition("/")[2] for tag in whole}
        if kind == END_TO_END and prompt - seen and seen != {""}:
            whole.update({f"{kind}/{name}": EMPTY for name in prompt - seen})
    return list(whole.values())


def _system_series(compared: ComparedTrials, system: str, details: Details, kind: str) -> Series | None:
    """A system's usable trials merged; where all are INVALID those, named as such.

    None where distributions of one of them can't be read: a part of them is not all of them.
    """
    used = [load for load in compared.usable(system) or compared.of_system(system) if isinstance(load, LoadResult)]
    if not all(details[load.spec.trial_id].histograms for load in used):
        return None
    percentiles, latencies = percentile_curve(*_merged_histograms(used, details, kind))
    if not percentiles:
        return None
    label = "INVALID" if all(result.validity is Validity.INVALID for result in used) else ""
    return Series(system, label, percentiles, latencies)


def _percentile_description(meaning: str, series: Sequence[Series]) -> str:
    parts = []
    for line in series:
        at = dict(zip(line.x, line.y, strict=True))
        figures = ", ".join(
            f"p{trimmed(percentile)} {ms(at[percentile])} ms" for percentile in (50, 99, 99.9) if percentile in at
        )
        parts.append(f"{line.name}: {figures}")
    return f"Latency {meaning}; a flat line is steady, a steep end is a long tail. {'; '.join(parts)}."


_SUSTAINED = "sustained"


def load_plots(findings: Sequence[Finding], results: Sequence[TrialResult], prefix: str) -> list[Plot]:
    """Response p50 and p99, and end-to-end p99, by the load offered; of a sweep at each point."""
    charts = [
        ("response-p50", "Median response time against load", "response p50, ms"),
        ("response-p99", "Response p99 against load", "response p99, ms"),
        ("end-to-end-p99", "End-to-end p99 against load", "end-to-end p99, ms"),
    ]
    plots = []
    for where, number, findings_at_point in _by_point([finding for finding in findings if finding.points]):
        for name, title, label in charts:
            curves = [
                _load_curve(finding, f"{name.replace('-', '_')}_ms", findings_at_point) for finding in findings_at_point
            ]
            series = tuple(curve for curve in curves if not curve.empty)
            if series:
                # An INVALID trial says nothing of what is sustained.
                notes = {note for line in series for note, out in zip(line.notes, line.hollow, strict=True) if out}
                hollow = "Hollow: not sustained, or INVALID." if "INVALID" in notes else "Hollow: not sustained."
                reading = f"{hollow if notes else ''}{_line_each(findings_at_point)}".strip()
                ends = "; ".join(map(_end_words, series))
                description = " ".join(filter(None, ("Latency at each load offered.", reading, f"{ends}.")))
                x = Axis("offered, msg/s", form=Form.COUNT, from_zero=True)
                y = Axis(label, Scale.LOG, Form.MS, meaning=P99_MEANING if "p99" in name else "")
                shown, plot_id = context_of_findings(findings_at_point, results), f"{prefix}-load{number}-{name}"
                at, p99 = f"{title}{where}", name == "response-p99"
                plots.append(Plot(plot_id, at, description, x, y, series, context=shown, reading=reading, of_p99=p99))
    return plots


def _by_point(findings: Sequence[Finding]) -> list[tuple[str, str, list[Finding]]]:
    """Findings of each point of a sweep, with the point for a title and its number for an id; "" without a sweep."""
    by_point = grouped((point_words(finding.point), finding) for finding in findings)
    if len(by_point) < 2:
        return [("", "", group) for group in by_point.values()]
    return [
        (f", {short_point(group[0].point)}", f"-{number}", group) for number, group in enumerate(by_point.values(), 1)
    ]


def _line_each(findings: Sequence[Finding]) -> str:
    return " One line for each block." if any(_block_label(finding, findings) for finding in findings) else ""


def _load_curve(finding: Finding, figure: str, findings: Sequence[Finding]) -> Series:
    """A figure of a finding by the load offered. `figure`: the name of its field in a point."""
    usable = [point for point in finding.points if point.offered_msgs_per_s is not None]
    states = [point.state for point in usable]
    x = tuple(point.offered_msgs_per_s or 0.0 for point in usable)
    y = tuple(getattr(point, figure) for point in usable)
    notes = tuple("" if state == _SUSTAINED else state for state in states)
    hollow = tuple(state != _SUSTAINED for state in states)
    return Series(finding.system, _block_label(finding, findings), x, y, Mark.LINE_POINTS, hollow=hollow, notes=notes)


def _end_words(series: Series) -> str:
    points = [(x, y) for x, y in zip(series.x, series.y, strict=True) if y is not None]
    (low_x, low), (high_x, high) = points[0], points[-1]
    return f"{series.name}: {ms(low)} ms at {count(low_x)} msg/s, {ms(high)} ms at {count(high_x)} msg/s"


def search_plots(findings: Sequence[Finding], results: Sequence[TrialResult], prefix: str) -> list[Plot]:
    """What each trial of a search tried, in the order of the trials, and whether it was sustained; at each point."""
    return [
        plot
        for where, number, findings_at_point in _by_point(findings)
        if (
            plot := _search_plot(
                findings_at_point, results, (f"Steps of the search{where}", f"{prefix}-search{number}")
            )
        )
        is not None
    ]


def _search_plot(
    findings: Sequence[Finding], results: Sequence[TrialResult], title_and_id: tuple[str, str]
) -> Plot | None:
    """The search at one point; None where no step has a rate. `title_and_id`: the plot's title and id."""
    series, parts = [], []
    sized = next((kind for kind in Sized if kind == findings[0].counted), None)
    for finding in findings:
        loads = [result for result in results if isinstance(result, LoadResult)]
        steps = [load for load in loads if load.spec.is_of_step(finding.finding_id)]
        rated = [step for step in steps if step.offered_msgs_per_s is not None]
        if not rated:
            continue
        states = [step_state(step) for step in rated]
        tried = tuple(sized.number_in(step.spec) if sized else step.offered_msgs_per_s for step in rated)
        places = tuple(map(float, range(1, len(rated) + 1)))
        hollow, notes = tuple(state != _SUSTAINED for state in states), tuple(map(_step_note, rated, states))
        label = _block_label(finding, findings)
        series.append(Series(finding.system, label, places, tried, Mark.LINE_POINTS, hollow=hollow, notes=notes))
        parts.append(f"{series[-1].name}: {len(rated)} trials, {states.count(_SUSTAINED)} sustained")
    if not series:
        return None
    # A step is judged here by whether it was sustained; limits of latency are the goals' own.
    aside = ", limits of latency left aside" if any(finding.has_limits for finding in findings) else ""
    reading = f"Filled: sustained{aside}; hollow: not, or INVALID.{_line_each(findings)}"
    what = f"Numbers of {sized}" if sized else "Rates"
    description = f"{what} tried one after the other. {reading} {'; '.join(parts)}."
    x = Axis("trial of the search", form=Form.TRIAL)
    y = Axis(f"number of {sized}", from_zero=True, unit=str(sized)) if sized else Axis("offered, msg/s", from_zero=True)
    (title, plot_id), shown = title_and_id, context_of_findings(findings, results)
    return Plot(plot_id, title, description, x, y, tuple(series), context=shown, reading=reading)


def step_state(result: LoadResult) -> str:
    """ "sustained", "INVALID", or what was not sustained."""
    if result.validity is Validity.INVALID:
        return "INVALID"
    verdict = judge_goal(Goal(_SUSTAINED), result)
    return _SUSTAINED if verdict.outcome is PassFail.PASS else f"not sustained ({verdict.kind})"


def _step_note(result: LoadResult, state_words: str) -> str:
    confirmation = "confirmation" if result.spec.is_confirmation else ""
    doubt = Validity.DOUBTFUL.shown if result.validity is Validity.DOUBTFUL else ""
    return ", ".join(filter(None, (confirmation, state_words, doubt)))


def _block_label(finding: Finding, findings: Sequence[Finding]) -> str:
    repeated = sum(other.system == finding.system for other in findings) > 1
    return f"block {finding.block + 1}" if repeated else ""
