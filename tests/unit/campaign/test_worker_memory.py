"""The load generator's memory by the planned load: small where little is asked for, and enough where much is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from omb_samples import DRIVER, WORKLOAD
from planted_files import V2, plant
from run_samples import spec

from tidegauge.campaign.model import WorkerChoice
from tidegauge.campaign.plan.memory import (
    WINDOW_SHARE_OF_HEAP,
    Workers,
    campaign_that_fits,
    check_window,
    memory_needs,
    worker_memory,
)
from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.errors import UserError
from tidegauge.hosts.memory import Machine, this_machine
from tidegauge.model.host import WORKER_OUTSIDE_HEAP_MB, MemoryAvailable, MemoryPlan, WorkerMemory
from tidegauge.model.trial import LoadSpec, RateRule, ServerReuse
from tidegauge.model.workload import Arrival, ClientSettings, LateReaders, Payload, Workload
from tidegauge.omb.translate import Chosen, Translation, translate_all
from tidegauge.worker.api import DIRECT_MEMORY_MB_LEAST, HEAP_MB_LEAST

GIB = 1 << 30
LEAST = WorkerMemory(HEAP_MB_LEAST, DIRECT_MEMORY_MB_LEAST)
NO_CHOICE = WorkerChoice()
SMALL, LARGE = Machine(2, 8000), Machine(16, 128_000)
HUNDRED = Workload(partitions=100, producers=4, consumers=4)
MANY_READERS = Workload(partitions=100, subscriptions=10, consumers=4, client=ClientSettings(batch_bytes_max=1 << 20))


def trial(workload: Workload, rate: float | None = None, **changes: Any) -> LoadSpec:
    closed = workload if rate else replace(workload, arrival=Arrival.CLOSED_LOOP)
    return replace(spec(), **{"workload": closed, "msgs_per_s": rate, "nodes": 1, **changes})


def given(workload: Workload, rate: float | None = None, on: Machine = SMALL, **changes: Any) -> WorkerMemory:
    return worker_memory(trial(workload, rate, **changes), NO_CHOICE, on)


def test_few_clients_at_a_low_rate_get_the_least_on_any_machine() -> None:
    for on in (SMALL, LARGE):
        assert given(Workload(), 20_000, on) == LEAST
        assert given(HUNDRED, 100_000, on) == LEAST
    assert given(Workload()) == LEAST, "full speed of two CPUs"
    assert given(HUNDRED) == LEAST


def test_a_hundred_partitions_stay_below_512_mb_where_the_rate_allows_it() -> None:
    # Seen with the least heap: 445 MB of a whole worker, what native copies of reads take included in direct memory.
    many_consumers = replace(HUNDRED, producers=10, consumers=100)
    assert given(HUNDRED, 200_000, LARGE) == LEAST
    assert given(many_consumers, 1_000).heap_mb == HEAP_MB_LEAST
    assert given(many_consumers).heap_mb > 1024, "at full speed each of them may hold its fill"


@pytest.mark.parametrize(
    ("rate", "on", "heap_mb"),
    [
        (None, LARGE, 1216),
        (1_000_000, LARGE, 1024),
        (500_000, LARGE, 512),
        (300_000, SMALL, 320),
        (1_000_000, SMALL, 1024),
        (1_000_000, Machine(2, 4000), 512),
        (None, Machine(64, 512_000), 2048),
        (1_000_000, Machine(2, 0), HEAP_MB_LEAST),
    ],
    ids=["peak", "million", "half", "beyond least", "small", "little memory", "most", "memory unknown"],
)
def test_what_flows_needs_room_within_the_machines_memory(rate: float | None, on: Machine, heap_mb: int) -> None:
    assert given(Workload(), rate, on).heap_mb == heap_mb


def test_large_messages_and_more_readers_flow_more() -> None:
    assert given(Workload(payload=Payload(10_240)), 100_000, LARGE).heap_mb == 1024
    assert given(Workload(payload=Payload(100)), 100_000, LARGE).heap_mb == HEAP_MB_LEAST
    assert given(Workload(subscriptions=9), 200_000, LARGE).heap_mb == 1024


def test_forty_consumers_of_a_hundred_partitions_may_hold_more() -> None:
    # Each of 40 consumers 100 messages of each of 100 partitions, of each of 3 servers: 11.5 MB by three by 40.
    held_mb = 40 * 3 * 100 * 100 * (1024 + 128) / (1 << 20)
    found = given(MANY_READERS, attached=True)
    assert found.heap_mb == pytest.approx(96 + held_mb + 41, abs=64)
    assert found.because.startswith("40 consumers and 1 producer may hold 1,360 MiB beside its own 96")


def test_what_a_client_holds_has_a_bound_and_a_least() -> None:
    ten_thousand = Workload(partitions=10_000, payload=Payload(1024))
    assert given(ten_thousand, attached=True).heap_mb == 256, "one consumer: 50 MiB of each server, whatever the queue"
    thousand_topics = Workload(topics=1000)
    assert given(thousand_topics).heap_mb == pytest.approx(96 + 1000 + 2000, abs=64), "1 MiB of its one server each"


def test_direct_memory_holds_the_largest_read_of_every_consumer() -> None:
    # Before Java 25 each consumer's thread keeps a native copy as large as its largest read: 11 MiB of 100 partitions.
    read_mb = 8 * 100 * 100 * (1024 + 128) / (1 << 20)
    found = given(replace(HUNDRED, consumers=8))
    assert found.direct_memory_mb >= 64 + read_mb + 2 * 4
    assert "8 consumers and 4 producers read and write at once" in found.because
    batches = given(Workload(producers=64, client=ClientSettings(batch_bytes_max=1 << 20)))
    assert batches.direct_memory_mb >= 64 + 64 * 2


def test_a_backlog_that_is_to_be_built_counts_at_any_rate() -> None:
    workload = replace(HUNDRED, consumers=40)
    late = LateReaders(1, 10_000, "10k messages", 1.0, 60.0)
    assert given(workload, 1000, late=late).heap_mb > given(workload, 1000).heap_mb


def test_what_the_user_says_wins() -> None:
    peak = trial(Workload())
    assert worker_memory(peak, WorkerChoice(64, 32), LARGE) == WorkerMemory(64, 32)
    assert worker_memory(peak, WorkerChoice(64), LARGE).direct_memory_mb == DIRECT_MEMORY_MB_LEAST
    assert worker_memory(peak, WorkerChoice(0, 32), LARGE).heap_mb == 1216


def test_a_rate_that_is_found_on_the_way_is_no_planned_rate() -> None:
    waits = replace(trial(Workload(), 1.0), msgs_per_s=None, rate_rule=RateRule("50% of peak", is_share=True))
    workers = Workers([waits], NO_CHOICE, LARGE)
    assert workers.memory_of_trial(replace(waits, msgs_per_s=1000.0)).heap_mb == 1216, (
        "equal for systems with different peaks"
    )
    assert workers.memory_of_trial(replace(waits, trial_id="0007-s09", msgs_per_s=1000.0)).heap_mb == 1216, (
        "a search's own"
    )


def test_a_worker_that_trials_share_is_large_enough_for_all_of_them() -> None:
    slow = trial(Workload(), 1000.0, trial_id="1", servers=ServerReuse.SHARED)
    fast = trial(Workload(), None, trial_id="2", servers=ServerReuse.SHARED)
    elsewhere = trial(MANY_READERS, None, trial_id="3", servers=ServerReuse.SHARED, system="other@1", attached=True)
    workers = Workers([slow, fast, elsewhere], NO_CHOICE, LARGE)
    assert (
        workers.memory_of_trial(slow)
        == workers.memory_of_trial(fast)
        == workers.largest_memory(slow.system, slow.point)
    )
    assert workers.memory_of_trial(slow).heap_mb == 1216
    alone = Workers([replace(trial, servers=ServerReuse.FRESH) for trial in (slow, fast)], NO_CHOICE, LARGE)
    assert alone.memory_of_trial(slow) == LEAST


def test_a_plan_says_what_the_worker_gets_and_why() -> None:
    peak = given(Workload(), None, LARGE)
    assert (
        str(peak)
        == "heap 1,216 MiB, direct memory 128 MiB (full speed of 16 CPUs gets 1,200 MiB for what flows through)"
    )
    assert str(given(Workload(), 1e6, LARGE)).endswith("(1,000,000 msg/s get 1,000 MiB for what flows through)")
    assert str(LEAST) == "heap 256 MiB, direct memory 128 MiB"


def translated(tmp_path: Path, workload: str, heap_mb: int = 0) -> Translation:
    (tmp_path / "w.yaml").write_text(workload)
    (tmp_path / "d.yaml").write_text(DRIVER)
    (one,) = translate_all([tmp_path / "w.yaml"], [tmp_path / "d.yaml"], False, 1.0, Chosen(worker_heap_mb=heap_mb))
    return one


def test_workloads_of_omb_follow_the_same_rule_and_the_users_word(tmp_path: Path) -> None:
    assert translated(tmp_path, WORKLOAD).campaign.worker == NO_CHOICE
    assert translated(tmp_path, WORKLOAD, heap_mb=64).campaign.worker == WorkerChoice(64)


def test_a_workload_too_large_for_the_machine_is_refused_before_anything_is_started(tmp_path: Path) -> None:
    large = WORKLOAD.replace("topics: 1", "topics: 2000").replace(
        "consumerPerSubscription: 1", "consumerPerSubscription: 4"
    )
    campaign = translated(tmp_path, large).campaign
    workers = Workers(plan_campaign(campaign).trials, campaign.worker, SMALL)
    with pytest.raises(UserError) as caught:
        campaign_that_fits(campaign, MemoryAvailable(8000, "of the machine's 9,000 MiB"), workers)
    assert "for the load generator" in caught.value.message
    assert "8,000 MiB are available" in caught.value.message
    assert "--worker-heap" in caught.value.hint
    (need,) = memory_needs(campaign, workers)
    given_mb = workers.memory_of_trial(workers.trials[0])
    assert need.worker_mb == given_mb.heap_mb + given_mb.direct_memory_mb + WORKER_OUTSIDE_HEAP_MB
    assert MemoryPlan((need,), None).sentences()[-1] == f"The load generator gets at most: {given_mb}"


def test_a_window_that_is_asked_for_has_room(tmp_path: Path) -> None:
    asked = ClientSettings(in_flight_messages_max=100_000, in_flight_bytes_max=8 * GIB)
    large = replace(HUNDRED, client=asked)
    assert large.window_bytes() == 400_000 * 1024
    memory = given(large, 200_000, LARGE)
    assert memory.heap_mb << 20 >= WINDOW_SHARE_OF_HEAP * large.window_bytes()
    assert memory.direct_memory_mb << 20 >= 2 * large.window_bytes()
    assert given(replace(HUNDRED, client=replace(asked, in_flight_messages_max=5000)), 200_000, LARGE) == LEAST
    check_window([trial(large)], NO_CHOICE, tmp_path)
    check_window([trial(large)], WorkerChoice(2048), tmp_path)
    check_window([trial(HUNDRED)], WorkerChoice(32), tmp_path)
    with pytest.raises(UserError, match=r"in-flight: 400,000 messages in flight are 391 MiB, more than .* of 512 MiB"):
        check_window([trial(large)], WorkerChoice(512), tmp_path)


def test_a_machine_is_what_its_cgroups_leave(tmp_path: Path) -> None:
    meminfo = "MemTotal:       8192000 kB\n"
    group = "sys/fs/cgroup/user"
    free = plant(tmp_path / "free", {**V2, "proc/meminfo": meminfo})
    assert this_machine(free).memory_mb == 8000
    limits = {f"{group}/memory.max": f"{2 * GIB}\n", f"{group}/cpu.max": "100000 100000\n", f"{group}/run/x": ""}
    assert this_machine(plant(tmp_path / "limited", {**V2, "proc/meminfo": meminfo, **limits})) == Machine(1, 2048)
    assert this_machine(tmp_path / "nothing").memory_mb == 0
    assert this_machine().cpus >= 1


@pytest.mark.parametrize(
    ("message_bytes", "msgs_per_s", "words"),
    [
        (10_240, 100_000.0, "100,000 msg/s get 1,000 MiB"),
        (1024, 50_000_000.0, "50,000,000 msg/s get 2,048 MiB"),
    ],
)
def test_what_flows_is_named_as_what_it_gets(message_bytes: int, msgs_per_s: float, words: str) -> None:
    """Large messages need more than small ones, and the highest rates get no more than a bound."""
    assert words in given(Workload(payload=Payload(message_bytes)), msgs_per_s, LARGE).because


def test_topics_of_others_may_have_partitions_on_every_server() -> None:
    """How many they have nobody knows: `partitions` is 1 beside them."""

    def heap_mb(**changes: Any) -> int:
        return given(Workload(consumers=400, **changes), on=Machine(2, 0), attached=True).heap_mb

    assert heap_mb(existing_topics=("orders",)) == heap_mb(partitions=3) > heap_mb(partitions=1)
