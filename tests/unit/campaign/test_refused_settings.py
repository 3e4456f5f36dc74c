"""What a client refused that only it can judge: which settings of its it was given, and where."""

from __future__ import annotations

from pathlib import Path

from tidegauge.campaign.model import Campaign
from tidegauge.campaign.read.one_line import AB, BENCH, CommandLine, compose_line
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.campaign.run.refusing import name_refused_settings
from tidegauge.errors import SettingsRefusedError

NEEDS_ALL = "Kafka could not create a producer for t: Must set acks to all in order to use the idempotent producer."
CAMPAIGN = """\
name: tuning
systems:
  - name: kafka
    producer:
      linger.ms: 5
      enable.idempotence: true
    consumer: {fetch.min.bytes: 1}
sweep:
  systems.kafka.producer.acks: [all, 1]
experiments: [peak]
"""


def refusal(campaign: Campaign, role: str = "producer", message: str = NEEDS_ALL) -> tuple[str, str]:
    """What is said, and what to do, of the first system of a campaign."""
    error = SettingsRefusedError(message)
    error.role = role
    named = name_refused_settings(error, campaign.systems[0])
    assert named.role == role
    return named.message, named.hint


def test_the_settings_of_a_file_are_named_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(CAMPAIGN)
    campaign = parse_campaign(path, {}, ["kafka"])
    said, hint = refusal(campaign.points[1].campaign)
    assert said == (
        f"{NEEDS_ALL} Given to producers: linger.ms '5' ({path}:5), enable.idempotence 'true' ({path}:6), "
        f"acks '1' ({path}:9)."
    )
    assert hint.startswith("Change one of these settings")
    of_consumers, _ = refusal(campaign, "consumer", "No.")
    assert of_consumers == f"No. Given to consumers: fetch.min.bytes '1' ({path}:7)."


def test_those_of_options_are_named_by_these() -> None:
    line = CommandLine(BENCH, "kafka", "h1:9092", partitions=3, settings=("producer.acks=1",))
    composed = compose_line(line)
    said, _ = refusal(composed.campaign(Path("tidegauge bench"), composed.text()))
    assert "Given to producers: acks '1' (--set producer.acks=1)." in said


def test_those_of_variants_are_named_by_their_axis() -> None:
    line = CommandLine(AB, "kafka", "h1:9092", partitions=3, rate="1k", vary=("producer.acks=all,1",))
    composed = compose_line(line)
    points = composed.campaign(Path("tidegauge ab"), composed.text()).points
    said, _ = refusal(points[-1].campaign)
    assert "Given to producers: acks '1' (-L producer.acks=all,1)." in said


def test_where_nothing_was_given_the_rest_decides(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("name: n\nsystems: [kafka]\nexperiments: [peak]\n")
    said, hint = refusal(parse_campaign(path, {}, ["kafka"]))
    assert "Nothing was given to producers" in said
    assert hint.startswith("Change the workload or the level")
