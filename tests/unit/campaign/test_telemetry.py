"""What others' servers report counts for each second until their next answer, as far as nothing better is known."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest
from patience import wait_for

from tidegauge.campaign.run import telemetry
from tidegauge.campaign.run.telemetry import UseRecorder
from tidegauge.model.events import Note
from tidegauge.model.use import HostUse, ProcessUse, Sample
from tidegauge.systems.metrics import Endpoint

HOST = HostUse(2, 0.2, 0.1, 0.0, 0.0, 1 << 33, 1 << 32, 0, 0, 0, 0, 0, 0, 0)
WORKER = ProcessUse("worker", 1, 9, 0.1, 0.0, (), 1 << 20, 0, 0, 0, 2.0)


class Server(BaseHTTPRequestHandler):
    """Uses half a CPU, by its own account, and may say something else instead."""

    looks = 0
    says = ""

    def do_GET(self) -> None:
        Server.looks += 1
        text = Server.says or f"jvm_info 1.0\nprocess_cpu_seconds_total {Server.looks * 0.05}\n"
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    Server.looks, Server.says = 0, ""
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/metrics"
        server.shutdown()


class Host:
    """An agent that sees these processes."""

    def __init__(self, *processes: ProcessUse) -> None:
        self.number, self.processes = 0, processes

    def samples(self, _after: int) -> list[Sample]:
        self.number += 1
        ns = self.number * 1_000_000_000
        return [Sample(self.number, ns, ns + 1_000_000_000, HOST, self.processes, (), 0.0)]


class Log:
    """Keeps what is stored."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []

    def append_sample(self, sample: Sample) -> None:
        self.samples.append(sample)

    def append_metrics(self, _rows: Any) -> None:
        """Nothing."""


def record(monkeypatch: pytest.MonkeyPatch, url: str, *processes: ProcessUse) -> tuple[UseRecorder, Log, list[Any]]:
    monkeypatch.setattr(telemetry, "METRICS_EVERY_S", 0.1)
    monkeypatch.setattr(telemetry, "_LOOK_S", 0.05)
    log, said = Log(), list[Any]()
    deployment: Any = SimpleNamespace(processes=(), metrics_endpoints=(Endpoint("b:1", url),))
    store: Any = SimpleNamespace(telemetry=log)
    host: Any = Host(WORKER, *processes)
    return UseRecorder(host, store, said.append, deployment, (), frozenset()), log, said


def servers_in(log: Log) -> list[ProcessUse]:
    return [process for sample in log.samples for process in sample.processes if process.name != "worker"]


def test_what_a_server_of_others_reports_is_recorded_second_by_second(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    recorder, log, said = record(monkeypatch, url)
    wait_for(lambda: len(servers_in(log)) >= 3, 60.0, "its figures are among those of some seconds")
    recorder.close()
    assert {process.host for process in servers_in(log)} == {"127.0.0.1"}
    assert all(process.cpu_s > 0 for process in servers_in(log))
    assert said == []


def test_what_is_seen_of_servers_counts_and_not_what_they_report(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    recorder, log, _ = record(monkeypatch, url, replace(WORKER, name="java (7)"))
    wait_for(lambda: len(recorder._exported) > 0 and len(log.samples) > 9, 60.0, "it was asked twice")
    recorder.close()
    assert {process.name for process in servers_in(log)} == {"java (7)"}


def test_an_endpoint_that_is_none_of_a_server_is_named_once(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    Server.says = "up 1\n"
    recorder, log, said = record(monkeypatch, url)
    wait_for(lambda: len(recorder._problems) > 0, 60.0, "a problem is known")
    recorder.close()
    words = "it reports nothing that is known of a server, and is no node exporter"
    assert said == [Note(f"b:1 is not asked for its own figures any more: {words}.")]
    assert not servers_in(log)


def test_what_is_not_reported_any_more_is_not_known(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    recorder, log, said = record(monkeypatch, url)
    wait_for(lambda: len(servers_in(log)) > 0, 60.0, "it reported")
    Server.says = "up 1\n"
    wait_for(lambda: not recorder._exported, 60.0, "it reports no more")
    recorder.close()
    assert len(said) == 1
    assert not [process for process in log.samples[-1].processes if process.name != "worker"]
