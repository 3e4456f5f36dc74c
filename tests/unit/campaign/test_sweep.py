"""`sweep` in a campaign: which points it gives, and what is refused, with the line of the sweep."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tidegauge.campaign.model import Campaign
from tidegauge.campaign.plan.contenders import find_contenders
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.campaign.read.sweep import AXES_MAX, POINTS_MAX
from tidegauge.errors import UserError
from tidegauge.experiments.latency import LatencyOptions
from tidegauge.systems import registry

SYSTEMS = ["kafka", "pulsar", "rabbitmq"]
BASE = """name: swept
systems: [kafka, "pulsar@4.2.4"]
workload: {message-size: 1KiB}
experiments: [peak, {name: latency, rate: 20k}]
sweep:
"""


def parse(tmp_path: Path, sweep: str, text: str = BASE, **overrides: Any) -> Campaign:
    path = tmp_path / "campaign.yaml"
    path.write_text(text + sweep)
    return parse_campaign(path, overrides, SYSTEMS)


def refused(tmp_path: Path, sweep: str, text: str = BASE, **overrides: Any) -> str:
    with pytest.raises(UserError) as caught:
        parse(tmp_path, sweep, text, **overrides)
    return caught.value.message.replace(str(tmp_path), "")


def test_a_matrix_is_multiplied_out_the_last_axis_fastest(tmp_path: Path) -> None:
    campaign = parse(tmp_path, "  partitions: [1, 100]\n  durability: [3, {level: 4, form: bypass}]\n")
    assert [dict(point.values) for point in campaign.points] == [
        {"partitions": "1", "durability": "3"},
        {"partitions": "1", "durability": "4 bypass"},
        {"partitions": "100", "durability": "3"},
        {"partitions": "100", "durability": "4 bypass"},
    ]
    inside = [point.campaign for point in campaign.points]
    assert [point.workload.partitions for point in inside] == [1, 1, 100, 100]
    assert [(point.durability.level, point.durability.form) for point in inside] == [(3, ""), (4, "bypass")] * 2
    assert campaign.workload.partitions == 1, "the campaign itself is the first of its points"
    assert all(point.workload.payload.message_bytes == 1024 for point in inside)


def test_a_campaign_without_a_sweep_has_one_point_without_values(tmp_path: Path) -> None:
    campaign = parse(tmp_path, "", BASE.replace("sweep:\n", ""))
    assert campaign.points == ()
    assert [(dict(point.values), point.campaign) for point in campaign.all_points] == [({}, campaign)]


def test_a_named_axis_sets_several_fields_together(tmp_path: Path) -> None:
    text = (
        "  clients:\n    - {name: 1p1c, producers: 1, consumers: 1}\n    - {name: 4p2c, producers: 4, consumers: 2}\n"
    )
    points = parse(tmp_path, text).points
    assert [point.values["clients"] for point in points] == ["1p1c", "4p2c"]
    assert [(p.campaign.workload.producers, p.campaign.workload.consumers) for p in points] == [(1, 1), (4, 2)]


def test_options_of_experiments_and_systems_are_swept(tmp_path: Path) -> None:
    text = (
        "  latency.rate: [10k, 50% of lowest peak]\n  systems.kafka.settings.num.io.threads: [8, 16]\n"
        "  systems.pulsar.heap: [512MiB]\n  systems.kafka.version: ['3.9.2']\n"
    )
    points = parse(tmp_path, text).points
    assert len(points) == 4
    kafka, pulsar = points[1].campaign.systems
    assert (kafka.settings, kafka.version) == ({"num.io.threads": "16"}, "3.9.2")
    assert (pulsar.heap_mb, pulsar.version) == (512, "4.2.4"), "a short form keeps its version"
    options = points[3].campaign.experiments[1].options
    assert isinstance(options, LatencyOptions)
    assert str(options.rate) == "50% of lowest peak"
    assert points[3].values["systems.kafka.settings.num.io.threads"] == "16"


def test_a_workload_in_a_file_is_swept_too(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text("name: w\nmessage-size: 200B\npartitions: 7\n")
    text = BASE.replace("{message-size: 1KiB}", "w.yaml")
    points = parse(tmp_path, "  workload.partitions: [1, 2]\n", text).points
    assert [point.campaign.workload.partitions for point in points] == [1, 2]
    assert {point.campaign.workload.payload.message_bytes for point in points} == {200}
    assert refused(tmp_path, "  partitions: [1, 0]\n", text).startswith("/campaign.yaml:6: sweep.partitions[1]: '0'")


def test_a_swept_payload_file_is_found_beside_the_campaign(tmp_path: Path) -> None:
    (tmp_path / "workloads").mkdir()
    (tmp_path / "workloads" / "w.yaml").write_text("name: w\n")
    bodies = [tmp_path / "small.bin", tmp_path / "large.bin"]
    for body in bodies:
        body.write_bytes(b"abc")
    text = BASE.replace("{message-size: 1KiB}", "workloads/w.yaml")
    points = parse(tmp_path, "  payload-file: [small.bin, large.bin]\n", text).points
    assert [point.campaign.workload.payload.file for point in points] == [str(body) for body in bodies]


def test_a_field_that_the_campaign_lacks_may_come_from_the_sweep(tmp_path: Path) -> None:
    text = BASE.replace(", rate: 20k", "")
    assert len(parse(tmp_path, "  latency.rate: [1k, 2k]\n", text).points) == 2


@pytest.mark.parametrize(
    ("sweep", "says"),
    [
        ("  partitons: [1]\n", "6: sweep.partitons: unknown field 'partitons' (did you mean 'partitions'?)"),
        ("  partitions: 5\n", "6: sweep.partitions: must be a list of values"),
        ("  partitions: []\n", "6: sweep.partitions: must be a list of values"),
        ("  partitions: [1, x]\n", "6: sweep.partitions[1]: 'x': must be a whole number"),
        ("  durability: [3, 9]\n", "6: sweep.durability[1]: '9': must be a durability level from 1 to 4"),
        ("  durability: [{levl: 3}]\n", "6: sweep.durability[0].levl: unknown key 'levl' (did you mean 'level'?)"),
        ("  partitions: [1, 1]\n", "6: sweep.partitions[1]: '1' is listed twice"),
        ("  latency.rat: [1k]\n", "6: sweep.latency.rat: unknown key 'rat' (did you mean 'rate'?)"),
        ("  latency.rate: [1 k/s]\n", "6: sweep.latency.rate[0]: '1 k/s': must be messages a second"),
        ("  curve.measure: [20s]\n", "6: sweep.curve.measure: the campaign's experiments have no 'curve'"),
        ("  systems.kafk.heap: [1GiB]\n", "the campaign's systems have no 'kafk' (did you mean 'kafka'?)"),
        ("  systems.kafka.heep: [1GiB]\n", "6: sweep.systems.kafka.heep: unknown key 'heep' (did you mean 'heap'?)"),
        ("  systems.kafka.version: [4.3]\n", "6: sweep.systems.kafka.version[0]: '4.3': put the version in quotes"),
        ("  who:\n    - {producers: 2}\n", "7: sweep.who[0]: needs a 'name'"),
        ("  who:\n    - {name: a}\n", "7: sweep.who[0]: 'a' sets no field"),
        ("  who:\n    - {name: a, producrs: 2}\n", "7: sweep.who[0].producrs: unknown field 'producrs'"),
        (
            "  producers: [1]\n  who:\n    - {name: a, producers: 2}\n",
            "7: sweep.who: sets 'workload.producers', which 'producers' sets too",
        ),
        ("  - partitions\n", "5: sweep: must be a mapping"),
        (
            "  design: pairwize\n  partitions: [1]\n",
            "6: sweep.design: 'pairwize' is no design (did you mean 'pairwise'?)",
        ),
        (
            "  design: 5\n  partitions: [1]\n",
            "6: sweep.design: '5' is no design; there are full, one-at-a-time, pairwise",
        ),
        ("  design: pairwise\n", "5: sweep: has a 'design' and no axis"),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(tmp_path: Path, sweep: str, says: str) -> None:
    assert says in refused(tmp_path, sweep)


def test_each_problem_is_reported_once_and_all_together(tmp_path: Path) -> None:
    text = refused(tmp_path, "  partitions: [1, 2, 3]\n  batch-size: [0B, 1KiB]\n", BASE.replace("1KiB", "1 byte"))
    assert text.startswith("2 problems in the campaign")
    assert text.count("message-size") == 1
    assert text.count("batch-size[0]") == 1


def test_too_many_points_are_refused(tmp_path: Path) -> None:
    values = ", ".join(map(str, range(1, 101)))
    text = refused(tmp_path, f"  partitions: [{values}]\n  producers: [{values}]\n")
    assert f"5: sweep: has 10,000 points, at most {POINTS_MAX} are allowed" in text


TEN_AXES = """  partitions: [1, 10, 100]
  producers: [1, 2, 4]
  consumers: [1, 2, 4]
  message-size: [100B, 1KiB, 10KiB]
  batch-size: [16KiB, 128KiB, 1MiB]
  compression: [none, lz4, zstd]
  batch-delay: [0ms, 1ms, 5ms, 20ms]
  latency.rate: [1k, 2k, 5k, 10k]
  systems.kafka.settings.num.io.threads: [2, 4, 8, 16]
  systems.kafka.settings.num.network.threads: [1, 2, 3, 4]
"""


def test_a_pairwise_design_has_every_pair_in_few_points(tmp_path: Path) -> None:
    points = [dict(point.values) for point in parse(tmp_path, f"  design: pairwise\n{TEN_AXES}").points]
    assert len(points) == 25
    axes = {axis: {point[axis] for point in points} for axis in points[0]}
    assert math.prod(map(len, axes.values())) == 186_624
    for one, other in combinations(axes, 2):
        pairs = {(point[one], point[other]) for point in points}
        assert len(pairs) == len(axes[one]) * len(axes[other]), f"{one} and {other}"


def test_a_design_of_one_at_a_time_begins_at_the_first_values(tmp_path: Path) -> None:
    campaign = parse(tmp_path, "  design: one-at-a-time\n  partitions: [1, 10]\n  producers: [2, 4, 8]\n")
    assert [tuple(point.values.values()) for point in campaign.points] == [
        ("1", "2"),
        ("10", "2"),
        ("1", "4"),
        ("1", "8"),
    ]
    assert [point.campaign.workload.producers for point in campaign.points] == [2, 2, 4, 8]


def test_an_axis_may_still_be_called_design(tmp_path: Path) -> None:
    campaign = parse(tmp_path, "  design:\n    - {name: a, producers: 2}\n    - {name: b, producers: 4}\n")
    assert [dict(point.values) for point in campaign.points] == [{"design": "a"}, {"design": "b"}]


def test_a_design_beside_variants_is_refused(tmp_path: Path) -> None:
    text = BASE.replace('systems: [kafka, "pulsar@4.2.4"]', "systems: [kafka]").replace(
        "sweep:\n", "variants: [{name: a}, {name: b, compression: lz4}]\nsweep:\n"
    )
    says = refused(tmp_path, "  design: pairwise\n  partitions: [1, 10]\n  producers: [2, 4]\n", text)
    assert "sweep.design: can't be given beside 'variants', which are compared at every point" in says


def test_what_is_too_much_for_a_design_is_refused_at_once(tmp_path: Path) -> None:
    many = ", ".join(map(str, range(1, 51)))
    text = refused(
        tmp_path, f"  design: pairwise\n  partitions: [{many}]\n  producers: [{many}]\n  consumers: [1, 2]\n"
    )
    assert f"5: sweep: has 2,500 points, at most {POINTS_MAX} are allowed" in text
    axes = "".join(f"  systems.kafka.settings.s{number}: [1, 2]\n" for number in range(AXES_MAX + 1))
    text = refused(tmp_path, f"  design: pairwise\n{axes}")
    assert f"5: sweep: has {AXES_MAX + 1} axes, a pairwise design can have {AXES_MAX} at most" in text
    assert "or let 'design: pairwise' choose some of them" in refused(tmp_path, TEN_AXES)


def test_rates_at_values_that_a_design_does_not_have_are_refused(tmp_path: Path) -> None:
    text = BASE.replace("sweep:\n", "rates-at: {partitions: 1}\nsweep:\n")
    sweep = "  partitions: [1, 10]\n  producers: [2, 4]\n  consumers: [1, 2]\n"
    assert len(parse(tmp_path, sweep, text).points) == 8
    says = refused(tmp_path, f"  design: pairwise\n{sweep}", text)
    assert "5: rates-at: the design of the sweep does not have every point with partitions=1" in says


def test_an_option_that_replaces_a_swept_field_is_refused(tmp_path: Path) -> None:
    text = refused(tmp_path, "  durability: [3, 4]\n", durability=4)
    assert "6: sweep.durability: is swept, so --level can't be given beside" in text


def test_a_version_of_an_option_is_refused_beside_swept_ones(tmp_path: Path) -> None:
    sweep = "  systems.kafka.version: [3.9.2, 4.3.1]\n"
    text = refused(tmp_path, sweep, systems=["kafka@4.0.0"])
    assert "6: sweep.systems.kafka.version: is swept, so --systems can't be given beside" in text
    points = parse(tmp_path, sweep, systems=["kafka"]).points
    assert [[system.version for system in point.campaign.systems] for point in points] == [["3.9.2"], ["4.3.1"]]


def test_a_point_that_a_system_cannot_have_is_refused_or_left_out(tmp_path: Path) -> None:
    sweep = "  durability: [1, 3]\n  nodes: [1, 3]\n"
    impossible = parse(tmp_path, sweep)
    with pytest.raises(UserError) as caught:
        find_contenders(impossible, registry.system_named)
    assert "campaign.yaml:5: sweep: at durability=1, nodes=1: " in caught.value.message
    assert "Apache Kafka on one node can't give level 1; it can give 3, 4" in caught.value.message
    assert "'skip-impossible: true'" in caught.value.hint
    found, left_out = find_contenders(parse(tmp_path, sweep + "skip-impossible: true\n"), registry.system_named)
    assert [len(here) for here in found] == [0, 2, 2, 2]
    assert len(left_out) == 2
    assert left_out[0].text.startswith("kafka@4.3.1 at durability=1, nodes=1 is left out: ")
    assert left_out[0].left_out == "kafka@4.3.1"


def test_a_sweep_of_nothing_but_impossible_points_is_refused(tmp_path: Path) -> None:
    campaign = parse(tmp_path, "  durability: [1, 2]\nskip-impossible: true\n")
    with pytest.raises(UserError, match="no system of the campaign can have any point"):
        find_contenders(campaign, registry.system_named)
