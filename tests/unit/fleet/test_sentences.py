"""Every sentence of a check of a fleet: one in which it is said, and one in which it would be false."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Network
from typing import Any

from loopback_fleet import Loopback
from sentence_scenes import Scene, Stage, make_tests
from sentence_templates import Claim, claims_of

from tidegauge.errors import RunFailedError, TidegaugeError
from tidegauge.fleet.check import check_fleet, clock_offsets_and_problems, far_hosts, link_ceilings, slow_links
from tidegauge.fleet.code import version_refusal
from tidegauge.fleet.file import FleetFile
from tidegauge.fleet.ports import Unreached
from tidegauge.fleet.probes import Prober
from tidegauge.model.host import DiskState, FleetHost, HostLink, HostState
from tidegauge.statistics.clocks import Exchange, HostPair, Offset

MODULES = ["fleet/check.py"]
HERE, SERVER, OTHER, LOAD = (
    FleetHost(f"10.0.0.{number}", role, f"node-{number}")
    for number, role in enumerate(("controller", "server", "server", "load"), 1)
)
STATE = HostState("name", 2, 1, 1, "25.0.3", "tsc", True, {"tidegauge": "1"})
ANSWERS: Mapping[str, Any] = {
    "state": lambda _: STATE,
    "listen": lambda *_: None,
    "open_ports": lambda _: ([7201], []),
    "unreached": lambda *_: Unreached(),
    "exchange": lambda *_: [Exchange(0, 5_000, 5_000, 10_000)],
    "send": lambda *_: 1e9,
    "disk": lambda: DiskState(1e8, 1e3, 1.0),
}


def answering(stage: Stage, answers: Mapping[str, Any]) -> None:
    """Have each host answer so, without a network."""
    for name, answer in {**ANSWERS, **answers}.items():
        stage.patch.setattr(Prober, name, lambda _self, *arguments, answer=answer: answer(*arguments))


def checked(*hosts: FleetHost, wanted: FleetFile | None = None, **answers: Any) -> Scene:
    def scene(stage: Stage) -> Any:
        answering(stage, answers)
        shown: list[str] = []
        return check_fleet(Loopback(hosts), wanted or FleetFile(), shown.append).problems, shown

    return scene


def before_a_run(**answers: Any) -> Scene:
    """Two hosts' links, as a run measures them."""

    def scene(stage: Stage) -> Any:
        answering(stage, answers)
        try:
            return list(link_ceilings(Loopback([SERVER, OTHER]), [SERVER, OTHER]))
        except TidegaugeError as error:
            return error

    return scene


def fail(*_: object) -> Any:
    raise RunFailedError("10.0.0.2 can't listen on port 7200.")


def in_turn(values: Sequence[Any]) -> Any:
    rest = iter(values)
    return lambda *_: next(rest)


def clocks(*offsets_us: tuple[str, str, float, float]) -> Scene:
    """Bounds of pairs of hosts, of which each may be 6 us wide either way."""
    measured: dict[HostPair, Offset] = {
        (one, other): Offset(low * 1e3, high * 1e3, 0, 0) for one, other, low, high in offsets_us
    }
    return lambda _: clock_offsets_and_problems(measured, 6_000)[1]


LOST, OLD = replace(OTHER, alive=False), replace(OTHER, refused=version_refusal("0.1"))
TWO_SERVERS = FleetFile(hosts_of_role={"server": 2})
CLOSED = lambda address, *_: Unreached((7300,)) if address == OTHER.address else Unreached()  # noqa: E731
AGREED = (("a", "b", 0, 10), ("b", "c", 0, 10), ("a", "c", 0, 10))
LINKS = {name: HostLink(1e9, 1e9) for name in "abc"}
FAR = [Exchange(0, 10_000_000, 10_000_000, 20_000_000)]
NEAR = {pair: [Exchange(0, 40_000, 40_000, 80_000)] for pair in (("a", "b"), ("b", "c"), ("a", "c"))}
SCENES: dict[str, Scene] = {
    "two hosts": checked(SERVER, OTHER),
    "a host alone": checked(SERVER),
    "no server": checked(HERE, LOAD),
    "a lost host": checked(SERVER, LOST),
    "a host of another version": checked(SERVER, OLD),
    "a host too few": checked(SERVER, wanted=TWO_SERVERS),
    "two as wanted": checked(SERVER, OTHER, wanted=TWO_SERVERS),
    "a host too few, since one is lost": checked(SERVER, LOST, wanted=TWO_SERVERS),
    "a host in another network": checked(SERVER, OTHER, wanted=FleetFile(network=IPv4Network("10.0.0.0/31"))),
    "two in their network": checked(SERVER, OTHER, wanted=FleetFile(network=IPv4Network("10.0.0.0/24"))),
    "two versions of Python": checked(
        SERVER, OTHER, state=in_turn([replace(STATE, versions={"python": version}) for version in ("3.11", "3.12")])
    ),
    "no Java": checked(SERVER, OTHER, state=in_turn([STATE, replace(STATE, java="")])),
    "a closed port": checked(SERVER, OTHER, unreached=CLOSED),
    "a clock that was set meanwhile": checked(
        SERVER, OTHER, exchange=lambda *_: [Exchange(0, 5_000, 5_000, 10_000), Exchange(0, 10**9, 10**9, 10_000)]
    ),
    "a closed port before a run": before_a_run(unreached=CLOSED),
    "a taken port before a run": before_a_run(listen=fail),
    "links that are alike": lambda _: slow_links(LINKS),
    "a slow link": lambda _: slow_links({**LINKS, "d": HostLink(1e6, 1e9)}),
    "a host far away": lambda _: far_hosts({**NEAR, ("a", "d"): FAR, ("b", "d"): FAR, ("c", "d"): FAR}),
    "hosts side by side": lambda _: far_hosts(NEAR),
    "clocks that agree": clocks(*AGREED),
    "clocks that are hardly known": clocks(("a", "b", 0, 20)),
    "one clock that contradicts": clocks(*AGREED[:2], ("a", "c", 1000, 1100)),
    "two clocks that contradict": clocks(
        *AGREED[:2], ("a", "c", 1000, 1100), ("d", "e", 0, 10), ("e", "f", 0, 10), ("d", "f", 1000, 1100)
    ),
}
CLAIMS = [
    Claim("Let through between the fleet's hosts", "a closed port before a run", "a taken port before a run"),
    Claim("then, there, tidegauge fleet down", "a lost host", "a host too few"),
    Claim("Install the same there", "a host of another version", "a lost host"),
    Claim("Start it, and let through there", "a lost host", "a host of another version"),
    Claim("{} can't be used: {}. {}", "a lost host", "two hosts"),
    *claims_of("two hosts", "a host alone", "trying every port", "exchanging messages for", "sending from each host"),
    Claim("trying the disks of {}", "two hosts", "no server"),
    Claim("The fleet has {} of role {}{}, and needs", "a host too few", "two as wanted"),
    Claim("{} is left out: {}", "a host too few, since one is lost", "a host too few"),
    Claim("{} is not in the fleet's network", "a host in another network", "two in their network"),
    Claim("Versions of {} differ", "two versions of Python", "no Java"),
    Claim("No Java that load generators can use", "no Java", "two versions of Python"),
    Claim("more than one host's", "two clocks that contradict", "one clock that contradicts"),
    Claim("Clocks contradict each other", "one clock that contradicts", "clocks that are hardly known"),
    *(
        Claim("How far the clocks of {} and {} are apart is known within", "clocks that are hardly known", beside)
        for beside in ("one clock that contradicts", "clocks that agree")
    ),
    Claim("{} {} {} at most, where others usually do", "a slow link", "links that are alike"),
    Claim("{} is {} ms (there and back) from the nearest other host", "a host far away", "hosts side by side"),
    Claim("{} can't be reached from {} at ports", "a closed port", "two hosts"),
    Claim("The clocks of {} and {} were set", "a clock that was set meanwhile", "two hosts"),
]
texts, test_every_sentence_is_listed, test_a_sentence_is_said_where_it_is_true_and_not_beside = make_tests(
    MODULES, SCENES, CLAIMS, may_be_silent=True
)
