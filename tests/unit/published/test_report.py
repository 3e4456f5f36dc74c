"""Verdicts on published claims as they are stored, shown and printed as JSON."""

from __future__ import annotations

import html
import io
import json
from dataclasses import replace
from pathlib import Path

from published_samples import measured, pair, run_of, trial
from reasons import reasons_of
from rich.console import Console, Group
from run_samples import result, totals

from tidegauge import store
from tidegauge.campaign.read.published import examine_claims
from tidegauge.cli.main import run_command
from tidegauge.model.tilt import Severity, Stage, Terms, Tilt
from tidegauge.model.trial import Validity
from tidegauge.published.examine import Choice, examine, report_named
from tidegauge.published.verdict import ClaimVerdict, PublishedOutcome
from tidegauge.report.html.answer import BAD, answer
from tidegauge.report.html.page import report_page
from tidegauge.report.markdown import run_markdown
from tidegauge.report.published import decidable_words, published_parts, published_plan
from tidegauge.report.summary import run_summary
from tidegauge.report.terminal import run_report

CLAIMS = ("publish-p99-pulsar-below", "catch-up-spares-pulsar", "kafka-publish-grows-with-partitions")
CHOICE = Choice("streamnative-2020", CLAIMS, ("one machine",))


def printed(outcome: PublishedOutcome, host: str = "", unequal: bool = False) -> str:
    out = io.StringIO()
    console = Console(file=out, width=100, markup=False, highlight=False)
    console.print(Group(*published_parts(outcome, host, unequal)), crop=False)
    return out.getvalue()


def outcome() -> PublishedOutcome:
    results = [
        measured(trial(system, level=level, block=block), p99_ms * (1 + block / 100))
        for block in range(5)
        for level in (1, 2, 3)
        for system, p99_ms in (("kafka", 40.0), ("pulsar", 10.0))
    ]
    return examine(report_named("streamnative-2020"), CHOICE, run_of(*results))


def test_both_hardwares_and_both_figures_are_shown() -> None:
    text = printed(outcome(), "2 CPUs (small), 4 GiB memory.")
    assert "Theirs: 3 brokers i3en.2xlarge" in text
    assert "Here: 2 CPUs (small), 4 GiB memory." in text
    assert "Of 3 claims 1 confirmed, 2 not decided" in text
    assert "CONFIRMED: With 1 subscription Pulsar's publish p99 is below Kafka's" in text
    row = next(line for line in text.splitlines() if line.startswith("kafka, level 1"))
    assert row.split()[3:] == ["40.8", "40.0", "to", "41.6", "5", "58.8", "table", "2-2"]
    assert max(map(len, text.splitlines())) <= 100


def test_unequal_terms_are_marked() -> None:
    assert "CONFIRMED (UNEQUAL terms)" in printed(outcome(), unequal=True)
    assert "UNEQUAL" not in printed(outcome())


def test_the_brief_scale_stands_with_every_verdict_and_decides_less() -> None:
    brief = replace(CHOICE, scale="brief")
    for factor, verdict in ((3.5, "NOT DECIDED"), (4.5, "CONFIRMED")):
        results = [
            measured(trial(system, level=level), p99_ms)
            for level in (1, 2, 3)
            for system, p99_ms in (("kafka", 10.0 * factor), ("pulsar", 10.0))
        ]
        assert (
            examine(report_named("streamnative-2020"), CHOICE, run_of(*results)).claims[0].verdict
            is ClaimVerdict.CONFIRMED
        )
        text = printed(examine(report_named("streamnative-2020"), brief, run_of(*results)))
        assert f"{verdict} (BRIEF): With 1 subscription" in text
        assert "BRIEF (--scale brief): fewer points" in text
        assert "weaker evidence" in " ".join(text.split())


def test_the_page_names_both_machines_and_the_scale(tmp_path: Path) -> None:
    run = store.create_run(tmp_path / "runs", "mine", "name: mine\n")
    run.write_environment({"host": {"cpu_model": "EPYC", "cpus": 2, "memory_bytes": 24 << 30}})
    kafka, pulsar = pair(50.0, 10.0)
    for trial_result in (kafka, pulsar):
        run.open_trial(trial_result.spec).finish(trial_result, totals())
    run.finish("finished")
    store.keep_published(run.path, examine_claims(replace(CHOICE, scale="brief"), store.load_run(run.path)))
    stored = store.load_run(run.path)
    page = report_page(stored, store.details_of(stored))
    section = page.partition('id="published">')[2].partition('id="behind">')[0]
    assert "Theirs: 3 brokers i3en.2xlarge" in section
    assert "Here: 2 CPUs (EPYC)" in section
    assert "BRIEF (--scale brief): fewer points" in section
    assert "NOT DECIDED (BRIEF): " in section


def test_the_page_marks_what_rests_on_runs_that_differ_and_says_whose_rates_they_are(tmp_path: Path) -> None:
    stored = store.load_run(stored_run(tmp_path))
    examined_claims = outcome()
    side = examined_claims.claims[0].parts[0].sides
    part = replace(
        examined_claims.claims[0].parts[0],
        sides=tuple(replace(one, runs=(letter,)) for one, letter in zip(side, "AB" * len(side), strict=False)),
    )
    across = replace(examined_claims.claims[0], parts=(part,))
    doubted = replace(
        examined_claims, scale="original", claims=(across, *examined_claims.claims[1:]), doubts=("other CPUs",)
    )
    page = report_page(replace(stored, published=doubted), store.details_of(stored))
    section = page.partition('id="published">')[2].partition('id="behind">')[0]
    assert section.count("(DOUBTFUL)") == 1
    assert "Rates and amounts are the report's own" in html.unescape(section)


def test_claims_are_the_first_thing_a_report_answers(tmp_path: Path) -> None:
    stored = store.load_run(stored_run(tmp_path))
    open_ones = replace(stored, published=examine_claims(CHOICE, stored))
    first = answer(open_ones)
    assert first.headline.startswith("StreamNative 2020")
    assert first.headline.endswith("All 3 claims not decided.")
    assert open_ones.published is not None
    claims = open_ones.published.claims
    decided = replace(open_ones.published, claims=(replace(claims[0], verdict=ClaimVerdict.CONTRADICTED), *claims[1:]))
    contradicted = answer(replace(stored, published=decided))
    assert contradicted.headline.endswith(f"2 not decided. Contradicted: {claims[0].text.rstrip('.')}.")
    assert contradicted.badges[0].state == BAD


def test_many_verdicts_on_claims_are_a_list_below_their_number(tmp_path: Path) -> None:
    stored = store.load_run(stored_run(tmp_path))
    three = outcome()
    decided = replace(three, claims=tuple(replace(claim, verdict=ClaimVerdict.CONFIRMED) for claim in three.claims))
    many = answer(replace(stored, published=decided))
    assert many.headline.endswith("All 3 claims confirmed.")
    assert [words.startswith("Confirmed: ") and words.endswith(".") for words in many.claims] == [True] * 3
    few = answer(replace(stored, published=three))
    assert few.claims == ()
    assert "Confirmed: With 1 subscription" in few.headline
    page = report_page(replace(stored, published=decided), store.details_of(stored))
    assert page.count("<li>Confirmed: ") == 3


def test_claims_on_unequal_terms_are_marked_in_the_first_line(tmp_path: Path) -> None:
    stored = store.load_run(stored_run(tmp_path))
    tilt = Tilt("batch-delay", Severity.UNEQUAL, Stage.WANTED, ("kafka@4.3.1",), "1 ms, 10 ms", "w", "a", "s", "r")
    unequal = replace(stored, published=examine_claims(CHOICE, stored), terms=Terms((tilt,), (), True))
    assert answer(unequal).headline.startswith("UNEQUAL: StreamNative 2020")


def test_verdicts_stand_in_markdown_too(tmp_path: Path) -> None:
    path = stored_run(tmp_path)
    store.keep_published(path, examine_claims(replace(CHOICE, scale="brief"), store.load_run(path)))
    text = run_markdown(store.load_run(path))
    assert "### Published: StreamNative 2020" in text
    assert "All 3 claims not decided, BRIEF. A verdict is one of this run on this machine" in text
    assert "- Differs: one machine" in text
    assert "- NOT DECIDED (BRIEF): Catch-up reads barely touch Pulsar's publish latency: " in text


def stored_run(tmp_path: Path) -> Path:
    run = store.create_run(tmp_path / "runs", "mine", "name: mine\n")
    results = pair(50.0, 10.0)
    run.write_plan([result.spec for result in results])
    for trial_result in results:
        run.open_trial(trial_result.spec).finish(trial_result, totals())
    run.finish("finished")
    return run.path


def test_verdicts_are_stored_with_the_run_and_shown_again(tmp_path: Path, capsys: object) -> None:
    path = stored_run(tmp_path)
    assert store.load_run(path).published is None
    assert run_summary(store.load_run(path))["published"] is None
    store.keep_published(path, examine_claims(CHOICE, store.load_run(path)))
    content = json.loads((path / "published.json").read_text())
    assert content["schema"] == "tidegauge.published/1"
    found = store.load_run(path).published
    assert found is not None
    assert found == examine_claims(CHOICE, store.load_run(path))
    assert [claim.claim for claim in found.claims] == list(CLAIMS)
    claims = run_summary(store.load_run(path))["published"]["claims"]
    assert claims[0]["parts"][0]["sides"][0] | {"values": []} == {
        "place": "kafka, level 1, 100 partitions, 1 subscription",
        "figure": "publish latency, p99",
        "unit": "ms",
        "values": [],
        "missing": "",
        "published": 58.83,
        "published_source": "table 2-2",
        "doubtful": 0,
        "runs": [],
    }
    assert run_command(["show", str(path), "--json"]) == 0


def test_verdicts_of_an_earlier_version_are_still_read(tmp_path: Path) -> None:
    path = stored_run(tmp_path)
    store.keep_published(path, examine_claims(CHOICE, store.load_run(path)))
    content = json.loads((path / "published.json").read_text())
    published = content["published"]
    del published["units"]
    for claim in published["claims"]:
        del claim["grade"], claim["contradiction"]
        for part in claim["parts"]:
            del part["published_ratio"], part["size"], part["conditions"]
            for side in part["sides"]:
                del side["runs"]
    (path / "published.json").write_text(json.dumps(content))
    found = store.load_run(path).published
    assert found is not None
    assert "[tables 2-2 and 2-4]" in " ".join(printed(found).split())


def test_where_a_report_contradicts_itself_is_shown_beside_the_claim() -> None:
    found = examine(
        report_named("streamnative-2020"), Choice("streamnative-2020", ("alike-on-100-at-level-2",)), run_of()
    )
    text = " ".join(printed(found).split())
    assert "the report contradicts itself here: Kafka's figures on 100 partitions are 420 and 605 MB/s" in text
    assert "Units of the report: its MB/s and GB/s are MiB/s and GiB/s" in text
    assert "Units" not in printed(outcome()), "none of its claims has a rate of bytes"


def test_the_grade_stands_beside_the_source() -> None:
    choice = Choice("streamnative-2020", (*CLAIMS, "pulsar-publish-p99-near-15-ms"))
    text = " ".join(printed(examine(report_named("streamnative-2020"), choice, run_of())).split())
    assert "[tables 2-2 and 2-4; ordering]" in text
    assert "[tables 2-12, 2-14, 2-15 and 2-16; ordering and size]" in text
    assert "[text above table 1-2; tables 2-14 and 2-16; absolute value, never decided]" in text


def test_the_page_has_the_grade_the_units_and_what_contradicts_the_report(tmp_path: Path) -> None:
    path = stored_run(tmp_path)
    choice = Choice("streamnative-2020", ("publish-p99-pulsar-below", "alike-on-100-at-level-2"))
    store.keep_published(path, examine_claims(choice, store.load_run(path)))
    kept = store.load_run(path)
    page = " ".join(report_page(kept, store.details_of(kept)).split())
    assert "[tables 2-2 and 2-4; ordering]" in page
    assert "The report contradicts itself here: " in page
    assert "Units of the report: its MB/s and GB/s are MiB/s and GiB/s" in page
    assert "the report contradicts itself here: " in run_markdown(store.load_run(path))


def test_a_run_shows_its_claims_below_its_figures(tmp_path: Path) -> None:
    path = stored_run(tmp_path)
    store.keep_published(path, examine_claims(CHOICE, store.load_run(path)))
    out = io.StringIO()
    Console(file=out, width=100, markup=False, highlight=False).print(run_report(store.load_run(path)), crop=False)
    assert "Published: StreamNative 2020" in out.getvalue()
    assert out.getvalue().index("Published: ") > out.getvalue().index("response time")


def test_a_file_that_can_not_be_read_is_no_verdict(tmp_path: Path) -> None:
    path = stored_run(tmp_path)
    (path / "published.json").write_text('{"published": {"report": 1}}')
    assert store.load_run(path).published is None


def test_trials_that_failed_are_the_reason_given(tmp_path: Path) -> None:
    run = store.create_run(tmp_path / "runs", "mine", "name: mine\n")
    kafka, pulsar = pair(50.0, 10.0)
    run.write_plan([kafka.spec, pulsar.spec])
    run.open_trial(kafka.spec).finish(result(kafka.spec), totals())
    run.open_trial(pulsar.spec).fail("the bookie ended", False)
    run.finish("failed", "1 of 2 trials failed")
    claim = examine_claims(CHOICE, store.load_run(run.path)).claims[0]
    assert claim.verdict is ClaimVerdict.NOT_DECIDED
    assert "the bookie ended" in claim.parts[0].reason


def test_doubtful_trials_are_counted_beside_the_figures() -> None:
    kafka, pulsar = pair(50.0, 10.0)
    doubtful = replace(pulsar, validity=Validity.DOUBTFUL, reasons=reasons_of("short of CPU"))
    chosen = Choice("streamnative-2020", ("publish-p99-pulsar-below",))
    text = printed(examine(report_named("streamnative-2020"), chosen, run_of(kafka, doubtful)))
    row = next(line for line in text.splitlines() if line.startswith("pulsar, level 1"))
    assert row.split()[3:7] == ["10.0", "-", "1", "DOUBTFUL"]
    assert "The only claim not decided. A verdict is one of this run on this machine" in " ".join(text.split())


def test_a_plan_shows_where_a_report_contradicts_itself() -> None:
    out = io.StringIO()
    choice = Choice("streamnative-2020", ("catch-up-harms-kafka", "publish-p99-pulsar-below"))
    Console(file=out, width=100).print(Group(*published_plan(choice, [trial("kafka"), trial("pulsar")])))
    shown = " ".join(out.getvalue().split())
    assert "[summary of the mixed workload test; figures 2-36 to 2-38] the report contradicts itself here: by" in shown
    assert shown.count("contradicts itself") == 1


def test_a_plan_says_how_many_claims_it_can_decide_and_what_repeats_would_do() -> None:
    choice = Choice("streamnative-2020", ("publish-p99-pulsar-below",))

    def words(blocks: int, *systems: str) -> str:
        levels = (1, 2, 3)
        trials = [trial(system, level=level, block=n) for system in systems for level in levels for n in range(blocks)]
        return decidable_words(choice, trials)

    whole = "If all came out as published, {} of 1 claim would be decided"
    assert words(1, "kafka", "pulsar") == f"{whole.format(0)}; with --repeat 3, 1."
    assert words(3, "kafka", "pulsar") == f"{whole.format(1)}."
    assert words(3, "kafka") == f"{whole.format(0)}."
