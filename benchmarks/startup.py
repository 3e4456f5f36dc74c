"""CPU and wall seconds until commands that measure nothing have answered: median (lowest to highest) of each.

    .venv/bin/python benchmarks/startup.py --repeat 9 [--tree ../other-checkout]

With several trees (checkouts; this one is always the first) they take turns, so that a busy machine slows all alike.
Compiled modules are kept as Python does by itself, whatever PYTHONDONTWRITEBYTECODE says; with `--uncompiled` those
that the environment holds uncompiled are compiled in every process, as where that is set.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = ROOT / "tests" / "omb_files"
RUN = "import sys; from tidegauge.cli.main import run_command; sys.exit(run_command(sys.argv[1:]))"
COMMANDS = (
    ("--help",),
    ("run", "--help"),
    ("quick", "--dry-run"),
    ("attest", "kafka", "--level", "3", "--dry-run"),
    ("run", "confluent-2020-throughput", "--dry-run"),
    (
        *("omb", str(FILES / "workloads/1-topic-1-partition.yaml")),
        *("--driver", str(FILES / "drivers/kafka-every-key.yaml"), "--managed", "--dry-run"),
    ),
)


def seconds(tree: Path, arguments: tuple[str, ...], cache: dict[str, str]) -> tuple[float, float]:
    """CPU and wall seconds of one command, run from that checkout. `cache` says what becomes of compiled modules."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPATH": str(tree / "src"), **cache}
    nowhere = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    began = time.monotonic()
    pid = os.posix_spawn(sys.executable, [sys.executable, "-c", RUN, *arguments], environment, file_actions=nowhere)
    _, status, used = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"{' '.join(arguments)} ended with {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime, time.monotonic() - began


def spread(values: list[float]) -> str:
    """The median, and the range."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--tree", type=Path, action="append", default=[])
    parser.add_argument("--uncompiled", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as compiled:
        measure(options, {"PYTHONDONTWRITEBYTECODE": "1"} if options.uncompiled else {"PYTHONPYCACHEPREFIX": compiled})


def measure(options: argparse.Namespace, cache: dict[str, str]) -> None:
    """Measure every command on every tree, by turns."""
    trees = [ROOT, *(tree.resolve() for tree in options.tree)]
    print("| command | tree | CPU-s | wall, s |\n| --- | --- | --- | --- |")
    for arguments in COMMANDS:
        for tree in trees:
            seconds(tree, arguments, cache)  # Warms the caches.
        found: dict[Path, list[tuple[float, float]]] = {tree: [] for tree in trees}
        for _ in range(options.repeat):
            for tree in trees:
                found[tree].append(seconds(tree, arguments, cache))
        for tree, pairs in found.items():
            words = " ".join(Path(word).name if word.startswith("/") else word for word in arguments)
            cpu_s, wall_s = map(list, zip(*pairs, strict=True))
            print(f"| `{words}` | {tree.name} | {spread(cpu_s)} | {spread(wall_s)} |", flush=True)


if __name__ == "__main__":
    main()
