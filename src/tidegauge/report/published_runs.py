"""The claims of a published report over several runs, for a terminal and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tidegauge.comparison.across import LETTERS
from tidegauge.plain import plain
from tidegauge.published.outcome import PublishedOutcome
from tidegauge.report.layout import Paragraph
from tidegauge.report.published import published_parts
from tidegauge.report.summary import head
from tidegauge.report.terminal import host_words
from tidegauge.store.read import StoredRun

CLAIMS_SCHEMA = "tidegauge.claims/1"


def published_runs(runs: Sequence[StoredRun], outcome: PublishedOutcome) -> RenderableType:
    """The claims over one or several runs: which they are, what was not the same around them, then the verdicts."""
    parts: list[RenderableType] = []
    for letter, run in zip(LETTERS, runs, strict=False):
        systems = ", ".join(sorted({result.spec.system for result in run.results}))
        parts.append(Paragraph(f"Run {letter}: {run.path.name} ({systems}; {run.status})"))
    if len(runs) > 1:
        told = "A ratio is one of a single run where a run has both figures, else one of different runs."
        parts.append(Paragraph(told))
    parts += [Paragraph(f"DOUBTFUL: {one}", "yellow", "  ", "    ") for one in outcome.doubts]
    host = host_words(runs[0].environment.get("host"))
    return Group(*parts, Text(""), *published_parts(outcome, host, any(run.terms.unequal for run in runs)))


def published_runs_content(runs: Sequence[StoredRun], outcome: PublishedOutcome) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "schema": CLAIMS_SCHEMA,
        "runs": [{"letter": letter, **head(run)} for letter, run in zip(LETTERS, runs, strict=False)],
        "unequal": any(run.terms.unequal for run in runs),
        "published": plain(outcome),
    }
