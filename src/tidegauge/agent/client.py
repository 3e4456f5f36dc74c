"""The controller's side of an agent, whichever way leads to it. The agent carries out each call."""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from tidegauge.agent.api import ProcessSpec, ProcessStatus, ServersSeen
from tidegauge.agent.link import Link, error_from_json, from_line, to_line
from tidegauge.attestation.data_files import Copy, Message
from tidegauge.durability import WatchedSyncs
from tidegauge.errors import RunFailedError, TidegaugeError
from tidegauge.hosts import procfs
from tidegauge.hosts.environments import environment_of_helpers
from tidegauge.hosts.fsync import Calm
from tidegauge.model.host import FileSystem, FreeSpace
from tidegauge.model.rig import Ability, CutReport
from tidegauge.model.use import Sample
from tidegauge.plain import typed_value
from tidegauge.statistics.clocks import Exchange


class AgentRigCalls:
    """`Rig` of an agent's host. All methods may be called from any thread; the agent does one thing at a time."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def refusals(self) -> Mapping[Ability, str]:
        """See `Rig.refusals`."""
        refused: dict[Ability, str] = self._call("refusals")
        return refused

    def make_disk(self, place: Path, size_bytes: int, file_system: FileSystem = "ext4", node: str = "") -> None:
        """See `Rig.make_disk`: here, whosever it is."""
        self._call("make_disk", place=place, size_bytes=size_bytes, file_system=file_system)

    def remove_disk(self, place: Path) -> None:
        """See `Rig.remove_disk`."""
        self._call("remove_disk", place=place)

    def cut_power(self, processes: Sequence[str], places: Sequence[Path]) -> CutReport:
        """See `Rig.cut_power`."""
        return typed_value(CutReport, self._call("cut_power", processes=processes, places=places))

    def throttle_disk(self, place: Path, bytes_per_s: int | None = None, ops_per_s: int | None = None) -> None:
        """See `Rig.throttle_disk`."""
        self._call("throttle_disk", place=place, bytes_per_s=bytes_per_s, ops_per_s=ops_per_s)

    def hang_disk(self, place: Path) -> None:
        """See `Rig.hang_disk`."""
        self._call("hang_disk", place=place)

    def unhang_disk(self, place: Path) -> None:
        """See `Rig.unhang_disk`."""
        self._call("unhang_disk", place=place)

    def kill(self, processes: Sequence[str]) -> None:
        """See `Rig.kill`."""
        self._call("kill", names=processes)

    def pause(self, processes: Sequence[str]) -> None:
        """See `Rig.pause`."""
        self._call("pause", names=processes)

    def resume(self, processes: Sequence[str]) -> None:
        """See `Rig.resume`."""
        self._call("resume", names=processes)

    def make_network(self, nodes: Sequence[str]) -> Mapping[str, str]:
        """See `Rig.make_network`."""
        addresses: dict[str, str] = self._call("make_network", nodes=nodes)
        return addresses

    def remove_network(self) -> None:
        """See `Rig.remove_network`."""
        self._call("remove_network")

    def partition(self, sources: Collection[str], targets: Collection[str], both_ways: bool = True) -> None:
        """See `Rig.partition`."""
        self._call("partition", sources=sources, targets=targets, both_ways=both_ways)

    def heal(self) -> None:
        """See `Rig.heal`."""
        self._call("heal")

    def lose_packets(self, node: str, share: float) -> None:
        """See `Rig.lose_packets`."""
        self._call("lose_packets", node=node, share=share)

    def lose_arrivals(self, shares: Mapping[str, float], spared_ports: str) -> None:
        """Drop these shares of the packets that other hosts send to this one, by their addresses, and no others.

        `spared_ports`: of TCP and UDP at either end, of what is never dropped: "6379, 7100-7299".
        """
        self._call("lose_arrivals", shares=shares, spared_ports=spared_ports)

    def limit_rate(self, node: str, bytes_per_s: int | None) -> None:
        """See `Rig.limit_rate`."""
        self._call("limit_rate", node=node, bytes_per_s=bytes_per_s)

    def lift_all(self) -> None:
        """See `Rig.lift_all`."""
        self._call("lift_all")


LEASE_S = 15.0
RENEWALS_PER_LEASE = 4
CLOSE_MARGIN_S = 60.0
"""Beyond the longest grace: killing what hangs and removing directories takes time."""
_BURST_S_MAX = 10.0
_SEARCH_S_MAX = 3600.0
"""Of all data of servers, byte by byte."""
_ANSWER_S_MAX = 600.0
"""Of any other call: longer than the slowest, which makes a disk, and for which all others wait."""


def launch_arguments(agent_id: str, lease_s: float, *address: str) -> dict[str, Any]:
    """How an agent's process is started, as arguments of `subprocess`. `address`: where it listens, if it does."""
    return {
        # -P: never import from the working directory.
        "args": [sys.executable, "-P", "-m", "tidegauge.agent.main", str(lease_s), agent_id, *address],
        "cwd": "/",
        # The tools that it runs are known by it as its processes are: who cleans up after it ends them first.
        "env": {**environment_of_helpers(), procfs.MARKER: f"{agent_id}/agent"},
        "start_new_session": True,
    }


class AgentHost:
    """`Host` of one agent. All methods may be called from any thread.

    Two threads serve it: one renews the lease, one reads replies.
    """

    def __init__(self, name: str, link: Link, lease_s: float, unheard_s_max: float = _ANSWER_S_MAX) -> None:
        """`unheard_s_max`: an agent that says nothing for so long is lost."""
        self.name = name
        self.rig = AgentRigCalls(self._call_at_leisure)
        self._link = link
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Future[Any]] = {}
        self._waiting_lock = threading.Lock()
        self._is_gone = False
        self._is_silent = False
        """It was given up, since it did not answer: nobody knows whether it lives."""
        self._long_calls = 0
        """That wait for their answers now."""
        self._closing = threading.Event()
        self._grace_s_max = 0.0
        threading.Thread(target=self._read_replies, name="agent-replies", daemon=True).start()
        threading.Thread(
            target=self._renew_lease, args=(lease_s, unheard_s_max), name="agent-lease", daemon=True
        ).start()

    def start(self, spec: ProcessSpec) -> ProcessStatus:
        """See `Host.start`."""
        self._grace_s_max = max(self._grace_s_max, spec.stop_grace_s)
        return ProcessStatus(**self._call("start", spec=spec))

    def status(self, name: str) -> ProcessStatus:
        """See `Host.status`."""
        return ProcessStatus(**self._call("status", name=name))

    def stop(self, name: str) -> ProcessStatus:
        """See `Host.stop`."""
        return ProcessStatus(**self._call("stop", name=name))

    def signal(self, name: str, signal_number: int) -> None:
        """See `Host.signal`."""
        self._call("signal", name=name, signal_number=int(signal_number))

    def free_ports(self, count: int, among: range | None = None) -> list[int]:
        """See `Host.free_ports`. `among`: those that may be given; None = any."""
        ends = [among[0], among[-1]] if among else []
        return [int(port) for port in self._call("free_ports", count=count, among=ends)]

    def release_ports(self, ports: Sequence[int]) -> None:
        """See `Host.release_ports`."""
        self._call("release_ports", ports=ports)

    def track_directory(self, path: Path) -> None:
        """See `Host.track_directory`."""
        self._call("track_directory", path=path)

    def remove_directory(self, path: Path) -> None:
        """See `Host.remove_directory`."""
        with contextlib.suppress(RunFailedError):
            self._call_at_leisure("remove_directory", path=path)

    def write(self, path: Path, text: str, mode: int | None = None) -> Path:
        """See `Host.write`."""
        self._call_at_leisure("write", path=path, text=text, mode=mode)
        return path

    def make_directories(self, *paths: Path, mode: int | None = None) -> None:
        """See `Host.make_directories`."""
        self._call_at_leisure("make_directories", paths=paths, mode=mode)

    def read_end(self, path: Path, bytes_max: int) -> str:
        """See `Host.read_end`."""
        return str(self._call_at_leisure("read_end", path=path, bytes_max=bytes_max))

    def drop_page_cache(self, directories: Sequence[Path]) -> str:
        """See `hosts.memory.drop_page_cache`: of this host; of what is not there yet, where it will be made."""
        return str(self._call_at_leisure("drop_page_cache", directories=directories))

    def write_back(self, directories: Sequence[Path]) -> str:
        """See `Host.write_back`."""
        return str(self._call_at_leisure("write_back", directories=directories))

    def free_space(self, places: Sequence[Path]) -> list[FreeSpace]:
        """See `Host.free_space`."""
        spaces = self._call("free_space", places=places)
        return [FreeSpace(**{**space, "place": place}) for place, space in zip(places, spaces, strict=True)]

    def calm_disk(self, directory: Path) -> Calm:
        """See `Host.calm_disk`."""
        return typed_value(Calm, self._call_at_leisure("calm_disk", directory=directory))

    def find_copies(
        self, directories: Sequence[Path], trial_id: int, wanted: Collection[Message]
    ) -> Mapping[Message, tuple[Copy, ...]]:
        """See `Host.find_copies`."""
        copies_by_message: dict[Message, tuple[Copy, ...]] = {}
        for producer, sequence, file, offset in self._call_at_leisure(
            "find_copies", timeout_s=_SEARCH_S_MAX, directories=directories, trial_id=trial_id, wanted=sorted(wanted)
        ):
            message = (int(producer), int(sequence))
            copies_by_message[message] = (*copies_by_message.get(message, ()), Copy(Path(file), int(offset)))
        return copies_by_message

    def list_data_files(self, directories: Sequence[Path]) -> Sequence[str]:
        """See `Host.list_data_files`."""
        return list(map(str, self._call("list_data_files", directories=directories)))

    @contextlib.contextmanager
    def watch_syncs(self, processes: Sequence[str]) -> Iterator[Callable[[], WatchedSyncs]]:
        """See `Host.watch_syncs`."""
        finished = False

        def finish() -> WatchedSyncs:
            nonlocal finished
            finished = True
            return typed_value(WatchedSyncs, self._call_at_leisure("end_syncs"))

        try:
            self._call_at_leisure("begin_syncs", names=processes)
            yield finish
        finally:
            if not finished:
                with contextlib.suppress(TidegaugeError):
                    finish()

    def clock(self) -> int:
        """This host's CLOCK_MONOTONIC, ns."""
        return int(self._call("clock"))

    def agent_cpu_s(self) -> float:
        """See `Host.agent_cpu_s`."""
        return float(self._call("agent_cpu_s"))

    def follow_servers(self, clients: Sequence[str]) -> ServersSeen:
        """See `Host.follow_servers`."""
        return ServersSeen(self._call_at_leisure("follow_servers", clients=list(clients)))

    def samples(self, after: int) -> list[Sample]:
        """See `Host.samples`."""
        return [typed_value(Sample, sample) for sample in self._call("samples", after=after)]

    def clock_listen(self, address: str, ports: Sequence[int], secret: str) -> int:
        """Answer other agents' questions for this host's time. The UDP port, the first of these that is free.

        Raises `StartFailedError` if none is.
        """
        return int(self._call("clock_listen", address=address, ports=ports, secret=secret))

    def clock_burst(self, peers: Sequence[tuple[str, int]]) -> tuple[list[Exchange | None], float]:
        """The tightest of some exchanges with each of these, None without an answer; and `hosts.clock.slew_ppm` there.

        Asks these addresses and ports for their time.
        """
        answer = self._call("clock_burst", timeout_s=_BURST_S_MAX, peers=peers)
        return [stamps and Exchange(*stamps) for stamps in answer["exchanges"]], float(answer["slew_ppm"])

    def lost(self) -> None:
        """Called once when nothing comes from the agent any more, for whatever reason."""

    @abstractmethod
    def gone_error(self) -> RunFailedError:
        """The error that says that the agent is gone, and why if that is known."""

    @abstractmethod
    def silent_error(self, call: str, timeout_s: float) -> RunFailedError:
        """The error that says that the agent did not answer a call in time."""

    def _shut_down(self) -> list[str]:
        """End all processes and the agent; what could not be removed."""
        notes: list[str] = self._call_at_leisure("shutdown", timeout_s=self._grace_s_max + CLOSE_MARGIN_S)
        return notes

    def _call_at_leisure(self, call: str, timeout_s: float | None = None, **arguments: object) -> Any:
        """Ask for what may take long: the agent answers nobody else meanwhile."""
        with self._waiting_lock:
            self._long_calls += 1
        try:
            return self._call(call, timeout_s, **arguments)
        finally:
            with self._waiting_lock:
                self._long_calls -= 1

    def _call(self, call: str, timeout_s: float | None = None, **arguments: object) -> Any:
        """Ask for what is answered at once, or later without keeping others waiting, and wait for the answer.

        Raises `RunFailedError`, or what `link.error_to_json` knows.
        """
        timeout_s = _ANSWER_S_MAX if timeout_s is None else timeout_s
        answer: Future[Any] = Future()
        with self._waiting_lock:
            if self._is_gone:
                raise self.gone_error()
            number = next(self._numbers)
            self._waiting[number] = answer
        try:
            self._link.send(to_line({"id": number, "call": call, **arguments}))
            return answer.result(timeout_s)
        except TimeoutError as error:
            raise self.silent_error(call, timeout_s) from error
        except OSError as error:
            raise self.gone_error() from error
        finally:
            with self._waiting_lock:
                self._waiting.pop(number, None)

    def _renew_lease(self, lease_s: float, unheard_s_max: float) -> None:
        """Renew the lease, as any call does, and see that the agent lives: its kernel answers for one that is stopped.

        What takes long renews the lease when it is done.
        """
        while not self._closing.wait(lease_s / RENEWALS_PER_LEASE):
            if self._long_calls:
                continue
            try:
                self._call("hello", timeout_s=unheard_s_max)
            except RunFailedError:
                if not self._long_calls:
                    self._is_silent = not self._is_gone
                    self._link.close()
                    return

    def _read_replies(self) -> None:
        """Hand each reply to whom it is for, until the agent ends."""
        begun = b""
        while data := self._link.receive():
            *lines, begun = (begun + data).split(b"\n")
            for line in lines:
                message = from_line(line)
                with self._waiting_lock:
                    answer = self._waiting.pop(int(message["id"]), None)
                if answer is None:
                    continue
                if "error" in message:
                    answer.set_exception(error_from_json(message["error"]))
                else:
                    answer.set_result(message["result"])
        self.lost()
        with self._waiting_lock:
            self._is_gone = True
            waiting, self._waiting = list(self._waiting.values()), {}
        for left in waiting:
            left.set_exception(self.gone_error())
