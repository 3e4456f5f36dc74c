"""The settings that Pulsar's clients take, by its own configuration classes. These say nothing of bounds."""

from __future__ import annotations

from pathlib import Path

from tidegauge.fairness import Case
from tidegauge.systems.client_settings import ClientSettingRules, read_client_settings

FILE = Path(__file__).with_name("client_settings.json")


def client_settings(case: Case) -> ClientSettingRules:
    """See `System.client_settings`. Servers of every version are measured with one client."""
    settings, _ = read_client_settings(FILE)
    return settings
