"""Looking up settings that were read back from a running system. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidegauge.model.server import Setting

_TOPIC = "topic "


def value_of(settings: Sequence[Setting], scope: str, name: str) -> str:
    """The value of a setting; "" if it was not read back."""
    return next((s.value for s in settings if (s.scope, s.name) == (scope, name)), "")


def number_of(settings: Sequence[Setting], scope: str, name: str) -> int | None:
    """A setting that is a number; None if it was not read back."""
    text = value_of(settings, scope, name)
    return int(text) if text.isdigit() else None


def scopes_of(settings: Sequence[Setting], prefix: str = _TOPIC) -> list[str]:
    """The scopes that begin so, sorted."""
    return sorted({s.scope for s in settings if s.scope.startswith(prefix)})


def values_of(settings: Sequence[Setting], scope: str) -> dict[str, str]:
    """All settings of a scope, by name."""
    return {s.name: s.value for s in settings if s.scope == scope}


def listed(settings: Sequence[Setting], name: str) -> Iterator[tuple[str, str]]:
    """What a topic's setting lists, as "topic-place" and entry: of "a, b" of topic t, t-0 has a and t-1 has b."""
    for setting in settings:
        if setting.name == name and setting.scope.startswith(_TOPIC):
            for place, entry in enumerate(setting.value.split(", ")):
                yield f"{setting.scope.removeprefix(_TOPIC)}-{place}", entry
