"""What whole distributions show beyond the figures of single trials.

Of repeated trials: their histograms merged, which is the only way to a percentile of all of them. Of a trial that is
alone: how much its figures moved within it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import RenderableType

from tidegauge.comparison.compared_trials import ComparedTrials
from tidegauge.comparison.order import compared_trials_of
from tidegauge.model.trial import Latency, MeasuredResult, TrialResult
from tidegauge.numbers import change_between, count, ms
from tidegauge.plain import grouped
from tidegauge.report.compare import experiment_at_point
from tidegauge.report.layout import headed_bullets, with_blank_lines
from tidegauge.statistics.histograms import latency_summary, sum_of
from tidegauge.statistics.intervals import Interval
from tidegauge.statistics.within_trial import mean_within, percentile_within
from tidegauge.store.details import END_TO_END, TrialDetails, read_details, response_by_stretch, window_rows
from tidegauge.store.read import StoredRun


@dataclass(frozen=True)
class Merged:
    """Distributions of all usable trials of a system at one load, merged."""

    experiment: str
    system: str
    trials: int
    response: Latency
    end_to_end: Mapping[str, Latency]


@dataclass(frozen=True)
class Within:
    """A figure of a single trial with the interval within it. `unit`: "ms" or "msg/s"."""

    trial_id: str
    experiment: str
    system: str
    figure: str
    unit: str
    interval: Interval


def merge_trials(run: StoredRun) -> list[Merged]:
    """Merged distributions, one for each system that has several usable trials at a fixed rate."""
    all_merged = []
    for compared in compared_trials_of(run):
        for system in compared.systems if not compared.closed_loop else ():
            results = compared.usable(system)
            if len(results) > 1:
                distribution = _merge_trials_of_system(
                    compared, system, [_details_of_trial(run, result) for result in results]
                )
                all_merged += [distribution] if distribution else []
    return all_merged


def _merge_trials_of_system(compared: ComparedTrials, system: str, trials: Sequence[TrialDetails]) -> Merged | None:
    """A system's trials merged; None where distributions of one can't be read: a part of them is not all of them."""
    if not all("response" in trial.histograms for trial in trials):
        return None
    by_tag = grouped(tagged for trial in trials for tagged in trial.histograms.items())
    whole = {tag: latency_summary(sum_of(histograms)) for tag, histograms in by_tag.items()}
    prefix = f"{END_TO_END}/"
    ends = {tag.removeprefix(prefix): latency for tag, latency in whole.items() if tag.startswith(prefix)}
    return Merged(
        experiment_at_point(compared.experiment, compared.point), system, len(trials), whole["response"], ends
    )


def intervals_within_trials(run: StoredRun) -> list[Within]:
    """Figures of each system's only usable trial, where a table has no repeats."""
    intervals = []
    for compared in compared_trials_of(run):
        alone = [compared.usable(system) for system in compared.systems if len(compared.of_system(system)) == 1]
        for result in (results[0] for results in alone if results):
            intervals += _intervals_of_trial(compared, result, _details_of_trial(run, result))
    return intervals


def _intervals_of_trial(compared: ComparedTrials, result: MeasuredResult, trial: TrialDetails) -> list[Within]:
    labels = (result.spec.trial_id, experiment_at_point(compared.experiment, compared.point), result.spec.system)
    if compared.closed_loop:
        rows = window_rows(trial)
        rates = [row["acked_msgs"] / (row["until_mono_ns"] - row["from_mono_ns"]) * 1e9 for row in rows]
        interval = mean_within(rates)
        return [Within(*labels, "rate", "msg/s", interval)] if interval else []
    stretches = response_by_stretch(trial)
    intervals = []
    for title, percentile in (("p50", 50.0), ("p99", 99.0)):
        interval = percentile_within(stretches, percentile)
        intervals += [Within(*labels, f"response {title}", "ms", interval)] if interval else []
    return intervals


def _details_of_trial(run: StoredRun, result: TrialResult) -> TrialDetails:
    return read_details(next(trial for trial in run.trials if trial.result is result))


def parts(run: StoredRun, within: Sequence[Within]) -> Iterable[RenderableType]:
    """What whole distributions show, for a terminal; nothing where there is nothing to add."""
    return with_blank_lines(
        headed_bullets("All usable trials merged", map(merged_words, merge_trials(run))),
        headed_bullets("Within each trial, 95% (it does not predict other trials)", map(within_words, within)),
    )


def merged_words(whole: Merged) -> str:
    """One line: percentiles of all messages of all trials."""
    ends = "".join(
        f"; end-to-end{f' ({name})' if len(whole.end_to_end) > 1 else ''} {_percentile_words(latency)}"
        for name, latency in whole.end_to_end.items()
    )
    messages = f"{count(whole.response.count)} messages in {whole.trials} trials"
    return f"{whole.experiment}, {whole.system}: response {_percentile_words(whole.response)} of {messages}{ends}"


def _percentile_words(latency: Latency) -> str:
    percentiles = (
        ("p50", latency.p50_ms),
        ("p99", latency.p99_ms),
        ("p99.9", latency.p999_ms),
        ("p99.99", latency.p9999_ms),
    )
    figures = ", ".join(f"{name} {ms(value)}" for name, value in percentiles if value is not None)
    return f"{figures} ms" if figures else "(too few samples)"


def within_words(spread: Within) -> str:
    """One line: how far below and above the figure its seconds leave it, and from how many stretches of them."""
    interval = spread.interval
    down, up = interval.low / interval.estimate - 1, interval.high / interval.estimate - 1
    blocks = f"from {interval.blocks} stretches of consecutive seconds"
    return f"{spread.experiment}, {spread.system}: {spread.figure} {change_between(down, up)}, {blocks}"
