"""What reports show of several load generators: a row for each, and how far apart they began and ended."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from run_samples import latency, reading, result, spec
from schema_checks import check_content
from shown_runs import rendered, stored
from worker_samples import several, worker_result

from tidegauge import store
from tidegauge.comparison.compared_trials import ComparedTrials
from tidegauge.report.html.page import report_page
from tidegauge.report.markdown import run_markdown
from tidegauge.report.summary import run_summary
from tidegauge.report.tables import WORKER_ROWS_MAX, worker_notes, workers_table
from tidegauge.report.terminal import run_report

TABLE = """\
                         msg/s ---------------------   response, ms   own lag, ms
system, load generator   offered  achieved  received      p50   p99     p99    max
kafka@4.3.1 1              6,667     6,660     5,001     1.20  7.80   0.078  0.441
kafka@4.3.1 2              6,667     6,660     5,002     1.20  7.80    1.56   8.82
kafka@4.3.1 3              6,667     6,660     5,003     1.20  7.80   0.078  0.441

                         used, s      after the first, ms
system, load generator    CPU    GC        started  ended
kafka@4.3.1 1            4.20  0.05              0    1.4
kafka@4.3.1 2            4.20  0.05              3      0
kafka@4.3.1 3            4.20  0.05              0    1.4
"""
NOTE = "kafka@4.3.1: the 3 load generators began within 3 ms of each other and ended within 1.4 ms."


def block(*results: object) -> ComparedTrials:
    return ComparedTrials("latency", results)  # type: ignore[arg-type]


def test_a_row_for_each(tmp_path: Path) -> None:
    table = workers_table(block(several()))
    assert table is not None
    assert rendered(table) == TABLE
    text = rendered(run_report(stored(tmp_path, several())))
    assert TABLE in text
    assert NOTE in text
    assert max(map(len, text.splitlines())) <= 100


def test_one_alone_has_no_table(tmp_path: Path) -> None:
    assert workers_table(block(result())) is None
    assert worker_notes([block(result(), reading())]) == []
    assert "load generator" not in rendered(run_report(stored(tmp_path, result())))


def test_of_repeated_trials_the_rates_are_medians_and_the_rest_the_largest() -> None:
    others = [
        several(spec(number=number), workers=tuple(worker_result(w, msgs_per_s=rate, gc_pause_s=gc_s) for w in (1, 2)))
        for number, rate, gc_s in ((1, 10.0, 0.5), (2, 20.0, 0.1), (3, 90.0, 0.2))
    ]
    table = workers_table(block(*others))
    assert table is not None
    cells = {column.head: column.cells for group in table.groups for column in group.columns}
    assert cells["achieved"] == ("20", "20")
    assert cells["GC"] == ("0.50", "0.50")
    assert worker_notes([block(*others)]) == [
        "kafka@4.3.1: the 2 load generators began within 0 ms of each other and ended within 1.4 ms."
    ]


def test_of_very_many_those_with_the_largest_lag_are_shown() -> None:
    many = several(count=40)
    late = tuple(replace(w, own_lag=latency(0.5)) if w.worker in (33, 40) else w for w in many.workers)
    table = workers_table(block(replace(many, workers=late)))
    assert table is not None
    assert len(table.labels) == WORKER_ROWS_MAX
    assert {"kafka@4.3.1 2", "kafka@4.3.1 33", "kafka@4.3.1 40"} <= set(table.labels)
    assert worker_notes([block(many)])[1].endswith("it has the 16 with the largest own lag, --json all.")


def test_instants_that_are_not_known_are_dashes() -> None:
    unknown = several(workers=(worker_result(1, started_ms=None, stopped_ms=None), worker_result(2)))
    unknown = replace(unknown, workers=tuple(replace(w, stopped_ms=None) for w in unknown.workers))
    table = workers_table(block(unknown))
    assert table is not None
    assert table.groups[-1].columns[1].cells == ("-", "-")
    assert worker_notes([block(unknown)]) == []


def test_reading_has_a_table_without_rates_of_sending() -> None:
    own = tuple(worker_result(w, offered_msgs_per_s=None, response=latency(count=0)) for w in (1, 2))
    table = workers_table(block(replace(reading(), workers=own)))
    assert table is not None
    assert table.groups[0].columns[0].cells == ("-", "-")


def test_of_a_sweep_there_is_one_note_and_no_table(tmp_path: Path) -> None:
    points = [
        several(replace(spec(number=number), point={"partitions": partitions}))
        for number, partitions in ((1, "1"), (2, "10"))
    ]
    later = tuple(replace(worker, started_ms=7.0) for worker in points[1].workers)
    text = rendered(run_report(stored(tmp_path, points[0], replace(points[1], workers=later))))
    assert text.count("load generators began within") == 1
    assert "began within 7 ms of each other and ended within 1.4 ms" in " ".join(text.split())
    assert "system, load generator" not in text


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_pages_have_it_too(tmp_path: Path, form: str) -> None:
    run = stored(tmp_path, several())
    details = store.details_of(run)
    page = report_page(run, details) if form == "html" else run_markdown(run)
    assert "kafka@4.3.1 3" in page
    assert "began within 3 ms of each other and ended within 1.4 ms" in page


def test_json_has_each(tmp_path: Path) -> None:
    content = run_summary(stored(tmp_path, several()))
    check_content(content)
    (found,) = content["experiments"][0]["results"]
    assert [worker["process"] for worker in found["workers"]] == ["worker-1", "worker-2", "worker-3"]
    assert found["workers"][1]["started_ms"] == 3.0
