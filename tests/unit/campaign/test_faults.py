"""Faults in campaigns: what is right becomes objects, what is wrong is refused with its line before anything starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from campaign_texts import complaint, parse

from tidegauge.campaign.plan.limits import check_faults, refused_faults
from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.campaign.read.faults import FaultFields, faulted_trial
from tidegauge.campaign.read.fingerprint import differences_in_meaning, meaning_of_campaign
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.config.source import keys_of
from tidegauge.errors import UserError
from tidegauge.model.faults import Fault, FaultKind
from tidegauge.model.trial import LoadSpec, ReadSpec, ServerReuse
from tidegauge.systems import registry

ROOT = Path(__file__).parents[3]
CAMPAIGN = """\
name: faulted
systems: [kafka]
durability: 1
nodes: 3
deployment: shared
experiments:
  - name: latency
    rate: 1k
    measure: 60s
    faults:
{faults}
"""


def with_faults(*faults: str) -> str:
    return CAMPAIGN.format(faults="\n".join(f"      - {{{fault}}}" for fault in faults))


def planned(directory: Path, *faults: str) -> LoadSpec:
    (trial,) = plan_campaign(parse(directory, with_faults(*faults))).trials
    return trial


def test_every_kind_can_be_asked_for(tmp_path: Path) -> None:
    trial = planned(
        tmp_path,
        "at: 1s, kind: kill, target: leader, duration: 2s",
        "at: 5s, kind: pause, target: 2, duration: 500ms",
        "at: 8s, kind: power-cut, target: all, duration: 1s",
        "at: 10s, kind: slow-disk, duration: 1s, bandwidth: 1MiB, operations: 100",
        "at: 15s, kind: hung-disk, duration: 1s",
        "at: 20s, kind: partition, target: 1, duration: 1s, peers: servers, ways: in",
        "at: 25s, kind: packet-loss, duration: 1s, share: 5%",
        "at: 30s, kind: rate-limit, duration: 1s, bandwidth: 1MiB",
        "at: 35s, kind: restart, target: 3",
        "at: 45s, kind: rolling-restart",
    )
    assert [fault.kind for fault in trial.faults] == list(FaultKind)
    kill, pause, _, slow, _, partition, loss, *_ = trial.faults
    assert (kill.target, kill.at_s, kill.duration_s, kill.words()) == (
        "leader",
        1.0,
        2.0,
        "kill of the leader for 2 s, at 1 s",
    )
    assert (pause.target, pause.duration_s) == ("2", 0.5)
    assert (slow.bytes_per_s, slow.ops_per_s, slow.target) == (1 << 20, 100, "random")
    assert partition.what == "partition (of what servers send) around node 1"
    assert loss.what == "packet loss (5% of packets) of a random node"
    # What a fault leaves of servers is nothing to measure another trial on.
    assert trial.servers is ServerReuse.FRESH


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("at: 1s, kind: kil, duration: 1s", "faults[0].kind: 'kil': must be one of kill, pause"),
        ("at: 1s, kind: kil, duration: 1s", "did you mean 'kill'?"),
        ("at: 1s, kind: kill, durration: 1s", "unknown key 'durration' (did you mean 'duration'?)"),
        ("at: 1s, kind: kill, target: leadr, duration: 1s", "did you mean 'leader'?"),
        ("at: 1s, kind: kill, target: 0, duration: 1s", "or a node's number from 1 on"),
        ("at: 1s, kind: kill", "kill needs 'duration'"),
        ("at: 1s, kind: restart, duration: 1s", "duration: has no meaning for restart; allowed: at, kind, target"),
        ("at: 1s, kind: rolling-restart, target: 1", "target: has no meaning for rolling-restart"),
        ("at: 1s, kind: slow-disk, duration: 1s", "slow-disk needs 'bandwidth' or 'operations'"),
        ("at: 1s, kind: packet-loss, duration: 1s", "packet-loss needs 'share'"),
        ("at: 1s, kind: packet-loss, duration: 1s, share: null", "packet-loss needs 'share'"),
        ("at: 1s, kind: slow-disk, duration: 1s, operations: null", "slow-disk needs 'bandwidth' or 'operations'"),
        ("at: 1s, kind: packet-loss, duration: 1s, share: 0%", "share: must be above 0 %"),
        ("at: 1s, kind: pause, duration: 1s, share: 5%", "share: has no meaning for pause"),
        ("at: 1s, kind: partition, duration: 1s, peers: server", "did you mean 'servers'?"),
        ("kind: kill, duration: 1s", "faults[0].at"),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(fault: str, expected: str, tmp_path: Path) -> None:
    message = complaint(tmp_path, with_faults(fault))
    assert expected in message
    assert "campaign.yaml:11" in message


def test_faults_come_one_after_the_other(tmp_path: Path) -> None:
    message = complaint(
        tmp_path, with_faults("at: 5s, kind: kill, duration: 10s", "at: 10s, kind: pause, duration: 1s")
    )
    assert "campaign.yaml:12" in message
    assert "10 s is before the fault above it is over (15 s)" in message


@pytest.mark.parametrize("faults", ["kill", "[]", "[kill]"])
def test_faults_are_a_list_of_mappings(faults: str, tmp_path: Path) -> None:
    text = CAMPAIGN.format(faults="").replace("    faults:\n", f"    faults: {faults}\n")
    assert "faults" in complaint(tmp_path, text)


def test_a_fault_must_be_over_before_the_window_is(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"campaign.yaml:10: faults: fault 1 \(kill of a random node.*only 60 s"):
        planned(tmp_path, "at: 50s, kind: kill, duration: 11s")


def test_a_run_is_gone_on_with_from_another_place_but_not_with_other_faults(tmp_path: Path) -> None:
    kill, pause = "at: 5s, kind: kill, duration: 1s", "at: 5s, kind: pause, duration: 1s"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    first, moved, other = (
        meaning_of_campaign(parse(where, with_faults(fault)))
        for where, fault in ((tmp_path, kill), (elsewhere, kill), (tmp_path, pause))
    )
    assert differences_in_meaning(first, moved) == []
    assert differences_in_meaning(first, other) == ["experiments.0.faults.0.kind was kill and is pause now"]


def test_clusters_of_others_and_late_readers_are_left_alone(tmp_path: Path) -> None:
    trial = planned(tmp_path, "at: 5s, kind: kill, duration: 1s")
    assert faulted_trial(trial, trial.faults, "here", 3) == trial
    with pytest.raises(UserError, match="a cluster that others run"):
        faulted_trial(replace(trial, attached=True), trial.faults, "here", 0)
    with pytest.raises(UserError, match="no window of known length"):
        faulted_trial(ReadSpec(**trial.shared, drain_s_max=5.0), trial.faults, "here", 3)


def planned_with(directory: Path, system: str, *faults: str) -> LoadSpec:
    path = directory / "campaign.yaml"
    path.write_text(with_faults(*faults).replace("[kafka]", f"[{system}]"))
    (trial,) = plan_campaign(parse_campaign(path, {}, sorted(registry.all_systems()))).trials
    return trial


def test_a_system_without_networks_has_no_faults_of_them(tmp_path: Path) -> None:
    trial = planned(tmp_path, "at: 5s, kind: packet-loss, share: 1%, duration: 1s")
    with pytest.raises(
        UserError, match=r"here: faults: fault 1: packet-loss can't be made with kafka@\S+: it has none\."
    ):
        faulted_trial(trial, trial.faults, "here", 3, "it has none")


@pytest.mark.parametrize("system", ["pulsar", "rabbitmq", "kafka@2.8.2"])
def test_every_system_with_servers_has_faults_of_networks(system: str, tmp_path: Path) -> None:
    trial = planned_with(tmp_path, system, "at: 5s, kind: packet-loss, share: 1%, duration: 1s")
    assert trial.faults[0].kind.procedure.needs_network


def test_a_node_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"campaign.yaml:10: faults: fault 1: there is no node 4: kafka@\S+ has 3"):
        planned(tmp_path, "at: 1s, kind: kill, target: 4, duration: 1s")


def test_brokers_with_nodes_of_their_own_are_numbered_after_the_bookies(tmp_path: Path) -> None:
    tiered = "{name: pulsar, shape: {layout: tiered, brokers: 2}}"
    trial = planned_with(tmp_path, tiered, "at: 1s, kind: kill, target: 5, duration: 1s")
    assert trial.faults[0].target == "5"
    with pytest.raises(UserError, match=r"there is no node 6: pulsar@\S+ has 5"):
        planned_with(tmp_path, tiered, "at: 1s, kind: kill, target: 6, duration: 1s")


def test_what_this_machine_can_not_do_is_refused_with_the_reason(tmp_path: Path) -> None:
    trial = planned(
        tmp_path,
        "at: 5s, kind: hung-disk, duration: 1s",
        "at: 9s, kind: partition, duration: 1s",
        "at: 20s, kind: restart",
    )
    assert refused_faults([trial], {}) == []
    check_faults([trial], lambda: {"slow_disk": "not asked for"})
    with pytest.raises(UserError, match=r"hung-disk can't be made here: needs root; partition can't .*: no nft\."):
        check_faults([trial], lambda: {"hung_disk": "needs root", "ext4": "needs root", "partition": "no nft"})


def test_the_reference_names_every_key_and_kind() -> None:
    reference = (ROOT / "docs/reference.md").read_text()
    words = [*keys_of(FaultFields), *FaultKind]
    assert [word for word in words if f"`{word}`" not in reference] == []


def test_words_of_limits() -> None:
    slow = Fault(FaultKind.SLOW_DISK, 1.0, "all", 2.0, bytes_per_s=1 << 20, ops_per_s=1000)
    assert slow.what == "slow disk (1 MiB/s, 1,000 operations/s) of all nodes"
    assert Fault(FaultKind.RATE_LIMIT, 1.0, "1", 2.0, bytes_per_s=128 << 10).what == "rate limit (128 KiB/s) of node 1"
    assert Fault(FaultKind.RATE_LIMIT, 1.0, "1", 2.0, bytes_per_s=16 << 30).what == "rate limit (16 GiB/s) of node 1"
