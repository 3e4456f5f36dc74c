"""Options that several verbs have, as typer wants them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from tidegauge.published.scale import Scale

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead; progress goes to standard error.")]
RunsDir = Annotated[
    Path, typer.Option("--runs-dir", envvar="TIDEGAUGE_RUNS", help="Where run directories are.", show_default=True)
]
Level = Annotated[
    int | None, typer.Option("--level", min=1, max=4, help="Durability level, 1 to 4, instead of the campaign's.")
]
Systems = Annotated[
    list[str] | None,
    typer.Option("--systems", help="Systems instead of the campaign's: kafka,pulsar@4.2.4,kafka@/opt/kafka"),
]
DataDir = Annotated[
    list[Path] | None,
    typer.Option(
        "--data-dir",
        metavar="PATH",
        help="Disk for the servers' data (default: in the run directory); may be repeated: nodes take them by turns.",
        show_default=False,
    ),
]
Heap = Annotated[
    str | None,
    typer.Option(
        "--heap",
        metavar="SIZE",
        help="Heap of each node's servers, for every system: 12GiB, or 'auto' by this machine's memory.",
        show_default=False,
    ),
]
DirectMemory = Annotated[
    str | None,
    typer.Option("--direct-memory", metavar="SIZE", help="The same, outside of the heap.", show_default=False),
]
Attach = Annotated[
    Path | None,
    typer.Option(
        "--attach",
        metavar="FILE",
        help="Clusters that run already, to be measured instead of servers started here: see docs/reference.md.",
        exists=True,
        dir_okay=False,
        show_default=False,
    ),
]
InFlight = Annotated[
    int | None,
    typer.Option(
        "--in-flight",
        metavar="N",
        min=1,
        max=1_000_000,
        help="Messages that each producer may have unacknowledged at most.",
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
        help="What is asked of the figures, instead of the campaign's: 'response_ms_p99 < 10'; may be repeated.",
        show_default=False,
    ),
]
Resume = Annotated[
    str | None,
    typer.Option(
        "--resume",
        help="Go on with this run (name, its beginning, path, or 'last'): finished trials are kept.",
        metavar="RUN",
    ),
]
PricePerHostHour = Annotated[
    str | None,
    typer.Option(
        "--price-per-host-hour", metavar="PRICE", help="What a host costs: 0.34 or '0.34 USD'; shows what results cost."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the plan with its time and start nothing.")]

ScaleOption = Annotated[
    Scale,
    typer.Option(
        "--scale", help="Of published campaigns: shares of what is measured, the report's own values, or a first look."
    ),
]

Prometheus = Annotated[
    int | None,
    typer.Option("--prometheus", metavar="PORT", help="Tell figures to Prometheus on this port of loopback meanwhile."),
]
Live = Annotated[bool, typer.Option("--live", help="Serve a page on this machine that follows the run.")]

AllowUnequal = Annotated[
    bool,
    typer.Option(
        "--allow-unequal",
        help="Run although the systems are on unequal terms; every output is then marked UNEQUAL.",
    ),
]

Junit = Annotated[
    Path | None, typer.Option("--junit", metavar="FILE", help="Also write JUnit XML there, for CI.", show_default=False)
]
Markdown = Annotated[
    Path | None,
    typer.Option("--markdown", metavar="FILE", help="Also write a GitHub-flavoured Markdown summary there."),
]

WorkerHeap = Annotated[
    str | None,
    typer.Option(
        "--worker-heap",
        metavar="SIZE",
        help="Heap of the load generator, such as 1GiB (default: what each workload needs).",
        show_default=False,
    ),
]

DEFAULT_RUNS = Path("runs")


def data_places(named: list[Path] | None) -> dict[str, Any]:
    """Where servers keep their data, as values of the campaign file: one place, or several that nodes take by turns."""
    if not named:
        return {}
    return {"data-directory": str(named[0])} if len(named) == 1 else {"data-directories": [*map(str, named)]}


def overrides_of(
    level: int | None,
    systems: list[str] | None,
    repeat: int | None,
    data_dir: list[Path] | None,
    *,
    price: str | None,
    thresholds: list[str] | None,
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Options as values of the campaign file, by its keys. `more` are such values already; None = not given."""
    wanted: dict[str, Any] = {}
    if level is not None:
        wanted["durability"] = level
    names = [name.strip() for text in systems or [] for name in text.split(",") if name.strip()]
    if systems is not None:
        wanted["systems"] = names
    if repeat is not None:
        wanted["repeat"] = repeat
    wanted |= data_places(data_dir)
    if price is not None:
        wanted["price-per-host-hour"] = price
    if thresholds is not None:
        wanted["thresholds"] = thresholds
    return wanted | {key: value for key, value in (more or {}).items() if value is not None}
