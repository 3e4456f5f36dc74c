"""Attestations without a result: what their cycles found is read back, reported everywhere, and resumed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from attestation_samples import SPEC, attested, cycle, outcome
from run_samples import totals

from tidegauge import store
from tidegauge.campaign.run.recorded import OtherwiseError
from tidegauge.cli.resuming import recorded_of
from tidegauge.model.server import Distribution
from tidegauge.report.html.page import report_page
from tidegauge.report.summary import run_summary
from tidegauge.report.terminal import how_to_go_on

FILES = Distribution("kafka", "4.3.1", Path("/cache"), Path("/jvm"), "25", "ab" * 32, "maven central")


def interrupted(runs: Path, lost: int = 0) -> store.StoredRun:
    """A run that was interrupted in the second cut of its attestation."""
    run = store.create_run(runs, "attest", "")
    run.write_plan([SPEC])
    trial = run.open_trial(SPEC)
    trial.write_distribution(FILES)
    trial.write_cycles(outcome(cycle(lost=lost)))
    trial.fail("interrupted", True)
    run.finish("interrupted", "interrupted by the user")
    return store.load_run(run.path)


def test_what_was_found_until_then_is_shown_everywhere(tmp_path: Path) -> None:
    stored = interrupted(tmp_path)
    (trial,) = stored.trials
    expected = (
        "interrupted: until then 1 cut, 0 of 8,000 acknowledged messages lost; "
        "INCONCLUSIVE: not all cuts and controls were made"
    )
    assert trial.status_words == expected
    (without,) = run_summary(stored)["trials_without_result"]
    assert without["reason"] == expected.replace(":", ";", 1)
    assert "until then 1 cut" in report_page(stored, store.details_of(stored))
    kept = "0 of 1 trials are finished and would be kept, and so would 2 cycles of an attestation"
    assert kept in how_to_go_on(stored)


def test_a_loss_is_reported_as_a_refutation(tmp_path: Path) -> None:
    (trial,) = interrupted(tmp_path, lost=7).trials
    assert "7 of 8,000 acknowledged messages lost; REFUTED: 7 acknowledged messages" in trial.status_words


def test_it_is_gone_on_with_if_nothing_has_changed(tmp_path: Path) -> None:
    recorded = recorded_of(interrupted(tmp_path))
    assert recorded.cycles_of(SPEC) == outcome(cycle())
    assert recorded.cycles_of(replace(SPEC, seed=8)) is None
    recorded.check_files({SPEC.system: FILES})
    with pytest.raises(OtherwiseError, match="are not those that this run measured"):
        recorded.check_files({SPEC.system: replace(FILES, digest="cd" * 32)})


def test_a_result_takes_its_place(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "attest", "")
    trial = run.open_trial(SPEC)
    trial.write_cycles(outcome(cycle()))
    trial.finish(attested(SPEC, outcome(cycle())), totals())
    run.finish("finished")
    assert not (trial.directory / "cycles.json").exists()
    assert store.load_run(run.path).trials[0].cycles is None
