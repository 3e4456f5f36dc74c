"""Ceilings before a run: measured once, taken again while fresh, never a reason to fail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ceilings_samples import Case
from report_samples import ceilings as sample
from run_samples import result, spec

from tidegauge.campaign.run import ceilings
from tidegauge.campaign.run.ceilings import SWITCH, fleet_ceilings
from tidegauge.hosts.ceilings_measure import place_for
from tidegauge.model.ceilings import Ceilings
from tidegauge.model.events import Note, PhaseStarted
from tidegauge.usage import ceiling_shares


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "state"))
    monkeypatch.delenv(SWITCH, raising=False)
    made = Case(tmp_path)
    monkeypatch.setattr(ceilings, "measure_ceilings", made.measure)
    return made


def test_they_are_measured_once_and_then_taken_again(case: Case) -> None:
    first, second = case.known(), case.known()
    assert case.measured == [[case.disk]]
    assert (first.reused, first.age_s) == (False, 0.0)
    assert second.reused and second.age_s > 0
    assert second.ceilings == first.ceilings
    assert second.data_devices == (place_for(case.disk)[1],)
    assert [type(event) for event in case.events] == [PhaseStarted]


def test_switched_off_nothing_is_measured(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "OFF")
    assert case.known() is None
    assert case.measured == []


def test_others_servers_are_on_others_disks(case: Case, tmp_path: Path) -> None:
    system = case.campaign.systems[0]
    attached: Any = object()
    case.campaign = replace(case.campaign, systems=(replace(system, attach=attached),))
    assert case.known() is None
    assert case.measured == []


def test_attestations_have_no_throughput_to_hold_against_them(case: Case) -> None:
    (peak,) = case.campaign.experiments
    attest = replace(peak, name="attest")
    case.campaign = replace(case.campaign, experiments=(attest,))
    assert case.known() is None
    assert case.measured == []
    case.campaign = replace(case.campaign, experiments=(attest, peak))
    assert case.known() is not None


def test_what_can_not_be_measured_is_reported_and_the_run_goes_on(case: Case) -> None:
    case.fails = OSError(28, "No space left on device")
    assert case.known() is None
    (note,) = [event for event in case.events if isinstance(event, Note)]
    assert note.text == "What the machine can do at most could not be measured (No space left on device)."


def test_so_is_a_place_that_is_none(case: Case) -> None:
    case.disk.rmdir()
    case.disk.touch()
    assert case.known() is None
    (note,) = [event for event in case.events if isinstance(event, Note)]
    assert "is no directory" in note.text


def test_a_fleets_nodes_may_use_all_disks_of_their_hosts(case: Case) -> None:
    """Each has all that were chosen there, and what it writes to which of them is its system's matter."""
    found = sample(data_devices=("254:0", "8:0"), journal_devices=("8:16",))
    addresses = ["10.0.0.2", "10.0.0.3", "10.0.0.4"]
    known = fleet_ceilings(case.campaign, lambda: dict.fromkeys(addresses, found), case.events.append)
    assert known is not None
    assert known.data_devices == tuple(f"{address} {device}" for address in addresses for device in found.data_devices)
    assert known.journal_devices == tuple(f"{address} 8:16" for address in addresses)
    assert [disk.device for disk in known.ceilings.disks] == [f"{address} 254:0" for address in addresses]
    assert ceiling_shares(result(replace(spec(), nodes=3)), known) == ()


def test_that_it_can_not_be_kept_is_no_matter(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Ceilings) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ceilings, "keep_ceilings", full)
    assert case.known() is not None
