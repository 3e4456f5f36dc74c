"""A real agent with real processes: start, status, stop, signals, ports, directories."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fleet_samples import read_number, runs, spec, wait_until

from tidegauge.agent import client, registry
from tidegauge.agent.api import ProcessSpec
from tidegauge.agent.children import Children
from tidegauge.agent.local import LocalHost
from tidegauge.agent.main import ProcessEnding
from tidegauge.errors import RunFailedError, StartFailedError
from tidegauge.hosts import procfs
from tidegauge.hosts.procfs import Stat


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "state"
    monkeypatch.setenv("TIDEGAUGE_STATE", str(directory))
    return directory


@pytest.fixture
def host(state: Path) -> Iterator[LocalHost]:
    with LocalHost.open() as host:
        yield host


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalHost]:
    """One for all tests that leave nothing running in it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIDEGAUGE_STATE", str(tmp_path_factory.mktemp("state")))
        host = LocalHost.open()
    with host:
        yield host


def test_environment_is_exactly_as_given(lasting: LocalHost, tmp_path: Path) -> None:
    given = {"A": "one two", "EMPTY": "", "ODD": os.fsdecode(b"\xff=\n")}
    log = tmp_path / "env.log"
    lasting.start(ProcessSpec("env", ("/usr/bin/env", "-0"), given, str(tmp_path), str(log)))
    wait_until(lambda: not lasting.status("env").running, "env ended")
    seen = dict(entry.split(b"=", 1) for entry in log.read_bytes().split(b"\0") if entry)
    marker = seen.pop(b"TIDEGAUGE_AGENT")
    assert seen == {b"A": b"one two", b"EMPTY": b"", b"ODD": b"\xff=\n"}
    assert marker.decode() == f"{lasting.agent_id}/env"


def test_standard_input_is_delivered_and_closed(lasting: LocalHost, tmp_path: Path) -> None:
    lasting.start(spec(tmp_path, "cat; echo end", stdin_text="sécret\n"))
    wait_until(lambda: not lasting.status("p").running, "cat saw the end of its input")
    assert (tmp_path / "p.log").read_text() == "sécret\nend\n"


def test_log_is_appended(lasting: LocalHost, tmp_path: Path) -> None:
    (tmp_path / "p.log").write_text("before\n")
    lasting.start(spec(tmp_path, "echo out; echo err >&2"))
    wait_until(lambda: not lasting.status("p").running, "ended")
    assert (tmp_path / "p.log").read_text() == "before\nout\nerr\n"


def test_exit_code_and_signal_are_reported(lasting: LocalHost, tmp_path: Path) -> None:
    lasting.start(spec(tmp_path, "exit 7", "seven"))
    lasting.start(spec(tmp_path, "sleep 1000", "killed"))
    lasting.signal("killed", signal.SIGKILL)
    wait_until(lambda: not lasting.status("seven").running and not lasting.status("killed").running, "both ended")
    assert lasting.status("seven").exit_code == 7
    assert lasting.status("killed").exit_code == -signal.SIGKILL
    with pytest.raises(RunFailedError, match="has ended already"):
        lasting.signal("killed", signal.SIGKILL)


def test_timer_slack_is_set_only_where_asked(lasting: LocalHost, tmp_path: Path) -> None:
    own = Path("/proc/self/timerslack_ns").read_text()  # Of another process only root may read it.
    for name, slack_ns, expected in (("fine", 1, "1\n"), ("usual", None, own)):
        lasting.start(spec(tmp_path, "cat /proc/self/timerslack_ns", name, timer_slack_ns=slack_ns))
        wait_until(lambda name=name: not lasting.status(name).running, f"{name} ended")
        assert (tmp_path / f"{name}.log").read_text() == expected


def test_a_process_may_open_as_many_files_as_its_hard_limit_allows(state: Path, tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))
    try:
        with LocalHost.open() as host:
            host.start(spec(tmp_path, "ulimit -Sn"))
            wait_until(lambda: not host.status("p").running, "ended")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    most = 1 << 20 if hard == resource.RLIM_INFINITY else min(hard, 1 << 20)
    assert int((tmp_path / "p.log").read_text()) == most


def test_process_leads_a_session_of_its_own_with_default_signals(host: LocalHost, tmp_path: Path) -> None:
    started = host.start(spec(tmp_path, "exec sleep 1000"))
    assert os.getsid(started.pid) == started.pid
    fields = dict(line.split(":\t") for line in Path(f"/proc/{started.pid}/status").read_text().splitlines())
    # Signals above 31 are the C library's own; what it ignores among them is inherited from whoever started the tests.
    standard = (1 << 31) - 1
    assert int(fields["SigIgn"], 16) & standard == 0
    assert int(fields["SigBlk"], 16) == 0


def test_status_counts_descendants(host: LocalHost, tmp_path: Path) -> None:
    burn = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"
    alone = host.start(spec(tmp_path, "exec sleep 1000", "alone"))
    host.start(spec(tmp_path, f"sh -c '{burn}'; setsid sh -c '{burn}; exec sleep 1000' & exec sleep 1000", "burner"))
    wait_until(lambda: host.status("burner").cpu_s >= 0.05, "CPU of an ended child and of one in another session")
    # While one of its processes becomes another there is less for a moment.
    wait_until(lambda: host.status("burner").resident_bytes > host.status("alone").resident_bytes > 0, "memory of both")
    assert host.status("alone").pid == alone.pid


def test_cpu_of_an_orphan_that_ended_is_kept(host: LocalHost, tmp_path: Path) -> None:
    burn = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; : > $0; until [ -e go ]; do sleep 0.02; done"
    host.start(spec(tmp_path, f"(sh -c '{burn}' one &); exec sleep 1000", "one"))
    host.start(spec(tmp_path, f"(setsid sh -c '{burn}' two &); exec sleep 1000", "two"))
    wait_until(lambda: (tmp_path / "one").exists() and (tmp_path / "two").exists(), "the orphans' work")
    before = [host.status(name) for name in ("one", "two")]
    assert all(status.cpu_s >= 0.02 for status in before)
    (tmp_path / "go").touch()
    for status in before:
        wait_until(lambda s=status: host.status(s.name).resident_bytes < s.resident_bytes, "the orphan ended")
        assert host.status(status.name).cpu_s >= status.cpu_s


def test_others_are_not_looked_at_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []

    def read_stat(pid: int) -> Stat | None:
        looked_at.append(pid)
        return original(pid)

    original = procfs.read_stat
    children = Children("a" * 16)
    first = children.start(spec(tmp_path, "exec sleep 1000", "first"))
    monkeypatch.setattr(procfs, "read_stat", read_stat)
    for _ in range(3):
        looked_at.clear()
        assert [stat.pid for stat in children.members(all_looked_at=False)["first"]] == [first.identity.pid]
    assert os.getppid() not in looked_at
    assert first.identity.pid in looked_at
    # What is new is seen, whatever had its number, and where it matters all are looked at.
    children._others = set(procfs.pids())
    second = children.start(spec(tmp_path, "exec sleep 1000", "second"))
    assert [stat.pid for stat in children.members(all_looked_at=False)["second"]] == [second.identity.pid]
    assert [stat.pid for stat in children.members()["first"]] == [first.identity.pid]
    for child in (first, second):
        child.popen.kill()
        child.popen.wait()


def test_cpu_counts_also_between_an_end_and_its_reaping(tmp_path: Path) -> None:
    children = Children("a" * 16)
    child = children.start(spec(tmp_path, "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"))
    wait_until(lambda: not children.members()["p"], "it ended, and is a zombie")
    unreaped = children.status("p")
    assert unreaped.running
    assert unreaped.resident_bytes == 0
    assert unreaped.cpu_s >= 0.02
    children.reap()
    assert child.exit_code == 0
    assert children.status("p").cpu_s == unreaped.cpu_s


def test_stop_ends_grandchildren_that_fork_twice_into_other_sessions(host: LocalHost, tmp_path: Path) -> None:
    escape = "(setsid sh -c 'echo $$ > orphan; exec sleep 1000' &)"
    hidden = "(setsid env -i sh -c 'echo $$ > hidden; exec sleep 1000' &)"
    host.start(spec(tmp_path, f"{escape}; {hidden}; sleep 1000 & echo $! > child; exec sleep 1000"))
    pids = [read_number(tmp_path / name) for name in ("orphan", "child")]
    hidden_pid = read_number(tmp_path / "hidden")
    status = host.stop("p")
    assert status.exit_code == -signal.SIGTERM
    assert not any(runs(pid) for pid in pids)
    # Without a marker nobody knows whose it is, but it does not outlive the agent.
    host.close()
    assert not runs(hidden_pid)


def test_stop_kills_what_ignores_sigterm(host: LocalHost, tmp_path: Path) -> None:
    host.start(spec(tmp_path, "trap '' TERM; : > ready; while :; do sleep 1; done", grace_s=0.3))
    wait_until((tmp_path / "ready").exists, "trap set")
    assert host.stop("p").exit_code == -signal.SIGKILL
    assert host.stop("p").exit_code == -signal.SIGKILL, "stopping twice is fine"


def test_stop_lets_a_process_end_in_its_own_way(host: LocalHost, tmp_path: Path) -> None:
    host.start(spec(tmp_path, "trap 'echo bye; exit 3' TERM; : > ready; while :; do sleep 0.05; done"))
    wait_until((tmp_path / "ready").exists, "trap set")
    assert host.stop("p").exit_code == 3
    assert (tmp_path / "p.log").read_text() == "bye\n"


def test_stop_wakes_a_stopped_process(host: LocalHost, tmp_path: Path) -> None:
    host.start(spec(tmp_path, "trap 'exit 4' TERM; : > ready; while :; do sleep 0.05; done", grace_s=1000))
    wait_until((tmp_path / "ready").exists, "trap set")
    host.signal("p", signal.SIGSTOP)
    assert host.stop("p").exit_code == 4


def test_a_process_that_stops_only_after_it_was_looked_at_is_woken_too(tmp_path: Path) -> None:
    children = Children("a" * 16)
    child = children.start(spec(tmp_path, "trap 'exit 4' TERM; : > ready; while :; do sleep 0.02; done"))
    wait_until((tmp_path / "ready").exists, "trap set")
    looked_at = [replace(stat, state="R") for stat in children.members()["p"]]
    os.kill(child.identity.pid, signal.SIGSTOP)
    wait_until(lambda: "T" in [stat.state for stat in children.members()["p"]], "it stopped")
    ending = ProcessEnding(child, time.monotonic() + 1000, lambda _ending: None)
    assert not ending.step(looked_at, time.monotonic())
    wait_until(lambda: children.reap() or child.exit_code is not None, "it ended")
    assert child.exit_code == 4


def test_others_are_served_while_a_stop_takes_its_time(host: LocalHost, tmp_path: Path) -> None:
    slow = "trap 'until [ -e go ]; do sleep 0.02; done; exit 5' TERM; : > ready; while :; do sleep 0.02; done"
    host.start(spec(tmp_path, slow, "slow", grace_s=1000))
    wait_until((tmp_path / "ready").exists, "trap set")
    stopping = threading.Thread(target=host.stop, args=("slow",))
    stopping.start()
    assert host.status("slow").running
    (tmp_path / "go").touch()
    stopping.join()
    assert host.status("slow").exit_code == 5


def test_a_name_can_be_used_again_only_once_it_has_ended(host: LocalHost, tmp_path: Path) -> None:
    host.start(spec(tmp_path, "exec sleep 1000"))
    with pytest.raises(StartFailedError, match="p runs already"):
        host.start(spec(tmp_path, "exec sleep 1000"))
    host.stop("p")
    assert host.start(spec(tmp_path, "exec sleep 1000")).running


def test_unknown_process(lasting: LocalHost) -> None:
    with pytest.raises(RunFailedError, match="nobody was never started here"):
        lasting.status("nobody")


def test_start_failures_name_the_cause(lasting: LocalHost, tmp_path: Path) -> None:
    def start(argv: tuple[str, ...] = ("/bin/true",), cwd: Path = tmp_path, log: Path = tmp_path / "x.log") -> None:
        lasting.start(ProcessSpec("x", argv, {}, str(cwd), str(log)))

    with pytest.raises(StartFailedError, match="/no/java: No such file or directory"):
        start(argv=("/no/java",))
    text = tmp_path / "text"
    text.write_text("not a program")
    with pytest.raises(StartFailedError, match="Permission denied"):
        start(argv=(str(text),))
    text.chmod(0o700)
    with pytest.raises(StartFailedError, match="Exec format error"):
        start(argv=(str(text),))
    with pytest.raises(StartFailedError, match=r"working directory .* does not exist"):
        start(cwd=tmp_path / "none")
    with pytest.raises(StartFailedError, match=r"log .*x\.log can't be written \(No such file or directory\)"):
        start(log=tmp_path / "none" / "x.log")
    with pytest.raises(StartFailedError, match="Is a directory"):
        start(log=tmp_path)
    with pytest.raises(StartFailedError, match="standard input"):
        lasting.start(spec(tmp_path, "cat", stdin_text="x" * 70_000))
    start()


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small tmpfs")
def test_a_full_disk_under_the_log_disturbs_nothing(host: LocalHost, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tidegauge-test", small], check=True)
    try:
        host.start(ProcessSpec("p", ("/usr/bin/yes",), {}, str(tmp_path), str(small / "p.log")))
        wait_until(lambda: not host.status("p").running, "yes met the full disk")
        assert host.status("p").exit_code == 1
        assert (small / "p.log").stat().st_size > 0
        host.start(ProcessSpec("q", ("/bin/echo", "more"), {}, str(tmp_path), str(small / "p.log")))
        assert host.stop("q").exit_code == 1
    finally:
        host.close()
        subprocess.run(["umount", small], check=True)


def test_ports_are_never_given_twice_even_by_two_agents(host: LocalHost) -> None:
    with LocalHost.open() as other:
        ports = host.free_ports(50) + other.free_ports(50) + host.free_ports(50)
    assert len(set(ports)) == 150


def test_ports_given_back_may_be_given_again_and_only_those(host: LocalHost) -> None:
    kept, released = host.free_ports(3), host.free_ports(3)
    host.release_ports([*released, 1])
    (record,) = [record for record in registry.all_records() if record.agent_id == host.agent_id]
    assert sorted(record.ports) == sorted(kept)


def test_tracked_directories_go_with_the_agent(state: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "deep").mkdir(parents=True)
    (data / "deep" / "file").touch()
    with LocalHost.open() as host:
        host.track_directory(data)
        host.track_directory(tmp_path / "never made")
        with pytest.raises(RunFailedError, match="too much would be removed"):
            host.track_directory(Path.home())
        with pytest.raises(RunFailedError, match="too much would be removed"):
            host.track_directory(Path("/"))
    assert not data.exists()
    assert tmp_path.exists()


def test_nothing_remains_in_the_state_directory(state: Path, tmp_path: Path) -> None:
    with LocalHost.open() as host:
        host.start(spec(tmp_path, "exec sleep 1000"))
        assert len(list((state / "agents").glob("*.json"))) == 1
    assert [path.name for path in (state / "agents").iterdir() if path.name != "ports.lock"] == []


def test_an_idle_agent_uses_no_cpu(host: LocalHost, tmp_path: Path) -> None:
    host.start(spec(tmp_path, "exec sleep 1000"))
    before = Path(f"/proc/{host.agent_pid}/status").read_text()
    threading.Event().wait(1.5)
    after = Path(f"/proc/{host.agent_pid}/status").read_text()

    def switches(text: str) -> int:
        return sum(int(line.split()[1]) for line in text.splitlines() if "ctxt_switches" in line)

    assert switches(after) - switches(before) < 20


def test_open_fails_clearly_where_the_state_directory_cannot_be_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "file"))
    with pytest.raises(StartFailedError, match=r"state directory .* can't be written"):
        LocalHost.open()


def test_the_agents_own_cpu_time_is_reported(host: LocalHost) -> None:
    before_s = host.agent_cpu_s()
    assert before_s > 0.0
    for _ in range(100):
        with pytest.raises(RunFailedError):
            host.status("nobody")
    assert host.agent_cpu_s() >= before_s
    host.close()
    with pytest.raises(RunFailedError):
        host.agent_cpu_s()


def test_a_file_is_written_with_its_folders_and_in_place_of_what_was_there(lasting: LocalHost, tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "server.conf"
    assert lasting.write(path, "a longer text: é\n") == path
    lasting.write(path, "port=1\n")
    assert path.read_text(encoding="utf-8") == "port=1\n"


def test_a_secret_has_the_mode_that_it_was_given(lasting: LocalHost, tmp_path: Path) -> None:
    lasting.write(tmp_path / "cookie", "secret", 0o400)
    assert (tmp_path / "cookie").stat().st_mode & 0o777 == 0o400


def test_directories_are_made_and_may_be_there(lasting: LocalHost, tmp_path: Path) -> None:
    for _ in range(2):
        lasting.make_directories(tmp_path / "a" / "b", tmp_path / "c")
    assert (tmp_path / "a" / "b").is_dir()
    assert (tmp_path / "c").is_dir()


def test_what_cannot_be_written_is_named(lasting: LocalHost, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StartFailedError, match="file/folder can't be created: Not a directory"):
        lasting.make_directories(tmp_path / "file" / "folder")
    with pytest.raises(StartFailedError, match="file/x can't be written: File exists"):
        lasting.write(tmp_path / "file" / "x", "")


def test_the_end_of_a_log_is_read_whatever_it_holds(lasting: LocalHost, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"first\n\xfflast\n")
    assert lasting.read_end(tmp_path / "log", 6) == "\ufffdlast\n"
    assert lasting.read_end(tmp_path / "log", 100) == "first\n\ufffdlast\n"
    assert lasting.read_end(tmp_path / "none", 100) == ""


def test_an_agent_that_does_not_answer_is_not_waited_for_for_ever(
    host: LocalHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_ANSWER_S_MAX", 0.5)
    os.kill(host.agent_pid, signal.SIGSTOP)
    try:
        with pytest.raises(RunFailedError, match=r"did not answer 'free_ports' within 0 s\.$"):
            host.free_ports(1)
    finally:
        os.kill(host.agent_pid, signal.SIGCONT)
    # What comes too late is nobody's answer.
    monkeypatch.setattr(client, "_ANSWER_S_MAX", 60.0)
    assert len(host.free_ports(2)) == 2


def test_a_host_is_called_what_its_machine_is(lasting: LocalHost) -> None:
    assert lasting.name == socket.gethostname()
