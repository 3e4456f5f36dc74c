"""Ceilings agree with fio. The two take turns, so that what else the machine does meets both alike."""

from __future__ import annotations

import json
import math
import os
import shutil
import statistics
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scipy import stats

from tidegauge.hosts.ceilings_disk import BLOCK_BYTES, DEPTH, DiskMeasure

pytestmark = [
    pytest.mark.integration,
    pytest.mark.alone,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(shutil.which("fio") is None, reason="needs fio"),
]

SECONDS = 0.6
ROUNDS_MIN, ROUNDS_MAX = 5, 15
AGREES = 0.15
"""As the logarithm of the ratio."""
FILE_BYTES = 512 << 20
LOAD_PER_CPU_MAX = 2.0


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory whose files are as large as those that fio is to use."""
    if (load := os.getloadavg()[0]) > LOAD_PER_CPU_MAX * (os.cpu_count() or 1):
        pytest.skip(f"{load:.1f} threads want to run on {os.cpu_count()} CPUs: waiting for one would be compared")
    monkeypatch.setattr("tidegauge.hosts.ceilings_disk.FILE_BYTES_MAX", FILE_BYTES)
    if shutil.disk_usage(tmp_path).free < 20 * FILE_BYTES:
        pytest.skip("needs 10 GiB of free space")
    yield tmp_path
    shutil.rmtree(tmp_path)


def fio(directory: Path, kind: str, *options: str) -> float:
    """What fio reports: bytes a second of a stream, operations a second with syncs."""
    command = [
        *("fio", "--name=job", f"--directory={directory}", "--filename=fio", f"--rw={kind}", "--output-format=json"),
        # In ms, since fio takes a fraction of a second for 0, which is no limit.
        *(f"--size={FILE_BYTES}", "--time_based", f"--runtime={round(1000 * SECONDS)}ms", *options),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0][kind]
    return float(found["iops"] if any("sync=1" in option for option in options) else found["bw_bytes"])


STREAM = ("--direct=1", "--ioengine=libaio", f"--iodepth={DEPTH}", f"--bs={BLOCK_BYTES}")


def agree(ours: Callable[[], float], theirs: Callable[[], float]) -> None:
    """Take turns until the interval of the ratio lies within reach, or beyond it; at last the ratio itself decides."""
    logs: list[float] = []
    while len(logs) < ROUNDS_MAX:
        # Whoever goes first may meet what the round before has left to be written: so each does by turns.
        first, second = (ours, theirs) if len(logs) % 2 else (theirs, ours)
        one, other = math.log(first()), math.log(second())
        logs.append(one - other if first is ours else other - one)
        if len(logs) >= ROUNDS_MIN:
            reach = float(stats.t.ppf(0.95, len(logs) - 1)) * statistics.stdev(logs) / math.sqrt(len(logs))
            off = abs(statistics.mean(logs))
            if off + reach < AGREES:
                return
            if off - reach > AGREES:
                break
    ratio = math.exp(statistics.median(logs))
    assert abs(math.log(ratio)) < AGREES, f"ours is {ratio:.2f} times fio's in {len(logs)} rounds: {logs}"


def test_sequential_writes(disk: Path) -> None:
    measure = DiskMeasure(disk)
    agree(lambda: measure.write(SECONDS).bytes_per_s, lambda: fio(disk, "write", *STREAM))


def test_sequential_reads(disk: Path) -> None:
    measure = DiskMeasure(disk)
    written = measure.write(10 * SECONDS)
    # Both read the same blocks: what was reserved and never written is zeros, and needs no disk to be read.
    file, size_bytes = measure.sequential_file, min(FILE_BYTES, written.blocks * BLOCK_BYTES)
    theirs = ("--filename=" + file.name, f"--size={size_bytes}", *STREAM)
    agree(lambda: measure.read(SECONDS).bytes_per_s, lambda: fio(disk, "read", *theirs))


@pytest.mark.parametrize("size", [4096, 131_072])
@pytest.mark.parametrize("call", ["fdatasync", "fsync"])
def test_syncs(disk: Path, call: str, size: int) -> None:
    measure = DiskMeasure(disk)

    def theirs() -> float:
        (disk / "fio").unlink(missing_ok=True)  # Else it would write over what is there instead of appending.
        return fio(disk, "write", "--ioengine=psync", "--fallocate=none", f"--{call}=1", f"--bs={size}")

    agree(lambda: measure.sync(call, size, 1, SECONDS).per_s, theirs)


def test_that_they_agree_can_fail() -> None:
    with pytest.raises(AssertionError, match=r"ours is 1\.20 times"):
        agree(lambda: 120.0, lambda: 100.0)
    agree(lambda: 110.0, lambda: 100.0)
