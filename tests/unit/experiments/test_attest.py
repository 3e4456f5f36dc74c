"""The experiment `attest` on outcomes made by hand: its trials, its controls, its finding, and how that is shown."""

from __future__ import annotations

import html
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from attestation_samples import DIGEST, attestation, attested, cycle, outcome
from doubles_compared import differences
from rich.console import Console
from run_samples import spec, totals

from tidegauge import store
from tidegauge.cli.running import CODES
from tidegauge.errors import UserError
from tidegauge.experiments import procedure
from tidegauge.experiments.attest import EXPERIMENT, AttestOptions
from tidegauge.model.attest import NOT_MODELLED, AttestOutcome, Means, Scenario
from tidegauge.model.finding import Finding
from tidegauge.model.level import LevelChoice
from tidegauge.model.trial import AttestResult, AttestSpec, TrialSpec
from tidegauge.report.ending import ending
from tidegauge.report.html.page import report_page
from tidegauge.report.junit import run_junit
from tidegauge.report.summary import run_summary
from tidegauge.report.terminal import run_report


class Lab:
    """Measures by handing out outcomes in their order."""

    def __init__(self, *outcomes: AttestOutcome) -> None:
        self._outcomes = list(outcomes)
        self.results: Sequence[AttestResult] = ()
        self.findings: list[Finding] = []

    def run_trial(self, spec: AttestSpec) -> AttestResult:
        found = attested(spec, self._outcomes.pop(0))
        self.results = (*self.results, found)
        return found

    def announce_decision(self, text: str, left: Sequence[AttestSpec] = ()) -> None:
        raise AssertionError(text)

    def record_finding(self, finding: Finding) -> None:
        self.findings.append(finding)


def base(level: int = 3, nodes: int = 1) -> TrialSpec:
    return replace(spec(experiment="attest"), choice=LevelChoice(level), nodes=nodes)


def planned(options: AttestOptions, trial: TrialSpec) -> tuple[AttestSpec, ...]:
    return EXPERIMENT.plan(options, trial)


def carried_out(options: AttestOptions, trial: TrialSpec, *outcomes: AttestOutcome) -> tuple[Finding, Lab]:
    lab = Lab(*outcomes)
    EXPERIMENT.run(options, planned(options, trial), lab)
    (finding,) = lab.findings
    return finding, lab


def scenarios_of(trial: AttestSpec) -> list[Scenario]:
    return [cycle.scenario for cycle in trial.attest.cycles]


def test_a_level_with_local_sync_has_a_control_without() -> None:
    cuts, control = planned(AttestOptions(cuts=2), base(level=3))
    assert scenarios_of(cuts) == [Scenario.NONE, Scenario.ALL, Scenario.ALL]
    assert (cuts.choice.level, control.choice.level) == (3, 4)
    assert control.attest.control
    assert set(scenarios_of(control)) == {Scenario.ALL}
    assert cuts.workload.subscriptions == 2


def test_a_level_without_is_its_own_control_and_gets_cuts_of_all_nodes() -> None:
    (cuts,) = planned(AttestOptions(scenarios=[Scenario.ONE], cuts=2), base(level=2, nodes=3))
    assert scenarios_of(cuts) == [Scenario.NONE, *[Scenario.ONE] * 2, *[Scenario.ALL] * 3]
    assert [cycle.number for cycle in cuts.attest.cycles] == [1, 2, 3, 4, 5, 6]


def test_scenarios_that_the_nodes_can_not_have_are_refused() -> None:
    with pytest.raises(UserError, match="several nodes"):
        planned(AttestOptions(scenarios=[Scenario.LEADER]), base(nodes=1))
    with pytest.raises(UserError, match="attached"):
        planned(AttestOptions(), replace(base(), attached=True))


def test_nothing_lost_is_not_refuted_and_kept_for_later() -> None:
    finding, _ = carried_out(AttestOptions(), base(), outcome(*[cycle()] * 20), outcome(cycle(lost=9)))
    assert (finding.decided, finding.refuted) == (True, False)
    assert "NOT REFUTED in 20 cuts with 80,000 acknowledged messages at risk" in finding.summary[0]
    (kept,) = finding.attestations
    assert (kept.cuts, kept.lost, kept.settings_digest) == (20, 0, DIGEST)


def test_a_loss_refutes_with_its_witness() -> None:
    finding, _ = carried_out(AttestOptions(), base(), outcome(cycle(), cycle(lost=2)), outcome(cycle(lost=9)))
    assert (finding.decided, finding.refuted) == (True, True)
    assert "REFUTED: 2 acknowledged messages" in finding.summary[0]
    assert "message 17 of producer 1 was acknowledged" in finding.summary[0]


def test_a_control_that_loses_nothing_decides_nothing() -> None:
    finding, _ = carried_out(AttestOptions(), base(), outcome(cycle()), outcome(cycle(), cycle(), cycle()))
    assert (finding.decided, finding.refuted) == (False, False)
    assert "INCONCLUSIVE: the positive control lost nothing in 3 cuts" in finding.summary[0]


@pytest.mark.parametrize(("allowed", "refuted"), [(False, True), (True, False)])
def test_what_the_level_allows_may_be_excused(allowed: bool, refuted: bool) -> None:
    options = AttestOptions(allow_by_level=allowed)
    finding, _ = carried_out(options, base(level=2, nodes=3), outcome(cycle(lost=2)))
    assert finding.refuted is refuted
    assert any("level 2 does not promise more" in sentence for sentence in finding.summary)


def test_what_the_level_promises_is_never_excused() -> None:
    options = AttestOptions(allow_by_level=True)
    finding, _ = carried_out(options, base(), outcome(cycle(lost=2)), outcome(cycle(lost=9)))
    assert finding.refuted


def stored(runs: Path, subject: AttestOutcome, means: Means = Means.POWER) -> store.StoredRun:
    """A run as it is on disk after this."""
    options = AttestOptions(means=means)
    finding, lab = carried_out(options, base(), subject, outcome(cycle(lost=9)))
    run = store.create_run(runs, "attest", "name: attest\nsystems: [kafka]\n", "campaigns/attest.yaml")
    run.write_plan([measured.spec for measured in lab.results])
    for measured in lab.results:
        trial = run.open_trial(measured.spec)
        (trial.make_evidence_directory("cycle-0001") / "broken off").touch()
        assert trial.make_evidence_directory("cycle-0001").is_dir(), "it is made again"
        assert (trial.directory / "earlier-evidence" / "cycle-0001-1" / "broken off").exists()
        trial.finish(measured, totals())
    run.write_finding(finding)
    run.finish("finished")
    return store.load_run(run.path)


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGAUGE_DATA", str(tmp_path / "data"))


def page_of(run: store.StoredRun) -> str:
    return report_page(run, store.details_of(run))


def shown(run: store.StoredRun) -> str:
    console = Console(file=io.StringIO(), width=100, markup=False, highlight=False)
    console.print(run_report(run), crop=False)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_every_output_says_the_verdict_and_what_is_not_modelled(tmp_path: Path) -> None:
    run = stored(tmp_path, outcome(cycle(), cycle(lost=2)))
    outputs = [shown(run), json.dumps(run_summary(run)), page_of(run), run_junit(run).decode()]
    for output in outputs:
        words = html.unescape(" ".join(output.split()))
        assert "REFUTED" in words
        assert NOT_MODELLED[0] in words
        assert "proved" not in words
    assert all(len(line) <= 100 for line in outputs[0].splitlines() if "/" not in line)
    # The level that is reported is the one that was tested, not its control's.
    assert [result.spec.trial_id for result in run.results] == [
        "0001-attest-kafka-cuts",
        "0001-attest-kafka-positive-control",
    ]
    assert CODES[ending(run).end] == 5
    assert run.findings[0].refuted


def test_a_crash_is_called_one_wherever_it_is_shown(tmp_path: Path) -> None:
    run = stored(tmp_path, outcome(cycle()), Means.CRASH)
    for output in (shown(run), json.dumps(run_summary(run)), page_of(run)):
        assert "process crash, not a power cut" in " ".join(output.split())


def test_what_was_found_is_known_to_later_runs(tmp_path: Path) -> None:
    stored(tmp_path, outcome(*[cycle()] * 20))
    (kept,) = store.known_attestations("kafka@4.3.1", LevelChoice(3), DIGEST)
    assert (kept.cuts, kept.run[-6:]) == (20, "attest")
    assert kept.started_at.startswith("20")


def test_the_samples_are_alike() -> None:
    assert attestation().settings_digest == DIGEST


def test_the_double_is_no_wider_than_a_lab() -> None:
    assert differences(Lab, procedure.Lab) == []
