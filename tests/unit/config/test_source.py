"""A file that is read again, as a campaign is for each of its scales."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tidegauge.config.source import read_source


def test_it_is_composed_once_and_each_reading_has_data_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    composed: list[str] = []
    real = YAML.compose

    def compose(self: YAML, stream: Any) -> Any:
        composed.append(stream)
        return real(self, stream)

    monkeypatch.setattr(YAML, "compose", compose)
    path, text = tmp_path / "campaign.yaml", "name: again\nsystems: [kafka]\nworkload: {partitions: 2}\n"
    path.write_text(text)
    first = read_source(path, "campaign")
    first.data["systems"].append("pulsar")
    first.data["workload"]["partitions"] = 3
    again = read_source(path, "campaign")
    assert again.data == {"name": "again", "systems": ["kafka"], "workload": {"partitions": 2}}
    assert again.lines == first.lines
    assert composed == [text]
    path.write_text(changed := text.replace("again", "changed"))
    assert read_source(path, "campaign").data["name"] == "changed"
    assert composed == [text, changed]
