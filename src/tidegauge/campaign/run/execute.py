"""A whole campaign: fetch, then step by step and trial after trial; what fails is recorded and the rest goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tidegauge.agent.api import Host
from tidegauge.campaign.model import Campaign, SystemChoice
from tidegauge.campaign.plan.contenders import label_of_system
from tidegauge.campaign.plan.fairness import FairnessWatch, wanted_tilts
from tidegauge.campaign.plan.plan import FINDERS, Plan, Step, plan_warnings
from tidegauge.campaign.run.collecting import collect_result
from tidegauge.campaign.run.recorded import NOTHING_RECORDED, Recorded
from tidegauge.campaign.run.refusing import name_refused_settings
from tidegauge.campaign.run.resources import RunResources, resources_of
from tidegauge.campaign.run.running_trial import SharedServers, Subject
from tidegauge.campaign.run.topics import attachment_of_run
from tidegauge.campaign.run.trial.run import run_trial
from tidegauge.campaign.run.witnessing import LevelMismatchError
from tidegauge.distribution.cache import Progress, cache_directory
from tidegauge.errors import (
    DiskFullError,
    GeneratorFailedError,
    RunFailedError,
    SettingsRefusedError,
    TidegaugeError,
    UserError,
    with_log,
)
from tidegauge.experiments.procedure import seconds_expected
from tidegauge.model.ceilings import Calibration, RunCeilings
from tidegauge.model.events import (
    Decided,
    Event,
    FetchProgress,
    FindingReached,
    Note,
    Observer,
    PhaseStarted,
    RunStarted,
    TrialEnded,
    TrialKept,
    left_out_note,
)
from tidegauge.model.finding import Finding
from tidegauge.model.level import LevelChoice
from tidegauge.model.tilt import new_among
from tidegauge.model.trial import AnyResult, AnySpec, AttestSpec, LoadSpec, ServerReuse, TrialResult, point_words
from tidegauge.model.variant import VARIANT
from tidegauge.store.run import RunStore
from tidegauge.systems import registry
from tidegauge.systems.api import System
from tidegauge.systems.server_settings import setting_problems

if TYPE_CHECKING:
    from tidegauge.campaign.run.apart import Apart


@dataclass
class StepLab:
    """Implements `experiments.procedure.Lab` for the step at `place` in the run's list of steps.

    A step at a point of a sweep knows of that point only: a share of a peak is one of the peak found there. Where the
    campaign finds its rates at another point, it knows these as well. It also knows of the other variants at its point:
    a share of the lowest peak is the same rate for all of them.
    """

    run: _Run
    place: int
    step: Step
    trial: Callable[[AnySpec], TrialResult]
    begun: list[AnySpec] = field(default_factory=list)
    _replaying: bool = False
    _measured: bool = False

    @property
    def point(self) -> Mapping[str, str]:
        """The values of the sweep's point at which the step is."""
        return self.step.trials[0].point

    @property
    def results(self) -> Sequence[TrialResult]:
        """Results of all trials of the run at this point so far."""
        return tuple(
            result for result in self.run.results if self._is_visible(result.spec.experiment, result.spec.point)
        )

    @property
    def findings(self) -> Sequence[Finding]:
        """All findings of the run at this point so far."""
        return tuple(finding for finding in self.run.findings if self._is_visible(finding.experiment, finding.point))

    def _is_visible(self, experiment: str, point: Mapping[str, str]) -> bool:
        if self.step.is_of_variant:
            point = {**point, VARIANT: self.point[VARIANT]}
        return point == self.point or (experiment in FINDERS and point == self.step.rates_point)

    def run_trial(self, spec: AnySpec) -> TrialResult:
        """Make one trial, unless an earlier session has. Its result counts, whatever becomes of the step."""
        self.begun.append(spec)
        recorded, observer = self.run.recorded, self.run.resources.observer
        if stale := recorded.why_stale(spec):
            observer(Note(stale))
        recorded_result = recorded.result_of(spec)
        self._replaying = recorded_result is not None
        if recorded_result is not None:
            observer(TrialKept(spec, recorded_result))
        self._measured = self._measured or recorded_result is None
        result = recorded_result or self.trial(spec)
        self.run.results.append(result)
        return result

    def announce_decision(self, text: str, left: Sequence[AnySpec] = ()) -> None:
        """Report a decision, with what it is expected to cost yet."""
        self.run.expected[self.place] = (*self.begun, *left)
        if self._replaying:
            return  # It was reported when it was decided.
        whole = tuple(trial for trials in self.run.expected for trial in trials)
        self.run.resources.observer(Decided(text, whole, len(left), sum(map(seconds_expected, left))))

    def record_finding(self, finding: Finding) -> None:
        """Store and show a finding."""
        finding = replace(finding, point=self.point)
        is_recorded = self.run.recorded.has_finding(finding, replayed=not self._measured)
        if not is_recorded:
            self.run.store.write_finding(finding)
        self.run.findings.append(finding)
        if not is_recorded:
            self.run.resources.observer(FindingReached(finding))


_FAILURES_IN_A_ROW_MAX = 2


@dataclass(frozen=True)
class _FailedTrial:
    """A trial without a result: why, with the log to look at; and the error that ended it or kept it from beginning."""

    trial_id: str
    words: str
    error: BaseException

    def __str__(self) -> str:
        return f"{self.trial_id}: {self.words}"


@dataclass
class _Run:
    """A run's state while it goes: results and findings so far, and which systems have failed how often in a row.

    `expected` holds the trials of each step: as planned, then as its experiment expects, then as they were made.
    """

    store: RunStore
    resources: RunResources
    subjects: Mapping[str, Subject]
    fairness: FairnessWatch
    recorded: Recorded
    retry: int
    planned: Sequence[AnySpec]
    expected: list[tuple[AnySpec, ...]]
    results: list[TrialResult] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    failed: list[_FailedTrial] = field(default_factory=list)
    first_error: TidegaugeError | None = None
    _shared: SharedServers = field(default_factory=SharedServers)
    _in_a_row: Counter[str] = field(default_factory=Counter)
    _refused: dict[tuple[str, LevelChoice], str] = field(default_factory=dict)
    _clients_refused: set[tuple[str, str]] = field(default_factory=set)
    """Systems and points whose clients refuse their settings."""

    def carry_out_steps(self, plan: Plan) -> None:
        """Carry out all steps of the plan. Servers that go on do so as long as the next step could use them."""
        try:
            for place, step in enumerate(plan.steps):
                self.carry_out_step(place, step)
                if plan.campaign.deployment is not ServerReuse.SHARED:
                    self._shared.close()
        finally:
            self._shared.close()

    def carry_out_step(self, place: int, step: Step) -> None:
        """Run one experiment on one system. Failures are recorded; only what makes the run pointless is raised."""
        system, contender = step.trials[0].system, step.contender
        subject = replace(self.subjects[system], choice=contender.system, wanted=contender.deployment)
        choice, clients = step.trials[0].choice, (system, point_words(step.trials[0].point))
        if clients in self._clients_refused:
            self._skip_trials(place, step, (), SettingsRefusedError("skipped: the client refuses these settings"))
            return
        reason = self._refused.get((system, choice), "")
        if self._in_a_row[system] >= _FAILURES_IN_A_ROW_MAX:
            reason = f"the last {_FAILURES_IN_A_ROW_MAX} steps on {system} failed"
        if reason:
            self._skip_trials(place, step, (), RunFailedError(f"skipped: {reason}"))
            return
        lab = StepLab(self, place, step, partial(self._make_trial, subject))
        try:
            step.experiment.run(step.options, step.trials, lab)
            self._in_a_row[system] = 0
            self._replan_as_made(place, lab.begun)
        except DiskFullError:
            raise
        except RunFailedError as error:
            if isinstance(error, SettingsRefusedError):
                # Nothing else is: another point may well have settings that go together.
                self._clients_refused.add(clients)
            elif not isinstance(error, LevelMismatchError):
                self._in_a_row[system] += 1
            elif any(spec.system == system and spec.choice != choice for spec in self.planned):
                # A sweep goes on: the same cluster may well be at the level of its other points.
                self._refused[system, choice] = error.message
            else:
                raise
            self.first_error = self.first_error or error
            self._shared.close()
            self._skip_trials(place, step, lab.begun, error)

    def _make_trial(self, subject: Subject, spec: AnySpec) -> AnyResult:
        """Make one trial, and again where its load generators failed, as often as the campaign says."""
        measuring = self.recorded.measuring_of(spec)
        if measuring is not None and isinstance(spec, LoadSpec):
            self._shared.close()
            collected = collect_result(spec, measuring, subject.system.driver, self.resources, self.store)
            if collected is not None:
                self.resources.observer(TrialEnded(spec, collected, ""))
                return collected
        # A resumed run continues after the cycles that an attestation has finished, and measures none of them anew.
        retries = 0 if isinstance(spec, AttestSpec) else self.retry
        for retries_left in range(retries, -1, -1):
            try:
                result = self._attempt_trial(subject, spec)
                break
            except BaseException as error:
                if isinstance(error, GeneratorFailedError) and retries_left:
                    place_aside = self.store.set_trial_aside(spec.trial_id)
                    text = f"{spec.trial_id} is made again: {error.message} What it had measured is in {place_aside}."
                    self.resources.observer(Note(text))
                    continue
                text = with_log(*_cause_and_log(error))
                self.failed.append(_FailedTrial(spec.trial_id, text, error))
                self.resources.observer(TrialEnded(spec, None, text))
                raise
        self.resources.observer(TrialEnded(spec, result, ""))
        return result

    def _attempt_trial(self, subject: Subject, spec: AnySpec) -> AnyResult:
        store = self.store.open_trial(spec)
        try:
            before = self.recorded.cycles_of(spec) if isinstance(spec, AttestSpec) else None
            return run_trial(spec, subject, self.resources, store, self._shared, before=before, fairness=self.fairness)
        except SettingsRefusedError as error:
            named = name_refused_settings(error, subject.choice)
            store.fail(named.message, False, named.log_path, settings_refused=True)
            raise named from error
        except BaseException as error:
            cause, log_path = _cause_and_log(error)
            store.fail(cause, not isinstance(error, Exception), log_path)
            raise

    def _replan_as_made(self, place: int, begun: Sequence[AnySpec]) -> None:
        """Where an experiment made other trials than planned, the plan becomes those."""
        self.expected[place] = tuple(begun)
        stored = [spec.trial_id for spec in self.planned]
        planned = [spec for trials in self.expected for spec in trials]
        if [spec.trial_id for spec in planned] != stored:
            self.planned = planned
            self.store.write_plan(planned)

    def _skip_trials(self, place: int, step: Step, begun: Sequence[AnySpec], error: RunFailedError) -> None:
        """Record the trials of a step that never began; of those that were only expected, the first stands for all."""
        cause, log_path = error.message, error.log_path
        reason, settings_refused = with_log(cause, log_path), isinstance(error, SettingsRefusedError)
        names = {spec.trial_id for spec in begun}
        skipped = [
            spec
            for number, spec in enumerate(step.trials)
            if spec.trial_id not in names and (number == 0 or not spec.exploratory)
        ]
        for spec in skipped:
            store = self.store.open_trial(spec)
            store.fail(cause, False, log_path, settings_refused=settings_refused)
            self.failed.append(_FailedTrial(spec.trial_id, reason, error))
            self.resources.observer(TrialEnded(spec, None, reason))
        self._replan_as_made(place, [*begun, *skipped])


def _cause_and_log(error: BaseException) -> tuple[str, Path | None]:
    """Why a trial or a run has ended, and the log to look at, if there is one."""
    if isinstance(error, TidegaugeError):
        return error.message, error.log_path
    if not isinstance(error, Exception):
        return "interrupted", None
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__, None


def execute(
    plan: Plan,
    store: RunStore,
    host: Host,
    observer: Observer,
    recorded: Recorded = NOTHING_RECORDED,
    *,
    ceilings: RunCeilings | None = None,
    calibrations: Sequence[Calibration] = (),
    apart: Apart | None = None,
) -> list[TrialResult]:
    """Run a campaign as it is planned with the real systems, worker and host (see `run_plan`).

    `host` is that of load generators and servers, unless these are `apart`.
    """
    resources = resources_of(
        plan,
        host,
        observer,
        ceilings=ceilings,
        calibrations=calibrations,
        apart=apart,
        uses_archives=recorded.archives_used,
    )
    return run_plan(plan, store, resources, registry.system_named, recorded=recorded)


def run_plan(
    plan: Plan,
    store: RunStore,
    resources: RunResources,
    find_system: Callable[[str], System],
    *,
    recorded: Recorded = NOTHING_RECORDED,
) -> list[TrialResult]:
    """Run a planned campaign to its end and mark the run finished, failed or interrupted.

    What earlier sessions of the run have `recorded` is not made again.

    Returns the results of the trials that gave one, in order; the observer was notified of the others (`TrialEnded`).

    Raises:
        UserError: a version of a system doesn't exist, or a recorded trial was another one.
        LevelMismatchError: a system is not at the only level that is asked of it; of a sweep's several, its trials at
            this one fail and the run goes on.
        DiskFullError: the disk is full; the run stops.
        RunFailedError: no trial gave a result.
        BaseException: whatever interrupted it, after everything was ended and marked.
    """
    store.write_plan(plan.trials)
    failed: list[_FailedTrial] = []
    try:
        subjects = _provision_systems(plan.campaign, resources, find_system, store.path)
        resources.end_provisioning()
        plan = plan.only(subjects)
        recorded.check_files({name: subject.distribution for name, subject in subjects.items()})
        store.write_plan(plan.trials)
        resources.observer(RunStarted(str(store.path), plan.trials, plan.seconds_expected))
        for warning in plan_warnings(plan.trials):
            resources.observer(Note(warning))
        tilts_wanted = wanted_tilts(plan)
        watch = FairnessWatch(
            plan, (*tilts_wanted, *new_among(recorded.tilts, tilts_wanted)), store, resources.observer
        )
        expected = [step.trials for step in plan.steps]
        retry = plan.campaign.retry
        run = _Run(store, resources, subjects, watch, recorded, retry, plan.trials, expected, failed=failed)
        run.carry_out_steps(plan)
        if not run.results and run.first_error is not None:
            raise _nothing_found(run.first_error) from run.first_error
    except BaseException as error:
        ended_by = [trial.trial_id for trial in failed if trial.error in (error, error.__cause__)]
        if isinstance(error, Exception):
            store.finish("failed", with_log(*_cause_and_log(error)), ended_by)
        else:
            store.finish("interrupted", interruption(error), ended_by)
        raise
    if failed:
        trials = sum(map(len, run.expected))
        reason = f"{len(failed)} of {trials} trials failed: {'; '.join(map(str, failed))}"
        store.finish("failed", reason, [trial.trial_id for trial in failed])
    else:
        store.finish("finished")
    return run.results


def interruption(error: BaseException) -> str:
    """Who interrupted a run: its user, unless the error is another or names another signal (see `cli.ending`)."""
    if not isinstance(error, KeyboardInterrupt):
        return f"interrupted by {type(error).__name__}"
    return "interrupted by the user" if error.args in ((), ("SIGINT",)) else f"interrupted by {error.args[0]}"


def _nothing_found(first: TidegaugeError) -> RunFailedError:
    """The error of a run without any result: the first failure is what the others most likely follow from."""
    if isinstance(first, SettingsRefusedError):
        return first
    return RunFailedError(f"No trial gave a result: {first.message}", first.hint, first.log_path)


def _provision_systems(
    campaign: Campaign, resources: RunResources, find_system: Callable[[str], System], run: Path
) -> dict[str, Subject]:
    """Fetch every system's files before the first trial, so that no download runs beside a measurement.

    Of an attached cluster the secrets instead. An optional system whose files are not available is left out, with the
    reason. Raises `UserError` for any other, and for a secret that can't be read. `run` is the run's directory.
    """
    observer = resources.observer
    subjects: dict[str, Subject] = {}
    unavailable: UserError | None = None
    choices_by_label = {
        label_of_system(choice, find_system(choice.name)): choice for _, choice in campaign.systems_at_points
    }
    for name, choice in choices_by_label.items():
        system = find_system(choice.name)
        if choice.attach is not None:
            attachment = attachment_of_run(choice.attach, name, run)
            subjects[name] = Subject(system, attachment.distribution(system), choice, attachment)
            continue
        version = choice.version or system.default_version
        if system.has_servers:
            observer(PhaseStarted("", "fetch", f"{system.title} {version}", None))
        try:
            if not system.spaces_in_paths:
                _check_spaces(system, campaign, run)
            distribution = system.provision(version, lambda text: observer(_event_of_message(text)))
            _check_settings(campaign, system, version, choice)
            resources.provision(distribution)
        except UserError as error:
            if not choice.optional:
                raise
            unavailable = error
            observer(left_out_note(name, error.message))
            continue
        subjects[name] = Subject(system, distribution, choice)
    if unavailable is not None and not subjects:
        raise unavailable
    return subjects


def _check_settings(campaign: Campaign, system: System, version: str, choice: SystemChoice) -> None:
    """Raises `UserError` for settings that the version does not have, now that its files are there."""
    alike = label_of_system(choice, system)
    each = (
        other_choice.settings
        for _, other_choice in campaign.systems_at_points
        if other_choice.name == system.name and label_of_system(other_choice, system) == alike
    )
    settings_given = {name: value for settings in each for name, value in settings.items()}
    problems = [f"{name}: {why}" for name, why in setting_problems(system, version, settings_given)]
    if problems:
        raise UserError(
            f"{campaign.where('systems')}: systems: {system.name}: settings: {'; '.join(problems)}.", "Fix them."
        )


def _check_spaces(system: System, campaign: Campaign, run: Path) -> None:
    """Raises `UserError` if a directory that this system is going to use has a space in its path."""
    disks = (campaign.data_directory, *campaign.data_directories, *campaign.journal_directories)
    for place in (str(cache_directory()), str(run), *disks):
        if len(place.split()) > 1:
            raise UserError(
                f"{system.title} can't run with files in {place}: there is a space in it.",
                "Name other places in TIDEGAUGE_CACHE, in TIDEGAUGE_RUNS and for the campaign's data.",
            )


def _event_of_message(text: str) -> Event:
    """The event for what a provisioning system says, by whether it is worth keeping."""
    return FetchProgress(text, text.what) if isinstance(text, Progress) else Note(text)
