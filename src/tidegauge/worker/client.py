"""The worker as the rest of Tidegauge sees it: `LoadWorker` over gRPC, and what its log says about why it ended."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import grpc

from tidegauge.agent.api import Host, ProcessStatus
from tidegauge.errors import AccessRefusedError, RunFailedError, SettingsRefusedError, StartFailedError, printable
from tidegauge.hosts.storage import read_end
from tidegauge.model.load import AckedMessage, ReceivedSequences, SecondFigures, SentSequences, TotalFigures
from tidegauge.model.message import CommittedPositions, ReadBack
from tidegauge.model.server import Setting
from tidegauge.worker import messages
from tidegauge.worker.api import (
    FILE_KEY_END,
    NOWHERE,
    LeftResults,
    LoadOrder,
    NoAnswerError,
    OnProgress,
    Positions,
    Share,
    Trace,
    WorkerLostError,
    ignore_progress,
    no_answer_error,
)
from tidegauge.worker.archive import LOAD_S_MIN, WRITING_S_MAX, Archive
from tidegauge.worker.generated import worker_pb2 as pb
from tidegauge.worker.generated.worker_pb2_grpc import WorkerStub
from tidegauge.worker.sequences import Missing, missing_sequences
from tidegauge.worker.site import Site
from tidegauge.worker.streams import Streams

_TAIL_BYTES = 16_384
_CAUSE = re.compile(r"(Caused by:|Exception\b|Error\b|OutOfMemory|\bERROR\b|\bFATAL\b)")
_STACK_LINE = re.compile(r"^\s*(at |\.\.\. \d+ more)")
_EMPTY_WORDS = ("Could not create the Java Virtual Machine", "A fatal exception has occurred")
"""What the JVM adds after the line that says what is wrong."""
_LINE_CHARS_MAX = 300
_OUT_OF_MEMORY = re.compile(r"OutOfMemoryError:?\s*(.*)")


def cause_from_log(path: Path) -> str:
    """The line that most likely says why: the last that names an error, else the last of all; "" if there is none."""
    return cause_in(read_end(path, _TAIL_BYTES))


def cause_in(text: str) -> str:
    """The line of a log's end that most likely says why: the last that names an error, else the last of all, or ""."""
    lines = [
        line.strip()
        for line in map(printable, text.splitlines())
        if line.strip() and not (_STACK_LINE.match(line) or any(words in line for words in _EMPTY_WORDS))
    ]
    causes = [line for line in lines if _CAUSE.search(line)] or lines
    return causes[-1][:_LINE_CHARS_MAX] if causes else ""


def memory_exhausted(cause: str) -> str:
    """Which memory ran out, in the JVM's words ("Java heap space"), if that is the cause from a log; else ""."""
    match = _OUT_OF_MEMORY.search(cause)
    return (match[1] or "no more is known") if match else ""


PROTOCOL_VERSION = 3
LEASE_S = 10.0
_SECRET_KEY = "tidegauge-secret"
_REFUSED_KEY = "tidegauge-refused"
"""What the trailing metadata of a call have that failed since something was refused: "topic", "producer settings"."""
_HANDSHAKE_S = 30.0
_PREPARE_S = 180.0
_PREPARE_S_MAX = 3600.0
"""With progress: tens of thousands of partitions take many minutes on a small machine."""
_TOPICS_DELETED_MAX = 1000
"""By one call, whose time is bounded: of tens of thousands each takes milliseconds."""
_PROGRESS_S = 1.0
"""How often a worker is asked whether it lives, while it carries out what may take long."""
_MESSAGE_BYTES_MAX = 256 << 20
_DEATH_WAIT_S = 5.0
_LOST = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN)
"""What gRPC says when a connection breaks, among other things."""
_DOUBT_S = 1.0
_PROBE_DOUBT_S = 0.05
"""A probe fails with UNAVAILABLE again and again while a system starts."""
_CHANNEL_OPTIONS = (
    # A proxy from the environment has no business between two processes of one host.
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
    # Histograms of many subscriptions can exceed the default 4 MiB.
    ("grpc.max_receive_message_length", _MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", _MESSAGE_BYTES_MAX),
    # Another worker may have had this port a moment ago: no shared connection state.
    ("grpc.use_local_subchannel_pool", 1),
)

Reply = TypeVar("Reply")


@dataclass(frozen=True)
class WorkerProcess:
    """A worker process that was started: where it listens, and where it lives."""

    host: Host
    site: Site
    name: str
    port: int
    secret: str
    log_path: Path
    scratch: Path
    """Its temporary files; removed with it."""
    heap_mb: int = 0
    """What it was given, MiB; 0 = not known."""
    spin_share_max: float | None = None
    """Of a CPU, that each load thread may spin away; None = as the worker does by itself."""
    grain_ns: int | None = None
    """Messages that are due within so much time are sent together; None = as the worker does by itself."""
    archive: Archive | None = None
    """Of its code, that it uses or writes."""
    words: str = "the worker"
    """What messages call it: "load generator 2 of 3 on HOST" where there are several."""
    answer_s_max: float = 30.0
    """How long it may take to answer what takes no time by itself."""

    def cause_from_log(self) -> str:
        """See `cause_from_log`: of a log that may be on another host."""
        if not self.site.tls:
            return cause_from_log(self.log_path)
        try:
            return cause_in(self.site.files.read_end(self.log_path, _TAIL_BYTES))
        except RunFailedError:
            return ""  # The host is gone.

    @property
    def subject(self) -> str:
        """`words` for the beginning of a sentence."""
        return self.words[:1].upper() + self.words[1:]


@dataclass
class _SentFile:
    """A file as a worker's host has it, and of what state here (number and time of the last change)."""

    remote_path: Path
    stamp: tuple[int, int] | None = None


class GrpcWorker:
    """A load generator that is up (see `LoadWorker` and `GroupMember`). May be called from any thread."""

    def __init__(self, process: WorkerProcess) -> None:
        """Shake hands and hold the worker. Raises `StartFailedError`."""
        self._process = process
        self._call_s = _HANDSHAKE_S
        self.processes: tuple[str, ...] = (process.name,)
        self.subject = process.subject
        self.log_path = process.log_path
        self._metadata = ((_SECRET_KEY, process.secret),)
        address = f"{process.site.address}:{process.port}"
        credentials: Any = None
        if process.site.tls is None:
            self._channel = grpc.insecure_channel(address, options=_CHANNEL_OPTIONS)
        else:
            tls = process.site.tls
            credentials = grpc.ssl_channel_credentials(tls.authority, tls.key, tls.certificate)
            self._channel = grpc.secure_channel(address, credentials, options=_CHANNEL_OPTIONS)
        self._streams = Streams(address, _CHANNEL_OPTIONS, self._metadata, credentials)
        self._stub: Any = WorkerStub(self._channel)  # type: ignore[no-untyped-call]
        self._closing = threading.Event()
        self._started_s = 0.0
        self._load_s = 0.0
        self.clock_ahead_ns = 0
        self._sent: dict[str, _SentFile] = {}
        """Where the worker's host has files that were sent to it, by where they are here."""
        self._hold: Any = None
        try:
            reply = self._ask_worker("Handshake", pb.HandshakeRequest(protocol_version=PROTOCOL_VERSION))
            if reply.protocol_version != PROTOCOL_VERSION:
                raise StartFailedError(
                    f"{process.subject} speaks protocol version {reply.protocol_version}, this is {PROTOCOL_VERSION}.",
                    "Run `make build`.",
                )
            self._hold = self._streams.hold(pb.HoldRequest(lease_ms=round(LEASE_S * 1e3)), LEASE_S / 4)
        except BaseException:
            self._streams.close()
            self._channel.close()
            raise
        self._call_s = process.answer_s_max
        self.facts = messages.facts_of(reply)
        # A number on another host is no process of this one.
        self.pids: tuple[int, ...] = () if process.site.tls else (self.facts.pid,)

    def probe(
        self,
        driver: str,
        connection: Mapping[str, str],
        timeout_s: float,
        topic: str = "",
        *,
        copies_of_cluster: bool = False,
    ) -> float:
        """See `LoadWorker.probe`."""
        # The topic must be new: another message in it would be taken for ours.
        request = pb.ProbeRequest(
            connection=self._connection_message(driver, connection),
            topic=topic or f"tidegauge-probe-{time.time_ns()}",
            timeout_ms=round(timeout_s * 1e3),
            copies_of_cluster=copies_of_cluster,
        )
        took_ns: int = self._ask_worker("Probe", request, timeout_s + self._call_s).took_ns
        return took_ns / 1e9

    def witness(self, order: LoadOrder, count: int, pause_s: float, timeout_s: float) -> tuple[AckedMessage, ...]:
        """See `LoadWorker.witness`."""
        request = pb.WitnessRequest(
            order=messages.prepare_request(self._with_files(order)),
            messages=count,
            pause_ms=round(pause_s * 1e3),
            timeout_ms=round(timeout_s * 1e3),
        )
        reply = self._ask_worker("Witness", request, _PREPARE_S)
        ahead_ns = self.clock_ahead_ns
        return tuple(AckedMessage(m.sent_mono_ns - ahead_ns, m.acked_mono_ns - ahead_ns) for m in reply.messages)

    def _with_files(self, order: LoadOrder) -> LoadOrder:
        """The order with files as the worker's host has them."""
        return replace(self._process.site.order_with_its_files(order), connection=self._files_sent(order.connection))

    def _connection_message(self, driver: str, settings: Mapping[str, str]) -> pb.Connection:
        return pb.Connection(driver=driver, settings=self._files_sent(settings))

    def _files_sent(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Settings with the paths that their files (certificates, a key) have on the worker's host, if that is another.

        They go the way that the worker's own key goes, and with its scratch directory.
        """
        if self._process.site.tls is None:
            return dict(settings)
        for name, path in settings.items():
            if name.endswith(FILE_KEY_END) and path not in self._sent:
                self._sent[path] = _SentFile(self._process.scratch / f"{len(self._sent)}-{Path(path).name}")
        self._send_changed_files()
        sent = {path: str(file.remote_path) for path, file in self._sent.items()}
        return {name: sent.get(value, value) for name, value in settings.items()}

    def _send_changed_files(self) -> None:
        """Send the files that are others than those sent: a token is written anew before it expires."""
        for path, file in self._sent.items():
            state = Path(path).stat()
            stamp = (state.st_ino, state.st_mtime_ns)
            if stamp != file.stamp:
                self._process.site.files.write(file.remote_path, Path(path).read_text(), 0o600)
                file.stamp = stamp

    def describe(self, driver: str, connection: Mapping[str, str], topics: list[str]) -> list[Setting]:
        """See `LoadWorker.describe`."""
        request = pb.DescribeRequest(connection=self._connection_message(driver, connection), topics=topics)
        return messages.settings_of(self._ask_worker("Describe", request, _PREPARE_S))

    def prepare(self, order: LoadOrder, on_progress: OnProgress = ignore_progress) -> list[Setting]:
        """See `LoadWorker.prepare`. Given up when it has come no further for `_PREPARE_S`."""
        return messages.settings_of(self._ask_with_progress("Prepare", order, on_progress))

    def create_topics(self, order: LoadOrder, on_progress: OnProgress = ignore_progress) -> None:
        """See `GroupMember.create_topics`. Given up as `prepare` is."""
        self._ask_with_progress("CreateTopics", order, on_progress)

    def _ask_with_progress(self, name: str, order: LoadOrder, on_progress: OnProgress) -> Any:
        """Make a call that may take long, and wait for its answer while it comes further."""
        last_progress, since_s = ("", 0, 0), time.monotonic()

        def look(reply: Any) -> None:
            nonlocal last_progress, since_s
            progress = (reply.what, reply.done, reply.total)
            if progress != last_progress:
                last_progress, since_s = progress, time.monotonic()
                on_progress(*progress)
            elif time.monotonic() - since_s > _PREPARE_S:
                what, done, total = last_progress
                come = f" after {done:,} of {total:,} {what}" if what else ""
                raise RunFailedError(
                    f"{self._process.subject} came no further in {name} for {_PREPARE_S:.0f} s{come}.",
                    "It may be starved of CPU, or the system under test does not answer.",
                    self._process.log_path,
                )

        request = messages.prepare_request(
            self._with_files(order), self._process.spin_share_max, self._process.grain_ns
        )
        return self._ask_worker(name, request, _PREPARE_S_MAX, look)

    def start(self, in_s: float = 0.1) -> int:
        """See `LoadWorker.start`."""
        return self.start_at(time.monotonic_ns() + round(in_s * 1e9))

    def start_at(self, at_mono_ns: int) -> int:
        """See `GroupMember.start_at`."""
        request = pb.StartRequest(at_mono_ns=self._on_worker_clock(at_mono_ns))
        started: int = self._ask_worker("Start", request).started_mono_ns
        self._started_s = time.monotonic()
        return started - self.clock_ahead_ns

    def set_rate(self, msgs_per_s: float, at_mono_ns: int = 0) -> None:
        """See `LoadWorker.set_rate`."""
        self._ask_worker(
            "SetRate", pb.SetRateRequest(msgs_per_s=msgs_per_s, at_mono_ns=self._on_worker_clock(at_mono_ns))
        )

    def set_window(self, from_mono_ns: int, until_mono_ns: int) -> None:
        """See `LoadWorker.set_window`."""
        from_mono_ns, until_mono_ns = self._on_worker_clock(from_mono_ns), self._on_worker_clock(until_mono_ns)
        self._ask_worker("SetWindow", pb.SetWindowRequest(from_mono_ns=from_mono_ns, until_mono_ns=until_mono_ns))

    def _on_worker_clock(self, mono_ns: int) -> int:
        """An instant of the controller's clock on the worker's; 0 means none."""
        return mono_ns + self.clock_ahead_ns if mono_ns else 0

    def pause_consumers(self, subscriptions: list[str]) -> None:
        """See `LoadWorker.pause_consumers`."""
        self._ask_worker("PauseConsumers", pb.PauseRequest(subscriptions=subscriptions))

    def resume_consumers(self, subscriptions: list[str]) -> None:
        """See `LoadWorker.resume_consumers`."""
        self._ask_worker("ResumeConsumers", pb.PauseRequest(subscriptions=subscriptions))

    def close_consumers(self, subscriptions: list[str]) -> None:
        """See `LoadWorker.close_consumers`."""
        self._ask_worker("CloseConsumers", pb.PauseRequest(subscriptions=subscriptions), _PREPARE_S)

    def watch(self, from_second: int = 0) -> Iterator[SecondFigures]:
        """See `LoadWorker.watch`."""
        call = self._stub.Watch(pb.WatchRequest(from_second=from_second), metadata=self._metadata)
        try:
            for message in call:
                yield self._second_from_message(message)
        except grpc.RpcError as error:
            if not self._closing.is_set():
                raise self._failure_of_call("Watch", error) from error
        finally:
            call.cancel()

    def follow(self, put: Callable[[SecondFigures | BaseException | None], bool]) -> None:
        """See `GroupMember.follow`."""

        def ended(error: Exception | None) -> None:
            if self._closing.is_set():
                put(None)
            else:
                put(self._failure_of_call("Watch", error) if isinstance(error, grpc.RpcError) else error)

        self._streams.follow("Watch", pb.WatchRequest(), lambda message: put(self._second_from_message(message)), ended)

    def _second_from_message(self, message: pb.SecondFigures) -> SecondFigures:
        # One that is being replaced is there in the next second.
        with contextlib.suppress(OSError, StartFailedError):
            self._send_changed_files()
        return messages.second_here(messages.second_of(message), self.clock_ahead_ns)

    def stop_producers(self, grace_s: float) -> int:
        """See `LoadWorker.stop_producers`."""
        return self.stop(grace_s)[0]

    def stop(self, grace_s: float) -> tuple[int, int]:
        """See `GroupMember.stop`."""
        request = pb.StopProducersRequest(grace_ms=round(grace_s * 1e3))
        reply = self._ask_worker("StopProducers", request, grace_s + self._call_s)
        stopped_mono_ns = reply.stopped_mono_ns
        return reply.unresolved, stopped_mono_ns - self.clock_ahead_ns if stopped_mono_ns else 0

    def totals(self) -> TotalFigures:
        """See `LoadWorker.totals`."""
        return messages.totals_here(
            messages.totals_of(self._ask_worker("Totals", pb.TotalsRequest())), self.clock_ahead_ns
        )

    def counts(self) -> TotalFigures:
        """See `LoadWorker.counts`: of one worker all of it is exact."""
        return self.totals()

    def sequences(self) -> Iterator[SentSequences | ReceivedSequences]:
        """See `GroupMember.sequences`."""
        yield from map(messages.sequences_of, self._read_stream("Sequences", pb.SequencesRequest()))

    def missing(self, subscriptions: Sequence[str]) -> Mapping[str, Missing]:
        """See `LoadWorker.missing`."""
        return missing_sequences([self.sequences()], subscriptions)

    def trace(self, order: LoadOrder, subscription: str, timeout_s: float, *, whole: bool) -> Trace:
        """See `LoadWorker.trace`."""
        request = messages.trace_request(self._with_files(order), subscription, timeout_s, whole=whole)
        return messages.trace_of(self._read_stream("Trace", request))

    def left_results(self, trial_id: int, share: Share | None = None) -> list[LeftResults]:
        """See `LoadWorker.left_results`. Of another host's none: nobody knows any more what its instants mean here."""
        if self._process.site.tls:
            return []
        return messages.left_results_of(
            self._read_stream("LeftResults", messages.left_results_request(trial_id, share))
        )

    def remove_left_results(self, trial_id: int, share: Share | None = None) -> None:
        """See `LoadWorker.remove_left_results`."""
        self._ask_worker("RemoveLeftResults", messages.left_results_request(trial_id, share))

    def finish(self, delete_topics: bool) -> None:
        """See `LoadWorker.finish`."""
        self._ask_worker("Finish", pb.FinishRequest(delete_topics=delete_topics), _PREPARE_S)
        self._load_s = time.monotonic() - self._started_s if self._started_s else 0.0

    def delete_topics(self, driver: str, connection: Mapping[str, str], topics: list[str]) -> None:
        """See `LoadWorker.delete_topics`."""
        for batch in _in_parts(topics):
            request = pb.DeleteTopicsRequest(connection=self._connection_message(driver, connection), topics=batch)
            self._ask_worker("DeleteTopics", request, _PREPARE_S)

    def remove_subscriptions(
        self, driver: str, connection: Mapping[str, str], topics: list[str], trial_id: int
    ) -> None:
        """See `LoadWorker.remove_subscriptions`."""
        for batch in _in_parts(topics):
            request = pb.DeleteTopicsRequest(
                connection=self._connection_message(driver, connection), kept_topics=batch, trial_id=trial_id
            )
            self._ask_worker("DeleteTopics", request, _PREPARE_S)

    def read_back(
        self,
        order: LoadOrder,
        subscription: str,
        file: Path,
        timeout_s: float,
        *,
        node: int = 0,
        last: Positions = NOWHERE,
    ) -> ReadBack:
        """See `LoadWorker.read_back`."""
        request = messages.read_back_request(order, subscription, file, timeout_s, node=node, last=last)
        return messages.read_back_of(self._ask_worker("ReadBack", request, timeout_s + _PREPARE_S), file)

    def committed_positions(self, order: LoadOrder) -> CommittedPositions:
        """See `LoadWorker.committed_positions`."""
        request = pb.CommittedPositionsRequest(order=messages.prepare_request(order))
        return messages.positions_of(self._ask_worker("CommittedPositions", request, _PREPARE_S))

    def ended(self, call: str) -> WorkerLostError | None:
        """See `GroupMember.ended`."""
        try:
            running = self._process.host.status(self._process.name).running
        except RunFailedError as error:
            return WorkerLostError(
                f"{self._process.subject} is lost with its host (seen during {call}). {error.message}",
                error.hint,
                self._process.log_path,
            )
        return None if running else self._death_error(call)

    def close(self) -> None:
        """See `LoadWorker.close`."""
        if self._closing.is_set():
            return
        archive = self._process.archive
        records = archive is not None and not archive.exists
        if records:
            # Before the lease ends, which would cut it short; or else at once, since a JVM that records takes seconds.
            self._end_recording(writes=self._load_s >= LOAD_S_MIN)
        self._closing.set()
        if not records:
            self._shut_down(pb.ShutdownRequest())
        self._hold.cancel()
        self._streams.close()
        self._channel.close()
        with contextlib.suppress(RunFailedError):
            self._process.host.stop(self._process.name)
        self._process.site.files.remove_directory(self._process.scratch)

    def _end_recording(self, *, writes: bool) -> None:
        """End a JVM that records for an archive, and keep what it writes if that is worth having."""
        process = self._process
        with contextlib.suppress(RunFailedError):
            if not writes:
                process.host.signal(process.name, signal.SIGKILL)
                return
            self._shut_down(pb.ShutdownRequest(write_archive=True))
            status = _await_end(process, WRITING_S_MAX)
            if process.archive is not None and status is not None and status.exit_code == 0:
                process.archive.keep(process.scratch)

    def _shut_down(self, request: Any) -> None:
        with contextlib.suppress(grpc.RpcError, ValueError):
            self._stub.Shutdown(request, timeout=2.0, metadata=self._metadata)

    def _ask_worker(
        self,
        call: str,
        request: object,
        timeout_s: float | None = None,
        look: Callable[[Any], None] = lambda _: None,
    ) -> Any:
        """One call. Raises `RunFailedError` with the cause in one line.

        Where it may take longer than what takes no time, for the system may be slow to answer, the worker shows
        meanwhile that it lives: else one that is stopped would be waited for all the time.

        Args:
            look: is given what it shows, and raises where waiting on is in vain.
        """
        timeout_s = self._call_s if timeout_s is None else timeout_s
        method: Any = getattr(self._stub, call)
        try:
            if timeout_s <= self._call_s:
                return method(request, timeout=timeout_s, metadata=self._metadata)
            answer = method.future(request, timeout=timeout_s, metadata=self._metadata)
            try:
                while True:
                    with contextlib.suppress(grpc.FutureTimeoutError):
                        return answer.result(timeout=_PROGRESS_S)
                    look(self._sign_of_life(call))
            finally:
                answer.cancel()
        except grpc.RpcError as error:
            raise self._failure_of_call(call, error, timeout_s) from error
        except ValueError as error:  # The channel was closed in another thread.
            raise self._closed_error(call) from error

    def _read_stream(self, call: str, request: object) -> Iterator[Any]:
        """All messages of a call, as they are wanted. Raises `RunFailedError`."""
        try:
            yield from self._streams.read(call, request, _PREPARE_S)
        except grpc.RpcError as error:
            raise self._failure_of_call(call, error, _PREPARE_S) from error
        except CancelledError as error:
            raise self._closed_error(call) from error

    def _sign_of_life(self, call: str) -> Any:
        """How far a preparation has come, which a worker answers at once, whatever else it does.

        Raises `WorkerLostError` if it does not: that is no system's doing.
        """
        try:
            return self._stub.PrepareProgress(
                pb.PrepareProgressRequest(), timeout=self._call_s, metadata=self._metadata
            )
        except ValueError as error:
            raise self._closed_error(call) from error
        except grpc.RpcError as error:
            failure = self._failure_of_call(call, error, self._call_s)
            if isinstance(failure, WorkerLostError) or not isinstance(failure, NoAnswerError):
                raise failure from error
            raise WorkerLostError(
                f"{self._process.subject} did not answer for {self._call_s:.0f} s (seen during {call}).",
                "It may be stopped, or the machine starved of CPU or memory; see its log.",
                self._process.log_path,
            ) from error

    def _closed_error(self, call: str) -> RunFailedError:
        return RunFailedError(f"{self._process.subject} was closed during {call}.", log_path=self._process.log_path)

    def _failure_of_call(self, call: str, error: grpc.RpcError, timeout_s: float = 0.0) -> RunFailedError:
        """What a gRPC error means to the user."""
        status: Any = error  # Every error that a call raises is a grpc.Call too.
        code, details = status.code(), printable(" ".join((status.details() or "").split()))[:500]
        log, subject = self._process.log_path, self._process.subject
        if self._is_gone(_PROBE_DOUBT_S if call == "Probe" else _DOUBT_S if code in _LOST else 0.0):
            return self._death_error(call)
        if code == grpc.StatusCode.DEADLINE_EXCEEDED:
            return self.ended(call) or no_answer_error(subject, call, timeout_s, log)
        if code == grpc.StatusCode.FAILED_PRECONDITION and call == "Handshake":
            return StartFailedError(
                f"{subject} does not fit this version of Tidegauge: {details}", "Run `make build`.", log
            )
        if code == grpc.StatusCode.UNKNOWN:  # An error that the worker did not expect: only its log says which.
            cause = self._process.cause_from_log()
            return RunFailedError(f"{subject} failed in {call}: {cause or details}", "See its log.", log)
        refused = dict(status.trailing_metadata() or ()).get(_REFUSED_KEY, "")
        role, _, what = refused.partition(" ")
        if what == "settings":
            refusal = SettingsRefusedError(details, "", log)
            refusal.role = role
            return refusal
        denied = code == grpc.StatusCode.PERMISSION_DENIED
        kind = AccessRefusedError if denied else RunFailedError
        failure = kind(details if denied else details or f"{subject} refused {call} ({code.name}).", "", log)
        failure.topic_refused = refused == "topic"
        return failure

    def _is_gone(self, doubt_s: float) -> bool:
        """Whether the worker has died. Its connection may break a moment before its port does: look for `doubt_s`."""
        deadline_s = time.monotonic() + doubt_s
        while True:
            try:
                socket.create_connection((self._process.site.address, self._process.port), timeout=2.0).close()
            except TimeoutError:
                return False  # Stopped or starved, but there.
            except OSError:
                return True
            if time.monotonic() >= deadline_s:
                return False
            time.sleep(0.02)

    def _death_error(self, call: str) -> WorkerLostError:
        """The error that says how the worker ended."""
        status = _await_end(self._process, _DEATH_WAIT_S)
        log = self._process.log_path
        cause = self._process.cause_from_log()
        exhausted = memory_exhausted(cause)
        if exhausted:
            return self._out_of_memory(exhausted, call)
        log_end = f" Its log ends with: {cause}" if cause else " Its log is empty."
        if status is None or status.exit_code is None:
            how = "does not listen any more"
        elif status.exit_code < 0:
            how = f"was killed by signal {-status.exit_code}"
        else:
            how = f"ended with exit code {status.exit_code}"
        return WorkerLostError(
            f"{self._process.subject} {how} (seen during {call}).{log_end}",
            "If memory was short, raise the campaign's 'worker: {heap: 512MiB, direct-memory: 256MiB}', or lower "
            "the number of producers, consumers or messages in flight.",
            log,
        )

    def _out_of_memory(self, exhausted: str, call: str) -> WorkerLostError:
        """The error for a worker that ended since some memory, named in the JVM's words, was all used."""
        heap_mb = self._process.heap_mb
        name = self._process.subject if self._process.words != WorkerProcess.words else "The load generator"
        who = f"{name}, whose heap is {heap_mb:,} MiB," if heap_mb else name
        more = f"{2 * heap_mb}MiB" if heap_mb else "1GiB"
        return WorkerLostError(
            f"{who} ran out of memory: {exhausted} (seen during {call}).",
            f"Give it more: 'worker: {{heap: {more}}}' in the campaign, or --worker-heap {more} of `tidegauge omb`; or "
            "lower the number of producers, consumers, subscriptions or partitions.",
            self._process.log_path,
        )


def _await_end(process: WorkerProcess, seconds_max: float) -> ProcessStatus | None:
    """The worker's status once its agent has seen it end; the last one if that takes too long, None of no agent."""
    deadline_s = time.monotonic() + seconds_max
    while True:
        try:
            status = process.host.status(process.name)
        except RunFailedError:
            return None
        if not status.running or time.monotonic() > deadline_s:
            return status
        time.sleep(0.02)


def _in_parts(topics: list[str]) -> list[list[str]]:
    return [topics[first : first + _TOPICS_DELETED_MAX] for first in range(0, len(topics), _TOPICS_DELETED_MAX)]
