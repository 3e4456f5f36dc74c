"""The command-line options that replace a campaign's keys."""

from __future__ import annotations

DATA_KEYS = ("data-directory", "data-directories")
"""One disk for the servers' data, and several that nodes take by turns: one option gives either."""
_OPTIONS = {
    "durability": "--level",
    **dict.fromkeys(DATA_KEYS, "--data-dir"),
    "thresholds": "--threshold",
}
"""Command-line options that are called otherwise than the keys that they replace."""


def option_of(key: str) -> str:
    """The command-line option that gives a key of a campaign, and is repeated for each value of a list."""
    return _OPTIONS.get(key, f"--{key}")
