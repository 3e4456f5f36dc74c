"""RabbitMQ's files: the installed package, a directory, or Debian's packages unpacked into the cache.

An entry of the cache appears only complete (it is renamed into place), is made by one run at a time (file lock), and is
made again if it is not exactly as its manifest says.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from tidegauge.distribution import manifest
from tidegauge.distribution.cache import Progress, Report, cache_directory, locked, make_directory
from tidegauge.distribution.versions import nearest_versions
from tidegauge.errors import UserError
from tidegauge.model.server import Distribution
from tidegauge.systems.rabbitmq import relocate
from tidegauge.systems.rabbitmq.apt import Apt, AptError, NoConnectionError, unpack
from tidegauge.systems.rabbitmq.layout import find_layout, find_server, version_of

DEFAULT_VERSION = "4.3.6"
VERIFIED = ("4.3.6", "4.0.5", "3.10.8", "3.8.9")
# Which suite to ask first; the others follow if it has another version by now.
SUITES = {"3.8": "bullseye", "3.10": "bookworm", "4.0": "trixie"}
NEWEST_SUITES = ("forky", "sid")
INSTALLED = Path("/usr/lib/rabbitmq")
# Changes whenever an entry would be made differently.
RECIPE = "rabbitmq packages 1"
TREE = "root"
PACKAGE_LIST = "packages.txt"


def provision(version: str, report: Report) -> Distribution:
    """The distribution of a version ("4.3.6") or directory ("/opt/rabbitmq"). Raises `UserError`."""
    if "/" in version:
        directory = Path(version).expanduser()
        return _in_place(directory, f"directory {directory.absolute()}")
    installed = find_server(INSTALLED)
    if installed is not None and version_of(installed) == version:
        return _in_place(INSTALLED, f"installed package ({INSTALLED})")
    return _from_packages(version, report)


def _in_place(directory: Path, source: str) -> Distribution:
    """A server that is there, taken as it is."""
    layout = find_layout(directory)
    return Distribution(
        system="rabbitmq",
        version=layout.version,
        directory=directory.absolute(),
        java_home=None,
        java_version="",
        digest=manifest.digest_of(manifest.sums_of(layout.server)),
        source=source,
    )


def _from_packages(version: str, report: Report) -> Distribution:
    folder = make_directory(cache_directory() / "distributions")
    entry = folder / f"rabbitmq-{version}"
    with locked(folder, entry.name, report):
        wrong = _check(entry)
        if wrong:
            if entry.exists():
                report(f"The cached files of rabbitmq {version} are not usable ({wrong}): fetching them again.")
            _make(version, entry, report)
        recorded = manifest.read_manifest(entry) or {}
    sums = {name: str(value) for name, value in dict(recorded["files"]).items()}  # type: ignore[call-overload]
    return Distribution(
        system="rabbitmq",
        version=version,
        directory=entry / TREE,
        java_home=None,
        java_version="",
        digest=manifest.digest_of(sums),
        source=str(recorded["source"]),
    )


def _recipe(entry: Path) -> str:
    """The files hold their own place in the file system, so it is part of how they were made."""
    return hashlib.sha256(f"{RECIPE} {entry}".encode()).hexdigest()


def _check(entry: Path) -> str:
    """What is wrong with a cache entry; "" if it is whole."""
    recorded = manifest.read_manifest(entry)
    if recorded is None:
        return "there is no readable manifest"
    if recorded.get("recipe") != _recipe(entry):
        return "they were made for another place or by another version of Tidegauge"
    wrong = manifest.differences(dict(recorded["files"]), manifest.sums_of(entry))  # type: ignore[call-overload]
    return wrong[0] if wrong else ""


def _make(version: str, entry: Path, report: Report) -> None:
    part = entry.parent / f".{entry.name}.part"
    shutil.rmtree(part, ignore_errors=True)
    try:
        part.mkdir(parents=True)
        source = _fetch(version, part, entry, report)
        relocate.relocate(part / TREE, entry / TREE)
        manifest.write_manifest(part, _recipe(entry), source)
        if entry.exists():
            shutil.rmtree(entry)
        part.rename(entry)
        relocate.check_runs(entry / TREE)
    except OSError as error:
        raise UserError(
            f"rabbitmq {version} could not be written to {entry.parent}: {error.strerror or error}.",
            "Free space there, or name another place in the environment variable TIDEGAUGE_CACHE.",
        ) from error
    except UserError:
        if entry.exists() and not part.exists():
            shutil.rmtree(entry, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _fetch(version: str, part: Path, entry: Path, report: Report) -> str:
    """Unpack the packages of a version into `part`/root; returns where they are from, in words."""
    existing: list[str] = []
    failure: AptError | None = None
    for suite in suites_for(version):
        apt = Apt(suite, part / "apt" / suite)
        report(Progress(f"Looking for RabbitMQ {version} among Debian's packages ({suite})."))
        try:
            apt.update()
        except NoConnectionError as error:
            failure = failure or error
            break
        except AptError as error:
            # An old release may have left the mirror; only if none can be asked is that the reason.
            failure = failure or error
            continue
        versions = apt.versions()
        existing += versions
        if version in versions:
            text = f"Fetching RabbitMQ {version} with Erlang from Debian {suite} (once; it is kept in {entry.parent})."
            report(Progress(text))
            _unpack(apt, versions[version], part)
            shutil.rmtree(part / "apt", ignore_errors=True)
            return f"debian {suite}, rabbitmq-server {versions[version]}"
    if failure is not None and not existing:
        raise UserError(f"rabbitmq {version} is not in the cache. {failure.message}", failure.hint) from failure
    near = nearest_versions(version, sorted(set(existing)))
    raise UserError(
        f"rabbitmq {version} is in no release of Debian that can be reached.",
        f"Nearest that are: {', '.join(near)}. Or install it and give its directory: rabbitmq@/opt/rabbitmq.",
    )


def _unpack(apt: Apt, package_version: str, part: Path) -> None:
    downloads = part / "apt" / "packages"
    downloads.mkdir(parents=True)
    (part / TREE).mkdir()
    lines = []
    for package in apt.download(apt.packages(package_version), downloads):
        lines.append(f"{manifest.sha256_of(package)}  {package.name}\n")
        unpack(package, part / TREE)
        package.unlink()
    (part / PACKAGE_LIST).write_text("".join(lines))


def suites_for(version: str) -> list[str]:
    """Debian's suites in the order in which to ask them for a version. Pure."""
    likely = SUITES.get(".".join(version.split(".")[:2]))
    known = list(SUITES.values()) if version.startswith("3.") else list(reversed(SUITES.values()))
    order = [*NEWEST_SUITES, *known] if not version.startswith("3.") else [*known, *NEWEST_SUITES]
    return [likely, *(suite for suite in order if suite != likely)] if likely else order
