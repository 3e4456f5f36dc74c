"""Which settings a version has: those that the schemas of the server and of the plugins that are started map."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from tidegauge.systems.rabbitmq.config import PLUGINS, STREAM_PLUGIN
from tidegauge.systems.rabbitmq.provision import fetched_server
from tidegauge.systems.server_settings import DATA, FILES, MEMBERS, PORTS, ServerSettings

RESERVED = {
    r"(.*\.)?(log\.|data_|wal_data_)dir": DATA,
    r"log\.(\w+\.)?file|management\.http_log_dir|http_dispatch\.access_log_dir": FILES,
    r"stream\.(advertised_(tls_)?(host|port)|replication\.port_range\..+)|(\w+\.)?listeners\..+|(management|prometheus)\.(tcp\.|ssl\.|listener\.)?(port|ip)|"
    r"distribution\.listener\..+": PORTS,
    r"cluster_formation\.(peer_discovery_backend|classic_config\..+|dns\..+)|cluster_name": MEMBERS,
}
_MAPPING = re.compile(rb'\{\s*mapping\s*,\s*"([^"]+)"')
_STARTED_BESIDE = (
    "rabbit",
    "rabbitmq_management_agent",
    "rabbitmq_web_dispatch",
    "rabbit_common",
    "rabbitmq_prelaunch",
)
"""What starts without being enabled: the server, and what its plugins need."""


def of_version(version: str) -> ServerSettings | None:
    """See `System.server_settings`."""
    server = fetched_server(version)
    return server_settings(server) if server else None


@cache
def server_settings(server: Path) -> ServerSettings | None:
    """The settings of a server's folder; None if it holds no schemas."""
    names = {
        mapped.decode()
        for schema in _read_schemas(server / "plugins", {*_STARTED_BESIDE, *PLUGINS, STREAM_PLUGIN})
        for mapped in _MAPPING.findall(schema)
    }
    if not names:
        return None
    # "$name" stands for a word of the user's own.
    patterns = tuple(
        ".".join(r"[^.]+" if part.startswith("$") else re.escape(part) for part in name.split("."))
        for name in sorted(names)
        if "$" in name
    )
    return ServerSettings(frozenset(name for name in names if "$" not in name), patterns)


def _read_schemas(plugins: Path, started: Collection[str]) -> Iterator[bytes]:
    """Yields the schemas of plugins in folders, or in archives (.ez) as older versions have them."""
    for path in sorted(plugins.glob("*")):
        if path.name.partition("-")[0].removesuffix(".ez") not in started:
            continue
        try:
            if path.is_dir():
                yield from (schema.read_bytes() for schema in sorted(path.glob("priv/schema/*.schema")))
            elif path.suffix == ".ez":
                with zipfile.ZipFile(path) as archive:
                    names = (name for name in archive.namelist() if Path(name).match("priv/schema/*.schema"))
                    yield from map(archive.read, names)
        except (OSError, zipfile.BadZipFile):
            continue
