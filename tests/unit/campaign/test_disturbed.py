"""What others disturbed makes trials doubtful or invalid, is waited for, and is said in every report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from compared_runs import blocks_of, made
from disturbance_samples import PEAK, Machine, full
from reasons import NOT_KEPT_UP, reasons_of, texts_of
from run_samples import result, spec
from shown_runs import rendered, stored

from tidegauge.campaign.run.disturbed import (
    await_calm_cpus,
    disturbance_decides,
    reason_of,
    with_disturbances,
    with_load_hosts_judged,
)
from tidegauge.cli.main import run_command
from tidegauge.cli.running import CODES
from tidegauge.errors import UserError
from tidegauge.experiments.peak import rate_stands
from tidegauge.model.disturbance import Disturbed, Harm
from tidegauge.model.events import Note
from tidegauge.model.reason import ReasonKind
from tidegauge.model.trial import LoadResult, Validity
from tidegauge.model.use import Limiting, Resource
from tidegauge.plain import plain_value, typed_value
from tidegauge.report.ending import ending
from tidegauge.report.html.answer import BAD, DOUBT, GOOD, answer
from tidegauge.report.html.disclosure import how_to_run_again
from tidegauge.report.markdown import run_markdown
from tidegauge.report.screen import run_screen
from tidegauge.report.terminal import run_report

KAFKA = "kafka@4.3.1"


def disturbed(share: float = 0.45, *, decides: bool = True, **changes: Any) -> LoadResult:
    measured = result(replace(spec(KAFKA, "peak"), trial_id="0001-peak-kafka"), **changes)
    return with_disturbances(measured, PEAK, full(share), decides=decides)


def test_the_worst_disturbance_decides_and_says_so_first() -> None:
    found = disturbed(
        validity=Validity.DOUBTFUL, reasons=reasons_of("the load generator itself was late", kind=ReasonKind.OWN_LAG)
    )
    assert found.validity is Validity.INVALID
    assert str(found.reasons[0]).startswith("other programs took 0.90 of 2 CPUs (stress ")
    assert str(found.reasons[0]).endswith("(end them, or use a machine that is not shared)")
    assert texts_of(found.reasons[1:]) == ("the load generator itself was late",)
    assert not rate_stands(found)
    doubtful = disturbed(0.2, validity=Validity.DOUBTFUL, reasons=reasons_of("damaged"))
    assert (doubtful.validity, str(doubtful.reasons[0])) == (Validity.DOUBTFUL, "damaged")


def test_reported_only_it_is_a_remark() -> None:
    found = disturbed(decides=False)
    assert (found.validity, found.reasons) == (Validity.VALID, ())
    assert str(found.warnings[-1]).startswith("other programs took 0.90 of 2 CPUs")
    assert [(disturbance.harm, disturbance.excused) for disturbance in found.disturbances] == [
        (Harm.NOTED, Harm.INVALID)
    ]
    assert [disturbance.excused for disturbance in disturbed().disturbances] == [None]
    assert rate_stands(found)


def test_a_trial_beside_nobody_has_an_account_and_no_reason() -> None:
    found = disturbed(0.0)
    assert (found.validity, found.reasons, found.disturbances) == (Validity.VALID, (), ())
    assert found.accounts[0].disturbing == 0.0


def test_whether_it_decides_is_the_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIDEGAUGE_DISTURBANCE")
    assert disturbance_decides()
    monkeypatch.setenv("TIDEGAUGE_DISTURBANCE", "report")
    assert not disturbance_decides()
    monkeypatch.setenv("TIDEGAUGE_DISTURBANCE", "reprot")
    with pytest.raises(UserError, match=r"TIDEGAUGE_DISTURBANCE=reprot \(did you mean 'report'\?\): allowed are"):
        disturbance_decides()


class TestReports:
    def test_the_end_names_programs_and_what_helps(self, tmp_path: Path) -> None:
        run = stored(tmp_path, disturbed())
        ended = ending(run)
        assert "other programs took 0.90 of 2 CPUs (stress" in ended.why
        assert ended.what.startswith("End them, or use a machine that is not shared. Then run it again:")
        screen = " ".join(rendered(run_screen(run, ended, CODES[ended.end])).split())
        assert "1 INVALID" in screen
        assert "the figures may not be used: other programs took 0.90 of 2 CPUs" in screen

    def test_a_quota_is_not_mended_by_closing_programs(self, tmp_path: Path) -> None:
        found = disturbed()
        quota = replace(found.disturbances[0], what=Disturbed.QUOTA, remedy="raise or remove the quota of /g")
        said = (reason_of(quota),)
        ended = ending(stored(tmp_path, replace(found, disturbances=(quota,), reasons=said)))
        assert ended.what.startswith("Raise or remove the quota of /g. Then run it again")
        assert "programs" not in ended.what

    def test_remarks_are_worth_acting_on(self, tmp_path: Path) -> None:
        run = stored(tmp_path, disturbed(decides=False))
        text = " ".join(rendered(run_screen(run, ending(run), 0)).split())
        assert "In the only trial other programs took 0.90 of 2 CPUs" in text
        assert "which TIDEGAUGE_DISTURBANCE=report let decide nothing" in text

    def test_what_decided_nothing_is_on_the_pages_first_screen(self, tmp_path: Path) -> None:
        for found, state, words in (
            (disturbed(decides=False), DOUBT, "1 trial: 1 valid, 1 disturbed and not judged"),
            (disturbed(0.0, decides=False), GOOD, "1 trial: 1 valid"),
        ):
            (badge,) = [badge for badge in answer(stored(tmp_path, found)).badges if badge.text.startswith("1 trial")]
            assert (badge.state, badge.text) == (state, words)
            again = how_to_run_again(stored(tmp_path, found), ()).command
            assert again.startswith("TIDEGAUGE_DISTURBANCE=report tidegauge run") == (state == DOUBT)
            assert ("TIDEGAUGE_DISTURBANCE=report let decide nothing" in badge.sentence) == (state == DOUBT)

    def test_every_report_has_it_and_json_who_it_was(self, tmp_path: Path) -> None:
        found = disturbed(0.2)
        run = stored(tmp_path, found)
        terminal, markdown = (" ".join(text.split()) for text in (rendered(run_report(run)), run_markdown(run)))
        assert "other programs took 0.40 of 2 CPUs" in terminal
        for text in (terminal, markdown):
            assert "Other programs took at most 0.40 of 2 CPUs" in text
        again = typed_value(LoadResult, json.loads(json.dumps(plain_value(found))))
        assert (again.accounts, again.disturbances) == (found.accounts, found.disturbances)
        assert again.accounts[0].programs[0].name == "stress"

    @pytest.mark.parametrize(("share", "state"), [(0.2, DOUBT), (None, GOOD)])
    def test_the_generators_badge_looks_at_busy_cpus(self, tmp_path: Path, share: float | None, state: str) -> None:
        found = result(spec(KAFKA, "peak")) if share is None else disturbed(share, decides=False)
        limiting = Limiting(Resource.DISK, "vda", 0.97, "busy")
        run = stored(tmp_path, replace(found, limiting=limiting, warnings=()))
        (badge,) = [badge for badge in answer(run).badges if "enerator" in badge.text]
        assert badge.state == state, badge

    def test_the_generators_badge_looks_at_compiling(self, tmp_path: Path) -> None:
        limiting = Limiting(Resource.DISK, "vda", 0.97, "busy")
        run = stored(tmp_path, result(spec(KAFKA, "peak"), limiting=limiting, jit_cpus=0.4))
        (badge,) = [badge for badge in answer(run).badges if "enerator" in badge.text]
        assert (badge.state, badge.text) == (DOUBT, "Generator may be limited in the only trial")

    def test_what_others_took_is_among_what_differs(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        runs = tmp_path / "runs"
        monkeypatch.setenv("TIDEGAUGE_RUNS", str(runs))
        beside = {share: disturbed(share, decides=False) for share in (0.02, 0.03, 0.75)}
        names = {
            share: made(runs, blocks_of(KAFKA, 1.0, accounts=one.accounts, disturbances=one.disturbances))
            for share, one in beside.items()
        }
        assert run_command(["compare", names[0.02], names[0.75]]) == 0
        text = " ".join(capsys.readouterr().out.split())
        excused = "not judged in 1 trial (TIDEGAUGE_DISTURBANCE=report)"
        told = f"under 5% of the CPUs in A, 75% of the CPUs (stress, dd); disturbed: CPU, {excused} in B"
        assert f"other programs: {told}" in text
        assert run_command(["compare", names[0.02], names[0.03]]) == 0
        assert "Nothing that was recorded differs" in capsys.readouterr().out


def waited(shares: Sequence[float]) -> tuple[float, list[str]]:
    machine, notes = Machine(shares), list[str]()
    await_calm_cpus(
        machine,  # type: ignore[arg-type]
        lambda event: notes.append(event.text) if isinstance(event, Note) else None,
        "0001-peak-kafka",
        now_s=lambda: machine.now_s,
        sleep=machine.sleep,
    )
    return machine.now_s, notes


def test_a_calm_machine_is_looked_at_once() -> None:
    assert waited([0.05] * 20) == (1.0, [])


def test_others_are_waited_for_and_named() -> None:
    seconds, notes = waited([0.5, 0.5, 0.5, 0.01])
    assert seconds == 4.0
    assert notes == ["0001-peak-kafka: waited 4 s for other programs to end (CPUs: dd 1.00)."]


def test_waiting_has_a_limit() -> None:
    seconds, (note,) = waited([0.5] * 60)
    assert seconds == 10.0
    assert "waited 10 s in vain for other programs to end (CPUs: dd 1.00), and began beside them" in note


def test_where_nobody_looks_nobody_waits() -> None:
    assert waited([]) == (3.0, [])


LINK = Limiting(Resource.NETWORK, "of 10.0.0.9", 0.99, "12.4 MB/s sent by 10.0.0.9 of 12.5 MB/s that it can")


def test_a_load_host_at_its_end_makes_a_trial_that_missed_its_rate_invalid(tmp_path: Path) -> None:
    behind = result(spec(), msgs_per_s=8_000.0, offered_msgs_per_s=20_000.0, warnings=NOT_KEPT_UP)
    found = with_load_hosts_judged(behind, [LINK])
    assert found.validity is Validity.INVALID
    (reason,) = found.reasons
    assert reason.kind is ReasonKind.HELD_BACK
    assert str(reason).startswith(
        "the load generator's host was at its end, and not the system: 12.4 MB/s sent by 10.0.0.9 of 12.5 MB/s that it "
        "can; the offered rate was not reached: 8,000 of 20,000 msg/s (40%) (give the load generator more of that"
    )
    assert [warning.kind for warning in found.warnings] == [ReasonKind.RATE_NOT_REACHED], "nothing of the system"
    (badge,) = [badge for badge in answer(stored(tmp_path, found)).badges if "enerator" in badge.text]
    assert (badge.state, badge.text) == (BAD, "Generator was held back in the only trial")


def test_the_peak_of_a_load_host_at_its_end_is_doubtful() -> None:
    peak = result(replace(spec(KAFKA, "peak"), trial_id="0001-peak-kafka"), offered_msgs_per_s=None)
    judged = with_load_hosts_judged(peak, [LINK])
    assert judged.validity is Validity.DOUBTFUL
    assert str(judged.reasons[-1]) == (
        "the load generator's host was at its end, and not the system: 12.4 MB/s sent by 10.0.0.9 of 12.5 MB/s that it "
        "can; the system may do more (give the load generator more of that, or more hosts (tidegauge fleet check))"
    )
    assert rate_stands(judged), "searches may begin there"
    spoilt = replace(peak, validity=Validity.INVALID)
    assert with_load_hosts_judged(spoilt, [LINK]).validity is Validity.INVALID
    assert with_load_hosts_judged(peak, []) is peak


def test_a_load_host_at_its_end_is_no_fault_where_the_rate_was_reached() -> None:
    reached = result(spec(), offered_msgs_per_s=20_000.0)
    assert with_load_hosts_judged(reached, [LINK]) is reached
    behind = result(spec(), msgs_per_s=8_000.0, offered_msgs_per_s=20_000.0, warnings=NOT_KEPT_UP)
    assert with_load_hosts_judged(behind, []) is behind
