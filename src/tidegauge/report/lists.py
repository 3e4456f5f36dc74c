"""Lists for a terminal: the runs there are, and the trials of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter, itemgetter
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tidegauge.comparison.order import AxisValues, in_order
from tidegauge.experiments.procedure import seconds_expected, trials_of_unknown_length
from tidegauge.hosts.space import ASSUMED, FullSpeed, is_open_ended
from tidegauge.hosts.storage import free_space
from tidegauge.model.disk_needs import bytes_needed, needed_rooms
from tidegauge.model.host import MemoryPlan
from tidegauge.model.server import by_turns, node_disks
from tidegauge.model.tilt import EQUAL_TERMS, Terms
from tidegauge.model.trial import AttestSpec, LoadSpec, ServerReuse, TrialSpec, point_words
from tidegauge.model.variant import VARIANT
from tidegauge.model.workload import Arrival, ShareSize, share_sizes
from tidegauge.numbers import count, duration, gib, join_with_and, local_time, ms, plural, size, trimmed
from tidegauge.plain import grouped
from tidegauge.published import BRIEF_MARK, PublishedScale
from tidegauge.published.examine import Choice
from tidegauge.report import fairness, levels
from tidegauge.report.effects import planned_design_words
from tidegauge.report.findings import planned_faults
from tidegauge.report.layout import Column, Paragraph, WordTable, bullet, headed_bullets, heading, with_blank_lines
from tidegauge.report.loads import measured_words, planned_load, workload_words
from tidegauge.report.published import published_plan
from tidegauge.report.sending import planned_words
from tidegauge.report.tables import axis_name
from tidegauge.store.read import StoredRun

Places = tuple[tuple[Path, ...], tuple[Path, ...]]
HERE: Places = ((), ())
DURABILITY = "durability"
ROWS_MAX = 60
WORKLOADS_MAX = 4
"""A sweep has many of both; every one stands in the JSON of the plan."""
VALUES_NAMED_MAX = 3


def runs_list(runs: Sequence[StoredRun]) -> RenderableType:
    """One run a row, the newest last."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", show_edge=False)
    labelled = any(run.labels.words for run in runs)
    for head in ("run", *(["name [tags]"] if labelled else []), "started", "status", "trials"):
        table.add_column(head, overflow="fold")
    for run in runs:
        trials = f"{len(run.results)}/{run.trials_expected}"
        labels = [run.labels.words] if labelled else []
        marks = [fairness.MARK] if run.terms.unequal else []
        marks += [BRIEF_MARK] if run.overrides.get("scale") == PublishedScale.BRIEF else []
        table.add_row(run.path.name, *labels, local_time(run.started_at), ", ".join((run.status_words, *marks)), trials)
    return table


@dataclass(frozen=True)
class ReadyCampaign:
    """A campaign that comes with Tidegauge. `seconds_expected`: about, once everything is fetched."""

    name: str
    description: str
    path: str
    systems: tuple[str, ...]
    trials: int
    seconds_expected: float


def campaigns_list(campaigns: Sequence[ReadyCampaign], program: str) -> RenderableType:
    """One campaign a row, with how to run one."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", show_edge=False)
    for head in ("campaign", "takes", "measures"):
        table.add_column(head, overflow="fold", no_wrap=head == "takes")
    for campaign in campaigns:
        table.add_row(campaign.name, _rough_duration(campaign.seconds_expected), campaign.description)
    return Group(table, Text(""), Text(f"Run one by its name: {program} run NAME (--dry-run prints its plan)"))


def _rough_duration(seconds: float) -> str:
    """To 5 minutes, below an hour to one minute: "4 min", "1 h 20 min"."""
    step_s = 60.0 if seconds < 3600 else 300.0
    return duration(max(60.0, round(seconds / step_s) * step_s))


@dataclass(frozen=True)
class ShownPlan:
    """The trials of a plan in order, and what to know before it runs."""

    trials: Sequence[TrialSpec]
    seconds_expected: float
    warnings: Sequence[str] = ()
    memory: MemoryPlan | None = None
    terms: Terms = EQUAL_TERMS
    examines: Choice | None = None
    thresholds: Sequence[str] = ()
    retry: int = 0
    clusters: Sequence[str] = ()
    """What clusters of others reported when they were asked, a sentence or two each."""
    questions: Sequence[str] = ()
    """What its searches look for."""
    values: AxisValues = field(default_factory=dict)
    """Those of the axes of a sweep, as the campaign lists them."""
    placement: str = ""
    """Who runs where on a fleet."""


def plan_list(plan: ShownPlan, full: FullSpeed = ASSUMED, places: Places = HERE) -> RenderableType:
    """The trials of a plan in order, with what each takes and the whole, and what to know before it runs."""
    trials = plan.trials
    # Trials as rows: those of a search, which differ by nothing that is known beforehand, share one.
    rows: list[list[TrialSpec]] = []
    for trial in trials:
        if rows and trial.exploratory and replace(rows[-1][0], trial_id=trial.trial_id) == trial:
            rows[-1].append(trial)
        else:
            rows.append([trial])
    workloads = list(_workload_parts(trials, plan.values))
    steps: list[RenderableType] = [
        heading(f"{plural(len(trials), 'trial')}, in this order:"),
        _trial_table(rows[:ROWS_MAX]),
    ]
    if len(rows) > ROWS_MAX:
        steps.append(Text(f"... and {len(rows) - ROWS_MAX} rows more; --json lists every trial."))
    workers = plan.memory.workers if plan.memory is not None else 1
    # Experiments that look for a number of load generators have their own.
    fixed = [trial for trial in trials if not (isinstance(trial, LoadSpec) and trial.generators)]
    which = "Each trial" if len(fixed) == len(trials) else "Each trial but those that try several numbers of them"
    # A trial may have fewer producers and consumers than that.
    smallest = [share_sizes(trial.workload, workers)[-1] for trial in fixed if not isinstance(trial, AttestSpec)]
    workers_words = f"{workers}" if all(one.producers or one.consumers for one in smallest) else f"at most {workers}"
    thresholds_head = "Thresholds for the results (the exit code is 4 if one is missed):"
    sentences = [*planned_faults(trials), *window_words(trials), place_words(trials, places)]
    sentences.append(disk_words(trials, full, places))
    if plan.retry:
        sentences.append(f"A trial whose load generators fail is made again, up to {plural(plan.retry, 'time')}.")
    return Group(
        *with_blank_lines(
            published_plan(plan.examines, trials) if plan.examines else [],
            _sweep_parts(trials, plan.values),
            steps,
            headed_bullets("Searched for:", plan.questions),
            headed_bullets(thresholds_head, plan.thresholds),
            *workloads,
            *([Paragraph(words)] for words in (plan.placement, *plan.clusters) if words),
            *([Paragraph(sentence)] for sentence in sentences if sentence),
            headed_bullets(
                f"{which} is carried out by {workers_words} load generators:",
                share_words(fixed, workers),
            ),
            headed_bullets(
                "Memory, for one system at a time:", plan.memory.sentences() if plan.memory is not None else ()
            ),
            *([Paragraph(f"Warning: {warning}")] for warning in plan.warnings),
            fairness.plan_parts(plan.terms),
            [Paragraph(time_words(trials, plan.seconds_expected))],
        )
    )


def share_words(trials: Sequence[TrialSpec], workers: int) -> list[str]:
    """What each load generator has of the trials, those alike in one sentence, and shares alike in one part of it."""
    sentences: dict[str, list[TrialSpec]] = {}
    for trial in trials if workers > 1 else ():
        parts = []
        sizes = enumerate(share_sizes(trial.workload, workers), 1)
        numbered = [(number, share) for number, share in sizes if share.producers or share.consumers]
        for share, group in groupby(numbered, key=itemgetter(1)):
            numbers = [number for number, _ in group]
            who = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}, each"
            parts.append(f"{who}: {_share_of_trial(trial, share)}")
        sentences.setdefault("; ".join(parts), []).append(trial)
    if len(sentences) == 1:
        return list(sentences)
    return [
        f"{_distinction_words(trials_alike, trials) or trials_alike[0].trial_id + ': '}{words}"
        for words, trials_alike in sentences.items()
    ]


def _share_of_trial(trial: TrialSpec, share: ShareSize) -> str:
    producers = trial.workload.topics * trial.workload.producers
    things = [plural(share.producers, "producer"), plural(share.consumers, "consumer")]
    if not trial.workload.existing_topics:
        things.append(f"{share.topics:,} of the topics to create" if share.topics else "no topic to create")
    if not share.producers:
        rate = ""
    elif not isinstance(trial, LoadSpec) or trial.msgs_per_s is None or trial.workload.arrival is Arrival.CLOSED_LOOP:
        rate = f", {share.producers}/{producers} of the rate"
    else:
        rate = f", {count(trial.msgs_per_s * share.producers / producers)} msg/s"
    return f"{', '.join(things)}{rate}"


def time_words(trials: Sequence[TrialSpec], seconds_expected: float) -> str:
    """How long a plan takes.

    Where backlogs are written at rates that are found on the way only a bound; of a number of messages that are sent at
    such rates nobody knows.
    """
    counted, open_ended = trials_of_unknown_length(trials)
    whole = duration(seconds_expected)
    if not counted and not open_ended:
        return f"Takes about {whole} on a calm machine, once everything is fetched. Nothing was started."
    words = f"Takes {'up to ' if open_ended else ''}{whole} on a calm machine, once everything is fetched"
    if counted:
        assumed, longest = (duration(max(map(attrgetter(name), counted))) for name in ("measure_s", "measure_s_max"))
        words += (
            f", if a number of messages takes {assumed}: at a rate that is found during the run it may take {longest}, "
            f"in {plural(len(counted), 'trial')}"
        )
    if open_ended:
        longest = duration(max(late.chase_s_max for late in open_ended))
        words += ". " if counted else ": "
        words += (
            f"{plural(len(open_ended), 'trial')} may read a backlog for {longest} at most. Writing it, at a rate that "
            "is found during the run, is assumed to last as long"
        )
    return words + ". Nothing was started."


def brief_time_words(trials: Sequence[TrialSpec], seconds_expected: float) -> str:
    """How long a plan takes, in a few words: "about 2 min", or what is so of it where nobody knows."""
    counted, open_ended = trials_of_unknown_length(trials)
    assumed = " (if numbers of messages take as long as assumed)" if counted else ""
    return f"{'up to' if open_ended else 'about'} {duration(seconds_expected)}{assumed}"


def _trial_table(rows: Sequence[Sequence[TrialSpec]]) -> WordTable:
    """Trials with their points of a sweep, by the numbers that their names begin with."""
    first = [alike[0] for alike in rows]
    axes = [axis for axis in dict.fromkeys(axis for trial in first for axis in trial.point) if axis != DURABILITY]
    # The values of an axis of the user's own, such as RabbitMQ's queues, may stand for the level.
    in_axes = bool(axes) and DURABILITY not in first[0].point and len({trial.choice for trial in first}) > 1
    loads = (
        f"{planned_load(alike[0])}, about {len(alike)} trials" if len(alike) > 1 else planned_load(alike[0])
        for alike in rows
    )
    warm_ups = (
        f"{trimmed(trial.warmup_s_min)} to {trimmed(trial.warmup_s_max)} s" if isinstance(trial, LoadSpec) else "none"
        for trial in first
    )
    return WordTable(
        (
            Column("step", tuple(trial.trial_id.partition("-")[0] for trial in first)),
            Column("experiment", tuple(trial.experiment for trial in first)),
            Column("system", tuple(trial.system for trial in first)),
            *(Column(axis_name(axis), tuple(trial.point.get(axis, "") for trial in first)) for axis in axes),
            Column(DURABILITY, tuple(levels.level_words(trial.choice) for trial in first)),
            Column("load", tuple(loads)),
            Column("warm-up", tuple(warm_ups)),
            Column("measured", tuple(measured_words(trial) for trial in first)),
        ),
        droppable=("warm-up", *([DURABILITY] if in_axes else []), "measured"),
    )


def _workload_parts(trials: Sequence[TrialSpec], values: AxisValues) -> Iterator[list[RenderableType]]:
    """What is sent to whom and how, each once: where all send the same, only how clients are set differs."""
    order = [point_words(point) for point in in_order([trial.point for trial in trials], values)]
    compared = grouped(
        (f"{trial.experiment} {point_words(trial.point)} {trial.workload.neutral()}", trial)
        for trial in sorted(trials, key=lambda trial: order.index(point_words(trial.point)))
    )
    alike = grouped(
        ((workload_words(systems[0].workload), planned_words(systems)), trial)
        for systems in compared.values()
        for trial in systems
    )
    rest = len(alike) - WORKLOADS_MAX
    rest_lines = [Text(f"... and {rest} more; --json has every trial's.")] if rest > 0 else []
    listed = list(alike.items())[:WORKLOADS_MAX]
    shapes = {workload for workload, _ in alike}
    if len(alike) == 1:
        yield [Paragraph(" ".join(words).rstrip()) for words in alike]
    elif len(shapes) == 1:
        bullets = [bullet(f"{_distinction_words(same, trials)}{how}") for (_, how), same in listed]
        yield [Paragraph(shapes.pop()), *bullets, *rest_lines]
    else:
        each = [f"{_distinction_words(same, trials)}{' '.join(words)}".rstrip() for words, same in listed]
        for words in each[:-1]:
            yield [Paragraph(words)]
        yield [Paragraph(each[-1]), *rest_lines]


def _distinction_words(trials_alike: Sequence[TrialSpec], trials: Sequence[TrialSpec]) -> str:
    """The experiment and values of a sweep that these trials share and others don't: "partitions 100: "; or "".

    Where they share none, the few that they have: "variant a or b: ".
    """

    def values_of(some: Sequence[TrialSpec], axis: str) -> list[str]:
        return list(dict.fromkeys({"": trial.experiment, **trial.point}.get(axis, "") for trial in some))

    axes = ("", *trials_alike[0].point)
    values_here = {
        axis: values for axis in axes if set(values := values_of(trials_alike, axis)) != set(values_of(trials, axis))
    }
    shared = {axis: values for axis, values in values_here.items() if len(values) == 1}
    few = {axis: values for axis, values in values_here.items() if len(values) <= VALUES_NAMED_MAX}
    words = [f"{axis_name(axis)} {' or '.join(values)}".strip() for axis, values in (shared or few).items()]
    return f"{', '.join(words)}: " if words else ""


def _sweep_parts(trials: Sequence[TrialSpec], values: AxisValues) -> Iterable[RenderableType]:
    """The points of a sweep, with what is measured at each and how long it takes."""
    points = in_order([trial.point for trial in trials], values)
    if not any(points):
        return
    axes = list(dict.fromkeys(axis for point in points for axis in point))
    measured = [[trial for trial in trials if trial.point == point] for point in points]
    if axes == [VARIANT]:
        yield heading(f"{plural(len(points), 'variant')}, by turns:")
    else:
        yield heading(f"{planned_design_words(points)}, in random order within each block:")
    yield WordTable(
        (
            *(Column(axis_name(axis), tuple(point.get(axis, "") for point in points)) for axis in axes),
            Column("systems", tuple(", ".join(sorted({trial.system for trial in at_point})) for at_point in measured)),
            Column("trials", tuple(f"{len(at_point)}" for at_point in measured)),
            Column("time", tuple(duration(sum(map(seconds_expected, at_point))) for at_point in measured)),
        ),
        droppable=("systems", "trials"),
    )


def window_words(trials: Sequence[TrialSpec]) -> list[str]:
    """What the messages in flight allow: from which time of an acknowledgement on they limit a rate; once each."""
    sentences: dict[str, None] = {}
    for trial in trials:
        if not isinstance(trial, LoadSpec):
            continue
        load = trial.workload
        window = load.window_messages()
        if trial.sending is not None:
            # The system's client settings may bound it lower than the workload.
            producers = load.topics * load.producers
            window = min(window, max(1, int(trial.sending.in_flight_messages * producers)))
        whose = f" of {trial.system}" if window < load.window_messages() else ""
        # Of messages of several sizes those in flight are about the mean, and may all be the largest.
        about = "about " if load.payload.sizes else ""
        window_size = f"{about}{size(window * load.payload.message_bytes)}"
        whole = f"{plural(window, 'message')} ({window_size}) may be in flight over all producers"
        if trial.most_msgs_per_s:
            at_ms = 1000 * window / trial.most_msgs_per_s
            limits = f"this limits {count(trial.most_msgs_per_s)} msg/s once acknowledgements take {ms(at_ms)} ms"
        else:
            limits = f"if acknowledgements take 100 ms, this limits the rate to {count(window * 10)} msg/s"
        sentences[f"Window{whose}: {whole}: {limits}."] = None
    shown = list(sentences)
    if len(shown) > WORKLOADS_MAX:
        return [*shown[:WORKLOADS_MAX], f"... and {len(shown) - WORKLOADS_MAX} windows more."]
    return shown


def place_words(trials: Sequence[TrialSpec], places: Places) -> str:
    """Which node keeps its data where, of several places; "" of one."""
    data, journals = places
    nodes = max((trial.nodes for trial in trials if not trial.elsewhere), default=0)
    if not nodes or len({*data, *journals}) < 2:
        return ""
    each = [
        f"node {number} on {join_with_and([*map(str, node_disks(data, number, nodes))])}"
        + (f", its journal on {by_turns(journals, nodes)[number - 1]} if it keeps one apart" if journals else "")
        for number in range(1, nodes + 1)
    ]
    return f"Data: {'; '.join(each)}."


def disk_words(trials: Sequence[TrialSpec], full: FullSpeed = ASSUMED, places: Places = HERE) -> str:
    """How much room the trials need; where a rate is not known before, as much as the machine can write. "" if none.

    `places`: of the servers' data, and of their journals; () = on one disk that is not looked at.
    """
    trials_rated = [trial for trial in trials if trial.most_msgs_per_s and not trial.elsewhere]
    unknown = [trial for trial in trials if is_open_ended(trial)]
    needs = []
    if trials_rated:
        largest = max(trials_rated, key=lambda trial: bytes_needed(trial, trial.nodes))
        needs.append(f"{_room_words(largest, places)} while a trial at a known rate runs")
    if unknown:
        most = max(map(full.bytes_written, unknown))
        basis = "measured here" if full.measured else "assumed: `tidegauge doctor` measures it"
        speed = f"{full.disk_bytes_per_s / 1e6:,.0f} MB/s, {basis}"
        needs.append(
            f"up to {gib(most)} where the rate is found during the run, if the disk is written at its limit all the "
            f"time ({speed}); the run ends before the disk is full"
        )
    shared = any(trial.servers is ServerReuse.SHARED for trial in (*trials_rated, *unknown))
    removed = "topics after each trial, the rest with the servers that trials share" if shared else "after each trial"
    return f"Disk: {'; '.join(needs)}. Removed {removed}." if needs else ""


def _room_words(trial: TrialSpec, places: Places) -> str:
    """What a trial needs on each disk, and where it does not have it."""
    data, journals = places
    rooms_left = needed_rooms(trial, data, journals, free_space) if data else []
    if not rooms_left:
        return f"up to {gib(bytes_needed(trial, trial.nodes))} free"
    each = []
    for room in rooms_left:
        has, plural_end = ("it has", "") if len(room.places) == 1 else ("they have", "s")
        lack = ""
        if room.free_bytes < room.needed_bytes:
            lack = f" ({has} {gib(room.free_bytes)}: TOO LITTLE, the run would end there)"
        each.append(f"{gib(room.needed_bytes)} free on the disk{plural_end} of {room}{lack}")
    return f"up to {join_with_and(each)}"
