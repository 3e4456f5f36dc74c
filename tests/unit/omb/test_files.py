"""Whole files of the OpenMessaging Benchmark (OMB): this project's own, which use every key, and OMB's, where they are.

OMB's own files are no part of this project, and no package registry has them: name a checkout of its repository in
TIDEGAUGE_OMB to have all of them read, and the keys below compared with its Java classes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from campaign_samples import CAMPAIGN, MANY
from omb_samples import FIELDS

from tidegauge.campaign.model import SystemChoice
from tidegauge.campaign.plan.generators import check_clients
from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.config.source import Source, read_source
from tidegauge.errors import UserError
from tidegauge.model.host import LoadBounds
from tidegauge.omb.files import read_driver, read_workload, translate_workload
from tidegauge.omb.translate import translate_all
from tidegauge.systems import registry
from tidegauge.systems.attach import AttachChoice

ONE = CAMPAIGN.experiments[:1]
ELSEWHERE = AttachChoice({"bootstrap-servers": "h:1"})
OWN = Path(__file__).parents[2] / "omb_files"
OMB = os.environ.get("TIDEGAUGE_OMB", "")
needs_omb = pytest.mark.skipif(
    not OMB, reason="OMB's files are no part of this project: TIDEGAUGE_OMB names a checkout of openmessaging/benchmark"
)

WORKLOAD = """name topics partitionsPerTopic keyDistributor messageSize useRandomizedPayloads randomBytesRatio
    randomizedPayloadPoolSize payloadFile subscriptionsPerTopic producersPerTopic consumerPerSubscription producerRate
    consumerBacklogSizeGB backlogDrainRatio testDurationMinutes warmupDurationMinutes"""
EVERY_DRIVER = "name driverClass"
DRIVERS = {
    "kafka": "replicationFactor topicConfig commonConfig producerConfig consumerConfig",
    "nats": "natsHostUrl replicationFactor",
    "rabbitmq": """amqpUris messagePersistence queueType producerCreationDelay producerCreationBatchSize
        consumerCreationDelay consumerCreationBatchSize""",
    "pulsar": """client producer consumer serviceUrl httpUrl clientMemoryLimitMB ioThreads connectionsPerBroker
        maxConcurrentLookupRequests namespacePrefix clusterName topicType persistence ensembleSize writeQuorum ackQuorum
        deduplicationEnabled tlsAllowInsecureConnection tlsEnableHostnameVerification tlsTrustCertsFilePath
        authentication plugin data receiverQueueSize subscriptionType batchingEnabled batchingMaxPublishDelayMs
        batchingMaxBytes blockIfQueueFull pendingQueueSize""",
}
"""Every field of OMB's classes Workload, DriverConfiguration, and of each driver's configuration, inner ones too."""


def keys_of(data: object) -> Iterator[str]:
    """Every key, those of inner mappings too."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield str(key)
            yield from keys_of(value)


def problem_lines(source: Source) -> list[str]:
    return [str(problem).removeprefix(f"{source.path}:") for problem in source.problems]


def problems_of(path: Path) -> list[str]:
    """Why a workload can't be run; empty if it can."""
    read, source = read_workload(path)
    if read is not None:
        translate_workload(read)
    return problem_lines(source)


def test_own_workloads_use_every_key_and_run() -> None:
    files = sorted((OWN / "workloads").glob("*.yaml"))
    assert len(files) >= 12
    assert {path.name: problems_of(path) for path in files} == {path.name: [] for path in files}
    assert {key for path in files for key in keys_of(read_source(path, "workload").data)} == set(WORKLOAD.split())


@pytest.mark.parametrize("system", DRIVERS)
def test_own_drivers_use_every_key(system: str) -> None:
    path = OWN / "drivers" / f"{system}-every-key.yaml"
    for managed in (False, True):
        driver, source = read_driver(path, managed)
        assert driver is not None, problem_lines(source)
        assert driver.system.name == system
    assert set(keys_of(source.data)) == set(f"{EVERY_DRIVER} {DRIVERS[system]}".split())


def test_every_own_workload_becomes_a_campaign_on_every_driver() -> None:
    workloads, drivers = list((OWN / "workloads").glob("*.yaml")), list((OWN / "drivers").glob("*.yaml"))
    found = translate_all(workloads, drivers, managed=False, time_scale=1.0)
    assert len(found) == len(workloads) * len(drivers)
    assert {translation.campaign.experiments[0].name for translation in found} == {
        "latency",
        "peak",
        "catch-up",
        "max-throughput",
    }


@pytest.fixture
def omb(monkeypatch: pytest.MonkeyPatch) -> Path:
    """OMB's checkout, from where its payload files are found."""
    monkeypatch.chdir(OMB)
    return Path(OMB)


@needs_omb
def test_every_shipped_workload_is_taken_and_only_the_host_bounds_its_clients(omb: Path) -> None:
    files = sorted((omb / "workloads").rglob("*.yaml"))
    assert len(files) >= 130
    assert {path.name: problems_of(path) for path in files} == {path.name: [] for path in files}
    shared = {path.name for path in files if not refused_by_host(path, "pulsar")}
    assert len(shared) == len(files), "clients of Pulsar are shared: only memory bounds them"
    alone = [path for path in files if refused_by_host(path, "kafka")]
    assert 0 < len(alone) < len(files) / 2
    for path in alone:
        assert re.search(r"open files|memory maps|threads|connections", refused_by_host(path, "kafka"))


def refused_by_host(path: Path, system: str) -> str:
    """Why a usual host's load generator can't hold a workload's clients; "" if it can."""
    read, _ = read_workload(path)
    assert read is not None
    workload = translate_workload(read)
    assert workload is not None
    campaign = replace(MANY, systems=(SystemChoice(system, attach=ELSEWHERE),), workload=workload, experiments=ONE)
    try:
        check_clients(plan_campaign(campaign), campaign, LoadBounds(20_000, 65_530, 31_000, 27_000))
    except UserError as error:
        return error.message
    return ""


@needs_omb
def test_every_shipped_driver_is_read_or_refused_by_name(omb: Path) -> None:
    """Files for these three systems; those of others by their class, and what is no driver file as such."""
    known = {name.split(".")[-2] for name in registry.omb_drivers()}
    for path in sorted(omb.glob("driver-*/*.yaml")):
        for managed in (False, True):
            driver, source = read_driver(path, managed)
            system = path.parent.name.removeprefix("driver-")
            if system not in known:
                assert re.search(
                    r"driverClass: '.*' is OMB's driver for a system that is not known", *problem_lines(source)
                )
            elif path.stem == "pulsar-effectively-once" and not managed:
                assert re.search(r"client.persistence.deduplicationEnabled: .* --managed", *problem_lines(source))
            else:
                assert driver is not None, problem_lines(source)
                assert driver.system.name == system


@needs_omb
def test_no_key_of_omb_is_missed(omb: Path) -> None:
    drivers = {
        "kafka": ("kafka/Config",),
        "rabbitmq": ("rabbitmq/RabbitMqConfig",),
        "pulsar": tuple(f"pulsar/config/Pulsar{part}Config" for part in ("", "Client", "Producer", "Consumer")),
    }
    framework = omb / "benchmark-framework/src/main/java/io/openmessaging/benchmark"
    assert fields_of(framework / "Workload.java") == set(WORKLOAD.split())
    assert fields_of(framework / "DriverConfiguration.java") == set(EVERY_DRIVER.split())
    for system, classes in drivers.items():
        root = omb / f"driver-{system}/src/main/java/io/openmessaging/benchmark/driver"
        found = {field for name in classes for field in fields_of(root / f"{name}.java")}
        assert found == set(DRIVERS[system].split())
    assert fields_of(framework / "TestResult.java") == FIELDS


def fields_of(path: Path) -> set[str]:
    """The public fields of a Java class and of those inside."""
    return set(re.findall(r"^\s+public [\w<>, ]+ (\w+)(?: = .*)?;", path.read_text(), re.MULTILINE))
