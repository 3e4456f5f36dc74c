"""Run directories: the only package that writes and reads run files."""

from tidegauge.store.files import write_crash_report
from tidegauge.store.read import UNFINISHED, StoredRun, StoredTrial, find_run, list_runs, load_run
from tidegauge.store.run import DirectoryRun, create_run
from tidegauge.store.seconds import read_seconds
from tidegauge.store.trial import DirectoryTrial

__all__ = [
    "UNFINISHED",
    "DirectoryRun",
    "DirectoryTrial",
    "StoredRun",
    "StoredTrial",
    "create_run",
    "find_run",
    "list_runs",
    "load_run",
    "read_seconds",
    "write_crash_report",
]
