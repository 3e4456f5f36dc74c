"""The page of compared runs: the verdicts and their pictures, from the facts that the terminal shows."""

from __future__ import annotations

from tidegauge.comparison.regression import RegressionOutcome
from tidegauge.report.across import ComparisonFacts
from tidegauge.report.html.page import render_page
from tidegauge.report.plots.compared import pair_plots
from tidegauge.report.plots.model import LOOKS, Plot, data_table, look
from tidegauge.report.regression import regression_headline, regression_lines
from tidegauge.statistics.intervals import ComparisonVerdict

DIFFERENCES_SHOWN = 12
"""What differs beyond these is folded."""
_STATES = {ComparisonVerdict.BETTER: "good", ComparisonVerdict.WORSE: "bad"}
_OUTCOMES = {RegressionOutcome.REGRESSED: "bad", RegressionOutcome.NOT_DECIDED: "doubt"}


def comparison_page(facts: ComparisonFacts, sentence: str = "") -> str:
    """A page over compared runs, to be read offline. `sentence`: why nothing was compared; "" where something was."""
    from tidegauge.report.plots.draw import page_drawing  # Who writes no page need not wait for matplotlib.

    comparison, judgement = facts.comparison, facts.judgement
    places = places_of_systems(facts)
    parts = [(words, pair_plots(words, f"pair-{number}")) for number, words in enumerate(facts.pairs, 1)]
    names = list(dict.fromkeys(run.name for _, run in comparison.runs))
    return render_page(
        "comparison.html.j2",
        "report.js",
        title=", ".join(names),
        facts=facts,
        headline=sentence or (regression_headline(judgement) if judgement is not None else ""),
        rulings=regression_lines(judgement) if judgement is not None else [],
        parts=parts,
        states=_STATES,
        outcomes=_OUTCOMES,
        shown=DIFFERENCES_SHOWN,
        drawing=lambda plot: page_drawing(plot, places),
        data_table=data_table,
        systems=[(name, look(place), place) for name, place in places.items()],
        looks=LOOKS,
    )


def comparison_plots(facts: ComparisonFacts) -> list[Plot]:
    """Every picture of the page, for files of their own."""
    return [plot for number, words in enumerate(facts.pairs, 1) for plot in pair_plots(words, f"pair-{number}")]


def places_of_systems(facts: ComparisonFacts) -> dict[str, int]:
    """The place of each system among those of all runs, by name: it decides its look in every picture."""
    names = {result.spec.system for _, run in facts.comparison.runs for result in run.results}
    return {system: place for place, system in enumerate(sorted(names))}
