"""Plots of sweeps and of catching up: right values at right places, phases where they were."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from report_samples import KAFKA, PULSAR
from run_samples import result, spec
from variant_samples import run_of

from tidegauge.comparison.compared_trials import ComparedTrials
from tidegauge.comparison.order import compared_trials_of
from tidegauge.model.trial import LoadResult, Validity
from tidegauge.model.workload import LateReaders
from tidegauge.report.compare import estimate
from tidegauge.report.plots.model import Form, Mark, Plot, Scale
from tidegauge.report.plots.sweep import longest_axis, points_left_out, sweep_plots
from tidegauge.report.plots.timeline import began_ns, chase_plots
from tidegauge.report.tables import swept_tables
from tidegauge.store.details import TrialDetails
from tidegauge.store.read import StoredTrial

_S = 1_000_000_000


def at(system: str, scale: float, **point: str) -> LoadResult:
    made = spec(system, "latency")
    return result(replace(made, trial_id=f"x-{system}-{point}", point=point), scale)


class TestSweep:
    RESULTS = tuple(
        at(system, scale * factor, partitions=partitions, durability=level)
        for system, scale in ((KAFKA, 1.0), (PULSAR, 2.0))
        for partitions, factor in (("100", 3.0), ("1", 1.0), ("10", 2.0))
        for level in ("3", "4")
    )

    def plots(self, results: tuple[LoadResult, ...]) -> dict[str, Plot]:
        (table,) = swept_tables(compared_trials_of(run_of(results)))
        return {plot.plot_id: plot for plot in sweep_plots(table, "01")}

    def test_values_stand_in_order_and_each_point_of_other_axes_has_its_plot(self) -> None:
        plots = self.plots(self.RESULTS)
        first, second = plots["01-sweep-1-p99"], plots["01-sweep-2-p99"]
        assert first.x.ticks == ((1.0, "1"), (10.0, "10"), (100.0, "100"))
        assert (first.x.scale, first.series[0].mark) == (Scale.LOG, Mark.LINE_POINTS)
        assert [series.x for series in first.series] == [(1.0, 10.0, 100.0)] * 2, "both at their quantity"
        assert (first.title, second.title) == (
            "Response p99 by partitions, durability=3",
            "Response p99 by partitions, durability=4",
        )
        assert [series.name for series in first.series] == [KAFKA, PULSAR]
        assert first.series[0].y == pytest.approx((7.8, 15.6, 23.4))
        assert first.series[1].y == pytest.approx((15.6, 31.2, 46.8))

    def test_invalid_trials_leave_a_gap_that_no_line_crosses(self) -> None:
        def spoilt(result: LoadResult, partitions: str) -> LoadResult:
            at_point = dict(result.spec.point) == {"partitions": partitions, "durability": "3"}
            return replace(result, validity=Validity.INVALID) if at_point and result.spec.system == KAFKA else result

        for partitions, y in (("100", (7.8, 15.6, None)), ("10", (7.8, None, 23.4))):
            plots = self.plots(tuple(spoilt(result, partitions) for result in self.RESULTS))
            (series, other) = plots["01-sweep-1-p99"].series
            assert series.x == (1.0, 10.0, 100.0)
            assert series.y == tuple(value if value is None else pytest.approx(value) for value in y)
            assert None not in other.y
            assert plots["01-sweep-1-p99"].reading.endswith("No point: no trial that may be used has the figure.")
            assert None not in plots["01-sweep-2-p99"].series[0].y

    def test_a_point_of_which_nobody_has_a_figure_keeps_its_place(self) -> None:
        spoilt = tuple(
            replace(result, validity=Validity.INVALID) if result.spec.point["partitions"] == "10" else result
            for result in self.RESULTS
        )
        plot = self.plots(spoilt)["01-sweep-1-p99"]
        assert [value for value, _ in plot.x.ticks] == [1.0, 10.0, 100.0]
        assert [series.y[1] for series in plot.series] == [None, None]

    @pytest.mark.parametrize(
        ("values", "label", "form"),
        [
            (("10000", "20000"), "rate, msg/s", Form.COUNT),
            (("50%", "80%"), "rate", Form.COUNT),
            (("50%", "20000"), "rate", Form.WORDS),
            (("1KiB", "1024B"), "batch", Form.WORDS),
        ],
    )
    def test_a_share_and_an_amount_have_no_axis_in_common(
        self, values: tuple[str, ...], label: str, form: Form
    ) -> None:
        field = label.partition(",")[0]
        plot = self.plots(tuple(at(KAFKA, 1.0, **{field: value}) for value in values))["01-sweep-1-p99"]
        assert (plot.x.label, plot.x.form) == (label, form)

    def test_what_has_no_picture_is_said(self) -> None:
        points = [{"partitions": str(n), "batch": str(m)} for n in range(1, 13) for m in range(1, 11)]
        assert points_left_out(points).startswith("Pictures of the first 8 of 10 values")
        assert points_left_out(points[:20]) == ""
        assert points_left_out([{}]) == ""

    def test_levels_and_other_words_stand_side_by_side_without_lines_between_them(self) -> None:
        for values in (("1", "2", "4"), ("2 bypass", "2 journal", "3")):
            results = tuple(at(system, 1.0, durability=value) for system in (KAFKA, PULSAR) for value in values)
            plot = self.plots(results)["01-sweep-1-p99"]
            assert plot.x.form is Form.WORDS
            assert plot.x.label.startswith("durability level")
            assert {series.mark for series in plot.series} == {Mark.POINTS}
            assert len({x for series in plot.series for x in series.x}) == 6, "no point hides another"
            assert [[round(x) for x in series.x] for series in plot.series] == [[0, 1, 2]] * 2
        assert plot.x.names == ("2 (bypass)", "2 (journal)", "3")

    def test_a_setting_with_dots_in_its_name_is_called_by_all_of_it(self) -> None:
        axis = "systems.kafka.producer.linger.ms"
        plot = self.plots(tuple(at(KAFKA, 1.0, **{axis: value}) for value in ("1", "20")))["01-sweep-1-p99"]
        assert (plot.x.label, plot.title) == ("linger.ms", "Response p99 by linger.ms")

    def test_one_point_is_no_sweep(self) -> None:
        (table,) = swept_tables(compared_trials_of(run_of([at(KAFKA, 1.0, partitions="1")])))
        assert sweep_plots(table, "01") == []
        assert longest_axis([{}]) is None


class TestEstimate:
    def test_an_interval_from_three_trials_on(self) -> None:
        three = estimate([90.0, 100.0, 110.0])
        assert three is not None
        assert three.sure
        assert three.low < 90
        assert three.high > 110
        two = estimate([90.0, 110.0])
        assert two is not None
        assert (two.sure, two.low, two.high) == (False, 90.0, 110.0)

    def test_nothing_and_zero(self) -> None:
        assert estimate([]) is None
        zero = estimate([0.0, 2.0, 4.0])
        assert zero is not None
        assert (zero.value, zero.sure) == (2.0, False)


class TestChase:
    def trial(self, system: str) -> LoadResult:
        late = LateReaders(1, 1000, "1000 messages", 0.99, 60.0)
        return result(replace(spec(system, "catch-up"), late=late))

    def details(self, trial: LoadResult, begins: int) -> TrialDetails:
        phases = ["warm-up"] * 2 + ["before"] * (begins - 2) + ["during"] * 3 + ["after"] * 2
        rows = tuple(
            {
                "from_mono_ns": number * _S,
                "until_mono_ns": (number + 1) * _S,
                "phase": phase,
                "acked_msgs": 100,
                "response_p99_ms": 5.0,
                "end_to_end_p99_ms": 6.0,
                "subscriptions": [
                    {"name": "sub-0", "backlog_msgs": 100 * number, "received_msgs": 300 if phase == "during" else 0}
                ],
            }
            for number, phase in enumerate(phases)
        )
        stored = StoredTrial(Path("/x"), trial.spec.trial_id, "finished", "", trial.spec, trial, "")
        return TrialDetails(stored, rows, (2 * _S, 9 * _S))

    def test_it_is_aligned_where_late_readers_begin(self) -> None:
        one, other = self.trial(KAFKA), self.trial(PULSAR)
        details = {one.spec.trial_id: self.details(one, 4), other.spec.trial_id: self.details(other, 6)}
        backlog, reading, *_ = chase_plots(ComparedTrials("catch-up", (one, other)), details, "01")
        assert [series.x[0] for series in backlog.series] == [-3.0, -5.0], "at the end of the first second"
        assert [dict(zip(series.x, series.y, strict=True))[0.5] for series in reading.series] == [300.0, 300.0]
        (begin,) = backlog.spans
        assert (begin.begin, begin.end) == (0.0, 0.0)

    def test_a_single_trial_shows_its_phases(self) -> None:
        one = self.trial(KAFKA)
        backlog, _, _, response, _ = chase_plots(
            ComparedTrials("catch-up", (one,)), {one.spec.trial_id: self.details(one, 4)}, "01"
        )
        assert response.description.endswith(f"{KAFKA}: largest 5.00, at the end 5.00 ms."), "ms have their fractions"
        assert [(span.label, span.begin) for span in backlog.spans] == [
            ("before", -2.0),
            ("during", 0.0),
            ("after", 3.0),
        ]

    def test_readers_that_never_began_and_trials_without_them_have_none(self) -> None:
        one = self.trial(KAFKA)
        known = self.details(one, 4)
        cut = replace(known, seconds=known.seconds[:3])
        assert began_ns(cut) is None
        assert chase_plots(ComparedTrials("catch-up", (one,)), {one.spec.trial_id: cut}, "01") == []
        assert chase_plots(ComparedTrials("latency", (result(),)), {}, "01") == []
