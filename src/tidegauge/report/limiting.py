"""What limited results, in the words of tables and sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tidegauge.model.limiting import Limiting, Resource
from tidegauge.model.trial import TrialResult, point_words
from tidegauge.numbers import MISSING

MOST = 0.5
"""Of repeated trials, more than half must agree, or none is told."""
TRIALS_MAX = 3
"""Named of those in which the same was found."""


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
    """The evidence; "" where nothing was recorded. What was offered and came through needs none of its own."""
    found = result.limiting
    if found is None or (found.resource is Resource.OFFERED and not found.others):
        return ""
    at = f" at {point_words(result.spec.point)}" if result.spec.point else ""
    subject = f"{result.spec.experiment}, {result.spec.label}{at}"
    if found.resource is Resource.OFFERED:
        return f"{subject}: the rate offered came through, near the limit of {'; '.join(found.others)}."
    also = f" Also: {'; '.join(found.others)}." if found.others else ""
    what = f"limited by {found.told}" if found.resource is not Resource.UNKNOWN else "what limited it is not identified"
    return f"{subject}: {what}: {found.words}.{also}"


def further(results: Sequence[TrialResult], told: Sequence[TrialResult]) -> list[str]:
    """What was found in other trials than those whose sentence is `told` (repeated, tried, left out): a line for each.

    One that the sentence of the same experiment, system and point has is not repeated.
    """
    known = {(_where(result), name) for result in told for name, _words in _findings(result)}
    told_ids = {result.spec.trial_id for result in told}
    words_of: dict[str, str] = {}
    trials: dict[str, list[str]] = {}
    for result in results:
        for name, words in _findings(result):
            if result.spec.trial_id not in told_ids and (_where(result), name) not in known:
                words_of.setdefault(name, words)
                trials.setdefault(name, []).append(result.spec.trial_id)
    return [f"Near a limit also in {_listed(trials[name])}: {words}." for name, words in words_of.items()]


def _where(result: TrialResult) -> tuple[str, str, str]:
    return (result.spec.experiment, result.spec.system, point_words(result.spec.point))


def _findings(result: TrialResult) -> list[tuple[str, str]]:
    """Each resource that was found, with the evidence; its name has no share, which differs from trial to trial."""
    found = result.limiting
    if found is None:
        return []
    nothing = found.resource in (Resource.OFFERED, Resource.UNKNOWN)
    clauses = [*([] if nothing else [f"{found.told}: {found.words}"]), *found.others]
    return [(clause.partition(": ")[0].partition(" (")[0], clause) for clause in clauses]


def _listed(trial_ids: Sequence[str]) -> str:
    more = f" and {len(trial_ids) - TRIALS_MAX} more" if len(trial_ids) > TRIALS_MAX else ""
    return f"{', '.join(trial_ids[:TRIALS_MAX])}{more}"
