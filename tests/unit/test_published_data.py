"""The published figures as package data: whole, traceable, and such that the reports' claims follow from them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from run_samples import latency, result

from tidegauge.errors import UserError
from tidegauge.published.examine import published_rows
from tidegauge.published.figures import FIGURES
from tidegauge.published.load import read_report, report, report_names
from tidegauge.published.model import Claim, Operand
from tidegauge.published.questions import Question, questions

ALL = [(name, claim) for name in report_names() for claim in report(name).claims]
IDS = [f"{name}/{claim.id}" for name, claim in ALL]


def sides(question: Question) -> list[tuple[str, Operand]]:
    shown = [(question.figure, place) for place in question.shown]
    below = [(question.below_figure, question.below)] if question.below else []
    return [(question.figure, question.above), *shown, *below]


def values(name: str, claim: Claim, figure: str, place: Operand) -> set[float]:
    theirs = place.theirs.within(place) if place.theirs else place
    return {value for _, value in published_rows(report(name), claim, figure, theirs)}


def test_the_three_reports_are_there() -> None:
    assert report_names() == ["confluent-2020", "streamnative-2020", "streamnative-2022"]


@pytest.mark.parametrize("name", report_names())
def test_a_report_names_its_source_hardware_and_versions(name: str) -> None:
    found = report(name)
    assert found.report == name
    assert all((found.title, found.hardware, found.setup, found.versions["kafka"], found.versions["pulsar"]))
    assert all(table.source for table in found.tables)
    assert all(claim.source and claim.text for claim in found.claims)


@pytest.mark.parametrize(("name", "claim"), ALL, ids=IDS)
def test_a_published_figure_is_unambiguous(name: str, claim: Claim) -> None:
    """Several tables may have it, but only with one value."""
    for question in questions(claim):
        for figure, place in sides(question):
            assert len(values(name, claim, figure, place)) <= 1, place.words()


@pytest.mark.parametrize(("name", "claim"), ALL, ids=IDS)
def test_a_claim_follows_from_its_own_figures(name: str, claim: Claim) -> None:
    """A claim that the report's own figures contradict was written down wrongly (or its figures were)."""
    for question in questions(claim):
        above = values(name, claim, question.figure, question.above)
        below = values(name, claim, question.below_figure, question.below) if question.below else {1.0}
        if above and below:
            ratio = above.pop() / below.pop()
            assert question.limits.at_least <= ratio <= question.limits.at_most, question.words


def test_most_claims_have_their_figures() -> None:
    with_figures = [
        claim.id for name, claim in ALL for one in questions(claim)[:1] if values(name, claim, one.figure, one.above)
    ]
    assert len(with_figures) > 0.8 * len(ALL)


REPORT = """\
report: mine
title: Mine
versions: {kafka: "1"}
hardware: a shed
setup: []
tables:
  - {id: t, source: table 1, figures: [throughput], rows: [{system: kafka, values: [1]}]}
claims:
  - {id: c, text: x, source: table 1, kind: factor, figure: throughput, a: {}, b: {}, at-least: 2}
"""


SAME_ID = "  - {id: c, text: x, source: s, kind: bound, figure: throughput, of: {}}\n"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("values: [1]", "values: [1, 2]", "other than 1 values"),
        ("figures: [throughput]", "figures: [thruput]", "must be one of throughput"),
        (", at-least: 2", "", "must have 'at-least' or 'at-most'"),
        ("id: c,", "id: c, table: [no],", "no such table: no"),
        ("setup: []", "setup: []\nsetups: []", "unknown key 'setups' (did you mean 'setup'?)"),
        (
            "\nclaims:\n",
            "\nclaims:\n  - {id: c, text: x, source: s, kind: bound, figure: throughput, of: {}}\n",
            "twice: c",
        ),
    ],
)
def test_a_wrong_data_file_is_refused(tmp_path: Path, old: str, new: str, told: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(REPORT)
    assert read_report(path).report == "mine"
    assert old in REPORT
    path.write_text(REPORT.replace(old, new))
    with pytest.raises(UserError) as caught:
        read_report(path)
    assert told in caught.value.message


def test_an_unknown_report_is_told_with_the_nearest() -> None:
    with pytest.raises(UserError, match="did you mean 'confluent-2020'"):
        report("confluent-2021")


@pytest.mark.parametrize("name", report_names())
def test_every_claim_is_told_in_the_documentation(name: str) -> None:
    text = (Path(__file__).resolve().parents[2] / "docs/published.md").read_text()
    assert [claim.id for claim in report(name).claims if f"| `{claim.id}` |" not in text] == []
    assert report(name).title in text


def test_end_to_end_is_that_of_the_slowest_subscription() -> None:
    (one,) = result().subscriptions
    several = tuple(replace(one, name=f"sub-{n}", end_to_end=latency(scale)) for n, scale in enumerate((1.0, 3.0, 2.0)))
    figure = FIGURES["end-to-end-p99"].of_trial
    assert figure is not None
    assert figure(result(subscriptions=several)) == latency(3.0).p99_ms
    assert figure(result(subscriptions=())) is None
