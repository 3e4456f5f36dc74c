"""A run's directory, written as the run goes. `store` is the only package that writes run files.

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

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from tidegauge.model.attest import AttestOutcome
from tidegauge.model.finding import Finding
from tidegauge.model.level import SyncFinding
from tidegauge.model.load import SecondFigures, TotalFigures, WorkerFacts
from tidegauge.model.server import Distribution, Setting
from tidegauge.model.tilt import Tilt
from tidegauge.model.trial import TrialResult, TrialSpec
from tidegauge.model.use import Sample
from tidegauge.store.telemetry import MetricRow


class TrialStore(Protocol):
    """Where one trial's files go. Every method leaves complete, readable files behind.

    `disks` and `journal_disks` are the trial's directories on the disks chosen for data and for journals; () if none
    were.
    """

    directory: Path
    log_directory: Path
    data_directory: Path
    disks: tuple[Path, ...]
    journal_disks: tuple[Path, ...]

    def second(self, figures: SecondFigures, phase: str = "") -> None:
        """Append one second's figures and interval histograms, with the phase of the trial it belongs to."""
        ...

    def sample(self, sample: Sample) -> None:
        """Append what servers, worker and host used in one second."""
        ...

    def metrics(self, rows: Sequence[MetricRow]) -> None:
        """Append what servers reported about themselves."""
        ...

    def settings(
        self, server: Sequence[Setting], client: Sequence[Setting], jvm_flags: Sequence[str], worker: WorkerFacts | None
    ) -> None:
        """Effective settings as read back, and what the load generator said of itself: Java, heap, client versions."""
        ...

    def witness(self, finding: SyncFinding, evidence: Mapping[str, object]) -> None:
        """What the servers were seen to sync, message by message and call by call; no evidence where nobody looked."""
        ...

    def evidence(self, name: str) -> Path:
        """A new directory of the trial for what others write: a worker's history, its read logs."""
        ...

    def cycles(self, outcome: AttestOutcome) -> None:
        """What the cycles of an attestation found so far."""
        ...

    def measuring(self, record: object) -> None:
        """What is needed for the trial's result beside its load generators' figures, once it is measured."""
        ...

    def distribution(self, distribution: Distribution) -> None:
        """Which files were run."""
        ...

    def page_cache(self, dropped: bool, reason: str) -> None:
        """Whether the page cache was dropped before the trial, and why not."""
        ...

    def finish(self, result: TrialResult, totals: TotalFigures) -> None:
        """The trial is done: result, window histograms, Parquet."""
        ...

    def fail(self, reason: str, interrupted: bool) -> None:
        """The trial ended without a result; what was measured stays."""
        ...


class RunStore(Protocol):
    """One run's directory."""

    path: Path

    def plan(self, trials: Sequence[TrialSpec]) -> None:
        """Every trial intended, in order; again where an experiment made others than it had expected."""
        ...

    def environment(self, facts: Mapping[str, object]) -> None:
        """What the run ran on."""
        ...

    def note(self, text: str) -> None:
        """Something that was reported to the user during the run. Never raises: a note is no reason to fail."""
        ...

    def fairness(self, tilts: Sequence[Tilt]) -> None:
        """Everything that puts the systems on unequal terms, as far as it is known now. Never raises."""
        ...

    def trial(self, spec: TrialSpec) -> TrialStore:
        """Open the directory of a trial that begins now."""
        ...

    def reopen(self, spec: TrialSpec) -> TrialStore:
        """Open the directory of a trial that was measured in an earlier session; its seconds are stored anew."""
        ...

    def set_aside(self, trial_id: str) -> str:
        """Keep what was measured of a trial that is made again beside. Returns where in the run's directory."""
        ...

    def finding(self, finding: Finding) -> None:
        """Keep what an experiment found."""
        ...

    def finish(self, status: str, reason: str = "") -> None:
        """The run has ended: "finished", "failed" or "interrupted"."""
        ...
