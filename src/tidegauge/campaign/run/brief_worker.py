"""A load generator for a question or two to a cluster: it is started, asked and ended, and leaves nothing behind."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tidegauge.agent.api import Host
from tidegauge.worker.api import LoadWorker


@dataclass(frozen=True)
class BriefWorkers:
    """What starts them: a host, and a load generator on it for a driver, with its logs in a directory."""

    open_host: Callable[[], AbstractContextManager[Host]]
    start_worker: Callable[[Host, str, Path], LoadWorker]

    @contextmanager
    def open_worker(self, driver: str) -> Iterator[LoadWorker]:
        """Yields a load generator that ends with the block. Its logs go with it, or by the agent after a kill."""
        with self.open_host() as host, tempfile.TemporaryDirectory(prefix="tidegauge-brief-") as logs:
            host.track_directory(Path(logs))
            worker = self.start_worker(host, driver, Path(logs))
            try:
                yield worker
            finally:
                worker.close()
