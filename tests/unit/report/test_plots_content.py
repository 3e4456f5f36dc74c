"""Plot models: what is drawn is what was measured, peaks are kept, and doubtful figures are marked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from page_scenes import run_named, use_row, with_rows
from report_samples import KAFKA, PULSAR, interrupted_run
from run_samples import encoded, reading, result, second, spec, totals

from tidegauge import store
from tidegauge.comparison.compared_trials import ComparedTrials, sort_compared_trials
from tidegauge.model.finding import Finding
from tidegauge.model.trial import Validity, point_words
from tidegauge.model.workload import Arrival, LateReaders
from tidegauge.report.html.sections import sections
from tidegauge.report.names import SystemNames
from tidegauge.report.plots.curves import load_plots, percentile_curve, percentile_plots, search_plots, step_state
from tidegauge.report.plots.model import Axis, Details, Form, Mark, Plot, Series, data_table, thinned_points
from tidegauge.report.plots.overview import sustainable_bars, throughput_bars
from tidegauge.report.plots.timeline import MAIN, RESOURCES, reason_charts, timelines, trial_timelines, used_charts
from tidegauge.statistics.histograms import EMPTY, decode_histogram
from tidegauge.store.tables import condense_rows

Loaded = tuple[store.StoredRun, Details]


def loaded(path: Path) -> Loaded:
    run = store.load_run(path)
    return run, store.details_of(run)


@pytest.fixture(scope="module")
def sample() -> Loaded:
    return run_named("sample")


def block_of(sample: Loaded, experiment: str) -> ComparedTrials:
    return next(block for block in sort_compared_trials(sample[0].results) if block.experiment == experiment)


def samples_of(*latencies_ms: float) -> bytes:
    return encoded(*(int(latency_ms * 1e6) for latency_ms in latencies_ms))


class TestPercentiles:
    def test_the_curve_goes_as_far_as_ten_samples_lie_beyond(self) -> None:
        percentiles, latencies = percentile_curve(
            decode_histogram(samples_of(*(float(value) for value in range(1, 1001))))
        )
        assert percentiles[-1] == pytest.approx(99.0)
        at = dict(zip(percentiles, latencies, strict=True))
        assert at[50.0] == pytest.approx(500, rel=0.002)
        assert at[90.0] == pytest.approx(900, rel=0.002)
        assert latencies == tuple(sorted(latencies))

    def test_too_few_samples_have_none(self) -> None:
        assert percentile_curve(EMPTY) == ((), ())
        assert percentile_curve(decode_histogram(samples_of(*([1.0] * 20)))) == ((), ())

    def test_histograms_of_repeated_trials_are_merged(self, sample: Loaded) -> None:
        _, details = sample
        response, end_to_end = percentile_plots(block_of(sample, "latency"), details, "01")
        assert response.systems == end_to_end.systems == (KAFKA, PULSAR)
        assert response.series[0].x[-1] == pytest.approx(100 * (1 - 10 / 8000))  # two trials of 4,000 samples
        assert end_to_end.series[0].y[5] > response.series[0].y[5]  # type: ignore[operator]
        assert "p99" in response.description

    def test_end_to_end_is_that_of_the_slowest_subscription(self, sample: Loaded) -> None:
        _, details = sample
        block = block_of(sample, "latency")
        one = next(result for result in block.results if result.spec.system == KAFKA)
        own = details[one.spec.trial_id]
        tags = {
            f"end-to-end/sub-{n}": decode_histogram(samples_of(*[ms] * 1000)) for n, ms in enumerate((3.0, 9.0, 5.0))
        }
        two = {**details, one.spec.trial_id: replace(own, histograms=tags)}
        (plot,) = percentile_plots(ComparedTrials("latency", (one,)), two, "01")
        assert plot.series[0].y[-1] == pytest.approx(9.0, rel=0.002)

    def test_at_each_percentile_it_is_whoever_is_slowest_there_and_never_a_late_reader(self, sample: Loaded) -> None:
        _, details = sample
        one = next(result for result in block_of(sample, "latency").results if result.spec.system == KAFKA)
        subscriptions = tuple(replace(one.subscriptions[0], name=f"sub-{number}") for number in range(3))
        late = replace(one.spec, late=LateReaders(1, 1000, "1000 messages", 0.99, 60.0))
        one = replace(one, spec=late, subscriptions=subscriptions)
        own = ([3.0] * 1000, [1.0] * 600 + [9.0] * 400, [5000.0] * 1000)
        tags = {f"end-to-end/sub-{number}": decode_histogram(samples_of(*ms)) for number, ms in enumerate(own)}
        changed = {one.spec.trial_id: replace(details[one.spec.trial_id], histograms=tags)}
        (plot,) = percentile_plots(ComparedTrials("latency", (one,)), changed, "01")
        at = dict(zip(plot.series[0].x, plot.series[0].y, strict=True))
        assert at[50.0] == pytest.approx(3.0, rel=0.002)
        assert at[99.0] == pytest.approx(9.0, rel=0.002)

    def test_a_subscription_that_received_nothing_is_not_hidden_by_the_others(self, sample: Loaded) -> None:
        _, details = sample
        result = next(result for result in block_of(sample, "latency").results if result.spec.system == KAFKA)
        two = tuple(replace(result.subscriptions[0], name=f"sub-{number}") for number in range(2))
        tags = {"end-to-end/sub-0": decode_histogram(samples_of(*[3.0] * 1000))}
        changed = {result.spec.trial_id: replace(details[result.spec.trial_id], histograms=tags)}
        for subscriptions, plots in ((two[:1], 1), (two, 0)):
            block = ComparedTrials("latency", (replace(result, subscriptions=subscriptions),))
            assert len(percentile_plots(block, changed, "01")) == plots

    def test_invalid_trials_are_left_out_and_named_where_there_are_no_others(self, sample: Loaded) -> None:
        block = block_of(sample, "latency")
        bad = tuple(
            replace(result, validity=Validity.INVALID) if result.spec.system == KAFKA else result
            for result in block.results
        )
        (plot, _) = percentile_plots(ComparedTrials("latency", bad), sample[1], "01")
        assert [series.label for series in plot.series] == ["INVALID", ""]


class TestTimelines:
    def test_they_are_aligned_where_measuring_begins(self, sample: Loaded) -> None:
        rate, *_ = timelines(block_of(sample, "latency"), sample[1], "01", MAIN)
        assert rate.series[0].x[0] == -3.5, "in the middle of the first second"
        assert (rate.spans[0].begin, rate.spans[0].end, rate.spans[0].label) == (0.0, 12.0, "measured")
        assert [series.name for series in rate.series][:2] == [f"{KAFKA}, trial 1", f"{KAFKA}, trial 2"]

    def test_what_is_zero_throughout_is_left_out(self, sample: Loaded) -> None:
        names = [plot.plot_id for plot in timelines(block_of(sample, "latency"), sample[1], "01", RESOURCES)]
        assert {"01-client-cpu", "01-client-gc", "01-client-heap", "01-in-flight", "01-backlog"} <= set(names)
        _, details = sample
        quiet = {
            name: replace(one, seconds=tuple({**row, "backlog_msgs": 0} for row in one.seconds))
            for name, one in details.items()
        }
        names = [plot.plot_id for plot in timelines(block_of(sample, "latency"), quiet, "01", RESOURCES)]
        assert "01-backlog" not in names

    def test_a_trial_without_a_result_shows_its_seconds(self, tmp_path: Path) -> None:
        run, details = loaded(interrupted_run(tmp_path))
        cut = next(trial for trial in run.trials if trial.result is None)
        rate = trial_timelines(details[cut.trial_id], PULSAR, "x", MAIN)[0]
        assert len(rate.series[0].x) == 8
        assert rate.spans == ()
        (section,) = sections(run, details)
        assert "interrupted" in section.parts[-1].title

    def test_a_trial_that_only_reads_shows_what_it_received(self, tmp_path: Path) -> None:
        run = store.create_run(tmp_path, "read", "name: read\n")
        one, cut = reading(), replace(reading().spec, trial_id="0002-read-kafka")
        run.write_plan([one.spec, cut])
        for trial_spec in (one.spec, cut):
            trial = run.open_trial(trial_spec)
            for number in range(3):
                trial.append_second(replace(second(number), acked=0))
            if trial_spec is one.spec:
                trial.finish(one, totals())
        run.finish("interrupted")
        (section,) = sections(*loaded(run.path))
        rates = [plot for part in section.parts for plot in part.plots if plot.title == "Rate over time"]
        assert [series.y for plot in rates for series in plot.series] == [(39_880.0,) * 3] * 2

    def test_peaks_dips_and_gaps_survive_thinning(self) -> None:
        y: list[float | None] = [1.0] * 1000
        y[777], y[333] = 99.0, 0.0
        kept_x, kept_y = thinned_points(list(map(float, range(1000))), y, 100)
        assert len(kept_x) <= 100
        assert list(kept_x) == sorted(set(kept_x))
        assert (kept_y[kept_x.index(777.0)], kept_y[kept_x.index(333.0)]) == (99.0, 0.0)
        y[500:503] = [None] * 3
        kept_x, kept_y = thinned_points(list(map(float, range(1000))), y, 100)
        assert len(kept_x) <= 100
        assert kept_y[kept_x.index(500.0)] is None
        assert thinned_points([1.0, 2.0], [None, 3.0], 5) == ((1.0, 2.0), (None, 3.0))

    def test_figures_in_words_are_of_all_seconds_and_not_of_those_that_are_drawn(self, sample: Loaded) -> None:
        block = block_of(sample, "latency")
        (one, *_) = block.loads
        rates = [10_000, *([100] * 899), 20]
        rows = [
            {"from_mono_ns": n * 10**9, "until_mono_ns": (n + 1) * 10**9, "phase": "measure", "acked_msgs": acked}
            for n, acked in enumerate(rates)
        ]
        long = {one.spec.trial_id: replace(sample[1][one.spec.trial_id], seconds=tuple(rows), window_ns=(0, 10**12))}
        (rate,) = timelines(ComparedTrials("latency", (one,)), long, "01", MAIN)
        assert "median 100, largest 10,000 msg/s" in rate.description
        assert len(rate.series[0].x) <= 300
        assert rate.reading == "Of each 7 s the least and the largest value."
        assert min(value for value in rate.series[0].y if value is not None) == 20

    def test_no_line_crosses_seconds_that_are_missing(self, sample: Loaded) -> None:
        (one, *_) = block_of(sample, "latency").loads
        trial = sample[1][one.spec.trial_id]
        cut = {one.spec.trial_id: replace(trial, seconds=(*trial.seconds[:6], *trial.seconds[10:]))}
        rate, *_ = timelines(ComparedTrials("latency", (one,)), cut, "01", MAIN)
        assert [x for x, y in zip(rate.series[0].x, rate.series[0].y, strict=True) if y is None] == [4.0]
        whole, *_ = timelines(ComparedTrials("latency", (one,)), sample[1], "01", MAIN)
        assert None not in whole.series[0].y

    def test_invalid_trials_are_named_where_their_lines_are(self, sample: Loaded) -> None:
        block = block_of(sample, "latency")
        first = {system: block.of_system(system)[0].spec.trial_id for system in block.systems}
        spoilt = tuple(
            replace(one, validity=Validity.INVALID)
            if one.spec.system == PULSAR or one.spec.trial_id == first[KAFKA]
            else one
            for one in block.results
        )
        rate, *_ = timelines(ComparedTrials("latency", spoilt), sample[1], "01", MAIN)
        assert rate.reading == f"One line for each trial. INVALID: {KAFKA} (trial 1), {PULSAR}."
        percentiles, _ = percentile_plots(ComparedTrials("latency", spoilt), sample[1], "01")
        some = "Of each system that has any the trials merged that are not INVALID."
        assert percentiles.reading == f"{some} INVALID: {PULSAR}."
        nothing = {
            one.spec.trial_id: replace(sample[1][one.spec.trial_id], histograms={})
            for one in spoilt
            if one.spec.system == PULSAR
        }
        of_kafka, _ = percentile_plots(ComparedTrials("latency", spoilt), {**sample[1], **nothing}, "01")
        assert of_kafka.reading == "", "Pulsar has no line, and Kafka's is of one trial"

    def test_a_day_takes_no_more_rows_than_an_hour_and_keeps_its_peaks_and_dips(self) -> None:
        row = {"second": 0, "from_mono_ns": 0, "until_mono_ns": 1, "phase": "measure", "response_p99_ms": 1.0}
        day = [{**row, "second": number, "subscriptions": []} for number in range(86_400)]
        day[50_000] = {**day[50_000], "response_p99_ms": 900.0}
        day[60_000] = {**day[60_000], "response_p99_ms": 0.1}
        day[7] = {**day[7], "response_p99_ms": None}
        kept = condense_rows(day, 3600)
        assert len(kept) == 3600
        assert [reduce(row["response_p99_ms"] for row in kept) for reduce in (min, max)] == [0.1, 900.0]
        assert [row["second"] for row in kept[:3]] == [0, 24, 48]
        assert condense_rows(day[:3600], 3600) == day[:3600]


class TestBars:
    def test_means_with_their_interval_or_range(self) -> None:
        made = [
            result(replace(spec(KAFKA, "peak", number, number), trial_id=f"{number:04d}-peak-kafka"), scale)
            for number, scale in ((1, 1.0), (2, 1.2), (3, 0.9))
        ]
        looped = [
            replace(one, spec=replace(one.spec, workload=replace(one.spec.workload, arrival=Arrival.CLOSED_LOOP)))
            for one in made
        ]
        (plot,) = throughput_bars(ComparedTrials("peak", tuple(looped)), "01")
        (bar,) = plot.series
        assert bar.y[0] == pytest.approx(123_456.7 * (1.2 * 0.9) ** (1 / 3))
        assert bar.low[0] < 0.9 * 123_456.7 < 1.2 * 123_456.7 < bar.high[0]  # of three trials little is sure
        (few,) = throughput_bars(ComparedTrials("peak", tuple(looped[:2])), "01")[0].series
        assert (few.low[0], few.high[0]) == pytest.approx((123_456.7, 1.2 * 123_456.7))

    def test_at_a_fixed_rate_there_are_none(self) -> None:
        assert throughput_bars(ComparedTrials("latency", (result(),)), "01") == []

    def test_a_goal_has_its_own_plot_with_the_bracket(self) -> None:
        goals = [
            {"goal": "no limit", "sustainable_msgs_per_s": 50.0, "lower_msgs_per_s": 48.0, "upper_msgs_per_s": 55.0},
            {"goal": "quick", "sustainable_msgs_per_s": None},
        ]
        finding = Finding("0001-max-throughput-kafka", "max-throughput", KAFKA, 0, True, (), (), {"goals": goals})
        (plot,) = sustainable_bars([finding], [], "01", SystemNames((KAFKA,)))
        assert (plot.series[0].low, plot.series[0].y, plot.series[0].high) == ((48.0,), (50.0,), (55.0,))
        assert plot.reading == "Bar: the confirmed rate; whisker: the bracket in which the search ended."

    def test_those_of_a_sweep_stand_at_their_points_and_are_never_merged_over_them(self) -> None:
        """The figures are those of a published table, whose bars were once all 307,200."""
        rates = {"1": (280_000.0, 605_000.0), "100": (605_000.0, 605_000.0), "2000": (40_000.0, 300_000.0)}
        findings = [
            found(system, rate, partitions=partitions, durability="2 bypass")
            for partitions, both in rates.items()
            for system, rate in zip((KAFKA, PULSAR), both, strict=True)
        ]
        names = SystemNames((KAFKA, PULSAR), {PULSAR: dict.fromkeys(map(point_of, findings), "bypass")})
        (plot,) = sustainable_bars(findings, [], "01", names)
        assert plot.x.names == ("1", "100", "2000")
        assert [(series.name, series.y) for series in plot.series] == [
            (KAFKA, (280_000.0, 605_000.0, 40_000.0)),
            (f"{PULSAR}, bypass", (605_000.0, 605_000.0, 300_000.0)),
        ]
        assert plot.title == "Sustainable rate by partitions, durability=2 bypass; goal: no limit"
        assert len({x for series in plot.series for x in series.x}) == 6

    def test_each_point_of_the_other_axes_has_its_own(self) -> None:
        findings = [found(KAFKA, 100.0 * int(n), partitions=n, durability=level) for n in "12" for level in "24"]
        plots = sustainable_bars(findings, [], "01", SystemNames((KAFKA,)))
        assert [plot.title.partition(" by ")[2] for plot in plots] == [
            "partitions, durability=2; goal: no limit",
            "partitions, durability=4; goal: no limit",
        ]
        assert [plot.series[0].y for plot in plots] == [(100.0, 200.0)] * 2

    def test_over_several_blocks_they_are_what_the_verdict_says_and_say_so(self) -> None:
        findings = [found(KAFKA, rate) for rate in (100.0, 400.0)]
        (plot,) = sustainable_bars(findings, [], "01", SystemNames((KAFKA,)))
        (bar,) = plot.series
        assert (*bar.low, *bar.y, *bar.high) == pytest.approx((100.0, 200.0, 400.0))
        assert plot.reading.startswith(
            "Bar: the confirmed rate, geometric mean of the blocks; whisker: its 95% interval"
        )

    def test_what_was_never_confirmed_has_no_bar_and_is_told(self) -> None:
        findings = [found(KAFKA, 100.0, partitions="1"), found(KAFKA, None, partitions="2")]
        (plot,) = sustainable_bars(findings, [], "01", SystemNames((KAFKA,)))
        assert plot.reading.endswith("No bar: no rate was confirmed.")
        assert sustainable_bars(findings[1:], [], "01", SystemNames((KAFKA,))) == []

    def test_over_several_blocks_no_whisker_is_a_bracket(self) -> None:
        """One picture has one kind of whisker: a system that was searched once only has none."""
        rate = {"sustainable_msgs_per_s": 50.0, "lower_msgs_per_s": 48.0, "upper_msgs_per_s": 55.0}
        bracket = {"goal": "no limit", **rate}
        once = replace(found(PULSAR, 50.0), details={"goals": [bracket]})
        (plot,) = sustainable_bars([*(found(KAFKA, rate) for rate in (100.0, 400.0)), once], [], "01", BOTH)
        assert [series.low for series in plot.series] == [(pytest.approx(100.0),), ()]

    def test_who_has_no_rate_is_named(self) -> None:
        (plot,) = sustainable_bars([found(KAFKA, 100.0), found(PULSAR, None)], [], "01", BOTH)
        assert plot.reading.endswith(f" No rate was confirmed of {PULSAR}.")

    def test_a_point_without_any_rate_keeps_its_place(self) -> None:
        rates = {"1": 100.0, "10": None, "100": 50.0}
        findings = [found(KAFKA, rate, partitions=partitions) for partitions, rate in rates.items()]
        (plot,) = sustainable_bars(findings, [], "01", BOTH)
        assert plot.x.names == ("1", "10", "100")
        assert plot.series[0].y == (100.0, None, 50.0)
        assert data_table(plot).rows[1] == ("10", "-")

    def test_a_system_that_moved_nothing_stands_beside_one_that_did(self) -> None:
        rates = ((KAFKA, 9.0), (PULSAR, 0.0))
        made = [replace(result(spec(system, "peak")), msgs_per_s=rate) for system, rate in rates]
        looped = [
            replace(one, spec=replace(one.spec, workload=replace(one.spec.workload, arrival=Arrival.CLOSED_LOOP)))
            for one in made
        ]
        (plot,) = throughput_bars(ComparedTrials("peak", tuple(looped)), "01")
        assert [series.y for series in plot.series] == [(9.0,), (0.0,)]
        assert throughput_bars(ComparedTrials("peak", tuple(looped[1:])), "01") == []


BOTH = SystemNames((KAFKA, PULSAR))


def found(system: str, rate: float | None, **point: str) -> Finding:
    """A search that ended with this rate, or without any."""
    goals = [{"goal": "no limit", "sustainable_msgs_per_s": rate}]
    return Finding("x", "max-throughput", system, 0, True, (), (), {"goals": goals}, point=point)


def point_of(finding: Finding) -> str:
    return point_words(finding.point)


class TestLoad:
    def test_loads_that_were_not_sustained_are_hollow(self, sample: Loaded) -> None:
        curves = [finding for finding in sample[0].findings if finding.experiment == "curve"]
        _, p99, _ = load_plots(curves, sample[0].results, "01")
        assert p99.series[0].hollow == (False,) * 10 + (True,)
        assert p99.series[0].notes[-1] == "not sustained (backlog)"

    def test_steps_of_a_search_in_order_with_what_came_of_them(self, sample: Loaded) -> None:
        searches = [finding for finding in sample[0].findings if finding.experiment == "max-throughput"]
        (plot,) = search_plots(searches, sample[0].results, "01")
        assert plot.series[0].y == (30_000.0, 45_000.0, 60_000.0, 52_000.0)
        assert plot.series[0].hollow == (False, True, False, False)
        assert plot.series[0].notes[1] == "INVALID"
        assert plot.series[0].notes[3] == "confirmation, sustained"

    def test_a_trial_with_loss_is_not_sustained(self) -> None:
        good = result()
        (one,) = good.subscriptions
        assert step_state(good) == "sustained"
        assert step_state(replace(good, subscriptions=(replace(one, lost=1),))).startswith("not sustained")


class TestDataTable:
    PLOT = Plot(
        "p",
        "title",
        "description",
        Axis("second", form=Form.SECOND),
        Axis("ms", form=Form.MS),
        (
            Series("a", "", (0.0, 1.0), (1.0, None), Mark.LINE, (0.5, 0.5), (2.0, 2.0)),
            Series("b", "x", (1.0,), (3.0,), notes=("doubt",)),
        ),
    )

    def test_a_column_for_each_series_and_gaps_marked(self) -> None:
        table = data_table(self.PLOT)
        assert table.heads == ("second", "a", "b, x")
        assert table.rows == (("0 s", "1.00 (0.500 to 2.00)", "-"), ("1 s", "-", "3.00 doubt"))

    def test_of_many_rows_it_says_how_many_are_left_out(self) -> None:
        many = Series("a", "", tuple(map(float, range(1000))), (1.0,) * 1000)
        table = data_table(replace(self.PLOT, series=(many,)))
        assert len(table.rows) <= 60
        assert table.left_out == 1000 - len(table.rows)

    def test_what_stands_at_one_place_is_listed_there_and_limits_have_theirs(self) -> None:
        trials = Series("a", "each trial", (5.0, 5.0), (1.0, 2.0), Mark.POINTS, minor=True)
        limit = Series("a", "peak", (9.0,), (None,), Mark.LIMITS, (8.0,), (10.0,))
        plot = replace(self.PLOT, x=Axis("msg/s", form=Form.COUNT), series=(trials, limit))
        assert data_table(plot).rows == (("5", "1.00, 2.00", "-"), ("9", "-", "9 (8 to 10)"))

    def test_seconds_of_trials_that_do_not_begin_at_one_instant_share_rows(self) -> None:
        pair = tuple(Series(name, "", (shift, 1 + shift), (1.0, 2.0)) for name, shift in (("a", 0.0), ("b", -0.02)))
        assert [row[0] for row in data_table(replace(self.PLOT, series=pair)).rows] == ["0 s", "1 s"]

    def test_every_plot_of_a_run_has_a_name_of_its_own(self, sample: Loaded) -> None:
        names = [plot.plot_id for section in sections(*sample) for plot in section.plots]
        assert len(names) == len(set(names)) > 25


def test_each_host_of_a_fleet_has_a_chart(sample: Loaded) -> None:
    _, details = sample
    block = block_of(sample, "latency")
    assert not [chart for chart in used_charts(block, details) if chart.name.startswith("host-cpu-")]
    one = block.loads[0].spec.trial_id
    rows = [
        {
            "from_mono_ns": second * 10**9,
            "until_mono_ns": (second + 1) * 10**9,
            "host_cpu_percent of 10.0.0.2": 40.0 + second,
            "host_cpu_percent": 1.0,
        }
        for second in range(5)
    ]
    followed = {**details, one: replace(details[one], use=tuple(rows))}
    (chart,) = [chart for chart in used_charts(block, followed) if chart.name.startswith("host-cpu-")]
    (plot,) = timelines(block, followed, "01", (chart,))
    assert plot.title == "CPU of 10.0.0.2"
    assert max(value for value in plot.series[0].y if value is not None) == 44.0


def test_each_of_several_disks_has_a_chart_and_so_has_what_servers_report(sample: Loaded) -> None:
    _, details = sample
    block = block_of(sample, "latency")
    one = next(load.spec for load in block.loads if load.spec.system.startswith("pulsar")).trial_id
    span = {"from_mono_ns": 0, "until_mono_ns": 10**9}
    use = {**span, "disk_written_bytes of vdb": 5e6, "disk_written_bytes of vdc": 7e6, "server_cpu_s": 1.0}
    metrics = {
        **span,
        "journal_queue_entries of bookie-1": 5.0,
        "journal_queue_entries of bookie-2": 12.0,
        "journal_sync_ms of bookie-1": 3.0,
    }
    followed = {**details, one: replace(details[one], use=(use,), metrics=(metrics,))}
    by_title = {plot.title: plot for plot in timelines(block, followed, "01", used_charts(block, followed))}
    assert max_of(by_title["Written to vdc"]) == 7.0
    assert max_of(by_title["Entries waiting for the journal"]) == 12.0
    reasons = {chart.title for chart in reason_charts(block, followed)}
    assert {"Written to vdb", "Written to vdc", "Entries waiting for the journal", "Received over time"} <= reasons
    assert "Mean time of such a sync" not in reasons and "GC pauses of the servers" not in reasons


def max_of(plot: Plot) -> float:
    return max(value for series in plot.series for value in series.y if value is not None)


def test_hosts_stand_in_the_order_of_their_numbers() -> None:
    run, details = run_named("one-system")
    (block,) = sort_compared_trials(run.results)
    use = {f"{kind} of 10.0.0.{number}": 1.0 for kind in ("host_cpu_percent", "sent_bytes_per_s") for number in (10, 9)}
    charts = used_charts(block, with_rows(details, use=lambda row: use_row(row) | use))
    titles = [chart.title for chart in charts if "10.0.0." in chart.title]
    assert titles == ["CPU of 10.0.0.9", "CPU of 10.0.0.10", "Sent by 10.0.0.9", "Sent by 10.0.0.10"]
