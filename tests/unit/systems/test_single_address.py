"""Clusters of others whose nodes are all reached at one address, as behind a proxy: read, and remarked on once."""

from __future__ import annotations

import pytest
from hazard_samples import case, read

from tidegauge.campaign.plan.load_remarks import hazards_of_load
from tidegauge.durability import setting_changes
from tidegauge.model.level import AS_FOUND
from tidegauge.model.server import SINGLE_ADDRESS, Setting
from tidegauge.systems import registry
from tidegauge.systems.attach import AttachChoice
from tidegauge.systems.attached import AttachRequest

AT_ONE = Setting("cluster", SINGLE_ADDRESS, "127.0.0.1")


def read_back(system: str, addresses: dict[str, str], reported: list[Setting]) -> list[Setting]:
    request = AttachRequest(AttachChoice(addresses), AS_FOUND)
    cluster = registry.system_named(system).attach(request)
    return [one for one in cluster.read_back(lambda topics: reported, []) if one.name == SINGLE_ADDRESS]


@pytest.mark.parametrize(
    ("hosts", "found"),
    [
        (["127.0.0.1:9092", "127.0.0.1:9093"], [AT_ONE]),
        (["127.0.0.1:9092", "localhost:9092"], [AT_ONE]),
        (["::1:9092", "::1:9092"], [Setting("cluster", SINGLE_ADDRESS, "::1")]),
        (["127.0.0.1:9092", "127.0.0.2:9092"], []),
        (["127.0.0.1:9092", "none.invalid:9092"], []),
        (["none.invalid:9092", "127.0.0.1:9092"], []),
        (["127.0.0.1:9092"], []),
        ([], []),
    ],
)
def test_kafkas_brokers_say_where_they_are_reached(hosts: list[str], found: list[Setting]) -> None:
    reported = [Setting(f"broker {number}", "address", host) for number, host in enumerate(hosts)]
    assert read_back("kafka", {"bootstrap-servers": "elsewhere:9092"}, reported) == found


@pytest.mark.parametrize(
    ("uris", "nodes", "found"),
    [
        ("amqp://127.0.0.1:5672", "3", [AT_ONE]),
        ("amqp://127.0.0.1:5672", "1", []),
        ("amqp://127.0.0.1:5672,amqp://127.0.0.2:5672", "3", []),
    ],
)
def test_rabbitmqs_nodes_are_reached_as_the_campaign_says(uris: str, nodes: str, found: list[Setting]) -> None:
    addresses = {"uris": uris, "management-url": "http://127.0.0.1:15672"}
    assert read_back("rabbitmq", addresses, [Setting("cluster", "nodes", nodes)]) == found


@pytest.mark.parametrize(
    ("brokers", "found"),
    [
        (["127.0.0.1:8080", "127.0.0.1:8081"], [AT_ONE]),
        (["127.0.0.1:8080", "127.0.0.2:8080"], []),
        (["127.0.0.1:8080"], []),
    ],
)
def test_pulsars_brokers_say_where_they_are_and_its_service_url_says_nothing(
    brokers: list[str], found: list[Setting]
) -> None:
    """Clients look brokers up by one URL, also by that of a single one."""
    addresses = {"service-url": "pulsar://127.0.0.1:6650", "admin-url": "http://127.0.0.1:8080"}
    reported = [Setting("cluster", "brokers", str(len(brokers)))]
    reported += [Setting(f"broker {broker}", "configuration", "unknown: not allowed") for broker in brokers]
    assert read_back("pulsar", addresses, reported) == found


def test_one_address_is_remarked_on_once() -> None:
    at_one = read(case(2, nodes=3), cluster={SINGLE_ADDRESS: "10.0.0.5"})
    (remark,) = hazards_of_load(at_one, {})
    assert (remark.rule, remark.what) == ("single-address", "all servers that clients talk to at one address, 10.0.0.5")
    assert "a proxy or load balancer stands before them" in remark.why
    assert hazards_of_load(read(case(2, nodes=3), cluster={"nodes": "3"}), {}) == []
    assert hazards_of_load(case(2, nodes=3), {}) == []


def test_an_address_that_a_name_has_for_a_moment_is_no_setting_that_was_changed() -> None:
    assert setting_changes([AT_ONE], []) == ()
