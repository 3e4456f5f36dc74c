"""Every sentence on published claims, in a run in which it is true and in one in which it would be false."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from attestation_samples import witness
from guarantee_samples import both_struck, guarantee, kept_by_kafka, same
from published_samples import (
    MINE,
    PULSAR_BELOW,
    SERVERS,
    TWICE,
    both,
    confirmed,
    doubtful,
    judged,
    meant,
    measured,
    of_system,
    pair,
    peaks_with_backlog,
    ratio,
    run_of,
    sustained,
    trial,
)
from reasons import reasons_of
from rich.console import Console, Group
from run_samples import latency, spec
from sentence_scenes import Scene, Texts, make_tests
from sentence_templates import Claim, modules_of

from tidegauge.campaign.plan.fairness import contender_of_trial
from tidegauge.campaign.read.fingerprint import system_of
from tidegauge.model.level import LevelChoice
from tidegauge.model.trial import CatchUp, LoadResult, PhaseFigures, RateRule, Validity
from tidegauge.model.use import Resource
from tidegauge.model.workload import PHASES, ClientSettings, DeviceReads, LateReaders, Payload, ServerLimits, Workload
from tidegauge.published.across import runs_together
from tidegauge.published.differences import differences_from_report
from tidegauge.published.examine import Choice, examine, report_named
from tidegauge.published.model import Bound, Operand, Place, Placement, Planned, PublishedReport, ServerSetup
from tidegauge.published.observe import ExaminedRun
from tidegauge.published.verdict import (
    ABOVE,
    ClaimAnswer,
    ClaimVerdict,
    Limits,
    judge_bound,
    judge_limit,
    judge_ratio,
    size_of,
    with_other_limit,
    within_window,
)
from tidegauge.report.published import published_plan
from tidegauge.systems.registry import system_named as find_system

MODULES = modules_of("published")


def judging(claim: Any, run: ExaminedRun) -> Scene:
    """The verdict on a claim in a run, with all that it rests on."""
    return lambda _: judged(claim, run)


def of_other(**changes: Any) -> Scene:
    """Kafka in one run, and Pulsar in another one that differs in something."""
    return judging(PULSAR_BELOW, both(of_system("kafka", 50.0), of_system("pulsar", 10.0, **changes)))


def in_one_run(msgs_per_s: float) -> Scene:
    kafka, pulsar = pair(50.0, 10.0)
    other = replace(pulsar, spec=replace(pulsar.spec, msgs_per_s=msgs_per_s))
    return judging(PULSAR_BELOW, run_of(kafka, other))


def versions(other: str) -> Scene:
    """Kafka at two levels in two runs."""
    level_2 = [
        replace(one, spec=replace(one.spec, system=other, choice=LevelChoice(2))) for one in of_system("kafka", 10.0)
    ]
    return judging(TWO_LEVELS, both(of_system("kafka", 50.0), level_2))


TWO_LEVELS = PULSAR_BELOW.model_copy(
    update={
        "from_highest": [Operand(system="kafka", level=1), Operand(system="kafka", level=2)],
        "common": Place(partitions=100),
    }
)


def heaps(other_mb: str) -> Scene:
    """The same in two runs whose servers have so much memory."""

    def scene(_: Any) -> Any:
        runs = {}
        for letter, level, p99_ms, heap_mb in (("A", 1, 50.0, "1024"), ("B", 2, 10.0, other_mb)):
            one = measured(trial("kafka", level=level), p99_ms)
            choice = system_of(meant("kafka", heap_mb=heap_mb), one.spec)
            assert choice is not None
            contenders = {one.spec.trial_id: contender_of_trial(one.spec, choice, find_system("kafka"))}
            runs[letter] = replace(run_of(one), contenders=contenders)
        return judged(TWO_LEVELS, runs_together(runs))

    return scene


def blocks(of_pulsar: int) -> Scene:
    kafka, _ = pair(50.0, 10.0)
    return judging(PULSAR_BELOW, run_of(kafka, measured(trial("pulsar", block=of_pulsar), 10.0)))


def altered(**changes: Any) -> Scene:
    """Kafka, and Pulsar's trial altered."""
    kafka, pulsar = pair(50.0, 10.0)
    return judging(PULSAR_BELOW, run_of(kafka, replace(pulsar, **changes)))


def caught_up(backlog_msgs: int) -> LoadResult:
    """A chase of a backlog that was to be 1,000 messages."""
    late = LateReaders(1, 1000, "1000 messages", 0.99, 60.0)
    phases = tuple(PhaseFigures(name, 9.0, 1e4, latency(), None, 0.0) for name in PHASES)
    reads = DeviceReads(10**9, 0.0, 10**9, 9.0)
    found = CatchUp(backlog_msgs, backlog_msgs << 10, 9.0, 3.0, 3.0, 300.0, 3e5, None, 1e5, 1e8, 0, phases, reads)
    made = replace(trial("kafka"), experiment="catch-up", late=late)
    return replace(measured(made, 10.0), catch_up=found)


ONE, OTHER = pair(50.0, 10.0)
SEARCHES = [confirmed("kafka", 50_000, 40.0), confirmed("pulsar", 40_000, 1.0)]
AT_MAXIMUM = PULSAR_BELOW.model_copy(update={"figure": "maximum-publish-mean"})


def searched(with_confirmations: bool) -> Scene:
    specs, findings = tuple(one for one, _, _ in SEARCHES), tuple(finding for _, finding, _ in SEARCHES)
    results = tuple(result for _, _, result in SEARCHES)
    return judging(AT_MAXIMUM, ExaminedRun(specs, results if with_confirmations else (), findings))


OBSERVED: dict[str, Scene] = {
    "both in one run": judging(PULSAR_BELOW, run_of(ONE, OTHER)),
    "five blocks of both": judging(PULSAR_BELOW, run_of(*pair(50.0, 10.0, blocks=5))),
    "the same in two runs": of_other(),
    "another number of nodes": of_other(nodes=3),
    "another rate": of_other(msgs_per_s=15_000.0),
    "another rate in the same run": in_one_run(15_000.0),
    "the same rate in the same run": in_one_run(20_000.0),
    "another version": versions("kafka@0.9"),
    "the same version": versions("kafka@1"),
    "another heap": heaps("12288"),
    "the same heap": heaps("1024"),
    "different blocks": blocks(1),
    "the same block": blocks(0),
    "two disks": lambda _: (
        examine(
            report_named("confluent-2020"), Choice("confluent-2020", ("raid-0-helps-little",)), run_of(ONE, OTHER)
        ).claims
    ),
    "partitions that the claim leaves open": judging(
        TWICE.model_copy(update={"common": Place(level=1)}), sustained(40_000, 10_000)
    ),
    "partitions that the claim names": judging(TWICE, sustained(40_000, 10_000)),
    "several settings": judging(PULSAR_BELOW, run_of(ONE, OTHER, measured(trial("pulsar", rule="80%"), 10.0))),
    "no Pulsar": judging(PULSAR_BELOW, run_of(ONE)),
    "no latency": judging(PULSAR_BELOW, ExaminedRun((spec("kafka@1", "peak"), spec("pulsar@1", "peak")), ())),
    "latency at other partitions": judging(PULSAR_BELOW, run_of(ONE, measured(trial("pulsar", partitions=5000), 10.0))),
    "an INVALID trial": altered(validity=Validity.INVALID, reasons=reasons_of("own lag")),
    "500 messages": altered(response=latency(count=500)),
    "a trial that failed": judging(
        PULSAR_BELOW, ExaminedRun((ONE.spec, OTHER.spec), (ONE,), failures={OTHER.spec.trial_id: "the broker ended"})
    ),
    "a trial that was not reached": judging(PULSAR_BELOW, ExaminedRun((ONE.spec, OTHER.spec), (ONE,))),
    "a warm-up that was never steady": altered(steady=False),
    "90 % of the rate": altered(msgs_per_s=18_000.0),
    "9 of 10 messages": altered(offered_msgs_per_s=1.0, msgs_per_s=0.9, measured_s=10.0),
    "a doubtful half of a backlog": judging(
        PULSAR_BELOW.model_copy(update={"figure": "chase-time", "from_highest": [Operand(system="kafka")] * 2}),
        run_of(caught_up(500)),
    ),
    "a doubtful whole backlog": judging(
        PULSAR_BELOW.model_copy(update={"figure": "chase-time", "from_highest": [Operand(system="kafka")] * 2}),
        run_of(caught_up(1000)),
    ),
    "consumers behind a peak": judging(TWICE, run_of(*peaks_with_backlog(40_000, 10_000, 300_000))),
    "consumers that keep up with a peak": judging(TWICE, run_of(*peaks_with_backlog(40_000, 10_000, 1_000))),
    "a search without an answer": judging(TWICE, sustained(40_000, 10_000, decided=False)),
    "a search with an answer": judging(TWICE, sustained(40_000, 10_000)),
    "a search with its confirmation": searched(True),
    "a search without its confirmation": searched(False),
    "a doubtful trial": judging(PULSAR_BELOW, run_of(*doubtful(pair(50.0, 10.0)))),
    "a doubtful trial of five": judging(PULSAR_BELOW, run_of(*doubtful(pair(50.0, 10.0, blocks=5)))),
}


def invalid_cuts() -> ExaminedRun:
    run = kept_by_kafka()
    first, control = run.attested
    return replace(
        run, attested=[replace(first, validity=Validity.INVALID, reasons=reasons_of("stopped early")), control]
    )


def cut_short() -> ExaminedRun:
    run = kept_by_kafka()
    first, control = run.attested
    return replace(run, attested=[control], cut_short={first.spec.trial_id: first.attest})


def seen(low: float, high: float, margin: float | None = None, size: Limits | None = None) -> Scene:
    return lambda _: judge_ratio(ratio(low, high, margin), ABOVE, size)


def limited(*steps: str) -> Scene:
    return lambda _: within_window(ClaimAnswer(ClaimVerdict.CONFIRMED, "4 times"), steps)


def explained(*limits: Resource) -> Scene:
    return lambda _: with_other_limit(ClaimAnswer(ClaimVerdict.CONFIRMED, "4 times"), Resource.DISK, limits)


def claimed_limit(limit: Resource, *doubts: str) -> Scene:
    return lambda _: judge_limit(Resource.SERVER_CPU, [limit], doubts)


def labelled(figure: str) -> Scene:
    """How a figure is called where it is shown."""
    claim = Bound(kind="bound", id="c", text="x", source="s", figure=figure, of=Operand(system="kafka"))
    return judging(claim, ExaminedRun((), ()))


def brief(scale: str) -> Scene:
    """What a campaign of a scale is going to examine."""

    def scene(_: Any) -> str:
        out = io.StringIO()
        choice = Choice("streamnative-2020", ("publish-p99-pulsar-below",), scale=scale)
        Console(file=out, width=400).print(Group(*published_plan(choice, [trial("kafka"), trial("pulsar")])))
        return out.getvalue()

    return scene


GUARANTEES: dict[str, Scene] = {
    "kept in 20 cuts": judging(guarantee(True, level=1), kept_by_kafka()),
    "kept in 5 cuts": judging(guarantee(True, level=1), kept_by_kafka(cuts=5)),
    "lost in 20 cuts": judging(guarantee(True, level=1), kept_by_kafka(losing=20)),
    "damaged in 20 cuts": judging(guarantee(True, level=1), kept_by_kafka(figures={"broken": 4}, witness=witness())),
    "a loss that was claimed": judging(guarantee(False, level=1), kept_by_kafka(losing=20)),
    "no loss although claimed": judging(guarantee(False, level=1), kept_by_kafka()),
    "cuts that do not count": judging(guarantee(True, level=1), kept_by_kafka(unreadable=("node 2 did not serve",))),
    "an INVALID attestation": judging(guarantee(True, level=1), invalid_cuts()),
    "an attestation cut short": judging(guarantee(True, level=1), cut_short()),
    "crashes without a loss": judging(same("crash-of-all"), both_struck(0, 0, "crash-of-all")),
    "crashes with losses of one": judging(same("crash-of-all"), both_struck(0, 20, "crash-of-all")),
    "losses of both": judging(same(), both_struck(20, 20)),
    "losses of neither": judging(same("power-cut-of-one"), both_struck(0, 0, "power-cut-of-one")),
    "losses of one": judging(same("power-cut-of-one"), both_struck(0, 20, "power-cut-of-one")),
    "one loss of one": judging(same("power-cut-of-one"), both_struck(0, 1, "power-cut-of-one")),
}


FIGURES = (
    *("maximum-publish-mean", "maximum-publish-p99", "maximum-end-to-end-mean", "chase-time", "publish-p99-before"),
    *("publish-p99-during", "mixed-publish-p99-before", "mixed-publish-p99", "publish-p99"),
)
VERDICTS: dict[str, Scene] = {
    "a ratio above 1": seen(1.2, 1.6),
    "a ratio across 1": seen(0.9, 1.3),
    "a ratio across 1 of few": seen(0.9, 1.3, margin=1.5),
    "a ratio of the size": seen(20.0, 40.0, size=size_of(29.0)),
    "a ratio below 1 that has a size": seen(0.5, 0.9, size=size_of(29.0)),
    "an absolute value": lambda _: judge_bound([4.0, 9.0], "ms", Limits(at_most=15.0)),
    "rates that CPUs limited": explained(Resource.SERVER_CPU),
    "rates that disks limited": explained(Resource.DISK),
    "a limit that is the same": claimed_limit(Resource.SERVER_CPU),
    "a limit that is another": claimed_limit(Resource.DISK),
    "a limit that nobody knows": claimed_limit(Resource.UNKNOWN),
    "a limit of a doubtful trial": claimed_limit(Resource.SERVER_CPU, "peak-kafka: unsteady"),
    "a full window": limited("0001-max-throughput: round trips"),
    "no full window": limited(),
    "batches": lambda _: Place(batch_size=10240).words(),
    "partitions": lambda _: Place(partitions=10240).words(),
    "a brief scale": brief("brief"),
    "its own scale": brief("shares"),
    **{name: labelled(name) for name in FIGURES},
}


ONE_MACHINE = Placement()


def different(
    *systems: str,
    placement: Placement = ONE_MACHINE,
    servers: ServerSetup = SERVERS,
    figures: Sequence[str] = ("publish-p99",),
    load_hosts: int = 0,
    settings: Mapping[str, Any] = {},
    window: int = 0,
    **changes: Any,
) -> Scene:
    """What is said to differ of a plan that is as the report was, but for this."""

    def scene(_: Any) -> Any:
        workload = Workload(partitions=100, payload=Payload(1024), client=ClientSettings(batch_delay_ms_max=10.0))
        late = LateReaders(1, 2 << 20, "2GiB", 0.99, 10.0)
        trials = [
            replace(
                replace(
                    spec(system),
                    workload=workload,
                    msgs_per_s=200e3,
                    rate_rule=RateRule("200k"),
                    late=late,
                    measure_s=30.0,
                ),
                **changes,
            )
            for system in systems or ("kafka@4.3.1",)
        ]
        if window:
            client = replace(workload.client, in_flight_messages_max=window)
            trials.append(replace(trials[0], workload=replace(workload, client=client)))
        mine = {**MINE, "load-hosts": load_hosts, "settings": {**MINE["settings"], **settings}}  # type: ignore[dict-item]
        of = {one.system.partition("@")[0]: [servers] for one in trials}
        return differences_from_report(
            PublishedReport.model_validate(mine), ["one"], Planned(trials, of, placement, figures)
        )

    return scene


KEEPER = ServerSetup({"broker": (1 << 30, 0)}, {"num.network.threads": "8"}, has_keeper=True)
NO_PRODUCERS = Workload(
    producers=0, partitions=100, payload=Payload(1024), client=ClientSettings(batch_delay_ms_max=10.0)
)
DIFFERENT: dict[str, Scene] = {
    "as the report": different(),
    "disks of each node's own": different(servers=replace(SERVERS, own_disks=True)),
    "a host for each": different(placement=Placement(False, 4, 1)),
    "one load host": different(placement=Placement(False, 1, 1)),
    "one load host as in the report": different(placement=Placement(False, 1, 1), load_hosts=1),
    "two nodes on a host": different(placement=Placement(False, 4, 2)),
    "a ZooKeeper on the host of node 1": different(placement=Placement(False, 4, 1), servers=KEEPER),
    "a ZooKeeper on a host of its own": different(placement=Placement(False, 4, 1, True), servers=KEEPER),
    "another version": different("kafka@4.4.1"),
    "nobody who sends": different(workload=NO_PRODUCERS),
    "two windows": different(window=100),
    "no latency": different(figures=("throughput",)),
    "limited memory": different(limits=ServerLimits(1536 << 20)),
    "direct I/O": different(limits=ServerLimits(direct_io=True)),
    "other partitions": different(
        settings={"partitions": 7}, workload=replace(NO_PRODUCERS, producers=1, partitions=9)
    ),
    "other settings of its own": different(servers=replace(SERVERS, settings={})),
    "another form of the level": different(settings={"form": "journal"}, choice=LevelChoice(2, "bypass")),
    "another level": different(settings={"level": 1}, choice=LevelChoice(2)),
}
SCENES = {**OBSERVED, **GUARANTEES, **VERDICTS, **{f"differs: {name}": scene for name, scene in DIFFERENT.items()}}
CLAIMS = [
    # __init__.py
    Claim("BRIEF (--scale brief)", "a brief scale", "its own scale"),
    # across.py
    Claim("the runs differ in {}: {} and {}", "another number of nodes", "the same in two runs"),
    Claim("the runs differ in the offered rate", "another rate", "the same in two runs"),
    Claim(
        "it was measured at different offered rates", "another rate in the same run", "the same rate in the same run"
    ),
    Claim("the runs differ in the version of {}", "another version", "the same version"),
    Claim("the runs differ in {}: {}", "another heap", "the same heap"),
    # differences.py
    Claim("CPUs, memory and disk", "differs: as the report", "differs: disks of each node's own"),
    Claim("servers{} and clients share", "differs: as the report", "differs: a host for each"),
    Claim("the load comes from {}", "differs: one load host", "differs: one load host as in the report"),
    Claim("up to {} nodes share a host", "differs: two nodes on a host", "differs: a host for each"),
    Claim(
        "ZooKeeper shares the host of node 1",
        "differs: a ZooKeeper on the host of node 1",
        "differs: a ZooKeeper on a host of its own",
    ),
    Claim("{}: version {} here", "differs: another version", "differs: as the report"),
    Claim("a producer has at most {}", "differs: as the report", "differs: nobody who sends"),
    Claim(", in other trials up to {}", "differs: two windows", "differs: as the report"),
    Claim("latencies count from the time", "differs: as the report", "differs: no latency"),
    Claim("a server process may use {}", "differs: limited memory", "differs: direct I/O"),
    Claim("data is on a loop device", "differs: direct I/O", "differs: limited memory"),
    Claim("{}: {} here, {} in the report", "differs: other partitions", "differs: as the report"),
    Claim("{}: {}: {} here, {} in the report", "differs: other settings of its own", "differs: as the report"),
    Claim("form of the level", "differs: another form of the level", "differs: another level"),
    # examine.py
    Claim("the two figures come from different runs", "the same in two runs", "both in one run"),
    Claim("no block has both figures", "different blocks", "the same block"),
    Claim("can't be examined here", "two disks", "both in one run"),
    Claim("at {} partition{}", "partitions that the claim leaves open", "partitions that the claim names"),
    # observe.py
    Claim("several settings of the run fit", "several settings", "both in one run"),
    Claim("{} is missing from the run", "no Pulsar", "no latency"),
    Claim("the run has no {}", "no latency", "no Pulsar"),
    Claim("the run has no {} at '{}'", "latency at other partitions", "no latency"),
    Claim("{} is INVALID: {}", "an INVALID trial", "a doubtful trial"),
    Claim("{} has no figure for it", "500 messages", "an INVALID trial"),
    Claim("too few samples, or messages without", "500 messages", "an INVALID trial"),
    Claim("its backlog was {} of {} messages", "a doubtful half of a backlog", "a doubtful whole backlog"),
    Claim("its warm-up was too short to judge", "a warm-up that was never steady", "90 % of the rate"),
    Claim("the system did not keep up ({}", "90 % of the rate", "9 of 10 messages"),
    Claim("consumers were {} messages behind", "consumers behind a peak", "consumers that keep up with a peak"),
    Claim("the sustainable rate of {} was not decided", "a search without an answer", "a search with an answer"),
    Claim(
        "the confirmation of {} has no figure", "a search without its confirmation", "a search with its confirmation"
    ),
    Claim("has no result: {}", "a trial that failed", "a trial that was not reached"),
    # verdict.py
    Claim("{} each, {} interval", "a ratio across 1", "an absolute value"),
    Claim("{} each, too few for an interval", "a ratio across 1 of few", "a ratio across 1"),
    Claim("direction confirmed, size {}", "a ratio of the size", "a ratio below 1 that has a size"),
    Claim("the interval reaches across {}", "a ratio across 1", "a ratio across 1 of few"),
    Claim("it rests on a DOUBTFUL trial", "a doubtful trial of five", "five blocks of both"),
    Claim("too few trials that are not DOUBTFUL", "a doubtful trial", "a doubtful trial of five"),
    Claim("limited by the messages that may be in flight", "a full window", "no full window"),
    Claim("the report's reason is the {}, and here", "rates that CPUs limited", "rates that disks limited"),
    Claim("the report names the {}, and here the limit", "a limit that is another", "a limit that is the same"),
    Claim("what limited the rate here was not identified", "a limit that nobody knows", "a limit that is the same"),
    Claim("the limit was the {}, in a DOUBTFUL trial", "a limit of a doubtful trial", "a limit that is the same"),
    Claim("the limit was the {} here, too", "a limit that is the same", "a limit of a doubtful trial"),
    Claim("an absolute value, which can't", "an absolute value", "a ratio above 1"),
    # guarantee.py
    Claim("{} {} after {} of {}", "lost in 20 cuts", "kept in 20 cuts"),
    Claim("gone, damaged or not in every read", "damaged in 20 cuts", "lost in 20 cuts"),
    Claim("none of {} at risk lost in {}, so that such a", "kept in 20 cuts", "lost in 20 cuts"),
    Claim("{} is INVALID: {}", "an INVALID attestation", "kept in 20 cuts"),
    Claim("{} ended before its last {}", "an attestation cut short", "kept in 20 cuts"),
    Claim("no crash of the run lost anything", "crashes without a loss", "crashes with losses of one"),
    Claim("{}: that none ever is can't be shown", "no loss although claimed", "a loss that was claimed"),
    Claim("{}: kept as far as these show", "kept in 20 cuts", "kept in 5 cuts"),
    Claim("{}: neither keeps all", "losses of both", "losses of one"),
    Claim("{}: alike as far as these show", "losses of neither", "losses of one"),
    Claim("{}: only one of them lost something", "losses of one", "losses of both"),
    Claim("with a probability of {} chance alone", "one loss of one", "losses of one"),
    Claim("{}: no {} counts: {}", "cuts that do not count", "kept in 5 cuts"),
    Claim("too few (below {} counts)", "kept in 5 cuts", "kept in 20 cuts"),
    # model.py
    Claim("cuts that lost acknowledged messages", "kept in 20 cuts", "a ratio above 1"),
    Claim("batches of {} bytes", "batches", "partitions"),
    Claim("publish latency at the sustainable rate, mean", "maximum-publish-mean", "maximum-publish-p99"),
    Claim("publish latency at the sustainable rate, p99", "maximum-publish-p99", "maximum-publish-mean"),
    Claim("end-to-end latency at the sustainable rate", "maximum-end-to-end-mean", "maximum-publish-mean"),
    Claim("time to catch up", "chase-time", "publish-p99-during"),
    Claim("publish latency before catching up", "publish-p99-before", "publish-p99-during"),
    Claim("publish latency while catching up", "publish-p99-during", "publish-p99-before"),
    Claim("publish latency before catch-up readers", "mixed-publish-p99-before", "mixed-publish-p99"),
    Claim("publish latency beside catch-up readers", "mixed-publish-p99", "mixed-publish-p99-before"),
]
texts, test_every_sentence_is_listed, test_a_sentence_is_said_where_it_is_true_and_not_beside = make_tests(
    MODULES, SCENES, CLAIMS
)


def test_of_few_there_is_no_interval(texts: Texts) -> None:
    assert any("5 trials each, 95 % interval" in text for text in texts.of("a ratio across 1"))
    assert not any("95 % interval" in text for text in texts.of("a ratio across 1 of few"))


def test_only_what_is_there_shares_a_machine(texts: Texts) -> None:
    def shared(*systems: str, servers: ServerSetup = SERVERS) -> str:
        said = different(*systems, servers=servers)(None)  # type: ignore[arg-type]
        return next(sentence for sentence in said if "clients share" in sentence)

    assert shared("kafka@4.3.1").startswith("servers and clients share")
    assert shared("pulsar@4.2.4", servers=KEEPER).startswith("servers (with ZooKeeper) and clients share")
    assert shared("rabbitmq@4.3.6").startswith("servers and clients share")
