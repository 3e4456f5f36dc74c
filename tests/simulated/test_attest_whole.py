"""Servers with a known fault through a whole attestation: plan, controls, cuts, reading back, verdict and words."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from attest_doubles import EACH_S, Host, Rig, System, Worker, World, spec_of
from campaign_doubles import FakeResources, FakeTrialStore, Journal
from doubles_compared import differences
from wrong_servers import (
    AcknowledgesBeforeItWrites,
    AnswersFromOneReplica,
    Duplicates,
    Honest,
    LosesTheMiddle,
    ReplicasPartInACut,
)

from tidegauge.attestation.evidence import RecordKind as Record
from tidegauge.campaign.model import SystemChoice
from tidegauge.campaign.run.running_trial import Subject
from tidegauge.campaign.run.trial import attest_cycle
from tidegauge.campaign.run.trial.run import run_trial
from tidegauge.experiments import procedure
from tidegauge.experiments.attest import EXPERIMENT, AttestOptions
from tidegauge.model.attest import AttestVerdict, Cycle, Scenario
from tidegauge.model.finding import Finding
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.message import LOST, Fate
from tidegauge.model.server import Setting
from tidegauge.model.trial import AttestResult, AttestSpec

CUTS = 1
AT_ONCE = 300
"""Sent without a pause, so that a cut has enough at risk however slowly this machine goes."""
ANOMALIES = ("lost", "different", "corrupt", "duplicated", "reordered", "phantom", "corrupt_found", "refused_kept")


class SometimesUnanswered(Worker):
    """As a real load has it: of some messages nobody knows in the instant of a cut what became of them."""

    def _send(self) -> None:
        for sequence in range(100_000):
            if self.stopping.is_set():
                return
            with self.world.lock:
                self.records.append((time.monotonic_ns(), sequence, -1, -1, int(Record.INVOKED), b""))
                partition, position = self.world.server.publish((0, sequence)) or (-1, -1)
                if sequence % 15 != 14:
                    record = (time.monotonic_ns(), sequence, position, partition, int(Record.ACKNOWLEDGED), b"")
                    self.records.append(record)
                    self.acked += 1
            if sequence >= AT_ONCE:
                time.sleep(EACH_S)


class AnyLevel(System):
    """Gives each level that is asked for."""

    def derive_level(self, settings: list[Setting], choice: LevelChoice, nodes: int) -> LevelFinding:
        return replace(super().derive_level(settings, choice, nodes), level=choice.level, problems=())


class Lab:
    """Measures trials on the servers given, in their order, and keeps what is found."""

    def __init__(self, root: Path, *servers: Honest) -> None:
        self._root = root
        self._servers = list(servers)
        self.results: Sequence[AttestResult] = ()
        self.findings: list[Finding] = []

    def run_trial(self, spec: AttestSpec) -> AttestResult:
        world = World(Journal(), self._servers.pop(0))
        system = AnyLevel(world.journal, world=world)
        host = Host(world.journal, rig=Rig(world))
        resources = FakeResources(host, lambda *_: SometimesUnanswered(world), lambda: "", lambda _: None)
        subject = Subject(system, system.provision("4.3.1", None), SystemChoice("kafka"))
        store = FakeTrialStore(self._root / spec.trial_id, world.journal)
        self.results = (*self.results, run_trial(shortened(spec), subject, resources, store))
        return self.results[-1]

    def announce_decision(self, text: str, left: Sequence[AttestSpec] = ()) -> None:
        raise AssertionError(text)

    def record_finding(self, finding: Finding) -> None:
        self.findings.append(finding)


def shortened(trial: AttestSpec) -> AttestSpec:
    """With cuts after half a second instead of several: these servers need no time to get used to the load."""
    cycles = tuple(
        replace(cycle, acts=tuple(replace(act, after_s=0.5) for act in cycle.acts)) for cycle in trial.attest.cycles
    )
    return replace(trial, attest=replace(trial.attest, cycles=tuple(map(_quick, cycles)), serve_s_max=5.0))


def _quick(cycle: Cycle) -> Cycle:
    return replace(cycle, tail_s=0.1)


def attested(tmp_path: Path, server: Honest, control: Honest | None = None) -> tuple[Finding, Lab]:
    """The finding of an attestation of level 3 on one node, by the experiment's own plan."""
    lab = Lab(tmp_path, server, control or AcknowledgesBeforeItWrites())
    options = AttestOptions(cuts=CUTS)
    base = replace(spec_of(1, None), trial_id="0001-attest-kafka")  # type: ignore[arg-type]
    EXPERIMENT.run(options, EXPERIMENT.plan(options, base), lab)
    (finding,) = lab.findings
    return finding, lab


def figures_of(lab: Lab, scenario: Scenario) -> dict[str, int]:
    """What was found in all cycles of a scenario of the trial with the cuts."""
    found: dict[str, int] = {}
    for cycle in lab.results[0].attest.cycles_of_scenario(scenario):
        for name, count in cycle.figures.items():
            found[name] = found.get(name, 0) + count
    return found


@pytest.fixture(autouse=True)
def settles_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(attest_cycle, "_SETTLE_S", 0.02)
    monkeypatch.setenv("TIDEGAUGE_DATA", str(tmp_path / "data"))


def test_an_honest_server_is_not_refuted(tmp_path: Path) -> None:
    finding, lab = attested(tmp_path, Honest())
    assert (finding.decided, finding.refuted) == (True, False)
    assert [attestation.verdict for attestation in finding.attestations] == [AttestVerdict.NOT_REFUTED]
    assert "NOT REFUTED in 1 cut" in finding.summary[0]
    figures = figures_of(lab, Scenario.ALL)
    assert {name: figures[name] for name in ANOMALIES if figures.get(name)} == {}


@pytest.mark.parametrize(
    ("server", "fate"),
    [(AcknowledgesBeforeItWrites(), Fate.LOST_LAST), (LosesTheMiddle(), Fate.LOST_MIDDLE)],
)
def test_a_server_that_loses_is_refuted_with_its_place(tmp_path: Path, server: Honest, fate: Fate) -> None:
    finding, lab = attested(tmp_path, server)
    assert (finding.decided, finding.refuted) == (True, True)
    figures = figures_of(lab, Scenario.ALL)
    assert figures[fate.name.lower()] == figures["lost"] > 0
    assert [other.name for other in LOST if other is not fate and figures.get(other.name.lower())] == []
    assert {name for name in ANOMALIES if figures.get(name)} == {"lost"}
    assert figures_of(lab, Scenario.NONE)["broken"] == 0
    assert f"REFUTED: {figures['lost']} acknowledged messages" in finding.summary[0]
    # The witness: which message, when it was acknowledged, what was cut, what its log says.
    assert "cut 1 (all, node 1)" in finding.summary[0]
    assert "of producer 0 was acknowledged" in finding.summary[0]
    assert "before the cut" in finding.summary[0]


def test_a_server_that_answers_from_one_replica_is_refuted_by_what_its_readers_got(tmp_path: Path) -> None:
    # It does so without a cut too, so the negative control says it first: no cut is to blame.
    finding, lab = attested(tmp_path, AnswersFromOneReplica())
    assert figures_of(lab, Scenario.NONE)["different"] > 0
    assert figures_of(lab, Scenario.ALL)["different"] > 0
    assert figures_of(lab, Scenario.ALL)["lost"] == 0
    assert (finding.decided, finding.refuted) == (False, False)
    assert "INCONCLUSIVE: the negative control, without a cut, broke" in finding.summary[0]


def test_a_server_whose_replicas_differ_after_a_cut_is_refuted(tmp_path: Path) -> None:
    finding, lab = attested(tmp_path, ReplicasPartInACut())
    assert figures_of(lab, Scenario.NONE)["broken"] == 0
    figures = figures_of(lab, Scenario.ALL)
    assert {name for name in ANOMALIES if figures.get(name)} == {"different"}
    assert (finding.decided, finding.refuted) == (True, True)
    assert "REFUTED" in finding.summary[0]


def test_a_server_that_duplicates_is_reported_and_not_refuted(tmp_path: Path) -> None:
    finding, lab = attested(tmp_path, Duplicates())
    figures = figures_of(lab, Scenario.ALL)
    assert {name for name in ANOMALIES if figures.get(name)} == {"duplicated"}
    assert (finding.decided, finding.refuted) == (True, False)
    assert any(f"{figures['duplicated']:,} duplicated" in line for line in finding.summary)


def test_a_control_that_keeps_everything_decides_nothing(tmp_path: Path) -> None:
    finding, _ = attested(tmp_path, Honest(), control=Honest())
    assert (finding.decided, finding.refuted) == (False, False)
    assert "INCONCLUSIVE: the positive control lost nothing" in finding.summary[0]


def test_the_double_is_no_wider_than_a_lab() -> None:
    assert differences(Lab, procedure.Lab) == []
