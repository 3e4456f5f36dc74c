"""The verbs `omb`, `published` and `attest` as typer wants them. What they need is imported when they are called."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tidegauge.cli.options import (
    DEFAULT_RUNS,
    DataDir,
    DirectMemory,
    DryRun,
    Heap,
    InFlight,
    Json,
    Junit,
    Level,
    Markdown,
    RunsDir,
    WantedFiles,
    WorkerHeap,
    data_places,
    ready_campaign,
)
from tidegauge.cli.output import Output
from tidegauge.model.attest import FileSystem, Scenario

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


PUBLISHED_EXAMPLE = "Example: tidegauge published 2026-11-20 last"


def published(
    runs: Annotated[list[str], typer.Argument(help="Runs of campaigns of one published report, as `show` takes them.")],
    *,
    runs_dir: RunsDir = DEFAULT_RUNS,
    as_json: Json = False,
) -> int:
    """Examine a published report's claims over several runs, such as of systems that took turns on the same hosts."""
    from tidegauge.cli.comparing import PublishedRequest, examine_runs

    return examine_runs(PublishedRequest(tuple(runs), runs_dir), Output(as_json))


ATTEST_EXAMPLE = "Example: tidegauge attest kafka --level 1 --scenario all --scenario leader --cuts 20"


class ScenarioName(StrEnum):
    """What `--scenario` takes."""

    ALL = Scenario.ALL.value
    ONE = Scenario.ONE.value
    LEADER = Scenario.LEADER.value
    ROLLING = Scenario.ROLLING.value
    LAGGING_MAJORITY = Scenario.LAGGING_MAJORITY.value


def attest(
    system: Annotated[str, typer.Argument(help="The system, with or without a version: kafka, pulsar@4.2.4.")],
    *,
    level: Annotated[int, typer.Option("--level", min=1, max=4, help="The durability level to test by power cuts.")],
    form: Annotated[str, typer.Option("--form", help="Which way of giving the level, of systems with several.")] = "",
    nodes: Annotated[
        int | None, typer.Option("--nodes", min=1, max=9, help="Default: 3 for levels 1 and 2, else 1.")
    ] = None,
    cuts: Annotated[int, typer.Option("--cuts", min=1, max=1000, help="Cuts of each scenario.")] = 20,
    scenario: Annotated[
        list[ScenarioName] | None, typer.Option("--scenario", help="Who loses power; may be repeated (default: all).")
    ] = None,
    second_cut: Annotated[bool, typer.Option("--second-cut", help="Cut once more while servers recover.")] = False,
    file_system: Annotated[
        FileSystem, typer.Option("--file-system", help="Of the nodes' disks; fuse needs no root.")
    ] = FileSystem.EXT4,
    crash: Annotated[
        bool, typer.Option("--crash", help="Kill processes instead: a process crash, not a power cut; needs no root.")
    ] = False,
    seed: Annotated[int | None, typer.Option("--seed", help="Decides which nodes are cut when (default: 1).")] = None,
    data_dir: DataDir = None,
    dry_run: DryRun = False,
    junit: Junit = None,
    markdown: Markdown = None,
    runs_dir: RunsDir = DEFAULT_RUNS,
    as_json: Json = False,
) -> int:
    """Cut the power under load and count what was acknowledged and is gone. Needs root and loop devices.

    Without them: `--file-system fuse`, where libfuse's passthrough_ll is, or `--crash`; both are less than a power cut.

    Ends with 5 if messages were lost (refuted), 3 if the cuts could not have shown it, 0 if none was lost.
    """
    from tidegauge.cli.planning import AttestRequest, RunRequest, overrides_of, run_campaign

    request = AttestRequest(
        system, level, form, nodes, cuts, tuple(scenario or ()), second_cut, file_system, crash, seed
    )
    overrides = overrides_of(request)
    overrides |= data_places(data_dir)
    files = WantedFiles(junit, markdown)
    return run_campaign(
        RunRequest(ready_campaign("attest"), overrides, runs_dir, dry_run, files=files), Output(as_json)
    )
