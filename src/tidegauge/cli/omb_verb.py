"""The verb `omb` as typer wants it. What it needs it imports when it is called: `--help` is answered at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidegauge.cli.options import DEFAULT_RUNS, DirectMemory, DryRun, Heap, InFlight, Json, Level, RunsDir, WorkerHeap
from tidegauge.cli.output import Output

OMB_EXAMPLE = "Example: tidegauge omb workloads/1-topic-1-partition-1kb.yaml --driver driver-kafka/kafka.yaml"


def omb(
    workloads: Annotated[list[Path], typer.Argument(help="Workload files of the OpenMessaging Benchmark.")],
    *,
    driver: Annotated[
        list[Path] | None, typer.Option("--driver", "-d", help="Driver files; each workload is run on each of them.")
    ] = None,
    managed: Annotated[
        bool, typer.Option("--managed", help="Start servers here instead of attaching to those that the files name.")
    ] = False,
    time_scale: Annotated[
        float, typer.Option("--time-scale", help="Multiplies the files' minutes: 0.1 for a first look.")
    ] = 1.0,
    output_directory: Annotated[
        Path | None, typer.Option("--output-directory", help="Where OMB's JSON goes, beside the run's directory.")
    ] = None,
    level: Level = None,
    form: Annotated[str, typer.Option("--form", help="Which way of giving the level, as the system names it.")] = "",
    heap: Heap = None,
    direct_memory: DirectMemory = None,
    in_flight: InFlight = None,
    worker_heap: WorkerHeap = None,
    dry_run: DryRun = False,
    runs_dir: RunsDir = DEFAULT_RUNS,
    as_json: Json = False,
) -> int:
    """Run workload and driver files of the OpenMessaging Benchmark (OMB); results are also written in its JSON."""
    from tidegauge.cli.omb import OmbRequest, run_omb

    request = OmbRequest(
        workloads, driver or [], managed, time_scale, runs_dir, output_directory, dry_run,
        worker_heap, level, form, heap, direct_memory, in_flight,
    )  # fmt: skip
    return run_omb(request, Output(as_json))
