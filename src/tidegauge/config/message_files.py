"""Files of users with bodies or keys of messages: what they hold, and what is wrong with them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import fmean

from tidegauge.config.source import KeyPath, Source
from tidegauge.model.message_sizes import HEADER_BYTES, POOL_BYTES_MAX, MessageSizes, SizeKind
from tidegauge.model.workload import KeyFile
from tidegauge.numbers import size
from tidegauge.places import is_directory, is_file

LINES_SUFFIXES = (".jsonl", ".ndjson")
"""Of a payload file each of whose lines is a message."""
FILES_MAX = 65_536
"""In a directory each of whose files is a message."""
KEY_LINES_MAX = 1_000_000
KEY_BYTES_MAX = 1_024


def find_file(name: str, source: Source, key: KeyPath, *, or_directory: bool = False) -> str | None:
    """The absolute path of a file that the value at a key names; "" for none; None after a complaint."""
    if not name:
        return ""
    path = source.place_of(key, name)
    if path is None:
        return None
    if (or_directory and is_directory(path)) or (is_file(path) and path.stat().st_size > 0):
        return str(path)
    problem = "it is empty" if is_file(path) else "it is no file" if path.exists() else "there is no such file"
    source.complain(key, f"'{name}': {problem} (looked for {path})")
    return None


def kind_of_given(path: str) -> SizeKind | None:
    """How a payload file holds messages as they are; None of one from which bodies are cut, and of no file."""
    if path and is_directory(Path(path)):
        return SizeKind.FILES
    return SizeKind.LINES if path.endswith(LINES_SUFFIXES) else None


def sizes_of_given(kind: SizeKind, path: Path, source: Source, key: KeyPath) -> MessageSizes | None:
    """The sizes of messages whose bodies are given; None after noting in `source` why there are none."""
    try:
        bodies_bytes = _bytes_of_files(path) if kind is SizeKind.FILES else [len(line) for line in _lines_of(path)]
    except (OSError, ValueError) as error:
        _complain_of_file(source, key, path, error)
        return None
    if not bodies_bytes:
        why = "all lines are empty" if kind is SizeKind.LINES else "it has no file with anything in it"
        source.complain(key, f"'{path}': {why}")
        return None
    return MessageSizes(
        kind,
        given=len(bodies_bytes),
        given_bytes_mean=HEADER_BYTES + fmean(bodies_bytes),
        given_bytes_most=HEADER_BYTES + max(bodies_bytes),
    )


def parse_key_file(name: str, source: Source, key: KeyPath) -> KeyFile | None:
    """The keys on the lines of a file; None after noting in `source` why there are none."""
    path = find_file(name, source, key)
    if not path:
        return None
    try:
        lines = _lines_of(Path(path))
    except (OSError, ValueError) as error:
        _complain_of_file(source, key, path, error)
        return None
    problem = _problem_of_keys(lines)
    if problem:
        source.complain(key, f"'{path}': {problem}")
        return None
    times = Counter(lines)
    return KeyFile(path, len(lines), len(times), max(times.values()) / len(lines))


def _complain_of_file(source: Source, key: KeyPath, path: Path | str, error: OSError | ValueError) -> None:
    source.complain(key, f"'{path}' {error}" if isinstance(error, ValueError) else str(error))


def _problem_of_keys(lines: list[bytes]) -> str:
    """Why these can't be keys, in words; "" if they can."""
    if not lines:
        return "all lines are empty"
    if len(lines) > KEY_LINES_MAX:
        return f"{len(lines):,} lines; at most {KEY_LINES_MAX:,} are kept"
    for line in dict.fromkeys(lines):
        if len(line) > KEY_BYTES_MAX:
            return f"a key has {len(line):,} bytes; at most {KEY_BYTES_MAX:,} are taken"
        try:
            line.decode()
        except UnicodeDecodeError:
            return f"the key {line[:40]!r} is no UTF-8 text, as systems take keys"
    return ""


def _lines_of(path: Path) -> list[bytes]:
    """A file's lines but for empty ones. Raises `OSError`, and `ValueError` for too large a file."""
    if path.stat().st_size > POOL_BYTES_MAX:
        raise ValueError(f"has {size(path.stat().st_size)}; {size(POOL_BYTES_MAX)} are kept: take fewer lines")
    return [line for line in (line.removesuffix(b"\r") for line in path.read_bytes().split(b"\n")) if line]


def _bytes_of_files(directory: Path) -> list[int]:
    """The sizes of a directory's files but for hidden and empty ones.

    Raises `OSError`, and `ValueError` for what is no file, and for too many of them.
    """
    files_bytes: list[int] = []
    for path in directory.iterdir():
        if path.name.startswith("."):
            continue
        if path.is_symlink() or not is_file(path):
            raise ValueError(f"holds '{path.name}', which is no file: keep messages, a file each, in a directory alone")
        files_bytes.append(path.stat().st_size)
    if len(files_bytes) > FILES_MAX or sum(files_bytes) > POOL_BYTES_MAX:
        held = f"{len(files_bytes):,} files of together {size(sum(files_bytes))}"
        raise ValueError(f"has {held}; {FILES_MAX:,} and {size(POOL_BYTES_MAX)} are kept: take fewer")
    return [file_bytes for file_bytes in files_bytes if file_bytes]
