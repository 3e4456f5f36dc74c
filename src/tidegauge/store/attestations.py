"""Attestations that outlive their runs: `DATA/attestations/`, a file for each system, level and digest of settings.

Later runs with the same settings carry what they say. A file holds every attestation made of its key, the oldest first:
cuts that lost nothing add up, and one that lost something is not forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tidegauge.hosts.locks import locked
from tidegauge.hosts.storage import user_directory
from tidegauge.model.attest import Attestation
from tidegauge.model.level import LevelChoice
from tidegauge.store.documents import all_readable, part_of
from tidegauge.store.envelopes import AttestationFile
from tidegauge.store.files import make_directory, write_failed, write_json


def attestations_directory(environment: Mapping[str, str] | None = None) -> Path:
    """Below `$TIDEGAUGE_DATA`, else `$XDG_DATA_HOME/tidegauge`, else `~/.local/share/tidegauge`. Not created here."""
    return user_directory("DATA", ".local/share", environment) / "attestations"


def keep_attestations(attestations: Sequence[Attestation], started_at: str, run: str) -> None:
    """Add attestations to what is known. Raises `RunFailedError` if they can't be written."""
    directory = attestations_directory()
    for attestation in attestations:
        choice = LevelChoice(attestation.level, attestation.form)
        path = directory / _file_name(attestation.system, choice, attestation.settings_digest)
        make_directory(directory)
        # Two runs that end at the same time must not lose each other's.
        try:
            with locked(directory / ".lock"):
                # As they stand there: a newer Tidegauge may have written what this one can't read.
                earlier = part_of(path, "attestations") or []
                all_made = [*earlier, replace(attestation, started_at=started_at, run=run)]
                content = AttestationFile(schema="tidegauge.attestation/1", attestations=all_made)
                write_json(path, content, durable=True)
        except OSError as error:
            raise write_failed(directory / ".lock", error) from error


def known_attestations(system: str, choice: LevelChoice, settings_digest: str) -> tuple[Attestation, ...]:
    """What is known of a system's version at a level with these settings; what can't be read is left out."""
    path = attestations_directory() / _file_name(system, choice, settings_digest)
    return all_readable(Attestation, part_of(path, "attestations"))


def _file_name(system: str, choice: LevelChoice, settings_digest: str) -> str:
    form = f"-{choice.form}" if choice.form else ""
    return re.sub(r"[^A-Za-z0-9.@_-]+", "-", f"{system}-level{choice.level}{form}-{settings_digest}") + ".json"
