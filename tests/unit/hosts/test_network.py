"""What a switch drops, as rules."""

from __future__ import annotations

from tidegauge.hosts.network import LinkFaults, Port, arrival_rules, fault_rules

PORTS = {
    "a": Port("tg0n1", "1", "198.18.0.1"),
    "b": Port("tg0n2", "2", "198.18.0.2"),
    "clients": Port("", "", "198.18.0.254"),
}


def chain(text: str, hook: str) -> list[str]:
    """What a chain drops."""
    body = text.partition(f"chain {hook} {{\n")[2].partition("}")[0].splitlines()
    assert body[0] == f"type filter hook {hook} priority 0; policy accept;"
    return body[1:]


def test_nothing_is_dropped_without_a_fault() -> None:
    text = fault_rules("x", PORTS, LinkFaults())
    assert [chain(text, hook) for hook in ("prerouting", "output", "postrouting")] == [[], [], []]


def test_a_link_is_cut_where_its_packets_enter_the_switch() -> None:
    text = fault_rules("x", PORTS, LinkFaults(frozenset({("a", "b"), ("b", "clients"), ("clients", "a")})))
    assert chain(text, "prerouting") == [
        'iifname "tg0n1" ip daddr 198.18.0.2 drop',
        'iifname "tg0n2" ip daddr 198.18.0.254 drop',
    ]
    assert chain(text, "output") == ["ip daddr 198.18.0.1 drop"]


def test_packets_are_lost_both_ways() -> None:
    text = fault_rules("x", PORTS, LinkFaults(lost_shares={"b": 0.25}))
    chance = "ether type ip numgen random mod 1000000 < 250000 drop"
    assert chain(text, "prerouting") == [f'iifname "tg0n2" {chance}']
    assert chain(text, "postrouting") == [f'oifname "tg0n2" {chance}']


def test_all_packets_or_none() -> None:
    text = fault_rules("x", PORTS, LinkFaults(lost_shares={"a": 1.0, "b": 0.0}))
    assert chain(text, "prerouting") == ['iifname "tg0n1" ether type ip drop']


def test_between_hosts_packets_are_dropped_where_they_arrive_but_those_of_the_fleet() -> None:
    lines = arrival_rules("x", {"10.0.0.2": 1.0, "10.0.0.1": 0.25}, "6379, 7001-7299").splitlines()
    assert lines == [
        "add table inet tidegauge_x",
        "delete table inet tidegauge_x",
        "table inet tidegauge_x {",
        "chain arriving {",
        "type filter hook prerouting priority raw; policy accept;",
        "meta l4proto { tcp, udp } th dport { 6379, 7001-7299 } accept",
        "meta l4proto { tcp, udp } th sport { 6379, 7001-7299 } accept",
        "ip saddr 10.0.0.1 numgen random mod 1000000 < 250000 drop",
        "ip saddr 10.0.0.2 drop",
        "}",
        "}",
    ]
    assert arrival_rules("x", {}, "6379").splitlines() == lines[:2], "no table at all"


def test_a_table_replaces_the_one_before_in_one_step() -> None:
    lines = fault_rules("0123", PORTS, LinkFaults()).splitlines()
    assert lines[:3] == [
        "add table bridge tidegauge_0123",
        "delete table bridge tidegauge_0123",
        "table bridge tidegauge_0123 {",
    ]
