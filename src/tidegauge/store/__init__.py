"""Run directories: the only package that writes and reads run files."""

from tidegauge.store.files import write_crash_report
from tidegauge.store.omb import OmbNames, keep_omb_files, write_omb_result
from tidegauge.store.published import keep_published
from tidegauge.store.read import UNFINISHED, StoredRun, StoredTrial, find_run, list_runs, load_run
from tidegauge.store.run import DirectoryRun, create_run
from tidegauge.store.seconds import read_seconds
from tidegauge.store.trial import DirectoryTrial

__all__ = [
    "UNFINISHED",
    "DirectoryRun",
    "DirectoryTrial",
    "OmbNames",
    "StoredRun",
    "StoredTrial",
    "create_run",
    "find_run",
    "keep_omb_files",
    "keep_published",
    "list_runs",
    "load_run",
    "read_seconds",
    "write_crash_report",
    "write_omb_result",
]
