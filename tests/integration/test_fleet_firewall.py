"""A fleet with a firewall on each host: with only the printed ports open a campaign runs, and a closed one is named."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fleet_hosts import NEEDS, Namespace, join, namespaces

pytestmark = [
    *NEEDS,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("nft") is None, reason="a firewall takes nft"),
]
ROLES = ["controller", "load", "server", "server", "server"]
CAMPAIGN = """\
name: guarded
systems: [{{name: {system}, heap: 512MiB, direct-memory: 256MiB}}]
durability: 1
nodes: 3
workload: {{message-size: 1KiB, partitions: 2}}
experiments:
  - {{name: latency, rate: 200, warm-up-min: 2s, warm-up-max: 4s, measure: 3s, drain-max: 10s}}
"""
FLEET = """\
launcher: ray
network: 10.213.4.0/24
roles: {servers: {label: {role: server}, count: 3}, load: {label: {role: load}, count: 1}}
"""


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Namespace]]:
    places = [tmp_path_factory.mktemp(role) for role in ROLES]
    with namespaces(places, "10.213.4") as made:
        join(made, ROLES)
        for number, host in enumerate(made):
            guard(host, printed(host, head=number == 0))
        yield made


def printed(host: Namespace, head: bool) -> list[str]:
    """The ports that `fleet head` or `join` told the user of on this host: what it would print now."""
    line = f"from tidegauge.fleet.ray_node import ports_to_open; print(*ports_to_open({head}), sep=',')"
    out = host.python(line)
    assert all(re.fullmatch(r"\d+( to \d+)?(/udp)?", part) for part in out.split(","))
    return out.split(",")


def guard(host: Namespace, ports: list[str], otherwise: str = "drop") -> None:
    """Drop (or reject) what comes from other hosts to other ports, but answers."""
    tcp, udp = (
        ", ".join(part.removesuffix("/udp").replace(" to ", "-") for part in ports if part.endswith("/udp") is ends)
        for ends in (False, True)
    )
    rules = f"""
    add table inet guard
    delete table inet guard
    table inet guard {{
      chain input {{
        type filter hook input priority 0; policy drop;
        iifname "lo" accept
        ct state established,related accept
        tcp dport {{ {tcp} }} accept
        udp dport {{ {udp} }} accept
        {otherwise}
      }}
    }}
    """
    line = ["ip", "netns", "exec", host.name, "nft", "-f", "-"]
    subprocess.run(line, input=rules, text=True, check=True, capture_output=True)


def arguments(directory: Path, system: str) -> list[str]:
    campaign, fleet = directory / "guarded.yaml", directory / "fleet.yaml"
    campaign.write_text(CAMPAIGN.format(system=system))
    fleet.write_text(FLEET)
    return ["run", str(campaign), "--fleet", str(fleet), "--runs-dir", str(directory / "runs")]


@pytest.mark.parametrize("system", ["kafka", "pulsar", "rabbitmq"])
def test_with_only_the_printed_ports_open_a_campaign_runs(hosts: list[Namespace], tmp_path: Path, system: str) -> None:
    done = hosts[0].tidegauge(*arguments(tmp_path, system))
    # A machine that is busy with other things may spoil figures, not counts.
    assert done.returncode in (0, 3), done.stderr + done.stdout
    (result,) = (tmp_path / "runs").glob("*/trials/*/result.json")
    found = json.loads(result.read_text())["result"]
    assert found["subscriptions"][0]["received"] == found["sent"] > 0


def test_a_closed_port_is_named_by_check_and_by_a_run(hosts: list[Namespace], tmp_path: Path) -> None:
    wanted = printed(hosts[4], head=False)
    assert hosts[0].json("fleet", "check")["problems"] == []
    guard(hosts[4], [*(part for part in wanted if not part.startswith("7200")), "7200 to 7499"])
    try:
        closed = "10.213.4.5 can't be reached from 10.213.4.1 at ports 7500 to 7999: a firewall may be between."
        assert closed in hosts[0].json("fleet", "check")["problems"]
        done = hosts[0].tidegauge(*arguments(tmp_path, "kafka"))
        assert done.returncode == 2, done.stdout
        assert re.search(
            r"10\.213\.4\.5 can't be reached from 10\.213\.4\.\d at ports 7500 to 7999", " ".join(done.stderr.split())
        )
        assert not [*(tmp_path / "runs").glob("*/trials/*")]
    finally:
        guard(hosts[4], wanted)


def test_a_port_of_rays_that_is_closed_after_joining_is_named(hosts: list[Namespace], tmp_path: Path) -> None:
    """What Ray has connected by then stays. The last test, since Ray gives the host up after a while."""
    ports = printed(hosts[4], head=False)
    guard(hosts[4], [part for part in ports if part != "7001 to 7007"], "reject with tcp reset")
    closed = r"10\.213\.4\.5 can't be reached from 10\.213\.4\.\d at ports 7001 to 7003, 7005 to 7007"
    lost = (
        r"10\.213\.4\.5 .*it is lost: Ray had it and can't reach it \(it is down, or a firewall is between\)|"
        r"10\.213\.4\.5 is lost: Ray there gives no answer any more"
    )
    for command in (("fleet", "check"), arguments(tmp_path, "kafka")):
        done = hosts[0].tidegauge(*command)
        assert done.returncode in (1, 2), done.stdout
        assert re.search(f"{closed}|{lost}", " ".join((done.stderr + done.stdout).split()))
        assert "raylet" not in done.stderr + done.stdout
    assert not [*(tmp_path / "runs").glob("*/trials/*")]
