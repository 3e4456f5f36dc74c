"""The registry of figures: one entry is seen everywhere, and the worst end-to-end latency is one thing everywhere."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gallery_samples import reading_alone
from rich.console import Console
from run_samples import latency, result, spec, totals

from tidegauge import store
from tidegauge.cli.main import run_command
from tidegauge.comparison import within
from tidegauge.comparison.compared_trials import ComparedTrials, sort_compared_trials
from tidegauge.model.finding import Finding
from tidegauge.model.trial import Latency, LoadResult, ReadResult, SubscriptionResult
from tidegauge.model.workload import LateReaders, Payload, SubscriptionType
from tidegauge.published.model import FIGURES as PUBLISHED
from tidegauge.report.html.answer import BAD, DOUBT, GOOD, answer
from tidegauge.report.html.page import report_page
from tidegauge.report.junit import run_junit
from tidegauge.report.markdown import run_markdown
from tidegauge.report.names import SystemNames
from tidegauge.report.screen import short_table
from tidegauge.report.summary import run_summary
from tidegauge.report.tables import figure_table, footnotes
from tidegauge.report.terminal import run_report
from tidegauge.report.thresholds import rulings
from tidegauge.statistics.figures import (
    FIGURES,
    FINDING_FIGURES,
    Figure,
    FigureKind,
    FindingFigure,
    Shown,
    TableColumn,
    known_names,
    largest_times,
)
from tidegauge.thresholds import ThresholdOutcome, parse_threshold

KAFKA, PULSAR = "kafka@4.3.1", "pulsar@4.2.4"
PAUSES = Figure(
    "gc_pause_s",
    "pauses of the clients",
    "s",
    False,
    FigureKind.MEASURED,
    lambda use: use.gc_pause_s,
    column=TableColumn("pauses, s", "clients'"),
    shown=~Shown.NOWHERE,
)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIDEGAUGE_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def stored(runs: Path, *results: LoadResult, findings: Sequence[Finding] = ()) -> store.StoredRun:
    run = store.create_run(runs, "quick", "name: quick\n")
    run.thresholds = ("gc_pause_s < 1",) if "gc_pause_s" in FIGURES else ()
    run.write_plan([result.spec for result in results])
    for measured in results:
        run.open_trial(measured.spec).finish(measured, totals())
    for finding in findings:
        run.write_finding(finding)
    run.finish("finished")
    return store.load_run(run.path)


def pair(pause_s: float = 0.4) -> list[LoadResult]:
    return [
        result(spec(KAFKA, number=1), gc_pause_s=pause_s),
        result(spec(PULSAR, number=2), 2.0, gc_pause_s=2 * pause_s),
    ]


def text_of(*renderables: object) -> str:
    console = Console(width=100, file=io.StringIO(), record=True)
    for renderable in renderables:
        console.print(renderable)
    return " ".join(console.export_text().split())


def page_of(run: store.StoredRun) -> str:
    return report_page(run, store.details_of(run))


def everywhere(runs: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """All that iterates over the registry, in words."""
    run, later = stored(runs, *pair()), stored(runs, *pair(0.6))
    run_command(["compare", run.path.name, later.path.name])
    compared = capsys.readouterr().out
    run_command(["compare", run.path.name, later.path.name, "--json"])
    try:
        parse_threshold("gc_pause < 1")
        message = ""
    except ValueError as error:
        message = str(error)
    return {
        "names": " ".join(known_names()),
        "an error": message,
        "terminal": text_of(run_report(run)),
        "page": page_of(run),
        "Markdown": run_markdown(run).replace("\\", ""),
        "JUnit": run_junit(run).decode(),
        "JSON": str([experiment["comparisons"] for experiment in run_summary(run)["experiments"]]),
        "runs compared": " ".join(compared.split()),
        "runs compared, JSON": " ".join(capsys.readouterr().out.split()),
    }


def test_one_entry_is_seen_everywhere(
    runs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = {
        "names": ("gc_pause_s",),
        "an error": ("did you mean 'gc_pause_s'",),
        "terminal": ("pauses, s", "clients'", "pulsar@4.2.4's pauses of the clients is 2.00x", "gc_pause_s < 1"),
        "page": ("pauses, s", "pauses of the clients, s", "0.40"),
        "Markdown": ("| pauses of the clients, s |", "pauses of the clients is 2.00x", "(0.80 against 0.40 s)"),
        "JUnit": ("pauses of the clients 0.40 s, valid", "gc_pause_s &lt; 1"),
        "JSON": ("'name': 'gc_pause_s'",),
        "runs compared": ("pauses of the clients: 1.50x (0.60 against 0.40 s",),
        "runs compared, JSON": ('"name": "gc_pause_s"',),
    }
    with monkeypatch.context() as patch:
        patch.setitem(FIGURES, PAUSES.name, PAUSES)
        found = everywhere(runs, capsys)
    missing = [(place, words) for place, parts in expected.items() for words in parts if words not in found[place]]
    assert missing == []
    without = everywhere(runs, capsys)
    assert [place for place, text in without.items() if "gc_pause" in text.replace("'gc_pause'", "")] == []
    assert [place for place, text in without.items() if PAUSES.title in text] == []


def test_an_entry_stands_only_where_it_says(monkeypatch: pytest.MonkeyPatch, runs: Path) -> None:
    monkeypatch.setitem(FIGURES, PAUSES.name, replace(PAUSES, column=None, shown=Shown.JUNIT))
    run = stored(runs, *pair())
    assert PAUSES.title in run_junit(run).decode()
    assert PAUSES.title not in run_markdown(run).partition("### Thresholds")[0]
    assert "pauses, s" not in text_of(run_report(run))
    assert [ratio.name for ratio in within.ratios_of_compared(sort_compared_trials(run.results)[0])] == [
        "response_ms_p99",
        "end_to_end_ms_p99",
    ]


def test_one_entry_of_what_is_found_is_seen_by_the_experiment_thresholds_and_comparisons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entry = FindingFigure(
        "left_msgs", "messages left", "msg", False, value_in_trial=lambda trial: float(trial.failed + 7)
    )
    monkeypatch.setitem(FINDING_FIGURES, entry.name, entry)
    assert "left_msgs" in known_names()
    assert parse_threshold("left_msgs < 9").figure == "left_msgs"
    found = [Finding(name, "catch-up", name, 0, True, (), figures={"left_msgs": 7.0}) for name in (KAFKA, PULSAR)]
    assert [ratio.figure for ratio in within.finding_ratios(found, pair())] == ["messages left"]


def subscriptions(*ends: Latency) -> tuple[SubscriptionResult, ...]:
    (one,) = result().subscriptions
    return tuple(replace(one, name=f"sub-{number}", end_to_end=end) for number, end in enumerate(ends))


SLOW_MEDIAN = replace(latency(), p50_ms=5.0, p99_ms=20.0, max_ms=90.0)
SLOW_P99 = replace(latency(), p50_ms=1.0, p99_ms=25.0, max_ms=26.0)
LATE = replace(latency(), p50_ms=4000.0, p99_ms=8000.0, max_ms=9000.0)


def three_readers() -> LoadResult:
    """Two that read all the time, of which one has the worse p99 and the other the worse rest, and a late one."""
    late = LateReaders(1, 1000, "1000 messages", 0.99, 60.0)
    return result(replace(spec(), late=late), subscriptions=subscriptions(SLOW_MEDIAN, SLOW_P99, LATE))


def test_worst_is_each_percentiles_largest_over_all_but_late_readers() -> None:
    """Not those of whoever has the worst p99 (1, 25, 26), nor those of the late reader (4000, 8000, 9000)."""
    found = [FIGURES[f"end_to_end_ms_{name}"].value_in(three_readers()) for name in ("p50", "p99", "max")]
    assert found == [5.0, 25.0, 90.0]


def test_late_readers_count_where_there_are_no_others() -> None:
    late = LateReaders(1, 1000, "1000 messages", 0.99, 60.0)
    alone = result(replace(spec(), late=late), subscriptions=subscriptions(LATE))
    assert FIGURES["end_to_end_ms_p99"].value_in(alone) == 8000.0


def test_worst_is_not_known_where_a_subscription_has_too_few_samples() -> None:
    """The others' p99 would hide the one that received next to nothing."""
    few = replace(latency(count=600), max_ms=7000.0)
    one = result(subscriptions=subscriptions(SLOW_P99, few))
    assert FIGURES["end_to_end_ms_p99"].value_in(one) is None
    assert FIGURES["end_to_end_ms_max"].value_in(one) == 7000.0
    none = result(subscriptions=subscriptions(SLOW_P99, latency(count=0)))
    assert FIGURES["end_to_end_ms_max"].value_in(none) is None
    assert largest_times([]) is None


def test_worst_is_the_same_everywhere(runs: Path) -> None:
    one = three_readers()
    run = stored(runs, one)
    (block,) = sort_compared_trials(run.results)
    (ends,) = [group for group in figure_table(block).groups if group.head == "end-to-end, ms"]
    assert [(column.head, column.cells) for column in ends.columns] == [("p50", ("5.00",)), ("p99", ("25.0",))]
    assert PUBLISHED["end-to-end-p99"].value_in_trial(one) == 25.0
    assert PUBLISHED["end-to-end-p50"].value_in_trial(one) == 5.0
    assert "25.0" in run_markdown(run)
    assert "25.0" in text_of(run_report(run))
    assert "25.0" in text_of(short_table(block, SystemNames((KAFKA,))))
    assert [word for text in (run_markdown(run), page_of(run)) for word in ("8,000", "4,000") if word in text] == []


def test_loss_that_cannot_be_known_is_no_zero_in_the_table_either() -> None:
    (one,) = result().subscriptions
    block = ComparedTrials("latency", (result(subscriptions=(replace(one, backlog=5),)),))
    (lost,) = [column for group in figure_table(block).groups for column in group.columns if column.head == "lost"]
    assert lost.cells == ("-",)
    assert any("Whether messages were lost is not known" in note for note in footnotes(block))
    assert not any("lost" in note for note in footnotes(ComparedTrials("latency", (result(),))))


def test_what_nobody_read_is_no_zero() -> None:
    unread = replace(result(), subscriptions=())
    checked = ("lost", "late", "untraced", "duplicated", "reordered", "corrupt", "foreign", "backlog")
    assert [FIGURES[name].value_in(unread) for name in checked] == [None] * len(checked)
    assert [FIGURES[name].value_in(result()) for name in checked] == [0.0] * len(checked)
    assert not any("behind at the end" in note for note in footnotes(ComparedTrials("latency", (unread,))))


class TestReadingAlone:
    """Of messages that others sent nobody knows what was lost: that is no 0."""

    COUNTS = ("backlog", "lost", "late", "untraced", "duplicated", "reordered", "corrupt", "failed", "foreign")

    @pytest.mark.parametrize(
        ("verified", "corrupt", "figure", "badge"),
        [
            (0, 0, None, (DOUBT, "Messages not checked")),
            (499_999, 0, None, (DOUBT, "499,999 messages checked: corrupt 0")),
            (500_000, 0, 0.0, (GOOD, "500,000 messages checked: corrupt 0")),
            (9, 3, 3.0, (BAD, "9 messages checked: corrupt 3")),
            (0, 1, 1.0, (BAD, "0 messages checked: corrupt 1")),
        ],
    )
    def test_only_damage_is_checked_and_where_there_are_checksums(
        self, tmp_path: Path, verified: int, corrupt: int, figure: float | None, badge: tuple[str, str]
    ) -> None:
        run = store.load_run(reading_alone(tmp_path))
        (trial,) = run.trials
        assert isinstance(trial.result, ReadResult)
        (only,) = trial.result.subscriptions
        read = replace(
            trial.result, subscriptions=(replace(only, verified=verified, corrupt=corrupt, foreign=500_000 - verified),)
        )
        assert [FIGURES[name].value_in(read) for name in self.COUNTS] == [None] * 6 + [
            figure,
            0.0,
            500_000.0 - verified,
        ]
        of_messages = answer(replace(run, trials=(replace(trial, result=read),))).badges[1]
        assert (of_messages.state, of_messages.text) == badge
        assert ("arrived damaged" in of_messages.sentence) is (badge[0] != DOUBT or verified > 0)

    def test_tables_show_a_dash_and_a_threshold_stays_open(self, tmp_path: Path) -> None:
        run = store.load_run(reading_alone(tmp_path))
        (block,) = sort_compared_trials(run.results)
        cells = {column.head: column.cells for group in figure_table(block).groups for column in group.columns}
        assert [cells[name] for name in ("left", "lost", "duplicated", "reordered", "corrupt")] == [("-",)] * 5
        assert "| kafka@4.3.1 | 50,000 | - | - | - | - | - | 1 valid |" in run_markdown(run)
        (ruling,) = rulings(replace(run, thresholds=("lost == 0",)))
        assert (ruling.outcome, ruling.why) == (
            ThresholdOutcome.NOT_DECIDED,
            "lost messages: not known for the only trial",
        )
        assert not any("consumers were behind" in note for note in footnotes(block))


@pytest.mark.parametrize(
    ("changes", "name", "expected"),
    [
        ({}, "corrupt", 0.0),
        ({"payload": Payload(10)}, "corrupt", None),
        ({"payload": Payload(16)}, "corrupt", 0.0),
        ({}, "reordered", 0.0),
        ({"subscription_type": SubscriptionType.SHARED}, "reordered", None),
        ({"subscription_type": SubscriptionType.KEY_SHARED}, "reordered", 0.0),
    ],
)
def test_what_is_not_checked_is_not_known_to_be_none(
    changes: dict[str, Any], name: str, expected: float | None
) -> None:
    """Short messages have no checksums, and shared subscriptions no order."""
    one = result()
    workload = replace(one.spec.workload, **changes)
    assert FIGURES[name].value_in(replace(one, spec=replace(one.spec, workload=workload))) == expected
