"""Every sentence on load generators of a plan, its warnings and clusters asked: where said, where it would be false."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from attestation_samples import PLAN
from calibration_samples import calibration, trial
from campaign_samples import CAMPAIGN, MANY
from run_samples import spec
from sentence_scenes import Scene, make_tests
from sentence_templates import Claim, claims_of

from tidegauge.campaign.model import SystemChoice, WorkerChoice
from tidegauge.campaign.plan.generators import check_clients, check_workers, processing_warnings, sizing_warnings
from tidegauge.campaign.plan.plan import plan_campaign, plan_warnings
from tidegauge.campaign.run.asking import AskedCluster, expected_level_words
from tidegauge.config.workload import parse_processing
from tidegauge.errors import UserError
from tidegauge.model.host import LoadBounds
from tidegauge.model.level import LevelFinding
from tidegauge.model.sending import Sending, bodies_needed
from tidegauge.model.server import Setting
from tidegauge.model.trial import AttestSpec
from tidegauge.model.workload import Payload, Workload
from tidegauge.systems.attach import AttachChoice
from tidegauge.systems.attached import PRODUCT

MODULES = ["campaign/plan/generators.py", "campaign/plan/plan.py", "campaign/run/asking.py"]


def clients(topics: int = 100, workers: int = 1, system: str = "kafka", **bounds: int) -> Scene:
    """What is said of load generators with a producer and a consumer for each topic, on a host with such bounds."""

    def scene(_: Any) -> Any:
        choice = SystemChoice(system, attach=AttachChoice({"bootstrap-servers": "h:1"}))
        campaign = replace(
            MANY,
            systems=(choice,),
            workload=Workload(topics=topics),
            experiments=CAMPAIGN.experiments[:1],
            worker=WorkerChoice(count=workers),
        )
        try:
            return check_clients(plan_campaign(campaign), campaign, LoadBounds(**bounds)) or ""
        except UserError as error:
            return error

    return scene


def rates(*msgs_per_s: float, workers: int = 1, clients: int = 1) -> Scene:
    """What is said of rates on a host of 2 CPUs whose load generator makes 600,000 msg/s with 1.6 of them."""
    trials = [trial(rate, producers=clients, consumers=clients) for rate in msgs_per_s]
    return lambda _: sizing_warnings(trials, workers, [calibration()])


def processing(times: str) -> Scene:
    """What is said of a consumer that processes messages as fast as it can, on a host of one CPU."""
    trial_of_plan = replace(spec(), msgs_per_s=None, workload=Workload(processing=parse_processing(times)))
    return lambda _: processing_warnings([trial_of_plan], 1)


def carried_out(made: Any, workers: int) -> Scene:
    def scene(_: Any) -> Any:
        try:
            return check_workers([made], WorkerChoice(count=workers), "c.yaml:1") or ""
        except UserError as error:
            return error

    return scene


def warned(**changes: Any) -> Scene:
    return lambda _: plan_warnings([replace(spec(), **changes)])


def bodies(number: int) -> Scene:
    """What is said of so many bodies that are compressed in batches of 128 KiB."""
    workload = Workload(payload=Payload(1024, 0.5, pool_bodies=number))
    return warned(workload=workload, sending=Sending(131_072, 1.0, "lz4", 5_000))


def reported(level: int | None, nodes: int | None = 3, product: str = "") -> Scene:
    finding = LevelFinding(level, ("acks=all",))
    settings = (Setting("cluster", PRODUCT, product),) if product else ()
    return lambda _: expected_level_words("kafka@attached", AskedCluster(settings, nodes), finding)


ATTEST = AttestSpec(**spec(experiment="attest").shared, msgs_per_s=2000.0, attest=PLAN)
SCENES: dict[str, Scene] = {
    "clients that fit": clients(),
    "many topics on few connections": clients(3_000_000, system="rabbitmq"),
    "few files for one": clients(files=1000),
    "few files for each of two": clients(workers=2, files=500),
    "few files for any": clients(1, files=256),
    "few maps": clients(maps=2100),
    "few threads": clients(threads=400),
    "few threads for any": clients(threads=100),
    "few ports": clients(ports=200),
    "a rate near the generator's": rates(500_000.0),
    "two rates near the generator's": rates(500_000.0, 510_000.0),
    "a rate near that of two generators": rates(700_000.0, workers=2, clients=4),
    "a rate near the generator's, of many clients": rates(500_000.0, clients=4),
    "a rate whose number of generators is looked for": lambda _: sizing_warnings(
        [replace(trial(500_000.0), generators=5)], 1, [calibration()]
    ),
    "a rate beyond this host": rates(900_000.0),
    "a rate beyond all": rates(1e9),
    "processing on CPU": processing("20ms on CPU"),
    "processing that waits": processing("20ms"),
    "an attestation by two": carried_out(ATTEST, 2),
    "an attestation by one": carried_out(ATTEST, 1),
    "a load by three, for two": carried_out(spec(), 3),
    "an experiment with up to five": carried_out(replace(spec(), generators=5), 1),
    "a warm-up of 3 s": warned(warmup_s_min=1.0, warmup_s_max=3.0),
    "a warm-up of 15 s": warned(),
    "random bytes, compressed": warned(sending=Sending(131_072, 1.0, "lz4", 5_000)),
    "two bodies": bodies(2),
    "many bodies": bodies(60_000),
    "a cluster with a level": reported(2),
    "a cluster without a level": reported(None),
    "a cluster of another product": reported(2, product="Redpanda"),
    "a cluster that says nothing": reported(None, None),
}
CLAIMS = [
    # campaign/plan/generators.py
    Claim("{} {} on {} connections", "many topics on few connections", "few files for one"),
    Claim("would have about {} open files", "few files for one", "few maps"),
    Claim("would have about {} threads with", "few maps", "few files for one"),
    Claim("about {} threads, and {} more", "few threads", "few ports"),
    Claim("about {} connections to a server", "few ports", "few threads"),
    Claim("{}: workload.topics: {} of {}", "few threads", "clients that fit"),
    Claim("each of {} load generators", "few files for each of two", "few files for one"),
    Claim("{} would do: 'count: {}'", "few files for one", "few files for any"),
    Claim("take fewer topics, producers", "few files for any", "few files for one"),
    Claim("Each of {} {}: raise that limit", "few files for any", "few threads for any"),
    Claim("Not even {} on as many hosts", "few threads for any", "few threads"),
    Claim("It takes at least {}, and {} {} for them", "few threads", "few threads for any"),
    Claim("Leave 'count' of 'worker' out", "an attestation by two", "an attestation by one"),
    Claim("{}: worker.count: {} load", "a load by three, for two", "an attestation by one"),
    Claim("{}: {}: largest: {} load", "an experiment with up to five", "a load by three, for two"),
    Claim(" The same holds for {}.", "two rates near the generator's", "a rate near the generator's"),
    Claim("one load generator makes and checks", "a rate near the generator's", "a rate near that of two generators"),
    Claim("{} load generators make and check", "a rate near that of two generators", "a rate near the generator's"),
    Claim("{} asks for {} msg/s", "a rate near the generator's", "clients that fit"),
    Claim(
        "{} asks for {} msg/s", "a rate near the generator's", "a rate whose number of generators is looked for"
    ),
    Claim("{} has consumers process on {} of", "processing on CPU", "processing that waits"),
    Claim("Not even {} would do: lower", "a rate beyond all", "a rate beyond this host"),
    Claim(", with at least {}", "a rate near the generator's", "a rate near the generator's, of many clients"),
    Claim("{} would do (--workers {})", "a rate near the generator's", "a rate beyond this host"),
    Claim("{} would do{}, but not on this", "a rate beyond this host", "a rate near the generator's"),
    # campaign/plan/plan.py
    Claim("A warm-up-max of {} s is too", "a warm-up of 3 s", "a warm-up of 15 s"),
    Claim("Message bodies are random bytes", "random bytes, compressed", "many bodies"),
    Claim("Message bodies come again", "two bodies", "many bodies"),
    # campaign/run/asking.py
    Claim("{} has {}. Its level is read", "a cluster without a level", "a cluster with a level"),
    *claims_of(
        "a cluster with a level", "a cluster without a level", "{} has {}. Level {}, {}, is to be expected"
    ),
    Claim("{} has {}. Its level is read", "a cluster without a level", "a cluster that says nothing"),
    Claim("{}, which is {},", "a cluster of another product", "a cluster with a level"),
]  # fmt: skip


def test_bodies_suffice_for_the_largest_batch_of_any_trial() -> None:
    payload = Payload(1024, 0.5, pool_bodies=2)
    trials = [
        replace(spec(), workload=Workload(payload=one), sending=Sending(batch_bytes, 1.0, "lz4", 5_000))
        for one, batch_bytes in ((payload, 131_072), (replace(payload, pool_bodies=3), 1 << 20))
    ]
    (warning,) = plan_warnings(trials)
    assert "(payload-bodies: 2 and 3)" in warning
    assert f"{bodies_needed(payload, trials[1].sending):,} would do" in warning
    assert bodies_needed(payload, trials[0].sending) < bodies_needed(payload, trials[1].sending)


texts, test_every_sentence_is_listed, test_a_sentence_is_said_where_it_is_true_and_not_beside = make_tests(
    MODULES, SCENES, CLAIMS, may_be_silent=True
)


def test_every_scene_is_of_a_claim() -> None:
    assert SCENES.keys() == {scene for claim in CLAIMS for scene in (claim.true_in, claim.false_in)}
