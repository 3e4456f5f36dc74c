"""What the clients of a load generator take of its host, and what the host has."""

from __future__ import annotations

from dataclasses import dataclass

OWN_CLIENTS_MAX = 1000
"""So many producers of a load generator have a client each, and so many consumers; more share that many where they can.

`SharedClients` of the worker has the same bound.
"""
UNBOUNDED = 1 << 62


def clients_of(users: int, *, shared: bool) -> int:
    """How many clients so many producers, or consumers, of a load generator have."""
    return min(users, OWN_CLIENTS_MAX) if shared else users


@dataclass(frozen=True)
class Sharing:
    """Whether many producers, and many consumers, of a load generator share clients."""

    producers: bool = False
    consumers: bool = False


NOT_SHARED = Sharing()


@dataclass(frozen=True)
class ClientKind:
    """What one client of producers, or of consumers, takes of the load generator's host; 0 = not known.

    Attributes:
        files: open files, sockets among them.
        connections: to all servers, which clients spread over.
        users_max: producers, or consumers, that can use one; 1 = each has its own.
        rule: what bounds that, in the system's words; "" where nothing does.
    """

    files: int = 0
    threads: int = 0
    connections: int = 0
    users_max: int = 1
    rule: str = ""

    def clients(self, users: int) -> int:
        """How many clients so many producers, or consumers, of a load generator have."""
        return clients_of(users, shared=self.users_max > 1)

    def too_many(self, users: int) -> bool:
        """Whether clients would have more users than they can."""
        return users > self.clients(users) * self.users_max


@dataclass(frozen=True)
class ClientKinds:
    """Those of producers and those of consumers."""

    producer: ClientKind = ClientKind()
    consumer: ClientKind = ClientKind()


@dataclass(frozen=True)
class LoadBounds:
    """What a host has for load generators.

    Attributes:
        files, maps: open files and memory maps of each process.
        threads: that can still be started, in all processes together.
        ports: of its own, for connections to one address of a server.
    """

    files: int = UNBOUNDED
    maps: int = UNBOUNDED
    threads: int = UNBOUNDED
    ports: int = UNBOUNDED
