"""Apache Maven: found on this machine or fetched, and run with a chosen Java."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import tarfile
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from xml.sax.saxutils import escape

from tidegauge.distribution.cache import Progress, Report, cache_directory, locked, make_directory, making
from tidegauge.distribution.coordinates import Coordinate
from tidegauge.distribution.fetch import (
    PASSWORD,
    fetch_artifact,
    repository_url,
    without_credentials,
    write_trust_store,
)
from tidegauge.distribution.java import JavaRuntime, find_java
from tidegauge.errors import UserError, printable

MAVEN = Coordinate("org.apache.maven", "apache-maven", "3.9.16", "tar.gz", "bin")
MAVEN_SHA512 = (
    "831a8591fe20c8243b1dbe7d71e3244f31d1665b0804b2e825e38cbbe5ce0caf"
    "b8338851f90780735568773e0a6cd07bbec107cda0b896b008b861075358b6f6"
)
MAVEN_VERSION_MIN = (3, 6)
# From this version on, repositories that a dependency's project file adds can be left alone.
IGNORES_FOREIGN_REPOSITORIES = (3, 9)
JAVA_MIN = 17
NOTE_EVERY_S = 5.0
TAIL_LINES = 400


@dataclass(frozen=True)
class MavenRun:
    """How a run of Maven ended, with the end of what it said."""

    succeeded: bool
    output: str


def find_or_fetch_maven(report: Report) -> Path:
    """The `mvn` program: one on PATH if it is new enough, else our own, fetched into the cache when it is missing.

    Raises `UserError` if there is none and it can't be fetched.
    """
    on_path = shutil.which("mvn")
    if on_path and (maven_version(Path(on_path)) or (0,)) >= MAVEN_VERSION_MIN:
        return Path(on_path)
    cache = cache_directory()
    home = cache / "tools" / f"{MAVEN.artifact}-{MAVEN.version}"
    program = home / "bin" / "mvn"
    if not program.exists():
        with locked(make_directory(cache / "tools"), "maven", report):
            if not program.exists():
                _fetch_maven(home, report)
    return program


def _fetch_maven(home: Path, report: Report) -> None:
    report(Progress(f"Fetching Apache Maven {MAVEN.version} (9 MB) into {home.parent}."))
    with making(home, f"Apache Maven {MAVEN.version}") as part:
        archive = part / "maven.tar.gz"
        fetch_artifact(MAVEN, archive, report, sha512=MAVEN_SHA512)
        unpack_archive(archive, part)
        archive.unlink()
        for path in (part / home.name).iterdir():
            path.rename(part / path.name)
        (part / home.name).rmdir()


def unpack_archive(archive: Path, target: Path) -> None:
    """Unpack a tar archive's files into a directory; programs stay executable.

    Raises `UserError` if it holds anything but files and folders below `target`. (`tarfile` can refuse such itself
    from Python 3.11.4 on only.)
    """
    root = target.resolve()
    with tarfile.open(archive) as tar:
        for member in tar:
            path = (root / member.name).resolve()
            if not path.is_relative_to(root) or not (member.isfile() or member.isdir()):
                raise UserError(f"{archive.name} holds {member.name}, which is no file below the archive's folder.")
            folder = path if member.isdir() else path.parent
            folder.mkdir(parents=True, exist_ok=True)
            content = tar.extractfile(member)
            if content is None:
                continue
            with path.open("wb") as file:
                shutil.copyfileobj(content, file)
            if member.mode & stat.S_IXUSR:
                path.chmod(path.stat().st_mode | stat.S_IXUSR)


def parse_maven_version(text: str) -> tuple[int, ...] | None:
    """(3, 8, 7) from what `mvn -v` prints; None if it is not that."""
    match = re.search(r"Apache Maven (\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part) for part in match.groups() if part) if match else None


@lru_cache(maxsize=8)
def maven_version(program: Path) -> tuple[int, ...] | None:
    """Version of a `mvn` program; None if it does not run."""
    try:
        java = find_java("Apache Maven", JAVA_MIN)
        environment = {**os.environ, "JAVA_HOME": str(java.home)}
        completed = subprocess.run(
            [program, "-v"], env=environment, capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError, UserError):
        return None
    return parse_maven_version(completed.stdout)


def run_maven(arguments: Sequence[str], directory: Path, report: Report, subject: str) -> MavenRun:
    """Run Maven without questions, with strict checksums; `report` hears now and then how far it is.

    Raises `UserError` if Maven or a Java for it is missing.
    """
    program = find_or_fetch_maven(report)
    java = find_java("Apache Maven", JAVA_MIN)
    command = [str(program), "--batch-mode", "--strict-checksums", *repository_settings(directory)]
    if (maven_version(program) or (0,)) >= IGNORES_FOREIGN_REPOSITORIES:
        command.append("--ignore-transitive-repositories")
    process = subprocess.Popen(
        [*command, *arguments],
        cwd=directory,
        env={**os.environ, "JAVA_HOME": str(java.home), "JDK_JAVA_OPTIONS": jvm_options(java)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    try:
        output = _follow_output(process, report, subject)
        return MavenRun(process.wait() == 0, output)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _follow_output(process: subprocess.Popen[str], report: Report, subject: str) -> str:
    """The end of what Maven says; reports downloads meanwhile."""
    tail: deque[str] = deque(maxlen=TAIL_LINES)
    files, noted_s = 0, time.monotonic()
    assert process.stdout is not None
    for line in process.stdout:
        if "Downloading from " in line:
            continue
        if "Downloaded from " in line:
            files += 1
            if time.monotonic() - noted_s > NOTE_EVERY_S:
                noted_s = time.monotonic()
                report(Progress(f"Fetching {subject}", f"{files} files so far."))
            continue
        tail.append(printable(without_credentials(line.rstrip("\n"))) + "\n")
    return "".join(tail)


def jvm_options(java: JavaRuntime) -> str:
    """JDK_JAVA_OPTIONS for Maven. Unlike MAVEN_OPTS this variable understands quotes.

    Java takes the home, where Maven keeps its files, from the list of users, not from HOME. Maven loads a library from
    the directory for temporary files, which may be mounted with noexec. A Java that brought its own certificate
    authorities does not know the machine's.
    """
    options = os.environ.get("JDK_JAVA_OPTIONS", "")
    given_options = options + os.environ.get("MAVEN_OPTS", "")
    tools = make_directory(cache_directory() / "tools")
    for name, value in (("user.home", Path.home()), ("jansi.tmpdir", tools)):
        if name not in given_options:
            options += f' "-D{name}={value}"'
    if java.bundled and "trustStore" not in given_options:
        store = write_trust_store(tools)
        if store:
            options += f' "-Djavax.net.ssl.trustStore={store}" -Djavax.net.ssl.trustStorePassword={PASSWORD}'
    return options.strip()


def repository_settings(directory: Path) -> list[str]:
    """A settings file for the repository in $MAVEN_REPO; the user's own settings count if that is not set."""
    if not os.environ.get("MAVEN_REPO"):
        return []
    path = directory / "settings.xml"
    # The address may hold a password: nobody else may read it, not even for the moment before its rights are set.
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(
        "<settings><mirrors><mirror><id>tidegauge</id><mirrorOf>*</mirrorOf>"
        f"<url>{escape(repository_url())}</url></mirror></mirrors></settings>\n"
    )
    return ["--settings", str(path)]
