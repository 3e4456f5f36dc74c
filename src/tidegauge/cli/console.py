"""The terminal, as rich writes to it. Loaded with the first line that is written, since loading rich takes a while."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from tidegauge.cli.output import give_up

WIDTH_WITHOUT_TERMINAL = 100


class _Console(Console):
    """A console whose reader may go away (`| head`, a closed terminal) without that being an error."""

    def on_broken_pipe(self) -> None:
        """Say nothing more."""
        self.quiet = True
        give_up(self.file)


def console(stream: Any) -> Console:
    """A console on a stream: as wide as its terminal, plain text, nothing coloured by itself."""
    width = None if stream.isatty() else WIDTH_WITHOUT_TERMINAL
    return _Console(file=stream, width=width, markup=False, highlight=False, emoji=False)
