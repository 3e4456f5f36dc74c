"""The published figures as package data: whole, traceable, and such that the reports' claims follow from them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from published_campaigns import NAMES, PATHS, SCALES, read_published
from run_samples import latency, result

from tidegauge.errors import UserError
from tidegauge.model.trial import CatchUp
from tidegauge.model.workload import DeviceReads
from tidegauge.published.examine import Question, published_rows, questions, read_report, report_named, report_names
from tidegauge.published.model import FIGURES, LOSING_CUTS, Claim, Operand

ALL = [(name, claim) for name in report_names() for claim in report_named(name).claims]
IDS = [f"{name}/{claim.id}" for name, claim in ALL]


def sides(question: Question) -> list[tuple[str, Operand]]:
    shown = [(question.figure, place) for place in question.shown]
    below = [(question.below_figure, question.below)] if question.below else []
    return [(question.figure, question.above), *shown, *below]


def values(name: str, claim: Claim, figure: str, place: Operand) -> set[float]:
    theirs = place.theirs.within(place) if place.theirs else place
    return {value for _, value in published_rows(report_named(name), claim, figure, theirs)}


def test_the_three_reports_are_there() -> None:
    assert report_names() == ["confluent-2020", "streamnative-2020", "streamnative-2022"]


@pytest.mark.parametrize("name", report_names())
def test_a_report_names_its_source_hardware_and_versions(name: str) -> None:
    found = report_named(name)
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
def test_a_claim_on_mixed_reads_is_examined_beside_readers_that_keep_up(name: str, claim: Claim) -> None:
    """And not where all readers catch up, as in the report's other test with a backlog."""
    of_mixed = re.search(r"table 1-4|figures? 2-3[678]|mixed", claim.source) is not None
    experiments = {FIGURES[figure].experiment for question in questions(claim) for figure, _ in sides(question)}
    assert (claim.test == "mixed") is of_mixed
    for test in ("mixed", "catch-up"):
        assert (claim.test == test) is (test in experiments)


@pytest.mark.parametrize(("name", "claim"), ALL, ids=IDS)
def test_a_claim_follows_from_its_own_figures(name: str, claim: Claim) -> None:
    """A claim that the report's own figures contradict was written down wrongly (or its figures were)."""
    for question in questions(claim):
        above = values(name, claim, question.figure, question.above)
        below = values(name, claim, question.below_figure, question.below) if question.below else {1.0}
        if above and below:
            ratio = above.pop() / below.pop()
            assert question.limits.at_least <= ratio <= question.limits.at_most, question.words
            assert question.stated is None or question.stated.at_least <= ratio <= question.stated.at_most


def test_most_claims_have_their_figures() -> None:
    with_figures = [
        claim.id
        for name, claim in ALL
        for question in questions(claim)[:1]
        if values(name, claim, question.figure, question.above)
    ]
    assert len(with_figures) > 0.8 * sum(claim.figure != LOSING_CUTS for _, claim in ALL)


REPORT = """\
report: mine
title: Mine
versions: {kafka: "1"}
hardware: a shed
setup: []
units: {throughput: MB/s}
tables:
  - {id: t, source: table 1, figures: [throughput], rows: [{system: kafka, values: [1]}]}
claims:
  - {id: c, text: x, source: table 1, kind: factor, figure: throughput, a: {}, b: {}, at-least: 2}
"""


SAME_ID = "  - {id: c, text: x, source: s, kind: bound, figure: throughput, of: {}}\n"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("values: [1]", "values: [1, 2]", "other than 1 values"),
        ("figures: [throughput]", "figures: [thruput]", "must be one of throughput"),
        ("units: {throughput: MB/s}", "units: {}", "'units' must say what these are in: throughput"),
        ("units: {throughput: MB/s}", "units: {throughput: MBps}", "must be one of MB/s, MiB/s, GB/s, GiB/s"),
        ("id: c,", "id: c, test: no,", "no such test: no"),
        ("id: c,", "id: c, table: [no],", "no such table: no"),
        (
            "at-least: 2}",
            "at-least: 2}\n  - {id: d, text: x, source: s, kind: guarantee, of: {}, kept: true}",
            "'incident'",
        ),
        ("setup: []", "setup: []\nsetups: []", "unknown key 'setups' (did you mean 'setup'?)"),
        (
            "\nclaims:\n",
            "\nclaims:\n  - {id: c, text: x, source: s, kind: bound, figure: throughput, of: {}}\n",
            "twice: c",
        ),
    ],
)
def test_a_wrong_data_file_is_refused(tmp_path: Path, old: str, new: str, problem: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(REPORT)
    assert read_report(path).report == "mine"
    assert old in REPORT
    path.write_text(REPORT.replace(old, new))
    with pytest.raises(UserError) as caught:
        read_report(path)
    assert problem in caught.value.message


def test_an_unknown_report_is_reported_with_the_nearest() -> None:
    with pytest.raises(UserError, match="did you mean 'confluent-2020'"):
        report_named("confluent-2021")


@pytest.mark.parametrize("name", report_names())
def test_every_claim_is_documented(name: str) -> None:
    text = (Path(__file__).resolve().parents[3] / "campaigns/published/README.md").read_text()
    assert [claim.id for claim in report_named(name).claims if f"| `{claim.id}` |" not in text] == []
    assert report_named(name).title in text


def test_end_to_end_is_that_of_the_slowest_subscription() -> None:
    (one,) = result().subscriptions
    several = tuple(replace(one, name=f"sub-{n}", end_to_end=latency(scale)) for n, scale in enumerate((1.0, 3.0, 2.0)))
    figure = FIGURES["end-to-end-p99"].value_in_trial
    assert figure is not None
    assert figure(result(subscriptions=several)) == latency(3.0).p99_ms
    assert figure(result(subscriptions=())) is None


def test_a_rate_in_bytes_is_the_rate_in_messages_in_the_reports_unit() -> None:
    """The report gives both, of messages of 1,024 bytes."""
    confluent = report_named("confluent-2020")
    unit, scale = confluent.unit_of("throughput")
    rows = {table.id: table.rows for table in confluent.tables}
    messages = {(row.system, row.level, row.form): row.values[0] for row in rows["raw-results"]}
    for row in rows["peak"]:
        found = messages[row.system, row.level, row.form]
        assert found * 1024 / scale == pytest.approx(row.values[0], rel=0.02), unit


def test_latency_tests_of_2020_had_a_batch_delay_of_1_ms_and_the_others_10() -> None:
    delays_s = {test.id: test.settings.batch_delay for test in report_named("streamnative-2020").tests}
    assert delays_s["latency"] == delays_s["partitions"] == [0.001]
    assert delays_s["throughput"] == delays_s["catch-up"] == delays_s["mixed"] == [0.01]


@pytest.mark.parametrize(
    ("name", "figure", "place", "value", "source"),
    [
        (
            "confluent-2020",
            "throughput-messages",
            Operand(system="pulsar"),
            313_025,
            "raw results that the report links",
        ),
        (
            "confluent-2020",
            "end-to-end-p99",
            Operand(system="kafka", level=1),
            20,
            "raw results that the report links, at 200,000 msg/s",
        ),
        ("streamnative-2022", "throughput", Operand(system="kafka", partitions=100), 1087, "figure 3"),
        (
            "streamnative-2020",
            "peak-read-rate",
            Operand(system="pulsar", level=1),
            1.7,
            "table 1-1 and text of the catch-up read tests",
        ),
        (
            "streamnative-2020",
            "throughput",
            Operand(system="pulsar", level=2, form="bypass", partitions=100),
            605,
            "table 1-1",
        ),
    ],
)
def test_a_figure_stands_where_the_report_has_it(
    name: str, figure: str, place: Operand, value: float, source: str
) -> None:
    claim = report_named(name).claims[0].model_copy(update={"table": None})
    assert (source, value) in published_rows(report_named(name), claim, figure, place)


@pytest.mark.parametrize("name", report_names())
def test_a_claim_that_rests_on_linked_results_names_their_files(name: str) -> None:
    for claim in report_named(name).claims:
        _, rests_on_them, where = claim.source.partition("raw results that the report links")
        assert not rests_on_them or (where.startswith(": ") and "/" in where), claim.id


def test_a_claim_on_pulsars_maximum_says_that_all_it_was_offered_came_through() -> None:
    """By the linked results of 2020: 300,000 or 600,000 messages a second, where Kafka had 700,000."""
    examined = [
        claim
        for claim in report_named("streamnative-2020").claims
        if FIGURES[claim.figure].experiment == "max-throughput" and "Pulsar" in claim.text
    ]
    assert len(examined) > 10
    silent = [claim.id for claim in examined if not re.search("offered", claim.contradiction)]
    assert silent == ["pulsar-ahead-on-one-partition"], "it holds for whatever Pulsar could do beyond"


def test_percentiles_are_those_of_the_trial() -> None:
    found = result(response=replace(latency(), p9999_ms=77.0, p999_ms=7.0, p90_ms=5.0, p75_ms=3.0))
    values = {name: FIGURES[f"publish-{name}"].value_in_trial for name in ("p75", "p90", "p999", "p9999")}
    assert [of(found) for of in values.values() if of] == [3.0, 5.0, 7.0, 77.0]


def test_catch_up_reads_are_compared_by_their_peak() -> None:
    """As published: "reached a maximum throughput", "peak". The mean is far below where readers begin slowly."""
    reads = DeviceReads(0, 0.0, 1 << 30, 10.0)
    found = CatchUp(1 << 20, 1 << 30, 5.0, 10.0, 10.0, 100_000.0, 100e6, None, 300_000.0, 300e6, 0, (), reads)
    for name, value in (("peak-read-rate", 300e6), ("chase-time", 10.0)):
        figure = FIGURES[name].value_in_trial
        assert figure is not None
        assert figure(result(catch_up=found)) == value


def test_the_key_finding_of_2022_is_examined() -> None:
    (claim,) = [
        claim for claim in report_named("streamnative-2022").claims if claim.id == "publish-p9999-100-times-lower"
    ]
    assert not claim.unreproducible
    (question,) = questions(claim)
    above, below = values("streamnative-2022", claim, question.figure, question.above), 1.96
    assert above.pop() / below == pytest.approx(106, rel=0.01)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_kafka_has_no_settings_but_those_that_its_report_states(path: Path, scale: str) -> None:
    campaign = read_published(path, scale=scale)
    assert campaign.published is not None
    stated = report_named(campaign.published.report).own_settings["kafka"].server
    own = [system.settings for system in campaign.systems if system.name == "kafka"]
    assert all(stated.get(name) == value for settings in own for name, value in settings.items())
