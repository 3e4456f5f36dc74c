"""The verb `attest` as typer wants it. What it needs it imports when it is called: `--help` is answered at once."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from tidegauge.cli.campaigns import ready_campaign
from tidegauge.cli.files import WantedFiles
from tidegauge.cli.options import DEFAULT_RUNS, DataDir, DryRun, Json, Junit, Markdown, RunsDir, data_places
from tidegauge.cli.output import Output
from tidegauge.model.cut_method import FileSystem
from tidegauge.model.scenario import Scenario

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
    level: Annotated[int, typer.Option("--level", min=1, max=4, help="The durability level to put to the proof.")],
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
    from tidegauge.cli.attesting import AttestRequest, overrides_of
    from tidegauge.cli.planning import RunRequest, run_campaign

    request = AttestRequest(
        system, level, form, nodes, cuts, tuple(scenario or ()), second_cut, file_system, crash, seed
    )
    overrides = overrides_of(request)
    overrides |= data_places(data_dir)
    files = WantedFiles(junit, markdown)
    return run_campaign(
        RunRequest(ready_campaign("attest"), overrides, runs_dir, dry_run, files=files), Output(as_json)
    )
