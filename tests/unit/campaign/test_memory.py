"""The memory that a campaign needs, what a machine and its cgroups have, and what is done where it does not suffice."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from campaign_samples import CAMPAIGN
from planted_files import V2, plant

from tidegauge.campaign.model import Point, SystemChoice, WorkerChoice
from tidegauge.campaign.plan.memory import TooLittleMemoryError, Workers, campaign_that_fits, memory_needs
from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.cli.planning import prepare_campaign
from tidegauge.errors import UserError
from tidegauge.hosts.memory import Machine, memory_available
from tidegauge.model.host import RESERVE_MB, WORKER_OUTSIDE_HEAP_MB, MemoryAvailable, MemoryNeed, MemoryPlan
from tidegauge.report.lists import ShownPlan
from tidegauge.report.summary import plan_summary
from tidegauge.systems import registry
from tidegauge.systems.kafka.deployment import ZOOKEEPER_HEAP_MB, ZOOKEEPER_OUTSIDE_HEAP_MB

MEMINFO = "MemTotal:       8192000 kB\nMemFree:         100000 kB\nMemAvailable:    4096000 kB\n"
GIB = 1 << 30
THREE = replace(
    CAMPAIGN,
    systems=(SystemChoice("kafka", heap_mb=1000), SystemChoice("rabbitmq", heap_mb=400, direct_memory_mb=200)),
    nodes=3,
    worker=WorkerChoice(300, 100),
)
WORKERS = Workers(plan_campaign(THREE).trials, THREE.worker, Machine(2, 9000))
NEEDS = memory_needs(THREE, WORKERS)
KAFKA_MB, RABBITMQ_MB = (need.total_mb for need in NEEDS)


def test_one_deployment_the_worker_and_a_reserve_are_counted() -> None:
    kafka, rabbitmq = NEEDS
    assert kafka.servers == tuple(registry.system_named("kafka").processes("4.3.1", 3, 1000, 1024, {}))
    assert kafka.servers_mb > 3 * 1000
    assert rabbitmq.servers_mb > 3 * 600
    assert kafka.worker_mb == rabbitmq.worker_mb == 400 + WORKER_OUTSIDE_HEAP_MB
    assert kafka.servers_mb + kafka.worker_mb + RESERVE_MB == KAFKA_MB


def test_the_zookeeper_of_an_old_kafka_counts_once() -> None:
    kafka = registry.system_named("kafka")
    for nodes in (1, 3):
        (keeper,) = set(kafka.processes("2.8.2", nodes, 500, 0, {})) - set(kafka.processes("3.9.2", nodes, 500, 0, {}))
        assert keeper.total_mb == ZOOKEEPER_HEAP_MB + ZOOKEEPER_OUTSIDE_HEAP_MB
    old = replace(THREE, systems=(SystemChoice("kafka", version="2.8.2", heap_mb=1000),))
    assert memory_needs(old, WORKERS)[0].servers_mb > NEEDS[0].servers_mb


def test_what_fits_is_kept_as_it_is() -> None:
    assert campaign_that_fits(THREE, MemoryAvailable(KAFKA_MB, "of the machine's 9 GiB"), WORKERS) == (THREE, {})
    assert campaign_that_fits(THREE, None, WORKERS) == (THREE, {}), "a machine that doesn't say is not refused"


def test_what_does_not_fit_is_refused_with_figures_and_advice() -> None:
    with pytest.raises(UserError) as caught:
        campaign_that_fits(THREE, MemoryAvailable(KAFKA_MB - 1, "of the machine's 4,000 MiB"), WORKERS)
    assert f"kafka@4.3.1 needs {KAFKA_MB:,} MiB" in caught.value.message
    assert "for 3 nodes x (1,000 heap + 380 other)" in caught.value.message
    assert f"{KAFKA_MB - 1:,} MiB are available of the machine's 4,000 MiB" in caught.value.message
    assert "rabbitmq" not in caught.value.message
    assert "'heap'" in caught.value.hint


@pytest.mark.parametrize(("more_mb", "says"), [(-1, "The load generators alone, 600 MiB, fill 2 hosts"), (0, "")])
def test_load_generators_that_one_host_can_not_hold_are_counted_in_hosts(more_mb: int, says: str) -> None:
    free_mb = RESERVE_MB + 400 + WORKER_OUTSIDE_HEAP_MB + more_mb
    with pytest.raises(TooLittleMemoryError) as caught:
        campaign_that_fits(THREE, MemoryAvailable(free_mb, "of the machine's 2 GiB"), WORKERS)
    assert says in caught.value.shortage
    assert ("hosts like this one" in caught.value.shortage) == bool(says)


def test_every_sum_is_that_of_the_parts_that_are_reported() -> None:
    for system, shape in (("kafka", {}), ("rabbitmq", {}), ("pulsar", {}), ("pulsar", {"layout": "tiered"})):
        servers = tuple(registry.system_named(system).processes("", 3, 1200, 900, shape))
        need = MemoryNeed(system, servers, NEEDS[0].worker)
        stated = re.match(r"\w+ needs ([\d,]+) MiB: ([\d,]+) for .*, ([\d,]+) for the load", str(need))
        assert stated is not None
        parts = re.findall(r"(\d) \w+ x \(([^)]*)\)", str(need))
        counted = sum(int(count) * sum(map(number, re.findall(r"[\d,]+", each))) for count, each in parts)
        assert number(stated[2]) == counted
        assert number(stated[1]) == counted + number(stated[3]) + RESERVE_MB


def number(text: str) -> int:
    return int(text.replace(",", ""))


def test_a_sweep_names_each_system_once_with_the_most_that_it_needs() -> None:
    large = replace(THREE, systems=(replace(THREE.systems[0], heap_mb=2000),))
    points = (Point({"heap": "2000MiB"}, large), Point({"heap": "1000MiB"}, replace(THREE, systems=THREE.systems[:1])))
    with pytest.raises(TooLittleMemoryError) as caught:
        campaign_that_fits(replace(large, points=points), MemoryAvailable(100, "of the machine's 400 MiB"), WORKERS)
    assert caught.value.message.count("kafka@4.3.1 needs") == 1
    assert "3 nodes x (2,000 heap" in caught.value.message
    assert caught.value.shortage == (
        f"There is too little memory: kafka@4.3.1 needs {KAFKA_MB + 3000:,} MiB; 100 MiB are available of the "
        "machine's 400 MiB."
    )


def test_an_optional_system_that_does_not_fit_is_left_out() -> None:
    optional = replace(THREE, systems=(replace(THREE.systems[0], optional=True), THREE.systems[1]))
    kept, reasons = campaign_that_fits(optional, MemoryAvailable(RABBITMQ_MB, "of the machine's 4,000 MiB"), WORKERS)
    assert [choice.name for choice in kept.systems] == ["rabbitmq"]
    assert list(reasons) == ["kafka@4.3.1"]
    only = replace(optional, systems=optional.systems[:1])
    with pytest.raises(UserError, match="too little memory"):
        campaign_that_fits(only, MemoryAvailable(1, "of the machine's 4,000 MiB"), WORKERS)


def test_a_point_that_does_not_fit_takes_nothing_else_of_a_campaign_with_it(tmp_path: Path) -> None:
    path = tmp_path / "swept.yaml"
    path.write_text(
        "name: swept\nsystems: [{name: kafka, direct-memory: 64MiB}]\nexperiments: [peak, {name: latency, rate: 50% of "
        "lowest peak}]\nsweep: {systems.kafka.heap: [9GiB, 256MiB], partitions: [1, 8]}\nskip-impossible: true\n"
        "thresholds: ['response_ms_p99 < 10']\nrates-at: {partitions: 8}\n"
    )
    swept = parse_campaign(path, {}, ["kafka"])
    workers = Workers(plan_campaign(swept).trials, swept.worker, Machine(2, 9000))
    kept, left_out = campaign_that_fits(swept, MemoryAvailable(4000, "of the machine's 9,000 MiB"), workers)
    assert len(left_out) == 2
    assert [point.values["systems.kafka.heap"] for point in kept.points] == ["256MiB"] * 2
    assert kept.systems[0].heap_mb == 256, "the campaign itself is the first of its points"
    assert (kept.thresholds, kept.rates_at) == (swept.thresholds, {"partitions": "8"})


def test_what_a_system_can_not_have_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "swept.yaml"
    path.write_text(
        "name: swept\nsystems: [{name: pulsar, shape: {layout: tiered}}, kafka]\nexperiments: [peak]\nnodes: 3\n"
        "sweep: {systems.pulsar.shape.brokers: [99, 2]}\nskip-impossible: true\n"
    )
    ready = prepare_campaign(parse_campaign(path, {}, sorted(registry.all_systems())), dry_run=True, allow_unequal=True)
    assert [need.system for need in ready.memory.needs] == ["kafka@4.3.1", "pulsar@4.2.4"]
    assert [[system.name for system in point.campaign.systems] for point in ready.campaign.points] == [
        ["kafka"],
        ["pulsar", "kafka"],
    ]
    assert any("brokers: '99'" in note.text for note in ready.left_out)


def test_the_plan_says_what_is_needed_and_what_there_is() -> None:
    stated = MemoryPlan(NEEDS, MemoryAvailable(5000, "of the machine's 9,000 MiB")).sentences()
    assert len(stated) == 4
    assert stated[-1] == "5,000 MiB are available of the machine's 9,000 MiB"
    assert MemoryPlan(NEEDS, None).sentences()[2:] == [
        "The load generator gets at most: heap 300 MiB, direct memory 100 MiB"
    ]


def test_without_limits_the_kernel_decides(tmp_path: Path) -> None:
    root = plant(tmp_path, {**V2, "proc/meminfo": MEMINFO, "sys/fs/cgroup/user/run/memory.max": "max\n"})
    assert memory_available(root) == MemoryAvailable(4000, "of the machine's 8,000 MiB")


def test_the_tightest_cgroup_decides_and_its_page_cache_is_not_lost(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/user"
    root = plant(
        tmp_path,
        {
            **V2,
            "proc/meminfo": MEMINFO,
            f"{group}/memory.max": f"{2 * GIB}\n",
            f"{group}/memory.current": f"{GIB}\n",
            f"{group}/memory.stat": f"anon 1\ninactive_file {GIB // 2}\n",
            f"{group}/run/memory.max": "max\n",
        },
    )
    found = memory_available(root)
    assert found is not None
    assert found.available_mb == 1536
    assert found.bound == f"of the 2,048 MiB that the cgroup {root / group} allows"


def test_cgroup_v1_counts_too(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/memory/job"
    root = plant(
        tmp_path,
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "4:memory:/job\n",
            "proc/self/mountinfo": "1 0 0:1 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
            f"{group}/memory.limit_in_bytes": f"{GIB}\n",
            f"{group}/memory.usage_in_bytes": f"{GIB // 2}\n",
            f"{group}/memory.stat": "total_inactive_file 0\n",
        },
    )
    found = memory_available(root)
    assert found is not None
    assert found.available_mb == 512


def test_a_host_that_does_not_tell_is_no_error(tmp_path: Path) -> None:
    assert memory_available(tmp_path) is None
    assert memory_available() is not None


def test_the_json_of_a_plan_says_how_many_nodes_need_it() -> None:
    needs = plan_summary(ShownPlan([], 0.0, memory=MemoryPlan(NEEDS, None)))["memory"]["needs"]
    assert {(need["nodes"], need["servers_mb"]) for need in needs} == {(3, need.servers_mb) for need in NEEDS}
