"""Java's properties, by the examples and rules of `java.util.Properties.load`."""

from __future__ import annotations

import time

import pytest

from tidegauge.config.properties import JavaProperty, jaas_options, parse_properties, write_property


@pytest.mark.parametrize(
    "text, key, value",
    [
        ("Truth = Beauty", "Truth", "Beauty"),
        ("   Truth:Beauty", "Truth", "Beauty"),
        ("Truth            :Beauty", "Truth", "Beauty"),
        ("Truth Beauty and more ", "Truth", "Beauty and more "),
        ("cheeses", "cheeses", ""),
        ("a=b=c", "a", "b=c"),
        ("a==b", "a", "=b"),
        (r"a\=b\:c = d", "a=b:c", "d"),
        (r"a\ b=c", "a b", "c"),
        (r"path=c:\\d\te", "path", "c:\\d\te"),
        (r"price=\u20ac5", "price", "€5"),
        (r"face=\ud83d\ude00", "face", "\U0001f600"),
        (r"odd=\q", "odd", "q"),
        ("=nothing", "", "nothing"),
        ("end=x\\", "end", "x"),
    ],
)
def test_a_line_is_split_and_unescaped(text: str, key: str, value: str) -> None:
    assert list(parse_properties(text)) == [JavaProperty(1, key, value)]


def test_lines_go_on_after_a_backslash_and_comments_do_not() -> None:
    text = "# comment \\\nfruits  apple, banana, \\\n     pear, \\\n   mango\n\n ! another\r\nlast=1\\\\\nnext=2\n"
    assert [(one.line, one.key, one.value) for one in parse_properties(text)] == [
        (2, "fruits", "apple, banana, pear, mango"),
        (7, "last", "1\\"),
        (8, "next", "2"),
    ]


@pytest.mark.parametrize("key, value", [("a", "b"), ("a =:#!\\\t", " b\\c\n\r\f =:"), ("", ""), ("é", "€")])
def test_what_is_written_is_read_again(key: str, value: str) -> None:
    assert list(parse_properties(write_property(key, value))) == [JavaProperty(1, key, value)]


def test_long_texts_are_read_soon() -> None:
    """Of 64 KiB: in far less time than by comparing each part with all before it, which took ten times as long."""
    began_s = time.process_time()
    (one,) = parse_properties("a\\\n" * 21_000)
    assert one.key == "a" * 21_000
    assert jaas_options("a" * 64_000) == {}
    assert jaas_options("a.b " * 16_000 + 'password="x"') == {"password": "x"}
    assert time.process_time() - began_s < 2.0
