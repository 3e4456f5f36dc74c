"""What a client refused that only it can judge, such as two settings that do not go together: what to change, where."""

from __future__ import annotations

from tidegauge.campaign.model import SystemChoice
from tidegauge.errors import SettingsRefusedError
from tidegauge.numbers import join_first
from tidegauge.systems.client_settings import PRODUCER

_LISTED_MAX = 12


def name_refused_settings(error: SettingsRefusedError, choice: SystemChoice) -> SettingsRefusedError:
    """The error with the settings that the user gave such clients, and where. Pure."""
    given = choice.producer if error.role == PRODUCER else choice.consumer
    listed = [
        f"{name} '{given[name]}'{f' ({choice.locate(error.role, name)})' if choice.locate else ''}" for name in given
    ]
    if listed:
        words = f"Given to {error.role}s: {join_first(listed, _LISTED_MAX)}."
        hint = "Change one of these settings: the client refuses them each time."
    else:
        words = f"Nothing was given to {error.role}s: their settings follow from the workload and the level."
        hint = "Change the workload or the level: the client refuses what follows from them each time."
    named = SettingsRefusedError(f"{error.message.rstrip('.')}. {words}", hint, error.log_path)
    named.role = error.role
    return named
