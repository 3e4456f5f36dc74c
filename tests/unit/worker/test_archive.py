"""What a worker's JVM learnt about its code: found, written and kept, and the same for all workers of a run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tidegauge.distribution.java import JavaRuntime
from tidegauge.worker import archive as module
from tidegauge.worker.archive import JAVA_MAJOR, Archive, Archives, begins_with_archive

JAVA = JavaRuntime(Path("/opt/java"), "25.0.3", JAVA_MAJOR)


@pytest.fixture(autouse=True)
def jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """A jar of each of two drivers."""
    made = {driver: tmp_path / f"{driver}.jar" for driver in ("kafka", "pulsar")}
    for driver, jar in made.items():
        jar.write_text(driver)
    monkeypatch.setattr(module, "worker_class_path", lambda driver: [made[driver]])
    return made


def archives(tmp_path: Path, *drivers: str, uses: bool | None = None) -> Archives:
    """Those of a new run."""
    return Archives(drivers or ("kafka",), uses, tmp_path / "archives")


def recorded(archive: Archive | None, scratch: Path) -> Archive:
    """As if a JVM had ended that recorded for this archive."""
    assert archive is not None
    scratch.mkdir(exist_ok=True)
    flags = archive.flags(scratch)
    assert not begins_with_archive(flags)
    option, file = flags[0].split("=")
    assert option == "-XX:AOTCacheOutput"
    Path(file).write_text("compiled")
    return archive


def write(tmp_path: Path, driver: str) -> Archive:
    """A run writes the archive of a driver."""
    archive = recorded(archives(tmp_path, driver).archive_for(JAVA, driver), tmp_path / "scratch")
    assert archive.keep(tmp_path / "scratch")
    return archive


def test_a_run_without_an_archive_writes_one_and_the_next_run_uses_it(tmp_path: Path) -> None:
    run, scratch = archives(tmp_path), tmp_path / "scratch"
    first = recorded(run.archive_for(JAVA, "kafka"), scratch)
    assert first.keep(scratch)
    assert run.archive_for(JAVA, "kafka") is None, "the other workers of the run must be equal to the first"
    found = archives(tmp_path).archive_for(JAVA, "kafka")
    assert found is not None
    assert found.flags(scratch) == [f"-XX:AOTCache={first.path}"]
    assert begins_with_archive(found.flags(scratch))
    assert first.path.read_text() == "compiled"
    assert list(first.path.parent.iterdir()) == [first.path], "nothing else is left"


def test_systems_that_are_compared_begin_alike(tmp_path: Path) -> None:
    write(tmp_path, "kafka")
    run = archives(tmp_path, "kafka", "pulsar")
    assert run.archive_for(JAVA, "kafka") is None, "Pulsar's worker has none"
    recorded(run.archive_for(JAVA, "pulsar"), tmp_path / "scratch").keep(tmp_path / "scratch")
    assert run.archive_for(JAVA, "kafka") is None, "it stays so until the run ends"
    later = archives(tmp_path, "kafka", "pulsar")
    for driver in ("kafka", "pulsar"):
        found = later.archive_for(JAVA, driver)
        assert found is not None
        assert found.exists


@pytest.mark.parametrize("uses", [True, False])
def test_a_run_that_is_gone_on_with_keeps_to_what_it_began_with(tmp_path: Path, uses: bool) -> None:
    write(tmp_path, "kafka")
    found = archives(tmp_path, uses=uses).archive_for(JAVA, "kafka")
    assert (found is not None and found.exists) == uses


def test_until_one_is_written_every_worker_records(tmp_path: Path) -> None:
    run, scratch = archives(tmp_path), tmp_path / "scratch"
    nothing = run.archive_for(JAVA, "kafka")
    assert nothing is not None
    assert not nothing.keep(scratch), "its JVM was killed"
    recorded(run.archive_for(JAVA, "kafka"), scratch)


def test_another_java_or_another_jar_has_another_archive(tmp_path: Path, jars: dict[str, Path]) -> None:
    paths = set()
    for java in (JAVA, JavaRuntime(Path("/opt/java"), "25.0.4", JAVA_MAJOR), JavaRuntime(Path("/other"), "25.0.3", 25)):
        found = archives(tmp_path).archive_for(java, "kafka")
        assert found is not None
        paths.add(found.path)
    jars["kafka"].write_text("built anew")
    rebuilt = archives(tmp_path).archive_for(JAVA, "kafka")
    assert rebuilt is not None
    assert rebuilt.path not in paths
    assert len(paths) == 3


def test_a_java_without_archives_gets_no_flag(tmp_path: Path) -> None:
    assert archives(tmp_path).archive_for(JavaRuntime(Path("/opt/java"), "21.0.9", 21), "kafka") is None


def test_old_archives_go_unless_they_are_in_use(tmp_path: Path) -> None:
    used = write(tmp_path, "pulsar").path
    scratch = tmp_path / "scratch"
    for version in range(9):
        java = JavaRuntime(Path("/opt/java"), f"25.0.{version}", JAVA_MAJOR)
        kept = recorded(archives(tmp_path).archive_for(java, "kafka"), scratch)
        os.utime(used, (1, 1))
        assert archives(tmp_path, "pulsar").archive_for(JAVA, "pulsar") is not None
        assert kept.keep(scratch)
        os.utime(kept.path, (version + 2, version + 2))
    assert len(list(kept.path.parent.iterdir())) == 6
    assert used.exists()


def test_a_cache_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    archive = recorded(archives(tmp_path).archive_for(JAVA, "kafka"), scratch)
    archive.path.parent.parent.joinpath("archives").write_text("a file where the directory should be")
    assert not archive.keep(scratch)


def test_an_interrupted_copy_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    archive = recorded(archives(tmp_path).archive_for(JAVA, "kafka"), scratch)

    def copy(_: Path, to: Path) -> None:
        to.write_text("half of")
        raise KeyboardInterrupt

    monkeypatch.setattr(module.shutil, "copyfile", copy)
    with pytest.raises(KeyboardInterrupt):
        archive.keep(scratch)
    assert not list(archive.path.parent.iterdir())


def test_what_a_kill_left_beside_an_archive_goes_and_what_is_being_written_stays(tmp_path: Path) -> None:
    directory = write(tmp_path, "kafka").path.parent
    left, written = directory / ".a.aot.1.new", directory / ".b.aot.2.new"
    for path in (left, written):
        path.touch()
    os.utime(left, (0, 0))
    write(tmp_path, "pulsar")
    assert not left.exists()
    assert written.exists()
