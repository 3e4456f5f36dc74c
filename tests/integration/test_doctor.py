"""`doctor` as a user runs it: JSON by its schema, nothing left behind however it ends, figures that runs use."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from command import NULL_CAMPAIGN, PATIENCE_S, Place, valid_unless_starved, wait_for
from schema_checks import check_content

from tidegauge.hosts.ceilings_measure import PREFIX

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(400)]


def written(disk: Path) -> list[str]:
    return [path.name for path in disk.glob(f"{PREFIX}*")]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, Path, dict[str, Any]]:
    """A disk that doctor has measured, and what it said."""
    root = tmp_path_factory.mktemp("doctor")
    place, disk = Place(root, ceilings=True), root / "disk"
    disk.mkdir()
    done = place.run("doctor", "--disk", str(disk), "--json", timeout_s=300)
    assert done.returncode == 0, done.stderr
    assert "left)" in done.stderr  # Progress, apart from the result.
    content: dict[str, Any] = json.loads(done.stdout)
    as_if_calm(place)
    return place, disk, content


def as_if_calm(place: Place) -> None:
    """What was measured on a busy machine is measured again once it is calmer: here it shall be kept anyway."""
    file = Path(place.environment()["TIDEGAUGE_STATE"]) / "ceilings.json"
    kept = json.loads(file.read_text())
    for one in kept["kept"]:
        one["load_average"] = 0.0
    file.write_text(json.dumps(kept))


def test_it_measures_and_leaves_nothing(measured: tuple[Place, Path, dict[str, Any]]) -> None:
    place, disk, content = measured
    check_content(content)
    (found,) = content["ceilings"]["disks"]
    assert found["path"] == str(disk)
    assert len(found["syncs"]) == 5
    assert content["ceilings"]["loopback"]["bytes_per_s"] > 1e6
    assert content["ceilings"]["memory"]["copy_bytes_per_s"] > 1e7
    calibration = content["calibration"]
    assert calibration["message_bytes"] == 1024 and content["calibration_problem"] == ""
    assert calibration["one"]["msgs_per_s"] > 1000 and calibration["one"]["cpus"] > 0
    kept = json.loads((place.state / "calibrations.json").read_text())["kept"]
    assert kept == [calibration]
    assert {one["name"] for one in content["abilities"]} >= {"root", "sync witness", "loop disk", "memory limit"}
    assert list(disk.iterdir()) == []
    assert place.left_behind() == []


def test_a_run_takes_its_figures_and_tells_shares_and_costs(measured: tuple[Place, Path, dict[str, Any]]) -> None:
    place, disk, content = measured
    campaign = str(place.write(NULL_CAMPAIGN.replace("measure: 3s", "measure: 2s")))
    done = place.run("run", campaign, "--data-dir", str(disk), "--price-per-host-hour", "0.34 USD", "--json")
    valid = valid_unless_starved(done, place)
    report = json.loads(done.stdout)
    check_content(report)
    known = report["ceilings"]
    assert known["reused"] is True
    assert known["age_s"] > 0
    assert known["ceilings"]["disks"] == content["ceilings"]["disks"]
    assert known["data_devices"] == [content["ceilings"]["disks"][0]["device"]]
    (one,) = report["usage"]
    by_kind = {share["of"]: share for share in one["shares"]}
    assert by_kind["loopback"]["share"] > 0
    if content["ceilings"]["disks"][0]["direct"]:
        assert by_kind["disk writes"]["ceiling"] == content["ceilings"]["disks"][0]["write_bytes_per_s"]
    assert report["price"] == {"per_host_hour": 0.34, "currency": "USD"}
    assert (one["cost"] is not None) == valid
    if valid:
        assert one["cost"]["per_billion_messages"] == pytest.approx(0.34 / (one["msgs_per_s"] * 3600) * 1e9)
        assert (one["cost"]["currency"], one["cost"]["hosts"]) == ("USD", 1)
    stored = json.loads((place.only_run() / "ceilings.json").read_text())
    check_content(stored)
    shown = place.run("show", "last").stdout
    assert ("Of what its host can do" in shown and "cost, USD" in shown) == valid


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "kill -9"])
def test_however_it_ends_nothing_stays(tmp_path: Path, number: int) -> None:
    place, disk = Place(tmp_path), tmp_path / "disk"
    disk.mkdir()
    process = place.start("doctor", "--disk", str(disk))
    try:
        wait_for(
            lambda: any(any(path.iterdir()) for path in disk.glob(f"{PREFIX}*")), PATIENCE_S, "measuring", process.check
        )
        os.kill(process.pid, number)
        process.communicate()
        assert process.returncode == (130 if number == signal.SIGINT else -number)
        # After a kill the host's agent removes it, as soon as it sees that nobody is there any more.
        wait_for(lambda: not written(disk), PATIENCE_S, "the clean-up")
        wait_for(lambda: not place.left_behind(), PATIENCE_S, "the agent's end")
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
