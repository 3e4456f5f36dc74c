"""Hosts ask each other for their time, over UDP on loopback."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tidegauge.agent.clock_probe import SECRET_BYTES, ClockSocket
from tidegauge.errors import StartFailedError
from tidegauge.statistics.clocks import Exchange

SECRET = b"s" * SECRET_BYTES
BURSTS_MAX = 200


@pytest.fixture
def other() -> Iterator[ClockSocket]:
    """One that answers, in a thread."""
    answering, ended = ClockSocket("127.0.0.1", [0], SECRET), threading.Event()

    def serve() -> None:
        while not ended.is_set():
            answering.take()
            time.sleep(1e-4)

    thread = threading.Thread(target=serve)
    thread.start()
    yield answering
    ended.set()
    thread.join()
    answering.close()


def test_the_truth_is_in_what_a_burst_proves(other: ClockSocket) -> None:
    asking = ClockSocket("127.0.0.1", [0], SECRET)
    try:
        (stamps,) = asking.burst([("127.0.0.1", other.port)])
        assert stamps is not None
        offset = Exchange(*stamps).offset()
        assert offset.low_ns <= 0 <= offset.high_ns, "it is the same clock"
        asked_ns, received_ns, answered_ns, returned_ns = stamps
        assert asked_ns < received_ns <= answered_ns < returned_ns
    finally:
        asking.close()


def test_who_does_not_know_the_secret_gets_no_answer(other: ClockSocket) -> None:
    asking = ClockSocket("127.0.0.1", [0], b"x" * SECRET_BYTES)
    try:
        assert asking.burst([("127.0.0.1", other.port)]) == [None]
    finally:
        asking.close()


def test_the_secret_is_in_no_packet() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0))
        asking = ClockSocket("127.0.0.1", [0], SECRET)
        asking.burst([listening.getsockname()], 1)
        packet, sender = listening.recvfrom(100)
        assert SECRET not in packet
        # A changed one is not taken for an answer.
        listening.sendto(packet[:-1] + bytes([packet[-1] ^ 1]), sender)
        asking.take()
        assert asking.burst([listening.getsockname()], 1) == [None]
        asking.close()


def test_two_may_ask_each_other_at_once() -> None:
    ends = [ClockSocket("127.0.0.1", [0], SECRET) for _ in range(2)]
    found: list[object] = []

    def ask(own: ClockSocket, peer: ClockSocket) -> None:
        # On a busy machine the answers of a burst may come after its end.
        for _ in range(BURSTS_MAX):
            stamps = own.burst([("127.0.0.1", peer.port)], 200)
            found.extend(stamps)
            if any(stamp is not None for stamp in stamps):
                return

    threads = [threading.Thread(target=ask, args=pair) for pair in (ends, ends[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for end in ends:
        end.close()
    assert any(stamps is not None for stamps in found), "who asks answers meanwhile"


def test_an_answer_to_another_host_is_none() -> None:
    """Recorded on its way and sent again, it would put the two clocks as far apart as it is old."""
    asking, overheard, answering = (ClockSocket("127.0.0.1", [0], SECRET) for _ in range(3))
    peer = ("127.0.0.1", answering.port)
    assert overheard.burst([peer], 1) == asking.burst([peer], 1) == [None]
    answering.take()
    recorded = [end._socket.recvfrom(100)[0] for end in (overheard, asking)]
    assert len(recorded[0]) == len(recorded[1])
    answering._socket.sendto(recorded[0], ("127.0.0.1", asking.port))
    asking.take()
    assert asking.burst([peer], 0) == [None]
    # Its own is taken: once.
    for expected in (True, False):
        answering._socket.sendto(recorded[1], ("127.0.0.1", asking.port))
        asking.take()
        assert (asking.burst([peer], 0) != [None]) is expected
    for end in (asking, overheard, answering):
        end.close()


def test_a_port_that_is_taken_is_passed_over() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        found = ClockSocket("127.0.0.1", [port, 0], SECRET)
        assert found.port != port
        found.close()
        with pytest.raises(StartFailedError, match=r"127\.0\.0\.1 has no free UDP port for clocks"):
            ClockSocket("127.0.0.1", [port], SECRET)


def test_a_late_answer_counts_with_the_next_burst() -> None:
    """As through a link with a long queue: what it proves is wide, and true."""
    asking, answering = (ClockSocket("127.0.0.1", [0], SECRET) for _ in range(2))
    peer = ("127.0.0.1", answering.port)
    try:
        assert asking.burst([peer]) == [None]
        answering.take()
        (stamps,) = asking.burst([peer])
        assert stamps is not None
        offset = Exchange(*stamps).offset()
        assert offset.low_ns <= 0 <= offset.high_ns
        assert offset.high_ns - offset.low_ns > 2_000_000, "it took as long as two waited for it"
    finally:
        asking.close()
        answering.close()
