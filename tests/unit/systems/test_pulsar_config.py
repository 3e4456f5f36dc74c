"""How a Pulsar cluster is laid out and what is written for its processes."""

from __future__ import annotations

import socket
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tidegauge.errors import RunFailedError, UserError
from tidegauge.model.level import LevelChoice
from tidegauge.model.server import Distribution, Setting
from tidegauge.systems import registry
from tidegauge.systems.api import DeployRequest, Seat
from tidegauge.systems.jvm import zookeeper_settings
from tidegauge.systems.pulsar.bookie import is_writable, parse_state, state_is_writable
from tidegauge.systems.pulsar.cluster import deploy_cluster
from tidegauge.systems.pulsar.config import (
    Bookie,
    Broker,
    Memory,
    Ports,
    bookie_conf,
    broker_conf,
    connection_of_brokers,
    setup_arguments,
    shape_of,
    shape_problem,
    standalone_arguments,
    standalone_conf,
)

NODE = Memory(1200, 900)
METADATA = "zk:127.0.0.1:2181"
BOOKIE = Bookie(2, 3182, 8002, Path("/journals/2"), (Path("/data/2"),))
BROKERS = [Broker(1, 6651, 8081), Broker(2, 6652, 8082)]


class TestShape:
    def test_default_is_a_broker_beside_each_bookie(self) -> None:
        shape = shape_of({}, 3)
        assert (shape.brokers, shape.layout) == (3, "co-located")
        assert (shape.bookie_memory(NODE), shape.broker_memory(NODE)) == (Memory(400, 300), Memory(800, 600))

    def test_tiered_gives_each_process_a_nodes_memory(self) -> None:
        shape = shape_of({"layout": "tiered", "brokers": "2"}, 3)
        assert (shape.bookie_memory(NODE), shape.broker_memory(NODE)) == (NODE, NODE)
        assert sum(process.total_mb for process in shape.processes(NODE)) > 5 * (NODE.heap_mb + NODE.direct_mb)

    def test_a_bookie_has_the_share_of_a_node_that_is_asked_for(self) -> None:
        shape = shape_of({"bookie-share": "50%"}, 3)
        assert shape.bookie_memory(NODE) == shape.broker_memory(NODE) == Memory(600, 450)
        tiered = shape_of({"bookie-share": "50%", "layout": "tiered"}, 3)
        assert tiered.bookie_memory(NODE) == NODE, "it has its node alone"
        parts = {
            process.kind: (process.count, process.heap_mb, process.direct_mb)
            for process in shape.processes(NODE)
            if process.of_nodes
        }
        assert parts == {"bookie": (3, 600, 450), "broker": (3, 600, 450)}

    def test_memory_grows_with_what_is_started(self) -> None:
        system = registry.system_named("pulsar")
        sizes = [
            sum(process.total_mb for process in system.processes("4.2.4", nodes, 1024, 1024, shape))
            for nodes, shape in ((1, {}), (3, {"brokers": "1"}), (3, {}), (3, {"layout": "tiered"}))
        ]
        assert sizes == sorted(set(sizes))
        assert 3 * 2048 < sizes[2] < 12_000

    @pytest.mark.parametrize(
        ("options", "nodes", "expected"),
        [
            ({"broker": "1"}, 3, "unknown key 'broker' (did you mean 'brokers'?)"),
            ({"brokers": "4"}, 3, "brokers: '4': must be a number from 1 to 3"),
            ({"brokers": "0"}, 3, "must be a number from 1 to 3"),
            ({"brokers": "two"}, 3, "'two'"),
            ({"brokers": "9" * 5000}, 3, "must be a number from 1 to 3"),
            ({"bookie-share": "9" * 5000 + "%"}, 3, "must be 10% to 90%"),
            ({"brokers": "2"}, 1, "must be 1, since there is one node"),
            ({"layout": "tired"}, 3, "must be one of co-located, tiered (did you mean 'tiered'?)"),
            ({"layout": "tiered"}, 1, "needs several nodes"),
            ({"bookie-share": "5%"}, 3, "bookie-share: '5%': must be 10% to 90% of a node's memory"),
            ({"bookie-share": "1/2"}, 3, "bookie-share: '1/2': must be 10% to 90%"),
            ({"bookie-shares": "50%"}, 3, "(did you mean 'bookie-share'?)"),
        ],
    )
    def test_what_can_not_be_says_what_can(self, options: dict[str, str], nodes: int, expected: str) -> None:
        assert expected in shape_problem(options, nodes)
        with pytest.raises(UserError, match="pulsar: shape: "):
            shape_of(options, nodes)

    def test_what_can_be(self) -> None:
        assert shape_problem({"brokers": "1", "layout": "co-located"}, 1) == ""
        assert shape_problem({"brokers": "3", "layout": "tiered"}, 3) == ""


class TestConfig:
    def test_everything_is_on_loopback(self) -> None:
        assert zookeeper_settings(2181, Path("/zk"), "127.0.0.1")["clientPortAddress"] == "127.0.0.1"
        bookie = bookie_conf(BOOKIE, METADATA, LevelChoice(1), NODE)
        assert {bookie[name] for name in ("advertisedAddress", "httpServerHost")} == {"127.0.0.1"}
        assert (bookie["listeningInterface"], bookie["allowLoopback"]) == ("lo", "true")
        broker = broker_conf(BROKERS[0], METADATA, LevelChoice(1), 3, NODE)
        assert {broker[name] for name in ("bindAddress", "advertisedAddress")} == {"127.0.0.1"}

    def test_a_node_in_a_network_of_its_own_is_at_its_address_there(self) -> None:
        seat = Seat("198.18.0.2", "node-2")
        bookie = bookie_conf(replace(BOOKIE, seat=seat), "zk:198.18.0.9:2181", LevelChoice(1), NODE)
        assert {bookie[name] for name in ("advertisedAddress", "httpServerHost")} == {"198.18.0.2"}
        assert bookie["listeningInterface"] == "eth0"
        broker = replace(BROKERS[0], seat=seat)
        settings = broker_conf(broker, "zk:198.18.0.9:2181", LevelChoice(1), 3, NODE)
        assert {settings[name] for name in ("bindAddress", "advertisedAddress")} == {"198.18.0.2"}
        assert settings["metadataStoreUrl"] == "zk:198.18.0.9:2181"
        assert connection_of_brokers([broker])["serviceUrl"] == "pulsar://198.18.0.2:6651"
        assert connection_of_brokers([broker])["adminUrl"] == "http://198.18.0.2:8081"

    def test_so_is_a_single_process(self) -> None:
        seat = Seat("198.18.0.1", "node-1")
        distribution = Distribution("pulsar", "4.2.4", Path("/d"), None, "25", "", "")
        places = (Path("/t"), Path("/l"))
        request = DeployRequest(distribution, 1, LevelChoice(3), *places, 512, 512, seats={1: seat})
        settings = standalone_conf(request, Ports(1, 2, 3, 4))
        assert {settings[name] for name in ("bindAddress", "advertisedAddress", "httpServerHost")} == {"198.18.0.1"}
        arguments = standalone_arguments(Path("c"), Path("b"), Path("m"), Ports(1, 2, 3, 4), seat)
        assert arguments[-2:] == ("--advertised-address", "198.18.0.1")

    def test_journal_and_ledgers_may_be_on_two_disks(self) -> None:
        settings = bookie_conf(BOOKIE, METADATA, LevelChoice(1), NODE)
        assert (settings["journalDirectories"], settings["ledgerDirectories"]) == ("/journals/2", "/data/2")
        assert settings["metadataServiceUri"] == "metadata-store:zk:127.0.0.1:2181"

    @pytest.mark.parametrize(
        ("choice", "awaited", "write", "sync"),
        [
            (LevelChoice(1), "2", "true", "true"),
            (LevelChoice(2, "journal"), "2", "true", "false"),
            (LevelChoice(2, "bypass"), "2", "false", "false"),
            (LevelChoice(3), "1", "true", "true"),
            (LevelChoice(4, "bypass"), "1", "false", "false"),
        ],
    )
    def test_level(self, choice: LevelChoice, awaited: str, write: str, sync: str) -> None:
        broker = broker_conf(BROKERS[0], METADATA, choice, 3, NODE)
        assert broker["managedLedgerDefaultAckQuorum"] == awaited
        assert {broker[f"managedLedgerDefault{name}"] for name in ("EnsembleSize", "WriteQuorum")} == {"3"}
        bookie = bookie_conf(BOOKIE, METADATA, choice, NODE)
        assert (bookie["journalWriteData"], bookie["journalSyncData"]) == (write, sync)

    def test_placement_is_ours_and_stays(self) -> None:
        broker = broker_conf(BROKERS[0], METADATA, LevelChoice(1), 3, NODE)
        assert broker["loadBalancerSheddingEnabled"] == broker["loadBalancerAutoBundleSplitEnabled"] == "false"
        assert connection_of_brokers(BROKERS) == {
            "serviceUrl": "pulsar://127.0.0.1:6651,127.0.0.1:6652",
            "adminUrl": "http://127.0.0.1:8081",
            "brokers": "2",
        }
        arguments = setup_arguments(METADATA, BROKERS)
        assert arguments[arguments.index("--broker-service-url") + 1] == "pulsar://127.0.0.1:6651,127.0.0.1:6652/"

    @pytest.mark.parametrize("name", ["brokerServicePort", "bookiePort", "ledgerDirectories"])
    def test_what_several_processes_can_not_share_is_refused(self, tmp_path: Path, name: str) -> None:
        distribution = Distribution("pulsar", "4.2.4", tmp_path, None, "25", "", "")
        request = DeployRequest(distribution, 3, LevelChoice(1), tmp_path, tmp_path, 512, 512, {name: "1"})
        host: Any = None
        with pytest.raises(UserError, match=f"{name}: can't be one and the same"):
            deploy_cluster(request, host)


class TestBookieState:
    def test_state(self) -> None:
        state = parse_state(2, '{"running": true, "readOnly": false, "shuttingDown": false}')
        assert state == [Setting("bookie 2", "state.running", "true"), Setting("bookie 2", "state.readOnly", "false")]
        assert state_is_writable(state)
        assert not state_is_writable(parse_state(2, '{"running": true, "readOnly": true}'))
        assert not state_is_writable(parse_state(2, "{}"))
        with pytest.raises(RunFailedError, match="state could not be read back"):
            parse_state(2, "<html>")

    def test_a_bookie_that_does_not_answer_is_not_writable(self) -> None:
        assert not is_writable("http://127.0.0.1:1")

    def test_nor_is_one_that_ends_in_the_middle_of_its_answer(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:

            def answer() -> None:
                peer, _ = server.accept()
                with peer:
                    peer.recv(4096)
                    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")

            answering = threading.Thread(target=answer)
            answering.start()
            assert not is_writable(f"http://127.0.0.1:{server.getsockname()[1]}")
            answering.join()
