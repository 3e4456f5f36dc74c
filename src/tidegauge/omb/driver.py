"""OMB's driver files: which system one is for, its terms, and a copy without secrets."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tidegauge.campaign.attach import parse_attach
from tidegauge.campaign.secrets import keep_in_memory
from tidegauge.config.source import Source, read_source
from tidegauge.systems import registry
from tidegauge.systems.api import System
from tidegauge.systems.attach import AttachChoice, AuthChoice, SecretReference
from tidegauge.systems.omb import DriverTerms, OmbDriver

_CLOSE = 0.7
_USER_INFO = re.compile(r"(://)[^/\s@]+@")


@dataclass(frozen=True)
class ReadDriver:
    """A driver file that was read. `attach` is None with servers of our own. The source may hold a password."""

    source: Source = field(repr=False)
    name: str
    system: System
    terms: DriverTerms
    attach: AttachChoice | None


def read_driver(path: Path, managed: bool) -> tuple[ReadDriver | None, Source]:
    """A driver file; None if its source has problems. Raises `UserError` only if it can't be read as YAML."""
    source = read_source(path, "driver")
    driver = _driver(source)
    if driver is None:
        return None, source
    terms = driver.read(source, managed)
    name = source.data.get("name")
    if terms is None or source.problems or not isinstance(name, str):
        return None, source
    system = registry.get(driver.system)
    attach = None if managed else _attach(terms, source, system)
    if source.problems:
        return None, source
    return ReadDriver(source, name, system, terms, attach), source


def without_secrets(text: str) -> str:
    """A driver file's text as it may be kept: users and passwords in addresses are hidden, nothing else has any."""
    return _USER_INFO.sub(r"\1(hidden)@", text)


def _driver(source: Source) -> OmbDriver | None:
    known = registry.omb_drivers()
    wanted: Any = source.data.get("driverClass")
    if not isinstance(wanted, str):
        source.complain(
            (), "the key 'driverClass' is missing, so this is no driver file of the OpenMessaging Benchmark"
        )
        return None
    if wanted not in known:
        source.complain(("driverClass",), f"'{wanted}'{_nearest_class(wanted, list(known))}; known: {', '.join(known)}")
        return None
    return known[wanted]


def _nearest_class(wanted: str, known: list[str]) -> str:
    """A suggestion by the last package alone: what all drivers' names share makes each look like the others."""
    packages = {name.split(".")[-2]: name for name in known}
    close = get_close_matches(f".{wanted}".split(".")[-2], list(packages), n=1, cutoff=_CLOSE)
    return (
        f" (did you mean '{packages[close[0]]}'?)" if close else " is OMB's driver for a system that is not known here"
    )


def _attach(terms: DriverTerms, source: Source, system: System) -> AttachChoice | None:
    """The cluster that the file names."""
    if system.attach_rules is None:
        source.complain(("driverClass",), f"there is no cluster of {system.title} that could be attached to")
        return None
    choice = parse_attach(dict(terms.addresses), source, (), system.attach_rules)
    if choice is None:
        return None
    auth = AuthChoice()
    if terms.token_file:
        auth = AuthChoice("token", token=SecretReference("file", terms.token_file))
    elif terms.user:
        auth = AuthChoice("password", terms.user, password=keep_in_memory(f"omb {source.path}", terms.password))
    return AttachChoice(choice.addresses, terms.tls, auth)
