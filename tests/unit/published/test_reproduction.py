"""A whole published report by one command: which campaigns, how often, in what order, and on with it after anything."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from published_campaigns import PATHS
from published_samples import measured, trial
from rich.console import Console, RenderableType
from run_samples import totals
from sentence_scenes import Scene, make_tests
from sentence_templates import Claim

from tidegauge import store
from tidegauge.campaign.model import Campaign
from tidegauge.campaign.read.fingerprint import meaning_of_campaign
from tidegauge.cli import reproducing, resuming
from tidegauge.cli.main import run_command
from tidegauge.cli.options import RunOptions
from tidegauge.cli.output import Output
from tidegauge.errors import RunFailedError
from tidegauge.published.examine import report_named, report_names
from tidegauge.published.reproduction import CampaignOfReport, choose_within, count_claims, order_campaigns
from tidegauge.report.reproduction import reports_list, reproduction_plan

REPORT = "confluent-2020"
ONLY = ("--only", "latency", "--only", "throughput", "--scale", "brief")
LATENCY, THROUGHPUT = f"{REPORT}-latency", f"{REPORT}-throughput"


def planned(name: str, minutes: float, *decidable: str, repeat: int = 1, **more: Any) -> CampaignOfReport:
    return CampaignOfReport(name, repeat, decidable or ("never",), decidable, 6, minutes * 60, **more)


def test_what_decides_a_claim_soonest_is_run_first_and_what_decides_none_last() -> None:
    campaigns = [
        planned("none", 1),
        planned("slow", 60, "a", "b"),
        planned("quick", 10, "c"),
        planned("other", 10, "d"),
    ]
    assert [campaign.name for campaign in order_campaigns(campaigns)] == ["other", "quick", "slow", "none"]


def test_a_claim_of_two_campaigns_counts_once() -> None:
    assert count_claims([planned("a", 1, "x", "y"), planned("b", 1, "y")]) == 2


@pytest.mark.parametrize(
    ("minutes", "names"),
    [
        (4, []),
        (5, ["a1"]),
        (14, ["a1", "b1"]),
        (19, ["a3"]),
        (24, ["a3", "b1"]),
        (60, ["a3", "b1"]),
    ],
)
def test_most_claims_are_chosen_within_a_time(minutes: int, names: list[str]) -> None:
    choices = {
        "a": [planned("a1", 5, "x"), planned("a3", 15, "x", "y", "z", repeat=3)],
        "b": [planned("b1", 9, "v"), planned("b3", 27, "v", repeat=3)],
        "c": [planned("c1", 1)],
        "d": [planned("d1", 1, "w", problem="no such host")],
    }
    chosen = choose_within(choices, minutes * 60)
    assert sorted(campaign.name for campaign in chosen) == names


def reproduce(directory: Path, *more: str) -> int:
    return run_command(["reproduce", REPORT, *ONLY, "--runs-dir", str(directory), *more])


def test_the_plan_of_a_report_starts_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert reproduce(tmp_path, "--dry-run") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert (
        "2 campaigns, in this order: campaign claims repeats trials time memory disk confluent-2020-latency 2 of 5"
        in shown
    )
    claims = len(report_named("confluent-2020").claims)
    assert f"of the report's {claims} claims would be decided" in shown
    assert not any(tmp_path.iterdir())
    assert reproduce(tmp_path, "--dry-run", "--json") == 0
    content = json.loads(capsys.readouterr().out)
    assert content["schema"] == "tidegauge.reproduction/1"
    assert [campaign["name"] for campaign in content["campaigns"]] == [LATENCY, THROUGHPUT]
    assert content["claims"] == len(report_named("confluent-2020").claims)


def test_repeats_are_chosen_within_a_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert reproduce(tmp_path, "--dry-run", "--within", "20m", "--json") == 0
    content = json.loads(capsys.readouterr().out)
    assert [(campaign["name"], campaign["repeat"]) for campaign in content["campaigns"]] == [(LATENCY, 3)]
    assert content["seconds_expected"] <= 20 * 60


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("confluent-202",), "There is no published report 'confluent-202' (did you mean 'confluent-2020'?)"),
        ((REPORT, "--only", "batch"), f"--only batch: {REPORT} has no such campaign (did you mean 'batch-size'?)"),
        ((REPORT, "--within", "5"), "--within '5': must be a duration with its unit"),
        ((REPORT, "--within", "1m", "--scale", "brief"), "--within 1 min: no campaign that decides a claim can be run"),
        ((REPORT, "--resume"), f"There is no reproduction of {REPORT} in "),
    ],
)
def test_what_can_not_be_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], sentence: str
) -> None:
    assert run_command(["reproduce", *arguments, "--runs-dir", str(tmp_path)]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


class Runner:
    """Stands for what measures: it stores a run of each campaign that ends as it was told."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.ends: dict[str, str] = {}
        self.begun: list[str] = []
        self.resumed: list[str] = []
        patch.setattr(reproducing, "run_parsed", self.run_parsed)
        patch.setattr(resuming, "resume_run", self.resume_run)

    def run_parsed(self, campaign: Campaign, options: RunOptions, out: Output, text: str | None = None) -> int:
        self.begun.append(campaign.name)
        end = self.ends.get(campaign.name, "finished")
        if end == "refused":
            raise RunFailedError("the registry does not answer")
        text = campaign.source_path.read_text()
        run = store.create_run(
            options.runs_directory, campaign.name, text, str(campaign.source_path), labels=options.labels
        )
        run.write_environment({"host": {"hostname": "one"}})
        run.write_meaning(campaign.overrides, meaning_of_campaign(campaign))
        results = [
            measured(trial(system, level=level, partitions=100), p99_ms)
            for level in (1, 2)
            for system, p99_ms in (("kafka", 5.0), ("pulsar", 50.0))
        ]
        run.write_plan([result.spec for result in results])
        for result in results if end == "finished" else results[:2]:
            run.open_trial(result.spec).finish(result, totals())
        run.finish(end)  # type: ignore[arg-type]
        return {"finished": 0, "interrupted": 130, "failed": 1}[end]

    def resume_run(self, name: str, path: Path | None, options: RunOptions, out: Output, *, fleet: str = "") -> int:
        self.resumed.append(name.partition("-confluent")[2])
        # Raises where the campaign means something else than when it began.
        resuming._same_campaign(store.load_run(options.runs_directory / name), path, fleet)
        run = store.resume_run(options.runs_directory / name)
        for spec in store.load_run(options.runs_directory / name).planned[2:]:
            run.open_trial(spec).finish(measured(spec, 5.0), totals())
        run.finish("finished")
        return 0


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Runner:
    return Runner(monkeypatch)


def test_all_campaigns_are_run_and_examined_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], runner: Runner
) -> None:
    assert reproduce(tmp_path) == 0
    assert runner.begun == [LATENCY, THROUGHPUT]
    tags = {tag for run in store.list_runs(tmp_path) for tag in run.labels.tags}
    assert len(tags) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "Campaign 1 of 2: confluent-2020-latency; about" in shown
    assert "Published: Confluent 2020" in shown
    assert "All 7 claims not decided" in shown
    assert run_command(["published", "--runs-dir", str(tmp_path)]) == 0


def test_with_json_there_is_one_object(tmp_path: Path, capsys: pytest.CaptureFixture[str], runner: Runner) -> None:
    assert reproduce(tmp_path, "--json") == 0
    content = json.loads(capsys.readouterr().out)
    assert content["schema"] == "tidegauge.claims/1"
    assert len(content["runs"]) == 2


@pytest.mark.parametrize("end", ["refused", "failed"])
def test_one_that_fails_keeps_the_others_from_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], runner: Runner, end: str
) -> None:
    runner.ends[LATENCY] = end
    assert reproduce(tmp_path) == 1
    assert runner.begun == [LATENCY, THROUGHPUT]
    printed = capsys.readouterr()
    assert ("the registry does not answer" in printed.err) is (end == "refused")
    assert "Published: Confluent 2020" in printed.out


def test_it_goes_on_after_an_interruption(tmp_path: Path, capsys: pytest.CaptureFixture[str], runner: Runner) -> None:
    runner.ends[LATENCY] = "interrupted"
    assert reproduce(tmp_path) == 130
    assert runner.begun == [LATENCY]
    printed = capsys.readouterr()
    again = f"tidegauge reproduce {REPORT} --resume --only latency --only throughput --scale brief"
    assert f"To go on with the report: {again}" in " ".join(printed.err.split())
    assert "Published:" not in printed.out
    assert reproduce(tmp_path, "--resume") == 0
    assert runner.resumed == ["-2020-latency"]
    assert runner.begun == [LATENCY, THROUGHPUT]
    assert reproduce(tmp_path, "--resume") == 0
    assert runner.begun == [LATENCY, THROUGHPUT], "all was finished"
    assert "Campaign 2 of 2: confluent-2020-throughput is finished" in capsys.readouterr().out


def test_it_goes_on_with_the_same_options_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], runner: Runner
) -> None:
    runner.ends[LATENCY] = "interrupted"
    assert reproduce(tmp_path) == 130
    assert reproduce(tmp_path, "--resume", "--repeat", "3") == 2
    err = " ".join(capsys.readouterr().err.split())
    assert "was begun with scale brief, so it can't be resumed with other options" in err
    assert runner.begun == [LATENCY]


def test_without_any_result_no_claim_is_examined(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], runner: Runner
) -> None:
    runner.ends = dict.fromkeys((LATENCY, THROUGHPUT), "refused")
    assert reproduce(tmp_path) == 1
    assert "No campaign has a result, so no claim is examined." in capsys.readouterr().err


def test_all_reports_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("reproduce", "published"):
        assert run_command([verb, "--runs-dir", str(tmp_path)]) == 0
        shown = capsys.readouterr().out
        assert all(f"{name}: {report_named(name).title}" in " ".join(shown.split()) for name in report_names())
    assert run_command(["reproduce", "--json", "--runs-dir", str(tmp_path)]) == 0
    content = json.loads(capsys.readouterr().out)
    assert [report["report"] for report in content["reports"]] == report_names()
    assert sum(len(report["campaigns"]) for report in content["reports"]) == len(PATHS)


def plan_in_words(*campaigns: CampaignOfReport, within_s: float | None = None) -> Scene:
    return lambda _: printed(reproduction_plan(report_named(REPORT), campaigns, within_s))


def printed(shown: RenderableType) -> str:
    out = io.StringIO()
    Console(file=out, width=400).print(shown)
    return out.getvalue()


SCENES: dict[str, Scene] = {
    "one repeat": plan_in_words(planned("a", 5, "x")),
    "three repeats": plan_in_words(planned("a", 5, "x", repeat=3), within_s=600),
    "one claim in two campaigns": plan_in_words(planned("a", 5, "x", "y"), planned("b", 5, "x")),
    "two claims in two campaigns": plan_in_words(planned("a", 5, "x"), planned("b", 5, "y")),
    "a search": plan_in_words(planned("a", 5, "x", disk_bytes=1 << 31, needs_more_disk=True)),
    "a known rate": plan_in_words(planned("a", 5, "x", disk_bytes=1 << 31)),
    "none can be run": plan_in_words(planned("a", 5, "x", problem="it needs two hosts")),
}
SCENES["all reports"] = lambda _: printed(reports_list({REPORT: [LATENCY]}, {}, "tidegauge"))
CLAIMS = (
    Claim("{}: {}, in this order:", "one repeat", "none can be run"),
    Claim("Can't be run here:", "none can be run", "one repeat"),
    Claim("Run a whole report: {} reproduce {}", "all reports", "one repeat"),
    Claim("If all came out as published, {} of the report's {}", "one repeat", "none can be run"),
    Claim(" (some are examined by several", "one claim in two campaigns", "two claims in two campaigns"),
    Claim("With fewer than {} repeats only large differences decide.", "one repeat", "three repeats"),
    Claim("Takes about {}{} on a calm machine", "one repeat", "none can be run"),
)
texts, test_every_sentence_is_listed, test_a_sentence_is_said_where_it_is_true_and_not_beside = make_tests(
    ("report/reproduction.py",), SCENES, CLAIMS
)


def test_a_search_needs_at_least_so_much_disk(texts: Any) -> None:
    assert any("at least 2.0 GiB" in text for text in texts.of("a search"))
    assert not any("at least" in text for text in texts.of("a known rate"))
    assert any("Can't be run here:" in text and "a: it needs two hosts" in text for text in texts.of("none can be run"))
