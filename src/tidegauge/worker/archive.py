"""The worker's classes: where they are, and an archive of them that shortens its start.

From Java 25 on a JVM can write an archive of its loaded classes and of their profiles when it ends, and another one
begins with it (JEP 483, 514, 515). With the profiles of an earlier trial the compiler had finished 7 s after the start
of the load instead of 17 (Kafka, 50,000 msg/s, 2 CPUs), and the ten seconds after the eighth cost 12 instead of 16
CPU-seconds per million messages. A JVM that records for an archive costs the same as one that does not.

All load generators of a run are to be equal: they begin with archives if there was one for every system of the run
when it began, else none does, and those that are missing are written for later runs.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import tidegauge
from tidegauge.atomic import replacing
from tidegauge.distribution.cache import cache_directory
from tidegauge.distribution.extensions import driver_directory, installed_extensions
from tidegauge.distribution.java import JavaRuntime
from tidegauge.distribution.login_libraries import login_jars
from tidegauge.errors import UserError, did_you_mean

_PACKAGE = Path(tidegauge.__file__).parent


def worker_class_path(driver: str, package: Path = _PACKAGE) -> list[Path]:
    """Jars of the worker, of one driver (ours, or what an installed package brings) and of login libraries, in order.

    Raises `UserError` if they are not built or not known.
    """
    packed = package / "_worker"
    if packed.is_dir():
        core, driver_folder, drivers = packed / "core", packed / driver, _driver_names(packed.iterdir())
    else:
        worker = package.parents[1] / "worker"
        core = worker / "app" / "target" / "dist" / "core"
        driver_folder = worker / driver / "target" / "dist"
        drivers = _driver_names(path.parents[1] for path in worker.glob("*/target/dist"))
    if not driver_folder.is_dir():
        driver_folder, drivers = driver_directory(driver) or driver_folder, sorted({*drivers, *installed_extensions()})
    jars = [*sorted(core.glob("*.jar")), *sorted(driver_folder.glob("*.jar"))]
    if not any(jar.parent == core for jar in jars):
        raise UserError(f"The load generator is not built ({core} has no jars).", "Run `make build`.")
    if not any(jar.parent == driver_folder for jar in jars):
        raise UserError(
            f"The load generator has no driver '{driver}'{did_you_mean(driver, drivers)}.",
            f"Drivers built: {', '.join(drivers) or 'none'}. "
            + ("A wheel of `make wheel` has all." if packed.is_dir() else "Run `make build` if it is in the source."),
        )
    return [*jars, *login_jars(driver)]


def _driver_names(directories: Iterable[Path]) -> list[str]:
    """Drivers by the directories that hold them."""
    return sorted(path.name for path in directories if path.name not in ("app", "core", "bench"))


JAVA_MAJOR_MIN = 17
"""Of the Java that workers need."""
JAVA_MAJOR = 25
"""Of one that can write archives."""
LOAD_S_MIN = 10.0
"""A worker that was under load for less has not compiled what matters."""
WRITING_S_MAX = 60.0
_FILE = "compiled.aot"
_BEGINS_WITH = "-XX:AOTCache="
_WRITTEN_S_MAX = 600.0
_CURRENT_MAX = 6
"""Archives that are kept, of 20 to 60 MB each: one for each system, and some of versions before."""


@dataclass(frozen=True)
class Archive:
    """One archive of the cache; `exists`: to begin with, else to be written."""

    path: Path
    exists: bool

    def flags(self, scratch: Path) -> list[str]:
        """Begin with it, or record for it. A JVM that finds it unsuitable goes without."""
        if self.exists:
            return [f"{_BEGINS_WITH}{self.path}"]
        # It warns of each class that can't be part of an archive.
        return [f"-XX:AOTCacheOutput={scratch / _FILE}", "-Xlog:aot*=error"]

    def keep(self, scratch: Path) -> bool:
        """Move what a JVM has written into the cache, and drop old ones. False if there is nothing, or no room."""
        written = scratch / _FILE
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(self.path, shared=True) as new:
                shutil.copyfile(written, new)
        except OSError:
            return False
        # Delete the oldest archives beyond those that are kept; a worker that has one open keeps what it has.
        with suppress(OSError):
            archives = sorted(self.path.parent.glob("*.aot"), key=lambda path: path.stat().st_mtime, reverse=True)
            for path in archives[_CURRENT_MAX:]:
                path.unlink(missing_ok=True)
            for path in self.path.parent.glob(".*.new"):  # What a kill left, not what another run writes right now.
                if time.time() - path.stat().st_mtime > _WRITTEN_S_MAX:
                    path.unlink(missing_ok=True)
        return True


@dataclass
class Archives:
    """The archives of one run's load generators.

    Attributes:
        drivers: of all its systems.
        uses: whether its workers begin with archives, if an earlier session of the run has decided that; None = they do
            if each of them has one.
    """

    drivers: Collection[str]
    uses: bool | None = None
    directory: Path = field(default_factory=lambda: cache_directory() / "archives" / "worker")

    def archive_for(self, java: JavaRuntime, driver: str) -> Archive | None:
        """The archive of a worker.

        None where the JVM knows none, or the run goes without and this one is there for later runs.
        """
        if java.major < JAVA_MAJOR:
            return None
        if self.uses is None:
            self.uses = all(self._path_of_archive(java, each).exists() for each in {*self.drivers, driver})
        path = self._path_of_archive(java, driver)
        if self.uses:
            with suppress(OSError):
                os.utime(path)  # What is in use is not old.
            return Archive(path, exists=True)
        return None if path.exists() else Archive(path, exists=False)

    def _path_of_archive(self, java: JavaRuntime, driver: str) -> Path:
        return self.directory / f"{code_key(java, worker_class_path(driver))}.aot"


def begins_with_archive(jvm_flags: Iterable[str]) -> bool:
    """Whether a worker with these flags began with an archive."""
    return any(flag.startswith(_BEGINS_WITH) for flag in jvm_flags)


def code_key(java: JavaRuntime, jars: Sequence[Path]) -> str:
    """Equal where a JVM would accept the archive: the same Java, the same jars, unchanged. So the same code runs."""
    parts = [str(java.executable), java.version]
    for jar in jars:
        stat = jar.stat()
        parts.append(f"{jar} {stat.st_size} {stat.st_mtime_ns}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
