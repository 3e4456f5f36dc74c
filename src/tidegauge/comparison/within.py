"""How the figures of one experiment relate, system by system. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tidegauge.comparison.compared_trials import ComparedTrials
from tidegauge.durability import levels_equal
from tidegauge.model.finding import Finding
from tidegauge.model.trial import TrialResult, Validity, point_words
from tidegauge.model.variant import SameWithin
from tidegauge.plain import grouped
from tidegauge.statistics.contrasts import Contrast, compute_contrast
from tidegauge.statistics.figures import Figure, FindingFigure, Shown, figures_compared, figures_found
from tidegauge.statistics.intervals import NOISE_THRESHOLD, Comparison, by_block, compare_paired, compare_unpaired


@dataclass(frozen=True)
class Ratio:
    """One figure of a system over that of another.

    Attributes:
        name: the figure's name, as thresholds write it.
        figure: its title.
        values, baseline_values: the figure by block, of usable trials.
        doubtful: whether one of these is DOUBTFUL.
        point: of the campaign's sweep at which both were measured.
        forms: in which the two give their durability level, of systems that have several.
        contrast: by how much they differ in the figure's unit, and the verdict by the margin that was asked for; None
            where that is the ratio's own noise threshold.
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
    forms: tuple[str, str] = ("", "")
    contrast: Contrast | None = None

    @property
    def repeated(self) -> bool:
        """Whether both systems have several trials."""
        return self.comparison.blocks > 1


Side = tuple[str, Sequence[Any]]
"""A name, and the results or the findings, whichever the figures are of."""


def ratios_of_compared(compared: ComparedTrials, across_levels: bool = False) -> list[Ratio]:
    """Each further system against the first; none where a side has no usable figure.

    None where levels differ either, unless `across_levels`: the user has explicitly asked to compare these.
    """
    if not (across_levels or levels_equal(compared.results)) or len(compared.systems) < 2:
        return []
    baseline, *others = compared.systems
    all_ratios = []
    for system in others:
        sides = [(name, compared.usable(name)) for name in (system, baseline)]
        doubtful = any(result.validity is Validity.DOUBTFUL for _, used in sides for result in used)
        figures = figures_compared(Shown.WITHIN, closed_loop=compared.closed_loop)
        forms = compared.of_system(system)[0].spec.form, compared.of_system(baseline)[0].spec.form
        of_system = ratios_of(compared.experiment, figures, *sides, doubtful=doubtful)
        all_ratios += [replace(ratio, point=compared.point, forms=forms) for ratio in of_system]
    return all_ratios


def by_question(findings: Sequence[Finding]) -> dict[tuple[str, str], list[Finding]]:
    """Findings by experiment, and point of the sweep in words."""
    return grouped(((finding.experiment, point_words(finding.point)), finding) for finding in findings)


def finding_ratios(
    findings: Sequence[Finding], results: Sequence[TrialResult], across_levels: bool = False
) -> list[Ratio]:
    """What experiments found, each system against the first; none where levels differ, as in `ratios_of_compared`.

    Args:
        results: of the same run; those on which a finding rests decide whether it is DOUBTFUL.
    """
    if not (across_levels or levels_equal(results)):
        return []
    all_ratios = []
    for (experiment, at), at_point in by_question(findings).items():
        decided = grouped((finding.system, finding) for finding in at_point if finding.decided)
        baseline, *others = sorted(decided) or [""]
        for figure in figures_found(Shown.WITHIN):
            for system in others:
                sides = [(name, decided[name]) for name in (system, baseline)]
                doubtful = rest_on_doubt([*decided[system], *decided[baseline]], results)
                forms = _form_at_point(system, at, results), _form_at_point(baseline, at, results)
                of_system = ratios_of(experiment, [figure], *sides, doubtful=doubtful)
                all_ratios += [replace(ratio, point=at_point[0].point, forms=forms) for ratio in of_system]
    return all_ratios


def _form_at_point(system: str, at: str, results: Sequence[TrialResult]) -> str:
    """The form in which a system gives its level at a point, which is given in words; "" if it has none."""
    specs = [result.spec for result in results if result.spec.system == system]
    return next((spec.form for spec in specs if point_words(spec.point) == at), "")


def rest_on_doubt(findings: Sequence[Finding], results: Sequence[TrialResult]) -> bool:
    """Whether a trial of the same run, whose figures one of these findings publishes, is DOUBTFUL."""
    doubted = {result.spec.trial_id for result in results if result.validity is Validity.DOUBTFUL}
    return not doubted.isdisjoint(finding.published_trial_id for finding in findings)


def ratios_of(
    experiment: str,
    figures: Sequence[Figure | FindingFigure],
    above: Side,
    below: Side,
    *,
    doubtful: bool,
    paired: bool = True,
    noise: float = NOISE_THRESHOLD,
    same_within: SameWithin | None = None,
) -> list[Ratio]:
    """The ratio of each figure of `above` over that of `below`; none of a figure that a side has not.

    Paired where the two have blocks in common; else, when INVALID trials left none, each side for itself. Not `paired`:
    blocks of two runs were measured at different times, whatever their numbers.

    Args:
        same_within: the margin that judges, instead of `noise`.
    """
    (system, ours), (baseline, theirs) = above, below
    all_ratios = []
    for figure in figures:
        values, base = by_block(ours, figure.value_in), by_block(theirs, figure.value_in)
        better = figure.higher_is_better
        step = figure.resolution_in([*ours, *theirs]) if isinstance(figure, FindingFigure) else 0.0
        comparison = compare_paired(values, base, better, noise, step) if paired else None
        if comparison is None:
            comparison = compare_unpaired([*values.values()], [*base.values()], better, noise, step)
        if comparison is not None:
            named = (experiment, figure.name, figure.title, figure.unit, system, baseline)
            contrasted = None
            if same_within is not None:
                contrasted = compute_contrast(
                    values, base, higher_is_better=better, unit=figure.unit, same_within=same_within,
                    paired=comparison.paired, resolution=step,
                )  # fmt: skip
            if contrasted is not None:
                comparison = replace(comparison, verdict=contrasted.verdict, blocks_needed=contrasted.blocks_needed)
            both_sides = tuple(values.values()), tuple(base.values())
            all_ratios.append(Ratio(*named, *both_sides, doubtful, comparison, contrast=contrasted))
    return all_ratios
