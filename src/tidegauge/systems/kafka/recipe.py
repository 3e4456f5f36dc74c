"""Which artifacts a version of Kafka consists of. Pure."""

from __future__ import annotations

from tidegauge.distribution.coordinates import Coordinate, Recipe

DEFAULT_VERSION = "4.3.1"
VERIFIED = ("4.3.1", "4.4.0", "3.9.2")
GROUP = "org.apache.kafka"
# Every Kafka from 2.x to 4.4 is compiled against SLF4J 1.7, for which slf4j-simple writes plain lines to a stream.
SLF4J_BINDING = Coordinate("org.slf4j", "slf4j-simple", "1.7.36")
EXCLUSIONS = (
    # For tools that dump log files only, and absent from Maven Central for some versions (4.4.0).
    f"{GROUP}:kafka-tools-api",
    # Other bindings of SLF4J: two on one class path and it is chance which one logs.
    "ch.qos.reload4j:*",
    "org.slf4j:slf4j-reload4j",
    "org.slf4j:slf4j-log4j12",
    "org.apache.logging.log4j:log4j-slf4j-impl",
)
JAR_PATTERN = r"kafka_2\.1[23]-(\d[\w.\-]*?)\.jar"
JAVA_MIN = 17
# Kafka before 3.9 uses parts of the security manager that newer Java removed.
JAVA_MAX_BEFORE_3_9 = 21


def recipe(version: str) -> Recipe:
    """The recipe of a version; whether it exists is not known here."""
    return Recipe(
        system="kafka",
        version=version,
        root=Coordinate(GROUP, "kafka_2.13", version),
        extra=(SLF4J_BINDING,),
        exclusions=EXCLUSIONS,
        java_min=JAVA_MIN,
        java_max=JAVA_MAX_BEFORE_3_9 if _before_3_9(version) else None,
        verified=VERIFIED,
    )


def _before_3_9(version: str) -> bool:
    parts = version.split(".")
    try:
        return (int(parts[0]), int(parts[1])) < (3, 9)
    except (IndexError, ValueError):
        return False
