"""Open files and memory maps for many partitions, planned or refused with the figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from campaign_samples import CAMPAIGN, MANY

from tidegauge.campaign.model import Campaign, SystemChoice
from tidegauge.campaign.plan.limits import check_handles
from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.campaign.run.apart import Apart
from tidegauge.campaign.run.on_hosts import OnHost
from tidegauge.cli import planning
from tidegauge.errors import UserError
from tidegauge.hosts.procfs import UNBOUNDED, handles_available
from tidegauge.model.host import FleetHost, LoadBounds
from tidegauge.systems import registry
from tidegauge.systems.attach import AttachChoice


def refusal(campaign: Campaign, available: LoadBounds) -> str:
    with pytest.raises(UserError) as caught:
        check_handles(campaign, available)
    return f"{caught.value.message} {caught.value.hint}"


def test_ten_thousand_partitions_fit_into_usual_limits() -> None:
    needed = [registry.system_named(choice.name).handles(10_000) for choice in MANY.systems]
    files, maps = max(handles.files for handles in needed), max(handles.maps for handles in needed)
    assert files <= 20_000
    assert maps <= 65_530
    check_handles(MANY, LoadBounds(files, maps))
    assert "open files" in refusal(MANY, LoadBounds(files - 1, maps))
    assert "memory maps" in refusal(MANY, LoadBounds(files, maps - 1))


def test_too_few_files_or_maps_are_reported_with_the_figures() -> None:
    message = refusal(MANY, LoadBounds(4096, 65_530))
    assert "10,000 partitions a server of Apache Kafka needs about 10,300 open files" in message
    assert "may have 4,096 here" in message
    assert "21,000 memory maps" in refusal(MANY, LoadBounds(20_000, 20_000))


def test_partitions_of_a_system_s_own_are_those_that_count() -> None:
    one = replace(MANY, workload=replace(MANY.workload, partitions=1))
    check_handles(one, LoadBounds(4096, 65_530))
    own = replace(one, systems=(replace(MANY.systems[0], partitions=10_000), *MANY.systems[1:]))
    assert "10,000 partitions a server of Apache Kafka needs" in refusal(own, LoadBounds(4096, 65_530))


def test_a_plan_for_another_machine_is_not_refused_for_this_one_s_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "load_bounds", lambda: LoadBounds(1000, 65_530))
    notes = [note.text for note in planning.prepare_campaign(MANY, dry_run=True, allow_unequal=True).left_out]
    assert [
        note for note in notes if "open files, and a process may have 1,000 here" in note and "can't run here" in note
    ]
    with pytest.raises(UserError, match="open files, and a process may have 1,000 here"):
        planning.prepare_campaign(MANY, dry_run=False, allow_unequal=True)


def test_copies_on_several_nodes_count_for_each() -> None:
    spread = replace(MANY, nodes=6)
    check_handles(spread, LoadBounds(5_300, 65_530))
    assert "5,300" in refusal(spread, LoadBounds(5_299, 65_530))


def test_clusters_of_others_are_their_business() -> None:
    attached = SystemChoice("kafka", attach=AttachChoice({"bootstrap-servers": "h:1"}))
    check_handles(replace(MANY, systems=(attached,)), LoadBounds(10, 10))
    # The same one, of ours, would need more; and one of ours beside it still does.
    assert "10,000 partitions" in refusal(replace(MANY, systems=(SystemChoice("kafka"),)), LoadBounds(10, 10))
    assert "10,000 partitions" in refusal(replace(MANY, systems=(attached, SystemChoice("pulsar"))), LoadBounds(10, 10))


class OfHosts:
    """`Launcher` of hosts that answer what a process may have there."""

    def __init__(self, files: Mapping[str, int]) -> None:
        self.files = files

    def start(self, host: FleetHost, kind: Callable[[], object]) -> Any:
        assert kind is OnHost
        answer = LoadBounds(self.files[host.address])
        return SimpleNamespace(call=lambda method, timeout_s: {"bounds": answer}[method], end=lambda: None)


def refusal_on_hosts(files: Mapping[str, int], load: Sequence[str] = (), **changes: Any) -> str:
    """What keeps 10,000 partitions from hosts whose processes may have so many files, "" if nothing."""
    hosts = [FleetHost(address, "load" if address in load else "server", address) for address in files]
    servers = [host for host in hosts if host.role == "server"]
    loads = [SimpleNamespace(host=host) for host in hosts if host.role == "load"]
    made: Any = SimpleNamespace(launcher=OfHosts(files), servers=servers, load=SimpleNamespace(agents=loads))
    campaign = replace(MANY, experiments=CAMPAIGN.experiments[:1], fleet="fleet.yaml", **changes)
    try:
        Apart.check_bounds(made, plan_campaign(campaign), campaign)
    except UserError as error:
        return error.message
    return ""


def test_a_fleets_hosts_are_judged_by_what_they_have_themselves() -> None:
    usual, few = 100_000, 200
    assert refusal_on_hosts({"10.0.0.2": usual, "10.0.0.3": usual}) == ""
    servers = refusal_on_hosts({"10.0.0.2": usual, "10.0.0.3": few})
    assert "open files, and a process may have 200 on 10.0.0.3." in servers
    load = refusal_on_hosts({"10.0.0.2": usual, "10.0.0.3": few}, ["10.0.0.3"])
    assert "the load generator would have about" in load
    assert "open files, and a process may have 200 on 10.0.0.3." in load


def test_a_fleets_plan_is_not_judged_by_this_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """But its load generators are, if they are here."""
    monkeypatch.setattr(planning, "load_bounds", lambda: LoadBounds(200))
    path, fleet = tmp_path / "c.yaml", tmp_path / "fleet.yaml"
    lines = ("name: c", "systems: [kafka]", "experiments: [{name: latency, rate: 1k}]", "workload: {partitions: 10000}")
    path.write_text("\n".join(lines))
    load_host = "launcher: ray\nroles: {l: {label: {role: load}, count: 1}}\n"
    for text, words in ((load_host, ""), ("launcher: ray\n", "the load generator would have about")):
        fleet.write_text(text)
        campaign = parse_campaign(path, {"fleet": str(fleet)}, ["kafka"])
        notes = planning.prepare_campaign(campaign, dry_run=True, allow_unequal=True).left_out
        about_files = [note.text for note in notes if "open files" in note.text]
        assert len(about_files) == bool(words)
        assert all(words in text for text in about_files)


def test_a_kernel_that_says_no_bound_has_none(tmp_path: Path) -> None:
    assert handles_available(tmp_path / "none").maps == UNBOUNDED
    (tmp_path / "count").write_text("65530\n")
    assert handles_available(tmp_path / "count").maps == 65_530
    assert handles_available().files > 0
