"""A resumed run: procedures get what was recorded, come to where they were, and only the rest is measured."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from backlog_worker import found_of
from campaign_doubles import FakeHost, FakeResources, FakeRunStore, FakeSystem, FakeWorker, Journal, result_of, spec_of
from run_scenes import Scene
from simulated_systems import SYSTEM, System

from tidegauge.campaign.model import Point, SystemChoice
from tidegauge.campaign.plan.contenders import Contender
from tidegauge.campaign.plan.plan import Step, plan_campaign
from tidegauge.campaign.read.fingerprint import differences_in_meaning, meaning_of_campaign
from tidegauge.campaign.run.execute import StepLab, run_plan
from tidegauge.campaign.run.recorded import NOTHING_RECORDED, OtherwiseError, Recorded, TrialWithCycles, TrialWithResult
from tidegauge.experiments.catch_up import EXPERIMENT as CATCH_UP
from tidegauge.experiments.chasing import ChaseOptions
from tidegauge.experiments.curve import EXPERIMENT as CURVE
from tidegauge.experiments.curve import CurveOptions
from tidegauge.experiments.max_throughput import EXPERIMENT, MaxThroughputOptions
from tidegauge.experiments.procedure import Experiment
from tidegauge.model.attest import AttestOutcome
from tidegauge.model.events import Event, FindingReached, Note, TrialEnded, TrialKept
from tidegauge.model.finding import Finding
from tidegauge.model.level import LevelChoice
from tidegauge.model.server import Distribution
from tidegauge.model.tilt import Severity, Stage, Tilt
from tidegauge.model.trial import LoadResult, LoadSpec

OPTIONS = {"goals": [{"name": "no limit"}, {"name": "quick", "response-p99-max": "2ms"}]}


@dataclass
class Run:
    """As much of a run as a step knows."""

    store: Any
    resources: Any
    recorded: Recorded
    results: list[LoadResult] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    expected: list[tuple[LoadSpec, ...]] = field(default_factory=lambda: [()])


@dataclass
class Session:
    """One session of one experiment, with what earlier ones recorded. Each trial finds what its name decides."""

    path: Path
    recorded: Recorded = NOTHING_RECORDED
    measured: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        store, resources = FakeRunStore(self.path, Journal()), SimpleNamespace(observer=self.events.append)
        self.run = Run(store, resources, self.recorded)

    def run_trial(self, spec: LoadSpec) -> LoadResult:
        self.measured.append(spec.trial_id)
        return System(50_000.0, random.Random(spec.trial_id))(spec)

    def make(self, experiment: Experiment[Any, Any, Any], options: Any) -> None:
        base = replace(spec_of(experiment.name, SYSTEM), trial_id=f"0001-{experiment.name}-kafka")
        contender = Contender(SystemChoice("kafka"), FakeSystem(Journal()), SYSTEM, LevelChoice(3), "kafka 0", "")
        step = Step(experiment, options, contender, experiment.plan(options, base), base.point)
        lab = StepLab(self.run, 0, step, self.run_trial)
        experiment.run(options, step.trials, lab)


def recorded(results: list[LoadResult], findings: list[Finding] | None = None) -> Recorded:
    return Recorded({result.spec.trial_id: TrialWithResult(result.spec, result) for result in results}, findings or ())


@pytest.mark.parametrize(
    ("experiment", "options"),
    [
        (EXPERIMENT, MaxThroughputOptions.model_validate(OPTIONS)),
        (CURVE, CurveOptions.model_validate({"full-rate": "50k"})),
    ],
    ids=["max-throughput", "curve"],
)
def test_a_procedure_comes_to_the_same_end_wherever_it_was_interrupted(
    tmp_path: Path, experiment: Experiment[Any, Any, Any], options: Any
) -> None:
    whole = Session(tmp_path)
    whole.make(experiment, options)
    assert len(whole.measured) > 5
    for done in range(len(whole.measured) + 1):
        again = Session(tmp_path, recorded(whole.run.results[:done]))
        again.make(experiment, options)
        assert again.measured == whole.measured[done:], "what is finished is not made again"
        assert again.run.results == whole.run.results
        assert again.run.findings == whole.run.findings
        assert sum(isinstance(event, TrialKept) for event in again.events) == done


def test_what_was_found_before_is_not_reported_again(tmp_path: Path) -> None:
    options = MaxThroughputOptions()
    whole = Session(tmp_path)
    whole.make(EXPERIMENT, options)
    again = Session(tmp_path, recorded(whole.run.results, whole.run.findings))
    again.make(EXPERIMENT, options)
    assert again.run.findings == whole.run.findings
    assert [event for event in again.events if not isinstance(event, TrialKept)] == []
    new = Session(tmp_path, recorded(whole.run.results))
    new.make(EXPERIMENT, options)
    assert [type(event) for event in new.events if not isinstance(event, TrialKept)] == [FindingReached]


def announced(session: Session) -> int:
    return sum(isinstance(event, FindingReached) for event in session.events)


def chased(spec: LoadSpec) -> LoadResult:
    """The result of a trial with late readers."""
    return replace(result_of(spec), catch_up=found_of(60_000, 300_000))


def old_form(finding: Finding) -> Finding:
    """As a version before stored it: other words, other columns, fewer details, and not all figures."""
    figures = dict(list(finding.figures.items())[1:])
    return replace(finding, summary=("In the words of then.",), rows=(), details={}, figures=figures)


@pytest.mark.parametrize(
    ("experiment", "options"),
    [
        (EXPERIMENT, MaxThroughputOptions()),
        (CATCH_UP, ChaseOptions.model_validate({"rate": "10k", "backlog": "200k messages"})),
    ],
    ids=["max-throughput", "catch-up"],
)
def test_what_an_earlier_version_found_is_not_reported_again(
    tmp_path: Path, experiment: Experiment[Any], options: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if experiment is CATCH_UP:
        monkeypatch.setattr(System, "__call__", lambda _, spec: chased(spec))
    whole = Session(tmp_path)
    whole.make(experiment, options)
    (finding,) = whole.run.findings
    assert finding.figures
    again = Session(tmp_path, recorded(whole.run.results, [old_form(finding)]))
    again.make(experiment, options)
    assert (again.measured, announced(again)) == ([], 0)
    name, value = list(finding.figures.items())[-1]
    other = replace(old_form(finding), figures={name: value + 1})
    different = Session(tmp_path, recorded(whole.run.results, [other]))
    different.make(experiment, options)
    assert announced(different) == 1, "another answer is one"
    measured = Session(tmp_path, recorded(whole.run.results[:-1], [old_form(finding)]))
    measured.make(experiment, options)
    assert (len(measured.measured), announced(measured)) == (1, 1), "what was measured anew is found anew"


def test_a_trial_that_was_another_one_is_refused(tmp_path: Path) -> None:
    whole = Session(tmp_path)
    whole.make(CURVE, CurveOptions.model_validate({"full-rate": "50k"}))
    other = Session(tmp_path, recorded(whole.run.results[:3]))
    changed = r"0001-curve-kafka-s01 .* another one: rate_rule was .*, msgs_per_s was 5000.* 6000"
    with pytest.raises(OtherwiseError, match=changed):
        other.make(CURVE, CurveOptions.model_validate({"full-rate": "60k"}))


class Resumed(Scene):
    """A campaign with simulated parts whose run is interrupted in the trial of a number, and resumed."""

    recorded = NOTHING_RECORDED

    def run(self) -> Any:
        plan = plan_campaign(self.campaign, self.systems.__getitem__)
        resources = FakeResources(FakeHost(self.journal), self.start_worker, lambda _: "", self.events.append)
        systems = self.systems.__getitem__
        return run_plan(plan, self.store, resources, systems, recorded=self.recorded)

    def go_on(self, path: Path) -> None:
        """Begin a further session with what there is."""
        finished = [store.result for store in self.store.trials.values() if store.result]
        self.recorded = recorded(finished, self.store.findings)
        self.store = FakeRunStore(path, self.journal)
        self.events = []


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Resumed:
    return Resumed(tmp_path / "first")


def interrupt_at(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = FakeWorker.stop_producers, []

    def stop(worker: FakeWorker, grace_s: float) -> int:
        calls.append(1)
        if len(calls) == number:
            raise KeyboardInterrupt
        return real(worker, grace_s)

    monkeypatch.setattr(FakeWorker, "stop_producers", stop)


def swept(scene: Resumed) -> None:
    points = tuple(
        Point({"partitions": str(n)}, replace(scene.campaign, workload=replace(scene.campaign.workload, partitions=n)))
        for n in (1, 10)
    )
    scene.campaign = replace(points[0].campaign, points=points)


def test_a_campaign_goes_on_where_it_was_interrupted(
    scene: Resumed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept(scene)
    interrupt_at(4, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        scene.run()
    assert scene.store.ended == ("interrupted", "interrupted by the user")
    first = scene.store
    scene.go_on(tmp_path / "second")
    results = scene.run()
    assert len(results) == len(scene.store.planned) == 8
    assert len(first.trials) == 4
    assert len(scene.store.trials) == 5, "the one that was interrupted is made again"
    assert set(first.trials) & set(scene.store.trials) == {list(first.trials)[3]}
    assert scene.store.ended == ("finished", "")
    assert {result.spec.msgs_per_s for result in results if result.spec.experiment == "latency"} == {500.0}
    assert [type(event) for event in scene.events if isinstance(event, TrialKept | TrialEnded)] == (
        [TrialKept] * 3 + [TrialEnded] * 5
    )


def test_trials_that_failed_are_made_again(scene: Resumed, tmp_path: Path) -> None:
    scene.systems["kafka"].deploy_fails = True
    assert len(scene.run()) == 2
    scene.go_on(tmp_path / "second")
    scene.systems["kafka"].deploy_fails = False
    assert len(scene.run()) == 4
    assert sorted(store.directory.name[5:] for store in scene.store.trials.values()) == ["latency-kafka", "peak-kafka"]
    assert scene.store.ended == ("finished", "")


def test_what_is_a_share_of_a_rate_that_is_made_again_is_measured_again(scene: Resumed, tmp_path: Path) -> None:
    """The first session's latency was at a share of a peak that the second has otherwise."""
    scene.run()
    scene.go_on(tmp_path / "second")
    trials = {name: trial for name, trial in scene.recorded.trials.items() if trial.spec.experiment == "latency"}
    peaks = {name: trial for name, trial in scene.recorded.trials.items() if name not in trials}
    old = {name: replace(trial, spec=replace(trial.spec, msgs_per_s=900.0)) for name, trial in trials.items()}
    scene.recorded = replace(scene.recorded, trials={**peaks, **old})
    results = scene.run()
    assert {result.spec.msgs_per_s for result in results if result.spec.experiment == "latency"} == {500.0}
    assert sorted(store.directory.name[5:] for store in scene.store.trials.values()) == [
        "latency-kafka",
        "latency-pulsar",
    ]
    notes = [event.text for event in scene.events if isinstance(event, Note)]
    assert sum("is measured again" in text and "was 900 msg/s and is 500 now" in text for text in notes) == 2


def test_a_run_with_nothing_left_measures_nothing(scene: Resumed, tmp_path: Path) -> None:
    scene.run()
    workers = scene.workers
    scene.go_on(tmp_path / "second")
    assert len(scene.run()) == 4
    assert (scene.workers, scene.store.trials) == (workers, {})


def test_other_files_than_those_that_were_measured_end_the_run(scene: Resumed, tmp_path: Path) -> None:
    scene.run()
    scene.go_on(tmp_path / "second")
    trials = {name: replace(trial, digest="f" * 64) for name, trial in scene.recorded.trials.items()}
    scene.recorded = replace(scene.recorded, trials=trials)
    with pytest.raises(OtherwiseError, match="their checksum was ffffffffffff and is 000000000000 now"):
        scene.run()
    assert scene.store.trials == {}


def test_what_was_seen_to_be_unequal_stays_so(scene: Resumed, tmp_path: Path) -> None:
    tilt = Tilt("page-cache", Severity.UNEQUAL, Stage.IN_FORCE, ("kafka@4.3.1",), "x", "y", "z", "s", "r")
    scene.recorded = replace(NOTHING_RECORDED, tilts=(tilt,))
    scene.run()
    assert tilt in scene.store.tilts


def test_a_plan_with_less_in_it_is_refused() -> None:
    made = [replace(spec_of("peak", "pulsar@4.2.4"), trial_id="0002-peak-pulsar")]
    kept = Recorded({"0002-peak-pulsar": TrialWithResult(made[0], result_of(made[0]))})
    kept.check_plan(made)
    with pytest.raises(
        OtherwiseError, match=r"0002-peak-pulsar was peak on pulsar@4\.2\.4 in block 1 and is planned no"
    ):
        kept.check_plan([])
    with pytest.raises(OtherwiseError, match="in block 1 and is peak on kafka@1 in block 1 now"):
        kept.check_plan([replace(spec_of("peak", "kafka@1"), trial_id="0002-peak-kafka")])


def test_files_of_others_clusters_have_no_checksum() -> None:
    spec = spec_of("peak", "kafka@attached")
    kept = Recorded({"x": TrialWithResult(spec, result_of(spec))})
    kept.check_files({"kafka@attached": Distribution("kafka", "", Path("/"), None, "", "", "attached")})


def test_the_meaning_of_a_campaign_is_in_its_values(scene: Resumed) -> None:
    before = meaning_of_campaign(scene.campaign)
    assert before["workload.partitions"] == "1"
    assert before["experiments.1.options.rate.share_of_lowest_peak"] == "0.5"
    assert before["durability.level"] == "3"
    assert (
        differences_in_meaning(
            before, meaning_of_campaign(replace(scene.campaign, description="other", source_path=Path("x")))
        )
        == []
    )
    assert differences_in_meaning(before, meaning_of_campaign(replace(scene.campaign, seed=7))) == [
        "seed was 1 and is 7 now"
    ]
    # A run of a version that knew one load generator only.
    older = {path: text for path, text in before.items() if path != "worker.count"}
    assert differences_in_meaning(older, before) == []
    assert differences_in_meaning(older, {**before, "worker.count": "2"}) == ["worker.count was 1 and is 2 now"]
    # What differs from a report is only said; of a run that `reproduce` began before, all of it was kept.
    assert differences_in_meaning({**before, "published.differs.0": "kafka: version 4.3.1 here"}, before) == []
    swept(scene)
    changed = differences_in_meaning(before, meaning_of_campaign(scene.campaign))
    assert "sweep[2].workload.partitions was not set and is 10 now" in changed


def test_an_attestation_that_was_begun_goes_on_with_the_same_files_only() -> None:
    begun = TrialWithCycles(spec_of("attest", "kafka@1"), AttestOutcome("", ()), "a" * 64)
    files: Any = {"kafka@1": SimpleNamespace(source="maven central", digest="b" * 64)}
    with pytest.raises(OtherwiseError, match="are not those that this run measured"):
        Recorded(begun={begun.spec.trial_id: begun}).check_files(files)
    files["kafka@1"].digest = begun.digest
    Recorded(begun={begun.spec.trial_id: begun}).check_files(files)
