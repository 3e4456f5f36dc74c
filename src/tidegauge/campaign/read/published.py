"""The key `published` of a campaign: which claims of a published report it examines, and at which scale.

A published campaign has rates and amounts as shares of what was measured, so that it runs on any machine. Its
`original` holds the report's own values: keys of the campaign that `--scale original` puts in the place of those above.
`brief` holds what `--scale brief` puts there: fewer points and shorter trials, for a first look of minutes.

What differs from the report is computed from the plan, and where it can't be, from the report's data file, which says
for which plans each sentence holds. A campaign of one's own may add sentences as `differs`, for every scale or for one;
the ready ones have none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from tidegauge.campaign.model import Campaign, SystemChoice
from tidegauge.campaign.plan.fairness import contender_of_trial
from tidegauge.campaign.plan.limits import machines_of
from tidegauge.campaign.read.fingerprint import system_of
from tidegauge.config.fields import Fields
from tidegauge.config.source import Source, raise_problems, read_source, unknown_name_complaint, validate
from tidegauge.errors import UserError, did_you_mean
from tidegauge.fairness import Case, ComparedSystem, Property
from tidegauge.model.trial import AttestResult, TrialSpec
from tidegauge.plain import grouped
from tidegauge.published import PublishedScale
from tidegauge.published.differences import differences_from_report
from tidegauge.published.examine import Choice, claim_ids, examine, report_named, report_names
from tidegauge.published.model import Placement, Planned, ServerSetup
from tidegauge.published.observe import ExaminedRun
from tidegauge.published.verdict import PublishedOutcome
from tidegauge.store.read import StoredRun
from tidegauge.systems.registry import system_named as find_system

KEY = "published"
_DIFFERS = "differs"
"""Of a scale: what differs there as well."""
_KEPT = ("name", "description", "published")


class PublishedFields(Fields):
    """Keys of `published`."""

    report: str
    claims: Annotated[list[str], Field(min_length=1)]
    differs: list[str] = Field(default_factory=list)
    original: dict[str, object] = Field(default_factory=dict)
    brief: dict[str, object] = Field(default_factory=dict)


def parse_published(source: Source, scale: str = "") -> Choice | None:
    """What a campaign examines; None if nothing, or after noting what is wrong in `source`."""
    if KEY not in source.data:
        return None
    otherwise = f"must be a mapping with a 'report' ({', '.join(report_names())}) and its 'claims'"
    fields = validate(PublishedFields, source.data[KEY], source, (KEY,), otherwise)
    if fields is None:
        return None
    if fields.report not in report_names():
        source.complain((KEY, "report"), unknown_name_complaint("report", fields.report, report_names()))
        return None
    claim_names = list(claim_ids(report_named(fields.report)))
    for index, name in enumerate(fields.claims):
        if name not in claim_names:
            near = did_you_mean(name, claim_names)
            listed = "" if near else f"; known: {', '.join(claim_names)}"
            source.complain((KEY, "claims", index), f"'{fields.report}' has no claim '{name}'{near}{listed}")
    sentences_of_scale = (
        getattr(fields, scale).get(_DIFFERS, []) if scale in (PublishedScale.ORIGINAL, PublishedScale.BRIEF) else []
    )
    if not isinstance(sentences_of_scale, list) or not all(
        isinstance(sentence, str) for sentence in sentences_of_scale
    ):
        source.complain((KEY, scale, _DIFFERS), "must be a list of sentences")
        return None
    differs = tuple(" ".join(sentence.split()) for sentence in (*fields.differs, *sentences_of_scale))
    return Choice(fields.report, tuple(fields.claims), differs, scale or PublishedScale.SHARES.value)


def apply_scale(source: Source, overrides: Mapping[str, object]) -> None:
    """Put the values of another scale in place, if the command line asks for it.

    Raises `UserError` for a campaign that has none.
    """
    scale = str(overrides.get("scale") or PublishedScale.SHARES.value)
    if scale == PublishedScale.SHARES:
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


def other_scales(source: Source, chosen: str) -> list[str]:
    """Scales that a published campaign has values for, but for the one that was chosen."""
    published = source.data[KEY]
    return [
        scale for scale in (PublishedScale.ORIGINAL, PublishedScale.BRIEF) if scale != chosen and published.get(scale)
    ]


def with_differences(campaign: Campaign, trials: Sequence[TrialSpec]) -> Campaign:
    """The campaign with everything that a plan of it does otherwise than the report, before what it says itself."""
    choice = campaign.published
    if choice is None:
        return campaign
    whole = report_named(choice.report)
    claims = [claim for claim in whole.claims if claim.id in choice.claims]
    tests = dict.fromkeys(claim.test for claim in claims if claim.test)
    figures = tuple(dict.fromkeys(claim.figure for claim in claims))
    # Hosts of a fleet that servers are started on; 0 = none are.
    server_hosts = -(-machines_of(campaign) // campaign.fleet_file.nodes_per_host) if campaign.fleet else 0
    planned = Planned(
        [_as_sent(trial) for trial in trials],
        grouped(
            (system.name, _servers_of_system(point.campaign, system, server_hosts))
            for point, system in campaign.systems_at_points
            if system.attach is None
        ),
        Placement(
            one_machine=campaign.starts_servers,
            load_hosts=max(1, campaign.worker.hosts),
            nodes_on_a_host=-(-machines_of(campaign) // max(1, server_hosts)),
            keeper_apart=campaign.fleet_file.has_keeper,
        ),
        figures,
    )
    different = differences_from_report(whole, tuple(tests), planned)
    # Each once: `reproduce` plans a campaign before `run` does.
    differs = tuple(dict.fromkeys((*different, *choice.differs)))
    return replace(campaign, published=replace(choice, differs=differs))


def _as_sent(trial: TrialSpec) -> TrialSpec:
    """The trial with the batches that a system's own producer settings make of the workload's."""
    name, _, version = trial.system.partition("@")
    producer_settings = trial.workload.producer_overrides.get(name, {})
    if not producer_settings:
        return trial
    facts = (
        find_system(name)
        .client_facts(Case(version, trial.nodes, trial.choice, trial.workload, producer=producer_settings))
        .facts
    )
    size, delay_ms = facts[Property.BATCH_SIZE].value, facts[Property.BATCH_DELAY].value
    client = trial.workload.client
    if isinstance(size, int | float):
        client = replace(client, batch_bytes_max=int(size))
    if isinstance(delay_ms, int | float):
        client = replace(client, batch_delay_ms_max=float(delay_ms))
    return replace(trial, workload=replace(trial.workload, client=client))


def _servers_of_system(campaign: Campaign, system: SystemChoice, hosts: int) -> ServerSetup:
    """A system's servers at a point. `hosts`: of a fleet, for nodes; one alone on a host uses all directories there."""
    implementation = find_system(system.name)
    version = system.version or implementation.default_version
    processes = implementation.processes(version, campaign.nodes, system.heap_mb, system.direct_memory_mb, system.shape)
    own_hosts = campaign.nodes <= hosts
    data_disks = max(1, len(campaign.data_directories) // (1 if own_hosts else campaign.nodes))
    return ServerSetup(
        {each.kind: (each.heap_mb << 20, each.direct_mb << 20) for each in processes if each.of_nodes},
        {**implementation.server_defaults, **system.settings},
        system.producer,
        system.consumer,
        data_disks,
        own_hosts or len(campaign.data_directories) >= max(2, campaign.nodes),
        bool(campaign.journal_directories) or data_disks > 1,
        any(not each.of_nodes for each in processes),
    )


def choice_of(run: StoredRun) -> Choice | None:
    """What the campaign of a stored run examines; None if nothing. Raises `UserError` for a campaign that is wrong."""
    source = read_source(run.path / "campaign.yaml", "campaign")
    choice = parse_published(source, str(run.overrides.get("scale") or ""))
    raise_problems([source], "campaign")
    if choice is None or run.published is None:
        return choice
    return replace(choice, differs=run.published.differs)


def examine_claims(choice: Choice, run: StoredRun) -> PublishedOutcome:
    """The verdicts on the claims of a campaign, from what its run has."""
    return examine(report_named(choice.report), choice, measured_of(run))


def measured_of(run: StoredRun) -> ExaminedRun:
    """A stored run as claims see it."""
    specs = {spec.trial_id: spec for spec in run.planned}
    specs.update({trial.spec.trial_id: trial.spec for trial in run.trials if trial.spec is not None})
    failures = {trial.trial_id: trial.problem or trial.cause for trial in run.trials if trial.result is None}
    return ExaminedRun(
        tuple(specs.values()),
        run.measured,
        run.findings,
        failures,
        run.left_out,
        contenders={
            spec.trial_id: contender
            for spec in specs.values()
            if (contender := _contender_of_run(run, spec)) is not None
        },
        unequal_allowed=run.terms.allowed,
        attested=[result for result in run.results if isinstance(result, AttestResult)],
        cut_short={
            trial.trial_id: trial.cycles for trial in run.trials if trial.result is None and trial.cycles is not None
        },
    )


def _contender_of_run(run: StoredRun, spec: TrialSpec) -> ComparedSystem | None:
    """A trial's system with its servers and clients; None for attached clusters and runs that don't say."""
    choice = system_of(run.meaning or {}, spec)
    return contender_of_trial(spec, choice, find_system(choice.name)) if choice is not None else None
