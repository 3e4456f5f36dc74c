"""The fairness check of a campaign: of what it wants, before anything runs, and of what was in force in each trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from tidegauge.campaign.model import SystemChoice
from tidegauge.campaign.plan.contenders import case_of
from tidegauge.campaign.plan.plan import Plan
from tidegauge.errors import UserError
from tidegauge.fairness import Contender, Fact, Property, check
from tidegauge.model.events import Observer, UnequalFound
from tidegauge.model.load import WorkerFacts
from tidegauge.model.server import Setting
from tidegauge.model.tilt import Severity, Stage, Tilt, new_among, unequal
from tidegauge.model.trial import TrialSpec, point_words
from tidegauge.plain import plain
from tidegauge.store.run import RunStore
from tidegauge.systems.api import System

ATTACHED = "attached"


class UnequalError(UserError):
    """The systems of a comparison are on unequal terms, and nobody has allowed that."""

    def __init__(self, tilts: Sequence[Tilt]) -> None:
        found = unequal(tilts)
        count = "1 setting makes" if len(found) == 1 else f"{len(found)} settings make"
        listed = "\n".join(f"  - {tilt.paragraph()}" for tilt in found)
        super().__init__(
            f"{count} this comparison unequal:\n{listed}",
            "Fix them, or run with --allow-unequal: every output then says that the comparison is unequal.",
        )
        self.details = {"unequal": plain(found)}


def wanted_tilts(plan: Plan) -> tuple[Tilt, ...]:
    """Everything in a campaign that puts its systems on unequal terms. Each point of a sweep is a comparison."""
    points: dict[str, dict[str, Contender]] = {}
    for step in plan.steps:
        spec = step.trials[0]
        here = points.setdefault(point_words(spec.point), {})
        if spec.system not in here:
            here[spec.system] = contender(spec, step.contender.system, step.contender.known)
    found: tuple[Tilt, ...] = ()
    for here in points.values():
        found += new_among(check([here[label] for label in sorted(here)], Stage.WANTED), found)
    return tuple(sorted(found, key=lambda tilt: tilt.severity is Severity.ADVICE))


class FairnessWatch:
    """Compares systems as their trials find out what is in force; what is new is stored and reported."""

    def __init__(self, plan: Plan, wanted: Sequence[Tilt], store: RunStore, observer: Observer) -> None:
        self.tilts = tuple(wanted)
        # Alone, the first system of several would have nobody to be unequal to.
        self._compared_min = min(2, len({trial.system for trial in plan.trials}))
        self._store = store
        self._observer = observer
        self._contenders: dict[str, dict[str, Contender]] = {}
        self._report(self.tilts)

    def seen(self, spec: TrialSpec, in_force: Contender) -> None:
        """A trial of a system is prepared: compare it with the newest trials of its like on the others."""
        alike = self._contenders.setdefault(_kind(spec), {})
        alike[spec.system] = in_force
        if len(alike) < self._compared_min:
            return
        known = [alike[label] for label in sorted(alike)]
        if new := new_among(check(known, Stage.IN_FORCE), self.tilts):
            self.tilts += new
            self._report(new)

    def _report(self, new: Sequence[Tilt]) -> None:
        self._store.fairness(self.tilts)
        for tilt in unequal(new):
            self._observer(UnequalFound(tilt))


def contender(
    spec: TrialSpec,
    choice: SystemChoice,
    system: System,
    in_force: tuple[Setting, ...] | None = None,
    around: Mapping[Property, Fact] = MappingProxyType({}),
) -> Contender:
    """A trial's system as the campaign sets it up, or with the settings that were read back, and what was `around`."""
    case = case_of(spec, choice, system, in_force)
    own = system.client_facts(case)
    clients = {
        f"{kind} {name}": value for kind in ("producer", "consumer") for name, value in case.chosen(kind).items()
    }
    return Contender(
        label=spec.system,
        facts={**own.facts, **_given(spec, choice), **around},
        hazards=tuple(system.hazards(case)),
        client_settings=_unjudged(clients, own.judged),
        server_settings=_unjudged(choice.settings, own.judged),
    )


def _unjudged(settings: Mapping[str, str], judged: frozenset[str]) -> dict[str, str]:
    return {name: value for name, value in settings.items() if name.rpartition(" ")[2] not in judged}


def _kind(spec: TrialSpec) -> str:
    """The same for trials that are to be compared: an experiment may vary the workload from trial to trial."""
    # Partitions, which a system may have of its own, differ from trial to trial by the point only.
    workload = replace(spec.workload.neutral(), partitions=1)
    return f"{spec.experiment} {point_words(spec.point)} {workload}"


def _given(spec: TrialSpec, choice: SystemChoice) -> dict[Property, Fact]:
    """What Tidegauge itself gives each system, whatever system it is."""
    common = {
        Property.LEVEL: Fact(spec.choice.level, f"level {spec.choice.level}"),
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


def surroundings(
    server_java: str, page_cache_dropped: bool | None, client_host: str, worker: WorkerFacts | None
) -> dict[Property, Fact]:
    """What a trial ran in.

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
