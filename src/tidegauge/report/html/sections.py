"""The part of a report about each experiment: plots, tables, remarks, from the models in `report.plots`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import inf

from tidegauge.comparison.compared_trials import ComparedTrials
from tidegauge.model.finding import Finding
from tidegauge.model.trial import MeasuredResult, ReadSpec, point_words
from tidegauge.model.variant import VARIANT
from tidegauge.numbers import capitalized, plural
from tidegauge.plain import grouped
from tidegauge.report import contests, usage
from tidegauge.report.effects import effects_of_compared, effects_of_findings, effects_parts
from tidegauge.report.facts import RunFacts, further_tables, table_notes
from tidegauge.report.findings import finding_remarks, finding_table
from tidegauge.report.layout import FigureTable
from tidegauge.report.loads import compared_words, load_words
from tidegauge.report.plots.contests import contest_plots
from tidegauge.report.plots.context import context_of_findings, context_of_trials, context_of_unfinished
from tidegauge.report.plots.curves import load_plots, percentile_plots, search_plots
from tidegauge.report.plots.effects import effects_plot
from tidegauge.report.plots.heat import heat_maps, heat_maps_of_findings
from tidegauge.report.plots.model import Details, Plot, on_one_scale
from tidegauge.report.plots.overview import share_bars, sustainable_bars, throughput_bars
from tidegauge.report.plots.sweep import points_left_out, sweep_plots
from tidegauge.report.plots.timeline import (
    MAIN,
    READING,
    chase_plots,
    reason_charts,
    timelines,
    trial_timelines,
    used_charts,
)
from tidegauge.report.tables import Remark, Swept, figure_table, remarks, short_point
from tidegauge.store.read import StoredRun

POINTS_MAX = 8
"""Points of a sweep whose trials have plots of their own."""


@dataclass(frozen=True)
class SectionPart:
    """One table of an experiment with its plots. `more`: plots that explain rather than answer, shown on demand."""

    title: str
    words: str
    plots: tuple[Plot, ...]
    more: tuple[Plot, ...] = ()
    tables: tuple[FigureTable, ...] = ()
    notes: tuple[str, ...] = ()
    remarks: tuple[Remark, ...] = ()


@dataclass(frozen=True)
class Section:
    """One experiment."""

    anchor: str
    title: str
    parts: tuple[SectionPart, ...]

    @property
    def plots(self) -> tuple[Plot, ...]:
        """All its plots."""
        return tuple(plot for part in self.parts for plot in (*part.plots, *part.more))


def experiment_names(run: StoredRun) -> list[str]:
    """Experiments in the order in which they were first measured, those with nothing but unfinished trials last."""
    measured = [result.spec.experiment for result in run.results]
    begun = [trial.spec.experiment for trial in run.trials if trial.spec is not None]
    return list(dict.fromkeys([*measured, *(finding.experiment for finding in run.findings), *begun]))


def sections(run: StoredRun, details: Details) -> list[Section]:
    """A section for each experiment that has anything to show."""
    experiment_sections = []
    facts = RunFacts(run)
    for number, name in enumerate(experiment_names(run), 1):
        prefix = f"{number:02d}-{name}"
        parts: list[SectionPart] = []
        if name in facts.findings:
            parts.append(_finding_part(facts.findings[name], facts, details, prefix))
        for place, sweep in enumerate((table for table in facts.tables if table.experiment == name), 1):
            parts += _sweep_parts(sweep, facts, details, f"{prefix}-{place}")
        parts += _unfinished_parts(facts, name, details, prefix)
        if parts:
            experiment_sections.append(Section(f"experiment-{number}", name, tuple(parts)))
    return [*_variant_sections(facts), *experiment_sections, *_machine_sections(run)]


def _variant_sections(facts: RunFacts) -> list[Section]:
    """How a run's variants compare, a part for each leading figure; no section of a run without variants."""
    run, compared = facts.run, facts.variant_contests
    parts = []
    for number, contest in enumerate((one for one in compared if one.lead), 1):
        asked = (contest.experiment, contest.at)
        beside = [one for one in compared if not one.lead and (one.experiment, one.at) == asked]
        parts.append(
            SectionPart(
                title=contests.contest_title(contest),
                words=f"{contests.variants_line(run)}." if number == 1 else "",
                plots=tuple(contest_plots(contest, run, f"00-variants-{number}")),
                tables=(contests.contest_table(contest),),
                notes=(*contests.contest_notes(contest), *map(contests.contest_line, beside)),
            )
        )
    return [Section("variants", "variants", tuple(parts))] if parts else []


def _machine_sections(run: StoredRun) -> list[Section]:
    """What results took of the machine, and what they cost; no section where neither is known."""
    rows = usage.rows(run)
    table = usage.usage_table(rows)
    notes = tuple(usage.notes(run, rows))
    if table is None and not notes:
        return []
    plots = tuple(share_bars([row for row in rows if row.is_throughput][: usage.ROWS_MAX], "machine"))
    part = SectionPart(usage.title(rows), "", plots, tables=(table,) if table is not None else (), notes=notes)
    return [Section("machine", "limits, ceilings, cost", (part,))]


def _sweep_parts(sweep: Swept, facts: RunFacts, details: Details, prefix: str) -> list[SectionPart]:
    """One part for a table; of a sweep first the figures by its values, as a whole and in slices, then each point."""
    if len(sweep.compared_trials) == 1:
        return [_compared_part(sweep.compared_trials[0], details, prefix)]
    points = [compared.point for compared in sweep.compared_trials]
    effects = effects_of_compared(sweep.compared_trials)
    effect_tables, effect_notes = effects_parts(effects)
    # Slices through a design have hardly a point each, and comparing these would mislead.
    left_out = "" if effects else points_left_out(points)
    picture = effects_plot(effects, f"{prefix}-effects", context_of_trials(sweep.results))
    slices = sweep_plots(sweep, prefix)
    words = load_words(sweep.compared_trials[0].results[0])
    if any(load_words(compared.results[0]) != words for compared in sweep.compared_trials):
        words = f"At {point_words(points[0])}: {words}. Not all other points have the same load."
    is_of_variants = all(set(point) == {VARIANT} for point in points)
    overview = SectionPart(
        title=plural(len(points), "variant") if is_of_variants else f"{len(points)} points of a sweep",
        words=words,
        plots=on_one_scale([*heat_maps(sweep, facts, prefix), *slices]) if picture is None else (picture,),
        tables=(*effect_tables, *_split_table(sweep.table())),
        notes=tuple(filter(None, (*effect_notes, left_out, *table_notes(sweep.compared_trials)))),
    )
    shown, others = sweep.compared_trials[:POINTS_MAX], sweep.compared_trials[POINTS_MAX:]
    parts = []
    for place, compared in enumerate(shown, 1):
        # Plots on demand, since the overview has the answer, and what is in no table of that.
        at = f"{prefix}-{place}"
        whole = _compared_part(compared, details, at)
        more = (*whole.plots, *timelines(compared, details, at, reason_charts(compared, details)))
        tables = tuple(further_tables(compared))
        parts.append(SectionPart(short_point(compared.point), "", (), more=more, tables=tables, remarks=whole.remarks))
    scaled = iter(on_one_scale([plot for part in parts for plot in part.more]))
    parts = [replace(part, more=tuple(islice(scaled, len(part.more)))) for part in parts]
    if others:
        words = (
            f"Plots and further tables of the first {POINTS_MAX} points are above; those of the others are left out to "
            "keep this page small."
        )
        # What must be known of their trials is told all the same.
        of_others = tuple(remark for compared in others for remark in remarks(compared))
        parts.append(SectionPart(plural(len(others), "more point"), words, (), remarks=of_others))
    return [overview, *parts]


def _compared_part(compared: ComparedTrials, details: Details, prefix: str) -> SectionPart:
    chased = chase_plots(compared, details, prefix)
    plots = [*throughput_bars(compared, prefix), *chased, *percentile_plots(compared, details, prefix)]
    plots += [] if chased else timelines(compared, details, prefix, MAIN if compared.loads else READING)
    return SectionPart(
        title=load_words(compared.results[0]),
        words=compared_words(compared),
        plots=on_one_scale(plots),
        more=tuple(timelines(compared, details, prefix, used_charts(compared, details))),
        tables=(
            *_split_table(figure_table(compared)),
            *further_tables(compared),
        ),
        notes=tuple(table_notes([compared])),
        remarks=tuple(remarks(compared)),
    )


def _split_table(table: FigureTable) -> tuple[FigureTable, ...]:
    """One table for each of those that a terminal shows below each other: a page should not need scrolling sideways.

    Each says first whether its figures may be used.
    """
    *figures, validity = table.groups
    parts = replace(table, groups=tuple(figures)).packed(inf)
    return tuple(replace(table, groups=(validity, *groups)) for groups in parts)


def _finding_part(findings: Sequence[Finding], facts: RunFacts, details: Details, prefix: str) -> SectionPart:
    """What an experiment found; beside it the trials that confirmed it."""
    run, names = facts.run, facts.names
    plots = [
        *sustainable_bars(findings, run.results, prefix, names),
        *search_plots(findings, run.results, prefix),
        *load_plots(findings, run.results, prefix),
    ]
    confirmed = _confirmed_trials(findings, run.measured)
    left_out = points_left_out([finding.point for finding in findings])
    effects = effects_of_findings(findings)
    effect_tables, effect_notes = effects_parts(effects)
    picture = effects_plot(effects, f"{prefix}-effects", context_of_findings(findings, run.results))
    plots = [*([picture] if picture else heat_maps_of_findings(findings, facts, prefix)), *plots]
    confirmed_only = f"Confirmations of the first {POINTS_MAX} of {len(confirmed)} points have plots."
    return SectionPart(
        title="what was found",
        words="",
        plots=on_one_scale(plots),
        more=tuple(_confirmation_plots(findings, confirmed, details, prefix)),
        tables=(*effect_tables, *((finding_table(findings, names),) if any(f.rows for f in findings) else ())),
        notes=tuple(filter(None, (*effect_notes, left_out, confirmed_only if len(confirmed) > POINTS_MAX else ""))),
        remarks=tuple(finding_remarks(findings, names, run.results)),
    )


def _confirmed_trials(findings: Sequence[Finding], results: Sequence[MeasuredResult]) -> list[ComparedTrials]:
    """The trials that the findings publish, of the goal that each search lists first: each point for itself."""
    by_trial_id = {result.spec.trial_id: result for result in results}
    trial_ids = (finding.goals[0].confirmation_trial_id or "" for finding in findings if finding.goals)
    confirmed = (by_trial_id[trial_id] for trial_id in trial_ids if trial_id in by_trial_id)
    at_points = grouped((point_words(result.spec.point), result) for result in confirmed)
    return [ComparedTrials(findings[0].experiment, tuple(each)) for each in at_points.values()]


def _confirmation_plots(
    findings: Sequence[Finding], confirmed: Sequence[ComparedTrials], details: Details, prefix: str
) -> list[Plot]:
    """What was measured at the rates that were found, and what was used there."""
    several_points, several_goals = len(confirmed) > 1, any(len(finding.goals) > 1 for finding in findings)
    goal = f"; goal: {next(finding.goals[0].goal for finding in findings if finding.goals)}" if several_goals else ""
    plots: list[Plot] = []
    in_a_row: set[str] = set()
    for number, compared in enumerate(confirmed[:POINTS_MAX], 1):
        at = f"{prefix}-{number}" if several_points else prefix
        where = f", {short_point(compared.point)}" if several_points else ""
        # Of each point of a sweep all that was used would be hundreds of plots.
        used = (reason_charts if several_points else used_charts)(compared, details)
        measured = [*percentile_plots(compared, details, at), *timelines(compared, details, at, MAIN)]
        of_use = timelines(compared, details, at, used)
        # Pictures of all that one point used are of too many figures for one scale.
        in_a_row |= {plot.plot_id for plot in (*measured, *(of_use if several_points else ()))}
        rates = {result.offered_msgs_per_s for result in compared.results}
        own_rates = "Each system at the rate that was found for it." if len(rates) > 1 else ""
        plots += [
            replace(
                plot,
                title=f"{plot.title}{where} (confirmation{goal})",
                reading=" ".join(filter(None, (own_rates, plot.reading))),
            )
            for plot in (*measured, *of_use)
        ]
    scaled = iter(on_one_scale([plot for plot in plots if plot.plot_id in in_a_row]))
    return [next(scaled) if plot.plot_id in in_a_row else plot for plot in plots]


def _unfinished_parts(facts: RunFacts, experiment: str, details: Details, prefix: str) -> list[SectionPart]:
    """Trials without a result that left seconds behind: what they had measured is shown, and that it is no result."""
    parts = []
    for number, trial in enumerate(facts.run.trials, 1):
        if trial.result is not None or trial.spec is None or trial.spec.experiment != experiment:
            continue
        charts = READING if isinstance(trial.spec, ReadSpec) else MAIN
        plots = trial_timelines(details[trial.trial_id], trial.spec.system, f"{prefix}-unfinished-{number}", charts)
        if plots:
            why = f"{capitalized(trial.why)}. " if trial.why and trial.why != trial.status else ""
            words = f"{why}No figure of it is a result."
            context_words = context_of_unfinished(trial.spec, trial.status)
            drawn = tuple(replace(plot, context=context_words) for plot in plots)
            parts.append(SectionPart(f"{trial.trial_id}: {trial.status}", words, drawn))
    return parts
