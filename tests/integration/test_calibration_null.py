"""A calibration with the real worker: it gives figures that can be, and leaves nothing behind. Not how fast it is."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from null_worker import BUILT

from tidegauge.agent.local import LocalHost
from tidegauge.worker import calibration
from tidegauge.worker.calibration import calibrate, calibration_subject

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not BUILT, reason="the worker is not built: run `make build`"),
]


@pytest.mark.slow
def test_one_worker_is_measured_with_each_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(calibration, "WARM_UP_S", 1.0)
    monkeypatch.setattr(calibration, "NEXT_WARM_UP_S", 0.5)
    # With more CPUs than most machines have, so that several clients are tried, too.
    of = calibration_subject()
    many = type(of)(of.machine, of.code, 4)
    monkeypatch.setattr(calibration, "calibration_subject", lambda: many)
    with LocalHost.open() as host:
        small, large = calibrate(host, [64, 64 * 1024], 0.25, measured_s=0.5)
        assert not host.status("worker").running
        assert list(tmp_path.glob("tidegauge-*")) == []
    assert (small.message_bytes, large.message_bytes, small.load_average) == (64, 64 * 1024, 0.25)
    assert (small.machine, small.code) == (of.machine, of.code)
    for found in (small, large):
        assert found.many is not None
        assert (found.one.clients, found.many.clients) == (1, 2)
        for pace in (found.one, found.many):
            assert pace.msgs_per_s > 100
            assert 0 < pace.cpus < 64
            assert pace.cpu_wait_share >= 0
    assert small.one.msgs_per_s > large.one.msgs_per_s
