"""What the pages' scripts can say, read from their source as `sentence_templates` reads Python's, and where it is so.

A template is a string with a blank and a word in it: what a script adds to a page is short. Scenes are names;
`tests/integration/test_sentences_live.py` makes them in a browser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from sentence_templates import SOURCE, Claim, Template

SCRIPTS = tuple(sorted(path.name for path in (SOURCE / "report/html/assets").glob("*.js")))
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_WORD = re.compile(r"[A-Za-z]{2}")


@cache
def script_templates(name: str) -> list[Template]:
    """All templates of a script, in their order."""
    source = (SOURCE / "report/html/assets" / name).read_text()
    strings = list(literals(source))
    return [
        Template(name, source.count("\n", 0, at) + 1, text)
        for at, text in sorted(strings)
        if " " in text.strip() and _WORD.search(text)
    ]


def literals(source: str, begin: int = 0, inside: bool = False) -> Iterator[tuple[int, str]]:
    """Strings of a script with their places, with "{}" for what is put in; those within what is put in, too.

    `inside`: until the brace that ends what is put in. Raises `ValueError` for a string without an end, as a regular
    expression with a quotation mark in it would seem to begin.
    """
    at, depth = begin, 0
    while at < len(source):
        if source.startswith(("//", "/*"), at):
            at = _after(source, "\n" if source[at + 1] == "/" else "*/", at + 2)
        elif source[at] in "\"'":
            end = _end_of(source, at)
            yield at, _ESCAPED.sub(r"\1", source[at + 1 : end])
            at = end + 1
        elif source[at] == "`":
            text, end, within = _template(source, at)
            yield at, text
            yield from within
            at = end + 1
        else:
            depth += {"{": 1, "}": -1}.get(source[at], 0)
            if inside and depth < 0:
                yield at, ""
                return
            at += 1


def _after(source: str, mark: str, at: int) -> int:
    end = source.find(mark, at)
    return len(source) if end < 0 else end + len(mark)


def _end_of(source: str, at: int) -> int:
    match = re.compile(rf"(?:\\.|[^\\\n{source[at]}])*").match(source, at + 1)
    if match is None or source[match.end() : match.end() + 1] != source[at]:
        raise ValueError(f"A string does not end: {source[at : at + 40]}")
    return match.end()


def _template(source: str, at: int) -> tuple[str, int, list[tuple[int, str]]]:
    """A template literal: its text, where its end is, and the strings within what is put in."""
    text, within = "", []
    begin, at = at, at + 1
    while source[at : at + 1] != "`":
        if at >= len(source):
            raise ValueError(f"A template does not end: {source[begin : begin + 40]}")
        if source.startswith("${", at):
            *put_in, (end, _) = literals(source, at + 2, inside=True)
            within += put_in
            text, at = text + "{}", end + 1
        else:
            skipped = 2 if source[at] == "\\" else 1
            text, at = text + source[at + skipped - 1 : at + skipped], at + skipped
    return text, at, within


CHARTS = {
    "Rate, msg/s": "msgs_per_s",
    "Response p50, ms": "response_p50_ms",
    "Response p99, ms": "response_p99_ms",
    "End-to-end p99, ms": "end_to_end_p99_ms",
    "Backlog, messages": "backlog_msgs",
    "In flight, messages": "in_flight_msgs",
    "Load generator, cores": "worker_cpu_cores",
    "Servers, cores": "server_cpu_cores",
    "Servers, MiB of memory": "server_memory_mib",
    "Host CPU, %": "host_cpu_percent",
    "Disk busy, %": "disk_busy_percent",
    "Written to disk, MB/s": "disk_written_mb_per_s",
}
"""What a chart's title says it shows, by the name that the state has for it."""

CLAIMS = (
    Claim("By the plan no time is left", "no time is left", "a second is left"),
    Claim("About {} s left", "a second is left", "90 s are left"),
    Claim("About {} min left", "90 s are left", "an hour is left"),
    Claim("About {} h left", "an hour is left", "an hour and a minute are left"),
    Claim("About {} h {} min left", "an hour and a minute are left", "an hour is left"),
    Claim("0 to {}", "seconds", "nothing known"),
    Claim("shaded: measured", "measured", "warming up"),
    Claim(", dashed: offered {}", "rate offered", "closed loop"),
    Claim("{}: {} at {} msg/s", "to come at a rate", "to come in a closed loop"),
    Claim("and {} more", "more to come", "to come at a rate"),
    Claim("Drawn until it sends: {}, {}", "the trial before drawn", "no second yet"),
    Claim("tidegauge compare {}", "two runs chosen", "one run chosen"),
    Claim("The first is the baseline: ", "two runs chosen", "one run chosen"),
    Claim("{}: {} of {} {} finished", "seconds", "no plan yet"),
    Claim("The report", "ended", "seconds"),
    Claim("The run's state could not be read: {}", "refused", "unreachable"),
    Claim("The run no longer answers: it may have ended, or can't be reached.", "unreachable", "refused"),
    Claim("{} This page goes on asking.", "unreachable", "unreachable for a moment"),
    Claim("What stands below was known last.", "unreachable after a while", "unreachable"),
    Claim("close all", "all opened", "all closed again"),
    Claim("open all", "all closed again", "all opened"),
)
NO_SENTENCES = (
    "use strict",
    # What parts of a page are called.
    ".canvas .system-{}",
    ".legend button",
    "seconds since load began",
    "details:is(.fold, .points):not([open])",
    "thead tr:last-child > *",
    "tbody tr",
)
