"""A campaign whose servers are to be on a fleet: who runs where, and what is refused before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from calibration_samples import calibration

from tidegauge.campaign.model import Campaign
from tidegauge.campaign.plan.limits import machines_of
from tidegauge.campaign.read.fingerprint import differences_in_meaning, meaning_of_campaign
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.campaign.run.on_hosts import difference_of_files
from tidegauge.cli import planning
from tidegauge.cli.planning import prepare_campaign
from tidegauge.errors import UserError
from tidegauge.model.server import Distribution
from tidegauge.systems import registry

PULSAR = ", {name: pulsar, shape: {brokers: 2, layout: tiered}}"
CAMPAIGN = f"""\
name: apart
systems: [kafka{PULSAR}]
durability: 1
nodes: 3
experiments:
  - {{name: latency, rate: 1000, measure: 10s}}
"""


def parsed(tmp_path: Path, text: str = CAMPAIGN, fleet: str = "launcher: ray\n", **more: str) -> Campaign:
    path, of_fleet = tmp_path / "apart.yaml", tmp_path / "fleet.yaml"
    path.write_text(text)
    of_fleet.write_text(fleet)
    return parse_campaign(path, {"fleet": str(of_fleet), **more}, sorted(registry.all_systems()))


def refused(campaign: Campaign) -> str:
    with pytest.raises(UserError) as caught:
        prepare_campaign(campaign, dry_run=True, allow_unequal=False)
    return caught.value.message


def test_a_plan_says_who_runs_where_and_takes_no_memory_here(tmp_path: Path) -> None:
    campaign = parsed(tmp_path)
    ready = prepare_campaign(campaign, dry_run=True, allow_unequal=True)
    hosts = machines_of(campaign)
    assert hosts > 3
    assert ready.placement == (
        f"Servers are started on {hosts} hosts of role server of {campaign.fleet}, one node each; load generators here."
    )
    assert ready.placement not in ready.shown_plan.warnings, "who runs where is nothing to be warned of"
    assert all(trial.apart and trial.elsewhere and not trial.attached for trial in ready.plan.trials)
    assert all(not need.servers for need in ready.memory.needs)
    here = parse_campaign(tmp_path / "apart.yaml", {}, sorted(registry.all_systems()))
    assert not any(trial.apart for trial in prepare_campaign(here, dry_run=True, allow_unequal=True).plan.trials)


def test_a_fleet_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    few = "launcher: ray\nroles: {servers: {label: {role: server}, count: 2}}\n"
    with pytest.raises(UserError, match="needs 5 hosts for its servers, and the file has 2") as caught:
        prepare_campaign(parsed(tmp_path, fleet=few), dry_run=True, allow_unequal=False)
    assert "'nodes-per-host: 3' of role server" in str(caught.value.hint)
    shared = few.replace("count: 2", "count: 3, nodes-per-host: 2")
    placement = prepare_campaign(parsed(tmp_path, fleet=shared), dry_run=True, allow_unequal=True).placement
    assert "on 3 hosts of role server of" in placement and "which share 5 nodes;" in placement
    many = "launcher: ray\nroles: {load: {label: {role: load}, count: 4}}\n"
    placement = prepare_campaign(parsed(tmp_path, fleet=many), dry_run=True, allow_unequal=True).placement
    assert "those that have a producer or consumer carry out a trial (at least 2)" in placement
    with pytest.raises(UserError, match=r"fleet\.yaml:2: roles: '7'"):
        parsed(tmp_path, fleet="launcher: ray\nroles: 7\n")


def test_the_fleets_load_hosts_have_the_load_generators(tmp_path: Path) -> None:
    fleet = "launcher: ray\nroles: {load: {label: {role: load}, count: 2, workers-per-host: 2}}\n"
    four = f"{CAMPAIGN}workload: {{producers: 2, consumers: 2, partitions: 2}}\n"
    campaign = parsed(tmp_path, four, fleet=fleet)
    assert (campaign.worker.count, campaign.worker.hosts, campaign.worker.on_one_host) == (4, 2, 2)
    ready = prepare_campaign(campaign, dry_run=True, allow_unequal=True)
    assert {trial.load_hosts for trial in ready.plan.trials} == {2}
    assert ready.memory.workers == 4
    assert any(words.startswith("Each of the 4 load generators gets at most") for words in ready.memory.sentences())
    assert all(need.worker_mb == 0 for need in ready.memory.needs), "none of it is here"
    assert "4 load generators on 2 hosts of role load" in ready.placement
    with pytest.raises(UserError, match=r"worker\.count: '3': the fleet's hosts have 4 load generators"):
        parsed(tmp_path, four + "worker: {count: 3}\n", fleet=fleet)
    with pytest.raises(UserError, match="workers-per-host: is for hosts with the label 'load'"):
        parsed(
            tmp_path,
            fleet="launcher: ray\nroles: {s: {label: {role: server}, count: 5, workers-per-host: 2}}\n",
        )


def test_load_hosts_may_measure_what_others_run(tmp_path: Path) -> None:
    attached = CAMPAIGN.replace(f"kafka{PULSAR}", "{name: kafka, attach: {bootstrap-servers: 'h:9092'}}")
    attached = attached.replace("nodes: 3\n", "") + "workload: {producers: 2, consumers: 2, partitions: 2}\n"
    load = "launcher: ray\nroles: {load: {label: {role: load}, count: 2}}\n"
    ready = prepare_campaign(parsed(tmp_path, attached, fleet=load), dry_run=True, allow_unequal=True)
    assert ready.placement == "Others run the servers; 2 load generators on 2 hosts of role load."
    assert all(trial.attached and not trial.apart and trial.load_hosts == 2 for trial in ready.plan.trials)
    assert "others run its servers, and the file has no hosts of role load" in refused(parsed(tmp_path, attached))


def test_what_is_not_done_on_other_hosts_is_refused(tmp_path: Path) -> None:
    fault = "measure: 10s, faults: [{kind: power-cut, target: 1, at: 2s, duration: 2s}]}"
    cut = CAMPAIGN.replace("measure: 10s}", fault)
    parted = cut.replace("power-cut", "partition")
    notes = [
        note.text for note in prepare_campaign(parsed(tmp_path, parted), dry_run=True, allow_unequal=True).left_out
    ]
    assert any("is on the host of node 1: a fault of that node's link hits it, too." in note for note in notes)
    servers = "servers: {label: {role: server}, count: 3, nodes-per-host: 2}"
    shared = parsed(tmp_path, parted, fleet=f"launcher: ray\nroles: {{{servers}}}\n")
    assert "nodes-per-host: a fault of a node's link affects its whole host" in refused(shared)
    keeper = "launcher: ray\nroles: {k: {label: {role: keeper}, count: 1}}\n"
    notes = [
        n.text
        for n in prepare_campaign(parsed(tmp_path, parted, fleet=keeper), dry_run=True, allow_unequal=True).left_out
    ]
    assert not any("hits it, too" in note for note in notes)
    limit = cut.replace("power-cut", "rate-limit, bandwidth: 1MiB")
    assert "rate-limit can't be made here: the links of a fleet's hosts belong" in refused(parsed(tmp_path, limit))
    # What the hosts themselves can't do they say when the run begins.
    assert prepare_campaign(parsed(tmp_path, cut), dry_run=True, allow_unequal=True).plan.trials[0].faults
    attest = CAMPAIGN.replace(PULSAR, "").replace("{name: latency, rate: 1000, measure: 10s}", "{name: attest}")
    many = "launcher: ray\nroles: {load: {label: {role: load}, count: 4}}\n"
    ready = prepare_campaign(parsed(tmp_path, attest, fleet=many), dry_run=True, allow_unequal=True)
    assert {trial.load_hosts for trial in ready.plan.trials} == {0}, "its load generator is on the host of run"


def test_files_that_are_others_are_named() -> None:
    here = Distribution("kafka", "4.3.1", Path("/cache/kafka"), Path("/jdk"), "17.0.15", "abc", "maven central")
    assert difference_of_files(here, here) == ""
    for name, value, words in (
        ("digest", "def", "its digest is def instead of abc"),
        ("java_version", "21.0.1", "its java version is 21.0.1 instead of 17.0.15"),
        ("java_home", None, "its java home is none instead of /jdk"),
    ):
        assert difference_of_files(here, Distribution(**{**vars(here), name: value})) == words


def test_another_placement_is_another_campaign(tmp_path: Path) -> None:
    few = "launcher: ray\nroles: {s: {label: {role: server}, count: 3, nodes-per-host: 2}}\n"
    before, now = meaning_of_campaign(parsed(tmp_path)), meaning_of_campaign(parsed(tmp_path, fleet=few))
    assert differences_in_meaning(before, now) == ["nodes_per_host was 1 and is 2 now"]


def test_what_this_host_makes_says_nothing_of_a_fleets_load_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "known_calibrations", lambda _: [calibration()])
    fast = CAMPAIGN.replace("rate: 1000", "rate: 500000")
    load = "launcher: ray\nroles: {load: {label: {role: load}, count: 1}}\n"
    for fleet, is_said in (("launcher: ray\n", True), (load, False)):
        ready = prepare_campaign(parsed(tmp_path, fast, fleet=fleet), dry_run=True, allow_unequal=True)
        assert any("makes and checks on this host" in words for words in ready.shown_plan.warnings) is is_said
