"""Disks and optional systems in a campaign file, and where a run puts what the disks hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from campaign_samples import CAMPAIGN, SYSTEMS

from tidegauge import store
from tidegauge.campaign.model import Campaign
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.cli.main import run_command
from tidegauge.cli.options import data_places
from tidegauge.errors import UserError
from tidegauge.model.trial import LoadSpec
from tidegauge.report.ending import command_words

from tidegauge.campaign.plan.plan import plan_campaign  # isort: skip

TEXT = """
name: disks
systems: [kafka, {name: rabbitmq, optional: true}]
experiments: [peak]
"""
KNOWN = ["kafka", "rabbitmq"]


def parsed(tmp_path: Path, more: str, **overrides: Any) -> Campaign:
    path = tmp_path / "campaign.yaml"
    path.write_text(TEXT + more)
    return parse_campaign(path, {key.replace("_", "-"): value for key, value in overrides.items()}, KNOWN)


def test_disks_and_optional_systems_are_taken_over(tmp_path: Path) -> None:
    campaign = parsed(tmp_path, "data-directories: [/mnt/a, /mnt/b]\njournal-directories: [/mnt/j]\n")
    assert campaign.data_directories == ("/mnt/a", "/mnt/b")
    assert campaign.journal_directories == ("/mnt/j",)
    assert [system.optional for system in campaign.systems] == [False, True]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("data-directory: /mnt/a\ndata-directories: [/mnt/b]\n", "keep one of the two"),
        ("data-directories: /mnt/a\n", "data-directories"),
        ("data-directories: ['']\n", "data-directories"),
        ("journal-directorys: [/mnt/a]\n", "journal-directories"),
    ],
)
def test_what_makes_no_sense_is_an_error(tmp_path: Path, more: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parsed(tmp_path, more)


def test_a_disk_of_the_command_line_replaces_those_of_the_file(tmp_path: Path) -> None:
    campaign = parsed(tmp_path, "data-directories: [/mnt/a]\n", data_directory="/mnt/c")
    assert (campaign.data_directory, campaign.data_directories) == ("/mnt/c", ())
    campaign = parsed(tmp_path, "data-directory: /mnt/a\n", data_directories=["/mnt/c", "/mnt/d"])
    assert (campaign.data_directory, campaign.data_directories) == ("", ("/mnt/c", "/mnt/d"))


def test_the_option_may_be_repeated_and_the_plan_names_every_disk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    disks = [tmp_path / f"d{number}" for number in range(1, 7)]
    for disk in disks:
        disk.mkdir()
    options = [word for disk in disks for word in ("--data-dir", str(disk))]
    assert run_command(["run", "confluent-2020-fsync", "--dry-run", *options]) == 0
    output = "".join(capsys.readouterr().out.split())
    first, second, third = (f"node {number + 1} on {disks[number]} and {disks[number + 3]}" for number in range(3))
    assert "".join(f"Data: {first}; {second}; {third}.".split()) in output
    assert run_command(["run", "confluent-2020-fsync", "--dry-run", *options[:2]]) == 0
    assert "Data:" not in capsys.readouterr().out, "one is named where it says how much room it needs"
    missing = [*options[:2], "--data-dir", str(tmp_path / "unmounted")]
    assert run_command(["run", "confluent-2020-fsync", "--runs-dir", str(tmp_path / "runs"), *missing]) == 2
    assert "unmounted does not exist" in "".join(capsys.readouterr().err)


def test_disks_of_the_command_line_are_found_from_other_directories(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/usr")
    assert data_places([Path("disk"), Path("~/disk")]) == {"data-directories": ["/usr/disk", "~/disk"]}


def test_the_command_to_repeat_a_run_names_every_disk(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "one", "", "c.yaml")
    run.write_meaning({"data-directories": ["/mnt/c", "/mnt/d"]}, {})
    stored = store.load_run(run.path)
    assert command_words(stored, ["run", "c.yaml"]) == ["run", "c.yaml", "--data-dir", "/mnt/c", "--data-dir", "/mnt/d"]


def test_systems_of_the_command_line_are_never_optional(tmp_path: Path) -> None:
    assert [system.optional for system in parsed(tmp_path, "", systems=["rabbitmq"]).systems] == [False]


def test_a_disk_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "campaign.yaml"
    path.write_text(f"{TEXT}data-directories: [{tmp_path}]\njournal-directories: [{tmp_path}/unmounted]\n")
    assert run_command(["run", str(path), "--runs-dir", str(tmp_path / "runs")]) == 2
    assert "unmounted does not exist" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "runs").exists()


def a_trial() -> LoadSpec:
    return plan_campaign(CAMPAIGN, SYSTEMS.__getitem__).trials[0]


def test_a_trial_has_its_own_directory_on_every_disk_and_leaves_none(tmp_path: Path) -> None:
    disks = [tmp_path / name for name in ("a", "b")]
    run = store.create_run(tmp_path / "runs", "q", "", disks=disks, journal_disks=disks[:1])
    trial = run.open_trial(a_trial())
    assert [path.parent for path in trial.disks] == disks
    assert [path.parent for path in trial.journal_disks] == disks[:1]
    assert len({*trial.disks, *trial.journal_disks}) == 3, "data and journal on one disk don't mix"
    assert all(path.is_dir() for path in (*trial.disks, *trial.journal_disks, trial.data_directory))
    assert trial.data_directory.is_relative_to(run.path)
    run.finish("interrupted")
    assert [list(disk.iterdir()) for disk in disks] == [[], []]
