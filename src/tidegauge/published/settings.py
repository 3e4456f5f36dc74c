"""What a report says that its tests were run with, in the keys that campaigns have; nothing where it doesn't say."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from tidegauge.config.fields import AbsoluteRate, Duration, Fields, Size
from tidegauge.config.fields import Settings as OwnNames


def _several(value: Any) -> Any:
    """One value, or those of a sweep."""
    return value if isinstance(value, list) else [value]


def _field() -> Any:
    return Field(default_factory=list)


Counts = Annotated[list[int], BeforeValidator(_several)]
Names = Annotated[list[str], BeforeValidator(_several)]
Sizes = Annotated[list[Size], BeforeValidator(_several)]
Rates = Annotated[list[AbsoluteRate], BeforeValidator(_several)]
Durations = Annotated[list[Duration], BeforeValidator(_several)]


class Settings(Fields):
    """Settings of a test: one value, or several where the test has a trial for each; none where it is not known.

    Attributes:
        subscriptions: that read all the time; those that read late where all do.
        backlog: bytes of messages that wait for a late subscription when it begins.
        heap, direct_memory: of the JVM of each server process: of a system that has several, each has as much.
        measure: length of a trial in seconds; not of those that end with a backlog.
    """

    nodes: Counts = _field()
    level: Counts = _field()
    form: Names = _field()
    message_size: Sizes = _field()
    partitions: Counts = _field()
    producers: Counts = _field()
    consumers: Counts = _field()
    subscriptions: Counts = _field()
    batch_size: Sizes = _field()
    batch_delay: Durations = _field()
    rate: Rates = _field()
    backlog: Sizes = _field()
    measure: Durations = _field()
    heap: Sizes = _field()
    direct_memory: Sizes = _field()

    def over(self, below: Settings) -> Settings:
        """These, with what only `below` says."""
        return below.model_copy(
            update={name: stated for name in Settings.model_fields if (stated := getattr(self, name))}
        )


class OwnSettings(Fields):
    """A system's own settings of servers, producers and consumers, as the report gives them."""

    server: OwnNames = Field(default_factory=dict)
    producer: OwnNames = Field(default_factory=dict)
    consumer: OwnNames = Field(default_factory=dict)


class Test(Fields):
    """A test of a report. `systems`: what was different for one of them."""

    __test__ = False  # It is none of pytest's.

    id: str
    settings: Settings = Settings()
    systems: dict[str, Settings] = Field(default_factory=dict)
