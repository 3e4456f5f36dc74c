"""Whether a run got worse than an earlier one by more than was allowed, and what the exit code says of it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from compared_runs import BEFORE, blocks_of, made

from tidegauge import store
from tidegauge.cli.main import run_command
from tidegauge.comparison.regression import AllowedLoss, parse_allowed
from tidegauge.numbers import parse_time


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIDEGAUGE_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def slower(factor: float, values: tuple[float, ...] = BEFORE) -> tuple[float, ...]:
    return tuple(factor * value for value in values)


def stored_run(runs: Path, day: int, scales: tuple[float, ...], *, tags: tuple[str, ...] = (), **how: Any) -> str:
    """A finished run that began on a day of November; its name."""
    path = runs / made(runs, blocks_of("kafka@4.3.1", *scales), **how)
    head = json.loads((path / "run.json").read_text())
    head |= {"started_at": f"2026-11-{day:02d}T02:00:00+00:00", "tags": list(tags)}
    (path / "run.json").write_text(json.dumps(head))
    return path.rename(runs / f"2026-11-{day:02d}T02-00-00-quick").name


def compared(capsys: pytest.CaptureFixture[str], *arguments: str, code: int) -> str:
    assert run_command(["compare", *arguments]) == code
    shown = capsys.readouterr()
    return " ".join((shown.out + shown.err).split())


def test_a_regression_since_last_week_ends_with_4(
    runs: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    stored_run(runs, 1, slower(3.0))
    week_before = stored_run(runs, 8, BEFORE)
    stored_run(runs, 12, slower(2.0))
    stored_run(runs, 15, slower(1.4))
    files = ["--junit", str(tmp_path / "x.xml"), "--markdown", str(tmp_path / "x.md")]
    text = compared(capsys, "--against", "last-week", *files, code=4)
    assert f"'last-week' is {week_before}, 7.0 days earlier." in text
    assert "Regression: 4 of 4 figures got worse by more than is allowed." in text
    assert "latency (20,000 msg/s): kafka@4.3.1, response p99: 1.40x [" in text
    assert "at most 1.10x is allowed: REGRESSED" in text
    assert ElementTree.fromstring((tmp_path / "x.xml").read_text()).attrib["failures"] == "4"
    assert "**Regression: 4 of 4 figures" in (tmp_path / "x.md").read_text()


def test_what_is_equal_or_better_or_worse_by_less_than_allowed_ends_with_0(
    runs: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    before = stored_run(runs, 1, BEFORE)
    for day, factor in ((2, 1.0), (3, 0.5), (4, 1.05)):
        after = stored_run(runs, day, slower(factor))
        assert "No regression: none of 4 figures" in compared(capsys, "--against", before, after, "--strict", code=0)
    assert "REGRESSED" in compared(capsys, before, after, "--regression", "1%", code=4)
    assert run_command(["compare", before, after, "--regression", "1%"]) == 4
    assert capsys.readouterr().err == "Exit code 4: a figure got worse by more than is allowed.\n"
    assert run_command(["compare", before, after, "--regression", "20%", "--strict"]) == 0
    assert capsys.readouterr().err == ""
    one_only = compared(capsys, before, after, "--regression", "response_ms_p99=1%", code=4)
    assert "Regression: 1 of 4 figures" in one_only
    assert "at most 1.01x is allowed: REGRESSED" in one_only
    assert compared(capsys, before, after, code=0).count("allowed") == 0, "who only compares is not judged"


def test_what_is_open_says_how_many_repeats_would_decide(
    runs: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    before = stored_run(runs, 1, (1.0, 1.3, 0.8))
    after = stored_run(runs, 2, slower(1.3, (1.1, 0.9, 1.3)))
    text = compared(capsys, "--against", before, code=0)
    assert "Not decided: whether 4 of 4 figures got worse by more than is allowed. No regression was shown." in text
    assert "not decided, about" in text
    assert "more repeats in each run may decide whether that is kept (so far 3 and 3)" in text
    assert "Not decided" in compared(capsys, "--against", before, after, "--strict", code=3)
    assert run_command(["compare", "--against", before, after, "--strict"]) == 3
    assert "Exit code 3: not everything could be judged, and --strict was given." in capsys.readouterr().err
    junit = tmp_path / "x.xml"
    compared(capsys, "--against", before, "--junit", str(junit), code=0)
    assert ElementTree.fromstring(junit.read_text()).attrib["skipped"] == "4"


def test_one_trial_each_decides_nothing(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored_run(runs, 1, (1.0,))
    stored_run(runs, 2, (9.0,))
    text = compared(capsys, "--against", "2026-11-01", code=0)
    assert "not decided, since fewer than 3 repeats in each run give no interval (so far 1 and 1)" in text


def test_a_tag_means_the_newest_earlier_run_of_the_same_campaign(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored_run(runs, 1, slower(2.0), tags=("main",))
    before = stored_run(runs, 2, BEFORE, tags=("main",))
    after = stored_run(runs, 3, BEFORE, tags=("main",))
    other = store.create_run(runs, "other", "")
    other.finish("finished")
    head = json.loads((other.path / "run.json").read_text())
    head |= {"started_at": "2026-11-02T09:00:00+00:00", "tags": ["main"]}
    (other.path / "run.json").write_text(json.dumps(head))
    assert f"'main' is {before}, 1.0 days earlier" in compared(capsys, "--against", "main", after, code=0)
    head = json.loads((runs / before / "run.json").read_text())
    started = parse_time(json.loads((runs / after / "run.json").read_text())["started_at"])
    head["started_at"] = (started - timedelta(minutes=80)).isoformat()
    (runs / before / "run.json").write_text(json.dumps(head))
    assert f"'main' is {before}, 1 h 20 min earlier" in compared(capsys, "--against", "main", after, code=0)
    assert "No run 'mian'" in compared(capsys, "--against", "mian", after, code=2)


def test_without_an_earlier_run_nothing_is_decided(
    runs: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    only = stored_run(runs, 9, BEFORE, tags=("main",))
    for which in ("last-week", "main"):
        text = compared(capsys, "--against", which, "--markdown", str(tmp_path / "x.md"), code=0)
        assert f"no earlier finished run of the campaign quick that '{which}' means, with which {only}" in text
        compared(capsys, "--against", which, "--strict", code=3)
    assert run_command(["compare", "--against", "main", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["regressions"]["outcome"] == "not decided"


def test_another_kind_of_machine_is_no_regression(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = stored_run(runs, 1, BEFORE)
    after = stored_run(runs, 2, slower(2.0), host={"cpu_model": "Xeon"})
    text = compared(capsys, "--against", before, after, code=0)
    assert "not decided, since the machines are of different kinds (cpu model: EPYC in A, Xeon in B)" in text


def test_another_rate_is_another_question(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run_at(rate: float, scales: tuple[float, ...]) -> str:
        results = blocks_of("kafka@4.3.1", *scales)
        return made(
            runs,
            [
                replace(each, spec=replace(each.spec, msgs_per_s=rate), offered_msgs_per_s=rate, msgs_per_s=rate)
                for each in results
            ],
        )

    before = run_at(20_000, BEFORE)
    assert "since the offered rates differ (20,000 and 22,000 msg/s)" in compared(
        capsys, before, run_at(22_000, slower(2.0)), "--regression", "5%", code=0
    )
    assert "REGRESSED" in compared(capsys, before, run_at(20_100, slower(2.0)), "--regression", "5%", code=4)


def test_what_the_later_run_lacks_is_not_judged(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = made(runs, [*blocks_of("kafka@4.3.1", *BEFORE), *blocks_of("pulsar@4.2.4", *BEFORE)])
    after = made(runs, blocks_of("kafka@4.3.1", *BEFORE))
    text = compared(capsys, before, after, "--strict", code=3)
    assert "not judged: only in A: pulsar@4.2.4" in text
    assert "but the runs do not have all in common" in text


@pytest.mark.parametrize(
    ("texts", "allowed"),
    [
        ((), AllowedLoss()),
        (("3%",), AllowedLoss(0.03)),
        (("msgs_per_s = 2.5%", "10%"), AllowedLoss(0.1, {"msgs_per_s": 0.025})),
        (("response_ms_p99=250%",), AllowedLoss(None, {"response_ms_p99": 2.5})),
    ],
)
def test_what_is_allowed(texts: tuple[str, ...], allowed: AllowedLoss) -> None:
    assert parse_allowed(texts) == allowed
    assert AllowedLoss().share_of("msgs_per_s") == 0.05
    assert AllowedLoss().share_of("response_ms_p99") == 0.10


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (("5",), "--regression 5: must be a share from 0% to 1000%, such as 5%"),
        (("x%",), "--regression x%: must be a share"),
        (("nan%",), "must be a share"),
        (("-1%",), "must be a share"),
        (
            ("response_p99=5%",),
            "'response_p99' is no figure that runs are compared by (did you mean 'response_ms_p99'",
        ),
        (("msgs_per_s=100%",), "a rate can't fall by 100% or more"),
        (("100%",), "a rate can't fall by 100% or more"),
        (("5%", "6%"), "every figure is given twice"),
        (("msgs_per_s=5%", "msgs_per_s=6%"), "msgs_per_s is given twice"),
    ],
)
def test_what_cannot_be_allowed_is_named(texts: tuple[str, ...], problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_allowed(texts)
    assert problem in str(caught.value)


def test_wrong_options_are_one_message(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = stored_run(runs, 1, BEFORE), stored_run(runs, 2, BEFORE)
    assert "--regression 5: must be a share" in compared(capsys, first, second, "--regression", "5", code=2)
    assert "--against compares one run" in compared(capsys, "--against", first, first, second, code=2)
    assert "or say with what: tidegauge compare --against last-week" in compared(capsys, code=2)
