"""Hosts of a fleet over ssh: Tidegauge is put on each, it joins, and leaves again. By the system's own ssh client.

What is asked of a host is a script for its shell; files go there by standard input, so that no other program is needed.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from tidegauge.atomic import replace_file
from tidegauge.errors import RunFailedError, UserError
from tidegauge.fleet.code import code_version
from tidegauge.hosts.storage import state_directory
from tidegauge.numbers import trimmed

ROLE_PATTERN = r"[a-z][a-z0-9-]{0,30}"
_CONNECT_S_MAX = 10
_INSTALL_S_MAX = 1800.0
_JOIN_S_MAX = 300.0
_PLACE = "$HOME/.local/share/tidegauge-fleet"
"""Of the wheel, the environment made of it and the token, there."""
_INSTALLED = f"{_PLACE}/venv/bin/tidegauge"
_AS_ROOT = 'as=""; if [ "$(id -u)" != 0 ] && sudo -n true 2>/dev/null; then as="sudo -n env HOME=$HOME"; fi'
"""Where that takes no password. The user's home stays, so that caches have the same path on all hosts."""


@dataclass(frozen=True)
class SshHost:
    """A host as ssh knows it, "ubuntu@10.77.0.2", and its role in the fleet."""

    destination: str
    role: str


@dataclass(frozen=True)
class SshFleet:
    """Hosts that were joined over ssh.

    Attributes:
        ssh: the client with its options.
        program: Tidegauge that is there already; "" = it is installed there from a wheel.
    """

    hosts: tuple[SshHost, ...]
    ssh: tuple[str, ...] = ("ssh",)
    program: str = ""

    def run_script(self, host: SshHost, script: str, given: bytes, seconds_max: float) -> str:
        """Run a script on a host. Returns what it prints. Raises `RunFailedError` with what it complained of."""
        options = ["-o", "BatchMode=yes", "-o", f"ConnectTimeout={_CONNECT_S_MAX}"]
        command = [*self.ssh, *options, host.destination, f"sh -c {shlex.quote(script)}"]
        try:
            done = subprocess.run(command, input=given, capture_output=True, timeout=seconds_max, check=False)
        except subprocess.TimeoutExpired as error:
            raise RunFailedError(f"{host.destination} gave no answer within {trimmed(seconds_max)} s.") from error
        except OSError as error:
            raise UserError(f"{self.ssh[0]} can't be run: {error.strerror}.", "Install an ssh client.") from error
        if done.returncode:
            lines = [line.strip() for line in done.stderr.decode(errors="replace").splitlines() if line.strip()]
            said = " ".join(lines[-3:]) or f"exit code {done.returncode}"
            of_ssh = " (ssh has no access)" if done.returncode == 255 else ""
            raise RunFailedError(f"{host.destination}{of_ssh}: {said}")
        return done.stdout.decode(errors="replace").strip()

    def install(self, host: SshHost, wheel: Path | None) -> bool:
        """Put this Tidegauge on a host, if it is not there. Returns whether that was so. Raises `RunFailedError`."""
        version = f"{_PLACE}/venv/bin/python -c 'from tidegauge.fleet.code import code_version; print(code_version())'"
        expected = code_version()
        if self.program:
            return False
        if self.run_script(host, f"{version} 2>/dev/null || true", b"", _JOIN_S_MAX) == expected:
            return False
        if wheel is None:
            raise UserError(
                "There is no wheel to put on the hosts.", "In a checkout: make wheel; or name one with --wheel."
            )
        file = f"{_PLACE}/{wheel.name}"
        pip = f"{_PLACE}/venv/bin/pip install --quiet --disable-pip-version-check"
        script = (
            f"set -eu; mkdir -p {_PLACE}; cat > {file}; python3 -m venv {_PLACE}/venv; "
            # One of the same number is another one all the same.
            f'{pip} "{file}[fleet]"; {pip} --force-reinstall --no-deps "{file}"; {version}'
        )
        installed = self.run_script(host, script, wheel.read_bytes(), _INSTALL_S_MAX)
        if installed != expected:
            raise RunFailedError(
                f"{host.destination} has {installed} now and this host {expected}: {wheel} is another Tidegauge.",
                "Build the wheel of this one: make wheel",
            )
        return True

    def join(self, host: SshHost, head: str, token: str) -> None:
        """Let a host join, whatever fleet it was in before. Raises `RunFailedError`."""
        file = f"{_PLACE}/token"
        self.run_script(
            host,
            f"set -eu; umask 077; mkdir -p {_PLACE}; cat > {file}; {_AS_ROOT}; {self._on_host} fleet down >&2; "
            f"{self._on_host} fleet join {head} --token {file} --role {host.role}",
            token.encode(),
            _JOIN_S_MAX,
        )

    def leave(self, host: SshHost) -> None:
        """Take a host out of the fleet. Raises `RunFailedError`."""
        self.run_script(host, f"{_AS_ROOT}; {self._on_host} fleet down", b"", _JOIN_S_MAX)

    @property
    def _on_host(self) -> str:
        return f"$as {shlex.quote(self.program) if self.program else _INSTALLED}"

    def problems_of(self, work: Callable[[SshHost], None]) -> list[str]:
        """Do something with every host at the same time; what went wrong, a sentence for each."""

        def problem_on(host: SshHost) -> str:
            try:
                work(host)
            except (RunFailedError, UserError) as error:
                return f"{error.message} {error.hint}".strip()
            return ""

        with ThreadPoolExecutor(len(self.hosts)) as pool:
            return [problem for problem in pool.map(problem_on, self.hosts) if problem]


def read_hosts(path: Path) -> tuple[SshHost, ...]:
    """Read a list of hosts: a line each, "ubuntu@10.77.0.2 server". Raises `UserError` with every mistake."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise UserError(f"{path} can't be read: {getattr(error, 'strerror', None) or error}.") from error
    hosts: list[SshHost] = []
    mistakes = []
    for number, line in enumerate(lines, 1):
        fields = line.partition("#")[0].split()
        if not fields:
            continue
        if len(fields) != 2 or fields[0].startswith("-") or not re.fullmatch(ROLE_PATTERN, fields[1]):
            mistakes.append(f'{path}:{number}: "{line.strip()}": a host and its role are wanted, "10.77.0.2 server"')
        elif any(host.destination == fields[0] for host in hosts):
            mistakes.append(f"{path}:{number}: {fields[0]} is there twice")
        else:
            hosts.append(SshHost(*fields))
    if mistakes or not hosts:
        raise UserError(
            "\n".join(mistakes) or f"{path} names no host.",
            "Roles are server, load and keeper. This host is the head, and not named.",
        )
    return tuple(hosts)


def newest_wheel(directory: Path) -> Path | None:
    """The wheel that was built last; None without any."""
    return max(directory.glob("tidegauge-*.whl"), key=lambda path: path.stat().st_mtime, default=None)


def fleet_text(fleet: SshFleet) -> str:
    """A fleet file for these hosts."""
    names = {"server": "servers"}
    roles = (
        f"  {names.get(role, role)}: {{label: {{role: {role}}}, count: {number}}}\n"
        for role, number in sorted(Counter(host.role for host in fleet.hosts).items())
    )
    return f"# Made by tidegauge fleet up.\nlauncher: ray\nroles:\n{''.join(roles)}"


def _record_path() -> Path:
    return state_directory() / "fleet" / "ssh.json"


def keep_ssh_fleet(fleet: SshFleet) -> None:
    """Remember the hosts, for their end."""
    hosts = [asdict(host) for host in fleet.hosts]
    content = {"hosts": hosts, "ssh": fleet.ssh, "program": fleet.program}
    replace_file(_record_path(), json.dumps(content).encode())


def kept_ssh_fleet() -> SshFleet | None:
    """The hosts that are remembered; None without any."""
    try:
        content = json.loads(_record_path().read_bytes())
        hosts = tuple(SshHost(**host) for host in content["hosts"])
        return SshFleet(hosts, tuple(content["ssh"]), content["program"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def forget_ssh_fleet() -> None:
    """Remember no hosts any more."""
    _record_path().unlink(missing_ok=True)
