"""Figures as text."""

from __future__ import annotations

import pytest

from tidegauge.numbers import (
    change_between,
    count,
    duration,
    gib,
    local_time,
    mb_per_s,
    ms,
    of_all,
    plural,
    precise,
    short,
    size,
    trimmed,
    whole_number,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (float("nan"), "-"),
        (0.0, "0.000"),
        (0.0004, "<0.001"),
        (0.0123, "0.012"),
        (0.9996, "1.00"),
        (9.994, "9.99"),
        (9.996, "10.0"),
        (99.96, "100"),
        (1234.5, "1,234"),
    ],
)
def test_times_have_three_digits(value: float | None, text: str) -> None:
    assert ms(value) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (-0.034, 0.121, "-3% to +12%"),
        (-0.0023, 0.0141, "-0.2% to +1%"),
        (-0.0005, 0.0005, "-0.1% to +0.1%"),
        (0.0, 0.0302, "0% to +3%"),
        (-0.00049, 0.02, "0% to +2%"),
        (-0.00049, 0.0004, "under 0.1% either way"),
        (0.0, 0.0, "under 0.1% either way"),
    ],
)
def test_no_change_is_rounded_to_nothing(low: float, high: float, text: str) -> None:
    assert change_between(low, high) == text


def test_durations() -> None:
    assert [duration(s) for s in (0.5, 9.94, 42.4, 200, 3600, 3900)] == [
        "0.5 s",
        "9.94 s",
        "42 s",
        "3 min 20 s",
        "1 h",
        "1 h 5 min",
    ]


def test_counts_sizes_and_words() -> None:
    assert [count(None), count(1234567.8)] == ["-", "1,234,568"]
    assert [count(0.5), count(1.5), count(2.0), count(9.96), count(0)] == ["0.5", "1.5", "2", "10", "0"]
    assert [count(0.001), count(0.0042), count(1.001), count(1e-9)] == ["0.001", "0.0042", "1", "0"]
    assert [short(0.42), short(20.48), short(1234.4), short(None)] == ["0.42", "20.5", "1,234", "-"]
    assert [size(100), size(1024), size(1536 * 1024)] == ["100 B", "1 KiB", "1.5 MiB"]
    assert [plural(1, "topic"), plural(2000, "topic")] == ["1 topic", "2,000 topics"]
    assert [of_all(number, 3, "trial") for number in (1, 2, 3)] == ["1 of 3 trials", "2 of 3 trials", "all 3 trials"]
    assert [of_all(1, 2, "trial"), of_all(2, 2, "trial")] == ["1 of 2 trials", "both trials"]
    assert [of_all(0, 1, "trial"), of_all(1, 1, "trial")] == ["0 of 1 trial", "the only trial"]
    assert local_time("not a time") == "not a time"
    day, clock, zone = local_time("2026-11-21T03:24:36+00:00").split()
    assert (len(day), len(clock)) == (10, 8)
    assert zone, "names of runs are in UTC"


@pytest.mark.parametrize(
    ("value", "text", "small"),
    [
        (None, "-", "-"),
        (0.00123, "0.00", "0.00123"),
        (0.00002, "0.00", "0.00002"),
        (0.0000123456, "0.00", "0.0000123"),
        (0.42, "0.42", "0.42"),
        (9.996, "10.0", "10.0"),
        (99.96, "100", "100"),
        (1234.4, "1,234", "1,234"),
    ],
)
def test_figures_have_three_digits(value: float | None, text: str, small: str) -> None:
    assert (short(value), precise(value)) == (text, small)


@pytest.mark.parametrize(
    ("size_bytes", "four", "three"),
    [
        (0, "0 B", "0 B"),
        (1023, "1023 B", "1023 B"),
        (1 << 20, "1 MiB", "1 MiB"),
        (1010 << 20, "1010 MiB", "1010 MiB"),
        (5_555_555_555, "5.174 GiB", "5.17 GiB"),
        (2 << 40, "2 TiB", "2 TiB"),
    ],
)
def test_sizes_have_so_many_digits_and_no_exponent(size_bytes: int, four: str, three: str) -> None:
    assert (size(size_bytes), size(size_bytes, 3)) == (four, three)


def test_other_amounts() -> None:
    assert size(100, whole="bytes") == "100 bytes"
    assert [gib(300 << 20), gib(1 << 40)] == ["0.3 GiB", "1,024.0 GiB"]
    assert [mb_per_s(20_480_000.0), mb_per_s(None), mb_per_s(None, "not measured")] == [
        "20.5 MB/s",
        "-",
        "not measured",
    ]
    assert [trimmed(99.0), trimmed(99.9), trimmed(99.9999)] == ["99", "99.9", "99.9999"]
    assert [trimmed(1e6), trimmed(123_456_789.0), trimmed(1e-6), trimmed(100 / 3)] == [
        "1000000", "123456789", "0.000001", "33.33333",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("007", 7),
        (str(2**63 - 1), 2**63 - 1),
        ("9" * 20, None),
        ("9" * 5000, None),
        ("", None),
        ("-1", None),
        ("1_0", None),
        ("\u0663", None),
        ("\u00b2", None),
        ("1.5", None),
    ],
)
def test_a_whole_number_is_of_decimal_digits_that_a_long_has(text: str, number: int | None) -> None:
    assert whole_number(text) == number
