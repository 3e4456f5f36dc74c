"""A fleet whose hosts are Ray's nodes. The only module that imports Ray, which is installed with `tidegauge[fleet]`.

Ray is asked for membership and for processes on hosts, never to supervise: an actor is made on one node, by its
identifier, needs no CPU that Ray counts, and is not made again if it is lost.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from tidegauge.errors import RunFailedError, TidegaugeError
from tidegauge.fleet.code import version_refusal
from tidegauge.fleet.ray_node import JOINED_LABEL, NODE_PORT, ROLE_LABEL, VERSION_LABEL
from tidegauge.model.host import FleetHost
from tidegauge.numbers import trimmed

Result = TypeVar("Result")

_NAMESPACE = "tidegauge"
_AT_ONCE = 8
"""Calls that an object may have at the same time."""
_SILENT_S_MAX = 6.0
"""How long a part of Ray's may be silent while something waits for it."""
_LOOK_S = 1.5
"""The kernel asks again after 1 s."""
_LEAVE_S_MAX = 5.0
_LOST = "Check that host and its network; tidegauge fleet join brings it back."
_RECONNECT = {"RAY_gcs_rpc_server_reconnect_timeout_s": "3600"}
"""Ray ends a process that can't reach the control service for so long, which is a minute unless said otherwise."""
_CONNECT_HINT = (
    "tidegauge fleet status, on the head's host, says what there is; the log of Ray is named by `fleet head`."
)


class RayLauncher:
    """`Launcher` over a cluster of Ray. `environment`: Ray's settings, such as where its token is."""

    def __init__(self, address: str, environment: Mapping[str, str]) -> None:
        os.environ.update({**environment, **_RECONNECT})
        import ray

        logging.getLogger("ray").setLevel(logging.ERROR)
        self._ray: Any = ray
        # Ray prints what it thinks of lost hosts where a command's answer is, and has no switch for that.
        self._ray._private.worker.print_to_stdstream = lambda *_, **__: None
        self._control = _Part(
            address,
            f"Ray's control service at {address} gives no answer.",
            "It runs on the fleet's head: tidegauge fleet status there says whether it does. If not: tidegauge fleet "
            "down on all hosts, then tidegauge fleet head and join.",
        )
        try:
            _run_watching_parts(
                lambda: ray.init(
                    address=address,
                    namespace=_NAMESPACE,
                    log_to_driver=False,
                    configure_logging=False,
                ),
                self._control,
            )
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            raise RunFailedError(
                f"Ray at {address} gives no access: {_lines_of_error(error)[0]}", _CONNECT_HINT
            ) from error

    def hosts(self) -> Sequence[FleetHost]:
        """See `Launcher.hosts`."""
        newest: dict[str, tuple[bool, int]] = {}
        hosts_by_address: dict[str, FleetHost] = {}
        for node in _run_watching_parts(self._ray.nodes, self._control):
            address, labels = str(node["NodeManagerAddress"]), node.get("Labels") or {}
            # A host that joined again is a new node of Ray's. The old one stays in its list, for a while as alive.
            rank = (bool(node["Alive"]), int(labels.get(JOINED_LABEL, 0)))
            if address not in newest or rank > newest[address]:
                newest[address] = rank
                refused = version_refusal(str(labels.get(VERSION_LABEL, "")))
                hosts_by_address[address] = FleetHost(
                    address, str(labels.get(ROLE_LABEL, "")), str(node["NodeID"]), rank[0], refused
                )
        hosts = sorted(hosts_by_address.values(), key=lambda host: host.address)
        # Ray itself misses one only after a while.
        with ThreadPoolExecutor(max(1, len(hosts))) as pool:
            answering = pool.map(
                lambda host: host.alive and _Part(f"{host.address}:{NODE_PORT}", "", "").answers(), hosts
            )
        return [replace(host, alive=answers) for host, answers in zip(hosts, answering, strict=True)]

    def start(self, host: FleetHost, kind: Callable[[], object]) -> RayRemote:
        """See `Launcher.start`."""
        actor = self._ray.remote(
            num_cpus=0,
            max_restarts=0,
            max_concurrency=_AT_ONCE,
            label_selector={"ray.io/node-id": host.identifier},
        )(kind)
        parts = (
            self._control,
            _Part(f"{host.address}:{NODE_PORT}", f"{host.address} is lost: Ray there gives no answer any more.", _LOST),
        )
        return RayRemote(self._ray, _run_watching_parts(actor.remote, self._control), host, parts)

    def close(self) -> None:
        """See `Launcher.close`."""
        leaving = threading.Thread(target=self._ray.shutdown, daemon=True)
        leaving.start()
        leaving.join(_LEAVE_S_MAX)
        if leaving.is_alive():
            # It waits for a control service that is gone, and would do so once more when this process ends.
            atexit.unregister(self._ray.shutdown)


@dataclass(frozen=True)
class _Part:
    """A process of Ray's that something depends on: its "host:port", and what is said when it is silent."""

    address: str
    silent: str
    hint: str

    def answers(self) -> bool:
        """Whether it takes a connection."""
        host, _, port = self.address.rpartition(":")
        try:
            socket.create_connection((host, int(port)), _LOOK_S).close()
        except OSError:
            return False
        return True


def _run_watching_parts(work: Callable[[], Result], *parts: _Part) -> Result:
    """What `work` returns or raises, which Ray would have wait without an end, or for a minute, for what is gone.

    Raises `RunFailedError` if one of the parts that it depends on goes silent meanwhile.
    """
    done: Future[Result] = Future()
    # No pool: this process would wait for its threads when it ends.
    threading.Thread(target=_fulfil_future, args=(done, work), daemon=True).start()
    heard_s = dict.fromkeys(parts, time.monotonic())
    while not wait([done], _LOOK_S).done:
        for part in parts:
            if part.answers():
                heard_s[part] = time.monotonic()
            elif time.monotonic() - heard_s[part] > _SILENT_S_MAX:
                raise RunFailedError(part.silent, part.hint)
    return done.result()


def _fulfil_future(done: Future[Result], work: Callable[[], Result]) -> None:
    try:
        done.set_result(work())
    except BaseException as error:
        done.set_exception(error)


class RayRemote:
    """`Remote` as an actor."""

    def __init__(self, ray: Any, actor: Any, host: FleetHost, parts: Sequence[_Part]) -> None:
        self._ray = ray
        self._parts = parts
        self._actor = actor
        self._host = host

    def call(self, method: str, *arguments: object, timeout_s: float) -> Any:
        """See `Remote.call`."""
        errors = self._ray.exceptions
        remote_method = getattr(self._actor, method)
        try:
            return _run_watching_parts(
                lambda: self._ray.get(remote_method.remote(*arguments), timeout=timeout_s), *self._parts
            )
        except errors.GetTimeoutError as error:
            raise RunFailedError(
                f"{self._host.address} gave no answer to '{method}' within {trimmed(timeout_s)} s.",
                "Check that host, and that no firewall is between: tidegauge fleet join printed the ports.",
            ) from error
        except errors.RayTaskError as error:
            if isinstance(error.cause, TidegaugeError | OSError):
                raise error.cause from error
            raise RunFailedError(f"{self._host.address} failed in '{method}': {_lines_of_error(error)[-1]}") from error
        except errors.RayError as error:
            raise RunFailedError(
                f"{self._host.address} is lost: Ray can't reach it or what was started there ('{method}').",
                _LOST,
            ) from error

    def end(self) -> None:
        """See `Remote.end`."""
        with contextlib.suppress(Exception):
            # It waits for a control service that is gone while that has not said yet that the actor is there.
            _run_watching_parts(lambda: self._ray.kill(self._actor), *self._parts[:1])


def _lines_of_error(error: BaseException) -> list[str]:
    """The lines of what an error says; the name of its class if that is nothing."""
    return str(error).strip().splitlines() or [type(error).__name__]
