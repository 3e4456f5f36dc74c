"""Schemas and names of a run's files, as written and as read."""

from __future__ import annotations

RUN_SCHEMA = "tidegauge.run/1"
PLAN_SCHEMA = "tidegauge.plan/1"
FINDING_SCHEMA = "tidegauge.finding/1"
ENVIRONMENT_SCHEMA = "tidegauge.environment/1"
CAMPAIGN_SCHEMA = "tidegauge.campaign/1"
CEILINGS_SCHEMA = "tidegauge.ceilings/1"

CEILINGS_FILE = "ceilings.json"
ATTESTATION_SCHEMA = "tidegauge.attestation/1"
CYCLES_FILE = "cycles.json"
CYCLES_SCHEMA = "tidegauge.cycles/1"


def environment_name(session: int) -> str:
    """The file that tells what a session ran on."""
    return "environment.json" if session == 1 else f"environment-{session}.json"
