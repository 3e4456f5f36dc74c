"""How the systems of one experiment relate, in words that claim no more than the trials show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from tidegauge.experiments.api import TrialResult, Validity
from tidegauge.report import levels
from tidegauge.report.numbers import count, ms, short
from tidegauge.report.tables import Block, worst_end_to_end

NO_EVIDENCE = "one trial each is no evidence of a difference"


@dataclass(frozen=True)
class Ratio:
    """One figure of a system over that of the first system.

    `values` are those of the usable trials; `doubtful` if one of them is DOUBTFUL.
    """

    experiment: str
    figure: str
    unit: str
    system: str
    baseline: str
    values: tuple[float, ...]
    baseline_values: tuple[float, ...]
    doubtful: bool

    @property
    def ratio(self) -> float:
        """Ratio of the medians."""
        return median(self.values) / median(self.baseline_values)

    @property
    def overlap(self) -> bool:
        """Whether the ranges of the trials overlap."""
        return min(self.values) <= max(self.baseline_values) and min(self.baseline_values) <= max(self.values)

    @property
    def repeated(self) -> bool:
        """Whether both systems have several trials."""
        return len(self.values) > 1 and len(self.baseline_values) > 1


def _peak(result: TrialResult) -> float | None:
    return result.msgs_per_s


def _response_p99(result: TrialResult) -> float | None:
    return result.response.p99_ms


def _end_to_end_p99(result: TrialResult) -> float | None:
    latency = worst_end_to_end(result)
    return None if latency is None else latency.p99_ms


def ratios(block: Block, across_levels: bool = False) -> list[Ratio]:
    """Each further system against the first; none where a side has no usable figure.

    None where levels differ either, unless `across_levels`: the user has explicitly asked to compare these.
    """
    if not (across_levels or levels.equal(block.results)) or len(block.systems) < 2:
        return []
    figures: list[tuple[str, str, Callable[[TrialResult], float | None]]]
    if block.closed_loop:
        figures = [("rate", "msg/s", _peak)]
    else:
        figures = [("response p99", "ms", _response_p99), ("end-to-end p99", "ms", _end_to_end_p99)]
    baseline, *others = block.systems
    found = []
    for system in others:
        used = (*block.usable(system), *block.usable(baseline))
        doubtful = any(result.validity is Validity.DOUBTFUL for result in used)
        for name, unit, figure in figures:
            values = _values(block.usable(system), figure)
            base = _values(block.usable(baseline), figure)
            if values and base and median(base) > 0:
                found.append(Ratio(block.experiment, name, unit, system, baseline, values, base, doubtful))
    return found


def _values(results: Sequence[TrialResult], figure: Callable[[TrialResult], float | None]) -> tuple[float, ...]:
    return tuple(value for value in map(figure, results) if value is not None)


def sentence(ratio: Ratio) -> str:
    """One line: the ratio, the two figures, and how much it is worth."""
    doubt = " Some of these figures are doubtful, see above." if ratio.doubtful else ""
    return _claim(ratio) + doubt


def _claim(ratio: Ratio) -> str:
    form = ms if ratio.unit == "ms" else count
    against = f"{form(median(ratio.values))} against {form(median(ratio.baseline_values))} {ratio.unit}"
    head = (
        f"{ratio.experiment}: {ratio.system} has {short(ratio.ratio)} times the {ratio.figure} of {ratio.baseline} "
        f"({against})"
    )
    if not ratio.repeated:
        return f"{head}; {NO_EVIDENCE}."
    ranges = (
        f"{form(min(ratio.values))} to {form(max(ratio.values))} and "
        f"{form(min(ratio.baseline_values))} to {form(max(ratio.baseline_values))}"
    )
    trials = f"medians of {len(ratio.values)} and {len(ratio.baseline_values)} trials"
    if ratio.overlap:
        return f"{head}; {trials}, whose ranges overlap ({ranges}): no difference is shown."
    return f"{head}; {trials}, whose ranges do not overlap ({ranges})."


def objection(block: Block, across_levels: bool = False) -> str:
    """Why the systems of this block are not compared, or ""."""
    if len(block.systems) < 2:
        return ""
    if not (across_levels or levels.equal(block.results)):
        return f"{block.experiment}: not compared, since the systems do not give the same durability level."
    unusable = [system for system in block.systems if not block.usable(system)]
    if unusable:
        return f"{block.experiment}: not compared with {', '.join(unusable)}, which has no valid trial."
    return ""
