"""What is advised about OMB's files is said with their own keys, and a campaign's are told as such."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from omb_samples import DRIVER, WORKLOAD

from tidegauge.campaign.plan.fairness import wanted_tilts
from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.errors import UserError
from tidegauge.omb.translate import Translation, translate_all

PULSAR = """\
name: My Pulsar
driverClass: io.openmessaging.benchmark.driver.pulsar.PulsarBenchmarkDriver
client: {serviceUrl: "pulsar://localhost:6650", httpUrl: "http://localhost:8080"}
producer: {batchingMaxPublishDelayMs: 5, batchingMaxBytes: 50, batchingPartitionSwitchFrequencyByPublishDelay: 1}
consumer: {subscriptionType: Failover}
"""
KAFKA = f"""\
{DRIVER.rstrip()}
  linger.ms=5
  batch.size=50
  max.in.flight.requests.per.connection=3
consumerConfig: |
  fetch.min.bytes=100000000
"""
OF_CAMPAIGNS = re.compile(r"`[a-z-]+`(?! \(these files have no key for it\))")


def translated(tmp_path: Path, driver: str, **changes: object) -> Translation:
    text = WORKLOAD
    for key, value in changes.items():
        text = re.sub(rf"^{key}: .*$", f"{key}: {value}", text, flags=re.MULTILINE)
    (tmp_path / "w.yaml").write_text(text)
    (tmp_path / "d.yaml").write_text(driver)
    (one,) = translate_all([tmp_path / "w.yaml"], [tmp_path / "d.yaml"], True, 1.0)
    return one


def advice_by_rule(translation: Translation) -> dict[str, str]:
    return {tilt.rule: tilt.remedy for tilt in wanted_tilts(plan_campaign(translation.campaign))}


def test_advice_names_the_keys_of_the_files(tmp_path: Path) -> None:
    advice = advice_by_rule(translated(tmp_path, KAFKA, consumerPerSubscription=4))
    assert advice == {
        "requests-in-flight": "remove max.in.flight.requests.per.connection from producerConfig",
        "fetch-waits": "remove fetch.min.bytes from consumerConfig, unless users have it",
        "batch-below-message": "give batch.size in producerConfig of some messages, or of 1 B where single messages "
        "are meant",
        "idle-consumers": "give as many partitionsPerTopic, or let consumers share them (a campaign's "
        "`subscription-type` (these files have no key for it))",
    }
    advice = advice_by_rule(translated(tmp_path, KAFKA.replace("batch.size=50", "batch.size=100000")))
    assert advice["waits-for-batches"] == (
        "set linger.ms in producerConfig to 0 ms, unless users of the system have this delay"
    )
    advice = advice_by_rule(translated(tmp_path, PULSAR, messageSize=12))
    assert advice["partition-switch"] == ("remove batchingPartitionSwitchFrequencyByPublishDelay from producer")
    assert advice["short-messages"] == "set messageSize to 16 B or more"
    assert not any(OF_CAMPAIGNS.search(text) for text in advice.values())


def test_of_a_campaign_the_same_advice_names_its_own_keys(tmp_path: Path) -> None:
    campaign = translated(tmp_path, KAFKA, consumerPerSubscription=4).campaign
    systems = tuple(replace(system, file_keys={}) for system in campaign.systems)
    advice = {tilt.rule: tilt.remedy for tilt in wanted_tilts(plan_campaign(replace(campaign, systems=systems)))}
    assert advice["idle-consumers"] == ("give as many `partitions`, or let consumers share them (`subscription-type`)")
    assert advice["requests-in-flight"] == ("remove max.in.flight.requests.per.connection from the system's `producer`")


def test_a_message_too_large_is_told_by_its_key_and_line(tmp_path: Path) -> None:
    with pytest.raises(UserError) as raised:
        plan_campaign(translated(tmp_path, PULSAR, messageSize=20971520).campaign)
    assert raised.value.message.startswith(f"{tmp_path}/w.yaml:4: messageSize: '20971520B': Apache Pulsar takes")
    assert raised.value.hint is not None and not OF_CAMPAIGNS.search(raised.value.hint)
