"""What experiments found beyond the figures of single trials, and what faults did: in sentences and as tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from statistics import median

from rich.console import RenderableType

from tidegauge.comparison.compared_trials import ComparedTrials
from tidegauge.model.faults import FaultResult
from tidegauge.model.finding import Cell, Finding
from tidegauge.model.trial import LoadResult, TrialResult, TrialSpec, Validity, point_words
from tidegauge.numbers import MISSING, count, ms, short
from tidegauge.plain import grouped
from tidegauge.report.effects import effects_of_findings, effects_parts
from tidegauge.report.layout import Column, ColumnGroup, FigureTable, Paragraph, columns, heading, with_blank_lines
from tidegauge.report.names import SystemNames
from tidegauge.report.tables import SWEPT_LABEL_CHARS_MAX, Remark, columns_of_axes, reduced_group
from tidegauge.statistics.figures import FIGURES

NOTE = (
    "Faults: seconds without any acknowledgement, and without a message for some subscription, by whole seconds; the "
    "p99 response of the seconds before the first fault (median) and of the worst second after; the time from a fault "
    "until rate, deliveries and p99 are as before, and stay so for 3 s after it was lifted."
)
_SEVERAL = "lost: which of several faults did it is not known; the trial's own figure stands above."


def faults_table(compared: ComparedTrials) -> FigureTable | None:
    """A row for each fault of each system; None without any."""
    rows = [
        (f"{system} {number}. {results[0].fault.name}, {_nodes_hit(results)}", results)
        for system in compared.systems
        for number, results in enumerate(faults_by_number(compared.loads_of(system)), 1)
    ]
    # Where nobody knows if messages of a trial were lost, nobody knows it of its faults.
    unknown = {
        system
        for system in compared.systems
        if any(FIGURES["lost"].value_in(load) is None for load in compared.loads_of(system))
    }
    lost = []
    for system in compared.systems:
        for results in faults_by_number(compared.loads_of(system)):
            # In all trials; "?" if in any of them some were, and nobody knows which of its faults did it.
            losses = [fault.lost for fault in results if fault.lost is not None]
            words = count(float(sum(losses))) if len(losses) == len(results) else "?"
            lost.append(MISSING if system in unknown else words)
    if not rows:
        return None
    by_row = [results for _, results in rows]
    group = partial(reduced_group, by_row)
    failed, *others = group(
        "", count, {"failed": lambda r: r.failed, "twice": lambda r: r.duplicated, "reordered": lambda r: r.reordered}
    ).columns
    groups = (
        group("at, s", _seconds_text, {"from": lambda r: r.from_s, "to": lambda r: r.until_s}),
        group(
            "s without",
            _seconds_text,
            {"publishes": lambda r: r.publish_gap_s, "deliveries": lambda r: r.delivery_gap_s},
        ),
        group("response p99, ms", ms, {"before": lambda r: r.p99_before_ms, "worst": lambda r: r.p99_worst_ms}),
        ColumnGroup("normal", columns(by_row, {"after, s": _normal_after})),
        ColumnGroup("messages", (failed, Column("lost", tuple(lost)), *others)),
    )
    return FigureTable("system and fault", tuple(label for label, _ in rows), groups)


def fault_notes(compared: ComparedTrials) -> list[str]:
    """What to know to read the table; [] without one. All trials that are compared have the same faults."""
    faults = [fault for load in compared.loads for fault in load.faults]
    if not faults:
        return []
    asked = next(load.faults for load in compared.loads if load.faults)
    listed = "; ".join(f"{number}. {fault.fault.words()}" for number, fault in enumerate(asked, 1))
    unknown = any(fault.lost is None for fault in faults)
    return [f"The faults: {listed}.", NOTE, *([_SEVERAL] if unknown else [])]


def planned_faults(trials: Sequence[TrialSpec]) -> list[str]:
    """The faults of planned trials, a sentence for each experiment that has any."""
    faults_of_experiments = dict.fromkeys((trial.experiment, trial.faults) for trial in trials if trial.faults)
    return [
        f"Faults while {experiment} measures: {'; '.join(fault.words() for fault in faults)}."
        for experiment, faults in faults_of_experiments
    ]


def faults_by_number(trials: Sequence[LoadResult]) -> list[list[FaultResult]]:
    """The first faults of all trials, the second ones, and so on."""
    return [[fault for fault in alike if fault] for alike in zip_longest(*(trial.faults for trial in trials))]


def _nodes_hit(results: Sequence[FaultResult]) -> str:
    """Which nodes were hit, "node 1 or 3" where that is not the same in all trials, as of a leader."""
    hit = sorted({result.nodes for result in results})
    each = " or ".join(", ".join(map(str, nodes)) for nodes in hit)
    return f"nodes {each}" if any(len(nodes) > 1 for nodes in hit) else f"node {each}"


def _normal_after(results: Sequence[FaultResult]) -> str:
    """The median time until all was normal, where faults after which that was never seen count as the longest."""
    middle = median(float("inf") if fault.normal_after_s is None else fault.normal_after_s for fault in results)
    return "not seen" if middle == float("inf") else _seconds_text(middle)


def _seconds_text(value: float | None) -> str:
    """Seconds to a tenth: finer than that nothing here is known."""
    return MISSING if value is None else f"{value:,.1f}"


def finding_parts(
    findings: Mapping[str, Sequence[Finding]], names: SystemNames, results: Sequence[TrialResult]
) -> Iterable[RenderableType]:
    """One part for each experiment that has findings: its answers, those that are not sure in colour, and the table."""
    return with_blank_lines(*(_experiment_parts(of_experiment, names, results) for of_experiment in findings.values()))


def by_experiment(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    """Findings by the name of their experiment."""
    return grouped((finding.experiment, finding) for finding in findings)


def _experiment_parts(
    findings: Sequence[Finding], names: SystemNames, results: Sequence[TrialResult]
) -> Iterable[RenderableType]:
    yield heading(f"{findings[0].experiment}: what was found")
    yield from (remark.bullet() for remark in finding_remarks(findings, names, results))
    if any(finding.rows for finding in findings):
        yield finding_table(findings, names)
    tables, notes = effects_parts(effects_of_findings(findings))
    yield from tables
    yield from (Paragraph(note, "dim") for note in notes)


def finding_remarks(findings: Sequence[Finding], names: SystemNames, results: Sequence[TrialResult]) -> list[Remark]:
    """All sentences of one experiment's findings; doubtful where they stay open, or rest on a trial that is not valid.

    Args:
        results: of the same run.
    """
    not_valid = {result.spec.trial_id for result in results if result.validity is not Validity.VALID}
    remarks = []
    for finding in findings:
        where = f"{point_words(finding.point)}: " if finding.point else ""
        label = f"{where}{_system_label(finding, findings, names)}"
        for sentence, doubtful in zip(finding.summary, _doubts_of_sentences(finding, not_valid), strict=True):
            remarks.append(Remark(f"{label}: {sentence}", Validity.DOUBTFUL if doubtful else None))
    return remarks


def _doubts_of_sentences(finding: Finding, not_valid: Collection[str]) -> list[bool]:
    """Whether each sentence is doubtful: that on a goal of a search by this goal alone."""
    if len(finding.goals) == len(finding.summary):
        is_open = [not (finding.decided or goal.decided) for goal in finding.goals]
        return [
            open_ or goal.confirmation_trial_id in not_valid for open_, goal in zip(is_open, finding.goals, strict=True)
        ]
    return [not finding.decided or finding.published_trial_id in not_valid] * len(finding.summary)


def _system_label(finding: Finding, findings: Sequence[Finding], names: SystemNames) -> str:
    repeated = sum((other.system, other.point) == (finding.system, finding.point) for other in findings) > 1
    label = names.label(finding.system, point_words(finding.point))
    return f"{label}, block {finding.block + 1}" if repeated else label


def finding_table(findings: Sequence[Finding], names: SystemNames) -> FigureTable:
    """The rows of all findings of one experiment, with their systems as labels."""
    rows = [(_system_label(finding, findings, names), row) for finding in findings for row in finding.rows]
    heads = list(dict.fromkeys(head for _, row in rows for head in row))
    groups = []
    for head in heads:
        cells = [row.get(head) for _, row in rows]
        are_words = any(isinstance(cell, str) for cell in cells)
        groups.append(ColumnGroup("", columns(cells, {head: _cell_text}, are_words)))
    points = [finding.point for finding in findings for _ in finding.rows]
    table = FigureTable("system", tuple(who for who, _ in rows), tuple(groups), leading=columns_of_axes(points))
    return replace(table, label_chars_max=SWEPT_LABEL_CHARS_MAX) if table.leading else table


def _cell_text(cell: Cell) -> str:
    if cell is None or cell == "":
        return MISSING
    if isinstance(cell, str):
        return cell
    return count(cell) if isinstance(cell, int) else short(cell)
