"""What each axis of a sweep does, where its design has some points for all: in sentences and as a table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tidegauge.comparison.compared_trials import ComparedTrials
from tidegauge.comparison.order import Point
from tidegauge.model.finding import Finding
from tidegauge.model.trial import Validity, point_words
from tidegauge.numbers import MISSING, factor, join_with_and, plural, rounded
from tidegauge.plain import grouped
from tidegauge.report.layout import Column, ColumnGroup, FigureTable
from tidegauge.report.tables import axis_name
from tidegauge.statistics.designs import Design, design_of_points, pairs_count, pairs_of_points
from tidegauge.statistics.effects import Effects, Observation, compute_effects
from tidegauge.statistics.figures import FIGURES, FINDING_FIGURES, SUSTAINABLE

NAMED_MAX = 4
"""Effects that one sentence names."""
_TOGETHER = {
    Design.PAIRWISE: "What two axes do together is not estimated: it shows as noise, or as an effect of others.",
    Design.ONE_AT_A_TIME: "Each effect is that at the base point: what axes do together was not measured.",
}


@dataclass(frozen=True)
class SweepEffects:
    """What the axes of a sweep do to one figure of one system.

    Attributes:
        of: how many points all combinations would be.
        chosen: how the design chose among them, in words.
        repeats: how often the point was measured that was most often.
    """

    system: str
    figure: str
    design: Design
    of: int
    effects: Effects
    chosen: str
    repeats: int = 1


def effects_of_compared(all_compared: Sequence[ComparedTrials]) -> list[SweepEffects]:
    """Of each system, by the response p99, in a closed loop by the rate; [] of a sweep with all combinations."""
    figure = FIGURES["msgs_per_s" if all_compared[0].closed_loop else "response_ms_p99"]
    observed = grouped(
        (result.spec.system, Observation(result.spec.point, result.spec.block, value))
        for compared in all_compared
        for result in compared.results
        if result.validity is not Validity.INVALID and (value := figure.value_in(result))
    )
    return _effects_by_system(figure.title, observed, [compared.point for compared in all_compared])


def effects_of_findings(findings: Sequence[Finding]) -> list[SweepEffects]:
    """Of each system, by the sustainable rates found; [] of a sweep with all combinations."""
    figure = FINDING_FIGURES[SUSTAINABLE]
    observed = grouped(
        (finding.system, Observation(finding.point, finding.block, value))
        for finding in findings
        if (value := figure.value_in(finding))
    )
    return _effects_by_system(figure.title, observed, [finding.point for finding in findings])


def _effects_by_system(
    figure: str, observed: Mapping[str, Sequence[Observation]], points: Sequence[Point]
) -> list[SweepEffects]:
    places, sizes = _places_of_points(points)
    design = design_of_points(places, sizes)
    if design is None or design is Design.FULL:
        return []
    return [
        SweepEffects(
            system,
            figure,
            design,
            math.prod(sizes),
            effects,
            _design_words(design, _places_observed(observations, points, places), sizes),
            max(Counter(point_words(one.point) for one in observations).values()),
        )
        for system, observations in sorted(observed.items())
        if (effects := compute_effects(observations)) is not None
    ]


def _places_observed(
    observations: Sequence[Observation], points: Sequence[Point], places: Sequence[tuple[int, ...]]
) -> list[tuple[int, ...]]:
    """The places of the points that there is a figure of: those of INVALID trials make no pair."""
    observed = {point_words(one.point) for one in observations}
    return [place for point, place in zip(points, places, strict=True) if point_words(point) in observed]


def _places_of_points(points: Sequence[Point]) -> tuple[list[tuple[int, ...]], list[int]]:
    """Points by the places of their values on each axis, and how many values each axis has."""
    axes = {axis: list(dict.fromkeys(point.get(axis, "") for point in points)) for point in points for axis in point}
    places = [tuple(values.index(point.get(axis, "")) for axis, values in axes.items()) for point in points]
    return places, [len(values) for values in axes.values()]


def _design_words(design: Design, places: Sequence[tuple[int, ...]], sizes: Sequence[int]) -> str:
    if design is Design.ONE_AT_A_TIME:
        return "one at a time: from one point on, each other value of each field alone"
    pairs, pairs_of_all = len(pairs_of_points(places)), pairs_count(sizes)
    share = "every pair" if pairs == pairs_of_all else f"{pairs:,} of {pairs_of_all:,} pairs"
    return f"pairwise: {share} of values of two fields"


def effects_sentence(sweep: SweepEffects) -> str:
    """ "response p99 most by linger.ms (3.10x from 0 to 50) and acks (1.40x from 1 to all)", or that none is shown."""
    shown = sweep.effects.shown
    if not sweep.effects.freedom:
        return f"too few points to tell what moves the {sweep.figure}"
    if not shown:
        return f"no field that moves the {sweep.figure} more than chance"
    named = [
        f"{axis_name(effect.axis)} ({_ratio_words(effect.ratio)} from {effect.lowest} to {effect.highest})"
        for effect in shown[:NAMED_MAX]
    ]
    more = f", and {len(shown) - NAMED_MAX} more" if len(shown) > NAMED_MAX else ""
    return f"{sweep.figure} moved by {join_with_and(named)}{more}"


def effects_table(sweep: SweepEffects) -> FigureTable:
    """A row for each axis, those that do more than chance first."""
    effects = sweep.effects.effects
    intervals = (
        MISSING if effect.low is None or effect.high is None else f"{rounded(effect.low)} to {rounded(effect.high)}"
        for effect in effects
    )
    verdicts = (
        "not known"
        if effect.ratio is None or effect.low is None
        else "more than chance"
        if effect.is_shown
        else "none shown"
        for effect in effects
    )
    groups = (
        ColumnGroup(
            sweep.figure,
            (
                Column("lowest at", tuple(effect.lowest or MISSING for effect in effects), words=True),
                Column("highest at", tuple(effect.highest or MISSING for effect in effects), words=True),
                Column("ratio", tuple(_ratio_words(effect.ratio) for effect in effects)),
                Column("95% interval", tuple(intervals)),
            ),
        ),
        ColumnGroup("", (Column("verdict", tuple(verdicts), words=True),)),
    )
    return FigureTable(f"field, {sweep.system}", tuple(axis_name(effect.axis) for effect in effects), groups)


def effects_notes(sweep: SweepEffects) -> list[str]:
    """How many points stand for how many, how sure the table is, and what the design can't tell apart."""
    effects = sweep.effects
    notes = [f"{sweep.system}: {effects.points} of {sweep.of:,} points ({sweep.chosen})."]
    if effects.noise is None:
        notes.append("Too few points for intervals: sweep more values or fields, or all combinations of fewer.")
    else:
        notes.append(
            f"Intervals hold for all values of all fields at once. What no effect explains moves a point by a factor "
            f"of {rounded(effects.noise)} (one standard deviation)."
        )
    if not effects.has_repeats:
        tell = "several effects of one size hide each other: more blocks"
        notes.append(
            f"Without repeats {tell} (--repeat 2) tell them."
            if sweep.repeats == 1
            else f"With so few repeats {tell} tell them."
        )
    notes.append(_TOGETHER[sweep.design])
    for effect in effects.shown:
        each = []
        for confounding in effect.confounded:
            names = list(map(axis_name, confounding.axes))
            what = f"what {names[0]} does" if len(names) == 1 else f"what {names[0]} and {names[1]} do together"
            each.append(f"{what} ({confounding.share:.0%} of it)")
        if each:
            notes.append(f"In these points the effect of {axis_name(effect.axis)} is mixed with {join_with_and(each)}.")
    return notes


def effects_parts(sweeps: Iterable[SweepEffects]) -> tuple[list[FigureTable], list[str]]:
    """The tables, and the notes below them."""
    listed = list(sweeps)
    return [effects_table(sweep) for sweep in listed], [note for sweep in listed for note in effects_notes(sweep)]


def planned_design_words(points: Sequence[Point]) -> str:
    """ "25 of 186,624 points of the sweep (pairwise: ...)", or how many there are of a sweep with all combinations."""
    places, sizes = _places_of_points(points)
    design = design_of_points(places, sizes)
    is_part = design is not None and design is not Design.FULL
    many = f"{len(points)} of {math.prod(sizes):,} points" if is_part else plural(len(points), "point")
    chosen = f" ({_design_words(design, places, sizes)})" if design is not None and is_part else ""
    return f"{many} of the sweep{chosen}"


def _ratio_words(ratio: float | None) -> str:
    return MISSING if ratio is None else f"{factor(ratio)}x"
