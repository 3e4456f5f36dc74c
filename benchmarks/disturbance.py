"""What busy loops beside a trial do to a closed loop's rate and to the p99 at a fixed rate.

    .venv/bin/python benchmarks/disturbance.py --system kafka --rate 2000     0 to 2 loops a CPU, 3 blocks by turns
    .venv/bin/python benchmarks/disturbance.py --system null --blocks 1

Only on a machine that is quiet otherwise: each block has a trial without loops, against which the others are set. The
loops are programs of their own at the same priority, each in its own session. Prints a table for docs/methodology.md.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CAMPAIGN = """
name: disturbed
systems: ["{system}"]
durability: {level}
workload: {{message-size: 1KiB}}
experiments:
  - {{name: peak, warm-up-min: 5s, warm-up-max: 15s, measure: 15s}}
  - {{name: latency, rate: {rate}, warm-up-min: 5s, warm-up-max: 15s, measure: 15s}}
"""


@dataclass(frozen=True)
class Measured:
    """One run beside so many loops: the peak's rate and others' CPUs there, and the latency trial's p99."""

    msgs_per_s: float
    p99_ms: float | None
    others_share: float
    validity: str


# Its own session keeps a loop from the signals of a terminal, so it looks now and then whether its starter is there.
LOOP = "while kill -0 $PPID; do i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; done"


@contextlib.contextmanager
def busy_loops(count: int, shell: Path = Path("/bin/sh")) -> Iterator[list[subprocess.Popen[bytes]]]:
    """So many processes that never sleep, named like the shell that they are.

    Each has a session of its own: a scheduler that shares CPUs out by session gives all of one session one share.
    """
    with contextlib.ExitStack() as stack:
        loops = []
        for _ in range(count):
            loop = subprocess.Popen([shell, "-c", LOOP], start_new_session=True, stderr=subprocess.DEVNULL)
            loops.append(stack.enter_context(loop))
            stack.callback(loop.kill)
        yield loops


def measure(options: argparse.Namespace, loops: int) -> Measured:
    """One run. What the loops disturb is reported and decides nothing, so that no trial waits for them."""
    with tempfile.TemporaryDirectory() as directory, busy_loops(loops):
        campaign = Path(directory) / "campaign.yaml"
        campaign.write_text(CAMPAIGN.format(system=options.system, level=options.level, rate=options.rate))
        switches = {"TIDEGAUGE_DISTURBANCE": "report", "TIDEGAUGE_CEILINGS": "off", "TIDEGAUGE_REPORT": "off"}
        command = [sys.executable, "-m", "tidegauge.cli", "run", str(campaign), "--runs-dir", directory]
        subprocess.run(command, env={**os.environ, **switches}, stdout=subprocess.DEVNULL, check=False)
        results = [json.loads(path.read_text())["result"] for path in Path(directory).glob("*/trials/*/result.json")]
    by_experiment = {result["spec"]["experiment"]: result for result in results}
    peak, latency = by_experiment["peak"], by_experiment["latency"]
    account = peak["accounts"][0]
    return Measured(
        peak["msgs_per_s"], latency["response"]["p99_ms"], account["others"] / account["cpus"], peak["validity"]
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--system", default="null")
    parser.add_argument("--level", type=int, default=4)
    parser.add_argument("--rate", default="1000")
    parser.add_argument("--blocks", type=int, default=3)
    options = parser.parse_args()
    cpus = os.cpu_count() or 1
    counts = sorted({0, max(1, cpus // 4), max(1, cpus // 2), cpus, 2 * cpus})
    found: dict[int, list[Measured]] = defaultdict(list)
    for _ in range(options.blocks):
        for loops in counts:
            found[loops].append(measure(options, loops))
    print("| busy loops | others' CPUs | rate | p99, ms |\n| --- | --- | --- | --- |")
    for loops in counts:
        rates = [run.msgs_per_s / alone.msgs_per_s for run, alone in zip(found[loops], found[0], strict=True)]
        times_ms = [run.p99_ms for run in found[loops] if run.p99_ms is not None]
        others = statistics.median(run.others_share for run in found[loops])
        p99 = f"{statistics.median(times_ms):.3g}" if times_ms else "-"
        print(f"| {loops} on {cpus} CPUs | {others:.0%} | {statistics.median(rates):.2f}x | {p99} |")


if __name__ == "__main__":
    main()
