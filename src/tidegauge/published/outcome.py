"""What a run says of a report's claims, as it is stored and shown."""

from __future__ import annotations

from dataclasses import dataclass

from tidegauge.published.ratio import Ratio
from tidegauge.published.verdict import Verdict


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
    """

    place: str
    figure: str
    unit: str
    values: tuple[float, ...]
    missing: str
    published: float | None
    published_source: str
    doubtful: int = 0


@dataclass(frozen=True)
class Part:
    """One question of a claim. `ratio` None where a figure is missing, or an absolute value is asked for."""

    words: str
    verdict: Verdict
    reason: str
    ratio: Ratio | None
    sides: tuple[Side, ...]


@dataclass(frozen=True)
class ClaimOutcome:
    """The verdict on one claim, and where it comes from."""

    claim: str
    text: str
    source: str
    kind: str
    verdict: Verdict
    reason: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class PublishedOutcome:
    """All claims that a campaign examined.

    Attributes:
        versions, hardware, setup: those of the report.
        scale: "original" with the report's own rates and amounts, else "shares".
        differs: what differs here by necessity, in sentences.
    """

    report: str
    title: str
    versions: tuple[str, ...]
    hardware: str
    setup: tuple[str, ...]
    scale: str
    differs: tuple[str, ...]
    claims: tuple[ClaimOutcome, ...]
