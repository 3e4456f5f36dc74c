"""A run's directory: what is written, that it reads back, and that it does so at every moment."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from patience import wait_for
from reasons import reasons_of
from run_samples import result, second, spec, totals

from tidegauge import store
from tidegauge.cli.resuming import recorded_of
from tidegauge.errors import RunFailedError, UserError
from tidegauge.hosts.procfs import read_stat
from tidegauge.model.load import WorkerFacts
from tidegauge.model.server import Distribution, Setting
from tidegauge.model.variant import SAME_WITHIN, SameWithin, Variant
from tidegauge.store import files, tables
from tidegauge.store.files import Writer, may_be_alive, this_writer
from tidegauge.store.telemetry import METRICS, MetricRow, read_telemetry


def _whole_run(runs: Path) -> store.RunStore:
    run = store.create_run(runs, "quick", "systems: [kafka]\r\n", "campaigns/quick.yaml")
    run.write_plan([spec(), spec("pulsar@4.2.4", number=2)])
    run.write_environment({"kernel": "6.1", "jdks": {"/usr/lib/jvm/x": "25"}})
    trial = run.open_trial(spec())
    (trial.data_directory / "segment.log").write_bytes(b"x")
    trial.write_distribution(
        Distribution("kafka", "4.3.1", Path("/cache"), Path("/jvm"), "25", "ab" * 32, "maven central")
    )
    trial.write_settings(
        [Setting("broker 1", "flush.messages", "1", False)],
        [Setting("producer", "acks", "all")],
        ["-Xmx1g"],
        WorkerFacts(7, "1", "25.0.2", "/jvm", ("-Xmx256m",), 256 << 20, {"kafka": "4.3.1"}),
    )
    for number in range(3):
        trial.append_second(second(number))
    trial.write_page_cache(False, "needs root")
    trial.finish(result(warnings=reasons_of("one")), totals())
    run.finish("finished")
    return run


def test_whether_the_page_cache_was_dropped_is_disclosed(tmp_path: Path) -> None:
    run = _whole_run(tmp_path)
    content = json.loads((run.path / "trials" / spec().trial_id / "trial.json").read_text())
    assert (content["status"], content["page_cache"]) == ("finished", {"dropped": False, "reason": "needs root"})


def test_telemetry_that_can_not_become_parquet_costs_no_result(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "quick", "")
    run.write_plan([spec()])
    trial = run.open_trial(spec())
    trial.telemetry.append_metrics([MetricRow(1, 2, "kafka-1", "log_flush_ms", 4.5)])
    lines = trial.directory / "telemetry/metrics.jsonl"
    with lines.open("a") as file:
        file.write('[1,2,"kafka-1","log_flush_ms","not a number"]\n')
    trial.finish(result(), totals())
    assert store.load_run(run.path).trials[0].result is not None
    assert [row["value"] for row in read_telemetry(trial.directory, METRICS)] == [4.5]
    assert [path.name for path in lines.parent.iterdir()] == ["metrics.jsonl"]


def test_notes_are_kept_from_the_first_moment(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "quick", "")
    run.add_note("first")
    assert store.load_run(run.path).notes == ("first",)
    assert store.load_run(run.path).status == "running"
    run.add_note("second")
    run.finish("finished")
    run.add_note("too late")
    stored = store.load_run(run.path)
    assert (stored.status, stored.notes) == ("finished", ("first", "second"))


def test_a_run_and_result_of_before_there_were_notes_are_read(tmp_path: Path) -> None:
    run = _whole_run(tmp_path)
    for path, keys in (
        (run.path / "run.json", ["notes"]),
        (run.path / "trials" / spec().trial_id / "result.json", ["result", "control_cpu_s"]),
    ):
        content = json.loads(path.read_text())
        inner = content
        for key in keys[:-1]:
            inner = inner[key]
        del inner[keys[-1]]
        path.write_text(json.dumps(content))
    stored = store.load_run(run.path)
    assert stored.notes == ()
    assert stored.results[0].control_cpu_s is None


def test_the_load_generator_is_disclosed(tmp_path: Path) -> None:
    run = _whole_run(tmp_path)
    worker = json.loads((run.path / "trials" / spec().trial_id / "settings.json").read_text())["worker"]
    assert worker["java_version"] == "25.0.2"
    assert worker["jvm_flags"] == ["-Xmx256m"]
    assert worker["drivers"] == {"kafka": "4.3.1"}


def test_a_run_that_is_gone_on_with_knows_whether_its_workers_began_with_archives(tmp_path: Path) -> None:
    run = _whole_run(tmp_path)
    assert recorded_of(store.load_run(run.path)).archives_used is False
    path = run.path / "trials" / spec().trial_id / "settings.json"
    content = json.loads(path.read_text())
    content["worker"]["jvm_flags"].append("-XX:AOTCache=/cache/1.aot")
    path.write_text(json.dumps(content))
    assert recorded_of(store.load_run(run.path)).archives_used is True
    none_ended = store.create_run(tmp_path / "other", "quick", "")
    assert recorded_of(store.load_run(none_ended.path)).archives_used is None


def test_a_finished_run_reads_back_as_it_was(tmp_path: Path) -> None:
    run = _whole_run(tmp_path)
    stored = store.load_run(run.path)
    assert (stored.status, stored.name, stored.campaign_path) == ("finished", "quick", "campaigns/quick.yaml")
    assert stored.planned == (spec(), spec("pulsar@4.2.4", number=2))
    assert stored.results == (result(warnings=reasons_of("one")),)
    assert stored.environment["kernel"] == "6.1"
    assert (run.path / "campaign.yaml").read_bytes() == b"systems: [kafka]\r\n"
    assert [trial.status for trial in stored.trials] == ["finished"]


def test_every_json_has_a_schema_and_nothing_temporary_is_left(tmp_path: Path) -> None:
    run = _whole_run(tmp_path)
    jsons = sorted(run.path.rglob("*.json"))
    assert len(jsons) == 7
    for path in jsons:
        first = next(iter(json.loads(path.read_text()).items()))
        assert first == ("schema", f"tidegauge.{path.stem}/1"), path
    assert not list(run.path.rglob(".*"))
    assert not (run.path / "data").exists()
    assert [path.name for path in tmp_path.iterdir()] == [run.path.name]


def test_seconds_become_parquet_with_units_in_the_names(tmp_path: Path) -> None:
    run = _whole_run(tmp_path)
    directory = run.path / "trials" / spec().trial_id
    assert not (directory / "seconds.jsonl").exists()
    table = pq.read_table(directory / "seconds.parquet")
    assert table.schema.metadata[b"tidegauge.schema"] == b"tidegauge.seconds/1"
    assert table.num_rows == 3
    assert str(table.schema.field("acked_msgs").type) == "int64"
    assert str(table.schema.field("response_p99_ms").type) == "double"
    first = table.to_pylist()[0]
    assert first["response_p50_ms"] == pytest.approx(2.0, rel=0.001)
    assert first["response_max_ms"] == pytest.approx(37.0, rel=0.001)
    assert first["end_to_end_p99_ms"] == pytest.approx(9.0, rel=0.001), "the slowest subscription"
    assert (first["backlog_msgs"], first["received_msgs"], first["corrupt_msgs"]) == (90, 39_880, 3)
    assert first["subscriptions"][1]["name"] == "sub-1"
    assert store.read_seconds(directory) == table.to_pylist()


def test_unfinite_numbers_stay_readable_json(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "q", "")
    trial = run.open_trial(spec())
    trial.finish(result(gc_pause_s=float("inf")), totals())
    text = (trial.directory / "result.json").read_text()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert store.load_run(run.path).results[0].gc_pause_s == float("inf")


def test_a_result_that_does_not_fit_is_a_problem_in_words(tmp_path: Path) -> None:
    run = _whole_run(tmp_path)
    path = run.path / "trials" / spec().trial_id / "result.json"
    path.write_text(path.read_text().replace('"valid"', '"splendid"'))
    (trial,) = store.load_run(run.path).trials
    assert trial.result is None
    assert "validity" in trial.problem


def _copies(run_path: Path, to: Path) -> list[Path]:
    """The run's directory as a kill could have left it: each prefix of its files in the order of their writing."""
    paths = sorted((path for path in run_path.rglob("*") if path.is_file()), key=lambda path: path.stat().st_mtime_ns)
    paths.sort(key=lambda path: path.name != "run.json")
    found = []
    for count in range(1, len(paths) + 1):
        copy = to / f"copy-{count}"
        for path in paths[:count]:
            (copy / path.relative_to(run_path)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy / path.relative_to(run_path))
        found.append(copy)
    return found


def test_a_run_is_readable_after_each_of_its_files(tmp_path: Path) -> None:
    run = _whole_run(tmp_path / "runs")
    head = json.loads((run.path / "run.json").read_text())
    head |= {"status": "running", "writer": {**head["writer"], "start_ticks": 1}}
    (run.path / "run.json").write_text(json.dumps(head))
    seen = []
    for copy in _copies(run.path, tmp_path / "copies"):
        stored = store.load_run(copy)
        assert stored.status == store.UNFINISHED
        seen.append([trial.status for trial in stored.trials])
    assert seen[0] == []
    assert seen[-1] == ["finished"]
    assert [store.UNFINISHED] in seen


def test_a_line_cut_short_by_a_kill_is_left_out(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "q", "")
    trial = run.open_trial(spec())
    trial.append_second(second(0))
    trial.append_second(second(1))
    path = trial.directory / "seconds.jsonl"
    os.truncate(path, path.stat().st_size - 40)
    assert [row["second"] for row in store.read_seconds(trial.directory)] == [0]


KILLED = """
import sys, time
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from run_samples import result, second, spec, totals
from tidegauge import store
run = store.create_run(Path(sys.argv[1]), "killed", "x: 1")
run.write_plan([spec(), spec(number=2)])
first = run.open_trial(spec())
first.append_second(second(0))
first.finish(result(), totals())
trial = run.open_trial(spec(number=2))
for number in range(100_000):
    trial.append_second(second(number))
    if number == 3:
        print("writing", flush=True)
"""


def test_kill_9_while_writing_leaves_what_was_finished(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(Path(__file__).parents[2] / "support")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    (path,) = [found.path for found in store.list_runs(tmp_path)]
    assert store.load_run(path).status == "running"
    assert store.load_run(path).trials[1].status == "running"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    stored = store.load_run(path)
    assert stored.status == store.UNFINISHED
    assert [trial.status for trial in stored.trials] == ["finished", store.UNFINISHED]
    assert stored.results == (result(),)
    assert len(store.read_seconds(path / "trials" / "0002-latency-kafka")) >= 4
    assert store.find_run(tmp_path, "last") == path


def test_a_reused_pid_is_not_taken_for_the_writer() -> None:
    me = this_writer()
    assert may_be_alive(me)
    assert me.start_ticks is not None
    assert not may_be_alive(replace(me, start_ticks=me.start_ticks - 1))
    assert not may_be_alive(replace(me, boot_id="another boot"))
    assert not may_be_alive(replace(me, pid=-1))
    assert may_be_alive(Writer(1, 0.0, "another-host", "another boot"))
    import psutil

    assert abs(me.started_s - psutil.Process().create_time()) < 5


def test_a_clock_that_is_set_ends_no_run() -> None:
    """The time of day at which a process started moves with the clock; the kernel's ticks since the boot don't."""
    me = this_writer()
    assert may_be_alive(replace(me, started_s=me.started_s + 3600))


def test_a_zombie_writer_counts_as_dead(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    try:
        import psutil

        stat = read_stat(process.pid)
        assert stat is not None
        wait_for(lambda: psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE, 20, "its end")
        assert not may_be_alive(replace(this_writer(), pid=process.pid, start_ticks=stat.identity.start_ticks))
    finally:
        process.wait()


def test_a_failed_run_keeps_its_reason_and_closes_open_trials(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "q", "")
    trial = run.open_trial(spec())
    trial.append_second(second())
    run.finish("interrupted", "Ctrl-C")
    run.finish("finished")
    stored = store.load_run(run.path)
    assert (stored.status, stored.reason, stored.trials[0].status) == ("interrupted", "Ctrl-C", "interrupted")
    assert not trial.data_directory.exists()
    assert len(store.read_seconds(trial.directory)) == 1


def test_a_run_of_which_no_trial_began_can_be_removed(tmp_path: Path) -> None:
    empty = store.create_run(tmp_path, "empty", "")
    empty.finish("failed", "There is no such version.")
    assert empty.remove_if_empty()
    assert not empty.path.exists()
    begun = store.create_run(tmp_path, "begun", "")
    begun.open_trial(spec())
    begun.finish("failed", "It did not start.")
    assert not begun.remove_if_empty()
    assert store.load_run(begun.path).status == "failed"


def test_data_can_live_on_another_disk(tmp_path: Path) -> None:
    run = store.create_run(tmp_path / "runs", "q", "", data_root=tmp_path / "disk")
    trial = run.open_trial(spec())
    assert trial.data_directory == tmp_path / "disk" / f"{run.path.name}-{spec().trial_id}"
    trial.remove_data()
    assert not trial.data_directory.exists()
    left_open = run.open_trial(spec(number=2))
    (left_open.data_directory / "segment.log").write_bytes(b"x")
    run.finish("finished")
    assert list((tmp_path / "disk").iterdir()) == []


def test_two_runs_in_one_second_get_two_names(tmp_path: Path) -> None:
    paths = {store.create_run(tmp_path, "a b/c", "").path for _ in range(3)}
    assert len(paths) == 3
    assert all("-a-b-c" in path.name for path in paths)


def test_find_run_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no runs"):
        store.find_run(tmp_path, "last")
    first = store.create_run(tmp_path, "quick", "").path
    second_run = store.create_run(tmp_path, "sweep", "").path
    assert store.find_run(tmp_path, first.name) == first
    assert store.find_run(tmp_path, second_run.name[:-2]) == second_run
    assert store.find_run(tmp_path, str(first)) == first
    said: list[str] = []
    assert store.find_run(tmp_path, first.name[:4], said.append) == max(first, second_run)
    assert said == [
        f"'{first.name[:4]}' is how the names begin of 2 runs; the newest is taken: {max(first, second_run).name}."
    ]
    with pytest.raises(UserError, match=f"did you mean '{first.name}'"):
        store.find_run(tmp_path, first.name[:-5] + "quik")
    with pytest.raises(UserError, match="no run directory"):
        store.load_run(tmp_path)


def test_a_newer_schema_is_refused_with_its_version(tmp_path: Path) -> None:
    path = store.create_run(tmp_path, "quick", "").path
    head = json.loads((path / "run.json").read_text()) | {"schema": "tidegauge.run/9", "tidegauge_version": "7.0"}
    (path / "run.json").write_text(json.dumps(head))
    with pytest.raises(UserError, match=r"tidegauge\.run/9") as caught:
        store.load_run(path)
    assert "7.0" in caught.value.hint
    (listed,) = store.list_runs(tmp_path)
    assert (listed.status, listed.reason) == ("unreadable", caught.value.message)


def test_a_line_that_does_not_fit_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = files.LineFile(tmp_path / "log")
    file.append("first")
    real = os.write

    def half(handle: int, content: bytes) -> int:
        if len(content) > 6:
            return real(handle, content[:6])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(RunFailedError, match="the disk is full"):
        file.append("a line that is too long")
    assert (tmp_path / "log").read_text() == "first\n"


def test_a_disk_without_room_for_parquet_costs_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_rows: object, path: Path, _columns: object) -> None:
        raise files.write_failed(path, OSError(errno.ENOSPC, "No space left on device"))

    monkeypatch.setattr(tables, "write_parquet", full)
    run = store.create_run(tmp_path, "quick", "")
    trial = run.open_trial(spec())
    trial.append_second(second())
    trial.finish(result(), totals())
    run.finish("finished")
    (stored,) = store.load_run(run.path).trials
    assert stored.result is not None
    assert [row["second"] for row in store.read_seconds(trial.directory)] == [0]


def test_the_reserve_is_for_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = store.create_run(tmp_path, "quick", "")
    trial = run.open_trial(spec())
    real = files.replace_file

    def full(path: Path, content: bytes, durable: bool = False) -> None:
        if path.name == "result.json" and (run.path / files.RESERVE).exists():
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, content, durable)

    monkeypatch.setattr(files, "replace_file", full)
    trial.finish(result(), totals())
    assert store.load_run(run.path).trials[0].result is not None


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small tmpfs needs root")
def test_a_full_disk_is_a_clear_message_and_keeps_what_was_measured(tmp_path: Path) -> None:
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tidegauge-test", tmp_path], check=False)
    if mounted.returncode != 0:
        pytest.skip("can't mount a tmpfs here")
    try:
        run = store.create_run(tmp_path, "full", "")
        first = run.open_trial(spec())
        first.finish(result(), totals())
        trial = run.open_trial(spec(number=2))
        with pytest.raises(RunFailedError, match="the disk is full") as caught:
            for number in range(100_000):
                trial.append_second(second(number))
        _fill(tmp_path)
        trial.fail(caught.value.message, interrupted=False)
        run.finish("failed", caught.value.message)
        stored = store.load_run(run.path)
        assert stored.status == "failed"
        assert "the disk is full" in stored.reason
        assert stored.results == (result(),)
        assert stored.trials[1].status == "failed"
        assert len(store.read_seconds(trial.directory)) > 10
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def _fill(directory: Path) -> None:
    """Leave no byte free, so that only the reserve helps."""
    with pytest.raises(OSError, match="No space"), (directory / "filler").open("ab", buffering=0) as file:
        while file.write(b"\0" * 512):
            pass


def test_a_trial_that_was_measured_is_gone_on_with_in_its_directory(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "quick", "")
    run.write_plan([spec()])
    trial = run.open_trial(spec())
    trial.write_page_cache(True, "")
    trial.write_settings([Setting("broker 1", "flush.messages", "1", False)], [], [], None)
    for number in range(3):
        trial.append_second(second(number))
    trial.write_measuring({"trial_id": 7})
    trial.fail("interrupted", True)
    stored = store.load_run(run.path)
    assert stored.trials[0].measuring == {"trial_id": 7}
    assert recorded_of(stored).measuring_of(spec()) == {"trial_id": 7}
    assert recorded_of(stored).measuring_of(spec("pulsar@4.2.4")) is None
    run.finish("interrupted")

    resumed = store.resume_run(run.path)
    again = resumed.reopen_trial(spec())
    again.append_second(second(0))
    again.finish(result(), totals())
    head = json.loads((again.directory / "trial.json").read_text())
    assert (head["session"], head["page_cache"]) == (1, {"dropped": True, "reason": ""}), "of those who measured"
    assert (again.directory / "settings.json").exists()
    assert len(store.read_seconds(again.directory)) == 1, "written anew"
    assert not (again.directory / "measuring.json").exists()
    assert not (run.path / "earlier").exists()


def test_of_a_trial_that_failed_nothing_is_gone_on_with(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "quick", "")
    trial = run.open_trial(spec())
    trial.write_measuring({"trial_id": 7})
    trial.fail("kafka-1 ended", False)
    assert recorded_of(store.load_run(run.path)).measured == {}


def test_variants_and_their_margin_are_kept(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "ab", "name: ab\n")
    run.variants = (Variant("a", {"producer linger.ms": "0"}), Variant("b"))
    run.same_within = SameWithin(ms=1.0)
    run.finish("interrupted")
    stored = store.load_run(run.path)
    assert (stored.variants, stored.same_within) == (run.variants, run.same_within)
    resumed = store.resume_run(run.path)
    resumed.finish("finished")
    again = store.load_run(run.path)
    assert (again.variants, again.same_within) == (run.variants, run.same_within)


def test_a_run_without_variants_has_none(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "plain", "name: plain\n")
    run.finish("finished")
    stored = store.load_run(run.path)
    assert (stored.variants, stored.same_within) == ((), SAME_WITHIN)
