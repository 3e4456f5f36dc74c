"""Clusters of others at the level that they have, and what a campaign says of topics there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from run_samples import result, spec

from tidegauge.campaign.model import Campaign, SystemChoice
from tidegauge.campaign.plan.contenders import case_of
from tidegauge.campaign.plan.fairness import contender_of_trial
from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.campaign.run.trial.order import load_order
from tidegauge.durability import changed_level, doubts_of, find_level
from tidegauge.errors import UserError
from tidegauge.fairness import Case, check_fairness
from tidegauge.model.level import AS_FOUND, LevelChoice, LevelFinding, SettingChange
from tidegauge.model.server import Setting
from tidegauge.model.tilt import Stage
from tidegauge.report import levels
from tidegauge.systems import registry
from tidegauge.systems.api import expected_level
from tidegauge.systems.attach import AttachChoice
from tidegauge.systems.attached import AttachRequest

KAFKA = '  - name: kafka\n    attach: {bootstrap-servers: "h1:9092"}\n'
RABBITMQ = '  - name: rabbitmq\n    attach: {uris: "amqp://h1:5672", management-url: "http://h1:15672"}\n'
CAMPAIGN = "name: orders\nexperiments: [{name: latency, rate: 100}]\n"


def parse(directory: Path, systems: str, more: str = "") -> Campaign:
    path = directory / "orders.yaml"
    path.write_text(f"{CAMPAIGN}{more}systems:\n{systems}")
    return parse_campaign(path, {}, sorted(registry.all_systems()))


def choice_of(directory: Path, systems: str, more: str = "") -> LevelChoice:
    return plan_campaign(parse(directory, systems, more)).trials[0].choice


def complaint(directory: Path, systems: str, more: str = "") -> str:
    with pytest.raises(UserError) as caught:
        plan_campaign(parse(directory, systems, more))
    return caught.value.message


def test_it_is_the_default_where_others_run_every_system(tmp_path: Path) -> None:
    assert choice_of(tmp_path, KAFKA) == AS_FOUND
    assert choice_of(tmp_path, KAFKA, "durability: as-found\n") == AS_FOUND
    assert choice_of(tmp_path, KAFKA, "durability: {level: as-found}\n") == AS_FOUND
    assert choice_of(tmp_path, KAFKA, "durability: 2\n") == LevelChoice(2)
    assert choice_of(tmp_path, "  - kafka\n") == LevelChoice(3)
    assert parse(tmp_path, f"{KAFKA}  - pulsar\n").durability == LevelChoice(3)


def test_a_server_that_is_started_has_the_level_that_is_asked_for(tmp_path: Path) -> None:
    said = complaint(tmp_path, f"{KAFKA}  - pulsar\n", "durability: as-found\n")
    assert "orders.yaml:3: durability: 'as-found' is the level of a cluster that others run, and pulsar is" in said
    of_system = complaint(tmp_path, f"{KAFKA}  - name: pulsar\n    durability: as-found\n")
    assert "orders.yaml:7: systems[1].durability: 'as-found' is the level of a cluster" in of_system


def test_a_wrong_word_is_reported_with_the_nearest(tmp_path: Path) -> None:
    assert (
        "orders.yaml:3: durability: 'asfound': must be a durability level from 1 to 4, or 'as-found' on attached "
        "clusters (did you mean 'as-found'?)" in complaint(tmp_path, KAFKA, "durability: asfound\n")
    )
    assert "durability.level: '7': must be a durability level" in complaint(tmp_path, KAFKA, "durability: {level: 7}\n")


def test_whoever_declares_a_queue_chooses_its_type(tmp_path: Path) -> None:
    assert choice_of(tmp_path, RABBITMQ) == replace(AS_FOUND, form="quorum")
    stream = choice_of(tmp_path, RABBITMQ, "durability: {level: as-found, form: stream}\n")
    assert stream == replace(AS_FOUND, form="stream")
    assert levels.level_words(stream) == "as found stream"
    wrong = complaint(tmp_path, RABBITMQ, "durability: {level: as-found, form: qorum}\n")
    assert "RabbitMQ has no form 'qorum' of topics (did you mean 'quorum'?); it has quorum, classic, stream" in wrong
    assert "no system of the campaign has a form 'stream' of topics" in complaint(
        tmp_path, KAFKA, "durability: {level: as-found, form: stream}\n"
    )


@pytest.mark.parametrize("kind", ["quorum", "classic", "stream"])
def test_a_setting_of_the_topics_names_the_form_where_nobody_else_does(tmp_path: Path, kind: str) -> None:
    said = f"    topic-settings: {{queue.type: {kind}, x-max-length: 9}}\n"
    assert choice_of(tmp_path, RABBITMQ + said) == replace(AS_FOUND, form=kind)
    both = f"{RABBITMQ}{said}    durability: {{level: as-found, form: quorum}}\n"
    assert choice_of(tmp_path, both) == replace(AS_FOUND, form="quorum")
    nats = '  - name: nats\n    attach: {servers: "nats://h1:4222"}\n    topic-settings: {storage: memory}\n'
    assert choice_of(tmp_path, nats) == replace(AS_FOUND, form="memory")


def test_nothing_is_set_on_topics_and_the_cluster_says_how_many_copies_they_have(tmp_path: Path) -> None:
    for name, systems, settings in (("kafka", KAFKA, {}), ("rabbitmq", RABBITMQ, {"queue.type": "quorum"})):
        step = plan_campaign(parse(tmp_path, systems)).steps[0]
        trial, system = replace(step.trials[0], nodes=3), registry.system_named(name)
        assert step.contender.system.attach is not None
        cluster = system.attach(AttachRequest(step.contender.system.attach, trial.choice))
        terms = system.topic_terms(case_of(trial, step.contender.system, system), ())
        order = load_order(trial, system, cluster, ["t"], tmp_path, terms=terms)
        assert (order.replication_factor, order.topic_settings, order.acks) == (0, settings, "all")


def test_copies_and_settings_of_topics_can_be_said(tmp_path: Path) -> None:
    said = "    replication-factor: 3\n    topic-settings: {min.insync.replicas: 2, retention.ms: 60000}\n"
    step = plan_campaign(parse(tmp_path, KAFKA + said, "durability: 2\n")).steps[0]
    system = registry.system_named("kafka")
    assert step.contender.system.attach is not None
    cluster = system.attach(AttachRequest(step.contender.system.attach, step.trials[0].choice))
    terms = system.topic_terms(case_of(step.trials[0], step.contender.system, system), ())
    order = load_order(step.trials[0], system, cluster, ["t"], tmp_path, terms=terms)
    assert order.replication_factor == 3
    assert order.topic_settings == {"min.insync.replicas": "2", "retention.ms": "60000"}


@pytest.mark.parametrize(
    "said, level, problem",
    [
        ("topic-settings: {min.insync.replicas: 1}", 2, "topic-settings: gives another level than level 2, which"),
        ("replication-factor: 1", 1, "replication-factor: gives level 3 instead of level 1"),
        ("topic-settings: {flush.messages: 100}", 3, "topic-settings: gives"),
        ("topic-settings: {flush.messages: 1}", 2, "topic-settings: gives level 1 instead of level 2"),
        ("producer: {acks: 1}", 2, "producer: gives another level than level 2"),
        ("producer: {acks: 1}", 2, "(topic of the campaign: acks=one, min.insync.replicas=2, replication.factor=3"),
        ("topic-settings: {min.insync.replica: 1}", 2, "is no setting of Kafka's topics (did you mean 'min.insync"),
        ("topic-settings: [1]", 2, "topic-settings: a list: must be a mapping of the system's own"),
        ("replication-factor: 0", 2, "replication-factor: "),
    ],
)
def test_what_can_not_be_at_the_level_is_refused_at_its_line(
    tmp_path: Path, said: str, level: int, problem: str
) -> None:
    message = complaint(tmp_path, f"{KAFKA}    {said}\n", f"durability: {level}\n")
    assert "orders.yaml:7: systems[0]." in message
    assert problem in message


def test_more_copies_in_sync_than_there_are_is_refused_at_any_level(tmp_path: Path) -> None:
    said = "    replication-factor: 2\n    topic-settings: {min.insync.replicas: 3}\n"
    assert "'3': is above replication-factor (2), so nothing could be written" in complaint(tmp_path, KAFKA + said)
    endless = said.replace(": 3", f": '{'9' * 5000}'")
    assert "topic-settings.min.insync.replicas: '999" in complaint(tmp_path, KAFKA + endless)


def test_what_a_product_of_its_own_has_is_left_to_its_brokers(tmp_path: Path) -> None:
    said = "    topic-settings: {diskless.enable: true, confluent.key.schema.validation: true}\n"
    assert parse(tmp_path, KAFKA + said).systems[0].topic["diskless.enable"] == "true"


@pytest.mark.parametrize(
    "said, problem",
    [
        ("replication-factor: 3", "copies follow from the quorums of broker and namespace"),
        ("topic-settings: {x: 1}", "topics of Apache Pulsar have no settings of their own"),
    ],
)
def test_what_others_can_not_say_of_topics_is_refused(tmp_path: Path, said: str, problem: str) -> None:
    pulsar = '  - name: pulsar\n    attach: {service-url: "pulsar://h1:6650", admin-url: "http://h1:8080"}\n'
    assert problem in complaint(tmp_path, f"{pulsar}    {said}\n")


def test_rabbitmq_topics_are_said_in_its_drivers_words(tmp_path: Path) -> None:
    classic = parse(tmp_path, f"{RABBITMQ}    topic-settings: {{queue.type: classic, x-max-length: 5}}\n")
    assert classic.systems[0].topic == {"queue.type": "classic", "x-max-length": "5"}
    wrong = f"{RABBITMQ}    topic-settings: {{queue.typ: classic}}\n"
    assert "must be one of queue.type, queue.members" in complaint(tmp_path, wrong)
    both = f"{RABBITMQ}    replication-factor: 3\n    topic-settings: {{queue.members: 3}}\n"
    assert "can't be given beside 'replication-factor'" in complaint(tmp_path, both)
    one = f"{RABBITMQ}    replication-factor: 1\n"
    assert "replication-factor: gives level 3 instead of level 1" in complaint(tmp_path, one, "durability: 1\n")
    form = "durability: {level: as-found, form: classic}\n"
    assert "a classic queue has one copy" in complaint(tmp_path, f"{RABBITMQ}    replication-factor: 3\n", form)


def test_the_level_to_expect_follows_from_what_the_brokers_report() -> None:
    kafka = registry.system_named("kafka")
    brokers = [
        Setting(f"broker {number}", name, value)
        for number in (1, 2, 3)
        for name, value in {
            "default.replication.factor": "3",
            "min.insync.replicas": "2",
            "log.flush.interval.messages": "9223372036854775807",
        }.items()
    ]
    case = Case("4.3.1", 3, AS_FOUND)
    expected = expected_level(kafka, case, brokers)
    assert expected is not None and (expected.level, expected.problems) == (2, ())
    one = expected_level(kafka, replace(case, nodes=1, choice=LevelChoice(2)), brokers)
    assert one is not None and "one node: there is no second copy" in one.problems[0]
    differing = expected_level(kafka, case, [*brokers[:-2], Setting("broker 3", "min.insync.replicas", "1")])
    assert differing is not None and differing.level is None


def test_where_nothing_is_asked_for_nothing_is_a_problem() -> None:
    finding = find_level(AS_FOUND, [], [])
    assert (finding.level, finding.problems) == (None, ())
    (doubt,) = doubts_of(AS_FOUND, LevelFinding(None, (), undecided=("x",)))
    assert doubt == "the durability level is unknown and so is what an acknowledgement means (x)"


def as_found(level: int | None) -> LevelFinding:
    return LevelFinding(level, ("why",), undecided=() if level else ("nobody says",))


def test_settings_that_changed_are_why_a_level_is_unknown() -> None:
    change = SettingChange("topic t", "flush.messages", "1", "9")
    finding = changed_level(LevelFinding(3, ("x",)), LevelFinding(4, ("y",)), [change])
    (headline,) = {levels.headline([result(spec(), level=finding)])}
    assert headline.endswith(": settings changed while it was measured (level 3 until then, level 4 after).")


def test_the_level_is_named_as_found() -> None:
    trial = replace(spec(), system="kafka@attached", choice=AS_FOUND)
    said = levels.headline([result(trial, level=as_found(2))])
    assert said.startswith("Durability: level 2 for kafka@attached, as found, read back from the running servers: when")
    assert levels.details([result(trial, level=as_found(2))]) == ["kafka@attached: level 2: why"]
    unknown = [result(trial, level=as_found(None))]
    assert levels.headline(unknown).startswith("Durability is UNKNOWN (kafka@attached): ")
    assert levels.details(unknown)[0].startswith("kafka@attached: level unknown: ")


def test_two_clusters_at_different_levels_are_not_compared() -> None:
    systems = {"kafka@old": 2, "kafka@new": 4}
    results = [
        result(replace(spec(), system=system, choice=AS_FOUND), level=as_found(level))
        for system, level in systems.items()
    ]
    assert "Durability is NOT EQUAL (kafka@new level 4, kafka@old level 2)" in levels.headline(results)
    compared = [
        contender_of_trial(
            one.spec,
            SystemChoice("kafka", attach=AttachChoice({}, label=system.partition("@")[2])),
            registry.system_named("kafka"),
            (),
            level=one.level.level,
        )
        for one, system in zip(results, systems, strict=True)
    ]
    tilts = [tilt for tilt in check_fairness(compared, Stage.IN_FORCE) if "level 2, as found" in str(tilt)]
    assert tilts
    assert "remove the system's own" not in str(tilts), "they have none"
    same = [replace(one, facts={**one.facts, **compared[0].facts}) for one in compared]
    assert not [tilt for tilt in check_fairness(same, Stage.IN_FORCE) if "as found" in str(tilt)]
