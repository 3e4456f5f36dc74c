"""Which processes of this host are at the other end of TCP connections, in whatever network namespace they are.

By this servers that others run on this host are found: those that the load generators talk to, and those that these
talk to in turn (other brokers of their cluster, or the proxy of a container's published port). Whoever only connects to
them, such as a monitor or another client, is none of them.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tidegauge.hosts.procfs import pids

_ESTABLISHED, _LISTENS = 0x01, 0x0A
_SOCKET = "socket:["

End = tuple[str, int]
"""Address and port."""


@dataclass(frozen=True)
class Connection:
    """One end of a TCP connection, or a socket that listens. `inode`: names the socket on the whole host; 0 = gone."""

    local: End
    remote: End
    listens: bool
    inode: int


@dataclass(frozen=True)
class Peers:
    """Processes at the other ends.

    Attributes:
        hidden: whether there are ends on this host whose processes can't be seen.
        elsewhere: whether there are ends on other hosts.
    """

    pids: frozenset[int]
    hidden: bool
    elsewhere: bool = False


def parse_connections(text: str) -> Iterator[Connection]:
    """What listens or is connected, by /proc/PID/net/tcp or tcp6. Pure."""
    for line in text.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 9 and int(fields[3], 16) in (_ESTABLISHED, _LISTENS):
            listens = int(fields[3], 16) == _LISTENS
            yield Connection(_parse_end(fields[1]), _parse_end(fields[2]), listens, int(fields[9]))


def _parse_end(text: str) -> End:
    """ "0100007F:2384" is 127.0.0.1:9092: words of four bytes in the host's own order, here taken as little-endian."""
    address, _, port = text.partition(":")
    words = [bytes.fromhex(address[place : place + 8])[::-1] for place in range(0, len(address), 8)]
    host_address = ipaddress.ip_address(b"".join(words))
    mapped = host_address.ipv4_mapped if isinstance(host_address, ipaddress.IPv6Address) else None
    return str(mapped or host_address), int(port, 16)


def peers_of(clients: Collection[int], connections: Iterable[Connection], owners: Mapping[int, int]) -> Peers:
    """Whom processes talk to that they have connected to, and whom those have, in turn. Pure.

    `owners`: processes by their sockets' inodes.
    """
    all_connections = list(connections)
    by_ends = {
        (connection.local, connection.remote): connection for connection in all_connections if not connection.listens
    }
    # Where a packet filter rewrites the address of a published port, only the client's own end is the same on both.
    by_remote = {connection.remote: connection for connection in all_connections if not connection.listens}
    of_process: dict[int, list[Connection]] = {}
    for connection in all_connections:
        of_process.setdefault(owners.get(connection.inode, 0), []).append(connection)
    peers: set[int] = set()
    hidden = elsewhere = False
    waiting = list(clients)
    while waiting:
        own_connections = of_process.get(waiting.pop(), [])
        served = {connection.local[1] for connection in own_connections if connection.listens}
        for connection in own_connections:
            if connection.listens or connection.local[1] in served:
                continue
            other_end = by_ends.get((connection.remote, connection.local)) or by_remote.get(connection.local)
            if other_end is None:
                elsewhere = True
                continue
            owner = owners.get(other_end.inode, 0)
            hidden |= not owner
            if owner and owner not in peers and owner not in clients:
                peers.add(owner)
                waiting.append(owner)
    return Peers(frozenset(peers), hidden, elsewhere)


def local_peers(clients: Collection[int]) -> Peers:
    """Whom processes of this host talk to now (see `peers_of`), as far as this process may see it."""
    namespaces: dict[str, int] = {}
    owners: dict[int, int] = {}
    for pid in pids():
        with contextlib.suppress(OSError):
            namespaces.setdefault(os.readlink(f"/proc/{pid}/ns/net"), pid)  # noqa: PTH115 - hot path
        with contextlib.suppress(OSError):
            for entry in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208 - hot path
                with contextlib.suppress(OSError):
                    target = os.readlink(f"/proc/{pid}/fd/{entry}")  # noqa: PTH115 - hot path
                    if target.startswith(_SOCKET):
                        # Of several that share one, the first: those behind it forked from it.
                        owners.setdefault(int(target[len(_SOCKET) : -1]), pid)
    return peers_of(clients, list(_connections_seen_by(namespaces.values())), owners)


def _connections_seen_by(processes: Iterable[int]) -> Iterator[Connection]:
    """Connections in the network namespaces of these processes."""
    for pid in processes:
        for kind in ("tcp", "tcp6"):
            with contextlib.suppress(OSError):
                yield from parse_connections(Path(f"/proc/{pid}/net/{kind}").read_text(encoding="ascii"))
