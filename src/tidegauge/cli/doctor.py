"""`tidegauge doctor`: measure this machine's ceilings, look at its set-up, try what it allows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tidegauge.agent.api import Host
from tidegauge.agent.local import LocalHost
from tidegauge.agent.reap import clean_leftovers
from tidegauge.cli.ending import interruptible
from tidegauge.cli.output import EXIT_GOOD, Output
from tidegauge.errors import RunFailedError, TidegaugeError, UserError
from tidegauge.hosts.abilities import advise, try_abilities
from tidegauge.hosts.ceilings_measure import THOROUGH, THOROUGH_S_MAX, measure_ceilings, place_for
from tidegauge.hosts.clock import clock_quality
from tidegauge.hosts.facts import host_facts
from tidegauge.hosts.kept import keep_ceilings
from tidegauge.hosts.procfs import handles_available
from tidegauge.hosts.storage import read_stripped_text
from tidegauge.model.ceilings import Calibration, Ceilings, size_class
from tidegauge.model.workload import Payload
from tidegauge.numbers import duration
from tidegauge.report.doctor import Diagnosis, doctor_content, doctor_report
from tidegauge.systems.registry import all_systems
from tidegauge.worker.calibration import calibrate, calibration_subject, keep_calibrations, seconds_expected


def examine(named: Sequence[Path], runs_directory: Path, out: Output, *, measures: bool) -> int:
    """Examine this machine and show what was found. Raises `UserError`, `RunFailedError`, `KeyboardInterrupt`.

    `named`: a directory on each disk to look at; () = the one that runs would use. `measures`: or only looks.
    """
    for disk in named:
        if not disk.is_dir():
            what = "is no directory" if disk.exists() else "does not exist"
            raise UserError(f"--disk {disk}: it {what}.", "Name a directory on the disk: --disk /mnt/data")
    disks = named or [runs_directory]
    places = [place_for(disk)[0] for disk in disks]
    for note in clean_leftovers():
        out.say(note)
    ceilings, calibration, problem = _measure_ceilings(disks, out) if measures else (None, None, "")
    with _progress_line(out) as say:
        say("What this machine allows ...")
        host, clock = host_facts(places), clock_quality()
        needs = [probe for system in all_systems().values() for probe in system.host_needs]
        swappiness = read_stripped_text(Path("/proc/sys/vm/swappiness"))
        advice, able = advise(host, clock, handles_available(), swappiness), try_abilities(needs)
        diagnosis = Diagnosis(host, clock, ceilings, advice, able, calibration, problem)
    out.show(doctor_report(diagnosis), doctor_content(diagnosis))
    return EXIT_GOOD


def _measure_ceilings(disks: Sequence[Path], out: Output) -> tuple[Ceilings, Calibration | None, str]:
    """Measure ceilings, keep them for runs to come, and leave nothing else behind. Last why there is no calibration."""
    interruption = interruptible(lambda: out.alert("Interrupted: removing what was written."))
    # The host's agent removes the files if we are killed.
    with interruption, _progress_line(out) as say, LocalHost.open() as host:
        try:
            ceilings = measure_ceilings(
                disks,
                THOROUGH.within(THOROUGH_S_MAX, len(disks)),
                host.track_directory,
                lambda what, left_s: say(f"{what} ... (about {duration(round(left_s))} left)"),
            )
        except OSError as error:
            raise RunFailedError(
                f"The measurement failed: {error.strerror or error}.",
                "Check the disk (dmesg), or name another with --disk; --no-measure looks without measuring.",
            ) from error
        with contextlib.suppress(OSError):
            keep_ceilings(ceilings)
        return ceilings, *_calibrate_generator(ceilings.load_average, host, say)


def _calibrate_generator(load_average: float, host: Host, say: Callable[[str], None]) -> tuple[Calibration | None, str]:
    """Measure what one load generator makes, or say why not: after the ceilings, which that would disturb."""
    try:
        expected_s = seconds_expected(1, calibration_subject())
        say(f"What one load generator can make and check ... (about {duration(round(expected_s))} left)")
        (calibration,) = calibrate(host, [size_class(Payload().message_bytes)], load_average)
    except (TidegaugeError, OSError) as error:
        return None, error.message if isinstance(error, TidegaugeError) else f"{error}."
    with contextlib.suppress(OSError):
        keep_calibrations([calibration])
    return calibration, ""


@contextlib.contextmanager
def _progress_line(out: Output) -> Iterator[Callable[[str], None]]:
    """Shows progress: one line that changes on a terminal, a line each elsewhere."""
    console = out.progress
    if not console.is_terminal or console.is_dumb_terminal:
        yield out.say
        return
    with console.status("") as status:
        yield status.update
