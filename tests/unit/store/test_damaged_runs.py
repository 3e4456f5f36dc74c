"""A run that is damaged, whoever did it: it is one line in lists, with its reason, and never the end of them."""

from __future__ import annotations

import json
import os
import resource
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from report_samples import interrupted_run

from tidegauge import store
from tidegauge.cli.main import run_command
from tidegauge.live.server import Pages
from tidegauge.store.seconds import each_second

OLD = Path(__file__).parents[2] / "old_run"
DEEP = "[" * 100_000
TRIAL = "trials/0001-latency-kafka"
NOBODY = 65534


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A run that nothing is wrong with, and one to be damaged."""
    shutil.copytree(OLD, tmp_path / "bad")
    shutil.copytree(OLD, tmp_path / "good")
    return tmp_path


def changed(path: Path, **values: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def replaced(path: Path, make: Callable[[Path], None]) -> None:
    path.unlink(missing_ok=True)
    make(path)


def linked(path: Path, target: str) -> None:
    shutil.rmtree(path)
    path.symlink_to(target)


@contextmanager
def resource_bound(more_bytes_max: int) -> Iterator[None]:
    """Memory that this process can't have is an error in this block."""
    now_bytes = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now_bytes + more_bytes_max, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


WHOLE: dict[str, Callable[[Path], None]] = {
    "notes are a number": lambda run: changed(run / "run.json", notes=5),
    "thresholds are true": lambda run: changed(run / "run.json", thresholds=True),
    "half a character in its name": lambda run: changed(run / "run.json", name="\ud800"),
    "a process of number -1": lambda run: changed(run / "run.json", writer={"pid": -1}),
    "nested": lambda run: (run / "run.json").write_text(DEEP) and None,
    "cut off": lambda run: (run / "run.json").write_text('{"schema": '),
    "a FIFO": lambda run: replaced(run / "run.json", os.mkfifo),
    "a device": lambda run: replaced(run / "run.json", lambda path: path.symlink_to("/dev/zero")),
    "a link to nothing": lambda run: replaced(run / "run.json", lambda path: path.symlink_to("nowhere")),
    "a directory": lambda run: replaced(run / "run.json", Path.mkdir),
    "no number": lambda run: (run / "run.json").write_text('{"schema": "tidegauge.run/1", "price": NaN}') and None,
    "a number in disguise": lambda run: changed(run / "run.json", price="9" * 400),
    "a number beyond all": lambda run: (
        (run / "run.json").write_text('{"schema": "tidegauge.run/1", "price": 1e300}') and None
    ),
}
"""What is done to its run.json."""
PART: dict[str, tuple[str, Callable[[Path], None]]] = {
    "trials are a number": ("plan.json", lambda path: changed(path, trials=5)),
    "trials are null": ("plan.json", lambda path: changed(path, trials=None)),
    "the plan is nested": ("plan.json", lambda path: path.write_text(DEEP) and None),
    "a session is a word": (f"{TRIAL}/trial.json", lambda path: changed(path, session="x")),
    "a session is a list": (f"{TRIAL}/trial.json", lambda path: changed(path, session=[1])),
    "a distribution is a number": (f"{TRIAL}/distribution.json", lambda path: path.write_text('{"distribution": 5}')),
    "a result is nested": (f"{TRIAL}/result.json", lambda path: path.write_text(DEEP) and None),
    "overrides are a number": ("campaign.json", lambda path: path.write_text('{"overrides": 5}')),
    "overrides without an experiment": (
        "campaign.json",
        lambda path: path.write_text('{"overrides": {"experiments": []}}'),
    ),
    "a result is another trial's": (
        f"{TRIAL}/result.json",
        lambda path: path.write_bytes((path.parents[1] / "0002-peak-kafka/result.json").read_bytes()) and None,
    ),
    "a trial is described as another": (
        f"{TRIAL}/trial.json",
        lambda path: path.write_bytes((path.parents[1] / "0002-peak-kafka/trial.json").read_bytes()) and None,
    ),
    "all trials are a link": ("trials", lambda path: linked(path, "../good/trials")),
    "a trial is a link": (TRIAL, lambda path: linked(path, "../../good/trials/0001-latency-kafka")),
    "the host is a word": ("environment.json", lambda path: path.write_text('{"host": "x"}')),
    **{
        f"{name} is a FIFO": (name, lambda path: replaced(path, os.mkfifo))
        for name in ("plan.json", "campaign.yaml", "environment.json", f"{TRIAL}/result.json", "report.html")
    },
    **{
        f"{name} is a device": (name, lambda path: replaced(path, lambda new: new.symlink_to("/dev/zero")))
        for name in ("plan.json", "campaign.yaml", f"{TRIAL}/seconds.parquet", f"{TRIAL}/window.hlog", "report.html")
    },
}
"""The file that is damaged, and how; the rest can be read."""


def listed(runs: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    assert run_command(["runs", "--json", "--runs-dir", str(runs)]) == 0
    return {run["name"]: run for run in json.loads(capsys.readouterr().out)["runs"]}


def all_lists_work(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["runs"], ["index"], ["show", "good"]):
        assert run_command([*words, "--runs-dir", str(runs)]) == 0, capsys.readouterr()
    shown = capsys.readouterr()
    assert "good" in shown.out
    assert not shown.err
    assert "good" in (runs / "index.html").read_text()
    assert b"good" in Pages(runs).answer("/").body


@pytest.mark.parametrize("what", WHOLE)
def test_one_that_can_not_be_read_is_listed_with_the_reason(
    what: str, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    WHOLE[what](runs / "bad")
    all_lists_work(runs, capsys)
    bad = listed(runs, capsys)["bad"]
    assert bad["status"] == "unreadable"
    assert "run.json can't be read: " in bad["reason"]
    for verb in ("show", "report"):
        assert run_command([verb, "bad", "--runs-dir", str(runs)]) == 2
        assert capsys.readouterr().err.count("can't be read") == 1
    assert store.find_run(runs, "last") == runs / "good"


@pytest.mark.parametrize("what", PART)
def test_one_that_can_be_read_in_part_is_read_and_marked(
    what: str, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, damage = PART[what]
    damage(runs / "bad" / name)
    all_lists_work(runs, capsys)
    bad = listed(runs, capsys)["bad"]
    assert [words.partition(" can't be read: ")[0] for words in bad["damage"]] == [name]
    assert bad["status"] == "interrupted", "as it says itself"
    assert run_command(["show", "bad", "--runs-dir", str(runs)]) == 0
    assert f"Damaged: {name} can't be read" in capsys.readouterr().out
    page = Pages(runs).answer("/report/bad")
    assert page.status == 200
    assert f"{name} can&#39;t be read" in page.body.decode()


@pytest.mark.parametrize(
    "time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-11-23T20:18:17", "9999-99-99", "x"]
)
def test_a_time_that_no_clock_showed_ends_no_list(time: str, runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed(runs / "bad/run.json", started_at=time, ended_at=time, status="running", label="nightly")
    changed(runs / "bad" / TRIAL / "trial.json", started_at=time, status="running")
    (runs / "bad" / TRIAL / "result.json").unlink()
    all_lists_work(runs, capsys)
    assert time[:10] in listed(runs, capsys)["bad"]["started_at"]
    for path in ("/report/bad", "/state/bad", "/live/bad"):
        assert Pages(runs).answer(path).status == 200
    assert run_command(["compare", "good", "--against", "last-week", "--runs-dir", str(runs)]) in (0, 2)
    assert "Tidegauge itself failed" not in capsys.readouterr().err


@pytest.fixture
def shut_off(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Runs of which one may not be looked into by whoever asks."""
    with tempfile.TemporaryDirectory() as name:
        runs = Path(name)
        for run in ("bad", "good"):
            shutil.copytree(OLD, runs / run)
        assert run_command(["show", "good", "--runs-dir", str(runs)]) == 0, "all that it takes is imported"
        runs.chmod(0o755)
        (runs / "bad").chmod(0)
        user = os.geteuid()
        if user == 0:
            os.seteuid(NOBODY)
        yield runs
        os.seteuid(user)
        (runs / "bad").chmod(0o755)


def test_one_that_nobody_may_look_into(shut_off: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    bad = listed(shut_off, capsys)["bad"]
    assert bad["status"] == "unreadable"
    assert "run.json can't be read: Permission denied" in bad["reason"]
    assert run_command(["show", "bad", "--runs-dir", str(shut_off)]) == 2
    assert "Permission denied" in capsys.readouterr().err
    assert run_command(["runs", "--runs-dir", str(shut_off / "bad")]) == 2
    assert "runs can't be looked for here: Permission denied" in capsys.readouterr().err


def test_a_name_that_is_no_unicode(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (runs / "bad").rename(runs / os.fsdecode(b"bad-\xff"))
    all_lists_work(runs, capsys)
    assert b"/report/bad-%FF" in Pages(runs).answer("/").body
    assert Pages(runs).answer("/report/bad-%FF").status == 200
    assert run_command(["show", "bad-", "--runs-dir", str(runs)]) == 0
    assert run_command(["show", "bad-", "--json", "--runs-dir", str(runs)]) == 0


def test_rows_that_are_none_are_left_out(tmp_path: Path) -> None:
    run = interrupted_run(tmp_path)
    trial = run / "trials/0002-latency-pulsar"
    before = list(each_second(trial))
    row = before[0]
    bad = (
        {"acked_msgs": "many"}, {"acked_msgs": 1 << 70}, {"from_mono_ns": None}, {"until_mono_ns": -1},
        {"phase": "\ud800"}, {"subscriptions": 5}, {"subscriptions": [5]}, {"subscriptions": [{"name": 5}]},
        {"acked_msgs": True},
    )  # fmt: skip
    with (trial / "seconds.jsonl").open("a") as file:
        file.writelines(json.dumps({**row, **change}) + "\n" for change in bad)
        file.write(json.dumps({**row, "blocked_s": float("nan")}) + "\n")
    assert list(each_second(trial)) == [*before, {**row, "blocked_s": None}]


def test_a_table_of_more_rows_than_any_trial_has_is_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    nothing = pa.table({"second": pa.array([0]).take(pa.array([0] * 3_000_000))})
    pq.write_table(nothing, tmp_path / "seconds.parquet", compression="zstd")
    assert (tmp_path / "seconds.parquet").stat().st_size < 1 << 20
    with pytest.raises(ValueError, match="3,000,000 rows"):
        list(each_second(tmp_path))


@pytest.mark.parametrize("column", ["phase", "of nobody"])
def test_a_text_that_a_table_has_once_and_names_in_each_row_is_not_unpacked(tmp_path: Path, column: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = 2000
    times = {name: pa.array(range(rows)) for name in ("second", "from_mono_ns", "until_mono_ns")}
    text = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * (20 << 20)]))
    pq.write_table(pa.table({**times, column: text}), tmp_path / "seconds.parquet", compression="zstd")
    assert (tmp_path / "seconds.parquet").stat().st_size < 1 << 20
    with resource_bound(3 << 30):
        if column == "phase":
            with pytest.raises(ValueError, match="a text of 20,971,520 characters"):
                list(each_second(tmp_path))
        else:
            assert len(list(each_second(tmp_path))) == rows


def test_a_list_of_more_than_any_second_has_is_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    parts = pa.StructArray.from_arrays([pa.array([0]).take(pa.array([0] * 5_000_000))], ["received_msgs"])
    row = pa.ListArray.from_arrays(pa.array([0, len(parts)], pa.int32()), parts)
    edges = {name: [1] for name in ("second", "from_mono_ns", "until_mono_ns")}
    pq.write_table(pa.table({**edges, "subscriptions": row}), tmp_path / "seconds.parquet", compression="zstd")
    assert (tmp_path / "seconds.parquet").stat().st_size < 1 << 20
    with pytest.raises(ValueError, match="5,000,000 values at once"):
        list(each_second(tmp_path))


def test_nothing_of_a_run_is_obeyed_by_a_terminal(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    title, clipboard = "\x1b]0;title\x07", "\x1b]52;c;cHduZWQ=\x1b\\"
    changed(runs / "bad/run.json", name=f"na{title}me", notes=[f"no{clipboard}te"], reason="rea\x9b31mson\u202e")
    changed(runs / "bad" / TRIAL / "trial.json", reason=f"\x1b[31m{title}")
    for words in (["runs"], ["runs", "--json"], ["show", "bad"], ["show", "bad", "--json"]):
        assert (
            run_command(
                [*words, "--runs-dir", str(runs), *(["--markdown", str(runs / "m.md")] if "bad" in words else [])]
            )
            == 0
        )
        shown = capsys.readouterr().out
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown)
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set((runs / "m.md").read_text())


@pytest.mark.parametrize("end", ["", "\x07", "\x1b\\"])
def test_a_title_that_a_name_begins_hides_nothing_of_its_line(
    runs: Path, capsys: pytest.CaptureFixture[str], end: str
) -> None:
    changed(runs / "bad/run.json", name="na\x1b]0;me", reason=f"why{end}")
    assert run_command(["show", "bad", "--runs-dir", str(runs)]) == 0
    shown = capsys.readouterr().out
    assert "Run na]0;me, started" in shown
    assert "why" in shown
