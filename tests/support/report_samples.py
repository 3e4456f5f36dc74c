"""A run directory with everything that reports show, made by the store itself from invented but plausible figures."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

from run_samples import encoded_many, latency, result, second, spec, times_ns, totals

from tidegauge import store
from tidegauge.model.ceilings import (
    Ceilings,
    DiskCeiling,
    LoopbackCeiling,
    MemoryCeiling,
    RunCeilings,
    SyncCeiling,
)
from tidegauge.model.finding import Finding
from tidegauge.model.level import Agreement, LevelFinding, SyncFinding
from tidegauge.model.load import SecondFigures, TotalFigures
from tidegauge.model.reason import Reason, ReasonKind
from tidegauge.model.server import Distribution, Setting
from tidegauge.model.tilt import Severity, Stage, Tilt
from tidegauge.model.trial import AS_FAST_AS_IT_GOES, SEARCHED, LoadResult, LoadSpec, RateRule, Validity
from tidegauge.model.workload import Arrival
from tidegauge.usage import Price

KAFKA, PULSAR = "kafka@4.3.1", "pulsar@4.2.4"
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&</textarea>"
_NS = 1_000_000_000
_WARMUP_S, _MEASURE_S = 4, 12
_EVEN_SHARES = [(place + 0.5) / 4_000 for place in range(4_000)]


def ceilings(disk: str = "ext4 on vda", **changes: object) -> RunCeilings:
    """Those of a middling machine with one disk."""
    syncs = (SyncCeiling("fdatasync", 4096, 1, 1500, 750.0, 1.2, 2.5, 4.0, 12.0),)
    measured = Ceilings(
        measured_at="2026-11-21T03:20:00+00:00",
        machine="boot/2",
        disks=(DiskCeiling("/data", "254:0", disk, True, 500e6, 900e6, 1 << 20, 4, syncs),),
        loopback=LoopbackCeiling(2e9, 20.0, 60.0),
        memory=MemoryCeiling(9e9, 2),
    )
    return replace(RunCeilings(measured, 276.0, True, ("254:0",)), **changes)  # type: ignore[arg-type]


def sample_run(runs: Path, name: str = "sample", hostile: str = "", trials: int = 2) -> Path:
    """A finished run: `peak` and `latency`, so many trials of each, a search and a curve, on two systems.

    `hostile` stands wherever servers, users or files have a say.
    """
    run = store.create_run(
        runs, name, f"name: {name}\nsystems: [kafka, pulsar]\n# {hostile}\n", f"campaigns/{name}.yaml"
    )
    made: list[LoadResult] = []
    number = 0
    for block in range(trials):
        for experiment in ("peak", "latency"):
            for system in (KAFKA, PULSAR):
                number += 1
                made.append(_trial(run, _spec(system, experiment, number, block), hostile))
    for system in (KAFKA, PULSAR):
        number += 2
        made += _search(run, system, number - 1)
        made += _curve(run, system, number)
    run.write_plan([one.spec for one in made])
    run.write_environment(
        {
            "host": {"hostname": f"host{hostile}", "cpus": 2, "cpu_model": "Xeon", "memory_bytes": 24 << 30},
            "cpus_online": 2,
            "load_average": [0.5, 0.4, 0.3],
            "java_runtimes": [{"home": "/usr/lib/jvm/25", "version": "25"}],
            "python": {"version": "3.11.2", "executable": "/usr/bin/python3"},
            "tidegauge": {"version": "0.1.0", "git_commit": "0123456789abcdef", "git_modified": False},
            "campaign": {"name": name, "seed": 1, "repeat": trials, "nodes": 1, "overrides": {"repeat": "2"}},
            "packages": {"numpy": "2.4.6"},
        }
    )
    run.write_ceilings(ceilings(f"ext4 on vda{hostile}"))
    run.price = Price(0.34, f"USD{hostile}")
    run.write_tilts([_advice(hostile)])
    run.add_note(f"The page cache is not dropped between trials {hostile}".strip())
    run.finish("finished")
    return run.path


def interrupted_run(runs: Path, name: str = "cut-off") -> Path:
    """A run of one finished trial and one that was cut off, with its seconds."""
    run = store.create_run(runs, name, f"name: {name}\n", f"campaigns/{name}.yaml")
    first, cut = _spec(KAFKA, "latency", 1, 0), _spec(PULSAR, "latency", 2, 0)
    run.write_plan([first, cut])
    _trial(run, first, "")
    directory = run.open_trial(cut)
    for number in range(8):
        directory.append_second(_second(number, cut, random.Random(2)))
    directory.fail("interrupted", interrupted=True)
    run.finish("interrupted", "interrupted by the user")
    return run.path


def _spec(system: str, experiment: str, number: int, block: int) -> LoadSpec:
    made = replace(spec(system, experiment, number, block), measure_s=float(_MEASURE_S))
    if experiment == "peak":
        return replace(made, workload=replace(made.workload, arrival=Arrival.CLOSED_LOOP), rate_rule=AS_FAST_AS_IT_GOES)
    return replace(made, rate_rule=RateRule("50% of lowest peak", is_share=True))


def _scale(trial: LoadSpec) -> float:
    return (0.8 if trial.system == PULSAR else 1.0) * (1 + 0.06 * trial.block)


def _trial(run: store.RunStore, trial: LoadSpec, hostile: str, **changes: object) -> LoadResult:
    directory = run.open_trial(trial)
    dice = random.Random(trial.trial_id)
    for number in range(_WARMUP_S + _MEASURE_S + 2):
        directory.append_second(_second(number, trial, dice))
    level = LevelFinding(
        3,
        (f"flush.messages=1, so each append is fsynced before it is acknowledged {hostile}".strip(),),
        (),
        SyncFinding(Agreement.AGREES, "10 of 10 acknowledgements came after an fdatasync", 10, 10, 1, {"node-1": 10}),
    )
    waited = f"load threads waited for a CPU for 0.21 s in each second {hostile}".strip()
    warnings = (Reason(ReasonKind.CPU_WAIT, waited),)
    used = {"measured_s": _MEASURE_S, "worker_cpu_s": 0.4 * _MEASURE_S}
    found = result(trial, _scale(trial), **{"level": level, "warnings": warnings, **used, **changes})
    directory.write_settings(
        [
            Setting("topic tidegauge-0", "flush.messages", f"1{hostile}", False),
            Setting("broker 1", "num.io.threads", "8", True),
        ],
        [Setting(f"producer {hostile}".strip(), "linger.ms", "1", False)],
        ["-Xmx1g", f"-Dx={hostile}"],
    )
    directory.write_distribution(
        Distribution(
            trial.system.partition("@")[0], trial.system.partition("@")[2], Path("/opt/x"), None, "25", "ab12", "maven"
        )
    )
    if level.syncs is not None:
        directory.write_witness(level.syncs, {})
    directory.write_page_cache(True, "")
    directory.finish(found, _totals(trial))
    return found


def _search(run: store.RunStore, system: str, number: int) -> list[LoadResult]:
    step = f"{number:04d}-max-throughput-{system.partition('@')[0]}"
    made = []
    for place, rate in enumerate((30_000.0, 45_000.0, 60_000.0, 52_000.0), 1):
        base = _spec(system, "max-throughput", number, 0)
        name = f"{step}-s{place:02d}" + ("-confirm" if place == 4 else "")
        trial = replace(base, trial_id=name, msgs_per_s=rate, exploratory=True, rate_rule=SEARCHED)
        doubt = (
            {"validity": Validity.INVALID, "reasons": (Reason(ReasonKind.OTHER, "short of CPU"),)} if place == 2 else {}
        )
        made.append(_trial(run, trial, "", **doubt))
    goal = {
        "goal": "no limit",
        "sustainable_msgs_per_s": 52_000.0,
        "lower_msgs_per_s": 51_000.0,
        "upper_msgs_per_s": 54_000.0,
    }
    row = {"goal": "no limit", "msg/s": 52_000.0, "verdict": "decided"}
    summary = ("sustains 52,000 msg/s, confirmed in a trial of 60 s",)
    run.write_finding(Finding(step, "max-throughput", system, 0, True, summary, (row,), {"goals": [goal]}))
    return made


def _curve(run: store.RunStore, system: str, number: int) -> list[LoadResult]:
    step = f"{number:04d}-curve-{system.partition('@')[0]}"
    points = [
        {
            "share": share / 10,
            "offered_msgs_per_s": 5_200.0 * share,
            "response_p50_ms": 1.0 + share / 10,
            "response_p99_ms": 4.0 + 2.0 ** (share - 4),
            "end_to_end_p99_ms": 5.0 + 2.0 ** (share - 4),
            "state": "sustained" if share <= 10 else "not sustained (backlog)",
        }
        for share in range(1, 12)
    ]
    rows = tuple({"load": f"{point['share']:.0%}", "p99, ms": point["response_p99_ms"]} for point in points)
    run.write_finding(Finding(step, "curve", system, 0, True, ("response at 11 loads",), rows, {"points": points}))
    return []


def _second(number: int, trial: LoadSpec, dice: random.Random) -> SecondFigures:
    base = second(number)
    wave = 0.96 + 0.08 * dice.random()
    acked = int(result(trial, _scale(trial)).msgs_per_s * wave)
    (reader, *_) = base.subscriptions
    end_to_end = encoded_many(_latencies(dice, 60, 1.3 * _scale(trial)))
    return replace(
        base,
        acked=acked,
        sent=acked,
        subscriptions=(replace(reader, received=acked, end_to_end=end_to_end),),
        response=encoded_many(_latencies(dice, 60, _scale(trial))),
        worker_cpu_ns=int(4e8 * wave),
        gc_pause_ns=int(5e6 * dice.random()),
        heap_used_bytes=int((60 + 90 * dice.random()) * (1 << 20)),
        in_flight=int(400 * wave),
    )


def _totals(trial: LoadSpec) -> TotalFigures:
    base = totals()
    begin = 5 * _NS + _WARMUP_S * _NS
    window = replace(
        base.window,
        from_mono_ns=begin,
        until_mono_ns=begin + _MEASURE_S * _NS,
        response=encoded_many(times_ns(_EVEN_SHARES, _scale(trial))),
    )
    (one,) = base.subscriptions
    return replace(
        base,
        window=window,
        subscriptions=(replace(one, end_to_end=encoded_many(times_ns(_EVEN_SHARES, 1.3 * _scale(trial)))),),
    )


def _latencies(dice: random.Random, samples: int, scale: float) -> list[int]:
    return times_ns((dice.random() for _ in range(samples)), scale)


def _advice(hostile: str) -> Tilt:
    return Tilt(
        "same-acks", Severity.ADVICE, Stage.IN_FORCE, (KAFKA, PULSAR), f"acks differ {hostile}".strip(),
        "one waits for more copies", "unknown", "nobody measured it", "set acks=all",
    )  # fmt: skip


__all__ = ["HOSTILE", "KAFKA", "PULSAR", "interrupted_run", "latency", "sample_run"]
