"""Figures as text."""

from __future__ import annotations

import pytest

from tidegauge.numbers import count, duration, local_time, ms, plural, short, size


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
    assert [short(0.42), short(20.48), short(1234.4), short(None)] == ["0.42", "20.5", "1,234", "-"]
    assert [size(100), size(1024), size(1536 * 1024)] == ["100 B", "1 KiB", "1.5 MiB"]
    assert [plural(1, "topic"), plural(2000, "topic")] == ["1 topic", "2,000 topics"]
    assert local_time("not a time") == "not a time"
    assert len(local_time("2026-11-21T03:24:36+00:00")) == 19
