"""A ZooKeeper alone, for systems that keep their metadata there. It is no part of what is measured."""

from __future__ import annotations

from pathlib import Path


def zookeeper_settings(port: int, data_directory: Path, address: str) -> dict[str, str]:
    """Its configuration, in Java's properties format. `address`: where it listens. Pure."""
    return {
        "tickTime": "2000",
        "dataDir": str(data_directory),
        "clientPort": str(port),
        "clientPortAddress": address,
        "maxClientCnxns": "0",
        "admin.enableServer": "false",
        # Metadata is on disk before it counts, at every level.
        "forceSync": "yes",
    }
