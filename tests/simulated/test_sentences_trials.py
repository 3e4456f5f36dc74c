"""Every sentence of a trial's run, in a simulated one in which it is true and in one in which it would be false."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from attached_scenes import CHOICE, AttachedScene, refuse
from backlog_worker import LATE, BacklogWorker, found_of
from campaign_doubles import FakeDeployment, FakeWorker, subscription, totals_of, window
from injection_scenes import Recorder, done, fault
from reader_scenes import LEVEL, NOTHING, READING, reader
from sentence_scenes import Scene, Stage, Texts, make_tests
from sentence_templates import Claim, claims_of
from trial_scenes import SPEC
from trial_scenes import Scene as Trial
from witness_scenes import Stage as Watching

from tidegauge.campaign.run import figures as run_figures
from tidegauge.campaign.run import injection, running_trial, telemetry, topics, tracing
from tidegauge.campaign.run.catch_up import _device_reads
from tidegauge.campaign.run.running_trial import _drop_page_cache
from tidegauge.campaign.run.topics import TopicLedger, delete_leftover_topics
from tidegauge.campaign.run.trial import load as trial
from tidegauge.campaign.run.trial.result import _late_warnings, read_result
from tidegauge.errors import AccessRefusedError, RunFailedError, TidegaugeError
from tidegauge.hosts.fsync import Calm, FsyncLatency
from tidegauge.hosts.locks import LockedRecord
from tidegauge.hosts.tracefs import NoTraceError
from tidegauge.model.faults import FaultKind
from tidegauge.model.level import LevelFinding
from tidegauge.model.load import SecondFigures
from tidegauge.model.trial import LoadSpec, ReadSpec
from tidegauge.model.workload import Arrival, RatePhase, RateSchedule
from tidegauge.systems.metrics import Endpoint, Metric
from tidegauge.worker.brief_worker import BriefWorkers

MODULES = [
    f"campaign/run/{name}.py"
    for name in (
        *("catch_up", "figures", "injection", "running_trial", "telemetry"),
        *(
            "topics",
            "tracing",
            "trial_nodes",
            "trial/load",
            "trial/prepare",
            "trial/read",
            "trial/result",
            "trial/run",
            "witnessing",
        ),
    )
]


def quick(stage: Stage) -> None:
    stage.patch.setattr(trial, "_IDLE_S", 0.2)
    stage.patch.setattr(tracing, "SETTLE_S", 0.0)
    stage.patch.setattr(running_trial, "ATTACHED_READY_S_MAX", 0.2)
    stage.patch.setenv("TIDEGAUGE_STATE", str(stage.path / "state"))
    stage.patch.setenv("KAFKA_PASSWORD", "hunter2-hunter2")


def made(change: Callable[[Trial, Stage], None], spec: LoadSpec | ReadSpec = SPEC) -> Scene:
    """All that a simulated trial says, whatever it comes to."""

    def scene(stage: Stage) -> Any:
        quick(stage)
        one = Trial(stage.path)
        change(one, stage)
        try:
            came_to: Any = one.run(spec)  # type: ignore[arg-type]
        except TidegaugeError as error:
            came_to = error
        return came_to, one.events, one.store.page_cache_dropped

    return scene


def on_others(change: Callable[[AttachedScene, Stage], None] = lambda _scene, _stage: None) -> Scene:
    """The same on a cluster of others."""

    def scene(stage: Stage) -> Any:
        quick(stage)
        one = AttachedScene(stage.path)
        one.prepare_worker(stage.patch)
        change(one, stage)
        try:
            came_to: Any = one.run_attached()
        except TidegaugeError as error:
            came_to = error
        return came_to, one.events, one.store.page_cache_dropped

    return scene


def nothing(_one: Trial, _stage: Stage) -> None:
    pass


def never_ready(one: Trial, stage: Stage) -> None:
    stage.patch.setattr(running_trial, "READY_S_MAX", 0.2)
    stage.patch.setattr(one.worker, "probe", refuse("connection refused"))


def wrong_password(one: Trial, stage: Stage) -> None:
    stage.patch.setattr(one.worker, "describe", refuse("wrong password"))


def refused(one: Trial, stage: Stage) -> None:
    stage.patch.setattr(one.worker, "describe", refuse("wrong password or unknown user", AccessRefusedError))


def topic_refused(one: Trial, stage: Stage) -> None:
    refused = refuse("Kafka could not create topic bench.probe: not authorized", topic_refused=True)
    stage.patch.setattr(one.worker, "probe", refused)


def with_disk(calm: bool) -> Callable[[Trial, Stage], None]:
    def change(one: Trial, stage: Stage) -> None:
        stage.patch.setattr(one.host, "calm_disk", lambda _: Calm(FsyncLatency(10, 12.0, 60.0), 0.06, 5.0, calm))

    return change


def lacking(discarded_max: int = 0) -> Callable[[Trial, Stage], None]:
    sub = subscription(backlog=3, lost=3, discarded_max=discarded_max)

    def change(one: Trial, _stage: Stage) -> None:
        one.worker.totals_script = [totals_of(window(0, 10**9, 1000), sub)]

    return change


def level(finding: LevelFinding) -> Callable[[Trial, Stage], None]:
    def change(one: Trial, _stage: Stage) -> None:
        one.system.finding = finding

    return change


def figures_without_end(one: Trial, stage: Stage) -> None:
    stage.patch.setattr(run_figures, "_END_S_MAX", 0.05)
    watch, over = one.worker.watch, threading.Event()

    def watched() -> Iterator[SecondFigures]:
        yield from watch()
        over.wait(2)

    stage.patch.setattr(one.worker, "watch", watched)


def dying_worker(one: Trial, _stage: Stage) -> None:
    one.worker.dies_after_seconds = 3


def without_agent(one: Trial, stage: Stage) -> None:
    def samples(_after: int) -> Any:
        raise RunFailedError("The agent is gone.")

    stage.patch.setattr(one.host, "samples", samples)


def asked(error: Exception) -> Callable[[Trial, Stage], None]:
    """Servers are asked for their own figures, and answer with an error."""

    def change(one: Trial, stage: Stage) -> None:
        def fetch(_url: str) -> str:
            raise error

        one.system.metrics = (Metric("queue", "m", "queue_size"),)
        stage.patch.setattr(telemetry, "fetch_text", fetch)
        deploy = one.system.deploy
        stage.patch.setattr(one.system, "deploy", lambda request, host: with_endpoint(deploy(request, host)))

    return change


def with_endpoint(deployment: FakeDeployment) -> FakeDeployment:
    deployment.metrics_endpoints = (Endpoint("kafka-1", "http://x"),)
    return deployment


class Reading(FakeWorker):
    """Its consumers may be resumed."""

    def resume_consumers(self, subscriptions: list[str]) -> None:
        self.journal.note("resume")


def reads(one: Trial, stage: Stage) -> None:
    one.worker = Reading(one.journal)
    stage.patch.setattr("tidegauge.campaign.run.trial.read._FIRST_S", 0.2)


READ = ReadSpec(**SPEC.shared, drain_s_max=0.2)
CLOSED = replace(SPEC, msgs_per_s=None, workload=replace(SPEC.workload, arrival=Arrival.CLOSED_LOOP))
STEPS = RateSchedule((RatePhase(100, 100, 10, 0), RatePhase(300, 300, 10, 1)), ("low", "high"))
RESTING = RateSchedule((RatePhase(0, 0, 10, 0), RatePhase(300, 300, 10, 1)), ("none", "high"))
COUNTED = replace(SPEC, messages=1_000_000, measure_s=1.0, measure_s_max=1.0)
OTHER_LEVEL = LevelFinding(4, ("no fsync",))
TRIALS: dict[str, Scene] = {
    "a trial": made(nothing),
    "a trial as fast as it goes": made(nothing, CLOSED),
    "a trial that a rule aborts": made(
        lambda one, _: setattr(one, "abort_on", ("msgs_per_s > 10 for 2s",)), replace(SPEC, measure_s=30.0)
    ),
    "messages whose time is over": made(nothing, COUNTED),
    "messages that a rule aborts": made(
        lambda one, _: setattr(one, "abort_on", ("msgs_per_s > 10 for 2s",)), replace(COUNTED, measure_s_max=30.0)
    ),
    "a trial without consumers": made(nothing, replace(SPEC, workload=replace(SPEC.workload, subscriptions=0))),
    "a trial that reads": made(reads, READ),
    "a trial on others' servers": on_others(),
    "servers that do not start": made(lambda one, _: setattr(one.system, "deploy_fails", True)),
    "servers that are never ready": made(never_ready),
    "others' servers with a wrong password": on_others(wrong_password),
    "others' servers that refuse": on_others(refused),
    "others' servers that refuse a topic": on_others(topic_refused),
    "a busy disk": made(with_disk(False)),
    "a calm disk": made(with_disk(True)),
    "3 messages that did not come": made(lacking()),
    "3 messages that clients may have thrown away": made(lacking(discarded_max=2)),
    "a level that nobody knows": made(level(LevelFinding(None, ("the server does not say",)))),
    "another level": made(level(OTHER_LEVEL)),
    "a level with a problem": made(level(replace(OTHER_LEVEL, problems=("2 of 3 members are online",)))),
    "another level of others' servers": on_others(lambda one, _: setattr(one.system, "finding", OTHER_LEVEL)),
    "figures without an end": made(figures_without_end),
    "a load generator that dies": made(dying_worker),
    "no agent to look": made(without_agent),
    "servers that answer nonsense": made(asked(ValueError("no figures in it"))),
    "servers that do not answer": made(asked(OSError("timed out"))),
    "servers whose figures can't be stored": made(asked(RunFailedError("The disk is full."))),
}


def chasing(reads_msgs_per_s: float, chase_s_max: float = 5.0) -> Scene:
    def change(one: Trial, _stage: Stage) -> None:
        one.worker = BacklogWorker(one.journal)
        one.worker.reads_msgs_per_s = reads_msgs_per_s

    assert LATE.late is not None
    return made(change, replace(LATE, late=replace(LATE.late, chase_s_max=chase_s_max)))


def device_reads(share: float | None, attached: bool, compressed: bool = False) -> Scene:
    counts = (0, 0, None if share is None else round(share * 10**8))
    return lambda _: _device_reads(counts, (10.0, 20.0), 10**8, attached, compressed=compressed).unknown or "known"


def backlog_of(messages: int) -> Scene:
    """What is said of late readers for whom a million messages were to wait."""
    assert LATE.late is not None
    spec = replace(LATE, late=replace(LATE.late, backlog_msgs=10**6))
    found = replace(found_of(60_000, 300_000), backlog_msgs=messages)
    return lambda _: [*_late_warnings(spec, found), "that is all"]


def was_read(*errors: tuple[str, str, int], level: LevelFinding = LEVEL, **changes: Any) -> Scene:
    totals = replace(totals_of(NOTHING, reader(**{"received": 10, **changes})), errors=errors)
    return lambda _: read_result(READING, totals, "", level)


EMPTY = {"received": 0, "first_received_mono_ns": 0, "last_received_mono_ns": 0}
RESULTS: dict[str, Scene] = {
    "a backlog that is read": chasing(6_000.0),
    "a backlog that is never read": chasing(900.0, 0.6),
    "reads of others' servers": device_reads(None, True),
    "reads that the machine does not count": device_reads(None, False),
    "3 % of a compressed backlog": device_reads(0.03, False, compressed=True),
    "95 % of a compressed backlog": device_reads(0.95, False, compressed=True),
    "half of the backlog": backlog_of(500_000),
    "the whole backlog": backlog_of(10**6),
    "topics that are read": was_read(),
    "topics that are read at once": was_read(last_received_mono_ns=10**9 + 50_000_000),
    "leaders that moved": was_read(level=replace(LEVEL, moves=("leaders of 1 of 2 partitions moved",))),
    "a damaged message": was_read(corrupt=1),
    "a foreign message": was_read(foreign=1),
    "empty topics": was_read(**EMPTY),
    "topics that consumers may not read": was_read(("receive", "not authorized", 7), **EMPTY),
}


def offered(spec: LoadSpec) -> Scene:
    return lambda _: trial._offer_in_words(spec)


def doubt(unsteady: str, cold: str, warmup_s_max: float = 60.0) -> Scene:
    return lambda _: trial._doubt_of_warm_up(replace(SPEC, warmup_s_max=warmup_s_max), unsteady, cold)


def recovering(recovered: bool) -> Scene:
    """What is said after the last fault."""

    def scene(stage: Stage) -> Any:
        said: list[Any] = []
        stage.patch.setattr(trial, "_RECOVER_S_MAX", 0.05)
        one: Any = SimpleNamespace(
            spec=SPEC,
            faults=SimpleNamespace(has_faults_to_come=False, has_recovered=lambda: recovered),
            phase=lambda *words: said.append(words[:2]),
            resources=SimpleNamespace(observer=said.append),
        )
        trial._await_faults(one, SimpleNamespace(follow_until=lambda _: time.sleep(0.02)))  # type: ignore[arg-type]
        return said

    return scene


def injecting(recorder: Recorder, kind: FaultKind = FaultKind.PAUSE, **more: Any) -> Scene:
    def scene(stage: Stage) -> Any:
        stage.patch.setattr(injection, "LEADER_S_MAX", 0.0)
        try:
            return done(recorder, fault(kind), **more), "made"
        except RunFailedError as error:
            return error

    return scene


def unreachable() -> Any:
    raise RunFailedError("connection refused")


def watching(error: Exception, by: str) -> Scene:
    """Servers are watched for their syncs, and that fails: because of the host, or of messages."""

    def scene(stage: Stage) -> Any:
        quick(stage)
        one = Watching(stage.path)

        def fail(*_: Any) -> Any:
            raise error

        if by == "messages":
            stage.patch.setattr(one.worker, "witness", fail)
        return one.run(fail if by == "host" else None).level.syncs

    return scene


def unwatched(attached: bool) -> Scene:
    """Servers that are not here to be watched."""

    def scene(stage: Stage) -> Any:
        quick(stage)
        return Watching(stage.path).without_servers().run(spec=replace(SPEC, attached=attached)).level.syncs

    return scene


def unread_cache(spec: LoadSpec, running: LoadSpec | None = None) -> Scene:
    """Why the page cache is not dropped before a trial."""
    before: Any = running and SimpleNamespace(spec=running)
    store: Any = SimpleNamespace(directory=Path("/x"), disks=(), data_directory=Path("/x/data"), journal_disks=())
    resources: Any = SimpleNamespace(drop_page_cache=lambda _: "needs root")
    return lambda _: _drop_page_cache(spec, resources, store, before)


PARTS: dict[str, Scene] = {
    "a schedule": offered(replace(SPEC, schedule=STEPS, msgs_per_s=100.0)),
    "a schedule that rests at first": offered(replace(SPEC, schedule=RESTING, msgs_per_s=150.0)),
    "a rate": offered(SPEC),
    "a warm-up that is not steady": doubt("the rate fell", ""),
    "a warm-up that is too short": doubt("the rate fell", "", 3.0),
    "a warm-up with a cold generator": doubt("", "its JIT compiler took 0.3 of a CPU"),
    "nodes that take part again": recovering(True),
    "nodes that stay away": recovering(False),
    "no servers to watch": unwatched(attached=False),
    "servers of others, to watch": unwatched(attached=True),
    "no leader": injecting(Recorder(), leaders=dict),
    "servers that can't be asked who leads": injecting(Recorder(), leaders=unreachable),
    "a fault that nobody expected": injecting(Recorder({"pause": KeyError("a-2")})),
    "a fault that the agent refuses": injecting(Recorder({"pause": RunFailedError("no such process")})),
    "messages that do not go through": watching(RunFailedError("message 3 was not acknowledged"), "messages"),
    "nobody who may look": watching(NoTraceError("needs root"), "host"),
    "the cache of others' servers": unread_cache(replace(SPEC, attached=True)),
    "the cache of servers that go on": unread_cache(SPEC, replace(SPEC, trial_id="0000-before")),
    "the cache of fresh servers": unread_cache(SPEC),
}


def left(
    *names: str,
    kept: tuple[str, ...] = (),
    fails: bool = True,
    forget: bool = False,
    systems: tuple[str, ...] = ("kafka",),
    pid: int = 0,
    damage: bool = False,
) -> Scene:
    """What is said of topics that a dead trial left on others' servers."""

    def scene(stage: Stage) -> Any:
        quick(stage)
        one = AttachedScene(stage.path)
        one.system.attach_rules = "some"
        ledger = TopicLedger.open("kafka", "kafka@attached", CHOICE, SPEC.choice, str(stage.path / "run-1"))
        ledger.add(*names)
        if kept:
            ledger.keep(7, *kept)
        if pid:
            ledger.used_by(pid)
        ledger.close()
        if damage:
            ledger.path.write_text("{")
        if fails:
            stage.patch.setattr(one.worker, "delete_topics", refuse("no right to delete"))
            stage.patch.setattr(one.worker, "remove_subscriptions", refuse("no right to delete"))
        known: Any = dict.fromkeys(systems, one.system)
        host: Any = one.host
        return delete_leftover_topics(known, BriefWorkers(lambda: nullcontext(host), one.start_worker), None, forget)

    return scene


def without_records(stage: Stage) -> Any:
    def fail() -> Path:
        raise OSError(13, "Permission denied")

    stage.patch.setattr(topics, "_records_directory", fail)
    return delete_leftover_topics({}, BriefWorkers(nullcontext, lambda *_: None), None, False)  # type: ignore[arg-type]


def unwritable(one: AttachedScene, stage: Stage) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    stage.patch.setattr(LockedRecord, "write", fail)


TWELVE = tuple(f"bench.{number}" for number in range(12))
LEFT: dict[str, Scene] = {
    "topics that can't be deleted": left("bench.0"),
    "topics that are forgotten": left("bench.0", forget=True),
    "topics that are deleted": left("bench.0", fails=False),
    "12 topics that can't be deleted": left(*TWELVE),
    "12 topics that are forgotten": left(*TWELVE, forget=True),
    "subscriptions that can't be removed": left(kept=("orders",)),
    "subscriptions that are removed": left(kept=("orders",), fails=False),
    "topics and subscriptions that can't be removed": left("bench.0", kept=("orders",)),
    "topics of a load generator that runs": left("bench.0", pid=os.getpid()),
    "topics of another version": left("bench.0", systems=()),
    "a damaged record": left("bench.0", damage=True),
    "records that can't be read": without_records,
    "a full state directory": on_others(unwritable),
}
SCENES = {**TRIALS, **RESULTS, **PARTS, **LEFT}
CLAIMS = [
    # catch_up.py
    Claim("a backlog of {}, whose readers wait", "a backlog that is read", "a trial"),
    Claim("on {} messages while the load continues", "a backlog that is read", "a trial"),
    Claim("the backlog counts as gone", "a backlog that is read", "a backlog that is never read"),
    Claim("others run the servers", "reads of others' servers", "reads that the machine does not count"),
    Claim("the servers' machine does not report", "reads that the machine does not count", "reads of others' servers"),
    Claim("how large compressed messages are", "3 % of a compressed backlog", "95 % of a compressed backlog"),
    *claims_of(
        "a trial that a rule aborts",
        "a trial",
        "{}: aborted, since '{}' holds.",
        "aborted by '{}' after {} of {} s",
        "its figures are those until then, and",
    ),
    # figures.py
    Claim("The machine may be starved", "figures without an end", "a load generator that dies"),
    # injection.py
    Claim("the servers name no leader", "no leader", "servers that can't be asked who leads"),
    Claim("A fault could not be made: {}: {}", "a fault that nobody expected", "a fault that the agent refuses"),
    # result.py
    Claim("the disk was slow when the trial began", "a busy disk", "a calm disk"),
    Claim("servers did not stay as they were", "leaders that moved", "topics that are read"),
    Claim("what that took is in the figures", "leaders that moved", "topics that are read"),
    Claim("the backlog grew to {} of {}", "half of the backlog", "the whole backlog"),
    Claim("what is in the topics, then what comes", "a trial that reads", "a trial"),
    Claim("all that came was read within {} ms", "topics that are read at once", "topics that are read"),
    Claim("the topics are empty, nothing of them", "empty topics", "topics that consumers may not read"),
    Claim("consumers met {}: {}", "topics that consumers may not read", "empty topics"),
    Claim("no message was received: {}", "empty topics", "topics that are read"),
    # running_trial.py
    Claim("the load generator for {}", "others' servers that refuse", "a trial"),
    Claim("until {} accepts and delivers a message", "a trial", "servers that do not start"),
    Claim(
        "others run the servers, whose page cache", "the cache of others' servers", "the cache of servers that go on"
    ),
    Claim("the servers of {} go on, and their logs", "the cache of servers that go on", "the cache of fresh servers"),
    Claim("was not ready within {} s: {}", "servers that are never ready", "others' servers that refuse"),
    Claim("See the servers' logs; a slow machine", "servers that are never ready", "others' servers that refuse"),
    Claim(
        "The cluster was reached and refuses topics",
        "others' servers that refuse a topic",
        "others' servers with a wrong password",
    ),
    Claim(
        "Check address, TLS, authentication",
        "others' servers with a wrong password",
        "others' servers that refuse a topic",
    ),
    # telemetry.py
    Claim("What is used is no longer recorded", "no agent to look", "a trial"),
    Claim("{} is not asked for its own figures", "servers that answer nonsense", "servers that do not answer"),
    Claim("{} could not always be asked", "servers that do not answer", "servers that answer nonsense"),
    Claim(
        "Servers' own figures are no longer recorded",
        "servers whose figures can't be stored",
        "servers that do not answer",
    ),
    # topics.py
    Claim("The state directory {} can't be written", "a full state directory", "a trial on others' servers"),
    Claim("Make it writable, with some space left", "a full state directory", "a trial on others' servers"),
    Claim("`tidegauge clean` tries again", "topics that can't be deleted", "topics that are forgotten"),
    Claim("They are forgotten now", "topics that are forgotten", "topics that can't be deleted"),
    Claim("{} and {} more, named in {}", "12 topics that can't be deleted", "12 topics that are forgotten"),
    Claim("Topics may remain on {}", "topics that can't be deleted", "subscriptions that can't be removed"),
    Claim(
        "Consumer groups or subscriptions of ours",
        "subscriptions that can't be removed",
        "topics that can't be deleted",
    ),
    Claim("{} They were not deleted", "topics that can't be deleted", "topics that are deleted"),
    Claim("The records of topics on attached clusters", "records that can't be read", "a damaged record"),
    Claim("The record {} of topics on an attached", "a damaged record", "topics that can't be deleted"),
    Claim(
        "the load generator of that run still runs",
        "topics of a load generator that runs",
        "topics that can't be deleted",
    ),
    Claim("this Tidegauge has no system '{}'", "topics of another version", "topics that can't be deleted"),
    Claim("Deleted {} of the run {}", "topics that are deleted", "topics that can't be deleted"),
    Claim("what it had made on {}", "subscriptions that are removed", "topics that are deleted"),
    # tracing.py
    Claim("for {} that consumers did not receive", "3 messages that did not come", "a trial"),
    Claim(
        "consumers' clients discarded deliveries that may",
        "3 messages that clients may have thrown away",
        "3 messages that did not come",
    ),
    # trial.py
    Claim("warm-up not steady: {}", "a warm-up that is not steady", "a warm-up that is too short"),
    Claim("the load generator is not warm", "a warm-up with a cold generator", "a warm-up that is not steady"),
    Claim("until consumers have everything", "a trial", "a trial without consumers"),
    Claim("until what was sent is acknowledged", "a trial without consumers", "a trial"),
    Claim("until all nodes take part again", "nodes that stay away", "a trial"),
    Claim("not all nodes took part again within", "nodes that stay away", "nodes that take part again"),
    Claim("{}: {}; what they owed counts", "nodes that stay away", "nodes that take part again"),
    Claim("at {} msg/s, {}", "a schedule", "a rate"),
    Claim("where the schedule begins", "a schedule", "a schedule that rests at first"),
    Claim("the schedule's mean, which begins", "a schedule that rests at first", "a schedule"),
    Claim("{}: {}: {} of {} messages have", "messages whose time is over", "a trial"),
    Claim("the longest time that it may take", "messages whose time is over", "messages that a rule aborts"),
    Claim("aborted, since '{}' holds", "messages that a rule aborts", "messages whose time is over"),
    Claim("as fast as it goes", "a trial as fast as it goes", "a trial"),
    # witnessing.py
    Claim("there are no servers", "no servers to watch", "servers of others, to watch"),
    Claim("not all messages to watch", "messages that do not go through", "nobody who may look"),
    Claim("no level that is known", "a level that nobody knows", "another level"),
    Claim("the settings in force give {}", "another level", "a level with a problem"),
    Claim("Ask for the level that the cluster gives", "another level of others' servers", "another level"),
    Claim("Remove the setting that changes it", "another level", "another level of others' servers"),
]
texts, test_every_sentence_is_listed, test_a_sentence_is_said_where_it_is_true_and_not_beside = make_tests(
    MODULES, SCENES, CLAIMS
)


def test_what_is_forgotten_is_named_whole(texts: Texts) -> None:
    (words,) = texts.of("12 topics that are forgotten")
    assert ", ".join(TWELVE) in words
    assert ".json" not in words


def test_all_that_remains_is_named(texts: Texts) -> None:
    (words,) = texts.of("topics and subscriptions that can't be removed")
    assert "Topics may remain on kafka@attached (far:9092): bench.0 of the run run-1." in words
    assert "subscriptions of ours may remain on kafka@attached (far:9092), topics orders, of the run run-1." in words


def test_subscriptions_are_not_counted_as_topics(texts: Texts) -> None:
    (words,) = texts.of("subscriptions that are removed")
    assert words == "Deleted what it had made on orders of the run run-1 on kafka@attached (far:9092)."
