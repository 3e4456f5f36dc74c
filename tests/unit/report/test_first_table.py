"""The table beside a report's first picture: the figures that its sentences are made of, and no others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from page_scenes import one_run, run_named
from shown_runs import processing_at, stored

from tidegauge.model.trial import Validity
from tidegauge.report.facts import RunFacts
from tidegauge.report.html import first_table as module
from tidegauge.report.html.first_table import FirstTable, first_table
from tidegauge.report.verdicts import about, verdicts
from tidegauge.store.read import StoredRun


def table_of(run: StoredRun) -> FirstTable:
    table = first_table(run, verdicts(RunFacts(run)))
    assert table is not None
    return table


def rows_of(table: FirstTable) -> dict[str, list[str]]:
    columns = [column for group in table.table.groups for column in group.columns]
    return {
        " ".join([*(column.cells[row] for column in table.table.leading), label]): [
            column.cells[row] for column in columns
        ]
        for row, label in enumerate(table.table.labels)
    }


def heads_of(table: FirstTable) -> list[str]:
    return [column.head for group in table.table.groups for column in group.columns]


def test_each_system_has_a_row_in_each_experiment() -> None:
    table = table_of(run_named("sample")[0])
    assert heads_of(table) == ["validity", "msg/s", "p50", "p99", "p99"], "what is kept in view stands first"
    rows = rows_of(table)
    assert list(rows)[:4] == ["peak Kafka", "peak Pulsar", "latency Kafka", "latency Pulsar"]
    # Geometric means over two blocks, as the sentences beside it have them.
    assert rows["latency Kafka"] == ["valid", "20,000", "1.24", "8.03", "10.4"]
    assert "Of repeated trials: geometric means of those that may be used." in table.notes
    assert "peak: a closed loop, whose times hide waiting." in table.notes


def test_a_sweep_has_a_row_at_each_point_with_all_its_values() -> None:
    table = table_of(run_named("sweep-of-three")[0])
    rows = rows_of(table)
    assert len(rows) == 18
    assert table.is_wide, "it stands below the picture, where no column is cut"
    assert [column.head for column in table.table.leading] == ["partitions", "durability"]
    assert rows["1 2 Kafka"][3] == "7.80"
    assert rows["1000 4 RabbitMQ"][3] == "35.1"


def test_of_consumers_that_process_it_has_what_the_verdict_says(tmp_path: Path) -> None:
    table = table_of(stored(tmp_path, processing_at(1, 9.0), processing_at(4, 2.0)))
    assert table.table.groups[-1].head == "until processed, ms"
    assert [cells[-1] for cells in rows_of(table).values()] == ["70.2", "15.6"]
    assert heads_of(table_of(run_named("sample")[0])).count("p99") == 2, "of others it has none"


def test_an_invalid_trial_is_marked() -> None:
    table = table_of(one_run(validity=Validity.INVALID))
    assert [row[0] for row in rows_of(table).values()] == ["INVALID"]
    assert "Figures of an INVALID trial are shown, and must not be used." in table.notes
    assert "INVALID" not in " ".join(table_of(one_run()).notes)


def test_what_does_not_fit_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROWS_MAX", 3)
    table = table_of(run_named("sample")[0])
    assert len(table.table.labels) == 2
    assert "latency: too many rows to stand here, see below." in table.notes


def test_a_search_has_one_row_for_each_system_over_all_its_blocks() -> None:
    run, _ = run_named("search-of-blocks")
    table = table_of(run)
    rates = {label: rows[1] for label, rows in rows_of(table).items()}
    assert rates == {"Kafka": "54,848", "Pulsar": "109,696"}, "of three blocks the geometric means, as the verdict"
    assert "Of repeated trials: geometric means of those that may be used." in table.notes


@pytest.mark.parametrize(
    ("name", "head", "cells"),
    [
        ("catch-up", ("drain rate", "msg/s"), ("16,000", "8,000")),
        ("mixed", ("drain rate", "msg/s"), ("16,000", "8,000")),
        ("sizing", ("smallest number", "partitions"), ("8", "4")),
        # What was confirmed differs from what its trial then took.
        ("search-with-doubt", ("sustainable rate", "msg/s"), ("50,183", "100,366")),
    ],
)
def test_what_a_verdict_gives_stands_before_the_rate(name: str, head: tuple[str, str], cells: tuple[str, ...]) -> None:
    run, _ = run_named(name)
    table = table_of(run).table
    _, headline, rates, *_ = table.groups
    assert (headline.head, headline.columns[0].head) == head
    assert headline.columns[0].cells == cells
    (verdict,) = verdicts(RunFacts(run))
    assert all(about(float(cell.replace(",", ""))) in verdict.sentence for cell in cells)
    assert (rates.head, rates.columns[0].head) == ("rate", "msg/s")


def test_a_finding_that_does_not_say_what_it_counts_costs_no_table() -> None:
    run, _ = run_named("sizing")
    first, *others = run.findings
    damaged = replace(run, findings=(first, *(replace(each, details={}) for each in others)))
    assert table_of(damaged).table.groups[1].head == "smallest number"


def test_a_sustainable_rate_that_its_trial_kept_stands_once() -> None:
    assert heads_of(table_of(run_named("search-of-goals")[0])) == ["validity", "msg/s", "p50", "p99", "p99"]


def test_without_figures_there_is_none() -> None:
    run = replace(one_run(), trials=(), planned=())
    assert first_table(run, verdicts(RunFacts(run))) is None
