"""The configuration and environment of RabbitMQ nodes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidegauge.systems.rabbitmq.layout import Layout

LOOPBACK = "127.0.0.1"
PLUGINS = ("rabbitmq_management", "rabbitmq_prometheus")
STREAM_PLUGIN = "rabbitmq_stream"
STREAMS_SINCE = (3, 9, 0)
USER = PASSWORD = "guest"  # RabbitMQ's own default; it lets this user in over loopback only.


@dataclass(frozen=True)
class Node:
    """One node. Ports on loopback; `distribution_port` is for Erlang's own traffic between nodes,
    `metrics_port` for figures it tells of itself."""

    number: int
    amqp_port: int
    stream_port: int
    management_port: int
    distribution_port: int
    metrics_port: int
    directory: Path

    @property
    def name(self) -> str:
        """Erlang's name for it. Known only to a port mapper of our own, so no other RabbitMQ can be meant."""
        return f"tidegauge{self.number}@localhost"


def rabbitmq_conf(
    node: Node, nodes: Sequence[Node], memory_mb: int, streams: bool, overrides: Mapping[str, str]
) -> str:
    """rabbitmq.conf of one node. `overrides` win. What is not set keeps RabbitMQ's default."""
    settings = {
        "listeners.tcp.default": f"{LOOPBACK}:{node.amqp_port}",
        "management.tcp.ip": LOOPBACK,
        "management.tcp.port": str(node.management_port),
        "prometheus.tcp.ip": LOOPBACK,
        "prometheus.tcp.port": str(node.metrics_port),
        # Above it the broker blocks publishers. The default is a share of all memory, whoever else uses it.
        "vm_memory_high_watermark.absolute": f"{memory_mb}MiB",
        "log.console": "true",
        "log.console.level": "info",
        "log.file": "false",
    }
    if streams:
        settings |= {
            "stream.listeners.tcp.1": f"{LOOPBACK}:{node.stream_port}",
            "stream.advertised_host": LOOPBACK,
            "stream.advertised_port": str(node.stream_port),
        }
    if len(nodes) > 1:
        settings["cluster_formation.peer_discovery_backend"] = "classic_config"
        for other in nodes:
            settings[f"cluster_formation.classic_config.nodes.{other.number}"] = other.name
    return "".join(f"{key} = {value}\n" for key, value in {**settings, **overrides}.items())


def enabled_plugins(streams: bool) -> str:
    """The file that lists the plugins to start, an Erlang term."""
    return f"[{','.join((*PLUGINS, STREAM_PLUGIN) if streams else PLUGINS)}].\n"


def has_streams(version: tuple[int, int, int]) -> bool:
    """Whether a version has streams."""
    return version >= STREAMS_SINCE


def epmd_environment(layout: Layout, home: Path, port: int) -> dict[str, str]:
    """For the port mapper and everything that asks it: our own one, on loopback, never the system's."""
    return {
        "PATH": f"{layout.erlang}:/usr/local/bin:/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        "HOME": str(home),
        "ERL_EPMD_PORT": str(port),
        "ERL_EPMD_ADDRESS": LOOPBACK,
    }


def node_environment(layout: Layout, node: Node, home: Path, epmd_port: int) -> dict[str, str]:
    """A node's whole environment: every path is below its own directory, none is the system's."""
    directory = node.directory
    return {
        **epmd_environment(layout, home, epmd_port),
        "RABBITMQ_NODENAME": node.name,
        "RABBITMQ_NODE_IP_ADDRESS": LOOPBACK,
        "RABBITMQ_NODE_PORT": str(node.amqp_port),
        "RABBITMQ_DIST_PORT": str(node.distribution_port),
        "RABBITMQ_CONF_ENV_FILE": str(directory / "no-rabbitmq-env.conf"),
        "RABBITMQ_CONFIG_FILE": str(directory / "rabbitmq.conf"),
        "RABBITMQ_CONFIG_FILES": str(directory / "no-conf.d"),
        "RABBITMQ_ADVANCED_CONFIG_FILE": str(directory / "no-advanced.config"),
        "RABBITMQ_GENERATED_CONFIG_DIR": str(directory / "generated"),
        "RABBITMQ_SCHEMA_DIR": str(directory / "schema"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(directory / "enabled_plugins"),
        "RABBITMQ_PLUGINS_EXPAND_DIR": str(directory / "plugins-expanded"),
        "RABBITMQ_MNESIA_BASE": str(directory / "data"),
        "RABBITMQ_LOG_BASE": str(directory / "log"),
        "RABBITMQ_LOGS": "-",
        "RABBITMQ_PID_FILE": str(directory / "pid"),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1} -start_epmd false",
        "ERL_CRASH_DUMP": str(directory / "erl_crash.dump"),
        # The script then becomes the node instead of waiting for it, so that signals and exit codes are the node's.
        "RUNNING_UNDER_SYSTEMD": "true",
    }


def connection(nodes: Sequence[Node], queue_type: str, streams: bool) -> dict[str, str]:
    """The driver's connection settings."""
    who = f"{USER}:{PASSWORD}@{LOOPBACK}"
    settings = {
        "uri": ",".join(f"amqp://{who}:{node.amqp_port}" for node in nodes),
        "managementUrl": ",".join(f"http://{LOOPBACK}:{node.management_port}" for node in nodes),
        "queueType": queue_type,
        "nodes": str(len(nodes)),
    }
    if streams:
        settings["streamUri"] = ",".join(f"rabbitmq-stream://{who}:{node.stream_port}" for node in nodes)
    return settings
