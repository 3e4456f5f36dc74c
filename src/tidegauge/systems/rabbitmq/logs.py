"""The cause of a failure, found in RabbitMQ's log, worded as Erlang does. Pure; tested on logs of real failures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tidegauge.systems import logs
from tidegauge.systems.logs import Cause

STAMP = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+\S* \[\w+\] <[\d.]+>\s*")


@dataclass(frozen=True)
class _Known:
    """A known cause; what the expression's groups hold is shown. Earlier ones win."""

    expression: re.Pattern[str]
    summary: str
    hint: str


# Nodes end so soon after this that the lines which say more may be missing from their log.
_BAD_SETTING = _Known(
    re.compile("failed_to_prepare_configuration"),
    "a setting is not valid.",
    "Correct the setting given for this system in the campaign.",
)
_KNOWN = (
    _Known(re.compile(r"\benospc\b"), "the disk is full.", "Free space, or put the data on another disk."),
    _Known(
        re.compile(r"(?:eheap_alloc|\w+_alloc): (Cannot \w+ \d+ bytes of memory)|\benomem\b"),
        "it ran out of memory.",
        "Free memory on this machine.",
    ),
    _Known(
        re.compile(r"attempted to set unknown variable: (\S+)"),
        "there is no setting named",
        "Correct the setting given for this system in the campaign.",
    ),
    _Known(
        re.compile(r"Error transforming datatype for: (\S+)(?:\n[^\n]*?- (\"[^\n]+))?|Invalid value for: (.+)"),
        "a setting is not valid.",
        "Correct the setting given for this system in the campaign.",
    ),
    _BAD_SETTING,
    _Known(
        re.compile(r"\{acceptor,\{[\d,]+\},(\d+)\}[^\n]*eaddrinuse|port (\d+)[^\n]*in use|\beaddrinuse\b"),
        "a port that it needs is taken:",
        "End the other process (`ss -ltnp` shows it), or run again: ports are chosen anew.",
    ),
    _Known(re.compile(r"\b(eacces|eperm)\b"), "it may not use a file.", "Check the owner of the data directory."),
    _Known(re.compile(r"\bemfile\b"), "it ran out of file descriptors.", "Raise the limit: `ulimit -n 65536`."),
    _Known(
        re.compile(r"(memory|disk free space?) resource limit alarm set on node"),
        "it blocks publishers because of its alarm:",
        "Give it more memory (heap) in the campaign, or free disk space.",
    ),
    _Known(
        re.compile(r"(Timeout\w* while waiting for.+|inconsistent_cluster.+|failed to cluster with.+)", re.IGNORECASE),
        "its nodes did not form a cluster.",
        "See the logs of the other nodes.",
    ),
    _Known(re.compile(r"Error during startup: (\{error,\s*\S.*)"), "it could not start.", "Look at the log."),
)


def find_cause(log: str, given: Sequence[str] = ()) -> Cause | None:
    """The likeliest cause of a failure, None if no line looks like one.

    `given`: names of the settings that the user gave, shown where the log says only that one of them is not valid.
    """
    text = "\n".join(STAMP.sub("", line) for line in log.splitlines())
    for known in _KNOWN:
        match = known.expression.search(text)
        if match:
            shown = ": ".join(group.strip() for group in match.groups() if group)
            if known is _BAD_SETTING and given:
                shown = f"Given were: {', '.join(given)}"
            return Cause(known.summary, shown[: logs.LINE_LENGTH_MAX], known.hint)
    return logs.find_cause(text)
