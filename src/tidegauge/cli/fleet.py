"""`tidegauge fleet`: hosts that measure together, from the first host on."""

from __future__ import annotations

import contextlib
import ipaddress
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegauge.cli.options import Json
from tidegauge.cli.output import EXIT_FAILED, EXIT_GOOD, Output
from tidegauge.errors import UserError
from tidegauge.numbers import plural, trimmed

if TYPE_CHECKING:
    from tidegauge.fleet.ray_launcher import RayLauncher

app = typer.Typer(
    name="fleet",
    help="Make many hosts a fleet, and check it. Every verb runs on a host of it.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: tidegauge fleet head; on every other host: tidegauge fleet join 10.77.0.1:6379 --token token",
)

Address = Annotated[
    str | None,
    typer.Option("--address", metavar="IP", help="This host's address in the fleet's network (default: its only one)."),
]
Tls = Annotated[
    Path | None,
    typer.Option(
        "--tls",
        metavar="DIR",
        help="Encrypt Ray with this host's tls.crt and tls.key, and ca.crt (default: no TLS). All hosts, or none.",
    ),
]
Role = Annotated[
    str, typer.Option("--role", metavar="NAME", help="What this host is for: server, load, keeper or controller.")
]
FleetPath = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FILE]", help="A fleet file, which says what the fleet is to have.", exists=True, dir_okay=False
    ),
]


@app.command(epilog="Example: tidegauge fleet head --address 10.77.0.1")
def head(
    *,
    address: Address = None,
    role: Role = "controller",
    token: Annotated[
        Path | None,
        typer.Option(
            "--token", metavar="FILE", help="A token that all hosts have already (default: one is made and kept)."
        ),
    ] = None,
    autoscaling: Annotated[
        Path | None,
        typer.Option(
            "--autoscaling-config",
            metavar="FILE",
            help="Ray's autoscaler file, as `ray up` leaves it on the head: Ray then starts more hosts (see deploy/).",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    tls: Tls = None,
    as_json: Json = False,
) -> int:
    """Begin a fleet on this host, and print how others join it and what a firewall must let through."""
    from tidegauge.fleet import ray_node

    purpose = _checked_role(role)
    own_address = _checked_address(address) or ray_node.own_address()
    place = f"{own_address}:{ray_node.HEAD_PORT}"
    return _start_ray(place, own_address, purpose, Output(as_json), token, tls=tls, autoscaling=autoscaling)


@app.command(epilog="Example: tidegauge fleet join 10.77.0.1:6379 --token token --role load")
def join(
    head: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="The head's address and port, as `fleet head` printed it.")
    ],
    *,
    token: Annotated[
        Path | None,
        typer.Option(
            "--token", metavar="FILE", help="A copy of the head's token (default: the one that this host has kept)."
        ),
    ] = None,
    address: Address = None,
    role: Role = "load",
    tls: Tls = None,
    as_json: Json = False,
) -> int:
    """Let this host join a fleet; with the token that its head has made."""
    from tidegauge.fleet import ray_node
    from tidegauge.fleet.file import head_address

    try:
        head_address(head)
    except ValueError as error:
        raise UserError(f"'{head}' {error}.", "Use the address that `tidegauge fleet head` printed.") from error
    purpose = _checked_role(role)
    own_address = _checked_address(address) or ray_node.own_address(head)
    return _start_ray(head, own_address, purpose, Output(as_json), token or ray_node.token_path(), tls=tls)


@app.command(epilog="Example: tidegauge fleet status --json")
def status(*, as_json: Json = False) -> int:
    """Show which hosts are in the fleet, and which were lost."""
    from tidegauge.report.fleet import hosts_content, hosts_report

    with joined_fleet("") as (launcher, _):
        hosts = launcher.hosts()
    Output(as_json).show(hosts_report(hosts), hosts_content(hosts))
    return EXIT_FAILED if any(host.problem for host in hosts) else EXIT_GOOD


@app.command(epilog="Example: tidegauge fleet check fleet.yaml")
def check(file: FleetPath = None, *, as_json: Json = False) -> int:
    """Look at every host, link, clock and server disk (some 15 s). Exit code 1 if something is wrong."""
    from tidegauge.fleet.check import check_fleet as examine
    from tidegauge.fleet.file import FleetFile, read_fleet_file
    from tidegauge.report.fleet import check_content, check_report
    from tidegauge.worker.archive import JAVA_MAJOR_MIN

    out = Output(as_json)
    fleet = read_fleet_file(file) if file else FleetFile()
    with joined_fleet(fleet.address) as (launcher, _):
        findings = examine(launcher, fleet, out.say, JAVA_MAJOR_MIN)
    out.show(check_report(findings), check_content(findings))
    return EXIT_FAILED if findings.problems else EXIT_GOOD


@app.command(epilog="Example: tidegauge fleet up hosts.txt")
def up(
    hosts: Annotated[
        Path,
        typer.Argument(
            metavar="HOSTS", help="A line for each other host, as ssh knows it, and its role: 10.77.0.2 server."
        ),
    ],
    *,
    address: Address = None,
    wheel: Annotated[
        Path | None,
        typer.Option("--wheel", metavar="FILE", help="What is installed there (default: the newest in dist/)."),
    ] = None,
    program: Annotated[
        str, typer.Option("--program", metavar="PATH", help="Tidegauge that is there already (default: none).")
    ] = "",
    ssh: Annotated[str, typer.Option("--ssh", metavar="COMMAND", help="The ssh client with its options.")] = "ssh",
    as_json: Json = False,
) -> int:
    """Begin a fleet here, install Tidegauge on other hosts by ssh, and let them join. Repeat it after an update."""
    from tidegauge.fleet import by_ssh, ray_node
    from tidegauge.report.envelopes import FleetUp
    from tidegauge.report.fleet import up_report

    out = Output(as_json)
    fleet = by_ssh.SshFleet(by_ssh.read_hosts(hosts), tuple(shlex.split(ssh)), program)
    built = wheel or by_ssh.newest_wheel(Path("dist"))
    node = ray_node.running_node()
    if node is None:
        own_address = _checked_address(address) or ray_node.own_address()
        out.say(f"starting the head on {own_address} ...")
        node = ray_node.start_node(own_address, f"{own_address}:{ray_node.HEAD_PORT}", "controller")
    elif not node.is_head:
        raise UserError(f"This host is in the fleet of {node.head}.", "tidegauge fleet down ends that.")
    by_ssh.keep_ssh_fleet(fleet)
    token = ray_node.token_path().read_text()

    def put_and_join(host: by_ssh.SshHost) -> None:
        if fleet.install(host, built):
            out.say(f"{host.destination}: installed")
        fleet.join(host, node.head, token)
        out.say(f"{host.destination}: joined as {host.role}")

    problems = fleet.problems_of(put_and_join)
    file = hosts.with_suffix(".yaml")
    if not file.exists():
        file.write_text(by_ssh.fleet_text(fleet))
    joined = len(fleet.hosts) - len(problems)
    joined_words = f"{joined} of {plural(len(fleet.hosts), 'host')} joined {node.head}."
    content = FleetUp(
        schema="tidegauge.fleetup/1", head=node.head, joined=joined, problems=problems, fleet_file=str(file)
    )
    out.show(up_report(problems, joined_words, f"{out.program} fleet check {file}"), content)
    return EXIT_FAILED if problems else EXIT_GOOD


@app.command(epilog="Example: tidegauge fleet down")
def down(
    *,
    everywhere: Annotated[
        bool, typer.Option("--all", help="First take out the hosts that `fleet up` let join (default: this one only).")
    ] = False,
    as_json: Json = False,
) -> int:
    """Take this host out of the fleet; at the head, end it: other hosts' parts then end within some ten minutes."""
    from tidegauge.fleet import by_ssh, ray_node
    from tidegauge.report.envelopes import FleetDown

    problems: list[str] = []
    if everywhere:
        fleet = by_ssh.kept_ssh_fleet()
        if fleet is None:
            raise UserError("No hosts are known here.", "--all is for those that `tidegauge fleet up` let join.")
        problems = fleet.problems_of(fleet.leave)
        if not problems:
            by_ssh.forget_ssh_fleet()
    node = ray_node.running_node()
    left = [*problems, *ray_node.end_node()]
    text = "\n".join(left) or (
        "Nothing ran here." if node is None else f"This host is no longer in the fleet of {node.head}."
    )
    content = FleetDown(schema="tidegauge.fleetdown/1", was_running=node is not None, left=left)
    Output(as_json).show(text, content)
    return EXIT_FAILED if left else EXIT_GOOD


@contextlib.contextmanager
def joined_fleet(address: str) -> Iterator[tuple[RayLauncher, str]]:
    """The fleet that this host is in, and its address there.

    Raises `UserError` if it is in none, or in another than the file says.
    """
    from tidegauge.fleet import ray_node
    from tidegauge.fleet.ray_launcher import RayLauncher

    node = ray_node.running_node()
    if node is None:
        raise UserError(
            "This host is in no fleet.", "Begin one: tidegauge fleet head; or join one: tidegauge fleet join ADDRESS"
        )
    if address not in ("", node.head):
        raise UserError(
            f"The fleet file names the head {address}, and this host is in the fleet of {node.head}.",
            "Correct 'address' in the file (auto: the fleet that this host is in), or run this on a host of the other.",
        )
    launcher = RayLauncher(node.head, ray_node.ray_environment(node))
    try:
        yield launcher, node.address
    finally:
        launcher.close()


def _start_ray(
    head: str,
    own_address: str,
    role: str,
    out: Output,
    token: Path | None = None,
    *,
    tls: Path | None = None,
    autoscaling: Path | None = None,
) -> int:
    from tidegauge.fleet import ray_node
    from tidegauge.model.host import Joined
    from tidegauge.report.fleet import joined_content, joined_report

    out.say(f"starting Ray on {own_address}, at most {trimmed(ray_node.START_S_MAX)} s ...")
    node = ray_node.start_node(own_address, head, role, token, tls=tls, autoscaling=autoscaling)
    ports = tuple(ray_node.ports_to_open(node.is_head))
    joined = Joined(own_address, head, role, str(node.log), str(ray_node.token_path()), ports, node.open_because)
    join_line = f"{out.program} fleet join {head} --token token --role server" if node.is_head else ""
    out.show(joined_report(joined, join_line), joined_content(joined))
    return EXIT_GOOD


def _checked_address(text: str | None) -> str:
    if text is None:
        return ""
    from tidegauge.fleet.ray_node import own_addresses

    addresses = own_addresses()
    hint = f"Name this host's own: --address {addresses[0] if addresses else '10.77.0.2'}"
    try:
        address = ipaddress.IPv4Address(text)
    except ValueError as error:
        raise UserError(f"--address {text}: this is no IPv4 address.", hint) from error
    if address.is_loopback:
        raise UserError(f"--address {text}: no other host reaches it.", hint)
    if text not in addresses:
        address_list = ", ".join(addresses) or "none but that of loopback"
        raise UserError(f"--address {text}: this host has no such address; it has {address_list}.", hint)
    return text


def _checked_role(role: str) -> str:
    from tidegauge.fleet.by_ssh import ROLE_PATTERN

    if not re.fullmatch(ROLE_PATTERN, role):
        raise UserError(
            f"--role {role}: must begin with a letter and hold only lower-case letters, digits and '-', at most 31.",
            "Name a role such as server, load, keeper or controller.",
        )
    return role
