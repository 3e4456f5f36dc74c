"""Writes the claims of each report into campaigns/published/README.md, each with the campaigns that examine it.

A test says when they are out of date: run this then.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.published.examine import report_named, report_names
from tidegauge.published.model import Claim, PublishedReport
from tidegauge.systems import registry

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "campaigns/published/README.md"
BEGIN, END = "<!-- From here on by scripts/generate_published.py -->\n", "<!-- Up to here -->\n"


def text() -> str:
    """The page as it should be."""
    before, rest = TARGET.read_text().split(BEGIN)
    return (
        before
        + BEGIN
        + "\n"
        + "\n".join(line for name in report_names() for line in _report(report_named(name)))
        + END
        + (rest.split(END)[1])
    )


def examined() -> dict[str, list[tuple[str, tuple[str, ...]]]]:
    """By report the campaigns that examine claims of it, with these claims."""
    found: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for path in sorted((ROOT / "campaigns/published").glob("*.yaml")):
        choice = parse_campaign(path, {}, sorted(registry.all_systems())).published
        if choice is not None:
            found.setdefault(choice.report, []).append((path.stem, choice.claims))
    return found


def _report(whole: PublishedReport) -> Iterator[str]:
    yield f"## {whole.title}\n"
    versions = ", ".join(f"{name} {version}" for name, version in whole.versions.items())
    yield f"{whole.hardware}. {versions}.\n"
    yield from (f"- {sentence}" for sentence in whole.setup)
    yield "\n| claim | what the report says | its source | campaign |\n| --- | --- | --- | --- |"
    campaigns = examined()[whole.report]
    for claim in whole.claims:
        names = ", ".join(f"`{name}`" for name, claims in campaigns if claim.id in claims)
        yield f"| `{claim.id}` | {_said(claim)} | {claim.source} | {names} |"
    yield ""


def _said(claim: Claim) -> str:
    parts = [claim.text]
    if claim.contradiction:
        parts.append(f"**The report contradicts itself**: {claim.contradiction}")
    if claim.unreproducible:
        parts.append(f"**Not examined**: {claim.unreproducible}")
    return ". ".join(parts)


if __name__ == "__main__":
    TARGET.write_text(text())
