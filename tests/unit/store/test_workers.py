"""What each of several load generators saw stays in the run's directory; of one alone there is nothing more."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
from run_samples import result, second, spec, totals
from worker_samples import second_of_several, several, totals_of_several, worker_second

from tidegauge import store
from tidegauge.statistics.histograms import decode_histogram
from tidegauge.store.hlog import each_interval
from tidegauge.store.seconds import WORKER_COLUMNS, WORKER_KINDS, WORKERS, worker_rows_of
from tidegauge.store.tables import read_table

COLUMNS = (Path(__file__).resolve().parents[3] / "docs/tables/columns.md").read_text()


def trial_of(tmp_path: Path) -> store.TrialStore:
    return store.create_run(tmp_path, "quick", "").open_trial(spec())


def test_each_second_of_each_is_a_row_with_the_columns_of_the_seconds(tmp_path: Path) -> None:
    trial = trial_of(tmp_path)
    for number in range(2):
        trial.append_second(second_of_several(number), "measure")
    growing = list(read_table(trial.directory, WORKERS, WORKER_KINDS))
    trial.finish(several(), totals_of_several())
    rows = list(read_table(trial.directory, WORKERS, WORKER_KINDS))
    assert [(row["second"], row["worker"]) for row in rows] == [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3)]
    assert [row["acked_msgs"] for row in rows[:3]] == [6_601, 6_602, 6_603]
    assert rows[1] == {
        "second": 0, "from_mono_ns": 5_000_000_000, "until_mono_ns": 6_000_000_000, "worker": 2,
        "scheduled_msgs_per_s": 6_666.7, "sent_msgs": 6_660, "acked_msgs": 6_602, "received_msgs": 5_000,
        "own_lag_max_ms": 2.0, "worker_cpu_s": 0.13, "gc_pause_s": 0.001, "heap_used_bytes": 30_000_000,
        "busiest_consumer": worker_second(2).busiest_consumer, "busiest_consumer_busy_s": 0.1, "jit_s": 0.01,
        "phase": "measure",
    }  # fmt: skip
    assert growing == rows
    assert {path.name for path in trial.directory.glob("workers*")} == {"workers.parquet", "workers.hlog"}
    schema = pq.read_schema(trial.directory / "workers.parquet")
    assert schema.metadata[b"tidegauge.schema"] == b"tidegauge.workers/1"
    assert schema.names == list(WORKER_COLUMNS)


def test_rows_of_a_trial_that_is_gone_on_with_are_written_anew(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "quick", "")
    run.open_trial(spec()).append_second(second_of_several(0))
    run.finish("interrupted")
    again = store.resume_run(run.path).reopen_trial(spec())
    again.append_second(second_of_several(0))
    again.finish(several(), totals_of_several())
    assert [row["worker"] for row in read_table(again.directory, WORKERS, WORKER_KINDS)] == [1, 2, 3]


def test_the_windows_of_each_are_an_interval_log(tmp_path: Path) -> None:
    trial = trial_of(tmp_path)
    trial.finish(several(), totals_of_several())
    found = {interval.tag: interval.histogram for interval in each_interval(trial.directory / "workers.hlog")}
    tags = ("response", "service", "delay", "own-lag", "end-to-end/sub-0")
    assert list(found) == [f"worker-{number}/{tag}" for number in (1, 2, 3) for tag in tags]
    whole = {interval.tag: interval.histogram for interval in each_interval(trial.directory / "window.hlog")}
    assert list(whole) == list(tags)
    response = found["worker-2/response"]
    assert response.percentiles_ns(50, 100) == decode_histogram(totals().window.response).percentiles_ns(50, 100)
    assert whole["response"].count == 3 * response.count


def test_totals_and_results_of_each_are_in_the_result(tmp_path: Path) -> None:
    trial = trial_of(tmp_path)
    trial.finish(several(), totals_of_several())
    content = json.loads((trial.directory / "result.json").read_text())
    assert [worker["started_mono_ns"] for worker in content["totals"]["workers"]] == [7, 7, 7]
    assert [worker["stopped_mono_ns"] for worker in content["totals"]["workers"]] == [9, 9, 9]
    (read,) = store.load_run(tmp_path / trial.directory.parents[1].name).results
    assert read == several()


def test_of_one_alone_nothing_more_is_written(tmp_path: Path) -> None:
    trial = trial_of(tmp_path)
    trial.append_second(second())
    trial.finish(result(), totals())
    assert not list(trial.directory.glob("workers*"))
    assert list(read_table(trial.directory, WORKERS, WORKER_KINDS)) == []


def test_a_trial_without_a_result_keeps_them(tmp_path: Path) -> None:
    trial = trial_of(tmp_path)
    trial.append_second(second_of_several())
    trial.fail("Load generator 2 of 3 was killed by signal 9.", interrupted=False)
    assert [row["worker"] for row in list(read_table(trial.directory, WORKERS, WORKER_KINDS))] == [1, 2, 3]


def test_rows_of_the_newest_second_are_read_while_it_goes(tmp_path: Path) -> None:
    trial = trial_of(tmp_path)
    assert worker_rows_of(trial.directory, 0) == []
    for number in range(2):
        trial.append_second(second_of_several(number))
    assert [row["worker"] for row in worker_rows_of(trial.directory, 1)] == [1, 2, 3]
    assert worker_rows_of(trial.directory, 2) == []


def test_the_table_is_documented() -> None:
    (sentence,) = re.findall(r"^### workers\.parquet\n\n.*?\n\n", COLUMNS, re.DOTALL | re.MULTILINE)
    assert [name for name in WORKER_COLUMNS if f"`{name}`" not in sentence] == []
