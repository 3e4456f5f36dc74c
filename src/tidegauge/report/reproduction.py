"""A whole published report before its campaigns run, and the list of all reports: for a terminal and as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tidegauge.numbers import MISSING, duration, gib, of_all, plural
from tidegauge.plain import grouped, plain_value
from tidegauge.published.examine import report_named
from tidegauge.published.model import PublishedReport
from tidegauge.published.reproduction import CampaignOfReport, count_claims
from tidegauge.report.envelopes import ReportPlan, Reports
from tidegauge.report.layout import Column, Paragraph, WordTable, headed_bullets, heading, with_blank_lines
from tidegauge.statistics.intervals import BLOCKS_MIN
from tidegauge.store.read import StoredRun


def reproduction_plan(
    report: PublishedReport, campaigns: Sequence[CampaignOfReport], within_s: float | None
) -> RenderableType:
    """The campaigns of a report in their order: what each decides at best and takes, and what is left out and why."""
    able = [campaign for campaign in campaigns if not campaign.problem]
    left_out = grouped((sentence, campaign.name) for campaign in able for sentence in campaign.left_out)
    refused = [f"{campaign.name}: {campaign.problem}" for campaign in campaigns if campaign.problem]
    table: list[RenderableType] = [
        heading(f"{report.title}: {plural(len(able), 'campaign')}, in this order:"),
        _plan_table(able),
    ]
    return Group(
        *with_blank_lines(
            table if able else [],
            headed_bullets("Can't be run here:", refused),
            headed_bullets(
                "Left out here:", (f"{sentence} ({', '.join(names)})" for sentence, names in left_out.items())
            ),
            map(Paragraph, _sums_in_words(report, able, within_s)) if able else [],
        )
    )


def _plan_table(campaigns: Sequence[CampaignOfReport]) -> WordTable:
    def numbers(head: str, cells: Iterable[str]) -> Column:
        return Column(head, tuple(cells))

    disks = (
        f"{'at least ' if one.needs_more_disk else ''}{gib(one.disk_bytes)}" if one.disk_bytes else MISSING
        for one in campaigns
    )
    return WordTable(
        (
            Column("campaign", tuple(campaign.name for campaign in campaigns), words=True),
            numbers("claims", (f"{len(one.decidable)} of {len(one.claims)}" for one in campaigns)),
            numbers("repeats", (f"{one.repeat}" for one in campaigns)),
            numbers("trials", (f"{one.trials}" for one in campaigns)),
            numbers("time", (duration(one.seconds_expected) for one in campaigns)),
            numbers("memory", (f"{one.memory_mb / 1024:.1f} GiB" for one in campaigns)),
            numbers("disk", disks),
        ),
        droppable=("trials", "repeats"),
    )


def _sums_in_words(
    report: PublishedReport, campaigns: Sequence[CampaignOfReport], within_s: float | None
) -> Iterable[str]:
    """What all together decide and take."""
    decidable = count_claims(campaigns)
    claims = len(report.claims)
    seconds = sum(campaign.seconds_expected for campaign in campaigns)
    shared = sum(len(one.decidable) for one in campaigns) - decidable
    once = " (some are examined by several campaigns, and count once)" if shared else ""
    yield f"If all came out as published, {decidable} of the report's {plural(claims, 'claim')} would be decided{once}."
    if min(campaign.repeat for campaign in campaigns) < BLOCKS_MIN and decidable < claims:
        yield f"With fewer than {BLOCKS_MIN} repeats only large differences decide."
    bound = f" of {duration(within_s)} allowed" if within_s is not None else ""
    yield f"Takes about {duration(seconds)}{bound} on a calm machine, once everything is fetched."


def reproduction_content(report: str, campaigns: Sequence[CampaignOfReport]) -> dict[str, Any]:
    """The same as plain data."""
    content: dict[str, Any] = plain_value(
        ReportPlan(
            schema="tidegauge.reproduction/1",
            report=report,
            claims=len(report_named(report).claims),
            claims_decidable=count_claims(campaigns),
            seconds_expected=sum(campaign.seconds_expected for campaign in campaigns),
            campaigns=campaigns,
        )
    )
    return content


def reports_list(
    campaigns: Mapping[str, Iterable[str]], newest: Mapping[str, StoredRun], program: str
) -> RenderableType:
    """All published reports with their campaigns, and what the newest run of each decided."""
    parts: list[RenderableType] = []
    for report, names in campaigns.items():
        whole = report_named(report)
        runs = [(name, newest.get(name)) for name in names]
        outcomes = [run.published if run else None for _, run in runs]
        decided = (of_all(len(one.decided), len(one.claims), "claim") if one else MISSING for one in outcomes)
        parts += [
            heading(f"{report}: {whole.title}, {plural(len(whole.claims), 'claim')}"),
            WordTable(
                (
                    Column("campaign", tuple(name for name, _ in runs), words=True),
                    Column("newest run", tuple(run.path.name if run else MISSING for _, run in runs), words=True),
                    Column("decided", tuple(decided), words=True),
                )
            ),
            Text(""),
        ]
    parts.append(Text(f"Run a whole report: {program} reproduce {next(iter(campaigns))} (--dry-run prints the plan)"))
    return Group(*parts)


def reports_content(campaigns: Mapping[str, Iterable[str]], newest: Mapping[str, StoredRun]) -> dict[str, Any]:
    """The same as plain data."""
    content: dict[str, Any] = plain_value(
        Reports(
            schema="tidegauge.reports/1",
            reports=[
                {
                    "report": report,
                    "title": report_named(report).title,
                    "campaigns": [
                        {"name": name, "newest_run": newest[name].path.name if name in newest else None}
                        for name in names
                    ],
                }
                for report, names in campaigns.items()
            ],
        )
    )
    return content
