"""Which settings a system's clients take, and which values. A slip of the pen is refused before anything is started.

Where the client's own library lists them, they are in `client_settings.json` of the system's folder, which
`scripts/generate_client_settings.py` writes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from tidegauge.errors import did_you_mean
from tidegauge.numbers import bounds_in_words

PRODUCER, CONSUMER = "producer", "consumer"
SET_HERE = "it is set by Tidegauge"
CONNECTING = "it says how clients connect, and all do so alike: give it under 'attach'"
_WHOLE_BITS = {"short": 15, "int": 31, "long": 63}
_LISTED_MAX = 8
_NAME = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)+", re.IGNORECASE)
"""What Java's properties are called."""
_OTHER = {PRODUCER: CONSUMER, CONSUMER: PRODUCER}


@dataclass(frozen=True)
class ClientSetting:
    """A setting of a client.

    Attributes:
        type: "boolean", "short", "int", "long", "double"; "structure" = no single value; "" = any text.
        allowed: the values that there are, if they can be listed; one that ends with ":" only begins so.
        any_case: whether their letters may be large or small.
        least, most: bounds of a number.
        refused: of `allowed` those with which nothing can be measured, and what is said of them.
    """

    type: str = ""
    allowed: tuple[str, ...] = ()
    any_case: bool = False
    least: float | None = None
    most: float | None = None
    refused: Mapping[str, str] = field(default_factory=dict)

    def problem_of(self, value: str) -> str:
        """Why it can't have this value, with what it can have; "" if it can. Pure."""
        text = value.strip()
        if self.allowed:
            return self.refused.get(text) or self._problem_of_word(text)
        if self.type == "boolean":
            return "" if text.lower() in ("true", "false") else "must be true or false"
        if self.type == "structure":
            return "can't be given: it is no single value"
        if self.type in _WHOLE_BITS:
            end = 1 << _WHOLE_BITS[self.type]
            whole = int(text) if re.fullmatch(r"[+-]?[0-9]{1,40}", text) else None
            fits = whole is not None and _lies_between(whole, self.least, self.most) and -end <= whole < end
            most = end - 1 if whole is not None and whole >= end and self.most is None else self.most
            return "" if fits else f"must be a whole number{bounds_in_words(self.least, most)}"
        if self.type == "double":
            number = float(text) if re.fullmatch(r"[+-]?[0-9.]{1,40}([eE][+-]?[0-9]{1,3})?", text) else math.nan
            fits = math.isfinite(number) and _lies_between(number, self.least, self.most)
            return "" if fits else f"must be a number{bounds_in_words(self.least, self.most)}"
        return ""

    def _problem_of_word(self, text: str) -> str:
        same = str.lower if self.any_case else str
        if any(same(text) == same(word) or (word.endswith(":") and text.startswith(word)) for word in self.allowed):
            return ""
        allowed = [word for word in self.allowed if word not in self.refused]
        words = ", ".join(f"{word}..." if word.endswith(":") else word for word in allowed)
        return f"must be one of {words}{did_you_mean(text, allowed)}"


def _lies_between(number: float, least: float | None, most: float | None) -> bool:
    return (least is None or number >= least) and (most is None or number <= most)


@dataclass(frozen=True)
class ClientSettingRules:
    """The settings of a system's clients: by role, which is "producer" or "consumer", and by name.

    Attributes:
        connection: settings that say how clients connect, which no role has of its own.
        reserved: by role, names that exist and can't be given, and why: "it ...".
        whose: whose clients they are, if a system has several kinds; "" = the system's.
    """

    by_role: Mapping[str, Mapping[str, ClientSetting]]
    connection: Mapping[str, ClientSetting] = field(default_factory=dict)
    reserved: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    whose: str = ""

    def problem_of(self, title: str, role: str, name: str, value: str) -> str:
        """Why clients of a role can't have a setting with this value; "" if they can. `title`: the system's. Pure."""
        settings_of_role, reserved = self.by_role[role], self.reserved.get(role, {})
        if name in reserved:
            return f"can't be given: {reserved[name]}"
        if name in settings_of_role:
            problem = settings_of_role[name].problem_of(value)
            return f"'{value}': {problem}" if problem else ""
        if name in self.connection:
            return f"can't be given: {CONNECTING}"
        if name in self.by_role[_OTHER[role]]:
            return f"is a setting of {_OTHER[role]}s: give it under '{_OTHER[role]}'"
        names = self.names_of(role)
        meant = did_you_mean(name, names)
        listed = f"; they have {', '.join(names)}" if len(names) <= _LISTED_MAX and not meant else ""
        return f"{role}s of {self.whose or title} have no such setting{meant}{listed}"

    def names_of(self, role: str) -> list[str]:
        """What can be given to clients of a role. Pure."""
        return sorted(set(self.by_role[role]) - set(self.reserved.get(role, {})))

    def problems(self, title: str, settings_by_role: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, str, str]]:
        """Yields role and name of each setting that can't be given so, and why. Pure."""
        for role, settings in settings_by_role.items():
            for name, value in settings.items():
                if problem := self.problem_of(title, role, name, value):
                    yield role, name, problem

    def with_reserved(self, role: str, names: Collection[str], why: str) -> ClientSettingRules:
        """The same where these names can't be given to a role either. `why`: "it ..."."""
        more = {**self.reserved.get(role, {}), **dict.fromkeys(names, why)}
        return replace(self, reserved={**self.reserved, role: more})

    def with_refused(self, role: str, name: str, value: str, why: str) -> ClientSettingRules:
        """The same where a setting of a role can't have this value, for a reason that says what it can have."""
        setting = self.by_role[role][name]
        refusing = replace(setting, refused={**setting.refused, value: why})
        return replace(self, by_role={**self.by_role, role: {**self.by_role[role], name: refusing}})


def may_be_name(text: str) -> bool:
    """Whether what stands in the place of a setting's name looks like one, and not like a piece of a secret. Pure.

    Such pieces stand there where the lines of a value, a private key say, are not joined.
    """
    return _NAME.fullmatch(text) is not None


@cache
def read_client_settings(path: Path) -> tuple[ClientSettingRules, Mapping[str, Any]]:
    """What a file that the script wrote says, as settings and as it stands there. It is read once."""
    content = json.loads(path.read_text(encoding="utf-8"))
    settings = ClientSettingRules(
        {role: _settings_of(content[role]) for role in (PRODUCER, CONSUMER)},
        _settings_of(content.get("connection", {})),
        dict.fromkeys((PRODUCER, CONSUMER), dict.fromkeys(content["reserved"], SET_HERE)),
    )
    return settings, content


def _settings_of(facts_by_name: Mapping[str, Mapping[str, Any]]) -> dict[str, ClientSetting]:
    return {
        name: ClientSetting(
            facts.get("type", ""),
            tuple(facts.get("allowed", ())),
            facts.get("any case", False),
            facts.get("least"),
            facts.get("most"),
        )
        for name, facts in facts_by_name.items()
    }
