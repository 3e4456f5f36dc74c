"""A defect of Tidegauge itself: a short message for the user, the trace in a file."""

from __future__ import annotations

import platform
import sys
import tempfile
import traceback
from pathlib import Path

from tidegauge import __version__
from tidegauge.errors import RunFailedError, TidegaugeError
from tidegauge.store import write_crash_report


def crashed(error: Exception, run_path: Path | None = None) -> TidegaugeError:
    """The error to show for an unexpected exception; its trace is kept in the run's directory or a temporary file."""
    trace = "".join(traceback.format_exception(error))
    head = f"tidegauge {__version__}, Python {platform.python_version()}, {platform.platform()}\n{sys.argv}\n\n"
    found = TidegaugeError(
        f"Tidegauge itself failed ({type(error).__name__}: {error}).",
        "This is a defect, not your mistake: please report it with the file below.",
        _kept(head + trace, run_path),
    )
    found.__cause__ = error
    return found


def _kept(text: str, run_path: Path | None) -> Path | None:
    if run_path is not None:
        try:
            return write_crash_report(run_path, text)
        except RunFailedError:
            pass
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="tidegauge-crash-", suffix=".txt", delete=False, errors="replace"
        ) as file:
            file.write(text)
        return Path(file.name)
    except OSError:
        return None
