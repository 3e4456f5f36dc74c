"""What `doctor` found, for a terminal and as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tidegauge.hosts.abilities import Ability, Advice
from tidegauge.hosts.clock import ClockQuality
from tidegauge.model.ceilings import SUSTAINED_S, Calibration, Ceilings, DiskCeiling
from tidegauge.model.host import HostFacts
from tidegauge.numbers import as_sentence, count, mb_per_s, ms, plural, rounded, short, size
from tidegauge.plain import plain_value
from tidegauge.report.layout import (
    Column,
    ColumnGroup,
    FigureTable,
    Paragraph,
    bullet,
    columns,
    headed_bullets,
    heading,
    indented,
    with_blank_lines,
)


@dataclass(frozen=True)
class Diagnosis:
    """Everything that `doctor` found. `ceilings` None: nothing was measured, as the user wished.

    `calibration` None: likewise, or for the reason in `calibration_problem`.
    """

    host: HostFacts
    clock: ClockQuality
    ceilings: Ceilings | None
    advice: tuple[Advice, ...]
    abilities: tuple[Ability, ...]
    calibration: Calibration | None = None
    calibration_problem: str = ""


def doctor_content(diagnosis: Diagnosis) -> dict[str, Any]:
    """What `doctor` found, as plain data. Units are in the names; times are UTC."""
    return {"schema": "tidegauge.doctor/1", **plain_value(diagnosis)}


def doctor_report(diagnosis: Diagnosis) -> RenderableType:
    """Ceilings, then what to change, then what is fine, then what this machine can't do."""
    ceilings = _ceiling_parts(diagnosis.ceilings, diagnosis) if diagnosis.ceilings is not None else []
    host = diagnosis.host
    memory = f"{rounded(host.memory_bytes / (1 << 30))} GiB memory"
    kernel = " ".join(host.kernel.split()[:2])
    host_words = f"{plural(host.cpus, 'CPU')} ({host.cpu_model}), {memory}, {host.distribution}, {kernel}"
    return Group(
        *with_blank_lines(
            [Paragraph(f"{host.hostname}: {host_words}.", style="bold")],
            ceilings,
            _advice_parts(diagnosis.advice),
            _ability_parts(diagnosis.abilities),
        )
    )


def _ceiling_parts(ceilings: Ceilings, diagnosis: Diagnosis) -> Iterable[RenderableType]:
    yield heading("What it can do at most")
    for disk in ceilings.disks:
        yield indented(_disk_words(disk))
        if disk.syncs:
            lines = (line for lines in _sync_table(disk).lines(96) for line in lines)
            yield Group(*(Text(f"    {line}", no_wrap=True) for line in lines))
        yield from (bullet(f"DOUBTFUL: {doubt}.", "yellow") for doubt in disk.doubts)
    if ceilings.loopback is not None:
        loop = ceilings.loopback
        many = f", {mb_per_s(loop.many_bytes_per_s)} in {loop.many}" if loop.many_bytes_per_s is not None else ""
        tail = f", p99 {short(loop.round_trip_p99_us)} us" if loop.round_trip_p99_us is not None else ""
        yield indented(
            f"Loopback: {mb_per_s(loop.bytes_per_s)} in one connection{many}; a byte there and back takes "
            f"{short(loop.round_trip_p50_us)} us (median){tail}."
        )
    if ceilings.memory is not None:
        threads = plural(ceilings.memory.threads, "thread")
        yield indented(f"Memory: {mb_per_s(ceilings.memory.copy_bytes_per_s)} copied by {threads}.")
    calibration = diagnosis.calibration
    if calibration is None:
        problem = diagnosis.calibration_problem
        yield bullet(f"What one load generator makes and checks is not known: {problem}", "yellow")
    else:
        yield indented(as_sentence(calibration.sentence()))
        if calibration.starved:
            share = calibration.one.cpu_wait_share
            yield bullet(f"DOUBTFUL: its sending thread had no CPU for {share:.0%} of the time.", "yellow")
    if ceilings.doubtful:
        yield bullet(
            f"DOUBTFUL: the load average was {ceilings.load_average:.1f} when this began; other work took its part. "
            "Measure again on a quiet machine.",
            "yellow",
        )


def _disk_words(disk: DiskCeiling) -> str:
    """Bandwidth of a disk in a sentence."""
    where = f"Disk of {disk.path} ({disk.name})"
    if disk.write_bytes_per_s is None:
        return f"{where}: bandwidth could not be measured."
    read = f", reads {mb_per_s(disk.read_bytes_per_s)}" if disk.read_bytes_per_s is not None else ""
    how = f"{size(disk.block_bytes)} at a time, {disk.depth} in flight, past the page cache"
    sustained = ""
    if disk.sustained_write_bytes_per_s is not None:
        rate = mb_per_s(disk.sustained_write_bytes_per_s)
        sustained = f" Sustained, once memory takes no more: {rate} over {SUSTAINED_S:.0f} s."
    elif disk.sustained_problem:
        sustained = f" Sustained writes were not measured: {disk.sustained_problem}."
    return f"{where}: sequential writes {mb_per_s(disk.write_bytes_per_s)}{read}; {how}.{sustained}"


def _sync_table(disk: DiskCeiling) -> FigureTable:
    labels = tuple(
        f"{sync.call} {size(sync.write_bytes)}" + (f", {sync.files} files" if sync.files > 1 else "")
        for sync in disk.syncs
    )
    rates = columns(disk.syncs, {"calls/s": lambda sync: count(sync.per_s)})
    names = ("p50", "p95", "p99", "max")
    times = tuple(Column(name, tuple(ms(getattr(sync, f"{name}_ms")) for sync in disk.syncs)) for name in names)
    return FigureTable("append, then", labels, (ColumnGroup("", rates), ColumnGroup("time of one call, ms", times)))


def _advice_parts(advice: Sequence[Advice]) -> Iterable[RenderableType]:
    wanting = [item for item in advice if not item.good]
    yield heading(f"Worth changing: {len(wanting)}" if wanting else "Worth changing: nothing")
    for item in wanting:
        # A sentence stays one; a command is named as such.
        is_command = item.change and not (item.change[0].isupper() and item.change.endswith("."))
        to_do = f"To change it: {item.change}" if is_command else item.change
        yield bullet(f"{item.subject}: {item.found}. Why it matters: {item.why}. {to_do}", "yellow")
    good = [f"{item.subject}: {item.found}" for item in advice if item.good]
    if good:
        yield Text("")
        yield from headed_bullets("As it should be", good)


def _ability_parts(abilities: Sequence[Ability]) -> Iterable[RenderableType]:
    missing = [ability for ability in abilities if not ability.possible]
    names_possible = [ability.name for ability in abilities if ability.possible]
    if not missing:
        yield heading("It can do everything")
        return
    who = "an ordinary user of this machine" if missing[0].name == "root" else "this machine"
    yield heading(f"What {who} can't do: {len(missing)} of {len(abilities)}")
    yield Paragraph("Throughput and latency are measured all the same; each result says what it lacks.", "", "  ", "  ")
    for ability in missing:
        remedy = f" To have it: {ability.remedy[0].lower()}{ability.remedy[1:]}" if ability.remedy else ""
        yield bullet(
            f"{ability.name}: {ability.reason}. It is for: {ability.used_for}. Without it: {ability.without}.{remedy}"
        )
    if names_possible:
        yield indented(f"It can: {', '.join(names_possible)}.")
