"""The plots that come first: a run at a glance, rates as bars, and shares of the machine's ceilings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tidegauge.comparison.compared_trials import ComparedTrials
from tidegauge.comparison.order import findings_of
from tidegauge.model.finding import Finding
from tidegauge.model.trial import MeasuredResult, TrialResult, Validity, point_words, with_form
from tidegauge.numbers import count, join_with_and, ms, percent
from tidegauge.plain import grouped
from tidegauge.report.compare import Estimate, estimate
from tidegauge.report.distributions import Within
from tidegauge.report.effects import effects_of_compared
from tidegauge.report.facts import RunFacts
from tidegauge.report.names import SystemNames
from tidegauge.report.plots.contests import contest_plots
from tidegauge.report.plots.context import context_of_findings, context_of_trials, validity_words
from tidegauge.report.plots.curves import load_plots
from tidegauge.report.plots.effects import effects_plot
from tidegauge.report.plots.heat import heat_maps
from tidegauge.report.plots.model import P99_MEANING, Axis, Form, Line, Mark, Plot, Scale, Series
from tidegauge.report.plots.sweep import (
    ESTIMATES,
    GROUP_WIDTH,
    LOG_FROM,
    Named,
    Spot,
    bar_plots,
    leading_chart,
    points_plot,
    spot_of,
    sweep_plots,
)
from tidegauge.report.tables import worst_validity
from tidegauge.report.usage import Used
from tidegauge.statistics.figures import FIGURES, FINDING_FIGURES, SUSTAINABLE, ValueInTrial
from tidegauge.store.read import StoredRun
from tidegauge.usage import Basis, Ceiling, CeilingShare


def throughput_bars(compared: ComparedTrials, prefix: str) -> list[Plot]:
    """The rate of each system in a closed loop; none at a fixed rate, where it is what was asked for."""
    if not compared.closed_loop:
        return []
    title = "Throughput, closed loop" if compared.loads else "Reading rate"
    return _bars_of_rate(compared, FIGURES["msgs_per_s"].value_in, f"{prefix}-throughput", title)


def drain_bars(compared: ComparedTrials, prefix: str) -> list[Plot]:
    """By how much the backlog of each system shrank; none of trials without late readers."""
    drain = FINDING_FIGURES["drain_msgs_per_s"].value_in_trial
    if drain is None or not all(load.spec.late for load in compared.loads):
        return []
    title = "Drain rate: by how much the backlog shrank"
    return _bars_of_rate(compared, drain, f"{prefix}-drain", title)


def _bars_of_rate(compared: ComparedTrials, rate_in: ValueInTrial, plot_id: str, title: str) -> list[Plot]:
    """A bar of each system that has the rate; [] where none has more than 0."""
    bars, parts = [], []
    for system in compared.systems:
        used = compared.usable(system)
        rates = [rate_in(result) for result in used or compared.of_system(system)]
        rate = estimate([rate for rate in rates if rate is not None])
        if rate is None:
            continue
        name = f"{compared.label(system)}{'' if used else ' INVALID'}"
        bars.append(_Bar(system, name, rate.low, rate.value, rate.high, not used))
        span = f", {count(rate.low)} to {count(rate.high)} ({rate.span_words()})" if rate.trials > 1 else ""
        parts.append(f"{name} {count(rate.value)} msg/s{span}")
    if not any(bar.middle for bar in bars):
        return []
    repeated = any(len(compared.of_system(system)) > 1 for system in compared.systems)
    reading = f"Bar: {ESTIMATES}." if repeated else "Bar: one trial."
    reading += " Hollow: INVALID." if any(bar.hollow for bar in bars) else ""
    reading += " INVALID trials are left out where there are others." if _leaves_out(compared) else ""
    reading = f"{reading} {validity_words(compared, Validity.DOUBTFUL)}".rstrip()
    return _plot_of_bars(plot_id, title, (reading, parts), bars, context_of_trials(compared.results))


def _leaves_out(compared: ComparedTrials) -> bool:
    """Whether figures of a system are without its INVALID trials."""
    return any(0 < len(compared.usable(system)) < len(compared.of_system(system)) for system in compared.systems)


def sustainable_bars(
    findings: Sequence[Finding], results: Sequence[TrialResult], prefix: str, names: SystemNames
) -> list[Plot]:
    """The confirmed sustainable rate of each system for each goal; of a sweep at each of its points."""
    goals = grouped((goal.goal, finding) for finding in findings for goal in finding.goals)
    plots = []
    for number, (goal, findings_of_goal) in enumerate(goals.items(), 1):
        what, end, plot_id = "Sustainable rate", f"; goal: {goal}", f"{prefix}-sustainable-{number}"
        at_points = grouped(((point_words(finding.point), finding.system), finding) for finding in findings_of_goal)
        blocks_most = max(map(len, at_points.values()))
        doubted = {result.spec.trial_id for result in results if result.validity is Validity.DOUBTFUL}
        estimates = {at: _sustained_spot(same, goal, names, blocks_most, doubted) for at, same in at_points.items()}
        spots = [spot for spot in estimates.values() if spot is not None]
        reading = (
            f"Bar: the confirmed rate, {ESTIMATES.replace('trials', 'blocks')}."
            if blocks_most > 1
            else "Bar: the confirmed rate; whisker: the bracket in which the search ended."
        )
        reading += " Hollow: a DOUBTFUL trial confirmed it." if any(spot.doubtful for spot in spots) else ""
        if len({at for at, _ in at_points}) > 1:
            reading += " No bar: no rate was confirmed." if len(spots) < len(at_points) else ""
            named = Named(what, end, reading, plot_id)
            for points, plot in bar_plots(spots, [finding.point for finding in findings_of_goal], _RATE, named):
                at = [finding for finding in findings_of_goal if finding.point in points]
                plots.append(replace(plot, context=context_of_findings(at, results)))
            continue
        missing = sorted(system for (_, system), spot in estimates.items() if spot is None)
        reading += f" No rate was confirmed of {join_with_and(missing)}." if missing else ""
        shown = context_of_findings(findings_of_goal, results)
        bars = [
            _Bar(spot.system, with_form(spot.system, spot.form), spot.low, spot.middle, spot.high, spot.doubtful)
            for spot in spots
        ]
        bars.sort(key=lambda bar: bar.system)
        parts = [
            f"{bar.name} {count(bar.middle)} msg/s"
            + (f", {count(bar.low)} to {count(bar.high)}" if bar.high > bar.low else "")
            for bar in bars
        ]
        plots += _plot_of_bars(plot_id, f"{what}{end}", (reading, parts), bars, shown)
    return plots


def _sustained_spot(
    findings: Sequence[Finding], goal_name: str, names: SystemNames, blocks_most: int, doubted: Collection[str]
) -> Spot | None:
    """One system's rate at one point: of one block with the bracket of its search, of several as other figures are.

    Args:
        blocks_most: of any system at any point; with several no whisker is a bracket, since a picture has one kind.
        doubted: ids of trials that are DOUBTFUL.
    """
    goals = [goal for finding in findings for goal in finding.goals if goal.goal == goal_name]
    estimated = estimate([rate for goal in goals if (rate := goal.sustainable_msgs_per_s)])
    if estimated is None:
        return None
    point, system = findings[0].point, findings[0].system
    doubtful = any(goal.sustainable_msgs_per_s and goal.confirmation_trial_id in doubted for goal in goals)
    spot = spot_of(point, system, names.form(system, point_words(point)), estimated, doubtful=doubtful)
    if blocks_most > 1:
        return spot
    (only,) = [goal for goal in goals if goal.sustainable_msgs_per_s]
    low, high = only.lower_msgs_per_s or estimated.value, only.upper_msgs_per_s or estimated.value
    return replace(spot, low=min(estimated.value, low), high=max(estimated.value, high))


@dataclass(frozen=True)
class _Bar:
    """One system's bar. `name`: what its place on the axis is called. `hollow`: its trials are not valid."""

    system: str
    name: str
    low: float
    middle: float
    high: float
    hollow: bool = False


_RATE = Axis("msg/s", form=Form.COUNT, from_zero=True)


def _plot_of_bars(
    plot_id: str, title: str, reading_and_figures: tuple[str, Sequence[str]], bars: Sequence[_Bar], context_words: str
) -> list[Plot]:
    """A bar at each name; none without any. `reading_and_figures`: what a bar is, and the figures in words."""
    reading, parts = reading_and_figures
    series = [
        Series(
            bar.system,
            "",
            (float(place),),
            (bar.middle,),
            Mark.BARS,
            *_interval_ends(bar.low, bar.high),
            hollow=(True,) if bar.hollow else (),
        )
        for place, bar in enumerate(bars)
    ]
    if not series:
        return []
    x = Axis("system", form=Form.WORDS, names=tuple(bar.name for bar in bars))
    words = f"{reading} {'; '.join(parts)}."
    return [Plot(plot_id, title, words, x, _RATE, tuple(series), context=context_words, reading=reading)]


def share_bars(rows: Sequence[Used], prefix: str) -> list[Plot]:
    """One plot for each disk of each experiment and point of a sweep: the systems side by side at each ceiling."""
    groups = grouped((row.label.replace(f" {row.result.spec.label}", "", 1), row) for row in rows if row.shares)
    plots = []
    for number, (name, group) in enumerate(groups.items(), 1):
        disks = list(dict.fromkeys(share.where for row in group for share in row.shares if share.where)) or [""]
        for place, disk in enumerate(disks, 1):
            title = f"{name}, {disk}" if len(disks) > 1 else name
            plots.append(
                _plot_of_shares(title, group, disk, f"{prefix}-{number}-shares" + (f"-{place}" if place > 1 else ""))
            )
    return plots


def _plot_of_shares(name: str, rows: Sequence[Used], disk: str, plot_id: str) -> Plot:
    """Shares of the ceilings of one disk, and of all else that there is once, as bars."""
    ceilings = [of for of in Ceiling if any(_share_of_ceiling(row, of, disk) for row in rows)]
    width = GROUP_WIDTH / len(rows)
    series = []
    figures: list[str] = []
    drawn: list[CeilingShare] = []
    for number, row in enumerate(rows):
        shares = {place: share for place, of in enumerate(ceilings) if (share := _share_of_ceiling(row, of, disk))}
        system, offset = row.result.spec.system, (number - (len(rows) - 1) / 2) * width
        x, y = tuple(place + offset for place in shares), tuple(share.share * 100 for share in shares.values())
        bases = tuple(f"({share.basis})" for share in shares.values())
        if x:
            series.append(Series(system, row.result.spec.form, x, y, Mark.BARS, notes=bases, width=0.9 * width))
        drawn += shares.values()
        # One that is computed is the least that the load needs.
        figures += [
            f"{system} {f'{share.basis} ' if share.basis is Basis.COMPUTED else ''}{percent(share.share)} of {share.of}"
            for share in shares.values()
        ]
    title = f"Share of ceilings: {name}"
    most = "what the machine did at most when that was measured"
    words = f"Bars are shares of {most}, which is the line at 100 %: {'; '.join(figures)}."
    x_axis = Axis("ceiling", form=Form.WORDS, names=tuple(map(str, ceilings)))
    y_axis = Axis("% of the ceiling", form=Form.SHARE, from_zero=True)
    least = dict.fromkeys(str(share.of) for share in drawn if share.basis is Basis.COMPUTED)
    reading = (
        "Bar: the trial that confirmed the rate."
        if all(row.result.spec.exploratory for row in rows)
        else "Bar: the trial with the middle rate, where there are several."
    )
    reading += f" Lower bounds: {', '.join(least)}." if least else ""
    return Plot(
        plot_id, title, words, x_axis, y_axis, tuple(series), lines=(Line(100.0, "ceiling"),),
        context=context_of_trials([row.result for row in rows]), reading=reading,
    )  # fmt: skip


def _share_of_ceiling(row: Used, of: Ceiling, disk: str) -> CeilingShare | None:
    return row.share(of, disk) or row.share(of, "")


_ID = "overview"


def overview(run: StoredRun, within: Sequence[Within]) -> Plot | None:
    """The plot that suits a run: a sweep's figures, response p99 against load, or rates alone; None without these.

    Args:
        within: intervals within single trials.
    """
    facts = RunFacts(run)
    plot = _choose_plot(facts, within)
    return replace(plot, reading=_reading_words(plot, facts)) if plot is not None else None


def _plot_of_points(facts: RunFacts) -> Plot | None:
    """How variants compare, or what a sweep moved; None for a run of one point."""
    for contest in facts.variant_contests:
        if contest.lead and (plots := contest_plots(contest, facts.run, _ID)):
            return _first_of(plots[:1])
    for sweep in facts.tables:
        # The ids are not that of other pictures, since they are read otherwise.
        effects = effects_of_compared(sweep.compared_trials)
        moved = effects_plot(effects, f"{_ID}-effects", context_of_trials(sweep.results))
        if (picture := moved or points_plot(sweep, f"{_ID}-points")) is not None:
            return picture
        label = leading_chart(sweep.compared_trials).axis.label
        if plots := heat_maps(sweep, facts, _ID) or sweep_plots(sweep, _ID):
            values = [plot.heat or plot.y for plot in plots]
            shown = label if any(axis.label == label for axis in values) else values[0].label
            return _first_of([plot for plot, axis in zip(plots, values, strict=True) if axis.label == shown])
    return None


def _choose_plot(facts: RunFacts, within: Sequence[Within]) -> Plot | None:
    run, tables = facts.run, facts.compared_trials
    if (of_points := _plot_of_points(facts)) is not None:
        return of_points
    findings = findings_of(run)
    sustained = sustainable_bars(findings, run.results, _ID, facts.names)
    if len({point_words(finding.point) for finding in run.findings}) > 1:
        # What was found at one point and at another is no cloud of points of one thing.
        loads = load_plots(findings, run.results, _ID)
        curves = [plot for plot in loads if plot.of_p99]
        return _first_of(sustained or curves) if sustained or curves else None
    if len({point_words(result.spec.point) for result in run.measured}) > 1:
        return None  # Of variants without a figure that counts: by system they would stand in one column.
    comparable = _comparable_trials(tables)
    if drained := [plot for compared in comparable for plot in drain_bars(compared, _ID)]:
        return _first_of(drained)
    dots = _p99_dots(comparable, within)
    for plot in load_plots(run.findings, run.results, _ID):
        dots += plot.series if plot.of_p99 else ()
    limits = _rate_limits(run, tables, within)
    if dots:
        others = {
            result.spec.trial_id for comparable in tables if not comparable.closed_loop for result in comparable.results
        }
        others -= {result.spec.trial_id for comparable in comparable for result in comparable.results}
        shown = [result for result in run.measured if result.spec.trial_id not in others]
        plot = _load_picture(dots, limits, facts.names)
        if plot.x.form is Form.WORDS:  # Of a single rate.
            shown = [result for result in shown if result.offered_msgs_per_s == dots[0].x[0]] or shown
        return replace(plot, context=context_of_trials(shown))
    bars = [plot for comparable in tables for plot in throughput_bars(comparable, _ID)] or sustained
    return _first_of(bars) if bars else None


def _first_of(alike: Sequence[Plot]) -> Plot:
    """The first of several pictures of one figure, which says that there are more."""
    more = f" One of {len(alike)} such pictures of this run." if len(alike) > 1 else ""
    return replace(alike[0], reading=f"{alike[0].reading}{more}")


def _comparable_trials(tables: Sequence[ComparedTrials]) -> list[ComparedTrials]:
    """Trials at fixed rates that may stand in one picture: of ordinary loads, else of a single experiment."""
    fixed = [compared for compared in tables if not compared.closed_loop]
    ordinary = [
        compared
        for compared in fixed
        if not any(load.spec.late or load.spec.faults or load.spec.schedule for load in compared.loads)
    ]
    return ordinary or [compared for compared in fixed if compared.experiment == fixed[0].experiment]


def _reading_words(plot: Plot, facts: RunFacts) -> str:
    """How to read the picture, for those who see it."""
    if plot.plot_id != _ID:  # A sweep's or a bar chart's.
        figure = plot.heat or plot.y
        meaning = f"p99: {figure.meaning}. " if figure.meaning else ""
        return f"{meaning}{plot.reading}"
    marks = [series for series in plot.series if series.mark is not Mark.LIMITS]
    repeated = {(series.system, x) for series in marks if series.minor for x in series.x}
    words = [f"p99: {P99_MEANING}.", "Logarithmic: equal distances are equal factors. Lower is better."]
    if repeated:
        words += ["Bold: the mean of the trials, its 95% interval (their range, of fewer than 3); faint: each trial."]
    if any(series.low and not repeated.intersection((series.system, x) for x in series.x) for series in marks):
        words += ["Whiskers of one trial: 95% within it, which says nothing of what another trial would give."]
    if repeated and any(map(_leaves_out, facts.compared_trials)):
        words += ["INVALID trials are left out where there are others."]
    if any(any(series.hollow) for series in plot.series):
        words += ["Hollow: not sustained, DOUBTFUL or INVALID."]
    if len(marks) < len(plot.series):
        words += ["Upright lines: the most that a system took, of repeats the mean."]
    if any(series.low for series in plot.series if series.mark is Mark.LIMITS):
        words += ["Shaded: its interval."]
    return " ".join(words)


def _load_picture(dots: Sequence[Series], limits: Sequence[Series], names: SystemNames) -> Plot:
    rates = [x for dot in (*dots, *limits) for x in dot.x]
    if len(set(rates)) == 1:
        return _side_by_side(dots, names)
    scale = Scale.LOG if max(rates) > LOG_FROM * min(rates) else Scale.LINEAR
    parts = [
        f"{dot.name} {ms(y)} ms at {count(x)} msg/s{_point_note(dot, place)}"
        for dot in dots
        for place, (x, y) in enumerate(zip(dot.x, dot.y, strict=True))
        if not dot.minor and y is not None
    ]
    parts += [f"{limit.name} {count(x)} msg/s" for limit in limits for x in limit.x]
    shown = "Response p99 at each rate, and the most that a system took." if limits else "Response p99 at each rate."
    x_axis = Axis("offered, msg/s", scale, Form.COUNT, from_zero=True)
    y_axis = Axis("response p99, ms", Scale.LOG, Form.MS, meaning=P99_MEANING)
    words = f"{shown} {'; '.join(parts)}."
    return Plot(_ID, "Response time against load", words, x_axis, y_axis, (*dots, *limits))


def _point_note(dot: Series, place: int) -> str:
    """What is said of one point beside its figure: that it is INVALID, or was not sustained."""
    return f" ({dot.notes[place]})" if dot.notes and dot.notes[place] else ""


def _side_by_side(dots: Sequence[Series], names: SystemNames) -> Plot:
    """A plot of a single rate, which its context names: a quantity with one value is no axis."""
    systems = sorted({dot.system for dot in dots})
    moved = tuple(replace(dot, x=(float(systems.index(dot.system)),) * len(dot.x)) for dot in dots)
    parts = [f"{dot.name} {ms(dot.y[0])} ms{_point_note(dot, 0)}" for dot in dots if not dot.minor and dot.y]
    x_axis = Axis("system", form=Form.WORDS, names=tuple(names.label(system) for system in systems))
    y_axis = Axis("response p99, ms", Scale.LOG, Form.MS, meaning=P99_MEANING)
    return Plot(_ID, "Response p99", f"Response p99. {'; '.join(parts)}.", x_axis, y_axis, moved)


def _p99_dots(tables: Sequence[ComparedTrials], within: Sequence[Within]) -> list[Series]:
    """At each fixed rate each system's p99 with its interval, and every trial of several."""
    dots = []
    for compared in tables:
        for system in compared.systems if not compared.closed_loop else ():
            p99_ms = FIGURES["response_ms_p99"].value_in
            trials = [trial for trial in compared.usable(system) or compared.of_system(system) if p99_ms(trial)]
            values = [p99_ms(trial) or 0.0 for trial in trials]
            p99 = _estimate_of_trials(values, trials, "response p99", within)
            if p99 is None or not compared.results[0].offered_msgs_per_s:
                continue
            at = compared.results[0].offered_msgs_per_s
            if len(values) > 1:
                every = (Mark.POINTS, (), (), tuple(trial.validity is not Validity.VALID for trial in trials))
                dots.append(Series(system, "each trial", (at,) * len(values), tuple(values), *every, minor=True))
            worst = worst_validity(trials)
            marks = ((worst is not Validity.VALID,), ("" if worst is Validity.VALID else worst.shown,))
            dots.append(
                Series(system, "", (at,), (p99.value,), Mark.POINTS, *_interval_ends(p99.low, p99.high), *marks)
            )
    return dots


def _estimate_of_trials(
    values: Sequence[float], trials: Sequence[MeasuredResult], figure: str, within: Sequence[Within]
) -> Estimate | None:
    """The estimate of a figure over trials, or with the interval within it for a single one."""
    interval = estimate(values)
    trial_ids = {trial.spec.trial_id for trial in trials}
    inside = [spread.interval for spread in within if spread.trial_id in trial_ids and spread.figure == figure]
    if interval is None or interval.trials > 1 or not inside:
        return interval
    return replace(interval, low=min(interval.value, inside[0].low), high=max(interval.value, inside[0].high))


def _rate_limits(run: StoredRun, tables: Sequence[ComparedTrials], within: Sequence[Within]) -> list[Series]:
    """The most that each system took: searched and confirmed, else in a closed loop."""
    figure = FINDING_FIGURES[SUSTAINABLE]
    searched = grouped((finding.system, value) for finding in run.findings if (value := figure.value_in(finding)))
    most_by_system: Mapping[str, Estimate | None] = {system: estimate(values) for system, values in searched.items()}
    label = "sustained"
    peaks = [compared for compared in tables if compared.closed_loop and compared.loads]
    if not most_by_system and peaks:
        compared = peaks[0]
        label = compared.experiment
        usable = {system: compared.usable(system) for system in compared.systems}
        most_by_system = {
            system: _estimate_of_trials([trial.msgs_per_s for trial in trials], trials, "rate", within)
            for system, trials in usable.items()
        }
    limits = [(system, most) for system, most in most_by_system.items() if most is not None]
    return [
        Series(system, label, (most.value,), (None,), Mark.LIMITS, *_interval_ends(most.low, most.high))
        for system, most in sorted(limits, key=lambda limit: -limit[1].value)
    ]


def _interval_ends(low: float, high: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The ends of an interval or range, as a series has them; none where it has no extent."""
    return ((low,), (high,)) if high > low else ((), ())
