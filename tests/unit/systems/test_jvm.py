"""How servers on a JVM are started that will be killed again and again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tidegauge.model.level import LevelChoice
from tidegauge.model.server import Distribution
from tidegauge.systems.api import DeployRequest
from tidegauge.systems.jvm import ARCHIVING_S_MAX, archive_flags, quick_start_flags, stop_grace_s


@pytest.fixture
def request_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeployRequest:
    monkeypatch.setenv("TIDEGAUGE_CACHE", str(tmp_path / "cache"))
    files = Distribution("kafka", "4.3.1", tmp_path / "kafka-4.3.1-abc" / "lib", None, "25.0.2", "0" * 64, "test")
    return DeployRequest(files, 1, LevelChoice(3), tmp_path / "data", tmp_path / "logs", 512, 256, starts_often=True)


def test_each_process_has_an_archive_of_its_own_for_its_files_and_java(request_of: DeployRequest) -> None:
    assert quick_start_flags(request_of) == ("-XX:TieredStopAtLevel=1", "-XX:+AutoCreateSharedArchive")
    (first,) = archive_flags(request_of, "kafka-1")
    archive = Path(first.removeprefix("-XX:SharedArchiveFile="))
    assert (archive.parent.name, archive.name) == ("kafka-4.3.1-abc", "kafka-1-java25.0.2.jsa")
    assert archive.parent.is_dir()
    assert archive_flags(request_of, "kafka-2") != (first,)


def test_a_java_without_archives_only_compiles_plainly(request_of: DeployRequest) -> None:
    old = replace(request_of, distribution=replace(request_of.distribution, java_version="17.0.15"))
    assert quick_start_flags(old) == ("-XX:TieredStopAtLevel=1",)
    assert archive_flags(old, "kafka-1") == ()


def test_servers_that_are_measured_run_as_always(request_of: DeployRequest) -> None:
    rarely = replace(request_of, starts_often=False)
    assert (quick_start_flags(rarely), archive_flags(rarely, "kafka-1")) == ((), ())
    assert stop_grace_s(rarely, 20.0) == 20.0
    assert stop_grace_s(request_of, 20.0) == ARCHIVING_S_MAX
