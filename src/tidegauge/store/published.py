"""What a run says of a published report's claims, kept in the run's directory."""

from __future__ import annotations

from pathlib import Path

from tidegauge.published.outcome import PublishedOutcome
from tidegauge.store.files import write_json

PUBLISHED_FILE = "published.json"
PUBLISHED_SCHEMA = "tidegauge.published/1"


def keep_published(run: Path, outcome: PublishedOutcome) -> None:
    """Write the verdicts into a run's directory; once more replaces them. Raises `RunFailedError`."""
    write_json(run / PUBLISHED_FILE, PUBLISHED_SCHEMA, {"published": outcome}, durable=True)
