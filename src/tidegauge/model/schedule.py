"""Rates that change as planned: phases one after the other, as the load generator follows them. Pure."""

from __future__ import annotations

from dataclasses import dataclass

RECORDS_MAX = 100


@dataclass(frozen=True)
class RatePhase:
    """A stretch of time in which the total rate goes evenly from one value to another. `record`: see `RateSchedule`."""

    from_msgs_per_s: float
    to_msgs_per_s: float
    length_s: float
    record: int

    def messages(self, from_s: float, until_s: float) -> float:
        """Messages due in a part of the phase."""
        bend = (self.to_msgs_per_s - self.from_msgs_per_s) / self.length_s / 2
        return self.from_msgs_per_s * (until_s - from_s) + bend * (until_s**2 - from_s**2)


@dataclass(frozen=True)
class RateSchedule:
    """What the rate does from the beginning of the measured window on; before it, the first phase's first rate holds.

    Attributes:
        records: names of the records that latencies are kept in, one for each step or kind of phase.
        repeat: whether it begins anew after its last phase; else that one's last rate goes on.
    """

    phases: tuple[RatePhase, ...]
    records: tuple[str, ...]
    repeat: bool = False

    @property
    def length_s(self) -> float:
        """Of all phases once."""
        return sum(phase.length_s for phase in self.phases)

    @property
    def first_msgs_per_s(self) -> float:
        """The rate of the warm-up."""
        return self.phases[0].from_msgs_per_s

    @property
    def most_msgs_per_s(self) -> float:
        """The highest rate of any instant."""
        return max(max(phase.from_msgs_per_s, phase.to_msgs_per_s) for phase in self.phases)

    def due(self, measure_s: float) -> tuple[tuple[float, float], ...]:
        """Of each record: messages due in the first `measure_s` seconds, and for how many seconds it is in force."""
        messages = [0.0] * len(self.records)
        seconds = [0.0] * len(self.records)
        whole, rest_s = divmod(measure_s, self.length_s) if self.repeat else (0.0, measure_s)
        for phase in self.phases if whole else ():
            messages[phase.record] += whole * phase.messages(0.0, phase.length_s)
            seconds[phase.record] += whole * phase.length_s
        for place, phase in enumerate(self.phases):
            last = not self.repeat and place == len(self.phases) - 1
            lasts_s = min(rest_s, phase.length_s)
            messages[phase.record] += phase.messages(0.0, lasts_s)
            seconds[phase.record] += lasts_s
            rest_s -= lasts_s
            if last and rest_s > 0:
                messages[phase.record] += phase.to_msgs_per_s * rest_s
                seconds[phase.record] += rest_s
        return tuple(zip(messages, seconds, strict=True))

    def mean_msgs_per_s(self, measure_s: float) -> float:
        """Over the first `measure_s` seconds."""
        return sum(messages for messages, _ in self.due(measure_s)) / measure_s
