"""Consumers of the load generator that can't keep up spoil end-to-end times, and the trial says so. Known answers."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import STARVED_SHARE, Done, Place, is_slow, stored_result, wait_until_measuring
from null_worker import BUILT

from tidegauge.model.reason import ReasonKind

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not BUILT, reason="the worker is not built: run `make build`"),
]

CAMPAIGN = """
name: busy-consumers
systems: [{{name: "null", settings: {{consume_us: "{consume_us}"}}}}]
durability: 4
workload: {{message-size: 100B}}
experiments:
"""
TIMES = "warm-up-min: 1s, warm-up-max: 2s, measure: 4s, drain-max: 8s"
PEAK = f"  - {{name: peak, {TIMES}}}\n"
LATENCY = f"  - {{name: latency, rate: RATE, {TIMES}}}\n"
CONSUMER = "sub-0 consumer 0"
RUN_S_MAX = 300
BURNERS = 6
"""Each in a session of its own, which the kernel may schedule as a group: together they leave a seventh of a CPU."""


def campaign(consume_us: int, *experiments: str) -> str:
    return CAMPAIGN.format(consume_us=consume_us) + "".join(experiments)


def results(place: Place) -> dict[str, dict[str, Any]]:
    """Of the only run, by experiment."""
    found = [stored_result(path.parent) for path in place.only_run().glob("trials/*/result.json")]
    return {one["spec"]["experiment"]: one for one in found}


def assert_slow(result: dict[str, Any], done: Done) -> None:
    """It says that its consumer is too slow, which one, and what to do, wherever a reader may look."""
    assert is_slow(result), (result["busy_consumer"], result["reasons"], result["subscriptions"], done.printed)
    (reason,) = [
        text for text, kind in zip(result["reasons"], result["kinds"], strict=True) if kind is ReasonKind.BUSY_CONSUMER
    ]
    assert result["validity"] == "invalid"
    assert f"{CONSUMER} had no time left in" in reason
    assert "more consumers per subscription" in reason
    assert result["busy_consumer"]["name"] == CONSUMER
    assert result["subscriptions"][0]["window_end_backlog"] > 0
    # On a busy machine a disk may be named before it.
    sentences = (result["limiting"]["words"], *result["limiting"]["others"])
    assert any(CONSUMER in words for words in sentences), sentences


@pytest.mark.slow
@pytest.mark.parametrize("consume_us", [1, 5, 20])
def test_slow_consumers_are_named_where_they_cannot_keep_up_and_only_there(tmp_path: Path, consume_us: int) -> None:
    """A closed loop sends what they take, and more; 2,000 msg/s cost them 4 % of a CPU at most."""
    place = Place(tmp_path)
    done = place.run("run", str(place.write(campaign(consume_us, PEAK, LATENCY.replace("RATE", "2000")))))
    found = results(place)
    assert done.returncode == 3, done.printed
    assert_slow(found["peak"], done)
    assert "had no time left" in done.stdout
    calm = found["latency"]
    if ReasonKind.BUSY_CONSUMER in calm["kinds"] and done.starved >= STARVED_SHARE:
        pytest.skip(f"the consumer got too little of a CPU even for 2,000 msg/s ({done.starved:.0%} starved)")
    assert ReasonKind.BUSY_CONSUMER not in calm["kinds"], done.printed


# In `make test`: the closed loop above, and the rule for bounded queues in tests/unit/statistics/test_classify.py.
@pytest.mark.slow
def test_a_rate_that_consumers_cannot_keep_up_with(tmp_path: Path) -> None:
    """The null system's queue is bounded, so that producers are held back: slow consumers show in the response too."""
    place = Place(tmp_path)
    done = place.run("run", str(place.write(campaign(20, LATENCY.replace("RATE", "100000")))))
    assert done.returncode == 3, done.printed
    assert_slow(results(place)["latency"], done)


@contextlib.contextmanager
def busy_cpu(cpu: int) -> Iterator[None]:
    """A CPU that others want all the time."""
    code = f"import os\nos.sched_setaffinity(0, {{{cpu}}})\nwhile os.getppid() == {os.getpid()}: sum(range(100000))"
    burning = [subprocess.Popen([sys.executable, "-c", code], start_new_session=True) for _ in range(BURNERS)]
    try:
        yield
    finally:
        for one in burning:
            one.kill()
            one.wait()


def threads_of(pid: int) -> dict[int, str]:
    names = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            names[int(task.name)] = (task / "comm").read_text().strip()
    return names


# In `make test`: the closed loop above, whose consumer is short of time by itself; this takes a CPU from all else.
@pytest.mark.slow
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs a CPU for the consumer and one for the rest")
def test_a_worker_that_is_starved_in_its_consumer_only(tmp_path: Path) -> None:
    """Its consumer could keep up (40 % of a CPU), but others want the CPU that it is bound to; the rest has another."""
    place = Place(tmp_path)
    run = place.start("run", str(place.write(campaign(20, LATENCY.replace("RATE", "20000")))))
    first, *others = sorted(os.sched_getaffinity(0))
    try:
        wait_until_measuring(place, run)
        for thread, name in threads_of(place.held()["worker"]).items():
            with contextlib.suppress(OSError):
                os.sched_setaffinity(thread, {first} if name.startswith("tg-con") else set(others))
        with busy_cpu(first):
            done = run.finish(RUN_S_MAX)
    finally:
        if run.poll() is None:
            run.terminate()
            run.communicate(timeout=60)
    result = results(place)["latency"]
    if ReasonKind.BUSY_CONSUMER not in result["kinds"] and ReasonKind.OWN_LAG in result["kinds"]:
        pytest.skip(f"the load thread was starved too, so that its consumer had little to do: {result['reasons']}")
    assert done.returncode == 3, done.printed
    assert_slow(result, done)
