"""The cause of a failure, found in a server's log. Pure; tested on logs of real failures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tidegauge.errors import printable

LINE_LENGTH_MAX = 300


@dataclass(frozen=True)
class Cause:
    """What happened in words, the line of the log that says so, and what to do."""

    summary: str
    line: str
    hint: str

    def __str__(self) -> str:
        return f"{self.summary} {self.line}".strip()


@dataclass(frozen=True)
class Pattern:
    """A known cause. Earlier ones win: the root comes before its consequences."""

    expression: re.Pattern[str]
    summary: str
    hint: str


def cause_pattern(expression: str, summary: str, hint: str) -> Pattern:
    """A known cause, with its regular expression given as text."""
    return Pattern(re.compile(expression), summary, hint)


KNOWN = (
    cause_pattern(
        r"No space left on device|NoWritableLedgerDirException|DiskOutOfSpaceException",
        "the disk is full.",
        "Free space, or put the data on another disk.",
    ),
    cause_pattern(
        r"OutOfMemoryError|OutOfDirectMemoryError|insufficient memory for the Java Runtime|Cannot allocate memory|"
        r"Could not reserve enough space",
        "it ran out of memory.",
        "Give it more heap or direct memory, or free memory on this machine.",
    ),
    cause_pattern(
        r"UnsupportedClassVersionError|has been compiled by a more recent version",
        "this Java is too old for it.",
        "Install a newer Java, or name its home in TIDEGAUGE_JAVA_HOME.",
    ),
    cause_pattern(
        r"Unrecognized (?:VM )?option|Could not create the Java Virtual Machine|Invalid maximum heap size|"
        r"Initial heap size set to a larger value|Too small (?:initial|maximum) heap",
        "Java refused its options.",
        "Correct the memory sizes or options given for this system.",
    ),
    cause_pattern(
        r"Address already in use|BindException|Failed to bind",
        "a port that it needs is taken.",
        "End the other process (`ss -ltnp` shows it), or run again: ports are chosen anew.",
    ),
    cause_pattern(
        r"Invalid value .* for configuration|failed to initialize \w+ field while setting value",
        "a setting is not valid.",
        "Correct the setting given for this system in the campaign.",
    ),
    cause_pattern(
        r"ConfigException|IllegalArgumentException: requirement failed|"
        r"NumberFormatException|ConversionException|Cannot convert|cannot be parsed|invalid config",
        "a setting is not valid.",
        "Correct the setting given for this system in the campaign.",
    ),
    cause_pattern(
        r"NoClassDefFoundError|ClassNotFoundException|Could not find or load main class|NoSuchMethodError",
        "a class is missing from its files.",
        "Give the whole distribution, or remove this version from the cache so that it is fetched again.",
    ),
    cause_pattern(
        r"Permission denied|AccessDeniedException", "it may not use a file.", "Check the owner of the data directory."
    ),
    cause_pattern(r"Too many open files", "it ran out of file descriptors.", "Raise the limit: `ulimit -n 65536`."),
)
LAST_RESORT = re.compile(r"\b(?:FATAL|ERROR|Exception|Error)\b|Exception:|Error:")
STACK_FRAME = re.compile(r"^\s+at |^\s*\.\.\. \d+ more")
ADDRESS = re.compile(r"\d:\d{2,5}\b.*(?:in use|bind)|bind.*\d:\d{2,5}\b", re.IGNORECASE)
STAMP = re.compile(r"^\[?\d{4}-\d\d-\d\d[T ][\d:.,]+\]?\s*|^\[[\w\-]+\]\s+(?=(?:ERROR|FATAL|WARN|INFO)\b)")


def find_cause(log: str, patterns_of_system: Sequence[Pattern] = ()) -> Cause | None:
    """The likeliest cause of a failure, None if no line looks like one.

    `patterns_of_system`: of one system; they win.
    """
    printable_lines = [printable(line) for line in log.splitlines()]
    lines = [line for line in printable_lines if line.strip() and not STACK_FRAME.match(line)]
    suspicious = [line for line in lines if not _is_harmless_line(line)]
    for known_cause in (*patterns_of_system, *KNOWN):
        matching = [line for line in suspicious if known_cause.expression.search(line)]
        if matching:
            return Cause(known_cause.summary, _shorten_log_line(_root_cause_line(matching)), known_cause.hint)
    errors = [line for line in suspicious if LAST_RESORT.search(line)]
    return Cause("", _shorten_log_line(_root_cause_line(errors)), "Look at the log.") if errors else None


def _root_cause_line(lines: list[str]) -> str:
    """A line that names an address, else the first "Caused by", else the first line: later ones are consequences."""
    named = [line for line in lines if ADDRESS.search(line)]
    causes = [line for line in lines if line.lstrip().startswith("Caused by:")]
    return (named or causes or lines)[0]


def _is_harmless_line(line: str) -> bool:
    """Whether a line mentions errors without being one: a setting printed at start-up, or plain information."""
    printed_setting = re.match(r"^\s*\"?[\w.\-]+\"? [=:] ", line)
    plain = re.search(r"\b(?:INFO|DEBUG)\b", line[:120]) or "this is okay if" in line
    return bool(printed_setting or plain)


def _shorten_log_line(line: str) -> str:
    text = STAMP.sub("", STAMP.sub("", line.strip())).strip()
    text = re.sub(r'^(?:Caused by: |Exception in thread "[^"]*" )', "", text)
    return text if len(text) <= LINE_LENGTH_MAX else f"{text[: LINE_LENGTH_MAX - 3]}..."
