"""What the clients' own libraries say of their settings is what is kept of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@pytest.mark.parametrize("system", ["kafka", "pulsar"])
def test_the_file_is_what_the_library_says(monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(SCRIPTS)])
    import generate_client_settings

    expected = generate_client_settings.text_for(system)
    assert generate_client_settings.target_of(system).read_text() == expected, "run scripts/generate_client_settings.py"
