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
    """Of /proc/PID/net/tcp or tcp6: what listens or is connected. Pure."""
    for line in text.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 9 and int(fields[3], 16) in (_ESTABLISHED, _LISTENS):
            listens = int(fields[3], 16) == _LISTENS
            yield Connection(_end(fields[1]), _end(fields[2]), listens, int(fields[9]))


def _end(text: str) -> End:
    """ "0100007F:2384" is 127.0.0.1:9092: words of four bytes in the host's own order, here taken as little-endian."""
    address, _, port = text.partition(":")
    words = [bytes.fromhex(address[place : place + 8])[::-1] for place in range(0, len(address), 8)]
    known = ipaddress.ip_address(b"".join(words))
    mapped = known.ipv4_mapped if isinstance(known, ipaddress.IPv6Address) else None
    return str(mapped or known), int(port, 16)


def peers_of(clients: Collection[int], connections: Iterable[Connection], owners: Mapping[int, int]) -> Peers:
    """Whom processes talk to that they have connected to, and whom those have, in turn. Pure.

    `owners`: processes by their sockets' inodes.
    """
    known = list(connections)
    by_ends = {(one.local, one.remote): one for one in known if not one.listens}
    # Where a packet filter rewrites the address of a published port, only the client's own end is the same on both.
    by_remote = {one.remote: one for one in known if not one.listens}
    of_process: dict[int, list[Connection]] = {}
    for one in known:
        of_process.setdefault(owners.get(one.inode, 0), []).append(one)
    found: set[int] = set()
    hidden = elsewhere = False
    waiting = list(clients)
    while waiting:
        own = of_process.get(waiting.pop(), [])
        served = {one.local[1] for one in own if one.listens}
        for one in own:
            if one.listens or one.local[1] in served:
                continue
            other = by_ends.get((one.remote, one.local)) or by_remote.get(one.local)
            if other is None:
                elsewhere = True
                continue
            owner = owners.get(other.inode, 0)
            hidden |= not owner
            if owner and owner not in found and owner not in clients:
                found.add(owner)
                waiting.append(owner)
    return Peers(frozenset(found), hidden, elsewhere)


def local_peers(clients: Collection[int]) -> Peers:
    """The same of this host now, as far as this process may see it."""
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
    return peers_of(clients, list(_connections(namespaces.values())), owners)


def _connections(processes: Iterable[int]) -> Iterator[Connection]:
    """Of the network namespaces of these processes."""
    for pid in processes:
        for kind in ("tcp", "tcp6"):
            with contextlib.suppress(OSError):
                yield from parse_connections(Path(f"/proc/{pid}/net/{kind}").read_text(encoding="ascii"))
