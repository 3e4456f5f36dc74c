"""What a run found, for a terminal: rich renderables, plain words and ASCII. Nothing here prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from tidegauge.comparison import within
from tidegauge.comparison.blocks import Block, sort_into_blocks
from tidegauge.model.trial import AttestSpec, LoadSpec, MeasuredResult, TrialResult, TrialSpec, point_words
from tidegauge.model.workload import SubscriptionType, Workload
from tidegauge.numbers import count, duration, local_time, plural, rounded, size
from tidegauge.report import compare, distributions, fairness, levels, thresholds, usage
from tidegauge.report.ending import again_words
from tidegauge.report.findings import fault_notes, faults_table, finding_parts
from tidegauge.report.layout import (
    FigureTable,
    Paragraph,
    bullet,
    headed_bullets,
    heading,
    shown_path,
    with_blank_lines,
)
from tidegauge.report.names import names_of
from tidegauge.report.published import published_parts
from tidegauge.report.sending import changed_words, reported_words
from tidegauge.report.tables import (
    Swept,
    figure_table,
    footnotes,
    records_table,
    remarks,
    swept_tables,
    worker_notes,
    workers_table,
)
from tidegauge.store.files import REPORT_NAME
from tidegauge.store.read import StoredRun, environment_changes

CHANGES_MAX = 8
"""Changes of the surroundings that are shown between two sessions; --json has all."""

WORDS = (
    "Response time: from the intended send to the acknowledgement. Service: from the actual send to the "
    "acknowledgement. End-to-end: from the intended send to the receipt. Backlog: acknowledged messages not received "
    "when the measured window ended (end), and those left after the drain (left). MB/s: 10^6 bytes of message "
    "values a second."
)
"""What the heads of the tables mean, for a reader who meets them for the first time."""


def run_report(run: StoredRun) -> RenderableType:
    """Everything about a run that fits a terminal: state, durability, a table per experiment, ratios, what next."""
    groups: list[Iterable[RenderableType]] = [
        _head_lines(run),
        fairness.run_parts(run.terms),
        thresholds.run_parts(run),
    ]
    if run.results:
        tables = swept_tables(sort_into_blocks(run.results))
        groups += [
            _durability_parts(run.results),
            [Paragraph(WORDS, "dim")] if tables else [],
            *map(_experiment_parts, tables),
        ]
        groups += [
            distributions.parts(run),
            finding_parts(run.findings, names_of(run)),
            _comparison_parts(run),
            usage.parts(run),
        ]
        groups.append(
            headed_bullets(
                "Client settings that differ from the library's own default (in brackets)", changed_words(run)
            )
        )
    else:
        groups.append([Text("No trial has finished, so there are no figures.")])
    if run.published is not None:
        host = host_words(run)
        groups.append(published_parts(run.published, host, bool(run.terms.unequal)))
    return Group(*with_blank_lines(*groups, _unfinished_parts(run), _next_steps(run)))


def path_line(before: str, path: Path) -> Text:
    """A line with a path, which is never wrapped: it is there to be copied."""
    return Text(f"{before}{shown_path(path)}", no_wrap=True, overflow="ignore")


def _head_lines(run: StoredRun) -> list[RenderableType]:
    trials = f"{len(run.results)} of {plural(run.trials_expected, 'trial')} finished"
    state = f"Run {run.name}, started {local_time(run.started_at)}: {run.status}, {trials}."
    lines: list[RenderableType] = [Paragraph(state, style="bold")]
    damage = (f"Damaged: {words}" for words in run.damage)
    around = (host_words(run), *damage, *(f"Note: {note}" for note in run.notes), *session_words(run))
    lines += [Paragraph(words, rest="  ") for words in around if words]
    shown_below = any(trial.reason and trial.reason in run.reason for trial in run.trials)
    if run.reason and not shown_below:
        lines.append(Paragraph(f"Reason: {run.reason}", style="red"))
    return lines


def session_words(run: StoredRun) -> list[str]:
    """Which trials were made in which session of a run that has several, and what changed between them."""
    if len(run.sessions) < 2:
        return []
    sentences = []
    for session in run.sessions:
        names = [trial.trial_id for trial in run.trials if trial.session == session.number and trial.result]
        which = f" ({names[0]} to {names[-1]})" if len(names) > 1 else f" ({names[0]})" if names else ""
        sentences.append(
            f"Session {session.number}, started {local_time(session.started_at)}: {session.status}, "
            f"{plural(len(names), 'trial')} finished{which}."
        )
    for number, (before, after) in enumerate(pairwise(run.environments), 1):
        changes = environment_changes(before, after) if before and after else []
        if changes:
            more = f" and {len(changes) - CHANGES_MAX} more" if len(changes) > CHANGES_MAX else ""
            sentences.append(
                f"Changed between sessions {number} and {number + 1}: {'; '.join(changes[:CHANGES_MAX])}{more}."
            )
    return sentences


def host_words(run: StoredRun) -> str:
    """The host of a run in two sentences; "" where the run does not (yet) say."""
    host = run.facts("host")
    if not host:
        return ""
    memory_bytes = host.get("memory_bytes")
    memory = f"{rounded(memory_bytes / (1 << 30))} GiB memory" if isinstance(memory_bytes, int) else ""
    kernel = " ".join(str(host.get("kernel", "")).split()[:2])
    disks = host.get("disks")
    disk_facts = disks.values() if isinstance(disks, Mapping) else []
    systems = sorted({str(disk.get("file_system")) for disk in disk_facts if isinstance(disk, Mapping)} - {"None"})
    cpus = host.get("cpus")
    counted = plural(cpus, "CPU") if isinstance(cpus, int) else "? CPUs"
    processor = f"{counted} ({host.get('cpu_model') or 'unknown model'})"
    # Earlier versions kept no plan.
    specs = run.planned or tuple(trial.spec for trial in run.trials if trial.spec)
    data_here = systems and not (specs and all(spec.elsewhere for spec in specs))
    parts = [processor, memory, kernel, f"data on {', '.join(systems)}" if data_here else ""]
    where = _where_all_ran(specs, run.measured) if run.trials else ""
    return f"Host: {', '.join(part for part in parts if part)}. {where}".rstrip()


def _where_all_ran(planned: Sequence[TrialSpec], measured: Sequence[MeasuredResult]) -> str:
    """Who ran where, and whether what they said to each other could be read on the way."""
    fleet = any(spec.load_hosts for spec in planned)
    attached = sorted({spec.system for spec in planned if spec.attached})
    if attached and all(spec.attached for spec in planned):
        if fleet:
            return "Clients ran on the hosts of a fleet, servers on others."
        return f"Clients ran on it. {_where_attached(measured)}"
    apart = any(spec.apart for spec in planned)
    where = "Clients ran on it, servers on other hosts" if apart else "Servers and clients ran on it together"
    if fleet:
        where = "Servers and clients ran on the hosts of a fleet"
    if attached:
        return f"{where}, but for the servers of {', '.join(attached)}, which others run."
    # Servers that Tidegauge starts listen without TLS.
    plain = " Between them nothing was encrypted (plaintext listeners)." if apart else ""
    return f"{where}.{plain}"


def _where_attached(measured: Sequence[MeasuredResult]) -> str:
    """Where servers of others run, as far as processes that the clients talked to were seen on the clients' hosts."""
    looked = [result.accounts for result in measured if result.spec.attached and result.accounts]
    if any(account.servers > 0 for accounts in looked for account in accounts):
        return "Servers that others run were on it, too."
    if looked:
        return "Others run the servers; none of their processes was seen on it."
    return "Others run the servers; where was not looked up."


def _durability_parts(results: Sequence[TrialResult]) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for head, group in levels.headlines_by_point(results):
        good = levels.standing(group) is levels.Standing.KEPT
        parts.append(Paragraph(head, style="" if good else "bold red"))
        parts += [bullet(line) for line in levels.details(group)]
    return parts


def _experiment_parts(sweep: Swept) -> Iterable[RenderableType]:
    first = sweep.blocks[0]
    loads = list(dict.fromkeys(load_words(block.results[0]) for block in sweep.blocks))
    yield heading(f"{sweep.experiment}: {loads[0]}" + (", and other loads" if len(loads) > 1 else ""))
    at = f"At {point_words(first.point)}: " if len(set(map(block_words, sweep.blocks))) > 1 else ""
    yield Paragraph(f"{at}{block_words(first)}")
    yield Text("")
    yield sweep.table() if first.point else figure_table(first)
    for block in sweep.blocks:
        for table in further_tables(block):
            yield Text("")
            yield table
    notes = table_notes(sweep.blocks)
    remarked = [remark.bullet() for block in sweep.blocks for remark in remarks(block)]
    if notes or remarked:
        yield Text("")
    for note in notes:
        yield Paragraph(note, style="dim")
    yield from remarked


def block_words(block: Block) -> str:
    """What was sent by whom to whom in these trials, and how."""
    return f"{workload_words(block.results[0].spec.workload)} {reported_words(block.results)}".rstrip()


def further_tables(block: Block) -> list[FigureTable]:
    """Tables of a schedule's steps, of faults and of load generators, where the block has such."""
    return [*filter(None, (records_table(block), faults_table(block), workers_table(block)))]


def table_notes(points: Sequence[Block]) -> list[str]:
    """What a reader of all tables of these blocks must know, each sentence once."""
    block_notes = [note for block in points for note in (*footnotes(block), *fault_notes(block))]
    return list(dict.fromkeys((*block_notes, *worker_notes(points))))


def load_words(result: MeasuredResult) -> str:
    """The load of a trial: rate, arrival, length."""
    spec = result.spec
    if not isinstance(spec, LoadSpec):
        return f"consumers alone, as fast as it goes, {duration(result.measured_s)} from the first to the last message"
    if spec.schedule is not None:
        load = f"{spec.rate_rule}; {count(result.offered_msgs_per_s)} msg/s on average, open loop"
    elif result.offered_msgs_per_s is None:
        load = "as fast as it goes (closed loop)"
    else:
        rule = f" ({spec.rate_rule})" if "%" in spec.rate_rule else ""
        load = f"at {count(result.offered_msgs_per_s)} msg/s{rule}, open loop, {spec.workload.arrival.value} arrivals"
    if spec.late is not None:
        return f"{load}, a backlog of {spec.late.rule}"
    faults = f", with {plural(len(spec.faults), 'fault')}" if spec.faults else ""
    return f"{load}, {duration(spec.measure_s)} measured{faults}"


def workload_words(workload: Workload) -> str:
    """What is sent by whom to whom; `report.sending` says how."""
    several = len(workload.existing_topics) > 1
    if workload.existing_topics:
        topics = f"existing topic{'s' if several else ''} {', '.join(workload.existing_topics)}"
    else:
        topics = f"{plural(workload.topics, 'topic')} of {plural(workload.partitions, 'partition')}"
    kind = "" if workload.subscription_type is SubscriptionType.BY_PARTITION else f"{workload.subscription_type} "
    readers = f"{kind}{plural(workload.subscriptions, 'subscription')} of {plural(workload.consumers, 'consumer')}"
    if not workload.producers:
        return f"{topics[:1].upper()}{topics[1:]}, filled by others, {'each ' if several else ''}with {readers}."
    if not workload.subscriptions:
        readers = "nobody who reads"
    shape = (
        f"{size(workload.payload.message_bytes)} messages; {topics}, each topic with "
        f"{plural(workload.producers, 'producer')} and {readers}"
    )
    return f"{shape}."


def _comparison_parts(run: StoredRun) -> Iterable[RenderableType]:
    objections = (compare.objection(block, run.terms.allowed) for block in sort_into_blocks(run.results))
    ratios = compare.ratios_of(run)
    mark = fairness.mark(run.terms.unequal)
    lines = [*filter(None, objections), *(f"{mark}{compare.sentence(ratio)}" for ratio in ratios)]
    if not lines:
        return
    yield heading("Compared")
    yield from (bullet(line) for line in lines)
    if any(ratio.repeated for ratio in ratios):
        yield Paragraph(compare.HOW_SURE, "dim")
    yield from _repeat_parts(run, ratios)


def _repeat_parts(run: StoredRun, ratios: Sequence[within.Ratio]) -> Iterable[RenderableType]:
    """How to decide what is open: the command, with the repeats that it takes."""
    needed = compare.repeats_needed(ratios)
    if needed is None:
        return
    if any(ratio.repeated for ratio in ratios):
        yield Text("To decide what is open, if figures go on to scatter as they did:")
    else:
        yield Text("To see whether a difference is more than chance, repeat the trials:")
    yield Paragraph(again_words(run, "tidegauge", needed, by_file=True), first="  ", rest="  ")


def _unfinished_parts(run: StoredRun) -> Iterable[RenderableType]:
    trials_left = [trial for trial in run.trials if trial.result is None]
    if not trials_left:
        return
    yield heading("Trials without a result")
    for trial in trials_left:
        yield bullet(f"{trial.trial_id}: {trial.status_words}")
        logs = trial.directory / "logs"
        if str(logs) not in trial.reason and logs.is_dir() and any(logs.iterdir()):
            yield path_line("    logs: ", logs)


def how_to_go_on(run: StoredRun) -> str:
    """The command that resumes a run, with what it keeps."""
    kept_words = f"{len(run.results)} of {run.trials_expected} trials are finished and would be kept"
    cycles = sum(len(trial.cycles.cycles) for trial in run.trials if trial.cycles is not None)
    if cycles:
        kept_words += f", and so would {plural(cycles, 'cycle')} of an attestation"
    return f"To go on with it ({kept_words}): tidegauge run --resume {shown_path(run.path)}"


def _next_steps(run: StoredRun) -> list[RenderableType]:
    lines: list[RenderableType] = [heading("Next steps"), path_line("  run directory:  ", run.path)]
    if any(not isinstance(trial.spec, AttestSpec) for trial in run.trials):
        lines.append(Text("  each second:    trials/*/seconds.parquet    whole distributions: trials/*/*.hlog"))
    if run.trials:
        lines.append(Text("  settings read back: trials/*/settings.json    server and worker logs: trials/*/logs/"))
    if run.meaning is not None and run.status not in ("running", "finished"):
        lines.append(Paragraph(f"  {how_to_go_on(run)}", "", "", "    "))
    lines.append(Paragraph(f"  again:          tidegauge show {shown_path(run.path)}    (--json: every figure)"))
    report = run.path / REPORT_NAME
    if report.is_file():
        lines.append(path_line("  report:         ", report))
    return lines
