"""What a system makes of its driver file of the OpenMessaging Benchmark (OMB). Pure.

A system's folder with a module `omb` that has `OMB: OmbDriver` is found by the registry; nothing else names systems.
Every key of a file is carried out, noted where it has no effect here, or refused by its name with the reason.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from tidegauge.config.fields import Fields
from tidegauge.config.source import Source
from tidegauge.model.level import LevelChoice
from tidegauge.model.workload import ClientSettings, SubscriptionType
from tidegauge.systems.attach import TlsChoice

IN_FLIGHT_MESSAGES_MAX = 20_000
"""OMB bounds messages in flight by the clients' memory only; here each producer has a window, the same for all."""

AUTH_ADVICE = "name the cluster in a campaign instead, whose 'attach.auth' takes secrets from a variable or a file"
NAMES_OF_TOPICS = "topics are new for each run, under names that no other run has, and no others are deleted"
TOPICS_THAT_ARE_THERE = "topics of the cluster are named in the workload: write topicNames there, and leave it out here"
_VARIABLE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")


def secret_of(text: str) -> dict[str, str] | None:
    """Where a secret is, as `attach.auth` has it, of "${env:VARIABLE}"; None of what may be the secret itself."""
    match = _VARIABLE.fullmatch(text)
    return {"env": match[1]} if match else None


class OmbFields(Fields):
    """Base of models of OMB's files, whose keys are in camelCase."""

    model_config = ConfigDict(alias_generator=to_camel)


class DriverFields(OmbFields):
    """What every driver file has: a name for its results, and the Java class that stands for the system."""

    name: str
    driver_class: str


@dataclass(frozen=True)
class KeysOfForks:
    """Keys that forks and older versions of OMB have in a kind of file, by their place in it ("producer.thatKey").

    Attributes:
        noted: why one has no effect here.
        refused: why one can't be carried out, and what to write instead. One that is off or empty asks for nothing.
    """

    noted: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)

    def take_from(self, source: Source) -> tuple[dict[str, Any], list[str]]:
        """The file's data without these keys, and a sentence on each that has no effect. Complains of the others."""
        data, notes = copy.deepcopy(source.data), []
        for place, why in {**self.noted, **self.refused}.items():
            *blocks, key = place.split(".")
            holder: Any = data
            for block in blocks:
                holder = holder.get(block) if isinstance(holder, dict) else None
            if not isinstance(holder, dict) or key not in holder:
                continue
            value = holder.pop(key)
            if place in self.noted:
                notes.append(f"{place} has no effect here: {why}.")
            elif value:
                source.complain((*blocks, key), why)
        return data, notes


@dataclass(frozen=True)
class DriverTerms:
    """A driver file in Tidegauge's words.

    Attributes:
        level: what the file's settings make an acknowledgement mean. `as_found` where the cluster decides, and
            open where the file gives nothing to expect.
        nodes: how many servers of our own it takes.
        copies: of each message; 0 = what the level needs.
        addresses: of the cluster, by the system's keys of `attach`; unused with servers of our own.
        password: kept in memory only.
        token_file: absolute path of a file with a token; "" = none.
        auth: who the client is, as `attach.auth` of a campaign says it, with references to secrets; {} = nobody.
        topic_prefix: of every topic; "" = Tidegauge's.
        producer, consumer, settings, topic: of the system's clients, servers and topics, which win over Tidegauge's.
        blocks: of the file, with settings of producers and consumers, by role.
        file_keys: where this file has what campaigns have by these keys, for advice.
        of_level: names in these that a level decides: without effect where another is chosen.
        subscription_type: how consumers share a subscription.
        notes: what is carried out differently, or has no effect here, and why: a sentence each.
        level_notes: what the settings do to the level, of servers that are the system's own product.
        kept: what a run keeps of the file, by the file's keys: what was understood, and nothing that may be a secret.
            Beside it are `name` and `driverClass`.
    """

    level: LevelChoice
    nodes: int
    addresses: Mapping[str, str]
    client: ClientSettings
    copies: int = 0
    tls: TlsChoice | None = None
    user: str = ""
    password: str = field(default="", repr=False)
    token_file: str = ""
    auth: Mapping[str, Any] = field(default_factory=dict)
    topic_prefix: str = ""
    producer: Mapping[str, str] = field(default_factory=dict)
    consumer: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    topic: Mapping[str, str] = field(default_factory=dict)
    blocks: Mapping[str, str] = field(default_factory=dict)
    file_keys: Mapping[str, str] = field(default_factory=dict)
    of_level: tuple[str, ...] = ()
    subscription_type: SubscriptionType = SubscriptionType.BY_PARTITION
    notes: tuple[str, ...] = ()
    level_notes: tuple[str, ...] = ()
    kept: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class OmbDriver:
    """How a system reads its driver files.

    Attributes:
        driver_class: the value of `driverClass` in them.
        system: the system's name.
        read: the terms, or None after noting each problem in the source; True = for servers of our own.
        products: of others, by the package of forks' drivers for them, which speak the same protocol.
        refused: by the package of a fork's driver why it can't be carried out, and what to write instead.
    """

    driver_class: str
    system: str
    read: Callable[[Source, bool], DriverTerms | None]
    products: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
