"""Hosts of a fleet as network namespaces on this machine, each with a state directory of its own."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

NEEDS = [
    pytest.mark.integration,
    pytest.mark.root,
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("ip") is None or shutil.which("unshare") is None,
        reason="hosts are network namespaces, and for those it takes root, ip and unshare",
    ),
]


@dataclass(frozen=True)
class Namespace:
    """A host: a network and a state directory of its own. `enter` is what a command line begins with there."""

    name: str
    address: str
    state: Path
    enter: tuple[str, ...] = ()

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """A command of Tidegauge's there."""
        line = ["ip", "netns", "exec", self.name, *self.enter, sys.executable, "-m", "tidegauge.cli", *arguments]
        env = {**os.environ, "TIDEGAUGE_STATE": str(self.state), "COLUMNS": "100", **environment}
        return subprocess.Popen(line, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def tidegauge(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        with self.start(*arguments, **environment) as process:
            try:
                out, err = process.communicate(timeout=800)
            except BaseException:
                process.kill()
                raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def json(self, *arguments: str) -> Any:
        return json.loads(self.tidegauge(*arguments, "--json").stdout)

    def python(self, program: str) -> str:
        """What a program prints there."""
        line = ["ip", "netns", "exec", self.name, sys.executable, "-c", program]
        return subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip()

    @property
    def processes(self) -> list[psutil.Process]:
        """Those in the host's network."""
        line = ["ip", "netns", "pids", self.name]
        pids = subprocess.run(line, check=True, capture_output=True, text=True).stdout.split()
        return [psutil.Process(int(pid)) for pid in pids if psutil.pid_exists(int(pid))]


def ip(line: str) -> None:
    subprocess.run(["ip", *line.split()], check=True, capture_output=True)


@contextlib.contextmanager
def namespaces(
    places: Sequence[Path], network: str, enter: Sequence[tuple[str, ...]] = ()
) -> Iterator[list[Namespace]]:
    """A host for each place, at `network`.1, .2 and so on, on a switch. `enter`: of each host, else nothing."""
    # A pid of this process keeps the names apart from those of other tests' namespaces.
    prefix = f"tgf{os.getpid() % 100_000}"
    enter = [*enter, *[()] * (len(places) - len(enter))]
    made = [
        Namespace(f"{prefix}-{number}", f"{network}.{number}", place, enter[number - 1])
        for number, place in enumerate(places, 1)
    ]
    switch = f"{prefix}-s"
    try:
        ip(f"netns add {switch}")
        ip(f"-n {switch} link add switch type bridge")
        ip(f"-n {switch} link set switch up")
        for number, host in enumerate(made, 1):
            ip(f"netns add {host.name}")
            ip(f"link add eth0 netns {host.name} type veth peer name port{number} netns {switch}")
            ip(f"-n {switch} link set port{number} master switch up")
            for line in (f"addr add {host.address}/24 dev eth0", "link set eth0 up", "link set lo up"):
                ip(f"-n {host.name} {line}")
        yield made
    finally:
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda host: host.tidegauge("fleet", "down"), made))
        for name in (*(host.name for host in made), switch):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def join(hosts: Sequence[Namespace], roles: Sequence[str]) -> None:
    """A fleet of all of them, of which the first is the head."""
    head = hosts[0]
    begun = head.tidegauge("fleet", "head", "--role", roles[0])
    assert begun.returncode == 0, begun.stderr
    for host, role in zip(hosts[1:], roles[1:], strict=True):
        token = host.state / "copied"
        token.touch(mode=0o600)
        token.write_text((head.state / "fleet/token").read_text())
        joined = host.tidegauge("fleet", "join", f"{head.address}:6379", "--token", str(token), "--role", role)
        assert joined.returncode == 0, joined.stderr


def started(host: Namespace) -> list[psutil.Process]:
    """What was started for a run there: not Ray's own."""
    found = []
    for process in host.processes:
        # Others end meanwhile.
        with contextlib.suppress(psutil.Error):
            found += [process] if "TIDEGAUGE_AGENT" in process.environ() else []
    return found
