"""The gRPC client against a worker that misbehaves on purpose; the real worker has integration tests."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
from types import SimpleNamespace

import pytest
from fleet_samples import read_number, wait_until
from null_worker import order

from tidegauge.agent.api import ProcessSpec
from tidegauge.agent.local import LocalHost
from tidegauge.distribution.java import JavaRuntime
from tidegauge.errors import (
    GeneratorFailedError,
    RunFailedError,
    SettingsRefusedError,
    StartFailedError,
    UserError,
)
from tidegauge.model.load import SecondFigures, SentSequences
from tidegauge.model.workload import KeyFile, Payload, Workload
from tidegauge.worker import client as client_module
from tidegauge.worker.api import LoadOrder, NoAnswerError, WorkerLostError
from tidegauge.worker.client import GrpcWorker, WorkerProcess
from tidegauge.worker.generated import worker_pb2 as pb
from tidegauge.worker.site import Installed, Site, Tls

Connect = Callable[[str], GrpcWorker]


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHost]:
    monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "state"))
    with LocalHost.open() as host:
        yield host


def here(host: LocalHost) -> Site:
    """A place of which nothing matters but how it is reached."""
    return Site(host, Installed(JavaRuntime(Path("/"), "25", 25), (), Path("/"), Path("/")))


@pytest.fixture
def connect(host: LocalHost, tmp_path: Path) -> Iterator[Connect]:
    opened: list[GrpcWorker] = []

    def connect(mode: str, secret: str = "s3cret") -> GrpcWorker:
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        fake = Path(__file__).parents[2] / "support/fake_worker.py"
        host.start(
            ProcessSpec(
                name="worker",
                argv=(sys.executable, str(fake), str(scratch / "port"), mode),
                env={"PATH": os.defpath},
                cwd=str(tmp_path),
                log_path=str(tmp_path / "worker.log"),
                stdin_text="s3cret\n",
                stop_grace_s=5.0,
            )
        )
        port = read_number(scratch / "port")
        worker = GrpcWorker(WorkerProcess(host, here(host), "worker", port, secret, tmp_path / "worker.log", scratch))
        opened.append(worker)
        return worker

    yield connect
    for worker in opened:
        worker.close()


def test_handshake_and_close(host: LocalHost, connect: Connect, tmp_path: Path) -> None:
    worker = connect("good")
    assert worker.pids == (worker.facts.pid,) == (host.status("worker").pid,)
    assert worker.facts.drivers == {"null": "1"}
    assert worker.facts.jvm_flags == ("-Xmx1m",)
    wait_until((tmp_path / "holds").exists, "the lease is held")
    worker.close()
    worker.close()
    assert (tmp_path / "shutdown").exists()
    assert not host.status("worker").running
    assert not (tmp_path / "scratch").exists()


def test_files_of_a_connection_are_sent_to_a_worker_on_another_host(connect: Connect, tmp_path: Path) -> None:
    worker = connect("good")
    settings = {"tls.ca.path": str(tmp_path / "ca.pem"), "tls.key.path": str(tmp_path / "key.pem"), "auth.user": "a"}
    for name in ("ca", "key"):
        (tmp_path / f"{name}.pem").write_text(f"{name} in PEM")
    assert worker._files_sent(settings) == settings, "here they are where they are"
    apart = Tls(b"", b"", b"", lambda: ("", ""), range(1))
    worker._process = replace(worker._process, site=replace(worker._process.site, tls=apart))
    there = worker._files_sent(settings)
    assert there["auth.user"] == "a"
    for name in ("ca", "key"):
        sent = Path(there[f"tls.{name}.path"])
        assert sent.parent == tmp_path / "scratch"
        assert sent.read_text() == f"{name} in PEM"
        assert sent.stat().st_mode & 0o777 == 0o600
    assert worker._files_sent(settings) == there, "once"
    (tmp_path / "new").write_text("another key")
    (tmp_path / "new").replace(tmp_path / "key.pem")
    worker._second_from_message(pb.SecondFigures())
    assert Path(there["tls.key.path"]).read_text() == "another key", "whoever renews a file need not tell"
    (tmp_path / "key.pem").unlink()
    worker._second_from_message(pb.SecondFigures())


def test_a_proxy_in_the_environment_is_ignored(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "grpc_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert connect("good").facts.pid > 0


@pytest.mark.parametrize("mode", ["other version", "refuses version"])
def test_another_protocol_version_is_refused(connect: Connect, mode: str) -> None:
    with pytest.raises(StartFailedError, match=r"version.* 9") as caught:
        connect(mode)
    assert "make build" in caught.value.hint


def test_a_wrong_secret_is_refused(host: LocalHost, connect: Connect, tmp_path: Path) -> None:
    connect("good")
    port = read_number(tmp_path / "scratch" / "port")
    with pytest.raises(RunFailedError, match="the secret is wrong"):
        GrpcWorker(
            WorkerProcess(host, here(host), "worker", port, "guess", tmp_path / "worker.log", tmp_path / "scratch")
        )


def test_probe_in_seconds_and_its_failure_in_one_line(connect: Connect) -> None:
    worker = connect("good")
    assert worker.probe("null", {}, 1.0) == 1.5
    with pytest.raises(RunFailedError, match=r"^no leader for the partition$") as caught:
        worker.probe("null", {"fail": "message"}, 1.0)
    assert not caught.value.topic_refused
    with pytest.raises(RunFailedError, match=r"^no leader for the partition$") as caught:
        worker.probe("null", {"fail": "topic"}, 1.0)
    assert caught.value.topic_refused
    with pytest.raises(SettingsRefusedError, match=r"^no leader for the partition$") as refused:
        worker.probe("null", {"fail": "consumer settings"}, 1.0)
    assert refused.value.role == "consumer"
    assert refused.value.exit_code == UserError.exit_code


def test_watch_begins_where_asked_and_ends(connect: Connect) -> None:
    worker = connect("good")
    assert [(f.second, f.acked) for f in worker.watch(2)] == [(2, 20), (3, 30), (4, 40)]


def test_large_messages_pass(connect: Connect) -> None:
    assert len(connect("big").totals().window.response) == 20 << 20


def test_a_worker_that_dies_is_named_with_its_last_words(connect: Connect, tmp_path: Path) -> None:
    with pytest.raises(RunFailedError) as caught:
        connect("dies").totals()
    assert "ended with exit code 3 (seen during Totals)" in caught.value.message
    assert "java.lang.IllegalStateException: out of ideas" in caught.value.message
    assert caught.value.log_path == tmp_path / "worker.log"


def test_a_worker_out_of_memory_says_which_and_what_to_do(connect: Connect) -> None:
    with pytest.raises(RunFailedError) as caught:
        connect("full").totals()
    assert caught.value.message == "The load generator ran out of memory: Java heap space (seen during Totals)."
    assert "worker: {heap: 1GiB}" in caught.value.hint
    assert "--worker-heap 1GiB" in caught.value.hint


def test_a_worker_that_dies_ends_watch_with_the_cause(connect: Connect) -> None:
    seen = []
    with pytest.raises(RunFailedError, match="ended with exit code 3"):
        for figures in connect("dies").watch():
            seen.append(figures.second)
    assert seen == list(range(len(seen))), "what was sent just before the death may be lost, nothing else"


def follow(worker: GrpcWorker, wanted: int = 100) -> tuple[list[int], SimpleQueue[BaseException | None]]:
    """The seconds as they come, and what comes last."""
    seen: list[int] = []
    last: SimpleQueue[BaseException | None] = SimpleQueue()

    def put(item: SecondFigures | BaseException | None) -> bool:
        if isinstance(item, SecondFigures):
            seen.append(item.acked)
        else:
            last.put(item)
        return len(seen) < wanted

    worker.follow(put)
    return seen, last


def test_seconds_may_be_followed_without_a_thread_for_each_worker(connect: Connect) -> None:
    worker = connect("good")
    seen, last = follow(worker)
    assert last.get(timeout=30) is None
    assert seen == [0, 10, 20, 30, 40]
    few, last = follow(worker, wanted=2)
    with pytest.raises(Empty):
        last.get(timeout=0.5)
    assert few == [0, 10]


def test_whoever_follows_learns_why_it_ends(connect: Connect) -> None:
    _, last = follow(connect("dies"))
    error = last.get(timeout=30)
    assert isinstance(error, NoAnswerError)
    assert "ended with exit code 3 (seen during Watch)" in error.message


def test_a_figure_that_cannot_be_read_ends_the_following(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module.messages, "second_of", lambda _: 1 // 0)
    _, last = follow(connect("good"))
    assert isinstance(last.get(timeout=30), ZeroDivisionError)


def test_sequences_come_in_order_and_end_with_the_worker(connect: Connect) -> None:
    parts = [part for part in connect("good").sequences() if isinstance(part, SentSequences)]
    assert [part.producer for part in parts] == list(range(100))


def test_a_worker_that_dies_ends_sequences_with_the_cause(connect: Connect) -> None:
    with pytest.raises(NoAnswerError, match=r"exit code 3 \(seen during Sequences\)"):
        list(connect("dies").sequences())


def test_a_worker_that_is_closed_ends_sequences(connect: Connect) -> None:
    worker = connect("silent")
    parts = worker.sequences()
    next(parts)
    threading.Timer(0.5, worker.close).start()
    with pytest.raises(RunFailedError, match="was closed during Sequences"):
        list(parts)


def test_a_killed_worker_is_named(host: LocalHost, connect: Connect) -> None:
    worker = connect("good")
    host.signal("worker", signal.SIGKILL)
    with pytest.raises(NoAnswerError, match=r"was killed by signal 9 \(seen during SetRate\)") as caught:
        worker.set_rate(1.0)
    assert "worker: {heap:" in caught.value.hint, "the advice names the key of the campaign"
    assert "was killed by signal 9 (seen during Finish)" in str(worker.ended("Finish"))


def test_a_worker_that_does_not_answer_is_given_up(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = connect("silent")
    monkeypatch.setattr(worker, "_call_s", 0.3)
    with pytest.raises(NoAnswerError, match="did not answer Totals within"):
        worker.totals()
    assert worker.ended("Finish") is None


def test_a_worker_whose_host_is_lost_is_not_called_starved(
    host: LocalHost, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = connect("silent")
    monkeypatch.setattr(worker, "_call_s", 0.3)

    def lost(_name: str) -> None:
        raise RunFailedError("The host h2 is lost: its agent does not answer any more.", "Check that host.")

    monkeypatch.setattr(host, "status", lost)
    with pytest.raises(WorkerLostError) as caught:
        worker.totals()
    assert caught.value.message == (
        "The worker is lost with its host (seen during Totals). "
        "The host h2 is lost: its agent does not answer any more."
    )
    assert caught.value.hint == "Check that host."
    assert "lost with its host (seen during Finish)" in str(worker.ended("Finish"))


def test_a_call_may_take_longer_than_an_answer_while_the_worker_lives(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = connect("good")
    monkeypatch.setattr(client_module, "_PROGRESS_S", 0.05)
    monkeypatch.setattr(worker, "_call_s", 1.0)
    worker.finish(False)


def test_a_stopped_worker_is_not_waited_for_as_long_as_a_slow_system(
    host: LocalHost, connect: Connect, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    worker = connect("good")
    monkeypatch.setattr(client_module, "_PROGRESS_S", 0.05)
    monkeypatch.setattr(worker, "_call_s", 1.0)

    def stop() -> None:
        wait_until((tmp_path / "finishing").exists, "it is finishing")
        host.signal("worker", signal.SIGSTOP)

    threading.Thread(target=stop).start()
    with pytest.raises(GeneratorFailedError, match=r"did not answer for 1 s \(seen during Finish\)\.$") as caught:
        worker.finish(False)
    assert isinstance(caught.value, NoAnswerError)
    assert caught.value.log_path == tmp_path / "worker.log"


@pytest.mark.parametrize(("mode", "stalls"), [("good", False), ("stuck", True)])
def test_a_preparation_is_given_up_only_when_it_comes_no_further(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, mode: str, stalls: bool
) -> None:
    worker = connect(mode)
    clock_s = itertools.count(0, 50)
    monkeypatch.setattr(client_module, "_PROGRESS_S", 0.01)
    monkeypatch.setattr(client_module, "time", SimpleNamespace(monotonic=lambda: next(clock_s)))
    reports: list[tuple[str, int, int]] = []
    asked = LoadOrder({}, "null", "null", ("t",), 1, {}, "one", Workload(), 1.0, 1, 1, 1.0)
    if stalls:
        with pytest.raises(RunFailedError, match="no further in Prepare for 180 s after 0 of 9 partitions"):
            worker.prepare(asked)
        return
    worker.prepare(asked, lambda *seen: reports.append(seen))
    assert reports[-1] == ("partitions", 5, 9)
    assert next(clock_s) > 2 * client_module._PREPARE_S, "all in all it took longer than a stall may"


def test_very_many_topics_are_deleted_by_several_calls(connect: Connect, tmp_path: Path) -> None:
    worker = connect("good")
    names = [f"t-{number}" for number in range(2001)]
    worker.delete_topics("null", {}, names)
    worker.remove_subscriptions("null", {}, names[:1000], 7)
    assert (tmp_path / "deleted").read_text().split("\n") == ["1000 0", "1000 0", "1 0", "0 1000", ""]


def test_an_error_that_the_worker_did_not_expect_is_reported_from_its_log(connect: Connect, tmp_path: Path) -> None:
    with pytest.raises(RunFailedError, match=r"The worker failed in Totals: .*out of ideas") as caught:
        connect("raises").totals()
    assert caught.value.log_path == tmp_path / "worker.log"


def test_a_closed_worker_says_so(connect: Connect) -> None:
    worker = connect("good")
    worker.close()
    with pytest.raises(RunFailedError, match="was closed"):
        worker.totals()
    with pytest.raises(RunFailedError, match="was closed"):
        worker.prepare(LoadOrder({}, "null", "null", ("t",), 1, {}, "one", Workload(), 1.0, 1, 1, 1.0))


def test_an_order_names_files_as_the_load_host_has_them(host: LocalHost) -> None:
    key_file = KeyFile("/here/keys", 3, 2, 0.5)
    workload = Workload(payload=Payload(file="/here/bodies"), key_file=key_file)
    site = replace(here(host), sent_files={"/here/keys": "/there/1", "/here/bodies": "/there/2"})
    placed = site.order_with_its_files(order(workload=workload)).workload
    assert placed.payload.file == "/there/2"
    assert placed.key_file == replace(key_file, path="/there/1")
    assert site.order_with_its_files(order()).workload == order().workload
