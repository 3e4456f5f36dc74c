"""A whole published report: its campaigns planned together, run one after the other, its claims examined at the end.

What was run belongs together by a tag that every run gets, so that a report can be resumed whatever ended it.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tidegauge import store
from tidegauge.campaign.model import Campaign
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.cli.options import RunOptions, WantedFiles, find_ready_campaigns
from tidegauge.cli.output import EXIT_FAILED, EXIT_GOOD, EXIT_INTERRUPTED, Output
from tidegauge.cli.planning import prepare_campaign, run_parsed
from tidegauge.errors import TidegaugeError, UserError, did_you_mean
from tidegauge.hosts.space import is_open_ended
from tidegauge.model.disk_needs import bytes_needed
from tidegauge.model.labels import RunLabels
from tidegauge.numbers import duration, plural, trimmed
from tidegauge.published.examine import examine_at_best, report_named, report_names
from tidegauge.published.reproduction import CampaignOfReport, choose_within, order_campaigns
from tidegauge.report.ending import option_words
from tidegauge.report.reproduction import reports_content, reports_list, reproduction_content, reproduction_plan
from tidegauge.statistics.intervals import BLOCKS_MIN
from tidegauge.systems import registry


@dataclass(frozen=True)
class Wishes:
    """What the user asked of a reproduction.

    Attributes:
        only: campaigns, by name or by what follows the report's name in it; () = all of the report.
        overrides: values of every campaign, by its keys; `scale` and `repeat` among them if they were given.
        within_s: how long it may take at most, for which repeats are chosen; None = as long as it takes.
        resume: go on with the newest reproduction of the report.
    """

    only: tuple[str, ...]
    overrides: Mapping[str, Any]
    within_s: float | None
    resume: bool


@dataclass(frozen=True)
class _Planned:
    """A campaign that can be run, and what is known of it before."""

    campaign: Campaign
    facts: CampaignOfReport


def list_reports(runs_directory: Path, out: Output) -> int:
    """Show the reports, their campaigns, and what the newest run of each decided."""
    newest = {run.name: run for run in store.list_runs(runs_directory) if run.published is not None}
    campaigns = {name: _campaigns_of_report(name) for name in report_names()}
    out.show(reports_list(campaigns, newest, out.program), reports_content(campaigns, newest))
    return EXIT_GOOD


def reproduce_report(name: str, wishes: Wishes, options: RunOptions, out: Output) -> int:
    """Plan, run and examine the campaigns of a report. Returns the exit code.

    Raises `UserError` for what is wrong before anything was started.
    """
    report = report_named(name)
    campaigns = _chosen_campaigns(name, wishes.only)
    out.say(f"Planning {plural(len(campaigns), 'campaign')} of {report.title} ...")
    planned = _plan_campaigns(campaigns, wishes)
    able = [each for each in planned if not each.facts.problem]
    facts = [each.facts for each in planned]
    tag = (
        _tag_to_resume(name, options.runs_directory)
        if wishes.resume
        else f"{name}-{datetime.now(UTC):%Y-%m-%dT%H-%M-%S}"
    )
    runs = _runs_of_tag(tag, options.runs_directory) if wishes.resume else {}
    _refuse_other_terms(able, runs)
    plan_shown = reproduction_plan(report, facts, wishes.within_s)
    if options.dry_run or not able:
        out.show(plan_shown, reproduction_content(name, facts))
        return EXIT_GOOD if able else EXIT_FAILED
    if not out.as_json:
        out.show(plan_shown, {})
    tagged = replace(options, labels=RunLabels("", (*options.labels.tags, tag)))
    code = _run_campaigns(able, runs, tagged, out)
    if code == EXIT_INTERRUPTED:
        out.alert(f"To go on with the report: {out.program} {shlex.join(_words_to_resume(name, wishes))}")
        return code
    return max(code, _examine_reproduction(name, tag, options.runs_directory, out))


def _campaigns_of_report(report: str) -> dict[str, Path]:
    """The ready campaigns of a report, by name."""
    return {name: path for name, path in sorted(find_ready_campaigns().items()) if name.startswith(f"{report}-")}


def _chosen_campaigns(report: str, only: Sequence[str]) -> dict[str, Path]:
    """The campaigns of a report, or those of them that are named. Raises `UserError` for a name that is none's."""
    campaigns = _campaigns_of_report(report)
    by_name = {short: name for name in campaigns for short in (name, name.removeprefix(f"{report}-"))}
    if unknown := [name for name in only if name not in by_name]:
        short_names = [name.removeprefix(f"{report}-") for name in campaigns]
        raise UserError(
            f"--only {unknown[0]}: {report} has no such campaign{did_you_mean(unknown[0], list(by_name))}.",
            f"It has {', '.join(short_names)}.",
        )
    wanted = {by_name[name] for name in only} or set(campaigns)
    return {name: path for name, path in campaigns.items() if name in wanted}


def _plan_campaigns(campaigns: Mapping[str, Path], wishes: Wishes) -> list[_Planned]:
    """All campaigns in the order in which they are to be run, with repeats chosen where the time is bounded."""
    repeats = [int(wishes.overrides["repeat"])] if "repeat" in wishes.overrides else [1, BLOCKS_MIN]
    if wishes.within_s is None:
        planned = [_plan_one(name, path, wishes.overrides) for name, path in campaigns.items()]
    else:
        choices = {
            name: [_plan_one(name, path, {**wishes.overrides, "repeat": repeat}) for repeat in repeats]
            for name, path in campaigns.items()
        }
        chosen = choose_within(
            {name: [each.facts for each in of_one] for name, of_one in choices.items()}, wishes.within_s
        )
        planned = [each for of_one in choices.values() for each in of_one if each.facts in chosen]
        if not planned:
            raise UserError(
                f"--within {duration(wishes.within_s)}: no campaign that decides a claim can be run in that time.",
                "Give it more time, or try --scale brief.",
            )
    order = order_campaigns(each.facts for each in planned)
    return sorted(planned, key=lambda each: order.index(each.facts))


def _plan_one(name: str, path: Path, overrides: Mapping[str, Any]) -> _Planned:
    """A campaign as it would be run here. What is wrong with it on these terms is its `problem`."""
    campaign = parse_campaign(path, overrides, sorted(registry.all_systems()))
    choice = campaign.published
    assert choice is not None, f"{path} examines no report"
    try:
        # Some repeat unequal terms on purpose, and every verdict of theirs says so.
        ready = prepare_campaign(campaign, dry_run=True, allow_unequal=True)
    except UserError as error:
        return _Planned(campaign, CampaignOfReport(name, campaign.repeat, choice.claims, problem=error.message))
    trials = ready.plan.trials
    facts = CampaignOfReport(
        name,
        campaign.repeat,
        choice.claims,
        examine_at_best(report_named(choice.report), choice, trials).decided,
        len(trials),
        ready.plan.seconds_expected,
        max((need.total_mb for need in ready.memory.needs), default=0),
        max((bytes_needed(trial, trial.nodes) for trial in trials if not trial.elsewhere), default=0),
        any(map(is_open_ended, trials)),
        tuple(note.text for note in ready.left_out if note.left_out),
    )
    # As it was asked for, and not as it fits here: of that a run keeps what it means, by which it is resumed.
    return _Planned(campaign, facts)


def _tag_to_resume(report: str, runs_directory: Path) -> str:
    """The tag of the newest reproduction of a report. Raises `UserError` if there is none."""
    tags = [tag for run in store.list_runs(runs_directory) for tag in run.labels.tags if tag.startswith(f"{report}-2")]
    if not tags:
        raise UserError(
            f"There is no reproduction of {report} in {runs_directory} to go on with.",
            "Leave out --resume to begin one.",
        )
    return max(tags)


def _runs_of_tag(tag: str, runs_directory: Path) -> dict[str, store.StoredRun]:
    """The newest run of each campaign of a reproduction, by the campaign's name."""
    return {run.name: run for run in store.list_runs(runs_directory) if tag in run.labels.tags}


def _refuse_other_terms(planned: Sequence[_Planned], runs: Mapping[str, store.StoredRun]) -> None:
    """Raise `UserError` if runs of this reproduction were begun with other values than are asked for now."""
    for each in planned:
        run = runs.get(each.facts.name)
        if run is not None and dict(run.overrides) != dict(each.campaign.overrides):
            given = ", ".join(f"{key} {value}" for key, value in run.overrides.items()) or "no options"
            raise UserError(
                f"{run.path.name} was begun with {given}, so it can't be resumed with other options.",
                "Give the same options beside --resume, or leave out --resume to begin anew.",
            )


def _run_campaigns(
    planned: Sequence[_Planned], runs: Mapping[str, store.StoredRun], options: RunOptions, out: Output
) -> int:
    """Run what has no finished run yet; one that fails keeps the others from nothing. Returns the exit code."""
    from tidegauge.cli.resuming import resume_run

    code = EXIT_GOOD
    quiet = _QuietOutput(out.as_json)
    for number, each in enumerate(planned, 1):
        name, run = each.facts.name, runs.get(each.facts.name)
        if run is not None and _is_finished(run):
            out.say(f"Campaign {number} of {len(planned)}: {name} is finished: {run.path.name}")
            continue
        left = [other.facts for other in planned[number - 1 :] if not _is_finished(runs.get(other.facts.name))]
        left_s = sum(facts.seconds_expected for facts in left)
        out.say(f"Campaign {number} of {len(planned)}: {name}; about {duration(left_s)} left for all")
        try:
            if run is not None and run.can_go_on:
                ended = resume_run(run.path.name, None, replace(options, labels=RunLabels()), quiet)
            else:
                ended = run_parsed(each.campaign, replace(options, allow_unequal=True), quiet)
        except TidegaugeError as error:
            out.error(error, with_json=False)
            ended = EXIT_FAILED
        if ended == EXIT_INTERRUPTED:
            return EXIT_INTERRUPTED
        code = max(code, EXIT_FAILED if ended == EXIT_FAILED else EXIT_GOOD)
    return code


def _words_to_resume(report: str, wishes: Wishes) -> list[str]:
    """What follows `tidegauge` to go on with a reproduction."""
    given = {**({"only": list(wishes.only)} if wishes.only else {}), **wishes.overrides}
    within = ["--within", f"{trimmed(wishes.within_s)}s"] if wishes.within_s is not None else []
    arguments = [word for key, value in given.items() for word in option_words(key, value)]
    return ["reproduce", report, "--resume", *within, *arguments]


def _is_finished(run: store.StoredRun | None) -> bool:
    return run is not None and run.status == "finished"


class _QuietOutput(Output):
    """Output of one campaign of several: with --json only what they all say together is printed there."""

    def show(self, renderable: Any, content: Mapping[str, Any]) -> None:
        """Print a campaign's result, unless the JSON of all is wanted."""
        if not self.as_json:
            super().show(renderable, content)


def _examine_reproduction(report: str, tag: str, runs_directory: Path, out: Output) -> int:
    """Examine the claims over a reproduction's runs that have results, and write its page. Returns the exit code."""
    from tidegauge.cli.reports import examined_report, show_report

    runs = [run for run in _runs_of_tag(tag, runs_directory).values() if run.results]
    if not runs:
        out.alert("No campaign has a result, so no claim is examined.")
        return EXIT_FAILED
    files = WantedFiles(markdown=runs_directory / f"{report}.md", html=runs_directory / f"{report}.html")
    show_report(examined_report(runs, out), files, out)
    return EXIT_GOOD
