"""Every sentence of a plan on hosts, limits and what this machine lacks: where it is said, where it would be false."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from campaign_samples import MANY
from run_samples import spec
from sentence_scenes import Scene, Stage, make_tests
from sentence_templates import Claim, claims_of

from tidegauge.campaign.model import Campaign, SystemChoice
from tidegauge.campaign.plan.limits import check_handles, refused_faults, too_small
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.campaign.run.node_limits import limit_servers
from tidegauge.cli import planning
from tidegauge.errors import RunFailedError, TidegaugeError, UserError
from tidegauge.model.faults import Fault, FaultKind
from tidegauge.model.host import UNBOUNDED, LoadBounds, MemoryAvailable
from tidegauge.model.workload import ServerLimits
from tidegauge.systems import registry

MODULES = ["campaign/plan/limits.py", "campaign/run/node_limits.py", "cli/planning.py"]
PULSAR = "{name: pulsar, shape: {brokers: 2, layout: tiered}}"
ATTACHED = "{name: kafka, attach: {bootstrap-servers: 'h:9092'}}"
PARTED = ", faults: [{kind: partition, target: 1, at: 2s, duration: 2s}]"
CAMPAIGN = """\
name: apart
systems: [{system}]
nodes: {nodes}
experiments:
  - {{name: latency, rate: 1000, measure: 10s{faults}}}
"""
SERVERS = "servers: {label: {role: server}, count: 3%s}"
LOAD = "load: {label: {role: load}, count: 1}"
KEEPER = "keeper: {label: {role: keeper}, count: 1}"


def parsed(
    stage: Stage, system: str = "kafka", *roles: str, on_fleet: bool = False, nodes: int = 3, faults: str = ""
) -> Campaign:
    path, fleet = stage.path / "apart.yaml", stage.path / "fleet.yaml"
    text = CAMPAIGN.format(system=system, nodes=nodes, faults=faults)
    path.write_text(text.replace(f"nodes: {nodes}\n", "") if system == ATTACHED else text)
    fleet.write_text(f"launcher: ray\nroles: {{{', '.join(roles)}}}\n" if roles else "launcher: ray\n")
    return parse_campaign(path, {"fleet": str(fleet)} if on_fleet else {}, sorted(registry.all_systems()))


def plan(*given: Any, lacks: str = "", available_mb: int = 1 << 20, files: int = UNBOUNDED, **more: Any) -> Scene:
    """The notes on a plan, or why it is refused. The machine lacks a package, and has so much of each."""

    def scene(stage: Stage) -> Any:
        patch = stage.patch.setattr
        patch(planning, "has_package", lambda package: package != lacks)
        patch(planning, "memory_available", lambda: MemoryAvailable(available_mb, "of the machine"))
        patch(planning, "load_bounds", lambda: LoadBounds(files))
        try:
            ready = planning.prepare_campaign(parsed(stage, *given, **more), dry_run=True, allow_unequal=True)
            return (ready.placement, *ready.left_out)
        except UserError as error:
            return error

    return scene


def fleet(*given: Any, **more: Any) -> Scene:
    return plan(*given, on_fleet=True, **more)


def asked(error: TidegaugeError | None) -> Scene:
    """What a plan for a cluster says that did not answer so, or did."""

    def scene(stage: Stage) -> Any:
        shown: list[Any] = []
        campaign = parsed(stage, ATTACHED)

        def ask(*_: Any) -> Any:
            if error is not None:
                raise error
            return SimpleNamespace(settings=(), nodes=3)

        stage.patch.setattr("tidegauge.cli.asking.cluster_book", lambda: SimpleNamespace(ask=ask))
        options: Any = SimpleNamespace(dry_run=True, allow_unequal=True, runs_directory=stage.path)
        out: Any = SimpleNamespace(say=shown.append, show=lambda _, content: shown.append(content))
        planning.run_parsed(campaign, options, out)
        return shown

    return scene


def cutting(refused: Mapping[str, str], **options: str) -> Scene:
    def scene(stage: Stage) -> Any:
        text = "name: cuts\nsystems: [kafka]\ndurability: 3\nexperiments: [{name: attest%s}]\n"
        path = stage.path / "cuts.yaml"
        path.write_text(text % "".join(f", {key}: {value}" for key, value in options.items()))
        campaign = parse_campaign(path, {}, sorted(registry.all_systems()))
        known: Any = refused
        try:
            return planning.check_means(campaign, lambda: known) or ""
        except UserError as error:
            return error

    return scene


def many(files: int) -> Scene:
    def scene(_: Stage) -> Any:
        try:
            return check_handles(MANY, LoadBounds(files)) or ""
        except UserError as error:
            return error

    return scene


def faulted(refused: Mapping[str, str]) -> Scene:
    known: Any = refused
    return lambda _: refused_faults([replace(spec(), faults=(Fault(FaultKind.POWER_CUT, 1.0, "1", 1.0),))], known)


def limited(refused: Mapping[str, str], **changes: Any) -> Scene:
    """What could not be limited of servers that are to have 512 MiB and a disk without a cache."""

    def scene(stage: Stage) -> Any:
        limits = ServerLimits(512 << 20, direct_io=True)
        rig = SimpleNamespace(refusals=lambda: refused, make_disk=lambda *_, **__: None, remove_disk=lambda _: 0)
        host: Any = SimpleNamespace(rig=rig)
        with ExitStack() as cleanup:
            trial = replace(spec(), limits=limits, **changes)
            return limit_servers(trial, host, [stage.path], cleanup, {}).problems

    return scene


def small(heap_mb: int) -> Scene:
    trial = replace(spec(), limits=ServerLimits(512 << 20))
    return lambda _: too_small(trial, SystemChoice("kafka", heap_mb=heap_mb, direct_memory_mb=128))


SHARING, ALL_ON_ONE = SERVERS % ", nodes-per-host: 2", SERVERS % ", nodes-per-host: 3"
SCENES: dict[str, Scene] = {
    "a plan for here": plan(),
    "no matplotlib": plan(lacks="matplotlib"),
    "no pyarrow": plan(lacks="pyarrow"),
    "no scipy": plan(lacks="scipy"),
    "little memory": plan(available_mb=900),
    "few files": plan(files=100),
    "a fleet": fleet("kafka", SERVERS % ""),
    "a fleet of shared hosts": fleet("kafka", SHARING),
    "a fleet on one host": fleet("kafka", ALL_ON_ONE),
    "a fleet too small": fleet("kafka", SERVERS % "", nodes=5),
    "servers of others on a fleet without load hosts": fleet(ATTACHED, SERVERS % ""),
    "servers of others on a fleet": fleet(ATTACHED, LOAD),
    "a fleet of two load hosts": fleet("kafka", LOAD.replace("count: 1", "count: 2")),
    "a fleet of many load hosts": fleet("kafka", LOAD.replace("count: 1", "count: 9")),
    "parted Pulsar": fleet(PULSAR, faults=PARTED),
    "parted Pulsar with a keeper": fleet(PULSAR, KEEPER, faults=PARTED),
    "parted Kafka": fleet("kafka", faults=PARTED),
    "parted Kafka with a keeper": fleet("kafka", KEEPER, faults=PARTED),
    "a cluster that answers": asked(None),
    "a cluster that does not answer": asked(RunFailedError("connection refused")),
    "a cluster whose secret is missing": asked(UserError("the variable PASSWORD is not set")),
    "cuts without root": cutting({"ext4": "needs root"}),
    "cuts without root and libfuse": cutting({"ext4": "needs root", "fuse": "not installed"}),
    "cuts through libfuse": cutting({"ext4": "needs root"}, **{"file-system": "fuse"}),
    "crashes": cutting({"ext4": "needs root"}, means="crash"),
    "many partitions and few files": many(1000),
    "many partitions": many(UNBOUNDED),
    "a cut that can't be made": faulted({"ext4": "needs root"}),
    "a cut without memory limits": faulted({"memory": "needs root"}),
    "servers larger than their limit": small(1024),
    "servers as large as their limit": small(384),
    "limits of others' servers": limited({}, attached=True),
    "limits without disks": limited({"ext4": "needs root"}),
    "limits without memory": limited({"memory": "needs root"}),
}
CLAIMS = [
    # campaign/plan/limits.py
    Claim("{}: workload.partitions: with {} partitions", "many partitions and few files", "many partitions"),
    Claim("{} can't be made here: {}", "a cut that can't be made", "a cut without memory limits"),
    Claim("server-memory {} MiB is less than", "servers larger than their limit", "servers as large as their limit"),
    # campaign/run/node_limits.py
    Claim("server-memory and disk have no effect", "limits of others' servers", "limits without disks"),
    Claim("disk: direct-io could not be set", "limits without disks", "limits without memory"),
    Claim("server-memory: {} could not be set", "limits without memory", "limits without disks"),
    # cli/planning.py
    Claim("`--crash` (in a campaign", "cuts without root and libfuse", "crashes"),
    Claim("`--file-system fuse` (in a campaign", "cuts without root", "cuts without root and libfuse"),
    Claim("`--file-system fuse` (in a campaign", "cuts without root", "cuts through libfuse"),
    Claim("Not reached: {}.", "a cluster that does not answer", "a cluster whose secret is missing"),
    Claim("{} {} which level it can have: {}", "a cluster that does not answer", "a cluster that answers"),
    Claim(
        "others run its servers, and the file",
        "servers of others on a fleet without load hosts", "servers of others on a fleet",
    ),
    Claim("it needs {} for its servers, and", "a fleet too small", "a fleet"),
    Claim("Let hosts have several nodes", "a fleet too small", "servers of others on a fleet without load hosts"),
    Claim(", of which those that have a producer or", "a fleet of many load hosts", "a fleet of two load hosts"),
    Claim("{} of role {}", "a fleet", "a plan for here"),
    Claim("which share {} nodes", "a fleet of shared hosts", "a fleet on one host"),
    Claim("which has all {} nodes", "a fleet on one host", "a fleet of shared hosts"),
    Claim("which has all {} nodes", "a fleet on one host", "a fleet"),
    Claim("Others run the servers; {}.", "servers of others on a fleet", "a fleet"),
    *claims_of("parted Pulsar with a keeper", "parted Kafka with a keeper", ", what belongs to no node on one of role"),
    Claim("Servers are started on {} of {}", "a fleet", "servers of others on a fleet"),
    *(
        claim
        for other in ("parted Pulsar with a keeper", "parted Kafka")
        for claim in claims_of("parted Pulsar", other, "What belongs to no node (a Zoo", "{} With a host of role {} it")
    ),
    Claim("It can't run here: {}", "little memory", "a plan for here"),
    Claim("It can't run here: {} {}", "few files", "a plan for here"),
    Claim("no report with plots is written", "no matplotlib", "no scipy"),
    Claim("tables are kept as lines of JSON", "no pyarrow", "no matplotlib"),
    Claim("no interval says how steady", "no scipy", "no pyarrow"),
]  # fmt: skip
texts, test_every_sentence_is_listed, test_a_sentence_is_said_where_it_is_true_and_not_beside = make_tests(
    MODULES, SCENES, CLAIMS, may_be_silent=True
)


def test_every_scene_is_of_a_claim() -> None:
    assert SCENES.keys() == {scene for claim in CLAIMS for scene in (claim.true_in, claim.false_in)}
