"""Runs of every kind of picture, made by the store itself from figures whose pictures are known beforehand.

`GALLERY` has them by name. Of a load all is constant unless it says otherwise: a trial acknowledges its own rate in
each second, warms up for 4 s before it measures 12, and drains for 2, so that its lines go from -4 s to 13 s.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import TypeVar
from unittest import mock

from attestation_samples import PLAN, attestation, attested, cycle, outcome
from campaign_doubles import FakeLab
from report_samples import KAFKA, PULSAR, ceilings, interrupted_run, sample_run
from run_samples import encoded, encoded_many, latency, result, second, spec, times_ns, totals
from use_samples import SAMPLE
from worker_samples import several

from tidegauge import store
from tidegauge.campaign.read.published import examine_claims
from tidegauge.config.units import parse_size_bytes
from tidegauge.experiments.catch_up import EXPERIMENT as CATCH_UP
from tidegauge.experiments.chasing import ChaseOptions
from tidegauge.experiments.max_throughput import EXPERIMENT as MAX_THROUGHPUT
from tidegauge.experiments.mixed import EXPERIMENT as MIXED
from tidegauge.experiments.procedure import Experiment, TrialOptions
from tidegauge.experiments.sizing import EXPERIMENT as SIZING
from tidegauge.model.faults import Fault, FaultKind, FaultResult
from tidegauge.model.finding import Finding
from tidegauge.model.host import HostAtWork, HostFacts, HostLink
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.load import ClockBound, SecondFigures, SubscriptionSecond
from tidegauge.model.reason import Reason, ReasonKind
from tidegauge.model.trial import (
    AS_FAST_AS_IT_GOES,
    SEARCHED,
    AttestSpec,
    CatchUp,
    LoadResult,
    LoadSpec,
    RateRule,
    ReadResult,
    ReadSpec,
    ReadSubscription,
    RecordResult,
    Slope,
    SubscriptionResult,
    TrialResult,
    TrialSpec,
    Validity,
)
from tidegauge.model.use import OtherHostUse
from tidegauge.model.variant import SameWithin, Variant
from tidegauge.model.workload import (
    Arrival,
    Compression,
    DeviceReads,
    RatePhase,
    RateSchedule,
    Workload,
    late_names,
)
from tidegauge.plain import plain_value
from tidegauge.published.examine import Choice
from tidegauge.published.examine import report_named as published_report
from tidegauge.statistics.catching_up import ChaseTimes, PhaseTally, gone_at
from tidegauge.statistics.catching_up import catch_up as catch_up_of
from tidegauge.statistics.designs import Design, design_points
from tidegauge.store.seconds import percentile_columns
from tidegauge.usage import Price

Options = TypeVar("Options", bound=TrialOptions)
RABBITMQ = "rabbitmq@4.1.2"
THREE = (KAFKA, PULSAR, RABBITMQ)
SIX = ("kafka@4.2.0", KAFKA, "pulsar@3.3.9", PULSAR, "rabbitmq@3.13.7", RABBITMQ)
NINE = (*SIX, "kafka@3.9.1", "pulsar@3.0.9", "rabbitmq@4.0.5")
"""More than there are colours."""
LINGER = "systems.kafka.producer.linger.ms"
LONG_SWEEP = tuple(str(2**power) for power in range(10))
"""Numbers of partitions."""
_NS = 1_000_000_000
WARMUP_S, MEASURE_S, DRAIN_S = 4, 12, 2
SUSTAINED = {
    ("1", "1"): (280_000.0, 605_000.0),
    ("1", "2 bypass"): (400_000.0, 605_000.0),
    ("100", "1"): (305_000.0, 300_000.0),
    ("100", "2 bypass"): (605_000.0, 605_000.0),
    ("2000", "1"): (40_000.0, 298_000.0),
    ("2000", "2 bypass"): (350_000.0, 604_000.0),
}
"""Confirmed msg/s of Kafka and of Pulsar, by partitions and level."""
CHASE = {KAFKA: (20, 30), PULSAR: (14, 60)}
"""Seconds that are measured before late readers begin, and for how long they chase."""
CHASE_MSGS_PER_S, BACKLOG_MSGS = 20_000, 480_000
"""What is sent all the time, and what has come together when late readers begin: the warm-up is as long as it takes."""


@dataclass(frozen=True)
class Second:
    """What one second of a load shows. `backlog`, `received` are those of the last subscription."""

    phase: str
    msgs_per_s: float
    scale: float = 1.0
    backlog: int = 10
    received: float | None = None


def _level(number: int) -> LevelFinding:
    return LevelFinding(number, ("as set",))


def loaded(made: LoadSpec, scale: float = 1.0, rate: float | None = None, **changes: object) -> LoadResult:
    """A load's result at its level. `rate`: what a closed loop reached."""
    measured_s = float(changes.setdefault("measured_s", made.measure_s))  # type: ignore[arg-type]
    found = result(made, scale, level=_level(made.choice.level))
    rate = found.msgs_per_s if rate is None else rate
    acked = int(rate * (WARMUP_S + measured_s))
    (only,) = found.subscriptions
    counted = {"sent": acked, "acked": acked, "subscriptions": (replace(only, received=acked),)}
    counted |= {"worker_cpu_s": 0.4 * measured_s}
    return replace(found, msgs_per_s=rate, mb_per_s=rate * 1024 / 1e6, **{**counted, **changes})  # type: ignore[arg-type]


def trial(system: str, experiment: str, number: int, block: int = 0, **changes: object) -> LoadSpec:
    """One trial's spec. `point`: of a sweep; its level is that of the point."""
    made: LoadSpec = replace(spec(system, experiment, number, block), **{"measure_s": float(MEASURE_S), **changes})  # type: ignore[arg-type]
    made = replace(made, workload=_workload_at(made.workload, made.point))
    level, _, form = made.point.get("durability", "").partition(" ")
    choice = LevelChoice(int(level), form if system == PULSAR else "") if level else made.choice
    if experiment == "peak":
        closed = replace(made.workload, arrival=Arrival.CLOSED_LOOP)
        return replace(made, choice=choice, workload=closed, rate_rule=AS_FAST_AS_IT_GOES)
    return replace(made, choice=choice)


def _workload_at(workload: Workload, point: Mapping[str, str]) -> Workload:
    """The workload with what a point says of it, as a plan has it."""
    client = workload.client
    client = replace(client, compression=Compression(point.get("compression", client.compression)))
    if "batch-size" in point:
        client = replace(client, batch_bytes_max=int(parse_size_bytes(point["batch-size"])))
    if LINGER in point:
        workload = replace(workload, producer_overrides={"kafka": {"linger.ms": point[LINGER]}})
    return replace(workload, client=client, partitions=int(point.get("partitions", workload.partitions)))


def steady(rate: float, scale: float = 1.0) -> list[Second]:
    """The seconds of a trial in which nothing happens."""
    lengths = (("warm-up", WARMUP_S), ("measure", MEASURE_S), ("drain", DRAIN_S))
    return [Second(phase, 0.0 if phase == "drain" else rate, scale) for phase, length in lengths for _ in range(length)]


@cache
def _samples(scale: float, count: int) -> bytes:
    shares = ((place + 0.5) / count for place in range(count))
    return encoded_many(times_ns(shares, scale)) if count else encoded()


_TIMES_OF_SAMPLES = cache(percentile_columns)
"""Seconds of a load that is steady have the same times: they are decoded once."""


class Maker:
    """One run as it is written."""

    def __init__(self, runs: Path, name: str) -> None:
        self.run = store.create_run(runs, name, f"name: {name}\nsystems: [kafka]\n", f"campaigns/{name}.yaml")
        self.run.write_environment(
            {"host": {"hostname": "host", "cpus": 2, "cpu_model": "Xeon", "memory_bytes": 24 << 30}}
        )
        self._planned: list[LoadSpec | ReadSpec | AttestSpec] = []

    def trial(
        self,
        found: TrialResult,
        seconds: Sequence[Second] = (),
        *,
        hosts: Sequence[str] | None = None,
        missing: Collection[int] = (),
    ) -> None:
        """A finished trial; without `seconds` those of a steady load.

        `hosts`: further ones of a fleet whose use is known beside this host's; None = nobody looked.
        `missing`: numbers of seconds that were not written.
        """
        self._planned.append(found.spec)  # type: ignore[arg-type]
        rate = found.msgs_per_s if isinstance(found, LoadResult) else 0.0
        scale = found.response.p50_ms / 1.2 if isinstance(found, LoadResult) and found.response.p50_ms else 1.0
        seconds = seconds or (steady(rate, scale) if isinstance(found, LoadResult) else ())
        directory = self.run.open_trial(found.spec)
        with mock.patch("tidegauge.store.seconds.percentile_columns", _TIMES_OF_SAMPLES):
            for number, one in enumerate(seconds):
                if number not in missing:
                    directory.append_second(_figures(number, one, found.spec), one.phase)
                if hosts is not None:
                    _telemetry(directory, number, hosts)
        window = _window(seconds)
        whole = totals()
        (only,) = whole.subscriptions
        samples = 4_000 if rate else 0
        subscriptions = (replace(only, end_to_end=_samples(1.3 * scale, samples)),)
        measured = replace(whole.window, **window, response=_samples(scale, samples))
        directory.finish(found, replace(whole, window=measured, subscriptions=subscriptions))

    def find(
        self,
        experiment: Experiment[Options, LoadSpec, LoadResult],
        options: Options,
        base: LoadSpec,
        measure: Callable[[LoadSpec], LoadResult],
        seconds: Sequence[Second] = (),
    ) -> None:
        """What an experiment itself asks for and finds, where a trial gives what `measure` says."""
        lab = FakeLab(measure)
        experiment.run(options, experiment.plan(options, base), lab)
        for found in lab.results:
            self.trial(found, seconds)
        for finding in lab.findings:
            self.run.write_finding(finding)

    def search(
        self,
        number: int,
        system: str,
        rate: float,
        block: int = 0,
        *,
        beside: Mapping[str, float | None] | None = None,
        hosts: Sequence[str] | None = None,
        **point: str,
    ) -> None:
        """Three steps below, above and at a rate, the last its confirmation, and what was found.

        `beside`: further goals with the rates that were confirmed for them; None = none was.
        """
        step = f"{number:04d}-max-throughput-{system.partition('@')[0]}"
        for place, (share, state) in enumerate(((0.9, {}), (1.2, _FAILED), (1.0, {})), 1):
            name = f"{step}-s{place:02d}{'-confirm' if place == 3 else ''}"
            made = trial(system, "max-throughput", number, block, point=point)
            made = replace(made, trial_id=name, exploratory=True, msgs_per_s=share * rate, rate_rule=SEARCHED)
            self.trial(loaded(made, **state), hosts=hosts)
        rates = {"no limit": rate, **(beside or {})}
        goals = [_goal(name, found, f"{step}-s03-confirm") for name, found in rates.items()]
        rows = tuple({"goal": name, "msg/s": found} for name, found in rates.items())
        summary = tuple(
            f"{name}: sustains {found:,.0f} msg/s" if found else f"{name}: no rate was confirmed"
            for name, found in rates.items()
        )
        decided = all(found is not None for found in rates.values())
        figures = {"sustainable_msgs_per_s": rate}
        details = {"trials": 3, "goals": goals}
        self.run.write_finding(
            Finding(step, "max-throughput", system, block, decided, summary, rows, details, figures, point=point)
        )

    def curve(self, number: int, system: str, full: float, scale: float = 1.0, **point: str) -> None:
        """Ten loads up to a rate, and one beyond it that was not sustained."""
        step = f"{number:04d}-curve-{system.partition('@')[0]}"
        points = [
            {
                "share": share / 10,
                "offered_msgs_per_s": full * share / 10,
                "response_p50_ms": scale * (1 + share / 10),
                "response_p99_ms": scale * (4 + 2.0 ** (share - 4)),
                "end_to_end_p99_ms": scale * (5 + 2.0 ** (share - 4)),
                "state": "sustained" if share <= 10 else "not sustained (backlog)",
            }
            for share in range(1, 12)
        ]
        self.run.write_finding(
            Finding(step, "curve", system, 0, True, ("11 loads",), (), {"points": points}, point=point)
        )

    def done(self) -> Path:
        """Plan and end it."""
        self.run.write_plan(self._planned)
        self.run.finish("finished")
        return self.run.path


_FAILED: Mapping[str, object] = {"validity": Validity.INVALID, "reasons": (Reason(ReasonKind.OTHER, "short of CPU"),)}


def _goal(name: str, rate: float | None, confirmation: str) -> Mapping[str, object]:
    """One goal of a search as it is stored, with a bracket of 3% either way; `rate` None: there was no answer."""
    if rate is None:
        return {"goal": name, "decided": False, "problem": "no rate was confirmed"}
    return {
        "goal": name, "sustainable_msgs_per_s": rate, "lower_msgs_per_s": 0.97 * rate, "decided": True,
        "upper_msgs_per_s": 1.03 * rate, "confirmation_trial_id": confirmation,
    }  # fmt: skip


def _figures(number: int, one: Second, made: TrialSpec) -> SecondFigures:
    """A second as a load generator sends it: the last subscription of a trial with late readers is late."""
    base = second(number)
    sent, samples = int(one.msgs_per_s), 1000 if one.msgs_per_s else 0
    response, times = _samples(one.scale, samples), _samples(1.3 * one.scale, samples)
    if isinstance(made, LoadSpec) and made.late is not None:
        prompt = made.workload.subscriptions - made.late.subscriptions
        readers = [_reader(place, sent, 10, times) for place in range(prompt)]
        received = int(one.received or 0.0)
        readers.append(_reader(prompt, received, one.backlog, _samples(900.0, 60 if received else 0)))
    else:
        readers = [_reader(0, sent if one.received is None else int(one.received), 10, times)]
    return replace(base, acked=sent, sent=sent, response=response, subscriptions=tuple(readers), in_flight=sent // 50)


def _reader(place: int, received: int, backlog: int, times: bytes) -> SubscriptionSecond:
    return SubscriptionSecond(f"sub-{place}", received, received * 1024, backlog, 0, 0, 0, times)


def _telemetry(directory: object, number: int, hosts: Sequence[str]) -> None:
    begin = 5 * _NS + number * _NS
    others = tuple(
        OtherHostUse(
            host,
            1.0,
            replace(
                SAMPLE.host,
                cpu_s=0.4 * (place + 1),
                network_sent_bytes=SENT_BYTES.get(host, 20),
                network_received_bytes=SENT_BYTES.get(host, 10) // 10,
            ),
        )
        for place, host in enumerate(hosts)
    )
    looked = replace(SAMPLE, number=number + 1, from_mono_ns=begin, until_mono_ns=begin + _NS, others=others)
    directory.telemetry.append_sample(looked)  # type: ignore[attr-defined]


def _window(seconds: Sequence[Second]) -> dict[str, int]:
    inside = [number for number, one in enumerate(seconds) if one.phase not in ("warm-up", "drain")] or [0]
    return {"from_mono_ns": (5 + inside[0]) * _NS, "until_mono_ns": (6 + inside[-1]) * _NS}


def one_system(runs: Path) -> Path:
    """One trial of one system at one rate: one point, and a whisker from within the trial."""
    maker = Maker(runs, "one-system")
    maker.trial(loaded(trial(KAFKA, "latency", 1)), hosts=())
    return maker.done()


def three_blocks(runs: Path) -> Path:
    """Peaks and one rate, three times each, of three systems; all of one system's peaks are INVALID."""
    maker = Maker(runs, "three-blocks")
    number = 0
    for block in range(3):
        for place, system in enumerate(THREE, 1):
            number += 1
            bad = _FAILED if system == RABBITMQ else {}
            peak = trial(system, "peak", number, block)
            maker.trial(loaded(peak, rate=40_000.0 * place * (1 + 0.1 * block), **bad))
            number += 1
            maker.trial(loaded(trial(system, "latency", number, block), place * (1 + 0.2 * block)))
    maker.run.write_ceilings(ceilings())
    maker.run.price = Price(0.34, "USD")
    return maker.done()


def sweep_of_three(runs: Path) -> Path:
    """p99 is 7.8 ms, times the system's place, times the place of the number of partitions, half of that at level 4."""
    maker = Maker(runs, "sweep-of-three")
    points = [(n, level) for n in ("1", "100", "1000") for level in ("2 bypass", "4")]
    for number, (partitions, level) in enumerate(points, 1):
        for place, system in enumerate(THREE, 1):
            scale = place * (("1", "100", "1000").index(partitions) + 1) / (2 if level == "4" else 1)
            made = trial(system, "latency", number, point={"partitions": partitions, "durability": level})
            maker.trial(loaded(replace(made, trial_id=f"{made.trial_id}-{partitions}-{level[0]}"), scale))
    return maker.done()


def sweep_of_levels(runs: Path) -> Path:
    """One system at levels 2 and 4, with a p99 of 15.6 and 7.8 ms."""
    maker = Maker(runs, "sweep-of-levels")
    for number, (level, scale) in enumerate((("2", 2.0), ("4", 1.0)), 1):
        maker.trial(loaded(trial(KAFKA, "latency", number, point={"durability": level}), scale))
    return maker.done()


HEAT_ROWS, HEAT_COLUMNS = ("1", "10", "100", "1000"), ("none", "lz4", "gzip")
"""Numbers of partitions, and kinds of compression as the campaign lists them."""


def heat_ms(partitions: str, compression: str) -> float:
    """Kafka's p99: 10 ms times the place of the number of partitions; with lz4 hardly more, with gzip twice."""
    return 10.0 * (HEAT_ROWS.index(partitions) + 1) * {"none": 1.0, "lz4": 1.005, "gzip": 2.0}[compression]


HEAT_ODD = {("10", "gzip"): "doubtful", ("100", "lz4"): "invalid", ("1000", "gzip"): "missing"}
"""Points of Kafka that are not as the others: DOUBTFUL in one block, INVALID in all, without any trial."""


def sweep_of_two_axes(runs: Path) -> Path:
    """Kafka as `heat_ms` says and Pulsar half of it, three blocks; Pulsar at 1 and gzip has too few samples for p99."""
    maker = Maker(runs, "sweep-of-two-axes")
    points = [(partitions, compression) for partitions in HEAT_ROWS for compression in HEAT_COLUMNS]
    listed = (f"partitions={partitions}, compression={compression}" for partitions, compression in points)
    maker.run.write_meaning({}, {f"sweep[{place}]": words for place, words in enumerate(listed, 1)})
    number = 0
    for block in range(3):
        for partitions, compression in sorted(points):
            for system, share in ((KAFKA, 1.0), (PULSAR, 0.5)):
                number += 1
                odd = HEAT_ODD.get((partitions, compression), "") if system == KAFKA else ""
                if odd == "missing":
                    continue
                point = {"partitions": partitions, "compression": compression}
                made = trial(system, "latency", number, block, point=point)
                bad: Mapping[str, object] = _FAILED if odd == "invalid" else {}
                if odd == "doubtful" and block == 1:
                    bad = {**_FAILED, "validity": Validity.DOUBTFUL}
                found = loaded(made, share * heat_ms(partitions, compression) * (1 + block / 500) / 7.8, **bad)
                if (system, partitions, compression) == (PULSAR, "1", "gzip"):
                    found = replace(found, response=replace(found.response, p99_ms=None, p999_ms=None))
                maker.trial(found)
    return maker.done()


DESIGN_VALUES = {
    "partitions": ("1", "10", "100"),
    "batch-size": ("16KiB", "64KiB", "1MiB"),
    LINGER: ("0", "5", "20"),
    "compression": ("none", "lz4", "gzip"),
}
DESIGN_POINTS = [
    {axis: values[place] for (axis, values), place in zip(DESIGN_VALUES.items(), point, strict=True)}
    for point in design_points(Design.PAIRWISE, (3, 3, 3, 3))
]


def scale_in_design(point: Mapping[str, str], block: int) -> float:
    """p99 is 4 times as high at the last partitions, twice at the last linger.ms, and up to 1 % off by chance."""
    chance = 1 + 0.002 * ((DESIGN_POINTS.index(dict(point)) * 7 + block * 5) % 11 - 5)
    steps = {"1": 1.0, "10": 2.0, "100": 4.0}[point["partitions"]]
    return steps * {"0": 1.0, "5": 1.4, "20": 2.0}[point[LINGER]] * chance


def sweep_of_a_design(runs: Path) -> Path:
    """A pairwise design of four fields, of which two do something; two repeats."""
    maker = Maker(runs, "sweep-of-a-design")
    for block in (0, 1):
        for number, point in enumerate(DESIGN_POINTS, 1 + block * len(DESIGN_POINTS)):
            maker.trial(loaded(trial(KAFKA, "latency", number, block, point=point), scale_in_design(point, block)))
    return maker.done()


def sweep_of_settings(runs: Path) -> Path:
    """A client's setting with dots in its name, sizes with units, and a closed loop; two repeats."""
    maker = Maker(runs, "sweep-of-settings")
    number = 0
    for linger in ("1", "20"):
        for size in ("16KiB", "128KiB", "1MiB"):
            for block in range(2):
                number += 1
                point = {LINGER: linger, "batch-size": size}
                made = trial(KAFKA, "peak", number, block, point=point)
                maker.trial(loaded(made, rate=100_000.0 * int(linger) / 20 + 1_000.0 * number))
    return maker.done()


def six_systems(runs: Path) -> Path:
    """A peak and one rate of six systems; the last one's peak is INVALID. Times are as many as its place says."""
    maker = Maker(runs, "six-systems")
    for place, system in enumerate(SIX, 1):
        bad = _FAILED if system == SIX[-1] else {}
        maker.trial(loaded(trial(system, "peak", 2 * place - 1), rate=30_000.0 * place, **bad))
        maker.trial(loaded(trial(system, "latency", 2 * place), float(place)))
    return maker.done()


def nine_systems(runs: Path) -> Path:
    """Of nine systems one rate, at which times are as many as the place says, and searches at levels 2 and 4.

    Each sustains 10,000 msg/s times its place at level 2, twice that at level 4.
    """
    maker = Maker(runs, "nine-systems")
    for place, system in enumerate(sorted(NINE), 1):
        maker.trial(loaded(trial(system, "latency", place), float(place)))
        for number, level in enumerate(("2", "4"), 1):
            maker.search(100 * number + place, system, 10_000.0 * place * number, durability=level)
    return maker.done()


def sweep_with_gaps(runs: Path) -> Path:
    """p99 of two systems at four numbers of partitions: at 10 nobody has a figure, at 100 only Pulsar."""
    maker = Maker(runs, "sweep-with-gaps")
    for number, partitions in enumerate(("1", "10", "100", "1000"), 1):
        for place, system in enumerate((KAFKA, PULSAR), 1):
            bad = partitions == "10" or (partitions == "100" and system == KAFKA)
            made = trial(system, "latency", 2 * number + place, point={"partitions": partitions})
            maker.trial(loaded(made, float(place * number), **(_FAILED if bad else {})))
    return maker.done()


def sweep_of_rates(runs: Path) -> Path:
    """Response times at 10,000, 20,000 and 40,000 msg/s, of which each is a load of its own."""
    maker = Maker(runs, "sweep-of-rates")
    for number, rate in enumerate(("10000", "20000", "40000"), 1):
        for place, system in enumerate((KAFKA, PULSAR), 1):
            made = trial(system, "latency", 2 * number + place, point={"rate": rate}, msgs_per_s=float(rate))
            maker.trial(loaded(made, float(place * number)))
    return maker.done()


def long_trial(runs: Path) -> Path:
    """900 s at 20,000 msg/s: nothing in the 300th to 302nd, 40,000 in the 600th, and from 700 to 709 no row at all."""
    maker = Maker(runs, "long-trial")
    rates = {**dict.fromkeys(range(300, 303), 0.0), 600: 40_000.0}
    seconds = [Second("warm-up", 20_000.0) for _ in range(WARMUP_S)]
    seconds += [Second("measure", rates.get(second, 20_000.0)) for second in range(900)]
    missing = range(WARMUP_S + 700, WARMUP_S + 710)
    maker.trial(loaded(trial(KAFKA, "latency", 1, measure_s=900.0)), [*seconds, Second("drain", 0.0)], missing=missing)
    return maker.done()


def search_of_a_sweep(runs: Path) -> Path:
    """The rates of `SUSTAINED`, each found at its own point."""
    maker = Maker(runs, "search-of-a-sweep")
    number = 0
    for (partitions, level), rates in SUSTAINED.items():
        for system, rate in zip((KAFKA, PULSAR), rates, strict=True):
            number += 1
            maker.search(number, system, rate, partitions=partitions, durability=level)
    return maker.done()


def search_of_a_long_sweep(runs: Path) -> Path:
    """300,000 msg/s of Kafka, twice that of Pulsar, over the place of the number of partitions among ten."""
    maker = Maker(runs, "search-of-a-long-sweep")
    for number, partitions in enumerate(LONG_SWEEP, 1):
        for place, system in enumerate((KAFKA, PULSAR), 1):
            maker.search(2 * number + place, system, place * 300_000.0 / number, partitions=partitions)
    return maker.done()


def search_of_goals(runs: Path) -> Path:
    """Two goals: 50,000 and 20,000 msg/s of Kafka; 100,000 of Pulsar, and no rate for the second goal."""
    maker = Maker(runs, "search-of-goals")
    maker.search(1, KAFKA, 50_000.0, beside={"prompt": 20_000.0}, hosts=())
    maker.search(2, PULSAR, 100_000.0, beside={"prompt": None}, hosts=())
    return maker.done()


def search_of_blocks(runs: Path) -> Path:
    """50,000, 60,000 and 55,000 msg/s of Kafka, twice that of Pulsar."""
    maker = Maker(runs, "search-of-blocks")
    for block, rate in enumerate((50_000.0, 60_000.0, 55_000.0)):
        for place, system in enumerate((KAFKA, PULSAR), 1):
            maker.search(2 * block + place, system, place * rate, block)
    return maker.done()


TAKEN = {KAFKA: 50_000.0, PULSAR: 100_000.0}
"""The most msg/s that each system takes in a search of its own."""
FIRST_MS = {KAFKA: 6.0, PULSAR: 12.0}
"""p99 without load; it is three times as long at the most that a system takes."""


def search_with_doubt(runs: Path) -> Path:
    """Real searches for `TAKEN` and for a p99 of 10 ms, which Pulsar never has; Kafka's confirmations are DOUBTFUL."""
    maker = Maker(runs, "search-with-doubt")
    goals = [{"name": "no limit"}, {"name": "prompt", "response-p99-max": "10ms"}]
    options = MAX_THROUGHPUT.options.model_validate({"goals": goals, "measure": "12s", "confirm": "24s"})
    for number, system in enumerate((KAFKA, PULSAR), 1):
        maker.find(MAX_THROUGHPUT, options, trial(system, MAX_THROUGHPUT.name, number), _searched)
    return maker.done()


def _searched(made: LoadSpec) -> LoadResult:
    """What a trial of a search gives: all that is offered up to the most, and times that grow with the load."""
    most = TAKEN[made.system]
    rate = most if made.msgs_per_s is None else min(most, made.msgs_per_s)
    found = loaded(made, FIRST_MS[made.system] / 7.8 * (1 + 2 * rate / most), rate)
    found = replace(found, offered_msgs_per_s=made.msgs_per_s, subscriptions=_without_backlog(found))
    doubted = made.system == KAFKA and made.is_confirmation
    return replace(found, validity=Validity.DOUBTFUL, reasons=(_DISTURBED,)) if doubted else found


_DISTURBED = Reason(ReasonKind.OTHER, "other programs had 12% of the CPUs")


def _without_backlog(found: LoadResult) -> tuple[SubscriptionResult, ...]:
    (only,) = found.subscriptions
    return (replace(only, backlog_growth=Slope(0.0, -5.0, 5.0)),)


TAKEN_BY_PARTITION = {KAFKA: 6_500.0, PULSAR: 13_000.0}
"""msg/s: 8 and 4 partitions take 50,000."""


def sizing(runs: Path) -> Path:
    """Real searches for the smallest number of partitions that takes 50,000 msg/s."""
    maker = Maker(runs, "sizing")
    options = SIZING.options.model_validate({"of": "partitions", "rate": "50k", "largest": 64, "confirm": "24s"})

    def measure(made: LoadSpec) -> LoadResult:
        found = loaded(made, rate=min(50_000.0, TAKEN_BY_PARTITION[made.system] * made.workload.partitions))
        return replace(found, offered_msgs_per_s=made.msgs_per_s, subscriptions=_without_backlog(found))

    for number, system in enumerate((KAFKA, PULSAR), 1):
        maker.find(SIZING, options, trial(system, SIZING.name, number), measure)
    return maker.done()


def curves_of_a_sweep(runs: Path) -> Path:
    """Curves at 1 and 100 partitions: two pictures of each figure."""
    maker = Maker(runs, "curves-of-a-sweep")
    for number, partitions in enumerate(("1", "100"), 1):
        for place, system in enumerate((KAFKA, PULSAR), 1):
            made = trial(system, "curve", number * 2 + place, exploratory=True, point={"partitions": partitions})
            maker.trial(loaded(made))
            maker.curve(number * 2 + place, system, 50_000.0 * number, float(place), partitions=partitions)
    return maker.done()


def _chasing(system: str) -> list[Second]:
    """Backlog grows until readers begin, and is then worked off evenly."""
    before, during = CHASE[system]
    rate, number = float(CHASE_MSGS_PER_S), BACKLOG_MSGS // CHASE_MSGS_PER_S
    phases = ["warm-up"] * (number - before) + ["before"] * before
    seconds = [Second(phase, rate, 1.0, CHASE_MSGS_PER_S * place) for place, phase in enumerate(phases, 1)]
    seconds += [
        Second("during", rate, 4.0, int(BACKLOG_MSGS * (1 - (n + 1) / during)), rate + BACKLOG_MSGS / during)
        for n in range(during)
    ]
    return [*seconds, *(Second("after", rate, 1.0, 100, rate) for _ in range(5)), Second("drain", 0.0, 1.0, 0)]


def _late(runs: Path, name: str, experiment: Experiment[ChaseOptions, LoadSpec, LoadResult], *systems: str) -> Path:
    """What the experiment itself finds in these seconds."""
    maker = Maker(runs, name)
    options = experiment.options.model_validate({"rate": "20k", "backlog": "480k messages", "measure": "14s"})

    def measure(made: LoadSpec) -> LoadResult:
        seconds = _chasing(made.system)
        # Most of the time times are four times as long.
        found = loaded(made, 3.5, measured_s=float(sum(CHASE[made.system]) + 5))
        (only,) = found.subscriptions
        names = [f"sub-{place}" for place in range(made.workload.subscriptions)]
        chase = _chase_of_seconds(made, seconds)
        acked = CHASE_MSGS_PER_S * sum(one.phase != "drain" for one in seconds)
        readers = tuple(replace(only, name=one, received=acked) for one in names)
        return replace(found, sent=acked, acked=acked, subscriptions=readers, catch_up=chase)

    for number, system in enumerate(systems, 1):
        maker.find(experiment, options, trial(system, experiment.name, number), measure, _chasing(system))
    return maker.done()


def _chase_of_seconds(made: LoadSpec, seconds: Sequence[Second]) -> CatchUp:
    assert made.late is not None
    _, during = CHASE[made.system]
    tally = PhaseTally(late_names(made.workload.subscriptions, made.late), made.workload.subscriptions > 1)
    for number, one in enumerate(seconds):
        tally.take(one.phase, _figures(number, one, made))
    gone_at_msgs = gone_at(BACKLOG_MSGS, made.late.drained_share, CHASE_MSGS_PER_S)
    chase_s = during * (1 - gone_at_msgs / BACKLOG_MSGS)
    build_s = BACKLOG_MSGS / CHASE_MSGS_PER_S
    times = ChaseTimes(BACKLOG_MSGS, gone_at_msgs, build_s, chase_s, float(during), 0)
    message_bytes = made.workload.payload.message_bytes
    backlog_bytes = BACKLOG_MSGS * message_bytes
    reads = DeviceReads(backlog_bytes, 0.0, backlog_bytes, float(during))
    return catch_up_of(tally, times, message_bytes, reads)


def catch_up(runs: Path) -> Path:
    """Two systems that chase for 30 and 60 s: from 24 s before to 35 and 65 s after readers begin."""
    return _late(runs, "catch-up", CATCH_UP, KAFKA, PULSAR)


def catch_up_alone(runs: Path) -> Path:
    """One trial, with its phases."""
    return _late(runs, "catch-up-alone", CATCH_UP, KAFKA)


def mixed(runs: Path) -> Path:
    """One reader that tails beside a late one."""
    return _late(runs, "mixed", MIXED, KAFKA, PULSAR)


def faults(runs: Path) -> Path:
    """A pause from 2 to 3.5 s and a restart from 6 s, until 8 s with one system and until 10 s with the other."""
    maker = Maker(runs, "faults")
    kinds = (Fault(FaultKind.PAUSE, 2.0, "leader", 1.5), Fault(FaultKind.RESTART, 6.0, "random"))
    for number, (system, back_s) in enumerate(((KAFKA, 8.0), (PULSAR, 10.0)), 1):
        ends = (3.5, back_s)
        found = tuple(
            FaultResult(kind, (2,), kind.at_s, end, 1.0, 2.0, 4.2, 1530.0, 3.98, 0, 5, 1, 0, 0)
            for kind, end in zip(kinds, ends, strict=True)
        )
        down = {WARMUP_S + n for kind, end in zip(kinds, ends, strict=True) for n in range(int(kind.at_s), int(end))}
        seconds = steady(20_000.0)
        seconds = [replace(one, msgs_per_s=0.0, scale=400.0) if n in down else one for n, one in enumerate(seconds)]
        rate = fmean(one.msgs_per_s for one in seconds if one.phase == "measure")
        faulted = replace(loaded(trial(system, "latency", number, faults=kinds), rate=rate), faults=found)
        maker.trial(faulted, seconds, hosts=())
    return maker.done()


def several_load_generators(runs: Path) -> Path:
    """Three load generators, on three hosts of a fleet."""
    maker = Maker(runs, "several-load-generators")
    for number, system in enumerate((KAFKA, PULSAR), 1):
        made = trial(system, "latency", number, apart=True, load_hosts=3)
        found = replace(several(made), level=_level(3))
        maker.trial(found, hosts=("10.0.0.2", "10.0.0.3"))
    return maker.done()


LINKS_MB_PER_S = {f"10.77.0.{number}": 1_250.0 for number in range(2, 7)} | {"10.77.0.6": 0.125}
"""Of a fleet's hosts, each way: the last one's carries 1 Mbit/s."""
SENT_BYTES = {"10.77.0.5": 40_000_000, "10.77.0.6": 120_000}
"""What load hosts of a fleet sent in each second; a tenth of that they received."""


def hosts_at_work(servers: int, load_hosts: int) -> dict[str, HostAtWork]:
    """Hosts of a fleet, a node or a load generator each, the last of the servers with a ZooKeeper beside its node."""
    disk = {"/data": {"file_system": "xfs", "devices": "nvme1n1"}}
    facts = HostFacts(
        hostname="host", kernel="Linux 6.1.0-28 #1 SMP", distribution="Debian 12", cpu_model="Xeon Gold 6326", cpus=16,
        cpu_governor="performance", memory_bytes=64 << 30, swap_bytes=0, clock_source="tsc",
        transparent_huge_pages="madvise",
    )  # fmt: skip
    hosts = {}
    for place in range(servers + load_hosts):
        address, number = f"10.77.0.{place + 2}", place - servers + 1
        rate = LINKS_MB_PER_S.get(address, 1_250.0) * 1e6
        is_server = place < servers
        hosts[address] = HostAtWork(
            facts=replace(facts, disks=disk) if is_server else replace(facts, cpus=8, memory_bytes=32 << 30),
            nodes=(place + 1,) if is_server else (),
            load_generators=() if is_server else (number,),
            keeper=place == servers - 1,
            link=HostLink(rate, 0.96 * rate),
        )
    return hosts


def fleet(runs: Path, servers: int = 3, load_hosts: int = 2) -> Path:
    """Servers and load generators on hosts of their own; the clocks of load hosts 1 and 2 are known to 9 us."""
    maker = Maker(runs, "fleet")
    hosts = hosts_at_work(servers, load_hosts)
    maker.run.write_environment({"host": {"hostname": "laptop", "cpus": 4}, "hosts": plain_value(hosts)})
    for number, system in enumerate((KAFKA, PULSAR), 1):
        made = trial(system, "latency", number, apart=True, nodes=servers, load_hosts=load_hosts)
        found = replace(several(made, load_hosts), level=_level(3), clocks=(ClockBound(1, 2, -9_000.0, 9_000.0),))
        maker.trial(found, hosts=tuple(hosts))
    return maker.done()


def fleet_of_twenty(runs: Path) -> Path:
    """Twelve hosts of servers, eight of load generators."""
    return fleet(runs, 12, 8)


def schedule(runs: Path) -> Path:
    """6 s at 10,000 msg/s, then 6 s at 40,000."""
    steps = (RatePhase(10_000.0, 10_000.0, 6.0, 0), RatePhase(40_000.0, 40_000.0, 6.0, 1))
    plan = RateSchedule(steps, ("step 1", "step 2"))
    maker = Maker(runs, "schedule")
    for number, system in enumerate((KAFKA, PULSAR), 1):
        made = trial(system, "latency", number, schedule=plan, msgs_per_s=10_000.0, rate_rule=RateRule("steps"))
        each = [
            RecordResult(name, 6.0, rate, rate, 60_000, 0, latency(place + 1.0), latency(), latency(0.1), latency(1.3))
            for place, (name, rate) in enumerate((("step 1", 10_000.0), ("step 2", 40_000.0)))
        ]
        found = replace(loaded(made), records=tuple(each), offered_msgs_per_s=25_000.0, msgs_per_s=25_000.0)
        seconds = [replace(one, msgs_per_s=40_000.0) if 10 <= n < 16 else one for n, one in enumerate(steady(10_000.0))]
        maker.trial(found, seconds)
    return maker.done()


def reading_alone(runs: Path) -> Path:
    """Consumers alone, on two hosts of a fleet, of messages that were sent before."""
    maker = Maker(runs, "reading-alone")
    made = trial(KAFKA, "read", 1)
    workload = replace(made.workload, producers=0, existing_topics=("orders",), arrival=Arrival.CLOSED_LOOP)
    found = ReadResult(
        spec=ReadSpec(**replace(made, workload=workload).shared, drain_s_max=5.0),
        started_at="2026-11-21T03:24:36+00:00", status="finished", msgs_per_s=50_000.0, mb_per_s=51.2,
        subscriptions=(ReadSubscription(name="sub-0", received=500_000, corrupt=0, foreign=500_000),),
        errors=(), worker_cpu_s=5.0, server_cpu_s=None, gc_pause_s=0.1, measured_s=10.0, level=_level(3),
    )  # fmt: skip
    maker.trial(found, [Second("measure", 0.0, received=50_000.0) for _ in range(10)], hosts=("10.0.0.2",))
    return maker.done()


def attest(runs: Path) -> Path:
    """Cuts of the power: sentences and a table, and no picture."""
    maker = Maker(runs, "attest")
    made = AttestSpec(**spec(experiment="attest").shared, msgs_per_s=2000.0, attest=PLAN)
    maker.trial(attested(made, outcome(cycle())))
    maker.run.write_finding(
        Finding(
            "0001-attest-kafka", "attest", KAFKA, 0, True, ("20 cuts",), (), {}, attestations=(attestation(level=3),)
        )
    )
    return maker.done()


def published(runs: Path) -> Path:
    """All claims of a published report beside this run's figures: at 1 and 100 partitions, and at two levels."""
    maker = Maker(runs, "published")
    number = 0
    for partitions in ("1", "100"):
        for level in ("1", "2"):
            for system, scale in ((KAFKA, 5.0), (PULSAR, 1.0)):
                number += 1
                point = {"partitions": partitions, "durability": level}
                made = trial(system, "latency", number, point=point)
                made = replace(made, rate_rule=RateRule("50%", is_share=True))
                maker.trial(loaded(made, scale))
    path = maker.done()
    claims = tuple(claim.id for claim in published_report("streamnative-2020").claims)
    choice = Choice("streamnative-2020", claims, ("one machine",))
    store.keep_published(path, examine_claims(choice, store.load_run(path)))
    return path


def all_invalid(runs: Path) -> Path:
    """Nothing that may be used: hollow points, and figures that say INVALID."""
    maker = Maker(runs, "all-invalid")
    for number, system in enumerate((KAFKA, PULSAR), 1):
        maker.trial(loaded(trial(system, "latency", number), **_FAILED))
    return maker.done()


def nothing_acknowledged(runs: Path) -> Path:
    """A load of which nothing came through: there is no figure, and so no picture."""
    maker = Maker(runs, "nothing-acknowledged")
    empty = latency(count=0)
    empty = replace(empty, mean_ms=0.0, p50_ms=None, p75_ms=None, p90_ms=None, max_ms=0.0)
    (only,) = result().subscriptions
    unread = (replace(only, received=0, end_to_end=empty),)
    found = loaded(
        trial(KAFKA, "peak", 1), rate=0.0, response=empty, service=empty, acked=0, subscriptions=unread, **_FAILED
    )
    maker.trial(found, [Second("measure", 0.0) for _ in range(3)])
    return maker.done()


VARIANTS = {
    "linger-0": (3.0, 3.3, 2.7, 3.0, 3.0),
    "linger-20": (23.0, 23.5, 22.6, 23.1, 22.8),
    "acks-1": (2.9, 3.2, 2.7),
}
"""Response p99 in ms by variant and block; linger-0 is what the others are compared with, within 1 ms."""


def variants(runs: Path) -> Path:
    """Three variants, interleaved over five blocks of which one variant has three."""
    maker = Maker(runs, "variants")
    maker.run.variants = tuple(
        Variant(name, {"producer linger.ms": linger, "producer acks": acks})
        for name, linger, acks in (("linger-0", "0", "all"), ("linger-20", "20", "all"), ("acks-1", "0", "1"))
    )
    maker.run.same_within = SameWithin(ms=1.0)
    number = 0
    for block in range(5):
        for name, values in VARIANTS.items():
            if block < len(values):
                number += 1
                made = trial(KAFKA, "latency", number, block, point={"variant": name})
                maker.trial(loaded(made, values[block] / 7.8))
    return maker.done()


UNNAMED = {
    "linger.ms=0 compression.type=none": (3.0, 3.3, 2.7),
    "linger.ms=20 compression.type=lz4": (23.0, 23.5, 22.6),
    "linger.ms=20 compression.type=zstd": (24.0, 24.4, 23.7),
    "linger.ms=100 compression.type=zstd": (101.0, 104.0, 99.0),
}
"""Response p99 in ms by variant and block, of variants that are called by what they set."""


def variants_without_names(runs: Path) -> Path:
    """Four variants with the names that settings give them, which are long and begin alike."""
    maker = Maker(runs, "variants-without-names")
    maker.run.variants = tuple(
        Variant(name, {f"producer {key}": value for key, value in (part.split("=") for part in name.split())})
        for name in UNNAMED
    )
    for number, (block, (name, values)) in enumerate(
        ((block, each) for block in range(3) for each in UNNAMED.items()), 1
    ):
        made = trial(KAFKA, "latency", number, block, point={"variant": name})
        maker.trial(loaded(made, values[block] / 7.8))
    return maker.done()


GALLERY: Mapping[str, Callable[[Path], Path]] = {
    "sample": sample_run,
    "one-system": one_system,
    "three-blocks": three_blocks,
    "six-systems": six_systems,
    "nine-systems": nine_systems,
    "long-trial": long_trial,
    "variants": variants,
    "variants-without-names": variants_without_names,
    "sweep-of-three": sweep_of_three,
    "sweep-of-two-axes": sweep_of_two_axes,
    "sweep-of-levels": sweep_of_levels,
    "sweep-of-a-design": sweep_of_a_design,
    "sweep-of-settings": sweep_of_settings,
    "sweep-of-rates": sweep_of_rates,
    "sweep-with-gaps": sweep_with_gaps,
    "search-of-a-sweep": search_of_a_sweep,
    "search-of-a-long-sweep": search_of_a_long_sweep,
    "search-of-goals": search_of_goals,
    "search-of-blocks": search_of_blocks,
    "search-with-doubt": search_with_doubt,
    "sizing": sizing,
    "curves-of-a-sweep": curves_of_a_sweep,
    "catch-up": catch_up,
    "catch-up-alone": catch_up_alone,
    "mixed": mixed,
    "faults": faults,
    "several-load-generators": several_load_generators,
    "fleet": fleet,
    "fleet-of-twenty": fleet_of_twenty,
    "schedule": schedule,
    "reading-alone": reading_alone,
    "attest": attest,
    "published": published,
    "all-invalid": all_invalid,
    "nothing-acknowledged": nothing_acknowledged,
    "cut-off": interrupted_run,
}
