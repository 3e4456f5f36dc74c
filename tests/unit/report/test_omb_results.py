"""Others' results of OMB beside a run's: read, shown in the same terms, and with what OMB's method does to them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from compared_runs import blocks_of, made
from shown_runs import rendered

from tidegauge.cli.main import run_command
from tidegauge.errors import UserError
from tidegauge.report.omb_results import omb_results_content, remarks_on_omb, show_omb_results
from tidegauge.store.omb_results import OmbResult, merge_repeats, read_omb_result

OF_2020: dict[str, Any] = {
    "workload": "1 topic",
    "driver": "Kafka",
    "publishRate": [100.0, 300.0],
    "consumeRate": [100.0, 300.0],
    "aggregatedPublishLatency50pct": 3.2,
    "aggregatedPublishLatency99pct": 20.5,
    "aggregatedPublishLatencyMax": 330.5,
    "aggregatedEndToEndLatency50pct": 4.0,
    "aggregatedEndToEndLatency99pct": 20.0,
    "aggregatedEndToEndLatencyMax": 330.001,
}
OURS = OmbResult("run", False, "latency", "kafka@4.3.1", {"publish_msgs_per_s": 200.0, "response_ms_p99": 7.0})


def theirs(tmp_path: Path, **changes: Any) -> OmbResult:
    (tmp_path / "theirs.json").write_text(json.dumps({**OF_2020, **changes}))
    return read_omb_result(tmp_path / "theirs.json")


def test_a_result_is_read_in_our_units(tmp_path: Path) -> None:
    found = theirs(tmp_path, aggregatedPublishDelayLatency99pct=5000, messageSize=1024)
    assert (found.name, found.workload, found.driver, found.theirs) == ("theirs.json", "1 topic", "Kafka", True)
    assert found.figures["publish_msgs_per_s"] == 200
    assert (found.figures["publish_ms_p99"], found.figures["delay_ms_p99"]) == (20.5, 5.0)
    assert found.facts == {"message_bytes": 1024}
    assert "publish_ms_p999" not in found.figures


@pytest.mark.parametrize(
    ("changes", "words", "not_said"),
    [
        ({}, "A: publish latency begins with the actual send, and what a message waited", "in another histogram"),
        (
            {"aggregatedPublishDelayLatency99pct": 5},
            "A: publish latency begins with the actual send; what",
            "looks fast",
        ),
        ({}, "two wall clocks in whole ms", "cut at 60 s"),
        ({"aggregatedEndToEndLatency50pct": 4.25}, "loss, order and damage were not checked", "in whole ms"),
        ({"aggregatedPublishLatencyMax": 60000.3}, "A: latencies were cut at 60 s", "Not the same"),
        ({}, "A: the rate went from 100 to 300 msg/s between periods", "Not the same"),
        ({"publishRate": [190, 210]}, "no ratio is given, and no verdict", "the rate went from"),
        ({"publishRate": [100, 110]}, "Not the same: A 105, B 200 msg/s published", "the rate went from"),
    ],
)
def test_what_omb_does_is_said_where_it_is_so(
    tmp_path: Path, changes: dict[str, Any], words: str, not_said: str
) -> None:
    text = "\n".join(remarks_on_omb([theirs(tmp_path, **changes), OURS]))
    assert words in text
    assert not_said not in text


def test_other_workloads_and_invalid_trials_are_named(tmp_path: Path) -> None:
    ours = OmbResult("run", False, "", "", OURS.figures, {"message_bytes": 100}, validity="INVALID")
    text = "\n".join(remarks_on_omb([theirs(tmp_path, messageSize=1024), ours]))
    assert "Not the same: A 1,024, B 100 bytes a message." in text
    assert "B: this trial is INVALID" in text
    assert "this trial is" not in "\n".join(remarks_on_omb([theirs(tmp_path), OURS]))


def test_the_table_has_a_column_for_each(tmp_path: Path) -> None:
    text = rendered(show_omb_results([theirs(tmp_path), OURS]))
    rows = {line.split("  ")[0]: line.split()[-2:] for line in text.splitlines()}
    assert rows["published, msg/s"] == ["200", "200"]
    assert rows["publish from the send p99, ms"] == ["20.5", "-"]
    assert rows["response time (not in OMB) p99, ms"] == ["-", "7.00"]
    content = omb_results_content([theirs(tmp_path), OURS])
    assert [one["measured_by"] for one in content["results"]] == ["OMB", "Tidegauge"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "this is no JSON"),
        ("[" * 100_000, "this is no JSON"),
        ("[]", "no result of OMB: it has no 'publishRate'"),
        ('{"publishRate": []}', "no result of OMB"),
        ('{"publishRate": [NaN, "1", true]}', "no result of OMB"),
    ],
)
def test_what_is_no_result_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(UserError, match=words):
        read_omb_result(tmp_path / "x.json")


def ours(value: float, validity: str = "", **figures: float) -> OmbResult:
    return replace(OURS, figures={"response_ms_p99": value, "response_ms_max": 2 * value, **figures}, validity=validity)


def test_repeats_are_one_result() -> None:
    merged = merge_repeats([ours(2.0, delay_ms_p50=0.0), ours(8.0, delay_ms_p50=1.0), ours(99.0, "INVALID")])
    assert merged.figures == {"response_ms_p99": 4.0, "response_ms_max": 16.0, "delay_ms_p50": 0.5}
    assert (merged.validity, merged.repeats, merged.left_out) == ("", 2, 1)
    (remark,) = [one for one in remarks_on_omb([OURS, merged]) if "geometric" in one]
    assert remark == "B: figures are geometric means of 2 trials, of maxima the largest; 1 more INVALID, left out."
    assert "geometric" not in "\n".join(remarks_on_omb([OURS, ours(1.0)]))


def test_invalid_repeats_alone_are_shown_as_such() -> None:
    merged = merge_repeats([ours(2.0, "INVALID"), ours(8.0, "INVALID")])
    assert (merged.figures["response_ms_p99"], merged.validity, merged.left_out) == (4.0, "INVALID", 0)
    assert merge_repeats([ours(2.0), ours(8.0, "DOUBTFUL")]).validity == "DOUBTFUL"


def test_a_figure_that_a_repeat_does_not_have_is_none() -> None:
    assert "delay_ms_p50" not in merge_repeats([ours(2.0, delay_ms_p50=1.0), ours(2.0)]).figures


def test_it_is_a_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    theirs(tmp_path)
    run = made(tmp_path / "runs", blocks_of("kafka@4.3.1", 1.0, 1.1))
    place = str(tmp_path / "theirs.json")
    verb = ["compare", "last", place, "--runs-dir", str(tmp_path / "runs")]
    assert run_command([*verb, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["schema"] == "tidegauge.ombresults/1"
    assert [one["name"] for one in content["results"]] == [f"{run}, kafka@4.3.1, latency", "theirs.json"]
    assert content["results"][0]["figures"]["response_ms_p99"] > 0
    assert any("geometric means of 2 trials" in remark for remark in content["remarks"])
    assert run_command([*verb, "--strict"]) == 2
    assert "nothing is judged" in capsys.readouterr().err
    assert run_command(["compare", place, place]) == 0, "of two of OMB's, too"
