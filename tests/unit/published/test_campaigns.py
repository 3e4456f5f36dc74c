"""The campaigns of the published reports: every one can be planned, and measures what its claims speak of."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from published_campaigns import FOLDER, NAMES, PATHS, SCALES, dry_run, parsed, places, plan_published, read_published

from tidegauge import store
from tidegauge.campaign.plan.fairness import wanted_tilts
from tidegauge.campaign.plan.plan import plan_warnings
from tidegauge.cli import planning
from tidegauge.cli.main import run_command
from tidegauge.cli.options import ready_campaign
from tidegauge.comparison.across import examined_together
from tidegauge.errors import UserError
from tidegauge.experiments.max_throughput import MaxThroughputOptions
from tidegauge.experiments.procedure import seconds_expected
from tidegauge.model.disk_needs import bytes_needed
from tidegauge.model.host import MemoryAvailable
from tidegauge.model.tilt import Terms
from tidegauge.model.trial import AnySpec, LoadSpec
from tidegauge.published.examine import (
    count_decidable,
    examine_at_best,
    published_rows,
    questions,
    report_named,
    report_names,
)
from tidegauge.published.model import FIGURES, Claim, Place, PublishedReport
from tidegauge.published.observe import ExaminedRun, observe
from tidegauge.published.verdict import ClaimVerdict
from tidegauge.systems import registry

UNEQUAL = (
    "confluent-2020-as-run",
    "confluent-2020-latency-as-run",
    "confluent-2020-latency-own-rate",
    "streamnative-2022-throughput-as-run",
)
"""As a report had it, on purpose: they need --allow-unequal, which no file can give."""
WITHOUT_RATES = ("confluent-2020-batch-size",)
"""Their report has a drawing only."""
MESSAGE_BYTES = 1024
DISK_BYTES = 2_500e9
"""Of the reports' hosts, each of which had two such disks."""
HOURS_MAX = 2.5
BRIEF_MINUTES_MAX = 22.5


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_a_campaign_is_planned_on_equal_terms_and_bounded(path: Path) -> None:
    plan = plan_published(path)
    assert plan.campaign.name == path.stem
    assert 0 < plan.seconds_expected < HOURS_MAX * 3600
    assert Terms.of_tilts(wanted_tilts(plan), False).refused is (path.stem in UNEQUAL)


@pytest.mark.parametrize("name", ["confluent-2020-as-run", "confluent-2020-latency-as-run"])
def test_each_system_is_as_its_report_had_it(name: str) -> None:
    """Level, form, queues and memory at the original scale."""
    plan = plan_published(FOLDER / f"{name}.yaml", scale="original")
    trials = {trial.system.partition("@")[0]: trial for trial in plan.trials}
    levels = {system: (trial.choice.level, trial.choice.form) for system, trial in trials.items()}
    assert levels == {"kafka": (2, ""), "pulsar": (1, ""), "rabbitmq": (2, "mirrored-transient")}
    assert {system: trial.workload.partitions for system, trial in trials.items()} == {
        "kafka": 100,
        "pulsar": 100,
        "rabbitmq": 24,
    }
    assert trials["rabbitmq"].workload.consumer_overrides == {"rabbitmq": {"autoAck": "true"}}
    of_pulsar = trials["pulsar"].workload.producer_overrides["pulsar"]
    assert of_pulsar["batchingPartitionSwitchFrequencyByPublishDelay"] == "1"
    heaps_gib = {
        f"{system.name} {process.kind}": process.heap_mb >> 10
        for system in plan.campaign.systems
        for process in registry.system_named(system.name).processes(
            "4.3.1", 3, system.heap_mb, system.direct_memory_mb, system.shape
        )
        if process.of_nodes and system.name != "rabbitmq"
    }
    assert heaps_gib == {"kafka node": 6, "pulsar bookie": 12, "pulsar broker": 12}


def test_the_disputed_latency_of_pulsar_is_measured_as_its_report_had_it() -> None:
    plan = plan_published(FOLDER / "confluent-2020-latency-own-rate.yaml", scale="original")
    trials = {trial.system.partition("@")[0]: trial for trial in plan.trials}
    loads = {system: trial for system, trial in trials.items() if isinstance(trial, LoadSpec)}
    assert {system: (load.choice.level, load.msgs_per_s) for system, load in loads.items()} == {
        "kafka": (2, 200_000.0),
        "pulsar": (1, 200_000.0),
    }
    pulsar = next(system for system in plan.campaign.systems if system.name == "pulsar")
    assert pulsar.settings["managedLedgerNewEntriesCheckDelayInMillis"] == "10"
    assert trials["pulsar"].workload.producer_overrides["pulsar"] == {
        "batchingPartitionSwitchFrequencyByPublishDelay": "1"
    }


def test_batches_of_2022_are_those_of_its_driver_files() -> None:
    planned = plan_published(FOLDER / "streamnative-2022-throughput-as-run.yaml", scale="original").trials
    trials = {trial.system.partition("@")[0]: trial for trial in planned}
    assert trials["kafka"].workload.producer_overrides["kafka"] == {"batch.size": "1048576"}
    assert trials["pulsar"].workload.client.batch_bytes_max == 128 << 10


@pytest.mark.parametrize("scale", SCALES)
def test_tiered_and_co_located_servers_have_the_same_memory(scale: str) -> None:
    """Else it is memory that the two layouts are compared by."""
    campaign = read_published(FOLDER / "confluent-2020-shapes.yaml", scale=scale)
    each = [
        sorted(
            (process.kind, process.count, process.heap_mb, process.direct_mb)
            for system in point.campaign.systems
            for process in registry.system_named(system.name).processes(
                "", 3, system.heap_mb, system.direct_memory_mb, system.shape
            )
        )
        for point in campaign.all_points
    ]
    assert len(each) == 2
    assert each[0] == each[1]


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_a_campaign_says_how_long_it_takes(path: Path) -> None:
    comment = " ".join(line.lstrip("# ") for line in path.read_text().partition("\nname:")[0].splitlines())
    reported = re.search(r"(?:About|Up to) (?:(an hour)|(two hours)|(\d+) minutes)\.$", comment)
    assert reported is not None
    minutes = 60 if reported[1] else 120 if reported[2] else int(reported[3])
    assert plan_published(path).seconds_expected / 60 == pytest.approx(minutes, rel=0.1)


# In `make test`: at the other scales, the tables of each plan below.
@pytest.mark.parametrize("scale", [SCALES[0], *(pytest.param(scale, marks=pytest.mark.slow) for scale in SCALES[1:])])
@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_a_campaign_is_planned_as_json(path: Path, scale: str) -> None:
    unequal = path.stem in UNEQUAL
    manner = ["--dry-run", "--json", "--scale", scale, *(["--allow-unequal"] if unequal else [])]
    assert run_command(["run", str(path), *manner]) == 0


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_the_original_scale_can_reach_every_published_rate(path: Path) -> None:
    """Else a system that passes the most that is offered leaves every claim open."""
    campaign = read_published(path, scale="original")
    assert campaign.published is not None
    whole = report_named(campaign.published.report)
    claims = [claim for claim in whole.claims if claim.id in campaign.published.claims]
    for experiment in campaign.experiments:
        options = experiment.options
        if isinstance(options, MaxThroughputOptions):
            asked = [(claim, *place) for claim in claims for question in questions(claim) for place in places(question)]
            rates = [rate for one in asked for rate in published_msgs_per_s(whole, *one)]
            assert rates or path.stem in WITHOUT_RATES
            assert options.max_rate > 1.05 * max(rates, default=0.0)


CACHES_MB = {
    "confluent-2020": {
        "dbStorage_writeCacheMaxSizeMb": "1024",
        "dbStorage_readAheadCacheMaxSizeMb": "1024",
        "managedLedgerCacheSizeMB": "2458",
    },
    "streamnative-2020": {"dbStorage_writeCacheMaxSizeMb": "2048", "dbStorage_readAheadCacheMaxSizeMb": "2048"},
    "streamnative-2022": {},
}
"""Of Pulsar in the files that deployed a report's clusters; {} = these leave them to its memory."""


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_a_node_of_the_original_scale_has_the_memory_and_the_caches_of_the_report(path: Path) -> None:
    """As much as one server process there; twice as much where two that share it have each their own."""
    campaign = read_published(path, scale="original")
    assert campaign.published is not None
    whole = report_named(campaign.published.report)
    for point in campaign.all_points:
        for system in point.campaign.systems:
            theirs = whole.systems[system.name]
            for own_mb, sizes in ((system.heap_mb, theirs.heap), (system.direct_memory_mb, theirs.direct_memory)):
                assert all(size <= own_mb << 20 <= 2 * size for size in sizes), (point.values, system.name)
            if system.name == "pulsar":
                caches = {name: value for name, value in system.settings.items() if "Cache" in name}
                assert caches == CACHES_MB[whole.report]


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_the_original_scale_has_a_window_that_the_reports_rates_fit_into(path: Path) -> None:
    """No report had one. At 605 MiB/s two producers of 65,536 wait only where an acknowledgement takes 0.2 s."""
    trials = plan_published(path, scale="original").trials
    assert min(trial.workload.in_flight_messages() for trial in trials) >= 65_536
    assert min(trial.workload.window_messages() for trial in trials) >= 131_072


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_a_backlog_of_the_original_scale_fits_on_a_disk_of_the_report(path: Path) -> None:
    planned = plan_published(path, scale="original").trials
    trials = [trial for trial in planned if isinstance(trial, LoadSpec) and trial.late]
    assert all(trial.late and trial.late.backlog_msgs == 512 << 20 for trial in trials)
    assert max((bytes_needed(trial, nodes=1) for trial in trials), default=0) < DISK_BYTES


def published_msgs_per_s(whole: PublishedReport, claim: Claim, figure: str, place: Place) -> list[float]:
    """The published rates of a place, in messages a second."""
    found = [value for _, value in published_rows(whole, claim, figure, place)]
    if figure == "throughput":
        return [value * whole.unit_of(figure)[1] / MESSAGE_BYTES for value in found]
    return found if figure == "throughput-messages" else []


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_a_campaign_measures_what_its_claims_speak_of(path: Path) -> None:
    """Each place is in the plan once and clearly: what is missing are only the results."""
    campaign = read_published(path)
    assert campaign.published is not None
    run = ExaminedRun(plan_published(path).trials, ())
    known = {claim.id: claim for claim in report_named(campaign.published.report).claims}
    for name in campaign.published.claims:
        for question in questions(known[name]) if not known[name].unreproducible else ():
            for figure, place in places(question):
                assert observe(FIGURES[figure], place, run).missing.endswith("was not reached"), (name, place.words())


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_rates_are_shares_and_absolute_at_the_original_scale(path: Path) -> None:
    def rules(trials: Sequence[AnySpec]) -> set[str]:
        return {str(trial.rate_rule) for trial in trials if trial.experiment not in ("max-throughput", "attest")}

    assert all("% of lowest sustainable" in rule for rule in rules(plan_published(path).trials))
    assert not any("%" in rule for rule in rules(plan_published(path, scale="original").trials))


def why_missing(figure: str, place: Place, run: ExaminedRun) -> str:
    """Why a plan has not measured a figure yet; where it has no such trials, of what stands in for it."""
    asked = FIGURES[figure]
    missing = observe(asked, place, run).missing
    if missing.endswith("was not reached") or asked.stand_in is None:
        return missing
    return observe(asked.stand_in, place, run).missing


@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_the_brief_scale_takes_minutes_and_can_decide_some_of_it(path: Path) -> None:
    plan = plan_published(path, scale="brief")
    campaign = plan.campaign
    assert plan.seconds_expected < BRIEF_MINUTES_MAX * 60
    assert not plan_warnings(plan.trials)
    assert Terms.of_tilts(wanted_tilts(plan), False).refused is (path.stem in UNEQUAL)
    assert campaign.published is not None
    run = ExaminedRun(plan.trials, ())
    known = {claim.id: claim for claim in report_named(campaign.published.report).claims}
    claims = [known[name] for name in campaign.published.claims if not known[name].unreproducible]
    asked = [question for claim in claims for question in questions(claim)]
    planned = [all(why_missing(*place, run).endswith("was not reached") for place in places(each)) for each in asked]
    assert any(planned)
    reported = {why_missing(*place, run) for each in asked for place in places(each)}
    assert all(missing.endswith("was not reached") or " has no " in missing for missing in reported), reported


@pytest.mark.parametrize("name", report_names())
def test_every_claim_is_examined_by_a_campaign(name: str) -> None:
    chosen = [campaign.published for campaign in map(read_published, PATHS) if campaign.published]
    examined = {claim for choice in chosen if choice.report == name for claim in choice.claims}
    assert [claim.id for claim in report_named(name).claims if claim.id not in examined] == []


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
    ("old", "new", "reported"),
    [
        ("confluent-2020", "confluent-2021", "mine.yaml:5: published.report: unknown report 'confluent-2021'"),
        ("kafka-twice-pulsar", "kafka-twice", "mine.yaml:6: published.claims[0]: 'confluent-2020' has no claim"),
        ("  claims:", "  claim:", "mine.yaml:6: published.claim: unknown key 'claim' (did you mean 'claims'?)"),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(tmp_path: Path, old: str, new: str, reported: str) -> None:
    assert reported in refused(tmp_path, BASE.replace(old, new))


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
    reported = json.loads(dry_run(capsys, "confluent-2020-latency", "--scale", "brief", "--json"))
    assert reported["examines"]["scale"] == "brief"
    assert any(warning.startswith("BRIEF") for warning in reported["warnings"])
    assert "BRIEF" not in dry_run(capsys, "confluent-2020-latency")


def test_mistakes_in_the_original_values_are_reported_with_their_lines(tmp_path: Path) -> None:
    text = BASE.replace("rate: 200k", "rat: 200k")
    assert "mine.yaml:9: experiments[0].rat: unknown key 'rat'" in refused(tmp_path, text, scale="original")
    text = BASE.replace("    nodes: 3", "    name: other")
    reported = refused(tmp_path, text, scale="original")
    assert "mine.yaml:8: published.original.name: can't be another at the original scale" in reported


def test_a_scale_that_is_not_asked_for_is_checked_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(BASE.replace("rate: 200k", "rate: -.inf"))
    assert run_command(["run", str(path), "--dry-run"]) == 2
    assert "mine.yaml:9: experiments[0].rate: " in " ".join(capsys.readouterr().err.split())


def test_a_campaign_without_original_values_has_one_scale_only(tmp_path: Path) -> None:
    text = BASE.partition("published:")[0]
    assert "no 'published' with 'original' values" in refused(tmp_path, text, scale="original")
    assert "--scale brief: the campaign has no 'published' with 'brief' values" in refused(
        tmp_path, BASE, scale="brief"
    )


def test_a_dry_run_shows_which_claims_will_be_examined(capsys: pytest.CaptureFixture[str]) -> None:
    shown = " ".join(dry_run(capsys, "streamnative-2022-latency").split())
    assert "Examines 6 claims of: StreamNative 2022" in shown
    assert "Pulsar's publish p99 is below Kafka's [figure 4]" in shown
    assert "NOT EXAMINED: it speaks of hosts to be bought" in " ".join(
        dry_run(capsys, "streamnative-2022-throughput").split()
    )
    examines = json.loads(dry_run(capsys, "streamnative-2022-latency", "--json"))["examines"]
    assert (examines["report"], len(examines["claims"]), examines["scale"]) == ("streamnative-2022", 6, "shares")


def test_a_dry_run_shows_points_in_columns_and_distinguishes_workloads(capsys: pytest.CaptureFixture[str]) -> None:
    shown = dry_run(capsys, "confluent-2020-batch-size")
    row = next(line.split() for line in shown.splitlines() if line.startswith("0001  max-throughput"))
    assert row[:3] == ["0001", "max-throughput", "kafka@4.3.1"]
    assert row[3] in ("1KiB", "10KiB", "100KiB", "1MiB")
    assert all(f"batch-size {size}: Clients, as asked: " in shown for size in ("1KiB", "10KiB", "100KiB", "1MiB"))
    assert max(map(len, shown.splitlines())) <= 100


def test_the_time_of_a_backlog_at_an_unknown_rate_is_a_bound(capsys: pytest.CaptureFixture[str]) -> None:
    (trial,) = [trial for trial in plan_published(FOLDER / "streamnative-2020-mixed.yaml").trials if trial.late][:1]
    assert trial.late is not None
    assert seconds_expected(trial) > 2 * trial.late.chase_s_max
    assert "Takes up to" in dry_run(capsys, "streamnative-2020-mixed")
    known = dry_run(capsys, "streamnative-2020-mixed", "--scale", "original")
    assert "Takes about" in known


def test_a_plan_for_a_larger_machine_is_shown_with_what_this_one_lacks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(planning, "memory_available", lambda: MemoryAvailable(8192, "of the machine's 9,000 MiB"))
    reported = json.loads(dry_run(capsys, "confluent-2020-latency", "--scale", "original", "--json"))
    assert (
        len(
            [
                warning
                for warning in reported["warnings"]
                if warning.startswith("It can't run here: There is too little memory")
            ]
        )
        == 1
    )
    manner = ["--scale", "original", "--runs-dir", str(tmp_path)]
    assert run_command(["run", "confluent-2020-latency", *manner]) == 2
    assert "There is too little memory" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("path", PATHS, ids=NAMES)
def test_a_campaign_is_planned_at_every_scale_and_its_tables_cut_no_word(
    capsys: pytest.CaptureFixture[str], path: Path, scale: str
) -> None:
    """At 100 columns: a line for each row, with what is offered, and its level or a value that stands for it.

    Servers and clients at most; those that are unequal on purpose are refused without being allowed.
    """
    manner = ["--dry-run", "--scale", scale]
    if path.stem in UNEQUAL:
        assert run_command(["run", str(path), *manner]) == 2
        capsys.readouterr()
        manner.append("--allow-unequal")
    assert run_command(["run", str(path), *manner]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    start = next(index for index, line in enumerate(lines) if line.endswith("in this order:"))
    rows = lines[start + 1 : lines.index("", start)]
    assert rows[0].split()[:3] == ["step", "experiment", "system"]
    assert "load" in rows[0]
    assert "durability" in rows[0] or "queues" in rows[0]
    assert all(re.match(r"\d{4}  [a-z-]+ +(kafka|pulsar|rabbitmq)@[\d.]+  ", row) for row in rows[1:]), rows
    assert not [row for row in rows if "kafka@" in row and re.search("journal|bypass|mirrored", row)]
    assert not [row for row in rows if "pulsar@" in row and "bypass" not in row and re.search(r" [24]  ", row)]


NEVER_DECIDED = {
    # Absolute values, which hosts decide.
    *("rabbitmq-p99-about-1-ms", "pulsar-publish-p99-near-15-ms"),
    # The report itself says what it would take.
    *("raid-0-helps-little", "less-hardware"),
}


def test_runs_that_repeat_every_figure_decide_all_claims_but_those_that_no_run_can() -> None:
    """Each campaign by itself, with three repeats at its own scale."""
    verdicts: dict[str, list[ClaimVerdict]] = {}
    for path in PATHS:
        plan = plan_published(path, repeat=3)
        choice = plan.campaign.published
        assert choice is not None
        outcome = examine_at_best(report_named(choice.report), choice, plan.trials)
        for claim in outcome.claims:
            verdicts.setdefault(claim.claim, []).append(claim.verdict)
    assert {name for name, of_claim in verdicts.items() if ClaimVerdict.NOT_DECIDED in of_claim} == NEVER_DECIDED
    assert len(verdicts) == sum(len(report_named(name).claims) for name in report_names())
    assert not any(ClaimVerdict.CONTRADICTED in of_claim for of_claim in verdicts.values())


@pytest.mark.parametrize("report", report_names())
def test_all_campaigns_of_a_report_together_decide_what_each_decides_alone(report: str, tmp_path: Path) -> None:
    """Asked of all runs at once, most claims found several settings that fit."""
    choices, runs, measured_runs = [], [], []
    for path in PATHS:
        campaign = read_published(path, repeat=3)
        if campaign.published is None or campaign.published.report != report:
            continue
        stored = store.create_run(tmp_path, campaign.name, path.read_text())
        stored.write_environment({"host": {"hostname": "one"}})
        choices.append(campaign.published)
        runs.append(store.load_run(stored.path))
        trials = plan_published(path, repeat=3).trials
        measured_runs.append(ExaminedRun(trials, (), unequal_allowed=True, as_published=True))
    outcome = examined_together(choices, runs, measured_runs)
    open_claims = {claim.claim for claim in outcome.claims if claim.verdict is ClaimVerdict.NOT_DECIDED}
    assert open_claims == NEVER_DECIDED & {claim.id for claim in report_named(report).claims}
    assert len(outcome.claims) == len(report_named(report).claims)


def test_one_repeat_decides_less_than_three() -> None:
    plan = plan_published(FOLDER / "streamnative-2020-latency.yaml")
    choice = plan.campaign.published
    assert choice is not None
    assert count_decidable(choice, plan.trials) < count_decidable(choice, plan.trials, 3)
