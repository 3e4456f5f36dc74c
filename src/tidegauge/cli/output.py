"""What the command prints, and the exit codes that it ends with."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegauge.errors import (
    TidegaugeError,
    printable,
    printable_json,
    printable_lines,
    without_passwords,
    without_user,
)

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


EXIT_GOOD, EXIT_FAILED, EXIT_INVALID, EXIT_THRESHOLD, EXIT_REFUTED, EXIT_INTERRUPTED = 0, 1, 3, 4, 5, 130


NAME = "tidegauge"
WIDTH_WITHOUT_TERMINAL = 100


def command_line(*left_out: str) -> str:
    """The command as it was given, in one line that may be kept: without passwords, and users of addresses."""
    words = [without_passwords(without_user(word)) for word in sys.argv[1:] if word not in left_out]
    return printable(" ".join(shlex.join([NAME, *words]).splitlines()))


class Output:
    """One command's output. `as_json`: standard output gets one JSON object, progress goes to standard error."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json

    # Consoles are made when the first line is written: `--help` does without them, and loading rich takes a while.
    @cached_property
    def results(self) -> Console:
        """Standard output."""
        return console_on(sys.stdout)

    @cached_property
    def errors(self) -> Console:
        """Standard error."""
        return console_on(sys.stderr)

    @cached_property
    def program(self) -> str:
        """How the user can call Tidegauge from here: by its name where that is on PATH, else by its path."""
        called = Path(sys.argv[0])
        if called.name != NAME or shutil.which(NAME) is not None or not called.is_file():
            return NAME
        relative = os.path.relpath(called)
        return min(relative, str(called), key=len)

    @property
    def progress(self) -> Console:
        """Where progress is shown."""
        return self.errors if self.as_json else self.results

    def show(self, renderable: RenderableType, content: Mapping[str, Any]) -> None:
        """Print the result: `content` as JSON if that was asked for, else the renderable. A closed pipe is no error."""
        try:
            if self.as_json:
                # Where the terminal has other characters, JSON's own escapes stand for them.
                readable = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
                text = json.dumps(content, indent=2, ensure_ascii=not readable, allow_nan=False)
                sys.stdout.write(printable_json(text) + "\n")
            else:
                self.results.print(renderable, crop=False)
            sys.stdout.flush()
        except OSError:
            give_up(sys.stdout)

    def say(self, text: str) -> None:
        """Print a line of progress. Never raises: who measures must not fail because nobody reads."""
        _print_line(self.progress, text)

    def alert(self, text: str) -> None:
        """Print a line that is no result: on standard error, or above a live view. Never raises."""
        console = self.progress if self.progress.is_terminal else self.errors
        _print_line(console, text)

    def error(self, error: TidegaugeError, with_json: bool = True) -> None:
        """Print one message on standard error: what happened, what to do, where the log is."""
        lines = [f"Error: {error.message}"]
        if error.hint:
            lines.append(f"  {error.hint}")
        if error.log_path is not None:
            lines.append(f"  Log: {error.log_path}")
        with contextlib.suppress(OSError, ValueError):
            if self.errors.is_terminal:
                from tidegauge.report.layout import Paragraph

                # On a terminal lines end at blanks and hang below their beginnings.
                for line in "\n".join(lines).split("\n"):
                    text = line.lstrip()
                    indent = line[: len(line) - len(text)]
                    self.errors.print(Paragraph(text, "", indent, f"{indent}  "), crop=False)
            else:
                # In a log a message is one line, which can be searched for.
                self.errors.print("\n".join(lines), soft_wrap=True)
        if self.as_json and with_json:
            self.show("", error_content(error))

    def close(self) -> None:
        """Write what is buffered. On a closed terminal Python would end with a code of its own (120) instead."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                give_up(stream)


def accept_all_characters() -> None:
    """Let the output's streams show what they can't encode in escapes: half a character of a file's name, an arrow."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def console_on(stream: Any) -> Console:
    """A console on a stream: as wide as its terminal, plain text, nothing coloured by itself.

    Its reader may go away (`| head`, a closed terminal) without that being an error. What a terminal would obey is left
    out of every text: names, notes and reasons may be anybody's.
    """
    from rich.console import Console
    from rich.segment import Segment

    class Quiet(Console):
        def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else printable_lines(text), style, control)

        def on_broken_pipe(self) -> None:
            self.quiet = True
            give_up(self.file)

    width = None if stream.isatty() else WIDTH_WITHOUT_TERMINAL
    return Quiet(file=stream, width=width, markup=False, highlight=False, emoji=False)


def give_up(stream: Any) -> None:
    """Let nothing that is still buffered for a reader who went away raise once more when Python ends."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _print_line(console: Console, text: str) -> None:
    from tidegauge.report.layout import Paragraph

    with contextlib.suppress(OSError, ValueError, RuntimeError):
        console.print(Paragraph(text, "", "", "  "), crop=False)


def error_content(error: TidegaugeError) -> dict[str, Any]:
    """An error as plain data."""
    from tidegauge.report.envelopes import ErrorObject

    content = ErrorObject(
        schema="tidegauge.error/1",
        message=error.message,
        hint=error.hint,
        log_path=None if error.log_path is None else str(error.log_path),
        exit_code=error.exit_code,
    )
    return {**content, **error.details}
