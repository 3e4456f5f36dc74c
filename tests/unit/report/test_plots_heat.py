"""Heat maps: which runs have them, what is one panel, and what a cell says where no figure may be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

from report_samples import KAFKA, PULSAR
from run_samples import result, spec
from variant_samples import run_of

from tidegauge.model.finding import Finding
from tidegauge.model.trial import LoadResult, Validity
from tidegauge.report.facts import RunFacts
from tidegauge.report.html.page import template_environment
from tidegauge.report.plots.draw import drawing_height_pt
from tidegauge.report.plots.heat import COLUMNS_MAX, ROWS_MAX, heat_maps, heat_maps_of_findings
from tidegauge.report.plots.model import Cell, Plot, data_table
from tidegauge.store.read import StoredRun

PARTITIONS, SIZES = ("1", "10", "100"), ("16KiB", "1MiB")


def at(system: str, scale: float, block: int = 0, **point: str) -> LoadResult:
    made = replace(spec(system, "latency", block=block), trial_id=f"{system}-{block}-{point}", point=point)
    return result(made, scale)


def grid(system: str = KAFKA, rows: Sequence[str] = PARTITIONS, columns: Sequence[str] = SIZES) -> list[LoadResult]:
    """A trial at each point, of which each is slower than the one before."""
    points = [{"partitions": row, "batch-size": column} for row in rows for column in columns]
    return [at(system, 1.0 + number, **point) for number, point in enumerate(points)]


def maps_of(*results: LoadResult) -> list[Plot]:
    facts = RunFacts(run_of(results))
    return [plot for table in facts.tables for plot in heat_maps(table, facts, "x")]


def cells_of(plot: Plot) -> dict[tuple[str, str], Cell]:
    """Cells by the values of their row and their column."""
    (series,) = plot.series
    return {(plot.y.text(y), plot.x.text(x)): cell for x, y, cell in zip(series.x, series.y, series.cells, strict=True)}


def test_the_axis_with_fewer_values_runs_across_in_order_of_size() -> None:
    first, *_ = maps_of(*grid())
    assert (first.x.names, first.y.names) == (SIZES, PARTITIONS)
    assert cells_of(first)["1", "16KiB"].value == 7.8


def test_its_table_names_what_its_cells_show_and_not_an_axis() -> None:
    first, *_ = maps_of(*grid())
    macros = template_environment().get_template("macros.html.j2").module
    shown = str(macros.plot_figure(first, SimpleNamespace(svg="", points=[]), data_table(first)))  # type: ignore[attr-defined]
    assert "The figures are: response p99, ms." in shown
    assert "columns of systems" not in shown


def test_all_are_of_one_height_with_and_without_second_lines() -> None:
    maps = maps_of(*[one for block in range(3) for one in repeated_grid(block)])
    assert len({any(cell.verdict for cell in cells_of(plot).values()) for plot in maps}) == 2
    assert len({drawing_height_pt(plot) for plot in maps}) == 1


def test_a_second_line_in_a_cell_is_explained() -> None:
    """Verdicts stand in cells only where a contest compares them, and then the reading says with what."""
    results = [one for block in range(3) for one in repeated_grid(block)]
    first, *_ = maps_of(*results)
    assert {cell.verdict for cell in cells_of(first).values()} == {"first", "worse"}
    assert "second line: how it compares with batch-size=16KiB in the same row" in first.reading
    assert not any(cell.verdict for cell in cells_of(maps_of(*grid())[0]).values())


def test_a_second_line_is_in_every_row_of_a_map_or_in_none() -> None:
    """At a point without p99 the run compares that row by p50, and the map of p99 has verdicts there, too."""
    rows, columns = (*PARTITIONS, "1000"), ("16KiB", "64KiB", "1MiB")
    results = [one for block in range(3) for one in repeated_grid(block, rows, columns)]
    without = [
        replace(one, response=replace(one.response, p99_ms=None))
        if one.spec.point == {"partitions": "1", "batch-size": "1MiB"}
        else one
        for one in results
    ]
    assert len({contest.name for contest in RunFacts(run_of(without)).contests if contest.axis == "batch-size"}) == 2
    p99, p50, end_to_end = maps_of(*without)
    verdicts = {place: cell.verdict for place, cell in cells_of(p99).items()}
    assert verdicts.pop(("1", "1MiB")) == "", "it has no such figure"
    assert {place: "first" if place[1] == "16KiB" else "worse" for place in verdicts} == verdicts
    for other in (p50, end_to_end):
        assert {cell.verdict for cell in cells_of(other).values()} == {""}
        assert "second line" not in other.reading


def repeated_grid(block: int, rows: Sequence[str] = PARTITIONS, columns: Sequence[str] = SIZES) -> list[LoadResult]:
    points = [(row, column) for row in rows for column in columns]
    return [
        at(KAFKA, (1.0 + number) * (1 + block / 500), block, partitions=row, **{"batch-size": column})
        for number, (row, column) in enumerate(points)
    ]


def test_only_two_axes_of_not_too_many_values_have_heat_maps() -> None:
    assert maps_of(*[at(KAFKA, 1.0, partitions=n) for n in PARTITIONS]) == []
    three = [replace(one, spec=replace(one.spec, point={**one.spec.point, "acks": "1"})) for one in grid()]
    assert maps_of(*three) == []
    many = [str(number) for number in range(1, ROWS_MAX + 1)]
    assert maps_of(*grid(rows=many))
    assert maps_of(*grid(rows=[*many, str(ROWS_MAX + 1)])) == []
    assert maps_of(*grid(rows=many, columns=many[: COLUMNS_MAX + 1])) == []


def test_a_rate_that_was_offered_has_none_but_one_that_was_not_reached_has() -> None:
    assert [plot.plot_id for plot in maps_of(*grid())] == ["x-heat-1-p99", "x-heat-1-p50", "x-heat-1-end-to-end-p99"]
    last, *others = grid()
    assert "x-heat-1-rate" in [plot.plot_id for plot in maps_of(replace(last, msgs_per_s=15_000.0), *others)]


def test_versions_on_an_axis_are_one_panel_and_two_at_a_point_are_not() -> None:
    versions = ("kafka@4.2.0", "kafka@4.3.1")
    swept = [
        at(version, 1.0, **{"systems.kafka.version": version[6:], "partitions": n})
        for version in versions
        for n in PARTITIONS
    ]
    p99 = [plot for plot in maps_of(*swept) if plot.of_p99]
    assert [plot.title for plot in p99] == ["Response p99 of kafka by partitions and version"]
    assert p99[0].x.names == ("4.2.0", "4.3.1")
    beside = [one for version in versions for one in grid(version)]
    assert len([plot for plot in maps_of(*beside) if plot.of_p99]) == 2


def test_invalid_trials_are_left_out_of_a_cell_and_counted() -> None:
    again = [replace(one, spec=replace(one.spec, block=1, trial_id=f"{one.spec.trial_id}-again")) for one in grid()]
    again[0] = replace(again[0], validity=Validity.INVALID)
    first, *_ = maps_of(*grid(), *again)
    assert cells_of(first)["1", "16KiB"] == Cell(7.8, Validity.VALID, note="1 of 2 trials INVALID")
    assert "Crossed" not in first.reading


def searched(*, decided: bool = True) -> StoredRun:
    """Searches at each point of two systems, of which the last of the first may be undecided."""
    findings, results = [], []
    for system in (KAFKA, PULSAR):
        for place, one in enumerate(grid(system)):
            confirmation = replace(
                one, spec=replace(one.spec, experiment="max-throughput", exploratory=True), validity=Validity.VALID
            )
            open_ = not decided and system == KAFKA and place == 5
            rate = 1000.0 * (place + 1)
            goal = {"goal": "no limit", "decided": not open_, "sustainable_msgs_per_s": None if open_ else rate,
                    "confirmation_trial_id": one.spec.trial_id}  # fmt: skip
            results.append(confirmation)
            findings.append(
                Finding(
                    f"{system}-{place}", "max-throughput", system, 0, not open_, (), details={"goals": [goal]},
                    figures={} if open_ else {"sustainable_msgs_per_s": rate}, point=one.spec.point,
                )
            )  # fmt: skip
    return replace(run_of(results), findings=tuple(findings))


def test_what_searches_found_is_a_panel_and_what_they_did_not_decide_is_crossed() -> None:
    for decided in (True, False):
        run = searched(decided=decided)
        first, second = heat_maps_of_findings(run.findings, RunFacts(run), "x")
        assert first.title == f"Sustainable rate of {KAFKA} by partitions and batch-size"
        last = cells_of(first)["100", "1MiB"]
        assert last == (Cell(6000.0, Validity.VALID) if decided else Cell(None, Validity.INVALID, lack="NOT DECIDED"))
        assert ("Crossed: NOT DECIDED." in first.reading) is not decided
        assert "Crossed" not in second.reading
        assert first.heat == second.heat, "the same colours"


def test_a_rate_that_rests_on_a_doubtful_trial_is_doubted() -> None:
    run = searched()
    trials = tuple(
        replace(trial, result=replace(trial.result, validity=Validity.DOUBTFUL))  # type: ignore[type-var]
        if trial.result is not None and trial.result.spec.system == KAFKA
        else trial
        for trial in run.trials
    )
    doubted = replace(run, trials=trials)
    first, second = heat_maps_of_findings(run.findings, RunFacts(doubted), "x")
    assert {cell.validity for cell in cells_of(first).values()} == {Validity.DOUBTFUL}
    assert {cell.validity for cell in cells_of(second).values()} == {Validity.VALID}
