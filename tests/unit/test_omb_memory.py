"""The load generator's heap for a workload of OMB's: enough for what consumers may hold, or told before the start."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_omb_campaign import DRIVER, WORKLOAD

from tidegauge.campaign.memory import fitting
from tidegauge.errors import UserError
from tidegauge.hosts.memory import MemoryAvailable
from tidegauge.omb.memory import HEAP_MB_MIN, worker_for
from tidegauge.omb.translate import Translation, translate_all
from tidegauge.systems import registry
from tidegauge.workload.model import ClientSettings, Payload, Workload

SMALL = Workload(partitions=16)
MANY_READERS = Workload(partitions=100, subscriptions=10, consumers=4, client=ClientSettings(batch_bytes_max=1 << 20))


def translated(tmp_path: Path, workload: str, heap_mb: int = 0) -> Translation:
    (tmp_path / "w.yaml").write_text(workload)
    (tmp_path / "d.yaml").write_text(DRIVER)
    (one,) = translate_all([tmp_path / "w.yaml"], [tmp_path / "d.yaml"], False, 1.0, heap_mb)
    return one


def test_usual_workloads_get_the_least() -> None:
    assert worker_for(SMALL).heap_mb == HEAP_MB_MIN
    assert worker_for(Workload(partitions=16, subscriptions=0)).heap_mb == HEAP_MB_MIN


def test_forty_consumers_of_a_hundred_partitions_may_hold_more() -> None:
    # Each of 40 consumers 100 messages of each of 100 partitions, of each of 3 servers: 11.5 MB by three by 40.
    held_mb = 40 * 3 * 100 * 100 * (1024 + 128) / (1 << 20)
    assert worker_for(MANY_READERS).heap_mb == pytest.approx(256 + held_mb + 41, abs=1)


def test_what_a_client_holds_has_a_bound_and_a_least() -> None:
    ten_thousand = Workload(partitions=10_000, payload=Payload(1024))
    assert worker_for(ten_thousand).heap_mb == HEAP_MB_MIN, "one consumer: 50 MiB of each server, whatever the queue"
    thousand_topics = Workload(topics=1000)
    assert worker_for(thousand_topics).heap_mb == 256 + 1000 + 2000, "1 MiB of its one server, and 1 for each client"


def test_what_the_user_asks_for_wins(tmp_path: Path) -> None:
    assert translated(tmp_path, WORKLOAD).campaign.worker.heap_mb == HEAP_MB_MIN
    assert translated(tmp_path, WORKLOAD, heap_mb=64).campaign.worker.heap_mb == 64


def test_a_workload_too_large_for_the_machine_is_refused_before_anything_is_started(tmp_path: Path) -> None:
    large = WORKLOAD.replace("topics: 1", "topics: 2000").replace(
        "consumerPerSubscription: 1", "consumerPerSubscription: 4"
    )
    campaign = translated(tmp_path, large).campaign
    with pytest.raises(UserError) as caught:
        fitting(campaign, registry.get, MemoryAvailable(8000, "of the machine's 9,000 MiB"))
    assert "for the load generator" in caught.value.message
    assert "8,000 MiB are available" in caught.value.message
    assert "--worker-heap" in caught.value.hint
