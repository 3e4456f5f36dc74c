"""Durations, sizes and rates as people write them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegauge.config.fields import quantity_between
from tidegauge.config.units import (
    Backlog,
    Rate,
    parse_backlog,
    parse_duration_s,
    parse_message_count,
    parse_rate,
    parse_size_bytes,
    round_to_two_digits,
)

UNITS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def test_bounds_belong_to_what_is_allowed() -> None:
    allowed = quantity_between("1s", "1h", parse_duration_s)
    assert (allowed(1.0), allowed(3600.0)) == (1.0, 3600.0)
    for outside in (0.999, 3600.001):
        with pytest.raises(ValueError, match="must be from 1s to 1h"):
            allowed(outside)


@given(st.integers(0, 10**6), st.sampled_from(sorted(UNITS_S)), st.sampled_from(["", " "]))
def test_a_duration_is_its_number_times_its_unit(number: int, unit: str, gap: str) -> None:
    assert parse_duration_s(f"{number}{gap}{unit}") == pytest.approx(number * UNITS_S[unit])


@pytest.mark.parametrize("wrong", ["30", "30 sec", "s", "", "-5s", "1e3s", "5s 3s", 30, 1.5, True, None, [], "30S"])
def test_a_duration_without_a_known_unit_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match="with its unit"):
        parse_duration_s(wrong)


@given(st.text())
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    try:
        assert parse_duration_s(text) >= 0
    except ValueError as error:
        assert "duration" in str(error)


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("100B", 100),
        ("1KiB", 1024),
        ("1.5MiB", 1_572_864),
        ("1kB", 1000),
        ("2GiB", 2 << 30),
        ("16.1kB", 16_100),
        (7, 7),
        ("64", 64),
    ],
)
def test_sizes(text: object, size_bytes: int) -> None:
    assert parse_size_bytes(text) == size_bytes


@pytest.mark.parametrize("wrong", ["1XB", "-1B", -1, "1.5B", "KiB", True, 1.5, None, {}])
def test_a_wrong_size_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match="must be"):
        parse_size_bytes(wrong)


@given(st.floats(0.001, 1e9, allow_nan=False))
def test_a_number_is_an_absolute_rate(number: float) -> None:
    assert parse_rate(number) == Rate(msgs_per_s=number)


@given(st.integers(1, 200))
def test_a_share_of_the_lowest_peak(percent: int) -> None:
    rate = parse_rate(f"{percent}% of lowest peak")
    assert rate.msgs_per_s is None
    assert rate.share_of_lowest_peak == pytest.approx(percent / 100)
    assert parse_rate(str(rate)) == rate


@pytest.mark.parametrize(
    ("text", "msgs_per_s"), [("20k", 20_000), ("1.5M", 1_500_000), ("20000", 20_000), ("20 K", 20_000)]
)
def test_rates_with_a_factor(text: str, msgs_per_s: float) -> None:
    assert parse_rate(text) == Rate(msgs_per_s=msgs_per_s)


def test_a_share_may_be_worded_a_little_differently() -> None:
    assert parse_rate("50%  of the lowest  peak") == parse_rate("50% lowest peak") == Rate(share_of_lowest_peak=0.5)


@pytest.mark.parametrize(
    "wrong",
    [
        0,
        0.0009,
        -1,
        "0",
        "fast",
        "50%",
        "0% of lowest peak",
        "201% of lowest peak",
        "20x",
        True,
        None,
        math.inf,
        math.nan,
    ],
)
def test_a_wrong_rate_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match="must be"):
        parse_rate(wrong)


@given(st.floats(1, 1e8))
def test_rounding_keeps_two_digits_and_is_near(rate: float) -> None:
    rounded = round_to_two_digits(rate)
    assert rounded == pytest.approx(rate, rel=0.051)
    assert float(f"{rounded:.1e}") == pytest.approx(rounded, rel=1e-12)
    assert round_to_two_digits(rounded) == rounded


@pytest.mark.parametrize(("value", "messages"), [(1, 1), ("1000", 1000), ("100k", 100_000), ("1.5M", 1_500_000)])
def test_numbers_of_messages(value: object, messages: int) -> None:
    assert parse_message_count(value) == messages


@pytest.mark.parametrize("value", [0, 0.5, "1.0005k", "10s", "all", True, None])
def test_a_wrong_number_of_messages_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="must be"):
        parse_message_count(value)


def test_rounding_of_known_rates() -> None:
    assert [round_to_two_digits(rate) for rate in (61_234, 99_600, 1049, 7.777, 0)] == [61_000, 100_000, 1000, 7.8, 0]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2GiB", Backlog(size_bytes=2 << 30, text="2GiB")),
        ("500k messages", Backlog(msgs=500_000, text="500k messages")),
        ("7 messages", Backlog(msgs=7, text="7 messages")),
        ("150% of server memory", Backlog(share_of_server_memory=1.5, text="150% of server memory")),
        ("50%  of Server-Memory", Backlog(share_of_server_memory=0.5, text="50% of Server-Memory")),
    ],
)
def test_backlogs(text: str, found: Backlog) -> None:
    assert parse_backlog(text) == found
    assert str(found) == " ".join(text.split())


@pytest.mark.parametrize(
    "wrong", [500_000, "500000", "2 GiX", "0GiB", "0% of server memory", "k messages", "50%", None]
)
def test_a_backlog_of_nothing_known_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match="must be"):
        parse_backlog(wrong)


def test_a_backlog_in_messages() -> None:
    assert parse_backlog("1MiB").messages(1000, None) == 1049
    assert parse_backlog("50% of server memory").messages(1024, 1 << 20) == 512
    with pytest.raises(ValueError, match="server memory"):
        parse_backlog("50% of server memory").messages(1024, None)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("1M", "1000000 msg/s"),
        (1_234_567, "1234567 msg/s"),
        ("0.5", "0.5 msg/s"),
        ("50% of lowest peak", "50% of lowest peak"),
        ("7% of lowest sustainable", "7% of lowest sustainable"),
    ],
)
def test_a_rate_is_shown_in_digits(written: object, words: str) -> None:
    assert str(parse_rate(written)) == words
