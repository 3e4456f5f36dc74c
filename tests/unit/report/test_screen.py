"""The end of a run on one screen: true sentences in few lines, and a last line that says why the exit code is not 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from attestation_samples import attestation
from attestation_samples import cycle as cut_cycle
from attestation_samples import outcome as cut_outcome
from page_scenes import run_named
from reasons import NOT_KEPT_UP, reasons_of
from report_samples import sample_run
from run_samples import reading, result, spec, totals
from shown_runs import BUSY, pair, peak, processing_at, rendered, repeated, stored

from tidegauge import store
from tidegauge.attestation.judging import judge_scenarios
from tidegauge.attestation.words import attest_cells
from tidegauge.cli.running import CODES
from tidegauge.model.attest import Means, Scenario
from tidegauge.model.events import left_out_note
from tidegauge.model.finding import Finding, GoalFound
from tidegauge.model.level import AS_FOUND, CutsStanding, EarlierCuts, LevelChoice, LevelFinding
from tidegauge.model.reason import Reason, ReasonKind
from tidegauge.model.trial import LoadResult, LoadSpec, Validity
from tidegauge.model.use import Limiting, Resource
from tidegauge.model.workload import Payload, SubscriptionType
from tidegauge.report.ending import End, again_words, ending, worth_acting_on
from tidegauge.report.facts import RunFacts
from tidegauge.report.html.answer import answer as first_screen
from tidegauge.report.loads import brief_workloads, workload_words
from tidegauge.report.plots.sweep import leading_chart, sweep_plots
from tidegauge.report.screen import LINES_MAX, run_screen
from tidegauge.report.tables import swept_tables
from tidegauge.report.terminal import run_report
from tidegauge.report.thresholds import rulings
from tidegauge.report.verdicts import level_phrase, verdicts
from tidegauge.statistics.figures import FIGURES, SUSTAINABLE
from tidegauge.store.files import REPORT_NAME
from tidegauge.store.omb import keep_omb_files
from tidegauge.store.read import StoredRun, StoredTrial

KAFKA, PULSAR, RABBITMQ = "kafka@4.3.1", "pulsar@4.2.4", "rabbitmq@4.3.6"


def screen(run: StoredRun) -> str:
    ended = ending(run)
    return rendered(run_screen(run, ended, CODES[ended.end]))


def sentence(run: StoredRun, experiment: str = "peak") -> str:
    (found,) = (verdict for verdict in verdicts(RunFacts(run)) if verdict.experiment == experiment)
    return found.sentence


def busy_quick(tmp_path: Path) -> StoredRun:
    """Three systems, two experiments, and everything that a trial can be warned of."""
    warnings = (
        Reason(ReasonKind.WARM_UP_UNSTEADY, "the warm-up never became steady: the p99 is rising over the last 6 s"),
        Reason(ReasonKind.UNSTEADY, "not steady while measured: the rate was falling, from about 1,580 to 882 msg/s"),
        Reason(
            ReasonKind.CPU_WAIT,
            "load threads waited for a CPU for 0.34 s in each second",
            conclusion="this host is short of CPU",
        ),
        *NOT_KEPT_UP,
    )
    late = "the load generator itself was late, not the system: its own lag at p99 is 20 ms of a response of 30 ms"
    made = []
    for number, system in enumerate((KAFKA, PULSAR, RABBITMQ), 1):
        bad = (
            {"validity": Validity.INVALID, "reasons": reasons_of(late * 3, kind=ReasonKind.OWN_LAG)}
            if system == PULSAR
            else {}
        )
        made.append(result(peak(system, number), number, warnings=warnings, limiting=BUSY))
        made.append(result(spec(system, "latency", number + 3), number, warnings=warnings, **bad))
    note = left_out_note("rabbitmq@4.3.6", "no apt-get here. " * 9)
    return replace(stored(tmp_path, *made), notes=(note.text,) * 9, left_out=(note,) * 9)


def test_a_busy_quick_with_every_warning_fits_one_screen(tmp_path: Path) -> None:
    text = screen(busy_quick(tmp_path))
    lines = text.splitlines()
    assert len(lines) <= LINES_MAX
    assert max(map(len, lines)) <= 100
    for system in ("Kafka", "Pulsar", "RabbitMQ"):
        assert sum(line.startswith(f"{system} ") for line in lines) == 2, "a row in each table"
    assert "more remarks in `show`" in text
    assert "host CPU 100%" in text
    assert "6 of 6 trials finished, 1 INVALID." in text
    assert "Load: 1 KiB messages, 1 topic x 1 partition, 1 producer and 1 consumer, 5,000 in flight at most." in text
    assert "--repeat" not in text, "what can't be used is not repeated"
    last = " ".join(text[text.index("Exit code") :].split())
    why = "the figures may not be used: the load generator itself was late"
    assert last.startswith(f"Exit code 3: In 1 of 6 trials (latency: Pulsar) {why}")
    assert last.endswith("Close other programs, or use a machine with more CPUs. Then run it again: tidegauge quick")


def test_an_experiment_listed_at_two_rates_has_the_table_of_each(tmp_path: Path) -> None:
    slow, fast = spec(number=1), replace(spec(number=2), msgs_per_s=90_000.0)
    text = screen(stored(tmp_path, result(slow), result(fast)))
    rows = [line.split()[1] for line in text.splitlines() if line.startswith("Kafka ")]
    assert rows == ["20,000", "90,000"]


def test_what_differs_of_the_load_in_a_sweep_is_said(tmp_path: Path) -> None:
    def swept(number: int, partitions: int) -> LoadSpec:
        made = spec(number=number)
        workload = replace(made.workload, partitions=partitions)
        return replace(made, workload=workload, point={"partitions": str(partitions)})

    text = screen(stored(tmp_path, *(result(swept(number, size)) for number, size in ((1, 12), (2, 1)))))
    two = "1 KiB messages, 1 topic x 1 partition or 1 topic x 12 partitions, 1 producer and 1 consumer, 5,000"
    assert f"Load: {two}" in " ".join(text.split())
    many = [swept(number, number) for number in range(1, 7)]
    assert "x 3 partitions and 3 more, 1 producer" in brief_workloads([one.workload for one in many])
    existing = replace(many[0].workload, existing_topics=("orders",))
    assert brief_workloads([existing, many[0].workload]).startswith("topics that exist: orders; or 1 KiB messages, ")


def test_clients_of_one_topic_are_not_said_to_be_all_there_are(tmp_path: Path) -> None:
    made = spec(number=1)
    several = replace(made, workload=replace(made.workload, topics=5, subscription_type=SubscriptionType.FAILOVER))
    assert "5 topics x 1 partition, each with 1 producer and 1 consumer," in screen(stored(tmp_path, result(several)))
    assert workload_words(several.workload).endswith(
        "each topic with 1 producer and 1 failover subscription of 1 consumer."
    )


def test_nothing_follows_where_the_exit_code_is_0(tmp_path: Path) -> None:
    text = screen(stored(tmp_path, *pair()))
    assert "Exit code" not in text
    assert text.splitlines()[-1].endswith("tidegauge quick --repeat 5")


def test_each_comparison_names_the_blocks_that_it_rests_on(tmp_path: Path) -> None:
    rates = {KAFKA: (1.0, 1.01, 0.99, 1.0, 1.0), PULSAR: (1.5, 1.56, 1.49)}
    slow = {"rabbitmq@4.1.2": (0.5, 0.51, 0.5, 0.5, 0.5)}
    answer = sentence(stored(tmp_path, *repeated({**rates, **slow})))
    assert "Pulsar's is 1.52x [1.46, 1.58] Kafka's over 3 blocks: better" in answer
    assert "RabbitMQ's is 0.50x [0.50, 0.51] over 5 blocks: worse" in answer


@pytest.mark.parametrize(
    ("pulsar", "words"),
    [
        ((1.50, 1.56, 1.49), "Pulsar's is 1.52x [1.46, 1.58] Kafka's: better."),
        ((0.50, 0.52, 0.50), "worse."),
        ((1.00, 1.01, 1.00), "the same within the noise threshold (3%)."),
        ((1.20, 0.90, 1.40), "not decided, about 25 blocks would show a"),
    ],
)
def test_repeats_give_the_verdict_of_the_comparison(tmp_path: Path, pulsar: tuple[float, ...], words: str) -> None:
    answer = sentence(stored(tmp_path, *repeated({KAFKA: (1.0, 1.01, 0.99), PULSAR: pulsar})))
    assert words in answer
    assert "over 3 blocks" in answer
    assert "no evidence" not in answer


def test_single_trials_are_no_evidence(tmp_path: Path) -> None:
    run = stored(tmp_path, result(peak(KAFKA)), result(peak(PULSAR, 2), 2.0))
    assert sentence(run) == (
        "As fast as it goes, Pulsar took 247,000 msg/s and Kafka 123,000; "
        "measured once each: no evidence that the order would hold again."
    )


def test_how_steady_single_trials_were_is_said(tmp_path: Path) -> None:
    answer = sentence(store.load_run(sample_run(tmp_path, trials=1)))
    assert "least steady within its trial: " in answer


def test_what_rests_on_a_doubtful_trial_or_counts_something_says_so() -> None:
    answers = {name: verdicts(RunFacts(run_named(name)[0]))[0].sentence for name in ("search-with-doubt", "sizing")}
    assert "for Pulsar and 50,200 for Kafka (DOUBTFUL); measured once each" in answers["search-with-doubt"]
    assert answers["sizing"].startswith("Smallest number of partitions: 4 for Pulsar and 8 for Kafka;")


def test_one_system_is_compared_with_nothing(tmp_path: Path) -> None:
    answer = sentence(stored(tmp_path, result(peak(KAFKA))))
    assert "Kafka took 123,000 msg/s; measured once: another trial may differ" in answer


def test_latency_names_the_best_first_and_who_did_not_keep_up(tmp_path: Path) -> None:
    run = stored(
        tmp_path,
        *pair(
            warnings=NOT_KEPT_UP,
            msgs_per_s=8000.0,
        ),
    )
    answer = sentence(run, "latency")
    assert answer.startswith(
        "At 20,000 msg/s the response p99 was 7.80 ms for Pulsar and 12.5 for Kafka (did not keep up: 8,000 msg/s);"
    )


@pytest.mark.parametrize(
    ("changes", "words", "sure"),
    [
        ({"validity": Validity.INVALID}, "no VALID trial of Kafka", "measured once: another trial may differ"),
        ({"validity": Validity.DOUBTFUL}, "12.5 for Kafka (DOUBTFUL)", "measured once each: no evidence"),
        ({"level": LevelFinding(4, ("x",))}, "don't compare these", "the durability levels DIFFER or are unknown"),
    ],
)
def test_what_speaks_against_figures_stands_with_them(
    tmp_path: Path, changes: dict[str, object], words: str, sure: str
) -> None:
    answer = sentence(stored(tmp_path, *pair(**changes)), "latency")
    assert words in answer
    assert sure in answer


def test_lost_messages_stand_in_the_sentence_and_in_the_table(tmp_path: Path) -> None:
    fast, slow = pair()
    slow = replace(slow, subscriptions=(replace(slow.subscriptions[0], lost=3),))
    run = stored(tmp_path, fast, slow)
    assert "Kafka LOST 3 acknowledged messages" in sentence(run, "latency")
    text = screen(run)
    assert "3 LOST" in text
    assert "Exit code 1: In 1 of 2 trials (latency: Kafka) acknowledged messages were lost" in " ".join(text.split())


def test_a_backlog_at_the_windows_end_stands_in_the_table(tmp_path: Path) -> None:
    fast, slow = pair()
    for backlog, answer in ((int(0.2 * slow.msgs_per_s), False), (round(3 * slow.msgs_per_s), True)):
        late = replace(slow, subscriptions=(replace(slow.subscriptions[0], window_end_backlog=backlog),))
        text = screen(stored(tmp_path / str(answer), fast, late))
        assert (f"{backlog:,} behind" in text) == answer


def test_what_is_left_after_the_drain_is_not_intact(tmp_path: Path) -> None:
    fast, slow = pair()
    late = replace(slow, subscriptions=(replace(slow.subscriptions[0], backlog=9),))
    assert "9 behind" in screen(stored(tmp_path, fast, late))


def test_what_nobody_read_is_not_intact(tmp_path: Path) -> None:
    fast, slow = pair()
    assert "intact" in screen(stored(tmp_path / "read", fast, slow))
    text = screen(stored(tmp_path / "unread", replace(fast, subscriptions=()), replace(slow, subscriptions=())))
    assert "not checked" in text
    assert "intact" not in text


def test_short_messages_are_not_intact(tmp_path: Path) -> None:
    """They have no room for checksums, so nobody knows of damage."""
    short = [
        replace(one, spec=replace(one.spec, workload=replace(one.spec.workload, payload=Payload(10)))) for one in pair()
    ]
    text = screen(stored(tmp_path, *short))
    assert "damage not checked" in " ".join(text.split())
    assert "intact" not in text


def test_the_worst_of_a_sweeps_levels_is_not_cut(tmp_path: Path) -> None:
    made = [
        replace(result(replace(spec(number=number), point={"partitions": at})), **changes)
        for number, (at, changes) in enumerate((("1", {}), ("9", {}), ("100", {"level": LevelFinding(None, ("x",))})))
    ]
    text = " ".join(screen(stored(tmp_path, *made)).split())
    assert "At partitions=100: Durability is UNKNOWN (kafka@4.3.1, declared 3)" in text


def test_messages_of_others_are_not_intact(tmp_path: Path) -> None:
    run = replace(stored(tmp_path, *pair()), trials=())
    others = reading()
    (sub,) = others.subscriptions
    ours = replace(others, subscriptions=(replace(sub, verified=sub.received),))
    for one, checked in ((others, "not checked"), (ours, "undamaged")):
        trial = StoredTrial(tmp_path, one.spec.trial_id, "finished", "", one.spec, one, "")
        (row,) = (line for line in screen(replace(run, trials=(trial,))).splitlines() if line.startswith("Kafka "))
        assert checked in row


def test_what_a_cluster_of_others_decides_was_not_asked_for(tmp_path: Path) -> None:
    made = [
        replace(one, spec=replace(one.spec, choice=LevelChoice(4, as_found=as_found)), level=LevelFinding(4, ("x",)))
        for as_found in (True, False)
        for one in pair()
    ]
    assert "level 4 for every measured system, as found (one copy" in screen(stored(tmp_path / "found", *made[:2]))
    assert "level 4 for every measured system, as asked (one copy" in screen(stored(tmp_path / "asked", *made[2:]))


def test_where_no_level_was_asked_for_it_is_called_as_found_everywhere(tmp_path: Path) -> None:
    made = [replace(one, spec=replace(one.spec, choice=AS_FOUND), level=LevelFinding(4, ("x",))) for one in pair()]
    run = stored(tmp_path, *made)
    assert "level 4 for every measured system, as found (one copy" in screen(run)
    assert any(badge.text.startswith("Level 4 as found: settings read back") for badge in first_screen(run).badges)


def test_what_is_less_than_a_power_cut_is_said_with_its_verdict(tmp_path: Path) -> None:
    run = stored(tmp_path, *pair())
    for means, words in ((Means.CRASH, "(all; process crash, not a power cut)"), (Means.POWER, "(all)")):
        kept = attestation(means=means)
        cut = replace(run, findings=(found(attestations=(kept,)),))
        assert f"Kafka: not refuted at level 1 in 20 cuts {words}." in sentence(cut, "attest")
        badges = [badge.text for badge in first_screen(cut).badges if " cuts" in badge.text]
        assert any("process crash" in text for text in badges) is (means is Means.CRASH)


def test_cuts_of_power_are_not_called_crashes_where_a_run_has_both(tmp_path: Path) -> None:
    both = [
        found(attestations=(attestation(means=means, cuts=cuts),))
        for means, cuts in ((Means.CRASH, 5), (Means.POWER, 9))
    ]
    run = replace(stored(tmp_path, *pair()), findings=tuple(both))
    badges = [badge.text for badge in first_screen(run).badges if " cuts" in badge.text]
    assert badges == [
        "5 cuts (process crash, not a power cut): lost 0 acknowledged messages",
        "9 cuts: lost 0 acknowledged messages",
    ]


def test_messages_without_an_outcome_did_not_fail(tmp_path: Path) -> None:
    fast, slow = pair()
    text = screen(stored(tmp_path, fast, replace(slow, unresolved=7)))
    assert "7 without outcome" in " ".join(text.split())
    assert "failed" not in text


def test_there_is_something_to_act_on_where_the_exit_code_says_so(tmp_path: Path) -> None:
    fast, slow = pair()
    run = replace(stored(tmp_path, fast, replace(slow, warnings=reasons_of("a remark"))), notes=("a note",))
    assert "Nothing to act on" in screen(run)
    missed = replace(run, thresholds=("lost > 5",))
    assert "Exit code 4" in screen(missed)
    assert "Nothing to act on" not in screen(missed)


def test_a_system_without_a_result_is_missed(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "quick", "", "campaigns/quick.yaml")
    fast, slow = pair()
    run.write_plan([fast.spec, slow.spec])
    run.open_trial(fast.spec).finish(fast, totals())
    run.open_trial(slow.spec).fail("kafka-1 ended with exit code 1", False)
    run.finish("failed", "1 of 2 trials failed")
    loaded = store.load_run(run.path)
    assert "no result of Kafka" in sentence(loaded, "latency")
    text = " ".join(screen(loaded).split())
    assert "Exit code 1: 1 trial failed, first 0002-latency-kafka (kafka-1 ended with exit code 1)" in text
    assert text.count("kafka-1 ended with exit code 1") == 1, "once"
    shown = ending(loaded, reason_shown=True)
    assert "1 trial failed, first 0002-latency-kafka; 1 of 2 trials are kept" in shown.why
    assert "ended with exit code" not in rendered(run_screen(loaded, shown, 1)), "it stands above the screen"


def test_a_second_trial_that_failed_is_worth_acting_on(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "quick", "", "campaigns/quick.yaml")
    fast, slow = pair()
    run.write_plan([fast.spec, slow.spec])
    run.open_trial(fast.spec).fail("pulsar-1 was killed", False)
    run.open_trial(slow.spec).fail("kafka-1 ended with exit code 1", False)
    run.finish("failed", "2 of 2 trials failed")
    text = " ".join(screen(store.load_run(run.path)).split())
    assert text.count("pulsar-1 was killed") == 1
    assert "Kafka's latency failed: kafka-1 ended with exit code 1" in text


def test_a_sweep_is_one_sentence(tmp_path: Path) -> None:
    made = [
        result(replace(peak(system, number + 2 * place), point={"partitions": str(at)}), number * (1 + place))
        for place, at in enumerate((1, 100))
        for number, system in enumerate((KAFKA, PULSAR), 1)
    ]
    answer = sentence(stored(tmp_path, *made))
    assert "Rate over 2 points: Kafka 123,000 (partitions=1) to 247,000 msg/s (partitions=100)" in answer
    assert "at each point measured once each: no evidence" in answer


def swept(partitions: int, block: int, **changes: object) -> LoadResult:
    made = spec(KAFKA, "latency", 10 * partitions + block, block)
    return replace(result(replace(made, point={"systems.kafka.partitions": str(partitions)})), **changes)  # type: ignore[arg-type]


def test_a_sweep_has_a_table_with_the_validity_of_all_trials_at_each_point(tmp_path: Path) -> None:
    bad = {"validity": Validity.INVALID, "reasons": (Reason(ReasonKind.OTHER, "it was late"),)}
    made = [swept(n, block, **(bad if (n, block) == (2, 1) else {})) for n in range(1, 15) for block in (0, 1)]
    text = screen(stored(tmp_path, *made))
    assert "compared with nothing" not in text
    (head,) = [line for line in text.splitlines() if line.startswith("partitions ")]
    assert head.split()[-1] == "validity"
    assert len([line for line in text.splitlines() if line.endswith(" valid")]) == 11
    (row,) = [line for line in text.splitlines() if line.startswith("2  ")]
    assert row.endswith("1 of 2 INVALID")
    assert "... 2 more rows in `show`" in text
    assert max(map(len, text.splitlines())) <= 100
    assert len(text.splitlines()) <= LINES_MAX


def test_of_a_sweep_it_is_said_how_sure_it_is(tmp_path: Path) -> None:
    once = sentence(stored(tmp_path, *[swept(n, 0) for n in (1, 2)]), "latency")
    assert "measured once at each point: no evidence that points differ by more than chance" in once
    twice = sentence(stored(tmp_path, *[swept(n, block) for n in (1, 2) for block in (0, 1)]), "latency")
    assert "2 not decided, since 2 blocks give no interval (3 do)" in twice


@pytest.mark.parametrize("repeats", [1, 2, 3])
def test_of_a_sweep_over_several_axes_it_is_said_once_that_repeats_are_too_few(tmp_path: Path, repeats: int) -> None:
    corners = [(n, acks, block) for n in (1, 2) for acks in ("1", "all") for block in range(repeats)]
    trials = [
        replace(one, spec=replace(one.spec, trial_id=f"{place:04d}-x", point={**one.spec.point, "acks": acks}))
        for place, (n, acks, block) in enumerate(corners, 1)
        for one in [swept(n, block)]
    ]
    said = sentence(stored(tmp_path, *trials), "latency")
    assert said.count("give no interval (3 do)") == (repeats == 2)


def test_points_are_looked_for_in_a_report_that_is_there(tmp_path: Path) -> None:
    findings = tuple(
        Finding(
            f"{place}-search", "max-throughput", KAFKA, 0, True, ("it was so",),
            figures={"sustainable_msgs_per_s": 1000.0 * place}, point={"partitions": str(place)},
        )
        for place in (1, 2, 3)
    )  # fmt: skip
    run = replace(stored(tmp_path, *pair()), findings=findings, path=tmp_path)
    assert "... each point in `show`\n" in screen(run)
    (tmp_path / REPORT_NAME).write_text("")
    assert "... each point in `show` and the report\n" in screen(run)


def test_many_experiments_are_cut_and_say_so(tmp_path: Path) -> None:
    made = [result(spec(KAFKA, f"load-{number}", number)) for number in range(1, 6)]
    text = screen(stored(tmp_path, *made))
    assert "... 2 more experiments in `show`\n" in text
    assert len(text.splitlines()) <= LINES_MAX


def found(**changes: object) -> Finding:
    made = Finding("1-attest", "attest", KAFKA, 0, True, ("it was so",))
    return replace(made, **changes)  # type: ignore[arg-type]


Change = Callable[[StoredRun], StoredRun]


@pytest.mark.parametrize(
    ("change", "end", "code", "words"),
    [
        (lambda run: run, End.GOOD, 0, ""),
        (lambda run: replace(run, status="interrupted"), End.INTERRUPTED, 130, "Interrupted; 2 of 2 trials are kept."),
        (lambda run: replace(run, status="failed", reason="no Java"), End.FAILED, 1, "No Java; 2 of 2 trials are"),
        (lambda run: replace(run, thresholds=("lost > 5",)), End.THRESHOLD, 4, "1 of 1 threshold missed, first"),
        (lambda run: replace(run, findings=(found(refuted=True),)), End.REFUTED, 5, "durability is refuted."),
        (lambda run: replace(run, findings=(found(decided=False),)), End.INVALID, 3, "Attest has no answer for Kafka"),
    ],
)  # fmt: skip
def test_each_end_has_its_code_its_reason_and_a_command(
    tmp_path: Path, change: Change, end: End, code: int, words: str
) -> None:
    ended = ending(change(stored(tmp_path, *pair())), ".venv/bin/tidegauge")
    assert (ended.end, CODES[ended.end]) == (end, code)
    assert words in ended.why
    assert (".venv/bin/tidegauge" in ended.what) is (end is not End.GOOD)


def test_a_resumable_run_is_gone_on_with_and_another_started_again(tmp_path: Path) -> None:
    run = replace(stored(tmp_path, *pair()), status="interrupted")
    assert ending(run).what == "Start it again: tidegauge quick"
    assert "tidegauge run --resume " in ending(replace(run, meaning={})).what


@pytest.mark.parametrize("status", ["interrupted", "failed"])
def test_a_run_that_measured_nothing_is_started_again(tmp_path: Path, status: str) -> None:
    run = replace(stored(tmp_path, *pair()), status=status, meaning={})
    nothing = tuple(replace(trial, status=status, result=None) for trial in run.trials)
    assert ending(replace(run, trials=nothing)).what == "Start it again: tidegauge quick"
    assert "--resume" in ending(run).what
    begun = (replace(nothing[0], measuring={"began": 1}), *nothing[1:])
    assert "--resume" in ending(replace(run, trials=begun)).what


def test_what_a_client_refuses_is_to_be_changed_and_not_gone_on_with(tmp_path: Path) -> None:
    run = replace(stored(tmp_path, *pair()), status="failed", meaning={})
    first, last = run.trials
    refused = replace(run, trials=(first, replace(last, status="failed", result=None, settings_refused=True)))
    assert ending(refused).what == "Change what the client refuses, and start it again: tidegauge quick"
    by_options = replace(refused, campaign_path=str(refused.path / "campaign.yaml"))
    assert ending(by_options).what == "Change what the client refuses, and start it again."
    others = replace(refused.trials[1], settings_refused=False)
    for may_go_on in ((*refused.trials, others), refused.trials[:1]):
        assert "--resume" in ending(replace(refused, trials=may_go_on)).what, "a trial is left that may get a result"


def test_a_run_of_ombs_files_is_started_again_as_one(tmp_path: Path) -> None:
    run = replace(stored(tmp_path, *pair()), status="failed", campaign_path="omb/w.yaml", path=tmp_path / "run")
    keep_omb_files(run.path, {"workload-w.yaml": "name: w\n", "driver-k.yaml": "name: k\n"})
    assert ending(run).what.startswith("Start it again: tidegauge omb omb/w.yaml --driver k.yaml (")


def test_the_command_to_run_again_has_every_option_that_was_given(tmp_path: Path) -> None:
    given = {"durability": 4, "systems": ["kafka", "pulsar"], "thresholds": ["lost == 0"], "repeat": 2}
    run = replace(stored(tmp_path, *pair()), status="interrupted", overrides=given)
    options = "--level 4 --systems kafka --systems pulsar --threshold 'lost == 0'"
    assert ending(run).what == f"Start it again: tidegauge quick {options} --repeat 2"
    assert again_words(run, "tidegauge", 7) == f"tidegauge quick {options} --repeat 7"


def test_more_repeats_are_more_than_there_were(tmp_path: Path) -> None:
    run = stored(tmp_path, *repeated({KAFKA: (1.0, 1.4, 0.8, 1.1, 0.9)}))
    run = replace(run, thresholds=("msgs_per_s > 123000",))
    open_ = ending(run)
    assert "could not be decided" in open_.why
    assert open_.what.endswith("--repeat 10")


def test_more_repeats_of_a_run_of_another_tools_files_are_an_option(tmp_path: Path) -> None:
    keep_omb_files(tmp_path, {"workload-w.yaml": "name: w\n", "driver-k.yaml": "name: k\n"})
    run = replace(stored(tmp_path, *pair()), path=tmp_path, campaign_path="omb/w.yaml")
    assert again_words(run, "tidegauge").endswith("and the options that you gave)")
    assert again_words(run, "tidegauge", 5).endswith("and the options that you gave, with --repeat 5)")


def test_a_busy_machine_is_named_with_its_figures(tmp_path: Path) -> None:
    bad: Sequence[LoadResult] = pair(
        validity=Validity.INVALID, reasons=reasons_of("the generator was late"), limiting=BUSY
    )
    assert ending(stored(tmp_path, *bad)).why == (
        "In 1 of 2 trials (latency: Kafka) the figures may not be used: the generator was late. "
        "CPUs were busy (100% of 2 CPUs: servers 0.38, everything else 1.44)."
    )
    of_fleet = [replace(one, limiting=replace(BUSY, subject="of 10.0.0.2")) for one in bad]
    assert " CPUs of 10.0.0.2 were busy (100% of 2 CPUs" in ending(stored(tmp_path / "fleet", *of_fleet)).why


def test_advice_is_given_once_for_each_kind_and_the_rest_is_counted(tmp_path: Path) -> None:
    own = (
        Reason(ReasonKind.UNSTEADY, "not steady while measured: x"),
        Reason(ReasonKind.WARM_UP_UNSTEADY, "the warm-up never became steady: y"),
        Reason(ReasonKind.GARBAGE_COLLECTION, "the worker spent 7% of the window in garbage collection"),
    )
    worth = worth_acting_on(RunFacts(replace(stored(tmp_path, *pair(warnings=own)), notes=("a node was slow",))))
    (one,) = worth.advice
    assert one.text.startswith("In 1 of 2 trials (latency: Kafka) figures still moved")
    assert "campaigns/careful.yaml" in one.remedy
    assert worth.more == 2


MOVED = Reason(ReasonKind.UNSTEADY, "not steady while measured: x")
MOVED_BEFORE = Reason(ReasonKind.WARM_UP_UNSTEADY, "the warm-up never became steady: y")


@pytest.mark.parametrize(
    ("messages", "reasons", "remedy"),
    [
        ((0, 0), (MOVED,), "measure longer"),
        ((50_000, 50_000), (MOVED, MOVED_BEFORE), "measure more messages"),
        ((50_000, 0), (MOVED,), "measure longer, or more messages"),
        ((0, 50_000), (MOVED_BEFORE,), "allow a longer warm-up"),
    ],
)
def test_what_makes_figures_steadier_is_what_these_trials_can_have_more_of(
    tmp_path: Path, messages: Sequence[int], reasons: Sequence[Reason], remedy: str
) -> None:
    results = [
        replace(one, spec=replace(one.spec, messages=each), warnings=tuple(reasons))
        for one, each in zip(pair(), messages, strict=True)
    ]
    run = stored(tmp_path, *results)
    (quick,) = worth_acting_on(RunFacts(run)).advice
    assert quick.remedy == f"{remedy} (campaigns/careful.yaml does)"
    (own,) = worth_acting_on(RunFacts(replace(run, campaign_path="own.yaml"))).advice
    assert own.remedy == remedy, "its trials may be as long as those of the careful campaign, or longer"


@pytest.mark.parametrize("kind", ["invalid trial", "failed trial", "failed run", "undecided"])
def test_where_a_long_reason_of_the_exit_code_is_whole_is_said_and_so(tmp_path: Path, kind: str) -> None:
    long = f"Because of {' '.join(f'word-{number}' for number in range(90))}"
    run = run_that_ended(tmp_path, kind, long)
    ended = ending(run)
    assert long in ended.why
    last = screen(run).partition("Exit code")[2]
    assert "word-89" not in last
    assert "... (whole in `show`)" in " ".join(last.split())
    assert long in " ".join(rendered(run_report(run)).split()), "`show` has all of it"


def run_that_ended(directory: Path, kind: str, why: str) -> StoredRun:
    """A run whose exit code is decided by something with this reason."""
    if kind == "invalid trial":
        return stored(directory, result(spec(), validity=Validity.INVALID, reasons=reasons_of(why)))
    run = stored(directory, result(spec()))
    if kind == "failed run":
        return replace(run, status="failed", reason=why)
    if kind == "failed trial":
        (trial,) = run.trials
        failed = replace(trial, status="failed", reason=why, result=None)
        return replace(run, status="failed", trials=(failed,))
    return replace(run, findings=(found(decided=False, summary=(why,)),))


def test_a_level_that_is_not_as_asked_begins_everything(tmp_path: Path) -> None:
    run = stored(tmp_path, *pair(level=LevelFinding(4, ("journalSyncData=false",), ("journalSyncData is false",))))
    assert level_phrase(run) == "At levels that DIFFER"
    assert "Durability is NOT EQUAL" in screen(run)
    assert worth_acting_on(RunFacts(run)).advice[0].bad
    assert level_phrase(stored(tmp_path / "as-asked", *pair())).startswith(
        "At level 3 (one copy on disk; settings read"
    )


def test_a_long_name_takes_two_lines_and_does_not_split_the_table(tmp_path: Path) -> None:
    window = Limiting(Resource.WINDOW, "", 0.92, "92% of the time")
    results = [
        result(replace(peak(system, number), choice=LevelChoice(3, form)), number, limiting=window)
        for number, (system, form) in enumerate([(KAFKA, ""), (RABBITMQ, "quorum")], 1)
    ]
    text = screen(stored(tmp_path, *results))
    assert text.count("validity") == 1
    assert "in-flight window 92%" in text
    assert "\n(quorum)" in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_table_stays_in_one_piece_whatever_became_of_messages(tmp_path: Path) -> None:
    """What limited trials, and then end-to-end times, give way to what was lost, and `show` has them."""
    bad = {"validity": Validity.INVALID, "reasons": reasons_of("short of CPU"), "limiting": BUSY}
    made = [
        result(peak(system, number), failed=1_234_567, unresolved=51_200, **bad)
        for number, system in enumerate((KAFKA, PULSAR), 1)
    ]
    (heads,) = [line for line in screen(stored(tmp_path, *made)).splitlines() if "validity" in line]
    assert heads.split() == ["msg/s", "p50", "p99", "messages", "validity"]


def test_a_load_generator_that_keeps_the_messages_itself_has_no_servers_anywhere(tmp_path: Path) -> None:
    claimed = EarlierCuts(CutsStanding.CLAIMED_ONLY)
    (one, _) = [
        replace(
            one, spec=replace(one.spec, serverless=True), level=LevelFinding(3, ("in memory only",), attested=claimed)
        )
        for one in pair()
    ]
    run = replace(stored(tmp_path, one), environment={"host": {"cpus": 2, "disks": {"/x": {"file_system": "ext4"}}}})
    answered = first_screen(run)
    words = " ".join(
        [
            *screen(run).split(),
            details_of_run(run),
            answered.title,
            *answered.unsaid,
            *(b.text + b.sentence for b in answered.badges),
        ]
    )
    for untrue in ("running servers", "data on", "power cut", "attested", "claimed"):
        assert untrue not in words.lower(), untrue
    assert "Clients ran on it; there were no servers." in words
    assert "(one copy on disk when acknowledged): there are no servers." in words


def details_of_run(run: StoredRun) -> str:
    """All that `show` says of it."""
    return " ".join(rendered(run_report(run)).split())


def test_what_a_level_is_worth_is_not_cut_off(tmp_path: Path) -> None:
    caveat = (
        "topic tidegauge-2026-11-30T08-09-07-unclean-attached-4f79c17f-0: unclean.leader.election.enable=true: a "
        "replica that is not in sync may be made leader, and what it lacks is lost, although it was acknowledged"
    )
    (one, _) = [replace(one, level=LevelFinding(3, ("x",), caveats=(caveat,))) for one in pair()]
    assert "what it lacks is lost, although it was acknowledged." in " ".join(screen(stored(tmp_path, one)).split())


def test_a_threshold_of_what_a_search_found_by_a_doubtful_confirmation_says_so(tmp_path: Path) -> None:
    goal = GoalFound(
        decided=True, sustainable_msgs_per_s=5e4, confirmation_trial_id="0001-max-throughput-kafka-confirm"
    )
    found = Finding(
        "0001-max-throughput-kafka", "max-throughput", KAFKA, 0, True, ("it was so",), figures={SUSTAINABLE: 5e4}
    ).with_goals([goal])
    step = replace(spec(experiment="max-throughput"), trial_id=goal.confirmation_trial_id or "", exploratory=True)

    def why(validity: Validity) -> str:
        run = stored(tmp_path / validity.value, result(step, validity=validity, reasons=reasons_of("late")))
        (ruling,) = rulings(replace(run, findings=(found,), thresholds=("sustainable_msgs_per_s > 1000",)))
        return ruling.why

    assert "(DOUBTFUL)" in why(Validity.DOUBTFUL)
    assert "(DOUBTFUL)" not in why(Validity.VALID)


def test_nothing_is_intact_where_no_message_came(tmp_path: Path) -> None:
    none = [replace(one, acked=0, subscriptions=(replace(one.subscriptions[0], received=0),)) for one in pair()]
    text = screen(stored(tmp_path, *none))
    assert "intact" not in text and "not checked" in text


def test_systems_whose_survival_of_cuts_is_untested_are_named_where_others_was(tmp_path: Path) -> None:
    untested, cut = (EarlierCuts.from_text(text) for text in ("claimed only", "attested: 0 lost in 20 cuts (all)"))
    kept = LevelFinding(3, ("flush.messages=1",))
    of_both = [
        result(spec(system, number=number), level=replace(kept, attested=attested))
        for number, (system, attested) in enumerate(((KAFKA, cut), (PULSAR, untested)), 1)
    ]
    assert "survival of power cuts not tested of Pulsar." in " ".join(screen(stored(tmp_path, *of_both)).split())
    alone = screen(stored(tmp_path / "alone", of_both[1]))
    assert "survival of power cuts not tested." in " ".join(alone.split())


def test_an_attestation_says_what_was_at_risk_and_how_sure_it_is(tmp_path: Path) -> None:
    run, _ = run_named("sample")
    (judged,) = judge_scenarios(1, 3, [Scenario.ALL], cut_outcome(cut_cycle()), cut_outcome(cut_cycle(lost=300)))
    cells = attest_cells(LevelChoice(1), judged)
    finding = Finding("1-attest", "attest", KAFKA, 0, True, ("20 cuts",), (cells,), {}, attestations=(attestation(),))
    lines = screen(replace(run, findings=(finding,))).splitlines()
    head = next(line for line in lines if "at risk" in line)
    row = lines[lines.index(head) + 1]
    assert head.split()[:9] == ["system", "level", "scenario", "expected", "observed", "cuts", "at", "risk", "lost"]
    assert "cut loses" in head
    assert f"{judged.judgement.at_risk:,}" in row
    assert str(cells["cut loses"]) in row


def test_where_consumers_process_messages_it_is_until_then_that_counts(tmp_path: Path) -> None:
    run = stored(tmp_path, processing_at(1, 9.0), processing_at(4, 2.0))
    answer = sentence(run, "latency")
    assert "Until processed p99 over 2 points: Kafka 15.6 (consumers=4) to 70.2 ms (consumers=1)" in answer
    assert "until processed, ms" in screen(run)
    (swept,) = swept_tables(RunFacts(run).compared_trials)
    assert leading_chart(swept.compared_trials).figure is FIGURES["processed_ms_p99"]
    titles = [plot.title for plot in sweep_plots(swept, "s")]
    assert any("Until processed, p99" in title for title in titles), titles


def test_where_not_all_process_it_is_the_response(tmp_path: Path) -> None:
    run = stored(tmp_path, processing_at(1, 9.0), result(replace(spec(number=4), point={"consumers": "4"})))
    assert "until processed" not in sentence(run, "latency")
    unknown = stored(tmp_path / "unknown", processing_at(1, None), processing_at(4, None))
    assert "Response p99" in sentence(unknown, "latency")
    assert "until processed" not in screen(unknown)
