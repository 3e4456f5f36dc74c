"""The key `published` of a campaign: which claims of a published report it examines, and at which scale.

A published campaign has rates and amounts as shares of what was measured, so that it runs on any machine. Its
`original` holds the report's own values: keys of the campaign that `--scale original` puts in the place of those above.
`brief` holds what `--scale brief` puts there: fewer points and shorter trials, for a first look of minutes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from tidegauge.config.fields import Fields
from tidegauge.config.source import Source
from tidegauge.config.validate import validate
from tidegauge.errors import UserError, nearest
from tidegauge.published.examine import Choice, claim_ids, examine
from tidegauge.published.load import report, report_names
from tidegauge.published.observe import Measured
from tidegauge.published.outcome import PublishedOutcome
from tidegauge.published.scale import Scale
from tidegauge.store.read import StoredRun

KEY = "published"
_DIFFERS = "differs"
"""Of a scale: what differs there, instead of the campaign's own."""
_KEPT = ("name", "description", "published")


class PublishedFields(Fields):
    """Keys of `published`."""

    report: str
    claims: Annotated[list[str], Field(min_length=1)]
    differs: list[str] = Field(default_factory=list)
    original: dict[str, Any] = Field(default_factory=dict)
    brief: dict[str, Any] = Field(default_factory=dict)


def parse_published(source: Source, scale: str = "") -> Choice | None:
    """What a campaign examines; None if nothing, or after noting what is wrong in `source`."""
    if KEY not in source.data:
        return None
    value = source.data[KEY]
    if not isinstance(value, dict):
        source.complain((KEY,), f"must be a mapping with a 'report' ({', '.join(report_names())}) and its 'claims'")
        return None
    fields = validate(PublishedFields, value, source, (KEY,))
    if fields is None:
        return None
    if fields.report not in report_names():
        known = report_names()
        source.complain(
            (KEY, "report"),
            f"unknown report '{fields.report}'{nearest(fields.report, known)}; known: {', '.join(known)}",
        )
        return None
    known = list(claim_ids(report(fields.report)))
    for index, name in enumerate(fields.claims):
        if name not in known:
            source.complain(
                (KEY, "claims", index),
                f"'{fields.report}' has no claim '{name}'{nearest(name, known)}; known: {', '.join(known)}",
            )
    own = getattr(fields, scale, {}).get(_DIFFERS) if scale in (Scale.ORIGINAL, Scale.BRIEF) else None
    told = fields.differs if own is None else own
    if not isinstance(told, list) or not all(isinstance(sentence, str) for sentence in told):
        source.complain((KEY, scale, _DIFFERS), "must be a list of sentences")
        return None
    differs = tuple(" ".join(sentence.split()) for sentence in told)
    return Choice(fields.report, tuple(fields.claims), differs, scale or Scale.SHARES.value)


def apply_scale(source: Source, overrides: Mapping[str, Any]) -> None:
    """Put the values of another scale in place, if the command line asks for it.

    Raises `UserError` for a campaign that has none.
    """
    scale = str(overrides.get("scale") or Scale.SHARES.value)
    if scale == Scale.SHARES:
        return
    published = source.data.get(KEY)
    values = published.get(scale) if isinstance(published, dict) else None
    if not isinstance(values, dict) or not values:
        raise UserError(
            f"{source.path}: --scale {scale}: the campaign has no 'published' with '{scale}' values.",
            "Only the campaigns of published reports have them: see docs/published.md.",
        )
    for key, value in values.items():
        if key == _DIFFERS:
            continue
        if key in _KEPT:
            source.complain((KEY, scale, key), f"can't be another at the {scale} scale")
            continue
        source.data[key] = value
        for at in [at for at in source.lines if at[0] == key]:
            del source.lines[at]
        for at, line in list(source.lines.items()):
            if at[:3] == (KEY, scale, key):
                source.lines[at[2:]] = line


def examined(choice: Choice, run: StoredRun) -> PublishedOutcome:
    """The verdicts on the claims of a campaign, from what its run has."""
    specs = {spec.trial_id: spec for spec in run.planned}
    specs.update({trial.spec.trial_id: trial.spec for trial in run.trials if trial.spec is not None})
    failures = {trial.trial_id: trial.problem or trial.reason for trial in run.trials if trial.result is None}
    measured = Measured(tuple(specs.values()), run.results, run.findings, failures, run.notes)
    return examine(report(choice.report), choice, measured)
