"""Published claims, and runs in which they are confirmed, contradicted or not decided."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from reasons import reasons_of
from run_samples import latency, result, spec

from tidegauge.model.finding import Finding
from tidegauge.model.level import LevelChoice
from tidegauge.model.trial import AS_FAST_AS_IT_GOES, CONFIRMATION, LoadResult, LoadSpec, RateRule, Validity
from tidegauge.model.workload import Workload
from tidegauge.published.across import runs_together
from tidegauge.published.examine import Choice, examine, report_named
from tidegauge.published.model import Claim, Factor, Operand, Ordering, Place, PublishedReport, ServerSetup
from tidegauge.published.observe import ExaminedRun
from tidegauge.published.verdict import ClaimOutcome, ClaimRatio, ClaimVerdict

CONFIRMED, DIRECTION, CONTRADICTED, NOT_DECIDED = ClaimVerdict


def ratio(low: float, high: float, margin: float | None = None) -> ClaimRatio:
    return ClaimRatio((low * high) ** 0.5, low, high, 1 if margin else 5, margin)


def trial(system: str, *, level: int = 1, block: int = 0, partitions: int = 100, rule: str = "50%") -> LoadSpec:
    made = spec(f"{system}@1", number=1, block=block)
    return replace(
        made,
        trial_id=f"latency-{system}-{level}-{block}-{partitions}-{rule}",
        choice=LevelChoice(level),
        workload=Workload(partitions=partitions),
        point={"partitions": str(partitions), "durability": str(level)},
        rate_rule=RateRule.from_text(rule),
    )


def measured(made: LoadSpec, p99_ms: float, **changes: Any) -> LoadResult:
    return result(made, **{"response": replace(latency(), p99_ms=p99_ms), **changes})


def run_of(*results: LoadResult, **more: object) -> ExaminedRun:
    return ExaminedRun(tuple(result.spec for result in results), results, **more)  # type: ignore[arg-type]


def judged(claim: Claim, run: ExaminedRun) -> ClaimOutcome:
    base = report_named("streamnative-2020")
    mine = PublishedReport(**{**dict(base), "claims": [claim], "sections": []})
    return examine(mine, Choice("streamnative-2020", (claim.id,)), run).claims[0]


PULSAR_BELOW = Ordering(
    kind="ordering",
    id="c",
    text="Pulsar below Kafka",
    source="table 2-2",
    figure="publish-p99",
    from_highest=[Operand(system="kafka"), Operand(system="pulsar")],
    common=Place(level=1, partitions=100),
)


def pair(kafka_ms: float, pulsar_ms: float, blocks: int = 1) -> list[LoadResult]:
    return [
        measured(trial(system, block=block), p99_ms * (1 + block / 100))
        for block in range(blocks)
        for system, p99_ms in (("kafka", kafka_ms), ("pulsar", pulsar_ms))
    ]


def doubtful(results: list[LoadResult]) -> list[LoadResult]:
    """The last of them is DOUBTFUL."""
    last = replace(results[-1], validity=Validity.DOUBTFUL, reasons=reasons_of("warm-up not steady"))
    return [*results[:-1], last]


def throughput(system: str, rate: float, decided: bool = True, block: int = 0) -> tuple[LoadSpec, Finding]:
    step_id = f"000{block}-max-throughput-{system}"
    made = replace(
        trial(system, block=block), trial_id=f"{step_id}-s01", experiment="max-throughput", rate_rule=RateRule()
    )
    goal = {"decided": decided, "sustainable_msgs_per_s": rate, "problem": "" if decided else "every trial is INVALID"}
    return made, Finding(step_id, "max-throughput", f"{system}@1", block, decided, (), (), {"goals": [goal]})


def sustained(kafka: float, pulsar: float, decided: bool = True) -> ExaminedRun:
    made = [throughput("kafka", kafka), throughput("pulsar", pulsar, decided)]
    return ExaminedRun(tuple(one for one, _ in made), (), tuple(one for _, one in made))


def peaks(kafka: float, pulsar: float, **changes: Any) -> list[LoadResult]:
    """A peak of each system, in msg/s."""
    return [
        measured(
            replace(
                trial(system),
                trial_id=f"0001-peak-{system}",
                experiment="peak",
                rate_rule=AS_FAST_AS_IT_GOES,
                msgs_per_s=None,
            ),
            5.0,
            msgs_per_s=rate,
            **changes,
        )
        for system, rate in (("kafka", kafka), ("pulsar", pulsar))
    ]


def peaks_with_backlog(kafka: float, pulsar: float, backlog: int) -> list[LoadResult]:
    """Peaks whose consumers were so many messages behind at the end."""
    return [
        replace(peak, subscriptions=(replace(peak.subscriptions[0], window_end_backlog=backlog),))
        for peak in peaks(kafka, pulsar)
    ]


TWICE = Factor(
    kind="factor",
    id="c",
    text="Kafka twice Pulsar",
    source="table 1-1",
    figure="throughput",
    a=Operand(system="kafka"),
    b=Operand(system="pulsar"),
    common=Place(level=1, partitions=100),
    at_least=2.0,
)


def confirmed(system: str, rate: float, mean_scale: float) -> tuple[LoadSpec, Finding, LoadResult]:
    """A search with the trial that confirmed what it found."""
    made, finding = throughput(system, rate)
    confirmation = replace(made, trial_id=f"{finding.finding_id}-s02-confirm", rate_rule=CONFIRMATION)
    goal = {**finding.details["goals"][0], "confirmation_trial_id": confirmation.trial_id}
    return confirmation, replace(finding, details={"goals": [goal]}), result(confirmation, response=latency(mean_scale))


MINE = {
    "report": "mine",
    "title": "Mine",
    "versions": {"kafka": "4.3"},
    "hardware": "a shed",
    "setup": [],
    "units": {"throughput": "MB/s"},
    "settings": {"message-size": "1KiB", "batch-delay": "10ms", "heap": "1GiB"},
    "systems": {"pulsar": {"batch-delay": "50ms"}},
    "own-settings": {
        "kafka": {"server": {"num.network.threads": 8}},
        "rabbitmq": {"consumer": {"autoAck": "true"}},
    },
    "differs": [
        {"text": "always so"},
        {"text": "of servers", "where": {"started": True}},
        {"text": "of a search", "where": {"examines": "max-throughput"}},
    ],
    "tests": [
        {"id": "one", "settings": {"partitions": [1, 100], "rate": "200k", "backlog": "2GiB"}},
        {"id": "other", "settings": {"partitions": 7}, "systems": {"pulsar": {"partitions": 9}}},
    ],
    "tables": [{"id": "t", "source": "s", "figures": ["throughput"], "rows": [{"values": [1]}]}],
    "claims": [{"id": "c", "text": "x", "source": "s", "kind": "bound", "figure": "throughput", "of": {}}],
}
WITH_EITHER_MAXIMUM = {
    **MINE,
    "differs": [
        {"text": "a rate is searched for", "where": {"examines": "max-throughput"}},
        {"text": "a peak stands in", "where": {"examines": "peak"}},
    ],
    "tables": [{"id": "t", "source": "s", "figures": ["throughput"], "rows": [{"system": "kafka", "values": [1]}]}],
    "sections": [
        {
            "title": "Throughput",
            "figures": [
                {"name": "Table 1", "title": "x", "tables": ["t"], "claims": ["c"], "campaigns": ["throughput"]}
            ],
        }
    ],
}
"""A report whose maximum throughput may be measured by a search or by a peak."""
SERVERS = ServerSetup({"broker": (1 << 30, 0)}, {"num.network.threads": "8"})


def of_system(system: str, p99_ms: float, blocks: int = 1, **changes: Any) -> list[LoadResult]:
    return [
        measured(replace(trial(system, block=block), **changes), p99_ms * (1 + block / 100)) for block in range(blocks)
    ]


def both(*runs: list[LoadResult]) -> ExaminedRun:
    return runs_together({letter: run_of(*one) for letter, one in zip("ABC", runs, strict=False)})


def meant(system: str, **changes: str) -> dict[str, str]:
    base = {"name": system, "version": "", "heap_mb": "1024", "direct_memory_mb": "1024"}
    return {f"systems.0.{name.replace('__', '.')}": value for name, value in {**base, **changes}.items()}
