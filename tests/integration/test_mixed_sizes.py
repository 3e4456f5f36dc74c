"""Messages of several sizes on the null system: what is received has the sizes that were asked for, and is intact."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from null_worker import BUILT, WORKLOAD, order, run_trial

from tidegauge.agent.local import LocalHost
from tidegauge.errors import RunFailedError
from tidegauge.model.message_sizes import HEADER_BYTES, MessageSizes, SizeKind
from tidegauge.model.workload import KeyFile, Keys, Payload
from tidegauge.worker.client import GrpcWorker
from tidegauge.worker.launch import start_worker

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not BUILT, reason="the worker is not built: run `make build`"),
]

MIXED = MessageSizes(SizeKind.MIXED, (100, 1024, 65536), (0.7, 0.25, 0.05))


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GrpcWorker]:
    directory = tmp_path_factory.mktemp("worker")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIDEGAUGE_STATE", str(directory / "state"))
        with LocalHost.open() as host:
            worker = start_worker(host, "null", directory)
            yield worker
            worker.close()


@pytest.mark.parametrize("connection", [{}, {"ack_delay_us": "1000"}], ids=["copied", "retained"])
def test_bytes_are_those_of_the_mix_and_all_is_intact(worker: GrpcWorker, connection: dict[str, str]) -> None:
    """Several times round, so that the mean is that of the mix; for clients that copy values and that keep them."""
    payload = Payload(round(MIXED.mean_bytes), sizes=MIXED)
    workload = replace(WORKLOAD, producers=2, partitions=3, payload=payload)
    load = order(connection, workload=workload, msgs_per_s=20_000.0)
    totals = run_trial(worker, load)
    sub, window = totals.subscriptions[0], totals.window
    assert (sub.lost, sub.duplicated, sub.corrupt, sub.foreign) == (0, 0, 0, 0)
    assert window.acked > 30_000
    assert window.acked_bytes / window.acked == pytest.approx(MIXED.mean_bytes, rel=0.1)
    assert sub.received_bytes / sub.received == pytest.approx(MIXED.mean_bytes, rel=0.1)


@pytest.mark.parametrize("kind", [SizeKind.LINES, SizeKind.FILES])
def test_messages_that_are_given_arrive_whole(worker: GrpcWorker, tmp_path: Path, kind: SizeKind) -> None:
    lines = [b'{"order": %d, "note": "%s"}' % (n, b"x" * n) for n in range(200)]
    file = tmp_path / "orders.jsonl"
    if kind is SizeKind.LINES:
        file.write_bytes(b"\n".join(lines))
    else:
        file.mkdir()
        for number, line in enumerate(lines):
            (file / f"{number}.json").write_bytes(line)
    sizes = MessageSizes(
        kind,
        given=len(lines),
        given_bytes_mean=HEADER_BYTES + sum(map(len, lines)) / len(lines),
        given_bytes_most=HEADER_BYTES + max(map(len, lines)),
    )
    payload = Payload(round(sizes.mean_bytes), file=str(file), sizes=sizes)
    totals = run_trial(worker, order(workload=replace(WORKLOAD, payload=payload), msgs_per_s=5_000.0))
    sub = totals.subscriptions[0]
    assert (sub.lost, sub.duplicated, sub.corrupt, sub.foreign) == (0, 0, 0, 0)
    assert sub.received_bytes / sub.received == pytest.approx(sizes.mean_bytes, rel=0.02)


def test_messages_have_keys_from_a_file(worker: GrpcWorker, tmp_path: Path) -> None:
    file = tmp_path / "keys.txt"
    file.write_text("hot\nhot\ncold\n")
    keys = replace(
        WORKLOAD, partitions=3, keys=Keys.FROM_FILE, distinct_keys=2, key_file=KeyFile(str(file), 3, 2, 2 / 3)
    )
    sub = run_trial(worker, order(workload=keys, msgs_per_s=2_000.0)).subscriptions[0]
    assert sub.received > 2_000
    assert (sub.lost, sub.duplicated, sub.corrupt, sub.reordered) == (0, 0, 0, 0)
    file.write_text("\n")
    with pytest.raises(RunFailedError, match=r"the key file can't be used: .*is empty"):
        run_trial(worker, order(workload=keys, msgs_per_s=2_000.0))
