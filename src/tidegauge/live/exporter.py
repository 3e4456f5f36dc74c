"""A run's newest figures for Prometheus, on loopback, as long as the run goes.

Gauges of the last whole second: a scraper keeps the history, and the run's directory has every second anyway.
Nothing is asked of servers or workers for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields

from prometheus_client import CollectorRegistry, Gauge, start_http_server

from tidegauge.errors import UserError
from tidegauge.model.events import Decided, Event, PhaseStarted, RunStarted, SecondSeen, TrialEnded, TrialKept, UseNow

LOOPBACK = "127.0.0.1"
PORT_MAX = 65535
GAUGES: Mapping[str, str] = {
    "tidegauge_trials": "Trials of the run as it is expected now",
    "tidegauge_trials_done": "Trials that have ended, with a result or without",
    "tidegauge_acknowledged_msgs_per_s": "Messages acknowledged in the last second; where nothing is sent, received",
    "tidegauge_acknowledged_mb_per_s": "Message values of these in the last second, 10^6 bytes",
    "tidegauge_response_p99_ms": "p99 of the response time in the last second",
    "tidegauge_end_to_end_p99_ms": "p99 of the end-to-end latency in the last second, of the slowest subscription",
    "tidegauge_backlog_msgs": "Messages that the slowest subscription has yet to receive",
    "tidegauge_host_cpu_share": "Share of all CPUs of the host that were busy",
    "tidegauge_server_cpus": "CPUs that all server processes used together",
    "tidegauge_worker_cpus": "CPUs that the load generator used",
    "tidegauge_server_resident_bytes": "Memory of all server processes together",
    "tidegauge_disk_written_bytes_per_s": "Written to the disks that are watched",
    "tidegauge_disk_read_bytes_per_s": "Read from the disks that are watched",
    "tidegauge_disk_busy_share": "Share of the time for which the busiest of these disks was busy",
    "tidegauge_loopback_bytes_per_s": "Sent over loopback",
    "tidegauge_server_gc_pause_s": "Pauses of servers' garbage collectors in the last second, together",
}
"""Every gauge with its meaning; those of a second have the label `trial`, and vanish with it."""
WORKER_GAUGES: Mapping[str, str] = {
    "tidegauge_worker_offered_msgs_per_s": "Messages that one load generator was to send in the last second",
    "tidegauge_worker_acknowledged_msgs_per_s": "Its messages acknowledged (reading: received) in the last second",
    "tidegauge_worker_received_msgs_per_s": "Messages that its consumers received in the last second",
    "tidegauge_worker_own_lag_max_ms": "How late it was by itself at most in the last second",
}
"""Gauges where several load generators carry out a trial; the label `worker` is its number from 1, beside `trial`."""
_OF_RUN = ("tidegauge_trials", "tidegauge_trials_done")


PHASE = "tidegauge_phase"


class Gauges:
    """An observer of a run that keeps its newest figures as gauges of a registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels: dict[str, tuple[str, ...]] = dict.fromkeys(GAUGES, ("trial",))
        labels |= dict.fromkeys(WORKER_GAUGES, ("trial", "worker")) | dict.fromkeys(_OF_RUN, ())
        self._gauges = {
            name: Gauge(name, meaning, labels[name], registry=self.registry)
            for name, meaning in {**GAUGES, **WORKER_GAUGES}.items()
        }
        self._phase = Gauge(PHASE, "1 for the current phase", ("trial", "phase"), registry=self.registry)
        self._workers_seen: list[int] = []
        self._done = 0

    def __call__(self, event: Event) -> None:
        """Take what happened."""
        match event:
            case RunStarted() | Decided():
                self._gauges["tidegauge_trials"].set(len(event.trials))
            case PhaseStarted():
                self._phase.clear()
                self._phase.labels(event.trial_id, event.phase).set(1)
            case SecondSeen():
                self._set_second_gauges(event)
            case TrialEnded() | TrialKept():
                self._done += 1
                self._gauges["tidegauge_trials_done"].set(self._done)
                self._clear_gauges(self._gauges.keys() - set(_OF_RUN))
                self._phase.clear()
                self._workers_seen = []
            case _:
                pass

    def _set_second_gauges(self, second: SecondSeen) -> None:
        self._set_gauge("acknowledged_msgs_per_s", second.trial_id, second.msgs_per_s)
        self._set_gauge("acknowledged_mb_per_s", second.trial_id, second.mb_per_s)
        self._set_gauge("response_p99_ms", second.trial_id, second.response_p99_ms)
        self._set_gauge("end_to_end_p99_ms", second.trial_id, second.end_to_end_p99_ms)
        self._set_gauge("backlog_msgs", second.trial_id, second.backlog)
        for field in fields(UseNow):
            gauge_name = "server_gc_pause_s" if field.name == "gc_pause_s" else field.name
            self._set_gauge(gauge_name, second.trial_id, getattr(second.use, field.name, None))
        numbers = [worker.worker for worker in second.workers]
        if numbers != self._workers_seen:  # One of them has nothing any more.
            self._clear_gauges(WORKER_GAUGES)
            self._workers_seen = numbers
        for worker in second.workers:
            values = (worker.offered_msgs_per_s, worker.msgs_per_s, worker.received_msgs_per_s, worker.own_lag_ms_max)
            for name, value in zip(WORKER_GAUGES, values, strict=True):
                if value is not None:
                    self._gauges[name].labels(second.trial_id, str(worker.worker)).set(value)

    def _set_gauge(self, name: str, trial: str, value: float | None) -> None:
        """What is not known in this second is left out, rather than exposed as it was."""
        gauge = self._gauges[f"tidegauge_{name}"]
        if value is None:
            gauge.clear()
        else:
            gauge.labels(trial).set(value)

    def _clear_gauges(self, names: Iterable[str]) -> None:
        for name in names:
            self._gauges[name].clear()


class Exporter(Gauges):
    """Gauges with the endpoint that exposes them: `with Exporter(9400) as exporter: ...`."""

    def __init__(self, port: int) -> None:
        """Listen on a port of loopback (0: any that is free). Raises `UserError` if that can't be."""
        if not 0 <= port <= PORT_MAX:
            raise UserError(f"--prometheus: {port} is no port.", f"Give a number from 1 to {PORT_MAX}.")
        super().__init__()
        try:
            self._server, self._thread = start_http_server(port, LOOPBACK, self.registry)
        except OSError as error:
            raise UserError(
                f"--prometheus: port {port} of {LOOPBACK} can't be listened on: {error.strerror}.",
                "Choose another one; 0 takes any that is free.",
            ) from error
        self.url = f"http://{LOOPBACK}:{self._server.server_port}/metrics"

    def __enter__(self) -> Exporter:
        return self

    def __exit__(self, *error: object) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5.0)
