"""The campaigns of the published reports: every one can be planned, and measures what its claims speak of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tidegauge.campaign.fairness import wanted_tilts
from tidegauge.campaign.model import Campaign
from tidegauge.campaign.parse import parse_campaign
from tidegauge.campaign.plan import plan_campaign, plan_warnings, seconds_expected
from tidegauge.cli.campaigns import ready_campaign
from tidegauge.cli.main import run_command
from tidegauge.errors import UserError
from tidegauge.fairness.tilt import Terms
from tidegauge.published.load import report, report_names
from tidegauge.published.model import Place
from tidegauge.published.observe import Measured, observe
from tidegauge.published.questions import Question, questions
from tidegauge.systems import registry

FOLDER = Path(__file__).resolve().parents[2] / "campaigns/published"
PATHS = sorted(FOLDER.glob("*.yaml"))
NAMES = [path.stem for path in PATHS]
HOURS_MAX = 2.5
BRIEF_MINUTES_MAX = 12.5


def parsed(path: Path, **overrides: Any) -> Campaign:
    return parse_campaign(path, overrides, sorted(registry.all_systems()))


def places(question: Question) -> list[tuple[str, Place]]:
    below = [(question.below_figure, question.below)] if question.below else []
    return [(question.figure, question.above), *((question.figure, place) for place in question.shown), *below]


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_a_campaign_is_planned_on_equal_terms_and_bounded(path: Path) -> None:
    campaign = parsed(path)
    assert campaign.name == path.stem
    plan = plan_campaign(campaign)
    assert 0 < plan.seconds_expected < HOURS_MAX * 3600
    assert not Terms.of(wanted_tilts(plan, registry.get), False).refused


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_a_campaign_measures_what_its_claims_speak_of(path: Path) -> None:
    """Each place is in the plan once and clearly: what is missing are only the results."""
    campaign = parsed(path)
    assert campaign.published is not None
    run = Measured(plan_campaign(campaign).trials, ())
    known = {claim.id: claim for claim in report(campaign.published.report).claims}
    for name in campaign.published.claims:
        for question in questions(known[name]) if not known[name].unreproducible else ():
            for figure, place in places(question):
                assert observe(figure, place, run).missing.endswith("was not reached"), (name, place.words())


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_rates_are_shares_and_absolute_at_the_original_scale(path: Path) -> None:
    def rules(campaign: Campaign) -> set[str]:
        trials = plan_campaign(campaign).trials
        return {trial.rate_rule for trial in trials if trial.experiment != "max-throughput"}

    assert all("% of lowest sustainable" in rule for rule in rules(parsed(path)))
    assert not any("%" in rule for rule in rules(parsed(path, scale="original")))


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_the_brief_scale_takes_minutes_and_can_decide_some_of_it(path: Path) -> None:
    campaign = parsed(path, scale="brief")
    plan = plan_campaign(campaign)
    assert plan.seconds_expected < BRIEF_MINUTES_MAX * 60
    assert not plan_warnings(plan.trials)
    assert not Terms.of(wanted_tilts(plan, registry.get), False).refused
    assert campaign.published is not None
    run = Measured(plan.trials, ())
    known = {claim.id: claim for claim in report(campaign.published.report).claims}
    claims = [known[name] for name in campaign.published.claims if not known[name].unreproducible]
    asked = [one for claim in claims for one in questions(claim)]
    planned = [all(observe(*one, run).missing.endswith("was not reached") for one in places(each)) for each in asked]
    assert any(planned)
    told = {observe(*one, run).missing for each in asked for one in places(each)}
    assert all(one.endswith("was not reached") or " has no " in one for one in told), told


@pytest.mark.parametrize("name", report_names())
def test_every_claim_is_examined_by_a_campaign(name: str) -> None:
    chosen = [campaign.published for campaign in map(parsed, PATHS) if campaign.published]
    examined = {claim for choice in chosen if choice.report == name for claim in choice.claims}
    assert [claim.id for claim in report(name).claims if claim.id not in examined] == []


def test_they_are_found_by_name() -> None:
    assert ready_campaign("confluent-2020-throughput") == FOLDER / "confluent-2020-throughput.yaml"
    with pytest.raises(UserError, match="did you mean 'confluent-2020-throughput'"):
        ready_campaign("confluent-2020-troughput")


BASE = """name: mine
systems: [kafka]
experiments: [peak]
published:
  report: confluent-2020
  claims: [kafka-twice-pulsar]
  original:
    nodes: 3
    experiments: [{name: latency, rate: 200k}]
"""


def refused(tmp_path: Path, text: str, **overrides: Any) -> str:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        parsed(path, **overrides)
    return caught.value.message.replace(f"{tmp_path}/", "")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("confluent-2020", "confluent-2021", "mine.yaml:5: published.report: unknown report 'confluent-2021'"),
        ("kafka-twice-pulsar", "kafka-twice", "mine.yaml:6: published.claims[0]: 'confluent-2020' has no claim"),
        ("  claims:", "  claim:", "mine.yaml:6: published.claim: unknown key 'claim' (did you mean 'claims'?)"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert told in refused(tmp_path, BASE.replace(old, new))


def test_no_mapping(tmp_path: Path) -> None:
    text = BASE.partition("published:")[0] + "published: confluent-2020\n"
    assert "mine.yaml:4: published: must be a mapping" in refused(tmp_path, text)


def test_the_original_scale_puts_the_reports_own_values_in_place(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(BASE)
    assert (parsed(path).nodes, parsed(path).experiments[0].name) == (1, "peak")
    original = parsed(path, scale="original")
    assert (original.nodes, original.experiments[0].name) == (3, "latency")
    assert original.overrides["scale"] == "original"
    assert original.published is not None
    assert original.published.scale == "original"


def test_the_brief_scale_is_marked_wherever_the_plan_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    shown = " ".join(dry_run(capsys, "confluent-2020-latency", "--scale", "brief").split())
    assert shown.count("BRIEF (--scale brief): fewer points, shorter trials") == 2
    told = json.loads(dry_run(capsys, "confluent-2020-latency", "--scale", "brief", "--json"))
    assert told["examines"]["scale"] == "brief"
    assert any(one.startswith("BRIEF") for one in told["warnings"])
    assert "BRIEF" not in dry_run(capsys, "confluent-2020-latency")


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_what_differs_at_the_brief_scale_speaks_of_that_scale(path: Path) -> None:
    whole, brief = parsed(path).published, parsed(path, scale="brief").published
    assert whole is not None
    assert brief is not None
    assert brief.differs
    shares = {trial.rate_rule for trial in plan_campaign(parsed(path, scale="brief")).trials if "%" in trial.rate_rule}
    told = " ".join(brief.differs)
    assert all(rule.partition("%")[0] in told for rule in shares), told
    assert "sustain" not in told


def test_mistakes_in_the_original_values_are_told_with_their_lines(tmp_path: Path) -> None:
    text = BASE.replace("rate: 200k", "rat: 200k")
    assert "mine.yaml:9: experiments[0].rat: unknown key 'rat'" in refused(tmp_path, text, scale="original")
    text = BASE.replace("    nodes: 3", "    name: other")
    told = refused(tmp_path, text, scale="original")
    assert "mine.yaml:8: published.original.name: can't be another at the original scale" in told


def test_a_campaign_without_original_values_has_one_scale_only(tmp_path: Path) -> None:
    text = BASE.partition("published:")[0]
    assert "no 'published' with 'original' values" in refused(tmp_path, text, scale="original")
    assert "--scale brief: the campaign has no 'published' with 'brief' values" in refused(
        tmp_path, BASE, scale="brief"
    )


def dry_run(capsys: pytest.CaptureFixture[str], name: str, *more: str) -> str:
    assert run_command(["run", name, "--dry-run", *more]) == 0
    return capsys.readouterr().out


def test_a_dry_run_tells_which_claims_will_be_examined(capsys: pytest.CaptureFixture[str]) -> None:
    shown = " ".join(dry_run(capsys, "streamnative-2022-latency").split())
    assert "Examines 5 claims of: StreamNative 2022" in shown
    assert "Pulsar's publish p99 is below Kafka's [publish latency at 500,000 msg/s]" in shown
    assert "NOT EXAMINED: trials of a length that a small machine can afford" in shown
    examines = json.loads(dry_run(capsys, "streamnative-2022-latency", "--json"))["examines"]
    assert (examines["report"], len(examines["claims"]), examines["scale"]) == ("streamnative-2022", 5, "shares")


def test_a_dry_run_shows_points_in_columns_and_tells_workloads_apart(capsys: pytest.CaptureFixture[str]) -> None:
    shown = dry_run(capsys, "confluent-2020-batch-size")
    row = next(line.split() for line in shown.splitlines() if line.startswith("0001  max-throughput"))
    assert row[:3] == ["0001", "max-throughput", "kafka@4.3.1"]
    assert row[3] in ("1KiB", "10KiB", "100KiB", "1MiB")
    assert all(f"batch-size {size}: 1 KiB messages" in shown for size in ("1KiB", "10KiB", "100KiB", "1MiB"))
    assert max(map(len, shown.splitlines())) <= 100


def test_the_time_of_a_backlog_at_an_unknown_rate_is_a_bound(capsys: pytest.CaptureFixture[str]) -> None:
    (trial,) = [trial for trial in plan_campaign(parsed(FOLDER / "streamnative-2020-mixed.yaml")).trials if trial.late][
        :1
    ]
    assert trial.late is not None
    assert seconds_expected(trial) > 2 * trial.late.chase_s_max
    assert "Takes up to" in dry_run(capsys, "streamnative-2020-mixed")
    known = dry_run(capsys, "streamnative-2020-mixed", "--scale", "original")
    assert "Takes about" in known
