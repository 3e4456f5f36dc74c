"""Texts of campaigns, parsed or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tidegauge.campaign.model import Campaign
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.errors import UserError

KNOWN = ["kafka", "pulsar"]
GOOD = """\
name: example
systems: [kafka, pulsar]
workload:
  message-size: 1KiB
experiments:
  - peak
"""


def parse(directory: Path, text: str, **overrides: Any) -> Campaign:
    path = directory / "campaign.yaml"
    path.write_text(text)
    return parse_campaign(path, overrides, KNOWN)


def complaint(directory: Path, text: str, **overrides: Any) -> str:
    with pytest.raises(UserError) as caught:
        parse(directory, text, **overrides)
    assert caught.value.exit_code == 2
    assert caught.value.hint
    return caught.value.message
