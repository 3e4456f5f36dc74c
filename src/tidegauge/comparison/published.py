"""The claims of a published report, examined over several runs: which of them may be put together. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidegauge.comparison.across import LETTERS
from tidegauge.comparison.differences import host_differences
from tidegauge.errors import UserError
from tidegauge.published.across import Lettered, together
from tidegauge.published.examine import Choice, examine
from tidegauge.published.load import report
from tidegauge.published.observe import Measured
from tidegauge.published.outcome import PublishedOutcome
from tidegauge.store.read import StoredRun

SAME_KIND = ("cpu model", "cpus", "memory")
"""What must be the same of the hosts of runs whose figures are put into one ratio.

Another host name makes a verdict DOUBTFUL instead: containers on one machine have a new one each time.
"""


def examined_together(
    choices: Sequence[Choice], runs: Sequence[StoredRun], measured: Sequence[Measured]
) -> PublishedOutcome:
    """The verdicts from the figures of several runs, whose `measured` is what claims see of each.

    Raises `UserError` for runs of different reports, scales, or kinds of machine.
    """
    _alike("reports", runs, [one.report for one in choices])
    _alike("scales", runs, [one.scale for one in choices])
    doubts = _doubts(runs)
    claims = tuple(dict.fromkeys(claim for one in choices for claim in one.claims))
    differs = tuple(dict.fromkeys(sentence for one in choices for sentence in one.differs))
    choice = replace(choices[0], claims=claims, differs=differs)
    lettered = [Lettered(letter, one) for letter, one in zip(LETTERS, measured, strict=False)]
    return replace(examine(report(choice.report), choice, together(lettered)), doubts=doubts)


def _alike(what: str, runs: Sequence[StoredRun], values: Sequence[str]) -> None:
    if len(set(values)) > 1:
        told = "; ".join(f"{run.path.name}: {value}" for run, value in zip(runs, values, strict=True))
        raise UserError(f"The runs examine different {what}: {told}.", f"Name runs of one of the {what}.")


def _doubts(runs: Sequence[StoredRun]) -> tuple[str, ...]:
    """What is not the same around the runs, in sentences. Raises `UserError` for machines of different kinds."""
    found = []
    for one in host_differences(runs):
        told = ", ".join(f"{value} in {letter}" for letter, value in zip(LETTERS, one.values, strict=False))
        if one.what in SAME_KIND:
            raise UserError(
                f"The runs were made on machines of different kinds: {one.what}: {told}.",
                "A ratio of figures of different hosts is one of the hosts. Name runs of the same.",
            )
        found.append(f"the host differs: {one.what}: {told}")
    unknown = [letter for letter, run in zip(LETTERS, runs, strict=False) if not run.environment.get("host")]
    if unknown:
        found.append(f"the host is not recorded in {', '.join(unknown)}")
    silent = [letter for letter, run in zip(LETTERS, runs, strict=False) if not run.meaning]
    if silent:
        found.append(f"memory and settings of the servers are not recorded in {', '.join(silent)}")
    if any(spec.attached for run in runs for spec in run.planned):
        found.append("clusters that others run were attached: whether their hosts were the same is not known here")
    return tuple(found)
