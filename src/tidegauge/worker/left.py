"""Figures of a trial whose controller is gone, from what its workers left: merged by the code that merges live ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tidegauge.model.load import SecondFigures, TotalFigures, WorkerFacts, worker_name
from tidegauge.model.workload import Workload
from tidegauge.worker.api import LeftResults
from tidegauge.worker.group import GroupMember, Put, WorkerGroup, pump
from tidegauge.worker.sequences import Part


@dataclass(frozen=True)
class _LeftMember:
    """The part of a `GroupMember` that knows what was measured."""

    left: LeftResults
    processes: tuple[str]
    words: str
    log_path: Path
    facts: WorkerFacts
    pids = ()

    def watch(self, _from_second: int = 0) -> Iterator[SecondFigures]:
        yield from self.left.seconds

    def follow(self, put: Put[SecondFigures]) -> None:
        pump(self.watch, put)

    def totals(self) -> TotalFigures:
        return self.left.totals

    def sequences(self) -> Iterator[Part]:
        yield from self.left.sequences


class LeftFigures:
    """What all workers of a trial measured together. Its calls are those of a `LoadWorker`."""

    def __init__(
        self,
        left: Sequence[LeftResults],
        workload: Workload,
        processes: Sequence[str],
        log_directory: Path,
        facts: WorkerFacts,
    ) -> None:
        members = [
            _LeftMember(each, (process,), worker_name(number, len(left)), log_directory / f"{process}.log", facts)
            for number, (each, process) in enumerate(zip(left, processes, strict=True))
        ]
        # Nothing else of them is asked for.
        several = cast("list[GroupMember]", members)
        started = [each.started_mono_ns for each in left]
        self._source: WorkerGroup | _LeftMember = members[0]
        if len(members) > 1:
            self._source = WorkerGroup.of_left(several, workload, started)

    def watch(self, _from_second: int = 0) -> Iterator[SecondFigures]:
        """See `LoadWorker.watch`. Raises `RunFailedError` if the seconds of several don't add up."""
        yield from self._source.watch()

    def totals(self) -> TotalFigures:
        """See `LoadWorker.totals`."""
        return self._source.totals()
