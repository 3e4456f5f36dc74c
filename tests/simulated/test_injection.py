"""Faults on a simulated deployment and rig: each at its time, on its nodes, and lifted whatever happens."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest
from injection_scenes import CUT_NS, NODES, Recorder, done, fault, injecting

from tidegauge.campaign.run.node_limits import NodeRig
from tidegauge.campaign.run.running_trial import RunningTrial, with_faults
from tidegauge.errors import RunFailedError, StartFailedError
from tidegauge.model.faults import BOTH, INTO, OUT_OF, Fault, FaultKind
from tidegauge.model.rig import Rig
from tidegauge.model.server import Setting
from tidegauge.systems.api import Node


def test_a_fault_comes_in_time_lasts_and_is_lifted() -> None:
    recorder, before_ns = Recorder(), time.monotonic_ns()
    (injected,) = done(recorder, fault(FaultKind.PAUSE)).injected
    assert recorder.calls == [("pause", "['a-2', 'b-2']"), ("resume", "['a-2', 'b-2']"), ("lift_all",)]
    assert injected.nodes == (2,)
    assert injected.begin_ns >= before_ns + 50_000_000
    assert injected.lifted_ns >= injected.begin_ns + 50_000_000


@pytest.mark.parametrize(
    ("one", "calls"),
    [
        (fault(FaultKind.KILL, "3"), ["set_down 3", "kill ['a-3', 'b-3']", "start_node 3"]),
        (fault(FaultKind.SLOW_DISK, "1", ops_per_s=5), ["throttle_disk /disk/1 None 5", "throttle_disk /disk/1"]),
        (fault(FaultKind.HUNG_DISK, "1"), ["hang_disk /disk/1", "unhang_disk /disk/1"]),
        (fault(FaultKind.PACKET_LOSS, "1", share=0.5), ["lose_packets node-1 0.5", "lose_packets node-1 0.0"]),
        (fault(FaultKind.RATE_LIMIT, "1", bytes_per_s=9), ["limit_rate node-1 9", "limit_rate node-1 None"]),
        (fault(FaultKind.RESTART, "all"), [f"{what}_node {n}" for what in ("stop", "start") for n in (1, 2, 3)]),
        (
            fault(FaultKind.ROLLING_RESTART, "all"),
            [f"{what}_node {n}" for n in (1, 2, 3) for what in ("stop", "start")],
        ),
        (
            fault(FaultKind.PARTITION, "1", peers="servers", ways=INTO),
            ["partition ['keeper', 'node-2', 'node-3'] ['node-1'] both_ways=False", "heal"],
        ),
        (
            fault(FaultKind.PARTITION, "1", peers="clients", ways=OUT_OF),
            ["partition ['node-1'] ['clients'] both_ways=False", "heal"],
        ),
        (
            fault(FaultKind.PARTITION, "1", ways=BOTH),
            ["partition ['node-1'] ['keeper', 'node-2', 'node-3', 'clients'] both_ways=True", "heal"],
        ),
    ],
)
def test_each_kind_is_made_and_undone(one: Fault, calls: list[str]) -> None:
    recorder = Recorder()
    done(recorder, one)
    assert [" ".join(call) for call in recorder.calls if call[0] != "check_alive"] == [*calls, "lift_all"]


def test_a_power_cut_begins_when_the_agent_says() -> None:
    recorder = Recorder()
    (injected,) = done(recorder, fault(FaultKind.POWER_CUT, "all")).injected
    assert injected.begin_ns == CUT_NS
    assert recorder.names[:4] == ["set_down"] * 3 + ["cut_power"]
    assert recorder.names[4:] == ["start_node"] * 3 + ["lift_all"]


def test_chance_is_drawn_from_the_seed_and_differs_from_fault_to_fault() -> None:
    faults = [fault(FaultKind.PAUSE, "random") for _ in range(8)]
    first, again, other = (
        [injected.nodes for injected in done(Recorder(), *faults, seed=seed).injected] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other
    assert len(set(first)) > 1


def test_closing_ends_a_fault_early_and_makes_no_more() -> None:
    recorder = Recorder()
    long = Fault(FaultKind.PAUSE, 0.01, "1", 600.0)
    with injecting(recorder, long, Fault(FaultKind.KILL, 700.0, "1", 1.0)) as injector:
        injector.begin_faults(time.monotonic_ns())
        while not injector.injected:
            time.sleep(0.005)
    assert recorder.names == ["pause", "resume", "lift_all"]


def test_a_node_is_not_started_again_when_the_trial_is_over() -> None:
    recorder = Recorder()
    with injecting(recorder, Fault(FaultKind.KILL, 0.01, "1", 600.0)) as injector:
        injector.begin_faults(time.monotonic_ns())
        while "kill" not in recorder.names:
            time.sleep(0.005)
    assert recorder.names == ["set_down", "kill", "lift_all"]


def test_what_can_not_be_made_is_reported_and_lifted_all_the_same() -> None:
    recorder = Recorder({"hang_disk": RunFailedError("no such disk")})
    with injecting(recorder, fault(FaultKind.HUNG_DISK, "1")) as injector:
        injector.begin_faults(time.monotonic_ns())
        while injector.has_faults_to_come:
            time.sleep(0.005)
        with pytest.raises(RunFailedError, match="no such disk"):
            injector.check()
    assert recorder.names == ["hang_disk", "unhang_disk", "lift_all"]


def test_a_node_that_does_not_start_again_ends_the_trial() -> None:
    recorder = Recorder({"start_node": StartFailedError("kafka-2 ended")})
    with injecting(recorder, fault(FaultKind.KILL)) as injector:
        injector.begin_faults(time.monotonic_ns())
        while injector.has_faults_to_come:
            time.sleep(0.005)
        with pytest.raises(StartFailedError, match="kafka-2 ended"):
            injector.check()


def test_a_rolling_restart_waits_until_a_node_is_back() -> None:
    recorder, states = Recorder(), iter(["2 of 3 brokers have joined", "", "", ""])
    done(recorder, fault(FaultKind.ROLLING_RESTART, "all"), missing=lambda: next(states))
    assert recorder.names[:5] == ["stop_node", "start_node", "check_alive", "stop_node", "start_node"]


def test_a_leader_is_asked_for_again_until_there_is_one() -> None:
    answers: list[Any] = [RunFailedError("connection refused"), {}, {"t-0": 3}]

    def leaders() -> Mapping[str, int]:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return cast(Mapping[str, int], answer)

    (injected,) = done(Recorder(), fault(FaultKind.PAUSE), leaders=leaders).injected
    assert injected.nodes == (3,)


@pytest.mark.parametrize("kind", [FaultKind.POWER_CUT, FaultKind.SLOW_DISK, FaultKind.HUNG_DISK])
def test_a_node_without_data_has_no_disk_to_make_a_fault_on(kind: FaultKind) -> None:
    recorder = Recorder()
    recorder.nodes = (*NODES, Node(4, ("broker",), ()))
    with pytest.raises(RunFailedError, match="node 4, which keeps no data"):
        done(recorder, fault(kind, "4"))
    assert not {"cut_power", "throttle_disk", "hang_disk"} & set(recorder.names)


def test_recovered_is_what_the_servers_say() -> None:
    def refuses() -> str:
        raise RunFailedError("connection refused")

    for missing, recovered in ((lambda: "", True), (lambda: "1 of 3 brokers", False), (refuses, False)):
        with injecting(Recorder(), missing=missing) as injector:
            assert injector.has_recovered() is recovered


def test_without_nodes_nothing_can_be_made() -> None:
    recorder = Recorder()
    recorder.nodes = ()
    with pytest.raises(RunFailedError, match="no nodes"):
        done(recorder, fault(FaultKind.PAUSE, "random"))


@dataclass
class StartingNode:
    """As much of a session as makes its faults; a node of it is still starting and answers nobody."""

    spec: Any
    resources: Any
    subject: Any
    worker: Any
    deployment: Any
    node_rig: Any = field(default_factory=NodeRig)
    faults: Any = None

    def check(self) -> None:
        """Its processes live."""


def test_who_leads_is_known_while_a_node_is_still_starting() -> None:
    def refused(*_: Any) -> list[Setting]:
        raise RunFailedError("The bookie's settings could not be read back.")

    setting = Setting("topic t", "leaders", "2")
    deployment = SimpleNamespace(
        connection={}, read_back=refused, leaders=lambda settings: {"t-0": int(settings[0].value)}
    )
    worker = SimpleNamespace(describe=lambda driver, connection, topics: [setting])
    rig = cast(Rig, Recorder())
    trial = StartingNode(
        SimpleNamespace(faults=(fault(FaultKind.PAUSE),), seed=1, nodes=3, attached=False),
        SimpleNamespace(host=SimpleNamespace(rig=rig)),
        SimpleNamespace(system=SimpleNamespace(driver="pulsar")),
        worker,
        deployment,
    )
    with ExitStack() as cleanup:
        injector = with_faults(cast(RunningTrial, trial), ["t"], cleanup).faults
        assert injector is not None
        assert injector.read_leaders() == {"t-0": 2}
        assert not injector.has_recovered()
