"""Run directories: the only package that writes and reads run files."""

from tidegauge.store.attestations import attestations_directory, known_attestations
from tidegauge.store.details import TrialDetails, read_details
from tidegauge.store.files import INDEX_NAME, REPORT_NAME, keep_published, write_crash_report, write_files, write_page
from tidegauge.store.omb import OmbNames, keep_omb_files, write_omb_result
from tidegauge.store.read import (
    UNFINISHED,
    Session,
    StoredRun,
    StoredTrial,
    environment_changes,
    find_run,
    list_runs,
    load_run,
    newest_run_of,
    run_directories,
)
from tidegauge.store.run import DirectoryRun, create_run, resume_run
from tidegauge.store.seconds import read_seconds
from tidegauge.store.trial import DirectoryTrial
from tidegauge.store.worker_seconds import read_worker_seconds

__all__ = [
    "INDEX_NAME",
    "REPORT_NAME",
    "UNFINISHED",
    "DirectoryRun",
    "DirectoryTrial",
    "OmbNames",
    "Session",
    "StoredRun",
    "StoredTrial",
    "TrialDetails",
    "attestations_directory",
    "create_run",
    "environment_changes",
    "find_run",
    "keep_omb_files",
    "keep_published",
    "known_attestations",
    "list_runs",
    "load_run",
    "newest_run_of",
    "read_details",
    "read_seconds",
    "read_worker_seconds",
    "resume_run",
    "run_directories",
    "write_crash_report",
    "write_files",
    "write_omb_result",
    "write_page",
]
