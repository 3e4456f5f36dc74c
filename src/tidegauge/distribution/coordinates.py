"""What a version of a system consists of on Maven Central, and the project file that asks Maven for it. All pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"


@dataclass(frozen=True)
class Coordinate:
    """An artifact of a Maven repository."""

    group: str
    artifact: str
    version: str
    extension: str = "jar"
    classifier: str = ""

    def __str__(self) -> str:
        return ":".join(filter(None, (self.group, self.artifact, self.extension, self.classifier, self.version)))

    @property
    def path(self) -> str:
        """Path of its file in a repository."""
        suffix = f"-{self.classifier}" if self.classifier else ""
        return f"{self.folder}/{self.version}/{self.artifact}-{self.version}{suffix}.{self.extension}"

    @property
    def folder(self) -> str:
        """Path of the folder of all its versions."""
        return f"{self.group.replace('.', '/')}/{self.artifact}"

    @property
    def pom(self) -> Coordinate:
        """Its project file, which exists whenever the version does."""
        return Coordinate(self.group, self.artifact, self.version, "pom")


@dataclass(frozen=True)
class Recipe:
    """How to get one version of a system.

    Attributes:
        root: the artifact whose runtime dependencies are the distribution.
        extra: further ones, wanted whatever the root asks for.
        managed_by: project files whose dependency management pins the versions.
        exclusions: "group:artifact" (or "group:*") that the server never loads in our use.
        archive: the vendor's whole archive, taken when the jars don't resolve; None if there is none.
        java_max: newest Java major version that this version is known to run on; None for no known limit.
        verified: versions that are known to resolve and run, best first.
    """

    system: str
    version: str
    root: Coordinate
    extra: tuple[Coordinate, ...] = ()
    managed_by: tuple[Coordinate, ...] = ()
    exclusions: tuple[str, ...] = ()
    archive: Coordinate | None = None
    java_min: int = 17
    java_max: int | None = None
    verified: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """System and version, as names of files and folders begin."""
        return f"{self.system}-{self.version}"


def pom_text(recipe: Recipe) -> str:
    """A project file whose runtime dependencies are the recipe's jars."""
    managed = "".join(_dependency_element(c, scope="import") for c in recipe.managed_by)
    excluded = "".join(
        f"<exclusion><groupId>{escape(group)}</groupId><artifactId>{escape(artifact)}</artifactId></exclusion>"
        for group, _, artifact in (pattern.partition(":") for pattern in recipe.exclusions)
    )
    dependencies = "".join(_dependency_element(c, exclusions=excluded) for c in (recipe.root, *recipe.extra))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<project xmlns="http://maven.apache.org/POM/4.0.0">\n'
        " <modelVersion>4.0.0</modelVersion>\n"
        f" <groupId>tidegauge</groupId><artifactId>{escape(recipe.name)}</artifactId><version>1</version>\n"
        " <packaging>pom</packaging>\n"
        f" <dependencyManagement><dependencies>{managed}</dependencies></dependencyManagement>\n"
        f" <dependencies>{dependencies}</dependencies>\n"
        "</project>\n"
    )


def _dependency_element(coordinate: Coordinate, scope: str = "", exclusions: str = "") -> str:
    tags = {
        "groupId": escape(coordinate.group),
        "artifactId": escape(coordinate.artifact),
        "version": escape(coordinate.version),
        "type": "pom" if scope == "import" else escape(coordinate.extension),
        "scope": scope,
        "exclusions": exclusions,
    }
    return f"\n  <dependency>{''.join(f'<{tag}>{text}</{tag}>' for tag, text in tags.items() if text)}</dependency>"


def parse_metadata(xml: str) -> list[str]:
    """The versions listed in a repository's maven-metadata.xml, in its order."""
    return re.findall(r"<version>\s*([^<\s]+)\s*</version>", xml.partition("<versions>")[2].partition("</versions>")[0])


def nearest_versions(wanted: str, existing: Sequence[str], count: int = 4) -> list[str]:
    """The versions nearest to `wanted`, nearest first: by major, minor, patch number; releases before others."""
    target = version_numbers(wanted)

    def distance(version: str) -> tuple[object, ...]:
        gaps = [abs(a - b) for a, b in zip(version_numbers(version), target, strict=True)]
        return (gaps[0], re.fullmatch(r"[\d.]+", version) is None, *gaps[1:])

    return sorted(existing, key=distance)[:count]


def version_numbers(version: str) -> tuple[int, int, int]:
    """(4, 3, 6) of "4.3.6-1"; 0 for the numbers that a version does not have."""
    numbers = [int(part) for part in re.findall(r"\d+", version.partition("-")[0])[:3]]
    return tuple([*numbers, 0, 0, 0][:3])  # type: ignore[return-value]


def is_before(version: str, release: tuple[int, int]) -> bool:
    """Whether a version is older than a release, (4, 2); not of what is no version, such as a directory's path."""
    numbers = version.split(".")[:2]
    return len(numbers) == 2 and all(map(str.isdecimal, numbers)) and (int(numbers[0]), int(numbers[1])) < release
