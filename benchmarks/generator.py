"""What Tidegauge's load generator costs, beside a bare client loop and Kafka's own performance tools, by turns.

Starts one Kafka node as the product does, lets each contender carry out each row in each round, and prints medians
with ranges. Rows that this machine is too small for are marked: their figures are no result. See generator.md.

examples:
  .venv/bin/python benchmarks/generator.py                            all rows, three rounds
  .venv/bin/python benchmarks/generator.py --short                    one round of short windows: does it work here?
  .venv/bin/python benchmarks/generator.py --rows full-1 rate-20k     these rows only
  .venv/bin/python benchmarks/generator.py --rounds 5 --seconds 30 --markdown table.md --json table.json
"""

from __future__ import annotations

import argparse
import contextlib
import json
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from side_by_side import table
from side_by_side.contenders import check_built, clear_topics, measure
from side_by_side.rows import BARE, BY_NAME, KAFKA_TOOLS, OMB, ROWS, TIDEGAUGE, Row, turns
from side_by_side.stage import Stage, Timing, available_cpus, open_stage
from side_by_side.table import Measured, RowResult

from tidegauge.cli.ending import interruptible
from tidegauge.errors import TidegaugeError
from tidegauge.hosts.facts import host_facts
from tidegauge.numbers import duration

ROOT = Path(__file__).resolve().parents[1]
OVERHEAD_S = {TIDEGAUGE: 8.0, BARE: 6.0, KAFKA_TOOLS: 15.0, OMB: 15.0}
"""Guessed beside warm-up and window; what measurements really take soon takes its place."""
SHORT = Timing(2.0, 3.0)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line. Exits with code 2 and what is allowed if it is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="benchmarks/generator.py"
    )
    named = "; ".join(f"{row.name}: {row.title}" for row in ROWS)
    parser.add_argument("--rounds", type=_count, default=None, help="rounds, the order changes by round (3)")
    parser.add_argument("--rows", nargs="+", choices=list(BY_NAME), metavar="ROW", help=f"which rows (all): {named}")
    parser.add_argument("--seconds", type=_count, default=None, help="measured window of each contender (10)")
    parser.add_argument("--warm-up", type=_count, default=None, help="seconds before the window (10)")
    parser.add_argument(
        "--short", action="store_true", help="one round, 2 s of warm-up and 3 s measured: to try it, not to quote it"
    )
    parser.add_argument("--directory", type=Path, default=ROOT / "runs", help="on whose disk Kafka writes (runs/)")
    parser.add_argument("--kafka", default="", metavar="VERSION", help="of server and tools (the product's default)")
    parser.add_argument(
        "--omb",
        type=Path,
        metavar="DIRECTORY",
        help="unpacked OpenMessaging Benchmark (with lib/): on rows with a rate",
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables as Markdown, too")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures of all rounds as JSON")
    options = parser.parse_args(arguments)
    options.rounds = options.rounds or (1 if options.short else 3)
    options.timing = Timing(
        options.warm_up or (SHORT.warmup_s if options.short else 10.0),
        options.seconds or (SHORT.measure_s if options.short else 10.0),
    )
    options.rows = [BY_NAME[name] for name in dict.fromkeys(options.rows or BY_NAME)]
    if options.omb:
        options.omb = options.omb.resolve()
        if not any(options.omb.glob("lib/*.jar")):
            parser.error(f"{options.omb} has no jars in lib/: name the directory of its unpacked archive")
        options.rows = [with_omb(row) for row in options.rows]
    for file in filter(None, (options.markdown, options.json)):
        if not file.absolute().parent.is_dir():
            parser.error(f"the directory of {file} does not exist")
    return options


def with_omb(row: Row) -> Row:
    """Let OMB carry out a row, too, if it can: with a Kafka and at a rate (without one it searches for the highest)."""
    if row.system != "kafka" or not row.msgs_per_s:
        return row
    return replace(row, contenders=(*row.contenders, OMB))


def _count(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number of 1 or more")
    return int(text)


def say(message: str) -> None:
    """Progress, apart from the result."""
    print(message, file=sys.stderr, flush=True)


class Pace:
    """How long what is left will take: guessed first, then as fast as it has gone so far."""

    def __init__(self, rows: Sequence[Row], rounds: int, timing: Timing) -> None:
        self._timing = timing
        self._left_s = rounds * sum(self.guess_s(name) for row in rows for name in row.contenders)
        self._done_s = self._took_s = 0.0

    def guess_s(self, contender: str) -> float:
        """Seconds of one measurement."""
        return self._timing.warmup_s + self._timing.measure_s + OVERHEAD_S.get(contender, 3.0)

    def done(self, contender: str, took_s: float) -> None:
        """One measurement is over."""
        self._left_s -= self.guess_s(contender)
        self._done_s += self.guess_s(contender)
        self._took_s += took_s

    def left(self) -> str:
        """In words."""
        factor = self._took_s / self._done_s if self._done_s else 1.0
        return f"about {duration(max(1, round(self._left_s * factor)))} left"


def run(options: argparse.Namespace, measured: list[Measured]) -> None:
    """Measure everything; `measured` holds what there is, whatever ends this."""
    check_built()
    options.directory.mkdir(parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(prefix="benchmark-generator-", dir=options.directory)).resolve()
    try:
        kafka = any(row.system == "kafka" for row in options.rows)
        with open_stage(directory, kafka, options.kafka, say) as stage:
            stage.omb = options.omb
            _rounds(options, stage, measured)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _rounds(options: argparse.Namespace, stage: Stage, measured: list[Measured]) -> None:
    pace = Pace(options.rows, options.rounds, options.timing)
    for number in range(1, options.rounds + 1):
        for row in options.rows:
            for contender in turns(row, number):
                say(f"round {number} of {options.rounds}, {row.name}, {contender} ({pace.left()})")
                began_s = time.monotonic()
                try:
                    figures = measure(stage, row, contender, options.timing)
                    measured.append(Measured(row.name, contender, number, figures))
                except TidegaugeError as error:
                    say(f"  failed: {error.message}")
                    measured.append(Measured(row.name, contender, number, problem=error.message.rstrip(".")))
                    if stage.deployment is not None:
                        # Without the server nothing more can be measured.
                        stage.deployment.check_alive()
                        clear_topics(stage)
                pace.done(contender, time.monotonic() - began_s)


def results_of(rows: Sequence[Row], measured: Sequence[Measured], cpus: float) -> list[RowResult]:
    """By row; rows of which nothing was measured are left out."""
    by_row = [(row, tuple(one for one in measured if one.row == row.name)) for row in rows]
    return [RowResult(row, found, cpus) for row, found in by_row if found]


def about(options: argparse.Namespace) -> dict[str, str]:
    """What it was measured on, and how."""
    facts = host_facts([options.directory])
    return {
        "measured": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{available_cpus()} CPUs, {facts.cpu_model or platform.machine()}, "
        f"{facts.memory_bytes / 2**30:.0f} GiB, {facts.clock_source or 'unknown'} clock",
        "rounds": f"{options.rounds}, by turns; {options.timing.warmup_s:g} s warm-up, "
        f"{options.timing.measure_s:g} s measured; medians (lowest to highest)",
    }


def show(options: argparse.Namespace, measured: Sequence[Measured], interrupted: bool) -> None:
    """Print the tables and write the files."""
    results = results_of(options.rows, measured, available_cpus())
    if not results:
        return
    facts = about(options)
    if interrupted:
        facts["interrupted"] = "not all rounds of all rows were measured"
    print("\n".join(f"{name}: {value}" for name, value in facts.items()), end="\n\n")
    print(table.text(results))
    if options.markdown:
        options.markdown.write_text(table.markdown(results, facts))
    if options.json:
        options.json.write_text(json.dumps(table.as_json(results, facts, interrupted), indent=1) + "\n")


def main(arguments: Sequence[str]) -> int:
    """Exit code: 0 measured, 1 something failed, 2 wrong usage, 130 interrupted."""
    options = parse(arguments)
    measured: list[Measured] = []
    code = 0
    try:
        with interruptible():
            run(options, measured)
    except KeyboardInterrupt:
        say("Interrupted: everything that was started has ended.")
        code = 130
    except TidegaugeError as error:
        say("error: " + " ".join(filter(None, (error.message, error.hint))))
        code = error.exit_code
    with contextlib.suppress(BrokenPipeError):
        show(options, measured, interrupted=code == 130)
    return code or int(any(one.problem for one in measured))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
