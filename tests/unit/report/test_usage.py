"""Shares and costs as readers meet them: terminal, JSON, Markdown, page."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from page_scenes import run_named
from report_samples import ceilings
from rich.console import Console

from tidegauge import store
from tidegauge.hosts.abilities import Ability
from tidegauge.hosts.clock import clock_quality
from tidegauge.hosts.facts import host_facts
from tidegauge.model.trial import LoadResult, Validity
from tidegauge.model.use import Limiting, NearLimit, Resource
from tidegauge.report import usage
from tidegauge.report.doctor import Diagnosis, doctor_report
from tidegauge.report.html.page import plots_of
from tidegauge.report.markdown import run_markdown
from tidegauge.report.plots.model import data_table
from tidegauge.report.plots.overview import share_bars
from tidegauge.report.summary import run_summary
from tidegauge.store.read import StoredRun
from tidegauge.usage import Basis, Price


@pytest.fixture(scope="module")
def run() -> StoredRun:
    return run_named("sample")[0]


def shown(run: StoredRun) -> str:
    console = Console(width=100, record=True, file=None)
    with console.capture() as capture:
        for part in usage.parts(run):
            console.print(part)
    return capture.get()


def test_it_is_stored_and_read_back(run: StoredRun) -> None:
    assert run.ceilings == ceilings()
    assert run.price == Price(0.34, "USD")


def test_each_system_has_a_line_for_each_table_and_search(run: StoredRun) -> None:
    found = [finding for finding in run.findings if finding.experiment == "max-throughput"]
    goals = [{"confirmation_trial_id": f"{finding.finding_id}-s04-confirm"} for finding in found]
    confirmed = tuple(replace(one, details={"goals": [goal]}) for one, goal in zip(found, goals, strict=True))
    names = [row.label for row in usage.rows(replace(run, findings=confirmed))]
    assert names[:4] == [f"{what} {who}" for what in ("peak", "latency") for who in ("kafka@4.3.1", "pulsar@4.2.4")]
    assert names[4:] == [f"max-throughput {who}" for who in ("kafka@4.3.1", "pulsar@4.2.4")]


def test_the_terminal_shows_shares_costs_and_what_they_are(run: StoredRun) -> None:
    text = shown(run)
    assert usage.TITLE in text
    assert "share of ext4 on vda" in text and "disk writes" in text and "loopback" in text
    assert "cost, USD" in text and "10^9 messages" in text
    assert "measured 4 min 36 s before the run" in " ".join(text.split())
    assert re.search(r"^peak kafka@4.3.1 +>= \d", text, re.MULTILINE)
    assert max(map(len, text.splitlines())) <= 100
    assert text.isascii()


def test_a_run_without_either_shows_nothing(run: StoredRun) -> None:
    bare = replace(run, ceilings=None, price=None)
    assert shown(bare) == ""
    assert "### Of what" not in run_markdown(bare)
    content = run_summary(bare)
    assert content["ceilings"] is None and content["price"] is None
    assert all(row["shares"] == [] and row["cost"] is None for row in content["usage"])


def test_a_price_alone_is_reported_as_cost(run: StoredRun) -> None:
    text = shown(replace(run, ceilings=None))
    assert text.startswith("What it costs")
    assert "share" not in text


def test_doubts_are_reported(run: StoredRun) -> None:
    known = ceilings()
    disk = replace(known.ceilings.disks[0], doubts=("the write bandwidth fell",))
    doubtful = replace(known, reused=False, ceilings=replace(known.ceilings, disks=(disk,), load_average=7.5))
    text = " ".join(shown(replace(run, ceilings=doubtful)).split())
    assert "DOUBTFUL ceiling of ext4 on vda: the write bandwidth fell." in text
    assert "DOUBTFUL ceilings: the load average was 7.5 when they were measured." in text
    assert "measured before the first trial" in text


def test_json_has_every_result_with_figures(run: StoredRun) -> None:
    content = run_summary(run)
    trials = {row["trial_id"] for row in content["usage"]}
    assert trials >= {
        result["spec"]["trial_id"] for experiment in content["experiments"] for result in experiment["results"]
    }
    (first, *_) = content["usage"]
    writes = next(share for share in first["shares"] if share["of"] == "disk writes")
    assert writes["share"] == pytest.approx(first["mb_per_s"] * 1e6 / 500e6)
    assert writes["basis"] == "at least"
    assert first["cost"]["per_gb_per_s_hour"] == pytest.approx(0.34 / (first["mb_per_s"] / 1e3))


OFFERED = Limiting(Resource.OFFERED, "", None, "1,000 of 1,000 msg/s offered came through")
THREAD = NearLimit.from_text("client CPU worker (97 %): thread load-0 of worker ran 97% of the time")


def findings_of_json(run: StoredRun) -> set[str]:
    """The evidence of every resource that the JSON names, wherever it does."""
    results = [result for experiment in run_summary(run)["experiments"] for result in experiment["results"]]
    found = [one["limiting"] for one in [*results, *run_summary(run)["usage"]] if one["limiting"]]
    named = {one["words"] for one in found if one["resource"] not in ("offered rate", "not identified")}
    return named | {clause.partition(": ")[2] for one in found for clause in one["others"]}


def with_results(run: StoredRun, change: Callable[[int, LoadResult], LoadResult]) -> StoredRun:
    numbers = {one.spec.trial_id: number for number, one in enumerate(run.results)}
    trials = tuple(
        replace(trial, result=change(numbers[trial.result.spec.trial_id], trial.result)) if trial.result else trial
        for trial in run.trials
    )
    return replace(run, trials=trials)


def with_limiting(run: StoredRun, *found: Limiting | None) -> StoredRun:
    """Of the first trials in this order; of the others nothing is known."""
    every = [*found, *[None] * len(run.results)]
    return with_results(run, lambda number, result: replace(result, limiting=every[number]))


@pytest.mark.parametrize("place", range(6))
def test_every_finding_of_the_json_is_shown(run: StoredRun, place: int) -> None:
    """Beside a rate that came through, and in whichever trial: the tables show the middle one of several only."""
    beside = replace(OFFERED, others=(THREAD,))
    alone = Limiting(Resource.CLIENT_CPU, "worker", 0.97, "thread load-1 of worker ran 97% of the time")
    for one in (beside, alone):
        found = with_limiting(run, *[OFFERED] * place, one)
        text = " ".join(shown(found).split())
        wanted = findings_of_json(found)
        assert len(wanted) == 1
        assert all(words in text for words in wanted)
        assert all(words in " ".join(run_markdown(found).split()) for words in wanted)


def test_a_finding_of_a_trial_that_is_not_valid_is_shown(run: StoredRun) -> None:
    found = with_limiting(run, *[replace(OFFERED, others=(THREAD,))] * len(run.results))
    invalid = with_results(found, lambda _, result: replace(result, validity=Validity.INVALID))
    text = " ".join(shown(invalid).split())
    first = ", ".join(result.spec.trial_id for result in run.results[:3])
    assert f"Near a limit in {first} and {len(run.results) - 3} more: {THREAD}." in text
    assert text.count("thread load-0") == 1
    alone = replace(invalid, findings=(), ceilings=None, price=None)
    assert all("Near a limit in" in words for words in (shown(alone), run_markdown(alone)))


def test_what_a_row_shows_is_not_reported_again_of_its_repeated_trials(run: StoredRun) -> None:
    near = replace(OFFERED, others=(THREAD,))
    text = " ".join(shown(with_limiting(run, near, None, None, None, near)).split())
    assert "1,000 of 1,000 msg/s offered came through, near the limit of client CPU worker (97 %)" in text
    assert "Near a limit in" not in text
    other = replace(OFFERED, others=(NearLimit("disk vda", " (97 %): busy 97% of the time"),))
    text = " ".join(shown(with_limiting(run, near, None, None, None, other)).split())
    assert text.count("Near a limit in 000") == 1


def test_a_rate_that_came_through_with_nothing_near_its_limit_says_nothing(run: StoredRun) -> None:
    assert "came through" not in shown(with_limiting(run, *[OFFERED] * len(run.results)))


def test_markdown_has_the_table(run: StoredRun) -> None:
    text = run_markdown(run)
    assert f"### {usage.TITLE}" in text
    assert "| peak kafka@4.3.1 |" in text


class TestPlots:
    def test_bars_stand_below_the_line_of_the_ceiling(self, run: StoredRun) -> None:
        (peak, *_) = share_bars([row for row in usage.rows(run) if row.is_throughput], "machine")
        assert peak.title == "Share of ceilings: peak"
        assert [line.value for line in peak.lines] == [100.0]
        assert peak.systems == ("kafka@4.3.1", "pulsar@4.2.4")
        assert peak.x.names == ("disk writes", "loopback")
        kafka, pulsar = peak.series
        assert all(bar + kafka.width <= beside for bar, beside in zip(kafka.x, pulsar.x, strict=True))
        assert "disk writes" in peak.description
        rows = data_table(peak).rows
        assert [row[0] for row in rows] == ["disk writes", "loopback"]
        assert all("(at least)" in cell for row in rows for cell in row[1:])

    def test_only_throughput_is_drawn(self, run: StoredRun) -> None:
        titles = [plot.title for plot in plots_of(run, store.details_of(run))]
        drawn = [title for title in titles if title.startswith("Share of ceilings")]
        assert any("peak" in title for title in drawn)
        assert not any("latency" in title for title in drawn)

    def test_two_disks_are_named(self, run: StoredRun) -> None:
        known = ceilings()
        other = replace(known.ceilings.disks[0], device="8:16", name="xfs on sdb")
        both = replace(
            known,
            journal_devices=("8:16",),
            ceilings=replace(known.ceilings, disks=(*known.ceilings.disks, other)),
        )
        rows = [row for row in usage.rows(replace(run, ceilings=both)) if row.is_throughput]
        first, second, *_ = share_bars(rows, "machine")
        assert first.title.endswith(", ext4 on vda") and second.title.endswith(", xfs on sdb")
        assert first.x.names == second.x.names == ("disk writes", "loopback")

    def test_of_tiny_shares_only_that_they_are_is_reported(self, run: StoredRun) -> None:
        (row, *_) = [row for row in usage.rows(run) if row.is_throughput]
        tiny = tuple(replace(share, share=3.1e-7) for share in row.shares)
        (plot,) = share_bars([replace(row, shares=tiny)], "machine")
        table = usage.usage_table([replace(row, shares=(tiny[0], replace(tiny[1], basis=Basis.SEEN)))])
        assert data_table(plot).rows[0][1] == "under 0.01% (at least)"
        assert table is not None
        assert [group.columns[0].cells for group in table.groups[-3:-1]] == [("> 0%",), ("under 0.01%",)]


class TestDoctor:
    def test_looking_alone(self, tmp_path: Path) -> None:
        command = [sys.executable, "-m", "tidegauge.cli", "doctor", "--no-measure", "--disk", str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "CPU governor" in done.stdout and "What it can do at most" not in done.stdout
        assert list(tmp_path.iterdir()) == []

    def test_what_an_ordinary_user_lacks_is_reported_with_what_it_is_for(self) -> None:
        root = Ability("root", False, "this is user 1000", "the rest", "it is refused", "Run it as root.")
        disk = Ability("loop disk", False, "needs root", "a disk of its own", "it is left out", "")
        pressure = Ability("pressure figures", True, "", "waiting", "it is missing", "Boot with psi=1.")

        def text_of(*found: Ability) -> str:
            console = Console(width=100)
            with console.capture() as capture:
                console.print(doctor_report(Diagnosis(host_facts([]), clock_quality(), None, (), found)))
            assert max(map(len, capture.get().splitlines())) <= 100
            return " ".join(capture.get().split())

        text = text_of(root, disk, pressure)
        assert "What an ordinary user of this machine can't do: 2 of 3" in text
        assert "Throughput and latency are measured all the same" in text
        assert "root: this is user 1000. It is for: the rest. Without it: it is refused. To have it: run it" in text
        assert text.endswith("Without it: it is left out. It can: pressure figures.")
        assert "What this machine can't do: 1 of 2" in text_of(disk, pressure)
        assert text_of(pressure).endswith("It can do everything")

    def test_a_disk_that_is_not_there(self, tmp_path: Path) -> None:
        command = [sys.executable, "-m", "tidegauge.cli", "doctor", "--disk", str(tmp_path / "no")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.startswith(f"Error: --disk {tmp_path / 'no'}: it does not exist.")
