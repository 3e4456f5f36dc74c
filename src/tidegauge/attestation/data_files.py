"""Looks for copies of messages in servers' data files, byte by byte, before a message is called lost.

What is searched is the header that every message of ours begins with (`MessageHeader` of the worker): it stands in the
files as it was sent, since attestations neither compress nor encrypt. A file in which a header is found proves that the
message was stored, not that the server would serve it.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_MESSAGE_MAGIC = b"TDG1"
_MESSAGE_HEADER = struct.Struct("<4sIQIIQ")
"""Magic, checksum, trial, producer, body checksum, sequence."""

Message = tuple[int, int]
"""Producer and sequence."""


@dataclass(frozen=True)
class Copy:
    """Where a message's header was found."""

    file: Path
    offset: int


def find_copies(
    directories: Sequence[Path], trial_id: int, messages: Collection[Message]
) -> Mapping[Message, tuple[Copy, ...]]:
    """Copies of these messages of a trial in all files below the directories; messages without one are left out.

    Files that vanish or can't be read meanwhile are left out. Sparse files cost what their whole length costs.
    """
    copies_found: dict[Message, list[Copy]] = {}
    sought = set(messages)
    for directory in directories:
        for file in sorted(_files_below(directory)):
            try:
                _search_file(file, trial_id, sought, copies_found)
            except (OSError, ValueError):  # ValueError: an empty file can't be mapped.
                continue
    return {message: tuple(copies) for message, copies in copies_found.items()}


def list_data_files(directories: Sequence[Path]) -> list[str]:
    """Paths of all files below the directories without what follows their names' first dot, sorted, each once.

    So a log's segment is one, whatever indexes the server keeps beside it: a new one is a log that rolled.
    """
    return sorted(
        {
            str(file.with_name(file.name.partition(".")[0] or file.name))
            for directory in directories
            for file in _files_below(directory)
        }
    )


def _files_below(directory: Path) -> Iterator[Path]:
    """All files below; `os.walk` passes over directories that vanish meanwhile, as servers' segments do."""
    for root, _, names in os.walk(directory):
        for name in names:
            path = Path(root, name)
            if path.is_file() and not path.is_symlink():
                yield path


def _search_file(file: Path, trial_id: int, sought: set[Message], copies_found: dict[Message, list[Copy]]) -> None:
    trial = struct.pack("<Q", trial_id)
    with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ) as data:
        at = data.find(trial)
        while at >= 0:
            begin = at - 8
            if begin >= 0 and begin + _MESSAGE_HEADER.size <= len(data):
                magic, _, _, producer, _, sequence = _MESSAGE_HEADER.unpack_from(data, begin)
                message = (producer, sequence)
                if magic == _MESSAGE_MAGIC and message in sought:
                    copies_found.setdefault(message, []).append(Copy(file, begin))
            at = data.find(trial, at + 1)
