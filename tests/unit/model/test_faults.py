"""The table of faults: each kind is a class of its own, which asks for what there is."""

from __future__ import annotations

from typing import get_args

from tidegauge.campaign.read.faults import FaultFields
from tidegauge.config.source import keys_of
from tidegauge.model.faults import Fault, FaultExtent, FaultKind
from tidegauge.model.rig import Ability


def test_each_kind_is_a_class_of_its_own() -> None:
    classes = [type(kind.procedure) for kind in FaultKind]
    assert len(set(classes)) == len(classes)
    # As a campaign and a stored run name it.
    assert [type(kind.procedure).__name__.lower() for kind in FaultKind] == [
        kind.value.replace("-", "") for kind in FaultKind
    ]


def test_kinds_need_what_hosts_know_and_have_keys_that_campaigns_know() -> None:
    for kind in FaultKind:
        assert set(kind.procedure.needs) <= set(get_args(Ability)), kind
        assert set(kind.procedure.keys) <= set(keys_of(FaultFields)), kind
        assert kind.procedure.needs_disk == ("disk" in kind or kind is FaultKind.POWER_CUT)
        assert kind.procedure.needs_network == (kind.procedure.needs[:1] == ("network",))


def test_a_fault_says_only_what_its_kind_has() -> None:
    extent = FaultExtent(bytes_per_s=1 << 20, ops_per_s=100, share=0.001, peers="clients", ways="out")
    words = {kind: ", ".join(kind.procedure.describe_extent(extent)) for kind in FaultKind}
    assert {kind: text for kind, text in words.items() if text} == {
        FaultKind.SLOW_DISK: "1 MiB/s, 100 operations/s",
        FaultKind.PARTITION: "of what goes to clients",
        FaultKind.PACKET_LOSS: "0.001 of packets",
        FaultKind.RATE_LIMIT: "1 MiB/s",
    }
    assert Fault(FaultKind.POWER_CUT, 1.0, "all", 2.0).words() == "power cut of all nodes for 2 s, at 1 s"
    assert Fault(FaultKind.ROLLING_RESTART, 1.0, "all").words() == "rolling restart of all nodes, at 1 s"
