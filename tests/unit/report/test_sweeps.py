"""A sweep's results side by side: swept values first, points in order, systems compared within a point only."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from run_samples import latency, result, spec, totals
from terminal_scenes import run_of

from tidegauge import store
from tidegauge.comparison import within
from tidegauge.comparison.compared_trials import sort_compared_trials
from tidegauge.comparison.order import compared_trials_of, values_of_axes
from tidegauge.durability import levels_equal, levels_found
from tidegauge.model.finding import Finding
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.reason import Reason, ReasonKind
from tidegauge.model.trial import LoadResult, Validity
from tidegauge.report import compare, levels
from tidegauge.report.facts import RunFacts, table_notes
from tidegauge.report.findings import by_experiment, finding_parts
from tidegauge.report.html.answer import answer
from tidegauge.report.html.first_table import first_table
from tidegauge.report.html.index_rows import index_row
from tidegauge.report.html.sections import sections
from tidegauge.report.layout import Column, ColumnGroup, FigureTable
from tidegauge.report.lists import ShownPlan, plan_list
from tidegauge.report.names import SystemNames
from tidegauge.report.plots.overview import overview
from tidegauge.report.plots.sweep import sweep_plots
from tidegauge.report.summary import plan_summary, run_summary
from tidegauge.report.tables import columns_of_axes, remarks, swept_tables
from tidegauge.report.terminal import run_report
from tidegauge.report.verdicts import verdicts
from tidegauge.statistics.intervals import ComparisonVerdict
from tidegauge.store.details import TrialDetails


def at(number: int, system: str = "kafka@4.3.1", scale: float = 1.0, **point: str) -> LoadResult:
    trial = replace(spec(system, number=number), point=point)
    return result(replace(trial, trial_id=f"{trial.trial_id}-{'-'.join(point.values())}"), scale)


def level(one: LoadResult, number: int) -> LoadResult:
    return replace(one, spec=replace(one.spec, choice=LevelChoice(number)), level=LevelFinding(number, ("as set",)))


def text_of(renderables: object) -> str:
    console = Console(width=100, record=True, file=None)
    with console.capture() as capture:
        for renderable in renderables if isinstance(renderables, list) else [renderables]:
            console.print(renderable)
    return capture.get()


def test_swept_values_stand_in_columns_before_the_system() -> None:
    points = [{"partitions": "1", "durability": "3 bypass"}, {"partitions": "2000", "durability": "3"}]
    columns = columns_of_axes(points)
    assert [(column.head, column.cells) for column in columns] == [
        ("partitions", ("1", "2000")),
        ("durability", ("3", "3")),
    ]
    group = ColumnGroup("", (Column("rate", ("7", "8")),))
    table = FigureTable("system", ("kafka", "pulsar"), (group,), 56, columns)
    ((_, head, *rows),) = table.lines(100)
    assert head == "partitions  durability  system   rate"
    assert rows == ["1           3           kafka       7", "2000        3           pulsar      8"]
    assert columns_of_axes([{}]) == ()


def test_a_head_has_a_rule_where_there_is_room_for_more_than_a_dash() -> None:
    for wide, rule in ((5, "times"), (7, "times"), (9, "times ---")):
        group = ColumnGroup("times", (Column("p99", ("1" * wide,)),))
        ((head, *_),) = FigureTable("", ("a",), (group,)).lines(100)
        assert head.strip() == rule


def test_long_names_stay_whole_where_there_is_room_and_under_their_own_head_where_there_is_not() -> None:
    name, two = "zstd-with-a-long-linger-and-acks-1", "linger.ms=20 compression.type=zstd acks=1"
    group = ColumnGroup("", (Column("rate", ("7", "8")),))
    ((_, _, *rows),) = FigureTable("variant", (name, "none"), (group,)).lines(80)
    assert [row.split() for row in rows] == [[name, "7"], ["none", "8"]]
    leading = (Column("variant", (two, "none"), words=True),)
    ((_, head, *rows),) = FigureTable("system", ("kafka@4.3.1", "kafka@4.3.1"), (group,), 45, leading).lines(60)
    assert head.split() == ["variant", "system", "rate"]
    assert {row.index("kafka") for row in (rows[0], rows[-1])} == {head.index("system")}
    assert " ".join(row[: head.index("system")].strip() for row in rows[:-1]) == two


def test_validity_is_that_of_all_trials_of_a_system() -> None:
    """Of two trials one is INVALID: what the other shows is not all that is to be known, in whichever row."""
    good, bad = at(1, partitions="1"), at(2, partitions="1")
    bad = replace(bad, spec=replace(bad.spec, block=1), validity=Validity.INVALID)
    (one,) = swept_tables(sort_compared_trials([good, bad, at(3, partitions="9"), at(4, partitions="9")]))
    column = one.table().groups[-1].columns[0]
    assert (column.head, column.cells) == ("validity", (*["1 of 2 INVALID"] * 3, *["valid"] * 3))


def test_what_is_said_of_a_trial_or_of_some_points_names_the_point() -> None:
    bad = replace(at(1, partitions="1"), reasons=(Reason(ReasonKind.OTHER, "too late"),), validity=Validity.INVALID)
    blocks = sort_compared_trials([bad, at(2, partitions="9"), at(3, partitions="9")])
    assert [remark.text for block in blocks for remark in remarks(block)] == [
        f"{bad.spec.trial_id} (partitions=1) is INVALID: too late"
    ]
    notes = table_notes(blocks)
    assert any(note.startswith("At partitions=9: Min, median and max") for note in notes)
    assert not any(note.startswith("At ") for note in table_notes(blocks[1:]))


def test_one_table_for_an_experiment_with_all_its_points() -> None:
    results = [at(n, system, partitions=p) for n, (p, system) in enumerate(
        (p, s) for p in ("100", "1") for s in ("pulsar@4.2.4", "kafka@4.3.1")
    )]  # fmt: skip
    (one,) = swept_tables(compared_trials_of(run_of(*results)))
    lines = [line for line in text_of(one.table()).splitlines() if line.strip()]
    assert lines[1].startswith("partitions  system")
    assert [line.split()[:2] for line in lines[2:6]] == [
        ["1", "kafka@4.3.1"],
        ["1", "pulsar@4.2.4"],
        ["100", "kafka@4.3.1"],
        ["100", "pulsar@4.2.4"],
    ]


def test_every_table_picture_and_list_has_values_as_the_campaign_lists_them() -> None:
    """By the alphabet "gzip" would be first; it was measured first as well."""
    listed = ("none", "lz4", "gzip")
    results = [at(number, compression=value) for number, value in enumerate(("gzip", "lz4", "none"), 1)]
    meaning = {f"sweep[{number}]": f"compression={value}" for number, value in enumerate(listed, 1)}
    run = run_of(*results, meaning=meaning)
    facts, details = RunFacts(run), {trial.trial_id: TrialDetails(trial, (), None) for trial in run.trials}
    (table,) = facts.tables
    assert [plot.x.names for plot in sweep_plots(table, "x")] == [listed] * 4
    assert table.table().leading[0].cells == listed
    first, picture = first_table(run, verdicts(facts)), overview(run, ())
    assert first is not None
    assert picture is not None
    assert (first.table.leading[0].cells, picture.x.names) == (listed, listed)
    parts = [part.title for section in sections(run, details) for part in section.parts]
    assert parts[1:] == [f"compression={value}" for value in listed]
    figures = [str(row["experiment"]) for row in index_row(run, "")["figures"]]
    assert figures == [f"latency at compression={value}" for value in listed]
    printed = text_of(run_report(run))
    places = [printed.index(f"{value:<11}  kafka") for value in listed]
    assert places == sorted(places)


def test_a_plan_lists_points_as_the_campaign_does() -> None:
    points = [{"compression": value} for value in ("none", "lz4", "gzip")]
    trials = [replace(spec(number=number), point=point) for number, point in enumerate(reversed(points), 1)]
    plan = ShownPlan(trials, 60.0, values=values_of_axes(points))
    assert [each["point"] for each in plan_summary(plan)["points"]] == points
    lines = text_of(plan_list(plan)).splitlines()
    head = lines.index("3 points of the sweep, in random order within each block:")
    assert [line.split()[0] for line in lines[head + 2 : head + 5]] == ["none", "lz4", "gzip"]


def test_systems_are_compared_within_a_point_only() -> None:
    alone = [at(1, "kafka@4.3.1", partitions="1"), at(2, "pulsar@4.2.4", partitions="100")]
    assert [ratio for block in sort_compared_trials(alone) for ratio in within.ratios_of_compared(block)] == []
    both = [*alone, at(3, "pulsar@4.2.4", 2.0, partitions="1")]
    found = [ratio for block in sort_compared_trials(both) for ratio in within.ratios_of_compared(block)]
    assert {tuple(ratio.point.items()) for ratio in found} == {(("partitions", "1"),)}
    assert compare.sentence(found[0]).startswith("latency at partitions=1: pulsar@4.2.4's ")


def test_findings_are_compared_within_a_point_only() -> None:
    def found(system: str, partitions: str, rate: float) -> Finding:
        return Finding(
            f"1-{system}-{partitions}", "max-throughput", system, 0, True, ("x",),
            rows=({"msg/s": rate},), figures={"sustainable_msgs_per_s": rate}, point={"partitions": partitions},
        )  # fmt: skip

    assert within.finding_ratios([found("kafka", "1", 10.0), found("pulsar", "2", 5.0)], (), across_levels=True) == []
    own = [found("kafka", "9", 7.0), found("kafka", "10", 10.0), found("pulsar", "10", 5.0)]
    assert [ratio.comparison.ratio for ratio in within.finding_ratios(own, (), across_levels=True)] == [
        pytest.approx(0.5)
    ]
    shown = text_of(list(finding_parts(by_experiment(own), SystemNames(()), ())))
    assert "partitions=10: kafka: x" in shown
    assert shown.index("9           kafka") < shown.index("10          kafka")


def test_a_finding_that_rests_on_a_doubtful_trial_says_so() -> None:
    results = [at(number, system, partitions="1") for number, system in ((1, "kafka@4.3.1"), (2, "pulsar@4.2.4"))]
    doubted = [results[0], replace(results[1], validity=Validity.DOUBTFUL)]
    own = [
        Finding(f"{n}", "curve", one.spec.system, 0, True, (), details={"trial_id": one.spec.trial_id},
                figures={"sustainable_msgs_per_s": 10.0 + n})
        for n, one in enumerate(results)
    ]  # fmt: skip
    assert [ratio.doubtful for ratio in within.finding_ratios(own, results)] == [False]
    assert [ratio.doubtful for ratio in within.finding_ratios(own, doubted)] == [True]


@pytest.mark.parametrize(
    ("pulsar", "verdict"),
    [
        (102.0, ComparisonVerdict.SAME),
        (104.0, ComparisonVerdict.NOT_DECIDED),
        (106.0, ComparisonVerdict.BETTER),
    ],
)
def test_within_the_steps_of_a_search_nothing_is_better(pulsar: float, verdict: ComparisonVerdict) -> None:
    own = [
        Finding(f"{n}", "max-throughput", system, n // 2, True, (), figures={"sustainable_msgs_per_s": rate})
        for n, (system, rate) in enumerate((("kafka", 100.0), ("pulsar", pulsar)) * 3)
    ]
    (ratio,) = within.finding_ratios(own, (), across_levels=True)
    assert ratio.comparison.verdict is verdict


def test_levels_are_equal_if_they_are_at_each_point() -> None:
    def of(number: int, system: str, wanted: str, got: int) -> LoadResult:
        return level(at(number, system, durability=wanted), got)

    equal = [of(1, "kafka@1", "3", 3), of(2, "pulsar@2", "3", 3), of(3, "pulsar@2", "4", 4), of(4, "kafka@1", "4", 4)]
    assert levels_equal(equal)
    assert [where for where, _ in levels.by_point(equal)] == ["durability=3", "durability=4"]
    assert levels.headline(equal).startswith("At durability=3: Durability: level 3 for every measured system")
    assert "At durability=4: Durability: level 4" in levels.headline(equal)
    assert len(levels.details(equal)) == 4
    assert not levels_equal([*equal[:3], of(4, "kafka@1", "4", 3)])
    assert not levels_equal([])
    assert levels.by_point(equal[:2]) == [("", equal[:2])]
    unknown = [replace(result, level=LevelFinding(None, ())) for result in equal[:2]]
    assert not levels_equal(unknown), "two levels that nobody knows are not known to be equal"


def test_the_trial_that_was_not_at_the_level_asked_for_stands_for_its_system() -> None:
    first, second = (level(at(number, "kafka@1", durability="3"), 3) for number in (1, 2))
    second = replace(second, level=LevelFinding(4, ("as found",)))
    for results in ([first, second], [second, first]):
        assert levels_found(results)["kafka@1"][1].level == 4
        assert "NOT AS ASKED" in levels.headline(results)


def test_a_run_is_reported_by_its_points(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "swept", "name: swept")
    both = [level(at(1, durability="3"), 3), level(at(2, scale=0.5, durability="4"), 4)]
    for one in both:
        run.open_trial(one.spec).finish(one, totals())
    run.finish("finished")
    stored = store.load_run(run.path)
    assert [result.spec.point for result in stored.results] == [{"durability": "3"}, {"durability": "4"}]
    text = text_of(run_report(stored))
    assert "At durability=3: Durability: level 3 for kafka@4.3.1, as asked" in text
    assert "At durability=4: Durability: level 4" in text
    assert "durability  system" in text
    assert "NOT" not in text
    assert answer(stored).title == "Kafka at levels 3 and 4 (settings read back)", "not the last one alone"
    content = run_summary(stored)
    assert content["durability"]["equal"]
    assert [point["where"] for point in content["durability"]["points"]] == ["durability=3", "durability=4"]
    assert [experiment["point"] for experiment in content["experiments"]] == [{"durability": "3"}, {"durability": "4"}]


def test_a_percentile_that_only_some_points_have_samples_for_has_a_column_at_all() -> None:
    few = replace(at(1, partitions="1"), response=latency(count=20_000))
    (one,) = swept_tables(sort_compared_trials([few, at(2, partitions="2")]))
    (column,) = [column for group in one.table().groups for column in group.columns if column.head == "p99.99"]
    assert column.cells == ("-", "31.5")


def test_the_sentence_of_a_sweep_is_of_the_same_figure_at_all_points() -> None:
    """The highest percentile that all of them have: a p99 and a p50 make no range."""
    few, many = (
        replace(result(replace(spec(number=number), point={"partitions": at})), response=latency(scale, count))
        for number, (at, scale, count) in enumerate((("1", 1.0, 500), ("100", 3.0, 600_000)))
    )
    both = run_of(few, many)
    (verdict,) = verdicts(RunFacts(both))
    assert verdict.sentence.startswith(
        "Response p50 over 2 points: Kafka 1.20 (partitions=1) to 3.60 ms (partitions=100);"
    )
