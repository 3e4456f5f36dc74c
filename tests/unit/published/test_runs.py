"""Claims over several runs: which figures go together, which runs must not, and what every verdict then says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from published_samples import (
    CONFIRMED,
    CONTRADICTED,
    NOT_DECIDED,
    PULSAR_BELOW,
    TWICE,
    both,
    judged,
    meant,
    measured,
    of_system,
    run_of,
    sustained,
    throughput,
    trial,
)
from run_samples import totals

from tidegauge import store
from tidegauge.campaign.plan.fairness import contender_of_trial
from tidegauge.campaign.read.fingerprint import system_of
from tidegauge.campaign.read.published import choice_of, examine_claims, measured_of
from tidegauge.cli.main import run_command
from tidegauge.comparison.across import examined_together
from tidegauge.model.level import LevelChoice
from tidegauge.model.workload import Arrival, ClientSettings, Compression, ServerLimits, Workload
from tidegauge.published.across import runs_together
from tidegauge.published.examine import report_named
from tidegauge.published.model import Operand, Place
from tidegauge.published.observe import ExaminedRun
from tidegauge.published.verdict import ClaimOutcome
from tidegauge.systems.registry import system_named as find_system

HOST = {"hostname": "one", "cpu_model": "EPYC", "cpus": 2, "memory_bytes": 8 << 30, "kernel": "6.1"}
CAMPAIGN = """name: mine
systems: [kafka]
experiments: [peak]
published:
  report: streamnative-2020
  claims: [publish-p99-pulsar-below]
  brief: {nodes: 1}
"""


@pytest.mark.parametrize(
    ("kafka_ms", "pulsar_ms", "blocks", "verdict"),
    [
        (50.0, 10.0, 1, CONFIRMED),
        (20.0, 10.0, 1, NOT_DECIDED),
        (20.0, 10.0, 3, CONFIRMED),
        (10.0, 20.0, 3, CONTRADICTED),
    ],
)
def test_figures_of_different_runs_are_put_together(
    kafka_ms: float, pulsar_ms: float, blocks: int, verdict: Any
) -> None:
    found = judged(PULSAR_BELOW, both(of_system("kafka", kafka_ms, blocks), of_system("pulsar", pulsar_ms, blocks)))
    assert found.verdict is verdict
    assert [side.runs for side in found.parts[0].sides] == [("A",), ("B",)]
    assert found.over_runs
    assert "the two figures come from different runs, and the interval does not cover what changed" in found.reason


def test_a_run_that_has_both_figures_is_taken_by_itself() -> None:
    """Kafka alone in another run, at another time, would turn it round."""
    pair = [*of_system("kafka", 50.0), *of_system("pulsar", 10.0)]
    found = judged(PULSAR_BELOW, both(of_system("kafka", 2.0), pair))
    assert found.verdict is CONFIRMED
    assert found.parts[0].ratio is not None
    assert found.parts[0].ratio.estimate == pytest.approx(5.0)
    assert "different runs" not in found.reason


def test_a_system_that_is_repeated_in_another_run_has_more_blocks() -> None:
    runs = both(of_system("kafka", 20.0, 2), of_system("kafka", 21.0, 1), of_system("pulsar", 10.0, 3))
    found = judged(PULSAR_BELOW, runs)
    assert found.verdict is CONFIRMED, "three blocks have an interval"
    assert [side.runs for side in found.parts[0].sides] == [("A", "B"), ("C",)]
    assert "; 3 trials each, 95 % interval)" in found.reason
    unlike = both(of_system("kafka", 20.0, 5), of_system("pulsar", 10.0, 3))
    assert "; at least 3 trials each, 95 % interval)" in judged(PULSAR_BELOW, unlike).reason


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"msgs_per_s": 15_000.0}, "the runs differ in the offered rate: 15,000 to 20,000 msg/s"),
        ({"nodes": 3}, "the runs differ in nodes: 1 and 3"),
        (
            {"workload": Workload(partitions=100, client=ClientSettings(batch_delay_ms_max=10.0))},
            "the runs differ in batch delay: 1 ms and 10 ms",
        ),
        (
            {"workload": Workload(partitions=100, client=ClientSettings(compression=Compression.LZ4))},
            "the runs differ in compression: none and lz4",
        ),
        (
            {"workload": Workload(partitions=100, client=ClientSettings(in_flight_messages_max=9))},
            "the runs differ in in-flight: 5000 and 9",
        ),
        ({"workload": Workload(partitions=100, arrival=Arrival.POISSON)}, "the runs differ in arrival"),
        ({"measure_s": 99.0}, "the runs differ in measuring time (s)"),
        ({"warmup_s_min": 99.0}, "the runs differ in least warm-up (s)"),
        ({"limits": ServerLimits(1 << 30)}, "the runs differ in limits"),
    ],
)
def test_what_the_claim_does_not_vary_must_be_the_same(changes: dict[str, Any], sentence: str) -> None:
    found = judged(PULSAR_BELOW, both(of_system("kafka", 50.0), of_system("pulsar", 10.0, **changes)))
    assert found.verdict is NOT_DECIDED
    assert sentence in found.reason


def test_sustainable_rates_are_found_in_their_run() -> None:
    runs = {}
    for letter, one in (("A", throughput("kafka", 40_000)), ("B", throughput("pulsar", 10_000))):
        runs[letter] = ExaminedRun((one[0],), (), (one[1],))
    found = judged(TWICE, runs_together(runs))
    assert found.verdict is CONFIRMED
    assert [side.runs for side in found.parts[0].sides] == [("A",), ("B",)]
    assert judged(TWICE, runs_together({"A": sustained(40_000, 10_000)})).verdict is CONFIRMED


def stored(
    directory: Path,
    system: str,
    p99_ms: float,
    *,
    host: Any = HOST,
    text: str = CAMPAIGN,
    memory: str = "1024",
    allowed: bool = False,
) -> str:
    run = store.create_run(directory, f"mine-{system}", text)
    run.write_environment({"host": host})
    run.unequal_allowed = allowed
    run.write_meaning({}, meant(system, heap_mb=memory) if memory else {})
    results = [
        measured(replace(trial(system, level=level, block=block), trial_id=f"{level}-{block}-{system}"), p99_ms)
        for level in (1, 2, 3)
        for block in range(3)
    ]
    run.write_plan([result.spec for result in results])
    for result in results:
        run.open_trial(result.spec).finish(result, totals())
    run.finish("finished")
    return run.path.name


def stored_pair(directory: Path, name: str, claim: str, kafka_ms: float, batch_delay_ms: float) -> str:
    """A run of a campaign with both systems, which measures the same place as others with a batch delay of its own."""
    text = CAMPAIGN.replace("name: mine", f"name: {name}").replace("publish-p99-pulsar-below", claim)
    run = store.create_run(directory, name, text)
    run.write_environment({"host": HOST})
    client = ClientSettings(batch_delay_ms_max=batch_delay_ms)
    results = [
        measured(
            replace(
                trial(system, level=level, block=block),
                trial_id=f"{level}-{block}-{system}",
                workload=Workload(partitions=100, client=client),
            ),
            p99_ms,
        )
        for level in (1, 2, 3)
        for block in range(3)
        for system, p99_ms in (("kafka", kafka_ms * (0.8, 1.0, 1.25)[block]), ("pulsar", 10.0))
    ]
    run.write_plan([result.spec for result in results])
    for result in results:
        run.open_trial(result.spec).finish(result, totals())
    run.finish("finished")
    return run.path.name


def examine(directory: Path, *runs: str, json_wanted: bool = False) -> int:
    return run_command(["published", *runs, "--runs-dir", str(directory), *(["--json"] if json_wanted else [])])


def test_systems_that_took_turns_are_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = stored(tmp_path, "kafka", 50.0), stored(tmp_path, "pulsar", 10.0)
    assert examine(tmp_path, *names) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"Run A: {names[0]} (kafka@1; finished)" in shown
    assert "The only claim confirmed" in shown
    assert "CONFIRMED: With 1 subscription Pulsar's publish p99 is below Kafka's" in shown
    assert "DOUBTFUL" not in shown
    assert examine(tmp_path, *names, json_wanted=True) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["schema"] == "tidegauge.claims/1"
    assert [(run["letter"], run["name"]) for run in content["runs"]] == [("A", names[0]), ("B", names[1])]
    (claim,) = content["published"]["claims"]
    assert claim["verdict"] == "confirmed"
    assert [side["runs"] for side in claim["parts"][0]["sides"]] == [["A"], ["B"]]


CLAIM = "publish-p99-pulsar-below"
OTHERS_CLAIM = "ten-subscriptions-pulsar-below"


@pytest.mark.parametrize(("kafka_ms", "verdict"), [(50.0, CONFIRMED), (5.0, CONTRADICTED)])
def test_a_claim_is_asked_of_the_runs_of_its_own_campaign(tmp_path: Path, kafka_ms: float, verdict: Any) -> None:
    """Another campaign of the report measures the same place with another batch delay."""
    own = stored_pair(tmp_path, "own", CLAIM, kafka_ms, 1.0)
    other = stored_pair(tmp_path, "other", OTHERS_CLAIM, 10.0, 99.0)
    by_claim = examined_claims(tmp_path, own, other)
    assert by_claim[CLAIM].verdict is verdict
    assert {run for part in by_claim[CLAIM].parts for side in part.sides for run in side.runs} == {"A"}


def test_where_two_campaigns_decide_a_claim_the_worst_counts(tmp_path: Path) -> None:
    for kafka_ms in (50.0, 5.0):
        stored_pair(tmp_path, f"kafka-{kafka_ms:g}", CLAIM, kafka_ms, kafka_ms)
    names = [path.name for path in tmp_path.iterdir()]
    assert examined_claims(tmp_path, *names)[CLAIM].verdict is CONTRADICTED


def test_why_its_own_campaign_decides_nothing_is_said_and_not_that_others_fit_too(tmp_path: Path) -> None:
    own = stored_pair(tmp_path, "own", CLAIM, 10.0, 1.0)
    other = stored_pair(tmp_path, "other", OTHERS_CLAIM, 10.0, 99.0)
    claim = examined_claims(tmp_path, own, other)[CLAIM]
    assert claim.verdict is NOT_DECIDED
    assert "several settings" not in claim.reason


def examined_claims(directory: Path, *names: str) -> dict[str, ClaimOutcome]:
    runs = [store.load_run(directory / name) for name in names]
    choices = [choice for run in runs if (choice := choice_of(run)) is not None]
    outcome = examined_together(choices, runs, list(map(measured_of, runs)))
    return {claim.claim: claim for claim in outcome.claims}


def test_one_run_is_examined_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert examine(tmp_path, stored(tmp_path, "kafka", 50.0)) == 0
    assert "pulsar is missing from the run" in " ".join(capsys.readouterr().out.split())


def test_what_changed_on_the_same_host_makes_a_verdict_doubtful(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    host = {**HOST, "kernel": "6.2", "hostname": "two"}
    names = stored(tmp_path, "kafka", 50.0), stored(tmp_path, "pulsar", 10.0, host=host)
    assert examine(tmp_path, *names) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "the host differs: kernel: 6.1 in A, 6.2 in B" in shown
    assert "the host differs: hostname: one in A, two in B" in shown
    assert "CONFIRMED (DOUBTFUL): With 1 subscription" in shown


def test_runs_of_different_machines_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = stored(tmp_path, "kafka", 50.0), stored(tmp_path, "pulsar", 10.0, host={**HOST, "cpus": 64})
    assert examine(tmp_path, *names) == 2
    assert "The runs were made on machines of different kinds: cpus: 2 in A, 64 in B." in " ".join(
        capsys.readouterr().err.split()
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("name: other\nsystems: [kafka]\nexperiments: [peak]\n", "examines no claims of a published report"),
        (
            CAMPAIGN.replace("streamnative-2020", "confluent-2020").replace(
                "publish-p99-pulsar-below", "kafka-twice-pulsar"
            ),
            "The runs examine different reports",
        ),
        (CAMPAIGN.replace("-below", "-under"), "has no claim 'publish-p99-pulsar-under'"),
    ],
)
def test_runs_that_do_not_belong_together_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, sentence: str
) -> None:
    names = stored(tmp_path, "kafka", 50.0), stored(tmp_path, "pulsar", 10.0, text=text)
    assert examine(tmp_path, *names) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_a_run_can_not_be_named_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = stored(tmp_path, "kafka", 50.0)
    assert examine(tmp_path, name, name) == 2
    assert "is given twice" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"heap_mb": "12288"}, "the runs differ in heap: kafka@1 in A heap=1024MiB, kafka@1 in B heap=12288MiB"),
        ({"direct_memory_mb": "512"}, "the runs differ in direct-memory"),
        ({"producer__linger.ms": "99"}, "the runs differ in batch-delay"),
        ({"settings__num.network.threads": "8"}, "the runs differ in own-server-settings"),
    ],
)
def test_servers_and_clients_of_two_runs_are_on_the_terms_of_one(changes: dict[str, str], sentence: str) -> None:
    """The same system with another level, as claims on what an fsync costs compare it."""
    claim = PULSAR_BELOW.model_copy(
        update={
            "from_highest": [Operand(system="kafka", level=1), Operand(system="kafka", level=2)],
            "common": Place(partitions=100),
        }
    )

    def verdict(other: dict[str, str], allowed: bool = False) -> ClaimOutcome:
        runs = {}
        for letter, level, p99_ms, own in (("A", 1, 50.0, {}), ("B", 2, 10.0, other)):
            one = measured(trial("kafka", level=level), p99_ms)
            choice = system_of(meant("kafka", **own), one.spec)
            assert choice is not None
            contenders = {one.spec.trial_id: contender_of_trial(one.spec, choice, find_system("kafka"))}
            runs[letter] = replace(run_of(one), contenders=contenders, unequal_allowed=allowed)
        return judged(claim, runs_together(runs))

    assert verdict({}).verdict is CONFIRMED
    found = verdict(changes)
    assert found.verdict is NOT_DECIDED
    assert sentence in found.reason
    allowed = verdict(changes, allowed=True)
    assert allowed.verdict is CONFIRMED
    assert "UNEQUAL: the runs differ in" in allowed.reason


def test_what_a_claim_varies_over_runs_is_no_unequal_term() -> None:
    claim = PULSAR_BELOW.model_copy(
        update={
            "from_highest": [Operand(system="kafka", partitions=100), Operand(system="kafka", partitions=10)],
            "common": Place(level=1),
        }
    )
    runs = {}
    for letter, partitions, p99_ms in (("A", 100, 50.0), ("B", 10, 10.0)):
        spec = trial("kafka")
        spec = replace(spec, workload=replace(spec.workload, partitions=partitions), point={})
        choice = system_of(meant("kafka"), spec)
        assert choice is not None
        contenders = {spec.trial_id: contender_of_trial(spec, choice, find_system("kafka"))}
        runs[letter] = replace(run_of(measured(spec, p99_ms)), contenders=contenders)
    assert judged(claim, runs_together(runs)).verdict is CONFIRMED


def test_the_same_system_must_have_the_same_version() -> None:
    older = [replace(result, spec=replace(result.spec, system="kafka@0.9")) for result in of_system("kafka", 10.0)]
    level_2 = [replace(result, spec=replace(result.spec, choice=LevelChoice(2))) for result in older]
    claim = PULSAR_BELOW.model_copy(
        update={
            "from_highest": [Operand(system="kafka", level=1), Operand(system="kafka", level=2)],
            "common": Place(partitions=100),
        }
    )
    found = judged(claim, both(of_system("kafka", 50.0), level_2))
    assert found.verdict is NOT_DECIDED
    assert "the runs differ in the version of kafka: kafka@1 and kafka@0.9" in found.reason


def test_another_heap_in_a_stored_run_is_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = stored(tmp_path, "kafka", 50.0, memory="12288"), stored(tmp_path, "pulsar", 10.0)
    assert examine(tmp_path, *names) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "NOT DECIDED" in shown
    assert "the runs differ in heap: kafka@1 in A heap=12288MiB, pulsar@1 in B heap=1024MiB" in shown


def test_a_run_that_does_not_say_what_its_servers_had_is_doubtful(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = stored(tmp_path, "kafka", 50.0, memory=""), stored(tmp_path, "pulsar", 10.0)
    assert examine(tmp_path, *names) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "DOUBTFUL: memory and settings of the servers are not recorded in A" in shown


def test_what_a_sweep_sets_is_that_of_its_point() -> None:
    at = "sweep[2]"
    whole = meant("kafka") | {at: "partitions=100, durability=1", f"{at}.systems.0.heap_mb": "99"}
    one = trial("kafka")
    found = system_of(whole, one)
    assert found is not None
    assert found.heap_mb == 99
    other = system_of(whole, replace(one, point={}))
    assert other is not None
    assert other.heap_mb == 1024
    assert system_of(whole, replace(one, attached=True)) is None
    assert system_of(meant("pulsar"), one) is None


def test_a_report_by_name_takes_the_newest_run_of_each_campaign_and_writes_its_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    older = stored_pair(tmp_path, "streamnative-2020-latency", CLAIM, 50.0, 1.0)
    newer = stored_pair(tmp_path, "streamnative-2020-latency", CLAIM, 5.0, 1.0)
    for name in (older, newer):
        path = tmp_path / name
        store.keep_published(path, examine_claims(choice_of(store.load_run(path)), store.load_run(path)))  # type: ignore[arg-type]
    page, text = tmp_path / "page.html", tmp_path / "page.md"
    more = ["--html", str(page), "--markdown", str(text)]
    assert run_command(["published", "streamnative-2020", "--runs-dir", str(tmp_path), *more]) == 0
    shown = capsys.readouterr()
    assert f"Run A: {newer} (" in shown.out and f": {older} (" not in shown.out
    assert "page.html" in shown.out and "page.md" in shown.out
    claims = len(report_named("streamnative-2020").claims)
    assert f"Of {claims} claims 1 contradicted, {claims - 1} not measured yet" in page.read_text()
    assert "Tables 2-2 and 2-4, figures 2-10 to 2-14" in text.read_text()


def test_a_report_that_nothing_repeats_says_how_to_run_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["published", "streamnative-2022", "--runs-dir", str(tmp_path)]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "has no run that repeats streamnative-2022" in said and "tidegauge reproduce streamnative-2022" in said
