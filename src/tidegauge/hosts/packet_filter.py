"""What a switch drops, in nft's language. Pure. Source: nft(8), the bridge family."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

_MILLION = 1_000_000


@dataclass(frozen=True)
class Plug:
    """A node on the switch; the host itself has no interface there ("")."""

    interface: str
    address: str


def table(identifier: str) -> str:
    """The name of a network's table."""
    return f"tidegauge_{identifier}"


def rules(
    identifier: str,
    plugs: Mapping[str, Plug],
    cut_links: Collection[tuple[str, str]],
    lost_shares: Mapping[str, float],
) -> str:
    """The whole table, which replaces one that is there in one step.

    Args:
        identifier: the network's.
        plugs: every node, and the host, by name.
        cut_links: pairs of source and target between which nothing passes, in this direction.
        lost_shares: share of the packets from and to a node that are lost, by node.
    """
    arriving, leaving, sent_by_host = [], [], []
    for source, target in sorted(cut_links):
        to = f"ip daddr {plugs[target].address} drop"
        if plugs[source].interface:
            arriving.append(f'iifname "{plugs[source].interface}" {to}')
        else:
            sent_by_host.append(to)
    for node, share in sorted(lost_shares.items()):
        lost = round(share * _MILLION)
        if not lost:
            continue
        # Only IP: a lost ARP request would stop everything for a second.
        chance = f"ether type ip {f'numgen random mod {_MILLION} < {lost} ' if lost < _MILLION else ''}drop"
        arriving.append(f'iifname "{plugs[node].interface}" {chance}')
        leaving.append(f'oifname "{plugs[node].interface}" {chance}')
    chains = {"prerouting": arriving, "output": sent_by_host, "postrouting": leaving}
    name = table(identifier)
    lines = [f"add table bridge {name}", f"delete table bridge {name}", f"table bridge {name} {{"]
    for hook, drops in chains.items():
        lines += [f"chain {hook} {{", f"type filter hook {hook} priority 0; policy accept;", *drops, "}"]
    return "\n".join([*lines, "}", ""])
