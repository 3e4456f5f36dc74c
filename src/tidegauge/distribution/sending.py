"""Sends entries of this host's cache to other hosts: what one of them has already is not sent again.

An entry is a directory, or a single file that is kept in one, known by the digest of its files.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tidegauge.distribution import cache
from tidegauge.errors import UserError
from tidegauge.model.server import Distribution

_PIECE_BYTES = 8 << 20
"""So much of it is in memory, or in a launcher's store, at a time."""
_ENTRIES, _FILES, _CONTENT = "distributions", "files", "content"


@dataclass(frozen=True)
class Parcel:
    """An entry, or a file, that is sent.

    Attributes:
        path: of the directory or file, here.
        place: of the entry, in the cache of any host.
        digest: of the entry's files, as `cache.digest_of` has it.
        name: for people.
    """

    path: Path
    place: str
    digest: str
    name: str


def entry_parcel(distribution: Distribution) -> Parcel | None:
    """The entry that a system's files are in; None if they are not in this host's cache."""
    folder = cache.cache_directory() / _ENTRIES
    if not distribution.directory.is_relative_to(folder):
        return None
    entry = distribution.directory.relative_to(folder).parts[0]
    name = f"{distribution.system} {distribution.version}"
    return Parcel(folder / entry, f"{_ENTRIES}/{entry}", distribution.digest, name)


def tool_parcel(directory: Path) -> Parcel:
    """A directory of this host's cache that servers use beside a system's files."""
    place = str(directory.relative_to(cache.cache_directory()))
    return Parcel(directory, place, cache.digest_of(cache.sums_of(directory)), directory.name)


def file_parcel(file: Path) -> Parcel:
    """A single file, or a directory, kept by what is in it. Raises `OSError`."""
    if file.is_dir():
        digest = cache.digest_of(cache.sums_of(file))
        return Parcel(file, f"{_FILES}/{digest}", digest, file.name)
    digest = cache.sha256_of(file)
    return Parcel(file, f"{_FILES}/{digest}", cache.digest_of({_CONTENT: digest}), file.name)


def path_on_hosts(parcel: Parcel) -> Path:
    """Where hosts have the file, or the directory, of a `file_parcel`."""
    place = cache.cache_directory() / parcel.place
    return place if parcel.path.is_dir() else place / _CONTENT


class Inbox:
    """On a host: takes entries into its cache, one at a time."""

    def __init__(self) -> None:
        # Without a name: gone when the object is, however that ends.
        self._arrived = tempfile.TemporaryFile(dir=cache.make_directory(cache.cache_directory()))  # noqa: SIM115

    def cache(self) -> str:
        """Where the host has its cache."""
        return str(cache.cache_directory())

    def holds(self, place: str, digest: str) -> bool:
        """Whether it has this entry, with these files."""
        entry = cache.cache_directory() / place
        return entry.is_dir() and cache.digest_of(cache.sums_of(entry)) == digest

    def take(self, piece: bytes) -> None:
        """The next piece of what is sent. Raises `OSError`."""
        self._arrived.write(piece)

    def keep(self, place: str, digest: str) -> None:
        """All has come: make the entry. Raises `UserError` if it is not what was sent, or can't be written."""
        entry = cache.cache_directory() / place
        self._arrived.seek(0)
        with cache.locked(entry.parent, entry.name, lambda _text: None), cache.making(entry, place) as part:
            with contextlib.suppress(tarfile.TarError), tarfile.open(fileobj=self._arrived) as archive:
                for member in archive:
                    _unpack_member(archive, member, _path_inside(part, member.name))
            if cache.digest_of(cache.sums_of(part)) != digest:
                raise UserError(f"{place} arrived damaged.", "Run the same command again.")
        self._arrived.seek(0)
        self._arrived.truncate()


def _path_inside(directory: Path, name: str) -> Path:
    """Where a member belongs. Raises `UserError` if that is outside of the directory, also by links that came before.

    What came is compared with its digest only when all of it has been unpacked.
    """
    path = directory / name
    inside = path == directory or path.parent.resolve().is_relative_to(directory.resolve())
    if not inside or ".." in Path(name).parts:
        raise UserError(
            f"What arrived holds '{name}', which is outside of its directory.", "Run the same command again."
        )
    return path


def _unpack_member(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    """Unpack a member as it was: Debian's packages have absolute links, which `tarfile` refuses from Python 3.14 on."""
    if member.isdir():
        path.mkdir(exist_ok=True)
    elif member.issym():
        path.symlink_to(member.linkname)
    elif content := archive.extractfile(member):
        # Not through a link that came under this name before.
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            shutil.copyfileobj(content, file)
        path.chmod(member.mode)


class _Pieces(io.RawIOBase):
    """A stream that hands on what is written to it, piece by piece."""

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self._take = take
        self._waiting = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self._waiting += data
        while len(self._waiting) >= _PIECE_BYTES:
            self._hand_on(_PIECE_BYTES)
        return len(data)

    def end(self) -> None:
        self._hand_on(len(self._waiting))

    def _hand_on(self, size: int) -> None:
        self._take(bytes(self._waiting[:size]))
        del self._waiting[:size]


def send_parcel(parcel: Parcel, take: Callable[[bytes], None]) -> None:
    """Hand on a parcel piece by piece. Raises `OSError`, and what `take` raises."""
    pieces = _Pieces(take)
    with tarfile.open(fileobj=pieces, mode="w|") as archive:
        archive.add(parcel.path, arcname="." if parcel.path.is_dir() else _CONTENT, filter=_without_owner)
    pieces.end()


def _without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member
