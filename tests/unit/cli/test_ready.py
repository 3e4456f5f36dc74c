"""`campaigns` lists what there is, `fetch` brings files ahead of a run, and a shell is offered names on Tab."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tidegauge.cli.completing import complete_runs, complete_systems
from tidegauge.cli.main import run_command
from tidegauge.cli.options import find_ready_campaigns
from tidegauge.distribution.cache import Progress
from tidegauge.errors import UserError
from tidegauge.model.server import Distribution
from tidegauge.report.lists import _rough_duration
from tidegauge.systems import registry


def test_every_ready_campaign_is_listed_with_what_it_measures(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["campaigns", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["schema"] == "tidegauge.campaigns/1"
    names = [each["name"] for each in content["campaigns"]]
    assert sorted(names) == sorted(find_ready_campaigns())
    assert names.index("topics-20000") < names.index("confluent-2020-as-run"), "those of reports come last"
    assert all(each["description"] and each["seconds_expected"] > 60 for each in content["campaigns"])
    quick = next(each for each in content["campaigns"] if each["name"] == "quick")
    assert (quick["trials"], quick["systems"]) == (6, ["kafka", "pulsar", "rabbitmq"])
    assert run_command(["campaigns"]) == 0
    shown = capsys.readouterr().out
    assert "Kafka, Pulsar and RabbitMQ side by side" in " ".join(shown.split())
    assert "run NAME (--dry-run prints its plan)" in shown
    assert max(map(len, shown.splitlines())) <= 100


@pytest.mark.parametrize(
    ("seconds", "words"), [(20.0, "1 min"), (230.0, "4 min"), (4930.0, "1 h 20 min"), (21640.0, "6 h")]
)
def test_a_duration_is_rough(seconds: float, words: str) -> None:
    assert _rough_duration(seconds) == words


def test_who_names_no_campaign_is_led_to_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("carefull", "carefull.yaml"):
        assert run_command(["run", name]) == 2
        message = capsys.readouterr().err
        assert "`tidegauge campaigns` lists the ready ones" in message
        assert len(message.splitlines()) == 2


Fetch = Callable[[str, Callable[[str], None]], None]


@pytest.fixture
def provided(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str, Fetch], None]:
    """Lets a system provide a file of 2 MiB, after what `fetch` reports or raises."""

    def provide(name: str, fetch: Fetch) -> None:
        system = registry.system_named(name)

        def provision(version: str, report: Callable[[str], None]) -> Distribution:
            fetch(version, report)
            directory = tmp_path / f"{name}-{version}"
            directory.mkdir(exist_ok=True)
            (directory / "a.jar").write_bytes(bytes(2 << 20))
            return Distribution(name, version, directory, None, "25", "digest", "maven central")

        monkeypatch.setattr(system, "provision", provision)
        monkeypatch.setattr(system, "server_settings", lambda _version: None)

    return provide


def download(version: str, report: Callable[[str], None]) -> None:
    for far in range(100):
        report(Progress(f"Fetching {version}", f"{far} of 100 MiB."))


def test_fetching_shows_progress_and_what_was_there_already(
    provided: Callable[[str, Fetch], None], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    provided("kafka", download)
    provided("pulsar", lambda *_: None)
    assert run_command(["fetch", "kafka@3.9.2", "pulsar"]) == 0
    lines = " ".join(capsys.readouterr().out.split())
    assert lines.startswith("Fetching 3.9.2: 0 of 100 MiB. Apache Kafka 3.9.2: fetched in ")
    assert f"2 MiB in {tmp_path}/kafka-3.9.2 Apache Pulsar " in lines
    assert ": there already, 2 MiB in " in lines
    assert lines.count("Fetching") == 1, "a line now and then, not one for each piece"
    assert run_command(["fetch", "kafka@3.9.2", "pulsar", "--json"]) == 0
    systems = json.loads(capsys.readouterr().out)["systems"]
    assert [(each["system"], each["fetched"], each["size_bytes"]) for each in systems] == [
        ("kafka", True, 2 << 20),
        ("pulsar", False, 2 << 20),
    ]


def test_without_names_all_are_fetched_and_one_that_fails_keeps_none_back(
    provided: Callable[[str, Fetch], None], capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_version: str, _report: object) -> None:
        raise UserError("rabbitmq can't be reached.", "Connect to the network.")

    for system in ("kafka", "nats", "pulsar"):
        provided(system, lambda *_: None)
    provided("rabbitmq", fail)
    assert run_command(["fetch"]) == 2
    printed = capsys.readouterr()
    assert "Apache Pulsar" in printed.out
    assert printed.err.count("can't be reached") == 1
    assert "Error: 1 of 4 systems could not be fetched: RabbitMQ " in printed.err
    assert run_command(["fetch", "rabbitmq"]) == 2
    assert capsys.readouterr().err.startswith("Error: rabbitmq can't be reached.\n  Connect to the network.")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("kafak", "There is no system 'kafak' (did you mean 'kafka'?)"),
        ("kafka@/opt/kafka", "'kafka@/opt/kafka': what follows the '@' must be a version, such as kafka@"),
        ("kafka@", "'kafka@': what follows the '@' must be a version"),
    ],
)
def test_what_can_not_be_fetched_is_refused(capsys: pytest.CaptureFixture[str], name: str, words: str) -> None:
    assert run_command(["fetch", name]) == 2
    assert words in capsys.readouterr().err


def offered(tmp_path: Path, *words: str) -> list[str]:
    """What the completion that `--install-completion` sets up for bash prints after these words."""
    environment = {
        **os.environ,
        "TIDEGAUGE_RUNS": str(tmp_path),
        "_TIDEGAUGE_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(("tidegauge", *words)),
        "COMP_CWORD": str(len(words)),
    }
    command = [sys.executable, "-m", "tidegauge.cli"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()


def test_a_shell_is_offered_campaigns_runs_and_systems(tmp_path: Path) -> None:
    for name in ("2026-11-27T10-00-00-quick", "2026-11-28T10-00-00-quick"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text("{}")
    (tmp_path / "no-run").mkdir()
    assert offered(tmp_path, "run", "care") == ["careful"]
    assert offered(tmp_path, "show", "2026") == ["2026-11-28T10-00-00-quick", "2026-11-27T10-00-00-quick"]
    assert offered(tmp_path, "compare", "last", "l") == ["last"]
    assert offered(tmp_path, "fetch", "ra") == ["rabbitmq"]
    assert offered(tmp_path, "campai") == ["campaigns"]


def test_systems_are_offered_one_after_the_other() -> None:
    assert complete_systems("") == ["kafka", "nats", "pulsar", "rabbitmq"]
    assert complete_systems("kafka,pu") == ["kafka,pulsar"]
    assert complete_systems("kafka@") == [f"kafka@{registry.system_named('kafka').default_version}"]
    assert complete_systems("zzz") == []


def test_runs_are_offered_of_the_directory_that_was_named(tmp_path: Path) -> None:
    (tmp_path / "2026-a").mkdir()
    (tmp_path / "2026-a" / "run.json").write_text("{}")

    class Context:
        params = {"runs_dir": tmp_path}  # noqa: RUF012

    assert complete_runs(Context(), "") == ["last", "2026-a"]  # type: ignore[arg-type]
    assert complete_runs(Context(), "x") == []  # type: ignore[arg-type]
