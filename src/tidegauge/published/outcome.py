"""What a run says of a report's claims, as it is stored and shown."""

from __future__ import annotations

from dataclasses import dataclass

from tidegauge.published.ratio import Ratio
from tidegauge.published.verdict import Grade, Verdict


@dataclass(frozen=True)
class Side:
    """One figure that a claim speaks of, here and as it was published.

    Attributes:
        place: where it was measured, in words.
        values: of the usable trials here, by block.
        missing: why there are none; "" if there are.
        published: None where the report gave no number, only a drawing or a sentence.
        published_source: its table or figure, and what was different there.
        doubtful: how many of the values are of DOUBTFUL trials.
        runs: where several runs were examined, those that the values are of.
    """

    place: str
    figure: str
    unit: str
    values: tuple[float, ...]
    missing: str
    published: float | None
    published_source: str
    doubtful: int = 0
    runs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """One question of a claim. `ratio` None where a figure is missing, or an absolute value is asked for.

    Attributes:
        published_ratio: of the published figures; None where the report does not give both.
        size: the verdict on the size; None where none is claimed, or the direction is not confirmed.
        conditions: what was the same on both sides here, or how it changed: "at 24 partitions".
    """

    words: str
    verdict: Verdict
    reason: str
    ratio: Ratio | None
    sides: tuple[Side, ...]
    published_ratio: float | None = None
    size: Verdict | None = None
    conditions: str = ""


@dataclass(frozen=True)
class ClaimOutcome:
    """The verdict on one claim, and where it comes from.

    Attributes:
        grade: what of it is examined: the ordering, the size as well, or an absolute value; None in older files.
        contradiction: where the report says something else itself; "" where it does not.
    """

    claim: str
    text: str
    source: str
    kind: str
    verdict: Verdict
    reason: str
    parts: tuple[Part, ...]
    grade: Grade | None = None
    contradiction: str = ""

    @property
    def over_runs(self) -> bool:
        """Whether figures of different runs were compared."""
        return any(len({side.runs for side in part.sides if side.values}) > 1 for part in self.parts)


@dataclass(frozen=True)
class PublishedOutcome:
    """All claims that a campaign examined.

    Attributes:
        versions, hardware, setup: those of the report.
        scale: "original" with the report's own rates and amounts, else "shares".
        differs: what differs here, in sentences.
        units: what the report's units are, and how that is known.
        doubts: where several runs were examined: what was not the same around them, so that a verdict over more than
            one of them is DOUBTFUL.
    """

    report: str
    title: str
    versions: tuple[str, ...]
    hardware: str
    setup: tuple[str, ...]
    scale: str
    differs: tuple[str, ...]
    claims: tuple[ClaimOutcome, ...]
    units: str = ""
    doubts: tuple[str, ...] = ()
