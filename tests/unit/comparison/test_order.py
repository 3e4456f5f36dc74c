"""The order in which reports have points: quantities by their size, other values as the campaign lists them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from run_samples import result, spec
from variant_samples import p99_result, run_of

from tidegauge.comparison.order import compared_trials_of, findings_of, in_order, labels_of_axis, values_of_axes
from tidegauge.model.finding import Finding
from tidegauge.store.read import StoredRun

CODECS = ("none", "lz4", "gzip")


def run_at(values: Sequence[str], listed: Sequence[str], experiments: Sequence[str] = ("latency",)) -> StoredRun:
    """A run that measured these values of one axis in this order, and whose campaign lists them in another."""
    trials = [
        replace(p99_result({"axis": value}, 0, 3.0, number), spec=replace(spec(experiment=name), point={"axis": value}))
        for number, (value, name) in enumerate(((value, name) for value in values for name in experiments), 1)
    ]
    meaning = {f"sweep[{number}]": f"axis={value}" for number, value in enumerate(listed, 1)}
    return replace(run_of(trials), meaning=meaning)


def labels_of(listed: Sequence[str], values: Sequence[str]) -> list[str]:
    return labels_of_axis(run_at(values, listed), "axis")


def test_quantities_are_in_order_of_size_and_words_as_the_campaign_lists_them() -> None:
    assert labels_of(CODECS, ["gzip", "none", "lz4"]) == [*CODECS]
    assert labels_of([], ["none", "gzip", "lz4"]) == ["gzip", "lz4", "none"], "not said: by the alphabet"
    assert labels_of(["1MiB", "16KiB", "128KiB"], ["128KiB", "1MiB", "16KiB"]) == ["16KiB", "128KiB", "1MiB"]
    assert labels_of(["4.3.1", "4.2.0"], ["4.2.0", "4.3.1"]) == ["4.3.1", "4.2.0"], "a version is no quantity"


def test_points_are_in_the_order_of_their_values_the_first_axis_first() -> None:
    points = [{"batch-size": size, "who": who} for size in ("1MiB", "1KiB", "64KiB") for who in ("b", "a")]
    assert [tuple(point.values()) for point in in_order(points + points)] == [
        (size, who) for size in ("1KiB", "64KiB", "1MiB") for who in ("a", "b")
    ]
    assert [tuple(point.values()) for point in in_order(points, values_of_axes(points))] == [
        (size, who) for size in ("1KiB", "64KiB", "1MiB") for who in ("b", "a")
    ]
    for words in (["500k", "1M", "1.5M", "2000000"], ["30s", "5m", "2h", "1d"], ["100B", "1KiB", "1MB", "1MiB"]):
        assert [point["n"] for point in in_order([{"n": word} for word in reversed(words)])] == words
    assert [point["n"] for point in in_order([{"n": "10"}, {"n": "9"}, {"n": "x"}])] == ["10", "9", "x"], "words"
    assert [point["n"] for point in in_order([{"n": "a"}, {"n": "c"}, {"n": "b"}], {"n": ["c"]})] == ["c", "a", "b"]


def test_tables_and_findings_of_a_run_are_in_order_whatever_was_measured_first() -> None:
    run = run_at(["gzip", "none", "lz4"], CODECS, ("peak", "latency"))
    tables = [(table.experiment, table.point["axis"]) for table in compared_trials_of(run)]
    assert tables == [(name, codec) for name in ("peak", "latency") for codec in CODECS]
    found = [
        Finding(f"{block}-{codec}", "peak", system, block, True, (), point={"axis": codec})
        for block in (1, 0)
        for codec in ("lz4", "gzip", "none")
        for system in ("b@1", "a@1")
    ]
    answers = findings_of(replace(run, findings=tuple(found)))
    assert [(each.point["axis"], each.system, each.block) for each in answers] == [
        (codec, system, block) for codec in CODECS for system in ("a@1", "b@1") for block in (0, 1)
    ]


def test_rates_at_one_point_stay_in_the_order_in_which_they_were_measured() -> None:
    rates = [replace(result(spec(number=number)), offered_msgs_per_s=rate) for number, rate in ((1, 9.0), (2, 5.0))]
    assert [table.results[0].offered_msgs_per_s for table in compared_trials_of(run_of(rates))] == [9.0, 5.0]
