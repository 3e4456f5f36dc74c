"""What a run found, rendered: it fits 100 columns, cuts nothing, and claims no more than the trials show."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from attestation_samples import SPEC, attested, cycle, outcome
from reasons import reasons_of
from run_samples import latency, result, spec, totals
from shown_runs import pair, peak, rendered, repeated, stored
from variant_samples import p99_result
from variant_samples import run_of as run_of_results

from tidegauge import store
from tidegauge.comparison.compared_trials import ComparedTrials
from tidegauge.model.disturbance import HostAccount
from tidegauge.model.finding import Finding
from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.reason import ReasonKind
from tidegauge.model.trial import CONFIRMATION, LoadSpec, RateRule, Validity
from tidegauge.report.ending import ending
from tidegauge.report.html.answer import answer
from tidegauge.report.html.first_table import first_table
from tidegauge.report.levels import caveats, headline
from tidegauge.report.lists import ShownPlan, plan_list, runs_list
from tidegauge.report.loads import measured_words
from tidegauge.report.names import names_of
from tidegauge.report.screen import run_screen
from tidegauge.report.summary import run_summary
from tidegauge.report.tables import figure_table
from tidegauge.report.terminal import run_report
from tidegauge.report.verdicts import level_phrase
from tidegauge.statistics.figures import FINDING_FIGURES

NAME = "sustainable_msgs_per_s"
SYSTEMS = ("pulsar@4.2.4", "kafka@4.3.1")


GOLDEN = """\
Run quick, started : finished, 4 of 4 trials finished.

Durability: level 3 for every measured system, as asked, read back from the running servers: when a
message is acknowledged, at least one replica has fsynced it.
  - kafka@4.3.1: level 3: one node: no replication; flush.messages=1: fsync before the
    acknowledgement
  - pulsar@4.2.4: level 3: one node: no replication; flush.messages=1: fsync before the
    acknowledgement

Response time: from the intended send to the acknowledgement. Service: from the actual send to the
acknowledgement. End-to-end: from the intended send to the receipt. Backlog: acknowledged messages
not received when the measured window ended (end), and those left after the drain (left). MB/s: 10^6
bytes of message values a second.

peak: as fast as it goes (closed loop), 30 s measured
1 KiB messages; 1 topic of 1 partition, each topic with 1 producer and 1 subscription of 1 consumer.
Clients, as asked: batches to 128 KiB or 1 ms, compression none, at most 5,000 messages in flight
for each producer.

               rate --------   response time, ms -------------------   service, ms   end-to-end, ms
system           msg/s  MB/s    p50   p95   p99  p99.9  p99.99   max           p99        p50   p99
kafka@4.3.1    172,839   177   1.68  4.76  10.9   29.8    44.1  61.7          8.74       2.18  14.2
pulsar@4.2.4   123,457   126   1.20  3.40  7.80   21.3    31.5  44.1          6.24       1.56  10.1

               backlog     messages -----------------------------------   CPU, cores ---
system         end  left   lost  duplicated  reordered  corrupt  failed   client  server   validity
kafka@4.3.1      0     0      0           0          0        0       0     0.42    1.04   valid
pulsar@4.2.4     0     0      0           0          0        0       0     0.42    1.04   valid

Closed loop: the next message waits for an earlier one, so these times hide waiting; compare latency
at a fixed rate.

latency: at 20,000 msg/s (50% of lowest peak), open loop, uniform arrivals, 30 s measured
1 KiB messages; 1 topic of 1 partition, each topic with 1 producer and 1 subscription of 1 consumer.
Clients, as asked: batches to 128 KiB or 1 ms, compression none, at most 5,000 messages in flight
for each producer.

               rate -------   response time, ms -------------------   service, ms   end-to-end, ms
system          msg/s  MB/s    p50   p95   p99  p99.9  p99.99   max           p99        p50   p99
kafka@4.3.1    20,000  20.5   1.92  5.44  12.5   34.1    50.4  70.6          9.98       2.50  16.2
pulsar@4.2.4   20,000  20.5   1.20  3.40  7.80   21.3    31.5  44.1          6.24       1.56  10.1

               backlog     messages -----------------------------------   CPU, cores ---
system         end  left   lost  duplicated  reordered  corrupt  failed   client  server   validity
kafka@4.3.1      0     0      0           0          0        0       0     0.42    1.04   valid
pulsar@4.2.4     0     0      0           0          0        0       0     0.42    1.04   valid

Compared
  - peak: pulsar@4.2.4's rate is 0.71x kafka@4.3.1's (123,457 against 172,839 msg/s); one trial each
    is no evidence of a difference.
  - latency: pulsar@4.2.4's response p99 is 0.62x kafka@4.3.1's (7.80 against 12.5 ms); one trial
    each is no evidence of a difference.
  - latency: pulsar@4.2.4's end-to-end p99 is 0.62x kafka@4.3.1's (10.1 against 16.2 ms); one trial
    each is no evidence of a difference.
To see whether a difference is more than chance, repeat the trials:
  tidegauge run campaigns/quick.yaml --repeat 5

Next steps
  run directory:  runs/2026-11-21T03-24-36-quick
  each second:    trials/*/seconds.parquet    whole distributions: trials/*/*.hlog
  settings read back: trials/*/settings.json    server and worker logs: trials/*/logs/
  again:          tidegauge show runs/2026-11-21T03-24-36-quick    (--json: every figure)
"""


def test_golden_at_100_columns(tmp_path: Path) -> None:
    peaks = [result(peak("pulsar@4.2.4")), result(peak("kafka@4.3.1", 2), 1.4)]
    latencies = [replace(one, spec=replace(one.spec, trial_id=f"{n}-x")) for n, one in enumerate(pair(), 3)]
    assert rendered(run_report(stored(tmp_path, *peaks, *latencies))) == GOLDEN


@pytest.mark.parametrize("width", [80, 100, 140])
def test_no_line_is_longer_than_the_width_and_nothing_is_cut(tmp_path: Path, width: int) -> None:
    huge = replace(
        result(peak("kafka@/opt/distributions/kafka-4.3.1-patched-build", 3), 80.0),
        worker_cpu_s=12_345.6,
        reasons=reasons_of("the generator was late " * 12),
        validity=Validity.INVALID,
    )
    lossy = replace(
        huge.subscriptions[0], lost=123_456_789, duplicated=987_654_321, reordered=1_000_000, backlog=5_000_000
    )
    results = [result(peak("pulsar@4.2.4")), replace(huge, subscriptions=(lossy,)), *pair()]
    text = rendered(run_report(stored(tmp_path, *results)), width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    for figure in ("123,456,789", "987,654,321", "1,000,000", "5,000,000", "INVALID"):
        assert figure in text
    assert text.isascii()


def test_too_few_samples_are_a_dash_with_a_footnote(tmp_path: Path) -> None:
    text = rendered(run_report(stored(tmp_path, *pair(response=latency(1.0, 500)))))
    (row,) = re.findall(r"^kafka@4\.3\.1 +20,000.*$", text, re.MULTILINE)
    assert row.split()[3:9] == ["1.20", "3.40", "-", "-", "-", "44.1"]
    assert "'-': too few samples (p99.99 needs 100,000, p99.9 10,000" in text
    assert "'-'" not in rendered(run_report(stored(tmp_path, *pair())))


def test_reasons_warnings_and_errors_stand_below(tmp_path: Path) -> None:
    bad = pair(
        validity=Validity.DOUBTFUL,
        reasons=reasons_of("3 acknowledged messages got lost (sub-0)"),
        warnings=reasons_of("load threads waited for a CPU", kind=ReasonKind.CPU_WAIT),
        errors=(("send", "TimeoutException", 4),),
    )
    text = rendered(run_report(stored(tmp_path, *bad)))
    assert "kafka@4.3.1 is DOUBTFUL: 3 acknowledged messages got lost (sub-0)" in text
    assert "kafka@4.3.1: load threads waited for a CPU" in text
    assert "4 errors in send: TimeoutException" in text
    assert "Some of these figures are doubtful" in text


def test_what_was_noted_while_it_ran_is_reported_again(tmp_path: Path) -> None:
    run = replace(stored(tmp_path, *pair()), notes=("rabbitmq@4.3.6 is left out: no apt-get here.",))
    assert "Note: rabbitmq@4.3.6 is left out: no apt-get here." in rendered(run_report(run))


def test_unequal_levels_are_not_compared(tmp_path: Path) -> None:
    weaker = pair(level=LevelFinding(4, ("journalSyncData=false",), ("journalSyncData is false, not true",)))
    text = rendered(run_report(stored(tmp_path, *weaker)))
    assert "Durability is NOT EQUAL (kafka@4.3.1 level 4, pulsar@4.2.4 level 3): don't compare these figures." in text
    assert "kafka@4.3.1: level 4, asked for level 3: journalSyncData=false" in text
    assert "kafka@4.3.1: differs from what was asked: journalSyncData is false, not true" in text
    assert "x kafka" not in text
    assert "not compared, since the systems are not known to give the same durability level" in text


def test_a_level_that_could_not_be_read_back_is_unknown(tmp_path: Path) -> None:
    text = rendered(run_report(stored(tmp_path, *pair(level=LevelFinding(None, ("no right to read",))))))
    assert "kafka@4.3.1 level unknown, declared 3" in text
    assert "kafka@4.3.1: level unknown, declared 3: no right to read" in text


def test_what_must_be_read_with_a_level_is_said_with_it(tmp_path: Path) -> None:
    level = LevelFinding(3, ("flush.messages=1",), caveats=("topic t: unclean.leader.election.enable=true: lost",))
    run = stored(tmp_path, *pair(level=level))
    assert headline(run.results).endswith(" But kafka@4.3.1, topic t: unclean.leader.election.enable=true: lost.")
    assert "kafka@4.3.1: to be read with its level: topic t: unclean.leader" in rendered(run_report(run))
    assert "with a caveat" in level_phrase(run)
    assert "with a caveat" not in level_phrase(stored(tmp_path / "other", *pair()))


def test_what_is_to_be_read_with_a_controls_level_is_not_said_of_the_level() -> None:
    caveat = LevelFinding(2, (), caveats=("sync_interval=120s: so long may acknowledged messages be in memory only",))
    cuts = attested(SPEC, outcome(cycle()))
    control = replace(cuts, spec=replace(SPEC, attest=replace(SPEC.attest, control=True)), level=caveat)
    assert caveats([cuts, control]) == {}
    assert len(caveats([replace(cuts, level=caveat), control])) == 1


def test_a_controls_form_is_not_that_of_what_is_attested(tmp_path: Path) -> None:
    cuts = attested(replace(SPEC, choice=LevelChoice(3, "quorum")), outcome(cycle()))
    weaker = replace(SPEC, trial_id=f"{SPEC.trial_id}-control", choice=LevelChoice(4, "classic"))
    control = replace(cuts, spec=replace(weaker, attest=replace(SPEC.attest, control=True)))
    names = names_of(stored(tmp_path, cuts, control))
    assert names.form(SPEC.system) == "quorum"
    assert names.label(SPEC.system) == f"{SPEC.system} (quorum)"


def test_equal_but_not_as_asked_says_so(tmp_path: Path) -> None:
    found = [replace(result, spec=replace(result.spec, choice=LevelChoice(4, "bypass"))) for result in pair()]
    text = rendered(run_report(stored(tmp_path, *found)))
    assert "level 3 for every measured system, NOT AS ASKED" in text


def test_no_logs_of_servers_of_others_are_told(tmp_path: Path) -> None:
    attached = [replace(one, spec=replace(one.spec, attached=True)) for one in pair()]
    for directory, results, whose in (
        (tmp_path / "a", pair(), "server and worker"),
        (tmp_path / "b", attached, "worker"),
    ):
        text = rendered(run_report(stored(directory, *results)), 100)
        assert f"settings.json    {whose} logs: trials/*/logs/" in text


def test_an_invalid_only_trial_is_not_compared(tmp_path: Path) -> None:
    text = rendered(run_report(stored(tmp_path, *pair(validity=Validity.INVALID, reasons=reasons_of("late")))))
    assert "latency: not compared with kafka@4.3.1, which has no valid trial." in text


def test_repeats_show_min_median_max_without_the_invalid(tmp_path: Path) -> None:
    results = repeated({"kafka@4.3.1": (1.0, 1.1, 1.2), "pulsar@4.2.4": (2.0, 2.1, 2.2)})
    results[0] = replace(results[0], validity=Validity.INVALID, msgs_per_s=1.0)
    text = rendered(run_report(stored(tmp_path, *results)))
    rows = dict(re.findall(r"^(kafka@4\.3\.1 (?:min|median|max)) +(\d+,\d+) ", text, re.MULTILINE))
    assert rows == {"kafka@4.3.1 min": "135,802", "kafka@4.3.1 median": "141,975", "kafka@4.3.1 max": "148,148"}
    validities = re.findall(r"^kafka@4\.3\.1 (min|median|max) .*  (\d of 3 \w+)$", text, re.MULTILINE)
    assert validities == [(row, "1 of 3 INVALID") for row in ("min", "median", "max")]
    assert "trials used: kafka@4.3.1 2 of 3, pulsar@4.2.4 3 of 3" in " ".join(text.split())
    flat = " ".join(text.split())
    assert "peak: pulsar@4.2.4's rate is 1.87x kafka@4.3.1's, 2 blocks" in flat, "blocks that both have"
    assert "not decided, since 2 blocks give no interval (3 do)." in flat
    assert "no evidence" not in text


@pytest.mark.parametrize(
    ("pulsar", "verdict"),
    [
        ((1.50, 1.56, 1.49), "1.52x [1.46, 1.58] kafka@4.3.1's, 3 blocks (187,204 against 123,453 msg/s): better."),
        ((0.50, 0.52, 0.50), "worse."),
        ((1.00, 1.01, 1.00), "the same within the noise threshold (3%)."),
        ((1.20, 0.90, 1.40), "not decided, about 25 blocks would show a difference of 15%."),
    ],
)
def test_repeats_give_a_verdict(tmp_path: Path, pulsar: tuple[float, ...], verdict: str) -> None:
    results = repeated({"kafka@4.3.1": (1.0, 1.01, 0.99), "pulsar@4.2.4": pulsar})
    run = stored(tmp_path, *results)
    text = rendered(run_report(run))
    assert verdict in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 100
    assert "of 20 comparisons of equal systems about one shows a difference" in " ".join(text.split())
    (compared,) = run_summary(run)["experiments"][0]["comparisons"]
    assert verdict in compared["sentence"]
    assert compared["comparison"]["interval"]["blocks"] == 3
    assert compared["comparison"]["verdict"] in verdict
    assert ("campaigns/quick.yaml --repeat 25" in text) is ("not decided" in verdict)


def test_the_command_to_repeat_has_the_options_that_were_given(tmp_path: Path) -> None:
    run = replace(stored(tmp_path, *pair()), overrides={"durability": 4, "systems": ["kafka", "pulsar"]})
    command = "tidegauge run campaigns/quick.yaml --level 4 --systems kafka --systems pulsar --repeat 5"
    assert command in rendered(run_report(run))


def test_without_a_common_block_each_side_stands_for_itself(tmp_path: Path) -> None:
    results = repeated({"kafka@4.3.1": (1.0, 1.01, 0.99, 1.0), "pulsar@4.2.4": (2.0, 2.1, 2.0, 2.05)})
    spoilt = [replace(result, validity=Validity.INVALID, reasons=reasons_of("late")) for result in results]
    results = [*results[:2], *spoilt[2:4], *spoilt[4:6], *results[6:]]
    assert "2 and 2 blocks, not paired" in " ".join(rendered(run_report(stored(tmp_path, *results))).split())


def test_rates_that_were_searched_for_are_compared_too(tmp_path: Path) -> None:
    found = [
        Finding(f"{block}-{system}", "max-throughput", system, block, True, ("x",), figures={NAME: rate + block})
        for system, rate in (("kafka@4.3.1", 50_000.0), ("pulsar@4.2.4", 40_000.0))
        for block in range(3)
    ]
    run = replace(stored(tmp_path, *pair()), findings=tuple(found))
    text = " ".join(rendered(run_report(run)).split())
    assert "max-throughput: pulsar@4.2.4's sustainable rate is 0.80x [0.76, 0.84] kafka@4.3.1's, 3 blocks" in text
    assert run_summary(run)["finding_comparisons"][0]["name"] == NAME
    open_question = replace(run, findings=tuple(replace(finding, decided=False) for finding in found))
    assert "sustainable rate is" not in rendered(run_report(open_question))


def test_what_runs_of_earlier_days_found_is_still_read() -> None:
    old = Finding("1", "max-throughput", "kafka", 0, True, (), details={"goals": [{NAME: 40_000.0}]})
    assert FINDING_FIGURES[NAME].value_in(old) == 40_000.0
    assert FINDING_FIGURES[NAME].value_in(replace(old, details={})) is None


def test_own_client_settings_do_not_part_systems_but_are_reported(tmp_path: Path) -> None:
    fast, slow = pair()
    own = replace(slow.spec.workload, producer_overrides={"kafka": {"linger.ms": "5"}})
    text = rendered(run_report(stored(tmp_path, fast, replace(slow, spec=replace(slow.spec, workload=own)))))
    assert text.count("end-to-end, ms") == 1
    assert "kafka@4.3.1 has its own producer settings: linger.ms=5." in text


def test_unfinished_trials_name_their_reason_and_logs(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "quick", "")
    run.write_plan([spec(), spec(number=2)])
    trial = run.open_trial(spec())
    (trial.log_directory / "kafka-1.log").write_text("x")
    trial.fail("kafka-1 ended with exit code 1", False)
    run.open_trial(spec(number=2)).fail("it too", False, run.path / "trials/0002-latency-kafka/logs")
    reason = "2 of 2 trials failed: kafka-1 ended with exit code 1"
    run.finish("failed", reason, [spec().trial_id, spec(number=2).trial_id])
    text = rendered(run_report(store.load_run(run.path)), 140)
    assert "failed, 0 of 2 trials finished" in text
    assert "No trial has finished" in text
    assert "0001-latency-kafka: failed: kafka-1 ended with exit code 1" in text
    assert text.count("    logs: ") == 1, "a log that the reason names, and an empty directory, are not shown again"
    assert "Reason:" not in text, "shown with the trials"


def test_an_interrupted_trial_is_reported_once(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "quick", "")
    run.write_plan([spec()])
    run.open_trial(spec()).fail("interrupted", True)
    run.finish("interrupted", "interrupted by the user")
    text = rendered(run_report(store.load_run(run.path)), 140)
    assert "0001-latency-kafka: interrupted\n" in text.replace(" \n", "\n")
    assert "interrupted: interrupted" not in text


def test_a_reason_that_no_trial_gives_is_shown_also_where_it_contains_that_of_one(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "quick", "")
    run.open_trial(spec()).fail("Kafka", False)
    run.finish("failed", "There is no version 9.9 of Kafka.")
    assert "Reason: There is no version 9.9 of Kafka." in rendered(run_report(store.load_run(run.path)))


def test_the_host_is_reported(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "quick", "")
    run.open_trial(spec())
    disks = {"/x": {"file_system": "ext4"}, "/y": {}}
    host = {"cpus": 2, "cpu_model": "Xeon", "memory_bytes": 24 << 30, "kernel": "Linux 6.1 #1 SMP", "disks": disks}
    run.write_environment({"host": host})
    text = rendered(run_report(store.load_run(run.path)))
    assert "Host: 2 CPUs (Xeon), 24 GiB memory, Linux 6.1, data on ext4. Servers and clients ran on it" in text
    run.write_environment({"host": host | {"cpus": 1}})
    assert "Host: 1 CPU (Xeon)" in rendered(run_report(store.load_run(run.path)))
    for planned, words in (
        ({"apart": True}, "Clients ran on it, servers on other hosts. Between them nothing was encrypted (plaintext"),
        ({"apart": True, "load_hosts": 2}, "Servers and clients ran on the hosts of a fleet. Between them nothing was"),
        ({"attached": True, "load_hosts": 2}, "Clients ran on the hosts of a fleet, servers on others."),
        ({"attached": True}, "Clients ran on it. Others run the servers; where was not looked up."),
    ):
        run.write_plan([replace(spec(), **planned)])
        assert words in " ".join(rendered(run_report(store.load_run(run.path))).split())


def test_who_ran_where_on_a_fleet_is_reported_with_what_the_hosts_are(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "quick", "")
    run.open_trial(spec())
    run.write_plan([replace(spec(), apart=True, load_hosts=2)])
    ours = {"cpus": 64, "cpu_model": "Here", "memory_bytes": 1 << 40, "kernel": "Linux 5.0", "disks": {}}
    server = {"cpus": 8, "cpu_model": "Xeon", "memory_bytes": 64 << 30, "kernel": "Linux 6.1 #1 SMP"}
    on_xfs, on_ext4 = ({**server, "disks": {"/data": {"file_system": name}}} for name in ("xfs", "ext4"))
    client = {**server, "cpus": 4, "disks": {}}
    hosts = {
        "10.77.0.2": {"nodes": [1], "facts": on_xfs},
        "10.77.0.3": {"nodes": [2], "facts": on_ext4},
        "10.77.0.4": {"nodes": [3], "keeper": True, "facts": on_xfs},
        "10.77.0.5": {"load_generators": [1, 3], "facts": client},
        "10.77.0.6": {"load_generators": [2, 4], "facts": client},
    }
    run.write_environment({"host": ours, "hosts": hosts})
    stored = store.load_run(run.path)
    text = " ".join(rendered(run_report(stored)).split())
    assert (
        "Host: Node 1 on 10.77.0.2, node 3 and what belongs to no node on 10.77.0.4, each 8 CPUs (Xeon), 64 GiB "
        "memory, Linux 6.1, data on xfs; node 2 on 10.77.0.3, 8 CPUs (Xeon), 64 GiB memory, Linux 6.1, data on ext4; "
        "load generators 1 and 3 on 10.77.0.5, load generators 2 and 4 on 10.77.0.6, each 4 CPUs (Xeon), 64 GiB "
        "memory, Linux 6.1. Servers and clients ran on the hosts of a fleet."
    ) in text
    # Nothing ran on that of the command.
    assert "64 CPUs" not in text
    assert all(address in rendered(run_screen(stored, ending(stored), 0)) for address in hosts)
    del hosts["10.77.0.5"], hosts["10.77.0.6"]
    run.write_environment({"host": ours, "hosts": hosts})
    text = " ".join(rendered(run_report(store.load_run(run.path))).split())
    assert "Host: Load generators here: 64 CPUs (Here), 1,024 GiB memory, Linux 5.0. Node 1 on 10.77.0.2" in text


@pytest.mark.parametrize(
    ("host", "cpus", "server_cpu_s", "words"),
    [
        ("", 0.4, 4.0, "Clients ran on it. Servers that others run were on it, too."),
        ("", 0.0, None, "Clients ran on it. Others run the servers; none of their processes was seen on it."),
        ("b1", 0.4, 4.0, "Others run the servers; what these used is as their own endpoints report it."),
        ("b1", 0.4, None, "Clients ran on it. Others run the servers; none of their processes was seen on it."),
    ],
)
def test_where_attached_servers_were_is_what_was_seen(
    tmp_path: Path, host: str, cpus: float, server_cpu_s: float | None, words: str
) -> None:
    account = HostAccount(host, 2, 1.0, cpus, 0.5, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0)
    attached = result(replace(spec(), attached=True), accounts=(account,), server_cpu_s=server_cpu_s)
    run = store.create_run(tmp_path, "quick", "")
    run.write_environment({"host": {"cpus": 2}})
    run.write_plan([attached.spec])
    run.open_trial(attached.spec).finish(attached, totals())
    assert words in " ".join(rendered(run_report(store.load_run(run.path))).split())


def test_the_summary_holds_the_same_and_every_figure(tmp_path: Path) -> None:
    found = run_summary(stored(tmp_path, *pair()))
    assert next(iter(found.items())) == ("schema", "tidegauge.report/1")
    assert found["durability"]["equal"] is True
    (experiment,) = found["experiments"]
    assert experiment["results"][0]["response"]["p999_ms"] == pytest.approx(21.3)
    assert {comparison["figure"] for comparison in experiment["comparisons"]} == {"response p99", "end-to-end p99"}
    assert experiment["comparisons"][0]["ratio"] == pytest.approx(1 / 1.6)


def test_lists_fit_too(tmp_path: Path) -> None:
    run = stored(tmp_path, *pair())
    plan = rendered(
        plan_list(
            ShownPlan(
                [
                    peak("kafka@4.3.1"),
                    replace(spec(), msgs_per_s=None, rate_rule=RateRule("50% of lowest peak", is_share=True)),
                ],
                185,
            )
        )
    )
    assert "closed loop" in plan
    assert "50% of lowest peak" in plan
    assert "3 min 5 s" in plan
    assert max(map(len, (plan + rendered(runs_list([run]))).splitlines())) <= 100
    assert "2026-11-21T03-24-36-quick" in rendered(runs_list([run]))


def test_a_plan_names_the_variants_that_share_how_clients_are_set() -> None:
    def variant(name: str, delay_ms: float) -> LoadSpec:
        client = replace(spec().workload.client, batch_delay_ms_max=delay_ms)
        return replace(spec(), point={"variant": name}, workload=replace(spec().workload, client=client))

    plan = rendered(plan_list(ShownPlan([variant("a", 1.0), variant("b", 20.0), variant("c", 20.0)], 60)))
    assert "variant a: Clients, as asked: batches to 128 KiB or 1 ms" in plan
    assert "variant b or c: Clients, as asked: batches to 128 KiB or 20 ms" in plan
    many = [variant("a", 1.0), *(variant(name, 20.0) for name in "bcde")]
    assert "variant b" not in rendered(plan_list(ShownPlan(many, 60))).partition("1 KiB messages")[2]


def test_a_confirmation_and_what_is_searched_for_stand_in_the_plan() -> None:
    confirmation = replace(spec(), rate_rule=CONFIRMATION)
    plan = rendered(plan_list(ShownPlan([spec(), confirmation], 60, questions=("sizing: the smallest number",))))
    assert "20,000 msg/s (confirmation)" in plan
    assert plan.count("(confirmation)") == 1
    assert "Searched for:\n  - sizing: the smallest number" in plan
    assert "Searched for" not in rendered(plan_list(ShownPlan([spec()], 60)))


def test_messages_without_an_outcome_are_among_the_failed_ones() -> None:
    table = figure_table(ComparedTrials("latency", (result(failed=3, unresolved=4),)))
    columns = {column.head: column.cells for group in table.groups for column in group.columns}
    assert columns["failed"] == ("7",)


def test_one_attached_cluster_by_two_ways_has_figures_of_each_and_what_lies_between(tmp_path: Path) -> None:
    """Two entries of `systems` that attach the same cluster, such as behind a proxy that adds 2 ms."""
    both_ways = [
        p99_result({}, block, value + 0.1 * block, 2 * block + place)
        for block in range(3)
        for place, value in ((1, 7.0), (2, 9.0))
    ]
    entries = [
        replace(one, spec=replace(one.spec, system=f"kafka@{name}", attached=True))
        for one, name in zip(both_ways, ["direct", "proxy"] * 3, strict=True)
    ]
    run = run_of_results(entries)
    screen = " ".join(rendered(run_screen(run, ending(run), 0)).split())
    assert "7.10 ms for Kafka direct and 9.10 for Kafka proxy; over 3 blocks, Kafka proxy's is 1.28x" in screen
    words = " ".join(rendered(run_report(run)).split())
    assert "is 1.28x [1.27, 1.29] kafka@direct's, 3 blocks (9.10 against 7.10 ms, +2.00 ms [+" in words
    table = first_table(run, answer(run).verdicts)
    assert table is not None
    assert table.table.labels == ("Kafka direct", "Kafka proxy")
    columns = [column for group in table.table.groups for column in group.columns]
    assert ("7.10", "9.10") in [column.cells for column in columns if column.head == "p99"]


def test_a_number_of_messages_that_takes_longer_than_allowed_is_said_with_the_time() -> None:
    counted = replace(spec(), messages=1_000, measure_s=10.0, measure_s_max=10.0)
    assert measured_words(replace(counted, msgs_per_s=0.5)) == "1,000 messages or 10 s"
    assert measured_words(replace(counted, msgs_per_s=100.0)) == "1,000 messages"
    assert measured_words(replace(counted, msgs_per_s=None)) == "1,000 messages"
