"""What is read from the worker's messages is all that they say, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from tidegauge.worker import messages
from tidegauge.worker.generated import worker_pb2 as pb

LEFT_OUT = {"seconds", "protocol_version", "now_mono_ns"}
"""Fields that the client itself looks at, or nobody."""
UNDER_TWO_NAMES = {"lost"}
"""Fields that plain data has twice: what is missing is the `backlog` while a trial goes on."""


def fill(message: Any, numbers: Any) -> Message:
    """Each field with a value of its own, two elements where there can be several."""
    for field in message.DESCRIPTOR.fields:
        found = getattr(message, field.name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            found[f"key {next(numbers)}"] = f"value {next(numbers)}"
        elif field.message_type is not None:
            for part in (found.add(), found.add()) if field.is_repeated else (found,):
                fill(part, numbers)
        elif field.is_repeated:
            found.extend([value(field, numbers), value(field, numbers)])
        else:
            setattr(message, field.name, value(field, numbers))
    filled: Message = message
    return filled


def value(field: FieldDescriptor, numbers: Any) -> object:
    number = next(numbers)
    made: Mapping[int, object] = {
        FieldDescriptor.TYPE_STRING: f"text {number}",
        FieldDescriptor.TYPE_BYTES: f"bytes {number}".encode(),
        FieldDescriptor.TYPE_BOOL: True,
        FieldDescriptor.TYPE_DOUBLE: number / 8,
    }
    return made.get(field.type, number)


def flat(content: Any) -> list[object]:
    """All values in it, in any order."""
    if is_dataclass(content) and not isinstance(content, type):
        content = asdict(content)
    if isinstance(content, dict):
        return [leaf for part in content.values() for leaf in flat(part)]
    if isinstance(content, list | tuple):
        return [leaf for part in content for leaf in flat(part)]
    return [content]


def values_in(message: Any) -> list[object]:
    found: list[object] = []
    for field, content in message.ListFields():
        if field.name in LEFT_OUT:
            continue
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            found += content.values()
        elif field.message_type is not None:
            for part in content if field.is_repeated else (content,):
                found += values_in(part)
        else:
            found += content if field.is_repeated else [content] * (1 + (field.name in UNDER_TWO_NAMES))
    return found


def mixed_up(message: Any, content: Any) -> list[str]:
    """Names of fields whose value is not that of the message's field of the same name."""
    found = []
    for field, value in message.ListFields():
        if field.name in LEFT_OUT or not is_dataclass(content):
            continue
        read = getattr(content, field.name)
        if field.message_type is None:
            found += [field.name] if (tuple(value) if field.is_repeated else value) != read else []
        elif field.is_repeated and not field.message_type.GetOptions().map_entry:
            found += [name for pair in zip(value, read, strict=True) for name in mixed_up(*pair)]
        elif not field.is_repeated:
            found += mixed_up(value, read)
    return found


@pytest.mark.parametrize(
    ("kind", "read"),
    [
        (pb.HandshakeReply, messages.facts_of),
        (pb.SecondFigures, messages.second_of),
        (pb.TotalFigures, messages.totals_of),
        (pb.CommittedPositionsReply, messages.positions_of),
        (pb.ReadBackReply, lambda reply: messages.read_back_of(reply, Path("file"))),
    ],
)
def test_nothing_of_a_message_is_lost_or_mixed_up(kind: type[Message], read: Callable[[Any], Any]) -> None:
    message = fill(kind(), count(1))
    # What messages don't have is left empty.
    found = [leaf for leaf in flat(read(message)) if leaf not in (Path("file"), b"")]
    assert sorted(map(str, found)) == sorted(map(str, values_in(message)))
    assert mixed_up(message, read(message)) == []


def test_fields_are_read_by_their_names() -> None:
    second = messages.second_of(
        pb.SecondFigures(
            second=3,
            sent=5,
            acked=4,
            response=b"r",
            busiest_consumer="sub-0 consumer 1",
            subscriptions=[pb.SubscriptionSecond(name="sub-0", received=2), pb.SubscriptionSecond(name="sub-1")],
        )
    )
    assert (second.second, second.sent, second.acked, second.response) == (3, 5, 4, b"r")
    assert second.busiest_consumer == "sub-0 consumer 1"
    assert [(subscription.name, subscription.received) for subscription in second.subscriptions] == [
        ("sub-0", 2),
        ("sub-1", 0),
    ]
    totals = messages.totals_of(
        pb.TotalFigures(
            window=pb.WindowFigures(intended=7, records=[pb.RecordFigures(acked_within=9)]),
            errors=[pb.ErrorCount(where="send", message="refused", count=2)],
        )
    )
    assert (totals.window.intended, totals.window.records[0].acked_within) == (7, 9)
    assert totals.errors == (("send", "refused", 2),)


def test_a_field_that_no_message_has_is_an_error() -> None:
    @dataclass(frozen=True)
    class Misnamed:
        sent_by_nobody: int

    with pytest.raises(AttributeError, match="sent_by_nobody"):
        messages.make_reader(Misnamed)(pb.SecondFigures())
