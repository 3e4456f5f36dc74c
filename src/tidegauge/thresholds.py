"""Thresholds on measured figures: their grammar, and what became of each. Pure.

threshold = wanted OPERATOR NUMBER { "in" EXPERIMENT | "of" SYSTEM | "at" KEY=VALUE }
    wanted    = FIGURE | "ratio(" SYSTEM "," SYSTEM ")." FIGURE
    VALUE     = word, or "several words"
    OPERATOR  = "<" | "<=" | ">" | ">=" | "==" | "!="

One line, a handful of words and no nesting: a regular expression and the checks below say more of what is wrong than
a parser generator's "unexpected token" would, and need no further dependency.

| figure | blocks | met when | missed when |
| --- | --- | --- | --- |
| counted (`lost`) | any | every trial, the INVALID ones too, meets it | any does not |
| measured, or a ratio | 3 or more | the whole 95 % interval meets it | none of the interval does |
| measured, or a ratio | 1 or 2 | every block does | no block does |

A figure that is known to a share only (`FindingFigure.resolution`) counts with both ends of that share.

Anything else is not decided: the limit lies inside what the repeats leave open, and calling that met or missed would
be tossing a coin. So is a threshold without a figure.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from tidegauge.errors import did_you_mean, nearest_names
from tidegauge.model.finding import Finding
from tidegauge.model.trial import MeasuredResult, Validity, family
from tidegauge.numbers import of_all, plural, rounded, whole_number
from tidegauge.statistics.figures import FIGURES, FINDING_FIGURES, Figure, FigureKind, FindingFigure, known_names
from tidegauge.statistics.intervals import Interval, by_block, figure_interval, geometric_mean, paired_ratio

OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}


@dataclass(frozen=True)
class Threshold:
    """One line of `thresholds`.

    Attributes:
        text: as it was written.
        figure: a name of `statistics.figures`.
        above, below: the systems of a ratio; "" where the figure itself is asked of.
        experiment, system: what it is restricted to; "" = everything.
        point: values of a sweep that it is restricted to.
    """

    text: str
    figure: str
    operator: str
    limit: float
    above: str = ""
    below: str = ""
    experiment: str = ""
    system: str = ""
    point: Mapping[str, str] = field(default_factory=dict)

    def holds(self, value: float) -> bool:
        """Whether a single value meets it."""
        return OPERATORS[self.operator](value, self.limit)

    @property
    def is_ratio(self) -> bool:
        """Whether two systems are compared with each other."""
        return bool(self.above)


def is_system(name: str, label: str) -> bool:
    """Whether a system is meant: "kafka" means every version, "kafka@4.3.1" that one."""
    return name in ("", label, family(label))


class ThresholdOutcome(StrEnum):
    """MET, MISSED, or NOT_DECIDED: the interval holds the limit, or there is no figure."""

    MET = "met"
    MISSED = "missed"
    NOT_DECIDED = "not decided"


@dataclass(frozen=True)
class Ruling:
    """What became of a threshold where it was asked.

    Attributes:
        threshold: its text.
        subject: the system, or both of a ratio; "" where there was none to ask.
        where: the experiment, with the load and the point of a sweep.
        value: of COUNTED figures the worst of all trials; else the mean over blocks. None without a figure.
        why: in words, for a reader.
        without: blocks that have an answer and no such figure.
        resolution: the share by which the figure may be off alike in every block.
        is_unpaired: whether both systems of a ratio have figures, and no block has both.
    """

    threshold: str
    experiment: str
    subject: str
    where: str
    outcome: ThresholdOutcome
    value: float | None
    interval: Interval | None
    blocks: int
    why: str
    without: int = 0
    resolution: float = 0.0
    is_unpaired: bool = False


EXAMPLES = "such as 'response_ms_p99 < 10', 'lost == 0' or 'ratio(kafka, pulsar).msgs_per_s > 0.9'"
FORM = "FIGURE OPERATOR NUMBER, then if you like 'in EXPERIMENT', 'of SYSTEM', 'at KEY=VALUE'"

_NEAR_FIGURES_MAX = 4

_RATIO = re.compile(r"ratio\(\s*(?P<above>[^\s,()]+)\s*,\s*(?P<below>[^\s,()]+)\s*\)\s*\.\s*")
_WANTED = re.compile(r"(?P<figure>[A-Za-z_][\w.-]*)\s*(?P<operator>[<>=!]+)\s*(?P<limit>[^\s<>=!]+)\s*")
_SCOPE = re.compile(r"(?P<word>\S+)\s+(?P<value>(?:\"[^\"]*\"|[^\s\"])+)\s*")
_AT = re.compile(r"(?P<key>[^=,\"]+)=(?P<value>\"[^\"]*\"|[^,\"]+)(?:,|$)")


@dataclass(frozen=True)
class KnownNames:
    """What a threshold may speak of.

    Attributes:
        systems: labels ("kafka@4.3.1") or names.
        point: keys of a sweep with the values that they take.
    """

    experiments: Collection[str]
    systems: Collection[str]
    point: Mapping[str, Collection[str]] = field(default_factory=dict)


def parse_threshold(text: object, allowed: KnownNames | None = None) -> Threshold:
    """A threshold from its text.

    Args:
        allowed: what the campaign has; None where that was checked before.

    Raises:
        ValueError: what is wrong with it, with the nearest name that would do.
    """
    if not isinstance(text, str):
        raise ValueError(f"must be text: {FORM}, {EXAMPLES}")
    rest = text.strip()
    above = below = ""
    if ratio := _RATIO.match(rest):
        above, below, rest = ratio["above"], ratio["below"], rest[ratio.end() :]
    elif rest.startswith("ratio"):
        raise ValueError(f"'{text}': a ratio is written ratio(SYSTEM, SYSTEM).FIGURE OPERATOR NUMBER")
    clause = _WANTED.match(rest)
    if clause is None:
        raise ValueError(f"'{text}': must be {FORM}, {EXAMPLES}")
    figure, sign = _parse_figure(clause["figure"], bool(above)), _parse_operator(clause["operator"], clause["figure"])
    scope = _parse_scope(rest[clause.end() :], text)
    threshold = Threshold(
        text=" ".join(text.split()),
        figure=figure,
        operator=sign,
        limit=_parse_limit(clause["limit"]),
        above=above,
        below=below,
        experiment=scope.get("in", ""),
        system=scope.get("of", ""),
        point=_parse_point(scope.get("at", "")),
    )
    if threshold.limit < 0 or (threshold.limit == 0 and sign == "<"):
        raise ValueError(f"'{text}': no figure is below 0, so this is the same whatever is measured")
    if threshold.is_ratio and threshold.system:
        raise ValueError(f"'{text}': a ratio names its two systems already, so 'of {threshold.system}' has no meaning")
    if allowed is not None:
        _check_names(threshold, allowed)
    return threshold


ABORT_EXAMPLE = "such as 'response_ms_p99 > 100' or 'msgs_per_s < 1000 for 10s in latency'"
ABORT_FIGURES = (
    "msgs_per_s",
    "mb_per_s",
    "response_ms_p50",
    "response_ms_p99",
    "end_to_end_ms_p99",
    "window_end_backlog",
)
"""Figures that are known of every second while a trial runs; the backlog is that of this second."""
ABORT_SECONDS = 3
"""In how many seconds in a row a rule must hold, where it does not say: one alone may be a pause of anything."""
ABORT_SECONDS_MAX = 3600
_FOR = re.compile(r"\s+for\s+(?P<length>\S+)")


@dataclass(frozen=True)
class AbortRule:
    """One line of `abort-on`: what ends a trial early if it holds in so many seconds in a row.

    `condition` is written as a threshold, and means what must not be.
    """

    text: str
    condition: Threshold
    seconds: int = ABORT_SECONDS


def parse_abort_rule(text: object, allowed: KnownNames | None = None) -> AbortRule:
    """A rule of `abort-on` from its text. Raises `ValueError` as `parse_threshold` does."""
    if not isinstance(text, str):
        raise ValueError(f"must be text: {FORM}, {ABORT_EXAMPLE}")
    length = _FOR.search(text)
    condition = parse_threshold(text if length is None else text[: length.start()] + text[length.end() :], allowed)
    if condition.is_ratio or condition.figure not in ABORT_FIGURES:
        raise ValueError(
            f"'{text}': a trial is aborted by a figure of its seconds, and by no other; there are "
            f"{', '.join(ABORT_FIGURES)}"
        )
    seconds = ABORT_SECONDS if length is None else _parse_abort_seconds(length["length"], text)
    return AbortRule(" ".join(text.split()), condition, seconds)


def _parse_abort_seconds(length: str, text: str) -> int:
    seconds = whole_number(length.removesuffix("s")) or 0
    if not (length.endswith("s") and 1 <= seconds <= ABORT_SECONDS_MAX):
        raise ValueError(f"'{text}': 'for {length}': must be whole seconds from 1s to {ABORT_SECONDS_MAX}s")
    return seconds


def abort_rules_of(
    rules: Sequence[AbortRule], experiment: str, system: str, point: Mapping[str, str], *, closed_loop: bool
) -> list[AbortRule]:
    """Those that concern a trial; of a closed loop no times, unless a rule names its experiment."""

    def is_concerned(rule: AbortRule) -> bool:
        condition = rule.condition
        hidden = closed_loop and FIGURES[condition.figure].scheduled and not condition.experiment
        return (
            condition.experiment in ("", experiment)
            and is_system(condition.system, system)
            and all(point.get(key) == at for key, at in condition.point.items())
            and not hidden
        )

    return [rule for rule in rules if is_concerned(rule)]


class AbortWatch:
    """Looks at the seconds of one trial until a rule holds for as long as it asks."""

    def __init__(self, rules: Sequence[AbortRule] = ()) -> None:
        self._rules = rules
        self._held: dict[str, list[float]] = {rule.text: [] for rule in rules}
        self.broken: AbortRule | None = None
        self.values: tuple[float, ...] = ()
        """The figure in the seconds in which the broken rule held."""

    def take(self, figures: Mapping[str, float | None]) -> None:
        """Take the figures of one more second. A second that lacks a figure ends a row: nobody knows."""
        for rule in self._rules:
            value, held = figures.get(rule.condition.figure), self._held[rule.text]
            if value is None or not rule.condition.holds(value):
                held.clear()
                continue
            held.append(value)
            if self.broken is None and len(held) >= rule.seconds:
                self.broken, self.values = rule, tuple(held)


def _parse_figure(name: str, ratio: bool) -> str:
    names = known_names()
    if name not in names:
        raise ValueError(
            f"unknown figure '{name}'{_near_figures(name, names)}; docs/tables/columns.md lists all of them"
        )
    if ratio and name in FIGURES and FIGURES[name].kind is FigureKind.COUNTED:
        raise ValueError(f"'{name}' is a count, often 0, so a ratio of it says nothing; ask it of each system")
    return name


def _near_figures(name: str, names: Sequence[str]) -> str:
    """The figures that an unknown name may mean, as a phrase to append, or "": there are too many to name all.

    "p99" is short for several, of which the first is the one that reports lead with.
    """
    nearest = nearest_names(name, names, 1)
    parts = [figure for figure in names if name.lower() in figure.split("_") and figure not in nearest]
    near = [*nearest, *parts, *nearest_names(name, names, _NEAR_FIGURES_MAX)]
    first, *others = [*dict.fromkeys(near)][:_NEAR_FIGURES_MAX] or [""]
    also = f"; near it are {', '.join(others)}" if others else ""
    return f" (did you mean '{first}'?){also}" if first else ""


def _parse_operator(sign: str, name: str) -> str:
    if sign not in OPERATORS:
        raise ValueError(f"'{sign}' is no comparison; there are {', '.join(sorted(OPERATORS))}")
    counted = name in FIGURES and FIGURES[name].kind is FigureKind.COUNTED
    if sign in ("==", "!=") and not counted:
        raise ValueError(f"'{name}' is measured and never exactly equal to anything: use <, <=, > or >=")
    return sign


def _parse_limit(text: str) -> float:
    try:
        # Python takes an underscore between digits, which nobody means, and digits of any script.
        limit = math.nan if "_" in text or not text.isascii() else float(text)
    except ValueError:
        limit = math.nan
    if not math.isfinite(limit):
        raise ValueError(f"'{text}' is no number; write it without a unit, which stands in the figure's name")
    return limit


def _parse_scope(rest: str, text: str) -> dict[str, str]:
    by_word: dict[str, str] = {}
    while rest:
        part = _SCOPE.match(rest)
        if part is None or part["word"] not in ("in", "of", "at"):
            raise ValueError(f"'{text}': '{rest}' is not understood; only 'in EXPERIMENT', 'of SYSTEM', 'at KEY=VALUE'")
        word, value = part["word"], part["value"]
        if word in by_word and word != "at":
            raise ValueError(f"'{text}': '{word}' is given twice; write a threshold for each")
        by_word[word] = f"{by_word[word]},{value}" if word in by_word else value
        rest = rest[part.end() :]
    return by_word


def _parse_point(text: str) -> dict[str, str]:
    point = {}
    while text:
        part = _AT.match(text)
        if part is None:
            raise ValueError(f"'at {text}': a point of a sweep is written KEY=VALUE, such as partitions=100")
        point[part["key"]] = part["value"].strip('"')
        text = text[part.end() :]
    return point


def _check_names(threshold: Threshold, allowed: KnownNames) -> None:
    if threshold.experiment and threshold.experiment not in allowed.experiments:
        raise ValueError(_no_such_name("experiment", threshold.experiment, allowed.experiments))
    names = sorted({*allowed.systems, *map(family, allowed.systems)})
    for system in filter(None, (threshold.system, threshold.above, threshold.below)):
        if not any(is_system(system, label) for label in allowed.systems):
            raise ValueError(_no_such_name("system", system, names))
    for key, value in threshold.point.items():
        if key not in allowed.point:
            raise ValueError(_no_such_name("swept key", key, allowed.point))
        if value not in allowed.point[key]:
            raise ValueError(_no_such_name(f"value of {key}", value, allowed.point[key]))


def _no_such_name(kind: str, name: str, there_are: Collection[str]) -> str:
    listed = ", ".join(there_are) or "none"
    return f"the campaign has no {kind} '{name}'{did_you_mean(name, [*there_are])}; it has {listed}"


ByBlock = Mapping[int, float]
NEAR = ", which is as fine as a search goes: the limit is too near"


@dataclass(frozen=True)
class Asked:
    """Results that belong together: one experiment at one load and one point of a sweep, all systems and blocks.

    Attributes:
        where: the same in words.
        closed_loop: response times mean nothing here unless a threshold asks for this very experiment.
        doubtful: systems of which something found rests on a DOUBTFUL trial.
    """

    experiment: str
    where: str
    point: Mapping[str, str]
    closed_loop: bool
    results: Sequence[MeasuredResult] = ()
    findings: Sequence[Finding] = ()
    doubtful: Collection[str] = ()

    @property
    def systems(self) -> list[str]:
        """Systems by name."""
        return sorted({result.spec.system for result in self.results} | {finding.system for finding in self.findings})


def rule_on_thresholds(thresholds: Sequence[Threshold], asked: Sequence[Asked]) -> tuple[Ruling, ...]:
    """Every threshold, wherever it applies; at least one ruling for each."""
    rulings: list[Ruling] = []
    for threshold in thresholds:
        of_threshold = [
            ruling
            for experiment in asked
            if _threshold_concerns(threshold, experiment)
            for ruling in _rule_on_experiment(threshold, experiment)
        ]
        nowhere = "nothing that this threshold applies to has a result"
        rulings += of_threshold or [
            Ruling(threshold.text, threshold.experiment, "", "", ThresholdOutcome.NOT_DECIDED, None, None, 0, nowhere)
        ]
    return tuple(rulings)


def _threshold_concerns(threshold: Threshold, asked: Asked) -> bool:
    elsewhere = any(asked.point.get(key) != at for key, at in threshold.point.items())
    if elsewhere or threshold.experiment not in ("", asked.experiment):
        return False
    if threshold.figure in FINDING_FIGURES:
        return bool(asked.findings)
    hidden = asked.closed_loop and FIGURES[threshold.figure].scheduled and not threshold.experiment
    return bool(asked.results) and not hidden


def _rule_on_experiment(threshold: Threshold, asked: Asked) -> list[Ruling]:
    if threshold.is_ratio:
        pairs = [
            (above, below)
            for above in asked.systems
            for below in asked.systems
            if above != below and is_system(threshold.above, above) and is_system(threshold.below, below)
        ]
        return [_ruling_on_ratio(threshold, asked, above, below) for above, below in pairs]
    return [
        _ruling_on_system(threshold, asked, system) for system in asked.systems if is_system(threshold.system, system)
    ]


def _ruling_on_system(threshold: Threshold, asked: Asked, system: str) -> Ruling:
    figure = FIGURES.get(threshold.figure)
    if figure is not None and figure.kind is FigureKind.COUNTED:
        return _ruling_on_counts(threshold, asked, system, figure)
    figures = _figures_of_system(threshold, asked, system)
    return _ruling_on_blocks(
        threshold, asked, system, figures, figure_interval([*figures.values.values()], resolution=figures.resolution)
    )


def _ruling_on_ratio(threshold: Threshold, asked: Asked, above: str, below: str) -> Ruling:
    first, second = _figures_of_system(threshold, asked, above), _figures_of_system(threshold, asked, below)
    common = sorted(first.values.keys() & second.values.keys())
    ratios = {block: first.values[block] / second.values[block] for block in common if second.values[block] > 0}
    resolution = max(first.resolution, second.resolution)
    interval = paired_ratio(first.values, second.values, resolution=resolution)
    both = _SystemFigures(ratios, first.kind, max(first.without, second.without), resolution)
    ruling = _ruling_on_blocks(threshold, asked, f"{above} over {below}", both, interval)
    return replace(ruling, is_unpaired=not common and bool(first.values) and bool(second.values))


@dataclass(frozen=True)
class _SystemFigures:
    """A system's figure by block, what kind it is, how many blocks have an answer `without` it, how fine it is."""

    values: ByBlock
    kind: Figure | FindingFigure
    without: int
    resolution: float = 0.0


def _figures_of_system(threshold: Threshold, asked: Asked, system: str) -> _SystemFigures:
    if threshold.figure in FINDING_FIGURES:
        figure = FINDING_FIGURES[threshold.figure]
        decided = [finding for finding in asked.findings if finding.system == system and finding.decided]
        values = by_block(decided, figure.value_in)
        without = len({finding.block for finding in decided} - values.keys())
        return _SystemFigures(values, figure, without, figure.resolution_in(decided))
    usable = [
        result for result in asked.results if result.spec.system == system and result.validity is not Validity.INVALID
    ]
    measured = FIGURES[threshold.figure]
    values = by_block(usable, measured.value_in)
    return _SystemFigures(values, measured, len({result.spec.block for result in usable} - values.keys()))


def _ruling_on_counts(threshold: Threshold, asked: Asked, system: str, figure: Figure) -> Ruling:
    """The ruling on every trial's count. One that doesn't know it leaves it open, unless another misses."""
    values = [figure.value_in(result) for result in asked.results if result.spec.system == system]
    counts = [value for value in values if value is not None]
    missing = [value for value in counts if not threshold.holds(value)]
    worst = _worst_value(threshold, missing or counts)
    open_ = len(counts) < len(values) or not values
    outcome = ThresholdOutcome.MISSED if missing else ThresholdOutcome.NOT_DECIDED if open_ else ThresholdOutcome.MET
    trials = plural(len(values), "trial")
    seen, several = f"{rounded(worst or 0.0)} {figure.title}", len(values) > 1
    if missing:
        why = f"{seen} in the worst of {trials}" if several else seen
    elif open_:
        why = f"{figure.title}: not known for {of_all(len(values) - len(counts), len(values), 'trial')}"
    else:
        most = " at least" if threshold.operator in (">", ">=") else " at most"
        why = f"{seen}{most if several else ''}, {trials}"
    return Ruling(threshold.text, asked.experiment, system, asked.where, outcome, worst, None, len(values), why)


def _worst_value(threshold: Threshold, values: Sequence[float]) -> float | None:
    """The value that is furthest from what is asked, or nearest to missing it; None without any."""
    if threshold.operator in (">", ">="):
        return min(values, default=None)
    if threshold.operator == "==":
        return max(values, key=lambda value: abs(value - threshold.limit), default=None)
    return max(values, default=None)


def _ruling_on_blocks(
    threshold: Threshold, asked: Asked, subject: str, figures: _SystemFigures, interval: Interval | None
) -> Ruling:
    """The ruling on a measured figure, or on a ratio of one."""
    kind, values = figures.kind, list(figures.values.values())
    where = (threshold.text, asked.experiment, subject, asked.where)
    if not values:
        why = f"there is no {kind.title} that may be used"
        if threshold.is_ratio:
            why += ", of both in one block"
        return Ruling(*where, ThresholdOutcome.NOT_DECIDED, None, None, 0, why)
    step = 1 + figures.resolution
    seen = (
        [interval.low, interval.high] if interval else [end for value in values for end in (value / step, value * step)]
    )
    holds = [threshold.holds(end) for end in seen]
    outcome = (
        ThresholdOutcome.MET if all(holds) else ThresholdOutcome.NOT_DECIDED if any(holds) else ThresholdOutcome.MISSED
    )
    value = geometric_mean(values)
    unit = "x" if threshold.is_ratio else f" {kind.unit}"
    around = f" [{rounded(interval.low)}, {rounded(interval.high)}]" if interval else ""
    why = f"{kind.title} {rounded(value)}{unit}{around}, {plural(len(values), 'block')}"
    if outcome is ThresholdOutcome.NOT_DECIDED:
        near = len({threshold.holds(value) for value in values}) == 1
        why += ", and the limit lies between" if interval else NEAR if near else ", which differ on it"
    doubtful = {*asked.doubtful, *(one.spec.system for one in asked.results if one.validity is Validity.DOUBTFUL)}
    if not doubtful.isdisjoint(subject.split(" over ")):
        why += " (DOUBTFUL)"
    if figures.without:
        # What never came so far has no figure (a backlog never drained): the others can't meet a threshold for it.
        outcome = ThresholdOutcome.NOT_DECIDED if outcome is ThresholdOutcome.MET else outcome
        why += f"; {plural(figures.without, 'block')} {'has' if figures.without == 1 else 'have'} no {kind.title}"
    return Ruling(*where, outcome, value, interval, len(values), why, figures.without, figures.resolution)


def repeats_may_decide(ruling: Ruling) -> bool:
    """Whether more repeats may decide a threshold that is open.

    Not where there is no figure, be it in one block of several, nor where a trial does not know what it counts, nor
    where the limit is within the steps in which the figure comes: repeats take nothing of that away. Figures of a ratio
    that no block has both of may come in another block.
    """
    if ruling.is_unpaired:
        return True
    if ruling.outcome is not ThresholdOutcome.NOT_DECIDED or ruling.value is None or ruling.without:
        return False
    threshold, step = parse_threshold(ruling.threshold), 1 + ruling.resolution
    figure = FIGURES.get(threshold.figure)
    is_near = threshold.holds(ruling.value / step) != threshold.holds(ruling.value * step)
    return not is_near and (figure is None or figure.kind is not FigureKind.COUNTED)
