"""Whatever ends a run: nothing is left behind, what was measured stays, and the message says what happened."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command import (
    KAFKA_CAMPAIGN,
    NULL_CAMPAIGN,
    PATIENCE_S,
    Place,
    measuring,
    valid_unless_starved,
    wait_for,
    wait_until_measuring,
)

from tidegauge.distribution.cache import cache_directory
from tidegauge.distribution.resolve import entry_name, provision
from tidegauge.systems.kafka import DEFAULT_VERSION, recipe

pytestmark = pytest.mark.integration

LONG_NULL, LONG_KAFKA = (re.sub("measure: .s", "measure: 600s", text) for text in (NULL_CAMPAIGN, KAFKA_CAMPAIGN))
"""Of runs that are interrupted while they measure: the moment must not be over before it is noticed."""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    for line in place.strays():
        os.kill(int(line.split()[0]), signal.SIGKILL)


def worker_is_up(place: Place) -> bool:
    return "worker" in place.held()


def results(place: Place) -> list[Path]:
    return list(place.runs.glob("*/trials/*/result.json"))


def nothing_left(place: Place) -> None:
    wait_for(lambda: not place.left_behind(), PATIENCE_S, "removing everything")


def trial_record(place: Place) -> dict[str, object]:
    (record,) = place.only_run().glob("trials/*/trial.json")
    found: dict[str, object] = json.loads(record.read_text())
    return found


class TestSignals:
    # In `make test`: SIGTERM at the start, and Ctrl-C (SIGINT) on a real server while it is measured, below.
    @pytest.mark.parametrize(
        ("moment", "number"),
        [
            pytest.param(worker_is_up, signal.SIGINT, marks=pytest.mark.slow),
            pytest.param(worker_is_up, signal.SIGTERM),
            pytest.param(worker_is_up, signal.SIGHUP, marks=pytest.mark.slow),
            pytest.param(measuring, signal.SIGINT, marks=pytest.mark.slow),
            pytest.param(measuring, signal.SIGTERM, marks=pytest.mark.slow),
            pytest.param(measuring, signal.SIGHUP, marks=pytest.mark.slow),
        ],
        ids=lambda value: value.name if isinstance(value, signal.Signals) else value.__name__,
    )
    def test_a_signal_stops_everything_and_keeps_what_was_measured(
        self, place: Place, moment: Callable[[Place], bool], number: signal.Signals
    ) -> None:
        process = place.start("run", str(place.write(LONG_NULL)))
        wait_for(lambda: moment(place), PATIENCE_S, "the moment", process.check)
        process.send_signal(number)
        _, err = process.communicate()
        assert process.returncode == 130
        assert "Interrupted" in err
        assert "Traceback" not in err
        nothing_left(place)
        assert json.loads((place.only_run() / "run.json").read_text())["status"] == "interrupted"
        shown = place.run("show", "last")
        assert shown.returncode == 0
        assert "interrupted" in shown.stdout

    def test_ctrl_c_ends_a_real_server_and_leaves_a_report(self, place: Place) -> None:
        place.reports = True
        process = place.start("run", str(place.write(LONG_KAFKA)), start_new_session=True)
        wait_until_measuring(place, process)
        assert any(name.startswith("kafka") for name in place.held())
        os.killpg(process.pid, signal.SIGINT)
        out, _ = process.communicate()
        assert process.returncode == 130
        nothing_left(place)
        report = place.only_run() / "report.html"
        assert "Run interrupted: 0 of 1 trial finished" in report.read_text()
        assert f"{report.parent.name}/report.html" in out
        assert "Exit code 130: Interrupted" in out[out.index("report.html") :]

    @pytest.mark.slow
    def test_a_second_ctrl_c_ends_at_once(self, place: Place) -> None:
        process = place.start("run", str(place.write(LONG_KAFKA)))
        wait_until_measuring(place, process)
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        process.communicate()
        assert process.returncode == 130
        nothing_left(place)


class TestKilled:
    # In `make test`: test_worker_failures.py kills the controller of a worker and of an agent.
    @pytest.mark.slow
    @pytest.mark.often
    def test_kill_9_of_the_command_leaves_nothing_running_and_the_run_readable(self, place: Place) -> None:
        process = place.start("run", str(place.write(LONG_KAFKA)))
        wait_until_measuring(place, process)
        process.kill()
        process.communicate()
        nothing_left(place)
        shown = place.run("show", "last")
        assert shown.returncode == 0
        assert "unfinished" in shown.stdout

    @pytest.mark.parametrize(
        "campaign",
        [LONG_NULL, pytest.param(LONG_KAFKA, marks=[pytest.mark.slow, pytest.mark.often])],
        ids=["null", "kafka"],
    )
    def test_kill_9_of_command_and_agent_is_cleaned_up_by_the_next_start(self, place: Place, campaign: str) -> None:
        process = place.start("run", str(place.write(campaign)))
        wait_until_measuring(place, process)
        (agent,) = place.agents()
        process.send_signal(signal.SIGSTOP)
        os.kill(agent["agent"]["pid"], signal.SIGKILL)
        process.kill()
        process.communicate()
        cleaned = place.run("clean")
        assert cleaned.returncode == 0
        nothing_left(place)
        assert "Nothing was left behind" in place.run("clean").stdout

    @pytest.mark.parametrize("victim", [pytest.param("worker", marks=pytest.mark.slow), "kafka-1"])
    def test_kill_9_of_a_process_fails_the_trial_with_its_name_and_log(self, place: Place, victim: str) -> None:
        process = place.start("run", str(place.write(LONG_KAFKA)))
        wait_until_measuring(place, process)
        pid = place.held()[victim]
        os.kill(pid, signal.SIGKILL)
        out, err = process.communicate()
        assert process.returncode == 1
        text = (out + err).lower()
        assert victim in text
        assert "sigkill" in text or "killed" in text or "signal 9" in text
        assert ".log" in text
        assert "traceback" not in text
        nothing_left(place)
        assert trial_record(place)["status"] == "failed"
        assert list(place.only_run().glob("trials/*/seconds.*")), "figures of the seconds before are kept"


class TestStarved:
    def test_a_generator_without_cpu_makes_the_trial_invalid(self, place: Place) -> None:
        campaign = NULL_CAMPAIGN.replace("measure: 3s", "measure: 4s")
        process = place.start("run", str(place.write(campaign)))
        wait_until_measuring(place, process)
        worker = place.held()["worker"]
        while process.poll() is None and not results(place):
            try:
                os.kill(worker, signal.SIGSTOP)
                time.sleep(0.3)
                os.kill(worker, signal.SIGCONT)
            except ProcessLookupError:
                break
            time.sleep(0.1)
        out, err = process.communicate()
        text = " ".join((out + err).split())
        assert process.returncode == 3, text
        assert "invalid" in text.lower()
        assert "the load generator itself was late, not the system" in text
        assert trial_record(place)["status"] == "finished", "its figures are kept"
        nothing_left(place)


class TestSurroundings:
    @pytest.mark.slow
    def test_a_server_that_does_not_start_is_reported_with_its_log(self, place: Place) -> None:
        systems = json.dumps([{"name": "kafka", "settings": {"num.io.threads": "many"}}])
        done = place.run("run", str(place.write(KAFKA_CAMPAIGN.replace("[kafka]", systems))))
        assert done.returncode == 1
        text = " ".join((done.stdout + done.stderr).split())
        assert "num.io.threads" in text
        assert "logs/kafka-1-format.log" in text
        assert "Traceback" not in done.stderr
        nothing_left(place)

    @pytest.mark.slow
    def test_a_damaged_cache_is_noticed_and_fetched_again(self, place: Place) -> None:
        provision(recipe(DEFAULT_VERSION), lambda _text: None)
        source = cache_directory() / "distributions" / entry_name(recipe(DEFAULT_VERSION))
        place.cache = place.root / "cache"
        copy = place.cache / "distributions" / source.name
        shutil.copytree(source, copy)
        jar = max(copy.rglob("*.jar"), key=lambda path: path.stat().st_size)
        content = bytearray(jar.read_bytes())
        content[len(content) // 2] ^= 1
        jar.chmod(0o644)
        jar.write_bytes(content)
        done = place.run("run", str(place.write(KAFKA_CAMPAIGN)))
        text = " ".join((done.stdout + done.stderr).split())
        valid_unless_starved(done, place)
        assert jar.name in text
        assert "again" in text
        assert (copy / jar.relative_to(copy)).read_bytes() != bytes(content)
        nothing_left(place)

    @pytest.mark.root
    @pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
    def test_a_full_disk_ends_the_run_with_a_message_and_keeps_what_there_is(self, place: Place) -> None:
        place.runs.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", place.runs], check=True)
        try:
            campaign = KAFKA_CAMPAIGN.replace("200B", "64KiB").replace("rate: 1000", "rate: 500")
            done = place.run("run", str(place.write(campaign)))
            text = " ".join((done.stdout + done.stderr).split()).lower()
            assert done.returncode in (1, 2)
            assert "space" in text or "full" in text
            assert "traceback" not in text
            assert not place.strays()
        finally:
            subprocess.run(["umount", place.runs], check=True)

    @pytest.mark.root
    @pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
    @pytest.mark.slow
    def test_a_disk_that_fills_under_load_ends_the_run_and_keeps_what_was_measured(self, place: Place) -> None:
        place.runs.mkdir()
        # Just above what a trial asks for before it begins.
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2300m", "tmpfs", place.runs], check=True)
        try:
            process = place.start("run", str(place.write(KAFKA_CAMPAIGN)), "--repeat", "2")
            wait_for(
                lambda: list(place.runs.glob("*/trials/*/result.json")), PATIENCE_S, "the first result", process.check
            )
            wait_until_measuring(place, process)
            with (place.runs / "somebody-elses").open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(place.runs).free - (100 << 20))
            out, err = process.communicate()
            text = " ".join((out + err).split())
            assert process.returncode == 1, text
            # Looked at afterwards, or while it fills so fast that it soon will be full.
            left = r"\(0\.[012] GiB free\)|\([012]\.\d GiB free and [\d,]+ MB less each second\)"
            assert re.search(rf"is almost full ({left}), so the run was ended", text), text
            assert "data-directory" in text
            assert "Traceback" not in text
            nothing_left(place)
            assert json.loads((place.only_run() / "run.json").read_text())["status"] == "failed"
            statuses = [json.loads(path.read_text())["status"] for path in place.only_run().glob("trials/*/trial.json")]
            assert sorted(statuses) == ["failed", "finished"]
            assert all(list(trial.glob("seconds.*")) for trial in place.only_run().glob("trials/*"))
            assert place.run("show", "last").returncode == 0
        finally:
            for line in place.strays():
                os.kill(int(line.split()[0]), signal.SIGKILL)
            subprocess.run(["umount", "--lazy", place.runs], check=True)

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"\xff\xfe\x00binary", "utf-8"),
            (b"systems: [kafka\n", "campaign.yaml:"),
            (b"name: x\nsystems: [kafak]\n", "kafka"),
            (b"", "empty"),
        ],
        ids=["binary", "not yaml", "misspelt", "empty"],
    )
    def test_an_unreadable_campaign_is_a_user_error(self, place: Place, content: bytes, said: str) -> None:
        path = place.root / "campaign.yaml"
        path.write_bytes(content)
        done = place.run("run", str(path))
        assert done.returncode == 2
        assert said in done.stderr.lower()
        assert "Traceback" not in done.stderr
        assert not place.runs.exists() or not list(place.runs.iterdir())

    def test_a_campaign_that_is_not_there(self, place: Place) -> None:
        done = place.run("run", "nowhere.yaml")
        assert done.returncode == 2
        assert "nowhere.yaml" in done.stderr
