"""Runs with the distributions of their seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from run_samples import encoded, result, second, spec, totals

from tidegauge import store
from tidegauge.model.trial import LoadResult


def stored(tmp_path: Path, results: Sequence[LoadResult], seconds: int = 40) -> store.StoredRun:
    """Runs whose windows hold 1,000 messages of 1 ms, and 30 of number + 1 ms in trial `number`."""
    run = store.create_run(tmp_path, "quick", "")
    for number, one in enumerate(results):
        trial = run.open_trial(one.spec)
        for at in range(seconds):
            trial.append_second(replace(second(at), response=encoded(*[1_000_000] * 50, 2_000_000 + at * 100_000)))
        whole = encoded(*[1_000_000] * 1000, *[(number + 1) * 1_000_000] * 30)
        made = totals()
        trial.finish(one, replace(made, window=replace(made.window, response=whole)))
    run.finish("finished")
    return store.load_run(run.path)


def blocks_of(count: int) -> list[LoadResult]:
    return [result(spec(number=n + 1, block=n)) for n in range(count)]
