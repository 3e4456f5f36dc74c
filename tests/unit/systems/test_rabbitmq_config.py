"""RabbitMQ's configuration and environment, and the causes found in its logs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tidegauge.systems.api import Seat
from tidegauge.systems.rabbitmq.config import (
    Layout,
    RabbitNode,
    connection_of_nodes,
    enabled_plugins,
    has_streams,
    node_environment,
    rabbitmq_conf,
)
from tidegauge.systems.rabbitmq.deployment import find_cause

NODES = [
    RabbitNode(number, 1000 + number, 2000 + number, 3000 + number, 4000 + number, 5000 + number, Path(f"/d/{number}"))
    for number in (1, 2, 3)
]
LAYOUT = Layout("4.3.6", Path("/r/server"), Path("/r/erlang/bin"), Path("/r/erlang/bin/epmd"))


def values(text: str) -> dict[str, str]:
    return dict(line.split(" = ", 1) for line in text.splitlines())


def test_a_node_listens_on_loopback_only() -> None:
    conf = values(rabbitmq_conf(NODES[0], NODES[:1], 2048, True, {}))
    assert conf["listeners.tcp.default"] == "127.0.0.1:1001"
    assert conf["stream.listeners.tcp.1"] == "127.0.0.1:2001"
    assert (conf["management.tcp.ip"], conf["management.tcp.port"]) == ("127.0.0.1", "3001")
    assert conf["stream.advertised_host"] == "127.0.0.1"
    assert conf["vm_memory_high_watermark.absolute"] == "2048MiB"
    assert not any(name.startswith("cluster_formation") for name in conf)
    environment = node_environment(LAYOUT, NODES[0], Path("/home"), 9)
    assert environment["ERL_EPMD_ADDRESS"] == environment["RABBITMQ_NODE_IP_ADDRESS"] == "127.0.0.1"
    assert "inet_dist_use_interface {127,0,0,1}" in environment["RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS"]


def test_a_cluster_knows_all_its_nodes() -> None:
    conf = values(rabbitmq_conf(NODES[1], NODES, 2048, True, {}))
    assert conf["cluster_formation.peer_discovery_backend"] == "classic_config"
    assert conf["cluster_formation.classic_config.nodes.3"] == "tidegauge3@localhost"
    assert connection_of_nodes(NODES, "quorum", True) == {
        "uri": ",".join(f"amqp://guest:guest@127.0.0.1:{port}" for port in (1001, 1002, 1003)),
        "streamUri": ",".join(f"rabbitmq-stream://guest:guest@127.0.0.1:{port}" for port in (2001, 2002, 2003)),
        "managementUrl": ",".join(f"http://127.0.0.1:{port}" for port in (3001, 3002, 3003)),
        "queueType": "quorum",
        "nodes": "3",
    }


def test_a_node_in_a_network_of_its_own_is_named_by_its_address() -> None:
    apart = [replace(node, seat=Seat(f"198.18.0.{node.number}", f"node-{node.number}")) for node in NODES]
    conf = values(rabbitmq_conf(apart[1], apart, 2048, True, {}))
    assert conf["listeners.tcp.default"] == "198.18.0.2:1002"
    assert conf["stream.advertised_host"] == conf["management.tcp.ip"] == "198.18.0.2"
    assert conf["loopback_users.guest"] == "false"
    assert conf["cluster_formation.classic_config.nodes.3"] == "tidegauge3@198.18.0.3"
    environment = node_environment(LAYOUT, apart[1], Path("/home"), 9)
    assert environment["RABBITMQ_USE_LONGNAME"] == "true"
    assert environment["ERL_EPMD_ADDRESS"] == "198.18.0.2"
    assert "inet_dist_use_interface {198,18,0,2}" in environment["RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS"]
    assert connection_of_nodes(apart[:1], "quorum", False)["uri"] == "amqp://guest:guest@198.18.0.1:1001"


def test_the_users_settings_win() -> None:
    conf = values(rabbitmq_conf(NODES[0], NODES[:1], 2048, True, {"heartbeat": "5", "management.tcp.port": "7"}))
    assert (conf["heartbeat"], conf["management.tcp.port"]) == ("5", "7")


def test_versions_without_streams_are_not_asked_for_them() -> None:
    assert not has_streams((3, 8, 9))
    assert has_streams((3, 9, 0))
    assert "stream" not in rabbitmq_conf(NODES[0], NODES[:1], 2048, False, {})
    assert "streamUri" not in connection_of_nodes(NODES, "quorum", False)
    assert enabled_plugins(False) == "[rabbitmq_management,rabbitmq_prometheus].\n"
    assert enabled_plugins(True) == "[rabbitmq_management,rabbitmq_prometheus,rabbitmq_stream].\n"


def test_every_path_of_a_node_is_its_own() -> None:
    environment = node_environment(LAYOUT, NODES[1], Path("/home"), 9)
    paths = {name: value for name, value in environment.items() if value.startswith("/") and name != "PATH"}
    assert paths.pop("HOME") == "/home"
    assert len(paths) > 8
    assert all(value.startswith("/d/2/") for value in paths.values())
    # The script's own default for each of these is the system service's.
    for name in (
        "CONF_ENV_FILE",
        "CONFIG_FILE",
        "ADVANCED_CONFIG_FILE",
        "ENABLED_PLUGINS_FILE",
        "MNESIA_BASE",
        "LOG_BASE",
    ):
        assert f"RABBITMQ_{name}" in paths


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (
            "2026-11-21 05:20:03.046950+00:00 [error] <0.998.0> Failed to start Ranch listener "
            "{acceptor,{127,0,0,1},46569} in ranch_tcp:listen(#{num_acceptors => 10}) for reason eaddrinuse (address "
            "already in use)\n2026-11-21 05:20:03.05+00:00 [error] <0.1.0> Error during startup: {error,",
            "a port that it needs is taken: 46569",
        ),
        ("reason: {listen_error,x,eaddrinuse}", "a port that it needs is taken:"),
        (
            "2026-11-21 05:20:17.652519+00:00 [error] <0.144.0> Error preparing configuration in phase "
            "transform_datatypes:\n"
            "2026-11-21 05:20:17.65+00:00 [error] <0.144.0>   - Conf file attempted to set unknown variable: no.key",
            "there is no setting named no.key",
        ),
        (
            "2026-11-21 05:20:21.383327+00:00 [error] <0.144.0>   - Error transforming datatype for: heartbeat\n"
            '2026-11-21 05:20:21.383463+00:00 [error] <0.144.0>   - "often" cannot be converted to a(n) integer',
            'a setting is not valid. heartbeat: "often" cannot be converted',
        ),
        ("Error during startup: {error,failed_to_prepare_configuration}", "a setting is not valid."),
        ("exception exit: {badmatch,{error,enospc}}", "the disk is full."),
        ('eheap_alloc: Cannot allocate 1048576 bytes of memory (of type "heap").', "Cannot allocate 1048576 bytes"),
        ("{error,eacces}", "it may not use a file. eacces"),
        (
            "2026-11-21 05:20:21.383463+00:00 [warning] <0.1.0> memory resource limit alarm set on node a@localhost.",
            "it blocks publishers because of its alarm: memory",
        ),
        ("BOOT FAILED\nError during startup: {error,something_else}", "it could not start. {error,something_else}"),
        ("2026-11-21 05:20:21.383463+00:00 [error] <0.1.0> something ERROR", "something ERROR"),
    ],
)
def test_causes_in_logs(log: str, words: str) -> None:
    cause = find_cause(log)
    assert cause is not None
    assert words in str(cause)
    assert cause.hint


def test_a_log_that_does_not_name_the_wrong_setting_gets_those_given() -> None:
    cause = find_cause("Error during startup: {error,failed_to_prepare_configuration}", ["heartbeat", "channel_max"])
    assert str(cause) == "a setting is not valid. Given were: heartbeat, channel_max"


def test_a_wrong_setting_is_named_whatever_line_comes_between() -> None:
    cause = find_cause("  - Error transforming datatype for: heartbeat\nanother line\nfailed_to_prepare_configuration")
    assert str(cause) == "a setting is not valid. heartbeat"


def test_a_good_log_has_no_cause() -> None:
    assert find_cause("2026-11-21 05:20:02.555232+00:00 [info] <0.209.0> Running boot step pre_boot") is None
