"""Reasons and warnings of a stored trial: result.json has them as texts, and beside them with their kinds and remedies.

Older runs have only the texts. Their kinds are found by the words, here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tidegauge.model.events import Note
from tidegauge.model.reason import Reason, ReasonKind
from tidegauge.model.trial import TrialResult
from tidegauge.model.use import Resource
from tidegauge.store.documents import mapping_of
from tidegauge.store.envelopes import Remarks

_PARTS = ("reasons", "warnings")

_OLD_BEGINNINGS: Mapping[str, ReasonKind] = {
    "the load generator itself was late": ReasonKind.OWN_LAG,
    "the load generator's own consumers were too slow, so end-to-end times and backlog are not the system's": (
        ReasonKind.BUSY_CONSUMER
    ),
    "the system was still catching up with what was queued before the window": ReasonKind.CATCHING_UP,
    "the system did not keep up": ReasonKind.NOT_KEPT_UP,
    "the warm-up never became steady": ReasonKind.WARM_UP_UNSTEADY,
    "not steady while measured": ReasonKind.UNSTEADY,
    "producers waited for the system": ReasonKind.GENERATOR_FIRST,
    "the rate was near the load generator's own limit": ReasonKind.NEAR_GENERATOR,
    "load threads waited for a CPU": ReasonKind.CPU_WAIT,
    "the load generator never became warm": ReasonKind.COLD,
    "the load generator was still being compiled": ReasonKind.COMPILING,
    "the disk was slow when the trial began": ReasonKind.DISK_SLOW,
}
"""How texts of a kind began until kinds were stored, in November 2026. What reports say today may differ."""
_OLD_REMEDIES = (
    "give it more CPU, or offer a lower rate",
    "give it more consumers per subscription, less work per message, or more CPU; or offer a lower rate",
    "allow it a longer warm-up by warm-up-max, or offer a lower rate",
)
"""What texts ended with, beside the remedies of a trial's disturbances."""


def reasons_to_store(result: TrialResult) -> Remarks:
    """Reasons and warnings with all that they are, as they stand beside a result."""
    return Remarks(reasons=list(map(asdict, result.reasons)), warnings=list(map(asdict, result.warnings)))


def with_stored_reasons(result: Mapping[str, Any], stored: object) -> dict[str, Any]:
    """A result as it was stored, with its reasons and warnings as objects: those stored beside it, or of its texts."""
    whole = mapping_of(stored)
    disturbances = result.get("disturbances")
    remedies = [
        remedy
        for disturbance in (disturbances if isinstance(disturbances, Sequence) else ())
        if isinstance(remedy := mapping_of(disturbance).get("remedy"), str)
    ]
    parts = {part: whole.get(part, _reasons_of_texts(result[part], remedies)) for part in _PARTS if part in result}
    limiting = result.get("limiting")
    if isinstance(limiting, Mapping):
        # How much of a host's CPUs was used and by whom, of a trial of before, whose evidence alone says it.
        words = limiting.get("words")
        if limiting.get("resource") != Resource.HOST_CPU or not isinstance(words, str):
            used_by = {}
        else:
            used, _, users = words.partition(";")[0].partition(" (")
            used_by = {"used": used, "users": users.rstrip(")")}
        parts["limiting"] = {**used_by, **limiting}
    return {**result, **parts}


def left_out_of_old_notes(notes: Sequence[str]) -> tuple[Note, ...]:
    """Notes of a run of before that say that a system is not measured, with its name."""
    parts = ((note, *note.partition(" is left out: ")) for note in notes)
    return tuple(Note(note, name.partition(" at ")[0]) for note, name, mark, _ in parts if mark)


def trials_of_old_reason(reason: str, reasons_by_trial: Mapping[str, str]) -> tuple[str, ...]:
    """Names of the trials whose reasons a run of before gave as its own."""
    return tuple(name for name, of_trial in reasons_by_trial.items() if of_trial and of_trial in reason)


def parts_of_old_reason(reason: str) -> tuple[str, str]:
    """Why a trial of a run of before has no result, and the log that its reason names at its end, or ""."""
    cause, _, log_path = reason.partition(" (log: ")
    return cause, log_path.removesuffix(")")


def _reasons_of_texts(texts: object, remedies: Sequence[str]) -> object:
    """Reasons of the texts that a list holds; whatever else was stored stays, for who reads it to refuse."""
    if not isinstance(texts, list):
        return texts
    return [_reason_of_text(text, [*_OLD_REMEDIES, *remedies]) if isinstance(text, str) else text for text in texts]


def _reason_of_text(text: str, remedies: Sequence[str]) -> Reason:
    """A reason of which only the text is known: what it is about by its beginning, what to do about it by its end."""
    kinds = (kind for beginning, kind in _OLD_BEGINNINGS.items() if text.startswith(beginning))
    kind = next(kinds, ReasonKind.OTHER)
    remedy = next((remedy for remedy in remedies if text.endswith(f" ({remedy})")), "")
    text = text.removesuffix(f" ({remedy})")
    conclusion = ""
    if kind is ReasonKind.CPU_WAIT:
        text, _, conclusion = text.partition(": ")
    return Reason(kind, text, remedy, conclusion)
