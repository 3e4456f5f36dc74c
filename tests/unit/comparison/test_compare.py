"""`tidegauge compare`: what belongs together, what differs around it, what is refused, and what is said."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from compared_runs import BEFORE, CAMPAIGN, blocks_of, made

from tidegauge.cli.main import run_command
from tidegauge.model.finding import Finding
from tidegauge.model.level import LevelFinding
from tidegauge.model.trial import LoadResult, Validity

AFTER = tuple(0.7 * value for value in BEFORE)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIDEGAUGE_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run_command(["compare", *arguments]) == code
    shown = capsys.readouterr()
    text = shown.out if code == 0 else shown.err
    assert max(map(len, shown.out.splitlines()), default=0) <= 100
    return " ".join(text.split())


def test_two_versions_of_a_system(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = made(runs, blocks_of("kafka@3.9.2", *BEFORE))
    after = made(runs, blocks_of("kafka@4.3.1", *AFTER))
    text = said(capsys, before, after)
    assert f"A (the baseline): {before}" in text
    assert "Software: kafka: kafka@3.9.2 in A, kafka@4.3.1 in B" in text
    assert "latency (20,000 msg/s): kafka@4.3.1 against kafka@3.9.2, B against A" in text
    assert "response p99: 0.70x [0.68, 0.72] (5.47 against 7.81 ms; 5 and 5 blocks, not paired): better" in text
    assert text.index("What differs") < text.index("response p99")
    assert "log.dirs" not in text, "a run's own places differ always"
    assert "listeners" not in text


def found_by(*systems: str) -> list[Finding]:
    figures = {"sustainable_msgs_per_s": 40_000.0}
    return [Finding(system, "max-throughput", system, 0, True, (), figures=figures) for system in systems]


@pytest.mark.parametrize("tables", [True, False])
def test_several_versions_on_either_side_are_not_paired_by_their_order(
    runs: Path, capsys: pytest.CaptureFixture[str], tables: bool
) -> None:
    """In tables of trials, and in what experiments found."""

    def of(*systems: str) -> str:
        if not tables:
            return made(runs, blocks_of("pulsar@4.2.4", *BEFORE), findings=found_by(*systems))
        results = [
            replace(result, spec=replace(result.spec, trial_id=f"{result.spec.block}-{system}"))
            for system in systems
            for result in blocks_of(system, *BEFORE)
        ]
        return made(runs, results)

    first = of("kafka@3.8.1", "kafka@3.9.2", "pulsar@4.2.4")
    text = said(capsys, first, of("kafka@4.2.0", "kafka@4.3.1", "pulsar@4.2.4"), "--allow-unequal")
    where = "latency" if tables else "max-throughput"
    assert "kafka@4.2.0 against" not in text
    assert f"{where}: pulsar@4.2.4, B against A" in text.replace(" (20,000 msg/s)", "")
    for letter, versions in (("A", ("3.8.1", "3.9.2")), ("B", ("4.2.0", "4.3.1"))):
        assert all(f"only in {letter}: kafka@{version} in {where}" in text for version in versions)


def test_the_same_twice_differs_in_nothing(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = (made(runs, blocks_of("kafka@4.3.1", *BEFORE)) for _ in range(2))
    text = said(capsys, first, second)
    assert "Nothing that was recorded differs" in text
    digests = [run["settings_digests"] for run in json.loads(run_json(capsys, first, second))["runs"]]
    assert digests[0] == digests[1]
    assert "response p99: 1.00x [0.97, 1.03]" in text
    assert "the same within the noise threshold (5%)" in said(capsys, first, second, "--noise", "0.05")


def test_two_runs_are_judged_by_the_margin_that_is_asked_for(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = made(runs, blocks_of("kafka@4.3.1", *BEFORE))
    second = made(runs, blocks_of("kafka@4.3.1", *(1.1 * scale for scale in BEFORE)))
    wide = said(capsys, first, second, "--same-within", "2ms")
    assert "response p99: 1.10x [1.07, 1.13], +0.781 ms [+0.552, +1.01] (8.60 against 7.81 ms" in wide
    assert "the same within 2 ms" in wide
    assert "'the same' where that lies within 2 ms" in wide
    assert "5 blocks, not paired): worse" in said(capsys, first, second, "--same-within", "3%")
    assert "the same within 20%" in said(capsys, first, second, "--same-within", "20%")
    assert "--same-within '3': must be a share" in said(capsys, first, second, "--same-within", "3", code=2)


def test_differences_of_host_settings_and_campaign_come_first(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = made(runs, blocks_of("kafka@4.3.1", *BEFORE))
    other = CAMPAIGN.replace("partitions: 4", "partitions: 8")
    second = made(runs, blocks_of("kafka@4.3.1", *AFTER), campaign=other, host={"kernel": "Linux 6.18"}, threads="16")
    text = said(capsys, first, second)
    assert "Host: kernel: Linux 6.1 in A, Linux 6.18 in B" in text
    assert "Settings in force: kafka, server, broker: num.io.threads: 8 in A, 16 in B" in text
    assert "Campaign: workload.partitions: 4 in A, 8 in B" in text
    assert "Software: the same" in text
    digests = [run["settings_digests"]["kafka@4.3.1"] for run in json.loads(run_json(capsys, first, second))["runs"]]
    assert digests[0] != digests[1]


def test_settings_of_all_trials_are_compared(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = made(runs, blocks_of("kafka@4.3.1", *BEFORE))
    second = made(runs, blocks_of("kafka@4.3.1", *BEFORE), threads_of_first="16")
    text = said(capsys, first, second)
    assert "Settings in force: kafka, server, broker: num.io.threads: 8 in A, 16 and 8 in B" in text


def test_settings_of_a_system_that_nobody_read_are_not_the_same(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = [*blocks_of("kafka@4.3.1", *BEFORE), *blocks_of("pulsar@4.2.4", *BEFORE)]
    names = [made(runs, both) for _ in range(2)]
    for name in names:
        for trial in (runs / name / "trials").glob("*pulsar*"):
            (trial / "settings.json").unlink()
    text = said(capsys, *names)
    assert "settings in force and campaign are the same" not in text
    assert "Settings in force: not recorded in A and B: those of pulsar@4.2.4" in text


def test_three_runs_are_held_against_the_first(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [made(runs, blocks_of("kafka@4.3.1", *(scale * value for value in BEFORE))) for scale in (1.0, 1.5, 2.0)]
    found = json.loads(run_json(capsys, *names))
    assert [(comparison["baseline_run"], comparison["run"]) for comparison in found["comparisons"]] == [
        ("A", "B"),
        ("A", "C"),
    ]
    ratios = [comparison["ratios"][1] for comparison in found["comparisons"]]
    assert [ratio["name"] for ratio in ratios] == ["response_ms_p99"] * 2
    assert [ratio["ratio"] for ratio in ratios] == [pytest.approx(1.5), pytest.approx(2.0)]
    assert {ratio["comparison"]["verdict"] for ratio in ratios} == {"worse"}


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run_command(["compare", *arguments, "--json"]) == 0
    return capsys.readouterr().out


def test_what_has_no_counterpart_is_named(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    peak = [
        replace(result, spec=replace(result.spec, trial_id="p", experiment="peak"))
        for result in blocks_of("kafka@4.3.1", 1.0)
    ]
    first = made(runs, [*blocks_of("kafka@4.3.1", *BEFORE), *peak])
    second = made(runs, [*blocks_of("kafka@4.3.1", *BEFORE), *blocks_of("pulsar@4.2.4", *BEFORE)])
    text = said(capsys, first, second)
    assert "only in A: peak" in text
    assert "only in B: pulsar@4.2.4 in latency" in text


def test_another_rate_is_reported_beside_the_ratio(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = made(runs, blocks_of("kafka@4.3.1", *BEFORE))
    faster = [replace(result, offered_msgs_per_s=30_000.0) for result in blocks_of("kafka@4.3.1", *BEFORE)]
    assert "offered rate differs: 20,000 in A, 30,000 in B" in said(capsys, first, made(runs, faster))


def test_two_rates_are_not_paired_with_one(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def at(rate: float) -> list[LoadResult]:
        found = blocks_of("kafka@4.3.1", *BEFORE, offered_msgs_per_s=rate)
        return [
            replace(result, spec=replace(result.spec, trial_id=f"{result.spec.trial_id}-{rate}")) for result in found
        ]

    refused = said(capsys, made(runs, [*at(20_000), *at(30_000)]), made(runs, at(25_000)), code=2)
    assert "These runs have nothing in common to compare: only in A: latency at 20,000 msg/s" in refused
    assert "only in B: latency at 25,000 msg/s" in refused


def at_point(system: str = "kafka@4.3.1", **point: str) -> list[LoadResult]:
    name = "-".join(point.values())
    found = blocks_of(system, *BEFORE)
    return [
        replace(result, spec=replace(result.spec, point=point, trial_id=f"{result.spec.trial_id}-{name}"))
        for result in found
    ]


def test_points_of_a_sweep_are_paired_with_their_equals_only(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = made(runs, [*at_point(partitions="1"), *at_point(partitions="100")])
    second = made(runs, [*at_point(partitions="100"), *at_point(partitions="2000")])
    text = said(capsys, first, second)
    assert text.count("response p99: ") == 1
    assert "latency (20,000 msg/s, partitions=100): kafka@4.3.1" in text
    assert "only in A: latency at 20,000 msg/s, partitions=1" in text
    assert "only in B: latency at 20,000 msg/s, partitions=2000" in text
    alone = made(runs, at_point(partitions="5"))
    assert "These runs have nothing in common to compare" in said(capsys, first, alone, code=2)


def test_what_was_found_at_other_points_is_listed(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def searched(*points: str) -> list[Finding]:
        figures = {"sustainable_msgs_per_s": 40_000.0}
        return [
            Finding(at, "max-throughput", "kafka@4.3.1", 0, True, (), figures=figures, point={"partitions": at})
            for at in points
        ]

    first = made(runs, blocks_of("kafka@4.3.1", *BEFORE), findings=searched("1", "100"))
    second = made(runs, blocks_of("kafka@4.3.1", *BEFORE), findings=searched("100", "2000"))
    text = said(capsys, first, second, "--allow-unequal")
    assert text.count("sustainable rate: ") == 1
    assert "only in A: max-throughput at partitions=1" in text
    assert "only in B: max-throughput at partitions=2000" in text


def test_invalid_trials_are_left_out_and_loss_is_reported(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = blocks_of("kafka@4.3.1", *BEFORE)
    late = [replace(good[0], validity=Validity.INVALID, response=replace(good[0].response, p99_ms=900.0)), *good[1:]]
    (sub,) = late[1].subscriptions
    late[1] = replace(late[1], subscriptions=(replace(sub, lost=3),))
    text = said(capsys, made(runs, good), made(runs, late))
    assert "1 of 5 trials of B is INVALID and left out" in text
    assert "3 acknowledged messages were lost in B" in text
    assert "4 and 5 blocks, not paired" in text


@pytest.mark.parametrize("level", [4, None])
def test_other_levels_are_refused_unless_allowed_and_then_marked(
    level: int | None, runs: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first = made(runs, blocks_of("kafka@4.3.1", *BEFORE))
    second = made(runs, blocks_of("kafka@4.3.1", *AFTER, level=LevelFinding(level, ())))
    shown = "level 4" if level else "an unknown level"
    assert f"kafka@4.3.1 (A) at level 3, kafka@4.3.1 (B) at {shown}" in said(capsys, first, second, code=2)
    junit, markdown = tmp_path / "x.xml", tmp_path / "x.md"
    files = ("--allow-unequal", "--junit", str(junit), "--markdown", str(markdown))
    text = said(capsys, first, second, *files)
    assert "UNEQUAL: these figures are not known to be at the same durability level" in text
    assert "UNEQUAL: response p99: 0.70x" in text
    assert 'name="UNEQUAL"' in junit.read_text()
    assert markdown.read_text().startswith("## UNEQUAL: Tidegauge")
    assert json.loads(run_json(capsys, first, second, "--allow-unequal"))["unequal"]


def test_two_unknown_levels_are_not_known_to_be_equal(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unknown = LevelFinding(None, ())
    first, second = (made(runs, blocks_of("kafka@4.3.1", *scales, level=unknown)) for scales in (BEFORE, AFTER))
    refused = said(capsys, first, second, code=2)
    assert "kafka@4.3.1 (A) at an unknown level, kafka@4.3.1 (B) at an unknown level" in refused


def test_junit_fails_what_got_worse_and_skips_what_is_open(
    runs: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first, second = made(runs, blocks_of("kafka@4.3.1", *AFTER)), made(runs, blocks_of("kafka@4.3.1", *BEFORE))
    junit, markdown = tmp_path / "x.xml", tmp_path / "x.md"
    said(capsys, first, second, "--junit", str(junit), "--markdown", str(markdown))
    root = ElementTree.fromstring(junit.read_text())
    assert root.attrib["failures"] == root.attrib["tests"] == "4"
    assert "| **worse** |" in markdown.read_text()
    one = made(runs, blocks_of("kafka@4.3.1", 1.0))
    said(capsys, first, one, "--junit", str(junit))
    assert ElementTree.fromstring(junit.read_text()).attrib["skipped"] == "4"


def test_rates_that_were_searched_for(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def searched(rate: float) -> list[Finding]:
        figures = {"sustainable_msgs_per_s": rate}
        return [
            Finding(
                f"{n}", "max-throughput", "kafka@4.3.1", n, True, (), figures={k: v + n for k, v in figures.items()}
            )
            for n in range(3)
        ]

    confirmed = [
        replace(result, spec=replace(result.spec, experiment="max-throughput", exploratory=True))
        for result in blocks_of("kafka@4.3.1", 1.0)
    ]
    first, second = made(runs, confirmed, findings=searched(40_000)), made(runs, confirmed, findings=searched(50_000))
    sentence = said(capsys, first, second)
    assert "sustainable rate: 1.25x [1.19, 1.31] (50,001 against 40,001 msg/s" in sentence
    assert "better" in sentence, "the steps of a search are 5 %"
    near = said(capsys, first, made(runs, confirmed, findings=searched(41_500)))
    assert "sustainable rate: 1.04x [0.99, 1.09]" in near
    assert "not decided" in near, "within the steps of a search nothing is better"
    same = said(capsys, first, made(runs, confirmed, findings=searched(40_000)))
    assert "1.00x [0.95, 1.05]" in same
    assert "the same within the noise threshold (8.2%)" in same
    assert "(doubtful)" not in sentence

    def confirmed_by(trial: LoadResult) -> list[Finding]:
        return [
            replace(finding, details={"goals": [{"confirmation_trial_id": trial.spec.trial_id}]})
            for finding in searched(50_000)
        ]

    doubted = [replace(result, validity=Validity.DOUBTFUL) for result in confirmed]
    third = made(runs, doubted, findings=confirmed_by(doubted[0]))
    assert "(doubtful)" in said(capsys, first, third)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"run.json": ("tidegauge.run/1", "tidegauge.run/9")},
            "has the schema 'tidegauge.run/9'; this Tidegauge reads",
        ),
        ({"result.json": ("tidegauge.result/1", "tidegauge.result/0")}, "its schema is 'tidegauge.result/0'"),
    ],
)
def test_other_schemas_are_refused_by_name(
    change: dict[str, tuple[str, str]], sentence: str, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = (made(runs, blocks_of("kafka@4.3.1", *BEFORE)) for _ in range(2))
    for name, (old, new) in change.items():
        for path in (runs / second).rglob(name):
            path.write_text(path.read_text().replace(old, new))
    assert sentence in said(capsys, first, second, code=2)


OPTIONAL = {
    "thresholds", "sessions", "notes", "unequal", "unequal_allowed", "advice", "data_directories", "meaning",
    "overrides", "journal_directories", "point", "late", "limits", "copies", "attached", "servers", "exploratory",
    "rate_rule", "control_cpu_s", "disk_fsync_ms", "catch_up", "syncs", "backlog_growth", "lost_examples",
    "duplicated_examples", "reordered_examples", "corrupt_examples", "figures", "session",
}  # fmt: skip
"""Keys that runs did not have when the schema was young."""


def without(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: without(value) for key, value in content.items() if key not in OPTIONAL}
    return [without(item) for item in content] if isinstance(content, list) else content


def test_runs_from_when_the_schema_was_young_are_read(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = (made(runs, blocks_of("kafka@4.3.1", *BEFORE)) for _ in range(2))
    for path in (runs / old).rglob("*.json"):
        path.write_text(json.dumps(without(json.loads(path.read_text()))))
    for path in (runs / old).rglob("settings.json"):
        path.unlink()
    text = said(capsys, old, new)
    assert "response p99: 1.00x [0.97, 1.03]" in text
    assert "num.io.threads: not given in A, 8 in B" in text


def test_what_is_no_comparison_is_refused(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kafka, pulsar = made(runs, blocks_of("kafka@4.3.1", *BEFORE)), made(runs, blocks_of("pulsar@4.2.4", *BEFORE))
    empty = made(runs, [])
    assert "One run can't be compared" in said(capsys, kafka, code=2)
    assert "is given twice" in said(capsys, kafka, kafka, code=2)
    assert "These runs have nothing in common to compare: only in A: kafka@4.3.1" in said(capsys, kafka, pulsar, code=2)
    assert "has no trial with a readable result" in said(capsys, kafka, empty, code=2)
    assert "must be a share between 0 and 1" in said(capsys, kafka, pulsar, "--noise", "5", code=2)
