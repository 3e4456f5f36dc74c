"""The command `tidegauge`: its verbs, and one place where every error becomes a message and an exit code.

Each verb imports what it needs itself: `--help` and a mistyped option are answered without loading everything.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.exceptions import Abort, TyperException

from tidegauge import __version__
from tidegauge.cli import fleet
from tidegauge.cli.completing import (
    complete_campaigns,
    complete_campaigns_of_runs,
    complete_reports,
    complete_runs,
    complete_systems,
    complete_tags,
)
from tidegauge.cli.options import (
    A_PATH,
    DEFAULT_RUNS,
    AbortOn,
    AllowUnequal,
    Attach,
    ClientProperties,
    Consumers,
    DataDir,
    DirectMemory,
    DryRun,
    Fleet,
    Heap,
    Html,
    InFlight,
    Json,
    Junit,
    Level,
    LevelOrFound,
    LineAddress,
    LineRate,
    LineTarget,
    Live,
    Markdown,
    MeasuredTime,
    MessageSize,
    Partitions,
    PricePerHostHour,
    PrintCampaign,
    Producers,
    Prometheus,
    PrometheusPush,
    Repeat,
    Resume,
    Run,
    RunName,
    RunOptions,
    RunsDir,
    SameWithinText,
    ScaleOption,
    Setting,
    Systems,
    Tags,
    Thresholds,
    Topic,
    Vary,
    WantedFiles,
    WithExperiments,
    WorkerHeap,
    Workers,
    campaign_path,
    campaign_values,
    data_places,
    labels_of,
    overrides_of,
    ready_campaign,
    refuse_underscores,
    usable_path,
)
from tidegauge.cli.output import EXIT_FAILED, EXIT_GOOD, EXIT_INTERRUPTED, Output, accept_all_characters
from tidegauge.errors import TidegaugeError, UserError
from tidegauge.model.attest import FileSystem, Scenario
from tidegauge.published import PublishedScale

RUN_EXAMPLE = (
    "Example: tidegauge run campaigns/quick.yaml --repeat 5; on clusters that run already: "
    "tidegauge run confluent-2020-latency --scale original --attach clusters.yaml"
)

BENCH_EXAMPLES = """Examples:

tidegauge bench kafka localhost:9092 --rate 5000

tidegauge bench kafka broker1:9092,broker2:9092 --rate 5000 --set producer.acks=1 --set compression=lz4

tidegauge bench pulsar://localhost:6650

tidegauge bench kafka --attach clusters.yaml --rate 5000     (TLS, passwords)
"""
WHICH_RUN = "A run: a name or tag given to it, its directory, the beginning of that (a date), its path, or 'latest'."

AB_EXAMPLES = """Examples:

tidegauge ab kafka localhost:9092 -L producer.linger.ms=0,20 --rate 5000

tidegauge ab kafka localhost:9092 -L producer.linger.ms=0,20 -L compression=none,lz4 --rate 5000 --same-within 1ms

tidegauge ab kafka -L version=3.9.2,4.3.1     (servers started here)

tidegauge ab kafka old:9092 -L address=old:9092,new:9092 --rate 5000
"""

app = typer.Typer(
    name="tidegauge",
    help="Measure messaging systems side by side on equal terms.",
    epilog="Example: tidegauge quick",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(fleet.app)


def _print_version(wanted: bool) -> None:
    if wanted:
        out = Output("--json" in sys.argv)
        from tidegauge.report.envelopes import Version

        out.show(f"tidegauge {__version__}", Version(schema="tidegauge.version/1", version=__version__))
        raise typer.Exit(EXIT_GOOD)


@app.callback()
def top(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", hidden=True)] = False,
) -> None:
    """Measure messaging systems side by side on equal terms: same load, same durability, every message checked."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(UserError.exit_code)


@app.command(epilog="Example: tidegauge quick --level 4 --systems kafka,pulsar")
def quick(
    *,
    level: LevelOrFound = None,
    systems: Systems = None,
    repeat: Repeat = None,
    data_dir: DataDir = None,
    price: PricePerHostHour = None,
    threshold: Thresholds = None,
    attach: Attach = None,
    abort_on: AbortOn = None,
    name: RunName = None,
    tag: Tags = None,
    dry_run: DryRun = False,
    live: Live = False,
    prometheus: Prometheus = None,
    prometheus_push: PrometheusPush = None,
    allow_unequal: AllowUnequal = False,
    junit: Junit = None,
    markdown: Markdown = None,
    runs_dir: RunsDir = DEFAULT_RUNS,
    as_json: Json = False,
) -> int:
    """Measure Kafka, Pulsar and, if available, RabbitMQ: one node each, equal durability, a few minutes."""
    more = {"attach": None if attach is None else str(attach.absolute())}
    overrides = overrides_of(
        level, systems, repeat, data_dir, price=price, thresholds=threshold, abort_on=abort_on, more=more
    )
    files, labels = WantedFiles(junit, markdown), labels_of(name, tag)
    options = RunOptions(runs_dir, files, dry_run, allow_unequal, live, prometheus, labels, prometheus_push)
    return _run_campaign_file(ready_campaign("quick"), overrides, options, as_json)


@app.command(cls=WithExperiments, epilog=RUN_EXAMPLE)
def run(
    campaign: Annotated[
        str | None,
        typer.Argument(
            help="A campaign file, or the name of a ready campaign (`tidegauge campaigns`).",
            autocompletion=complete_campaigns,
        ),
    ] = None,
    *,
    resume: Resume = None,
    level: LevelOrFound = None,
    systems: Systems = None,
    repeat: Repeat = None,
    data_dir: DataDir = None,
    price: PricePerHostHour = None,
    threshold: Thresholds = None,
    abort_on: AbortOn = None,
    heap: Heap = None,
    direct_memory: DirectMemory = None,
    in_flight: InFlight = None,
    workers: Workers = None,
    attach: Attach = None,
    client_properties: ClientProperties = None,
    fleet: Fleet = None,
    scale: ScaleOption = PublishedScale.SHARES,
    same_within: SameWithinText = None,
    name: RunName = None,
    tag: Tags = None,
    dry_run: DryRun = False,
    live: Live = False,
    prometheus: Prometheus = None,
    prometheus_push: PrometheusPush = None,
    allow_unequal: AllowUnequal = False,
    junit: Junit = None,
    markdown: Markdown = None,
    runs_dir: RunsDir = DEFAULT_RUNS,
    as_json: Json = False,
) -> int:
    """Run every experiment of a campaign file."""
    more = {
        "heap": heap,
        "direct-memory": direct_memory,
        "in-flight": in_flight,
        "workers": workers,
        "attach": None if attach is None else str(attach.absolute()),
        "client-properties": None if client_properties is None else str(client_properties.absolute()),
        "fleet": None if fleet is None else str(fleet.absolute()),
        "same-within": same_within,
        "scale": None if scale is PublishedScale.SHARES else scale.value,
    }
    overrides = overrides_of(
        level, systems, repeat, data_dir, price=price, thresholds=threshold, abort_on=abort_on, more=more
    )
    files, labels = WantedFiles(junit, markdown), labels_of(name, tag)
    options = RunOptions(runs_dir, files, dry_run, allow_unequal, live, prometheus, labels, prometheus_push)
    if resume is not None:
        return _resume_named_run(resume, campaign, overrides, options, as_json)
    if campaign is None:
        raise UserError("A campaign is needed, or --resume with a run.", "Such as: tidegauge run campaigns/quick.yaml")
    return _run_campaign_file(campaign_path(campaign), overrides, options, as_json)


@app.command(epilog=BENCH_EXAMPLES)
def bench(
    target: LineTarget,
    address: LineAddress = None,
    *,
    rate: LineRate = None,
    message_size: MessageSize = None,
    partitions: Partitions = None,
    producers: Producers = None,
    consumers: Consumers = None,
    duration: MeasuredTime = None,
    topic: Topic = None,
    set_: Setting = None,
    level: LevelOrFound = None,
    attach: Attach = None,
    client_properties: ClientProperties = None,
    repeat: Repeat = None,
    threshold: Thresholds = None,
    abort_on: AbortOn = None,
    print_campaign: PrintCampaign = False,
    name: RunName = None,
    tag: Tags = None,
    dry_run: DryRun = False,
    live: Live = False,
    prometheus: Prometheus = None,
    prometheus_push: PrometheusPush = None,
    junit: Junit = None,
    markdown: Markdown = None,
    runs_dir: RunsDir = DEFAULT_RUNS,
    as_json: Json = False,
) -> int:
    """Measure a cluster that runs already, at the durability level that it has: about a minute.

    With --rate its latency at that rate; without it the highest rate (closed loop), then the latency at half of it.
    A topic is created for it and deleted afterwards.
    """
    from tidegauge.campaign.read.one_line import BENCH, CommandLine
    from tidegauge.cli.one_line import run_line

    line = CommandLine(
        BENCH, target, address, attach, rate, message_size, partitions, producers, consumers, duration, topic,
        tuple(set_ or ()), more=campaign_values(level, repeat, threshold, abort_on),
        client_properties=client_properties,
    )  # fmt: skip
    files, labels = WantedFiles(junit, markdown), labels_of(name, tag)
    options = RunOptions(runs_dir, files, dry_run, False, live, prometheus, labels, prometheus_push)
    return run_line(line, options, Output(as_json), print_campaign=print_campaign)


@app.command(epilog=AB_EXAMPLES)
def ab(
    target: LineTarget,
    address: LineAddress = None,
    *,
    vary: Vary = None,
    rate: LineRate = None,
    message_size: MessageSize = None,
    partitions: Partitions = None,
    producers: Producers = None,
    consumers: Consumers = None,
    duration: MeasuredTime = None,
    topic: Topic = None,
    set_: Setting = None,
    level: LevelOrFound = None,
    attach: Attach = None,
    client_properties: ClientProperties = None,
    repeat: Repeat = None,
    same_within: SameWithinText = None,
    threshold: Thresholds = None,
    abort_on: AbortOn = None,
    print_campaign: PrintCampaign = False,
    name: RunName = None,
    tag: Tags = None,
    dry_run: DryRun = False,
    live: Live = False,
    prometheus: Prometheus = None,
    prometheus_push: PrometheusPush = None,
    junit: Junit = None,
    markdown: Markdown = None,
    runs_dir: RunsDir = DEFAULT_RUNS,
    as_json: Json = False,
) -> int:
    """Compare settings, versions or clusters: each is measured in turn, five times, and the difference is judged.

    Each -L gives the values of one key; with several, each value of one is measured with each of the others. The first
    is what the others are compared with. Without an address a server of one node is started here.
    """
    from tidegauge.campaign.read.one_line import AB, CommandLine
    from tidegauge.cli.one_line import run_line

    line = CommandLine(
        AB, target, address, attach, rate, message_size, partitions, producers, consumers, duration, topic,
        tuple(set_ or ()), tuple(vary or ()), campaign_values(level, repeat, threshold, abort_on, same_within),
        client_properties,
    )  # fmt: skip
    files, labels = WantedFiles(junit, markdown), labels_of(name, tag)
    options = RunOptions(runs_dir, files, dry_run, False, live, prometheus, labels, prometheus_push)
    return run_line(line, options, Output(as_json), print_campaign=print_campaign)


def _resume_named_run(
    name: str, campaign: str | None, overrides: dict[str, Any], options: RunOptions, as_json: bool
) -> int:
    from tidegauge.cli.resuming import resume_run

    if set(overrides) - {"fleet"} or options.allow_unequal or options.labels.words:
        raise UserError(
            "A resumed run keeps its original options: none that changes the campaign, its name or its tags can be "
            "given with --resume.",
            "Leave the options out, or start a new run. Only --fleet may name another file.",
        )
    path = campaign_path(campaign) if campaign is not None else None
    return resume_run(name, path, options, Output(as_json), fleet=overrides.get("fleet", ""))


class ScenarioName(StrEnum):
    """What `--scenario` takes."""

    ALL = Scenario.ALL.value
    ONE = Scenario.ONE.value
    LEADER = Scenario.LEADER.value
    ROLLING = Scenario.ROLLING.value
    LAGGING_MAJORITY = Scenario.LAGGING_MAJORITY.value


@app.command(epilog="Example: tidegauge attest kafka --level 1 --scenario all --scenario leader --cuts 20")
def attest(
    system: Annotated[
        str,
        typer.Argument(
            help="The system, with or without a version: kafka, pulsar@4.2.4.", autocompletion=complete_systems
        ),
    ],
    *,
    level: Annotated[int, typer.Option("--level", min=1, max=4, help="The durability level to test by power cuts.")],
    form: Annotated[str, typer.Option("--form", help="Form of the level to test, for systems that have several.")] = "",
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
    name: RunName = None,
    tag: Tags = None,
    dry_run: DryRun = False,
    junit: Junit = None,
    markdown: Markdown = None,
    runs_dir: RunsDir = DEFAULT_RUNS,
    as_json: Json = False,
) -> int:
    """Cut the power under load and count acknowledged messages that are lost. Needs root and loop devices.

    Without these: `--file-system fuse` (needs libfuse's passthrough_ll) or `--crash`. Both are less than a power cut.

    Exit codes: 5 if messages were lost (refuted), 3 if the cuts could not have shown a loss, 0 if none was lost.
    """
    from tidegauge.cli.planning import AttestRequest, attest_overrides

    request = AttestRequest(
        system, level, form, nodes, cuts, tuple(scenario or ()), second_cut, file_system, crash, seed
    )
    options = RunOptions(runs_dir, WantedFiles(junit, markdown), dry_run, labels=labels_of(name, tag))
    return _run_campaign_file(
        ready_campaign("attest"), attest_overrides(request) | data_places(data_dir), options, as_json
    )


@app.command(epilog="Example: tidegauge published confluent-2020 --html confluent-2020.html")
def published(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            help="A published report, for the newest results of its campaigns; or runs, as `show` takes them.",
            autocompletion=complete_runs,
        ),
    ] = None,
    *,
    html: Html = None,
    markdown: Markdown = None,
    runs_dir: RunsDir = DEFAULT_RUNS,
    as_json: Json = False,
) -> int:
    """Examine a published report's claims over runs, and write a page with all its figures beside those of the runs.

    Without runs the reports are listed, with what the newest run of each campaign decided.
    """
    if not runs:
        from tidegauge.cli.reproducing import list_reports

        return list_reports(runs_dir, Output(as_json))
    from tidegauge.cli.reports import examine_runs

    return examine_runs(runs, runs_dir, WantedFiles(markdown=markdown, html=html), Output(as_json))


@app.command(epilog="Example: tidegauge reproduce confluent-2020 --scale brief --within 2h")
def reproduce(
    report: Annotated[
        str | None,
        typer.Argument(
            help="The report, such as confluent-2020; without one all are listed.", autocompletion=complete_reports
        ),
    ] = None,
    *,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="CAMPAIGN", help="Only this campaign of the report; may be repeated."),
    ] = None,
    scale: ScaleOption = PublishedScale.SHARES,
    repeat: Repeat = None,
    within: Annotated[
        str | None,
        typer.Option(
            "--within", metavar="TIME", help="Choose campaigns and repeats that decide most in this time: 2h."
        ),
    ] = None,
    systems: Systems = None,
    data_dir: DataDir = None,
    attach: Attach = None,
    fleet: Fleet = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the newest reproduction of the report, with the same options.")
    ] = False,
    dry_run: DryRun = False,
    runs_dir: RunsDir = DEFAULT_RUNS,
    as_json: Json = False,
) -> int:
    """Repeat a whole published report: plan all its campaigns, run them, and examine its claims over all of them."""
    from tidegauge.cli.reproducing import Wishes, list_reports, reproduce_report

    out = Output(as_json)
    if report is None:
        return list_reports(runs_dir, out)
    more = {
        "attach": None if attach is None else str(attach.absolute()),
        "fleet": None if fleet is None else str(fleet.absolute()),
        "scale": None if scale is PublishedScale.SHARES else scale.value,
    }
    overrides = overrides_of(None, systems, repeat, data_dir, price=None, thresholds=None, more=more)
    wishes = Wishes(tuple(only or ()), overrides, _seconds_within(within), resume)
    return reproduce_report(report, wishes, RunOptions(runs_dir, WantedFiles(), dry_run), out)


def _seconds_within(text: str | None) -> float | None:
    """What `--within` allows, in seconds; None if it was not given. Raises `UserError`."""
    from tidegauge.config.units import parse_duration_s

    try:
        return None if text is None else parse_duration_s(text)
    except ValueError as error:
        raise UserError(f"--within '{text}': {error}.", "Such as --within 2h.") from error


@app.command(
    epilog="Example: tidegauge omb workloads/1-topic-1-partition-1kb.yaml --driver driver-kafka/kafka-latency.yaml"
)
def omb(
    workloads: Annotated[
        list[Path], typer.Argument(help="Workload files of the OpenMessaging Benchmark.", parser=usable_path)
    ],
    *,
    driver: Annotated[
        list[Path] | None,
        typer.Option("--driver", "-d", help="Driver files; each workload is run on each of them.", **A_PATH),
    ] = None,
    managed: Annotated[
        bool, typer.Option("--managed", help="Start servers here instead of attaching to those that the files name.")
    ] = False,
    time_scale: Annotated[
        float, typer.Option("--time-scale", help="Multiplies the files' minutes: 0.1 for a first look.")
    ] = 1.0,
    output_directory: Annotated[
        Path | None,
        typer.Option("--output-directory", help="Where OMB's JSON goes, beside the run's directory.", **A_PATH),
    ] = None,
    level: Level = None,
    form: Annotated[str, typer.Option("--form", help="Form of the level, for systems that have several.")] = "",
    heap: Heap = None,
    direct_memory: DirectMemory = None,
    in_flight: InFlight = None,
    worker_heap: WorkerHeap = None,
    workers: Workers = None,
    fleet: Fleet = None,
    repeat: Repeat = None,
    threshold: Thresholds = None,
    name: RunName = None,
    tag: Tags = None,
    dry_run: DryRun = False,
    live: Live = False,
    prometheus: Prometheus = None,
    prometheus_push: PrometheusPush = None,
    junit: Junit = None,
    markdown: Markdown = None,
    runs_dir: RunsDir = DEFAULT_RUNS,
    as_json: Json = False,
) -> int:
    """Run workload and driver files of the OpenMessaging Benchmark (OMB); results are also written in its JSON.

    --level, --form, --heap and --direct-memory are for servers started here: they need --managed. If there are several
    runs, the files of --junit and --markdown are numbered: results.xml becomes results-1.xml.
    """
    from tidegauge.cli.omb import OmbRequest, run_omb

    request = OmbRequest(
        workloads, driver or [], managed, time_scale, runs_dir, output_directory, dry_run,
        worker_heap, level, form, heap, direct_memory, in_flight, workers or 1,
        repeat or 1, threshold or (), WantedFiles(junit, markdown), live, prometheus, labels_of(name, tag),
        prometheus_push, fleet,
    )  # fmt: skip
    return run_omb(request, Output(as_json))


@app.command(epilog="Example: tidegauge campaigns")
def campaigns(as_json: Json = False) -> int:
    """List the ready campaigns: what each measures, and about how long it takes."""
    from tidegauge.cli.ready import list_campaigns

    return list_campaigns(Output(as_json))


@app.command(epilog="Example: tidegauge fetch kafka kafka@3.9.2 pulsar")
def fetch(
    systems: Annotated[
        list[str] | None,
        typer.Argument(
            help="Systems, with or without versions (default: all, at their default versions).",
            autocompletion=complete_systems,
        ),
    ] = None,
    as_json: Json = False,
) -> int:
    """Fetch the files of systems ahead of a run: for images, CI, and machines that lose the network.

    They are kept below `distributions` in $TIDEGAUGE_CACHE (default: ~/.cache/tidegauge).
    """
    from tidegauge.cli.ready import fetch_systems

    return fetch_systems(systems or (), Output(as_json))


@app.command(epilog="Example: tidegauge runs --json")
def runs(runs_dir: RunsDir = DEFAULT_RUNS, as_json: Json = False) -> int:
    """List all runs, newest last."""
    from tidegauge import store
    from tidegauge.report.layout import Paragraph
    from tidegauge.report.lists import runs_list
    from tidegauge.report.summary import runs_summary

    stored_runs = store.list_runs(runs_dir)
    nothing = Paragraph(f"There are no runs in {runs_dir} yet; start one with: tidegauge quick")
    Output(as_json).show(runs_list(stored_runs) if stored_runs else nothing, runs_summary(stored_runs))
    return EXIT_GOOD


@app.command(epilog="Example: tidegauge show last")
def show(
    run: Run = "last",
    *,
    junit: Junit = None,
    markdown: Markdown = None,
    runs_dir: RunsDir = DEFAULT_RUNS,
    as_json: Json = False,
) -> int:
    """Show the results of a run, also while it is running or after it was killed."""
    from tidegauge import store
    from tidegauge.report.junit import run_junit
    from tidegauge.report.markdown import run_markdown
    from tidegauge.report.summary import run_summary
    from tidegauge.report.terminal import run_report

    files = WantedFiles(junit, markdown)
    files.check()
    out = Output(as_json)
    stored = store.load_run(store.find_run(runs_dir, run, out.alert))
    files.write(lambda: run_junit(stored), lambda: run_markdown(stored))
    out.show(run_report(stored), run_summary(stored))
    return EXIT_GOOD


@app.command(epilog="Example: tidegauge compare --against last-week; or: tidegauge compare 2026-11-20 latest")
def compare(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            help="Runs as `show` takes them; the first is the baseline. With --against: one (default: newest).",
            autocompletion=complete_runs,
        ),
    ] = None,
    *,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="WHICH",
            help="The baseline: 'last-week', a tag, a name or a run. Exit code 4 if a figure got worse since.",
        ),
    ] = None,
    regression: Annotated[
        list[str] | None,
        typer.Option(
            "--regression",
            metavar="SHARE",
            help="How much worse is allowed (default: 5% for rates, 10% for times): 5%, or response_ms_p99=20%; may be "
            "repeated.",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 3 if it is not decided whether a figure got worse.")
    ] = False,
    noise: Annotated[float, typer.Option("--noise", help="Treat relative differences below this as noise.")] = 0.03,
    same_within: SameWithinText = None,
    allow_unequal: Annotated[
        bool,
        typer.Option(
            "--allow-unequal", help="Compare though durability levels differ; every output is marked UNEQUAL."
        ),
    ] = False,
    junit: Junit = None,
    markdown: Markdown = None,
    html: Html = None,
    runs_dir: RunsDir = DEFAULT_RUNS,
    as_json: Json = False,
) -> int:
    """Compare runs: what differs between them, then ratios with intervals and verdicts."""
    from tidegauge.cli.comparing import Regression, compare_runs

    files, asked = WantedFiles(junit, markdown, html), Regression(against, regression or (), strict)
    return compare_runs(
        runs or (), runs_dir, files, Output(as_json),
        noise=noise, unequal=allow_unequal, asked=asked, same_within=same_within,
    )  # fmt: skip


@app.command(epilog="Example: tidegauge report latest --output report.html --svg plots --csv tables")
def report(
    run: Run = "last",
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file to write (default: report.html in the run).", **A_PATH),
    ] = None,
    svg: Annotated[
        Path | None,
        typer.Option("--svg", help="A directory for every plot as SVG.", **A_PATH),
    ] = None,
    png: Annotated[
        Path | None,
        typer.Option("--png", help="A directory for every plot as PNG.", **A_PATH),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", help="A directory for results, findings and seconds as CSV tables.", **A_PATH),
    ] = None,
    runs_dir: RunsDir = DEFAULT_RUNS,
    as_json: Json = False,
) -> int:
    """Write a run's report: one HTML file with answers, plots and everything behind them, to be read offline."""
    from tidegauge.cli.reports import make_report

    return make_report(run, runs_dir, Output(as_json), output=output, svg=svg, png=png, csv=csv)


@app.command(epilog="Example: tidegauge index --runs-dir runs")
def index(
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file to write (default: index.html beside the runs).", **A_PATH),
    ] = None,
    runs_dir: RunsDir = DEFAULT_RUNS,
    as_json: Json = False,
) -> int:
    """Write a page that lists all runs, can be sorted, and leads to their reports."""
    from tidegauge.cli.reports import make_index

    return make_index(runs_dir, output, Output(as_json))


@app.command(epilog="Example: tidegauge history --tag main")
def history(
    *,
    campaign: Annotated[
        str | None,
        typer.Option(
            "--campaign",
            metavar="NAME",
            help="Runs of the campaign of this name alone (default: all, each campaign for itself).",
            autocompletion=complete_campaigns_of_runs,
        ),
    ] = None,
    tag: Annotated[
        str | None,
        typer.Option("--tag", metavar="TAG", help="Runs with this tag alone.", autocompletion=complete_tags),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The page to write (default: history.html beside the runs).", **A_PATH),
    ] = None,
    runs_dir: RunsDir = DEFAULT_RUNS,
    as_json: Json = False,
) -> int:
    """Show figures over many runs, and from which run on they are others; also as a page with pictures.

    Changes are looked for from ten runs on; of 100 series in which nothing changes at most one shows one.
    """
    from tidegauge.cli.history import show_history

    return show_history(runs_dir, campaign, tag, output, Output(as_json))


@app.command(epilog="Example: tidegauge schema result")
def schema(
    name: Annotated[
        str | None,
        typer.Argument(
            help="The schema of a run's file (result) or of a verb's JSON (report); without it, all are listed."
        ),
    ] = None,
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Directory for the schema, or for all if NAME is left out.", **A_PATH),
    ] = None,
    as_json: Json = False,
) -> int:
    """Print a JSON Schema of what Tidegauge writes as JSON, or write all of them to a directory."""
    from tidegauge.cli.reports import show_schema

    return show_schema(name, output, Output(as_json))


@app.command(epilog="Example: tidegauge serve --port 8765")
def serve(
    *,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: any that is free.")] = 0,
    bind: Annotated[
        str, typer.Option("--bind", help="Address to listen on; any but loopback needs the token that is printed.")
    ] = "127.0.0.1",
    runs_dir: RunsDir = DEFAULT_RUNS,
    as_json: Json = False,
) -> int:
    """Serve pages on this machine: runs in progress, second by second, and reports of finished ones. Ctrl-C ends it."""
    from tidegauge.cli.reports import serve as serve_runs

    return serve_runs(runs_dir, bind, port, Output(as_json))


@app.command(epilog="Example: tidegauge doctor --disk /mnt/data --disk /mnt/journal")
def doctor(
    *,
    disk: Annotated[
        list[Path] | None,
        typer.Option(
            "--disk", help="A directory on a disk to measure; may be repeated (default: where runs go).", **A_PATH
        ),
    ] = None,
    no_measure: Annotated[
        bool, typer.Option("--no-measure", help="Look at the set-up and what is possible; measure nothing.")
    ] = False,
    runs_dir: RunsDir = DEFAULT_RUNS,
    as_json: Json = False,
) -> int:
    """Measure the limits of this machine, check what would spoil results, and test what it permits."""
    from tidegauge.cli.doctor import examine

    return examine(disk or (), runs_dir, Output(as_json), measures=not no_measure)


@app.command(epilog="Example: tidegauge clean")
def clean(
    *,
    forget: Annotated[
        bool, typer.Option("--forget", help="Stop tracking topics that can't be deleted from attached clusters.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Remove what killed runs left: processes, server data, and topics on attached clusters. Results are kept."""
    from tidegauge.agent.reap import clean_leftovers
    from tidegauge.cli.running import leftover_topics
    from tidegauge.report.envelopes import Clean

    notes = clean_leftovers()
    topics = leftover_topics(forget=forget)
    notes += topics.deleted
    text = "\n".join((*notes, *topics.remaining)) or "Nothing was left behind."
    Output(as_json).show(text, Clean(schema="tidegauge.clean/1", notes=notes, remaining=topics.remaining))
    return EXIT_FAILED if topics.remaining and not forget else EXIT_GOOD


def _run_campaign_file(path: Path, overrides: dict[str, Any], options: RunOptions, as_json: bool) -> int:
    from tidegauge.cli.planning import run_campaign

    return run_campaign(path, overrides, options, Output(as_json))


@cache
def _command_tree() -> Callable[..., Any]:
    """The tree of all verbs, which takes longer to build than most of them to answer: once for each process."""
    tree = typer.main.get_command(app)
    refuse_underscores(tree)
    return tree


def run_command(arguments: Sequence[str]) -> int:
    """Carry out one command line and return its exit code; every error is shown here and nowhere else."""
    if arguments and arguments[0] == "help":
        arguments = [*arguments[1:], "--help"]
    accept_all_characters()
    out = Output("--json" in arguments)
    try:
        code = _command_tree()(args=list(arguments), prog_name="tidegauge", standalone_mode=False)
        return code if isinstance(code, int) else EXIT_GOOD
    except TidegaugeError as error:
        return _show_error(error, out)
    except TyperException as error:
        from tidegauge.cli.usage import error_of_usage

        return _show_error(error_of_usage(error), out)
    except (KeyboardInterrupt, Abort):
        out.alert("Interrupted.")
        return EXIT_INTERRUPTED
    except Exception as error:
        from tidegauge.cli.ending import error_of_crash

        return _show_error(error_of_crash(error), out)
    finally:
        out.close()


def _show_error(error: TidegaugeError, out: Output) -> int:
    if os.environ.get("TIDEGAUGE_DEBUG"):
        traceback.print_exception(error)
    out.error(error)
    return error.exit_code


def main() -> None:
    """Entry point of the command `tidegauge`."""
    sys.exit(run_command(sys.argv[1:]))
