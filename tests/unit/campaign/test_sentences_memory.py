"""Every sentence on a plan's memory, on what systems can't have and on unequal terms: where said, where it is false."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from campaign_samples import CAMPAIGN, SYSTEMS, choice
from run_samples import spec
from sentence_scenes import Scene, make_tests
from sentence_templates import Claim, claims_of

from tidegauge.campaign.model import Campaign, Point, SystemChoice, WorkerChoice
from tidegauge.campaign.plan.contenders import find_contenders
from tidegauge.campaign.plan.fairness import UnequalError, contender_of_trial, facts_of_surroundings
from tidegauge.campaign.plan.memory import TooLittleMemoryError, Workers, campaign_that_fits, worker_memory
from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.cli.planning import prepare_campaign
from tidegauge.errors import UserError
from tidegauge.hosts.memory import Machine
from tidegauge.model.host import FleetHost, MemoryAvailable, MemoryNeed, MemoryPlan, ProcessMemory, WorkerMemory
from tidegauge.model.level import AS_FOUND, LevelChoice
from tidegauge.model.load import WorkerFacts
from tidegauge.model.workload import Workload
from tidegauge.systems import registry

MODULES = ["campaign/plan/memory.py", "campaign/plan/contenders.py", "campaign/plan/fairness.py", "model/host.py"]
LARGE = Machine(16, 64_000)
ONE_KAFKA = replace(CAMPAIGN, systems=(SystemChoice("kafka", heap_mb=1000),), worker=WorkerChoice(300, 100))
NODE = ProcessMemory("node", 1, 1000, 0, 300)


def worker(msgs_per_s: float | None, topics: int = 1, workers: int = 1) -> Scene:
    """What a load generator gets, one of so many, with a producer and a consumer for each topic."""
    made = replace(spec(), workload=Workload(topics=topics), msgs_per_s=msgs_per_s)
    return lambda _: worker_memory(made, WorkerChoice(count=workers), LARGE)


def fits(available_mb: int, campaign: Campaign = ONE_KAFKA) -> Scene:
    """What is said of a campaign on a machine with so much memory left."""

    def scene(_: Any) -> Any:
        workers = Workers(plan_campaign(campaign).trials, campaign.worker, LARGE)
        try:
            campaign_that_fits(campaign, MemoryAvailable(available_mb, "of the machine's memory"), workers)
        except TooLittleMemoryError as error:
            return error, error.shortage
        return ""

    return scene


def planned(*needs: MemoryNeed, available: MemoryAvailable | None = None, workers: int = 1) -> Scene:
    return lambda _: MemoryPlan(needs, available, workers).sentences()


def need(*servers: ProcessMemory, **changes: Any) -> MemoryNeed:
    return MemoryNeed("kafka@4.3.1", servers, WorkerMemory(256, 128), **changes)


def impossible(*, is_swept: bool) -> Scene:
    """A level that no system here can give, at a point of a sweep or of the campaign itself."""
    campaign = replace(CAMPAIGN, durability=LevelChoice(1))
    if is_swept:
        campaign = replace(campaign, points=(Point({"durability": "1"}, campaign),))

    def scene(_: Any) -> Any:
        try:
            return find_contenders(campaign, SYSTEMS.__getitem__) and ""
        except UserError as error:
            return error

    return scene


def compared(**of_kafka: Any) -> Scene:
    """What is said before a comparison of two systems, of which one has settings of its own."""
    systems = (SystemChoice("kafka", **of_kafka), SystemChoice("pulsar"))
    campaign = replace(CAMPAIGN, systems=systems, experiments=(choice("latency", rate="1000", measure="30s"),))

    def scene(_: Any) -> Any:
        terms = prepare_campaign(campaign, dry_run=True, allow_unequal=False).terms
        return UnequalError(terms.unequal) if terms.refused else ""

    return scene


def level_given(level: LevelChoice, found: int | None = None) -> Scene:
    def scene(_: Any) -> Any:
        made = replace(spec(), choice=level)
        compared = contender_of_trial(made, SystemChoice("kafka"), registry.system_named("kafka"), level=found)
        return [said for fact in compared.facts.values() for said in (fact.words, fact.remedy)]

    return scene


def around(*, is_dropped: bool | None = True, facts: WorkerFacts | None = None) -> Scene:
    return lambda _: [fact.words for fact in facts_of_surroundings("25", is_dropped, "here", facts).values()]


ALL_OF_IT = 1 << 20
SCENES: dict[str, Scene] = {
    "clients that hold much": worker(1000.0, topics=2000),
    "a high rate": worker(1e6),
    "half of a high rate": worker(1e6, topics=2, workers=2),
    "no rate": worker(None),
    "a low rate": worker(10.0),
    "enough memory": fits(ALL_OF_IT),
    "too little memory": fits(700),
    "too little for the load generator": fits(600, replace(ONE_KAFKA, worker=WorkerChoice(3000, 100))),
    "too little for a load generator and its servers": fits(4000, replace(ONE_KAFKA, worker=WorkerChoice(3000, 100))),
    "a machine that says what it has": planned(need(NODE), available=MemoryAvailable(4000, "of the machine's 9 GiB")),
    "a machine that does not say": planned(need(NODE)),
    "no system": planned(),
    "no servers": planned(need(nodes=1)),
    "servers of others": planned(need()),
    "servers on a fleet": planned(need(on_fleet=True)),
    "load on other hosts": planned(need(NODE, workers=0)),
    "two load generators": planned(need(NODE), workers=2),
    "a lost host": lambda _: FleetHost("10.0.0.2", "load", "n", alive=False).problem,
    "a host with another version": lambda _: FleetHost("10.0.0.2", "load", "n", refused="another version").problem,
    "impossible": impossible(is_swept=False),
    "impossible at a point": impossible(is_swept=True),
    "on equal terms": compared(),
    "on unequal terms": compared(producer={"linger.ms": "10"}),
    "a level as found": level_given(AS_FOUND, 3),
    "a level asked for": level_given(LevelChoice(3)),
    "the page cache dropped": around(),
    "the page cache not dropped": around(is_dropped=False),
    "servers that went on": around(is_dropped=None),
    "a load generator that said what it is": around(
        facts=WorkerFacts(1, "1", "25", "/jvm", (), 256 << 20, {})
    ),
}  # fmt: skip
CLAIMS = [
    # campaign/plan/memory.py
    Claim("{} may hold {} MiB beside its own {}", "clients that hold much", "a high rate"),
    Claim("{}{} {} MiB for what flows through", "a high rate", "clients that hold much"),
    Claim("what {} read and write at once", "clients that hold much", "a low rate"),
    Claim("a share of {} of ", "half of a high rate", "a high rate"),
    Claim("full speed of {} CPUs gets", "no rate", "a high rate"),
    *claims_of(
        "too little memory", "enough memory", "There is too little memory. {}", "There is too little memory: {}"
    ),
    Claim(
        "The load generators alone", "too little for the load generator",
        "too little for a load generator and its servers",
    ),
    Claim("{} Give the load generator less", "too little for the load generator", "too little memory"),
    Claim("Give each node less", "too little memory", "too little for the load generator"),
    # model/host.py
    Claim("{} MiB are available {}", "a machine that says what it has", "a machine that does not say"),
    *claims_of(
        "a machine that does not say", "no system", "{} needs {} MiB", "{}: {}{}{} in reserve", "{} gets at most: {}",
        "heap {} MiB, direct memory {}",
    ),
    Claim("it has no servers, ", "no servers", "servers of others"),
    Claim("its servers are others', ", "servers of others", "no servers"),
    Claim("its servers are others', ", "servers of others", "servers on a fleet"),
    Claim("its servers are on other hosts, ", "servers on a fleet", "servers of others"),
    Claim("its load generators on other", "load on other hosts", "a machine that does not say"),
    Claim("Each of the {} load generators", "two load generators", "a machine that does not say"),
    Claim("it is lost: Ray had it", "a lost host", "a host with another version"),
    # campaign/plan/contenders.py
    *claims_of("impossible at a point", "impossible", "{}: sweep: at {}: {}", "{} 'skip-impossible: true'"),
    # campaign/plan/fairness.py
    *claims_of("on unequal terms", "on equal terms", "{} this comparison unequal", "Fix them, or run with"),
    *claims_of(
        "a level as found", "a level asked for",
        "level {}, as found", "compare clusters and topics that give the same level",
    ),
    Claim("page cache not dropped", "the page cache not dropped", "the page cache dropped"),
    Claim("page cache not dropped", "the page cache not dropped", "servers that went on"),
    Claim("Java {}, heap {} MiB", "a load generator that said what it is", "the page cache dropped"),
]  # fmt: skip
texts, test_every_sentence_is_listed, test_a_sentence_is_said_where_it_is_true_and_not_beside = make_tests(
    MODULES, SCENES, CLAIMS, may_be_silent=True
)


def test_every_scene_is_of_a_claim() -> None:
    assert SCENES.keys() == {scene for claim in CLAIMS for scene in (claim.true_in, claim.false_in)}
