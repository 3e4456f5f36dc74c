"""A run's newest figures sent to a Pushgateway, for machines that Prometheus can't reach.

The same gauges as those that are scraped, in Prometheus's text format by HTTP PUT, under the job `tidegauge` and the
run's name. A thread of its own sends them, so that a slow or dead gateway never delays a trial. What was sent is
deleted when the run ends: a gateway forgets nothing by itself, and figures of a run that is over would look new.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from prometheus_client import CollectorRegistry, delete_from_gateway, push_to_gateway
from prometheus_client.exposition import basic_auth_handler, default_handler

from tidegauge.errors import UserError
from tidegauge.live.exporter import Gauges
from tidegauge.model.events import Event, RunStarted

JOB = "tidegauge"
INTERVAL_S = 5.0
"""As often as a Prometheus that scrapes often: what a gateway gets more often nobody reads."""
_TIMEOUT_S = 5.0
_EXAMPLE = (
    "Give the gateway's address, such as http://pushgateway:9091; with a password: http://USER:PASSWORD@HOST:PORT."
)


class Pusher:
    """An observer of a run that sends what it saw: `with Pusher("http://localhost:9091", say) as pusher: ...`."""

    def __init__(self, url: str, say: Callable[[str], None], interval_s: float = INTERVAL_S) -> None:
        """Look whether the gateway at `url` answers. Raises `UserError` if it does not, or is no address.

        `say` takes the sentence that figures could not be sent, once for each stretch of failures.
        """
        self._gateway, self._handler = _gateway_of(url)
        self._say, self._interval_s = say, interval_s
        self._gauges = Gauges()
        self._run = ""
        self._failed = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._push_until_end, name="prometheus push", daemon=True)
        try:
            # An empty group is none: nothing is left by this.
            push_to_gateway(self._gateway, JOB, CollectorRegistry(), {"run": "none"}, _TIMEOUT_S, self._handler)
        except (OSError, ValueError) as error:
            raise UserError(f"--prometheus-push: {self._gateway} does not take figures: {error}.", _EXAMPLE) from error

    def __enter__(self) -> Pusher:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Send no more, and delete what was sent."""
        self._ended.set()
        self._thread.join(2 * _TIMEOUT_S)
        if self._run:
            self._try_gateway(partial(delete_from_gateway, self._gateway, JOB))

    def __call__(self, event: Event) -> None:
        """Take what happened."""
        if isinstance(event, RunStarted):
            self._run = Path(event.run_path).name
        self._gauges(event)

    def _push_until_end(self) -> None:
        while not self._ended.wait(self._interval_s):
            if self._run:
                self._try_gateway(partial(push_to_gateway, self._gateway, JOB, self._gauges.registry))

    def _try_gateway(self, ask: Callable[..., None]) -> None:
        """Ask the gateway for something. That it fails harms no run: it is said once, until it works again."""
        try:
            ask(grouping_key={"run": self._run}, timeout=_TIMEOUT_S, handler=self._handler)
            self._failed = False
        except (OSError, ValueError) as error:
            if not self._failed:
                self._say(f"Figures can't be sent to {self._gateway}: {error}. The run goes on.")
            self._failed = True


def _gateway_of(url: str) -> tuple[str, Any]:
    """The address without its password, and what sends there. Raises `UserError`."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UserError(f"--prometheus-push: the address is wrong: {error}.", _EXAMPLE) from error
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise UserError("--prometheus-push: the address must begin with http:// or https:// and name a host.", _EXAMPLE)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    gateway = f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path.rstrip('/')}"
    if parts.username is None:
        return gateway, default_handler

    user, password = unquote(parts.username), unquote(parts.password or "")

    def handle_with_password(
        url: str, method: str, timeout: float | None, headers: list[tuple[str, str]], data: bytes
    ) -> Callable[[], None]:
        return basic_auth_handler(url, method, timeout, headers, data, user, password)

    return gateway, handle_with_password
