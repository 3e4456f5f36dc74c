"""What classes in jars declare: the names of their fields, and the constants that these are. No Java is run.

The form of class files is that of the Java Virtual Machine Specification, chapter 4.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MAGIC = 0xCAFEBABE
STATIC = 0x0008
_BYTES_OF = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
"""Of an entry of the constant pool, by its tag; only text has a length of its own."""
_TEXT, _STRING, _TWO_PLACES = 1, 8, (5, 6)


@dataclass(frozen=True)
class ClassField:
    """A field. `constant`: the text that it always is; None for others."""

    name: str
    static: bool
    constant: str | None


class _ClassFileReader:
    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def number(self, form: str) -> int:
        (value,) = struct.unpack_from(f">{form}", self._content, self._at)
        self._at += struct.calcsize(form)
        return int(value)

    def take(self, count: int) -> bytes:
        self._at += count
        return self._content[self._at - count : self._at]


def fields_of(content: bytes) -> list[ClassField]:
    """The fields of one class file. Raises `ValueError` if it is none."""
    reader = _ClassFileReader(content)
    try:
        if reader.number("I") != MAGIC:
            raise ValueError("no class file")
        reader.take(4)
        texts, strings = _read_constant_pool(reader)
        reader.take(6)
        reader.take(2 * reader.number("H"))
        return [_read_field(reader, texts, strings) for _ in range(reader.number("H"))]
    except (struct.error, KeyError) as error:
        raise ValueError("a damaged class file") from error


def _read_constant_pool(reader: _ClassFileReader) -> tuple[dict[int, str], dict[int, int]]:
    """Texts by their place in the pool, and at which place the text of each string constant is."""
    texts: dict[int, str] = {}
    strings: dict[int, int] = {}
    place, end = 1, reader.number("H")
    while place < end:
        tag = reader.number("B")
        if tag == _TEXT:
            texts[place] = reader.take(reader.number("H")).decode("utf-8", "replace")
        elif tag == _STRING:
            strings[place] = reader.number("H")
        else:
            reader.take(_BYTES_OF[tag])
        place += 2 if tag in _TWO_PLACES else 1
    return texts, strings


def _read_field(reader: _ClassFileReader, texts: Mapping[int, str], strings: Mapping[int, int]) -> ClassField:
    access, name = reader.number("H"), texts[reader.number("H")]
    reader.take(2)
    constant = None
    for _ in range(reader.number("H")):
        attribute, length = texts.get(reader.number("H")), reader.number("I")
        value = reader.take(length)
        if attribute == "ConstantValue":
            constant = texts.get(strings.get(int.from_bytes(value, "big"), 0))
    return ClassField(name, bool(access & STATIC), constant)


def classes_in(jar: Path, names: str, without: Sequence[str] = ()) -> Iterator[list[ClassField]]:
    """The fields of each class of a jar whose path matches a pattern such as "org/apache/*Config.class".

    Not of those that one of `without` matches. What can't be read has none.
    """
    try:
        with zipfile.ZipFile(jar) as archive:
            for entry in archive.infolist():
                path = Path(entry.filename)
                if path.match(names) and not any(map(path.match, without)):
                    yield fields_of(archive.read(entry))
    except (OSError, ValueError, zipfile.BadZipFile):
        return
