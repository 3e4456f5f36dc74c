"""`variants` in a campaign: which points they give, how these are planned, and what is refused, with its line."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tidegauge.campaign.model import Campaign
from tidegauge.campaign.plan.fairness import wanted_tilts
from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.campaign.read.variants import REPEAT, TWO_VARIANTS
from tidegauge.errors import UserError
from tidegauge.model.tilt import only_unequal
from tidegauge.model.variant import SameWithin

SYSTEMS = ["kafka", "pulsar", "rabbitmq"]
BASE = """name: linger
systems: [kafka]
experiments: [{name: latency, rate: 2k}]
"""


def parse(tmp_path: Path, more: str, text: str = BASE, **overrides: Any) -> Campaign:
    path = tmp_path / "campaign.yaml"
    path.write_text(text + more)
    return parse_campaign(path, overrides, SYSTEMS)


def refused(tmp_path: Path, more: str, text: str = BASE) -> str:
    with pytest.raises(UserError) as caught:
        parse(tmp_path, more, text)
    return caught.value.message.replace(str(tmp_path), "")


LINGER = """variants:
  - {name: linger-0, producer: {linger.ms: 0}}
  - {name: linger-20, producer: {linger.ms: 20}, compression: lz4}
"""


def test_each_variant_is_a_point_with_its_own_settings(tmp_path: Path) -> None:
    campaign = parse(tmp_path, LINGER)
    assert [dict(point.values) for point in campaign.points] == [{"variant": "linger-0"}, {"variant": "linger-20"}]
    assert [dict(point.campaign.systems[0].producer) for point in campaign.points] == [
        {"linger.ms": "0"},
        {"linger.ms": "20"},
    ]
    assert [point.campaign.workload.client.compression for point in campaign.points] == ["none", "lz4"]


def test_variants_say_what_each_has_of_everything_that_differs(tmp_path: Path) -> None:
    text = BASE.replace("[kafka]", "[{name: kafka, producer: {linger.ms: 5, acks: all}}]")
    more = "variants:\n  - {name: mine}\n  - {name: more, producer: {linger.ms: 20, acks: all}, partitions: 4}\n"
    assert [(variant.name, dict(variant.sets)) for variant in parse(tmp_path, more, text).variants] == [
        ("mine", {"producer linger.ms": "5", "partitions": "default"}),
        ("more", {"producer linger.ms": "20", "partitions": "4"}),
    ], "acks is the same in both"


def test_a_setting_of_the_system_that_a_variant_does_not_set_stays(tmp_path: Path) -> None:
    text = BASE.replace("[kafka]", "[{name: kafka, producer: {acks: all}}]")
    points = parse(tmp_path, LINGER, text).points
    assert [dict(point.campaign.systems[0].producer) for point in points] == [
        {"acks": "all", "linger.ms": "0"},
        {"acks": "all", "linger.ms": "20"},
    ]


def test_versions_levels_and_options_of_experiments_vary(tmp_path: Path) -> None:
    more = (
        "variants:\n  - {version: '3.9.2', durability: 4}\n  - {latency.rate: 3k, heap: 512MiB}\n"
        "  - {workload: {partitions: 2}, settings: {num.io.threads: 16}}\n"
    )
    first, second, third = (point.campaign for point in parse(tmp_path, more).points)
    assert (first.systems[0].version, first.durability.level) == ("3.9.2", 4)
    assert (str(second.experiments[0].options.rate), second.systems[0].heap_mb) == ("3000 msg/s", 512)  # type: ignore[attr-defined]
    assert (third.workload.partitions, dict(third.systems[0].settings)) == (2, {"num.io.threads": "16"})


def test_a_variant_without_a_name_is_called_by_what_it_sets(tmp_path: Path) -> None:
    more = "variants:\n  - {}\n  - {producer: {linger.ms: 20}, compression: lz4}\n"
    assert [v.name for v in parse(tmp_path, more).variants] == ["unchanged", "linger.ms=20 compression=lz4"]


def test_a_variant_attaches_to_a_cluster_of_its_own(tmp_path: Path) -> None:
    text = BASE.replace("[kafka]", "[{name: kafka, attach: {bootstrap-servers: 'a:9092', topic-prefix: x-}}]")
    more = "variants:\n  - {name: direct}\n  - {name: Proxy 1, attach: {bootstrap-servers: 'b:9092'}}\n"
    campaign = parse(tmp_path, more, text)
    attached = [point.campaign.systems[0].attach for point in campaign.points]
    assert [(a.label, a.addresses["bootstrap-servers"], a.topic_prefix) for a in attached if a] == [
        ("attached", "a:9092", "x-"),
        ("proxy-1", "b:9092", "x-"),
    ]
    assert [dict(variant.sets) for variant in campaign.variants] == [
        {"attach bootstrap-servers": "a:9092"},
        {"attach bootstrap-servers": "b:9092"},
    ]


def test_variants_are_measured_at_each_point_of_a_sweep(tmp_path: Path) -> None:
    campaign = parse(tmp_path, f"{LINGER}sweep: {{partitions: [1, 8]}}\n")
    assert [tuple(point.values.values()) for point in campaign.points] == [
        ("1", "linger-0"),
        ("1", "linger-20"),
        ("8", "linger-0"),
        ("8", "linger-20"),
    ]


@pytest.mark.parametrize("deployment", ["fresh", "shared"])
def test_variants_take_turns_in_every_block(tmp_path: Path, deployment: str) -> None:
    more = f"deployment: {deployment}\nrepeat: 30\n{LINGER}"
    trials = plan_campaign(parse(tmp_path, more)).trials
    orders = [tuple(trial.point["variant"] for trial in trials if trial.block == block) for block in range(30)]
    assert all(sorted(order) == ["linger-0", "linger-20"] for order in orders)
    counts = Counter(orders)
    assert min(counts.values()) >= 5, "nobody is always first"
    assert len(counts) == 2


def test_variants_of_one_point_follow_one_another_experiment_by_experiment(tmp_path: Path) -> None:
    text = BASE.replace("[{name", "[peak, {name")
    more = f"{LINGER}sweep: {{partitions: [1, 8]}}\nrepeat: 4\n"
    trials = plan_campaign(parse(tmp_path, more, text)).trials
    for block in range(4):
        of_block = [(trial.point["partitions"], trial.experiment) for trial in trials if trial.block == block]
        pairs = of_block[::2]
        assert of_block[1::2] == pairs
        assert len(set(pairs)) == 4, "both variants of an experiment at a point, then the next"


def test_it_repeats_often_enough_to_decide(tmp_path: Path) -> None:
    assert parse(tmp_path, LINGER).repeat == REPEAT
    assert parse(tmp_path, f"{LINGER}repeat: 1\n").repeat == 1
    assert parse(tmp_path, LINGER, repeat=2).repeat == 2
    assert parse(tmp_path, "").repeat == 1


def test_what_variants_differ_in_is_never_unequal(tmp_path: Path) -> None:
    more = (
        "variants:\n  - {name: a, producer: {linger.ms: 0}, settings: {num.io.threads: 4}}\n"
        "  - {name: b, producer: {acks: 1}, heap: 2GiB, durability: 4}\n"
    )
    assert only_unequal(wanted_tilts(plan_campaign(parse(tmp_path, more)))) == ()


def test_a_level_that_a_variant_may_change_is_expected_only(tmp_path: Path) -> None:
    text = BASE.replace("[kafka]", "[{name: kafka, producer: {buffer.memory: 33554432}}]")
    more = "variants:\n  - {name: a}\n  - {name: b, producer: {acks: 1}}\n  - {name: c, compression: lz4}\n"
    trials = plan_campaign(parse(tmp_path, more, text)).trials
    assert {trial.point["variant"]: trial.choice.as_found for trial in trials} == {"a": False, "b": True, "c": False}


@pytest.mark.parametrize(
    ("text", "margin"),
    [
        ("3%", SameWithin(0.03)),
        ("0.5 %", SameWithin(0.005)),
        ("1ms", SameWithin(ms=1.0)),
        ("50us", SameWithin(ms=0.05)),
    ],
)
def test_the_margin_of_the_same(tmp_path: Path, text: str, margin: SameWithin) -> None:
    assert parse(tmp_path, f"{LINGER}same-within: {text}\n").same_within == margin
    assert SameWithin.from_text(str(margin)) == margin
    assert parse(tmp_path, LINGER, **{"same-within": text}).same_within == margin


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("variants: []\n", "4: variants: must be a list of 2 to 20 mappings"),
        ("variants:\n  - {name: a}\n", "4: variants: must be a list of 2 to 20 mappings"),
        ("variants:\n  - a\n  - {name: b}\n", "5: variants[0]: must be a mapping with a 'name'"),
        ("variants:\n  - {name: a}\n  - {name: a}\n", "6: variants[1]: 'a' is listed twice: give each a 'name'"),
        ("variants:\n  - {name: 'a, b'}\n  - {name: b}\n", "5: variants[0].name: 'a, b': must be made of letters"),
        (
            "variants:\n  - {name: a, producr: {acks: 1}}\n  - {name: b}\n",
            "5: variants[0].producr: unknown key 'producr' (did you mean 'producer'?); a variant sets workload",
        ),
        ("variants:\n  - {name: a, producer: 3}\n  - {}\n", "5: variants[0].producer: must hold keys and values"),
        (
            "variants:\n  - name: a\n    producer: {linger.ms: [1]}\n  - {}\n",
            "6: variants[0].producer.linger.ms: must be one value: text, a number, true or false",
        ),
        ("variants:\n  - {name: a, partitions: x}\n  - {}\n", "5: variants[0].partitions: 'x': must be a whole number"),
        ("variants:\n  - {version: 3.9}\n  - {}\n", "5: variants[0].version: '3.9': put the version in quotes"),
        ("variants:\n  - {workload: {partitons: 2}}\n  - {}\n", "5: variants[0].workload.partitons: unknown key"),
        (
            "sweep: {partitions: [1, 2]}\nvariants:\n  - {name: a, partitions: 3}\n  - {}\n",
            "5: variants: sets 'workload.partitions', which 'partitions' sets too",
        ),
        (f"sweep: {{variant: [{{name: a, nodes: 1}}]}}\n{LINGER}", "sweep.variant: is the name of the axis"),
        ("same-within: 3\n", "4: same-within: '3': must be a share such as 3%, or a time such as 1ms"),
        ("same-within: 300%\n", "4: same-within: '300%': must be a share above 0% and at most 100%"),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(tmp_path: Path, more: str, says: str) -> None:
    assert says in refused(tmp_path, more)


def test_with_several_systems_a_variant_says_whose_settings_it_sets(tmp_path: Path) -> None:
    text = BASE.replace("[kafka]", "[kafka, pulsar]")
    says = "variants[0].producer: the campaign has several systems (kafka, pulsar): write 'systems.kafka.producer.NAME'"
    assert says in refused(tmp_path, LINGER, text)
    more = "variants:\n  - {systems.kafka.producer.linger.ms: 20}\n  - {name: b}\n"
    campaign = parse(tmp_path, more, text)
    assert [dict(point.campaign.systems[0].producer) for point in campaign.points] == [{"linger.ms": "20"}, {}]
    assert dict(campaign.variants[0].sets) == {"kafka producer linger.ms": "20"}


def test_entries_of_one_system_are_its_variants(tmp_path: Path) -> None:
    twice = "\n  - {name: kafka, producer: {linger.ms: 0}}\n  - {name: kafka, producer: {linger.ms: 20}, durability: 3}"
    campaign = parse(tmp_path, "", BASE.replace("[kafka]", twice))
    systems = [point.campaign.systems for point in campaign.points]
    assert [len(each) for each in systems] == [1, 1]
    assert [dict(each[0].producer) for each in systems] == [{"linger.ms": "0"}, {"linger.ms": "20"}]
    assert [variant.name for variant in campaign.variants] == ["linger.ms=0", "linger.ms=20 durability=3"]
    assert campaign.repeat == REPEAT
    assert not only_unequal(wanted_tilts(plan_campaign(campaign)))
    wrong = twice.replace("producer: {linger.ms: 20}", "producer: {linger.mss: 20}")
    says = "/campaign.yaml:4: systems[1].producer.linger.mss: "
    assert says in refused(tmp_path, "", BASE.replace("[kafka]", wrong))


def test_an_entry_without_settings_is_the_system_as_it_is(tmp_path: Path) -> None:
    systems = "[kafka, {name: kafka, settings: {num.io.threads: 16}}]"
    campaign = parse(tmp_path, "", BASE.replace("[kafka]", systems))
    assert [variant.name for variant in campaign.variants] == ["unchanged", "num.io.threads=16"]
    assert [dict(point.campaign.systems[0].settings) for point in campaign.points] == [{}, {"num.io.threads": "16"}]


@pytest.mark.parametrize(
    "systems",
    [
        "[kafka, kafka]",
        "[kafka, {name: kafka, replication-factor: 1}]",
        "[kafka, pulsar, {name: kafka, heap: 1GiB}]",
        "[kafka, {name: kafka, optional: true}]",
    ],
)
def test_what_is_no_variant_of_one_system_is_listed_twice(tmp_path: Path, systems: str) -> None:
    says = refused(tmp_path, "", BASE.replace("[kafka]", systems))
    assert "'kafka' is listed twice" in says
    assert f"write 'variants: {TWO_VARIANTS}'" in says
