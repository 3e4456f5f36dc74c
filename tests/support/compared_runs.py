"""Runs that are compared with each other."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from run_samples import result, spec, totals

from tidegauge import store
from tidegauge.model.finding import Finding
from tidegauge.model.server import Setting
from tidegauge.model.trial import LoadResult

CAMPAIGN = "name: quick\nsystems: [kafka]\nworkload: {partitions: 4}\nexperiments: [{name: latency, rate: 20k}]\n"
HOST = {"cpu_model": "EPYC", "cpus": 2, "memory_bytes": 24 << 30, "kernel": "Linux 6.1", "disks": {"/x": {}}}


def made(
    runs: Path,
    results: Sequence[LoadResult],
    *,
    campaign: str = CAMPAIGN,
    host: dict[str, Any] | None = None,
    threads: str = "8",
    threads_of_first: str = "",
    findings: Sequence[Finding] = (),
) -> str:
    """A stored run with these results; its name. `threads_of_first`: what its first trial had instead."""
    run = store.create_run(runs, "quick", campaign)
    run.write_environment({"host": {**HOST, **(host or {})}, "tidegauge": {"git_commit": "abc"}})
    run.write_plan([result.spec for result in results])
    for number, measured in enumerate(results):
        trial = run.open_trial(measured.spec)
        port = random.randrange(10_000, 60_000)
        server = [
            Setting("broker 1", "num.io.threads", (threads_of_first if not number else "") or threads),
            Setting(f"broker 127.0.0.1:{port}", "webServicePort", f"Optional[{port}]"),
            Setting(f"broker 127.0.0.1:{port}", "threads", "4"),
            Setting("bookie 1", "bookiePort", str(port)),
            Setting("bookie 1", "journal syncs so far", str(port)),
            Setting("cluster", "cluster.id", run.path.name),
            Setting("broker 1", "log.dirs", f"{run.path}/data/{measured.spec.trial_id}/kafka-1"),
            Setting("broker 1", "listeners", f"PLAINTEXT://127.0.0.1:{port}"),
        ]
        trial.write_settings(server, (), ("-Xmx1g",))
        trial.finish(measured, totals())
    for finding in findings:
        run.write_finding(finding)
    run.finish("finished")
    return run.path.name


def blocks_of(system: str, *scales: float, **changes: object) -> list[LoadResult]:
    return [
        replace(result(spec(system, number=n + 1, block=n), scale), **changes)  # type: ignore[arg-type]
        for n, scale in enumerate(scales)
    ]


BEFORE = (1.0, 1.03, 0.98, 1.01, 0.99)
