"""For how long a subscription may receive nothing before a drain takes it that nothing more will come. Pure.

A silence says something only where there was none as long before: where deliveries come in gaps of 6.5 s, 5 s without
one are no evidence.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

TIMES = 3.0


@dataclass
class Silences:
    """Takes in what each subscription has received, second by second or when it is asked; `late` ones don't count.

    `longest_s`: without a receipt, between two of one subscription.
    """

    late: Collection[str] = ()
    longest_s: float = 0.0
    _newest_ns: dict[str, int] = field(default_factory=dict)

    def take(self, received: Mapping[str, int], from_ns: int, until_ns: int) -> None:
        """So many messages were received in a span, by subscription."""
        for name, count in received.items():
            if count and name not in self.late:
                last_ns = self._newest_ns.get(name, from_ns)
                self.longest_s = max(self.longest_s, (from_ns - last_ns) / 1e9)
                self._newest_ns[name] = until_ns

    def idle_s(self, least_s: float) -> float:
        """So long without a receipt, and nothing more is expected."""
        return max(least_s, TIMES * self.longest_s)
