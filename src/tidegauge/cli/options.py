"""Options that several verbs share, the files that they ask for, and the ready campaigns that they may name."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

import tidegauge
from tidegauge.cli.completing import complete_runs, complete_systems
from tidegauge.errors import UserError, did_you_mean, printable_lines
from tidegauge.model.labels import NO_LABELS, RunLabels, parse_labels
from tidegauge.model.workload import WORKERS_MAX
from tidegauge.numbers import whole_number
from tidegauge.places import check_path, expand_path, is_directory, is_file
from tidegauge.published import PublishedScale

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead; progress goes to standard error.")]


def usable_path(text: str | Path) -> Path:
    """The path that an option gives. Raises `UserError` for what no path can be, such as a name too long.

    Raises `BadParameter` for "", which `Path` would take for the working directory.
    """
    if text == "":
        raise typer.BadParameter("no path is given ('.' is the working directory)")
    check_path(Path(text))
    return Path(text)


A_PATH: dict[str, Any] = {"parser": usable_path, "metavar": "PATH"}
"""Of an option that gives a path."""

RunsDir = Annotated[
    Path,
    typer.Option("--runs-dir", envvar="TIDEGAUGE_RUNS", help="Where run directories are.", **A_PATH),
]
Level = Annotated[
    int | None, typer.Option("--level", min=1, max=4, help="Durability level, 1 to 4, whatever a file says.")
]
LevelOrFound = Annotated[
    str | None,
    typer.Option(
        "--level",
        metavar="LEVEL",
        help="Durability level, 1 to 4, whatever a file says; of attached clusters also 'as-found', which they have.",
    ),
]
Systems = Annotated[
    list[str] | None,
    typer.Option(
        "--systems",
        help="Systems instead of the campaign's: kafka,pulsar@4.2.4,kafka@/opt/kafka",
        autocompletion=complete_systems,
    ),
]
DataDir = Annotated[
    list[Path] | None,
    typer.Option(
        "--data-dir",
        help="Disk for the servers' data (default: in the run directory); may be repeated: nodes use them in turn.",
        **A_PATH,
    ),
]
Heap = Annotated[
    str | None,
    typer.Option(
        "--heap",
        metavar="SIZE",
        help="Heap of each node's servers, for every system: 12GiB, or 'auto' by this machine's memory.",
    ),
]
DirectMemory = Annotated[
    str | None,
    typer.Option(
        "--direct-memory",
        metavar="SIZE",
        help="Memory of each node's servers outside the heap, for every system: 4GiB, or 'auto' as for --heap.",
    ),
]
Attach = Annotated[
    Path | None,
    typer.Option(
        "--attach",
        metavar="FILE",
        help="Measure running clusters instead of starting servers: see docs/reference.md.",
        exists=True,
        dir_okay=False,
    ),
]
ClientProperties = Annotated[
    Path | None,
    typer.Option(
        "--client-properties",
        metavar="FILE",
        help="Measure the cluster of this file of Kafka's own tools (client.properties), with its clients' settings.",
        exists=True,
        dir_okay=False,
    ),
]
Fleet = Annotated[
    Path | None,
    typer.Option(
        "--fleet",
        metavar="FILE",
        help="Start servers on the hosts of a fleet, one node each, and load generators if it has hosts for them.",
        exists=True,
        dir_okay=False,
    ),
]
InFlight = Annotated[
    int | None,
    typer.Option(
        "--in-flight", metavar="N", min=1, max=1_000_000, help="Most unacknowledged messages of each producer."
    ),
]
Repeat = Annotated[
    int | None, typer.Option("--repeat", min=1, help="How often to make every trial; systems take turns.")
]
Thresholds = Annotated[
    list[str] | None,
    typer.Option(
        "--threshold",
        metavar="TEXT",
        help="A threshold for a figure, instead of the campaign's: 'response_ms_p99 < 10'; may be repeated.",
    ),
]
AbortOn = Annotated[
    list[str] | None,
    typer.Option(
        "--abort-on",
        metavar="TEXT",
        help="End a trial early once this holds for 3 s: 'response_ms_p99 > 100'; instead of the campaign's; may be "
        "repeated.",
    ),
]
Resume = Annotated[
    str | None,
    typer.Option(
        "--resume",
        help="Resume this run (name, its beginning, path, or 'last'): finished trials are kept.",
        metavar="RUN",
        autocompletion=complete_runs,
    ),
]
Run = Annotated[
    str,
    typer.Argument(help="A run's name, the beginning of it, its path, or 'last'.", autocompletion=complete_runs),
]
PricePerHostHour = Annotated[
    str | None,
    typer.Option(
        "--price-per-host-hour", metavar="PRICE", help="What a host costs: 0.34 or '0.34 USD'; shows what results cost."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the plan with its time and start nothing.")]

ScaleOption = Annotated[
    PublishedScale,
    typer.Option(
        "--scale",
        help="For published campaigns: scale loads to this machine, use the report's values, or try it briefly.",
    ),
]

Prometheus = Annotated[
    int | None,
    typer.Option(
        "--prometheus", metavar="PORT", min=0, max=65535, help="Expose live metrics for Prometheus on 127.0.0.1:PORT."
    ),
]
PrometheusPush = Annotated[
    str | None,
    typer.Option(
        "--prometheus-push", metavar="URL", help="Send live metrics to this Pushgateway: http://pushgateway:9091."
    ),
]
Live = Annotated[bool, typer.Option("--live", help="Serve a page on this machine that follows the run.")]

AllowUnequal = Annotated[
    bool,
    typer.Option(
        "--allow-unequal", help="Run although the systems are on unequal terms; every output is then marked UNEQUAL."
    ),
]

SameWithinText = Annotated[
    str | None,
    typer.Option(
        "--same-within",
        metavar="MARGIN",
        help="Figures that differ by less are the same: 3% (the default), or for latencies a time such as 1ms.",
    ),
]

Junit = Annotated[
    Path | None,
    typer.Option("--junit", metavar="FILE", help="Also write JUnit XML there, for CI.", parser=usable_path),
]
Markdown = Annotated[
    Path | None,
    typer.Option(
        "--markdown",
        metavar="FILE",
        help="Also write a GitHub-flavoured Markdown summary there.",
        parser=usable_path,
    ),
]

Html = Annotated[
    Path | None,
    typer.Option(
        "--html", metavar="FILE", help="Also write a page there, with pictures, to be read offline.",
        parser=usable_path,
    ),
]  # fmt: skip

WorkerHeap = Annotated[
    str | None,
    typer.Option(
        "--worker-heap",
        metavar="SIZE",
        help="Heap of the load generator, such as 1GiB (default: what each workload needs).",
    ),
]

Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        min=1,
        max=WORKERS_MAX,
        help="Load generators that carry out each trial together (default: 1, or what a campaign says).",
    ),
]

LineTarget = Annotated[
    str, typer.Argument(metavar="SYSTEM|URL", help="kafka, pulsar, rabbitmq; or pulsar://HOST:6650, amqp://HOST:5672.")
]
LineAddress = Annotated[
    str | None, typer.Argument(metavar="[ADDRESS]", help="HOST:PORT of the cluster; several with commas.")
]
LineRate = Annotated[
    str | None, typer.Option("--rate", metavar="RATE", help="Messages a second over all producers: 5000, 20k.")
]
MessageSize = Annotated[
    str | None, typer.Option("--message-size", metavar="SIZE", help="Of the message value: 100B, 1KiB (the default).")
]
Partitions = Annotated[
    int | None,
    typer.Option(
        "--partitions",
        metavar="N",
        min=1,
        help="Of the topic (default: as the cluster makes them, at least one for each broker).",
    ),
]
Producers = Annotated[int | None, typer.Option("--producers", metavar="N", min=1, help="Producers (default: 1).")]
Consumers = Annotated[int | None, typer.Option("--consumers", metavar="N", min=1, help="Consumers (default: 1).")]
MeasuredTime = Annotated[
    str | None,
    typer.Option("--duration", metavar="TIME", help="How long to measure, after the warm-up: 15s (the default), 5m."),
]
Topic = Annotated[
    str | None,
    typer.Option("--topic", metavar="NAME", help="Add the messages to this topic of yours instead; needs --rate."),
]
Setting = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A setting: producer.linger.ms=20, consumer.fetch.min.bytes=1, compression=lz4; may be repeated.",
    ),
]
Vary = Annotated[
    list[str] | None,
    typer.Option(
        "-L",
        "--vary",
        metavar="KEY=A,B,...",
        help="The values of a key to compare: producer.linger.ms=0,20; version=3.9.2,4.3.1; may be repeated.",
    ),
]
PrintCampaign = Annotated[
    bool, typer.Option("--print-campaign", help="Print the campaign file that does the same, and start nothing.")
]
RunName = Annotated[
    str | None,
    typer.Option("--name", metavar="TEXT", help="A name for the run, by which other verbs find it: nightly-42."),
]
Tags = Annotated[
    list[str] | None,
    typer.Option(
        "--tag",
        metavar="TEXT",
        help='A tag for the run, by which other verbs find it: --tag "$(git branch --show-current)"; may be repeated.',
    ),
]


def labels_of(name: str | None, tags: list[str] | None) -> RunLabels:
    """What the options `--name` and `--tag` give a run. Raises `UserError`."""
    try:
        return parse_labels(name, tags or ())
    except ValueError as error:
        raise UserError(f"{error}.") from error


DEFAULT_RUNS = Path("runs")


def data_places(named: list[Path] | None) -> dict[str, Any]:
    """Where servers keep their data, as values of the campaign file: one place, or several that nodes take by turns.

    Absolute, since the run may be resumed from another directory; ~ stays, since each host has homes of its own.
    """
    places = [str(place if str(place).startswith("~") else place.absolute()) for place in named or ()]
    if not places:
        return {}
    return {"data-directory": places[0]} if len(places) == 1 else {"data-directories": places}


def overrides_of(
    level: str | None,
    systems: list[str] | None,
    repeat: int | None,
    data_dir: list[Path] | None,
    *,
    price: str | None,
    thresholds: list[str] | None,
    abort_on: list[str] | None = None,
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Options as values of the campaign file, by its keys. `more` are such values already; None = not given."""
    names = [name.strip() for text in systems or [] for name in text.split(",") if name.strip()]
    values_by_key = {
        "durability": _level_of(level),
        "systems": None if systems is None else names,
        "repeat": repeat,
        **data_places(data_dir),
        "price-per-host-hour": price,
        "thresholds": thresholds,
        "abort-on": abort_on,
        **(more or {}),
    }
    return {key: value for key, value in values_by_key.items() if value is not None}


def _level_of(text: str | None) -> int | str | None:
    number = whole_number(text or "")
    return text if number is None else number


def campaign_values(
    level: str | None,
    repeat: int | None,
    thresholds: list[str] | None,
    abort_on: list[str] | None,
    same_within: str | None = None,
) -> tuple[tuple[str, Any, str], ...]:
    """What a line says of a campaign's own keys: each key, its value, and the option that gives it."""
    from tidegauge.config.fields import option_of

    values = {
        "durability": _level_of(level),
        "repeat": repeat,
        "thresholds": thresholds,
        "abort-on": abort_on,
        "same-within": same_within,
    }
    return tuple((key, value, option_of(key)) for key, value in values.items() if value is not None)


@dataclass(frozen=True)
class WantedFiles:
    """Where to write JUnit XML, Markdown and a page; None where nobody asked."""

    junit: Path | None = None
    markdown: Path | None = None
    html: Path | None = None

    def of_run(self, number: int) -> WantedFiles:
        """Those of one of several runs of a command, from 1: results.xml becomes results-1.xml."""
        paths = (self.junit, self.markdown)
        return WantedFiles(*(path and path.with_name(f"{path.stem}-{number}{path.suffix}") for path in paths))

    def check(self) -> None:
        """Say now, and not after an hour of measuring, that a file could not be written. Raises `UserError`."""
        for option, path in (("--junit", self.junit), ("--markdown", self.markdown), ("--html", self.html)):
            if path is None:
                continue
            if is_directory(path):
                raise UserError(f"{option} {path}: this is a directory.", "Name a file in it.")
            if not is_directory(path.parent):
                raise UserError(f"{option} {path}: there is no directory {path.parent}.", "Create it first.")
            if not os.access(path if path.exists() else path.parent, os.W_OK):
                raise UserError(f"{option} {path}: no permission to write it.", "Choose another place.")

    def write(
        self, junit: Callable[[], bytes], markdown: Callable[[], str], html: Callable[[], str] | None = None
    ) -> None:
        """Write the files that were asked for; `html` None where there is no page to ask for. Raises `UserError`."""
        contents = [(self.junit, junit), (self.markdown, lambda: printable_lines(markdown()).encode())]
        if (page := html) is not None:
            # A directory's name may be no Unicode.
            contents.append((self.html, lambda: page().encode("utf-8", "replace")))
        for path, content in contents:
            if path is not None:
                try:
                    path.write_bytes(content())
                except OSError as error:
                    raise UserError(f"{path} can't be written: {error.strerror}.", "Choose another place.") from error


NO_FILES = WantedFiles()


@dataclass(frozen=True)
class RunOptions:
    """What the user asked of a run beside its campaign.

    `allow_unequal` is asked of the user for each run and never of a file: a shared campaign must not hide it.
    """

    runs_directory: Path
    files: WantedFiles
    dry_run: bool
    allow_unequal: bool = False
    live: bool = False
    prometheus: int | None = None
    labels: RunLabels = NO_LABELS
    prometheus_push: str | None = None


LISTED_BY = "`tidegauge campaigns` lists the ready ones, which are named without a path."


def ready_campaign(name: str) -> Path:
    """A ready campaign by its name. Raises `UserError` naming the nearest one."""
    ready = find_ready_campaigns()
    names = sorted(ready)
    if name not in names:
        raise UserError(f"There is no ready campaign '{name}'{did_you_mean(name, names)}.", LISTED_BY)
    return ready[name]


def find_ready_campaigns() -> dict[str, Path]:
    """All ready campaigns by name, those in folders (`published/`) too. Raises `UserError` if there are none."""
    packed = Path(str(resources.files(tidegauge) / "_campaigns"))
    checkout = Path(tidegauge.__file__).parents[2] / "campaigns"
    for directory in (packed, checkout):
        if directory.is_dir():
            return {path.stem: path for path in directory.rglob("*.yaml")}
    raise UserError(f"This installation has no ready campaigns ({packed} is missing).", "Install Tidegauge again.")


def campaign_path(name_or_path: str) -> Path:
    """A campaign by its path, or a ready one by its name. Raises `UserError` if there is neither."""
    path = expand_path(name_or_path)
    if is_file(path):
        return path
    if is_directory(path):
        raise UserError(f"{name_or_path} is a directory.", "Name a campaign file in it.")
    if path.suffix in (".yaml", ".yml") or len(path.parts) > 1:
        beside = path.parent if is_directory(path.parent) else Path.cwd()
        names = sorted(path.name for path in beside.glob("*.y*ml"))
        raise UserError(f"There is no campaign file {name_or_path}{did_you_mean(path.name, names)}.", LISTED_BY)
    return ready_campaign(name_or_path)


def refuse_underscores(command: Any) -> None:
    """Let no number that is given to a command, or to one below it, have underscores between its digits.

    Python reads `1_000` as a thousand, which no other program takes and hardly anybody means.
    """
    for verb in getattr(command, "commands", {}).values():
        refuse_underscores(verb)
    for option in command.params:
        if option.type_descriptor.annotation in (int, float):
            option.process_value = partial(_plain_number, option, option.process_value)


def _plain_number(option: Any, process: Callable[[Any, Any], Any], context: Any, value: Any) -> Any:
    if isinstance(value, str) and "_" in value:
        raise typer.BadParameter(f"'{value}' is no number; write it without underscores", ctx=context, param=option)
    return process(context, value)


class WithExperiments(TyperCommand):
    """A verb whose help ends with a line for each experiment, as the experiments themselves say it.

    They are loaded only when somebody asks for help: every other call starts without them.
    """

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the usual help, and the experiments after its example."""
        from tidegauge.experiments.procedure import experiments

        summaries = [f"{name}: {experiment.summary}" for name, experiment in experiments().items()]
        example = self.epilog
        self.epilog = "\n\n".join([*([example] if example else []), "Experiments of a campaign:", *summaries])
        try:
            super().format_help(ctx, formatter)
        finally:
            self.epilog = example
