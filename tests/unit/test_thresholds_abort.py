"""Rules that end a trial early: how they are written, what they concern, and when they hold."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tidegauge.thresholds import AbortWatch, KnownNames, abort_rules_of, parse_abort_rule

KNOWN = KnownNames(["peak", "latency"], ["kafka", "pulsar@4.2.4"], {"partitions": ["1", "100"]})


def test_a_rule_is_a_threshold_with_a_length() -> None:
    rule = parse_abort_rule("response_ms_p99 > 100", KNOWN)
    assert (rule.condition.figure, rule.condition.limit, rule.seconds) == ("response_ms_p99", 100.0, 3)
    longer = parse_abort_rule("msgs_per_s <  1000 for 10s in latency of kafka at partitions=100", KNOWN)
    assert (longer.seconds, longer.condition.experiment, longer.condition.system) == (10, "latency", "kafka")
    assert longer.condition.point == {"partitions": "100"}
    assert longer.text == "msgs_per_s < 1000 for 10s in latency of kafka at partitions=100"
    assert parse_abort_rule("msgs_per_s < 1000 in latency for 1s", KNOWN).seconds == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (5, "must be text"),
        ("lost > 0", "a trial is aborted by a figure of its seconds, and by no other; there are msgs_per_s"),
        ("response_ms_p999 > 100", "aborted by a figure of its seconds"),
        ("ratio(kafka, pulsar).msgs_per_s > 2", "aborted by a figure of its seconds"),
        ("response_p99 > 100", "unknown figure 'response_p99'"),
        ("response_ms_p99 > 100 for 0s", "'for 0s': must be whole seconds from 1s to 3600s"),
        (f"response_ms_p99 > 100 for {'9' * 5000}s", "9s': must be whole seconds from 1s to 3600s"),
        ("response_ms_p99 > 100 for 1m", "'for 1m': must be whole seconds"),
        ("response_ms_p99 > 100 in latancy", "no experiment 'latancy' (did you mean 'latency'?)"),
    ],
)
def test_what_is_no_rule_is_named(text: object, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_abort_rule(text, KNOWN)
    assert problem in str(caught.value)


def texts_concerning(
    texts: Sequence[str], experiment: str, system: str = "kafka@4.3.1", *, closed_loop: bool = False, **point: str
) -> list[str]:
    rules = [parse_abort_rule(text) for text in texts]
    return [rule.text for rule in abort_rules_of(rules, experiment, system, point, closed_loop=closed_loop)]


def test_a_rule_concerns_where_it_says() -> None:
    everywhere, there = "response_ms_p99 > 9", "response_ms_p99 > 9 in latency of kafka at partitions=1"
    assert texts_concerning([everywhere, there], "latency", partitions="1") == [everywhere, there]
    assert texts_concerning([there], "curve", partitions="1") == []
    assert texts_concerning([there], "latency", "pulsar@4.2.4", partitions="1") == []
    assert texts_concerning([there], "latency", partitions="2") == []


def test_times_of_a_closed_loop_must_be_asked_for() -> None:
    texts = ["response_ms_p99 > 9", "response_ms_p99 > 9 in peak", "msgs_per_s < 9"]
    assert texts_concerning(texts, "peak", closed_loop=True) == texts[1:]


def watched(text: str, *values: float | None) -> AbortWatch:
    watch = AbortWatch([parse_abort_rule(text)])
    for value in values:
        watch.take({"response_ms_p99": value})
    return watch


def test_a_rule_must_hold_in_seconds_in_a_row() -> None:
    watch = watched("response_ms_p99 > 100", 150.0, 101.0, 100.0, 150.0, 151.0)
    assert watch.broken is None
    watch.take({"response_ms_p99": 152.0})
    assert watch.broken is not None
    assert watch.values == (150.0, 151.0, 152.0)
    watch.take({"response_ms_p99": 1.0})
    assert watch.values == (150.0, 151.0, 152.0), "what ended the trial stays as it was"
    assert watched("response_ms_p99 > 100 for 1s", 101.0).broken is not None


def test_what_is_not_known_ends_a_row() -> None:
    assert watched("response_ms_p99 > 100", 150.0, 150.0, None, 150.0, 150.0).broken is None
