"""Where fetched files are kept, and how several runs share them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tidegauge.errors import UserError


class Progress(str):
    """A sentence on how far something is: of use while it lasts, and never kept as something that a run found."""

    __slots__ = ()


Report = Callable[[str], None]
"""Hears, in one sentence, what takes long (`Progress`), or what was put right and should be known (a plain str)."""


def cache_directory(environment: Mapping[str, str] | None = None) -> Path:
    """`$TIDEGAUGE_CACHE`, else `$XDG_CACHE_HOME/tidegauge`, else `~/.cache/tidegauge`. Not created here."""
    env = os.environ if environment is None else environment
    if env.get("TIDEGAUGE_CACHE"):
        return Path(env["TIDEGAUGE_CACHE"]).expanduser().absolute()
    base = env.get("XDG_CACHE_HOME") or str(Path(env.get("HOME", "~")).expanduser() / ".cache")
    return Path(base).absolute() / "tidegauge"


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
