"""What a run shows, read once for all media: terminal, pages, Markdown, JUnit and JSON show it each in its way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tidegauge.comparison.compared_trials import ComparedTrials
from tidegauge.comparison.contests import Contest, contests_of_run
from tidegauge.comparison.order import compared_trials_of, findings_of
from tidegauge.comparison.within import Ratio
from tidegauge.model.finding import Finding
from tidegauge.model.trial import MeasuredResult, TrialSpec, point_words
from tidegauge.model.variant import VARIANT
from tidegauge.numbers import capitalized, join_first, join_with_and, local_time, plural, rounded
from tidegauge.plain import grouped
from tidegauge.report import compare, distributions, fairness, thresholds
from tidegauge.report.distributions import Within
from tidegauge.report.findings import by_experiment, fault_notes, faults_table
from tidegauge.report.layout import FigureTable
from tidegauge.report.names import SystemNames, names_of
from tidegauge.report.tables import (
    Swept,
    footnotes,
    records_table,
    short_point,
    swept_tables,
    worker_notes,
    workers_table,
)
from tidegauge.store.read import StoredRun, StoredTrial
from tidegauge.thresholds import Ruling

NOTED_POINTS_MAX = 4
"""Points that are named of those where a note holds."""
PLACED_MAX = 8
"""Hosts that are alike of which is said what ran there."""
CHANGES_MAX = 8
"""Changes of the surroundings that are shown between two sessions; --json has all."""


@dataclass(frozen=True)
class RunFacts:
    """A run with what its media say of it. Each fact is found when it is asked for first."""

    run: StoredRun

    @cached_property
    def names(self) -> SystemNames:
        """How sentences call its systems."""
        return names_of(self.run)

    @cached_property
    def systems(self) -> list[str]:
        """The systems that it has results of; before there are any, those that it plans."""
        return self.run.systems or sorted(self.names.systems)

    @cached_property
    def label_words(self) -> str:
        """The name and the tags that the user gave it, in a sentence; "" without any."""
        labels = self.run.labels
        parts = [f"name {labels.label}"] if labels.label else []
        parts += [f"tags {', '.join(labels.tags)}"] if labels.tags else []
        return f"Labels: {'; '.join(parts)}." if parts else ""

    @cached_property
    def compared_trials(self) -> list[ComparedTrials]:
        """Its results by the tables that they stand in."""
        return compared_trials_of(self.run)

    @cached_property
    def tables(self) -> list[Swept]:
        """Its tables, those of a sweep's points together."""
        return swept_tables(self.compared_trials)

    @cached_property
    def findings(self) -> Mapping[str, list[Finding]]:
        """What its experiments found, by their names."""
        return by_experiment(findings_of(self.run))

    @cached_property
    def ratios(self) -> list[Ratio]:
        """How its systems relate: by figures of trials, then by findings."""
        return compare.ratios_of(self.run)

    @cached_property
    def contests(self) -> tuple[Contest, ...]:
        """How its variants, and the points of its sweep, compare."""
        return contests_of_run(self.run)

    @property
    def variant_contests(self) -> list[Contest]:
        """How its variants compare; none without."""
        return [contest for contest in self.contests if contest.axis == VARIANT] if self.run.variants else []

    @property
    def sweep_contests(self) -> list[Contest]:
        """How the values of the other axes of its points compare."""
        return [contest for contest in self.contests if not (self.run.variants and contest.axis == VARIANT)]

    @cached_property
    def compared(self) -> list[str]:
        """Why systems of a table are not compared, and how others relate, a sentence each."""
        objections = (compare.objection(compared, self.run.terms.allowed) for compared in self.compared_trials)
        ratios = (f"{self.mark}{compare.sentence(ratio)}" for ratio in self.ratios)
        return [*filter(None, objections), *ratios]

    @cached_property
    def within(self) -> list[Within]:
        """How far figures of its trials moved within them."""
        return distributions.intervals_within_trials(self.run)

    @cached_property
    def rulings(self) -> tuple[Ruling, ...]:
        """What became of its thresholds, those missed first."""
        return thresholds.rulings(self.run)

    @property
    def mark(self) -> str:
        """What stands before a sentence with figures on unequal terms; "" where terms are equal."""
        return fairness.mark(self.run.terms.unequal)

    @property
    def finished_words(self) -> str:
        """ "2 of 3 trials finished"."""
        return f"{len(self.run.results)} of {plural(self.run.trials_expected, 'trial')} finished"

    @property
    def unfinished(self) -> list[StoredTrial]:
        """Trials that have no result."""
        return [trial for trial in self.run.trials if trial.result is None]

    @property
    def asked(self) -> list[MeasuredResult]:
        """Measured results that were asked for: no step of a search is."""
        return [result for result in self.run.measured if not result.spec.exploratory]

    @cached_property
    def host(self) -> str:
        """Its host, and who ran where, in two sentences; "" where the run does not (yet) say."""
        host = self.run.facts("host")
        if not host:
            return ""
        hosts = self.run.facts("hosts")
        at_work = [at_work for at_work in hosts.values() if isinstance(at_work, Mapping)]
        sentences = [f"{_hosts_at_work_words(hosts)}."] if at_work else []
        if not any(each.get("load_generators") for each in at_work):
            data_here = not (self._specs and all(spec.elsewhere or spec.serverless for spec in self._specs))
            sentences = [f"{'Load generators here: ' if at_work else ''}{_host_words(host, data_here)}.", *sentences]
        return " ".join(filter(None, (*sentences, self.where)))

    @property
    def where(self) -> str:
        """Where servers and clients ran, in a sentence or two; "" of a run without trials."""
        return _where_all_ran(self._specs, self.run.measured) if self.run.trials else ""

    @property
    def _specs(self) -> Sequence[TrialSpec]:
        """Of all its trials; earlier versions kept no plan."""
        return self.run.planned or tuple(trial.spec for trial in self.run.trials if trial.spec)

    @cached_property
    def sessions(self) -> list[str]:
        """Which trials were made in which of several sessions, and what changed between them."""
        if len(self.run.sessions) < 2:
            return []
        sentences = []
        for session in self.run.sessions:
            names = self.run.results_of_session(session)
            which = f" ({names[0]} to {names[-1]})" if len(names) > 1 else f" ({names[0]})" if names else ""
            sentences.append(
                f"Session {session.number}, started {local_time(session.started_at)}: {session.status}, "
                f"{plural(len(names), 'trial')} finished{which}."
            )
        for number, changes in enumerate(self.run.sessions_changed):
            if changes:
                shown = join_first(changes, CHANGES_MAX, "; ")
                sentences.append(f"Changed between sessions {number} and {number + 1}: {shown}.")
        return sentences

    def planned(self, experiment: str, at: str) -> list[str]:
        """Systems that an experiment was to measure at a point, in words."""
        specs = (spec for spec in self.run.planned if spec.experiment == experiment)
        return list(dict.fromkeys(spec.system for spec in specs if point_words(spec.point) == at))

    def missing_words(self, experiment: str, systems: Sequence[str], at: str) -> str:
        """Systems planned at a point, in words, that an experiment has no result of there; "" if it has of all."""
        missing = [system for system in self.planned(experiment, at) if system not in systems]
        return f"no result of {self.names.listed(missing)}" if missing else ""


def _host_words(host: Mapping[str, Any], has_data: bool) -> str:
    """What a host is. `has_data`: whether disks that are among its facts hold servers' data."""
    memory_bytes = host.get("memory_bytes")
    memory = f"{rounded(memory_bytes / (1 << 30))} GiB memory" if isinstance(memory_bytes, int) else ""
    kernel = " ".join(str(host.get("kernel", "")).split()[:2])
    disks = host.get("disks")
    disk_facts = disks.values() if isinstance(disks, Mapping) else []
    systems = sorted({str(disk.get("file_system")) for disk in disk_facts if isinstance(disk, Mapping)} - {"None"})
    cpus = host.get("cpus")
    counted = plural(cpus, "CPU") if isinstance(cpus, int) else "? CPUs"
    processor = f"{counted} ({host.get('cpu_model') or 'unknown model'})"
    parts = [processor, memory, kernel, f"data on {', '.join(systems)}" if has_data and systems else ""]
    return ", ".join(part for part in parts if part)


def placed_words(at_work: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What of a run is on a host, as "node" and as "load generator": "nodes 1 and 2", "load generator 3"."""
    nodes, generators = at_work.get("nodes") or [], at_work.get("load_generators") or []
    keeper = ["what belongs to no node"] if at_work.get("keeper") else []
    for what, numbers, others in (("node", nodes, keeper), ("load generator", generators, [])):
        if numbers or others:
            listed = f"{what}{'s' if len(numbers) > 1 else ''} {join_with_and([*map(str, numbers)])}"
            yield what, join_with_and([*([listed] if numbers else []), *others])


def _hosts_at_work_words(hosts: Mapping[str, Any]) -> str:
    """Who ran where, and on what: "Node 1 on 10.77.0.2, node 2 on 10.77.0.3, each 2 CPUs (...), ...; ..."."""
    placed: list[tuple[tuple[str, str], str]] = []
    for address, at_work in hosts.items():
        for what, words in placed_words(at_work):
            described = _host_words(at_work.get("facts") or {}, what == "node")
            placed.append(((what, described), f"{words} on {address}"))
    return capitalized(
        "; ".join(
            f"{join_first(each, PLACED_MAX)}, {'each ' if len(each) > 1 else ''}{described}"
            for (_, described), each in grouped(placed).items()
        )
    )


def _where_all_ran(planned: Sequence[TrialSpec], measured: Sequence[MeasuredResult]) -> str:
    """Who ran where, and whether what they said to each other could be read on the way."""
    fleet = any(spec.load_hosts for spec in planned)
    with_servers = [spec for spec in planned if not spec.serverless]
    if len(with_servers) < len(planned):
        if not with_servers:
            return f"Clients ran on {'the hosts of a fleet' if fleet else 'it'}; there were no servers."
        serverless = sorted({spec.system for spec in planned if spec.serverless})
        return f"{_where_all_ran(with_servers, measured)} {join_with_and(serverless)} had no servers."
    attached = sorted({spec.system for spec in planned if spec.attached})
    if attached and all(spec.attached for spec in planned):
        if fleet:
            return "Clients ran on the hosts of a fleet, servers on others."
        # Where servers of others run, as far as processes that the clients talked to were seen on the clients' hosts.
        looked = [result.accounts for result in measured if result.spec.attached and result.accounts]
        if any(account.servers > 0 and not account.host for accounts in looked for account in accounts):
            where_attached = "Servers that others run were on it, too."
        elif any(result.spec.attached and result.server_cpu_s is not None for result in measured):
            where_attached = "Others run the servers; what these used is as their own endpoints report it."
        elif looked:
            where_attached = "Others run the servers; none of their processes was seen on it."
        else:
            where_attached = "Others run the servers; where was not looked up."
        return f"Clients ran on it. {where_attached}"
    apart = any(spec.apart for spec in planned)
    where = "Clients ran on it, servers on other hosts" if apart else "Servers and clients ran on it together"
    if fleet:
        where = "Servers and clients ran on the hosts of a fleet"
    if attached:
        return f"{where}, but for the servers of {', '.join(attached)}, which others run."
    # Servers that Tidegauge starts listen without TLS.
    plain = " Between them nothing was encrypted (plaintext listeners)." if apart else ""
    return f"{where}.{plain}"


def further_tables(compared: ComparedTrials) -> list[FigureTable]:
    """Tables of a schedule's steps, of faults and of load generators, where the trials have such."""
    return [*filter(None, (records_table(compared), faults_table(compared), workers_table(compared)))]


def table_notes(points: Sequence[ComparedTrials]) -> list[str]:
    """What a reader of all tables of these trials must know, each sentence once; with the points if not of all."""
    noted = grouped((note, compared) for compared in points for note in (*footnotes(compared), *fault_notes(compared)))
    points_noted = len({point_words(compared.point) for compared in points})
    notes = []
    for note, all_compared in noted.items():
        places = dict.fromkeys(short_point(compared.point) for compared in all_compared)
        is_everywhere = len(places) == points_noted or not all(places)
        notes.append(note if is_everywhere else f"At {join_first(list(places), NOTED_POINTS_MAX, '; ')}: {note}")
    return list(dict.fromkeys((*notes, *worker_notes(points))))
