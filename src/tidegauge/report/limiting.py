"""What limited results, in the words of tables and sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tidegauge.experiments.api import TrialResult, point_words
from tidegauge.limiting.api import Limiting, Resource
from tidegauge.report.numbers import MISSING

MOST = 0.5
"""Of repeated trials, more than half must agree, or none is told."""


def limited_by(results: Sequence[TrialResult]) -> Limiting | None:
    """What limited most of these trials of one system; None where nothing was recorded or they disagree."""
    found = [one.limiting for one in results if one.limiting is not None]
    if not found:
        return None
    (resource, count), *_ = Counter(one.resource for one in found).most_common(1)
    if count <= MOST * len(found):
        return None
    alike = [one for one in found if one.resource is resource]
    return max(alike, key=lambda one: one.share or 0.0)


def cell(result: TrialResult) -> str:
    """For a column."""
    return result.limiting.told if result.limiting else MISSING


def sentence(result: TrialResult) -> str:
    """The evidence; "" where nothing was recorded. What was offered and came through needs none."""
    found = result.limiting
    if found is None or found.resource is Resource.OFFERED:
        return ""
    at = f" at {point_words(result.spec.point)}" if result.spec.point else ""
    also = f" Also: {'; '.join(found.others)}." if found.others else ""
    what = f"limited by {found.told}" if found.resource is not Resource.UNKNOWN else "what limited it is not identified"
    return f"{result.spec.experiment}, {result.spec.system}{at}: {what}: {found.words}.{also}"
