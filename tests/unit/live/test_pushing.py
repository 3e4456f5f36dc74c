"""What a run sends to a Pushgateway, read by a small one here; the dashboard asks for nothing that is not sent."""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from patience import wait_for
from prometheus_client.parser import text_string_to_metric_families

from tidegauge.cli.main import run_command
from tidegauge.errors import UserError
from tidegauge.live.exporter import GAUGES, PHASE, WORKER_GAUGES
from tidegauge.live.pushing import Pusher
from tidegauge.model.events import RunStarted, SecondSeen

DASHBOARD = Path(__file__).resolve().parents[3] / "grafana/tidegauge.json"
SECOND = SecondSeen("0001-peak-kafka", 5000.0, 5.12, 12.5, None, 42)


@dataclass
class Gateway:
    """A Pushgateway that keeps each request: method, path, password, body."""

    url: str = ""
    answer: int = 200
    requests: list[tuple[str, str, str, str]] = field(default_factory=list)

    def of(self, method: str, path: str) -> list[str]:
        return [body for seen, at, _, body in self.requests if (seen, at) == (method, path)]


@contextmanager
def listening() -> Iterator[Gateway]:
    gateway = Gateway()

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            gateway.requests.append((self.command, self.path, self.headers.get("Authorization", ""), body))
            self.send_response(gateway.answer)
            self.end_headers()

        def do_DELETE(self) -> None:
            self.do_PUT()

        def log_message(self, format: str, *arguments: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    gateway.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield gateway
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5.0)


def begin(pusher: Pusher) -> None:
    pusher(RunStarted("runs/2026-x-quick", (None, None), 60.0))  # type: ignore[arg-type]
    pusher(SECOND)


GROUP = "/metrics/job/tidegauge/run/2026-x-quick"


def test_figures_arrive_and_are_deleted_at_the_end() -> None:
    said: list[str] = []
    with listening() as gateway:
        with Pusher(gateway.url, said.append, interval_s=0.02) as pusher:
            begin(pusher)
            wait_for(lambda: bool(gateway.of("PUT", GROUP)), 20, "figures")
        body = gateway.of("PUT", GROUP)[-1]
        assert gateway.requests[-1][:2] == ("DELETE", GROUP)
    samples = {
        (sample.name, sample.labels.get("trial")): sample.value
        for family in text_string_to_metric_families(body)
        for sample in family.samples
    }
    assert samples["tidegauge_trials", None] == 2
    assert samples["tidegauge_acknowledged_msgs_per_s", "0001-peak-kafka"] == 5000
    assert samples["tidegauge_response_p99_ms", "0001-peak-kafka"] == 12.5
    assert ("tidegauge_end_to_end_p99_ms", "0001-peak-kafka") not in samples
    assert said == []


def test_a_password_is_sent_and_never_shown() -> None:
    said: list[str] = []
    with listening() as gateway:
        url = gateway.url.replace("http://", "http://me:p%40ss@")
        with Pusher(url, said.append, interval_s=0.02) as pusher:
            assert gateway.requests[0][2] == f"Basic {base64.b64encode(b'me:p@ss').decode()}"
            gateway.answer = 500
            begin(pusher)
            wait_for(lambda: bool(said), 20, "a failure")
        with pytest.raises(UserError) as caught:
            Pusher(url, said.append)
    assert "p%40ss" not in f"{said} {caught.value}"
    assert "p@ss" not in f"{said} {caught.value}"


def test_a_gateway_that_fails_harms_no_run_and_is_named_once() -> None:
    said: list[str] = []
    with listening() as gateway:
        with Pusher(gateway.url, said.append, interval_s=0.02) as pusher:
            gateway.answer = 503
            begin(pusher)
            wait_for(lambda: len(gateway.of("PUT", GROUP)) >= 3, 20, "three tries")
        assert len(said) == 1
        assert said[0].startswith(f"Figures can't be sent to {gateway.url}: HTTP Error 503")


@pytest.mark.parametrize("url", ["pushgateway:9091", "ftp://x", "http://", "http://x:99999", "http://x/?a=b", ""])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UserError, match="--prometheus-push") as caught:
        Pusher(url, lambda text: None)
    assert "http://pushgateway:9091" in caught.value.hint


def test_a_gateway_that_is_not_there_leaves_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with listening() as gateway:
        url = gateway.url
    assert run_command(["run", "quick", "--prometheus-push", url, "--runs-dir", str(tmp_path / "runs")]) == 2
    assert f"--prometheus-push: {url} does not take figures" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "runs").exists()


def dashboard_queries() -> list[str]:
    board = json.loads(DASHBOARD.read_text())
    return [target["expr"] for panel in board["panels"] for target in panel["targets"]]


def test_the_dashboard_asks_for_what_is_exported() -> None:
    names = {name for query in dashboard_queries() for name in re.findall(r"\b[a-z_][a-z_0-9]*\b", query)}
    assert names == {*GAUGES, *WORKER_GAUGES, PHASE}


def test_the_dashboard_has_the_parts_that_grafana_reads() -> None:
    board = json.loads(DASHBOARD.read_text())
    assert (board["title"], board["uid"], board["schemaVersion"]) == ("Tidegauge", "tidegauge", 39)
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    (variable,) = board["templating"]["list"]
    assert (variable["name"], variable["type"]) == ("datasource", "datasource")
    taken = set()
    for panel in board["panels"]:
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert place["x"] + place["w"] <= 24
        assert taken.isdisjoint(cells), panel["title"]
        taken |= cells
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
