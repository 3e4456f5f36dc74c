"""Attestations on real servers, with real power cuts: what a level promises is kept, and nothing is left behind."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
import pytest
from attestations import CUTS_POWER, attested, keeps_level_3
from command import Place
from patience import Patience
from rigs import disks_left

pytestmark = list(CUTS_POWER)

LATER = """
name: later
systems: [kafka]
durability: 3
workload: {message-size: 200B}
experiments:
  - {name: latency, rate: 1000, warm-up-min: 1s, warm-up-max: 2s, measure: 3s, drain-max: 20s}
"""


@pytest.mark.slow
@pytest.mark.parametrize("system", ["kafka", "pulsar", "rabbitmq"])
def test_one_node_keeps_level_3_and_its_control_loses(
    system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeps_level_3(system, tmp_path, monkeypatch)


@pytest.mark.slow
def test_a_later_run_with_the_same_settings_carries_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGAUGE_DATA", str(tmp_path / "data"))
    place = Place(tmp_path)
    code, report = attested(place, "kafka", "--level", "3", "--cuts", "3")
    assert code == 0, report["findings"]
    done = place.run("run", str(place.write(LATER)), timeout_s=300)
    shown = " ".join(place.run("show", "last").stdout.split())
    assert "level 3, attested: 0 lost in 3 cuts (all)" in shown, done.stdout + done.stderr


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
    patience = Patience(120)
    while disks_left(tmp_path) and not patience.is_over():
        place.run("clean")
        time.sleep(1.0)
    assert disks_left(tmp_path) == []
    assert [one for one in psutil.process_iter() if _is_below(one, tmp_path)] == []


def _is_below(process: psutil.Process, root: Path) -> bool:
    try:
        return any(str(root) in word for word in process.cmdline())
    except psutil.Error:
        return False
