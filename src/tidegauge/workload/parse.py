"""A workload from a file or from the campaign that holds it, checked and frozen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from tidegauge.config.fields import Duration, Fields, Size, duration_between, member_of, size_between
from tidegauge.config.source import KeyPath, Source, read_source
from tidegauge.config.validate import validate
from tidegauge.workload.model import (
    Arrival,
    ClientSettings,
    Compression,
    Keys,
    Payload,
    Workload,
)

Count = Annotated[int, Field(ge=1, le=10_000)]


class WorkloadFields(Fields):
    """The keys of a workload. Producers are for each topic, consumers for each subscription of each topic."""

    topics: Count = 1
    partitions: Count = 1
    producers: Count = 1
    subscriptions: Annotated[int, Field(ge=1, le=100)] = 1
    consumers: Count = 1
    message_size: Annotated[Size, AfterValidator(size_between("48B", "1MiB"))] = 1024
    random_share: Annotated[float, Field(ge=0, le=1)] = 1.0
    payload_file: str = ""
    payload_bodies: Annotated[int, Field(ge=1, le=65_536)] = 256
    keys: Annotated[Keys, BeforeValidator(member_of(Keys))] = Keys.NONE
    distinct_keys: Annotated[int, Field(ge=1, le=100_000_000)] = 10_000
    arrival: Annotated[Arrival, BeforeValidator(member_of(Arrival, frozenset({"closed-loop"})))] = Arrival.UNIFORM
    batch_size: Annotated[Size, AfterValidator(size_between("1B", "16MiB"))] = 131_072
    batch_delay: Annotated[Duration, AfterValidator(duration_between("0ms", "10s"))] = 0.001
    compression: Annotated[Compression, BeforeValidator(member_of(Compression))] = Compression.NONE
    in_flight: Annotated[int, Field(ge=1, le=1_000_000)] = 5000
    receive_queue: Annotated[int, Field(ge=1, le=1_000_000)] = 5000
    connections: Annotated[int, Field(ge=1, le=64)] = 1


def parse_workload(data: Mapping[str, Any], source: Source, at: KeyPath) -> Workload | None:
    """The workload held by `data`, or None after noting what is wrong in `source`."""
    fields = validate(WorkloadFields, data, source, at)
    if fields is None:
        return None
    payload_file = _find_payload(fields.payload_file, source, at)
    if payload_file is None:
        return None
    return _to_workload(fields, payload_file)


def parse_workload_file(source: Source) -> Workload | None:
    """The workload of a file that was read, or None after noting what is wrong in `source`."""
    data = {key: value for key, value in source.data.items() if key not in ("name", "description")}
    return parse_workload(data, source, ())


def read_workload(path: Path) -> tuple[Workload | None, Source]:
    """A workload file. Raises `UserError` only if it can't be read as YAML; problems inside are in the source."""
    source = read_source(path, "workload")
    return parse_workload_file(source), source


def _find_payload(name: str, source: Source, at: KeyPath) -> str | None:
    """The payload file's absolute path; "" for none; None after a complaint."""
    if not name:
        return ""
    path = (source.path.parent / name).resolve()
    if path.is_file() and path.stat().st_size > 0:
        return str(path)
    source.complain((*at, "payload-file"), f"'{name}': there is no such file, or it is empty (looked for {path})")
    return None


def _to_workload(fields: WorkloadFields, payload_file: str) -> Workload:
    return Workload(
        topics=fields.topics,
        partitions=fields.partitions,
        producers=fields.producers,
        subscriptions=fields.subscriptions,
        consumers=fields.consumers,
        payload=Payload(
            message_bytes=fields.message_size,
            random_share=fields.random_share,
            file=payload_file,
            pool_bodies=fields.payload_bodies,
        ),
        keys=fields.keys,
        distinct_keys=fields.distinct_keys,
        arrival=fields.arrival,
        client=ClientSettings(
            batch_bytes_max=fields.batch_size,
            batch_delay_ms_max=fields.batch_delay * 1000,
            compression=fields.compression,
            in_flight_messages_max=fields.in_flight,
            receive_queue_messages=fields.receive_queue,
            connections_per_broker=fields.connections,
        ),
    )
