"""Run directories: the only package that writes and reads run files."""

from tidegauge.store.details import TrialDetails, read_details
from tidegauge.store.files import write_crash_report
from tidegauge.store.omb import OmbNames, keep_omb_files, write_omb_result
from tidegauge.store.pages import INDEX_NAME, REPORT_NAME, write_page, write_plots
from tidegauge.store.published import keep_published
from tidegauge.store.read import UNFINISHED, StoredRun, StoredTrial, find_run, list_runs, load_run
from tidegauge.store.run import DirectoryRun, create_run
from tidegauge.store.seconds import read_seconds
from tidegauge.store.trial import DirectoryTrial

__all__ = [
    "INDEX_NAME",
    "REPORT_NAME",
    "UNFINISHED",
    "DirectoryRun",
    "DirectoryTrial",
    "OmbNames",
    "StoredRun",
    "StoredTrial",
    "TrialDetails",
    "create_run",
    "find_run",
    "keep_omb_files",
    "keep_published",
    "list_runs",
    "load_run",
    "read_details",
    "read_seconds",
    "write_crash_report",
    "write_omb_result",
    "write_page",
    "write_plots",
]
