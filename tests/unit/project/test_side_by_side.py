"""`benchmarks/generator.py`: what it reads of others' output, the arithmetic of its tables, and its marks."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

import generator
from side_by_side import contenders, omb, perf_tools, stage, table
from side_by_side.perf_tools import Mark, Records, Span
from side_by_side.rows import ALL, BARE, BY_NAME, KAFKA_TOOLS, OMB, TIDEGAUGE, turns
from side_by_side.table import Measured, RowResult

from tidegauge.errors import RunFailedError
from tidegauge.model.server import Setting
from tidegauge.model.use import HostUse, ProcessUse, Sample

PRODUCER_LOG = """\
Warmup first 40000 records. Steady state results will print after the complete test summary.
1066 records sent, 1062.8 records/sec (1.04 MB/sec), 375.7 ms avg latency, 649.0 ms max latency.
In steady state.
1 records sent, 0.3 records/sec (0.00 MB/sec), 3662.0 ms avg latency, 3662.0 ms max latency.
8210 records sent, 8185.4 records/sec (7.99 MB/sec), 3449.5 ms avg latency, 3725.0 ms max latency.
8655 records sent, 8646.4 records/sec (8.44 MB/sec), 3195.7 ms avg latency, 3370.0 ms max latency.
"""
SUMMARY = """\
100000 records sent, 5036.007453 records/sec (4.92 MB/sec), 4827.08 ms avg latency, 7854.00 ms max latency, \
4296 ms 50th, 7635 ms 95th, 7759 ms 99th, 7849 ms 99.9th.
60000 steady state records sent, 4081.077404 records/sec (3.99 MB/sec), 4896.19 ms avg latency, 7854.00 ms max \
latency, 4005 ms 50th, 7666 ms 95th, 7811 ms 99th, 7853 ms 99.9th.
"""
CONSUMER_LOG = """\
time, threadId, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms
2026-11-23 01:10:58:528, 0, 0.0010, 0.0002, 1, 0.2107, 807, 3939, 0.0002, 0.2539
2026-11-23 01:10:59:537, 0, 1.9932, 1.9744, 2041, 2021.8038, 0, 1009, 1.9744, 2021.8038
"""
FULL, RATE = BY_NAME["full-1"], BY_NAME["rate-20k"]
S = 1_000_000_000


def test_a_producers_lines_count_from_the_end_of_its_warm_up() -> None:
    assert perf_tools.produced(PRODUCER_LOG) == (3, 1 + 8210 + 8655)
    assert perf_tools.produced(PRODUCER_LOG.split(perf_tools.STEADY, maxsplit=1)[0]) == (0, 0)


def test_neither_a_summary_nor_half_a_line_is_taken_for_an_interval() -> None:
    half = "3480 records sent, 3473.1 records/sec (3.39 MB/sec), 7614.7 ms avg lat"
    assert perf_tools.produced(PRODUCER_LOG + SUMMARY + half) == perf_tools.produced(PRODUCER_LOG)


def test_percentiles_are_those_of_the_steady_state() -> None:
    assert perf_tools.steady_percentiles_ms(PRODUCER_LOG) == {}
    assert perf_tools.steady_percentiles_ms(PRODUCER_LOG + SUMMARY) == {
        "p50": 4005.0,
        "p95": 7666.0,
        "p99": 7811.0,
        "p999": 7853.0,
    }


def test_a_consumers_lines_hold_the_total() -> None:
    assert perf_tools.consumed(CONSUMER_LOG) == (2, 2041)
    assert perf_tools.consumed(CONSUMER_LOG.splitlines()[0]) == (0, 0)


def test_a_span_goes_from_the_first_line_in_the_window_to_the_first_after_it() -> None:
    marks = [Mark(n * S, 100 * n, 0.5 * n) for n in range(1, 8)]
    assert perf_tools.span(marks, 2 * S, 5 * S) == Span(3.0, 300, 1.5)
    assert perf_tools.span(marks, 2 * S, 50 * S) == Span(5.0, 500, 2.5)
    assert perf_tools.span(marks, 7 * S, 9 * S) is None


def test_cpu_of_several_processes_is_what_all_of_them_used_for_what_all_of_them_did() -> None:
    one, other = Span(10.0, 1_000_000, 4.0), Span(20.0, 1_000_000, 4.0)
    # 0.4 and 0.2 CPUs for 100,000 and 50,000 messages a second.
    assert perf_tools.cpu_s_per_million([one, other]) == pytest.approx(4.0)
    assert perf_tools.cpu_s_per_million([Span(1.0, 0, 1.0)]) is None


def test_kafkas_producers_are_set_as_tidegauges_are_and_share_its_rate() -> None:
    settings = [Setting("producer", "acks", "-1"), Setting("producer", "linger.ms", "1"), Setting("consumer", "x", "y")]
    row = BY_NAME["full-16"]
    arguments = perf_tools.producer_arguments(row, "here:1", "topic", Records(10, 5), settings)
    assert arguments[arguments.index("--command-property") + 1 :] == ("acks=-1", "linger.ms=1")
    assert arguments[arguments.index("--throughput") + 1] == "-1"
    arguments = perf_tools.producer_arguments(RATE, "here:1", "topic", Records(10, 5), settings)
    assert arguments[arguments.index("--throughput") + 1] == "20000"


OMB_LOG = """\
07:28:01.123 [main] INFO WorkloadGenerator - ----- Starting warm-up traffic (2m) ------
07:28:11.456 [main] INFO WorkloadGenerator - Pub rate 20004.9 msg/s / 19.5 MB/s | Pub err     0.0 err/s | Cons rate \
20004.7 msg/s / 19.5 MB/s | Backlog:  0.0 K | Pub Latency (ms) avg:  2.3 - 50%:  1.1 - 99%: 30.2 - 99.9%: 88.0 - \
Max: 120.1 | Pub Delay Latency (us) avg: 91.5 - 50%: 69.0 - 99%: 544.0 - 99.9%: 2586.0 - Max: 5000.0
"""


def test_omb_says_rate_service_and_delay_in_each_of_its_whole_lines() -> None:
    half = OMB_LOG.splitlines()[1][:-9]
    line, *more = omb.read_interval_lines(OMB_LOG + half)
    assert not more
    assert line.msgs_per_s == 20004.9
    assert line.figures == {
        **{"service_ms_p50": 1.1, "service_ms_p99": 30.2, "service_ms_p999": 88.0},
        **{"delay_us_p50": 69.0, "delay_us_p99": 544.0, "delay_us_p999": 2586.0},
    }


def test_ombs_clients_are_set_as_tidegauges_are_and_its_load_lasts_long_enough() -> None:
    settings = [Setting("producer", "acks", "-1"), Setting("producer", "linger.ms", "1"), Setting("consumer", "x", "y")]
    driver = json.loads(omb.driver_file("here:1", settings, {"min.insync.replicas": "1"}))
    assert driver["producerConfig"] == "acks=-1\nlinger.ms=1\n"
    assert driver["topicConfig"] == "min.insync.replicas=1\n"
    workload = json.loads(omb.workload_file(RATE, 100, "/payload"))
    assert (workload["producerRate"], workload["messageSize"], workload["warmupDurationMinutes"]) == (20_000, 1024, 3)
    assert (omb.count_interval_lines(10), omb.count_interval_lines(11)) == (1, 2)


def test_omb_takes_its_turn_where_it_is_named_and_there_is_a_rate(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "benchmark.jar").touch()
    with_it = generator.parse(["--omb", str(tmp_path)]).rows
    assert {row.name for row in with_it if OMB in row.contenders} == {"rate-20k", "rate-100k", "rate-500k"}
    assert not any(OMB in row.contenders for row in generator.parse([]).rows)


def test_what_the_bare_loop_prints_becomes_figures() -> None:
    line = "figures from_ns=1000000000 until_ns=3000000000 messages=500000 cpu_ns=1500000000 gc_ns=20000000 \n"
    found = contenders.bare_figures(f"bare loop, bytes 1024: 250,000 msg/s\n{line}")
    assert found["kmsgs_per_s"] == pytest.approx(250.0)
    assert found["cpu_s_per_million"] == pytest.approx(3.0)
    assert found["gc_percent"] == pytest.approx(1.0)
    assert contenders.bare_figures(line.replace(" messages", " [bare-consumer-0] INFO messages")) == found
    with pytest.raises(RunFailedError, match="no message"):
        contenders.bare_figures("Exception in thread main")
    with pytest.raises(RunFailedError, match="no message"):
        contenders.bare_figures(line.replace("500000 ", "0 "))


def test_what_the_engines_bench_prints_becomes_figures() -> None:
    log = (
        "bytes 1024 topics 2 producers 1: 7,012,345 msg/s, 0.299 CPU-s per million, 2.10 CPUs, RSS 330 MB\n"
        "  intended 70, gc pause 20.0 ms, cpu wait 1.0 ms, errors []\n"
    )
    found = contenders.engine_figures(log, 4.0)
    assert found["kmsgs_per_s"] == pytest.approx(7012.345)
    assert found["cpu_s_per_million"] == pytest.approx(0.299)
    assert found["gc_percent"] == pytest.approx(0.5)
    with pytest.raises(RunFailedError):
        contenders.engine_figures("Killed", 4.0)


def measured(contender: str, cpu: list[float], row: str = "full-1", **more: float) -> list[Measured]:
    return [
        Measured(row, contender, number, {"cpu_s_per_million": value, **more}) for number, value in enumerate(cpu, 1)
    ]


def test_a_figure_is_the_median_of_the_rounds_with_its_range() -> None:
    found = table.of(measured(TIDEGAUGE, [4.9, 4.12, 4.02]), TIDEGAUGE, "cpu_s_per_million")
    assert found is not None
    assert str(found) == "4.12 (4.02 to 4.90)"
    assert str(table.spread([4.12])) == "4.12"
    assert table.of([], TIDEGAUGE, "cpu_s_per_million") is None


def test_a_ratio_is_taken_round_by_round() -> None:
    # The second round was slow for both: neither side's median over the other's would say 0.8 to 1.
    both = [*measured(TIDEGAUGE, [4.0, 8.0, 5.0]), *measured(BARE, [5.0, 10.0, 5.0])]
    found = table.ratio(both, TIDEGAUGE, BARE)
    assert found is not None
    assert (found.median, found.lowest, found.highest) == pytest.approx((0.8, 0.8, 1.0))


def test_a_round_that_one_side_failed_is_in_no_ratio() -> None:
    failed = Measured("full-1", BARE, 1, problem="gone")
    found = table.ratio([*measured(TIDEGAUGE, [4.0, 6.0]), failed, *measured(BARE, [0, 3.0])[1:]], TIDEGAUGE, BARE)
    assert found is not None
    assert found.values == (2.0,)
    assert table.ratio(measured(TIDEGAUGE, [4.0]), TIDEGAUGE, BARE) is None


def test_a_row_is_too_small_for_fewer_cpus_than_busy_threads() -> None:
    calm = measured(TIDEGAUGE, [4.0], host_cpu_percent=50.0)
    assert FULL.busy_threads == 5
    assert table.too_small_for(FULL, TIDEGAUGE, calm, 4) == ["5 busy threads on 4 CPUs"]
    assert table.too_small_for(FULL, TIDEGAUGE, calm, 5) == []
    assert table.too_small_for(RATE, TIDEGAUGE, calm, 1) == []


def test_a_row_is_too_small_where_cpus_were_busy() -> None:
    busy = measured(TIDEGAUGE, [4.0], host_cpu_percent=91.0)
    assert table.too_small_for(RATE, TIDEGAUGE, busy, 16) == ["91 % of the CPUs busy (more than 90 %)"]
    assert table.too_small_for(RATE, TIDEGAUGE, measured(TIDEGAUGE, [4.0], host_cpu_percent=89.0), 16) == []


def test_cpus_that_other_work_took_say_nothing_of_the_machines_size() -> None:
    busy = measured(TIDEGAUGE, [4.0], host_cpu_percent=99.0, other_cpus=1.0)
    assert table.too_small_for(RATE, TIDEGAUGE, busy, 2) == []
    assert table.doubts_about(RATE, TIDEGAUGE, busy, 2) == ["other work took 1.00 of 2 CPUs, of which 99 % were busy"]
    assert table.too_small_for(FULL, TIDEGAUGE, busy, 2) == ["5 busy threads on 2 CPUs"]


def test_the_engine_needs_as_many_cpus_as_it_has_threads() -> None:
    row = BY_NAME["engine"]
    assert table.too_small_for(row, "1 thread", [], 2) == []
    assert table.too_small_for(row, "2 threads", [], 2) == []
    assert table.too_small_for(row, "8 threads", [], 2) == ["8 busy threads on 2 CPUs"]


def test_a_rate_that_was_not_reached_and_other_work_are_doubts() -> None:
    short = measured(BARE, [4.0], kmsgs_per_s=19.5, other_cpus=0.1)
    assert table.doubts_about(RATE, BARE, short, 2) == ["19,500 instead of 20,000 msg/s"]
    assert table.doubts_about(RATE, BARE, measured(BARE, [4.0], kmsgs_per_s=19.7), 2) == []
    late = measured(BARE, [4.0], kmsgs_per_s=24.7)
    assert table.doubts_about(RATE, BARE, late, 2) == ["24,700 instead of 20,000 msg/s"]
    assert table.doubts_about(FULL, BARE, short, 2) == []
    others = measured(BARE, [4.0], kmsgs_per_s=20.0, other_cpus=0.3)
    assert table.doubts_about(RATE, BARE, others, 2) == ["other work took 0.30 of 2 CPUs"]
    assert table.doubts_about(RATE, BARE, others, 16) == []
    failed = [Measured("rate-20k", BARE, 2, problem="it ended")]
    assert table.doubts_about(RATE, BARE, failed, 16) == ["round 2: it ended"]


def whole_row() -> RowResult:
    keys = dict.fromkeys(table.FIGURES, 12_345.678)
    rounds = [
        Measured("full-1", name, number, {key: value * number for key, value in keys.items()})
        for name in ALL
        for number in (1, 2, 3)
    ]
    return RowResult(FULL, tuple(rounds), 2)


def test_tables_fit_and_marks_stand_at_title_head_and_foot() -> None:
    shown = table.text([whole_row()])
    assert max(map(len, shown.splitlines())) <= table.WIDTH
    assert f"{FULL.title} [TOO SMALL A MACHINE]" in shown
    assert "Tidegauge (!)" in shown
    assert "(!) TOO SMALL A MACHINE: 5 busy threads on 2 CPUs (Tidegauge, bare loop, Kafka's tools)." in shown


def test_a_machine_that_is_large_enough_has_no_mark() -> None:
    result = RowResult(FULL, tuple(measured(TIDEGAUGE, [4.0, 5.0], host_cpu_percent=40.0, other_cpus=0.1)), 16)
    for shown in (table.text([result]), table.markdown([result], {})):
        assert "(!)" not in shown
        assert "TOO SMALL" not in shown
        assert "4.50 (4.00 to 5.00)" in shown


def test_what_a_contender_does_not_know_is_a_dash_and_what_nobody_knows_is_left_out() -> None:
    rounds = (*measured(TIDEGAUGE, [4.0], delay_us_p50=0.1), *measured(BARE, [5.0]))
    lines = {label: cells for label, *cells in RowResult(FULL, rounds, 16).lines(ALL)}
    assert lines["schedule delay p50, us"] == ["0.100", "-", "-"]
    assert "peak RSS, MB" not in lines


def test_markdown_and_json_hold_the_same() -> None:
    result = whole_row()
    assert "| client CPU-s per million | 24,691 (12,346 to 37,037) |" in table.markdown([result], {"machine": "small"})
    plain = json.loads(json.dumps(table.as_json([result], {}, False)))
    (row,) = plain["rows"]
    assert row["contenders"][BARE]["cpu_s_per_million"]["median"] == pytest.approx(24_691.356)
    assert row["ratios"]["CPU per million, Tidegauge / bare loop"]["values"] == [1.0, 1.0, 1.0]
    assert row["too_small"][TIDEGAUGE] == ["5 busy threads on 2 CPUs"]


def test_contenders_take_turns() -> None:
    assert [turns(FULL, number) for number in (1, 2, 3, 4)] == [
        (TIDEGAUGE, BARE, KAFKA_TOOLS),
        (BARE, KAFKA_TOOLS, TIDEGAUGE),
        (KAFKA_TOOLS, TIDEGAUGE, BARE),
        (TIDEGAUGE, BARE, KAFKA_TOOLS),
    ]


def use_of(name: str, cpu_s: float, cpus_allowed: float = 4.0, gc_pause_s: float | None = None) -> ProcessUse:
    return ProcessUse(name, 1, 1, cpu_s, 0.0, (), 0, 0, 0, 0, cpus_allowed, gc_pause_s=gc_pause_s)


def look(second: int, host_cpu_s: float, *processes: ProcessUse) -> Sample:
    host = HostUse(4, host_cpu_s, *[0.0] * 3, *[0] * 9)  # type: ignore[arg-type]
    return Sample(second + 1, second * S, (second + 1) * S, host, processes, (), 0.0)


def test_use_is_that_of_the_window_and_others_is_what_is_left() -> None:
    looks = [
        look(0, 4.0, use_of("kafka-1", 4.0)),
        look(1, 3.0, use_of("kafka-1", 0.5), use_of("producer-0", 1.0, gc_pause_s=0.1)),
        look(2, 3.0, use_of("kafka-1", 1.5), use_of("producer-0", 1.0, gc_pause_s=0.3)),
    ]
    found = stage.use_between(looks, S, 3 * S, ("kafka-1",), ("producer-0",))
    assert found == pytest.approx({"host_cpu_percent": 75.0, "other_cpus": 1.0, "server_cpus": 1.0, "gc_percent": 20.0})
    assert stage.use_between(looks, 5 * S, 6 * S, ("kafka-1",), ()) == {}


def test_cpus_are_those_that_a_cgroup_leaves() -> None:
    looks = [look(0, 1.0, use_of("kafka-1", 0.95, cpus_allowed=1.0))]
    assert stage.use_between(looks, 0, S, ("kafka-1",), ())["host_cpu_percent"] == pytest.approx(95.0)


def test_the_time_left_follows_what_measurements_really_take() -> None:
    pace = generator.Pace([FULL], 1, stage.Timing(10.0, 10.0))
    assert pace.left() == "about 1 min 29 s left"
    pace.done(TIDEGAUGE, 56.0)
    assert pace.left() == "about 2 min 2 s left"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rows", "full-2"], "full-16"),
        (["--rounds", "0"], "'0' is no whole number of 1 or more"),
        (["--seconds", "x"], "'x' is no whole number"),
        (["--json", "/nowhere/at/all.json"], "does not exist"),
        (["--omb", "nowhere"], "has no jars in lib/"),
    ],
)
def test_a_wrong_command_line_says_what_is_right(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        generator.parse(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_short_is_one_round_unless_more_is_asked_for() -> None:
    assert generator.parse(["--short"]).rounds == 1
    assert generator.parse(["--short"]).timing == generator.SHORT
    assert generator.parse(["--short", "--rounds", "2", "--seconds", "4"]).rounds == 2
    assert generator.parse([]).timing == stage.Timing(10.0, 10.0)
    assert [row.name for row in generator.parse([]).rows] == list(BY_NAME)
