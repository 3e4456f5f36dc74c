"""How an agent on another host begins: it is started there, listens, and its controller connects. Both sides' parts.

A starter, which the launcher runs on the host, makes a key there and starts the agent with the certificate that the
controller has made for it. The agent leaves its starter's session before it serves: it outlives the launcher's part.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import ssl
import subprocess
import sys
import time
from dataclasses import dataclass

import psutil

from tidegauge.agent import registry, watchdog
from tidegauge.agent.api import AGENT_PORTS
from tidegauge.agent.authority import agent_context, make_request
from tidegauge.agent.client import launch_arguments
from tidegauge.agent.link import Link
from tidegauge.agent.reap import clean_leftovers
from tidegauge.errors import StartFailedError
from tidegauge.hosts import procfs

_HANDSHAKE_S_MAX = 5.0
_ARRIVALS_MAX = 64
"""Handshakes that are under way at the same time."""
_LOOK_S = 1.0
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
    """Starts one agent, on its host. What an earlier one left there is removed first."""

    def __init__(self) -> None:
        self._key_pem, self._request_pem = make_request()

    def request(self) -> str:
        """The request of which the controller is to make a certificate, PEM."""
        clean_leftovers()
        return self._request_pem

    def start(self, certificate_pem: str, authority_pem: str, lease_s: float, address: str) -> Listening:
        """Start the agent, which waits for its controller as long as a lease. Raises `StartFailedError`."""
        agent_id = registry.new_agent_id()
        with registry.open_log(agent_id) as log:
            # Not an argument: these are public.
            secret = json.dumps([self._key_pem, certificate_pem, authority_pem]).encode()
            launch = launch_arguments(agent_id, lease_s, address)
            started = subprocess.run(
                **launch, input=secret, stdout=subprocess.PIPE, stderr=log, timeout=_START_S_MAX, check=False
            )
        if started.returncode != 0:
            why = registry.last_words(agent_id) or "no reason given"
            raise StartFailedError(f"No agent could be started on {address}: {why}")
        return Listening(int(started.stdout), interface_of(address), str(registry.log_path(agent_id)))


def wait_for_controller(address: str, agent_id: str, wait_s: float) -> Link:
    """In the agent: listen, leave the starter, and take the first connection of the run's controller.

    Ends the process where nobody who may connects in time.
    """
    context = agent_context(*json.loads(sys.stdin.buffer.read()))
    server = _listen_at_free_port(address)
    sys.stdout.write(f"{server.getsockname()[1]}\n")
    sys.stdout.flush()
    if agent_pid := os.fork():
        # Without the mark of the agent's processes: who cleans up after them would end it.
        unmarked = {name: value for name, value in os.environ.items() if name != procfs.MARKER}
        watchdog.start(agent_pid, agent_id, wait_s, unmarked)
        os._exit(0)
    # Whatever ends the starter's session does not end this.
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    with server, Entrance(server, context) as entrance:
        connection = entrance.first_admitted(time.monotonic() + wait_s)
    if connection is not None:
        return Link(connection)
    registry.log_path(agent_id).unlink(missing_ok=True)
    sys.exit(1)


class Entrance:
    """Lets in the first of those who connect that a TLS context accepts; ends what others have begun, with the block.

    All are heard at the same time, since whoever connects and says nothing must not keep the others waiting.
    """

    def __init__(self, server: socket.socket, context: ssl.SSLContext) -> None:
        server.setblocking(False)
        self._server = server
        self._context = context
        self._arrivals = selectors.DefaultSelector()
        self._arrivals.register(server, selectors.EVENT_READ)
        self._begun_s: dict[ssl.SSLSocket, float] = {}

    def __enter__(self) -> Entrance:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in list(self._begun_s):
            self._forget_arrival(connection)
            connection.close()
        self._arrivals.close()

    def first_admitted(self, until_s: float) -> ssl.SSLSocket | None:
        """The first that is let in; None if nobody is until then, by the monotonic clock."""
        while (left_s := until_s - time.monotonic()) > 0:
            for key, _ in self._arrivals.select(min(left_s, _LOOK_S)):
                if key.fileobj is self._server:
                    self._accept_arrival()
                elif isinstance(key.fileobj, ssl.SSLSocket) and self._is_admitted(key.fileobj):
                    return key.fileobj
            # End handshakes that take too long, and the oldest where so many go on that nobody else would find a place.
            now_s, too_many = time.monotonic(), len(self._begun_s) - _ARRIVALS_MAX
            for number, (connection, begun_s) in enumerate(list(self._begun_s.items())):
                if number < too_many or now_s - begun_s > _HANDSHAKE_S_MAX:
                    self._refuse_arrival(connection, "no handshake in time")
        return None

    def _accept_arrival(self) -> None:
        try:
            connection, _ = self._server.accept()
            _set_up(connection)
            connection.setblocking(False)
            arrived = self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        except OSError as error:
            sys.stderr.write(f"not let in: {error}\n")
            return
        self._begun_s[arrived] = time.monotonic()
        self._arrivals.register(arrived, selectors.EVENT_READ)

    def _is_admitted(self, connection: ssl.SSLSocket) -> bool:
        """Go on with a handshake as far as what has come allows."""
        try:
            connection.do_handshake()
        except ssl.SSLWantReadError:
            self._arrivals.modify(connection, selectors.EVENT_READ)
            return False
        except ssl.SSLWantWriteError:
            self._arrivals.modify(connection, selectors.EVENT_WRITE)
            return False
        except OSError as error:
            self._refuse_arrival(connection, str(error))
            return False
        self._forget_arrival(connection)
        return True

    def _refuse_arrival(self, connection: ssl.SSLSocket, why: str) -> None:
        sys.stderr.write(f"not let in: {why}\n")
        self._forget_arrival(connection)
        connection.close()

    def _forget_arrival(self, connection: ssl.SSLSocket) -> None:
        del self._begun_s[connection]
        self._arrivals.unregister(connection)


def interface_of(address: str) -> str:
    """The network interface that has this IPv4 address. Raises `StartFailedError` if none has."""
    for name, entries in psutil.net_if_addrs().items():
        if any(entry.family == socket.AF_INET and entry.address == address for entry in entries):
            return name
    raise StartFailedError(f"No network interface here has the address {address}.")


def _listen_at_free_port(address: str) -> socket.socket:
    """A socket that listens at the first free port of those that a firewall lets through. Raises `OSError`."""
    for port in AGENT_PORTS:
        try:
            return socket.create_server((address, port), backlog=_ARRIVALS_MAX)
        except OSError as error:
            last = error
    raise last


def link_to_agent(address: str, port: int, context: ssl.SSLContext, timeout_s: float) -> Link:
    """The controller's link to an agent that listens. Raises `OSError`."""
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
