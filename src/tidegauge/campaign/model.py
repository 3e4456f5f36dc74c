"""A campaign as frozen objects: what `campaign/read/parse.py` makes of a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tidegauge.config.fields import Fields
from tidegauge.config.source import KeyPath
from tidegauge.fleet.file import FleetFile
from tidegauge.model.events import Note
from tidegauge.model.faults import Fault
from tidegauge.model.level import LevelChoice
from tidegauge.model.trial import ServerReuse
from tidegauge.model.variant import SAME_WITHIN, SameWithin, Variant
from tidegauge.model.workload import Workload
from tidegauge.published.examine import Choice
from tidegauge.systems.attach import AttachChoice
from tidegauge.usage import Price

AUTO = -1
"""Memory that follows from the machine's (`server_memory`)."""


@dataclass(frozen=True)
class SystemChoice:
    """One system to measure.

    Attributes:
        version: "4.3.1", a directory ("/opt/kafka"), or "" for the default that Tidegauge is tested with.
        settings: the system's own server settings, which win over Tidegauge's.
        topic: the same of the topics that are made.
        producer, consumer: the client's own settings, which win over the neutral ones of the workload.
        heap_mb, direct_memory_mb: for each node's JVM, MiB; `AUTO` until the machine's memory is looked at.
        shape: the system's own options of layout, such as {"brokers": "1"}.
        jvm: options of the servers' JVMs, such as {"UseZGC": "true"} (see `config.jvm_options`).
        durability: instead of the campaign's; None = the campaign's. Other levels make a comparison unequal.
        optional: leave it out, with the reason, where its files are not available or memory does not suffice for it.
        attach: the cluster to attach to instead of starting servers; None = start them.
        partitions: of each topic, instead of the workload's; 0 = the workload's. Others make a comparison unequal.
        copies: of each topic, where neither the level nor the nodes decide it; 0 = they do.
        locate: gives the file and line of a client's setting, by role and name, or the option that brought it.
        file_keys: what its files call a campaign's keys, where they are not a campaign; {} = it is one.
    """

    name: str
    version: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    producer: Mapping[str, str] = field(default_factory=dict)
    consumer: Mapping[str, str] = field(default_factory=dict)
    heap_mb: int = 1024
    direct_memory_mb: int = 1024
    shape: Mapping[str, str] = field(default_factory=dict)
    durability: LevelChoice | None = None
    optional: bool = False
    attach: AttachChoice | None = None
    partitions: int = 0
    copies: int = 0
    topic: Mapping[str, str] = field(default_factory=dict)
    jvm: Mapping[str, str] = field(default_factory=dict)
    locate: Callable[[str, str], str] | None = field(default=None, compare=False, repr=False)
    file_keys: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)


WORKER_HEAP = ("32MiB", "1024GiB")
"""The least and the most that the load generator's heap may be."""


@dataclass(frozen=True)
class WorkerChoice:
    """How the load generator is set up; the same for every trial of a campaign.

    Attributes:
        heap_mb, direct_memory_mb: memory of its JVM, MiB, as the user wants it; 0 = what the load needs
            (`worker_memory`).
        precision: share of a CPU, 0 to 1, that each load thread may spin away to send when messages are due.
        grain_ns: half of the messages may be so late, to be sent together; None = as the host's CPUs suggest.
        count: workers that carry out each trial together. Memory is that of each.
        hosts: of a fleet, that the workers are on, the same number on each; 0 = on this host.
        jvm: options of its JVM, such as {"UseZGC": "true"} (see `config.jvm_options`).
    """

    heap_mb: int = 0
    direct_memory_mb: int = 0
    precision: float = 0.05
    grain_ns: int | None = None
    count: int = 1
    hosts: int = 0
    jvm: Mapping[str, str] = field(default_factory=dict)

    @property
    def on_one_host(self) -> int:
        """How many workers each of those hosts has that have any."""
        return self.count // max(1, self.hosts)


@dataclass(frozen=True)
class ExperimentChoice:
    """One experiment with its options (an object of that experiment's own model).

    `faults` are made in each of its trials; `faults_at` is the file and line where they are listed.
    """

    name: str
    options: Fields
    faults: tuple[Fault, ...] = ()
    faults_at: str = ""


@dataclass(frozen=True)
class Campaign:
    """What to measure: systems x experiments, repeated in blocks. `source_path` is the file it came from.

    `data_directory` is where servers keep their data ("" = in the run's directory); `data_directories` are disks that
    the nodes take by turns instead, `journal_directories` the same for the journals of systems that keep one apart.
    `thresholds` are what is asked of its figures, each checked by `thresholds.parse_threshold`; `abort_on` are what
    ends a trial early, each checked by `thresholds.parse_abort_rule`.
    `overrides` are the values from the command line that replaced those of the file, by its keys: see `option_of`.
    `deployment` says whether trials start servers of their own or have topics of their own on servers that go on.
    `points` are those of a sweep, the campaign itself being the first of them; () = no sweep. `skip_impossible`: points
    that a system can't have are left out instead of refused. `published` says which claims of a published report it
    examines, `rates_at` at which values of a sweep's axes rates are found that all points take their shares of.
    `listed` are names and versions of the file's systems that have its durability, before options chose others.
    `retry` is how often a trial is made again whose load generators fail. `price` is that of a host for an hour.
    `fleet` is the file of the fleet on whose hosts its servers are started, and its load generators if the file has
    hosts for them; "" = all are here. `fleet_file` is what that file says.
    `notes` say what of the file has no effect, as was asked.
    `locate` gives the file and line of a key, or the option that brought it.
    `variants` are what its points on the axis `VARIANT` compare, `same_within` is the margin within which two figures
    count as the same.
    """

    name: str
    description: str
    systems: tuple[SystemChoice, ...]
    durability: LevelChoice
    nodes: int
    workload: Workload
    experiments: tuple[ExperimentChoice, ...]
    repeat: int
    seed: int
    data_directory: str
    source_path: Path
    overrides: Mapping[str, Any] = field(default_factory=dict)
    worker: WorkerChoice = field(default_factory=WorkerChoice)
    data_directories: tuple[str, ...] = ()
    journal_directories: tuple[str, ...] = ()
    thresholds: tuple[str, ...] = ()
    abort_on: tuple[str, ...] = ()
    skip_impossible: bool = False
    deployment: ServerReuse = ServerReuse.FRESH
    points: tuple[Point, ...] = ()
    published: Choice | None = None
    rates_at: Mapping[str, str] = field(default_factory=dict)
    price: Price | None = None
    notes: tuple[Note, ...] = ()
    listed: tuple[tuple[str, str], ...] = ()
    retry: int = 0
    fleet: str = ""
    fleet_file: FleetFile = field(default_factory=FleetFile)
    variants: tuple[Variant, ...] = ()
    same_within: SameWithin = SAME_WITHIN
    locate: Callable[[KeyPath], str] | None = field(default=None, compare=False, repr=False)

    def where(self, *key: str | int) -> str:
        """Where a key stands, or what is around it, as messages name it: "c.yaml:3"; its file if that is not known."""
        return self.locate(key) if self.locate else str(self.source_path)

    def starts_here(self, system: SystemChoice) -> bool:
        """Whether a system's servers are started where the load generator runs; attached ones and a fleet's are not."""
        return system.attach is None and not self.fleet

    @property
    def starts_servers(self) -> bool:
        """Whether any servers are started here."""
        return any(self.starts_here(system) for _, system in self.systems_at_points)

    @property
    def all_points(self) -> tuple[Point, ...]:
        """The campaign at each point; once, at a point without values, if it has no sweep."""
        return self.points or (Point({}, self),)

    @property
    def systems_at_points(self) -> list[tuple[Point, SystemChoice]]:
        """Each system at each point."""
        return [(point, system) for point in self.all_points for system in point.campaign.systems]

    def with_systems(self, systems: Sequence[Sequence[SystemChoice]]) -> Campaign:
        """The campaign with these systems at `all_points`, less points without any; one at least has some."""
        points = [
            replace(point, campaign=replace(point.campaign, systems=tuple(systems_at_point)))
            for point, systems_at_point in zip(self.all_points, systems, strict=True)
            if systems_at_point
        ]
        return replace(points[0].campaign, points=tuple(points) if self.points else ())


@dataclass(frozen=True)
class Point:
    """The campaign with the values of one point of its sweep in place.

    `values` are for readers, by axis, in the axes' order. `where` is the file and line of the sweep.
    """

    values: Mapping[str, str]
    campaign: Campaign
    where: str = ""
