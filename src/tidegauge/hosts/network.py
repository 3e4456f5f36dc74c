"""Networks of nodes, and packets that are dropped in them. Root.

A network of nodes' own is a network namespace each, linked by a switch (bridge) with each other and the host.

Faults are made on the switch, where a packet that is dropped vanishes as in a wire; a node's own kernel would inform
the sender. Everything made carries the network's identifier in its name, so that `remove_network` finds what a crash
left. Addresses are of 198.18.0.0/15, which RFC 2544 keeps for benchmarks. Between hosts, packets are dropped where they
arrive, for the same reason.

Sources: setns(2), ip-netns(8), ip-link(8), tc-tbf(8), nft(8).
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import shutil
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

from tidegauge.hosts import commands
from tidegauge.hosts.commands import run_command, run_to_end
from tidegauge.hosts.storage import open_descriptor

NAMED = Path("/run/netns")
_CLONE_NEWNET = 0x40000000


def enter_namespace(namespace: Path) -> None:
    """Put the calling thread, and what it starts from now on, into a network namespace. Raises `OSError`."""
    with open_descriptor(namespace) as descriptor:
        commands.call_libc("setns", descriptor, _CLONE_NEWNET)


@contextlib.contextmanager
def inside_namespace(namespace: Path) -> Iterator[None]:
    """The calling thread is in a network namespace in this block; sockets opened in it stay there. Raises `OSError`."""
    with open_descriptor("/proc/thread-self/ns/net") as own_descriptor:
        enter_namespace(namespace)
        try:
            yield
        finally:
            enter_namespace(Path(f"/proc/self/fd/{own_descriptor}"))


def listen_in_namespace(namespace: Path, address: str) -> socket.socket:
    """A TCP socket that listens in a namespace, on a port that the kernel chooses. Raises `OSError`."""
    with inside_namespace(namespace):
        return socket.create_server((address, 0))


def can_connect(namespace: Path | None, address: str, port: int, timeout_s: float) -> bool:
    """Whether a TCP connection can be made from a namespace; None: the caller's own. Raises `OSError`."""
    with inside_namespace(namespace) if namespace is not None else contextlib.nullcontext():
        probe = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    with probe:
        probe.settimeout(timeout_s)
        return probe.connect_ex((address, port)) == 0


_MILLION = 1_000_000


@dataclass(frozen=True)
class Port:
    """Where a node is plugged in. `interface` is the switch's end of its cable, the other is `eth0` in `namespace`.

    The host itself has no cable: both are "".
    """

    interface: str
    namespace: str
    address: str


def filter_table(identifier: str) -> str:
    """The name of a network's table."""
    return f"tidegauge_{identifier}"


def _match_by_chance(share: float) -> str:
    """What matches this share of packets, by chance; "" = all. Below one in a million it is one."""
    lost = max(1, round(share * _MILLION))
    return f"numgen random mod {_MILLION} < {lost} " if lost < _MILLION else ""


def arrival_rules(identifier: str, lost_shares: Mapping[str, float], spared_ports: str) -> str:
    """The whole table of a host that drops a share of what other hosts send it. It replaces one that is there.

    Args:
        lost_shares: share of the packets that are lost, by the address that they come from.
        spared_ports: TCP and UDP ports at either end of what is never dropped: "6379, 7100-7299".
    """
    arriving = [
        "type filter hook prerouting priority raw; policy accept;",
        *(f"meta l4proto {{ tcp, udp }} th {end} {{ {spared_ports} }} accept" for end in ("dport", "sport")),
        *(f"ip saddr {source} {_match_by_chance(share)}drop" for source, share in sorted(lost_shares.items())),
    ]
    return _nft_table("inet", filter_table(identifier), {"arriving": arriving} if lost_shares else {})


@dataclass(frozen=True)
class LinkFaults:
    """What is wrong with links between nodes.

    Attributes:
        cut_links: pairs of source and target between which nothing passes, in this direction.
        lost_shares: share of the packets from and to a node that are lost, by node.
    """

    cut_links: frozenset[tuple[str, str]] = frozenset()
    lost_shares: Mapping[str, float] = field(default_factory=dict)

    def parted(self, sources: Iterable[str], targets: Iterable[str], both_ways: bool) -> LinkFaults:
        """These faults, and nothing passes from any of these sources to any of the targets, nor back if `both_ways`."""
        pairs = {(source, target) for source, target in product(sources, targets) if source != target}
        back = {(target, source) for source, target in pairs} if both_ways else set()
        return replace(self, cut_links=self.cut_links | pairs | back)

    def healed(self) -> LinkFaults:
        """These faults without cut links."""
        return replace(self, cut_links=frozenset())

    def losing(self, node: str, share: float) -> LinkFaults:
        """These faults, but of a node's packets this share is lost; 0: none."""
        others = {name: lost for name, lost in self.lost_shares.items() if name != node}
        return replace(self, lost_shares={**others, node: share} if share else others)


def fault_rules(identifier: str, ports: Mapping[str, Port], faults: LinkFaults) -> str:
    """The whole table of a network, which replaces one that is there in one step.

    `ports`: of every node, and of the host, by name.
    """
    arriving, leaving, sent_by_host = [], [], []
    for source, target in sorted(faults.cut_links):
        to = f"ip daddr {ports[target].address} drop"
        if ports[source].interface:
            arriving.append(f'iifname "{ports[source].interface}" {to}')
        else:
            sent_by_host.append(to)
    for node, share in sorted(faults.lost_shares.items()):
        if not share:
            continue
        # Only IP: a lost ARP request would stop everything for a second.
        chance = f"ether type ip {_match_by_chance(share)}drop"
        arriving.append(f'iifname "{ports[node].interface}" {chance}')
        leaving.append(f'oifname "{ports[node].interface}" {chance}')
    dropped = {"prerouting": arriving, "output": sent_by_host, "postrouting": leaving}
    chains = {hook: [f"type filter hook {hook} priority 0; policy accept;", *dropped[hook]] for hook in dropped}
    return _nft_table("bridge", filter_table(identifier), chains)


def _nft_table(family: str, name: str, chains: Mapping[str, Sequence[str]]) -> str:
    """A table by the lines of its chains, as nft(8) takes it. It replaces one that is there; without chains none is."""
    lines = [f"add table {family} {name}", f"delete table {family} {name}"]
    if chains:
        lines.append(f"table {family} {name} {{")
        for chain, rules_of_it in chains.items():
            lines += [f"chain {chain} {{", *rules_of_it, "}"]
        lines.append("}")
    return "\n".join([*lines, ""])


_RANGE = ipaddress.ip_network("198.18.0.0/15")
_PREFIX_BITS = 24
NODES_MAX = 200
_HOST_NUMBER = 254
_INTERFACES = Path("/sys/class/net")
_CONNECT_S = 5.0
_BURST_S = 0.02
_BURST_BYTES_MIN = 128 << 10
"""Above a packet of the largest size that a kernel hands on in one piece (64 KiB), else tbf would drop it."""


def network_refusal(*tools: str) -> str:
    """Why this can't be done here; "" if it can, as far as is known before. `tools`: "tc" and "nft" for faults."""
    reason = commands.capability_refusal("CAP_SYS_ADMIN") or commands.capability_refusal("CAP_NET_ADMIN")
    missing = [] if reason else commands.missing_tools(("ip", *tools))
    package = "nftables" if "nft" in missing else "iproute2"
    return f"{commands.tools_refusal(missing)} (package {package})" if missing else reason


def bridge_of(identifier: str) -> str:
    """The switch's name, and how all interfaces' names begin: 15 characters are the kernel's limit."""
    return f"tg{identifier[:8]}"


def _namespace_prefix(identifier: str) -> str:
    return f"tidegauge-{identifier}-"


def make_network(identifier: str, nodes: Sequence[str]) -> tuple[dict[str, Port], str]:
    """Make a network, and see that it carries. Ports by node, and the host's address. Raises `OSError`.

    What was made stays where that fails: `remove_network` it. Only one at a time may look for addresses.
    """
    if len(nodes) > NODES_MAX:
        raise OSError(0, f"a network holds {NODES_MAX} nodes at most")
    addresses = _free_network()
    bridge, clients_address = bridge_of(identifier), str(addresses[_HOST_NUMBER])
    run_command("ip", "link", "add", bridge, "type", "bridge")
    run_command("ip", "address", "add", f"{clients_address}/{_PREFIX_BITS}", "dev", bridge)
    run_command("ip", "link", "set", bridge, "up")
    ports = {}
    for number, node in enumerate(nodes, 1):
        port = Port(f"{bridge}n{number}", f"{_namespace_prefix(identifier)}{number}", str(addresses[number]))
        run_command("ip", "netns", "add", port.namespace)
        run_command(
            "ip", "link", "add", port.interface, "type", "veth", "peer", "name", "eth0", "netns", port.namespace
        )
        run_command("ip", "link", "set", port.interface, "master", bridge, "up")
        inner = ("ip", "-netns", port.namespace)
        run_command(*inner, "address", "add", f"{port.address}/{_PREFIX_BITS}", "dev", "eth0")
        run_command(*inner, "link", "set", "eth0", "up")
        run_command(*inner, "link", "set", "lo", "up")
        ports[node] = port
    _verify_reachable(ports)
    return ports, clients_address


def _verify_reachable(ports: Mapping[str, Port]) -> None:
    """A firewall of the host may look into switches, too: better reported now than by servers that find nobody."""
    namespace = None
    for node, port in ports.items():
        node_namespace = NAMED / port.namespace
        with listen_in_namespace(node_namespace, port.address) as server:
            if not can_connect(namespace, port.address, server.getsockname()[1], _CONNECT_S):
                raise OSError(errno.EHOSTUNREACH, f"{node} can't be reached: a firewall of this host may prevent it")
        namespace = node_namespace


def _free_network() -> ipaddress.IPv4Network:
    """A part of the range in which this host has no address."""
    import psutil

    own_addresses = []
    for interface in psutil.net_if_addrs().values():
        for entry in interface:
            with contextlib.suppress(ValueError):
                own_addresses.append(ipaddress.ip_address(entry.address))
    for network in _RANGE.subnets(new_prefix=_PREFIX_BITS):
        if isinstance(network, ipaddress.IPv4Network) and not any(address in network for address in own_addresses):
            return network
    raise OSError(0, f"no part of {_RANGE} is free")


def apply_rules(rules: str) -> None:
    """Drop what `fault_rules` or `arrival_rules` say, instead of what was dropped before. Raises `OSError`."""
    run_command("nft", "-f", "-", text=rules)


def restrict_ports(table: str, address: str, ports: str, private_ports: str) -> str:
    """Drop what comes to these TCP ports from elsewhere at any other address of this host than one.

    For programs that listen on all addresses and can't be told otherwise. Lasts until `lift_port_restriction`.

    Args:
        table: names the rules.
        address: of IP version 4.
        ports: as nft(8) takes them: "6379, 7001-7009".
        private_ports: for this host alone, at every address.

    Returns:
        Why it can't be done here, "" if it is done.
    """
    if reason := commands.capability_refusal("CAP_NET_ADMIN", ("nft",)):
        return reason
    arriving = f"tcp dport {{ {ports} }}"
    rules = (
        "type filter hook input priority filter",
        'iifname "lo" accept',
        f"{arriving} ip daddr != {address} drop",
        f"{arriving} meta nfproto ipv6 drop",
        f"tcp dport {{ {private_ports} }} drop",
    )
    try:
        apply_rules(_nft_table("inet", table, {"arriving": rules}))
    except OSError as error:
        return error.strerror or str(error)
    return ""


def lift_port_restriction(table: str) -> None:
    """End what `restrict_ports` began, if it did. Raises `OSError`."""
    if not commands.capability_refusal("CAP_NET_ADMIN", ("nft",)):
        _delete_table("inet", table)


def _delete_table(family: str, name: str) -> bool:
    """Delete a table; whether there was one. Raises `OSError`."""
    if run_to_end("nft", "list", "table", family, name).returncode != 0:
        return False
    run_command("nft", "delete", "table", family, name)
    return True


def limit_rate(port: Port, bytes_per_s: int | None) -> None:
    """Limit what a node sends and what it receives to this rate each; None lifts it. Raises `OSError`."""
    for command in (("tc",), ("tc", "-netns", port.namespace)):
        device = "eth0" if len(command) > 1 else port.interface
        if bytes_per_s is None:
            # Without a limit there is none to remove: the kernel says so, and that is fine.
            with contextlib.suppress(OSError):
                run_command(*command, "qdisc", "del", "dev", device, "root")
            continue
        burst = max(_BURST_BYTES_MIN, int(bytes_per_s * _BURST_S))
        rate = f"{bytes_per_s * 8}bit"
        run_command(
            *(*command, "qdisc", "replace", "dev", device, "root"),
            *("tbf", "rate", rate, "burst", str(burst), "latency", "50ms"),
        )


def remove_network(identifier: str) -> bool:
    """Remove a network, whole or in part; whether anything was there. Raises `OSError`."""
    was_there = False
    if shutil.which("nft"):
        for family in ("bridge", "inet"):
            was_there |= _delete_table(family, filter_table(identifier))
    for namespace in sorted(NAMED.glob(f"{_namespace_prefix(identifier)}*")):
        was_there = True
        run_command("ip", "netns", "delete", namespace.name)
    bridge = bridge_of(identifier)
    for interface in [*sorted(_INTERFACES.glob(f"{bridge}n*")), _INTERFACES / bridge]:
        if interface.exists():
            was_there = True
            try:
                run_command("ip", "link", "delete", interface.name)
            except OSError:
                # It went with its namespace, a moment after that.
                if interface.exists():
                    raise
    return was_there
