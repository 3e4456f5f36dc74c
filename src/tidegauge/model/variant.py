"""Variants: named sets of settings that a campaign compares, and the margin within which two count as the same."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from tidegauge.numbers import trimmed
from tidegauge.plain import AsText

VARIANT = "variant"
"""The axis of a campaign's points on which its variants are."""


@dataclass(frozen=True)
class Variant:
    """One of the alternatives that a campaign compares.

    Attributes:
        name: as results name it, unique in its campaign.
        sets: what it has of everything in which the variants differ, by a key for readers, such as
            {"producer linger.ms": "20"}.
    """

    name: str
    sets: Mapping[str, str] = field(default_factory=dict)


def point_beside_variant(point: Mapping[str, str]) -> dict[str, str]:
    """The point of a sweep at which several variants were measured: the point of one without the variant."""
    return {axis: value for axis, value in point.items() if axis != VARIANT}


SHARE_OR_MS = "a share such as 3%, or a time such as 1ms"
_SHARE_MAX = 1.0
_MS_MAX = 3_600_000.0
_TEXT = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*(%|us|ms|s)\s*")
_UNITS_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0}


@dataclass(frozen=True)
class SameWithin(AsText):
    """The margin within which two figures count as the same: a share, or for latencies a time.

    Attributes:
        share: of figures that are no times; of all figures where `ms` is None.
        ms: of figures in milliseconds, instead of the share.
    """

    share: float = 0.03
    ms: float | None = None

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The margin of "3%" or "1ms". Raises `ValueError`, in words for the user."""
        parts = _TEXT.fullmatch(text)
        if parts is None:
            raise ValueError(f"must be {SHARE_OR_MS}")
        amount, unit = float(parts[1]), parts[2]
        if unit == "%":
            if not 0 < amount / 100 <= _SHARE_MAX:
                raise ValueError("must be a share above 0% and at most 100%")
            return cls(amount / 100)
        if not 0 < amount * _UNITS_MS[unit] <= _MS_MAX:
            raise ValueError("must be a time above 0 and at most an hour")
        return cls(ms=amount * _UNITS_MS[unit])

    def __str__(self) -> str:
        """As a campaign writes it."""
        return f"{trimmed(self.share * 100)}%" if self.ms is None else f"{trimmed(self.ms)}ms"

    def margin_of(self, unit: str) -> float | None:
        """The margin of a figure in its own unit; None where it is a share of the figure."""
        return self.ms if unit == "ms" else None


SAME_WITHIN = SameWithin()
"""The margin where nobody gives another."""


def parse_same_within(value: object) -> SameWithin:
    """The margin that a campaign or an option states. Raises `ValueError`, in words for the user."""
    if isinstance(value, SameWithin):
        return value
    if not isinstance(value, str):
        raise ValueError(f"must be {SHARE_OR_MS}")
    return SameWithin.from_text(value)


def names_of_variants(variants: Sequence[Variant]) -> tuple[str, ...]:
    """The names, in the campaign's order."""
    return tuple(variant.name for variant in variants)
