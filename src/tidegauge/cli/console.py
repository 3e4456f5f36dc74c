"""The terminal, as rich writes to it. Loaded with the first line that is written, since loading rich takes a while."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from rich.console import Console

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


def give_up(stream: Any) -> None:
    """Let nothing that is still buffered for a closed pipe raise once more when Python ends."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
