"""What it costs to make one of many workers' figures: CPU time of a merged second, bytes of sets of sequences.

    python benchmarks/merging.py        (one core; a second of the machine's time for each row)

Each of the workers has 10 producers and 10 consumer groups, and a second of each group holds 1,000 or 100 messages.
"""

from __future__ import annotations

import random
import resource
import time

import numpy as np
from pyroaring import BitMap64

from tidegauge.model.load import SecondFigures, SubscriptionSecond
from tidegauge.statistics.histograms import Histogram, encode_histogram
from tidegauge.worker.merging import SecondMerger

GROUPS = 10
SECONDS = 3
SECOND_NS = 1_000_000_000


def histogram(messages: int, seed: int) -> bytes:
    """Log-normal times around 3 ms."""
    times_ns = np.random.default_rng(seed).lognormal(np.log(3e6), 0.5, messages).astype(np.int64)
    buckets = np.array([max(0, int(value).bit_length() - 11) for value in times_ns])
    return encode_histogram(Histogram(np.bincount((buckets << 10) + (times_ns >> buckets)).astype(np.int64)))


def second(number: int, worker: int, encodings: list[bytes]) -> SecondFigures:
    """What one worker reports."""
    chosen = [encodings[(worker + place) % len(encodings)] for place in range(GROUPS + 3)]
    subs = tuple(
        SubscriptionSecond(f"sub-{place}", 1000, 10**6, 0, 0, 0, 0, chosen[place], 1000) for place in range(GROUPS)
    )
    return SecondFigures(
        second=number,
        from_mono_ns=number * SECOND_NS,
        until_mono_ns=(number + 1) * SECOND_NS,
        scheduled_msgs_per_s=1e4,
        sent=1000,
        acked=1000,
        failed=0,
        acked_bytes=10**6,
        in_flight=9,
        blocked_ns=0,
        own_lag_ns_max=0,
        response=chosen[GROUPS],
        service=chosen[GROUPS + 1],
        delay=chosen[GROUPS + 2],
        subscriptions=subs,
        worker_cpu_ns=10**8,
        gc_pause_ns=0,
        heap_used_bytes=10**8,
        busiest_consumer="sub-0 consumer 0",
        busiest_consumer_busy_ns=1,
    )


def seconds_each(workers: int, encodings: list[bytes]) -> float:
    """CPU seconds for one merged second."""
    merger = SecondMerger(workers)
    given = [[second(number, worker, encodings) for worker in range(workers)] for number in range(SECONDS)]
    began_s = time.process_time()
    found = [merged for figures in given for worker, own in enumerate(figures) for merged in merger.add(worker, own)]
    assert len(found) == SECONDS
    return (time.process_time() - began_s) / SECONDS


def set_bytes(gap_share: float, workers: int) -> int:
    """Of the sets of a million messages' sequences, which so many workers received."""
    chosen = random.Random(1)
    sets = [BitMap64() for _ in range(workers)]
    for sequence in range(1_000_000):
        if chosen.random() >= gap_share:
            sets[chosen.randrange(workers)].add(sequence)
    for each in sets:
        each.run_optimize()
    return sum(len(each.serialize()) for each in sets)


def main() -> None:
    """Print a table of each."""
    for messages in (100, 1000):
        encodings = [histogram(messages, seed) for seed in range(100)]
        for workers in (10, 100, 1000):
            used = seconds_each(workers, encodings)
            print(f"{workers:5} workers, {messages:5} messages in each histogram: {used:.3f} CPU-s per merged second")
    print(f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB resident")
    for gap_share, workers, words in (
        (0.0, 1, "in order"),
        (0.01, 1, "1 % random gaps"),
        (0.0, 3, "dealt to 3 workers"),
    ):
        print(f"sets of a million sequences, {words}: {set_bytes(gap_share, workers):,} bytes")


if __name__ == "__main__":
    main()
