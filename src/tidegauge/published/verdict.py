"""What measured figures say of a published claim: the ratio, the outcome and its verdict in words.

With three blocks or more the interval is that of `statistics.intervals`, paired within the blocks of one run. With
fewer there is no spread to go by, so the ratios seen are widened on both sides by a stated margin, which is chosen by
judgement: only a difference beyond it decides anything.

Three grades: the *ordering* (which is higher), the *size* (how many times, within a stated factor), and an *absolute*
value, which other hardware neither confirms nor contradicts.

| verdict | when |
| --- | --- |
| confirmed | the whole interval of the ratio is on the claimed side of 1, and within the claimed size if there is one |
| direction confirmed | it is on the claimed side, but not, or not as a whole, within the claimed size |
| contradicted | the whole interval is on the other side; of "alike": outside of what counts as alike |
| not decided | anything else: the interval reaches across the limit, a figure is missing, or one of few is DOUBTFUL |
| not decided | both sides were measured at different loads, or a rate was limited by the messages in flight |
| not decided | what limits a rate is claimed, and another resource did here: other hardware has another limit |

A claim of several parts is confirmed if every part is, and contradicted if one is.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from tidegauge.model.use import Resource
from tidegauge.numbers import join_first, join_with_and, rounded
from tidegauge.plain import grouped
from tidegauge.statistics.intervals import BLOCKS_MIN, CONFIDENCE, geometric_mean, paired_ratio, unpaired_ratio


@dataclass(frozen=True)
class ClaimRatio:
    """A ratio, and between which values it lies.

    Attributes:
        estimate: geometric mean over the blocks that both sides have.
        margin: factor by which the range of the ratios seen was widened; None where an interval was computed.
        at_least: whether one side has more blocks than that, which are of different runs and not paired.
    """

    estimate: float
    low: float
    high: float
    blocks: int
    margin: float | None = None
    at_least: bool = False

    @property
    def rests_on(self) -> str:
        """ "5 trials each, 95 % interval"; "one trial each, where only a factor above 1.5 counts"."""
        trials = "one trial" if self.blocks == 1 else f"{self.blocks} trials"
        trials = f"at least {trials}" if self.at_least else trials
        if self.margin is None:
            return f"{trials} each, {CONFIDENCE:.0%} interval".replace("%", " %")
        return f"{trials} each, too few for an interval: widened by a factor of {rounded(self.margin)} both ways"


def ratio_of(
    above: Mapping[int, float], below: Mapping[int, float], margin: float, resolution: float = 0.0
) -> ClaimRatio | None:
    """The ratio of two figures by block; None without a block that has both, each above 0.

    Args:
        margin: factor by which single trials must differ before that counts (see `model.PublishedFigure.margin`).
        resolution: share by which a figure may be off alike in every block (see `statistics.intervals`).
    """
    ratios = [
        above[block] / below[block]
        for block in sorted(above.keys() & below.keys())
        if above[block] > 0 and below[block] > 0
    ]
    if not ratios:
        return None
    interval = paired_ratio(above, below, resolution=resolution) if len(ratios) >= BLOCKS_MIN else None
    if interval is not None:
        return ClaimRatio(interval.estimate, interval.low, interval.high, interval.blocks)
    return ClaimRatio(geometric_mean(ratios), min(ratios) / margin, max(ratios) * margin, len(ratios), margin)


def ratio_across(
    above: Mapping[int, float], below: Mapping[int, float], margin: float, resolution: float = 0.0
) -> ClaimRatio | None:
    """The ratio of figures of different runs, whose blocks were not measured at the same time: they are never paired.

    None without a figure of either, or with one that is not above 0.
    """
    first, second = [*above.values()], [*below.values()]
    if not first or not second or min(*first, *second) <= 0:
        return None
    fewer = min(len(first), len(second))
    more = len(first) != len(second)
    interval = unpaired_ratio(first, second, resolution=resolution) if fewer >= BLOCKS_MIN else None
    if interval is not None:
        return ClaimRatio(interval.estimate, interval.low, interval.high, fewer, at_least=more)
    estimate = geometric_mean(first) / geometric_mean(second)
    return ClaimRatio(
        estimate, min(first) / max(second) / margin, max(first) / min(second) * margin, fewer, margin, more
    )


@dataclass(frozen=True)
class Side:
    """One figure that a claim speaks of, here and as it was published.

    Attributes:
        place: where it was measured, in words.
        values: of the usable trials here, by block.
        missing: why there are none; "" if there are.
        published: None where the report gave no number, only a drawing or a sentence.
        published_source: its table or figure, and what was different there.
        doubtful: how many of the values are of DOUBTFUL trials.
        runs: where several runs were examined, those that the values are of.
    """

    place: str
    figure: str
    unit: str
    values: tuple[float, ...]
    missing: str
    published: float | None
    published_source: str
    doubtful: int = 0
    runs: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClaimPart:
    """One question of a claim. `ratio` None where a figure is missing, or an absolute value is asked for.

    Attributes:
        published_ratio: of the published figures; None where the report does not give both.
        size: the verdict on the size; None where none is claimed, or the direction is not confirmed.
        conditions: what was the same on both sides here, or how it changed: "at 24 partitions".
    """

    words: str
    verdict: ClaimVerdict
    reason: str
    ratio: ClaimRatio | None
    sides: tuple[Side, ...]
    published_ratio: float | None = None
    size: ClaimVerdict | None = None
    conditions: str = ""


@dataclass(frozen=True)
class ClaimOutcome:
    """The verdict on one claim, and where it comes from.

    Attributes:
        grade: what of it is examined: the ordering, the size as well, or an absolute value; None in older files.
        contradiction: where the report says something else itself; "" where it does not.
    """

    claim: str
    text: str
    source: str
    kind: str
    verdict: ClaimVerdict
    reason: str
    parts: tuple[ClaimPart, ...]
    grade: Grade | None = None
    contradiction: str = ""

    @property
    def over_runs(self) -> bool:
        """Whether figures of different runs were compared."""
        return any(len({side.runs for side in part.sides if side.values}) > 1 for part in self.parts)

    @property
    def missing(self) -> bool:
        """Whether a figure that it speaks of was not measured."""
        return any(side.missing for part in self.parts for side in part.sides)


@dataclass(frozen=True)
class PublishedOutcome:
    """All claims that a campaign examined.

    Attributes:
        versions, hardware, setup: those of the report.
        scale: "original" with the report's own rates and amounts, else "shares".
        differs: what differs here, in sentences.
        units: what the report's units are, and how that is known.
        doubts: where several runs were examined: what was not the same around them, so that a verdict over more than
            one of them is DOUBTFUL.
    """

    report: str
    title: str
    versions: tuple[str, ...]
    hardware: str
    setup: tuple[str, ...]
    scale: str
    differs: tuple[str, ...]
    claims: tuple[ClaimOutcome, ...]
    units: str = ""
    doubts: tuple[str, ...] = ()

    @property
    def decided(self) -> tuple[str, ...]:
        """Names of the claims that were decided, either way."""
        return tuple(claim.claim for claim in self.claims if claim.verdict is not ClaimVerdict.NOT_DECIDED)


SIZE_FACTOR_MAX = 2.0
"""By how much a ratio may be larger or smaller than the published one and still be of its size. By judgement."""


class ClaimVerdict(StrEnum):
    """Whether what a report claimed holds in a run."""

    CONFIRMED = "confirmed"
    DIRECTION = "direction confirmed"
    CONTRADICTED = "contradicted"
    NOT_DECIDED = "not decided"


class Grade(StrEnum):
    """What of a claim is examined."""

    ORDERING = "ordering"
    SIZE = "size"
    ABSOLUTE = "absolute"
    GUARANTEE = "guarantee"
    LIMIT = "limit"


@dataclass(frozen=True)
class ClaimAnswer:
    """A verdict and the figures or the lack of them that led to it.

    Attributes:
        short: the same in a few words, for a list of the parts of a claim; "" = the reason.
        size: the verdict on the size by itself; None where none is claimed, or the direction is not confirmed.
    """

    verdict: ClaimVerdict
    reason: str
    short: str = ""
    size: ClaimVerdict | None = None

    def with_remark(self, remark: str) -> ClaimAnswer:
        """This answer with something more to read, in both reasons."""
        return replace(self, reason=f"{self.reason}; {remark}", short=f"{self.short or self.reason}; {remark}")


@dataclass(frozen=True)
class Limits:
    """Between which values a ratio must lie. `strict`: at a limit of 1 itself it does not ("more than")."""

    at_least: float = 0.0
    at_most: float = math.inf
    strict: bool = False

    def words(self) -> str:
        """ "at least 3", "0.8 to 1.25", "above 1"."""
        if self.at_most == math.inf:
            return f"{'above' if self.strict else 'at least'} {_number_words(self.at_least)}"
        if self.at_least <= 0:
            return f"{'below' if self.strict else 'at most'} {_number_words(self.at_most)}"
        return f"{_number_words(self.at_least)} to {_number_words(self.at_most)}"

    def example(self) -> float:
        """A value that lies well within them."""
        if self.at_most == math.inf:
            return 10 * self.at_least
        return math.sqrt(self.at_least * self.at_most) if self.at_least > 0 else self.at_most / 10

    def judge(self, ratio: ClaimRatio) -> ClaimVerdict:
        """Whether a ratio lies within, as far as its interval shows."""
        above, below = (operator.gt, operator.lt) if self.strict else (operator.ge, operator.le)
        if above(ratio.low, self.at_least) and below(ratio.high, self.at_most):
            return ClaimVerdict.CONFIRMED
        reaches_in = above(ratio.high, self.at_least) and below(ratio.low, self.at_most)
        return ClaimVerdict.NOT_DECIDED if reaches_in else ClaimVerdict.CONTRADICTED


ABOVE = Limits(at_least=1.0, strict=True)
BELOW = Limits(at_most=1.0, strict=True)


def size_of(published: float) -> Limits:
    """What counts as of the size of a published ratio.

    Half of the way to 1, by the logarithm, is as far as it may be from it, and a factor of `SIZE_FACTOR_MAX` at most:
    1.5 times are not of the size of 2.9, but 15 are of the size of 29.
    """
    factor = min(SIZE_FACTOR_MAX, math.sqrt(max(published, 1 / published)))
    return Limits(published / factor, published * factor)


def judge_ratio(
    ratio: ClaimRatio, limits: Limits, size: Limits | None = None, published: float | None = None
) -> ClaimAnswer:
    """Whether a ratio is on the claimed side of 1 and of the claimed size; or within limits on both sides of 1.

    Args:
        limits: `ABOVE`, `BELOW`, or what counts as alike.
        size: what counts as of the claimed size; None = none is claimed.
        published: the ratio of the published figures; None = the report does not give both.
    """
    direction = limits.judge(ratio)
    if direction is not ClaimVerdict.CONFIRMED or size is None:
        conclusion, verdict, of_size = _direction_words(ratio, limits, direction), direction, None
    else:
        of_size = size.judge(ratio)
        verdict = of_size if of_size is ClaimVerdict.CONFIRMED else ClaimVerdict.DIRECTION
        few = ", too few repeats" if of_size is ClaimVerdict.NOT_DECIDED and ratio.margin is not None else ""
        conclusion = f"direction confirmed, size {_SIZE_WORDS[of_size]}{few} ({size.words()} counts)"
    theirs = f", published {_times_words(published)}" if published is not None else ""
    interval = f" ({_number_words(ratio.low)} to {_number_words(ratio.high)}; {ratio.rests_on})"
    seen = _times_words(ratio.estimate)
    return ClaimAnswer(verdict, f"{seen}{interval}{theirs}: {conclusion}", f"{seen}{theirs}: {conclusion}", of_size)


_SIZE_WORDS = {ClaimVerdict.CONFIRMED: "confirmed", ClaimVerdict.CONTRADICTED: "not", ClaimVerdict.NOT_DECIDED: "open"}


def _direction_words(ratio: ClaimRatio, limits: Limits, verdict: ClaimVerdict) -> str:
    """ "direction confirmed"; "alike, 0.8 to 1.25 counts"; "direction open, too few repeats"."""
    claimed = "direction" if limits.strict else "likeness"
    counts = f" ({limits.words()} counts)"
    if verdict is not ClaimVerdict.NOT_DECIDED:
        return f"{claimed} {verdict}{'' if limits.strict else counts}"
    if ratio.margin is not None:
        why = "too few repeats"
    else:
        why = f"the interval reaches across {'1' if limits.strict else 'the limit'}"
    return f"{claimed} open, {why}{counts}"


def answer_with_doubts(answer: ClaimAnswer, ratio: ClaimRatio, doubts: Sequence[str]) -> ClaimAnswer:
    """An answer that rests on DOUBTFUL trials says so; without an interval they decide nothing.

    Args:
        doubts: trial and reason of each that is.
    """
    if not doubts:
        return answer
    answer = answer.with_remark(
        f"it rests on a DOUBTFUL trial, {join_first([doubt.rstrip('.') for doubt in doubts], 1)}"
    )
    if answer.verdict is not ClaimVerdict.NOT_DECIDED and ratio.margin is not None:
        few = "too few trials that are not DOUBTFUL: "
        return ClaimAnswer(ClaimVerdict.NOT_DECIDED, f"{few}{answer.reason}", f"{few}{answer.short}")
    return answer


def with_other_limit(answer: ClaimAnswer, limit: Resource | None, limits: Collection[Resource]) -> ClaimAnswer:
    """An answer that says so where the report explains its rates by one resource, and another one limited them here.

    Whose disks were full there and whose CPUs were full here has not tried the report's reason.
    """
    if limit is None or answer.verdict is ClaimVerdict.NOT_DECIDED:
        return answer
    others = _other_limits(limit, limits)
    if not others:
        return answer
    return answer.with_remark(f"the report's reason is the {limit}, and here the limit was {join_with_and(others)}")


def _other_limits(claimed: Resource, limits: Collection[Resource]) -> list[Resource]:
    """What is known to have limited rates here and is not what a report names. One full thread is a full CPU, too."""
    as_claimed = {claimed, Resource.SERVER_THREAD} if claimed is Resource.SERVER_CPU else {claimed}
    return sorted({*limits} - as_claimed - {Resource.UNKNOWN})


def within_window(answer: ClaimAnswer, limited: Sequence[str]) -> ClaimAnswer:
    """Rates that the load's own window limited, and latencies at them, decide nothing: no report had such a window.

    Args:
        limited: step and evidence of each search that ended at the window.
    """
    if not limited:
        return answer
    reason = f"limited by the messages that may be in flight: {join_first(limited, 1)}"
    return ClaimAnswer(
        ClaimVerdict.NOT_DECIDED, f"{reason}; {answer.reason}", f"{reason}; {answer.short or answer.reason}"
    )


def judge_limit(claimed: Resource, limits: Collection[Resource], doubts: Sequence[str]) -> ClaimAnswer:
    """Whether every rate at a place was limited by the resource that a report names.

    That another one was full here says nothing of the report's hosts, so it contradicts nothing.

    Args:
        limits: what limited each rate here; nothing where nobody recorded it.
        doubts: trial and reason of each that is DOUBTFUL.
    """
    others = _other_limits(claimed, limits)
    if others:
        reason = (
            f"the report names the {claimed}, and here the limit was {join_with_and(others)}: other hardware may differ"
        )
    elif not limits or Resource.UNKNOWN in limits:
        reason = "what limited the rate here was not identified"
    elif doubts:
        reason = f"the limit was the {claimed}, in a DOUBTFUL trial: {join_first(doubts, 1)}"
    else:
        of_one = ", of one thread" if Resource.SERVER_THREAD in limits else ""
        words = f"the limit was the {claimed} here, too{of_one}"
        return ClaimAnswer(ClaimVerdict.CONFIRMED, words)
    return ClaimAnswer(ClaimVerdict.NOT_DECIDED, reason)


def judge_bound(values: Sequence[float], unit: str, limits: Limits) -> ClaimAnswer:
    """An absolute value, which other hardware neither confirms nor contradicts."""
    held = all(limits.at_least <= value <= limits.at_most for value in values)
    range_here = " to ".join(dict.fromkeys((_number_words(min(values)), _number_words(max(values)))))
    kept_words = "kept" if held else "not kept"
    return ClaimAnswer(
        ClaimVerdict.NOT_DECIDED,
        f"an absolute value, which can't be decided on other hardware: here {range_here} {unit}, claimed "
        f"{limits.words()} {unit}: {kept_words} here",
    )


def combine_answers(answers: Sequence[tuple[str, ClaimAnswer]]) -> ClaimAnswer:
    """The verdict of a claim from those of its parts, each with the words that distinguish it from the others."""
    if len(answers) == 1:
        (words, answer), *_ = answers
        return replace(answer, reason=f"{words}: {answer.reason}" if words else answer.reason)
    verdicts = [answer.verdict for _, answer in answers]
    order = (ClaimVerdict.CONTRADICTED, ClaimVerdict.NOT_DECIDED, ClaimVerdict.DIRECTION, ClaimVerdict.CONFIRMED)
    whole = next(verdict for verdict in order if verdict in verdicts)
    parts = grouped((answer.short or answer.reason, words) for words, answer in answers)
    return ClaimAnswer(whole, "; ".join(f"{join_places(places)}: {reason}" for reason, places in parts.items()))


def join_places(places: Sequence[str]) -> str:
    """ "level 1, level 2 and level 3"; "bypass, level 2, and journal, level 4" where a place has a comma itself."""
    return ", and ".join(places) if any("," in place for place in places) else join_with_and(places)


def _times_words(ratio: float) -> str:
    """ "1,718 times", "0.042 times"; of figures that are alike "1.00 times", which is read as a measured ratio."""
    words = _number_words(ratio)
    return f"{'1.00' if words == '1' else words} times"


def _number_words(value: float) -> str:
    """Two or three significant digits: 0.042, 1.5, 12, 1,718."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}" if value >= 1 else f"{value:.2g}"
