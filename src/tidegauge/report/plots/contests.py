"""Alternatives of a run side by side: each with its interval, and their differences from the first of them."""

from __future__ import annotations

from collections.abc import Sequence

from tidegauge.comparison.contests import Alternative, Contest
from tidegauge.model.trial import TrialResult, Validity
from tidegauge.model.variant import VARIANT
from tidegauge.numbers import in_unit
from tidegauge.plain import grouped
from tidegauge.report.contests import contest_title, difference_words, ratio_words, same_words, verdict_words
from tidegauge.report.plots.context import context_of_trials
from tidegauge.report.plots.model import P99_MEANING, Axis, Band, Form, Line, Mark, Plot, Scale, Series
from tidegauge.report.plots.sweep import LOG_FROM
from tidegauge.statistics.contrasts import Contrast
from tidegauge.statistics.intervals import BLOCKS_MIN
from tidegauge.store.read import StoredRun

_BLOCKS_BESIDE = 0.22
"""How far to the side of its mean the values of single blocks stand, in places of the axis."""


def contest_plots(contest: Contest, run: StoredRun, plot_id: str) -> list[Plot]:
    """Each alternative's figure, then its difference from the first; nothing of fewer than two that have the figure."""
    measured = [each for each in contest.alternatives if each.values]
    if len(measured) < 2:
        return []
    return [_plot_of_figures(contest, measured, run, plot_id), *_plots_of_differences(contest, run, plot_id)]


def _plot_of_figures(contest: Contest, measured: Sequence[Alternative], run: StoredRun, plot_id: str) -> Plot:
    labels = [each.label for each in measured]
    first = contest.baseline.label
    names = tuple(f"{label} (baseline)" if label == first else label for label in labels)
    unit = f", {contest.unit}" if contest.unit else ""
    is_p99 = contest.name == "response_ms_p99"
    form = Form.MS if contest.unit == "ms" else Form.COUNT
    ends = [end for each in measured for end in (each.low, each.high, *each.values) if end is not None]
    is_wide = 0 < LOG_FROM * min(ends) < max(ends)
    y = Axis(
        f"{contest.figure}{unit}", Scale.LOG if is_wide else Scale.LINEAR, form, from_zero=not is_wide,
        meaning=P99_MEANING if is_p99 else "",
    )  # fmt: skip
    places = {label: float(place) for place, label in enumerate(labels)}
    is_repeated = any(len(each.values) > 1 for each in measured)
    doubted = {
        (result.spec.point[contest.axis], result.spec.block)
        for result in _trials_of_contest(contest, run)
        if result.validity is Validity.DOUBTFUL
    }
    series = [
        Series(
            system,
            "",
            tuple(places[each.label] for each in of_system),
            tuple(each.value for each in of_system),
            Mark.POINTS,
            tuple(each.low or 0.0 for each in of_system) if is_repeated else (),
            tuple(each.high or 0.0 for each in of_system) if is_repeated else (),
            hollow=tuple(each.doubtful for each in of_system),
        )
        for system, of_system in grouped((each.system, each) for each in measured).items()
    ]
    series += [
        Series(
            system,
            "blocks",
            tuple(places[each.label] + _BLOCKS_BESIDE for each in of_system for _ in each.values),
            tuple(value for each in of_system for value in each.values),
            Mark.POINTS,
            hollow=tuple((each.label, block) in doubted for each in of_system for block in each.blocks),
            minor=True,
        )
        for system, of_system in grouped((each.system, each) for each in measured).items()
        if any(len(each.values) > 1 for each in of_system)
    ]
    shown = (f"{each.label} {in_unit(each.value, contest.unit)} {contest.unit}" for each in measured)
    figures = "; ".join(map(str.rstrip, shown))
    reading = _reading_words(measured) if is_repeated else "Mark: one trial."
    if any(each.doubtful for each in measured):
        reading += " Hollow: some of its trials are DOUBTFUL."
    title = f"{contest.figure[:1].upper()}{contest.figure[1:]} by {_axis_words(contest)}"
    x = Axis(_axis_words(contest), form=Form.WORDS, names=names)
    description = f"{contest_title(contest)}. {reading} {figures}."
    return Plot(
        f"{plot_id}-figures", title, description, x, y, tuple(series), context=_context_words(contest, run),
        reading=reading, of_p99=is_p99,
    ).lying_where_names_are_long()  # fmt: skip


def _reading_words(measured: Sequence[Alternative]) -> str:
    few = [len(each.values) < BLOCKS_MIN for each in measured]
    whisker = "their range" if all(few) else "its 95% interval"
    whisker += f" (of fewer than {BLOCKS_MIN} blocks their range)" if any(few) and not all(few) else ""
    return f"Mark: geometric mean over blocks; whisker: {whisker}; small marks: single blocks."


def _plots_of_differences(contest: Contest, run: StoredRun, plot_id: str) -> list[Plot]:
    """The differences with their intervals; in the figure's unit where the margin is, else in percent."""
    contrasts = [(each.label, each.contrast) for each in contest.against_first if each.contrast is not None]
    if not contrasts or any(contrast.ratio_interval is None for _, contrast in contrasts):
        return []
    in_own_unit = contest.same_within.margin_of(contest.unit) is not None
    ends = [_ends_of_contrast(contrast, in_own_unit=in_own_unit) for _, contrast in contrasts]
    systems = {each.label: each.system for each in contest.alternatives}
    doubtful = {each.label: each.doubtful or contest.baseline.doubtful for each in contest.alternatives}
    numbered = list(zip(contrasts, ends, strict=True))
    series = [
        Series(
            system,
            "",
            tuple(float(place) for place, _ in of_system),
            tuple(middle for _, (_, middle, _) in of_system),
            Mark.POINTS,
            tuple(low for _, (low, _, _) in of_system),
            tuple(high for _, (_, _, high) in of_system),
            hollow=tuple(doubtful[contrasts[int(place)][0]] for place, _ in of_system),
        )
        for system, of_system in grouped(
            (systems[label], (place, spot)) for place, ((label, _), spot) in enumerate(numbered)
        ).items()
    ]
    first = contest.baseline.label
    share = contrasts[0][1].share
    margin = contest.same_within.ms if in_own_unit else 100 * (share or 0.0)
    low = -(margin or 0.0) if in_own_unit else 100 * (1 / (1 + (share or 0.0)) - 1)
    words = "; ".join(
        f"{label} {ratio_words(contrast)}, {difference_words(contrast, contest.unit)}: {verdict_words(contrast)}"
        for label, contrast in contrasts
    )
    unit = contest.unit if in_own_unit else "%"
    better = "above" if contest.higher_is_better else "below"
    reading = (
        f"Whisker: {contest.confidence:.1%} interval; shaded: the same {same_words(contest)}; "
        f"{better} 0 is better than {first}."
    )
    if any(doubtful[label] for label, _ in contrasts):
        reading += " Hollow: one of the two has DOUBTFUL trials."
    return [
        Plot(
            f"{plot_id}-differences",
            f"{contest.figure[:1].upper()}{contest.figure[1:]}: difference from {first}",
            f"{contest_title(contest)}. {reading} {words}.",
            Axis(_axis_words(contest), form=Form.WORDS, names=tuple(label for label, _ in contrasts)),
            Axis(f"difference, {unit}", form=Form.SIGNED, unit=unit),
            tuple(series),
            lines=(Line(0.0, "baseline"),),
            bands=(Band(low, margin or 0.0),),
            context=_context_words(contest, run),
            reading=reading,
        ).lying_where_names_are_long()
    ]


def _ends_of_contrast(contrast: Contrast, *, in_own_unit: bool) -> tuple[float, float, float]:
    """Low end, middle and high end of a difference, in its unit or in percent of the first's figure."""
    interval = contrast.difference_interval if in_own_unit else contrast.ratio_interval
    middle = contrast.difference if in_own_unit else contrast.ratio
    low, high = (interval.low, interval.high) if interval is not None else (middle, middle)
    if in_own_unit:
        return low, middle, high
    return 100 * (low - 1), 100 * (middle - 1), 100 * (high - 1)


def _axis_words(contest: Contest) -> str:
    return "variant" if contest.axis == VARIANT else contest.axis


def _trials_of_contest(contest: Contest, run: StoredRun) -> list[TrialResult]:
    return [
        result
        for result in run.results
        if result.spec.experiment == contest.experiment
        and contest.axis in result.spec.point
        and all(result.spec.point.get(name) == value for name, value in contest.at.items())
    ]


def _context_words(contest: Contest, run: StoredRun) -> str:
    return context_of_trials(_trials_of_contest(contest, run))
