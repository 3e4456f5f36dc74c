"""Attestations that outlive their runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from attestation_samples import DIGEST, attestation

from tidegauge.model.attest import Scenario
from tidegauge.model.level import LevelChoice
from tidegauge.store.attestations import attestations_directory, keep_attestations, known_attestations


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIDEGAUGE_DATA", str(tmp_path))
    return tmp_path / "attestations"


def keep(*made: str) -> None:
    for run in made:
        keep_attestations([attestation()], "2026-11-21T20:00:00+00:00", run)


def test_what_is_kept_is_known_with_its_run() -> None:
    keep("first", "second")
    known = known_attestations("kafka@4.3.1", LevelChoice(1), DIGEST)
    assert [attestation.run for attestation in known] == ["first", "second"]
    assert known[0].started_at == "2026-11-21T20:00:00+00:00"
    assert known[0].scenario is Scenario.ALL


@pytest.mark.parametrize(
    ("system", "choice", "digest"),
    [
        ("kafka@4.4.0", LevelChoice(1), DIGEST),
        ("kafka@4.3.1", LevelChoice(2), DIGEST),
        ("kafka@4.3.1", LevelChoice(1, "quorum"), DIGEST),
        ("kafka@4.3.1", LevelChoice(1), "other"),
    ],
)
def test_another_version_level_form_or_setting_is_not_attested(system: str, choice: LevelChoice, digest: str) -> None:
    keep("first")
    assert known_attestations(system, choice, digest) == ()


def test_a_damaged_file_attests_nothing(own_data: Path) -> None:
    keep("first")
    (file,) = own_data.glob("*.json")
    content = json.loads(file.read_text())
    content["attestations"].append({"system": "half of one"})
    file.write_text(json.dumps(content))
    assert len(known_attestations("kafka@4.3.1", LevelChoice(1), DIGEST)) == 1
    keep("second")
    stored = json.loads(file.read_text())["attestations"]
    assert [attestation.get("run") for attestation in stored] == ["first", None, "second"], "nothing is forgotten"
    file.write_text("{")
    assert known_attestations("kafka@4.3.1", LevelChoice(1), DIGEST) == ()


def test_names_of_directories_stay_within_the_directory(own_data: Path) -> None:
    keep_attestations([attestation(system="kafka@/opt/../../kafka")], "", "first")
    (file,) = own_data.glob("*.json")
    assert file.parent == own_data
    assert len(known_attestations("kafka@/opt/../../kafka", LevelChoice(1), DIGEST)) == 1


def test_the_directory_follows_the_environment() -> None:
    assert attestations_directory({"TIDEGAUGE_DATA": "/a"}) == Path("/a/attestations")
    assert attestations_directory({"XDG_DATA_HOME": "/b"}) == Path("/b/tidegauge/attestations")
    assert attestations_directory({"HOME": "/c"}) == Path("/c/.local/share/tidegauge/attestations")
