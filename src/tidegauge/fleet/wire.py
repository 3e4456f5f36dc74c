"""How controller and agent write to each other: one JSON object a line, so that any byte stream can carry it.

Request: {"id": 7, "call": "stop", "name": "kafka-1"}. Reply: {"id": 7, "result": {...}} or {"id": 7, "error": {...}}.
"renew" has no id and gets no reply.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tidegauge.errors import RunFailedError, StartFailedError, TidegaugeError
from tidegauge.fleet.api import CutReport, Network, ProcessSpec, ProcessStatus
from tidegauge.model.host import DiskCheck

PROTOCOL_VERSION = 1
Message = dict[str, Any]


def to_line(message: Mapping[str, Any]) -> bytes:
    """One message as a line. JSON escapes keep undecodable bytes of file names intact."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


def from_line(line: bytes) -> Message:
    """Parse a line. Raises `ValueError` if it is not a JSON object."""
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError("not a JSON object")
    return message


def spec_to_json(spec: ProcessSpec) -> Message:
    """A `ProcessSpec` as JSON."""
    return {**asdict(spec), "argv": list(spec.argv), "env": dict(spec.env)}


def spec_from_json(data: Mapping[str, Any]) -> ProcessSpec:
    """Undo `spec_to_json`."""
    return ProcessSpec(**{**data, "argv": tuple(data["argv"])})


def status_to_json(status: ProcessStatus) -> Message:
    """A `ProcessStatus` as JSON."""
    return asdict(status)


def status_from_json(data: Mapping[str, Any]) -> ProcessStatus:
    """Undo `status_to_json`."""
    return ProcessStatus(**data)


def cut_from_json(data: Mapping[str, Any]) -> CutReport:
    """A `CutReport`, sent as `asdict` gives it."""
    return CutReport(**{**data, "disks": tuple(DiskCheck(**disk) for disk in data["disks"])})


def network_from_json(data: Mapping[str, Any]) -> Network:
    """A `Network`, sent as `asdict` gives it."""
    return Network(**data)


def error_to_json(error: TidegaugeError) -> Message:
    """An error that the controller is to raise."""
    return {
        "kind": "start" if isinstance(error, StartFailedError) else "run",
        "message": error.message,
        "hint": error.hint,
        "log_path": str(error.log_path) if error.log_path else "",
    }


def error_from_json(data: Mapping[str, Any]) -> RunFailedError:
    """Undo `error_to_json`."""
    kind = StartFailedError if data["kind"] == "start" else RunFailedError
    return kind(data["message"], data["hint"], Path(data["log_path"]) if data["log_path"] else None)
