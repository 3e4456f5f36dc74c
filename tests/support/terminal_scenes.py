"""Constructed runs, plans and other things to show, each as the text that a user reads of it.

A scene differs from its neighbour in what makes one sentence false. Runs are made in memory, but for those of which a
report reads files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from attestation_samples import SPEC, attestation, attested, cycle, outcome
from distribution_samples import blocks_of
from distribution_samples import stored as with_seconds
from fault_samples import KILL, PAUSED, faulted
from reasons import NOT_KEPT_UP, WAITED, reasons_of
from report_samples import KAFKA, PULSAR, ceilings
from rich.console import Group, RenderableType
from run_samples import latency, reading, result, spec
from shown_runs import BUSY, pair, peak, rendered, repeated
from worker_samples import several, worker_result, worker_seen

from tidegauge.cli.running import CODES
from tidegauge.hosts.abilities import Ability, Advice
from tidegauge.hosts.clock import ClockQuality
from tidegauge.hosts.space import ASSUMED, FullSpeed
from tidegauge.model.attest import Attestation, AttestVerdict, FileSystem, Means
from tidegauge.model.ceilings import Calibration, Pace, RunCeilings
from tidegauge.model.disturbance import Disturbance, Disturbed, Harm, HostAccount
from tidegauge.model.events import PhaseStarted, RunStarted, SecondSeen, TrialEnded, UseNow
from tidegauge.model.finding import Finding
from tidegauge.model.host import (
    DiskState,
    FleetCheck,
    FleetHost,
    HostFacts,
    HostState,
    Joined,
    MemoryNeed,
    MemoryPlan,
    NetworkPath,
    WorkerMemory,
)
from tidegauge.model.level import Agreement, EarlierCuts, LevelChoice, LevelFinding, SettingChange, SyncFinding
from tidegauge.model.load import ClockBound
from tidegauge.model.message_sizes import MessageSizes, SizeKind
from tidegauge.model.processing import Processing, ProcessingKind
from tidegauge.model.reason import Reason, ReasonKind
from tidegauge.model.sending import Sending
from tidegauge.model.tilt import Severity, Stage, Terms, Tilt
from tidegauge.model.trial import (
    AnyResult,
    AnySpec,
    LoadResult,
    LoadSpec,
    RateRule,
    RecordResult,
    ServerReuse,
    TrialSpec,
    Validity,
)
from tidegauge.model.use import Limiting, NearLimit, Resource, Seen
from tidegauge.model.workload import (
    Arrival,
    KeyFile,
    Keys,
    LateReaders,
    Payload,
    RatePhase,
    RateSchedule,
    SubscriptionType,
    Workload,
)
from tidegauge.report import distributions, levels
from tidegauge.report.doctor import Diagnosis, doctor_report
from tidegauge.report.ending import ending
from tidegauge.report.facts import RunFacts
from tidegauge.report.fleet import check_report, hosts_report, joined_report
from tidegauge.report.lists import (
    HERE,
    Places,
    ReadyCampaign,
    ShownPlan,
    campaigns_list,
    plan_list,
    runs_list,
    share_words,
)
from tidegauge.report.live import LiveState, advance, live_view, plain_lines
from tidegauge.report.live import outcome_line as ended_words
from tidegauge.report.markdown import run_markdown
from tidegauge.report.screen import run_screen
from tidegauge.report.sending import sending_words
from tidegauge.report.summary import run_summary
from tidegauge.report.terminal import run_report
from tidegauge.report.verdicts import level_phrase, verdicts
from tidegauge.store.envelopes import RunSession
from tidegauge.store.files import REPORT_NAME
from tidegauge.store.omb import keep_omb_files
from tidegauge.store.read import StoredRun, StoredTrial
from tidegauge.usage import Price

WIDTH = 4000
"""Wider than anything that is said, so that no line is broken."""
RABBITMQ = "rabbitmq@4.1.2"
_RUN = Path("runs/2026-11-21T03-24-36-quick")
_HOST = {
    "cpus": 2, "cpu_model": "Xeon", "memory_bytes": 24 << 30, "kernel": "Linux 6.1 #1",
    "disks": {"/x": {"file_system": "ext4"}},
}  # fmt: skip


_HOSTS = {
    "10.7.0.2": {"nodes": [1], "facts": _HOST},
    "10.7.0.3": {"nodes": [2, 3], "facts": _HOST},
    "10.7.0.4": {"keeper": True, "facts": _HOST},
    "10.7.0.5": {"load_generators": [1, 2], "facts": {**_HOST, "disks": {}}},
}


def shown(*parts: RenderableType) -> str:
    """As a terminal shows it."""
    return rendered(Group(*parts), WIDTH)


def run_of(*results: AnyResult, **changes: object) -> StoredRun:
    """A finished run of these trials, as it is read back."""
    made = StoredRun(
        path=_RUN, name="quick", status="finished", reason="", started_at="2026-11-21T03:24:36+00:00", ended_at="",
        tidegauge_version="1.0", campaign_path="campaigns/quick.yaml", campaign_text="",
        planned=tuple(one.spec for one in results), trials=tuple(map(_finished, results)),
        environment={"host": _HOST},
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


def _finished(one: AnyResult) -> StoredTrial:
    directory = _RUN / "trials" / one.spec.trial_id
    return StoredTrial(directory, one.spec.trial_id, "finished", "", one.spec, one, "")


def ended(
    status: str, *results: AnyResult, without: AnySpec | None = None, trial: str = "failed", **changes: object
) -> StoredRun:
    """A run that ended otherwise, with a trial that has no result. `trial`: how that one ended."""
    run = run_of(*results, status=status)
    made = without or spec(RABBITMQ, number=9)
    left = StoredTrial(_RUN / "trials" / made.trial_id, made.trial_id, trial, "kafka-1 ended", made, None, "")
    whole = replace(run, trials=(*run.trials, left), planned=(*run.planned, made))
    return replace(whole, **changes)  # type: ignore[arg-type]


def refused_settings() -> StoredRun:
    """A run whose only open trial has clients that refuse their settings."""
    run = ended("failed", *pair(), reason="1 trial failed: acks must be all", meaning={})
    return replace(run, trials=(*run.trials[:-1], replace(run.trials[-1], settings_refused=True)))


def said(run: StoredRun) -> str:
    """All that is said of a run: report, screen, Markdown, JSON, and how a page's headline begins."""
    at_end = ending(run)
    code = CODES[at_end.end]
    texts = [
        shown(run_report(run)),
        shown(run_screen(run, at_end, code)),
        f"Exit code {code}: {at_end.why} {at_end.what}" if code else "",
        run_markdown(run),
        json.dumps(run_summary(run), indent=0, ensure_ascii=False),
        level_phrase(run),
    ]
    return "\n".join(texts)


def answers(run: StoredRun) -> str:
    """The sentences that answer its experiments alone."""
    return "\n".join(verdict.sentence for verdict in verdicts(RunFacts(run)))


def each(results: Iterable[LoadResult], **changes: object) -> list[LoadResult]:
    """All of them changed alike."""
    return [replace(one, **changes) for one in results]  # type: ignore[arg-type]


def with_spec(one: LoadResult, **changes: object) -> LoadResult:
    """A trial that was asked for otherwise."""
    return replace(one, spec=replace(one.spec, **changes))  # type: ignore[arg-type]


def with_workload(one: LoadResult, **changes: object) -> LoadResult:
    """A trial with another workload."""
    return with_spec(one, workload=replace(one.spec.workload, **changes))  # type: ignore[arg-type]


def subscribed(one: LoadResult, count: int = 1, **changes: object) -> LoadResult:
    """With so many subscriptions alike."""
    (first,) = one.subscriptions
    subs = tuple(replace(first, name=f"sub-{number}", **changes) for number in range(count))  # type: ignore[arg-type]
    return with_workload(replace(one, subscriptions=subs), subscriptions=count)


def sustained(msgs_per_s: float, block: int = 0) -> Finding:
    """What a search found in a block."""
    figures = {"sustainable_msgs_per_s": msgs_per_s}
    return Finding(f"{block}-max", "max-throughput", KAFKA, block, True, ("found",), figures=figures)


def blocks(system: str = KAFKA, count: int = 3, scales: Sequence[float] = (), **changes: object) -> list[LoadResult]:
    """So many trials of one system at one rate."""
    scales = scales or [1.0 + number / 100 for number in range(count)]
    made = [result(spec(system, number=n + 1, block=n), scale) for n, scale in enumerate(scales)]
    return each(made, **changes)


def swept(level: LevelFinding | None = None, repeats: int = 1) -> list[LoadResult]:
    """Two systems at 1 and at 100 partitions. `level`: that of the first system at the second point."""
    made = []
    for place, partitions in enumerate(("1", "100")):
        for number, system in enumerate((KAFKA, PULSAR)):
            for block in range(repeats):
                trial = replace(spec(system, "latency", 4 * place + number, block), point={"partitions": partitions})
                trial = replace(trial, trial_id=f"{trial.trial_id}-{block}")
                scale = (1 + number) * (1 + place) * (1 + 0.01 * block)
                one = result(trial, scale)
                made.append(replace(one, level=level) if level and place and not number else one)
    return made


def finding_of(experiment: str = "max-throughput", **changes: object) -> Finding:
    """A finding that is decided."""
    made = Finding(f"0001-{experiment}-kafka", experiment, KAFKA, 0, True, ("it was so",))
    return replace(made, **changes)  # type: ignore[arg-type]


def searches_of(points: int, *, decided: bool = True, step: float = 100.0) -> tuple[Finding, ...]:
    """Rates that were found at so many points. `decided`: that of the first one."""
    return tuple(
        finding_of(
            finding_id=f"{number:04d}-max-throughput-kafka",
            figures={"sustainable_msgs_per_s": 1000.0 + step * number},
            point={"partitions": str(number)},
            decided=decided or number > 1,
        )
        for number in range(1, points + 1)
    )


def attest_run(beside: tuple[Attestation, ...] = (), **changes: object) -> StoredRun:
    """An attestation in which a level was refuted, or what else is to be found of it, `beside` other scenarios."""
    kept = attestation(**{"verdict": AttestVerdict.REFUTED, "lost": 3, **changes})
    refuted, decided = kept.verdict is AttestVerdict.REFUTED, kept.verdict is not AttestVerdict.INCONCLUSIVE
    made = attested(SPEC, outcome(cycle()))
    return run_of(
        made, findings=(finding_of("attest", refuted=refuted, decided=decided, attestations=(*beside, kept)),)
    )


def plan_of(*trials: TrialSpec, full: FullSpeed = ASSUMED, places: Places = HERE, **changes: object) -> str:
    """A plan as it is shown."""
    return shown(plan_list(ShownPlan(trials or (spec(),), 60.0, **changes), full, places))  # type: ignore[arg-type]


def live_of(*events: object, now_s: float = 9.0) -> str:
    """The live view after events, one a second."""
    state = LiveState()
    for second, event in enumerate(events):
        state = advance(state, event, float(second))  # type: ignore[arg-type]
    return shown(live_view(state, now_s))


_TWO = (spec(), spec(PULSAR, number=2))
STARTED = RunStarted("runs/x", _TWO, 300.0)
UNKNOWN_RATE = replace(spec(), msgs_per_s=None, rate_rule=RateRule("50% of lowest peak", is_share=True))
READ = reading()
LATE = LateReaders(1, 480_000, "480k messages", 0.99, 120.0)
USE = UseNow(0.5, 0.4, 0.3, 1 << 20, 2e6, 0.0, 0.1, 3e6, 0.0)


def phase(name: str, trial_id: str = _TWO[0].trial_id, limit_s: float | None = None) -> PhaseStarted:
    """A phase that begins."""
    return PhaseStarted(trial_id, name, "", limit_s)


def second_seen(**changes: object) -> SecondSeen:
    """Figures of a second."""
    return replace(SecondSeen(_TWO[0].trial_id, 20_000.0, 20.5, 7.8, 9.0, 1_234), **changes)  # type: ignore[arg-type]


def shares(workers: int = 3, **changes: object) -> str:
    """What each load generator has."""
    workload = replace(Workload(), **changes)  # type: ignore[arg-type]
    return "\n".join(share_words([replace(spec(), workload=workload)], workers))


def tilt(severity: Severity = Severity.UNEQUAL, stage: Stage = Stage.WANTED) -> Tilt:
    """Something that differs."""
    return Tilt("acks", severity, stage, (KAFKA,), "acks differ", "one waits", "unknown", "nobody", "set acks")


def limited(resource: Resource, *others: str, subject: str = "") -> Limiting:
    """What limited a trial."""
    return Limiting(resource, subject, 0.97, "it ran 97% of the time", tuple(map(NearLimit.from_text, others)))


THREAD = "client CPU worker (97 %): thread load-0 of worker ran 97% of the time"


def account(**changes: object) -> HostAccount:
    """Who used two CPUs: others half of one."""
    made = HostAccount("", 2, 1.9, 0.8, 0.4, 0.0, 0.1, 0.0, 0.5, 0.0, 0.0)
    return replace(made, **changes)  # type: ignore[arg-type]


def disk_of(**changes: object) -> RunCeilings:
    """Ceilings of a run whose disk is another one."""
    return machine(disks=(replace(ceilings().ceilings.disks[0], **changes),))  # type: ignore[arg-type]


def machine(**changes: object) -> RunCeilings:
    """Ceilings of a run, with something of the machine otherwise."""
    usual = ceilings()
    return replace(usual, ceilings=replace(usual.ceilings, **changes))  # type: ignore[arg-type]


SEEN_BYTES = Seen({"254:0": 2e7}, {"254:0": 1e6}, {}, 4e7)
SEEN_ALL = replace(SEEN_BYTES, flushes_per_s={"254:0": 300.0})


def joined(head: bool, open_because: str = "") -> str:
    """`fleet head`, or `fleet join`."""
    ports = ("6379", "10002-10999")
    of_host = Joined("10.0.0.2", "10.0.0.1:6379", "server", "/log", "/token", ports, open_because)
    return shown(joined_report(of_host, "tidegauge fleet join 10.0.0.1:6379" if head else ""))


FLEET = tuple(FleetHost(f"10.0.0.{n}", role, f"node-{n}") for n, role in ((1, "server"), (2, "load")))


def checked(**changes: object) -> str:
    """`fleet check`."""
    made = FleetCheck(
        FLEET,
        disks={FLEET[0].address: DiskState(5e8, 800.0, 2.0)},
        links=(NetworkPath(FLEET[0].address, FLEET[1].address, 40.0, 60.0, 1e9, (-1e3, 1e3)),),
        seconds=12.0,
    )
    return shown(check_report(replace(made, **changes)))  # type: ignore[arg-type]


_FACTS = HostFacts("host", "Linux 6.1 #1", "Debian 12", "Xeon", 2, "", 24 << 30, 0, "tsc", "madvise")
_CLOCK = ClockQuality("tsc", ("tsc",), True, 1.0, 1, 20, 50.0, ())
_CALIBRATION = Calibration("2026-11-21T03:20:00+00:00", "boot/2", "code", 1024, Pace(1, 600_000.0, 1.6), None, 2)
_GOOD = Advice("swap", "none", True, "a swapped page costs milliseconds")
_BAD = Advice("open files", "1,024 a process", False, "servers fail at the limit", "ulimit -Hn 100000")
_ROOT = Ability("root", False, "this is user 1000", "the rest", "it is refused", "Run it as root.")
_LOOP = Ability("loop disk", False, "needs root", "a disk of its own", "it is left out", "")


def diagnosed(
    of_run: RunCeilings | None = None,
    advice: Sequence[Advice] = (_GOOD,),
    abilities: Sequence[Ability] = (),
    **changes: object,
) -> str:
    """`doctor`."""
    measured = None if of_run is None else of_run.ceilings
    made = Diagnosis(_FACTS, _CLOCK, measured, tuple(advice), tuple(abilities), _CALIBRATION)
    return shown(doctor_report(replace(made, **changes)))  # type: ignore[arg-type]


def merged(base: Path, count: int) -> str:
    """What whole distributions show of so many trials alike, whose files are there."""
    run = with_seconds(base, blocks_of(count), seconds=40)
    return shown(*distributions.parts(run, RunFacts(run).within))


def with_within(base: Path, *results: LoadResult) -> str:
    """The answer of a run whose seconds are there."""
    return answers(with_seconds(base, results))


def scheduled(*rates: float) -> LoadSpec:
    """A load that takes steps."""
    steps = tuple(RatePhase(rate, rate, 6.0, place) for place, rate in enumerate(rates))
    names = tuple(f"step {place}" for place, _ in enumerate(rates, 1))
    return replace(spec(), schedule=RateSchedule(steps, names), rate_rule=RateRule("steps"), msgs_per_s=rates[0])


_DURING = RecordResult("during", 30.0, 20_000.0, 20_000.0, 600_000, 0, latency(), latency(), latency(0.1), latency(1.3))


def late_pair(subscriptions: int, late: int = 1) -> list[LoadResult]:
    """Loads with so many subscriptions, of which the last read late."""
    return [with_spec(subscribed(one, subscriptions), late=replace(LATE, subscriptions=late)) for one in pair()]


def on_hosts(bounds: bool = False, **changes: object) -> LoadResult:
    """Three load generators on several hosts."""
    one = several(clocks=(ClockBound(1, 2, -1000.0, 1000.0),))
    (sub,) = one.subscriptions
    low, high = (latency(0.9), latency(1.1)) if bounds else (None, None)
    sub = replace(sub, end_to_end_low=low, end_to_end_high=high, **changes)  # type: ignore[arg-type]
    return replace(one, subscriptions=(sub,))


def warned(kind: ReasonKind, text: str) -> str:
    """One of two trials is warned."""
    return said(run_of(*pair(warnings=reasons_of(text, kind=kind))))


def spoilt(**changes: object) -> StoredRun:
    """One of two trials is INVALID."""
    reasons = reasons_of("no message of the measured window was acknowledged", kind=ReasonKind.NO_MESSAGE)
    return run_of(*pair(**{"validity": Validity.INVALID, "reasons": reasons, **changes}))


def alike_level(**changes: object) -> StoredRun:
    """A level that all systems give, with something beside."""
    kept = LevelFinding(3, ("flush.messages=1",))
    return run_of(*each(pair(), level=replace(kept, **changes)))  # type: ignore[arg-type]


_SYNCS = SyncFinding(Agreement.AGREES, "10 of 10 acknowledgements came after an fdatasync", 10, 10, 1)
_WEAKER = LevelFinding(4, ("journalSyncData=false",), ("journalSyncData is false, not true",))
_CHANGED = LevelFinding(
    None,
    ("x",),
    undecided=("level 3 until then, level 4 after",),
    changes=(SettingChange("topic t", "flush.messages", "1", "9"),),
)
_UNKNOWN = LevelFinding(None, ("no right to read",))
_AS_FOUND = LevelChoice(4, as_found=True)
_QUOTA = Disturbance(Disturbed.QUOTA, Harm.DOUBTFUL, "the load generator was held back", "raise or remove the quota")
_NOTED = Disturbance(Disturbed.CPU, Harm.NOTED, "other programs took 0.20 of 2 CPUs", "end them")

Scene = Callable[[Path], str]
_RUNS: Mapping[str, Callable[[], StoredRun]] = {
    "two trials": lambda: run_of(*pair()),
    "one trial": lambda: run_of(result()),
    "one trial aborted": lambda: run_of(result(aborted="response_ms_p99 > 100")),
    "two peaks": lambda: run_of(result(peak(KAFKA)), result(peak(PULSAR, 2), 2.0)),
    "one trial short of CPU": lambda: run_of(result(warnings=WAITED)),
    "both trials short of CPU": lambda: run_of(*each(pair(), warnings=WAITED)),
    "nothing to act on": lambda: run_of(*pair(warnings=reasons_of("a remark"))),
    "no reason recorded": lambda: run_of(*pair(validity=Validity.INVALID, reasons=())),
    "doubtful": lambda: run_of(*pair(validity=Validity.DOUBTFUL, reasons=reasons_of("late"))),
    "invalid": spoilt,
    "both trials invalid": lambda: run_of(*each(pair(), validity=Validity.INVALID, reasons=reasons_of("late"))),
    "one trial disturbed": lambda: run_of(*pair(disturbances=(_NOTED,))),
    "one trial disturbed and not judged": lambda: run_of(*pair(disturbances=(replace(_NOTED, excused=Harm.INVALID),))),
    "both trials disturbed": lambda: run_of(*each(pair(), disturbances=(_NOTED,))),
    "a run of one's own warned of them": lambda: run_of(
        *pair(warnings=reasons_of("not steady while measured: the rate was falling", kind=ReasonKind.UNSTEADY)),
        campaign_path="own.yaml",
    ),
    "invalid and not kept up": lambda: spoilt(warnings=NOT_KEPT_UP),
    "threshold of another version": lambda: run_of(*pair(), thresholds=("nothing known < 5",)),
    "refuted by unsynced pages": lambda: attest_run(file_system=FileSystem.FUSE),
    "invalid for its own lag": lambda: spoilt(
        reasons=(
            Reason(
                ReasonKind.OWN_LAG,
                "the load generator itself was late: its own lag at p99 is 20 ms",
                "give it more CPU, or offer a lower rate",
            ),
        )
    ),
    "invalid on a busy machine": lambda: spoilt(limiting=BUSY, accounts=(account(others=1.4),)),
    "invalid for its level on a busy machine": lambda: spoilt(
        reasons=reasons_of("the durability level is unknown", kind=ReasonKind.LEVEL),
        limiting=BUSY,
        accounts=(account(others=1.4),),
    ),
    "invalid, and threads waited": lambda: spoilt(
        warnings=reasons_of("load threads waited for a CPU for 0.3 s in each second", kind=ReasonKind.CPU_WAIT)
    ),
    "invalid, busy by itself": lambda: spoilt(limiting=BUSY, accounts=(account(others=0.0),)),
    "invalid in a closed loop, busy by itself": lambda: run_of(
        result(
            peak(KAFKA),
            validity=Validity.INVALID,
            reasons=reasons_of("no message of the measured window was acknowledged", kind=ReasonKind.NO_MESSAGE),
            limiting=BUSY,
            accounts=(account(others=0.0),),
        )
    ),
    "invalid, the other was busy": lambda: run_of(
        *each(pair()[:1], limiting=BUSY),
        *each(pair()[1:], validity=Validity.INVALID, reasons=reasons_of("nothing came")),
    ),
    "threshold missed": lambda: run_of(*pair(), thresholds=("lost > 5",)),
    "threshold met": lambda: run_of(*pair(), thresholds=("lost == 0",)),
    "threshold between repeats": lambda: run_of(*blocks(scales=(1.0, 1.6)), thresholds=("response_ms_p99 < 10",)),
    "threshold on what is not known": lambda: run_of(subscribed(result(), backlog=5), thresholds=("lost == 0",)),
    "threshold within the steps of a search": lambda: run_of(
        *pair(), findings=(sustained(50_000.0), sustained(50_100.0, 1)), thresholds=("sustainable_msgs_per_s > 49000",)
    ),
    "threshold on what never came in one block": lambda: run_of(
        *pair(),
        findings=(sustained(50_000.0), replace(sustained(50_100.0, 1), figures={})),
        thresholds=("sustainable_msgs_per_s > 40000",),
    ),
    "threshold on an interval": lambda: run_of(*blocks(), thresholds=("response_ms_p99 < 100",)),
    "lost": lambda: run_of(*[subscribed(one, lost=3, backlog=3) for one in pair()]),
    "damaged": lambda: run_of(*[subscribed(one, corrupt=3) for one in pair()]),
    "lost and damaged": lambda: run_of(*[subscribed(one, lost=3, backlog=3, corrupt=2) for one in pair()]),
    "damaged on servers of others": lambda: run_of(
        *[subscribed(replace(one, spec=replace(one.spec, attached=True)), corrupt=3) for one in pair()]
    ),
    "one lost, the other damaged": lambda: run_of(
        subscribed(pair()[0], lost=3, backlog=3), subscribed(pair()[1], corrupt=2)
    ),
    "not all read": lambda: run_of(*[subscribed(one, backlog=5) for one in pair()]),
    "interrupted": lambda: ended("interrupted", *pair(), trial="interrupted"),
    "interrupted, may go on": lambda: ended("interrupted", *pair(), trial="interrupted", meaning={}),
    "failed": lambda: ended("failed", *pair(), reason="1 trial failed: kafka-1 ended"),
    "failed, a trial interrupted": lambda: ended("failed", *pair(), trial="interrupted", reason="the disk is full"),
    "failed, settings refused": refused_settings,
    "attestation interrupted": lambda: replace(
        ended("interrupted", without=SPEC, trial="interrupted", meaning={}),
        trials=(StoredTrial(_RUN, SPEC.trial_id, "interrupted", "", SPEC, None, "", cycles=outcome(cycle())),),
    ),
    "nothing finished": lambda: ended("failed"),
    "nothing began": lambda: run_of(status="failed", reason="There is no version 9.9 of Kafka."),
    "refuted": attest_run,
    "refuted by crashes": lambda: attest_run(means=Means.CRASH),
    "refuted by damage": lambda: attest_run(lost=0, corrupt=2, losing_cuts=1),
    "refuted by damage beside a loss that is allowed": lambda: attest_run(
        beside=(attestation(verdict=AttestVerdict.REFUTED, lost=9, losing_cuts=3, promised=False),),
        lost=0,
        corrupt=2,
        losing_cuts=1,
    ),
    "refuted by a loss and damage": lambda: attest_run(losing_cuts=2, damaging_cuts=1),
    "not refuted": lambda: attest_run(verdict=AttestVerdict.NOT_REFUTED, lost=0),
    "left open by crashes": lambda: attest_run(verdict=AttestVerdict.INCONCLUSIVE, lost=0, means=Means.CRASH),
    "left open by cuts": lambda: attest_run(verdict=AttestVerdict.INCONCLUSIVE, lost=0),
    "left open without a crash": lambda: attest_run(
        verdict=AttestVerdict.INCONCLUSIVE, lost=0, cuts=0, means=Means.CRASH
    ),
    "found": lambda: run_of(*pair(), findings=(finding_of(),)),
    "not decided": lambda: run_of(*pair(), findings=(finding_of(decided=False),)),
    "faulted": lambda: run_of(faulted(KAFKA, 1, PAUSED)),
    "faulted, loss of one of several": lambda: run_of(
        faulted(KAFKA, 1, replace(PAUSED, lost=None), replace(PAUSED, fault=KILL, lost=None))
    ),
    "levels differ": lambda: run_of(*pair(level=_WEAKER)),
    "levels unknown": lambda: run_of(*each(pair(), level=_UNKNOWN)),
    "level known of one": lambda: run_of(*pair(level=_UNKNOWN)),
    "settings changed": lambda: run_of(*each(pair(), level=_CHANGED)),
    "level not as asked": lambda: run_of(*[with_spec(one, choice=LevelChoice(4)) for one in pair()]),
    "level of another version": lambda: run_of(
        *[replace(with_spec(one, choice=LevelChoice(9)), level=LevelFinding(9, ("x",))) for one in pair()]
    ),
    "level seen in system calls": lambda: alike_level(syncs=_SYNCS),
    "system calls contradict": lambda: alike_level(
        syncs=replace(_SYNCS, agreement=Agreement.CONTRADICTS, words="none was seen")
    ),
    "level with a caveat": lambda: alike_level(caveats=("topic t: unclean.leader.election.enable=true",)),
    "level claimed only": lambda: alike_level(attested=EarlierCuts.from_text("claimed only")),
    "level lost as it allows": lambda: alike_level(
        attested=EarlierCuts.from_text("claimed only; as the level allows, 3 lost in 20 cuts (all)")
    ),
    "level attested": lambda: alike_level(attested=EarlierCuts.from_text("attested: 0 lost in 20 cuts (all)")),
    "level refuted before": lambda: alike_level(attested=EarlierCuts.from_text("REFUTED: 3 lost in 20 cuts (all)")),
    "levels of a sweep": lambda: run_of(
        *[
            replace(
                with_spec(one, choice=LevelChoice(int(level)), point={"durability": level}, trial_id=f"{level}-{n}"),
                level=LevelFinding(int(level), ("x",)),
            )
            for level in ("3", "4")
            for n, one in enumerate(pair())
        ]
    ),
    "unknown at one point": lambda: run_of(*swept(_UNKNOWN)[:1], *swept(_UNKNOWN)[2:3]),
    "level not as asked at one point": lambda: run_of(*swept(_WEAKER)[:1], *swept(_WEAKER)[2:3]),
    "three experiments more": lambda: run_of(*[result(spec(KAFKA, f"load-{n}", n)) for n in range(1, 6)]),
    "few samples": lambda: run_of(*pair(response=latency(1.0, 500))),
    "attached": lambda: run_of(*[with_spec(replace(one, server_cpu_s=None), attached=True) for one in pair()]),
    "consumers that process": lambda: run_of(
        *[with_workload(one, processing=Processing(ProcessingKind.EXPONENTIAL, 0.02)) for one in pair()]
    ),
    "consumers with a rate": lambda: run_of(*[with_workload(one, consumer_msgs_per_s_max=500.0) for one in pair()]),
    "keys by Zipf's law": lambda: run_of(
        *[with_workload(one, keys=Keys.ZIPF, distinct_keys=1000, zipf_exponent=0.99) for one in pair()]
    ),
    "keys from a file": lambda: run_of(
        *[
            with_workload(one, keys=Keys.FROM_FILE, distinct_keys=3, key_file=KeyFile("/keys", 4, 3, 0.5))
            for one in pair()
        ]
    ),
    "keys at random": lambda: run_of(*[with_workload(one, keys=Keys.RANDOM) for one in pair()]),
    "no servers": lambda: run_of(*[with_spec(one, serverless=True) for one in pair()]),
    "no servers of one of two": lambda: run_of(pair()[0], with_spec(pair()[1], serverless=True)),
    "no servers whose CPU could be recorded": lambda: run_of(
        *[with_spec(one, serverless=True) for one in each(pair(), server_cpu_s=None)]
    ),
    "CPU not recorded": lambda: run_of(*each(pair(), server_cpu_s=None)),
    "attached, seen here": lambda: run_of(
        *[with_spec(replace(one, accounts=(account(servers=0.4),)), attached=True) for one in pair()]
    ),
    "attached, not seen here": lambda: run_of(
        *[with_spec(one, attached=True) for one in each(pair(), accounts=(account(servers=0.0),), server_cpu_s=None)]
    ),
    "attached, reporting": lambda: run_of(
        *[with_spec(one, attached=True) for one in each(pair(), accounts=(account(servers=0.0),), server_cpu_s=4.0)]
    ),
    "attached, one of two": lambda: run_of(pair()[0], with_spec(replace(pair()[1], server_cpu_s=None), attached=True)),
    "attached to a fleet": lambda: run_of(*[with_spec(one, attached=True, load_hosts=2) for one in pair()]),
    "servers apart": lambda: run_of(*[with_spec(one, apart=True) for one in pair()]),
    "on a fleet": lambda: run_of(*[with_spec(one, apart=True, load_hosts=2) for one in pair()]),
    "on a fleet, described": lambda: run_of(
        *[with_spec(one, apart=True, load_hosts=2) for one in pair()],
        environment={"host": _HOST, "hosts": _HOSTS},
    ),
    "reading": lambda: run_of(READ),
    "filling what others keep": lambda: run_of(*[with_workload(one, existing_topics=("orders",)) for one in pair()]),
    "reading of two topics": lambda: run_of(with_workload(READ, existing_topics=("orders", "paid"))),
    "reading by two": lambda: run_of(replace(READ, subscriptions=READ.subscriptions * 2)),
    "reading what was ours": lambda: run_of(
        replace(READ, subscriptions=tuple(replace(sub, verified=sub.received) for sub in READ.subscriptions))
    ),
    "reading what is damaged": lambda: run_of(
        replace(READ, subscriptions=tuple(replace(sub, corrupt=3) for sub in READ.subscriptions))
    ),
    "reading what was ours in part": lambda: run_of(
        replace(READ, subscriptions=tuple(replace(sub, verified=9) for sub in READ.subscriptions))
    ),
    "two subscriptions": lambda: run_of(*[subscribed(one, 2) for one in pair()]),
    "one of two reads late": lambda: run_of(*late_pair(2)),
    "one of two reads late, phase by phase": lambda: run_of(*each(late_pair(2), records=(_DURING,))),
    "all read late": lambda: run_of(*late_pair(1)),
    "nobody reads": lambda: run_of(*[with_workload(replace(one, subscriptions=()), subscriptions=0) for one in pair()]),
    "shared subscription": lambda: run_of(
        *[with_workload(one, subscription_type=SubscriptionType.SHARED) for one in pair()]
    ),
    "key-shared subscription": lambda: run_of(
        *[with_workload(one, subscription_type=SubscriptionType.KEY_SHARED) for one in pair()]
    ),
    "own settings": lambda: run_of(
        *[with_workload(one, producer_overrides={"kafka": {"linger.ms": "5"}}) for one in pair()]
    ),
    "scheduled": lambda: run_of(result(scheduled(10_000.0, 40_000.0))),
    "several load generators": lambda: run_of(several()),
    "instants not known": lambda: run_of(
        several(workers=tuple(worker_result(n, started_ms=None, stopped_ms=None) for n in (1, 2, 3)))
    ),
    "many load generators": lambda: run_of(several(count=40)),
    "on several hosts": lambda: run_of(on_hosts()),
    "on several hosts, with bounds": lambda: run_of(on_hosts(bounds=True)),
    "on several hosts, clocks not known": lambda: run_of(on_hosts(end_to_end=replace(latency(), p99_ms=None))),
    "repeated": lambda: run_of(*repeated({KAFKA: (1.0, 1.01, 0.99), PULSAR: (1.2, 0.9, 1.4)})),
    "repeated, one side invalid": lambda: run_of(
        *repeated({KAFKA: (1.0, 1.01, 0.99)}),
        *each(repeated({PULSAR: (1.2, 0.9)}), validity=Validity.INVALID, reasons=reasons_of("late")),
    ),
    "two sessions": lambda: run_of(
        *pair(),
        sessions=tuple(RunSession(n, f"2026-11-2{n}T03:24:36+00:00", status="finished") for n in (1, 2)),
        environments=({"java": "21"}, {"java": "25"}),
    ),
    "two sessions alike": lambda: run_of(
        *pair(),
        sessions=tuple(RunSession(n, f"2026-11-2{n}T03:24:36+00:00", status="finished") for n in (1, 2)),
        environments=({"java": "25"}, {"java": "25"}),
    ),
    "unequal, allowed": lambda: run_of(*pair(), terms=Terms((tilt(),), (), True)),
    "unequal, seen in force": lambda: run_of(*pair(), terms=Terms((tilt(stage=Stage.IN_FORCE),))),
    "advised": lambda: run_of(*pair(), terms=Terms((), (tilt(Severity.ADVICE),))),
}


def usage_of(*results: LoadResult, **changes: object) -> StoredRun:
    """A run whose ceilings are known."""
    return run_of(*results, **{"ceilings": ceilings(), **changes})


_USAGE: Mapping[str, Callable[[], StoredRun]] = {
    "near a limit": lambda: run_of(*pair(limiting=limited(Resource.OFFERED, THREAD))),
    "near no limit": lambda: run_of(*pair(limiting=limited(Resource.OFFERED))),
    "limit not identified": lambda: run_of(*pair(limiting=limited(Resource.UNKNOWN))),
    "limit identified": lambda: run_of(*pair(limiting=limited(Resource.DISK, subject="vda"))),
    "near a limit in a repeat": lambda: run_of(*blocks()[:2], *blocks(limiting=limited(Resource.OFFERED, THREAD))[2:]),
    "near a limit in the middle": lambda: run_of(
        blocks()[0], blocks(limiting=limited(Resource.OFFERED, THREAD))[1], blocks()[2]
    ),
    "others ran": lambda: run_of(*pair(limiting=limited(Resource.DISK), accounts=(account(),))),
    "others ran, CPU stolen": lambda: run_of(*pair(limiting=limited(Resource.DISK), accounts=(account(stolen=0.2),))),
    "others known of one of two": lambda: run_of(
        *(
            result(trial, limiting=limited(Resource.DISK), accounts=(account(others=others),))
            for trial, others in ((spec(), 0.05), (spec(PULSAR, number=2), None))
        )
    ),
    "others not known": lambda: run_of(*pair(limiting=limited(Resource.DISK), accounts=(account(others=None),))),
    "ceilings": lambda: usage_of(*pair()),
    "ceilings and a price": lambda: usage_of(*pair(), price=Price(0.34, "USD")),
    "bytes seen": lambda: usage_of(*each(pair(), seen=SEEN_BYTES)),
    "all seen": lambda: usage_of(*each(pair(), seen=SEEN_ALL)),
    "ceilings of a fleet": lambda: usage_of(*[with_spec(one, apart=True, load_hosts=2) for one in pair()]),
    "ceilings measured now": lambda: usage_of(*pair(), ceilings=replace(ceilings(), reused=False)),
    "doubtful ceiling of a disk": lambda: usage_of(*pair(), ceilings=disk_of(doubts=("the bandwidth fell",))),
    "doubtful ceilings": lambda: usage_of(*pair(), ceilings=machine(load_average=7.5)),
    "no loopback": lambda: usage_of(*pair(), ceilings=machine(loopback=None)),
    "no small syncs alone": lambda: usage_of(
        *pair(), ceilings=disk_of(syncs=(replace(ceilings().ceilings.disks[0].syncs[0], call="fsync"),))
    ),
    "25 rows": lambda: usage_of(*[result(spec(KAFKA, f"load-{n}", n)) for n in range(25)]),
    "24 rows": lambda: usage_of(*[result(spec(KAFKA, f"load-{n}", n)) for n in range(24)]),
}

_ANSWERS: Mapping[str, Callable[[], StoredRun]] = {
    "peaks": _RUNS["two peaks"],
    "latencies": _RUNS["two trials"],
    "three points": lambda: run_of(*pair(), findings=searches_of(3)),
    "three points, one open": lambda: run_of(*pair(), findings=searches_of(3, decided=False)),
    "three points alike": lambda: run_of(*pair(), findings=searches_of(3, step=0.0)),
    "two points": lambda: run_of(*pair(), findings=searches_of(2)),
    "latency alone": _RUNS["one trial"],
    "latencies, one INVALID": _RUNS["invalid"],
    "latencies of two levels and an INVALID one": lambda: run_of(
        result(),
        result(spec(PULSAR, number=2), level=LevelFinding(4, ("journalSyncData=false",))),
        result(spec(RABBITMQ, number=3), validity=Validity.INVALID, reasons=reasons_of("late")),
    ),
    "latencies, one DOUBTFUL": _RUNS["doubtful"],
    "latencies, all INVALID": lambda: run_of(*each(pair(), validity=Validity.INVALID, reasons=reasons_of("late"))),
    "not kept up": lambda: run_of(
        *pair(
            warnings=reasons_of("the system did not keep up: 8,000 of 20,000 msg/s", kind=ReasonKind.NOT_KEPT_UP),
            msgs_per_s=8000.0,
        )
    ),
    "latencies at two levels": _RUNS["levels differ"],
    "latencies at two levels, allowed": lambda: run_of(*pair(level=_WEAKER), terms=Terms((tilt(),), (), True)),
    "one of two has a result": lambda: ended("failed", pair()[0], without=pair()[1].spec),
    "one repeat each left": lambda: run_of(
        *[
            replace(one, validity=Validity.INVALID, reasons=reasons_of("late")) if one.spec.block else one
            for one in repeated({KAFKA: (1.0, 1.0), PULSAR: (2.0, 2.0)})
        ]
    ),
    "repeats": _RUNS["repeated"],
    "repeats of one": lambda: run_of(*blocks()),
    "search": lambda: run_of(
        *pair(),
        findings=tuple(finding_of(system=name, figures={"sustainable_msgs_per_s": 5e4}) for name in (KAFKA, PULSAR)),
    ),
    "search not decided": lambda: run_of(
        *pair(), findings=(finding_of(decided=False, figures={"sustainable_msgs_per_s": 5e4}),)
    ),
    "cuts": attest_run,
    "points, one INVALID": lambda: run_of(
        replace(swept()[0], validity=Validity.INVALID, reasons=reasons_of("late")), *swept()[1:]
    ),
    "points, one DOUBTFUL": lambda: run_of(
        replace(swept()[0], validity=Validity.DOUBTFUL, reasons=reasons_of("late")), *swept()[1:]
    ),
    "points, levels differ at one": lambda: run_of(*swept(_WEAKER)),
    "planned at another point": lambda: run_of(
        *swept()[:1],
        *swept()[2:],
        findings=tuple(
            finding_of("latency", system=one.spec.system, point=one.spec.point, figures={"sustainable_msgs_per_s": 5e4})
            for one in (swept()[0], *swept()[2:])
        ),
    ),
    "points": lambda: run_of(*swept()),
    "points, repeated": lambda: run_of(*swept(repeats=3)),
    "points, one block that both have": lambda: run_of(
        *[
            replace(one, validity=Validity.INVALID, reasons=reasons_of("late"))
            if one.spec.block and one.spec.system == KAFKA
            else one
            for one in swept(repeats=2)
        ]
    ),
}

_READY = ReadyCampaign("quick", "a first look", "quick.yaml", ("kafka",), 2, 120.0)
_COUNTED = replace(UNKNOWN_RATE, messages=10**8, measure_s=60.0, measure_s_max=3600.0)
_PLANS: Mapping[str, Scene] = {
    "ready campaigns": lambda _: shown(campaigns_list([_READY], "tidegauge")),
    "plan": lambda _: plan_of(),
    "plan of faults": lambda _: plan_of(faulted(KAFKA, 1, PAUSED).spec),
    "plan of 61 rows": lambda _: plan_of(*[spec(number=n) for n in range(61)]),
    "plan of 60 rows": lambda _: plan_of(*[spec(number=n) for n in range(60)]),
    "plan of a search": lambda _: plan_of(
        *[replace(spec(), trial_id=f"0001-step-{n}", exploratory=True) for n in range(8)]
    ),
    "plan of 5 workloads": lambda _: plan_of(*[with_topics(n) for n in range(1, 6)]),
    "plan of 4 workloads": lambda _: plan_of(*[with_topics(n) for n in range(1, 5)]),
    "plan of 5 windows": lambda _: plan_of(*[replace(spec(number=n), msgs_per_s=1000.0 * n) for n in range(1, 6)]),
    "plan of 4 windows": lambda _: plan_of(*[replace(spec(number=n), msgs_per_s=1000.0 * n) for n in range(1, 5)]),
    "plan with thresholds": lambda _: plan_of(thresholds=("lost == 0",)),
    "plan with retries": lambda _: plan_of(retry=2),
    "plan of 3 load generators": lambda _: plan_of(memory=MemoryPlan((), None, 3)),
    "plan that looks for a number of load generators": lambda _: plan_of(
        spec(), replace(spec(number=2), generators=5), memory=MemoryPlan((), None, 3)
    ),
    "plan of 1 load generator": lambda _: plan_of(memory=MemoryPlan((), None, 1)),
    "plan of what needs memory": lambda _: plan_of(memory=MemoryPlan((need(),), None, 1)),
    "plan of a sweep": lambda _: plan_of(*[one.spec for one in swept()]),
    "plan at an unknown rate": lambda _: plan_of(UNKNOWN_RATE),
    "plan at an unknown rate, no rule": lambda _: plan_of(replace(UNKNOWN_RATE, rate_rule=RateRule())),
    "plan at an unknown rate, disk measured": lambda _: plan_of(UNKNOWN_RATE, full=FullSpeed(5e8)),
    "plan of late readers": lambda _: plan_of(replace(spec(), late=LATE)),
    "plan of late readers at an unknown rate": lambda _: plan_of(replace(UNKNOWN_RATE, late=LATE)),
    "plan of messages at an unknown rate": lambda _: plan_of(_COUNTED),
    "plan of messages and late readers at unknown rates": lambda _: plan_of(
        _COUNTED, replace(UNKNOWN_RATE, late=LATE, trial_id="0002-catch-up-kafka")
    ),
    "plan of messages, bounded as expected": lambda _: plan_of(
        replace(UNKNOWN_RATE, messages=10**8, measure_s=60.0, measure_s_max=60.0)
    ),
    "plan of reading": lambda _: plan_of(READ.spec),
    "plan of attached servers": lambda _: plan_of(replace(spec(), attached=True)),
    "plan of shared servers": lambda _: plan_of(replace(spec(), servers=ServerReuse.SHARED)),
    "plan of steps": lambda _: plan_of(scheduled(10_000.0, 40_000.0)),
    "plan of one step": lambda _: plan_of(scheduled(10_000.0)),
    "plan on one disk": lambda base: plan_of(places=((existing(base / "a"),), ())),
    "plan on two disks": lambda base: plan_of(places=((existing(base / "a"), existing(base / "b")), ())),
    "plan with a disk for journals": lambda base: plan_of(places=((existing(base / "a"),), (existing(base / "b"),))),
    "plan of too much": lambda base: plan_of(replace(spec(), msgs_per_s=1e9), places=((existing(base / "a"),), ())),
    "plan that is allowed": lambda _: plan_of(terms=Terms((tilt(),), (), True)),
    "plan that is refused": lambda _: plan_of(terms=Terms((tilt(),))),
    "plan that is advised": lambda _: plan_of(terms=Terms((), (tilt(Severity.ADVICE),))),
    "shares that are alike": lambda _: shares(topics=3),
    "shares that differ": lambda _: shares(topics=1),
    "shares of existing topics": lambda _: shares(topics=3, existing_topics=("a", "b", "c")),
    "shares in a closed loop": lambda _: shares(topics=3, arrival=Arrival.CLOSED_LOOP),
}


def with_topics(count: int) -> LoadSpec:
    """A load on so many topics."""
    made = spec(number=count)
    return replace(made, experiment=f"load-{count}", workload=replace(made.workload, topics=count))


def existing(directory: Path) -> Path:
    """The directory, which is there."""
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def need() -> MemoryNeed:
    """What trials of a system need."""
    return MemoryNeed(KAFKA, (), WorkerMemory(512, 256))


_LIVE: Mapping[str, Scene] = {
    "live, fetching first": lambda _: live_of(STARTED, phase("fetch", "")),
    "live, before anything is known": lambda _: live_of(phase("fetch", "")),
    "live, fetching between": lambda _: live_of(STARTED, TrialEnded(_TWO[0], result(), ""), phase("fetch", "")),
    "live, two failed alike": lambda _: live_of(STARTED, *(TrialEnded(trial, None, "no broker") for trial in _TWO)),
    "live, two failed": lambda _: live_of(STARTED, *(TrialEnded(trial, None, trial.system) for trial in _TWO)),
    "live, starting": lambda _: live_of(STARTED, phase("start")),
    "live, measuring": lambda _: live_of(STARTED, phase("measure", limit_s=30.0), second_seen()),
    "live, use is seen": lambda _: live_of(STARTED, phase("measure", limit_s=30.0), second_seen(use=USE)),
    "live, three load generators": lambda _: live_of(
        STARTED, phase("measure", limit_s=30.0), second_seen(workers=tuple(map(worker_seen, (1, 2, 3))))
    ),
    "log of a beginning": lambda _: "\n".join(plain_lines(LiveState(), STARTED, 0.0)),
    "log of a beginning with a number of messages": lambda _: "\n".join(
        plain_lines(LiveState(), RunStarted("runs/x", (_COUNTED,), 300.0), 0.0)
    ),
    "log of a phase": lambda _: "\n".join(plain_lines(LiveState(), phase("start"), 0.0)),
    "a load has ended": lambda _: ended_words(TrialEnded(_TWO[0], result(), ""), LiveState()),
    "reading has ended": lambda _: ended_words(TrialEnded(READ.spec, READ, ""), LiveState()),
}

_SENDING = Sending(131072.0, 1.0, "none", 5000.0)

_OTHERS: Mapping[str, Scene] = {
    "warned of CPU": lambda _: warned(ReasonKind.CPU_WAIT, "load threads waited for a CPU for 0.34 s in each second"),
    "warned of CPU, busy by itself": lambda _: said(
        run_of(
            *pair(
                warnings=WAITED,
                accounts=(account(others=0.05),),
            )
        )
    ),
    "warned of CPU, beside others": lambda _: said(
        run_of(
            *pair(
                warnings=WAITED,
                accounts=(account(others=1.4),),
            )
        )
    ),
    "warned of CPU, under a quota": lambda _: said(
        run_of(
            *pair(
                warnings=WAITED,
                accounts=(account(others=0.05),),
                disturbances=(_QUOTA,),
            )
        )
    ),
    "warned of CPU, under a quota and beside others": lambda _: said(
        run_of(
            *pair(
                warnings=WAITED,
                accounts=(account(others=1.4),),
                disturbances=(_QUOTA, replace(_NOTED, harm=Harm.DOUBTFUL)),
            )
        )
    ),
    "warned of the disk": lambda _: warned(
        ReasonKind.DISK_SLOW, "the disk was slow when the trial began: an fsync took 9 ms on average"
    ),
    "warned of the rate": lambda _: said(run_of(*pair(warnings=NOT_KEPT_UP))),
    "warned of waiting too little": lambda _: warned(
        ReasonKind.GENERATOR_FIRST, "producers waited for the system 3% of the time only"
    ),
    "warned of the generator's limit": lambda _: warned(
        ReasonKind.NEAR_GENERATOR, "the rate was near the load generator's own limit: 80%"
    ),
    "warned of unsteady figures": lambda _: warned(
        ReasonKind.UNSTEADY, "not steady while measured: the rate was falling"
    ),
    "a run of OMB's files warned of them": lambda base: said(
        replace(_RUNS["a run of one's own warned of them"](), campaign_path="omb/w.yaml", path=of_omb(base))
    ),
    "a run of OMB's files": lambda base: said(
        replace(ended("failed", *pair()), campaign_path="omb/w.yaml", path=of_omb(base))
    ),
    "a run with its report": lambda base: said(replace(_RUNS["three experiments more"](), path=with_report(base))),
    "clients changed": lambda base: said(with_client_settings(base, False)),
    "clients by default": lambda base: said(with_client_settings(base, True)),
    "runs listed": lambda _: shown(runs_list([run_of(*pair())])),
    "alone, with its seconds": lambda base: with_within(base, result()),
    "two, with their seconds": lambda base: with_within(base, result(), result(spec(PULSAR, number=2))),
    "three trials merged": lambda base: merged(base, 3),
    "one trial by its seconds": lambda base: merged(base, 1),
    "level as another cluster decides": lambda _: levels_of(_AS_FOUND),
    "level other than asked": lambda _: levels_of(LevelChoice(4)),
    "batches": lambda _: sending_words(_SENDING, 1024),
    "batches without delay": lambda _: sending_words(replace(_SENDING, batch_delay_ms=0.0), 1024),
    "batches of one": lambda _: sending_words(replace(_SENDING, batch_bytes=512.0), 1024),
    "batches of one mean size": lambda _: said(
        run_of(
            with_workload(
                result(sending=replace(_SENDING, batch_bytes=4096.0)),
                payload=Payload(5170, sizes=MessageSizes(SizeKind.MIXED, (100, 10_240), (0.5, 0.5))),
            )
        )
    ),
    "fleet head": lambda _: joined(True),
    "fleet join": lambda _: joined(False),
    "fleet join, open": lambda _: joined(False, "it has no address of its own"),
    "fleet status": lambda _: shown(hosts_report(FLEET)),
    "fleet check": lambda _: checked(),
    "fleet check, a clock runs free": lambda _: checked(
        states={FLEET[0].address: HostState("name", 2, 1, 1, "25", "tsc", clock_kept=False, versions={})}
    ),
    "fleet check, a disk tried briefly": lambda _: checked(disks={FLEET[0].address: DiskState(5e8, 8.0, None)}),
    "fleet check without servers": lambda _: checked(disks={}),
    "fleet check of one host": lambda _: checked(hosts=FLEET[:1], links=()),
    "fleet check of many hosts": lambda _: checked(
        links=tuple(NetworkPath("10.0.0.1", f"10.0.1.{n}", 40.0, 60.0, 1e9, None) for n in range(31))
    ),
    "fleet check with a problem": lambda _: checked(problems=("10.0.0.2: it is lost",)),
    "doctor": lambda _: diagnosed(ceilings()),
    "doctor, nothing measured": lambda _: diagnosed(),
    "doctor, no loopback": lambda _: diagnosed(machine(loopback=None)),
    "doctor, no memory": lambda _: diagnosed(machine(memory=None)),
    "doctor, no disk": lambda _: diagnosed(machine(disks=())),
    "doctor, under load": lambda _: diagnosed(machine(load_average=7.5)),
    "doctor, not calibrated": lambda _: diagnosed(ceilings(), calibration=None, calibration_problem="no Java."),
    "doctor, calibrated without CPU": lambda _: diagnosed(
        ceilings(), calibration=replace(_CALIBRATION, one=Pace(1, 6e5, 1.6, 0.4))
    ),
    "doctor, no direct I/O": lambda _: diagnosed(disk_of(direct=False, write_bytes_per_s=None, read_bytes_per_s=None)),
    "doctor, sustained": lambda _: diagnosed(disk_of(sustained_write_bytes_per_s=3e8)),
    "doctor, not sustained": lambda _: diagnosed(disk_of(sustained_problem="no room")),
    "doctor, no syncs": lambda _: diagnosed(disk_of(syncs=())),
    "doctor, to change": lambda _: diagnosed(advice=(_GOOD, _BAD)),
    "doctor, to change by hand": lambda _: diagnosed(advice=(_GOOD, replace(_BAD, change="Use another disk."))),
    "doctor, nothing good": lambda _: diagnosed(advice=(_BAD,)),
    "doctor of an ordinary user": lambda _: diagnosed(abilities=(_ROOT, _LOOP)),
    "doctor of root": lambda _: diagnosed(abilities=(_LOOP,)),
}


def of_omb(base: Path) -> Path:
    """The directory of a run of OMB's files."""
    keep_omb_files(base, {"workload-w.yaml": "name: w\n", "driver-k.yaml": "name: k\n"})
    return base


def with_report(base: Path) -> Path:
    """The directory of a run whose report is there."""
    (existing(base) / REPORT_NAME).write_text("")
    return base


def with_client_settings(base: Path, default: bool) -> StoredRun:
    """A run of a trial whose clients' only setting is its library's own default, or not."""
    run = run_of(result())
    (trial,) = run.trials
    setting = {"scope": "producer", "name": "linger.ms", "value": "1", "is_default": default}
    content = {"client": [setting if default else {**setting, "default_value": "5"}]}
    (existing(base) / "settings.json").write_text(json.dumps(content))
    return replace(run, trials=(replace(trial, directory=base),))


def levels_of(choice: LevelChoice) -> str:
    """Details of a level 3 where another one was chosen."""
    return "\n".join(levels.details([with_spec(result(), choice=choice)]))


def _scene(make: Callable[[], StoredRun], text: Callable[[StoredRun], str]) -> Scene:
    return lambda _: text(make())


SCENES: Mapping[str, Scene] = {
    **{name: _scene(make, said) for name, make in {**_RUNS, **_USAGE}.items()},
    **{f"answer: {name}": _scene(make, answers) for name, make in _ANSWERS.items()},
    **_PLANS,
    **_LIVE,
    **_OTHERS,
}
"""What makes each; it gets a directory of its own for files."""


@cache
def text_of(scene: str, base: Path) -> str:
    """What is read in a scene."""
    return SCENES[scene](base / "".join(filter(str.isalnum, scene)))
