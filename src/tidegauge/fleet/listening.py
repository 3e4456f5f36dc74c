"""How an agent on another host begins: it is started there, listens, and its controller connects. Both sides' parts.

A starter, which the launcher runs on the host, makes a key there and starts the agent with the certificate that the
controller has made for it. The agent leaves its starter's session before it serves: it outlives the launcher's part.
"""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import sys
import time
from dataclasses import dataclass

import psutil

from tidegauge.errors import StartFailedError
from tidegauge.fleet import registry
from tidegauge.fleet.authority import agent_context, make_request
from tidegauge.fleet.client import launch_of
from tidegauge.fleet.link import Link
from tidegauge.fleet.ray_node import AGENT_PORTS
from tidegauge.fleet.reap import clean_leftovers

_HANDSHAKE_S_MAX = 10.0
_UNHEARD_MS_MAX = 10_000
"""What is sent and not confirmed for so long ends a connection: its host, or the way there, is gone."""
_START_S_MAX = 60.0


@dataclass(frozen=True)
class Listening:
    """An agent that waits for its controller. `interface`: what has its address; `log`: what it has to say itself."""

    port: int
    interface: str
    log: str


class AgentStarter:
    """On the agent's host, for one agent. What an earlier one left there is removed first."""

    def __init__(self) -> None:
        self._key_pem, self._request_pem = make_request()

    def request(self) -> str:
        """What the controller is to make a certificate of."""
        clean_leftovers()
        return self._request_pem

    def start(self, certificate_pem: str, authority_pem: str, lease_s: float, address: str) -> Listening:
        """Start the agent, which waits for its controller as long as a lease. Raises `StartFailedError`."""
        agent_id = registry.new_agent_id()
        with registry.open_log(agent_id) as log:
            # Not an argument: these are public.
            secret = json.dumps([self._key_pem, certificate_pem, authority_pem]).encode()
            launch = launch_of(agent_id, lease_s, address)
            started = subprocess.run(
                **launch, input=secret, stdout=subprocess.PIPE, stderr=log, timeout=_START_S_MAX, check=False
            )
        if started.returncode != 0:
            why = registry.last_words(agent_id) or "no reason given"
            raise StartFailedError(f"No agent could be started on {address}: {why}")
        return Listening(int(started.stdout), interface_of(address), str(registry.log_path(agent_id)))


def waited_for(address: str, agent_id: str, wait_s: float) -> Link:
    """In the agent: listen, leave the starter, and take the first connection of the run's controller.

    Ends the process where nobody who may connects in time.
    """
    context = agent_context(*json.loads(sys.stdin.buffer.read()))
    server = _listen(address)
    sys.stdout.write(f"{server.getsockname()[1]}\n")
    sys.stdout.flush()
    if os.fork():
        os._exit(0)
    # Whatever ends the starter's session does not end this.
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    deadline_s = time.monotonic() + wait_s
    with server:
        while (left_s := deadline_s - time.monotonic()) > 0:
            server.settimeout(left_s)
            try:
                connection, _ = server.accept()
                connection.settimeout(_HANDSHAKE_S_MAX)
                _set_up(connection)
                return Link(context.wrap_socket(connection, server_side=True))
            except OSError as error:
                # Somebody else, who is not let in; or time is up.
                sys.stderr.write(f"not let in: {error}\n")
    registry.log_path(agent_id).unlink(missing_ok=True)
    sys.exit(1)


def interface_of(address: str) -> str:
    """The network interface that has this IPv4 address. Raises `StartFailedError` if none has."""
    for name, entries in psutil.net_if_addrs().items():
        if any(entry.family == socket.AF_INET and entry.address == address for entry in entries):
            return name
    raise StartFailedError(f"No network interface here has the address {address}.")


def _listen(address: str) -> socket.socket:
    """At the first free port of those that a firewall lets through. Raises `OSError`."""
    for port in AGENT_PORTS:
        try:
            return socket.create_server((address, port), backlog=8)
        except OSError as error:
            last = error
    raise last


def connected(address: str, port: int, context: ssl.SSLContext, timeout_s: float) -> Link:
    """In the controller: the link to an agent. Raises `OSError`."""
    connection = socket.create_connection((address, port), timeout=timeout_s)
    try:
        _set_up(connection)
        return Link(context.wrap_socket(connection, server_hostname=address))
    except BaseException:
        connection.close()
        raise


def _set_up(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNHEARD_MS_MAX)
