"""What whole distributions show beyond the figures of single trials.

Of repeated trials: their histograms merged, which is the only way to a percentile of all of them. Of a trial that is
alone: how much its figures moved within it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType

from tidegauge.comparison.blocks import Block, blocks
from tidegauge.model.trial import Latency, MeasuredResult, TrialResult
from tidegauge.numbers import count, ms
from tidegauge.plain import grouped, plain
from tidegauge.report.compare import named
from tidegauge.report.layout import apart, headed
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


def merged(run: StoredRun) -> list[Merged]:
    """One for each system that has several usable trials at a fixed rate."""
    found = []
    for block in blocks(run.results):
        for system in block.systems if not block.closed_loop else ():
            results = block.usable(system)
            if len(results) > 1:
                made = _merged(block, system, [_details(run, result) for result in results])
                found += [made] if made else []
    return found


def _merged(block: Block, system: str, trials: Sequence[TrialDetails]) -> Merged | None:
    """None where a trial's distributions can't be read: a part of them is not all of them."""
    if not all("response" in trial.histograms for trial in trials):
        return None
    by_tag = grouped(tagged for trial in trials for tagged in trial.histograms.items())
    whole = {tag: latency_summary(sum_of(histograms)) for tag, histograms in by_tag.items()}
    prefix = f"{END_TO_END}/"
    ends = {tag.removeprefix(prefix): latency for tag, latency in whole.items() if tag.startswith(prefix)}
    return Merged(named(block.experiment, block.point), system, len(trials), whole["response"], ends)


def within(run: StoredRun) -> list[Within]:
    """Figures of each system's only usable trial, where a table has no repeats."""
    found = []
    for block in blocks(run.results):
        alone = [block.usable(system) for system in block.systems if len(block.of(system)) == 1]
        for result in (results[0] for results in alone if results):
            found += _within(block, result, _details(run, result))
    return found


def _within(block: Block, result: MeasuredResult, trial: TrialDetails) -> list[Within]:
    whose = (result.spec.trial_id, named(block.experiment, block.point), result.spec.system)
    if block.closed_loop:
        rows = window_rows(trial)
        rates = [row["acked_msgs"] / (row["until_mono_ns"] - row["from_mono_ns"]) * 1e9 for row in rows]
        interval = mean_within(rates)
        return [Within(*whose, "rate", "msg/s", interval)] if interval else []
    stretches = response_by_stretch(trial)
    made = []
    for title, percentile in (("p50", 50.0), ("p99", 99.0)):
        interval = percentile_within(stretches, percentile)
        made += [Within(*whose, f"response {title}", "ms", interval)] if interval else []
    return made


def _details(run: StoredRun, result: TrialResult) -> TrialDetails:
    return read_details(next(trial for trial in run.trials if trial.result is result))


def parts(run: StoredRun) -> Iterable[RenderableType]:
    """For a terminal; nothing where there is nothing to add."""
    return apart(
        headed("All usable trials merged", map(merged_words, merged(run))),
        headed("Within each trial, 95% (it does not predict other trials)", map(within_words, within(run))),
    )


def merged_words(whole: Merged) -> str:
    """One line: percentiles of all messages of all trials."""
    ends = "".join(
        f"; end-to-end{f' ({name})' if len(whole.end_to_end) > 1 else ''} {_percentiles(latency)}"
        for name, latency in whole.end_to_end.items()
    )
    messages = f"{count(whole.response.count)} messages in {whole.trials} trials"
    return f"{whole.experiment}, {whole.system}: response {_percentiles(whole.response)} of {messages}{ends}"


def _percentiles(latency: Latency) -> str:
    known = (("p50", latency.p50_ms), ("p99", latency.p99_ms), ("p99.9", latency.p999_ms), ("p99.99", latency.p9999_ms))
    figures = ", ".join(f"{name} {ms(value)}" for name, value in known if value is not None)
    return f"{figures} ms" if figures else "(too few samples)"


def within_words(spread: Within) -> str:
    """One line: how far below and above the figure its seconds leave it, and from how many stretches of them."""
    interval = spread.interval
    down, up = interval.low / interval.estimate - 1, interval.high / interval.estimate - 1
    blocks = f"from {interval.blocks} stretches of consecutive seconds"
    return f"{spread.experiment}, {spread.system}: {spread.figure} {down:+.0%} to {up:+.0%}, {blocks}"


def content(run: StoredRun) -> dict[str, Any]:
    """The same as plain data."""
    return {"merged": plain(merged(run)), "within_trial": plain(within(run))}
