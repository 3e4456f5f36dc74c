"""Published reports: their figures and claims as data, and whether the claims' ordering and shape hold in a run.

Here: whose rates and amounts a published campaign uses.
"""

from __future__ import annotations

from enum import StrEnum


class PublishedScale(StrEnum):
    """SHARES of what was measured here, so that a campaign runs on any machine; the report's ORIGINAL values; or BRIEF.

    BRIEF takes minutes: shares as well, from fewer points and shorter trials.
    """

    SHARES = "shares"
    ORIGINAL = "original"
    BRIEF = "brief"


BRIEF_MARK = "BRIEF"
BRIEF_WORDS = (
    "BRIEF (--scale brief): fewer points, shorter trials and wider brackets than the campaign's own, so weaker "
    "evidence; without --scale the campaign runs whole."
)
BRIEF_MARGIN = 4 / 3
"""How much larger a difference of single trials must be there before it counts as more than chance. By judgement."""
