"""Open files and memory maps for many partitions, planned or refused with the figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from campaign_samples import MANY

from tidegauge.campaign.model import Campaign, SystemChoice
from tidegauge.campaign.plan.limits import check_handles
from tidegauge.cli import planning
from tidegauge.errors import UserError
from tidegauge.hosts.procfs import UNBOUNDED, handles_available
from tidegauge.model.server import Handles
from tidegauge.systems import registry
from tidegauge.systems.attach import AttachChoice


def refusal(campaign: Campaign, available: Handles) -> str:
    with pytest.raises(UserError) as caught:
        check_handles(campaign, available)
    return f"{caught.value.message} {caught.value.hint}"


def test_ten_thousand_partitions_fit_into_usual_limits() -> None:
    needed = [registry.system_named(choice.name).handles(10_000) for choice in MANY.systems]
    files, maps = max(handles.files for handles in needed), max(handles.maps for handles in needed)
    assert files <= 20_000
    assert maps <= 65_530
    check_handles(MANY, Handles(files, maps))
    assert "open files" in refusal(MANY, Handles(files - 1, maps))
    assert "memory maps" in refusal(MANY, Handles(files, maps - 1))


def test_too_few_files_or_maps_are_reported_with_the_figures() -> None:
    message = refusal(MANY, Handles(4096, 65_530))
    assert "10,000 partitions a server of Apache Kafka needs about 10,300 open files" in message
    assert "may have 4,096 here" in message
    assert "21,000 memory maps" in refusal(MANY, Handles(20_000, 20_000))


def test_a_plan_for_another_machine_is_not_refused_for_this_one_s_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "handles_available", lambda: Handles(1000, 65_530))
    notes = [note.text for note in planning.prepare_campaign(MANY, dry_run=True, allow_unequal=True).left_out]
    assert [
        note for note in notes if "open files, and a process may have 1,000 here" in note and "can't run here" in note
    ]
    with pytest.raises(UserError, match="open files, and a process may have 1,000 here"):
        planning.prepare_campaign(MANY, dry_run=False, allow_unequal=True)


def test_copies_on_several_nodes_count_for_each() -> None:
    spread = replace(MANY, nodes=6)
    check_handles(spread, Handles(5_300, 65_530))
    assert "5,300" in refusal(spread, Handles(5_299, 65_530))


def test_clusters_of_others_are_their_business() -> None:
    attached = SystemChoice("kafka", attach=AttachChoice({"bootstrap-servers": "h:1"}))
    check_handles(replace(MANY, systems=(attached,)), Handles(10, 10))
    # The same one, of ours, would need more; and one of ours beside it still does.
    assert "10,000 partitions" in refusal(replace(MANY, systems=(SystemChoice("kafka"),)), Handles(10, 10))
    assert "10,000 partitions" in refusal(replace(MANY, systems=(attached, SystemChoice("pulsar"))), Handles(10, 10))


def test_a_kernel_that_says_no_bound_has_none(tmp_path: Path) -> None:
    assert handles_available(tmp_path / "none").maps == UNBOUNDED
    (tmp_path / "count").write_text("65530\n")
    assert handles_available(tmp_path / "count").maps == 65_530
    assert handles_available().files > 0
