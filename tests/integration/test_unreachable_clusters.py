"""Clusters that are not there, or say nothing: `bench` ends soon, with one sentence that names the address given."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from command import Place

pytestmark = pytest.mark.integration

SYSTEMS = ("kafka", "pulsar", "rabbitmq")
WAIT_S_MAX = 30.0
TIMES_SLOWER_MAX = 3.0
"""A machine may be busier in one call than in another."""


def listening(stack: ExitStack, backlog: int) -> tuple[str, int]:
    server = stack.enter_context(socket.socket())
    server.bind(("127.0.0.1", 0))
    server.listen(backlog)
    host, port = server.getsockname()
    return host, port


@pytest.fixture
def addresses() -> Iterator[dict[str, str]]:
    """Nobody listens; somebody accepts and says nothing; packets are dropped, as by a queue that is full."""
    with ExitStack() as stack:
        silent, full = listening(stack, 50), listening(stack, 0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full)
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            places = {"closed": closed.getsockname(), "silent": silent, "dropped": full}
        yield {name: f"{host}:{port}" for name, (host, port) in places.items()}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize("system", [SYSTEMS[0], *(pytest.param(name, marks=pytest.mark.slow) for name in SYSTEMS[1:])])
def test_it_ends_soon_with_one_sentence(place: Place, addresses: dict[str, str], system: str) -> None:
    took_s = {}
    for kind, address in addresses.items():
        began_s = time.monotonic()
        done = place.run("bench", system, address, "--rate", "100", "--partitions", "1")
        took_s[kind] = time.monotonic() - began_s
        assert done.returncode == 1, kind
        assert done.stderr.count(address) == 1, done.stderr
        assert done.stdout.strip() == ""
        assert not place.runs.exists(), "no run is left behind"
    assert took_s["silent"] < TIMES_SLOWER_MAX * took_s["closed"] + WAIT_S_MAX
    assert took_s["dropped"] < TIMES_SLOWER_MAX * took_s["closed"] + WAIT_S_MAX
