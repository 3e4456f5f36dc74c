"""Which experiments a workload with one side only allows. Pure."""

from __future__ import annotations

from tidegauge.campaign.model import Campaign
from tidegauge.errors import UserError

READ = "read"
_OF_READERS = ("catch-up", "mixed")


def check_experiments(campaign: Campaign) -> None:
    """Raise `UserError` for an experiment that the workload has nobody for: without producers, without readers."""
    workload = campaign.workload
    for chosen in campaign.experiments:
        where = f"{campaign.source_path}: experiments: {chosen.name}"
        if chosen.name == READ and workload.producers:
            raise UserError(
                f"{where}: reads topics that others fill, and this workload sends.",
                "Write 'producers: 0' and name the topics in 'existing-topics'.",
            )
        if chosen.name != READ and not workload.producers:
            raise UserError(
                f"{where}: nothing is sent with 'producers: 0'.", "Only the experiment 'read' needs nobody."
            )
        if chosen.name in _OF_READERS and not workload.subscriptions:
            raise UserError(f"{where}: nobody reads with 'subscriptions: 0'.", "Give the workload a subscription.")
