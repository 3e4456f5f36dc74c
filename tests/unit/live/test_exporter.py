"""What a run exports to Prometheus, read as Prometheus reads it."""

from __future__ import annotations

import socket
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from worker_samples import worker_seen

from tidegauge import store
from tidegauge.cli.main import run_command
from tidegauge.errors import UserError
from tidegauge.live.exporter import GAUGES, WORKER_GAUGES, Exporter
from tidegauge.model.events import Decided, PhaseStarted, RunStarted, SecondSeen, TrialEnded, UseNow

WORKERS_OFFERED = "tidegauge_worker_offered_msgs_per_s"
USE = UseNow(0.5, 1.2, 0.7, 600 << 20, 5e6, 0.0, 0.97, 1e8, 0.01)
SECOND = SecondSeen("0001-peak-kafka", 5000.0, 5.12, 12.5, None, 42, USE)


def exposed(exporter: Exporter) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    with urllib.request.urlopen(exporter.url) as answer:
        text = answer.read().decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value for sample in samples}


def test_a_run_from_its_start_to_its_end() -> None:
    trial: Any = ("trial", "0001-peak-kafka")
    with Exporter(0) as exporter:
        exporter(RunStarted("runs/x", (None, None), 60.0))  # type: ignore[arg-type]
        exporter(PhaseStarted("0001-peak-kafka", "warm-up", "", None))
        exporter(PhaseStarted("0001-peak-kafka", "measure", "", None))
        exporter(SECOND)
        found = exposed(exporter)
        assert found["tidegauge_trials", ()] == 2
        assert found["tidegauge_phase", (("phase", "measure"), trial)] == 1
        assert ("tidegauge_phase", (("phase", "warm-up"), trial)) not in found
        assert found["tidegauge_acknowledged_msgs_per_s", (trial,)] == 5000
        assert found["tidegauge_response_p99_ms", (trial,)] == 12.5
        assert ("tidegauge_end_to_end_p99_ms", (trial,)) not in found
        assert found["tidegauge_backlog_msgs", (trial,)] == 42
        assert found["tidegauge_disk_busy_share", (trial,)] == 0.97
        assert found["tidegauge_server_cpus", (trial,)] == 1.2
        names = {name for name, _ in found} | {"tidegauge_end_to_end_p99_ms"}
        assert names == {*GAUGES, "tidegauge_phase"}

        # A second without an acknowledgement has no p99: the last one's would be exposed as its own.
        exporter(replace(SECOND, response_p99_ms=None))
        assert ("tidegauge_response_p99_ms", (trial,)) not in exposed(exporter)
        # So it is with what was used, where nobody knows it.
        exporter(replace(SECOND, use=None))
        assert ("tidegauge_server_cpus", (trial,)) not in exposed(exporter)

        exporter(TrialEnded(None, None, "failed"))  # type: ignore[arg-type]
        found = exposed(exporter)
        assert found["tidegauge_trials_done", ()] == 1
        assert not any(labels for _, labels in found)


def test_a_plan_that_changes_on_the_way_has_other_trials() -> None:
    with Exporter(0) as exporter:
        exporter(RunStarted("runs/x", (None, None), 60.0))  # type: ignore[arg-type]
        exporter(Decided("the search goes on", (None, None, None), 2, 40.0))  # type: ignore[arg-type]
        assert exposed(exporter)["tidegauge_trials", ()] == 3


def test_each_of_several_load_generators_has_its_own_figures() -> None:
    def offered(exporter: Exporter) -> dict[str, float]:
        found = exposed(exporter)
        return {dict(labels)["worker"]: value for (name, labels), value in found.items() if name == WORKERS_OFFERED}

    with Exporter(0) as exporter:
        exporter(replace(SECOND, workers=tuple(worker_seen(number, 10.0 * number) for number in (1, 2, 3))))
        assert offered(exporter) == {"1": 6_667.0, "2": 6_667.0, "3": 6_667.0}
        labels: Any = (("trial", "0001-peak-kafka"), ("worker", "2"))
        found = exposed(exporter)
        assert found["tidegauge_worker_acknowledged_msgs_per_s", labels] == 20.0
        assert found["tidegauge_worker_received_msgs_per_s", labels] == 5_000.0
        assert found["tidegauge_worker_own_lag_max_ms", labels] == 2.0
        # One that has nothing any more would be exposed as it was; in a closed loop nothing is offered.
        exporter(replace(SECOND, workers=(worker_seen(1), worker_seen(3))))
        assert set(offered(exporter)) == {"1", "3"}
        exporter(replace(SECOND, workers=(worker_seen(1, offered_msgs_per_s=None),)))
        assert not offered(exporter)
        exporter(TrialEnded(None, None, "failed"))  # type: ignore[arg-type]
        assert not any(labels for _, labels in exposed(exporter))


def test_only_loopback_listens() -> None:
    with Exporter(0) as exporter:
        assert exporter.url.startswith("http://127.0.0.1:")
        port = int(exporter.url.split(":")[2].split("/")[0])
        listens = [
            line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines() if f":{port:04X} " in line
        ]
        assert listens
        assert all(address.startswith("0100007F:") for address in listens)


def test_a_port_that_is_taken_or_none() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(UserError, match="can't be listened on"):
        Exporter(server.getsockname()[1])
    with pytest.raises(UserError, match="70000 is no port"):
        Exporter(70000)


def test_every_gauge_is_in_the_document() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs/tables/figures.md").read_text()
    assert [name for name in (*GAUGES, *WORKER_GAUGES) if f"`{name}`" not in text] == []


def test_a_port_that_can_not_be_had_leaves_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    campaign = tmp_path / "one.yaml"
    campaign.write_text("name: one\nsystems: [kafka]\ndurability: 3\nexperiments: [{name: peak}]\n")
    runs = tmp_path / "runs"
    assert run_command(["run", str(campaign), "--prometheus", "-1", "--runs-dir", str(runs)]) == 2
    assert "--prometheus -1: must be a whole number from 0 to 65535." in capsys.readouterr().err
    assert store.list_runs(runs) == []
