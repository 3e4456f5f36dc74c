"""Ray on this host: its command, environment and ports, and the one node that was started here, until it is ended.

Ray's own settings are always given: without them its processes get the lowest priority, its memory monitor may kill a
load generator, its ports are random, and whether it wants a token depends on a file in the user's home.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import psutil

from tidegauge.agent.api import AGENT_PORTS
from tidegauge.atomic import replace_file
from tidegauge.errors import StartFailedError, UserError
from tidegauge.fleet.code import code_version
from tidegauge.hosts import network
from tidegauge.hosts.storage import state_directory
from tidegauge.numbers import trimmed

HEAD_PORT = 6379
NODE_PORT = 7001
"""Where Ray's part of each host listens."""
_PORTS = {
    "node-manager": NODE_PORT,
    "object-manager": 7002,
    "metrics-export": 7003,
    "dashboard-agent-grpc": 7005,
    "dashboard-agent-listen": 7006,
    "runtime-env-agent": 7007,
}
_PORTS_OF_HEAD = {
    # Of no use here, and can't be left out.
    "ray-client-server": 7009,
}
_METRICS_OF_HEAD = 7008
"""Answers without a token, where the autoscaler runs: a head that starts no hosts has none."""
_PROCESS_PORTS = (7100, 7199)
PROBE_PORT = 7200
"""Where a check's exchanges and transfers arrive."""
WORKER_PORTS = range(7220, 7300)
"""Where load generators listen for a controller on another host."""
SERVER_PORTS = range(7300, 8000)
"""Where servers listen that a run starts on hosts of a fleet."""
NODES_PORTS = tuple(sorted(_PORTS.values()))
"""Where Ray listens on a host for as long as the host is in the fleet."""
RAYS_PORTS = (*NODES_PORTS, *range(_PROCESS_PORTS[0], _PROCESS_PORTS[1] + 1))
OWN_PORTS = (*AGENT_PORTS, *WORKER_PORTS, *SERVER_PORTS)
"""TCP ports that any host of a fleet may be reached at: by Ray, and by what a run starts."""
FLEET_PORTS = f"{HEAD_PORT}, {min(_PORTS.values())}-{WORKER_PORTS[-1]}"
"""All but those of servers, as nft(8) takes them: faults between hosts leave them alone."""
_GUARDED_PORTS = "{}, {}-{}, {}-{}".format(HEAD_PORT, NODE_PORT, max(_PORTS.values()), *_PROCESS_PORTS)
_PRIVATE_PORTS = ", ".join(map(str, (_METRICS_OF_HEAD, *_PORTS_OF_HEAD.values())))
"""No other host needs them, and Ray opens them on all addresses."""
OBJECT_STORE_BYTES = 80_000_000
"""Close to the least that Ray accepts: files go through it piece by piece."""

ROLE_LABEL, JOINED_LABEL, VERSION_LABEL = "role", "joined", "tidegauge"

_SHORT_DIRECTORY = "/tmp"
_RAYS_FILES = "r"
_MARKER = "TIDEGAUGE_FLEET"
"""In the environment of every process of the node, so that they are found when it is ended."""
_PROCESS_TITLE = "ray::"
STARTED_TEXT = "Ray runtime started"
_HEAD_S_MAX = 5.0
START_S_MAX = 180.0
"""On a machine that is loaded: a quiet one takes some 5 s."""
_END_S_MAX = 15.0
_TOKEN_CHARS = 64


@dataclass(frozen=True)
class RayNode:
    """The node of Ray's that runs here.

    Attributes:
        head: the head's "host:port".
        mark: in the environment of its processes.
        directory: in which Ray's own files are: only its user can enter it, whatever Ray does below.
        session: of its processes, the pid of the first; 0 before that runs.
        tls: the directory of its certificate and key (see `check_tls`); "" = Ray speaks without TLS.
        open_because: why Ray, which listens on all addresses, can be reached at others than `address`; "" = it can't.
    """

    address: str
    head: str
    role: str
    mark: str
    directory: str
    session: int = 0
    tls: str = ""
    open_because: str = ""

    @property
    def is_head(self) -> bool:
        """Whether the head runs on this host."""
        return self.head.rpartition(":")[0] == self.address

    @property
    def guard(self) -> str:
        """The name of the rules by which Ray is reached at `address` only."""
        return f"tidegauge_ray_{self.mark}"

    @property
    def log(self) -> Path:
        """What `ray start` printed, and what its processes did."""
        return _fleet_directory() / "ray.log"


def ports_to_open(head: bool) -> list[str]:
    """TCP ports that hosts of the fleet must reach here, and nobody else may: "7001 to 7007"."""
    numbers = sorted(_PORTS.values())
    return [
        *([str(HEAD_PORT)] if head else []),
        f"{numbers[0]} to {numbers[-1]}",
        f"{_PROCESS_PORTS[0]} to {_PROCESS_PORTS[1]}",
        f"{PROBE_PORT} to {SERVER_PORTS[-1]}",
        f"{AGENT_PORTS[0]} to {AGENT_PORTS[-1]}/udp",
    ]


def token_path() -> Path:
    """Where this host keeps the fleet's token."""
    return _fleet_directory() / "token"


def make_token() -> Path:
    """The fleet's token, made at its head once and kept. Raises `UserError` if it can't be written."""
    if not token_path().exists():
        _keep_token(secrets.token_hex(_TOKEN_CHARS // 2))
    return token_path()


def take_token(file: Path) -> Path:
    """Keep a copy of the token that the head made. Raises `UserError` if others may read it, or it is none."""
    try:
        mode = file.stat().st_mode
        text = file.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "not plain text"
        raise UserError(
            f"--token {file}: it can't be read: {why}.",
            "Copy the file that `tidegauge fleet head` named to this host, and name it here.",
        ) from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UserError(
            f"--token {file}: others on this host may read it (mode {stat.S_IMODE(mode):o}).", f"chmod 600 {file}"
        )
    if len(text) != _TOKEN_CHARS or not set(text) <= set("0123456789abcdef"):
        raise UserError(
            f"--token {file}: this is no token of a fleet: {len(text)} characters, where {_TOKEN_CHARS} hexadecimal "
            "digits are wanted.",
            "Copy the file that `tidegauge fleet head` named to this host, and name it here.",
        )
    if file.resolve() != token_path().resolve():
        _keep_token(text)
    return token_path()


_TLS_FILES = {"RAY_TLS_SERVER_CERT": "tls.crt", "RAY_TLS_SERVER_KEY": "tls.key", "RAY_TLS_CA_CERT": "ca.crt"}
"""By Ray's name for it. The files are called as in secrets of Kubernetes."""


def check_tls(directory: Path) -> str:
    """Check a directory for a host's certificate (`tls.crt`, for its address), key (`tls.key`) and the authority's.

    Returns its path. Raises `UserError` if one is missing or others may read the key.
    """
    for name in _TLS_FILES.values():
        if not os.access(directory / name, os.R_OK):
            file_names = ", ".join(_TLS_FILES.values())
            raise UserError(f"--tls {directory}: {name} can't be read there.", f"It needs {file_names}, in PEM.")
    key = directory / "tls.key"
    if key.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UserError(f"--tls {directory}: others on this host may read {key.name}.", f"chmod 600 {key}")
    return str(directory.absolute())


def ray_environment(node: RayNode) -> dict[str, str]:
    """Ray's settings, for its node here and for who speaks to it."""
    return {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token_path()),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_DISABLE_IMPORT_WARNING": "1",
        # Else children of Ray's run at nice 15 and are the first that the kernel kills.
        "RAY_worker_niceness": "0",
        "RAY_worker_oom_score_adjustment": "0",
        "RAY_memory_monitor_refresh_ms": "0",
        # A machine that is loaded on purpose takes longer than Ray's 10 s.
        "RAY_raylet_start_wait_time_s": "120",
        "AUTOSCALER_METRIC_PORT": str(_METRICS_OF_HEAD),
        **({"RAY_USE_TLS": "1"} if node.tls else {}),
        **({name: f"{node.tls}/{file}" for name, file in _TLS_FILES.items()} if node.tls else {}),
    }


def ray_arguments(node: RayNode, autoscaling: Path | None = None) -> list[str]:
    """Arguments by which the program `ray` starts in the foreground. `autoscaling`: see `start_node`."""
    process_port_min, process_port_max = _PROCESS_PORTS
    place = (
        ["--head", f"--port={HEAD_PORT}", "--include-dashboard=false", *_port_options(_PORTS_OF_HEAD)]
        if node.is_head
        else [f"--address={node.head}"]
    )
    return [
        "start",
        "--block",
        *place,
        f"--node-ip-address={node.address}",
        # Ray takes a node that ended for living for a minute: the host's newer one is meant.
        # The version can be read before anything of another one is called.
        f"--labels={ROLE_LABEL}={node.role},{JOINED_LABEL}={round(time.time())},{VERSION_LABEL}={code_version()}",
        "--num-cpus=0",
        f"--object-store-memory={OBJECT_STORE_BYTES}",
        "--include-log-monitor=false",
        "--disable-usage-stats",
        *_port_options(_PORTS),
        f"--min-worker-port={process_port_min}",
        f"--max-worker-port={process_port_max}",
        # Not the directory itself: Ray opens what it is given to everybody, its sockets and logs included.
        f"--temp-dir={node.directory}/{_RAYS_FILES}",
        *([f"--autoscaling-config={autoscaling}"] if autoscaling else []),
        *(["--no-monitor"] if node.is_head and not autoscaling else []),
    ]


def _port_options(ports: Mapping[str, int]) -> list[str]:
    return [f"--{name}-port={port}" for name, port in ports.items()]


def own_addresses() -> list[str]:
    """This host's IPv4 addresses, but those of loopback."""
    return sorted(
        entry.address
        for entries in psutil.net_if_addrs().values()
        for entry in entries
        if entry.family == socket.AF_INET and not entry.address.startswith("127.")
    )


def own_address(towards: str = "") -> str:
    """This host's address on the way to another ("host:port"), or its only one. Raises `UserError` if not clear."""
    if towards:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
            try:
                way.connect((towards.rpartition(":")[0], HEAD_PORT))
            except OSError as error:
                raise UserError(
                    f"{towards}: there is no way to it from this host: {error.strerror}.",
                    "Name the head as `tidegauge fleet head` printed it: 10.77.0.1:6379",
                ) from error
            return str(way.getsockname()[0])
    addresses = own_addresses()
    if len(addresses) == 1:
        return addresses[0]
    raise UserError(
        f"This host has {len(addresses)} addresses{': ' if addresses else ''}{', '.join(addresses)}.",
        "Name the one in the fleet's network: --address 10.77.0.1",
    )


def running_node() -> RayNode | None:
    """The node that was started here, if it still runs."""
    node = recorded_node()
    return node if node is not None and _processes_of_node(node) else None


def start_node(
    address: str,
    head: str,
    role: str,
    token: Path | None = None,
    *,
    tls: Path | None = None,
    autoscaling: Path | None = None,
) -> RayNode:
    """Start Ray here and wait until it runs.

    Args:
        token: a copy of the head's; None at the head, which makes one if it has none.
        tls: see `check_tls`; the same for all hosts of a fleet: all have one, or none has.
        autoscaling: of the head, the file by which it starts further hosts, as `ray up` leaves it there.

    Raises:
        UserError: one runs already, or the token can't be used.
        StartFailedError: with Ray's reason.
    """
    existing = running_node()
    if existing is not None:
        raise UserError(
            f"This host is in a fleet already: its head is {existing.head}.", "tidegauge fleet down ends that."
        )
    end_node()
    program = _ray_program()
    certificates = check_tls(tls) if tls is not None else ""
    # What Ray finds out by itself takes minutes.
    _check_head(head, address)
    _check_ports(head.rpartition(":")[0] == address, autoscaling is not None)
    # Not before it is clear that nothing runs here, which would speak with another token from then on.
    take_token(token) if token is not None else make_token()
    # A short path: Ray's sockets lie in it, and the kernel allows 107 characters.
    directory = tempfile.mkdtemp(prefix="tidegauge-ray-", dir=_SHORT_DIRECTORY)
    node = RayNode(address, head, role, secrets.token_hex(8), directory, tls=certificates)
    try:
        _keep_record(node)
        node = replace(node, open_because=network.restrict_ports(node.guard, address, _GUARDED_PORTS, _PRIVATE_PORTS))
        with node.log.open("wb") as log:
            files = [str(path) for path in (program, autoscaling) if path]
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "tidegauge.fleet.keeping", *files],
                cwd="/",
                env={**os.environ, **ray_environment(node), _MARKER: node.mark},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        node = replace(node, session=process.pid)
        _keep_record(node)
        _await_started(node, process)
    except BaseException:
        end_node()
        raise
    return node


def end_node() -> list[str]:
    """End what runs here and remove Ray's files; the token stays. Returns what was left, one sentence each."""
    node = recorded_node()
    if node is None:
        return []
    leftovers = []
    processes = _processes_of_node(node)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in processes:
            with contextlib.suppress(psutil.Error):
                process.send_signal(number)
        psutil.wait_procs(processes, timeout=_END_S_MAX)
        # What was started meanwhile, too.
        processes = _processes_of_node(node)
    leftovers += [f"Process {process.pid} of Ray does not end." for process in processes]
    try:
        network.lift_port_restriction(node.guard)
    except OSError as error:
        leftovers.append(f"The rules {node.guard} of nft can't be removed: {error.strerror}.")
    shutil.rmtree(node.directory, ignore_errors=True)
    if not leftovers:
        _record_path().unlink(missing_ok=True)
    return leftovers


def _check_head(head: str, address: str) -> None:
    """Raise `UserError` if the head, where it is another host than this one, does not answer."""
    if head.rpartition(":")[0] != address and (problem := problem_of_head(head, _HEAD_S_MAX)):
        raise UserError(
            f"No head of a fleet answers at {head}: {problem}.",
            "Name it as `tidegauge fleet head` printed it, see there that it runs (tidegauge fleet status), and that "
            "no firewall is between.",
        )


def problem_of_head(head: str, seconds_max: float) -> str:
    """Why no head can be reached at "host:port", "" if one can; one that is just being started is waited for."""
    until_s = time.monotonic() + seconds_max
    host, _, port = head.rpartition(":")
    while True:
        left_s = until_s - time.monotonic()
        try:
            socket.create_connection((host, int(port)), max(0.1, left_s)).close()
        except ConnectionRefusedError:
            if left_s <= 0:
                return "nothing listens there"
            time.sleep(min(0.5, left_s))
        except TimeoutError:
            return f"no answer within {trimmed(seconds_max)} s"
        except OSError as error:
            return error.strerror or str(error)
        else:
            return ""


def _check_ports(is_head: bool, autoscales: bool) -> None:
    """Raise `UserError` if another program has a port that Ray is to listen on here, with its name if that is known."""
    ports = [*_PORTS.values(), *([HEAD_PORT, *_PORTS_OF_HEAD.values()] if is_head else [])]
    ports += [_METRICS_OF_HEAD] if autoscales else []
    for port in sorted(ports):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trying:
            # As Ray does; what is left of an earlier connection is no listener.
            trying.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trying.bind(("", port))
            except OSError as error:
                raise UserError(
                    f"Ray can't listen on port {port} of this host: {_owner_of_port(port) or error.strerror}.",
                    f"End that program; a fleet needs ports {', '.join(map(str, sorted(ports)))} for Ray here.",
                ) from error


def _owner_of_port(port: int) -> str:
    """ "python3 (process 812) has it"; "" if nobody may know."""
    with contextlib.suppress(psutil.Error, OSError, RuntimeError):
        for connection in psutil.net_connections("tcp"):
            if (
                connection.status == psutil.CONN_LISTEN
                and getattr(connection.laddr, "port", 0) == port
                and connection.pid
            ):
                return f"{psutil.Process(connection.pid).name()} (process {connection.pid}) has it"
    return ""


def _await_started(node: RayNode, process: subprocess.Popen[bytes]) -> None:
    deadline_s = time.monotonic() + START_S_MAX
    while time.monotonic() < deadline_s:
        printed = node.log.read_text(errors="replace")
        if STARTED_TEXT in printed:
            return
        if process.poll() is not None:
            lines = [line.strip() for line in printed.splitlines() if line.strip()]
            cause = next(
                (line for line in reversed(lines) if "Error" in line), lines[-1] if lines else "it said nothing"
            )
            raise StartFailedError(f"Ray ended at its start: {cause}", _start_hint(node), node.log)
        time.sleep(0.1)
    raise StartFailedError(f"Ray did not start within {trimmed(START_S_MAX)} s.", _start_hint(node), node.log)


def _start_hint(node: RayNode) -> str:
    if node.is_head:
        return f"Another program may have one of the ports {', '.join(ports_to_open(head=True))}."
    return f"Check that the head runs at {node.head}, that no firewall is between, and that the token is the head's."


def _ray_program() -> Path:
    path = Path(sys.executable).with_name("ray")
    if not path.exists():
        raise UserError(
            "Fleets need Ray, which is not installed here.",
            "On every host: `make fleet` in a checkout, or pip install the wheel of `make wheel` with [fleet] behind "
            "its name; `tidegauge fleet up` does that over ssh.",
        )
    return path


def _processes_of_node(node: RayNode) -> list[psutil.Process]:
    processes = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.status() != psutil.STATUS_ZOMBIE and _is_of(node, process):
                processes.append(process)
    return processes


def _is_of(node: RayNode, process: psutil.Process) -> bool:
    if process.environ().get(_MARKER) == node.mark:
        return True
    # Those to which Ray gives a title lose their environment by that. A session's number may be another's by now.
    # One that is just ending has no command any more.
    return os.getsid(process.pid) == node.session and "".join(process.cmdline()[:1]).startswith(_PROCESS_TITLE)


def _fleet_directory() -> Path:
    return state_directory() / "fleet"


def _record_path() -> Path:
    return _fleet_directory() / "node.json"


def _keep_record(node: RayNode) -> None:
    replace_file(_record_path(), json.dumps(asdict(node)).encode())


def recorded_node() -> RayNode | None:
    """The node that was started here last, whether it runs or not; None after its end."""
    try:
        return RayNode(**json.loads(_record_path().read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def _keep_token(text: str) -> None:
    try:
        _fleet_directory().mkdir(parents=True, exist_ok=True)
        handle = os.open(token_path(), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(handle, "w", encoding="ascii") as file:  # noqa: PTH123
            os.fchmod(handle, 0o600)
            file.write(text)
    except OSError as error:
        raise UserError(
            f"The token can't be kept in {token_path()}: {error.strerror}.",
            "Make the directory writable, or set TIDEGAUGE_STATE to another.",
        ) from error
