"""Where fetched files are kept, and how several runs share them."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from tidegauge.errors import UserError
from tidegauge.hosts.storage import user_directory


class Progress(str):
    """A sentence on how far something is: of use while it lasts, and never kept as something that a run found.

    Attributes:
        what: that it is done at all, before how far it is.
    """

    what: str

    def __new__(cls, what: str, far: str = "") -> Self:
        """Of both parts, or of the first alone."""
        sentence = super().__new__(cls, f"{what}: {far}" if far else what)
        sentence.what = what
        return sentence


Report = Callable[[str], None]
"""Hears, in one sentence, what takes long (`Progress`), or what was put right and should be known (a plain str)."""


def cache_directory(environment: Mapping[str, str] | None = None) -> Path:
    """`$TIDEGAUGE_CACHE`, else `$XDG_CACHE_HOME/tidegauge`, else `~/.cache/tidegauge`. Not created here."""
    return user_directory("CACHE", ".cache", environment)


def make_directory(path: Path) -> Path:
    """Create a directory of the cache. Raises `UserError` if it can't be written."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"The cache directory {path} can't be created: {error.strerror}.",
            "Free space or permissions there, or name another place in the environment variable TIDEGAUGE_CACHE.",
        ) from error
    return path


@contextmanager
def locked(directory: Path, name: str, report: Report) -> Iterator[None]:
    """Hold the lock of one cache entry. Waits for other runs; the kernel frees it if its holder dies.

    A cache that can't be written (mounted read-only, say) needs no lock: nobody changes it.
    """
    path = make_directory(directory) / f".{name}.lock"
    try:
        file = path.open("a")
    except OSError:
        yield
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report(Progress(f"Another run is fetching {name}; waiting for it."))
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def making(entry: Path, name: str) -> Iterator[Path]:
    """A new directory beside a cache entry, which becomes the entry when the block ends well.

    The old entry goes only when the new one is whole. The caller holds the entry's lock.

    Raises:
        UserError: it can't be written; likewise for an `OSError` of the block. Other errors of the block as they are.
    """
    part = entry.parent / f".{entry.name}.part"
    shutil.rmtree(part, ignore_errors=True)
    try:
        part.mkdir(parents=True)
        yield part
        if entry.exists():
            shutil.rmtree(entry)
        part.rename(entry)
    except OSError as error:
        raise UserError(
            f"{name} could not be written to {entry.parent}: {error.strerror or error}.",
            "Free space there, or name another place in the environment variable TIDEGAUGE_CACHE.",
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


MANIFEST_NAME = "manifest.json"
MANIFEST_SCHEMA = 1


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sums_of(directory: Path) -> dict[str, str]:
    """SHA-256 of every file below a directory by relative name, but the manifest itself."""
    files = sorted(path for path in directory.rglob("*") if path.is_file() and path.name != MANIFEST_NAME)
    return {
        path.relative_to(directory).as_posix(): sha256_of(path) for path in files if not _leads_out(path, directory)
    }


def _leads_out(path: Path, directory: Path) -> bool:
    """Whether it is a link to a file of the host's own, such as its C library: another host has another one."""
    return path.is_symlink() and not path.resolve().is_relative_to(directory.resolve())


def digest_of(sums: Mapping[str, str]) -> str:
    """SHA-256 over the sorted (name, sum) list: one value that says whether two runs used the same files."""
    text = "".join(f"{value}  {name}\n" for name, value in sorted(sums.items()))
    return hashlib.sha256(text.encode()).hexdigest()


def write_manifest(directory: Path, recipe: str, source: str) -> None:
    """Record every file of a directory. `recipe` identifies how it was made, `source` is for people."""
    sums = sums_of(directory)
    text = json.dumps({"schema": MANIFEST_SCHEMA, "recipe": recipe, "source": source, "files": sums}, indent=1)
    (directory / MANIFEST_NAME).write_text(text + "\n")


def read_manifest(directory: Path) -> dict[str, Any] | None:
    """The manifest, or None if there is none that can be read."""
    try:
        manifest = json.loads((directory / MANIFEST_NAME).read_text())
    except (OSError, ValueError):
        return None
    usable = isinstance(manifest, dict) and manifest.get("schema") == MANIFEST_SCHEMA
    return manifest if usable and isinstance(manifest.get("files"), dict) else None


def damage_of_directory(recorded: Mapping[str, str], actual: Mapping[str, str]) -> list[str]:
    """What is wrong with a directory, one phrase a file; empty if it is exactly as recorded."""
    problems = [f"{name} is missing" for name in recorded if name not in actual]
    problems += [f"{name} was added" for name in actual if name not in recorded]
    problems += [f"{name} is damaged" for name in recorded if name in actual and actual[name] != recorded[name]]
    return sorted(problems)


def damage_of_entry(entry: Path, recipe: str, otherwise: str) -> list[str]:
    """What is wrong with a cache entry, one phrase each; empty if it is whole.

    Args:
        recipe: how it must have been made.
        otherwise: what to say of one that was made in another way.
    """
    recorded = read_manifest(entry)
    if recorded is None:
        return ["there is no readable manifest"]
    if recorded.get("recipe") != recipe:
        return [otherwise]
    return damage_of_directory(_without_links_out(recorded["files"], entry), sums_of(entry))


def _without_links_out(files: Mapping[str, str], entry: Path) -> dict[str, str]:
    """The recorded files without links to a host's own files, which earlier versions recorded."""
    return {name: recorded for name, recorded in files.items() if not _leads_out(entry / name, entry)}


def digest_and_source(entry: Path) -> tuple[str, str]:
    """The digest of the files of an entry that is whole, and their source."""
    recorded = read_manifest(entry) or {}
    return digest_of(_without_links_out(recorded["files"], entry)), str(recorded["source"])


def ensure_entry(
    entry: Path, name: str, recipe: str, otherwise: str, make: Callable[[], None], *, report: Report
) -> tuple[str, str]:
    """See that an entry is there and whole (`damage_of_entry`), else `make` it. Returns its digest and source.

    Raises `UserError` as `make` does, with what is wrong with the entry that was there.
    """
    with locked(entry.parent, entry.name, report):
        problems = damage_of_entry(entry, recipe, otherwise)
        if problems and not entry.exists():
            make()
        elif problems:
            more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
            damage = f"The cached files of {name} are not usable ({problems[0]}{more})"
            report(f"{damage}: fetching them again.")
            try:
                make()
            except UserError as error:
                raise UserError(f"{damage}. {error.message}", error.hint) from error
        return digest_and_source(entry)
