"""What the real files of each system say of its servers' settings."""

from __future__ import annotations

import pytest

from tidegauge.systems import registry

pytestmark = pytest.mark.integration

THERE = {
    "kafka": ["num.io.threads", "message.max.bytes", "log.flush.interval.messages", "unstable.api.versions.enable"],
    "pulsar": ["managedLedgerNewEntriesCheckDelayInMillis", "journalSyncData", "dbStorage_writeCacheMaxSizeMb"],
    "rabbitmq": ["vm_memory_high_watermark.relative", "heartbeat", "loopback_users.guest", "management.rates_mode"],
}
NOT_THERE = {
    "kafka": ["num.io.thread", "linger.ms", "retention.ms"],
    "pulsar": ["journalSyncDat", "batchingMaxBytes", "ServiceConfiguration"],
    "rabbitmq": ["heartbeet", "mqtt.prefetch", "log.file.levl"],
}


@pytest.mark.parametrize("name", list(THERE))
def test_the_files_of_a_version_say_which_settings_it_has(name: str) -> None:
    system = registry.system_named(name)
    system.provision(system.default_version, lambda _: None)
    settings = system.server_settings(system.default_version)
    assert settings is not None
    assert all(map(settings.has, THERE[name]))
    assert not any(map(settings.has, NOT_THERE[name]))
