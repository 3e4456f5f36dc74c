"""What the same load costs with one and with several load generators, on a null system behind a socket, by turns.

    .venv/bin/python benchmarks/workers.py                                  1, 2 and 4, three rounds: about 9 minutes
    .venv/bin/python benchmarks/workers.py --counts 1 4 --rounds 1 --rate 1000 --warm-up 1 --seconds 2     does it work?
    .venv/bin/python benchmarks/workers.py --counts 5 --producers 8 5000 --rate 5000        few and many slow producers

The total rate is the same for all. Printed are medians over the rounds (lowest to highest); see workers.md.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from tidegauge.agent.local import LocalHost
from tidegauge.distribution.java import find_java
from tidegauge.model.load import TotalFigures
from tidegauge.model.workload import ClientSettings, Payload, Workload
from tidegauge.statistics.histograms import decode_histogram
from tidegauge.worker.api import LoadOrder, LoadWorker
from tidegauge.worker.archive import JAVA_MAJOR_MIN, worker_class_path
from tidegauge.worker.launch import WorkerOptions, start_workers

SECOND_NS = 1_000_000_000
LEAD_S = 1.0
DRAIN_S_MAX = 10.0
WORKLOAD = Workload(
    topics=4,
    partitions=4,
    producers=2,
    subscriptions=1,
    consumers=2,
    payload=Payload(message_bytes=200),
    client=ClientSettings(in_flight_messages_max=10_000),
)
"""8 producers and 8 consumers: so many of each, and of topics, fall to each of 1, 2 and 4 workers."""
PRODUCERS = WORKLOAD.topics * WORKLOAD.producers
HEAP_MB_OF_1000 = 320
"""For each 1,000 producers of a worker: the null system's client gives each a connection with buffers of its own."""


@dataclass(frozen=True)
class Cost:
    """Of one measurement, of all workers together; lag and delay are those of the merged histograms."""

    cpu_s_per_million: float
    msgs_per_s: float
    own_lag_p99_ms: float
    delay_p99_ms: float
    resident_mb: float


@contextlib.contextmanager
def null_server(directory: Path) -> Iterator[str]:
    """The address of a null system that is a process of its own."""
    port_file = directory / "port"
    java = find_java("The null system", JAVA_MAJOR_MIN).executable
    jars = os.pathsep.join(map(str, worker_class_path("null")))
    command = [str(java), "-cp", jars, "io.tidegauge.worker.nulldriver.NullServer", "--port-file", str(port_file)]
    with subprocess.Popen(command) as server:
        try:
            deadline_s = time.monotonic() + 60.0
            while not port_file.exists() and time.monotonic() < deadline_s:
                time.sleep(0.05)
            yield f"127.0.0.1:{port_file.read_text().strip()}"
        finally:
            server.kill()


def measure(host: LocalHost, order: LoadOrder, count: int, options: argparse.Namespace, logs: Path) -> Cost:
    """Start so many workers, carry out the load once, end them."""
    producers = order.workload.topics * order.workload.producers
    heap_mb = WorkerOptions.heap_mb + HEAP_MB_OF_1000 * producers // count // 1000
    settings = WorkerOptions(heap_mb, spin_share_max=options.spin_share)
    worker = start_workers(host, "null", logs, settings, count=count)
    try:
        worker.prepare(order)
        begin_ns = worker.start(LEAD_S)
        from_ns = begin_ns + round(options.warm_up * SECOND_NS)
        until_ns = from_ns + round(options.seconds * SECOND_NS)
        worker.set_window(from_ns, until_ns)
        for _ in worker.watch():
            # As in a trial, whose seconds are read as they come.
            if time.monotonic_ns() > until_ns + SECOND_NS // 10:
                break
        worker.stop_producers(10.0)
        totals = drained(worker)
        worker.finish(delete_topics=True)
    finally:
        worker.close()
    for sub in totals.subscriptions:
        assert (sub.lost, sub.duplicated, sub.reordered, sub.corrupt) == (0, 0, 0, 0), sub
    return cost_of(totals, options.seconds)


def drained(worker: LoadWorker) -> TotalFigures:
    """Totals once all has been received."""
    deadline_s = time.monotonic() + DRAIN_S_MAX
    while any(sub.backlog for sub in worker.counts().subscriptions) and time.monotonic() < deadline_s:
        time.sleep(0.1)
    return worker.totals()


def cost_of(totals: TotalFigures, seconds: float) -> Cost:
    """Of the measured window."""
    window = totals.window
    return Cost(
        cpu_s_per_million=window.worker_cpu_ns / 1e3 / window.acked,
        msgs_per_s=window.acked_within / seconds,
        own_lag_p99_ms=decode_histogram(window.own_lag).percentile_ns(99) / 1e6,
        delay_p99_ms=decode_histogram(window.delay).percentile_ns(99) / 1e6,
        resident_mb=totals.resident_bytes / 2**20,
    )


def spread(values: Sequence[float], form: str) -> str:
    """ "2.10 (2.05 to 2.31)"."""
    if len(values) == 1:
        return f"{values[0]:{form}}"
    return f"{median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def table(found: dict[tuple[int, int], list[Cost]]) -> str:
    """In Markdown, of costs by workers and producers. Ratios are formed round by round, to the first of them."""
    lines = [
        "| workers | producers | CPU-s per million | ratio | msg/s | own lag p99, ms | delay p99, ms | memory, MB |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    base = next(iter(found.values()))
    for (count, producers), costs in found.items():
        ratios = [own.cpu_s_per_million / first.cpu_s_per_million for own, first in zip(costs, base, strict=False)]
        cells = [
            str(count),
            f"{producers:,}",
            spread([cost.cpu_s_per_million for cost in costs], ".2f"),
            spread(ratios, ".3f"),
            spread([cost.msgs_per_s for cost in costs], ",.0f"),
            spread([cost.own_lag_p99_ms for cost in costs], ".2f"),
            spread([cost.delay_p99_ms for cost in costs], ".2f"),
            spread([cost.resident_mb for cost in costs], ",.0f"),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=int, nargs="+", default=[1, 2, 4], help="of workers (1 2 4)")
    parser.add_argument(
        "--producers",
        type=_producers,
        nargs="+",
        default=[PRODUCERS],
        help=f"of all topics together, a multiple of {WORKLOAD.topics} ({PRODUCERS})",
    )
    parser.add_argument("--rounds", type=int, default=3, help="the order changes by round (3)")
    parser.add_argument("--rate", type=float, default=100_000.0, help="messages per second, of all together (100,000)")
    parser.add_argument("--warm-up", type=float, default=20.0, help="seconds before the window (20)")
    parser.add_argument("--seconds", type=float, default=20.0, help="measured window (20)")
    spin = WorkerOptions.spin_share_max
    parser.add_argument("--spin-share", type=float, default=spin, help=f"of a CPU, for each load thread ({spin:g})")
    return parser.parse_args()


def _producers(text: str) -> int:
    if not text.isdigit() or not int(text) or int(text) % WORKLOAD.topics:
        raise argparse.ArgumentTypeError(f"'{text}' is no multiple of {WORKLOAD.topics}, the number of topics")
    return int(text)


def main() -> None:
    """Measure by turns and print a table."""
    options = parse()
    turns = [(count, producers) for count in options.counts for producers in options.producers]
    found: dict[tuple[int, int], list[Cost]] = {turn: [] for turn in turns}
    with tempfile.TemporaryDirectory(prefix="benchmark-workers-") as place, contextlib.ExitStack() as undo:
        os.environ["TIDEGAUGE_STATE"] = str(Path(place) / "state")
        address = undo.enter_context(null_server(Path(place)))
        host = undo.enter_context(LocalHost.open())
        names = tuple(f"t{number}" for number in range(WORKLOAD.topics))
        order = LoadOrder({"address": address}, "null", "null", names, 1, {}, "all", WORKLOAD, options.rate, 0, 1, 1.0)
        for number in range(options.rounds):
            shift = number % len(turns)
            for position, (count, producers) in enumerate(turns[shift:] + turns[:shift]):
                words = f"{count} workers, {producers:,} producers"
                print(f"round {number + 1} of {options.rounds}: {words}", file=sys.stderr, flush=True)
                workload = replace(WORKLOAD, producers=producers // WORKLOAD.topics)
                trial = replace(order, trial_number=1 + 100 * number + position, workload=workload)
                found[count, producers].append(measure(host, trial, count, options, Path(place)))
    print(
        f"{options.rate:,.0f} msg/s in all, {WORKLOAD.payload.message_bytes} bytes, spin share {options.spin_share:g}"
    )
    print(table(found))


if __name__ == "__main__":
    main()
