"""Every sentence of searches and experiments, in a run in which it is true and in one in which it would be false."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from backlog_worker import FROM_DEVICE, RATE, found_of
from campaign_doubles import FakeLab, result_of, spec_of
from reasons import reasons_of
from search_results import ANY, QUICK, result, subscription
from sentence_scenes import Scene, Stage, Texts, make_tests
from sentence_templates import Claim, modules_of
from simulated_systems import SYSTEM, Queue, System, invalid, latency, trial

from tidegauge.campaign.run.catch_up import _device_reads
from tidegauge.errors import RunFailedError
from tidegauge.experiments.catch_up import EXPERIMENT as CATCH_UP
from tidegauge.experiments.chasing import reads_sentence
from tidegauge.experiments.curve import EXPERIMENT as CURVE
from tidegauge.experiments.latency import EXPERIMENT as LATENCY
from tidegauge.experiments.max_throughput import EXPERIMENT as SEARCH
from tidegauge.experiments.mixed import EXPERIMENT as MIXED
from tidegauge.experiments.peak import EXPERIMENT as PEAK
from tidegauge.experiments.sizing import EXPERIMENT as SIZING
from tidegauge.model.trial import CatchUp, LoadResult, LoadSpec, ServerReuse, Slope, Validity
from tidegauge.model.workload import Arrival, DeviceReads
from tidegauge.search.goals import Goal, Limit, judge_goal

MODULES = modules_of("search", "experiments")
NO_SENTENCES = (
    # Helps of experiments.
    "power cuts under load: is what was",
    "how fast a backlog is read while producers go on",
    "latency against load, from a tenth",
    "publish and end-to-end latency at a rate or a schedule",
    "the highest rate that is sustained, by search",
    "publish and tailing end-to-end latency while",
    "throughput with producers that never wait",
    "how fast consumers read topics that others fill",
    "the smallest number of partitions, clients or",
)


def judged(measured: LoadResult, goal: Goal = ANY) -> Scene:
    return lambda _: judge_goal(goal, measured)


def clocks(low_ms: float, high_ms: float) -> Scene:
    bounds = {"end_to_end_low": latency(1.0, low_ms / 2), "end_to_end_high": latency(1.0, high_ms / 2)}
    return judged(subscription(end_to_end=replace(latency(1.0, 20.0), p999_ms=None), **bounds), QUICK)


TAIL = Goal("tail", (Limit("response", "p99.9", 50.0),))
VERDICTS: dict[str, Scene] = {
    "nothing is broken": judged(result(), QUICK),
    "3 messages are lost": judged(subscription(backlog=3, lost=3)),
    "3 messages are late": judged(subscription(backlog=3, late=3)),
    "nobody could look for 3 messages": judged(subscription(backlog=3, untraced=3)),
    "2 messages are late and nobody could look for 1": judged(subscription(backlog=3, late=2, untraced=1)),
    "3 messages are still on their way": judged(subscription(backlog=3)),
    "1 message is damaged": judged(subscription(corrupt=1)),
    "900 of 300,000 sends fail": judged(result(failed=900)),
    "2 of 300,000 sends fail": judged(result(failed=2)),
    "96 % of the rate": judged(result(9_600.0)),
    "98.1 % of the rate": judged(result(9_810.0)),
    "the backlog grows by 5 %": judged(result(growth=500.0)),
    "the backlog grows by 0.9 %": judged(result(growth=90.0)),
    "200 messages": judged(result(response=replace(latency(1.0, 3.0), count=200, p999_ms=None)), TAIL),
    "0.1 % without an outcome": judged(result(response=replace(latency(1.0, 3.0), p999_ms=None)), TAIL),
    "no subscription": judged(replace(result(), subscriptions=()), QUICK),
    "hardly above a limit": judged(result(response=latency(2.0, 10.0004)), QUICK),
    "at a limit": judged(result(response=latency(2.0, 10.0)), QUICK),
    "clocks leave a limit open": clocks(40.0, 60.0),
    "clocks leave it below a limit": clocks(30.0, 49.0),
}


def searching(
    system: Callable[[LoadSpec], LoadResult],
    so_far: tuple[LoadResult, ...] = (),
    of: Mapping[str, Any] = {},
    **options: Any,
) -> Any:
    """All that a search said while it went, and what it found, whatever ended it. `of`: the trials."""
    parsed = SEARCH.options.model_validate({name.replace("_", "-"): value for name, value in options.items()})
    base = replace(spec_of(SEARCH.name, SYSTEM), trial_id="0001-max-throughput-kafka", **of)
    lab = FakeLab(system, list(so_far))
    with contextlib.suppress(RunFailedError, KeyboardInterrupt):
        SEARCH.run(parsed, SEARCH.plan(parsed, base), lab)
    summaries = [finding.summary for finding in lab.findings]
    return lab.decisions, summaries, [finding.details for finding in lab.findings]


def summary_of(searched: Any) -> Any:
    """What it found, without what it said while it went."""
    return searched[1]


def sized(
    each: float = 6_500.0,
    change: Callable[[LoadSpec, LoadResult], LoadResult] = lambda _, found: found,
    luck: float = 1.0,
    **options: Any,
) -> Scene:
    """The fewest partitions, of which each takes so much, for 50,000 msg/s; trials that confirm nothing have `luck`."""

    def measure(spec: LoadSpec) -> LoadResult:
        capacity = spec.workload.partitions * each * (1.0 if spec.is_confirmation else luck)
        return change(spec, trial(spec, min(50_000.0, capacity)))

    def scene(_: Stage) -> Any:
        parsed = SIZING.options.model_validate({"of": "partitions", "rate": "50k", "largest": 64, **options})
        lab = FakeLab(measure, [])
        SIZING.run(parsed, SIZING.plan(parsed, replace(spec_of(SIZING.name, SYSTEM))), lab)
        return lab.decisions, [(finding.summary, list(finding.rows)) for finding in lab.findings]

    return scene


def confirmed_as(validity: Validity) -> Callable[[LoadSpec, LoadResult], LoadResult]:
    """Confirmations that sustain the load in spite of this."""
    changes = {"validity": validity, "reasons": reasons_of("the disk was slow")}
    return lambda spec, found: replace(found, **changes) if spec.is_confirmation else found  # type: ignore[arg-type]


SIZES: dict[str, Scene] = {
    "a question of a size": lambda _: SIZING.question(
        SIZING.options.model_validate({"of": "partitions", "rate": "50k", "largest": 64})
    ),
    "a question of a rate": lambda _: SEARCH.question(SEARCH.options()),
    "a size": sized(),
    "a size beyond the range": sized(largest=4),
    "the least size that was asked for": sized(smallest=9),
    "a lucky size": sized(luck=1.4),
    "a size whose trials are spoilt": sized(change=lambda spec, _: invalid(spec, 25_000.0)),
    "a size with a doubtful confirmation": sized(change=confirmed_as(Validity.DOUBTFUL)),
    "a size with a confirmation of no latency": sized(change=confirmed_as(Validity.INVALID)),
}


def cliff(capacity: float = 100_000.0, **more: Any) -> System:
    return System(capacity, random.Random(2), **more)


def altered(change: Callable[[LoadSpec, LoadResult, int], LoadResult], capacity: float = 100_000.0) -> Any:
    """A cliff whose trials are altered, by their place among those of their kind from 1."""
    system, seen = cliff(capacity), {True: 0, False: 0}

    def measure(spec: LoadSpec) -> LoadResult:
        confirms = spec.trial_id.endswith("-confirm")
        seen[confirms] += 1
        return change(spec, system(spec), seen[confirms])

    return measure


def confirmations(change: Callable[[LoadSpec, LoadResult, int], LoadResult], capacity: float = 100_000.0) -> Any:
    """A cliff whose confirmations are altered, by their number."""
    return altered(
        lambda spec, found, number: change(spec, found, number) if spec.trial_id.endswith("-confirm") else found,
        capacity,
    )


def falling_to(capacity: float) -> Any:
    """A system whose capacity has fallen when its first confirmation is made."""
    return confirmations(lambda spec, _found, _number: trial(spec, min(spec.msgs_per_s or 0.0, capacity)))


def searches(number: int, change: Callable[[LoadSpec, LoadResult], LoadResult]) -> Any:
    """A cliff whose search trial of a number is altered."""
    return altered(
        lambda spec, found, place: (
            change(spec, found) if place == number and not spec.trial_id.endswith("-confirm") else found
        )
    )


def halved(spec: LoadSpec, *_: Any) -> LoadResult:
    return trial(spec, (spec.msgs_per_s or 0.0) * 0.5)


def stalled(spec: LoadSpec, *_: Any) -> LoadResult:
    """As a stall makes it: too little, and not by so much that nothing else explains it."""
    return trial(spec, (spec.msgs_per_s or 0.0) * 0.95)


def spoilt(spec: LoadSpec, *_: Any) -> LoadResult:
    return invalid(spec, 1.0)


def hesitant(spec: LoadSpec) -> LoadResult:
    """In a closed loop a hundredth of what it does in an open one."""
    return trial(spec, spec.msgs_per_s or 1_000.0)


def interrupted_at_second_confirmation(system: Callable[[LoadSpec], LoadResult]) -> Any:
    first: list[LoadSpec] = []

    def measure(spec: LoadSpec) -> LoadResult:
        if spec.is_confirmation:
            if first:
                raise KeyboardInterrupt
            first.append(spec)
        return system(spec)

    return measure


def dying(error: BaseException) -> Any:
    def measure(spec: LoadSpec, found: LoadResult) -> LoadResult:
        raise error

    return searches(4, measure)


TWO = [{"name": "no limit"}, {"name": "quick", "response-p99-max": "2ms"}]
ALIKE = [{"name": "one"}, {"name": "other"}]
PEAKED = (trial(replace(spec_of("peak", SYSTEM), msgs_per_s=None), 110_000.0),)
BOUNDS = {"min_rate": "50k", "max_rate": "60k"}
SEARCHES: dict[str, Scene] = {
    "a search with an answer": lambda _: searching(cliff()),
    "the answer alone": lambda _: summary_of(searching(cliff())),
    "a search on a cluster of others": lambda _: searching(cliff(), of={"attached": True}),
    "a search on servers that are shared": lambda _: searching(cliff(), of={"servers": ServerReuse.SHARED}),
    "a search from a peak": lambda _: searching(cliff(), PEAKED),
    "a search above what a closed loop reached": lambda _: searching(cliff(), min_rate="200k"),
    "a confirmation that falls a little": lambda _: searching(falling_to(94_000.0)),
    "confirmations that fall far": lambda _: searching(falling_to(88_000.0)),
    "confirmations that never hold": lambda _: searching(confirmations(halved)),
    "one confirmation that does not hold at the lowest rate": lambda _: searching(
        confirmations(halved, 51_000.0), **BOUNDS
    ),
    "confirmations of the generator's": lambda _: searching(confirmations(spoilt)),
    "an interruption in the second goal's confirmation": lambda _: summary_of(
        searching(interrupted_at_second_confirmation(Queue(20_000.0, random.Random(4))), goals=TWO)
    ),
    "an interruption after a confirmation that failed": lambda _: summary_of(
        searching(interrupted_at_second_confirmation(confirmations(halved)))
    ),
    "a confirmation that fails before one of the generator's": lambda _: summary_of(
        searching(confirmations(lambda spec, _, number: halved(spec) if number == 1 else spoilt(spec)))
    ),
    "a stall in the first confirmation": lambda _: searching(
        confirmations(lambda spec, found, number: stalled(spec) if number == 1 else found)
    ),
    "a spoilt first confirmation": lambda _: searching(
        confirmations(lambda spec, found, number: spoilt(spec) if number == 1 else found)
    ),
    "a doubtful confirmation": lambda _: searching(
        confirmations(lambda _spec, found, _: replace(found, validity=Validity.DOUBTFUL, reasons=reasons_of("own lag")))
    ),
    "a confirmation with a late generator": lambda _: searching(
        confirmations(
            lambda _spec, found, _: replace(
                found, validity=Validity.INVALID, reasons=reasons_of("own lag"), own_lag=latency(0.1, 5.0)
            )
        )
    ),
    "a spoilt trial": lambda _: searching(searches(3, spoilt)),
    "a spoilt trial where no more are allowed": lambda _: searching(searches(3, spoilt), trials_max=3),
    "a stall in a trial": lambda _: searching(searches(2, stalled)),
    "a stall in the last trial that is allowed": lambda _: searching(searches(3, stalled), trials_max=3),
    "a rate of use to one of two goals": lambda _: searching(too_late_for_one, goals=TWO),
    "two goals with one answer": lambda _: searching(cliff(), goals=ALIKE),
    "two goals with two answers": lambda _: searching(Queue(20_000.0, random.Random(4)), goals=TWO),
    "more than max-rate": lambda _: searching(cliff(), min_rate="20k", max_rate="50k"),
    "more than four times a closed loop": lambda _: searching(hesitant),
    "less than min-rate": lambda _: searching(cliff(10_000.0), min_rate="20k", max_rate="50k"),
    "less than min-rate, the answer alone": lambda _: summary_of(
        searching(cliff(10_000.0), min_rate="20k", max_rate="50k")
    ),
    "few trials with nothing broken": lambda _: searching(hesitant, trials_max=3),
    "few trials with a wide bracket": lambda _: searching(cliff(), trials_max=4),
    "a server that ends": lambda _: searching(dying(RunFailedError("kafka-1 was killed by signal 9."))),
    "a user who interrupts": lambda _: searching(dying(KeyboardInterrupt())),
    "a closed loop that gets nowhere": lambda _: searching(lambda spec: trial(spec, 0.0)),
    "a closed loop of the generator's": lambda _: searching(lambda spec: invalid(spec, 5.0)),
}


def too_late_for_one(spec: LoadSpec) -> LoadResult:
    """Above 50,000 msg/s one goal is broken for good, and what a stall may explain breaks it there, too."""
    if spec.workload.arrival is Arrival.CLOSED_LOOP:
        return trial(spec, 100_000.0)
    above = (spec.msgs_per_s or 0.0) > 70_000
    times = latency(1.0, 3.0) if above else latency(2.5, 3.0)
    return trial(spec, spec.msgs_per_s or 0.0, response=times)


def chasing(experiment: Any, found: CatchUp, options: Mapping[str, str] = {}, **changes: Any) -> Any:
    """The finding of an experiment with late readers."""
    parsed = experiment.options.model_validate({"rate": "10k", "backlog": "300k messages", **options})
    (planned,) = experiment.plan(parsed, spec_of(experiment.name, "kafka@1"))
    lab = FakeLab(lambda spec: replace(result_of(spec, **changes), catch_up=found))
    experiment.run(parsed, (planned,), lab)
    return lab.findings[0].summary


def reading(share: float, backlog_bytes: int = 100_000_000, **more: Any) -> Scene:
    """What is said of device reads that were counted."""
    return lambda _: reads_sentence(
        _device_reads((0, 0, round(share * backlog_bytes)), (10.0, 20.0), backlog_bytes, False, **more)
    )


def left_with(slope: Slope | None, drain_msgs_per_s: float) -> CatchUp:
    """A backlog of 300,000 messages that never drains."""
    return replace(found_of(9_000, 300_000), slope=slope, drain_msgs_per_s=drain_msgs_per_s)


DRAINED = found_of(60_000, 300_000)
LATE = {"validity": Validity.INVALID, "reasons": reasons_of("the generator was late")}
CHASES: dict[str, Scene] = {
    "a backlog that is read": lambda _: chasing(CATCH_UP, DRAINED),
    "half of a backlog that is read": lambda _: chasing(CATCH_UP, DRAINED, {"drained": "50%"}),
    "a backlog that is not read by half": lambda _: chasing(CATCH_UP, left_with(None, -1_000.0), {"drained": "50%"}),
    "a backlog of a tenth of a second": lambda _: chasing(
        CATCH_UP, replace(DRAINED, backlog_msgs=RATE // 10, chase_s=0.0, drain_msgs_per_s=0.0)
    ),
    "a backlog that stays": lambda _: chasing(CATCH_UP, left_with(Slope(0.0, 0.0, 0.0), 0.0)),
    "a backlog that may stay": lambda _: chasing(CATCH_UP, left_with(Slope(5.0, -20.0, 30.0), -5.0)),
    "a backlog that grows": lambda _: chasing(CATCH_UP, left_with(Slope(1_000.0, 900.0, 1_100.0), -1_000.0)),
    "a backlog that was seen to grow for a moment": lambda _: chasing(CATCH_UP, left_with(None, -1_000.0)),
    "a chase of the generator's": lambda _: chasing(CATCH_UP, DRAINED, **LATE),
    "a doubtful chase": lambda _: chasing(CATCH_UP, DRAINED, **{**LATE, "validity": Validity.DOUBTFUL}),
    "others that read from the start": lambda _: chasing(MIXED, DRAINED),
    "nobody that reads from the start": lambda _: chasing(
        MIXED, replace(DRAINED, phases=tuple(replace(phase, tailing_end_to_end=None) for phase in DRAINED.phases))
    ),
    "95 % from the device": reading(0.95),
    "120 % from the device": reading(1.2),
    "3 % from the device": reading(0.03),
    "3 % from the device of compressed messages": reading(0.03, compressed=True),
    "a small backlog from the device": reading(0.9, 1_000_000),
    "reads that nobody counts": lambda _: reads_sentence(DeviceReads(None, 0.0, 1, 1.0, "others run the servers")),
    "reads that are counted": lambda _: reads_sentence(FROM_DEVICE),
}


def curve(system: Callable[[LoadSpec], LoadResult], **workload: Any) -> Any:
    options = CURVE.options.model_validate({"full-rate": "20k", "shares": ["25%", "50%", "100%"]})
    lab = FakeLab(system)
    base = replace(spec_of("curve", SYSTEM), trial_id="0001-curve-kafka")
    base = replace(base, workload=replace(base.workload, **workload))
    error: RunFailedError | None = None
    try:
        CURVE.run(options, CURVE.plan(options, base), lab)
    except RunFailedError as caught:
        error = caught
    return lab.decisions, [finding.summary for finding in lab.findings], error


def failing_from(msgs_per_s: float) -> Any:
    def measure(spec: LoadSpec) -> LoadResult:
        if (spec.msgs_per_s or 0.0) >= msgs_per_s:
            raise RunFailedError("It broke.")
        return trial(spec, spec.msgs_per_s or 0.0)

    return measure


def objects(experiment: Any, keys: Mapping[str, Any], *earlier: str) -> Scene:
    def scene(_: Stage) -> str:
        return experiment.objection(experiment.options.model_validate(keys), earlier) or "nothing to object to"

    return scene


STEPS = {"rate": {"steps": [{"rate": "1k", "for": "5s"}, {"rate": "2k", "for": "5s"}]}}
BURST = {"rate": {"base": "1k", "burst": "2k", "every": "20s", "for": "5s"}}
OTHERS: dict[str, Scene] = {
    "a curve": lambda _: curve(failing_from(1e9)),
    "a curve that breaks at its end": lambda _: curve(failing_from(20_000)),
    "a curve that breaks at once": lambda _: curve(failing_from(0)),
    "a curve with a point of the generator's": lambda _: curve(
        lambda spec: invalid(spec, 1.0) if spec.msgs_per_s == 10_000 else trial(spec, spec.msgs_per_s or 0.0)
    ),
    "a curve without a scale": objects(CURVE, {}, "peak"),
    "a curve after a search": objects(CURVE, {}, "max-throughput"),
    "a share of no memory": objects(CATCH_UP, {"rate": "1k", "backlog": "150% of server memory"}),
    "a share of a memory": objects(
        CATCH_UP, {"rate": "1k", "backlog": "150% of server memory", "server-memory": "1GiB"}
    ),
    "a share of no peak": objects(LATENCY, {"rate": "50% of lowest peak"}),
    "a share of a peak": objects(LATENCY, {"rate": "50% of lowest peak"}, "peak"),
    "steps": objects(LATENCY, STEPS),
    "steps with a length": objects(LATENCY, {**STEPS, "measure": "30s"}),
    "steps with a number of messages": objects(LATENCY, {**STEPS, "messages": "1000"}),
    "steps of a year": objects(LATENCY, {"rate": {"steps": [{"rate": "1k", "for": f"{24 * 20}h"}] * 2}}),
    "a burst": objects(LATENCY, {**BURST, "measure": "30s"}),
    "a burst that is never repeated": objects(LATENCY, {**BURST, "measure": "10s"}),
    "a closed loop": lambda _: [str(spec.rate_rule) for spec in PEAK.plan(PEAK.options(), spec_of("peak", SYSTEM))],
    "a rate": lambda _: [
        str(spec.rate_rule)
        for spec in LATENCY.plan(LATENCY.options.model_validate({"rate": "1k"}), spec_of("latency", SYSTEM))
    ],
}
SCENES = {**VERDICTS, **SEARCHES, **SIZES, **CHASES, **OTHERS}
CLAIMS = [
    # search/goals.py
    Claim("{} got lost on {}", "3 messages are lost", "3 messages are late"),
    Claim("{} arrived damaged on {}", "1 message is damaged", "3 messages are lost"),
    Claim("{} of {} messages failed to be sent", "900 of 300,000 sends fail", "2 of 300,000 sends fail"),
    Claim("achieved {} % of the offered rate", "96 % of the rate", "98.1 % of the rate"),
    Claim("backlog grew by {} msg/s", "the backlog grows by 5 %", "the backlog grows by 0.9 %"),
    Claim("{} was still {} messages behind", "3 messages are still on their way", "3 messages are late"),
    Claim("{} never came to {}, {}", "3 messages are late", "3 messages are still on their way"),
    Claim("though they are in the topic", "3 messages are late", "nobody could look for 3 messages"),
    *(
        Claim("and whether they are lost is not known", "nobody could look for 3 messages", false_in)
        for false_in in ("3 messages are late", "2 messages are late and nobody could look for 1")
    ),
    Claim(
        "though {} of them are in the topic",
        "2 messages are late and nobody could look for 1",
        "nobody could look for 3 messages",
    ),
    Claim("{} {} {} ms > {} ms{}", "hardly above a limit", "at a limit"),
    Claim("{} to {} ms", "clocks leave a limit open", "clocks leave it below a limit"),
    Claim("clocks of load hosts leave {}", "clocks leave a limit open", "clocks leave it below a limit"),
    Claim("too few messages for a {}", "200 messages", "0.1 % without an outcome"),
    Claim("messages without an outcome leave", "0.1 % without an outcome", "200 messages"),
    Claim("nobody reads, so nothing has", "no subscription", "nothing is broken"),
    Claim("at {} msg/s {}", "the answer alone", "less than min-rate, the answer alone"),
    Claim("the rate that passed the search failed", "confirmations that never hold", "confirmations that fall far"),
    Claim("a higher rate passed the search and failed", "confirmations that fall far", "confirmations that never hold"),
    Claim(", and {} between failed theirs", "confirmations that fall far", "a confirmation that falls a little"),
    Claim(
        ", and {} below it failed theirs",
        "confirmations that never hold",
        "one confirmation that does not hold at the lowest rate",
    ),
    Claim("no rate was confirmed{}", "less than min-rate", "a search with an answer"),
    Claim(", the search was at {} msg/s", "a user who interrupts", "less than min-rate"),
    Claim(
        ", the search was at {} msg/s",
        "a user who interrupts",
        "a confirmation that fails before one of the generator's",
    ),
    Claim(
        "the rate that passed the search failed",
        "an interruption after a confirmation that failed",
        "an interruption in the second goal's confirmation",
    ),
    Claim("sustains {}{} msg/s", "a search with an answer", "confirmations that never hold"),
    Claim("{}{}, confirmed over {} s", "a search with an answer", "confirmations that never hold"),
    # search/sustained.py
    Claim("{}: {}; made again", "a spoilt trial", "a spoilt trial where no more are allowed"),
    Claim(", to be tried again", "a stall in a trial", "a rate of use to one of two goals"),
    Claim("now its confirmation{}", "a search with an answer", "less than min-rate"),
    Claim("whose confirmation was made", "two goals with one answer", "two goals with two answers"),
    Claim("'{}': no rate was found: {}.", "less than min-rate", "a search with an answer"),
    Claim("not even {} passed{}", "less than min-rate", "a search with an answer"),
    Claim("that is max-rate: raise it", "more than max-rate", "more than four times a closed loop"),
    Claim("without max-rate nothing higher is tried", "more than four times a closed loop", "more than max-rate"),
    Claim("the limit of {} trials was reached", "few trials with nothing broken", "more than max-rate"),
    Claim("nothing was broken up to {}, and {}", "more than max-rate", "a search with an answer"),
    Claim(
        "the confirmation at {} decided nothing", "confirmations of the generator's", "confirmations that never hold"
    ),
    Claim("no confirmation held; the last", "confirmations that never hold", "confirmations of the generator's"),
    Claim(
        "another confirmation at the same rate failed",
        "a stall in the first confirmation",
        "a spoilt first confirmation",
    ),
    Claim("Confirmation of {}: {}.", "a search with an answer", "less than min-rate"),
    Claim("the bracket is {} wide, since", "few trials with a wide bracket", "a search with an answer"),
    Claim("no measure of latency", "a confirmation with a late generator", "a doubtful confirmation"),
    Claim("the confirmation is {}: {}", "a doubtful confirmation", "a search with an answer"),
    # experiments/max_throughput.py
    Claim("In a closed loop {} msg/s; the search begins", "a search with an answer", "a search from a peak"),
    Claim("a trial on {} failed: {}", "a server that ends", "a user who interrupts"),
    Claim(
        "the closed-loop trial that shows where to search was INVALID",
        "a closed loop of the generator's",
        "a closed loop that gets nowhere",
    ),
    Claim(
        "in the closed-loop trial that shows where to search nothing",
        "a closed loop that gets nowhere",
        "a closed loop of the generator's",
    ),
    # experiments/chasing.py
    Claim("device reads are not known", "reads that nobody counts", "reads that are counted"),
    Claim(": newer messages too, or some again", "120 % from the device", "95 % from the device"),
    Claim("device reads: {} of {} backlog", "95 % from the device", "3 % from the device"),
    Claim("the servers read {}", "a small backlog from the device", "95 % from the device"),
    Claim("{} of the backlog was read", "3 % from the device", "3 % from the device of compressed messages"),
    Claim("a backlog of {} messages ({})", "a backlog that is read", "a chase of the generator's"),
    Claim("never drained{} in {} s", "a backlog that stays", "a backlog that is read"),
    Claim("{} is no more than readers that keep up", "a backlog of a tenth of a second", "a backlog that is read"),
    Claim("{}{} was gone {} s after", "a backlog that is read", "a backlog of a tenth of a second"),
    Claim("{} by {} msg/s", "a backlog that was seen to grow for a moment", "a backlog that stays"),
    Claim("as many as before", "a backlog that stays", "a backlog that grows"),
    Claim("changing by {} msg/s", "a backlog that may stay", "a backlog that grows"),
    Claim("{} by {} msg/s (95%", "a backlog that grows", "a backlog that was seen to grow for a moment"),
    Claim(
        "end-to-end of readers from the start", "others that read from the start", "nobody that reads from the start"
    ),
    Claim("'{}' needs 'server-memory'", "a share of no memory", "a share of a memory"),
    Claim("INVALID, and no answer of the system", "a chase of the generator's", "a doubtful chase"),
    Claim("the catch-up reader: {}", "others that read from the start", "a backlog that is read"),
    # experiments/curve.py
    Claim("{} of {} msg/s: {}.", "a curve", "a curve that breaks at once"),
    Claim("{} at {} up to {} of {} msg/s", "a curve", "a curve that breaks at once"),
    Claim("; {} more were not measured", "a curve that breaks at its end", "a curve"),
    Claim("; INVALID, and no answer of the system", "a curve with a point of the generator's", "a curve"),
    Claim("needs a max-throughput experiment listed", "a curve without a scale", "a curve after a search"),
    # experiments/latency.py
    Claim("'{}' needs a {} experiment listed", "a share of no peak", "a share of a peak"),
    Claim("'measure' can't be given beside steps", "steps with a length", "steps"),
    Claim("'messages' can't be given beside a schedule", "steps with a number of messages", "steps with a length"),
    Claim("'measure' must be at least 'every'", "a burst that is never repeated", "a burst"),
    Claim("the schedule is longer than {} days", "steps of a year", "steps"),
]
CLAIMS += [
    # search/smallest.py
    Claim("{} is the smallest that passed", "a size", "a size beyond the range"),
    Claim("{}, now its confirmation.", "a size", "a size beyond the range"),
    # experiments/sizing.py
    Claim("the smallest number of {} that sustains", "a size whose trials are spoilt", "a size"),
    Claim("the smallest number of {} that sustains {} is NOT DECIDED", "a size whose trials are spoilt", "a size"),
    Claim("the smallest number of {} ({}) that sustains {}", "a question of a size", "a question of a rate"),
    Claim("the highest rate that is sustained: {}", "a question of a rate", "a question of a size"),
    Claim("not even {}, the most that was", "a size beyond the range", "a size"),
    Claim("{} at least for {}", "a size", "a size beyond the range"),
    Claim("fewer were not asked for", "the least size that was asked for", "a size"),
    Claim("{} passed the search and failed", "a lucky size", "a size"),
    Claim("the confirmation is {}: {}", "a size with a doubtful confirmation", "a size"),
    Claim("{} ({}; that more sustain what fewer", "a size", "a size beyond the range"),
]
texts, test_every_sentence_is_listed, test_a_sentence_is_said_where_it_is_true_and_not_beside = make_tests(
    MODULES, SCENES, CLAIMS, NO_SENTENCES
)


def test_of_two_goals_only_the_one_that_needs_it_is_said_to_be_tried_again(texts: Texts) -> None:
    """It is said of a rate, so both scenes have rates of which it is true."""
    stall = next(text for text in texts.of("a stall in a trial") if "to be tried again" in text)
    assert "fail: achieved 95 % of the offered rate, to be tried again [" in stall
    assert not any("tried again" in text for text in texts.of("a stall in the last trial that is allowed"))
    assert not any("made again" in text for text in texts.of("a spoilt trial where no more are allowed"))


def test_a_backlog_is_gone_by_as_much_as_was_asked_for(texts: Texts) -> None:
    assert texts.of("a backlog that is read")[0].startswith("a backlog of 300,000 messages")
    assert texts.of("half of a backlog that is read")[0].startswith("50% of a backlog of 300,000 messages")
    assert texts.of("a backlog that is not read by half")[0].startswith("never drained by 50% in 60 s: a backlog")


def test_a_search_begins_where_it_is_said_to(texts: Texts) -> None:
    first = next(text for text in texts.of("a search with an answer") if text.startswith("In a closed loop"))
    closed_loop, begin = (float(part.split(" msg/s")[0].replace(",", "")) for part in first[17:].split("begins at "))
    assert begin == pytest.approx(0.6 * closed_loop, rel=0.01)
    above = next(text for text in texts.of("a search above what a closed loop reached") if "begins at" in text)
    assert above.endswith("the search begins at 200,000 msg/s.")


def test_hardly_above_is_not_the_same(texts: Texts) -> None:
    assert any("10.0004 ms > 10 ms" in text for text in texts.of("hardly above a limit"))


def test_shared_servers_are_not_fresh(texts: Texts) -> None:
    assert any("now its confirmation, on fresh servers." in text for text in texts.of("a search with an answer"))
    for scene in ("a search on servers that are shared", "a search on a cluster of others"):
        said = texts.of(scene)
        assert any("now its confirmation." in text for text in said)
        assert not any("fresh servers" in text for text in said)


def test_what_was_confirmed_before_an_interruption_stays_confirmed(texts: Texts) -> None:
    first, second = texts.of("an interruption in the second goal's confirmation")
    assert "sustains" in first and "NOT DECIDED" not in first
    assert "no rate was confirmed" in second and "NOT DECIDED: interrupted" in second


def test_a_size_confirmed_by_what_is_no_measure_of_latency_has_none(texts: Texts) -> None:
    said = texts.of("a size with a confirmation of no latency")
    assert any("8 partitions at least" in text and "no measure of latency: the disk was slow" in text for text in said)
    _, findings = sized(change=confirmed_as(Validity.INVALID))(Any)  # type: ignore[arg-type]
    ((_, rows),) = findings
    (confirmed,) = [row for row in rows if str(row["state"]).endswith("confirmed")]
    assert confirmed["response p99, ms"] is None


def test_a_curve_that_nobody_reads_has_no_end_to_end_times() -> None:
    for subscriptions, words in ((1, "response (p50, p99) and end-to-end at"), (0, "response (p50, p99) at")):
        _, [[summary]], _ = curve(failing_from(1e9), subscriptions=subscriptions)
        assert summary.startswith(words)
