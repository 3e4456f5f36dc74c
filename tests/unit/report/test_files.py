"""JUnit XML and Markdown of a run: whole, escaped, and red exactly when the exit code is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from reasons import reasons_of
from run_samples import latency, result, spec, totals

from tidegauge import store
from tidegauge.cli.main import run_command
from tidegauge.model.finding import Finding
from tidegauge.model.tilt import Severity, Stage, Terms, Tilt
from tidegauge.model.trial import LoadResult, Validity
from tidegauge.model.use import Limiting, Resource
from tidegauge.report.junit import JunitCase, junit_document, run_junit
from tidegauge.report.markdown import escape_text, markdown_table, run_markdown
from tidegauge.statistics.figures import FIGURES

HOSTILE = "<script>alert(1)</script> | `x` \x00\x1b[31m *bold* \ud800\nnew line"


def stored(tmp_path: Path, *results: LoadResult, status: str = "finished") -> store.StoredRun:
    run = store.create_run(tmp_path / "runs", "quick", "")
    run.thresholds = ("response_ms_p99 < 10", "lost == 0")
    run.write_plan(
        [*[result.spec for result in results], spec("never@1", number=99)][: len(results) + (status != "finished")]
    )
    for measured in results:
        run.open_trial(measured.spec).finish(measured, totals())
    run.finish(status, "" if status == "finished" else "the disk is full")
    return store.load_run(run.path)


def blocks_of(system: str, *scales: float) -> list[LoadResult]:
    return [result(spec(system, number=10 * n + len(system), block=n), one) for n, one in enumerate(scales)]


def suites(run: store.StoredRun) -> dict[str, dict[str, ElementTree.Element]]:
    root = ElementTree.fromstring(run_junit(run))
    return {suite.attrib["name"]: {case.attrib["name"]: case for case in suite.iter("testcase")} for suite in root}


def kinds(cases: dict[str, ElementTree.Element]) -> list[str]:
    return [child.tag for case in cases.values() for child in case if child.tag != "system-out"]


def test_a_good_run_is_green(tmp_path: Path) -> None:
    run = stored(tmp_path, *blocks_of("kafka@4.3.1", 1.0))
    found = suites(run)
    assert {name: len(cases) for name, cases in found.items()} == {"latency": 1, "thresholds": 2}
    assert kinds(found["latency"]) == kinds(found["thresholds"]) == []
    root = ElementTree.fromstring(run_junit(run))
    assert {key: root.attrib[key] for key in ("tests", "failures", "errors")} == {
        "tests": "3",
        "failures": "0",
        "errors": "0",
    }


def test_what_went_wrong_is_a_failure_and_what_is_not_known_an_error(tmp_path: Path) -> None:
    (good,) = blocks_of("kafka@4.3.1", 2.0)
    (sub,) = good.subscriptions
    lossy = replace(good, spec=spec("lossy@1", number=2), subscriptions=(replace(sub, lost=2),))
    late = replace(
        good, spec=spec("late@1", number=3), validity=Validity.INVALID, reasons=reasons_of("the generator was late")
    )
    run = replace(stored(tmp_path, good, lossy, late), findings=(Finding("f", "curve", "kafka", 0, False, ("open",)),))
    found = suites(run)
    assert kinds(found["latency"]) == ["failure", "error"]
    assert kinds(found["findings"]) == ["error"]
    assert sorted(kinds(found["thresholds"])) == ["error", "failure", "failure", "failure"]
    text = run_junit(run).decode()
    assert "INVALID: the generator was late" in text
    assert "response_ms_p99 &lt; 10: MISSED: kafka@4.3.1, latency: response p99 15.6 ms, 1 block" in text


def test_a_run_that_ended_early_is_red_with_what_never_began(tmp_path: Path) -> None:
    run = stored(tmp_path, *blocks_of("kafka@4.3.1", 1.0), status="failed")
    assert kinds(suites(run)["latency"]) == ["error"]
    nothing = replace(run, planned=(), trials=(), thresholds=())
    assert kinds(suites(nothing)["run"]) == ["error"]
    assert "the disk is full" in run_junit(nothing).decode()


def test_what_is_hostile_stays_text(tmp_path: Path) -> None:
    (good,) = blocks_of("kafka@4.3.1", 1.0)
    bad = replace(good, reasons=reasons_of(HOSTILE), validity=Validity.INVALID, spec=replace(good.spec, system=HOSTILE))
    run = replace(stored(tmp_path, good), reason=HOSTILE, name=HOSTILE)
    run = replace(run, trials=(replace(run.trials[0], result=bad),))
    root = ElementTree.fromstring(run_junit(run))
    assert [case.tag for case in root.iter("script")] == []
    text = run_markdown(run)
    assert "<script" not in text
    assert "\x1b[31m *bold*" not in text
    assert (
        ElementTree.fromstring(junit_document(HOSTILE, [JunitCase(HOSTILE, HOSTILE)], {HOSTILE: HOSTILE})) is not None
    )


def test_escaped_text_cannot_leave_its_cell() -> None:
    assert escape_text("a | b\n# c <b> `d`") == r"a \| b \# c &lt;b&gt; \`d\`"
    assert markdown_table(["x", "n"], [["a", "1"], ["b", "-"]]) == [
        "| x | n |",
        "| --- | --: |",
        "| a | 1 |",
        "| b | - |",
    ]


def test_markdown_shows_thresholds_figures_and_comparisons(tmp_path: Path) -> None:
    run = stored(tmp_path, *blocks_of("kafka@4.3.1", 1.0, 1.02, 0.98), *blocks_of("pulsar@4.2.4", 2.0, 2.1, 1.9))
    text = run_markdown(run)
    assert text.startswith("## Tidegauge: quick, finished\n")
    assert "### Thresholds: 1 MISSED, 1 met." in text, "not each system's ruling"
    assert "| `response_ms_p99 < 10` | **MISSED** | pulsar@4.2.4, latency |" in text
    assert "| kafka@4.3.1 | 20,000 [20,000, 20,000] |" in text
    assert "response p99 is 2.00x [1.85, 2.15] kafka@4.3.1's, 3 blocks" in text.replace("\\", "")
    assert "| --- | --: |" in text


def test_markdown_says_why_systems_are_not_compared(tmp_path: Path) -> None:
    (kafka,), (pulsar,) = blocks_of("kafka@4.3.1", 1.0), blocks_of("pulsar@4.2.4", 2.0)
    invalid = replace(pulsar, validity=Validity.INVALID, reasons=reasons_of("late"))
    sentence = "latency: not compared with pulsar@4.2.4, which has no valid trial."
    assert f"### Compared\n\n- {sentence}" in run_markdown(stored(tmp_path, kafka, invalid))
    assert sentence not in run_markdown(stored(tmp_path / "both", kafka, pulsar))


def test_markdown_says_which_rows_it_leaves_out(tmp_path: Path) -> None:
    limiting = Limiting(Resource.SERVER_CPU, "", 0.9, "busy")
    loads = [replace(result(spec("kafka@4.3.1", f"load-{n}", n)), limiting=limiting) for n in range(25)]
    assert "- ... and 1 rows more; --json has every trial." in run_markdown(stored(tmp_path, *loads))
    assert "rows more" not in run_markdown(stored(tmp_path / "fewer", *loads[1:]))


def test_unequal_terms_are_marked_in_both(tmp_path: Path) -> None:
    tilt = Tilt("batch-delay", Severity.UNEQUAL, Stage.WANTED, ("kafka",), "10 against 1 ms", "why", "x", "y", "z")
    run = replace(
        stored(tmp_path, *blocks_of("kafka@4.3.1", 1.0), *blocks_of("pulsar@4.2.4", 2.0)),
        terms=Terms((tilt,), (), True),
    )
    assert "UNEQUAL: Tidegauge" in run_markdown(run)
    assert "- UNEQUAL: latency: pulsar@4.2.4's response p99" in run_markdown(run)
    assert 'name="UNEQUAL"' in run_junit(run).decode()


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_can_be_read_from_a_result(name: str) -> None:
    measured = result()
    (subscription,) = measured.subscriptions
    processing = replace(
        subscription, in_consumer=latency(1.4), processed=latency(1.5), processing_share=0.6, processing_cpu_s=2.0
    )
    found = FIGURES[name].value_in(replace(measured, subscriptions=(processing,)))
    assert found is not None
    assert (FIGURES[name].value_in(measured) is None) == name.startswith(("in_consumer", "process"))
    assert found >= 0
    if name.endswith("_ms_p99") and FIGURES[name].scheduled:
        empty = result(response=latency(1.0, 0), service=latency(1.0, 0), delay=latency(1.0, 0), subscriptions=())
        assert FIGURES[name].value_in(empty) is None


def test_files_that_cannot_be_written_are_refused_before_anything_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TIDEGAUGE_RUNS", str(tmp_path / "runs"))
    for option, place, why in (
        ("--junit", tmp_path, "this is a directory"),
        ("--markdown", tmp_path / "nowhere" / "x.md", "there is no directory"),
    ):
        assert run_command(["quick", option, str(place)]) == 2
        assert why in capsys.readouterr().err
    assert store.list_runs(tmp_path / "runs") == []


def test_a_long_time_in_junit_has_no_exponent(tmp_path: Path) -> None:
    slow = replace(result(), response=latency(300.0))
    assert b"response p99 2,340 ms, valid" in run_junit(stored(tmp_path, slow))


def test_what_an_invalid_trial_lost_is_in_the_table(tmp_path: Path) -> None:
    good, bad = blocks_of("kafka@4.3.1", 1.0, 1.0)
    lossy = replace(bad.subscriptions[0], backlog=5, lost=5)
    invalid = replace(bad, subscriptions=(lossy,), validity=Validity.INVALID, reasons=reasons_of("late"))
    lines = run_markdown(stored(tmp_path, good, invalid)).splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("| system |"))
    heads, row = ([cell.strip() for cell in lines[at].strip("|").split("|")] for at in (place, place + 2))
    assert row[heads.index("lost messages")] == "5"
    assert "1 valid, 1 invalid" in row
