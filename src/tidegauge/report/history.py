"""What is said of figures over many runs: terminal and JSON, and the words of the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType

from tidegauge.comparison.differences import Difference
from tidegauge.comparison.history import (
    RATE,
    FigureChange,
    FigureHistory,
    HistoryEntry,
    HistoryPart,
    RunHistory,
    Untested,
)
from tidegauge.numbers import count, in_unit, join_first, join_with_and, percent, plural
from tidegauge.plain import grouped, plain_value
from tidegauge.report.compare import Estimate, estimate, experiment_at_point, times, verdict_words
from tidegauge.report.envelopes import HistoryReport
from tidegauge.report.layout import Paragraph, WordTable, bullet, columns, heading, with_blank_lines
from tidegauge.statistics.change_points import FALSE_ALARMS, PART_MIN, VALUES_MIN
from tidegauge.statistics.intervals import ComparisonVerdict, geometric_mean

DIFFERENCES_SHOWN = 4
NOT_TESTED = "No change can be told"
_STYLES = {ComparisonVerdict.BETTER: "green", ComparisonVerdict.WORSE: "bold red"}


def part_title(part: HistoryPart) -> str:
    """What a part is about: "latency at 5,000 msg/s: kafka", with what tells it from others of the same."""
    rate = part.conditions.get(RATE, "")
    at_rate = f" ({rate})" if rate else ""
    apart = [f"{name} {value}" for name, value in part.apart.items() if name != RATE]
    told_apart = f" [{', '.join(apart)}]" if apart else ""
    return f"{experiment_at_point(part.experiment, part.point)}{at_rate}: {part.system}{told_apart}"


def entry_name(entry: HistoryEntry) -> str:
    """A run with its name and tags, if it has any."""
    return f"{entry.run.path.name} {entry.run.labels.words}".rstrip()


def value_of_entry(values: tuple[float, ...]) -> Estimate:
    """A figure of one run, with the interval over its trials or their range."""
    of_run = estimate(values)
    assert of_run is not None
    return of_run


def change_sentence(history: FigureHistory, change: FigureChange) -> str:
    """From which run on a figure is another, and by how much."""
    since = entry_name(history.entries[change.place])
    return f"since {since}: {history.figure.title} {change_words(history, change)}"


def change_words(history: FigureHistory, change: FigureChange) -> str:
    """By how much a figure is another, and how many runs say so."""
    means, unit = history.means, history.figure.unit
    before, since = (geometric_mean([means[place] for place in places]) for places in (change.before, change.since))
    both = f"{in_unit(since, unit)} instead of {in_unit(before, unit)} {unit}".rstrip()
    places = (*change.before, *change.since)
    doubted = sum(is_doubted(history.entries[place]) for place in places)
    doubts = f"; {doubted} of them DOUBTFUL or disturbed" if doubted else ""
    runs = f"{plural(len(change.since), 'run')}, {len(change.before)} before{doubts}"
    # Runs that are others in their spread alone are neither better nor worse.
    decided = change.comparison.verdict is not ComparisonVerdict.NOT_DECIDED
    verdict = verdict_words(change.comparison) if decided else "neither better nor worse for certain"
    return f"{times(change.comparison)}, {both} ({runs}): {verdict}"


def is_doubted(entry: HistoryEntry) -> bool:
    """Whether a run's figures are DOUBTFUL, or others disturbed it."""
    return entry.doubtful or bool(entry.disturbances)


def changes_by_run(part: HistoryPart) -> Iterator[tuple[str, list[tuple[FigureHistory, FigureChange]]]]:
    """The changes of a part by the run since which they are, oldest first, with what else changed then, in words."""
    changes = [(history, change) for history in part.figures for change in history.changes]
    changes.sort(key=lambda each: each[0].entries[each[1].place].run.started_at)
    since = grouped(
        (f"since {entry_name(history.entries[change.place])}; {changed_with_it(change)}", (history, change))
        for history, change in changes
    )
    yield from since.items()


def changed_with_it(change: FigureChange) -> str:
    """What was recorded otherwise from the last run before a change to the first since."""
    if not change.differences:
        return "nothing that was recorded changed with it"
    return f"what changed then: {join_first(list(map(difference_words, change.differences)), DIFFERENCES_SHOWN, '; ')}"


def difference_words(difference: Difference) -> str:
    """ "kernel: Linux 6.1 -> Linux 6.18"."""
    return f"{difference.what}: {' -> '.join(difference.values)}"


def untested_words(history: FigureHistory) -> str:
    """Why changes of a figure can't be told."""
    if history.untested is Untested.FEW_RUNS:
        return f"{plural(len(history.entries), 'run')}, no change can be told from fewer than {VALUES_MIN}"
    rates = [rate for entry in history.entries for rate in entry.rates_msgs_per_s]
    return (
        f"no change can be told, since the runs were at different rates: {count(min(rates))} to {count(max(rates))} "
        "msg/s"
    )


def doubts_of_entry(entry: HistoryEntry) -> str:
    """What is to be known of a run's figures: doubts, what others disturbed, and trials left out; "" if nothing."""
    left_out = f"{plural(entry.invalid, 'trial')} INVALID and left out" if entry.invalid else ""
    doubts = "; ".join(entry.doubts)
    doubtful = f"DOUBTFUL: {doubts}" if doubts else "DOUBTFUL" if entry.doubtful else ""
    disturbed = f"disturbed: {'; '.join(entry.disturbances)}" if entry.disturbances else ""
    return "; ".join(filter(None, (doubtful, disturbed, left_out)))


def how_sure(history: RunHistory) -> str:
    """How often a change is claimed where there is none, and what it can't show."""
    tested = history.figures_tested
    if not tested:
        return ""
    return (
        f"Changes were looked for in {tested} series. Of series in which nothing changes at most "
        f"{percent(FALSE_ALARMS)} show one, if no run depends on the one before it. A change shows from its "
        f"{PART_MIN}rd run on at the earliest, a slow drift as steps. What changed on the machine counts as a change, "
        "too."
    )


def history_report(history: RunHistory) -> RenderableType:
    """A table for each part with a row for each figure, then what changed, and how sure that is."""
    if not history.parts:
        return Paragraph("None of these runs has a figure to compare.")
    groups = [list(_part_lines(part)) for part in history.repeated_parts]
    notes = list(map(Paragraph, history_notes(history)))
    return Group(*with_blank_lines(*groups, notes))


def history_notes(history: RunHistory) -> list[str]:
    """How sure it is, and what is not shown."""
    alone = len(history.parts) - len(history.repeated_parts)
    names = [run.path.name for run in history.without_figures]
    notes = (
        how_sure(history),
        "What only one run asked under the same conditions is left out (--json has all)." if alone else "",
        f"Without a figure to compare: {join_first(names, DIFFERENCES_SHOWN)}." if names else "",
    )
    return list(filter(None, notes))


def _part_lines(part: HistoryPart) -> Iterator[RenderableType]:
    yield heading(f"{part.campaign}, {part_title(part)}")
    if part.figures:
        yield WordTable(columns(part.figures, _FIGURE_CELLS, words=True))
    for since, changes in changes_by_run(part):
        yield bullet(f"{since}:")
        for history, change in changes:
            style = _STYLES.get(change.comparison.verdict, "")
            yield Paragraph(f"{history.figure.title} {change_words(history, change)}", style, "    ", "      ")
    yield from (bullet(sentence, "yellow") for sentence in part_remarks(part))


def _change_state(history: FigureHistory) -> str:
    """Whether a figure changed, in a few words."""
    if history.untested is not None:
        return untested_words(history)
    if not history.changes:
        return "none"
    last = history.changes[-1]
    of_several = f"{plural(len(history.changes), 'change')}, the last: " if len(history.changes) > 1 else ""
    since = history.entries[last.place].run.path.name
    return f"{of_several}{times(last.comparison).partition(' ')[0]} since {since}"


_FIGURE_CELLS: Mapping[str, Callable[[FigureHistory], str]] = {
    "figure": lambda history: history.figure.title,
    "runs": lambda history: str(len(history.entries)),
    "latest": lambda history: " ".join((in_unit(history.means[-1], history.figure.unit), history.figure.unit)),
    "change": _change_state,
}


def part_remarks(part: HistoryPart, all_words: str = "the page and --json have all") -> list[str]:
    """What is to be known of the runs of a part: doubts, what was left out, and what else differs between them.

    `all_words`: where all that differs stands.
    """
    doubted = [entry for entry in part.entries if is_doubted(entry)]
    remarks = []
    if doubted:
        names = join_first([entry.run.path.name for entry in doubted], DIFFERENCES_SHOWN)
        remarks.append(f"{len(doubted)} of {plural(len(part.entries), 'run')} DOUBTFUL or disturbed: {names}")
    if part.left_out:
        names = join_first([run.path.name for run in part.left_out], DIFFERENCES_SHOWN)
        remarks.append(f"left out, since all their trials of this are INVALID: {names}")
    differing = [entry for entry in part.entries if entry.differences]
    if differing:
        kinds = join_with_and(list(dict.fromkeys(one.kind for entry in differing for one in entry.differences)))
        last = differing[-1]
        words = join_first(list(map(difference_words, last.differences)), DIFFERENCES_SHOWN, "; ")
        remarks.append(
            f"not all the same ({kinds}): something differs from the run before in {plural(len(differing), 'run')}, "
            f"last in {last.run.path.name}: {words} ({all_words})"
        )
    return remarks


def untested_remarks(part: HistoryPart) -> list[str]:
    """Of which figures changes can't be told, and why, each reason once."""
    titles = grouped((untested_words(one), one.figure.title) for one in part.figures if one.untested is not None)
    return [f"{', '.join(of_reason)}: {reason}" for reason, of_reason in titles.items()]


def history_content(history: RunHistory, page: str) -> dict[str, Any]:
    """A history as plain data. `page`: the file that shows it; "" if none was written."""
    envelope = HistoryReport(
        schema="tidegauge.history/1",
        page=page,
        false_alarms=FALSE_ALARMS,
        figures_tested=history.figures_tested,
        parts=[_part_content(part) for part in history.parts],
        without_figures=[run.path.name for run in history.without_figures],
    )
    content: dict[str, Any] = plain_value(envelope)
    return content


def _part_content(part: HistoryPart) -> dict[str, Any]:
    return {
        "campaign": part.campaign,
        "experiment": part.experiment,
        "system": part.system,
        "title": part_title(part),
        "point": part.point,
        "is_found": part.is_found,
        "conditions": part.conditions,
        "apart": part.apart,
        "left_out": [run.path.name for run in part.left_out],
        "runs": [
            {
                "name": entry.run.path.name,
                "label": entry.run.labels.label,
                "tags": entry.run.labels.tags,
                "started_at": entry.run.started_at,
                **{name: getattr(entry, name) for name in _OF_ENTRY},
            }
            for entry in part.entries
        ],
        "figures": [_figure_content(history) for history in part.figures],
    }


_OF_ENTRY = ("system", "trials", "invalid", "doubtful", "doubts", "disturbances", "rates_msgs_per_s", "differences")


def _figure_content(history: FigureHistory) -> dict[str, Any]:
    figure = history.figure
    return {
        "name": figure.name,
        "title": figure.title,
        "unit": figure.unit,
        "higher_is_better": figure.higher_is_better,
        "untested": None if history.untested is None else history.untested.value,
        "points": [
            {"run": entry.run.path.name, **plain_value(value_of_entry(values)), "values": values}
            for entry, values in zip(history.entries, history.values, strict=True)
        ],
        "changes": [
            {
                "since": history.entries[change.place].run.path.name,
                "runs_before": len(change.before),
                "runs_since": len(change.since),
                **plain_value(change.comparison),
                "differences": change.differences,
                "sentence": change_sentence(history, change),
            }
            for change in history.changes
        ],
    }
