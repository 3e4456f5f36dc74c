"""How two runs' figures relate: a row for each, with its interval beside the margin within which two are the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidegauge.comparison.across import ComparedPair
from tidegauge.comparison.within import Ratio
from tidegauge.numbers import percent, rounded, trimmed
from tidegauge.plain import grouped
from tidegauge.report.across import PairWords
from tidegauge.report.plots.context import context_of_trials
from tidegauge.report.plots.model import Axis, Band, Form, Line, Mark, Plot, Scale, Series
from tidegauge.statistics.intervals import Interval


@dataclass(frozen=True)
class _FigureRow:
    """One figure as it is drawn: by how much the runs differ in it, and by which interval that was judged."""

    ratio: Ratio
    value: float
    interval: Interval | None

    @property
    def ends(self) -> tuple[float, float]:
        """Of its interval; without one the value itself."""
        return (self.interval.low, self.interval.high) if self.interval else (self.value, self.value)

    @property
    def name(self) -> str:
        """The figure, and below it the verdict."""
        doubt = " (doubtful)" if self.ratio.doubtful else ""
        return f"{self.ratio.figure}\n{self.ratio.comparison.verdict.value}{doubt}"


def pair_plots(words: PairWords, plot_id: str) -> list[Plot]:
    """The ratios, and the differences where a margin in milliseconds judges them; a picture for each margin."""
    pair = words.pair
    # None where the difference in milliseconds was judged.
    by_share = grouped(
        (ratio.comparison.noise if ratio.contrast is None else ratio.contrast.share, ratio) for ratio in pair.ratios
    )
    plots = []
    for number, (share, ratios) in enumerate(by_share.items(), 1):
        if share is None:
            plots.append(_plot_of_differences(pair, words.title, ratios, f"{plot_id}-differences"))
        else:
            plots.append(_plot_of_ratios(pair, words.title, ratios, share, f"{plot_id}-ratios-{number}"))
    return plots


def _plot_of_ratios(pair: ComparedPair, title: str, ratios: Sequence[Ratio], share: float, plot_id: str) -> Plot:
    rows = [
        _FigureRow(ratio, ratio.contrast.ratio, ratio.contrast.ratio_interval)
        if ratio.contrast
        else _FigureRow(ratio, ratio.comparison.ratio, ratio.comparison.interval)
        for ratio in ratios
    ]
    reading = [f"Point: the figure in {pair.run} divided by that in {pair.baseline_run}.", *_reading_words(rows)]
    reading.append(f"Shaded: the same within {percent(share)}.")
    return Plot(
        plot_id,
        f"{title}: ratios",
        f"{title}. {' '.join(reading)} {_rows_in_words(rows, 'x')}.",
        _axis_of_rows(rows),
        Axis(f"{pair.run} / {pair.baseline_run}", Scale.LOG, Form.SHORT, unit="times as high"),
        (_series_of_rows(pair, rows),),
        lines=(Line(1.0, pair.baseline_run),),
        bands=(Band(1 / (1 + share), 1 + share),),
        context=context_of_trials((*pair.results, *pair.baseline_results)),
        reading=" ".join(reading),
        lying=True,
    )


def _plot_of_differences(pair: ComparedPair, title: str, ratios: Sequence[Ratio], plot_id: str) -> Plot:
    contrasts = [(ratio, ratio.contrast) for ratio in ratios if ratio.contrast is not None]
    rows = [_FigureRow(ratio, contrast.difference, contrast.difference_interval) for ratio, contrast in contrasts]
    (margin_ms, *_) = [contrast.same_within.ms or 0.0 for _, contrast in contrasts]
    reading = [f"Point: the figure in {pair.run} minus that in {pair.baseline_run}.", *_reading_words(rows)]
    reading.append(f"Shaded: at most {trimmed(margin_ms)} ms either way.")
    return Plot(
        plot_id,
        f"{title}: differences",
        f"{title}. {' '.join(reading)} {_rows_in_words(rows, ' ms')}.",
        _axis_of_rows(rows),
        Axis(f"{pair.run} minus {pair.baseline_run}, ms", form=Form.SIGNED, unit="ms"),
        (_series_of_rows(pair, rows),),
        lines=(Line(0.0, pair.baseline_run),),
        bands=(Band(-margin_ms, margin_ms),),
        context=context_of_trials((*pair.results, *pair.baseline_results)),
        reading=" ".join(reading),
        lying=True,
    )


def _axis_of_rows(rows: Sequence[_FigureRow]) -> Axis:
    return Axis("figure", form=Form.WORDS, names=tuple(row.name for row in rows))


def _series_of_rows(pair: ComparedPair, rows: Sequence[_FigureRow]) -> Series:
    return Series(
        pair.system,
        "",
        tuple(map(float, range(len(rows)))),
        tuple(row.value for row in rows),
        Mark.POINTS,
        tuple(row.ends[0] for row in rows),
        tuple(row.ends[1] for row in rows),
        hollow=tuple(row.ratio.doubtful or row.interval is None for row in rows),
    )


def _reading_words(rows: Sequence[_FigureRow]) -> Iterator[str]:
    """What is drawn around the points, of what these rows have."""
    if any(row.interval for row in rows):
        yield "Whisker: its 95% interval."
    if any(row.ratio.doubtful for row in rows):
        yield "Hollow, doubtful: some trials are DOUBTFUL."
    if any(row.interval is None for row in rows):
        yield "Hollow without a whisker: too few blocks for an interval."


def _rows_in_words(rows: Sequence[_FigureRow], unit: str) -> str:
    """Each figure with its verdict, for those who do not see the picture."""
    return "; ".join(f"{row.name.replace(chr(10), ': ')} ({rounded(row.value)}{unit})" for row in rows)
