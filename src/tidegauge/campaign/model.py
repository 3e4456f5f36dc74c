"""A campaign as frozen objects: what `campaign/parse.py` makes of a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tidegauge.config.fields import Fields
from tidegauge.systems.api import LevelChoice
from tidegauge.systems.attach import AttachChoice
from tidegauge.workload.model import Workload


@dataclass(frozen=True)
class SystemChoice:
    """One system to measure.

    Attributes:
        version: "4.3.1", a directory ("/opt/kafka"), or "" for the default that Tidegauge is tested with.
        settings: the system's own server settings, which win over Tidegauge's.
        producer, consumer: the client's own settings, which win over the neutral ones of the workload.
        heap_mb, direct_memory_mb: for each node's JVM, MiB.
        shape: the system's own options of layout, such as {"brokers": "1"}.
        durability: instead of the campaign's; None = the campaign's. Other levels make a comparison unequal.
        optional: leave it out, with the reason, where its files can't be had or the memory does not suffice for it.
        attach: the cluster to attach to instead of starting servers; None = start them.
        copies: of each topic, where neither the level nor the nodes decide it; 0 = they do.
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
    copies: int = 0


@dataclass(frozen=True)
class WorkerChoice:
    """Memory of the load generator's JVM, MiB; the same for every trial of a campaign."""

    heap_mb: int = 256
    direct_memory_mb: int = 128


@dataclass(frozen=True)
class ExperimentChoice:
    """One experiment with its options (an object of that experiment's own model)."""

    name: str
    options: Fields


@dataclass(frozen=True)
class Campaign:
    """What to measure: systems x experiments, repeated in blocks. `source_path` is the file it came from.

    `data_directory` is where servers keep their data ("" = in the run's directory); `data_directories` are disks that
    the nodes take by turns instead, `journal_directories` the same for the journals of systems that keep one apart.
    `overrides` are the command-line options that replaced values of the file, as the user gave them.
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
    overrides: Mapping[str, str] = field(default_factory=dict)
    worker: WorkerChoice = field(default_factory=WorkerChoice)
    data_directories: tuple[str, ...] = ()
    journal_directories: tuple[str, ...] = ()
