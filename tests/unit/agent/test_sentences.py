"""Every sentence of agents, on what they end, remove and can't do: where it is said, and where it would be false."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sentence_scenes import Scene, Stage, make_tests
from sentence_templates import Claim, claims_of, modules_of

from tidegauge.agent import reap, registry, rig, trees
from tidegauge.agent.children import outlives_sigkill_error
from tidegauge.agent.local import LocalHost
from tidegauge.agent.main import write_file
from tidegauge.agent.rig import AgentDisks, AgentNetwork
from tidegauge.errors import RunFailedError
from tidegauge.hosts import cgroups, fuse_disk, network, procfs
from tidegauge.hosts.procfs import Identity, Stat

MODULES = modules_of("agent")
NO_SENTENCES = (
    # What an agent writes into its log of whoever did not get in.
    "no handshake in time",
    "not let in: ",
)
PROCESS = Stat(Identity(7, 1), "D", 1, 7, 0, 0)
BOOT = "this boot"


def caught(call: Callable[[], Any]) -> Any:
    """What a call returns, or the error that it raises."""
    try:
        return call() or ""
    except RunFailedError as error:
        return error


def agent_gone(code: int | None, last_words: str = "") -> Scene:
    """The error of an agent whose process ended with this code, or has not been waited for."""

    def scene(stage: Stage) -> Any:
        stage.patch.setattr(registry, "last_words", lambda _: last_words)
        host = object.__new__(LocalHost)
        host.agent_id = "a" * 16
        host._process = SimpleNamespace(wait=lambda _: None, returncode=code)  # type: ignore[assignment]
        return host.gone_error()

    return scene


def agent_silent(_: Stage) -> Any:
    return object.__new__(LocalHost).silent_error("start", 30.0)


def written(*, is_there: bool) -> Scene:
    """What is said of a file that is to be written into a directory, or below a file."""

    def scene(stage: Stage) -> Any:
        (stage.path / "file").touch()
        return caught(lambda: write_file(stage.path / ("x" if is_there else "file/x"), "text", None))

    return scene


def cleaned(**found: Any) -> Scene:
    """What is said of what a dead agent left: `killed`, `stuck`, `removed`, `failures`, and why a `directory` stays."""

    def scene(stage: Stage) -> Any:
        directory = stage.path / "data"
        if "directory" in found:
            directory.mkdir()
        everything = (found.get("removed", []), found.get("failures", []))
        for name, answer in (
            ("_kill_all", (found.get("killed", []), found.get("stuck", []))),
            ("remove_everything", everything),
            ("remove_directory", found.get("directory", "")),
        ):
            stage.patch.setattr(reap, name, lambda *_, answer=answer: answer)
        stage.patch.setattr(registry, "knows_processes", lambda _: True)
        record = registry.AgentRecord("b" * 16, Identity(1, 1), BOOT, "pid:[1]", directories=(str(directory),))
        return reap._clean_locked(record)[0]

    return scene


def at_start(change: Callable[[Stage], Any]) -> Scene:
    """What is said at a start, after a change of what is in the state directory."""

    def scene(stage: Stage) -> Any:
        stage.patch.setenv("TIDEGAUGE_STATE", str(stage.path / "state"))
        stage.patch.setattr(reap, "clean_traces", lambda: [])
        change(stage)
        return reap.clean_leftovers()

    return scene


def with_trace(stage: Stage) -> None:
    stage.patch.setattr(reap, "clean_traces", lambda: ["tidegauge-1"])


def with_old_results(stage: Stage) -> None:
    stage.patch.setattr(reap, "RESULTS_AGE_S", -1.0)
    results = stage.path / "state" / "results"
    stage.patch.setattr(reap, "results_directory", lambda: results)
    results.mkdir(parents=True)
    (results / "1-1-of-1.results").touch()


def without_state(stage: Stage) -> None:
    (stage.path / "state").touch()


def refused_network(call: Callable[[AgentNetwork], Any], refusal: str = "needs root") -> Scene:
    """What a call of an agent's network says where the tools for it can't be used."""

    def scene(stage: Stage) -> Any:
        stage.patch.setattr(network, "network_refusal", lambda *_: refusal)
        stage.patch.setattr(network, "apply_rules", lambda _: None)
        stage.patch.setattr(network, "limit_rate", lambda *_: None)
        made = AgentNetwork("c" * 16, SimpleNamespace(hold_network=lambda _: None))  # type: ignore[arg-type]
        made._ports = {"node-1": network.Port("", "", "10.0.0.1")}
        return caught(lambda: call(made))

    return scene


def disk(call: Callable[[AgentDisks], Any], refusal: str = "needs root") -> Scene:
    """What a call of an agent's disks says where the kernel does not let us."""

    def scene(stage: Stage) -> Any:
        stage.patch.setattr(fuse_disk, "disk_refusal", lambda _: refusal)
        stage.patch.setattr(cgroups, "disk_refusal", lambda: refusal)
        stage.patch.setattr(cgroups, "limit_disk", lambda *_: None)
        stage.patch.setattr(rig, "_device_number_of", lambda _: "7:1")
        made = AgentDisks(SimpleNamespace(), SimpleNamespace())  # type: ignore[arg-type]
        stage.patch.setattr(made, "_device", lambda _: contextlib.nullcontext(3))
        return caught(lambda: call(made))

    return scene


def cut_beside(users: Mapping[int, str]) -> Scene:
    """What is said before the power of a disk is cut that these processes use."""

    def scene(stage: Stage) -> Any:
        made = AgentDisks(SimpleNamespace(members=lambda _: []), SimpleNamespace())  # type: ignore[arg-type]
        stage.patch.setattr(procfs, "users_of", lambda _: users)
        stage.patch.setattr(procfs, "read_stat", lambda _: PROCESS)
        with (stage.path / "file").open("w") as file:
            return caught(lambda: made._check_users([], {Path("/data"): file.fileno()}))

    return scene


def used(users: Mapping[int, str]) -> Scene:
    def scene(stage: Stage) -> Any:
        stage.patch.setattr(procfs, "users_of", lambda _: users)
        place: Any = SimpleNamespace(stat=lambda: SimpleNamespace(st_dev=1), is_mount=lambda: True)
        return rig._used_by(place)

    return scene


def threads(**states: str) -> Scene:
    def scene(stage: Stage) -> Any:
        stage.patch.setattr(trees, "thread_states", lambda _: dict(enumerate(states.values(), 7)))
        return trees.why_not_stopped(7)

    return scene


def ports(among: range | None) -> Scene:
    def scene(stage: Stage) -> Any:
        stage.patch.setattr(registry, "_can_bind", lambda *_: False)
        return caught(lambda: registry.find_free_ports(1, (), among))

    return scene


def tracked(path: Path) -> Scene:
    return lambda _: registry.tracking_refusal(path)


SCENES: dict[str, Scene] = {
    "a process that outlives SIGKILL": lambda _: outlives_sigkill_error("kafka-1", [PROCESS]),
    "an agent killed": agent_gone(-9),
    "an agent ended": agent_gone(1),
    "an agent just gone": agent_gone(None),
    "an agent without a lease": agent_gone(0),
    "an agent that does not answer": agent_silent,
    "a file that can be written": written(is_there=True),
    "a file that can not be written": written(is_there=False),
    "nothing left": cleaned(),
    "processes left": cleaned(killed=["kafka-1 (7)"]),
    "processes left that do not end": cleaned(stuck=["kafka-1 (7)"]),
    "a network left": cleaned(removed=["the network ab12"]),
    "a network left that stays": cleaned(failures=["the network ab12: busy"]),
    "a directory left": cleaned(directory=""),
    "a directory left that stays": cleaned(directory="/data: busy"),
    "a start": at_start(lambda _: None),
    "a start beside a trace": at_start(with_trace),
    "a start beside old figures": at_start(with_old_results),
    "a start without a state directory": at_start(without_state),
    "a network without rights": refused_network(lambda made: made.make(["node-1"])),
    "arrivals that can not be lost": refused_network(lambda made: made.lose_arrivals({"10.0.0.1": 0.1}, "")),
    "arrivals lost": refused_network(lambda made: made.lose_arrivals({"10.0.0.1": 0.1}, ""), ""),
    "packets that can not be lost": refused_network(lambda made: made.lose_packets("node-1", 0.1)),
    "packets lost": refused_network(lambda made: made.lose_packets("node-1", 0.1), ""),
    "a rate that can not be limited": refused_network(lambda made: made.limit_rate("node-1", 1000)),
    "a rate limited": refused_network(lambda made: made.limit_rate("node-1", 1000), ""),
    "a disk that can not be made": disk(lambda made: made.make(Path("/data/d"), 1 << 20, "ext4")),
    "a disk that can not be slow": disk(lambda made: made.throttle(Path("/data/d"), 1000, None)),
    "a slow disk": disk(lambda made: made.throttle(Path("/data/d"), 1000, None), ""),
    "a cut beside a stranger": cut_beside({99: "vim"}),
    "a cut beside nobody": cut_beside({}),
    "a disk in use": used({99: "vim"}),
    "a disk in no use": used({}),
    "a thread that runs": threads(one="T", other="R"),
    "threads that wait for a disk": threads(one="D", other="D"),
    "threads that stand": threads(one="T", other="D"),
    "no port of few": ports(range(7000, 7003)),
    "no port": ports(None),
    "a relative path": tracked(Path("data")),
    "a home": tracked(Path.home()),
    "a directory of a run": tracked(Path("/data/runs/7/kafka-1")),
}
CLAIMS = [
    *claims_of(
        "a process that outlives SIGKILL", "an agent killed", "{} can't be ended: process {}", "It hangs in the kernel"
    ),
    Claim("was killed by signal {}", "an agent killed", "an agent ended"),
    Claim("ended with exit code {}", "an agent ended", "an agent just gone"),
    Claim("ended since it heard nothing from this command for", "an agent without a lease", "an agent ended"),
    *claims_of(
        "an agent just gone", "a process that outlives SIGKILL", "The agent that holds this run's processes {}{}.",
        "Its processes end with it. Run",
    ),
    *claims_of(
        "an agent that does not answer", "an agent killed",
        "The agent that holds this run's processes did not answer", "It may be stopped, or wait for a disk",
    ),
    Claim("Free space or permissions there", "a file that can not be written", "a file that can be written"),
    Claim("Ended processes left by an earlier", "processes left", "processes left that do not end"),
    Claim("An earlier run left processes", "processes left that do not end", "processes left"),
    Claim("Removed {}, left by an earlier run.", "a network left", "a network left that stays"),
    Claim("Removed {}, left by an earlier run.", "a directory left", "a directory left that stays"),
    Claim("Could not remove what an earlier", "a network left that stays", "nothing left"),
    Claim("Could not remove a directory left", "a directory left that stays", "a directory left"),
    Claim("Removed the kernel trace {}", "a start beside a trace", "a start"),
    Claim("Removed figures of {}, left {} days", "a start beside old figures", "a start"),
    Claim("The state directory {} can't be", "a start without a state directory", "a start"),
    Claim("No network can be made", "a network without rights", "packets that can not be lost"),
    Claim("No packets can be dropped", "arrivals that can not be lost", "arrivals lost"),
    Claim("No packets can be dropped", "packets that can not be lost", "packets lost"),
    Claim("No rate can be limited", "a rate that can not be limited", "a rate limited"),
    Claim("No {} disk can be made at {}", "a disk that can not be made", "a disk that can not be slow"),
    Claim("The disk {} can't be slowed down", "a disk that can not be slow", "a slow disk"),
    Claim("{} has files open there", "a cut beside a stranger", "a cut beside nobody"),
    Claim("; in use by {}", "a disk in use", "a disk in no use"),
    Claim("thread {} of process {}", "a thread that runs", "threads that wait for a disk"),
    Claim("all threads of process {}", "threads that wait for a disk", "threads that stand"),
    Claim(" from {} to {}", "no port of few", "no port"),
    Claim("not an absolute path", "a relative path", "a home"),
    Claim("too much would be removed", "a home", "a directory of a run"),
]  # fmt: skip
texts, test_every_sentence_is_listed, test_a_sentence_is_said_where_it_is_true_and_not_beside = make_tests(
    MODULES, SCENES, CLAIMS, NO_SENTENCES, may_be_silent=True
)


def test_every_scene_is_of_a_claim() -> None:
    assert SCENES.keys() == {scene for claim in CLAIMS for scene in (claim.true_in, claim.false_in)}
