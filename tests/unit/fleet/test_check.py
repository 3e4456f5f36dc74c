"""A check of a fleet, over hosts that are addresses of loopback, and what it concludes."""

from __future__ import annotations

import ipaddress
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from loopback_fleet import Loopback

from tidegauge.cli.output import console_on
from tidegauge.errors import RunFailedError
from tidegauge.fleet import probes
from tidegauge.fleet.check import (
    check_fleet,
    clock_offsets_and_problems,
    disagreements,
    far_hosts,
    hosts_outside_network,
    missing_hosts,
    rounds_of_pairs,
    slow_links,
)
from tidegauge.fleet.code import code_version, digest_of, version_refusal
from tidegauge.fleet.file import FleetFile
from tidegauge.fleet.probes import Prober
from tidegauge.model.host import DiskState, FleetCheck, FleetHost, HostLink, HostState, Joined
from tidegauge.report.fleet import check_content, check_report, hosts_report, joined_report
from tidegauge.statistics.clocks import Exchange, Offset

HOSTS = tuple(
    FleetHost(f"127.0.3.{number}", role, f"node-{number}")
    for number, role in ((1, "controller"), (2, "server"), (3, "load"))
)
WANTED = FleetFile(hosts_of_role={"server": 1, "load": 1}, clock_s_max=2.0, drift_ppm=100.0)


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path))
    monkeypatch.setattr("tidegauge.fleet.check._TRANSFER_S", 0.05)
    brief = probes.BRIEF
    monkeypatch.setattr(
        probes, "BRIEF", type(brief)(write_s=0.05, read_s=0.0, sync_s=0.05, files_s=0.0, loopback_s=0.0, memory_s=0.0)
    )


def shown(renderable: Any) -> str:
    import io

    out = io.StringIO()
    screen = console_on(out)
    screen.print(renderable, crop=False)
    return out.getvalue()


def test_a_disk_that_cannot_be_measured_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = DiskState(None, None, None, "/data can't be written")
    monkeypatch.setattr(Prober, "disk", lambda _: failed)
    found = check_fleet(Loopback(HOSTS), WANTED, lambda _: None)
    assert found.problems == ("127.0.3.2: /data can't be written",)
    assert "1 problem: " in " ".join(shown(check_report(found)).split())


def test_every_host_link_clock_and_server_disk_is_looked_at() -> None:
    said: list[str] = []
    found = check_fleet(Loopback(HOSTS), WANTED, said.append)
    assert found.problems == ()
    assert set(found.states) == {host.address for host in HOSTS}
    assert set(found.disks) == {"127.0.3.2"}
    assert len(found.links) == 6
    for link in found.links:
        assert link.bytes_per_s > 0
        assert 0 < link.round_trip_us_min <= link.round_trip_us_p50
        # All are one clock: the truth, 0, lies within each bound.
        assert link.offset_ns is not None
        assert link.offset_ns[0] <= 0 <= link.offset_ns[1]
    assert said[0] == "asking 3 hosts ..."
    json.dumps(check_content(found))
    text = shown(check_report(found))
    assert "The fleet of 3 hosts can be used." in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_host_that_fails_is_named_and_the_others_are_looked_at() -> None:
    gone = RunFailedError("127.0.3.3 is lost: Ray can't reach it.", "Check that host.")
    found = check_fleet(Loopback(HOSTS, {"127.0.3.3": {"state": gone}}), WANTED, lambda _: None)
    assert found.problems == ("127.0.3.3 is lost: Ray can't reach it. Check that host.",)
    assert {link.from_address for link in found.links} == {"127.0.3.1", "127.0.3.2"}
    assert "1 problem:" in shown(check_report(found))


def test_a_host_on_which_nothing_can_be_started_leaves_nothing_on_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[Prober] = []

    def stop(prober: Prober) -> None:
        ended.append(prober)

    monkeypatch.setattr(Prober, "stop", stop)
    fails = {HOSTS[2].address: {"start": RunFailedError("Ray gives no answer.")}}
    with pytest.raises(RunFailedError, match="no answer"):
        check_fleet(Loopback(HOSTS, fails), WANTED, lambda _: None)
    assert len(ended) == 2


def test_a_port_that_is_taken_or_closed_is_said() -> None:
    taken = Prober()
    taken.listen("127.0.3.2", 7200)
    try:
        found = check_fleet(Loopback(HOSTS), WANTED, lambda _: None)
    finally:
        taken.stop()
    assert "127.0.3.2 can't listen on port 7200: Address already in use." in found.problems[0]
    with pytest.raises(RunFailedError, match=r"127\.0\.3\.9:7200 can't be reached from .*: Connection refused"):
        Prober().exchange("127.0.3.9", 7200, 1)


def test_hosts_that_are_lost_missing_or_outside_the_network_are_problems() -> None:
    hosts = (*HOSTS[:2], FleetHost("127.0.3.3", "load", "node-3", alive=False))
    network = ipaddress.IPv4Network("127.0.3.0/31")
    wanted = FleetFile(hosts_of_role={"server": 3, "load": 1}, network=network, drift_ppm=100.0, clock_s_max=2.0)
    found = check_fleet(Loopback(hosts), wanted, lambda _: None)
    assert found.problems[0].startswith("127.0.3.3 can't be used: it is lost: Ray had it and can't reach it (")
    assert "needs 3: tidegauge fleet join ADDRESS --role server on 2 more hosts." in found.problems[1]
    assert "0 hosts of role load (127.0.3.3 is left out: it is lost: Ray had it" in found.problems[2]
    assert "127.0.3.2 is not in the fleet's network 127.0.3.0/31" in found.problems[3]
    assert "LOST" in shown(hosts_report(hosts))
    assert not missing_hosts(HOSTS, {"server": 1}) and not hosts_outside_network(
        HOSTS, ipaddress.IPv4Network("127.0.3.0/24")
    )


def test_a_host_of_another_version_is_named_and_asked_for_nothing() -> None:
    """Not even for what it is: the answer of another version may be of another form."""
    old = replace(HOSTS[2], refused=version_refusal("0.1.0-000000000000"))
    asked = {old.address: {"start": AssertionError("it was asked for something")}}
    found = check_fleet(Loopback((*HOSTS[:2], old), asked), WANTED, lambda _: None)
    assert found.problems[0].startswith(
        f"127.0.3.3 can't be used: it has another Tidegauge (0.1.0-000000000000) than this host ({code_version()})."
    )
    assert "0 hosts of role load (127.0.3.3 is left out: it has another Tidegauge" in found.problems[1]
    assert "OTHER VERSION" in shown(hosts_report((*HOSTS[:2], old)))
    assert {link.from_address for link in found.links} == {"127.0.3.1", "127.0.3.2"}


def test_a_version_is_that_of_all_files(tmp_path: Path) -> None:
    for name in ("a.py", "data/b.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    before = digest_of(tmp_path)
    # What only a wheel has: a fleet may have a checkout at its head, and a wheel on the others.
    for made in ("__pycache__/a.pyc", "_worker/worker.jar", "_campaigns/quick.yaml", "_workloads/1-topic.yaml"):
        (tmp_path / made).parent.mkdir()
        (tmp_path / made).touch()
    assert digest_of(tmp_path) == before
    (tmp_path / "data/b.yaml").write_text("c")
    changed = digest_of(tmp_path)
    (tmp_path / "data/b.yaml").rename(tmp_path / "data/c.yaml")
    assert len({before, changed, digest_of(tmp_path)}) == 3
    assert version_refusal(code_version()) == ""
    assert "an older one, which does not say which" in version_refusal("")
    # What Ray takes as the value of a label.
    assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?", code_version())


def state(java: str = "25.0.3", **versions: str) -> HostState:
    return HostState("name", 2, 1, 1, java, "tsc", True, {"tidegauge": "1", **versions})


def test_versions_must_agree_and_java_be_there() -> None:
    assert disagreements({"a": state(), "b": state()}) == []
    assert disagreements({"a": state(), "b": state(tidegauge="2"), "c": state(java="")}) == [
        "Versions of tidegauge differ: 1 on a, c; 2 on b. Install the same everywhere.",
        "No Java that load generators can use on c: install a JDK or JRE there.",
    ]


def test_clocks_that_contradict_each_other_or_are_not_known_well() -> None:
    ok = {("a", "b"): Offset(0, 10_000, 0, 0), ("b", "c"): Offset(0, 10_000, 0, 0), ("a", "c"): Offset(0, 10_000, 0, 0)}
    assert clock_offsets_and_problems(ok, 6_000)[1] == []
    (wide,) = clock_offsets_and_problems(ok, 4_000)[1]
    # As `width-max` is given: from the lower bound to the upper.
    assert "apart is known within 10 us only (width-max: 8 us)" in wide
    bounds, (contradiction,) = clock_offsets_and_problems(ok | {("a", "c"): Offset(1e6, 1.1e6, 0, 0)}, 6_000)
    assert not bounds
    assert "one of a, b, c was set or slewed" in contradiction


def test_what_is_not_plain_in_a_table_is_said_below_it_and_nothing_else() -> None:
    def legend(clock_kept: bool, sync_p99_ms: float | None) -> str:
        state = HostState("name", 2, 1, 1, "25", "tsc", clock_kept, {})
        disks = {HOSTS[1].address: DiskState(1e8, 1e3, sync_p99_ms)}
        return shown(check_report(FleetCheck(HOSTS, {HOSTS[0].address: state}, disks)))

    assert "free: nothing keeps" in legend(False, 1.0)
    assert "p99 '-': the disk" in legend(True, None)
    assert not {"free: nothing", "p99 '-'"} & {
        part for part in ("free: nothing", "p99 '-'") if part in legend(True, 1.0)
    }


def test_a_slow_link_is_remarked_on() -> None:
    links = {f"10.7.0.{number}": HostLink(1e9, 1e9) for number in (2, 3, 4, 5)}
    assert slow_links(links) == []
    (sends,) = slow_links({**links, "10.7.0.6": HostLink(3e6, 9e8)})
    assert sends.startswith("10.7.0.6 sends 3.00 MB/s at most, where others usually do 1,000 MB/s: its link is ")
    (receives,) = slow_links({**links, "10.7.0.6": HostLink(9e8, 3e6)})
    assert receives.startswith("10.7.0.6 receives")
    # Of two hosts nobody can tell whose it is; half of the others' is no outlier.
    assert slow_links({"10.7.0.2": links["10.7.0.2"], "10.7.0.6": HostLink(3e6, 1e9)}) == []
    assert slow_links({**links, "10.7.0.6": HostLink(5e8, 5e8)}) == []


def test_a_host_far_away_is_remarked_on() -> None:
    def taking(us: float) -> list[Exchange]:
        return [Exchange(0, us * 500, us * 500, us * 1000)]

    near, far = taking(80), taking(20_000)
    exchanged = {("a", "b"): near, ("a", "c"): near, ("b", "c"): near}
    assert far_hosts(exchanged) == []
    (remark,) = far_hosts({**exchanged, ("a", "d"): far, ("b", "d"): far, ("c", "d"): far})
    assert remark.startswith(
        "d is 20 ms (there and back) from the nearest other host, where others have one within 0.08"
    )
    assert far_hosts({("a", "d"): far}) == []
    # Half of the hosts in another place have each other.
    assert far_hosts({("a", "b"): near, ("c", "d"): near, **dict.fromkeys([("a", "c"), ("b", "d")], far)}) == []
    found = FleetCheck(HOSTS, remarks=(remark,))
    assert "The fleet of 3 hosts can be used" in shown(check_report(found))
    assert "d is 20 ms" in shown(check_report(found))
    assert check_content(found)["remarks"] == [remark]


@pytest.mark.parametrize("count", [1, 2, 3, 6, 7])
def test_each_pair_has_one_round_and_each_host_one_pair_in_it(count: int) -> None:
    hosts = [str(number) for number in range(count)]
    found = rounds_of_pairs(hosts)
    pairs = [frozenset(pair) for pairs in found for pair in pairs]
    assert len(pairs) == len(set(pairs)) == count * (count - 1) // 2
    for together in found:
        busy = [host for pair in together for host in pair]
        assert len(busy) == len(set(busy))


def test_what_is_to_be_done_next_is_said() -> None:
    joined = Joined("10.0.0.1", "10.0.0.1:6379", "controller", "/s/ray.log", "/s/token", ("6379", "7001 to 7008"))
    text = shown(joined_report(joined, "tidegauge fleet join 10.0.0.1:6379 --token token --role server"))
    assert "The head of a fleet runs on this host, at 10.0.0.1:6379 (controller)." in text
    assert "  tidegauge fleet join 10.0.0.1:6379 --token token --role server\n" in text
    ports = "must reach ports 6379, 7001 to 7008 here (TCP unless marked /udp), and nobody else may"
    assert ports in " ".join(text.split())
    assert "nobody else may: Ray is reached at 10.0.0.1 only, and whoever has the token" in " ".join(text.split())
    text = shown(joined_report(replace(joined, open_because="needs root")))
    assert "nobody else may: Ray listens on all addresses of this host (needs root), and" in " ".join(text.split())
    assert shown(joined_report(joined)).startswith("10.0.0.1 is in the fleet of 10.0.0.1:6379 now, as controller.")


def test_nothing_measured_is_shown_as_nothing() -> None:
    assert "1 problem:" in shown(check_report(FleetCheck((), problems=("none",))))
