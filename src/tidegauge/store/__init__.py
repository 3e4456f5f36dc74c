"""Run directories: the only package that writes and reads run files, as the run goes.

RUN/                         runs/2026-11-21T03-24-36-quick/
  run.json                   schema, status (running | finished | failed | interrupted), times, versions
  campaign.yaml              as given, byte for byte
  plan.json                  every trial intended, in order
  environment.json           host, disk, JDKs, tool versions, git commit
  ceilings.json              what disks and loopback could do at most, measured before the first trial
  trials/0001-peak-kafka/
    trial.json               spec and status, from the first moment
    seconds.jsonl            appended each second; replaced by seconds.parquet when the trial ends
    telemetry/           processes, devices, host, metrics: .jsonl each, replaced by .parquet when the trial ends
    response.hlog ...        HdrHistogram interval logs: response, service, delay, end-to-end by subscription (tags)
    window.hlog              the measured window's histograms, tagged
    workers.jsonl, .hlog     of several load generators, what each had: a row a second (Parquet at the end); its window
    settings.json            effective server and client settings
    witness.json         what servers were seen to sync before they acknowledged
    evidence/                what an attestation's worker wrote down: histories and read logs, by cycle
    measuring.json           what a result needs beside the load generators' figures; replaced by result.json
    cycles.json              what the cycles of an attestation found so far; replaced by result.json
    result.json              the TrialResult
    logs/                    server and worker logs
  findings/                  what experiments found that is more than one trial's figures
    0003-max-throughput-kafka.json
  data/                      server data while a trial runs; removed after it
"""

from tidegauge.store.attestations import known_attestations
from tidegauge.store.details import details_of
from tidegauge.store.files import (
    HISTORY_NAME,
    INDEX_NAME,
    REPORT_NAME,
    find_link,
    write_crash_report,
    write_files,
    write_page,
    writing,
)
from tidegauge.store.labels import find_baseline, find_run
from tidegauge.store.omb import keep_omb_files, write_omb_result
from tidegauge.store.read import (
    UNFINISHED,
    StoredRun,
    StoredTrial,
    list_runs,
    load_run,
    newest_run_of,
    run_directories,
)
from tidegauge.store.run import OWN_COPY, RunStore, create_run, keep_published, resume_run
from tidegauge.store.seconds import read_seconds
from tidegauge.store.trial import TrialStore

__all__ = [
    "HISTORY_NAME",
    "INDEX_NAME",
    "OWN_COPY",
    "REPORT_NAME",
    "UNFINISHED",
    "RunStore",
    "StoredRun",
    "StoredTrial",
    "TrialStore",
    "create_run",
    "details_of",
    "find_baseline",
    "find_link",
    "find_run",
    "keep_omb_files",
    "keep_published",
    "known_attestations",
    "list_runs",
    "load_run",
    "newest_run_of",
    "read_seconds",
    "resume_run",
    "run_directories",
    "write_crash_report",
    "write_files",
    "write_omb_result",
    "write_page",
    "writing",
]
