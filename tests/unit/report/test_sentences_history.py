"""Each sentence about a history has runs of which it would be false, and is not said there."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from history_samples import disclosed, nightly_results, nightly_run, nightly_runs
from page_scenes import page_texts, printed
from run_samples import spec
from sentence_templates import Claim, claims_of, template_of, unlisted

from tidegauge.comparison.history import RunHistory, history_of_runs
from tidegauge.model.finding import Finding
from tidegauge.model.trial import RateRule, Validity
from tidegauge.report.history import history_report
from tidegauge.report.html.history_parts import history_plots
from tidegauge.report.html.page import history_page
from tidegauge.statistics.figures import SUSTAINABLE
from tidegauge.store.read import StoredRun

MODULES = (
    "report/history.py",
    "report/plots/history.py",
    "report/html/history_parts.py",
    "comparison/history.py",
    "statistics/change_points.py",
)
SCENES: dict[str, Callable[[], RunHistory]] = {}


def _history(runs: Iterable[StoredRun]) -> RunHistory:
    return history_of_runs(list(runs), disclosed)


def _night(night: int, scale: float = 1.0, **changes: Any) -> StoredRun:
    trial = replace(spec(), **changes.pop("spec", {}))
    return nightly_run(night, nightly_results([scale], trial, **changes))


def _calm(night: int) -> StoredRun:
    return _night(night, random.Random(night).lognormvariate(0, 0.03))


def _shared(night: int, step: float) -> StoredRun:
    rule = {"msgs_per_s": 20_000.0 + step * night, "rate_rule": RateRule.from_text("50% of peak")}
    return _night(night, random.Random(night).lognormvariate(0, 0.03), spec=rule)


def _spread(night: int) -> StoredRun:
    width = 0.001 if night < 40 else 1.0
    return _night(night, random.Random(100 + night).lognormvariate(0, width))


def _with_invalid(night: int) -> StoredRun:
    valid, invalid = nightly_results([1.0, 1.0])
    return nightly_run(night, [valid, replace(invalid, validity=Validity.INVALID)])


def _stepped(night: int, commit: str = "abc") -> StoredRun:
    scale = (1.0 if night < 12 else 1.4) * random.Random(night).lognormvariate(0, 0.03)
    return nightly_run(night, nightly_results([scale]), commit=commit)


def _searched(night: int, *, decided: bool = True) -> StoredRun:
    """A search, whose confirmation is no measure of latency, or which is open."""
    step = replace(spec(experiment="max-throughput"), trial_id="0001-max-throughput-s01-confirm", exploratory=True)
    found = Finding("0001-max-throughput", "max-throughput", step.system, 0, decided, (), figures={SUSTAINABLE: 5e4})
    trial = replace(nightly_results([1.0], step)[0], spec=step, validity=Validity.INVALID)
    return nightly_run(night, [trial], findings=(found,))


SCENES |= {
    "a search confirmed by what is no measure of latency": lambda: _history(map(_searched, range(2))),
    "a search that is open beside others": lambda: _history([_calm(0), _calm(1), _searched(2, decided=False)]),
    "a change": lambda: _history(nightly_runs()),
    "a change in calm": lambda: _history(_stepped(night) for night in range(24)),
    "calm": lambda: _history(map(_calm, range(14))),
    "other spread": lambda: _history(map(_spread, range(80))),
    "few runs": lambda: _history(map(_calm, range(9))),
    "other rates": lambda: _history(_shared(night, 100.0) for night in range(12)),
    "alike rates": lambda: _history(_shared(night, 1.0) for night in range(12)),
    "a trial INVALID": lambda: _history(map(_with_invalid, range(2))),
    "one run": lambda: _history([_calm(0)]),
    "nothing": lambda: _history([nightly_run(0, ())]),
}
CLAIMS = (
    Claim("No change can be told", "few runs", "calm"),
    Claim("{} instead of {} {}", "a change", "calm"),
    Claim("; {} of them DOUBTFUL or disturbed", "a change", "a change in calm"),
    Claim("neither better nor worse for certain", "other spread", "a change"),
    Claim("nothing that was recorded changed with it", "a change in calm", "a change"),
    Claim("what changed then: {}", "a change", "a change in calm"),
    Claim("{}, no change can be told from fewer than {}", "few runs", "calm"),
    Claim("no change can be told, since the runs were at", "other rates", "alike rates"),
    Claim("{} INVALID and left out", "a trial INVALID", "calm"),
    Claim("Changes were looked for in {} series.", "calm", "few runs"),
    Claim("None of these runs has a figure to compare.", "nothing", "few runs"),
    Claim("What only one run asked under the same", "one run", "few runs"),
    Claim("What only one run asked under the same", "one run", "a search confirmed by what is no measure of latency"),
    Claim("Without a figure to compare: {}.", "a search that is open beside others", "few runs"),
    Claim("{} No change was found.", "calm", "a change"),
    Claim("{} of {}: {} {} in the first, {} {} in the last.", "calm", "nothing"),
    Claim("Bars: 95% intervals over the trials of a run", "a change", "calm"),
    *claims_of("a change", "calm", "{} of {} DOUBTFUL or disturbed: {}", "Hollow: DOUBTFUL or disturbed."),
    *claims_of("a change", "calm", "left out, since all their trials of this", "not all the same ({}):"),
    *claims_of("a change", "calm", "the page and --json have all", "the table of runs has all"),
    Claim("Upright lines: changes; level ones", "a change", "calm"),
    Claim("other than in the run before", "calm", "nothing"),
)


@cache
def said_of(scene: str) -> tuple[str, ...]:
    """What terminal, page and pictures say."""
    history = SCENES[scene]()
    plots = [plot for of_part in history_plots(history) for plot in of_part]
    described = [f"{plot.title}\n{plot.description}\n{plot.reading}" for plot in plots]
    return printed(history_report(history)), *described, *page_texts(history_page(history, lambda run: ""))


def test_every_sentence_is_listed() -> None:
    assert unlisted(MODULES, CLAIMS) == []


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.template[:50])
def test_a_sentence_is_said_where_it_is_true_and_not_where_it_is_false(claim: Claim) -> None:
    template = template_of(claim, MODULES)
    assert any(map(template.is_in, said_of(claim.true_in))), "it is not said where it is true"
    assert [text for text in said_of(claim.false_in) if template.is_in(text)] == [], "it is said where it is false"


def test_a_rate_that_was_confirmed_counts_though_its_trial_is_no_measure_of_latency() -> None:
    (part,) = SCENES["a search confirmed by what is no measure of latency"]().parts
    assert (len(part.entries), part.left_out) == (2, ())
    assert [figure.figure.name for figure in part.figures] == [SUSTAINABLE]
    assert not any("INVALID" in text for text in said_of("a search confirmed by what is no measure of latency"))


def test_a_run_whose_other_trials_are_valid_has_none_of_them_called_invalid() -> None:
    def night(number: int, of_peak: Validity) -> StoredRun:
        peak = replace(spec(experiment="peak"), trial_id="0009-peak")
        (invalid,) = nightly_results([1.0], peak, validity=of_peak)
        return nightly_run(number, [*nightly_results([1.0]), invalid])

    history = _history([night(0, Validity.VALID), night(1, Validity.INVALID)])
    (left_out,) = [line for line in printed(history_report(history)).splitlines() if "left out" in line]
    assert "all their trials of this are INVALID" in left_out
