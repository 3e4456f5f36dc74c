"""A secured RabbitMQ node's own tools and management API, as its administrator uses them."""

from __future__ import annotations

import base64
import json
import subprocess
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass

import psutil
from secure import Secured

from tidegauge.systems import registry
from tidegauge.systems.rabbitmq.config import find_layout


@dataclass
class RabbitTools:
    """A node to whose administrator all is allowed."""

    secured: Secured

    @property
    def plain(self) -> Mapping[str, str]:
        """Without TLS, as the administrator."""
        return self.secured.deployment.connection

    def tool(self, name: str, *arguments: str) -> None:
        """Run one of the server's own tools against the node, with the node's own environment."""
        environment = psutil.Process(self.secured.host.status(self.secured.deployment.processes[0]).pid).environ()
        for variable in ("RABBITMQ_DIST_PORT", "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS"):
            environment.pop(variable)
        rabbitmq = registry.system_named("rabbitmq")
        layout = find_layout(rabbitmq.provision(rabbitmq.default_version, lambda _: None).directory)
        command = [layout.server / "sbin" / name, *arguments]
        subprocess.run(command, env=environment, check=True, capture_output=True)

    def manage(self, method: str, path: str, body: Mapping[str, object]) -> None:
        """Call the management API as the administrator."""
        request = urllib.request.Request(f"{self.plain['managementUrl']}{path}", json.dumps(body).encode())
        request.method = method
        request.add_header("Authorization", "Basic " + base64.b64encode(b"guest:guest").decode())
        request.add_header("Content-Type", "application/json")
        urllib.request.urlopen(request).close()
