"""What a worker's log says about why it ended."""

from __future__ import annotations

import re
from pathlib import Path

from tidegauge.printable import printable

_TAIL_BYTES = 16_384
_CAUSE = re.compile(r"(Caused by:|Exception\b|Error\b|OutOfMemory|\bERROR\b|\bFATAL\b)")
_STACK_LINE = re.compile(r"^\s*(at |\.\.\. \d+ more)")
_EMPTY_WORDS = ("Could not create the Java Virtual Machine", "A fatal exception has occurred")
"""What the JVM adds after the line that says what is wrong."""
_LINE_CHARS_MAX = 300
_OUT_OF_MEMORY = re.compile(r"OutOfMemoryError:?\s*(.*)")


def cause_from_log(path: Path) -> str:
    """The line that most likely says why: the last that names an error, else the last of all; "" if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    lines = [line.strip() for line in map(printable, text.splitlines()) if line.strip() and not _is_noise(line)]
    telling = [line for line in lines if _CAUSE.search(line)] or lines
    return telling[-1][:_LINE_CHARS_MAX] if telling else ""


def memory_exhausted(cause: str) -> str:
    """Which memory ran out, in the JVM's words ("Java heap space"), if that is the cause from a log; else ""."""
    found = _OUT_OF_MEMORY.search(cause)
    return (found[1] or "no more is known") if found else ""


def _is_noise(line: str) -> bool:
    return bool(_STACK_LINE.match(line)) or any(words in line for words in _EMPTY_WORDS)
