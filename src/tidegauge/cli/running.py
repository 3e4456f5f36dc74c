"""Running a campaign from the command line: what to run it with, what to do when it ends in any way."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import psutil

from tidegauge import store
from tidegauge.campaign.ceilings import run_ceilings
from tidegauge.campaign.execute import execute
from tidegauge.campaign.meaning import meaning
from tidegauge.campaign.model import Campaign
from tidegauge.campaign.published import examined
from tidegauge.campaign.recorded import NOTHING, Recorded
from tidegauge.cli.crash import crashed
from tidegauge.cli.environment import environment_facts
from tidegauge.cli.exit_codes import (
    EXIT_FAILED,
    EXIT_GOOD,
    EXIT_INTERRUPTED,
    EXIT_INVALID,
    EXIT_REFUTED,
    EXIT_THRESHOLD,
)
from tidegauge.cli.files import WantedFiles
from tidegauge.cli.interruption import announced_interruption
from tidegauge.cli.leftovers import leftover_topics
from tidegauge.cli.output import Output
from tidegauge.cli.planning import Ready, RunRequest
from tidegauge.cli.progress import Progress
from tidegauge.cli.reports import keep_report
from tidegauge.cli.serving import live_page, prometheus
from tidegauge.errors import TidegaugeError, UserError
from tidegauge.fleet.local import LocalHost
from tidegauge.fleet.reap import clean_leftovers
from tidegauge.hosts.ceilings import RunCeilings
from tidegauge.hosts.ceilings_measure import place_for
from tidegauge.hosts.space import full_speed, room_note
from tidegauge.model.events import Event, Note, Observer
from tidegauge.report.ending import End, ending
from tidegauge.report.junit import run_junit
from tidegauge.report.markdown import run_markdown
from tidegauge.report.screen import run_screen
from tidegauge.report.summary import run_summary
from tidegauge.report.terminal import how_to_go_on


def measure_campaign(request: RunRequest, asked: Campaign, ready: Ready, out: Output) -> int:
    """Run and report what is ready of the campaign asked for. Returns the exit code. Raises `UserError` before."""
    text = text_of(request.campaign_path)
    unfinished = store.newest_run_of(request.runs_directory, text)
    if unfinished is not None and unfinished.status in ("interrupted", store.UNFINISHED):
        newest = f"The newest run of this campaign, {unfinished.path.name}, is {unfinished.status}."
        out.say(f"{newest} {how_to_go_on(unfinished)}")
    # A port that can't be had is told before there is a run.
    with prometheus(request.prometheus, out) as watchers:
        run = create(request.runs_directory, ready.campaign, text, request.campaign_path)
        run.meaning(request.overrides, meaning(asked))
        run.unequal_allowed = request.allow_unequal
        run.thresholds = ready.campaign.thresholds
        run.price = ready.campaign.price
        with live_page(request.live, run.path, out):
            failure = carry_out(ready, run, out, ready.left_out, watchers=watchers)
    return show_end(ready.campaign, run.path, failure, request.files, out)


def show_end(
    campaign: Campaign, path: Path, failure: TidegaugeError | KeyboardInterrupt | None, files: WantedFiles, out: Output
) -> int:
    """Show what a run found, and return its exit code. With --json raises what ended it if nothing was measured."""
    stored = with_verdicts(campaign, store.load_run(path))
    keep_report(path, out)
    write_wanted(files, stored, out)
    if isinstance(failure, TidegaugeError) and not stored.results and out.as_json:
        raise failure
    if isinstance(failure, TidegaugeError):
        out.error(failure, with_json=False)
    return show_screen(stored, out, failure.exit_code if isinstance(failure, TidegaugeError) else None)


def _room_notes(ready: Ready, known: RunCeilings | None, places: Sequence[Path]) -> list[Note]:
    """That there may be too little room on the disk for trials as fast as it goes; () where there is enough."""
    devices = [*known.data_devices, *known.journal_devices] if known else []
    full = full_speed(known.ceilings if known else None, devices)
    told = room_note(ready.plan.trials, full, {place_for(place)[0] for place in places}) if full.measured else ""
    return [Note(told)] if told else []


def show_screen(stored: store.StoredRun, out: Output, failure_code: int | None = None) -> int:
    """Show the verdicts of a run that has ended, last why its exit code is not 0. Returns that code."""
    ended = ending(stored, out.program)
    code = CODES[ended.end] if failure_code is None else failure_code
    out.show(run_screen(stored, ended, code, out.program), run_summary(stored))
    if out.as_json and ended.end is not End.GOOD:
        out.alert(f"Exit code {code}: {ended.why} {ended.what}")
    return code


def write_wanted(files: WantedFiles, run: store.StoredRun, out: Output) -> None:
    """Write the files asked for. What was measured is shown even if that fails."""
    try:
        files.write(lambda: run_junit(run), lambda: run_markdown(run))
    except UserError as error:
        out.error(error, with_json=False)


def with_verdicts(campaign: Campaign, stored: store.StoredRun) -> store.StoredRun:
    """The run with what it says of the published claims that its campaign examines, if it examines any."""
    if campaign.published is None or not stored.results:
        return stored
    store.keep_published(stored.path, examined(campaign.published, stored))
    return store.load_run(stored.path)


CODES = {
    End.GOOD: EXIT_GOOD,
    End.INTERRUPTED: EXIT_INTERRUPTED,
    End.FAILED: EXIT_FAILED,
    End.THRESHOLD: EXIT_THRESHOLD,
    End.REFUTED: EXIT_REFUTED,
    End.BROKEN: EXIT_FAILED,
    End.INVALID: EXIT_INVALID,
}
"""The exit code of each end that a run can have."""


def text_of(path: Path) -> bytes:
    """A campaign's text, byte for byte. Raises `UserError`."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} can't be read: {error.strerror}.") from error


def create(runs_directory: Path, campaign: Campaign, text: bytes, path: Path) -> store.DirectoryRun:
    """The directory of a run of a campaign with this text, from this file. Raises `UserError`, `RunFailedError`."""
    data, disks, journals = disks_of(campaign)
    # Absolute, since the run may be gone on with from another directory.
    source = str(path.absolute())
    return store.create_run(runs_directory, campaign.name, text, source, data, disks=disks, journal_disks=journals)


def disks_of(campaign: Campaign) -> tuple[Path | None, list[Path], list[Path]]:
    """The disks chosen for data, for data by turns, and for journals by turns. Raises `UserError`."""
    return (
        _disk(campaign.data_directory) if campaign.data_directory else None,
        [_disk(directory) for directory in campaign.data_directories],
        [_disk(directory) for directory in campaign.journal_directories],
    )


def _disk(directory: str) -> Path:
    """A disk chosen for the servers' data. It is never created: a disk that isn't mounted must not be measured."""
    path = Path(directory).expanduser()
    if not path.is_dir():
        what = "is no directory" if path.exists() else "does not exist"
        raise UserError(f"The data directory {path} {what}.", "Mount the disk or create the directory first.")
    if not os.access(path, os.W_OK | os.X_OK):
        raise UserError(f"The data directory {path} can't be written.", "Change its rights, or choose another.")
    return path


def carry_out(
    ready: Ready,
    run: store.DirectoryRun,
    out: Output,
    notes: Sequence[Note],
    recorded: Recorded = NOTHING,
    *,
    watchers: Sequence[Observer] = (),
) -> TidegaugeError | KeyboardInterrupt | None:
    """Run everything; the run is marked as ended in every case. Returns what ended it early, if it is foreseen.

    `notes` are what the user should know before; `watchers` see every event too;
    what is `recorded` of earlier sessions is not made again.
    """
    campaign = ready.campaign
    progress = Progress(out)
    observer = _noted(run, progress, watchers)
    agents: list[int] = []
    data = run.disks or (run.data_directory,)
    try:
        with announced_interruption(lambda: out.alert(_stopping(agents))), progress.shown():
            for note in (*notes, *map(Note, clean_leftovers()), *_topics_left()):
                observer(note)
            run.environment(environment_facts(campaign, [run.path, run.data_directory, *run.disks, *run.journal_disks]))
            try:
                with LocalHost.open() as host:
                    agents.append(host.agent_pid)
                    known = run_ceilings(campaign, data, run.journal_disks, host, observer)
                    if known is not None:
                        run.ceilings(known)
                    for note in _room_notes(ready, known, [*data, *run.journal_disks]):
                        observer(note)
                    execute(campaign, run, host, observer, recorded, plan=ready.plan, ceilings=known)
            finally:
                # A worker that was killed could not delete its topics; another one can.
                for note in _topics_left(run.path):
                    observer(note)
    except TidegaugeError as error:
        run.finish("failed", error.message)
        return error
    except KeyboardInterrupt as error:
        run.finish("interrupted", "interrupted by the user")
        return error
    except Exception as error:
        run.finish("failed", f"{type(error).__name__}: {error}")
        return crashed(error, run.path)
    return None


def _topics_left(run: Path | None = None) -> list[Note]:
    """Deletes what earlier runs, or this one, left on attached clusters, and says so."""
    cleaned = leftover_topics(run)
    return [Note(text) for text in (*cleaned.deleted, *cleaned.remaining)]


def _noted(run: store.DirectoryRun, progress: Observer, watchers: Sequence[Observer]) -> Observer:
    """Shows everything, and keeps in the run what the user was told."""

    def observe(event: Event) -> None:
        progress(event)
        for watcher in watchers:
            watcher(event)
        if isinstance(event, Note):
            run.note(event.text)

    return observe


def _stopping(agents: list[int]) -> str:
    """What an interruption does now, with the number of processes below the agents."""
    count = 0
    for pid in agents:
        try:
            count += len(psutil.Process(pid).children(recursive=True))
        except psutil.Error:
            continue
    what = "1 process" if count == 1 else f"{count} processes"
    return f"Interrupted: stopping {what}; what was measured is kept. A second Ctrl-C ends them at once."
