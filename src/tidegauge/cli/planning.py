"""What is asked to be run, `attest` included, and its plan, all before a start: `--dry-run` ends here.

What measuring needs is imported by `tidegauge.cli.running` and not here, so that a plan is shown at once.
"""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tidegauge.agent.rig import refusals_of_this_host
from tidegauge.campaign.model import Campaign
from tidegauge.campaign.plan.fairness import UnequalError, wanted_tilts
from tidegauge.campaign.plan.generators import (
    check_clients,
    check_workers,
    generators_of_trial,
    processing_warnings,
    sharing_of,
    sizes_to_know,
    sizing_warnings,
)
from tidegauge.campaign.plan.limits import check_faults, check_handles, has_process_of_no_node, machines_of
from tidegauge.campaign.plan.memory import TooLittleMemoryError, Workers, campaign_that_fits, check_window, memory_needs
from tidegauge.campaign.plan.plan import Plan, plan_campaign, plan_warnings
from tidegauge.campaign.read.auth import read_secrets
from tidegauge.campaign.read.parse import AS_FOUND_WORD, check_other_scales, parse_campaign
from tidegauge.campaign.read.published import with_differences
from tidegauge.cli.options import RunOptions
from tidegauge.cli.output import EXIT_FAILED, EXIT_GOOD, Output
from tidegauge.comparison.order import values_of_axes
from tidegauge.config.fields import option_of
from tidegauge.distribution.login_libraries import has_login_library
from tidegauge.durability import NODES_FOR_REPLICATION, level_named
from tidegauge.errors import TidegaugeError, UserError
from tidegauge.experiments.attest import NAME, AttestOptions
from tidegauge.experiments.procedure import experiments
from tidegauge.extras import INTERVALS, command_for, has_package, require_package
from tidegauge.fleet.file import FleetFile
from tidegauge.fleet.rigs import refusals_of_any_fleet
from tidegauge.hosts.facts import load_bounds
from tidegauge.hosts.memory import memory_available, this_machine
from tidegauge.hosts.space import FullSpeed, full_speed_known
from tidegauge.hosts.storage import nearest_existing
from tidegauge.model.attest import FUSE_LABEL, FileSystem, Means, Scenario
from tidegauge.model.events import Note, left_out_note
from tidegauge.model.host import KEEPER_ROLE, LOAD_ROLE, SERVER_ROLE, MemoryPlan
from tidegauge.model.rig import Ability
from tidegauge.model.tilt import Terms
from tidegauge.model.trial import AttestSpec, point_words
from tidegauge.numbers import join_with_and, plural
from tidegauge.places import check_path, expand_path, is_directory
from tidegauge.published import BRIEF_WORDS, PublishedScale
from tidegauge.report.lists import ShownPlan, plan_list
from tidegauge.report.summary import plan_summary
from tidegauge.systems import registry
from tidegauge.systems.api import System
from tidegauge.systems.attach import DEFAULT_LABEL
from tidegauge.systems.registry import system_named
from tidegauge.worker.calibration import known_calibrations

CRASH_HINT = (
    "`--crash` (in a campaign `means: crash`) kills the servers' processes instead. That needs no rights, but it is a "
    "process crash, not a power cut: what is in the page cache survives it."
)
FUSE_HINT = (
    "`--file-system fuse` (in a campaign `file-system: fuse`) needs no root: what servers have not synced is lost with "
    f"libfuse's daemon. It is a {FUSE_LABEL}."
)


@dataclass(frozen=True)
class AttestRequest:
    """What the user asked of `attest`. `nodes` None = as many as the level needs."""

    system: str
    level: int
    form: str
    nodes: int | None
    cuts: int
    scenarios: tuple[str, ...]
    second_cut: bool
    file_system: FileSystem
    crash: bool
    seed: int | None


def attest_overrides(request: AttestRequest) -> dict[str, Any]:
    """The request as values of the campaign `attest`, by its keys. Raises `UserError` for a cluster of others."""
    if "://" in request.system or request.system.endswith(f"@{DEFAULT_LABEL}"):
        raise UserError(
            "Clusters of others can't be attested, since 'attest' cuts the power of servers' disks.",
            "Let Tidegauge start the servers: name the system alone, or with a version, such as kafka@4.3.1.",
        )
    nodes = request.nodes or (NODES_FOR_REPLICATION if level_named(request.level).replication_sync else 1)
    options: dict[str, Any] = {
        "name": NAME,
        "scenarios": list(map(str, request.scenarios)) or [Scenario.ALL.value],
        "cuts": request.cuts,
        "second-cut": request.second_cut,
        "means": (Means.CRASH if request.crash else Means.POWER).value,
        "file-system": request.file_system.value,
    }
    overrides: dict[str, Any] = {
        "systems": [request.system],
        "durability": {"level": request.level, "form": request.form} if request.form else request.level,
        "nodes": nodes,
        "experiments": [options],
    }
    if request.seed is not None:
        overrides["seed"] = request.seed
    return overrides


def check_means(campaign: Campaign, refusals: Callable[[], Mapping[Ability, str]]) -> None:
    """Raise `UserError` if power can't be cut as asked, before servers are started; it offers what can be done."""
    for point in campaign.all_points:
        for chosen in point.campaign.experiments:
            options = chosen.options
            if not isinstance(options, AttestOptions) or options.means is Means.CRASH:
                continue
            refused = refusals()
            why = refused.get(options.file_system.value)
            if why:
                raise UserError(
                    f"Power can't be cut here ({why}): each node's data must be on a disk of its own, a file system "
                    "that can be shut down.",
                    CRASH_HINT if "fuse" in refused else f"{FUSE_HINT} {CRASH_HINT}",
                )


def run_campaign(path: Path, overrides: Mapping[str, Any], options: RunOptions, out: Output) -> int:
    """Plan, run and report a campaign. Returns the exit code. Raises `UserError` before anything was started.

    `overrides` replace the campaign's values, by its keys.
    """
    options.files.check()
    check_directory("--runs-dir", options.runs_directory)
    system_names = sorted(registry.all_systems())
    campaign = parse_campaign(path, overrides, system_names)
    check_other_scales(campaign, system_names)
    for place in (*campaign.data_directories, *([campaign.data_directory] if campaign.data_directory else [])):
        check_directory(option_of("data-directory"), expand_path(place))
    return run_parsed(campaign, options, out)


def run_parsed(campaign: Campaign, options: RunOptions, out: Output, text: str | None = None) -> int:
    """Plan, run and report a campaign that was read. Returns the exit code. Raises as `run_campaign`.

    `text`: of the campaign, if there is no file of it.
    """
    ready = prepare_campaign(campaign, options.dry_run, options.allow_unequal)
    clusters, unreached = _ask_clusters(ready.plan)
    ready = replace(ready, clusters=clusters)
    if options.dry_run:
        if unreached:
            out.say(f"Not reached: {', '.join(unreached)}. The plan is made without asking; a run would fail.")
        ready.show(out, options.runs_directory)
        return UnequalError.exit_code if ready.terms.refused else EXIT_FAILED if unreached else EXIT_GOOD
    if ready.terms.refused:
        raise UnequalError(ready.terms.unequal)
    from tidegauge.cli.running import measure_campaign

    return measure_campaign(campaign, ready, options, out, text)


def _ask_clusters(plan: Plan) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the plan's attached clusters report, in sentences, and which did not answer, by their labels.

    Where points of a cluster differ in what is to be expected, each sentence begins with those that it is said of.

    One that did not is only reported, and of a run its trials say it: others are measured. A secret that is missing
    keeps nobody from planning: a plan is often made elsewhere. Raises `UserError` for a level that one can't have.
    """
    attached = [(step, choice) for step in plan.steps if (choice := step.contender.system.attach) is not None]
    if not attached:
        return (), ()
    # What asks is needed for attached clusters only, and takes a while to load.
    from tidegauge.campaign.run.asking import expected_level_words, level_to_expect
    from tidegauge.cli.asking import cluster_book

    sentences: dict[tuple[str, str], dict[str, None]] = {}
    unreached: dict[str, None] = {}
    for step, choice in attached:
        label = step.trials[0].system
        try:
            asked = cluster_book().ask(step.contender.implementation, choice, label, step.trials[0].choice)
        except TidegaugeError as error:
            is_asked = not isinstance(error, UserError)
            answered = "did not say" if is_asked else "was not asked"
            sentences[label, f"{label} {answered} which level it can have: {error.message}"] = {}
            if is_asked:
                unreached[label] = None
            continue
        finding = level_to_expect(step, asked)
        if finding is not None and finding.problems:
            raise UserError(
                f"{plan.campaign.where('durability')}: durability: {label} can't have it: {finding.problems[0]}.",
                f"Leave 'durability' out, or write '{AS_FOUND_WORD}': the cluster is measured at the level it has.",
            )
        if words := expected_level_words(label, asked, finding):
            sentences.setdefault((label, words), {})[point_words(step.trials[0].point)] = None
    several = Counter(label for label, _ in sentences)
    return (
        tuple(
            f"{'; '.join(sorted(at))}: {words}" if several[label] > 1 else words
            for (label, words), at in sentences.items()
        ),
        tuple(unreached),
    )


def check_directory(option: str, place: Path) -> None:
    """Raise `UserError` if a place where files are to be is no directory. One that is not there yet may come to be."""
    check_path(place)
    try:
        status = place.stat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise UserError(
            f"{option} {place}: this can't be used: {error.strerror}.", "Name another directory."
        ) from error
    if not stat.S_ISDIR(status.st_mode):
        raise UserError(f"{option} {place}: this is no directory.", "Name a directory.")


@dataclass(frozen=True)
class Ready:
    """A campaign that can be run here. `left_out` says which of its systems can't, and why.

    `clusters`: what those reported that others run, in sentences. `placement`: who runs where on a fleet, in a dry run.
    """

    campaign: Campaign
    plan: Plan
    memory: MemoryPlan
    left_out: tuple[Note, ...]
    terms: Terms
    clusters: tuple[str, ...] = ()
    placement: str = ""

    @property
    def shown_plan(self) -> ShownPlan:
        """What is shown of the plan."""
        campaign, trials, seconds_expected = self.campaign, self.plan.trials, self.plan.seconds_expected
        workers = campaign.worker.count
        # What load generators make on a fleet's hosts is not known here.
        calibrations = [] if campaign.worker.hosts else known_calibrations(sizes_to_know(trials, workers))
        sizing = sizing_warnings(trials, workers, calibrations)
        # What other hosts have is not known yet.
        processing = () if campaign.worker.hosts else processing_warnings(trials, this_machine().cpus)
        warnings = (*plan_warnings(trials), *sizing, *processing, *(note.text for note in self.left_out))
        chosen = [experiment for point in campaign.all_points for experiment in point.campaign.experiments]
        questions = dict.fromkeys(
            f"{one.name}: {question}" for one in chosen if (question := experiments()[one.name].question(one.options))
        )
        asked = (campaign.published, campaign.thresholds, campaign.retry, self.clusters, tuple(questions))
        values = values_of_axes([point.values for point in campaign.points])
        placement = self.placement
        return ShownPlan(trials, seconds_expected, warnings, self.memory, self.terms, *asked, values, placement)

    def full_speed(self, runs_directory: Path) -> FullSpeed:
        """What is known of the disks that the servers would use."""
        data, journals = self.places(runs_directory)
        return full_speed_known([*data, *journals] or [runs_directory])

    def places(self, runs_directory: Path) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
        """Where servers would keep their data, and their journals; () where a place is not there yet."""
        campaign = self.campaign
        named = campaign.data_directories or ((campaign.data_directory,) if campaign.data_directory else ())
        data = tuple(expand_path(directory) for directory in named) or (nearest_existing(runs_directory),)
        journals = tuple(expand_path(journal_directory) for journal_directory in campaign.journal_directories)
        return (data, journals) if all(is_directory(place) for place in (*data, *journals)) else ((), ())

    def show(self, out: Output, runs_directory: Path) -> None:
        """Print the plan."""
        plan = self.shown_plan
        out.show(plan_list(plan, self.full_speed(runs_directory), self.places(runs_directory)), plan_summary(plan))


def check_fleet(campaign: Campaign, plan: Plan) -> tuple[str, tuple[str, ...]]:
    """Say who runs where, and what to know before. Raises `UserError` if the file's fleet does not fit."""
    fleet = campaign.fleet_file
    hosts_of_role, nodes = dict(fleet.hosts_of_role), machines_of(campaign)
    needed, keeps = fleet.server_hosts(nodes), has_process_of_no_node(campaign)
    problem, advice = "", "Change the file"
    servers = hosts_of_role.get(SERVER_ROLE, needed)
    if not nodes and not fleet.load_hosts:
        problem = f"others run its servers, and the file has no hosts of role {LOAD_ROLE}"
    elif servers < needed:
        problem = f"it needs {plural(needed, 'host')} for its servers, and the file has {servers}"
        advice = f"Let hosts have several nodes ('nodes-per-host: {-(-nodes // servers)}' of role {SERVER_ROLE})"
    if problem:
        raise UserError(
            f"{campaign.source_path} can't be run on the fleet of {campaign.fleet}: {problem}.",
            f"{advice}, or leave out --fleet.",
        )
    role = f"{plural(needed, 'host')} of role {SERVER_ROLE}"
    load = "load generators here"
    if fleet.load_hosts:
        places = f"{plural(fleet.load_hosts, 'host')} of role {LOAD_ROLE}"
        load = f"{plural(campaign.worker.count, 'load generator')} on {places}"
        loads = [trial for trial in plan.trials if not isinstance(trial, AttestSpec)]
        fewest = min((generators_of_trial(trial, campaign.worker) for trial in loads), default=campaign.worker.count)
        if fewest < campaign.worker.count:
            load += f", of which those that have a producer or consumer carry out a trial (at least {fewest})"
    several = f"which share {nodes} nodes" if needed > 1 else f"which has all {nodes} nodes"
    shared = "one node each" if nodes == needed else several
    if not nodes:
        return f"Others run the servers; {load}.", ()
    link_notes = _link_faults(plan, fleet, campaign.fleet, keeps)
    keeper = f", what belongs to no node on one of role {KEEPER_ROLE}" if fleet.has_keeper and keeps else ""
    return f"Servers are started on {role} of {campaign.fleet}, {shared}{keeper}; {load}.", link_notes


def _link_faults(plan: Plan, fleet: FleetFile, path: str, has_keeper_process: bool) -> tuple[str, ...]:
    """Sentences on what else faults of links hit. Raises `UserError` where that is other nodes."""
    if not any(fault.kind.procedure.needs_network for trial in plan.trials for fault in trial.faults):
        return ()
    if fleet.nodes_per_host > 1:
        raise UserError(
            f"{path}: nodes-per-host: a fault of a node's link affects its whole host, and so all nodes on that host.",
            "Leave out 'nodes-per-host', or choose other faults.",
        )
    if fleet.has_keeper or not has_keeper_process:
        return ()
    words = "What belongs to no node (a ZooKeeper) is on the host of node 1: a fault of that node's link hits it, too."
    return (f"{words} With a host of role {KEEPER_ROLE} it does not.",)


def _fit_into_memory(
    campaign: Campaign, memory: MemoryPlan, workers: Workers, dry_run: bool
) -> tuple[Campaign, dict[str, str], str]:
    """The campaign without what may be left out, why each was, and what memory a run would lack here.

    A plan is often made on another machine than the one that it is for, so a dry run does not refuse what is too large.
    """
    try:
        return *campaign_that_fits(campaign, memory.available, workers), ""
    except TooLittleMemoryError as error:
        if not dry_run:
            raise
        return campaign, {}, f"It can't run here: {error.shortage}"


def _problem_here(check: Callable[[], None], dry_run: bool) -> str:
    """Why a check of this machine's limits refuses a run, of a dry run; else it is refused. "" if it does not."""
    try:
        check()
    except UserError as error:
        if not dry_run:
            raise
        return f"It can't run here: {error.message} {error.hint}"
    return ""


def _lacking_notes() -> list[Note]:
    """What this installation leaves out of a run."""
    parts = {
        "matplotlib": "no report with plots is written",
        "pyarrow": "tables are kept as lines of JSON, not as Parquet",
        "scipy": "no interval says how steady figures were",
    }
    absent = [package for package in parts if not has_package(package)]
    commands = dict.fromkeys(map(command_for, absent))
    lacking = "; ".join(parts[package] for package in absent)
    return [Note(f"Without {join_with_and(absent)} {lacking}: {', '.join(commands)}")] if absent else []


def prepare_campaign(campaign: Campaign, dry_run: bool, allow_unequal: bool) -> Ready:
    """Check everything that can be checked before anything is started. Raises `UserError`."""
    # Mistakes in the campaign come before what this machine lacks.
    plan = plan_campaign(campaign)
    # What can't be takes no memory, files and hosts.
    campaign = plan.campaign
    if not dry_run:
        # What can't be computed is said before hours were spent on it.
        if campaign.repeat > 1:
            require_package("scipy", INTERVALS)
        if any(isinstance(trial, AttestSpec) for trial in plan.trials):
            require_package("scipy", "Attestations")
    check_faults(plan.trials, refusals_of_any_fleet if campaign.fleet else refusals_of_this_host)
    placement, fleet_notes = check_fleet(campaign, plan) if campaign.fleet else ("", ())
    # Of what a fleet's hosts have they are asked when the run begins.
    bounds = load_bounds()
    few_files = "" if campaign.fleet else _problem_here(lambda: check_handles(campaign, bounds), dry_run)
    if not dry_run and not campaign.fleet:
        check_means(campaign, refusals_of_this_host)
    check_window(plan.trials, campaign.worker, campaign.where("workload", "in-flight"))
    check_workers(plan.trials, campaign.worker, campaign.where("worker"))
    unfit = "" if campaign.worker.hosts else _problem_here(lambda: check_clients(plan, campaign, bounds), dry_run)
    workers = Workers(plan.trials, campaign.worker, this_machine(), sharing_of(plan))
    needs = memory_needs(campaign, workers)
    memory = MemoryPlan(needs, memory_available(), campaign.worker.count)
    fitted, too_large, shortage = _fit_into_memory(campaign, memory, workers, dry_run)
    if too_large:
        plan = replace(plan_campaign(fitted), left_out=plan.left_out)
    for _, system in fitted.systems_at_points:
        if system.attach is not None and not dry_run:
            _require_login_library(system_named(system.name), system.attach.auth.method)
            read_secrets(system.attach, f"{system.name}@{system.attach.label}")  # A missing one leaves no run behind.
    left_out = (
        *(left_out_note(system, reason) for system, reason in too_large.items()),
        *(Note(sentence) for sentence in (shortage, few_files, unfit) if sentence),
        *_lacking_notes(),
        *(*plan.left_out, *fitted.notes, *map(Note, fleet_notes if dry_run else ())),
        *([Note(BRIEF_WORDS)] if fitted.published and fitted.published.scale == PublishedScale.BRIEF else []),
    )
    terms = Terms.of_tilts(wanted_tilts(plan), allow_unequal)
    return Ready(
        with_differences(fitted, plan.trials), plan, memory, left_out, terms, placement=placement if dry_run else ""
    )


def _require_login_library(system: System, method: str) -> None:
    """Raises `UserError` if clients of the system can't log in so with what is here."""
    if method in system.login_libraries and not has_login_library(system.driver, method):
        raise UserError(
            f"{system.title}'s clients need a library for auth.method {method}, and it is not here.",
            f"Fetch it once: tidegauge fetch {method}",
        )
