"""Short attestations with the command, and what they must leave behind: nothing."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from command import STARVED_SHARE, Place
from patience import starved_us
from rigs import disks_left

from tidegauge.hosts import loop_disk

REFUSAL = loop_disk.refusal()

CUTS_POWER = (
    pytest.mark.integration,
    pytest.mark.root,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(REFUSAL), reason=f"power can't be cut here: {REFUSAL}"),
)
"""Marks of all tests that cut power."""


def attested(place: Place, *arguments: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the report of a short attestation."""
    done = place.run("attest", *arguments, "--json", timeout_s=800)
    assert done.stdout, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert report.get("schema") == "tidegauge.report/1", done.stdout + done.stderr
    return done.returncode, report


def cycles(report: dict[str, Any], trial: str) -> list[dict[str, Any]]:
    """The cycles of those trials whose name ends so."""
    found = [one for one in report["exploratory_trials"] if one["spec"]["trial_id"].endswith(trial)]
    made = [cycle for one in found for cycle in one["attest"]["cycles"]]
    # A cycle that could not be carried out, or read afterwards, has no figures: it says why instead.
    assert all(cycle["figures"] for cycle in made), [cycle["unreadable"] for cycle in made]
    return made


NOT_MODELLED = "Not modelled: the drive's own volatile write cache"


def keeps_level_3(
    system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *more: str, not_modelled: str = NOT_MODELLED
) -> str:
    """One node keeps what it acknowledged through a cut at level 3; without syncs the same cut loses.

    Returns the finding's summary.
    """
    monkeypatch.setenv("TIDEGAUGE_DATA", str(tmp_path / "data"))
    place = Place(tmp_path)
    began_s, starved_before_us = time.monotonic(), starved_us()
    code, report = attested(place, system, "--level", "3", "--cuts", "1", *more)
    starved = (starved_us() - starved_before_us) / 1e6 / (time.monotonic() - began_s)
    (finding,) = report["findings"]
    summary = "\n".join(finding["summary"])
    negative, cut = cycles(report, "-cuts")
    assert (negative["scenario"], negative["figures"]["broken"]) == ("none", 0)
    assert cut["figures"]["lost"] == 0, summary
    assert len(cut["cuts"]) == 1
    assert cut["acked"] > 0
    if finding["decided"]:
        assert sum(one["figures"]["lost"] for one in cycles(report, "-control")) > 0, summary
    else:
        # The one cut met nothing at stake, or its control's cuts did: only of a machine that lacked CPU.
        assert re.search("messages at risk; at least|messages in flight; at least|after the newest write", summary), (
            summary
        )
        assert starved >= STARVED_SHARE, f"starved {starved:.0%}: {summary}"
    assert code == (0 if finding["decided"] else 3), summary
    assert not finding["refuted"]
    assert not_modelled in summary
    assert disks_left(tmp_path) == []
    return summary


def loses_at_level_4(system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One node without syncs loses what it acknowledged, and nothing where nothing is cut."""
    monkeypatch.setenv("TIDEGAUGE_DATA", str(tmp_path / "data"))
    code, report = attested(Place(tmp_path), system, "--level", "4", "--cuts", "1")
    (finding,) = report["findings"]
    summary = "\n".join(finding["summary"])
    negative, cut = cycles(report, "-cuts")
    assert (negative["scenario"], negative["figures"]["broken"]) == ("none", 0), summary
    assert cut["figures"]["lost"] > 0, summary
    assert (code, finding["refuted"]) == (5, True), summary
    assert "level 4 does not promise more" in summary
    assert disks_left(tmp_path) == []
