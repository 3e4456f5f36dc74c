"""The configuration and environment of RabbitMQ nodes, and where RabbitMQ and Erlang are in a directory."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidegauge.distribution.coordinates import version_numbers
from tidegauge.errors import UserError
from tidegauge.systems.api import LOOPBACK, Seat

SERVER_FOLDERS = (".", "rabbitmq_server-*", "lib/rabbitmq_server-*", "usr/lib/rabbitmq/lib/rabbitmq_server-*")
ERLANG_FOLDERS = ("usr/lib/erlang/bin", "lib/erlang/bin", "erlang/bin")
VERSION = re.compile(r"\d+\.\d+\.\d+(?:[-.\w]*)?")


@dataclass(frozen=True)
class Layout:
    """A server's files.

    Attributes:
        version: "4.3.6", as the files say.
        server: the folder with sbin/ and plugins/.
        erlang: the folder with `erl`.
        epmd: Erlang's port mapper.
    """

    version: str
    server: Path
    erlang: Path
    epmd: Path

    @property
    def start_script(self) -> Path:
        """Starts a node in the foreground. Not the package's wrapper, which changes to another user."""
        return self.server / "sbin" / "rabbitmq-server"


def find_layout(directory: Path) -> Layout:
    """The server in a directory, with the Erlang beside it or, failing that, the one on PATH. Raises `UserError`."""
    if not directory.is_dir():
        raise UserError(
            f"rabbitmq@{directory}: there is no such directory.", "Give the folder of an unpacked RabbitMQ."
        )
    server = find_server(directory)
    if server is None:
        raise UserError(
            f"{directory} does not hold RabbitMQ: no sbin/rabbitmq-server in it or in its rabbitmq_server-* folders.",
            "Give the folder of the unpacked archive (rabbitmq_server-4.x.y), /usr/lib/rabbitmq, or a package's tree.",
        )
    version = version_of(server)
    if not version:
        raise UserError(f"{server} does not show its version.", "Keep the folder's name: rabbitmq_server-4.x.y.")
    erlang = _find_erlang(directory)
    if erlang is None:
        raise UserError(
            f"RabbitMQ {version} in {directory} needs Erlang, and there is no `erl` beside it or on PATH.",
            "Install Erlang (Debian: erlang-base with the modules that rabbitmq-server needs), or give no directory: "
            "then both are fetched.",
        )
    real = (erlang / "erl").resolve().parent
    candidates = [erlang / "epmd", real / "epmd", *sorted(real.parent.glob("erts-*/bin/epmd"))]
    epmd = next((path for path in candidates if path.is_file()), None)
    if epmd is None:
        raise UserError(f"Erlang in {erlang} has no epmd.", "Install all of Erlang.")
    return Layout(version, server, erlang, epmd)


def find_server(directory: Path) -> Path | None:
    """The newest server folder in a directory, None if there is none."""
    folders = [
        path
        for pattern in SERVER_FOLDERS
        for path in ([directory] if pattern == "." else sorted(directory.glob(pattern)))
    ]
    servers = [path for path in folders if (path / "sbin" / "rabbitmq-server").is_file()]
    return max(servers, key=lambda path: version_numbers(version_of(path)), default=None)


def version_of(server: Path) -> str:
    """The version that a server folder's name or its core plugin shows, "" if neither does."""
    plugins = (path.name for path in sorted((server / "plugins").glob("rabbit-[0-9]*")))
    for name in (server.resolve().name.removeprefix("rabbitmq_server-"), *plugins):
        text = name.removeprefix("rabbit-").removesuffix(".ez")
        if VERSION.fullmatch(text):
            return text
    return ""


def _find_erlang(directory: Path) -> Path | None:
    candidates = (directory / folder for folder in ERLANG_FOLDERS)
    erlang_folder = next((path for path in candidates if (path / "erl").is_file()), None)
    if erlang_folder is not None:
        return erlang_folder
    on_path = shutil.which("erl")
    return Path(on_path).parent if on_path else None


PLUGINS = ("rabbitmq_management", "rabbitmq_prometheus")
STREAM_PLUGIN = "rabbitmq_stream"
STREAMS_SINCE = (3, 9, 0)
USER = PASSWORD = (
    "guest"  # RabbitMQ's own default; unless configured otherwise, it lets this user in over loopback only.
)


@dataclass(frozen=True)
class RabbitNode:
    """One node. Ports at the address of its seat; `distribution_port` is for Erlang's own traffic between nodes,
    `metrics_port` for its own figures."""

    number: int
    amqp_port: int
    stream_port: int
    management_port: int
    distribution_port: int
    metrics_port: int
    directory: Path
    seat: Seat = LOOPBACK

    @property
    def name(self) -> str:
        """Erlang's name for it. Known only to a port mapper of our own, so no other RabbitMQ can be meant."""
        return f"tidegauge{self.number}@{self.address if self.seat.link else 'localhost'}"

    @property
    def process(self) -> str:
        """Name on the host, and of its files."""
        return f"rabbitmq-{self.number}"

    @property
    def address(self) -> str:
        """Where it listens."""
        return self.seat.address


def rabbitmq_conf(
    node: RabbitNode, nodes: Sequence[RabbitNode], memory_mb: int, streams: bool, overrides: Mapping[str, str]
) -> str:
    """rabbitmq.conf of one node. `overrides` win. What is not set keeps RabbitMQ's default."""
    settings = {
        "listeners.tcp.default": f"{node.address}:{node.amqp_port}",
        "management.tcp.ip": node.address,
        "management.tcp.port": str(node.management_port),
        "prometheus.tcp.ip": node.address,
        "prometheus.tcp.port": str(node.metrics_port),
        # Above it the broker blocks publishers. The default is a share of all memory, whoever else uses it.
        "vm_memory_high_watermark.absolute": f"{memory_mb}MiB",
        "log.console": "true",
        "log.console.level": "info",
        "log.file": "false",
    }
    if streams:
        settings |= {
            "stream.listeners.tcp.1": f"{node.address}:{node.stream_port}",
            "stream.advertised_host": node.address,
            "stream.advertised_port": str(node.stream_port),
        }
    if node.seat.link:
        # A network that only this host's processes reach.
        settings[f"loopback_users.{USER}"] = "false"
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


def epmd_environment(layout: Layout, home: Path, port: int, address: str) -> dict[str, str]:
    """The environment of the port mapper and of all that ask it: our own one at this address, never the system's."""
    return {
        "PATH": f"{layout.erlang}:/usr/local/bin:/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        "HOME": str(home),
        "ERL_EPMD_PORT": str(port),
        "ERL_EPMD_ADDRESS": address,
    }


def node_environment(layout: Layout, node: RabbitNode, home: Path, epmd_port: int) -> dict[str, str]:
    """A node's whole environment: every path is below its own directory, none is the system's."""
    directory = node.directory
    listen = node.address.replace(".", ",")
    return {
        **epmd_environment(layout, home, epmd_port, node.address),
        "RABBITMQ_NODENAME": node.name,
        # Only long names may hold an address.
        **({"RABBITMQ_USE_LONGNAME": "true"} if node.seat.link else {}),
        "RABBITMQ_NODE_IP_ADDRESS": node.address,
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
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": f"-kernel inet_dist_use_interface {{{listen}}} -start_epmd false",
        "ERL_CRASH_DUMP": str(directory / "erl_crash.dump"),
        # The script then becomes the node instead of waiting for it, so that signals and exit codes are the node's.
        "RUNNING_UNDER_SYSTEMD": "true",
    }


def connection_of_nodes(nodes: Sequence[RabbitNode], queue_type: str, streams: bool) -> dict[str, str]:
    """The driver's connection settings."""
    credentials = f"{USER}:{PASSWORD}@"
    settings = {
        "uri": ",".join(f"amqp://{credentials}{node.address}:{node.amqp_port}" for node in nodes),
        "managementUrl": ",".join(f"http://{node.address}:{node.management_port}" for node in nodes),
        "queueType": queue_type,
        "nodes": str(len(nodes)),
    }
    if streams:
        settings["streamUri"] = ",".join(
            f"rabbitmq-stream://{credentials}{node.address}:{node.stream_port}" for node in nodes
        )
    return settings
