"""Says before anything is fetched why setting up here can't work. `bootstrap.sh` runs it with the system's own Python.

Nothing is installed yet at this point, so it uses the standard library only, and of Tidegauge what does the same.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from jdk import machine_jdk  # noqa: E402

from tidegauge.distribution.cache import cache_directory  # noqa: E402
from tidegauge.hosts.memory import memory_available  # noqa: E402
from tidegauge.hosts.storage import nearest_existing  # noqa: E402
from tidegauge.model.host import MemoryAvailable  # noqa: E402

BUILD_MB = 1_200
"""Python packages 600, uv 60, Debian's JDK 260 where there is none, the worker 100, MiB; the rest is room."""
FETCHED_MB = 1_500
"""Maven's repository, the three systems, uv's cache (its files are those of .venv on the same file system), MiB."""
QUICK_MEMORY_MB = 2_500
"""What the smallest system of campaigns/quick.yaml needs with the load generator, MiB."""


def main() -> int:
    """Print what stands in the way, one message each; 2 if anything does. `--for-quick`: memory to measure, too."""
    found = [*path_obstacles(ROOT), *directory_obstacles(ROOT, BUILD_MB, "Move the checkout to another disk")]
    elsewhere = "Name another place in the environment variable"
    found += directory_obstacles(cache_directory(), FETCHED_MB, f"{elsewhere} TIDEGAUGE_CACHE")
    found += directory_obstacles(Path.home() / ".m2", 0, f"{elsewhere} HOME (Maven keeps its files in ~/.m2)")
    found += [*temporary_obstacles(), *jdk_obstacles()]
    if "--for-quick" in sys.argv:
        found += [*memory_obstacles(memory_available()), *space_obstacles("TIDEGAUGE_CACHE", cache_directory())]
        found += space_obstacles("TIDEGAUGE_RUNS", Path(os.environ.get("TIDEGAUGE_RUNS") or ROOT / "runs"))
    for obstacle in dict.fromkeys(found):
        print(obstacle, file=sys.stderr)
    return 2 if found else 0


def path_obstacles(root: Path) -> list[str]:
    """A checkout whose path separates paths where it appears in a list of them."""
    bad = [name for name, character in (("a colon", ":"), ("a line break", "\n")) if character in str(root)]
    return [f"The path of this checkout, {root}, contains {bad[0]}. Move it to another directory."] if bad else []


def space_obstacles(variable: str, directory: Path) -> list[str]:
    """A place of the servers' programs or data with a space in its path: Kafka can use it, the other two can't."""
    if len(str(directory).split()) == 1:
        return []
    return [
        f"Pulsar and RabbitMQ can't run with files in {directory}: there is a space in it. Name another place in the "
        f"environment variable {variable}, or run Kafka alone: make build, .venv/bin/tidegauge quick --systems kafka"
    ]


def directory_obstacles(directory: Path, space_mb: int, remedy: str) -> list[str]:
    """Why files can't be written to a directory (it may not exist yet), or not be run there. Nothing is created."""
    place = nearest_existing(directory)
    if not place.is_dir():
        return [f"{directory} can't be created: {place} is no directory. {remedy}."]
    if os.statvfs(place).f_flag & os.ST_NOEXEC:
        return [f"Programs can't be run from {directory}: its file system is mounted with noexec. {remedy}."]
    if not os.access(place, os.W_OK | os.X_OK):
        return [f"{directory} can't be written: {place} is read-only, or belongs to somebody else. {remedy}."]
    free_mb = shutil.disk_usage(place).free >> 20
    if free_mb < space_mb:
        return [f"{directory} has {free_mb:,} MiB of space left; up to {space_mb:,} are needed there. {remedy}."]
    return []


def temporary_obstacles() -> list[str]:
    """No directory for temporary files at all."""
    try:
        tempfile.gettempdir()
    except FileNotFoundError:
        return ["No directory for temporary files can be written. Name one in the environment variable TMPDIR."]
    return []


def jdk_obstacles() -> list[str]:
    """No JDK, and no way to get one without root."""
    missing = [name for name in ("apt-get", "dpkg") if shutil.which(name) is None]
    if machine_jdk(ROOT / ".tools") is not None or not missing:
        return []
    return [
        "Building the worker needs a JDK 17 or newer (with javac). None is in JAVA_HOME, on PATH or in /usr/lib/jvm, "
        f"and without {' and '.join(missing)} it can't be fetched from Debian. Install one, or name its home in "
        "JAVA_HOME."
    ]


def memory_obstacles(available: MemoryAvailable | None) -> list[str]:
    """Too little memory to measure even one system."""
    if available is None or available.available_mb >= QUICK_MEMORY_MB:
        return []
    return [
        f"`make quick` needs {QUICK_MEMORY_MB:,} MiB of memory for one system; {available.available_mb:,} MiB are "
        f"available {available.bound}. End other programs, or use a larger machine."
    ]


if __name__ == "__main__":
    sys.exit(main())
