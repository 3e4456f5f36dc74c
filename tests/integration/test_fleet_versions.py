"""Hosts of a fleet with different code: the one that differs is named, and refused before anything is asked of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fleet_hosts import NEEDS, Namespace, join, namespaces

import tidegauge

pytestmark = [*NEEDS, pytest.mark.slow]
CAMPAIGN = """\
name: mixed
systems: [{name: kafka, heap: 512MiB, direct-memory: 256MiB}]
durability: 4
workload: {message-size: 1KiB}
experiments:
  - {name: latency, rate: 200, warm-up-min: 2s, warm-up-max: 4s, measure: 3s}
"""
FLEET = """\
launcher: ray
network: 10.213.5.0/24
roles: {servers: {label: {role: server}, count: 1}, load: {label: {role: load}, count: 1}}
"""


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[list[Namespace]]:
    places = [tmp_path / role for role in ("controller", "load", "server")]
    for place in places:
        place.mkdir()
    with namespaces(places, "10.213.5") as made:
        yield made


def test_a_host_with_another_commit_is_named_and_refused(hosts: list[Namespace], tmp_path: Path) -> None:
    join(hosts[:2], ["controller", "load"])
    other = tmp_path / "other"
    shutil.copytree(Path(tidegauge.__file__).parent, other / "tidegauge")
    with (other / "tidegauge/numbers.py").open("a") as module:
        module.write("# As another commit has it.\n")
    token = hosts[2].state / "copied"
    token.touch(mode=0o600)
    token.write_text((hosts[0].state / "fleet/token").read_text())
    arguments = ("fleet", "join", f"{hosts[0].address}:6379", "--token", str(token), "--role", "server")
    joined = hosts[2].tidegauge(*arguments, PYTHONPATH=str(other))
    assert joined.returncode == 0, joined.stderr
    campaign, fleet = tmp_path / "mixed.yaml", tmp_path / "fleet.yaml"
    campaign.write_text(CAMPAIGN)
    fleet.write_text(FLEET)
    checked = hosts[0].tidegauge("fleet", "check", str(fleet))
    shown = " ".join(checked.stdout.split())
    assert checked.returncode == 1, checked.stderr
    assert f"{hosts[2].address} server OTHER VERSION" in shown
    assert f"{hosts[2].address} can't be used: it has another Tidegauge ({tidegauge.__version__}-" in shown
    done = hosts[0].tidegauge("run", str(campaign), "--fleet", str(fleet), "--runs-dir", str(tmp_path / "runs"))
    assert done.returncode == 2, done.stdout
    assert f"({hosts[2].address} is left out: it has another Tidegauge" in " ".join(done.stderr.split())
    assert list((tmp_path / "runs").glob("*")) == []
