"""Which settings brokers of a version have, as the version's own program for its documentation lists them."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from tidegauge.atomic import replace_file
from tidegauge.distribution.cache import cache_directory
from tidegauge.distribution.class_files import classes_in
from tidegauge.distribution.java import find_java
from tidegauge.errors import UserError
from tidegauge.numbers import whole_number
from tidegauge.systems.kafka.level import MIN_IN_SYNC
from tidegauge.systems.server_settings import DATA, MEMBERS, PORTS, ServerSettings

RESERVED = {
    r"log\.dirs?|metadata\.log\.dir|remote\.log\.storage\.system\.enable\.dir": DATA,
    r"listeners|advertised\.listeners|controller\.listener\.names|port|host\.name|advertised\.(host\.name|port)|"
    r"(inter\.broker|remote\.log\.metadata\.manager)\.listener\.name|early\.start\.listeners|"
    r"listener\.security\.protocol\.map|security\.inter\.broker\.protocol": PORTS,
    r"node\.id|broker\.id|process\.roles|controller\.quorum\.(voters|bootstrap\.servers)|zookeeper\.connect": MEMBERS,
}
PATTERNS = (
    # Of one listener, and of plug-ins, which have settings of their own.
    r"listener\.name\..+",
    r"(rsm|rlmm)\.config\..+",
    r"(sasl|ssl|principal|client\.quota|authorizer|metric|telemetry)\..+",
)
OF_TOPICS = (
    "cleanup.policy",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "delete.retention.ms",
    "file.delete.delay.ms",
    "flush.messages",
    "flush.ms",
    "index.interval.bytes",
    "local.retention.bytes",
    "local.retention.ms",
    "max.compaction.lag.ms",
    "max.message.bytes",
    "message.downconversion.enable",
    "message.format.version",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.difference.max.ms",
    "message.timestamp.type",
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "min.insync.replicas",
    "preallocate",
    "remote.log.copy.disable",
    "remote.log.delete.on.disable",
    "remote.storage.enable",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
    "segment.index.bytes",
    "segment.jitter.ms",
    "segment.ms",
    "unclean.leader.election.enable",
)
"""Settings of topics that versions of Apache Kafka have; products that speak its protocol have others."""
_LIKENESS_MIN = 0.8
"""Of a name to one of these, from which on it is a mistake and no other product's."""
_LISTED = re.compile(r'id="(?:brokerconfigs_)?([a-z0-9.]+)"')
_NAME = re.compile(r"[a-z][a-z0-9]*(\.[a-z0-9]+)+")
_JARS_OF_SERVERS = re.compile(
    r"kafka-(server|server-common|storage|raft|metadata|(group|share|transaction)-coordinator|coordinator-common)-\d.*"
)
LIST_S_MAX = 60
_DIGITS = re.compile(r"[0-9]+")


def topic_problems(settings: Mapping[str, str], copies: int) -> dict[str, str]:
    """Which settings no topic of so many copies can have, by name, and why. Names like none of Kafka's are brokers'."""
    problems = {}
    for name in settings:
        near = get_close_matches(name, OF_TOPICS, 1, _LIKENESS_MIN) if name not in OF_TOPICS else ()
        if near:
            problems[name] = f"is no setting of Kafka's topics (did you mean '{near[0]}'?)"
    in_sync = settings.get(MIN_IN_SYNC, "")
    number = whole_number(in_sync)
    if copies and _DIGITS.fullmatch(in_sync) and (number is None or number > copies):
        problems[MIN_IN_SYNC] = f"'{in_sync}': is above replication-factor ({copies}), so nothing could be written"
    return problems


@cache
def server_settings(jars: Path) -> ServerSettings | None:
    """The settings of the brokers in these jars; None if they don't say."""
    setting_names = _cached_setting_names(jars)
    if not setting_names:
        return None
    # Those that the documentation leaves out are constants of the servers' own classes of settings.
    internal_names = {
        field.constant
        for jar in jars.glob("kafka-*.jar")
        if _JARS_OF_SERVERS.match(jar.name)
        for fields in classes_in(jar, "*Config*.class", without=("*GroupConfig.class", "*LogConfig.class"))
        for field in fields
        if field.name.endswith("_CONFIG") and field.constant and _NAME.fullmatch(field.constant)
    }
    return ServerSettings(frozenset(setting_names), PATTERNS, frozenset(internal_names))


def _cached_setting_names(jars: Path) -> list[str]:
    """The names that the program lists, which is asked once for the same jars."""
    files = sorted((jar.name, jar.stat().st_size) for jar in jars.glob("*.jar"))
    cached_list = cache_directory() / "settings" / f"kafka-{hashlib.sha256(repr(files).encode()).hexdigest()[:16]}.txt"
    try:
        return cached_list.read_text().split()
    except (OSError, ValueError):
        names = _list_setting_names(jars)
    if names:
        try:
            cached_list.parent.mkdir(parents=True, exist_ok=True)
            replace_file(cached_list, "\n".join(names).encode())
        except OSError:
            pass  # It is asked again.
    return names


def _list_setting_names(jars: Path) -> list[str]:
    """Run `KafkaConfig`, which makes the broker's page of Kafka's documentation, and list the names; [] if it fails."""
    try:
        java = find_java("Kafka's list of settings", 17).executable
        completed = subprocess.run(
            [java, "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*", "kafka.server.KafkaConfig"],
            capture_output=True,
            text=True,
            timeout=LIST_S_MAX,
            check=True,
        )
    except (OSError, UserError, subprocess.SubprocessError):
        return []
    return setting_names_on_page(completed.stdout)


def setting_names_on_page(page: str) -> list[str]:
    """Returns the names of all settings on a page of Kafka's documentation."""
    return sorted(set(_LISTED.findall(page)))
