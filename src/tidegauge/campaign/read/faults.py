"""`faults:` of an experiment in a campaign: what to do to which nodes, when. Problems are reported with their lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from pydantic import BeforeValidator, Field

from tidegauge.config.fields import Duration, Fields, Share, Size, duration_between, member_of, one_of, size_between
from tidegauge.config.source import KeyPath, Source, validate
from tidegauge.errors import UserError, did_you_mean
from tidegauge.model.faults import ALL, BOTH, EVERYBODY, PEERS, RANDOM, TARGETS, WAYS, Fault, FaultKind
from tidegauge.model.trial import AttestSpec, LoadSpec, ServerReuse, TrialSpec
from tidegauge.numbers import trimmed

KEY = "faults"
_COMMON = ("at", "kind", "target")


def _check_target(value: object) -> str:
    text = str(value)
    number = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if not number and text not in TARGETS:
        raise ValueError(
            f"must be {', '.join(TARGETS)}, or a node's number from 1 on{did_you_mean(text, list(TARGETS))}"
        )
    return text


class FaultFields(Fields):
    """Keys of one fault."""

    at: Annotated[Duration, duration_between("1s", "30d")]
    kind: Annotated[FaultKind, member_of(FaultKind)]
    target: Annotated[str, BeforeValidator(_check_target)] = RANDOM
    duration: Annotated[Duration, duration_between("100ms", "1d")] | None = None
    bandwidth: Annotated[Size, size_between("1KiB", "1024GiB")] | None = None
    operations: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    share: Share | None = None
    peers: Annotated[str, one_of(PEERS)] = EVERYBODY
    ways: Annotated[str, one_of(WAYS)] = BOTH


def parse_faults(value: object, source: Source, at: KeyPath) -> tuple[Fault, ...]:
    """The faults of one experiment, by time; problems are noted in `source`."""
    if not isinstance(value, list) or not value:
        source.complain(at, "must be a list of faults such as {at: 10s, kind: kill, target: leader, duration: 5s}")
        return ()
    faults: list[Fault] = []
    for number, item in enumerate(value):
        fault = _fault_of_item(item, source, (*at, number))
        if fault is None:
            continue
        if faults and fault.at_s < faults[-1].ends_s:
            source.complain(
                (*at, number, "at"),
                f"{trimmed(fault.at_s)} s is before the fault above it is over ({trimmed(faults[-1].ends_s)} s): "
                "list faults in the order of time, one after the other, else it would be unclear which of them "
                "did what",
            )
        faults.append(fault)
    return tuple(faults)


def _fault_of_item(item: object, source: Source, at: KeyPath) -> Fault | None:
    otherwise = f"must be a mapping with {', '.join(_COMMON)} and more, by its kind"
    fields = validate(FaultFields, item, source, at, otherwise)
    if fields is None or not isinstance(item, dict):
        return None
    problem = _problem_of_keys(fields, item)
    if problem is not None:
        source.complain((*at, problem[0]) if problem[0] else at, problem[1])
        return None
    return Fault(
        **fields.model_dump(include={"kind", "share", "peers", "ways"}),
        at_s=fields.at,
        target=ALL if fields.kind.procedure.hits_all else fields.target,
        duration_s=fields.duration or 0.0,
        bytes_per_s=fields.bandwidth,
        ops_per_s=fields.operations,
    )


def _problem_of_keys(fields: FaultFields, item: Mapping[str, object]) -> tuple[str, str] | None:
    """What does not go together: the key and why. None if everything does."""
    kind, procedure = fields.kind.value, fields.kind.procedure
    allowed = (*_COMMON, *(("duration",) if procedure.lasts else ()), *procedure.keys)
    if procedure.hits_all:
        allowed = tuple(key for key in allowed if key != "target")
    for key in item:
        if key not in allowed:
            return key, f"has no meaning for {kind}; allowed: {', '.join(allowed)}"
    if procedure.lasts and fields.duration is None:
        return "", f"{kind} needs 'duration': how long until it is lifted, or the node started again"
    needed = () if procedure.keys_optional else procedure.keys
    if needed and all(getattr(fields, key) is None for key in needed):
        return "", f"{kind} needs {' or '.join(repr(key) for key in needed)}"
    if fields.share is not None and not 0 < fields.share <= 1:
        return "share", "must be above 0 % and at most 100 %"
    return None


def faulted_trial(
    trial: TrialSpec, faults: tuple[Fault, ...], where: str, machines: int, network_problem: str = ""
) -> LoadSpec:
    """A planned trial with faults, on servers of its own. Raises `UserError` if it can't have them.

    `where`: file and line of them; `machines`: how many nodes faults can be made on; `network_problem`: "" or why the
    system's nodes can't have networks of their own.
    """
    if trial.attached:
        raise UserError(
            f"{where}: faults: {trial.system} is a cluster that others run, and nothing is done to it.",
            "Leave 'faults' out, or let Tidegauge start the servers.",
        )
    if isinstance(trial, AttestSpec):
        raise UserError(
            f"{where}: faults: {trial.experiment} makes faults of its own.", "Choose among them with 'scenarios'."
        )
    if not isinstance(trial, LoadSpec) or trial.late is not None:
        raise UserError(
            f"{where}: faults: {trial.experiment} measures readers that catch up, and has no window of known length.",
            "Put them into an experiment at a fixed load, such as latency.",
        )
    for number, fault in enumerate(faults, 1):
        if fault.target.isdecimal() and int(fault.target) > machines:
            raise UserError(
                f"{where}: faults: fault {number}: there is no node {fault.target}: {trial.system} has {machines}.",
                "Name one of them, or 'leader', 'random' or 'all'.",
            )
        if fault.kind.procedure.needs_network and network_problem:
            raise UserError(
                f"{where}: faults: fault {number}: {fault.kind.value} can't be made with {trial.system}: "
                f"{network_problem}.",
                "Faults of processes and disks can be made with every system.",
            )
        if max(fault.ends_s, fault.at_s + 1) > trial.measure_s:
            raise UserError(
                f"{where}: faults: fault {number} ({fault.words()}) is over at {trimmed(fault.ends_s)} s, and only "
                f"{trimmed(trial.measure_s)} s are measured.",
                "Measure longer; some seconds after the last fault show how the system recovers.",
            )
    # What a fault leaves of servers is nothing to measure another trial on.
    return replace(trial, faults=faults, servers=ServerReuse.FRESH)
