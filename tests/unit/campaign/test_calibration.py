"""How much load generators make: when a plan asks for too much of them, what is kept, and what is said of it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from calibration_samples import HERE, KIB, NOW, Case, calibration, trial
from report_samples import ceilings
from rich.console import Console

from tidegauge.campaign.plan.generators import (
    BYTES_PER_S_LOW,
    MSGS_PER_S_LOW,
    known_rate_max,
    sizes_to_know,
    sizing_warnings,
    workers_needed,
)
from tidegauge.campaign.run import ceilings as run_module
from tidegauge.campaign.run.ceilings import SWITCH
from tidegauge.cli import doctor
from tidegauge.cli.main import run_command
from tidegauge.errors import RunFailedError, UserError
from tidegauge.hosts.clock import clock_quality
from tidegauge.hosts.facts import host_facts
from tidegauge.hosts.kept import path_of
from tidegauge.model.ceilings import Calibration, Pace, size_class
from tidegauge.model.events import PhaseStarted
from tidegauge.model.workload import Arrival, Payload, RatePhase, RateSchedule, Workload
from tidegauge.report.doctor import Diagnosis, doctor_content, doctor_report
from tidegauge.worker import calibration as measuring
from tidegauge.worker.calibration import CalibrationSubject, fresh_calibrations

LARGE = calibration(cpus=16, many=Pace(8, 2_400_000.0, 14.0))
"""Of one with 16 CPUs."""


@pytest.mark.parametrize(
    ("message_bytes", "measured"),
    [(1, 64), (48, 64), (64, 64), (65, 128), (1000, 1024), (1024, 1024), (1025, 2048), (1 << 20, 1 << 20)],
)
def test_messages_are_measured_at_the_next_power_of_two(message_bytes: int, measured: int) -> None:
    assert size_class(message_bytes) == measured


class TestRate:
    def test_one_producer_and_consumer_have_what_was_measured(self) -> None:
        for known in (calibration(), LARGE):
            assert known.rate_max(Workload(), 1) == 600_000

    def test_more_of_them_have_more_as_far_as_cpus_go(self) -> None:
        def of(clients: int, known: Calibration) -> float:
            return known.rate_max(Workload(producers=clients, consumers=clients), 1)

        assert of(4, calibration()) == 600_000
        assert [of(clients, LARGE) for clients in (2, 3, 4, 16)] == [1_200_000, 1_800_000, 2_400_000, 2_400_000]

    def test_producers_without_as_many_consumers_wait_for_these(self) -> None:
        assert LARGE.rate_max(Workload(producers=4, consumers=1), 1) == 600_000
        assert LARGE.rate_max(Workload(producers=4, consumers=1, subscriptions=0), 1) == 2 * 2_400_000

    def test_each_subscription_checks_every_message(self) -> None:
        assert calibration().rate_max(Workload(subscriptions=3), 1) == 300_000

    def test_several_on_one_host_share_its_cpus(self) -> None:
        two = Workload(producers=2, consumers=2)
        assert calibration().rate_max(two, 2) == 600_000 * 2 / 1.6
        assert calibration().rate_max(two, 2, shares_host=False) == 1_200_000
        assert LARGE.rate_max(two, 2) == 1_200_000

    def test_the_one_with_most_producers_decides(self) -> None:
        # Two of three producers, and so two thirds of the rate, are one's.
        assert LARGE.rate_max(Workload(producers=3, consumers=3), 2) == 1_200_000 * 3 / 2

    def test_many_that_reached_less_than_one_are_no_lower_ceiling(self) -> None:
        assert replace(LARGE, many=Pace(8, 500_000.0, 9.0)).rate_max(Workload(producers=9, consumers=9), 1) == 600_000


class TestWarning:
    @pytest.mark.parametrize(("share", "warned"), [(0.69, False), (0.70, False), (0.71, True)])
    def test_above_70_percent(self, share: float, warned: bool) -> None:
        assert bool(sizing_warnings([trial(share * 600_000)], 1, [calibration()])) is warned

    def test_it_says_how_many_would_do(self) -> None:
        (warning,) = sizing_warnings([trial(500_000)], 1, [LARGE])
        assert warning == (
            "0001-latency-kafka asks for 500,000 msg/s: 83% of the 600,000 of 1 KiB that one load generator makes and "
            "checks on this host, and above 70% delays may be the generator's own. 2 load generators would do "
            "(--workers 2), with at least 2 producers and 2 consumers."
        )
        enough = trial(500_000, producers=2, consumers=2)
        assert sizing_warnings([enough], 2, [LARGE]) == ()

    def test_producers_and_consumers_that_are_there_are_not_asked_for(self) -> None:
        (warning,) = sizing_warnings([trial(2_000_000, producers=8, consumers=8)], 1, [LARGE])
        assert "83% of the 2,400,000 of" in warning
        assert "2 load generators would do, but not on this host, whose 16 CPUs they share" in warning

    def test_cpus_that_do_not_hold_so_many_are_named(self) -> None:
        (warning,) = sizing_warnings([trial(600_000)], 1, [calibration()])
        assert warning.endswith(
            "2 load generators would do, with at least 2 producers and 2 consumers, but not on this host, whose 2 CPUs "
            "they share: lower the rate to 525,000 msg/s, or less if servers run here, or take a host with more CPUs."
        )

    def test_several_that_are_too_few(self) -> None:
        (warning,) = sizing_warnings([trial(1_000_000, producers=2, consumers=2)], 2, [LARGE])
        assert "83% of the 1,200,000 of 1 KiB that 2 load generators make and check" in warning
        assert "3 load generators would do (--workers 3), with at least 3 producers and 3 consumers." in warning

    @pytest.mark.parametrize("workers", [1, 2, 7])
    def test_the_count_that_it_names_is_enough_and_one_less_is_not(self, workers: int) -> None:
        at_edge = workers * 0.7 * 600_000
        assert workers_needed(Workload(), at_edge - 1, calibration()) == workers
        assert workers_needed(Workload(), at_edge + 1, calibration()) == workers + 1
        assert workers_needed(Workload(), 1e12, calibration()) is None

    def test_the_worst_of_several_trials_stands_for_all(self) -> None:
        trials = [trial(450_000), replace(trial(590_000), trial_id="0002-latency-kafka"), trial(100_000)]
        (warning,) = sizing_warnings(trials, 1, [calibration()])
        assert warning.startswith("0002-latency-kafka asks for 590,000 msg/s: 98% of")
        assert warning.endswith(" The same holds for 1 other trial.")

    def test_a_schedule_is_judged_by_its_highest_rate(self) -> None:
        schedule = RateSchedule((RatePhase(1000.0, 500_000.0, 10.0, 0),), ("ramp",))
        assert sizing_warnings([replace(trial(1000.0), schedule=schedule)], 1, [calibration()])

    def test_what_was_measured_on_a_busy_machine_says_so(self) -> None:
        (warning,) = sizing_warnings([trial(500_000)], 1, [calibration(load_average=1.0)])
        assert "on this host, measured while other work ran, and" in warning
        starved = calibration(one=Pace(1, 600_000.0, 0.8, cpu_wait_share=0.4))
        (warning,) = sizing_warnings([trial(500_000)], 1, [starved])
        assert "on this host, measured while it lacked CPU, and" in warning

    def test_nothing_is_said_of_results_by_what_may_be_too_low(self) -> None:
        starved = Pace(1, 600_000.0, 0.8, cpu_wait_share=0.21)
        assert known_rate_max(Workload(), 1, [calibration(load_average=0.5)]) == 600_000
        assert known_rate_max(Workload(), 1, [calibration(load_average=0.6)]) is None
        assert known_rate_max(Workload(), 1, [calibration(one=starved)]) is None
        assert known_rate_max(Workload(), 1, [calibration(one=replace(starved, cpu_wait_share=0.2))]) == 600_000
        assert known_rate_max(Workload(), 1, [calibration(one=starved, cpus=1)]) == 600_000, "it always waits there"

    def test_what_is_not_known_is_not_judged(self) -> None:
        assert sizing_warnings([trial(500_000)], 1, []) == ()
        assert sizing_warnings([trial(500_000, 2 * KIB)], 1, [calibration()]) == ()
        assert known_rate_max(Workload(payload=Payload(2 * KIB)), 1, [calibration()]) is None


class TestNeed:
    def test_only_rates_that_a_host_might_not_make_are_worth_a_calibration(self) -> None:
        assert sizes_to_know([trial(MSGS_PER_S_LOW)], 1) == []
        assert sizes_to_know([trial(MSGS_PER_S_LOW + 1)], 1) == [KIB]
        assert sizes_to_know([trial(MSGS_PER_S_LOW + 1)], 2) == []
        assert sizes_to_know([trial(MSGS_PER_S_LOW * 0.9, subscriptions=3)], 1) == [KIB]
        large = 1 << 20
        assert sizes_to_know([trial(BYTES_PER_S_LOW / large, large)], 1) == []
        assert sizes_to_know([trial(BYTES_PER_S_LOW / large + 1, large)], 1) == [large]

    def test_nor_is_a_rate_that_nobody_has_chosen(self) -> None:
        closed = trial(None, arrival=Arrival.CLOSED_LOOP)
        assert sizes_to_know([closed, trial(None)], 1) == []
        assert sizes_to_know([trial(50_000, 700), trial(50_000, 1000), trial(50_000, 100)], 1) == [128, KIB]


class TestKept:
    @pytest.fixture(autouse=True)
    def own_state(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "state"))

    def test_what_holds_here_serves(self) -> None:
        assert fresh_calibrations([calibration()], HERE, {KIB}, NOW, 0.0) == [calibration()]

    @pytest.mark.parametrize(
        "other",
        [
            calibration(code="java 21 and jars"),
            calibration(machine="other/2"),
            calibration(cpus=4),
            calibration(message_bytes=64),
            calibration(measured_at=(NOW - timedelta(hours=13)).isoformat()),
            calibration(measured_at="yesterday"),
            calibration(load_average=3.0),
        ],
        ids=["other Java", "other machine", "other CPUs", "other size", "old", "unreadable time", "busier then"],
    )
    def test_anything_else_does_not(self, other: Calibration) -> None:
        assert fresh_calibrations([other], HERE, {KIB}, NOW, 2.9) == []

    def test_one_of_a_busy_machine_serves_while_it_is_as_busy(self) -> None:
        busy = calibration(load_average=3.0)
        assert fresh_calibrations([busy], HERE, {KIB}, NOW, 3.1) == [busy]

    def test_one_of_each_size_is_kept(self) -> None:
        small = calibration(message_bytes=64)
        for found in ([calibration(load_average=0.1)], [small], [calibration()]):
            measuring.keep_calibrations(found)
        assert measuring.read_kept() == [calibration(), small]

    @pytest.mark.parametrize("text", ["", "[]", '{"schema": 99, "kept": []}', '{"schema": 1, "kept": [{}]}'])
    def test_a_damaged_file_is_none(self, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(measuring, "calibration_subject", lambda: HERE)
        now = datetime.now(UTC).isoformat()
        measuring.keep_calibrations([calibration(measured_at=now)])
        assert len(measuring.known_calibrations({KIB})) == 1
        path_of("calibrations").write_text(text)
        assert measuring.known_calibrations({KIB}) == []

    def test_without_a_worker_nothing_is_known(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def none() -> CalibrationSubject:
            raise UserError("The load generator is not built.")

        monkeypatch.setattr(measuring, "calibration_subject", none)
        measuring.keep_calibrations([calibration()])
        assert measuring.known_calibrations({KIB}) == []


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "state"))
    monkeypatch.delenv(SWITCH, raising=False)
    made = Case()
    for module in (measuring, run_module):
        monkeypatch.setattr(module, "calibration_subject", lambda: HERE)
    monkeypatch.setattr(run_module, "calibrate", made.measure)
    return made


class TestRun:
    def test_it_is_measured_once_and_then_taken_again(self, case: Case) -> None:
        first, second = case.known(trial(500_000)), case.known(trial(500_000))
        assert case.measured == [[KIB]]
        assert second == first and first[0].load_average == 0.2
        assert [event.phase for event in case.events if isinstance(event, PhaseStarted)] == ["calibrate"]
        assert case.notes[0] == "On this host one load generator makes and checks 600,000 msg/s of 1 KiB (1.60 CPUs)."
        assert "83% of the 600,000" in case.notes[1]
        assert case.notes[2:] == case.notes[:2]

    def test_a_plan_that_asks_for_little_measures_and_says_nothing(self, case: Case) -> None:
        assert case.known(trial(MSGS_PER_S_LOW), trial(None, arrival=Arrival.CLOSED_LOOP)) == ()
        assert (case.measured, case.events) == ([], [])

    def test_what_is_kept_serves_peaks_too(self, case: Case) -> None:
        case.known(trial(500_000))
        case.events.clear()
        (found,) = case.known(trial(None, arrival=Arrival.CLOSED_LOOP))
        assert found.message_bytes == KIB
        assert (len(case.measured), case.events) == (1, [])

    def test_a_doubtful_one_says_so(self, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
        starved = calibration(one=Pace(1, 600_000.0, 0.8, cpu_wait_share=0.4))
        monkeypatch.setattr(run_module, "calibrate", lambda *_: [starved])
        case.known(trial(100_000))
        assert case.notes == [
            "On this host one load generator makes and checks 600,000 msg/s of 1 KiB (0.80 CPUs): DOUBTFUL, it lacked "
            "CPU when that was measured."
        ]
        monkeypatch.setattr(run_module, "calibrate", lambda *_: [calibration(load_average=99.0)])
        monkeypatch.setattr(run_module, "known_calibrations", lambda _: [])
        case.known(trial(100_000))
        assert case.notes[-1].endswith(": DOUBTFUL, other work ran when that was measured.")

    def test_switched_off_nothing_is_measured(self, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(SWITCH, "off")
        assert case.known(trial(500_000)) == ()
        assert case.measured == []

    def test_what_can_not_be_measured_is_reported_and_the_run_goes_on(self, case: Case) -> None:
        case.fails = RunFailedError("The worker was killed by signal 9.")
        assert case.known(trial(500_000)) == ()
        assert case.notes == [
            "What one load generator can make and check is not known: The worker was killed by signal 9."
        ]


def test_messages_that_are_missing_make_no_rate() -> None:
    sub = SimpleNamespace(backlog=0, lost=2, duplicated=0, corrupt=1)
    window = SimpleNamespace(acked_within=90)
    totals: Any = SimpleNamespace(sent=100, acked=100, subscriptions=(sub,), window=window)
    with pytest.raises(RunFailedError, match=r"^3 of 100 messages to the null system are not accounted for"):
        measuring._check_totals(totals)


@pytest.mark.parametrize(("cpus", "clients"), [(1, [1]), (2, [1]), (3, [1]), (4, [1, 2]), (16, [1, 8]), (64, [1, 16])])
def test_a_host_with_many_cpus_is_tried_with_more_clients(cpus: int, clients: list[int]) -> None:
    of = replace(HERE, cpus=cpus)
    assert measuring._client_counts(of) == clients
    assert 7 <= measuring.seconds_expected(1, of) <= 12


def test_a_dry_run_warns_by_what_is_kept_and_measures_nothing(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "campaign.yaml"
    path.write_text("name: x\nsystems: [kafka]\nexperiments: [{name: latency, rate: 500000}]\n")
    command = ["run", str(path), "--dry-run", "--json"]
    about_it = "asks for 500,000 msg/s: 83% of the 600,000"
    assert run_command(command) == 0
    assert about_it not in capsys.readouterr().out
    measuring.keep_calibrations([calibration(measured_at=datetime.now(UTC).isoformat())])
    assert run_command(command) == 0
    assert about_it in " ".join(json.loads(capsys.readouterr().out)["warnings"])
    assert run_command(command[:-1]) == 0
    assert "Warning: 0001-latency-kafka asks for 500,000 msg/s" in " ".join(capsys.readouterr().out.split())
    assert case.measured == []


class TestDoctor:
    def shown(self, **changes: Any) -> str:
        found = Diagnosis(host_facts([]), clock_quality(), ceilings().ceilings, (), (), **changes)
        console = Console(width=100)
        with console.capture() as capture:
            console.print(doctor_report(found))
        content = doctor_content(found)
        assert set(content) >= {"calibration", "calibration_problem"}
        return " ".join(capture.get().split())

    def test_its_line(self) -> None:
        line = "One load generator makes and checks 600,000 msg/s of 1 KiB (1.60 CPUs)."
        assert line in self.shown(calibration=calibration())
        assert "no CPU" not in self.shown(calibration=calibration())
        starved = calibration(one=Pace(1, 600_000.0, 0.8, cpu_wait_share=0.4))
        assert "DOUBTFUL: its sending thread had no CPU for 40% of the time." in self.shown(calibration=starved)

    def test_with_more_clients(self) -> None:
        line = (
            "One load generator makes and checks 600,000 msg/s of 1 KiB with 1 producer and 1 consumer (1.60 CPUs), "
            "2,400,000 with 8 of each (14.0 CPUs)."
        )
        assert line in self.shown(calibration=LARGE)

    def test_it_is_measured_anew_and_kept(self, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(doctor, "calibrate", case.measure)
        monkeypatch.setattr(doctor, "calibration_subject", lambda: HERE)
        host: Any = None
        for _ in range(2):
            found, _ = doctor._calibrate_generator(0.1, host, lambda _: None)
        assert case.measured == [[KIB], [KIB]]
        assert measuring.read_kept() == [found]
        case.fails = UserError("The load generator is not built.")
        assert doctor._calibrate_generator(0.1, host, lambda _: None) == (None, "The load generator is not built.")

    def test_what_is_not_known(self) -> None:
        text = self.shown(calibration_problem="The load generator is not built.")
        assert "What one load generator makes and checks is not known: The load generator is not built." in text
