"""One version of a system as a directory in the cache, resolved once and verified at each start; or a local one.

A warm cache is used without the network and without Maven. An entry appears only complete (it is renamed into place),
one run at a time makes it (file lock), and an entry that is not exactly as its manifest says is made again.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tidegauge.distribution import cache
from tidegauge.distribution.cache import Progress, Report, cache_directory
from tidegauge.distribution.coordinates import DEPENDENCY_PLUGIN, Recipe, nearest_versions, parse_metadata, pom_text
from tidegauge.distribution.fetch import (
    AbsentError,
    UnreachableError,
    fetch_artifact,
    fetch_text,
    repository_url,
    shown_repository,
    without_credentials,
)
from tidegauge.distribution.java import find_java
from tidegauge.distribution.maven import MavenRun, run_maven
from tidegauge.errors import UserError
from tidegauge.model.server import Distribution

JAR_FOLDERS = ("libs", "lib", ".")


def provision_directory(system: str, directory: Path, jar_pattern: str, java_min: int) -> Distribution:
    """The distribution in a directory.

    `jar_pattern` matches the file name of the jar that names the version, in its group 1.
    Raises `UserError` if there is no such directory or it does not hold the system.
    """
    if not directory.is_dir():
        raise UserError(
            f"{system}@{directory}: there is no such directory.", "Give the folder that the archive unpacks to."
        )
    folders = [directory / name for name in JAR_FOLDERS]
    versions = [
        (folder, version)
        for folder in folders
        if (version := version_of([path.name for path in folder.glob("*.jar")], jar_pattern))
    ]
    if not versions:
        raise UserError(
            f"{directory} does not hold {system}: no jar named like {jar_pattern} in it or in its libs or lib folder.",
            "Give the folder that the archive unpacks to.",
        )
    folder, version = versions[0]
    java = find_java(f"{system} {version}", java_min)
    sums = {path.name: cache.sha256_of(path) for path in sorted(folder.glob("*.jar"))}
    return Distribution(
        system=system,
        version=version,
        directory=folder.absolute(),
        java_home=java.home,
        java_version=java.version,
        digest=cache.digest_of(sums),
        source=f"directory {directory.absolute()}",
    )


def version_of(jar_names: Iterable[str], jar_pattern: str) -> str:
    """The version in the matching jar's name, "" if none matches. Pure."""
    matches = (re.fullmatch(jar_pattern, name) for name in sorted(jar_names))
    return next((match.group(1) for match in matches if match), "")


class ProvisionProblem(StrEnum):
    """What went wrong."""

    NO_SUCH_VERSION = "no such version"
    INCOMPLETE = "incomplete"
    UNREACHABLE = "unreachable"
    CHECKSUM = "checksum"
    DISK_FULL = "disk full"
    OTHER = "other"


@dataclass(frozen=True)
class Failure:
    """A cause and the thing concerned: the missing artifact, the address, or Maven's own words."""

    cause: ProvisionProblem
    detail: str


ARTIFACT = r"((?:[\w.\-]+:){3,4}[\w.\-]+)"
OURS = r"(?:central|tidegauge)"
"""Maven's names for the repository that is asked first: as it comes, and with MAVEN_REPO set."""
MISSING = (
    re.compile(rf"Could not find artifact {ARTIFACT}"),
    re.compile(rf"Failure to find {ARTIFACT}"),
    # Central, or the mirror of it in MAVEN_REPO, said no; then a repository that some project file names was unknown.
    re.compile(rf"Could not transfer artifact {ARTIFACT} from/to (?!{OURS} )\S+ \(\S+\): .*Unknown host"),
    re.compile(rf"The following artifacts could not be resolved: {ARTIFACT}"),
)
UNREACHABLE = re.compile(
    r"Unknown host|UnknownHostException|Connection refused|Connect(?:ion)? timed out|Network is unreachable|"
    r"Connection reset|No route to host|Read timed out|PKIX path|SSLHandshake|in offline mode|"
    # Maven 3.8 says "status: 503", and of a connection that ended in the middle at first only that the request failed.
    r"status(?: code)?: (?:429|5\d\d)|GET request of: \S+ from \S+ failed|"
    r"Premature end|closed prematurely|failed to respond|Unexpected end of (?:file|stream)",
    re.IGNORECASE,
)


def explain_failure(output: str, recipe: Recipe) -> Failure:
    """The cause of a failed resolution."""
    errors = "\n".join(line for line in output.splitlines() if "[ERROR]" in line or "[FATAL]" in line) or output
    if "No space left on device" in output:
        return Failure(ProvisionProblem.DISK_FULL, "")
    if "Checksum validation failed" in errors:
        return Failure(ProvisionProblem.CHECKSUM, _first_match(r"Could not transfer artifact (\S+)", errors))
    central_down = re.search(rf"from/to {OURS} .*?: (.*)", errors)
    if central_down and UNREACHABLE.search(central_down.group(1)):
        return Failure(ProvisionProblem.UNREACHABLE, central_down.group(1)[:200])
    for pattern in MISSING:
        match = pattern.search(errors)
        if match:
            missing = match.group(1)
            is_root = missing.startswith(f"{recipe.root.group}:{recipe.root.artifact}:")
            return Failure(ProvisionProblem.NO_SUCH_VERSION if is_root else ProvisionProblem.INCOMPLETE, missing)
    unreachable = UNREACHABLE.search(errors)
    if unreachable:
        return Failure(ProvisionProblem.UNREACHABLE, unreachable.group(0))
    return Failure(ProvisionProblem.OTHER, _first_match(r"\[ERROR\]\s*(.+)", errors)[:400])


def explain_unreached(output: str) -> str:
    """What a build could not fetch from where, and why, in words; "" if it failed of something else."""
    transfers = re.findall(r"Could not transfer artifact (\S+) from/to \S+ \((\S+?)\): (.*)", output)
    failed = [transfer for transfer in transfers if UNREACHABLE.search(transfer[2])]
    if not failed:
        return ""
    # Maven repeats itself; the last time it adds the cause.
    artifact, repository, line = failed[-1]
    reason = re.sub(r" and 'parent\.relativePath'.*? @ line \d+, column \d+| -> \[Help \d+\]$", "", line)
    return (
        f"{artifact} could not be fetched from {without_credentials(repository)} ({without_credentials(reason)[:200]})"
    )


def _first_match(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    return match.group(1) if match else ""


JARS = "lib"


def provision(recipe: Recipe, report: Report) -> Distribution:
    """The distribution of a recipe, from the cache or fetched into it.

    Raises `UserError`: no such version (names the nearest), incomplete on the repository (names what is missing), not
    reachable, damaged on the way, disk full, no suitable Java.
    """
    name = f"{recipe.system} {recipe.version}"
    java = find_java(name, recipe.java_min, recipe.java_max)
    entry = cache_directory() / "distributions" / entry_name(recipe)
    otherwise = "they were chosen by another version of Tidegauge"

    def make_entry() -> None:
        with cache.making(entry, name) as part:
            cache.write_manifest(part, recipe_digest(recipe), _fetch_jars(recipe, part, report))

    digest, source = cache.ensure_entry(entry, name, recipe_digest(recipe), otherwise, make_entry, report=report)
    return Distribution(
        system=recipe.system,
        version=recipe.version,
        directory=entry / JARS,
        java_home=java.home,
        java_version=java.version,
        digest=digest,
        source=source,
    )


def fetched_jars(recipe: Recipe) -> Path | None:
    """The directory of a recipe's jars; None if they are not in the cache."""
    jars = cache_directory() / "distributions" / entry_name(recipe) / JARS
    return jars if jars.is_dir() else None


def jars_in(directory: Path) -> Path | None:
    """Where the jars are of a directory that an archive was unpacked to; None if there are none."""
    folders = (directory / name for name in JAR_FOLDERS)
    return next((folder for folder in folders if any(folder.glob("*.jar"))), None)


def recipe_digest(recipe: Recipe) -> str:
    """Changes whenever we would ask Maven for something else."""
    return hashlib.sha256(f"{pom_text(recipe)}{recipe.archive}".encode()).hexdigest()


def entry_name(recipe: Recipe) -> str:
    """Name of the recipe's folder in the cache. Versions of Tidegauge that share a cache and ask for different files
    have a folder each: neither takes away what the other is running."""
    return f"{recipe.name}-{recipe_digest(recipe)[:12]}"


def _fetch_jars(recipe: Recipe, part: Path, report: Report) -> str:
    """Fill `part` with jars; returns where they are from, in words."""
    work = _make_empty_directory(part.parent / f"{part.name}.work")
    try:
        # Whether Maven's local repository holds the root, so that a try without the network is worth its second.
        match = re.search(r"-Dmaven\.repo\.local=(\S+)", os.environ.get("MAVEN_OPTS", ""))
        local = Path(match.group(1)) if match else Path.home() / ".m2" / "repository"
        if (local / recipe.root.path).exists() and _copy_jars(recipe, work, part, report, offline=True).succeeded:
            return "maven central (local repository)"
        _refuse_unknown_version(recipe)
        subject = f"{recipe.system} {recipe.version} from {shown_repository()} (once; it is kept in {part.parent})"
        report(Progress(f"Fetching {subject}."))
        run = _copy_jars(recipe, work, part, report, offline=False)
        if run.succeeded:
            return "maven central" if not os.environ.get("MAVEN_REPO") else shown_repository()
        failure = explain_failure(run.output, recipe)
        if failure.cause is ProvisionProblem.INCOMPLETE and recipe.archive is not None:
            return _fetch_archive(recipe, part, failure, report)
        raise failure_error(recipe, failure)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _copy_jars(recipe: Recipe, work: Path, part: Path, report: Report, offline: bool) -> MavenRun:
    """Let Maven copy the jars; a run that brings none has failed."""
    jars = _make_empty_directory(part / JARS)
    (work / "pom.xml").write_text(pom_text(recipe))
    arguments = [
        *(["--offline"] if offline else []),
        f"{DEPENDENCY_PLUGIN}:copy-dependencies",
        "-DincludeScope=runtime",
        f"-DoutputDirectory={jars}",
    ]
    run = run_maven(arguments, work, report, f"{recipe.system} {recipe.version}")
    if run.succeeded and not any(jars.glob("*.jar")):
        return MavenRun(False, run.output)
    return run


def _make_empty_directory(directory: Path) -> Path:
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    return directory


def _refuse_unknown_version(recipe: Recipe) -> None:
    """Ask the repository for the root's project file: a wrong version is reported at once and clearly."""
    try:
        fetch_text(f"{repository_url()}/{recipe.root.pom.path}")
    except AbsentError as error:
        raise failure_error(recipe, Failure(ProvisionProblem.NO_SUCH_VERSION, str(recipe.root))) from error
    except UnreachableError:
        return  # Maven may know a way that we don't; if not, it says so.


def _fetch_archive(recipe: Recipe, part: Path, failure: Failure, report: Report) -> str:
    """The vendor's archive instead of single jars, when those are incomplete on the repository."""
    assert recipe.archive is not None
    report(f"{failure.detail} is missing from the repository: fetching the whole archive {recipe.archive} instead.")
    file = part / "archive.tar.gz"
    try:
        fetch_artifact(recipe.archive, file, report)
    except AbsentError as error:
        raise failure_error(recipe, failure) from error
    jars = _make_empty_directory(part / JARS)
    with tarfile.open(file) as tar:
        for member in tar:
            path = Path(member.name)
            if member.isfile() and path.suffix == ".jar" and path.parent.name == JARS and len(path.parts) == 3:
                content = tar.extractfile(member)
                assert content is not None
                with (jars / path.name).open("wb") as target:
                    shutil.copyfileobj(content, target)
    file.unlink()
    return f"maven central, archive {recipe.archive}"


def failure_error(recipe: Recipe, failure: Failure) -> UserError:
    """The message for a version that could not be fetched."""
    subject = f"{recipe.system} {recipe.version}"
    tested = f"Tested: {', '.join(recipe.verified)}."
    match failure.cause:
        case ProvisionProblem.NO_SUCH_VERSION:
            near = nearest_versions(recipe.version, _existing_versions(recipe))
            hint = f"Nearest that do: {', '.join(near)}. {tested}" if near else tested
            return UserError(f"{subject} does not exist on {shown_repository()}.", hint)
        case ProvisionProblem.INCOMPLETE:
            near = [v for v in nearest_versions(recipe.version, _existing_versions(recipe), 5) if v != recipe.version]
            hint = f"Use another version. {tested} Nearest others: {', '.join(near)}."
            return UserError(
                f"{subject} is incomplete on {shown_repository()}: {failure.detail} is missing there.", hint
            )
        case ProvisionProblem.UNREACHABLE:
            return UserError(
                f"{subject} is not in the cache, and {shown_repository()} can't be reached ({failure.detail}).",
                "Connect to the network once, name a repository that can be reached in MAVEN_REPO, or give a local "
                f"directory: {recipe.system}@/path/to/{recipe.system}.",
            )
        case ProvisionProblem.CHECKSUM:
            detail = f"{failure.detail} arrived damaged (checksum)"
            return UserError(
                f"{subject}: {detail}.", "Run the command again; if it stays so, the repository is at fault."
            )
        case ProvisionProblem.DISK_FULL:
            hint = "Free space, or name another place in TIDEGAUGE_CACHE."
            return UserError(f"{subject} could not be fetched: the disk of {cache_directory()} or ~/.m2 is full.", hint)
        case ProvisionProblem.OTHER:
            return UserError(f"{subject} could not be resolved by Maven: {failure.detail}", tested)


def _existing_versions(recipe: Recipe) -> list[str]:
    """Versions on the repository; those we tested if it can't be asked."""
    try:
        return parse_metadata(fetch_text(f"{repository_url()}/{recipe.root.folder}/maven-metadata.xml"))
    except (AbsentError, UnreachableError):
        return list(recipe.verified)
