"""Writes docs/tables/figures.md: what servers report of themselves, and the gauges of a run.

A test says when it is out of date: run this then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from tidegauge.live.exporter import GAUGES, WORKER_GAUGES
from tidegauge.systems.registry import all_systems

TARGET = Path(__file__).resolve().parents[1] / "docs/tables/figures.md"


def text() -> str:
    """The page as it should be."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield "# Figures that servers report, and gauges of a run\n"
    yield "Written by `scripts/generate_tables.py` from `METRICS` of each system and from `live/exporter.py`."
    yield "[Telemetry](../telemetry.md) says how they are read.\n"
    for system in all_systems().values():
        if system.metrics:
            yield f"## {system.title}\n"
            yield from _table("figure", {metric.name: metric.meaning for metric in system.metrics})
    yield "## Gauges\n"
    yield from _table("gauge", GAUGES)
    yield "## Gauges of each load generator\n"
    yield from _table("gauge, by the label `worker`", WORKER_GAUGES)


def _table(head: str, meanings: Mapping[str, str]) -> Iterator[str]:
    yield f"| {head} | meaning |\n| --- | --- |"
    yield from (f"| `{name}` | {meaning} |" for name, meaning in meanings.items())
    yield ""


if __name__ == "__main__":
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(text())
