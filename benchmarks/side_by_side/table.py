"""From what was measured to tables: medians, ranges, ratios, and the marks of what must not be taken for a result.

Pure.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from side_by_side.rows import BARE, KAFKA_TOOLS, OMB, TIDEGAUGE, Row
from tidegauge.numbers import MISSING, ms

SCHEMA = "tidegauge.benchmark-generator/1"
WIDTH = 100
CPU_SHARE_MAX = 0.9
"""Of the CPUs that there are, in the window: beyond that everybody waits for everybody."""
RATE_OFF_MAX = 0.02
OTHERS_SHARE_MAX = 0.1


@dataclass(frozen=True)
class Measured:
    """One contender in one round. `figures` by the keys of `FIGURES`; `problem` if it failed."""

    row: str
    contender: str
    round_number: int
    figures: Mapping[str, float] = field(default_factory=dict)
    problem: str = ""


FIGURES = {
    "kmsgs_per_s": "rate, thousand msg/s",
    "cpu_s_per_million": "client CPU-s per million",
    "response_ms_p50": "publish, response p50, ms",
    "response_ms_p99": "publish, response p99, ms",
    "response_ms_p999": "publish, response p99.9, ms",
    "service_ms_p50": "publish, service p50, ms",
    "service_ms_p99": "publish, service p99, ms",
    "service_ms_p999": "publish, service p99.9, ms",
    "delay_us_p50": "schedule delay p50, us",
    "delay_us_p99": "schedule delay p99, us",
    "delay_us_p999": "schedule delay p99.9, us",
    "end_to_end_ms_p50": "end-to-end p50, ms",
    "end_to_end_ms_p99": "end-to-end p99, ms",
    "rss_peak_mb": "peak RSS, MB",
    "gc_percent": "in GC, % of the window",
    "host_cpu_percent": "CPUs busy, % of all",
    "server_cpus": "CPUs of the server",
    "other_cpus": "CPUs of other work",
}
"""Figures of a contender in the order of tables."""

RATIOS = (
    ("CPU per million, Tidegauge / bare loop", TIDEGAUGE, BARE),
    ("CPU per million, Tidegauge / Kafka's tools", TIDEGAUGE, KAFKA_TOOLS),
    ("CPU per million, Tidegauge / OMB", TIDEGAUGE, OMB),
)


@dataclass(frozen=True)
class Spread:
    """A figure over rounds."""

    median: float
    lowest: float
    highest: float
    values: tuple[float, ...]

    def __str__(self) -> str:
        if len(self.values) == 1:
            return ms(self.median)
        return f"{ms(self.median)} ({ms(self.lowest)} to {ms(self.highest)})"


def spread(values: Sequence[float]) -> Spread | None:
    """Median, lowest and highest; None of nothing."""
    return Spread(statistics.median(values), min(values), max(values), tuple(values)) if values else None


def of(measured: Sequence[Measured], contender: str, key: str) -> Spread | None:
    """A figure of a contender over the rounds of a row."""
    return spread([one.figures[key] for one in measured if one.contender == contender and key in one.figures])


def ratio(measured: Sequence[Measured], over: str, under: str, key: str = "cpu_s_per_million") -> Spread | None:
    """Of two contenders, round by round: what slowed a whole round slowed both. None where no round has both."""
    found: dict[str, dict[int, float]] = {over: {}, under: {}}
    for one in measured:
        if one.contender in found and one.figures.get(key):
            found[one.contender][one.round_number] = one.figures[key]
    both = sorted(found[over].keys() & found[under].keys())
    return spread([found[over][number] / found[under][number] for number in both])


def too_small_for(row: Row, contender: str, measured: Sequence[Measured], cpus: float) -> list[str]:
    """Why this machine is too small for a contender's load, one clause each; empty if it is not.

    Where other work took CPUs, that is the doubt: it may be large enough without.
    """
    found = []
    threads = row.threads(contender)
    if threads > cpus:
        found.append(f"{threads} busy threads on {cpus:g} CPUs")
    busy = of(measured, contender, "host_cpu_percent")
    if busy and busy.median > 100 * CPU_SHARE_MAX and not _others(contender, measured, cpus):
        found.append(f"{busy.median:.0f} % of the CPUs busy (more than {100 * CPU_SHARE_MAX:.0f} %)")
    return found


def _others(contender: str, measured: Sequence[Measured], cpus: float) -> str:
    """What other work took, if that is too much; "" if not."""
    found = of(measured, contender, "other_cpus")
    if found is None or found.median <= OTHERS_SHARE_MAX * cpus:
        return ""
    busy = of(measured, contender, "host_cpu_percent")
    of_all = f", of which {busy.median:.0f} % were busy" if busy else ""
    return f"other work took {found.median:.2f} of {cpus:g} CPUs{of_all}"


def doubts_about(row: Row, contender: str, measured: Sequence[Measured], cpus: float) -> list[str]:
    """What else makes figures no result: another rate than was asked for, other work, rounds that failed.

    A higher rate is that of one who catches up with a schedule that he was late for before.
    """
    found = []
    reached = of(measured, contender, "kmsgs_per_s")
    if row.msgs_per_s and reached and abs(1000 * reached.median / row.msgs_per_s - 1) > RATE_OFF_MAX:
        found.append(f"{1000 * reached.median:,.0f} instead of {row.msgs_per_s:,} msg/s")
    found += filter(None, [_others(contender, measured, cpus)])
    failed = [one for one in measured if one.contender == contender and one.problem]
    found += [f"round {one.round_number}: {one.problem}" for one in failed]
    return found


@dataclass(frozen=True)
class RowResult:
    """A row with everything said about it."""

    row: Row
    measured: tuple[Measured, ...]
    cpus: float

    def _each(self, what: Callable[[Row, str, Sequence[Measured], float], list[str]]) -> dict[str, list[str]]:
        begun = {one.contender for one in self.measured}
        found = {name: what(self.row, name, self.measured, self.cpus) for name in self.row.contenders if name in begun}
        return {name: clauses for name, clauses in found.items() if clauses}

    @property
    def too_small(self) -> dict[str, list[str]]:
        """By contender, why the machine is too small."""
        return self._each(too_small_for)

    @property
    def doubts(self) -> dict[str, list[str]]:
        """By contender, what else is doubtful."""
        return self._each(doubts_about)

    @property
    def remarks(self) -> list[str]:
        """What is marked, and why; no figure of a contender named there is a result."""
        found = [("TOO SMALL A MACHINE", self.too_small), ("Doubtful", self.doubts)]
        return [f"{what}: {'; '.join(_by_clause(marks))}." for what, marks in found if marks]

    def head(self, contender: str) -> str:
        """A column's head; "(!)" says that its figures are no result."""
        return f"{contender} (!)" if contender in self.too_small or contender in self.doubts else contender

    def lines(self, contenders: Sequence[str]) -> list[tuple[str, ...]]:
        """Label and a cell for each of these contenders; figures that none of them has are left out."""
        found = []
        for key, label in FIGURES.items():
            spreads = [of(self.measured, contender, key) for contender in contenders]
            if any(spreads):
                found.append((label, *(MISSING if one is None else str(one) for one in spreads)))
        return found

    @property
    def ratios(self) -> dict[str, Spread]:
        """Those that can be formed, by label."""
        found = {label: ratio(self.measured, over, under) for label, over, under in RATIOS}
        return {label: one for label, one in found.items() if one is not None}


def _by_clause(marks: Mapping[str, Sequence[str]]) -> list[str]:
    """Each clause once, with whom it is about."""
    about: dict[str, list[str]] = {}
    for name, clauses in marks.items():
        for clause in clauses:
            about.setdefault(clause, []).append(name)
    return [f"{clause} ({', '.join(names)})" for clause, names in about.items()]


def _tables(result: RowResult) -> list[str]:
    """Lines of a row's table, or of several one below the other where contenders don't fit beside each other."""
    contenders = result.row.contenders
    for abreast in range(len(contenders), 0, -1):
        parts = [contenders[at : at + abreast] for at in range(0, len(contenders), abreast)]
        lines = [line for part in parts for line in _aligned([("", *map(result.head, part)), *result.lines(part)])]
        if max(map(len, lines)) <= WIDTH:
            break
    return lines


def _aligned(table: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    padded = (
        (label.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)))
        for label, *cells in table
    )
    return ["  ".join(line).rstrip() for line in padded]


def text(results: Sequence[RowResult]) -> str:
    """Tables for a terminal of `WIDTH` columns."""
    blocks = []
    for result in results:
        title = f"{result.row.title}{' [TOO SMALL A MACHINE]' if result.too_small else ''}"
        lines = [title, "=" * len(title)]
        lines += _tables(result)
        lines += [f"{label}: {one}" for label, one in result.ratios.items()]
        for remark in result.remarks:
            lines += _wrapped(remark)
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _wrapped(remark: str) -> list[str]:
    """A remark in lines that fit, all but the first indented."""
    lines = [""]
    for word in f"(!) {remark}".split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > WIDTH:
            lines.append("   ")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines


def markdown(results: Sequence[RowResult], about: Mapping[str, str]) -> str:
    """The same as Markdown, with what it was measured on."""
    lines = [f"- {name}: {value}" for name, value in about.items()]
    for result in results:
        lines += ["", f"### {result.row.title}{', TOO SMALL A MACHINE' if result.too_small else ''}", ""]
        heads = [result.head(name) for name in result.row.contenders]
        lines += [f"| | {' | '.join(heads)} |", f"|{' --- |' * (len(heads) + 1)}"]
        lines += [f"| {' | '.join(line)} |" for line in result.lines(result.row.contenders)]
        said = [*(f"{label}: **{one}**" for label, one in result.ratios.items()), *result.remarks]
        lines += [part for one in said for part in ("", one)]
    return "\n".join(lines).strip() + "\n"


def _plain(one: Spread | None) -> dict[str, Any] | None:
    return None if one is None else asdict(one)


def as_json(results: Sequence[RowResult], about: Mapping[str, str], interrupted: bool) -> dict[str, Any]:
    """Everything, for programs."""
    return {
        "schema": SCHEMA,
        "about": dict(about),
        "interrupted": interrupted,
        "rows": [
            {
                "name": result.row.name,
                "title": result.row.title,
                "too_small": result.too_small,
                "doubts": result.doubts,
                "contenders": {
                    name: {key: _plain(of(result.measured, name, key)) for key in FIGURES}
                    for name in result.row.contenders
                },
                "ratios": {label: _plain(one) for label, one in result.ratios.items()},
            }
            for result in results
        ],
    }
