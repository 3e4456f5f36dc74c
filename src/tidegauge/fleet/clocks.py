"""Bounds of how far the clocks of a run's hosts are apart, kept up while trials run.

Each half second the controller's agent asks every host for its time, and each host every other (`agent.clock_probe`).
What that proves of an instant, by exchanges before and after it and over all ways through the hosts, is what
`statistics.clocks` says. Estimates are only what hosts begin by: what these are off by is in the bounds.
"""

from __future__ import annotations

import secrets
import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from operator import attrgetter

from tidegauge.agent.client import AgentHost
from tidegauge.agent.clock_probe import SECRET_BYTES
from tidegauge.errors import GeneratorFailedError, RunFailedError
from tidegauge.numbers import trimmed
from tidegauge.statistics.clocks import (
    ClockContradictionError,
    Exchange,
    HostPair,
    Offset,
    offset_at,
    suspect_hosts,
    tightest_bounds,
)

EVERY_S = 0.5
_LOOK_NS = 0.25e9
"""The bounds are worked out for instants that far apart; between two of them clocks drift."""
_PAIRS_MAX = 1000
"""With more, instants are further apart: one takes a tenth of a second of CPU then."""
_NEAR_S = (2.0, 10.0)
"""What exchanges so near say is taken; only without any, those further away, of which so much drift is a millisecond.
Without these the clock is not known."""
_FIRST_ROUNDS = 4
_KEPT_NS = 600e9
"""Exchanges are kept so long. Before that there are the bounds of spans, since a window may be of many hours."""
_SPAN_NS = 60e9
_RESOLUTION_NS = 2
"""A nanosecond of each of two readings."""
HERE = "here"


class ClockError(GeneratorFailedError):
    """Clocks are not what they were assumed to be, or not known: what was measured across them is void."""


def _offsets_near(offsets: Sequence[Offset], time_ns: float) -> Sequence[Offset]:
    """What exchanges of one pair, in their order, proved near one of the asker's instants."""
    for near_s in _NEAR_S:
        near_ns = near_s * 1e9
        first = bisect_left(offsets, time_ns - near_ns, key=attrgetter("from_ns"))
        end = bisect_right(offsets, time_ns + near_ns, key=attrgetter("from_ns"))
        if first < end:
            return offsets[first:end]
    return ()


@dataclass
class _Span:
    """What was proved of each two from one look to another, of this host's clock; or, of one look, why nothing was."""

    from_ns: float
    until_ns: float
    bounds: Mapping[HostPair, Offset]
    problem: str = ""
    hint: str = ""


class FleetClocks:
    """The clocks of some hosts, each with the address that its agent answers at, and this one's.

    May be used from any thread.
    """

    def __init__(
        self,
        own_host: AgentHost,
        own_address: str,
        hosts: Sequence[tuple[AgentHost, str]],
        drift_ppm: float,
        ports: range,
    ) -> None:
        """Begin to ask. Raises `RunFailedError` if an agent can't, `ClockError` if a host does not answer."""
        secret = secrets.token_hex(SECRET_BYTES)
        # A controller only asks.
        own_host.clock_listen(own_address, [0], secret)
        self.names = [HERE, *(address for _, address in hosts)]
        self._agents = [own_host, *(agent for agent, _ in hosts)]
        ports_there = [agent.clock_listen(address, ports, secret) for agent, address in hosts]
        self._answer_at = [("", 0), *zip([address for _, address in hosts], ports_there, strict=True)]
        self._drift_ppm = drift_ppm
        self._measured: dict[HostPair, list[Offset]] = {pair: [] for pair in combinations(self.names, 2)}
        """What exchanges proved, in their order."""
        self._slews: dict[str, list[tuple[float, float]]] = {name: [] for name in self.names}
        """When each clock was seen to be set, on this host's, and how fast (ppm); none that a later one exceeds."""
        coarse = 1 + len(self._measured) // _PAIRS_MAX
        self._look_ns, self._span_ns = _LOOK_NS * coarse, _SPAN_NS * coarse
        self._spans: list[_Span] = []
        """In their order, up to the look that is next."""
        self._first_look_ns: float = time.monotonic_ns()
        self._next_look_ns: float = self._first_look_ns
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._pool = ThreadPoolExecutor(len(self._agents), thread_name_prefix="clocks")
        for _ in range(_FIRST_ROUNDS):
            self._round()
        for pair, measured in self._measured.items():
            if not measured:
                self._pool.shutdown()
                raise ClockError(
                    f"The clock of {pair[1]} can't be asked from {_name_of(pair[0])}.",
                    f"Let UDP through between load hosts, ports {ports[0]} to {ports[-1]}; fleet join printed them.",
                )
        self._thread = threading.Thread(target=self._follow_clocks, name="clocks", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ask no more. What was measured stays."""
        self._ended.set()
        self._thread.join()
        self._pool.shutdown()

    def ahead_ns(self) -> list[int]:
        """By how much each host's clock is ahead of this one's now: the middle of its bounds. Raises `ClockError`."""
        bounds = self._bounds_at(time.monotonic_ns())
        return [round((bounds[HERE, name].low_ns + bounds[HERE, name].high_ns) / 2) for name in self.names[1:]]

    def widths_s(self) -> dict[HostPair, float]:
        """How far apart the bounds of each two are now. Raises `ClockError`."""
        bounds_by_pair = self._bounds_at(time.monotonic_ns())
        return {pair: (offset.high_ns - offset.low_ns) / 1e9 for pair, offset in bounds_by_pair.items()}

    def bounds(self, from_ns: int, until_ns: int) -> Mapping[HostPair, Offset]:
        """Bounds of the second's clock minus the first's in all of a span, for each two of `names`.

        The span is of this host's clock. Raises `ClockError` if clocks contradict each other, with whose it is, or if
        they were not asked in all of it.
        """
        step_ns = self._look_ns
        if from_ns < self._first_look_ns:
            raise ClockError("The clocks of the load hosts were not asked yet when the window began.")
        with self._lock:
            spans = [
                span for span in self._spans if span.until_ns > from_ns - step_ns and span.from_ns < until_ns + step_ns
            ]
            first_ns = max(from_ns, self._next_look_ns)
        if bad := next((span for span in spans if span.problem), None):
            raise ClockError(bad.problem, bad.hint)
        looks = (first_ns + step_ns * number for number in range(max(0, int((until_ns - first_ns) / step_ns) + 2)))
        bounds_of_looks = [*(span.bounds for span in spans), *map(self._bounds_at, looks)]
        return {
            pair: Offset(
                bound.low_ns - self._between_ns(pair, from_ns),
                bound.high_ns + self._between_ns(pair, from_ns),
                from_ns,
                until_ns,
            )
            for pair, bound in _all_of(bounds_of_looks).items()
        }

    def _between_ns(self, pair: HostPair, from_ns: float) -> float:
        """How far two clocks drift from an instant that was looked at to the middle between it and the next."""
        return self._ppm(pair, from_ns) / 1e6 * self._look_ns / 2

    def _ppm(self, pair: HostPair, from_ns: float) -> float:
        """By how much two clocks may drift from an instant of this host's clock on; more if one was being set."""
        since_ns = from_ns - _NEAR_S[-1] * 1e9
        return self._drift_ppm + sum(_most_since(self._slews[name], since_ns) for name in pair)

    def _bounds_at(self, time_ns: float) -> dict[HostPair, Offset]:
        with self._lock:
            offsets_here = {name: self._offset_of_pair((HERE, name), time_ns, time_ns) for name in self.names[1:]}
            ahead_ns = {name: (offset.low_ns + offset.high_ns) / 2 for name, offset in offsets_here.items()}
            # What a host proved of another one is dated by its own clock.
            direct = {
                pair: offsets_here[pair[1]]
                if pair[0] == HERE
                else self._offset_of_pair(pair, time_ns + ahead_ns[pair[0]], time_ns)
                for pair in self._measured
            }
        try:
            return tightest_bounds(direct)
        except ClockContradictionError as error:
            bad = suspect_hosts(direct)
            fault = f"that of {' or '.join(map(_name_of, bad))} is wrong" if bad else "more than one is wrong"
            raise ClockError(
                f"The clocks of the load hosts contradict each other: {fault}. One was set, or runs too fast or slow.",
                "Look at what keeps time there (chronyc tracking); 'drift-ppm' of the fleet file is what a clock may "
                "be off by.",
            ) from error

    def _offset_of_pair(self, pair: HostPair, asker_ns: float, here_ns: float) -> Offset:
        """What exchanges of a pair say of an instant, given by the asker's clock and by this host's."""
        first, other = pair
        near = _offsets_near(self._measured[pair], asker_ns)
        if not near:
            raise ClockError(
                f"{_name_of(other)} did not answer for {trimmed(_NEAR_S[-1])} s "
                f"when {_name_of(first)} asked for its time.",
                "Its agent, or the network, was too busy.",
            )
        try:
            return offset_at(asker_ns, near, self._ppm(pair, here_ns))
        except ClockContradictionError as error:
            raise ClockError(
                f"The clock of {_name_of(other)} or of {_name_of(first)} was set, or runs too fast or slow: {error}.",
                "Look at what keeps time there (chronyc tracking).",
            ) from error

    def _follow_clocks(self) -> None:
        while not self._ended.wait(EVERY_S):
            self._round()

    def _round(self) -> None:
        """Each host asks those after it; the last one, nobody: of it only how its clock is kept matters."""
        asked = [(number, self._pool.submit(self._burst_of_agent, number)) for number in range(len(self._agents))]
        for number, burst in asked:
            try:
                exchanges, slew_ppm = burst.result()
            except RunFailedError:
                continue  # It is lost, which the trial itself meets; or late, which shows in the bounds.
            with self._lock:
                if slew_ppm:
                    # Without earlier ones that it reaches: only the most from an instant on is ever asked for.
                    slews = self._slews[self.names[number]]
                    while slews and slews[-1][1] <= slew_ppm:
                        slews.pop()
                    slews.append((time.monotonic_ns(), slew_ppm))
                for other, exchange in zip(self.names[number + 1 :], exchanges, strict=True):
                    if exchange is not None:
                        measured = self._measured[self.names[number], other]
                        measured.append(exchange.offset(_RESOLUTION_NS))
                        # By the asker's clock, which they are in order of; what is being condensed needs those near.
                        old_ns = measured[-1].from_ns - _KEPT_NS - 2 * self._span_ns
                        del measured[: bisect_left(measured, old_ns, key=attrgetter("from_ns"))]
        self._condense_old_exchanges()

    def _condense_old_exchanges(self) -> None:
        """Put what is proved of instants of long ago into spans, and forget the exchanges that proved it."""
        kept_ns = time.monotonic_ns() - _KEPT_NS
        while self._next_look_ns < kept_ns:
            look_ns = self._next_look_ns
            try:
                new = _Span(look_ns, look_ns, self._bounds_at(look_ns))
            except ClockError as error:
                new = _Span(look_ns, look_ns, {}, error.message, error.hint)
            with self._lock:
                last = self._spans[-1] if self._spans else new
                full = look_ns >= last.from_ns + self._span_ns
                if last is new or bool(last.problem) != bool(new.problem) or (full and not new.problem):
                    self._spans.append(new)
                else:
                    last.until_ns, last.bounds = look_ns, _all_of([last.bounds, new.bounds])
                self._next_look_ns += self._look_ns

    def _burst_of_agent(self, number: int) -> tuple[Sequence[Exchange | None], float]:
        return self._agents[number].clock_burst(self._answer_at[number + 1 :])


def _most_since(slews: Sequence[tuple[float, float]], since_ns: float) -> float:
    first = bisect_left(slews, (since_ns,))
    return slews[first][1] if first < len(slews) else 0.0


def _all_of(bounds_of_looks: Iterable[Mapping[HostPair, Offset]]) -> dict[HostPair, Offset]:
    """Bounds of each two clocks' offset that hold in all of these looks or spans."""
    most: dict[HostPair, Offset] = {}
    for bounds in bounds_of_looks:
        for pair, bound in bounds.items():
            so_far = most.get(pair, bound)
            most[pair] = Offset(
                min(so_far.low_ns, bound.low_ns), max(so_far.high_ns, bound.high_ns), so_far.from_ns, bound.until_ns
            )
    return most


def _name_of(name: str) -> str:
    return "this host" if name == HERE else name
