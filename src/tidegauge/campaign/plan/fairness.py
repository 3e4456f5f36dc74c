"""The fairness check of a campaign: of what it wants, before anything runs, and of what was in force in each trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from tidegauge.campaign.model import SystemChoice
from tidegauge.campaign.plan.contenders import case_of
from tidegauge.campaign.plan.load_remarks import hazards_of_load
from tidegauge.campaign.plan.plan import Plan
from tidegauge.errors import UserError
from tidegauge.fairness import ComparedSystem, Fact, Property, check_fairness
from tidegauge.model.events import Observer, UnequalFound
from tidegauge.model.load import WorkerFacts
from tidegauge.model.server import Setting
from tidegauge.model.tilt import Severity, Stage, Tilt, new_among, only_unequal
from tidegauge.model.trial import TrialSpec, point_words
from tidegauge.plain import grouped, plain_value
from tidegauge.store.run import RunStore
from tidegauge.systems.api import System

ATTACHED = "attached"


class UnequalError(UserError):
    """The systems of a comparison are on unequal terms, and nobody has allowed that."""

    def __init__(self, tilts: Sequence[Tilt]) -> None:
        unequal_tilts = only_unequal(tilts)
        count = "1 setting makes" if len(unequal_tilts) == 1 else f"{len(unequal_tilts)} settings make"
        listed = "\n".join(f"  - {tilt.paragraph()}" for tilt in unequal_tilts)
        super().__init__(
            f"{count} this comparison unequal:\n{listed}",
            "Fix them, or run with --allow-unequal: every output then says that the comparison is unequal.",
        )
        self.details = {"unequal": plain_value(unequal_tilts)}


def wanted_tilts(plan: Plan) -> tuple[Tilt, ...]:
    """Everything in a campaign that puts its systems on unequal terms. Each point of a sweep is a comparison."""
    points: dict[str, dict[str, ComparedSystem]] = {}
    for step in plan.steps:
        spec = step.trials[0]
        contenders_at_point = points.setdefault(point_words(spec.point), {})
        if spec.system not in contenders_at_point:
            contenders_at_point[spec.system] = contender_of_trial(
                spec, step.contender.system, step.contender.implementation
            )
    tilts: tuple[Tilt, ...] = ()
    for contenders_at_point in points.values():
        tilts += new_among(
            check_fairness([contenders_at_point[label] for label in sorted(contenders_at_point)], Stage.WANTED), tilts
        )
    return tuple(sorted(tilts, key=lambda tilt: tilt.severity is Severity.ADVICE))


class FairnessWatch:
    """Compares systems as their trials find out what is in force; what is new is stored and reported."""

    def __init__(self, plan: Plan, wanted: Sequence[Tilt], store: RunStore, observer: Observer) -> None:
        self.tilts = tuple(wanted)
        self._systems = {
            point: len({trial.system for trial in trials})
            for point, trials in grouped((point_words(trial.point), trial) for trial in plan.trials).items()
        }
        self._store = store
        self._observer = observer
        self._contenders: dict[str, dict[str, ComparedSystem]] = {}
        self._report_tilts(self.tilts)

    def compare_trial(self, spec: TrialSpec, in_force: ComparedSystem) -> None:
        """A trial of a system is prepared: compare it with the newest trials of its like on the others."""
        # A text that is equal for trials which are to be compared: an experiment may vary the workload by trial.
        # Partitions, which a system may have of its own, differ from trial to trial by the point only.
        workload = replace(spec.workload.neutral(), partitions=1)
        kind_of_trial = f"{spec.experiment} {point_words(spec.point)} {workload}"
        alike = self._contenders.setdefault(kind_of_trial, {})
        alike[spec.system] = in_force
        # Alone, the first system of several would have nobody to be unequal to.
        if len(alike) < min(2, self._systems.get(point_words(spec.point), 1)):
            return
        contenders = [alike[label] for label in sorted(alike)]
        if new := new_among(check_fairness(contenders, Stage.IN_FORCE), self.tilts):
            self.tilts += new
            self._report_tilts(new)

    def _report_tilts(self, new: Sequence[Tilt]) -> None:
        self._store.write_tilts(self.tilts)
        for tilt in only_unequal(new):
            self._observer(UnequalFound(tilt))


def contender_of_trial(
    spec: TrialSpec,
    choice: SystemChoice,
    system: System,
    in_force: tuple[Setting, ...] | None = None,
    around: Mapping[Property, Fact] = MappingProxyType({}),
    *,
    level: int | None = None,
) -> ComparedSystem:
    """A trial's system as the campaign sets it up, or with the settings that were read back, and what was `around`.

    `level`: that these settings give, where none was asked for.
    """
    case = case_of(spec, choice, system, in_force)
    client_facts = system.client_facts(case)
    idle = (
        *(() if spec.workload.producers else _OF_PRODUCERS),
        *(() if spec.workload.subscriptions else _OF_CONSUMERS),
    )
    facts_of_clients = {name: fact for name, fact in client_facts.facts.items() if name not in idle}
    clients = {
        f"{kind} {name}": value for kind in ("producer", "consumer") for name, value in case.chosen(kind).items()
    }
    servers = {**choice.settings, **{f"JVM {name}": value for name, value in choice.jvm.items()}}
    return ComparedSystem(
        label=spec.system,
        facts={**facts_of_clients, **_facts_given_to_system(spec, choice, level), **around},
        hazards=(*system.hazards(case), *hazards_of_load(case, client_facts.facts)),
        client_settings=_unjudged_settings(clients, client_facts.judged),
        server_settings=_unjudged_settings(servers, client_facts.judged),
    )


_OF_PRODUCERS = (Property.BATCH_SIZE, Property.BATCH_DELAY, Property.COMPRESSION, Property.IN_FLIGHT)
_OF_CONSUMERS = (Property.RECEIVE_QUEUE,)
"""What decides nothing where there are none of them."""


def _unjudged_settings(settings: Mapping[str, str], judged: frozenset[str]) -> dict[str, str]:
    return {name: value for name, value in settings.items() if name.rpartition(" ")[2] not in judged}


def _facts_given_to_system(spec: TrialSpec, choice: SystemChoice, level: int | None) -> dict[Property, Fact]:
    """What Tidegauge itself gives each system, whatever system it is."""
    given = Fact(spec.choice.level, f"level {spec.choice.level}")
    as_found = Fact(
        level,
        f"level {level}, as found" if level else "level as found",
        remedy="compare clusters and topics that give the same level, or ask all for one (`durability`)",
    )
    common = {
        Property.LEVEL: as_found if spec.choice.is_open else given,
        Property.PARTITIONS: Fact(spec.workload.partitions, f"partitions={spec.workload.partitions}"),
    }
    if choice.attach is not None:
        return {**common, Property.SERVERS: Fact(ATTACHED, "is attached")}
    return {
        **common,
        Property.SERVERS: Fact("started", "is started here"),
        Property.HEAP: Fact(choice.heap_mb, f"heap={choice.heap_mb}MiB"),
        Property.DIRECT_MEMORY: Fact(choice.direct_memory_mb, f"direct-memory={choice.direct_memory_mb}MiB"),
    }


def facts_of_surroundings(
    server_java: str, page_cache_dropped: bool | None, client_host: str, worker: WorkerFacts | None
) -> dict[Property, Fact]:
    """The facts of what a trial ran in.

    Args:
        server_java: "" for servers without one.
        page_cache_dropped: whether it was before the trial; None where servers of an earlier trial went on.
        client_host: where the worker ran.
    """
    facts = {
        Property.CLIENT_HOST: Fact(client_host, f"clients on {client_host}"),
        Property.SERVER_RUNTIME: Fact(server_java or None, f"Java {server_java}"),
    }
    if page_cache_dropped is not None:
        cache = "page cache dropped" if page_cache_dropped else "page cache not dropped"
        facts[Property.PAGE_CACHE] = Fact(cache, cache)
    if worker is not None:
        runtime = f"Java {worker.java_version}, heap {worker.heap_bytes_max >> 20} MiB"
        facts[Property.CLIENT_RUNTIME] = Fact(runtime, runtime)
    return facts
