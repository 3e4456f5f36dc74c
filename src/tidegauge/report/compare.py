"""How the systems of one experiment relate, in words that claim no more than the trials show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidegauge.experiments.api import TrialResult, Validity, point_words
from tidegauge.experiments.finding import Finding
from tidegauge.report import levels
from tidegauge.report.numbers import count, factor, ms, percent, plural
from tidegauge.report.tables import Block
from tidegauge.statistics.figures import FIGURES, FINDING_FIGURES, Figure, FindingFigure, by_block
from tidegauge.statistics.intervals import CONFIDENCE, geometric_mean
from tidegauge.statistics.power import BLOCKS_MAX
from tidegauge.statistics.verdict import Comparison, Verdict, compare_paired, compare_unpaired

NO_EVIDENCE = "one trial each is no evidence of a difference"
REPEATS_FIRST = 5
"""Repeats to begin with: they show the spread, and with 80 % power a difference of about twice it."""
REPEATS_SUGGESTED_MAX = 50
ONE_BLOCK = "one block that both have is no evidence of a difference"

CLOSED_LOOP_FIGURES = ("msgs_per_s",)
OPEN_LOOP_FIGURES = ("response_ms_p99", "end_to_end_ms_p99")
"""What a run's report compares."""

HOW_SURE = (
    f"x: the geometric mean of the ratios of all blocks, with its {CONFIDENCE:.0%} interval. Each interval is for "
    "itself: of 20 comparisons of equal systems about one shows a difference."
)


@dataclass(frozen=True)
class Ratio:
    """One figure of a system over that of another.

    Attributes:
        name: the figure's name, as thresholds write it.
        figure: its title.
        values, baseline_values: the figure by block, of usable trials.
        doubtful: whether one of these is DOUBTFUL.
        point: of the campaign's sweep at which both were measured.
    """

    experiment: str
    name: str
    figure: str
    unit: str
    system: str
    baseline: str
    values: tuple[float, ...]
    baseline_values: tuple[float, ...]
    doubtful: bool
    comparison: Comparison
    point: Mapping[str, str] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """Geometric mean of the ratios of all blocks."""
        return self.comparison.ratio

    @property
    def repeated(self) -> bool:
        """Whether both systems have several trials."""
        return self.comparison.interval is not None


ByBlock = Mapping[int, float]


def ratios(block: Block, across_levels: bool = False) -> list[Ratio]:
    """Each further system against the first; none where a side has no usable figure.

    None where levels differ either, unless `across_levels`: the user has explicitly asked to compare these.
    """
    if not (across_levels or levels.equal(block.results)) or len(block.systems) < 2:
        return []
    names = CLOSED_LOOP_FIGURES if block.closed_loop else OPEN_LOOP_FIGURES
    baseline, *others = block.systems
    found = []
    for system in others:
        used = (*block.usable(system), *block.usable(baseline))
        doubtful = any(result.validity is Validity.DOUBTFUL for result in used)
        for figure in map(FIGURES.__getitem__, names):
            values, base = _values(block.usable(system), figure), _values(block.usable(baseline), figure)
            ratio = _ratio(block.experiment, figure, (system, values), (baseline, base), doubtful=doubtful)
            found += [replace(ratio, point=block.point)] if ratio else []
    return found


def finding_ratios(
    findings: Sequence[Finding], results: Sequence[TrialResult], across_levels: bool = False
) -> list[Ratio]:
    """What experiments found, each further system against the first; none where levels differ (see `ratios`).

    Args:
        results: of the same run; those on which a finding rests tell whether it is DOUBTFUL.
    """
    if not (across_levels or levels.equal(results)):
        return []
    found = []
    for experiment, at in dict.fromkeys((one.experiment, point_words(one.point)) for one in findings):
        here = [one for one in findings if (one.experiment, point_words(one.point)) == (experiment, at)]
        own = [one for one in here if one.decided]
        systems = sorted({one.system for one in own})
        for figure in FINDING_FIGURES.values():
            sides = {system: _found([one for one in own if one.system == system], figure) for system in systems}
            for system in systems[1:]:
                pair = (system, sides[system]), (systems[0], sides[systems[0]])
                doubtful = rest_on_doubt([one for one in own if one.system in (system, systems[0])], results)
                step = figure.resolution_in([one for one in own if one.system in (system, systems[0])])
                ratio = _ratio(experiment, figure, *pair, doubtful=doubtful, resolution=step)
                found += [replace(ratio, point=here[0].point)] if ratio else []
    return found


def rest_on_doubt(findings: Sequence[Finding], results: Sequence[TrialResult]) -> bool:
    """Whether a trial of the same run, whose figures one of these findings publishes, is DOUBTFUL."""
    doubted = {result.spec.trial_id for result in results if result.validity is Validity.DOUBTFUL}
    goals = [(one.details.get("goals") or [{}])[0] for one in findings]
    published = {one.details.get("trial_id") for one in findings} | {
        goal.get("confirmation_trial_id") for goal in goals
    }
    return bool(published & doubted)


def _values(results: Sequence[TrialResult], figure: Figure) -> dict[int, float]:
    return by_block([(result.spec.block, figure.of(result)) for result in results])


def _found(findings: Sequence[Finding], figure: FindingFigure) -> dict[int, float]:
    return by_block([(finding.block, figure.of(finding)) for finding in findings])


def _ratio(
    experiment: str,
    figure: Figure | FindingFigure,
    above: tuple[str, ByBlock],
    below: tuple[str, ByBlock],
    *,
    doubtful: bool,
    resolution: float = 0.0,
) -> Ratio | None:
    """Paired where the two have blocks in common; else, when INVALID trials left none, each side for itself."""
    (system, values), (baseline, base) = above, below
    better = figure.higher_is_better
    comparison = compare_paired(values, base, better, resolution=resolution) or compare_unpaired(
        [*values.values()], [*base.values()], better, resolution=resolution
    )
    if comparison is None:
        return None
    return Ratio(
        experiment,
        figure.name,
        figure.title,
        figure.unit,
        system,
        baseline,
        tuple(values.values()),
        tuple(base.values()),
        doubtful,
        comparison,
    )


def sentence(ratio: Ratio) -> str:
    """One line: the ratio with its interval, the two figures, and the verdict."""
    doubt = " Some of these figures are doubtful, see above." if ratio.doubtful else ""
    return f"{_named(ratio.experiment, ratio.point)}: {claim(ratio)}{doubt}"


def _named(experiment: str, point: Mapping[str, str]) -> str:
    return f"{experiment} at {point_words(point)}" if point else experiment


def claim(ratio: Ratio) -> str:
    """The same without the experiment and the doubt: "Pulsar's p99 is 0.41x [0.36, 0.47] Kafka's, ..."."""
    form = ms if ratio.unit == "ms" else count
    figures = f"{form(geometric_mean(ratio.values))} against {form(geometric_mean(ratio.baseline_values))} {ratio.unit}"
    what = f"{ratio.system}'s {ratio.figure} is {times(ratio.comparison)} {ratio.baseline}'s"
    if not ratio.repeated:
        single = len(ratio.values) == len(ratio.baseline_values) == 1
        return f"{what} ({figures}); {NO_EVIDENCE if single else ONE_BLOCK}."
    return f"{what}, {rests_on(ratio)} ({figures}): {verdict_words(ratio.comparison)}."


def times(comparison: Comparison) -> str:
    """ "0.41x [0.36, 0.47]", or "0.41x" where there is no interval."""
    interval = comparison.interval
    return f"{factor(comparison.ratio)}x" + (f" [{factor(interval.low)}, {factor(interval.high)}]" if interval else "")


def rests_on(ratio: Ratio) -> str:
    """ "5 blocks", "5 and 4 blocks, not paired", or "one block each"."""
    if ratio.comparison.paired:
        return plural(ratio.comparison.blocks, "block")
    if len(ratio.values) == len(ratio.baseline_values) == 1:
        return "one block each"
    return f"{len(ratio.values)} and {len(ratio.baseline_values)} blocks, not paired"


def verdict_words(comparison: Comparison) -> str:
    """The verdict, with its threshold, or with what it would take."""
    if comparison.verdict is Verdict.NO_DIFFERENCE:
        return f"no difference within the noise threshold ({percent(comparison.noise)})"
    if comparison.verdict is not Verdict.INCONCLUSIVE:
        return comparison.verdict.value
    needed = comparison.blocks_needed
    if needed is None:
        return "inconclusive, at least 3 blocks are needed"
    if needed > BLOCKS_MAX:
        return f"inconclusive, and more than {BLOCKS_MAX:,} blocks would be needed"
    return f"inconclusive, about {needed} blocks would show a difference of {percent(comparison.difference)}"


def repeats_needed(ratios: Sequence[Ratio]) -> int | None:
    """How many blocks would decide most of what is open; None where nothing is, or nobody would make so many."""
    if any(len(ratio.values) == 1 == len(ratio.baseline_values) for ratio in ratios):
        return REPEATS_FIRST
    needed = [one.comparison.blocks_needed for one in ratios if one.comparison.verdict is Verdict.INCONCLUSIVE]
    feasible = [one for one in needed if one is not None and one <= REPEATS_SUGGESTED_MAX]
    return max(feasible, default=None)


def objection(block: Block, across_levels: bool = False) -> str:
    """Why the systems of this block are not compared, or ""."""
    if len(block.systems) < 2:
        return ""
    name = _named(block.experiment, block.point)
    if not (across_levels or levels.equal(block.results)):
        return f"{name}: not compared, since the systems do not give the same durability level."
    unusable = [system for system in block.systems if not block.usable(system)]
    if unusable:
        return f"{name}: not compared with {', '.join(unusable)}, which has no valid trial."
    return ""
