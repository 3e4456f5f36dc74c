"""Short attestations on real servers, with real power cuts: each system keeps level 3, and its control loses."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from command import Place

from tidegauge.hosts import loop_disk

REFUSAL = loop_disk.refusal()

pytestmark = [
    pytest.mark.integration,
    pytest.mark.root,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(REFUSAL), reason=f"power can't be cut here: {REFUSAL}"),
]

LATER = """
name: later
systems: [kafka]
durability: 3
workload: {message-size: 200B}
experiments:
  - {name: latency, rate: 1000, warm-up-min: 1s, warm-up-max: 2s, measure: 3s, drain-max: 20s}
"""


def attested(place: Place, *arguments: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the report of a short attestation."""
    done = place.run("attest", *arguments, "--json", timeout_s=800)
    assert done.stdout, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert report.get("schema") == "tidegauge.report/1", done.stdout + done.stderr
    return done.returncode, report


def cycles(report: dict[str, Any], trial: str) -> list[dict[str, Any]]:
    found = [one for one in report["exploratory_trials"] if one["spec"]["trial_id"].endswith(trial)]
    return [cycle for one in found for cycle in one["attest"]["cycles"]]


def left_over(root: Path) -> list[str]:
    """Mounts and loop devices below a directory."""
    mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(root) in line]
    devices = subprocess.run(["losetup", "--list", "--noheadings"], capture_output=True, text=True, check=True)
    return [*mounts, *(line for line in devices.stdout.splitlines() if str(root) in line)]


def test_one_node_keeps_level_3_and_its_control_loses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keeps_level_3("rabbitmq", tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("system", ["kafka", "pulsar"])
def test_others_keep_it_too(system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keeps_level_3(system, tmp_path, monkeypatch)


def keeps_level_3(system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One node keeps what it acknowledged through a cut at level 3; without syncs the same cut loses."""
    monkeypatch.setenv("TIDEGAUGE_DATA", str(tmp_path / "data"))
    place = Place(tmp_path)
    code, report = attested(place, system, "--level", "3", "--cuts", "1")
    (finding,) = report["findings"]
    told = "\n".join(finding["summary"])
    negative, cut = cycles(report, "-cuts")
    assert (negative["scenario"], negative["figures"]["broken"]) == ("none", 0)
    assert cut["figures"]["lost"] == 0, told
    assert len(cut["cuts"]) == 1
    assert cut["acked"] > 0
    if finding["decided"]:
        assert sum(one["figures"]["lost"] for one in cycles(report, "-control")) > 0, told
    # 3: with a machine this busy the one cut may have met nothing in flight, and then decides nothing.
    assert code == (0 if finding["decided"] else 3), told
    assert not finding["refuted"]
    assert "Not modelled: the drive's own volatile write cache" in told
    assert left_over(tmp_path) == []


@pytest.mark.slow
def test_a_later_run_with_the_same_settings_carries_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGAUGE_DATA", str(tmp_path / "data"))
    place = Place(tmp_path)
    code, report = attested(place, "kafka", "--level", "3", "--cuts", "3")
    assert code == 0, report["findings"]
    done = place.run("run", str(place.write(LATER)), timeout_s=300)
    assert "level 3, attested: 0 lost in 3 cuts (all)" in " ".join(done.stdout.split()), done.stdout + done.stderr


@pytest.mark.slow
def test_three_nodes_at_level_2_lose_when_all_are_cut_and_nothing_when_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEGAUGE_DATA", str(tmp_path / "data"))
    arguments = ("kafka", "--level", "2", "--scenario", "all", "--scenario", "one", "--cuts", "2")
    code, report = attested(Place(tmp_path), *arguments)
    everyone, one = report["findings"][0]["attestations"]
    assert (code, everyone["verdict"], everyone["promised"]) == (5, "refuted", False)
    assert everyone["lost"] > 0
    assert (one["lost"], one["promised"]) == (0, True)


@pytest.mark.slow
@pytest.mark.parametrize("after_s", [1.0, 4.0, 9.0])
def test_a_killed_attestation_leaves_nothing_after_the_next_start(after_s: float, tmp_path: Path) -> None:
    place = Place(tmp_path)
    command = place.start("attest", "kafka", "--level", "4", "--cuts", "50", start_new_session=True)
    assert command.stdout is not None
    for line in command.stdout:
        if "cutting: all" in line:
            break
    time.sleep(after_s)
    command.kill()
    command.wait()
    deadline_s = time.monotonic() + 120
    while left_over(tmp_path) and time.monotonic() < deadline_s:
        place.run("clean")
        time.sleep(1.0)
    assert left_over(tmp_path) == []
    assert [one for one in psutil.process_iter() if _is_below(one, tmp_path)] == []


def _is_below(process: psutil.Process, root: Path) -> bool:
    try:
        return any(str(root) in word for word in process.cmdline())
    except psutil.Error:
        return False
