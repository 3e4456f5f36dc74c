"""The real worker writes what its JVM learnt, and another one begins with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from null_worker import BUILT, order, run_trial

from tidegauge.agent.local import LocalHost
from tidegauge.distribution.java import find_java
from tidegauge.worker import client
from tidegauge.worker.archive import JAVA_MAJOR, JAVA_MAJOR_MIN, Archives
from tidegauge.worker.launch import WorkerOptions, start_worker

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(not BUILT, reason="the worker is not built: run `make build`"),
]


def use(host: LocalHost, logs: Path, archives: Archives) -> str:
    """A short trial. Returns the JVM's flag that names an archive."""
    logs.mkdir()
    worker = start_worker(host, "null", logs, WorkerOptions(archives=archives))
    try:
        (flag,) = (flag for flag in worker.facts.jvm_flags if "AOTCache" in flag)
        run_trial(worker, order(msgs_per_s=1_000.0), measure_s=1.0)
    finally:
        worker.close()
    return flag


@pytest.mark.skipif(
    BUILT and find_java("The load generator", JAVA_MAJOR_MIN).major < JAVA_MAJOR, reason=f"needs Java {JAVA_MAJOR}"
)
def test_one_run_writes_the_archive_and_the_next_one_uses_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "state"))
    place = tmp_path / "archives"
    with LocalHost.open() as host:
        assert use(host, tmp_path / "short", Archives(["null"], directory=place)).startswith("-XX:AOTCacheOutput=")
        assert not place.exists(), "after so short a load it would not be worth having"
        monkeypatch.setattr(client, "LOAD_S_MIN", 1.0)
        use(host, tmp_path / "writes", Archives(["null"], directory=place))
        (archive,) = place.iterdir()
        assert use(host, tmp_path / "uses", Archives(["null"], directory=place)) == f"-XX:AOTCache={archive}"
    logs = {name: (tmp_path / name / "worker.log").read_text() for name in ("short", "writes", "uses")}
    assert ["ends: it was told to" in log for log in logs.values()] == [False, True, False], logs
    assert "AOT" not in logs["short"], "it was ended at once, without writing for seconds"
    assert "aot" not in logs["uses"].lower(), "the JVM says so where it goes without"
