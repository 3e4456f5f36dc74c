"""What load generators can make, known before a run's first trial where its plan may ask for too much of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

from tidegauge.campaign.plan.sizing import sizes_to_know, sizing_warnings
from tidegauge.campaign.run.ceilings import SWITCH
from tidegauge.errors import TidegaugeError
from tidegauge.fleet.api import Host
from tidegauge.hosts.calibration import Calibration, size_class
from tidegauge.model.events import Note, Observer, PhaseStarted
from tidegauge.model.trial import TrialSpec
from tidegauge.worker.calibration import calibrate, seconds_expected
from tidegauge.worker.calibration_kept import keep, known, subject


def run_calibrations(
    trials: Sequence[TrialSpec], workers: int, host: Host, observer: Observer, load_average: float
) -> tuple[Calibration, ...]:
    """Those of the plan's message sizes: what is kept, and what fixed rates ask for and is not, measured now.

    Says what it is, and where it is too little for so many load generators. Never raises but for interruptions.
    """
    kept = known({size_class(trial.workload.payload.message_bytes) for trial in trials})
    wanted = sizes_to_know(trials, workers)
    missing = sorted({*wanted} - {calibration.message_bytes for calibration in kept})
    off = os.environ.get(SWITCH, "").lower() == "off"
    found = (*kept, *([] if off or not missing else _measured(missing, host, observer, load_average)))
    for calibration in found:
        if calibration.message_bytes in wanted:
            doubt = ": DOUBTFUL, other work ran when that was measured" if calibration.doubtful else ""
            observer(Note(f"On this host {calibration.sentence()}{doubt}."))
    for warning in sizing_warnings(trials, workers, found):
        observer(Note(warning))
    return found


def _measured(sizes: Sequence[int], host: Host, observer: Observer, load_average: float) -> list[Calibration]:
    """Measure, and keep it for the next run. Nothing, and a note of why, if that fails."""
    try:
        expected_s = seconds_expected(len(sizes), subject())
        observer(PhaseStarted("", "calibrate", "what one load generator can make and check", expected_s))
        found = calibrate(host, sizes, load_average)
    except (TidegaugeError, OSError) as error:
        why = error.message if isinstance(error, TidegaugeError) else f"{error.strerror or error}."
        observer(Note(f"What one load generator can make and check is not known: {why}"))
        return []
    with contextlib.suppress(OSError):
        keep(found)
    return found
