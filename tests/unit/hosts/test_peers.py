"""Servers that others run on this host are found by who talks to whom."""

from __future__ import annotations

import os
import socket

from tidegauge.hosts.peers import Connection, Peers, local_peers, parse_connections, peers_of

WORKER, BROKER, FOLLOWER, MONITOR, PROXY = 1, 2, 3, 4, 5
HERE = "127.0.0.1"


def connected(client: int, server: int, port: int, own_port: int, address: str = HERE) -> list[Connection]:
    """Both ends; a socket's inode is its process by which end it is."""
    ends = ((HERE, own_port), (address, port))
    return [Connection(*ends, False, client * 1000 + own_port), Connection(*ends[::-1], False, server * 1000 + port)]


def owners(*connections: Connection, unseen: tuple[int, ...] = ()) -> dict[int, int]:
    found = {one.inode: one.inode // 1000 if one.inode < 100_000 else 0 for one in connections}
    return {inode: pid for inode, pid in found.items() if pid not in unseen}


def test_those_that_clients_talk_to_and_their_own_cluster_are_servers() -> None:
    known = [
        Connection((HERE, 92), ("0.0.0.0", 0), True, BROKER * 1000 + 1),
        *connected(WORKER, BROKER, 92, 501),
        *connected(BROKER, FOLLOWER, 93, 502),
        *connected(MONITOR, BROKER, 92, 503),
    ]
    assert peers_of({WORKER}, known, owners(*known)) == Peers(frozenset({BROKER, FOLLOWER}), False)


def test_a_server_of_another_user_is_hidden_and_one_of_another_host_is_none_here() -> None:
    known = connected(WORKER, BROKER, 92, 501)
    assert peers_of({WORKER}, known, owners(*known, unseen=(BROKER,))) == Peers(frozenset(), True)
    assert peers_of({WORKER}, known[:1], owners(*known)) == Peers(frozenset(), False, elsewhere=True)
    partly = [*known, *connected(BROKER, FOLLOWER, 93, 502)[:1]]
    assert peers_of({WORKER}, partly, owners(*partly)) == Peers(frozenset({BROKER}), False, elsewhere=True)


def test_a_published_port_leads_to_the_container_behind_it() -> None:
    behind = "172.17.0.2"
    proxied = [*connected(WORKER, PROXY, 92, 501), *connected(PROXY, BROKER, 92, 502, behind)]
    assert peers_of({WORKER}, proxied, owners(*proxied)).pids == {PROXY, BROKER}
    rewritten = connected(WORKER, BROKER, 92, 501)
    rewritten[1] = Connection((behind, 92), (HERE, 501), False, rewritten[1].inode)
    assert peers_of({WORKER}, rewritten, owners(*rewritten)).pids == {BROKER}


def test_what_the_kernel_lists_is_read() -> None:
    text = (
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        "   0: 0100007F:2384 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 77 1 0\n"
        "   1: 0100007F:2384 0100007F:D2F0 06 00000000:00000000 00:00000000 00000000     0        0 78 1 0\n"
    )
    assert list(parse_connections(text)) == [Connection((HERE, 9092), ("0.0.0.0", 0), True, 77)]
    mapped = "h\n 0: 0000000000000000FFFF00000100007F:2384 0000000000000000FFFF00000100007F:D2F0 01 a b c 0 0 79 1\n"
    assert list(parse_connections(mapped)) == [Connection((HERE, 9092), (HERE, 54000), False, 79)]


def test_a_real_connection_to_oneself_is_no_other_process() -> None:
    with socket.create_server((HERE, 0)) as server, socket.create_connection(server.getsockname()):
        accepted, _ = server.accept()
        with accepted:
            assert os.getpid() not in local_peers({os.getpid()}).pids
