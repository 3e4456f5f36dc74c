"""What became of thresholds.

| figure | blocks | met when | missed when |
| --- | --- | --- | --- |
| counted (`lost`) | any | every trial, the INVALID ones too, meets it | any does not |
| measured, or a ratio | 3 or more | the whole 95 % interval meets it | none of the interval does |
| measured, or a ratio | 1 or 2 | every block does | no block does |

A figure that is known to a share only (`FindingFigure.resolution`) counts with both ends of that share.

Anything else is inconclusive: the limit lies inside what the repeats leave open, and calling that met or missed would
be tossing a coin. So is a threshold without a figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidegauge.model.finding import Finding
from tidegauge.model.trial import TrialResult, Validity
from tidegauge.statistics.figures import FIGURES, FINDING_FIGURES, Figure, FindingFigure, Kind, by_block
from tidegauge.statistics.intervals import BLOCKS_MIN, Interval, figure_interval, geometric_mean, paired_ratio
from tidegauge.statistics.rounding import short
from tidegauge.thresholds.model import Outcome, Ruling, Threshold, is_system

ByBlock = Mapping[int, float]
NEAR = ", which a search tells no finer: the limit is too near"


@dataclass(frozen=True)
class Asked:
    """Results that belong together: one experiment at one load and one point of a sweep, all systems and blocks.

    Attributes:
        where: the same in words.
        closed_loop: response times mean nothing here unless a threshold asks for this very experiment.
        figures_of: figures that the experiment found, by system.
    """

    experiment: str
    where: str
    point: Mapping[str, str]
    closed_loop: bool
    results: Sequence[TrialResult] = ()
    findings: Sequence[Finding] = field(default=())

    @property
    def systems(self) -> list[str]:
        """Systems by name."""
        return sorted({one.spec.system for one in self.results} | {one.system for one in self.findings})


def rule(thresholds: Sequence[Threshold], asked: Sequence[Asked]) -> tuple[Ruling, ...]:
    """Every threshold, wherever it applies; at least one ruling for each."""
    found: list[Ruling] = []
    for threshold in thresholds:
        own = [ruling for one in asked if _concerns(threshold, one) for ruling in _rule(threshold, one)]
        nowhere = "nothing that it could be asked of has a result"
        found += own or [
            Ruling(threshold.text, threshold.experiment, "", "", Outcome.INCONCLUSIVE, None, None, 0, nowhere)
        ]
    return tuple(found)


def _concerns(threshold: Threshold, asked: Asked) -> bool:
    if not threshold.concerns(asked.experiment, asked.point):
        return False
    if threshold.figure in FINDING_FIGURES:
        return bool(asked.findings)
    hidden = asked.closed_loop and FIGURES[threshold.figure].scheduled and not threshold.experiment
    return bool(asked.results) and not hidden


def _rule(threshold: Threshold, asked: Asked) -> list[Ruling]:
    if threshold.is_ratio:
        pairs = [
            (above, below)
            for above in asked.systems
            for below in asked.systems
            if above != below and is_system(threshold.above, above) and is_system(threshold.below, below)
        ]
        return [_ratio(threshold, asked, above, below) for above, below in pairs]
    return [_single(threshold, asked, system) for system in asked.systems if is_system(threshold.system, system)]


def _single(threshold: Threshold, asked: Asked, system: str) -> Ruling:
    figure = FIGURES.get(threshold.figure)
    if figure is not None and figure.kind is Kind.COUNTED:
        return _counted(threshold, asked, system, figure)
    own = _values(threshold, asked, system)
    interval = figure_interval([*own.values.values()], resolution=own.resolution)
    outcome, value, interval = _judged(threshold, own.values, interval, own.resolution)
    blocks = len(own.values)
    ruling = _ruling(threshold, asked, system, outcome, value=value, interval=interval, blocks=blocks, kind=own.kind)
    return _telling(ruling, own.without, own.kind)


def _ratio(threshold: Threshold, asked: Asked, above: str, below: str) -> Ruling:
    first, second = _values(threshold, asked, above), _values(threshold, asked, below)
    common = sorted(first.values.keys() & second.values.keys())
    ratios = {block: first.values[block] / second.values[block] for block in common if second.values[block] > 0}
    resolution, kind = max(first.resolution, second.resolution), first.kind
    interval = paired_ratio(first.values, second.values, resolution=resolution)
    outcome, value, interval = _judged(threshold, ratios, interval, resolution)
    subject = f"{above} over {below}"
    ruling = _ruling(threshold, asked, subject, outcome, value=value, interval=interval, blocks=len(ratios), kind=kind)
    return _telling(ruling, max(first.without, second.without), kind)


def _telling(ruling: Ruling, without: int, kind: Figure | FindingFigure) -> Ruling:
    """What never came so far has no figure (a backlog never drained): the others can't meet a threshold for it."""
    if not without or ruling.value is None:
        return ruling
    blocks = "1 block has" if without == 1 else f"{without} blocks have"
    outcome = Outcome.INCONCLUSIVE if ruling.outcome is Outcome.MET else ruling.outcome
    return replace(ruling, outcome=outcome, why=f"{ruling.why}; {blocks} no {kind.title}")


@dataclass(frozen=True)
class _Own:
    """A system's figure by block, what kind it is, how many blocks have an answer `without` it, how fine it is."""

    values: ByBlock
    kind: Figure | FindingFigure
    without: int
    resolution: float = 0.0


def _values(threshold: Threshold, asked: Asked, system: str) -> _Own:
    if threshold.figure in FINDING_FIGURES:
        figure = FINDING_FIGURES[threshold.figure]
        decided = [one for one in asked.findings if one.system == system and one.decided]
        values = by_block([(one.block, figure.of(one)) for one in decided])
        without = len({one.block for one in decided} - values.keys())
        return _Own(values, figure, without, figure.resolution_in(decided))
    usable = [one for one in asked.results if one.spec.system == system and one.validity is not Validity.INVALID]
    measured = FIGURES[threshold.figure]
    values = by_block([(one.spec.block, measured.of(one)) for one in usable])
    return _Own(values, measured, len({one.spec.block for one in usable} - values.keys()))


def _judged(
    threshold: Threshold, values: ByBlock, interval: Interval | None, resolution: float
) -> tuple[Outcome, float | None, Interval | None]:
    if not values:
        return Outcome.INCONCLUSIVE, None, None
    each = list(values.values())
    interval = interval if len(each) >= BLOCKS_MIN else None
    step = 1 + resolution
    seen = [interval.low, interval.high] if interval else [end for one in each for end in (one / step, one * step)]
    holds = [threshold.holds(value) for value in seen]
    outcome = Outcome.MET if all(holds) else Outcome.INCONCLUSIVE if any(holds) else Outcome.MISSED
    return outcome, geometric_mean(each), interval


def _counted(threshold: Threshold, asked: Asked, system: str, figure: Figure) -> Ruling:
    """Of every trial. One that can't tell leaves it open, unless another misses."""
    told = [figure.of(one) for one in asked.results if one.spec.system == system]
    known = [value for value in told if value is not None]
    missing = [value for value in known if not threshold.holds(value)]
    worst = max(missing or known, default=None)
    open_ = len(known) < len(told) or not told
    outcome = Outcome.MISSED if missing else Outcome.INCONCLUSIVE if open_ else Outcome.MET
    trials = "1 trial" if len(told) == 1 else f"{len(told)} trials"
    if missing:
        why = f"{short(worst or 0.0)} {figure.title} in one of {trials}" if len(told) > 1 else _count(worst, figure)
    elif open_:
        why = f"{figure.title} can't be told of {len(told) - len(known)} of {trials}"
    else:
        why = f"{_count(worst, figure)}{' at most' if len(told) > 1 else ''}, {trials}"
    return Ruling(threshold.text, asked.experiment, system, asked.where, outcome, worst, None, len(told), why)


def _count(value: float | None, figure: Figure) -> str:
    return f"{short(value or 0.0)} {figure.title}"


def _ruling(
    threshold: Threshold,
    asked: Asked,
    subject: str,
    outcome: Outcome,
    *,
    value: float | None,
    interval: Interval | None,
    blocks: int,
    kind: Figure | FindingFigure,
) -> Ruling:
    if value is None:
        why = f"there is no {kind.title}: no usable trial has one"
    else:
        unit = "x" if threshold.is_ratio else f" {kind.unit}"
        around = f" [{short(interval.low)}, {short(interval.high)}]" if interval else ""
        many = "1 block" if blocks == 1 else f"{blocks} blocks"
        why = f"{kind.title} {short(value)}{unit}{around}, {many}"
        if outcome is Outcome.INCONCLUSIVE:
            near = blocks == 1 or (isinstance(kind, FindingFigure) and kind.resolution > 0)
            why += ", and the limit lies between" if interval else NEAR if near else ", which differ on it"
        if any(
            one.validity is Validity.DOUBTFUL for one in asked.results if one.spec.system in subject.split(" over ")
        ):
            why += " (DOUBTFUL)"
    return Ruling(threshold.text, asked.experiment, subject, asked.where, outcome, value, interval, blocks, why)
