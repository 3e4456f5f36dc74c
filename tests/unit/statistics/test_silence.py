"""How long a drain waits for more."""

from __future__ import annotations

from tidegauge.statistics.silence import Silences

S = 10**9


def test_a_silence_counts_once_more_has_come() -> None:
    silences = Silences()
    for second in range(20):
        silences.take({"sub-0": 10 if second % 7 == 0 else 0}, second * S, (second + 1) * S)
    assert silences.longest_s == 6.0
    assert silences.idle_s(5.0) == 18.0
    assert silences.idle_s(60.0) == 60.0


def test_nothing_before_the_first_receipt_and_after_the_last_is_one() -> None:
    silences = Silences()
    for second, count in enumerate([0, 0, 0, 5, 5, 0, 0, 0, 0]):
        silences.take({"sub-0": count}, second * S, (second + 1) * S)
    assert silences.idle_s(5.0) == 5.0


def test_each_subscription_has_its_own_and_late_readers_none() -> None:
    silences = Silences(late={"sub-1"})
    for second in range(10):
        counts = {"sub-0": 1, "sub-1": 1 if second in (0, 9) else 0, "sub-2": 1 if second in (0, 4) else 0}
        silences.take(counts, second * S, (second + 1) * S)
    assert silences.longest_s == 3.0
