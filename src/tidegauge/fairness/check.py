"""The check itself: systems as contenders, compared property by property, with what each says of itself. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidegauge.fairness.case import Fact, Hazard, Property
from tidegauge.fairness.published import BY_DEFINITION, NO_FIGURE
from tidegauge.fairness.rules import RULES, Rule
from tidegauge.model.tilt import Severity, Stage, Tilt

OWN_CLIENT_SETTINGS, OWN_SERVER_SETTINGS = "own-client-settings", "own-server-settings"


@dataclass(frozen=True)
class Contender:
    """One system of a comparison, ready to be held against the others.

    Attributes:
        label: as trials name it: "kafka@4.3.1".
        client_settings, server_settings: the campaign's own settings for it that no fact or hazard takes into account.
    """

    label: str
    facts: Mapping[Property, Fact]
    hazards: tuple[Hazard, ...] = ()
    client_settings: Mapping[str, str] = field(default_factory=dict)
    server_settings: Mapping[str, str] = field(default_factory=dict)


def check(contenders: Sequence[Contender], stage: Stage) -> tuple[Tilt, ...]:
    """Everything that puts these systems on unequal terms, what blocks first.

    Where nothing is compared (one system) or all systems have the same hazard, nothing is tilted: that is advice.
    """
    found = [tilt for name, rule in RULES.items() for tilt in _compared(name, rule, contenders)]
    found += [tilt for one in contenders for tilt in _hazards(one, contenders)]
    if stage is Stage.WANTED:
        found += _own_settings(contenders)
    staged = [replace(tilt, stage=stage) for tilt in found]
    return tuple(sorted(staged, key=lambda tilt: tilt.severity is Severity.ADVICE))


def _compared(name: Property, rule: Rule, contenders: Sequence[Contender]) -> list[Tilt]:
    known = [(one.label, one.facts[name]) for one in contenders if name in one.facts]
    having = [(label, fact) for label, fact in known if fact.value is not None]
    if len(known) < 2:
        return []
    tilts = []
    if rule.absent and having:
        tilts += [
            replace(
                _tilt(name, rule, Severity.ADVICE, (label,), f"{label} {rule.absent} ({fact.told})"),
                remedy="nothing to set: know it when comparing",
            )
            for label, fact in known
            if fact.value is None
        ]
    if not _alike([fact.value for _, fact in having], rule.ratio_max):
        told = ", ".join(f"{label} {fact.told}" for label, fact in having)
        mild = rule.advice_only or (rule.only_if_chosen and not any(fact.chosen for _, fact in having))
        severity = Severity.ADVICE if mild else Severity.UNEQUAL
        tilts.append(_tilt(name, rule, severity, tuple(label for label, _ in having), told))
    return tilts


def _alike(values: Sequence[float | str | None], ratio_max: float) -> bool:
    numbers = [value for value in values if isinstance(value, float | int)]
    if len(numbers) < len(values):
        return len(set(values)) <= 1
    if not numbers or min(numbers) == max(numbers):
        return True
    return min(numbers) > 0 and max(numbers) / min(numbers) <= ratio_max


def _tilt(name: str, rule: Rule, severity: Severity, systems: tuple[str, ...], what: str) -> Tilt:
    return Tilt(name, severity, Stage.WANTED, systems, what, rule.why, rule.amount, rule.source, rule.remedy)


def _hazards(one: Contender, contenders: Sequence[Contender]) -> list[Tilt]:
    tilts = []
    for hazard in one.hazards:
        shared = all(hazard in other.hazards for other in contenders)
        if shared and hazard.severity is Severity.ADVICE:
            continue
        tilt = Tilt(
            hazard.rule,
            hazard.severity,
            Stage.WANTED,
            (one.label,),
            f"{one.label} {hazard.what}",
            hazard.why,
            hazard.amount,
            hazard.source,
            hazard.remedy,
        )
        tilts.append(replace(tilt, severity=Severity.ADVICE) if shared else tilt)
    return tilts


def _own_settings(contenders: Sequence[Contender]) -> list[Tilt]:
    """Settings given to one system of which nobody can say here what they do to the comparison."""
    if len(contenders) < 2:
        return []
    tilts = []
    tuned = [one for one in contenders if one.client_settings]
    if not all(one.client_settings == contenders[0].client_settings for one in contenders):
        severity = Severity.ADVICE if len(tuned) == len(contenders) else Severity.UNEQUAL
        others = "so were the others' in their own words" if severity is Severity.ADVICE else "the others' were not"
        tilts += [
            _own(one, OWN_CLIENT_SETTINGS, severity, one.client_settings, f"its clients were tuned, {others}")
            for one in tuned
        ]
    if not all(one.server_settings == contenders[0].server_settings for one in contenders):
        tilts += [
            _own(one, OWN_SERVER_SETTINGS, Severity.ADVICE, one.server_settings, "its servers were tuned by hand")
            for one in contenders
            if one.server_settings
        ]
    return tilts


def _own(one: Contender, rule: str, severity: Severity, settings: Mapping[str, str], why: str) -> Tilt:
    told = ", ".join(f"{name}={value}" for name, value in settings.items())
    remedy = "remove them, tune every system, or use the workload's neutral keys"
    return Tilt(
        rule, severity, Stage.WANTED, (one.label,), f"{one.label} {told}", why, NO_FIGURE, BY_DEFINITION, remedy
    )
