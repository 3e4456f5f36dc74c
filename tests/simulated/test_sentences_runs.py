"""Every sentence of a whole run, in a simulated one in which it is true and in one in which it would be false."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import calibration_samples
import ceilings_samples
import pytest
from campaign_doubles import spec_of
from collecting_scenes import UNTIL
from collecting_scenes import Scene as Collecting
from collecting_scenes import left as left_by
from disturbance_samples import Machine
from reasons import NOT_KEPT_UP
from report_samples import ceilings as sample
from run_samples import result as measured_result
from run_scenes import Losing, refuse_settings
from run_scenes import Scene as Run
from sentence_scenes import Scene, Stage, Texts, make_tests
from sentence_templates import Claim

from tidegauge.campaign.model import SystemChoice
from tidegauge.campaign.run import apart, ceilings, resources
from tidegauge.campaign.run.apart import Seated, _choose_hosts, _load_words, _measure_links, hosts_of_role
from tidegauge.campaign.run.ceilings import SWITCH, fleet_ceilings
from tidegauge.campaign.run.disturbed import await_calm_cpus, with_load_hosts_judged
from tidegauge.campaign.run.on_hosts import difference_of_files, send_to_each_host
from tidegauge.campaign.run.recorded import OtherwiseError, Recorded, TrialWithResult
from tidegauge.campaign.run.refusing import name_refused_settings
from tidegauge.distribution.cache import cache_directory
from tidegauge.distribution.sending import file_parcel
from tidegauge.errors import RunFailedError, SettingsRefusedError, TidegaugeError, UserError
from tidegauge.model.ceilings import Pace
from tidegauge.model.host import KEEPER_ROLE, SERVER_ROLE, FleetHost, HostLink
from tidegauge.model.load import ReceivedSequences
from tidegauge.model.server import Distribution
from tidegauge.model.trial import LoadSpec, RateRule
from tidegauge.model.use import Limiting, Resource
from tidegauge.model.workload import RatePhase, RateSchedule
from tidegauge.worker import calibration as measuring
from tidegauge.worker.api import LeftResults

MODULES = [
    f"campaign/run/{name}.py"
    for name in (
        "apart",
        "ceilings",
        "collecting",
        "disturbed",
        "execute",
        "on_hosts",
        "recorded",
        "refusing",
        "resources",
    )
]


def run_of(kind: type[Run], change: Callable[[Any, Stage], None]) -> Scene:
    """All that a simulated run says, and how its store was left."""

    def scene(stage: Stage) -> Any:
        run = kind(stage.path)
        change(run, stage)
        with contextlib.suppress(TidegaugeError, KeyboardInterrupt):
            run.run()
        return run.events, run.store.ended

    return scene


def failing(*names: str) -> Callable[[Run, Stage], None]:
    def change(run: Run, _stage: Stage) -> None:
        for name in names:
            run.systems[name].deploy_fails = True

    return change


def refusing(repeat: int = 1) -> Callable[[Run, Stage], None]:
    """Kafka's clients do not take what they are given."""

    def change(run: Run, stage: Stage) -> None:
        stage.patch.setattr("campaign_doubles.FakeWorker.prepare", refuse_settings)
        kafka = SystemChoice("kafka", producer={"acks": "1"})
        first = run.campaign.experiments[:1]
        run.campaign = replace(run.campaign, systems=(kafka,), experiments=first, repeat=repeat)

    return change


def refused(**producer: str) -> Scene:
    """What is said of a client that refuses such settings."""

    def scene(_: Stage) -> Any:
        choice = SystemChoice("kafka", producer=producer, locate=lambda role, name: f"c.yaml:{len(name)}")
        error = SettingsRefusedError("acks must be all.")
        error.role = "producer"
        named = name_refused_settings(error, choice)
        return named.message, named.hint

    return scene


def failing_often(run: Run, stage: Stage) -> None:
    failing("kafka")(run, stage)
    run.campaign = replace(run.campaign, experiments=run.campaign.experiments[:1], repeat=3)


def losing(retry: int) -> Callable[[Losing, Stage], None]:
    def change(run: Losing, _stage: Stage) -> None:
        run.campaign = replace(run.campaign, experiments=run.campaign.experiments[:1], retry=retry)

    return change


def interrupted(*names: str) -> Callable[[Run, Stage], None]:
    def change(run: Run, stage: Stage) -> None:
        def interrupt(*_: Any) -> None:
            raise KeyboardInterrupt(*names)

        stage.patch.setattr("campaign_doubles.FakeWorker.stop_producers", interrupt)

    return change


def dropping(reason: str) -> Scene:
    def scene(stage: Stage) -> Any:
        stage.patch.setattr(resources, "drop_page_cache", lambda _: reason)
        events: list[Any] = []
        nobody: Any = None
        made_with = resources.HostResources(host=nobody, observer=events.append, starter=nobody)
        return made_with.drop_page_cache([]) or "dropped", events

    return scene


RUNS: dict[str, Scene] = {
    "a run": run_of(Run, lambda _run, _stage: None),
    "a run on one system that fails": run_of(Run, failing("kafka")),
    "a run on systems that fail": run_of(Run, failing("kafka", "pulsar")),
    "a run on one system that fails three times": run_of(Run, failing_often),
    "a load generator that is lost and may be once": run_of(Losing, losing(1)),
    "a load generator that is lost and may not be": run_of(Losing, losing(0)),
    "clients that refuse settings": run_of(Run, refusing()),
    "clients that refuse settings three times": run_of(Run, refusing(3)),
    "two settings that are refused": refused(acks="1", retries="0"),
    "no setting that is refused": refused(),
    "Ctrl-C": run_of(Run, interrupted()),
    "SIGTERM": run_of(Run, interrupted("SIGTERM")),
    "a page cache that stays": dropping("needs root"),
    "a page cache that is dropped": dropping(""),
}


def collected(found: Sequence[Any], **known: Any) -> Scene:
    """What becomes of a trial whose controller ended, by what its load generators left."""

    def scene(stage: Stage) -> Any:
        one = Collecting(stage.path)
        result = one.collect(found, **known)
        return result, one.events, [store.result for store in one.store.aside]

    return scene


def of_two(left: LeftResults) -> LeftResults:
    """What a load generator left whose messages two subscriptions receive alike."""
    (first,) = left.totals.subscriptions
    seconds = [
        replace(second, subscriptions=(*second.subscriptions, replace(second.subscriptions[0], name="sub-1")))
        for second in left.seconds
    ]
    received = [replace(each, subscription="sub-1") for each in left.sequences if isinstance(each, ReceivedSequences)]
    totals = replace(left.totals, subscriptions=(first, replace(first, name="sub-1")))
    return replace(left, seconds=tuple(seconds), sequences=(*left.sequences, *received), totals=totals)


WHOLE = [left_by(0), left_by(1)]
COLLECTED: dict[str, Scene] = {
    "whole figures that were left": collected(WHOLE),
    "figures that lack messages": collected([left_by(0, lost=[7, 8]), left_by(1)]),
    "figures that lack an outcome": collected([left_by(0), left_by(1, unknown=[7])]),
    "figures that lack messages of two": collected(
        [of_two(left_by(0, lost=[7, 8])), of_two(left_by(1))], subscriptions=2
    ),
    "no figures that were left": collected([]),
    "figures of another attempt": collected(WHOLE, until_mono_ns=UNTIL + 1),
    "a record that is damaged": collected(WHOLE, level={"number": "x"}),
}


class Unnamed(Machine):
    """Whose programs nobody can name."""

    def samples(self, after: int) -> list[Any]:
        return [replace(sample, programs=()) for sample in super().samples(after)]


def busy(*shares: float, kind: type[Machine] = Machine) -> Scene:
    """A trial on a machine whose others have so much of its CPUs, second by second."""

    def scene(_: Stage) -> Any:
        machine, events = kind(shares), list[Any]()
        sleep: Callable[[float], None] = machine.sleep
        host: Any = machine
        await_calm_cpus(host, events.append, "0001-peak-kafka", now_s=lambda: machine.now_s, sleep=sleep)
        return events

    return scene


def behind(*limits: Limiting, offered_msgs_per_s: float | None = 20_000.0) -> Scene:
    """A trial that missed its rate, or had none, with what was at its end on its load hosts."""
    warnings = NOT_KEPT_UP if offered_msgs_per_s else ()
    result = measured_result(offered_msgs_per_s=offered_msgs_per_s, msgs_per_s=8_000.0, warnings=warnings)

    def scene(_: Stage) -> list[str]:
        judged = with_load_hosts_judged(result, limits)
        return [str(reason) for reason in (*judged.reasons, *judged.warnings)]

    return scene


LINK = Limiting(Resource.NETWORK, "of 10.0.0.9", 0.99, "12.4 MB/s sent of 12.5")
MACHINES: dict[str, Scene] = {
    "a load host at its end": behind(LINK),
    "a peak of a load host at its end": behind(LINK, offered_msgs_per_s=None),
    "no load host at its end": behind(),
    "others that end": busy(0.5, 0.5, 0.01),
    "others that go on": busy(*[0.5] * 60),
    "others that nobody can name": busy(0.5, 0.5, 0.01, kind=Unnamed),
}


def measured(change: Callable[[Any], None] = lambda _case: None) -> Scene:
    """What is said of what the machine can do."""

    def scene(stage: Stage) -> Any:
        stage.patch.setenv("TIDEGAUGE_STATE", str(stage.path / "state"))
        stage.patch.delenv(SWITCH, raising=False)
        case = ceilings_samples.Case(stage.path)
        stage.patch.setattr(ceilings, "measure_ceilings", case.measure)
        change(case)
        case.known()
        return case.events

    return scene


def full(case: Any) -> None:
    case.fails = OSError(28, "No space left on device")


def no_directory(case: Any) -> None:
    case.disk.rmdir()
    case.disk.touch()


def of_hosts(error: Exception | None = None) -> Scene:
    """What is said of the disks of a fleet's hosts."""

    def scene(stage: Stage) -> Any:
        stage.patch.delenv(SWITCH, raising=False)
        case = ceilings_samples.Case(stage.path)

        def on_hosts() -> Mapping[str, Any]:
            if error is not None:
                raise error
            return {"10.0.0.2": sample()}

        fleet_ceilings(case.campaign, on_hosts, case.events.append)
        return case.events

    return scene


def generators(*found: Any, fails: Exception | None = None, again: bool = False) -> Scene:
    """What is said of load generators before a trial that asks much of them."""

    def scene(stage: Stage) -> Any:
        stage.patch.setenv("TIDEGAUGE_STATE", str(stage.path / "state"))
        stage.patch.delenv(SWITCH, raising=False)
        case = calibration_samples.Case()
        case.fails = fails
        for module in (measuring, ceilings):
            stage.patch.setattr(module, "calibration_subject", lambda: calibration_samples.HERE)
        stage.patch.setattr(ceilings, "calibrate", (lambda *_: list(found)) if found else case.measure)
        case.known(calibration_samples.trial(500_000))
        if again:
            case.events.clear()
            case.known(calibration_samples.trial(500_000))
        return case.events

    return scene


STARVED = calibration_samples.calibration(one=Pace(1, 600_000.0, 0.8, cpu_wait_share=0.4))
CEILINGS: dict[str, Scene] = {
    "a machine that is measured": measured(),
    "a machine with a full disk": measured(full),
    "a machine without the directory": measured(no_directory),
    "hosts that are measured": of_hosts(),
    "a host that can't be measured": of_hosts(RunFailedError("10.0.0.2: no answer.")),
    "a load generator that is measured": generators(),
    "a load generator that is known": generators(again=True),
    "a load generator that lacked CPU": generators(STARVED),
    "a load generator that can't be measured": generators(fails=UserError("The load generator is not built.")),
}


def host(number: int, role: str = SERVER_ROLE, alive: bool = True) -> FleetHost:
    return FleetHost(f"10.0.0.{number}", role, str(number), alive)


def agent(number: int) -> Any:
    return SimpleNamespace(host=host(number), interface="eth0")


def too_few(role: str) -> Scene:
    def scene(_: Stage) -> Any:
        with pytest.raises(UserError) as caught:
            hosts_of_role([], role, 1)
        return caught.value

    return scene


def choosing(*others: FleetHost) -> Scene:
    """What is said of the hosts of a fleet that has these beside the one that is needed."""

    def scene(_: Stage) -> Any:
        said: list[str] = []
        fleet: Any = SimpleNamespace(server_hosts=int, has_keeper=False, load_hosts=0, network=None)
        launcher: Any = SimpleNamespace(hosts=lambda: [host(2), *others])
        return _choose_hosts(1, fleet, launcher, "10.0.0.1", lambda note: said.append(note.text)), said

    return scene


def linked(error: RunFailedError | None) -> Scene:
    def scene(stage: Stage) -> Any:
        def measure(*_: Any) -> Mapping[str, HostLink]:
            if error is not None:
                raise error
            return {"10.0.0.2": HostLink(1e9, 2e9), "10.0.0.3": HostLink(1e9, 1e9)}

        said: list[str] = []
        stage.patch.setattr(apart, "link_ceilings", measure)
        _measure_links(SimpleNamespace(), [host(2), host(3)], "10.0.0.1", said.append)  # type: ignore[arg-type]
        return said

    return scene


def seated(nodes: int, keepers: int = 0) -> Scene:
    return lambda _: str(Seated(nodes, [agent(2)] * bool(nodes), [agent(9)] * keepers))


def loads(hosts: int, each: int) -> Scene:
    return lambda _: _load_words([agent(number) for number in range(2, 2 + hosts)], each)


def sent(holds: bool) -> Scene:
    """A file that a host has already, or lacks."""

    def scene(stage: Stage) -> Any:
        file = stage.path / "values.bin"
        file.write_bytes(b"x")
        answers = {"cache": lambda: str(cache_directory()), "holds": lambda *_: holds}
        remote = SimpleNamespace(
            call=lambda method, *given, **_: answers.get(method, lambda *_: None)(*given), end=lambda: None
        )
        launcher: Any = SimpleNamespace(start=lambda _host, _kind: remote)
        said: list[str] = []
        send_to_each_host(launcher, [host(2)], file_parcel(file), said.append)
        return [*said, "asked"]

    return scene


FILES = Distribution("kafka", "4.3.1", Path("/cache/kafka"), Path("/jdk"), "17.0.15", "abc", "maven central")
FLEETS: dict[str, Scene] = {
    "no host for a ZooKeeper": too_few(KEEPER_ROLE),
    "no host for servers": too_few(SERVER_ROLE),
    "a lost host": choosing(host(3, alive=False)),
    "a host more": choosing(host(3)),
    "links that are measured": linked(None),
    "links that are not measured": linked(RunFailedError("10.0.0.3 gave no answer.")),
    "a node": seated(1),
    "a node and a ZooKeeper": seated(1, 1),
    "no node": seated(0),
    "a load host with 2 load generators": loads(1, 2),
    "a load host with 1 load generator": loads(1, 1),
    "no load host": loads(0, 1),
    "other files": lambda _: difference_of_files(FILES, replace(FILES, digest="def")),
    "the same files": lambda _: difference_of_files(FILES, FILES) or "the same",
    "a file that a host lacks": sent(False),
    "a file that a host has": sent(True),
}


def resumed(before: LoadSpec, now: LoadSpec | None, what: Callable[[Recorded], Any] | None = None) -> Scene:
    """What is said of a trial that was made as `before` and is planned as `now`."""

    def scene(_: Stage) -> Any:
        kept = Recorded({before.trial_id: TrialWithResult(before, None, "a" * 64)})  # type: ignore[arg-type]
        try:
            if what is not None:
                return what(kept)
            return kept.check_plan([] if now is None else [now])
        except OtherwiseError as error:
            return error

    return scene


PEAK = spec_of("peak", "kafka@1")
SHARE = replace(
    spec_of("latency", "kafka@1"), rate_rule=RateRule("50% of lowest peak", is_share=True), msgs_per_s=900.0
)
FIXED = replace(SHARE, rate_rule=RateRule("900"))


def rising(to: float) -> LoadSpec:
    schedule = RateSchedule((RatePhase(100, 100, 10, 0), RatePhase(to, to, 10, 1)), ("low", "high"))
    return replace(
        SHARE, rate_rule=RateRule("100, then 50% of lowest peak", is_share=True), msgs_per_s=100.0, schedule=schedule
    )


def stale(before: LoadSpec, now: LoadSpec) -> Scene:
    return resumed(before, now, lambda kept: kept.why_stale(now) or "it is kept")


def another(now: LoadSpec) -> Scene:
    return resumed(FIXED, now, lambda kept: kept.result_of(now))


OTHER_FILES: Any = {"kafka@1": SimpleNamespace(source="maven central", digest="b" * 64)}
RESUMED: dict[str, Scene] = {
    "a plan without the step": resumed(PEAK, None),
    "a plan with another step": resumed(PEAK, replace(PEAK, system="pulsar@1")),
    "another trial of the name": another(replace(FIXED, measure_s=99.0)),
    "other files than before": resumed(PEAK, PEAK, lambda kept: kept.check_files(OTHER_FILES)),
    "a share of another rate": stale(SHARE, replace(SHARE, msgs_per_s=500.0)),
    "a schedule with a share of another rate": stale(rising(300.0), rising(200.0)),
    "a rate that was changed": stale(FIXED, replace(FIXED, msgs_per_s=500.0)),
}
SCENES = {**RUNS, **COLLECTED, **MACHINES, **CEILINGS, **FLEETS, **RESUMED}
CLAIMS = [
    # apart.py
    Claim("what belongs to no node", "no host for a ZooKeeper", "no host for servers"),
    Claim("The fleet has other hosts of role", "a lost host", "a host more"),
    Claim("What the hosts' links can carry", "links that are not measured", "links that are measured"),
    Claim("{} sends {} and receives {}", "links that are measured", "links that are not measured"),
    Claim("Others run the servers", "no node", "a node"),
    Claim("node {} on {}", "a node", "no node"),
    Claim(", what belongs to no node on {}", "a node and a ZooKeeper", "a node"),
    Claim("{} on each of", "a load host with 2 load generators", "no load host"),
    Claim("one on each of", "a load host with 1 load generator", "a load host with 2 load generators"),
    Claim("load generators: {} {}", "a load host with 1 load generator", "no load host"),
    # ceilings.py
    Claim("What the machine can do at most is not", "a machine without the directory", "a machine with a full disk"),
    Claim("What the machine can do at most could", "a machine with a full disk", "a machine without the directory"),
    Claim("what disk and loopback can do at most", "a machine that is measured", "hosts that are measured"),
    Claim("what the disks of the hosts can do", "hosts that are measured", "a machine that is measured"),
    Claim("What the disks of the hosts can do", "a host that can't be measured", "hosts that are measured"),
    Claim(
        ": DOUBTFUL, {} when that was measured", "a load generator that lacked CPU", "a load generator that is measured"
    ),
    Claim("On this host {}{}.", "a load generator that is known", "a load generator that can't be measured"),
    Claim("what one load generator can make", "a load generator that is measured", "a load generator that is known"),
    Claim(
        "What one load generator can make",
        "a load generator that can't be measured",
        "a load generator that is measured",
    ),
    # collecting.py
    Claim("its controller ended before the trial did", "whole figures that were left", "no figures that were left"),
    Claim("what its load generators left", "whole figures that were left", "a run"),
    Claim("its record can't be read: {}", "a record that is damaged", "figures of another attempt"),
    Claim("{} is made again: it had been measured", "figures of another attempt", "figures that lack messages"),
    Claim("{} is made again: {}. What", "figures that lack messages", "whole figures that were left"),
    Claim("{} had not been received{}", "figures that lack messages", "figures that lack an outcome"),
    Claim("{} had no outcome", "figures that lack an outcome", "figures that lack messages"),
    Claim(" by the subscription furthest", "figures that lack messages of two", "figures that lack messages"),
    Claim("{}; what servers and machine", "whole figures that were left", "figures that lack messages"),
    # disturbed.py
    Claim("{}: waited {} s for other programs", "others that end", "others that go on"),
    Claim("waited {} s in vain for other", "others that go on", "others that end"),
    Claim("{}: {}, and began beside them.", "others that go on", "others that end"),
    Claim("programs that can't be seen", "others that nobody can name", "others that end"),
    Claim("the load generator's host was at its end, and not", "a load host at its end", "no load host at its end"),
    Claim("{}; or offer a lower rate", "a load host at its end", "a peak of a load host at its end"),
    Claim("{}; the system may do more", "a peak of a load host at its end", "a load host at its end"),
    Claim("give the load generator more of that, or more", "a load host at its end", "no load host at its end"),
    # execute.py
    Claim("skipped: the client refuses", "clients that refuse settings three times", "clients that refuse settings"),
    Claim(
        "the last {} steps on {} failed", "a run on one system that fails three times", "a run on one system that fails"
    ),
    Claim(
        "{} is made again: {} What it had",
        "a load generator that is lost and may be once",
        "a load generator that is lost and may not be",
    ),
    Claim("The page cache is not always dropped", "a page cache that stays", "a page cache that is dropped"),
    Claim("interrupted by the user", "Ctrl-C", "SIGTERM"),
    Claim("{} of {} trials failed: {}", "a run on one system that fails", "a run"),
    Claim("No trial gave a result: {}", "a run on systems that fail", "a run on one system that fails"),
    # on_hosts.py
    Claim("its {} is {} instead of {}", "other files", "the same files"),
    Claim("Sent {} to {}.", "a file that a host lacks", "a file that a host has"),
    # recorded.py
    Claim("Start a new run; this one stays", "a plan without the step", "a share of another rate"),
    Claim("{} was {} and is {} now", "another trial of the name", "a plan without the step"),
    Claim("{} is measured again, and its earlier", "a share of another rate", "a rate that was changed"),
    Claim("its rate, {}, was {} msg/s", "a share of another rate", "a schedule with a share of another rate"),
    Claim("its schedule, {}, has other rates", "a schedule with a share of another rate", "a share of another rate"),
    Claim("is planned no more", "a plan without the step", "a plan with another step"),
    Claim("{} on {} in block {}", "a plan with another step", "other files than before"),
    # refusing.py
    Claim("Given to {}s: {}.", "two settings that are refused", "no setting that is refused"),
    Claim("Change one of these settings", "two settings that are refused", "no setting that is refused"),
    Claim("Nothing was given to {}s", "no setting that is refused", "two settings that are refused"),
    Claim("Change the workload or the level", "no setting that is refused", "two settings that are refused"),
]
texts, test_every_sentence_is_listed, test_a_sentence_is_said_where_it_is_true_and_not_beside = make_tests(
    MODULES, SCENES, CLAIMS
)


def test_who_interrupts_is_named(texts: Texts) -> None:
    assert "interrupted by SIGTERM" in texts.of("SIGTERM")
