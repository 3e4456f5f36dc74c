"""Interval logs: the HdrHistogram tools read them back."""

from __future__ import annotations

import base64
import subprocess
import zlib
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from run_samples import encoded, result, second, spec, totals

from tidegauge import store
from tidegauge.distribution.java import find_java
from tidegauge.store.hlog import IntervalLog
from tidegauge.store.seconds import percentile_columns
from tidegauge.worker.archive import worker_class_path


def _read(path: Path) -> list[HdrHistogram]:
    reader = HistogramLogReader(str(path), HdrHistogram(1, 3_600_000_000_000, 3))
    found = []
    while (histogram := reader.get_next_interval_histogram()) is not None:
        found.append(histogram)
    reader.close()
    return found


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    made = store.create_run(tmp_path, "q", "").open_trial(spec())
    for number in range(3):
        made.append_second(second(number))
    made.finish(result(), totals())
    return made.directory


def test_response_reads_back_interval_by_interval(trial: Path) -> None:
    intervals = _read(trial / "response.hlog")
    assert [interval.get_total_count() for interval in intervals] == [3, 3, 3]
    assert intervals[0].get_value_at_percentile(100) == pytest.approx(37_000_000, rel=0.001)
    starts_ms = [interval.get_start_time_stamp() for interval in intervals]
    assert starts_ms[2] - starts_ms[0] == pytest.approx(2000, abs=1)
    assert intervals[1].get_end_time_stamp() - starts_ms[1] == pytest.approx(1000, abs=1)


def test_each_log_holds_its_own_series(trial: Path) -> None:
    largest_ns = {name: _read(trial / f"{name}.hlog")[0].get_max_value() for name in ("response", "service", "delay")}
    assert largest_ns == pytest.approx({"response": 37_000_000, "service": 1_900_000, "delay": 1_000}, rel=0.001)


def test_times_of_a_row_are_in_the_unit_of_its_column(trial: Path) -> None:
    row = store.read_seconds(trial)[0]
    times = {name: row[name] for name in ("blocked_s", "own_lag_max_ms", "worker_cpu_s", "gc_pause_s")}
    assert times == {"blocked_s": 0.0015, "own_lag_max_ms": 2.0, "worker_cpu_s": 0.4, "gc_pause_s": 0.001}


def test_end_to_end_and_window_are_tagged(trial: Path) -> None:
    assert [interval.get_tag() for interval in _read(trial / "end-to-end.hlog")] == ["sub-0", "sub-1"] * 3
    tags = [interval.get_tag() for interval in _read(trial / "window.hlog")]
    assert tags == ["response", "service", "delay", "own-lag", "end-to-end/sub-0"]


def test_the_form_is_that_of_the_reference_writer(trial: Path) -> None:
    lines = (trial / "end-to-end.hlog").read_text().splitlines()
    assert lines[0] == "#[Histogram log format version 1.3]"
    assert lines[1].startswith("#[StartTime: ")
    assert lines[2].startswith("#[BaseTime: ")
    assert lines[3] == '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'
    tag, start, length, largest_ms, payload = lines[6].split(",")
    assert (tag, start, length) == ("Tag=sub-0", "1.000", "1.000")
    assert float(largest_ms) == pytest.approx(5.0, rel=0.001)
    assert payload.startswith("HIST")


def test_the_quantiles_of_a_second_are_those_of_its_samples() -> None:
    found = percentile_columns("delay", encoded(*(number * 1_000_000 for number in range(1, 1001))))
    assert found == pytest.approx({"delay_p50_ms": 500, "delay_p99_ms": 990, "delay_max_ms": 1000}, rel=1e-3)
    nothing = {"delay_p50_ms": None, "delay_p99_ms": None, "delay_max_ms": None}
    assert percentile_columns("delay", b"") == percentile_columns("delay", encoded()) == nothing


def test_nothing_recorded_leaves_no_line(tmp_path: Path) -> None:
    log = IntervalLog(tmp_path / "x.hlog")
    log.append(b"", 0, 1)
    log.close()
    assert not (tmp_path / "x.hlog").exists()
    log.append(encoded(), 0, 1_000_000_000)
    log.append(encoded(5), 1_000_000_000, 2_000_000_000)
    log.close()
    assert [interval.get_total_count() for interval in _read(tmp_path / "x.hlog")] == [0, 1]


def test_a_maximum_that_is_known_is_not_decoded_again(tmp_path: Path) -> None:
    log = IntervalLog(tmp_path / "x.hlog")
    log.append(encoded(37_000_000), 0, 1)
    log.append(encoded(37_000_000), 0, 1, max_ms=percentile_columns("delay", encoded(37_000_000))["delay_max_ms"])
    log.append(encoded(37_000_000), 0, 1, max_ms=5.0)
    log.close()
    first, second_line, third = (tmp_path / "x.hlog").read_text().splitlines()[4:]
    assert first == second_line
    assert third.split(",")[2] == "5.000"


def test_what_a_worker_left_uncompressed_is_written_compressed(tmp_path: Path) -> None:
    left = zlib.compress(zlib.decompress(encoded(5)[8:]), level=0)
    log = IntervalLog(tmp_path / "x.hlog")
    log.append(encoded(5)[:4] + len(left).to_bytes(4, "big") + left, 0, 1_000_000_000)
    log.close()
    (line,) = (tmp_path / "x.hlog").read_text().splitlines()[4:]
    assert base64.b64decode(line.split(",")[3])[8:10] == b"\x78\x9c"
    assert [histogram.get_max_value() for histogram in _read(tmp_path / "x.hlog")] == [5]


def test_an_encoding_without_its_frame_is_refused(tmp_path: Path) -> None:
    log = IntervalLog(tmp_path / "x.hlog")
    with pytest.raises(ValueError, match="not an encoded histogram"):
        log.append(encoded(5)[8:], 0, 1_000_000_000)
    log.append(encoded(5), 1_000_000_000, 2_000_000_000)
    log.close()
    assert len(_read(tmp_path / "x.hlog")) == 1


def test_the_java_log_processor_reads_it(trial: Path) -> None:
    (jar,) = (path for path in worker_class_path("null") if path.name.startswith("HdrHistogram-"))
    java = find_java("A test", 17).executable
    command = [java, "-cp", jar, "org.HdrHistogram.HistogramLogProcessor", "-i", str(trial / "end-to-end.hlog")]
    done = subprocess.run([*command, "-tag", "sub-1"], capture_output=True, text=True, check=True)
    assert "9.0" in done.stdout, done.stdout
    assert "Exception" not in done.stderr
