"""Text of other programs made fit to be shown: a terminal obeys what it is sent, and logs hold what anybody sent."""

from __future__ import annotations

import re

_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor (CSI)
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)"  # titles, links, the clipboard (OSC and its like)
    r"|\x1b[ -/]*[0-~]?"
)
# Control characters, and those that reverse the direction of what follows.
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(line: str) -> str:
    """A line without escape sequences and control characters. Tabs become spaces. Pure."""
    return _CONTROLS.sub("", _SEQUENCES.sub("", line)).replace("\t", " ")
