"""The agent that lets a Kafka server tell its own figures over HTTP on loopback: Prometheus's JMX exporter.

It reads the beans named here and no others, inside the server, when it is asked: no JMX port is opened and nothing is
attached. Without it (no network and none in the cache) Kafka is measured all the same, and its own figures are absent.

Source: https://prometheus.github.io/jmx_exporter/1.0.1/java-agent/
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from tidegauge.distribution.cache import Progress, cache_directory, locked, make_directory
from tidegauge.distribution.coordinates import Coordinate
from tidegauge.distribution.fetch import AbsentError, UnreachableError, fetch_artifact
from tidegauge.errors import UserError

AGENT = Coordinate("io.prometheus.jmx", "jmx_prometheus_javaagent", "1.0.1")
AGENT_SHA512 = (
    "f81d876e8110cbabd4a9cb3fe1740ec2d896ec4bce5cb5049a2d74c40f437814"
    "18cea246f40e6afdfabbdf0e162cb837625f496dedcb76aebbba53b6ae7cacba"
)

BEANS = (
    "kafka.log:type=LogFlushStats,*",
    "kafka.network:type=RequestChannel,name=RequestQueueSize",
    "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Produce",
    "kafka.network:type=RequestMetrics,name=RequestQueueTimeMs,request=Produce",
    "kafka.network:type=RequestMetrics,name=LocalTimeMs,request=Produce",
    "kafka.network:type=RequestMetrics,name=RemoteTimeMs,request=Produce",
    "kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent",
    "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec",
    "kafka.server:type=KafkaRequestHandlerPool,*",
    "kafka.server:type=ReplicaManager,name=IsrShrinksPerSec",
    "kafka.server:type=ReplicaManager,name=UnderMinIsrPartitionCount",
    "kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions",
)


def fetch_agent(report: Callable[[str], None]) -> None:
    """Have the agent in the cache. Never raises: what is missing then is said."""
    path = _path()
    try:
        make_directory(path.parent)
        with locked(path.parent, AGENT.artifact, report):
            if not _is_whole(path):
                report(Progress(f"Fetching the JMX exporter {AGENT.version} (1 MB), for Kafka's own figures."))
                part = path.with_suffix(".part")
                fetch_artifact(AGENT, part, report, sha512=AGENT_SHA512)
                part.replace(path)
    except (AbsentError, UnreachableError, UserError, OSError) as error:
        report(f"Kafka's own figures will be missing: the JMX exporter can't be had ({error}).")


def find_agent() -> Path | None:
    """The agent in the cache, if it is there and whole."""
    path = _path()
    return path if _is_whole(path) else None


def agent_flag(agent: Path, port: int, configuration: Path) -> str:
    """The JVM's flag that starts it, listening on loopback only."""
    return f"-javaagent:{agent}=127.0.0.1:{port}:{configuration}"


def configuration_text() -> str:
    """The exporter's configuration (YAML, of which JSON is a part)."""
    return json.dumps({"includeObjectNames": BEANS, "rules": [{"pattern": ".*"}]}, indent=2) + "\n"


def _path() -> Path:
    return cache_directory() / "tools" / f"{AGENT.artifact}-{AGENT.version}.jar"


def _is_whole(path: Path) -> bool:
    try:
        status = path.stat()
    except OSError:
        return False
    return _digest(path, status.st_size, status.st_mtime_ns) == AGENT_SHA512


@lru_cache(maxsize=4)
def _digest(path: Path, _size: int, _changed_ns: int) -> str:
    return hashlib.sha512(path.read_bytes()).hexdigest()
