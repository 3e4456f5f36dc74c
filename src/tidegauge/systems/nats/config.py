"""The configuration of NATS servers. Pure.

Source: https://docs.nats.io/running-a-nats-service/configuration
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidegauge.systems.api import LOOPBACK, Seat
from tidegauge.systems.server_settings import DATA, FILES, MEMBERS, PORTS

CLUSTER_NAME = "tidegauge"
SYNC_INTERVAL = "jetstream.sync_interval"
ALWAYS = "always"
RESERVED = {
    r"jetstream\.(store_dir|dir|storedir)": DATA,
    r"(log_file|logfile|pidfile|pid_file|ports_file_dir)": FILES,
    r"(cluster\.)?(listen|host|port|addr|net)|https?(_port)?|monitor_port": PORTS,
    r"(server_name|cluster\.(name|routes))": MEMBERS,
}
"""Settings that a campaign can't give."""
_BARE = re.compile(r"true|false|-?\d+(\.\d+)?|\d+(\.\d+)?[kKmMgGtT][iI]?[bB]?")
"""Values that NATS reads as something else than text."""


@dataclass(frozen=True)
class NatsNode:
    """One server, with its ports at the address of its seat; `monitoring_port` is for its own figures."""

    number: int
    client_port: int
    monitoring_port: int
    cluster_port: int
    directory: Path
    seat: Seat = LOOPBACK

    @property
    def name(self) -> str:
        """The name of its process, of its files, and of the server itself."""
        return f"nats-{self.number}"

    @property
    def address(self) -> str:
        """Where it listens."""
        return self.seat.address

    @property
    def monitoring_url(self) -> str:
        """Where it says what is in force, and its figures."""
        return f"http://{self.address}:{self.monitoring_port}"


def server_config(
    node: NatsNode, nodes: Sequence[NatsNode], always_syncs: bool, memory_mb: int, overrides: Mapping[str, str]
) -> str:
    """The configuration of one node. `overrides` win, named "jetstream.sync_interval"; the rest keeps its default."""
    settings: dict[str, str] = {
        "server_name": node.name,
        "listen": f"{node.address}:{node.client_port}",
        "http": f"{node.address}:{node.monitoring_port}",
        "jetstream.store_dir": str(node.directory),
        # By default a share of all memory, and of the disk, whoever else uses them.
        "jetstream.max_memory_store": f"{memory_mb}MB",
    }
    if always_syncs:
        settings[SYNC_INTERVAL] = ALWAYS
    if len(nodes) > 1:
        settings |= {"cluster.name": CLUSTER_NAME, "cluster.listen": f"{node.address}:{node.cluster_port}"}
    tree: dict[str, Any] = {}
    for name, value in {**settings, **overrides}.items():
        *blocks, last = name.split(".")
        holder = tree
        for block in blocks:
            holder = holder.setdefault(block, {})
        holder[last] = value
    if len(nodes) > 1:
        tree["cluster"]["routes"] = [f"nats://{other.address}:{other.cluster_port}" for other in nodes]
    return "".join(_lines(tree, ""))


def _lines(tree: Mapping[str, Any], indent: str) -> list[str]:
    lines: list[str] = []
    for name, value in tree.items():
        if isinstance(value, dict):
            lines += [f"{indent}{name} {{\n", *_lines(value, f"{indent}  "), f"{indent}}}\n"]
        else:
            lines.append(f"{indent}{name}: {_value_text(value)}\n")
    return lines


def _value_text(value: str | list[str]) -> str:
    if isinstance(value, str) and _BARE.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def connection_of_nodes(nodes: Sequence[NatsNode]) -> dict[str, str]:
    """The driver's connection settings."""
    return {
        "servers": ",".join(f"nats://{node.address}:{node.client_port}" for node in nodes),
        "monitoringUrl": ",".join(node.monitoring_url for node in nodes),
    }
