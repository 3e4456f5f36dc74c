"""A load generator for a short while: it is started, asked or measured and ended, and leaves nothing behind."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tidegauge.agent.api import Host
from tidegauge.worker.api import LoadWorker


@contextmanager
def open_brief_worker(
    host: Host, driver: str, start_worker: Callable[[Host, str, Path], LoadWorker]
) -> Iterator[LoadWorker]:
    """Yields a load generator that ends with the block. Its logs go with it, or by the agent after a kill."""
    with tempfile.TemporaryDirectory(prefix="tidegauge-brief-") as logs:
        host.track_directory(Path(logs))
        with closing(start_worker(host, driver, Path(logs))) as worker:
            yield worker


@dataclass(frozen=True)
class BriefWorkers:
    """What starts them: a host, and a load generator on it for a driver, with its logs in a directory."""

    open_host: Callable[[], AbstractContextManager[Host]]
    start_worker: Callable[[Host, str, Path], LoadWorker]

    @contextmanager
    def open_worker(self, driver: str) -> Iterator[LoadWorker]:
        """Yields a load generator that ends with the block, and so does its host. See `open_brief_worker`."""
        with self.open_host() as host, open_brief_worker(host, driver, self.start_worker) as worker:
            yield worker
