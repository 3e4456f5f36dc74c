"""Every sentence on figures that got worse since another run: said where it is true, not where it would be false."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from compared_runs import BEFORE, blocks_of, made
from sentence_templates import Claim, template_of, unlisted

from tidegauge import store
from tidegauge.comparison.across import compare_runs
from tidegauge.comparison.differences import DisclosedRun
from tidegauge.comparison.regression import AllowedLoss, judge_regressions
from tidegauge.model.trial import Validity
from tidegauge.report.regression import regression_headline, regression_lines

MODULES = ("report/regression.py",)
KAFKA, PULSAR = "kafka@4.3.1", "pulsar@4.2.4"
WIDE = (1.0, 1.3, 0.8)


def times(factor: float, values: Sequence[float] = BEFORE) -> tuple[float, ...]:
    return tuple(factor * value for value in values)


SCENES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the same": ({KAFKA: BEFORE}, {KAFKA: BEFORE}),
    "worse": ({KAFKA: BEFORE}, {KAFKA: times(2.0)}),
    "worse, and another open": ({KAFKA: BEFORE, PULSAR: WIDE}, {KAFKA: times(2.0), PULSAR: WIDE}),
    "too few repeats": ({KAFKA: (1.0,)}, {KAFKA: (9.0,)}),
    "near the limit": ({KAFKA: WIDE}, {KAFKA: times(1.09, WIDE)}),
    "open": ({KAFKA: WIDE}, {KAFKA: times(1.3, (1.1, 0.9, 1.3))}),
    "a system is gone": ({KAFKA: BEFORE, PULSAR: BEFORE}, {KAFKA: BEFORE}),
    "no figure": ({KAFKA: BEFORE}, {KAFKA: BEFORE}),
}
"""The repeats of each system before and after, as factors of the usual figures."""
CLAIMS = (
    Claim("Regression: {} of {} got worse", "worse", "the same"),
    Claim("No regression: none of {}", "the same", "worse"),
    Claim("Not decided: there is no figure to judge", "no figure", "too few repeats"),
    Claim("Not decided: none of {} got worse", "a system is gone", "the same"),
    Claim("Not decided: whether {} of {} got worse", "too few repeats", "a system is gone"),
    Claim("{}, {} {}x is allowed", "worse", "no figure"),
    Claim("{}: {}: not decided, {}{}", "too few repeats", "worse"),
    Claim("and more than {} repeats would be needed", "near the limit", "too few repeats"),
    Claim("about {} in each run may decide", "open", "too few repeats"),
    Claim("since fewer than {} repeats in each run", "too few repeats", "open"),
)


def stored(runs: Path, scales: dict[str, Sequence[float]], **changes: Any) -> DisclosedRun:
    results = [one for system, of_system in scales.items() for one in blocks_of(system, *of_system, **changes)]
    return DisclosedRun(store.load_run(runs / made(runs, results)), {})


@cache
def said_of(scene: str) -> str:
    before, after = SCENES[scene]
    changes = {"validity": Validity.INVALID} if scene == "no figure" else {}
    with tempfile.TemporaryDirectory() as name:
        compared = compare_runs([stored(Path(name), before), stored(Path(name), after, **changes)], True)
    judgement = judge_regressions(compared, AllowedLoss())
    return "\n".join([regression_headline(judgement), *(line for line, _ in regression_lines(judgement))])


def test_every_sentence_is_listed() -> None:
    assert unlisted(MODULES, CLAIMS) == []


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.template[:50])
def test_a_sentence_is_said_where_it_is_true_and_not_where_it_is_false(claim: Claim) -> None:
    template = template_of(claim, MODULES)
    assert template.is_in(said_of(claim.true_in)), "it is not said where it is true"
    assert not template.is_in(said_of(claim.false_in)), "it is said where it is false"


@pytest.mark.parametrize("scene", SCENES)
def test_what_is_counted_are_the_lines_that_say_so(scene: str) -> None:
    said = said_of(scene)
    regressed, undecided = said.count(": REGRESSED"), said.count(": not decided, ")
    worse = re.search(r"Regression: (\d+) of", said)
    assert (int(worse[1]) if worse else 0) == regressed
    still_open = re.search(r"(?:whether|Not decided:) (\d+)\b", said)
    assert (int(still_open[1]) if still_open else 0) == undecided
    assert "about 0 more" not in said
