"""Whose rates and amounts a published campaign uses."""

from __future__ import annotations

from enum import StrEnum


class Scale(StrEnum):
    """SHARES of what was measured here, so that a campaign runs on any machine; or the report's ORIGINAL values."""

    SHARES = "shares"
    ORIGINAL = "original"
