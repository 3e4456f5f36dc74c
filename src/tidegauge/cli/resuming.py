"""Going on with a run that was interrupted, killed, or had trials that failed: what is finished is kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tidegauge import __version__, store
from tidegauge.agent.reap import await_agents
from tidegauge.campaign.model import Campaign
from tidegauge.campaign.plan.fairness import UnequalError
from tidegauge.campaign.read.fingerprint import differences_in_meaning, meaning_of_campaign
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.campaign.run.recorded import START_ANEW, Recorded, TrialWithCycles, TrialWithMeasuring, TrialWithResult
from tidegauge.cli.options import RunOptions
from tidegauge.cli.output import EXIT_GOOD, Output
from tidegauge.cli.planning import prepare_campaign
from tidegauge.cli.reports import live_page, prometheus_observers
from tidegauge.cli.running import disks_of, run_prepared, show_end, show_screen, text_of, with_verdicts, write_wanted
from tidegauge.errors import UserError
from tidegauge.model.events import Note
from tidegauge.model.tilt import Stage
from tidegauge.numbers import join_first, plural
from tidegauge.store.details import read_disclosed
from tidegauge.systems import registry
from tidegauge.worker.archive import begins_with_archive

_AGENT_S_MAX = 90.0
_SHOWN_MAX = 5
_CUT_SHORT = (store.UNFINISHED, "interrupted")
"""How a trial ended that nothing was wrong with."""


def resume_run(name: str, campaign_path: Path | None, options: RunOptions, out: Output, *, fleet: str = "") -> int:
    """Go on with a run. Returns the exit code. Raises `UserError` with the reason if that can't be.

    `campaign_path`: named beside the run, to be sure that it is this one's; else None.
    `fleet`: the file of a fleet on whose hosts it goes on; "" = those that it began on.
    """
    options.files.check()
    path = store.find_run(options.runs_directory, name, out.alert)
    if options.dry_run:
        return _resume_stored_run(path, campaign_path, options, out, fleet)
    # From before it is looked at until it has ended: two that go on with one run would write over each other.
    with store.writing(path):
        return _resume_stored_run(path, campaign_path, options, out, fleet)


def _resume_stored_run(path: Path, campaign_path: Path | None, options: RunOptions, out: Output, fleet: str) -> int:
    stored = store.load_run(path)
    campaign = _same_campaign(stored, campaign_path, fleet)
    ready = prepare_campaign(campaign, options.dry_run, stored.terms.allowed)
    recorded = recorded_of(stored)
    recorded.check_plan(ready.plan.trials)
    if stored.status == "finished" and all(trial.result for trial in stored.trials):
        out.say(f"Run {stored.path.name} is finished: there is nothing to go on with.")
        stored = with_verdicts(campaign, stored)  # It may have been killed before it had any.
        write_wanted(options.files, stored, out)
        return show_screen(stored, out)
    if options.dry_run:
        # The steps that are still to do, as far as a plan can say.
        steps = [step for step in ready.plan.steps if not all(spec.trial_id in recorded.trials for spec in step.trials)]
        note = Note(
            f"This run resumes: {_kept(recorded)} A step that was begun is continued. If a rate is measured again, "
            "trials at a share of that rate are measured again too."
        )
        plan = replace(ready.plan, steps=tuple(steps))
        replace(ready, plan=plan, left_out=(note, *ready.left_out)).show(out, options.runs_directory)
        return EXIT_GOOD
    if ready.terms.refused:
        raise UnequalError(ready.terms.unequal)
    if not await_agents(stored.path.name, _AGENT_S_MAX):
        raise UserError(
            f"Processes of the run {stored.path.name} are still being ended.", "Try again in a minute; see `ps`."
        )
    data, disks, journals = disks_of(campaign)
    session = len(stored.sessions) + 1
    moved = f" It goes on with the fleet of {fleet}." if fleet else ""
    notes = (Note(f"Session {session} of this run: {_kept(recorded)}{moved}"), *ready.left_out)
    # A port that is not free is reported before the run goes on.
    with prometheus_observers(options.prometheus, options.prometheus_push, out) as watchers:
        run = store.resume_run(stored.path, data, disks=disks, journal_disks=journals)
        if fleet:
            run.write_meaning(campaign.overrides, meaning_of_campaign(campaign))
        with live_page(options.live, run.path, out):
            failure = run_prepared(ready, run, out, notes, recorded, watchers=watchers)
    return show_end(ready.campaign, run.path, failure, options.files, out)


def _same_campaign(stored: store.StoredRun, named: Path | None, fleet: str) -> Campaign:
    """The run's campaign, which means what it meant, but for a fleet of the same shape if one is named.

    Raises `UserError` if the run can't be resumed.
    """
    name = stored.path.name
    if stored.status == "running":
        raise UserError(
            f"Run {name} is still in progress.", "Follow it where it was started, or with `tidegauge show`."
        )
    if stored.damage:
        raise UserError(f"The run {name} is damaged, so it can't be resumed: {stored.damage[0]}.", START_ANEW)
    if link := store.find_link(stored.path):
        raise UserError(
            f"{link} is a link, and what is written into a run must stay in its directory: the run can't be resumed.",
            f"Runs have no links of their own: somebody else made it. {START_ANEW}",
        )
    if stored.meaning is None:
        raise UserError(
            f"The run {name} has no record of its campaign's settings, so it can't be resumed.",
            "Runs of `omb`, and runs of an older Tidegauge, can't be resumed.",
        )
    if stored.tidegauge_version != __version__:
        raise UserError(
            f"The run {name} was begun by Tidegauge {stored.tidegauge_version}; this is {__version__}, which may "
            "measure otherwise.",
            f"Go on with the version that began it. {START_ANEW}",
        )
    text = text_of(stored.path / "campaign.yaml")
    if named is not None and text_of(named) != text:
        raise UserError(
            f"{named} is not the campaign that the run {name} began with (a copy is {stored.path / 'campaign.yaml'}).",
            f"Leave the campaign out to go on with that copy. {START_ANEW}",
        )
    if fleet and not stored.overrides.get("fleet"):
        raise UserError(f"The run {name} began on this host, and not on a fleet.", f"Leave out --fleet. {START_ANEW}")
    path = Path(stored.campaign_path)
    elsewhere = {"fleet": fleet} if fleet else {}
    campaign = parse_campaign(
        path, {**stored.overrides, **elsewhere}, sorted(registry.all_systems()), text.decode("utf-8", "replace")
    )
    changed = differences_in_meaning({**stored.meaning, **elsewhere}, meaning_of_campaign(campaign))
    if changed:
        raise UserError(
            f"The campaign of the run {name} means something else now: {join_first(changed, _SHOWN_MAX, '; ')}.",
            f"Has a file that it names changed, or Tidegauge? {START_ANEW}",
        )
    return campaign


def recorded_of(stored: store.StoredRun) -> Recorded:
    """What a run's earlier sessions left."""
    trials, begun, measured = {}, {}, {}
    for trial in stored.trials:
        if trial.spec is None:
            continue
        if trial.result is not None:
            trials[trial.trial_id] = TrialWithResult(trial.spec, trial.result, trial.digest)
        if trial.cycles is not None:
            begun[trial.trial_id] = TrialWithCycles(trial.spec, trial.cycles, trial.digest)
        if trial.measuring is not None and trial.status in _CUT_SHORT:
            measured[trial.trial_id] = TrialWithMeasuring(trial.spec, trial.measuring, trial.digest)
    tilts = tuple(tilt for tilt in (*stored.terms.unequal, *stored.terms.advice) if tilt.stage is Stage.IN_FORCE)
    workers = [read_disclosed(trial).worker_flags for trial in stored.trials if trial.trial_id in trials]
    used = any(begins_with_archive(flags) for flags in workers) if workers else None
    return Recorded(trials, stored.findings, tilts, begun, used, measured)


def _kept(recorded: Recorded) -> str:
    count = len(recorded.trials)
    return f"its {plural(count, 'finished trial')} {'is' if count == 1 else 'are'} kept."
