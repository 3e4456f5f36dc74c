"""OMB's driver file for NATS: where the servers are, and how many copies streams have. Pure."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field

from tidegauge.config.source import Source, validate
from tidegauge.durability import NODES_FOR_REPLICATION
from tidegauge.model.level import LevelChoice
from tidegauge.model.workload import ClientSettings
from tidegauge.systems.nats.level import FILE
from tidegauge.systems.omb import (
    AUTH_ADVICE,
    IN_FLIGHT_MESSAGES_MAX,
    DriverFields,
    DriverTerms,
    KeysOfForks,
    OmbDriver,
)

_PORT, _MONITORING_PORT = 4222, 8222

OF_FORKS = KeysOfForks()
"""None is known."""


class _NatsDriverFile(DriverFields):
    nats_host_url: Annotated[str, Field(min_length=1)]
    replication_factor: Annotated[int, Field(ge=1, le=5)] = 1


def _read_driver_file(source: Source, managed: bool) -> DriverTerms | None:
    data, notes = OF_FORKS.take_from(source)
    file = validate(_NatsDriverFile, data, source, ())
    if file is None:
        return None
    servers, monitoring = [], []
    for address in file.nats_host_url.split(","):
        text = address.strip() if "://" in address else f"nats://{address.strip()}"
        try:
            parts = urlsplit(text)
            host, port = parts.hostname, parts.port
        except ValueError:
            host = port = None
        if not host or parts.scheme not in ("nats", "tls"):
            # The address is not repeated: it may hold a password.
            source.complain(("natsHostUrl",), "must be addresses such as localhost:4222 or nats://host:4222")
        elif parts.username is not None:
            source.complain(("natsHostUrl",), f"holds a user: {AUTH_ADVICE}")
        else:
            shown = f"[{host}]" if ":" in host else host
            servers.append(f"{parts.scheme}://{shown}:{port or _PORT}")
            monitoring.append(f"http://{shown}:{_MONITORING_PORT}")
    if source.problems:
        return None
    copies = file.replication_factor
    notes += ["Messages go through JetStream, which OMB's older driver for NATS did without: each is stored."]
    if not managed:
        notes.append(
            f"Servers' monitoring endpoints are looked for at {', '.join(monitoring)}, the usual port: without them "
            "nobody knows how often servers sync."
        )
    return DriverTerms(
        # How often servers sync is theirs to say; by default it is not before an acknowledgement.
        level=LevelChoice(2 if copies > 1 else 4, FILE, as_found=not managed),
        nodes=NODES_FOR_REPLICATION if copies > 1 else 1,
        copies=copies,
        addresses={"servers": ",".join(servers), "monitoring-url": ",".join(monitoring)},
        client=ClientSettings(in_flight_messages_max=IN_FLIGHT_MESSAGES_MAX),
        notes=tuple(notes),
        kept={"natsHostUrl": ",".join(servers), "replicationFactor": copies},
    )


OMB = OmbDriver("io.openmessaging.benchmark.driver.nats.NatsBenchmarkDriver", "nats", _read_driver_file)
