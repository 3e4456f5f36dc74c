"""The cache of distributions, with a repository on loopback and Maven replaced by a function that copies from it."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import socket
import tarfile
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tidegauge.distribution import maven, resolve
from tidegauge.distribution.cache import MANIFEST_NAME, cache_directory, locked
from tidegauge.distribution.coordinates import Coordinate, Recipe
from tidegauge.distribution.fetch import AbsentError, UnreachableError, fetch_artifact, fetch_text, repository_url
from tidegauge.distribution.maven import MavenRun
from tidegauge.errors import UserError

RECIPE = Recipe(
    system="kafka",
    version="4.3.1",
    root=Coordinate("test.kafka", "kafka_2.13", "4.3.1"),
    archive=Coordinate("test.kafka", "kafka-dist", "4.3.1", "tar.gz", "bin"),
    verified=("4.3.1",),
)
JARS = {"a.jar": b"first", "b.jar": b"second"}


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A repository on loopback that knows kafka_2.13 4.3.1 and lists further versions."""
    root = tmp_path / "repository"
    folder = root / RECIPE.root.folder
    (folder / "4.3.1").mkdir(parents=True)
    (root / RECIPE.root.pom.path).write_text("<project/>")
    versions = "".join(f"<version>{v}</version>" for v in ("3.9.2", "4.3.0", "4.3.1", "4.4.0"))
    (folder / "maven-metadata.xml").write_text(f"<metadata><versions>{versions}</versions></metadata>")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(root)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("MAVEN_REPO", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("TIDEGAUGE_CACHE", str(tmp_path / "cache"))
    yield root
    server.shutdown()
    server.server_close()
    thread.join()


class Maven:
    """Stands for `run_maven`: copies JARS, or fails with what it was told to say."""

    def __init__(self) -> None:
        self.calls: list[Sequence[str]] = []
        self.says = ""
        self.pause: Callable[[], None] = lambda: None

    def __call__(self, arguments: Sequence[str], directory: Path, report: object, subject: str) -> MavenRun:
        self.calls.append(arguments)
        assert (directory / "pom.xml").exists()
        self.pause()
        if self.says:
            return MavenRun(False, self.says)
        target = Path(next(a for a in arguments if a.startswith("-DoutputDirectory=")).partition("=")[2])
        for name, content in JARS.items():
            (target / name).write_bytes(content)
        return MavenRun(True, "")


@pytest.fixture
def fake(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Maven:
    stand_in = Maven()
    monkeypatch.setattr(resolve, "run_maven", stand_in)
    return stand_in


@pytest.fixture
def notes() -> list[str]:
    return []


def unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAVEN_REPO", "http://127.0.0.1:9")


OFFLINE = "[ERROR] Could not transfer artifact a:b:pom:1 from/to central (https://x): Connection refused"


def entry() -> Path:
    return cache_directory() / "distributions" / resolve.entry_name(RECIPE)


def left_over() -> list[str]:
    folder = cache_directory() / "distributions"
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def test_fetched_once(fake: Maven, notes: list[str]) -> None:
    first = resolve.provision(RECIPE, notes.append)
    again = resolve.provision(RECIPE, notes.append)
    assert first == again
    assert len(fake.calls) == 1
    assert {p.name: p.read_bytes() for p in first.directory.iterdir()} == JARS
    assert len(first.digest) == 64
    assert left_over() == [resolve.entry_name(RECIPE)]
    assert first.java_home is not None
    assert any("Fetching kafka 4.3.1" in note for note in notes)


def test_a_warm_cache_needs_neither_network_nor_maven(
    fake: Maven, notes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve.provision(RECIPE, notes.append)
    unreachable(monkeypatch)
    fake.says = OFFLINE
    notes.clear()
    assert resolve.provision(RECIPE, notes.append).version == "4.3.1"
    assert notes == []
    assert len(fake.calls) == 1


@pytest.mark.parametrize(
    ("harm", "expected"),
    [
        (lambda lib: (lib / "a.jar").write_bytes(b"FIRST"), "lib/a.jar is damaged"),
        (lambda lib: (lib / "a.jar").unlink(), "lib/a.jar is missing"),
        (lambda lib: (lib / "evil.jar").write_bytes(b"x"), "lib/evil.jar was added"),
        (lambda lib: (lib.parent / "manifest.json").write_text("{"), "no readable manifest"),
    ],
)
def test_a_damaged_entry_is_fetched_again(
    fake: Maven, notes: list[str], harm: Callable[[Path], object], expected: str
) -> None:
    resolve.provision(RECIPE, notes.append)
    harm(entry() / "lib")
    notes.clear()
    distribution = resolve.provision(RECIPE, notes.append)
    assert any(expected in note for note in notes)
    assert {p.name: p.read_bytes() for p in distribution.directory.iterdir()} == JARS
    assert len(fake.calls) == 2


def test_damaged_and_offline_is_one_clear_message(
    fake: Maven, notes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve.provision(RECIPE, notes.append)
    (entry() / "lib/a.jar").write_bytes(b"FIRST")
    unreachable(monkeypatch)
    fake.says = OFFLINE
    with pytest.raises(UserError) as caught:
        resolve.provision(RECIPE, notes.append)
    assert "a.jar is damaged" in caught.value.message
    assert "can't be reached" in caught.value.message
    assert "MAVEN_REPO" in caught.value.hint
    assert (entry() / "lib/b.jar").is_file(), "the old files go only when new ones are there"


def test_other_exclusions_mean_another_entry(fake: Maven, notes: list[str]) -> None:
    resolve.provision(RECIPE, notes.append)
    changed = Recipe(RECIPE.system, RECIPE.version, RECIPE.root, exclusions=("x:y",))
    resolve.provision(changed, notes.append)
    assert len(fake.calls) == 2


def test_versions_of_tidegauge_that_share_a_cache_leave_each_other_alone(fake: Maven, notes: list[str]) -> None:
    ours = resolve.provision(RECIPE, notes.append)
    changed = Recipe(RECIPE.system, RECIPE.version, RECIPE.root, exclusions=("x:y",))
    theirs = resolve.provision(changed, notes.append)
    assert ours.directory != theirs.directory
    assert {p.name: p.read_bytes() for p in ours.directory.iterdir()} == JARS, "still there for who is running it"
    assert resolve.provision(RECIPE, notes.append) == ours
    assert len(fake.calls) == 2, "and not fetched again in turns"
    assert left_over() == sorted(resolve.entry_name(recipe) for recipe in (RECIPE, changed))


def test_an_entry_of_another_recipe_is_not_taken_for_ours(fake: Maven, notes: list[str]) -> None:
    resolve.provision(RECIPE, notes.append)
    manifest = entry() / MANIFEST_NAME
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "recipe": "0" * 64}))
    resolve.provision(RECIPE, notes.append)
    assert any("(they were chosen by another version of Tidegauge): fetching them again" in note for note in notes)


def test_a_failed_fetch_leaves_nothing(fake: Maven, notes: list[str]) -> None:
    fake.says = "[ERROR] The moon is in the wrong house"
    with pytest.raises(UserError, match="wrong house"):
        resolve.provision(RECIPE, notes.append)
    assert left_over() == []


def test_credentials_of_a_mirror_are_not_recorded(
    fake: Maven, notes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAVEN_REPO", "http://me:s3cret@127.0.0.1:9")
    distribution = resolve.provision(RECIPE, notes.append)
    assert distribution.source == "http://127.0.0.1:9"
    assert "s3cret" not in (entry() / "manifest.json").read_text() + "".join(notes)
    fake.says = OFFLINE
    (entry() / "lib/a.jar").unlink()
    with pytest.raises(UserError) as caught:
        resolve.provision(RECIPE, notes.append)
    assert "s3cret" not in caught.value.message + caught.value.hint


def test_no_jars_is_no_success(fake: Maven, notes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolve, "run_maven", lambda *_: MavenRun(True, "BUILD SUCCESS"))
    with pytest.raises(UserError):
        resolve.provision(RECIPE, notes.append)


def test_an_unknown_version_names_the_nearest(fake: Maven, notes: list[str]) -> None:
    unknown = Recipe("kafka", "4.3.9", Coordinate("test.kafka", "kafka_2.13", "4.3.9"), verified=("4.3.1",))
    with pytest.raises(UserError) as caught:
        resolve.provision(unknown, notes.append)
    assert "kafka 4.3.9 does not exist" in caught.value.message
    assert "4.3.1, 4.3.0, 4.4.0" in caught.value.hint
    assert fake.calls == []


def test_an_incomplete_version_names_what_is_missing(fake: Maven, notes: list[str]) -> None:
    fake.says = "[ERROR] Could not find artifact test.kafka:parent:pom:4.3.1 in central (https://x)"
    with pytest.raises(UserError) as caught:
        resolve.provision(RECIPE, notes.append)
    assert "test.kafka:parent:pom:4.3.1 is missing" in caught.value.message
    assert "Tested: 4.3.1" in caught.value.hint


def test_the_archive_stands_in_for_incomplete_jars(fake: Maven, notes: list[str], repository: Path) -> None:
    fake.says = "[ERROR] Could not find artifact test.kafka:parent:pom:4.3.1 in central (https://x)"
    assert RECIPE.archive is not None
    path = repository / RECIPE.archive.path
    path.parent.mkdir(parents=True)
    files = {"kafka/lib/a.jar": b"first", "kafka/lib/deep/c.jar": b"no", "kafka/bin/run": b"no", "../lib/x.jar": b"no"}
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    Path(f"{path}.sha512").write_text(hashlib.sha512(path.read_bytes()).hexdigest())
    distribution = resolve.provision(RECIPE, notes.append)
    assert sorted(p.name for p in distribution.directory.iterdir()) == ["a.jar", "x.jar"]
    assert not (entry().parent / "lib").exists()
    assert "archive" in distribution.source


def test_concurrent_runs_fetch_once(fake: Maven, notes: list[str]) -> None:
    inside, go = threading.Event(), threading.Event()

    def pause() -> None:
        inside.set()
        assert go.wait(30)

    fake.pause = pause
    results: list[str] = []
    threads = [
        threading.Thread(target=lambda: results.append(resolve.provision(RECIPE, notes.append).digest))
        for _ in range(3)
    ]
    threads[0].start()
    assert inside.wait(30)
    for thread in threads[1:]:
        thread.start()
    while sum("waiting for it" in note for note in list(notes)) < 2:
        threading.Event().wait(0.01)
    go.set()
    for thread in threads:
        thread.join(30)
    assert len(fake.calls) == 1
    assert len(set(results)) == 1
    assert len(results) == 3


def test_a_lock_is_free_again_after_an_error(tmp_path: Path, notes: list[str]) -> None:
    with pytest.raises(ValueError, match="x"), locked(tmp_path, "a", notes.append):
        raise ValueError("x")
    with locked(tmp_path, "a", notes.append):
        assert notes == []


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TIDEGAUGE_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(UserError, match="can't be created"):
        resolve.provision(RECIPE, lambda _: None)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"TIDEGAUGE_CACHE": "/c"}, "/c"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/tidegauge"),
        ({"HOME": "/h"}, "/h/.cache/tidegauge"),
    ],
)
def test_where_the_cache_is(environment: dict[str, str], expected: str) -> None:
    assert cache_directory(environment) == Path(expected)


class TestFetch:
    FILE = Coordinate("g", "a", "1", "zip")

    def put(self, repository: Path, checksum: str) -> None:
        path = repository / self.FILE.path
        path.parent.mkdir(parents=True)
        path.write_bytes(b"content")
        Path(f"{path}.sha1").write_text(checksum)

    def test_whole(self, repository: Path, tmp_path: Path) -> None:
        self.put(repository, f"{hashlib.sha1(b'content').hexdigest()}  a-1.zip\n")
        fetch_artifact(self.FILE, tmp_path / "a", lambda _: None)
        assert (tmp_path / "a").read_bytes() == b"content"

    def test_damaged(self, repository: Path, tmp_path: Path) -> None:
        self.put(repository, hashlib.sha1(b"other").hexdigest())
        with pytest.raises(UserError, match="arrived damaged"):
            fetch_artifact(self.FILE, tmp_path / "a", lambda _: None)
        assert not (tmp_path / "a").exists()

    def test_absent(self, repository: Path, tmp_path: Path) -> None:
        with pytest.raises(AbsentError):
            fetch_artifact(self.FILE, tmp_path / "a", lambda _: None)

    def test_unreachable(self, monkeypatch: pytest.MonkeyPatch) -> None:
        unreachable(monkeypatch)
        with pytest.raises(UnreachableError) as caught:
            fetch_text(f"{repository_url()}/x")
        assert "MAVEN_REPO" in caught.value.hint

    @pytest.mark.parametrize(
        "answer", [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n4.3.1", b"no HTTP at all\r\n\r\n"]
    )
    def test_an_answer_that_is_none_or_breaks_off(self, answer: bytes) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:

            def answer_once() -> None:
                connection, _ = server.accept()
                with connection:
                    connection.recv(1 << 16)
                    connection.sendall(answer)

            thread = threading.Thread(target=answer_once)
            thread.start()
            with pytest.raises(UnreachableError):
                fetch_text(f"http://127.0.0.1:{server.getsockname()[1]}/x")
            thread.join()

    def test_an_address_that_is_none(self) -> None:
        with pytest.raises(UnreachableError, match="could not be fetched"):
            fetch_text("http://127.0.0.1:port/x")

    def test_maven_is_pinned_by_its_checksum(
        self, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = repository / maven.MAVEN.path
        path.parent.mkdir(parents=True)
        path.write_bytes(b"not maven")
        Path(f"{path}.sha512").write_text(hashlib.sha512(b"not maven").hexdigest())
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(UserError, match="arrived damaged"):
            maven.find_or_fetch_maven(lambda _: None)

    def test_maven_is_there_whole_or_not_at_all(
        self, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        archive = repository / maven.MAVEN.path
        archive.parent.mkdir(parents=True)
        with tarfile.open(archive, "w:gz") as tar:
            member = tarfile.TarInfo(f"apache-maven-{maven.MAVEN.version}/bin/mvn")
            member.size = len(b"#!/bin/sh")
            tar.addfile(member, io.BytesIO(b"#!/bin/sh"))
        monkeypatch.setattr(maven, "MAVEN_SHA512", hashlib.sha512(archive.read_bytes()).hexdigest())
        monkeypatch.setenv("PATH", str(tmp_path))

        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        tools = cache_directory() / "tools"
        with monkeypatch.context() as broken, pytest.raises(UserError, match=r"Apache Maven .* No space left"):
            broken.setattr(maven, "unpack_archive", full)
            maven.find_or_fetch_maven(lambda _: None)
        assert [path.name for path in tools.iterdir()] == [".maven.lock"]
        program = maven.find_or_fetch_maven(lambda _: None)
        assert program.read_bytes() == b"#!/bin/sh"
        assert [path.name for path in program.parent.parent.iterdir()] == ["bin"]
        assert not list(tools.glob("*.part"))


def test_a_cache_that_cannot_be_written_needs_no_lock(tmp_path: Path) -> None:
    (tmp_path / ".kafka-4.3.1.lock").mkdir()
    notes: list[str] = []
    with locked(tmp_path, "kafka-4.3.1", notes.append), locked(tmp_path, "kafka-4.3.1", notes.append):
        assert notes == [], "nobody waits for anybody"
    assert (tmp_path / ".kafka-4.3.1.lock").is_dir()
