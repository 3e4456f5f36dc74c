"""Servers in memory, their disks and a load generator for attestations that are simulated."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from campaign_doubles import FakeDeployment, FakeHost, FakeSystem, FakeWorker, Journal
from patience import wait_for
from wrong_servers import Honest

from tidegauge.attestation import evidence
from tidegauge.attestation.data_files import Message, find_copies, list_data_files
from tidegauge.attestation.evidence import HEADER
from tidegauge.attestation.evidence import RecordKind as Record
from tidegauge.errors import RunFailedError
from tidegauge.model.attest import AttestPlan
from tidegauge.model.host import DiskCheck, FreeSpace
from tidegauge.model.level import LevelChoice
from tidegauge.model.load import TotalFigures
from tidegauge.model.message import CommittedPosition, CommittedPositions, ReadBack
from tidegauge.model.rig import CutReport
from tidegauge.model.server import Setting
from tidegauge.model.trial import AttestSpec
from tidegauge.model.workload import Workload
from tidegauge.systems.api import DeployRequest, Node
from tidegauge.worker.api import NOWHERE, LoadOrder, OnProgress, Positions, ignore_progress

DISK_BYTES = 1 << 30
EACH_S = 0.002
"""Between two messages of the simulated load."""
AT_RISK_MIN = 40
"""Messages in the logs before a power is cut: of fewer, as a busy machine sends, a cut would lose the first, too."""


@dataclass
class World:
    """The servers, the disks they are on, and everything done to them."""

    journal: Journal
    server: Honest
    lock: threading.Lock = field(default_factory=threading.Lock)
    held: set[str] = field(default_factory=set)
    directories: tuple[Path, ...] = ()
    reads: int = 0
    frozen_ns: list[int] = field(default_factory=list)
    known: list[Positions] = field(default_factory=list)
    """What each read of whatever serves was given of the last messages."""
    free_after_cycles: dict[int, int] = field(default_factory=dict)
    """Bytes that are free on the nodes' disks after so many cycles, until the next; else all of them."""
    find: Callable[..., Any] = find_copies
    """How copies are looked for in the servers' data files."""


class Worker(FakeWorker):
    """Sends from a thread, writes a history as the worker does, and reads back what the server has."""

    def __init__(self, world: World) -> None:
        super().__init__(world.journal)
        self.world = world
        self.acked = 0

    def prepare(self, order: LoadOrder, on_progress: OnProgress = ignore_progress) -> list[Setting]:
        assert Path(order.history_directory).is_dir()
        assert order.subscriptions_start_paused == 1
        with self.world.lock:
            self.world.server.logs = [[] for _ in self.world.server.logs]
        self.order, self.records, self.stopping = order, [], threading.Event()
        return [Setting("producer", "acks", "all")]

    def start(self, in_s: float = 0.1) -> int:
        self.thread = threading.Thread(target=self._send, daemon=True)
        self.thread.start()
        return time.monotonic_ns()

    def _send(self) -> None:
        for sequence in range(100_000):
            if self.stopping.is_set():
                return
            with self.world.lock:
                invoked_ns = time.monotonic_ns()
                partition, position = self.world.server.publish((0, sequence)) or (-1, -1)
                self.records.append((invoked_ns, sequence, -1, -1, int(Record.INVOKED), b""))
                self.records.append((time.monotonic_ns(), sequence, position, partition, int(Record.ACKNOWLEDGED), b""))
                self.acked += 1
            time.sleep(EACH_S)

    def set_rate(self, msgs_per_s: float, at_mono_ns: int = 0) -> None:
        self.journal.note(f"rate {msgs_per_s:g}")

    def _figures(self) -> TotalFigures:
        return replace(super()._figures(), acked=self.acked)

    def stop_producers(self, grace_s: float) -> int:
        self.journal.note("stop producers")
        self.stopping.set()
        self.thread.join()
        assert self.order is not None
        header = np.array(
            [(evidence.HISTORY_MAGIC, evidence.HISTORY_RECORD.itemsize, 0, self.order.trial_number, 0)], dtype=HEADER
        )
        rows = np.array(self.records, dtype=evidence.HISTORY_RECORD)
        (Path(self.order.history_directory) / "producer-0.history").write_bytes(header.tobytes() + rows.tobytes())
        return 0

    def read_back(
        self,
        order: LoadOrder,
        subscription: str,
        file: Path,
        timeout_s: float,
        *,
        node: int = 0,
        last: Positions = NOWHERE,
    ) -> ReadBack:
        assert subscription == "sub-1"
        if not node:
            self.journal.note("read everything")
            self.world.known.append(last)
            found = self.world.server.read("pass", self.world.reads)
            self.world.reads += 1
        else:
            self.journal.note(f"read from node {node} up to {sorted(last.items())}")
            found = self.world.server.read("pass", node=node)
        rows = np.zeros(len(found), dtype=evidence.READ_RECORD)
        for name in ("sequence", "position", "producer", "topic", "partition", "flags"):
            rows[name] = getattr(found, name)
        header = np.array(
            [(evidence.READ_MAGIC, evidence.READ_RECORD.itemsize, 0, order.trial_number, 0)], dtype=HEADER
        )
        file.write_bytes(header.tobytes() + rows.tobytes())
        began_ns = time.monotonic_ns()
        return ReadBack(file, began_ns, began_ns, found.partitions)

    def committed_positions(self, order: LoadOrder) -> CommittedPositions:
        self.journal.note("committed positions")
        if self.world.held:
            # What asks the node that coordinates a group waits for it in vain.
            raise RunFailedError(f"No answer within 30 s: {', '.join(sorted(self.world.held))} stands still.")
        return CommittedPositions(0, 0, (CommittedPosition("sub-0", 0, 0, 5),))


@dataclass
class Rig:
    world: World

    def make_disk(self, place: Path, size_bytes: int, file_system: str = "ext4", node: str = "") -> None:
        self.world.journal.note(f"disk {place.name} {file_system}")
        place.mkdir()

    def remove_disk(self, place: Path) -> None:
        self.world.journal.note(f"removed {place.name}")

    def cut_power(self, processes: Sequence[str], places: Sequence[Path]) -> CutReport:
        wait_for(lambda: sum(map(len, self.world.server.logs)) >= AT_RISK_MIN, 20, f"{AT_RISK_MIN} messages sent")
        with self.world.lock:
            self.world.journal.note(f"cut {', '.join(processes)} on {', '.join(disk.name for disk in places)}")
            self.world.server.cut()
            now_ns = time.monotonic_ns()
            self.world.frozen_ns.append(now_ns)
        disks = tuple(DiskCheck(str(place), "ext4", True, "") for place in places)
        return CutReport(now_ns, now_ns, now_ns, now_ns, now_ns + 1000, len(processes), disks)

    def kill(self, processes: Sequence[str]) -> None:
        self.world.journal.note(f"killed {', '.join(processes)}")

    def pause(self, processes: Sequence[str]) -> None:
        self.world.held.update(processes)

    def resume(self, processes: Sequence[str]) -> None:
        self.world.held.difference_update(processes)


@dataclass
class Host(FakeHost):
    rig: Any = None

    def write_back(self, directories: Sequence[Path]) -> str:
        self.journal.note(f"written back {', '.join(place.name for place in directories)}")
        return ""

    def free_space(self, places: Sequence[Path]) -> list[FreeSpace]:
        world = self.rig.world
        cycles = world.journal.entries.count("finish")
        return [FreeSpace(place, 1, world.free_after_cycles.get(cycles, DISK_BYTES)) for place in places]

    def find_copies(self, directories: Sequence[Path], trial_id: int, wanted: Collection[Message]) -> Any:
        return self.rig.world.find(directories, trial_id, wanted)

    def list_data_files(self, directories: Sequence[Path]) -> Sequence[str]:
        return list_data_files(directories)


@dataclass
class Deployment(FakeDeployment):
    nodes: tuple[Node, ...] = ()
    never_again: bool = False
    mute: int = 0
    """How often it does not answer when it is asked for its settings after a node was started."""

    def read_back(self, describe: Any, topics: list[str]) -> list[Setting]:
        if self.mute > 0 and any(entry.startswith("start ") for entry in self.journal.entries):
            self.mute -= 1
            raise RunFailedError("The bookie's settings could not be read back: connection refused.")
        return super().read_back(describe, topics)

    def set_down(self, number: int) -> None:
        self.journal.note(f"down {number}")

    def start_node(self, number: int) -> None:
        self.journal.note(f"start {number}")
        if self.never_again:
            self.dies_at = f"start {number}"

    def leaders(self, settings: Sequence[Setting]) -> Mapping[str, int]:
        return {"topic-0": 2}


@dataclass
class System(FakeSystem):
    world: World | None = None
    never_again: bool = False
    mute: int = 0
    replicas: bool = False
    """Whether clients may choose whose copy they read."""

    def serves_replicas(self, choice: LevelChoice, workload: Workload) -> bool:
        return self.replicas

    def deploy(self, request: DeployRequest, host: Any) -> Deployment:
        self.journal.note("deploy")
        nodes = tuple(
            Node(number, (f"kafka-{number}",), (request.node_directory(number, f"kafka-{number}"),))
            for number in range(1, request.nodes + 1)
        )
        for node in nodes:
            node.directories[0].mkdir(parents=True)
        return Deployment(self.journal, nodes=nodes, never_again=self.never_again, mute=self.mute)


def spec_of(nodes: int, attest: AttestPlan) -> AttestSpec:
    return AttestSpec(
        trial_id="0001-attest-kafka-cuts",
        experiment="attest",
        system="kafka@4.3.1",
        choice=LevelChoice(3),
        nodes=nodes,
        block=0,
        seed=1,
        workload=Workload(subscriptions=2, partitions=2),
        msgs_per_s=1000.0,
        measure_s=10.0,
        attest=attest,
    )
