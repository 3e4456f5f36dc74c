"""The clients of a plan's load generators: what just fits into a host's bounds, and what is said of what does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from campaign_samples import CAMPAIGN, MANY
from omb_samples import write
from planted_files import V2, plant
from run_samples import spec

from tidegauge.campaign.model import Campaign, SystemChoice, WorkerChoice
from tidegauge.campaign.plan.generators import check_clients, sharing_of
from tidegauge.campaign.plan.memory import worker_memory
from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.campaign.run.running_trial import TOPICS_READ_MAX, evenly_spread
from tidegauge.errors import UserError
from tidegauge.hosts.facts import load_bounds
from tidegauge.hosts.memory import Machine
from tidegauge.model.host import UNBOUNDED, ClientKind, LoadBounds, Sharing
from tidegauge.model.workload import Workload
from tidegauge.omb.files import read_workload, translate_workload
from tidegauge.systems import registry
from tidegauge.systems.attach import AttachChoice
from tidegauge.systems.rabbitmq import CHANNELS_MAX

FREE = LoadBounds()
USUAL = LoadBounds(files=20_000, maps=65_530, threads=31_000, ports=27_000)
SPEC = replace(spec(), msgs_per_s=2_000.0)


def campaign(system: str, topics: int, workers: int = 1) -> Campaign:
    many = replace(MANY, systems=(SystemChoice(system),), workload=Workload(topics=topics))
    return replace(many, experiments=CAMPAIGN.experiments[:1], worker=WorkerChoice(count=workers))


def attached(system: str, topics: int, workers: int = 1) -> Campaign:
    """On a cluster of others, which is taken to have three servers, whose files are not ours."""
    of_others = SystemChoice(system, attach=AttachChoice({"bootstrap-servers": "h:1"}))
    return replace(campaign(system, topics, workers), systems=(of_others,))


def fits(campaign: Campaign, bounds: LoadBounds) -> None:
    check_clients(plan_campaign(campaign), campaign, bounds)


def refusal(campaign: Campaign, bounds: LoadBounds) -> str:
    with pytest.raises(UserError) as caught:
        fits(campaign, bounds)
    return f"{caught.value.message} {caught.value.hint}"


def test_a_limit_that_no_load_generator_can_work_with_is_what_has_to_be_raised() -> None:
    message = refusal(attached("kafka", 1), replace(FREE, files=256))
    assert "open files, and a process may have 256 here: raise that limit (`ulimit -n`)" in message
    assert "Not even" not in message


def test_a_load_generator_with_too_many_files_is_refused_at_the_edge_with_the_number_that_would_do() -> None:
    # 1,000 clients for 10,000 producers, of six files each; one of seven for each of 10,000 consumers.
    files = 300 + 1_000 * 6 + 10_000 * 7
    kafka = attached("kafka", 10_000)
    fits(kafka, replace(FREE, files=files))
    message = refusal(kafka, replace(FREE, files=files - 1))
    assert "c.yaml: workload.topics: 10,000 producers and 10,000 consumers of Apache Kafka: " in message
    assert f"the load generator would have about {files:,} open files, and a process may have {files - 1:,}" in message
    assert "2 load generators would do: 'count: 2' of 'worker', or --workers 2." in message
    of_two = 300 + 1_000 * 6 + 5_000 * 7
    fits(attached("kafka", 10_000, 2), replace(FREE, files=of_two))
    assert "each of 2 load generators" in refusal(attached("kafka", 10_000, 2), replace(FREE, files=of_two - 1))


def test_memory_maps_of_threads_bound_a_load_generator() -> None:
    threads = 150 + 1_000 + 2 * 10_000
    kafka = campaign("kafka", 10_000)
    fits(kafka, replace(FREE, maps=2_000 + 2 * threads))
    message = refusal(kafka, replace(FREE, maps=2_000 + 2 * threads - 1))
    assert f"about {threads:,} threads with {2_000 + 2 * threads:,} memory maps" in message


def test_what_all_load_generators_need_together_is_the_hosts() -> None:
    kafka = campaign("kafka", 10_000, 2)
    threads, connections = 2 * (150 + 1_000 + 2 * 5_000), 2 * (1_000 * 2 + 5_000 * 3)
    fits(kafka, replace(FREE, threads=threads, ports=connections))
    message = refusal(kafka, replace(FREE, threads=threads - 1))
    assert f"2 load generators would have about {threads:,} threads, and {threads - 1:,} more can be started" in message
    assert "1 load generator would do" in message, "it has its own threads once, and clients of producers"
    message = refusal(kafka, replace(FREE, ports=connections - 1))
    assert f"about {connections:,} connections to a server, and this host has {connections - 1:,} ports" in message


def test_each_host_of_a_fleet_has_a_part_of_the_load_generators() -> None:
    threads, connections = 2 * (150 + 1_000 + 2 * 2_500), 2 * (1_000 * 2 + 2_500 * 3)
    kafka = replace(campaign("kafka", 10_000), worker=WorkerChoice(count=4, hosts=2))
    fits(kafka, replace(FREE, threads=threads, ports=connections))
    message = refusal(kafka, replace(FREE, threads=threads - 1))
    assert f"2 load generators would have about {threads:,} threads" in message
    assert f"about {connections:,} connections" in refusal(kafka, replace(FREE, ports=connections - 1))


def test_what_one_host_can_not_hold_is_said_with_how_many_could() -> None:
    # 3,125 consumers and 1,000 clients of producers have 19,925 files; 32 times their connections, ports of 14 hosts.
    message = refusal(campaign("kafka", 100_000), USUAL)
    assert "504,300 open files" in message
    assert "at least 32 load generators, and 14 hosts like this one" in message
    assert "kernel.pid_max" in message


def test_a_system_may_bound_the_users_of_a_client() -> None:
    most = 1_000 * CHANNELS_MAX
    fits(campaign("rabbitmq", most), replace(FREE, files=UNBOUNDED))
    message = refusal(campaign("rabbitmq", most + 1), FREE)
    assert f"{most + 1:,} producers on 1,000 connections, of which each can have 2,047 (channel_max" in message
    assert "2 load generators would do" in message


@pytest.mark.parametrize("system", ["pulsar", "rabbitmq"])
def test_twenty_thousand_topics_on_two_load_generators_fit_where_clients_are_shared(system: str) -> None:
    many = attached(system, 20_000, 2)
    fits(many, USUAL)
    sharing = sharing_of(plan_campaign(many))
    assert sharing == Sharing(producers=True, consumers=True)
    trial, on = replace(SPEC, workload=many.workload), Machine(2, 24_000)
    # 1,000 clients of a kind, and 9,000 that share them: by the rule for memory 1 MiB and 64 KiB each.
    assert worker_memory(trial, many.worker, on, sharing).heap_mb == pytest.approx(
        96 + 2 * (1_000 + 9_000 / 16), abs=70
    )
    assert worker_memory(trial, many.worker, on).heap_mb > 20_000


def test_connections_are_files_of_a_server_too() -> None:
    pulsar = campaign("pulsar", 20_000, 2)
    files = registry.system_named("pulsar").handles(20_000).files + 2 * 2_000
    fits(pulsar, replace(FREE, files=files))
    message = refusal(pulsar, replace(FREE, files=files - 1))
    assert f"a server has 4,000 connections and so about {files:,} open files" in message
    assert f"ulimit -Hn {files}" in message
    fits(attached("pulsar", 20_000, 2), replace(FREE, files=20_000))
    # What a process may have on a fleet's hosts is not known here.
    fits(replace(pulsar, fleet="fleet.yaml"), replace(FREE, files=files - 1))


def test_only_what_every_system_shares_gives_memory_back() -> None:
    both = replace(campaign("kafka", 20_000), systems=(SystemChoice("pulsar"), SystemChoice("kafka")))
    assert sharing_of(plan_campaign(both)) == Sharing(producers=True, consumers=False)


def test_a_system_that_says_nothing_has_no_bounds_and_a_client_for_each() -> None:
    unknown = ClientKind()
    assert unknown.clients(20_000) == 20_000
    assert not unknown.too_many(20_000)


@pytest.mark.parametrize("topics", [5_000, 20_000, 100_000, 1_000_000])
def test_omb_workloads_of_many_topics_are_translated_and_bounded_by_the_host(tmp_path: Path, topics: int) -> None:
    changes = {"topics": topics, "partitionsPerTopic": 1, "producersPerTopic": 1, "consumerPerSubscription": 1}
    read, _ = read_workload(write(tmp_path, **changes))
    assert read is not None
    workload = translate_workload(read)
    assert workload is not None
    assert workload.topics == topics
    kafka, pulsar = (replace(campaign(system, 1), workload=workload) for system in ("kafka", "pulsar"))
    fits(pulsar, USUAL)
    assert "open files" in refusal(kafka, USUAL)


def test_of_very_many_topics_some_evenly_spread_are_read_back() -> None:
    names = [f"t-{number}" for number in range(20_000)]
    read = evenly_spread(names)
    assert len(read) == TOPICS_READ_MAX == 1000
    assert read[:3] == ["t-0", "t-20", "t-40"]
    assert evenly_spread(names[:1000]) == names[:1000]
    assert len(set(evenly_spread(names[:1001]))) == 1000


def test_the_bounds_of_a_host_are_those_of_kernel_and_cgroup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    kernel = {
        "proc/sys/kernel/pid_max": "32768\n",
        "proc/sys/kernel/threads-max": "190000\n",
        "proc/sys/vm/max_map_count": "65530\n",
        "proc/sys/net/ipv4/ip_local_port_range": "32768\t60999\n",
        "proc/loadavg": "0.10 0.20 0.30 2/768 12345\n",
    }
    found = load_bounds(plant(tmp_path, {**V2, **kernel}))
    assert (found.maps, found.threads, found.ports) == (65_530, 32_768 - 768 - 1000, 28_232 - 1000)
    limited = plant(tmp_path, {"sys/fs/cgroup/user/run/pids.max": "10000\n"})
    assert load_bounds(limited).threads == 9_000
    nothing = load_bounds(tmp_path / "none")
    assert nothing.ports == nothing.maps == UNBOUNDED
