"""What can go wrong, by whose fault it is. `cli` prints these as one message and exits with `exit_code`.

A message is for the user: what happened, then what to do. No traceback is ever shown for one of these.
What it quotes of another program is made fit to be shown: a terminal obeys what it is sent, and logs hold what anybody
sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

_COMPARED_CHARS_MAX = 200
_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor (CSI)
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\)"  # titles, links, the clipboard (OSC and its like)
    r"|\x1b[ -/]*[0-~]?"
)
# Control characters, and those that reverse the direction of what follows.
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class TidegaugeError(Exception):
    """Base of every error that has a message for the user.

    Args:
        message: what happened, one sentence.
        hint: what to do about it; empty if there is nothing to say.
        log_path: the log to look at, if there is one.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str = "", log_path: Path | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.log_path = log_path
        self.details: Mapping[str, Any] = {}
        """Further plain data for whoever reads errors as JSON."""


def with_log(message: str, log_path: Path | None) -> str:
    """A message with the log to look at, in one line."""
    return f"{message} (log: {log_path})" if log_path else message


class UserError(TidegaugeError):
    """The user's input is wrong. The message names file, line, value and what is allowed."""

    exit_code = 2


class RunFailedError(TidegaugeError):
    """A system, worker or host failed while we worked; what was measured before is kept.

    Attributes:
        topic_refused: whether it is a system's answer to being asked for a topic.
    """

    exit_code = 1
    topic_refused = False


class StartFailedError(RunFailedError):
    """A server or worker did not start or did not become ready. `message` holds the cause from its log."""


class GeneratorFailedError(RunFailedError):
    """A load generator or its host failed, not the system under test: the trial may be made again (`retry`)."""


class AgentGoneError(RunFailedError):
    """The agent that holds a run's processes is gone, and they with it: nothing can be measured any more."""


class AccessRefusedError(RunFailedError):
    """A system is there but refuses access: TLS, credentials or rights. Trying again does not help."""


class DiskFullError(RunFailedError):
    """The disk has no room. Ends the run: the next trial would fill it again, and whoever else needs it suffers."""


class SettingsRefusedError(RunFailedError):
    """A system's client refuses the settings that it was given: they have to be changed.

    Attributes:
        role: of that client, "producer" or "consumer".
    """

    exit_code = UserError.exit_code
    role = ""


def did_you_mean(value: str, allowed: list[str]) -> str:
    """The allowed name closest to `value`, as a phrase to append (" (did you mean 'x'?)"), or ""."""
    close = nearest_names(value, allowed, 1)
    return f" (did you mean '{close[0]}'?)" if close else ""


def nearest_names(value: str, allowed: Sequence[str], count_max: int) -> list[str]:
    """The allowed names that resemble `value`, the most alike first."""
    # What is many times as long resembles nothing, and comparing it would take long.
    return get_close_matches(value, allowed, count_max, cutoff=0.5) if len(value) <= _COMPARED_CHARS_MAX else []


_USER_INFO = re.compile(r"(://).*@")
_PASSWORD = re.compile(
    r"""((?:password|passphrase|secret|token)\s*=\s*)(?:"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|[^\s,;'"]+)""",
    re.IGNORECASE,
)


def without_user(address: str) -> str:
    """An address without who logs in there: "amqp://user:password@host". Pure."""
    return _USER_INFO.sub(r"\1(hidden)@", address)


def without_passwords(text: str) -> str:
    """A text without the values of what it calls a password: `password="x"`. Pure."""
    return _PASSWORD.sub(r"\1(hidden)", text)


_HALVES = re.compile(r"[\ud800-\udfff]")
"""Of characters: what bytes that are no UTF-8 become in names of files, and what JSON may have."""


def printable(line: str) -> str:
    """A line without escape sequences and control characters, which can be encoded. Tabs become spaces. Pure."""
    return printable_lines(_SEQUENCES.sub("", line).replace("\n", ""))


def printable_lines(text: str) -> str:
    """A text of several lines without control characters, which can be encoded. Tabs become spaces. Pure.

    What else there is of escape sequences stays: what somebody's name begins must not hide what follows it.
    """
    lines = (_CONTROLS.sub("", line) for line in text.split("\n"))
    return _HALVES.sub("\ufffd", "\n".join(lines)).replace("\t", " ")


def printable_json(text: str) -> str:
    """A JSON text with what a terminal would obey, and what can't be encoded, written as escapes. Pure."""
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
