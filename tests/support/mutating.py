"""Mutants: what somebody may hand in instead of what was meant, the same for the same seed.

Three ways, since each finds what the others don't: bytes and characters of a text, its lines, and the values of what it
means.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 5, 2**31, 2**63, -(2**63), 10**30, 10**400),
    *(0.5, -0.0, 1e308, -1e-308, float("inf"), float("-inf"), float("nan")),
    *("", " ", "x", "0", "-1", "1e5", "1_0", "²", "null", "true", "yes", "1:30", "2026-11-27", "~", "~nobody-here/x"),
    *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "1e400", "nan", "inf", "-0", "loop"),
    *("9" * 400, "9" * 5000 + "s", "1s", "99999999d", "1KiB", "9" * 30 + "GiB", "50%", "150% of server memory", "10k"),
    *("../../../etc/passwd", "/", "/dev/zero", "/dev/null", "a/" * 3000, "n" * 300, "x" * 20_000),
    *(
        "\x00",
        "a\x00b",
        "\x1b]0;title\x07\x1b[31m",
        "\ud800",
        "\u202e",
        "\ufeff",
        "\U0001f600",
        "'\"`;$(id)",
        "{{x}}",
        "<script>",
    ),
    *([], {}, [[]], {"": ""}, {"x": {"y": [1]}}, ["x"] * 50, [None], {"name": None}),
)
"""What stands where something else is expected."""

ODD_TEXTS = (
    *(
        "",
        " ",
        "\t",
        "\n",
        ":",
        "- ",
        "? ",
        "{",
        "}",
        "[",
        "]",
        ",",
        "#",
        "&a ",
        "*a",
        "!!int ",
        "!!str ",
        "!x ",
        "|",
        ">",
    ),
    *("%", "@", "`", "'", '"', "\\", "<<: ", "---\n", "...\n", "\r\n", "\u2028", "\ufeff", "\x00", "\x1b[2J", "\ud800"),
    *(
        "[" * 700,
        "{a: " * 400,
        "9" * 400,
        "0x" + "F" * 5000,
        ".inf",
        ".nan",
        "1e999",
        "-",
        "~",
        "=",
        "\u00e9",
        "\u0663",
    ),
)
"""What gets between the characters of a text."""


def mutated_text(dice: random.Random, text: str) -> str:
    """A text with one to four small changes: in its lines or in its characters."""
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        text = dice.choice(_TEXT_WAYS)(dice, text)
    return text


def mutated_bytes(dice: random.Random, content: bytes) -> bytes:
    """Bytes with some flipped, left out, repeated, or cut off."""
    way = dice.randrange(5)
    at = dice.randrange(len(content) + 1)
    end = min(len(content), at + dice.choice((1, 2, 8, 64, 1000)))
    if way == 0:
        flipped = bytes(byte ^ 1 << dice.randrange(8) for byte in content[at:end])
        return content[:at] + flipped + content[end:]
    if way == 1:
        return content[:at]
    if way == 2:
        return content[:at] + content[end:]
    if way == 3:
        return content[:end] + content[at:end] * dice.choice((1, 2, 50)) + content[end:]
    return content[:at] + bytes(dice.randrange(256) for _ in range(dice.choice((1, 4, 100)))) + content[end:]


def mutated_tree(dice: random.Random, tree: Any) -> Any:
    """Plain data with one to three values replaced, left out, repeated or put in somewhere."""
    tree = copy.deepcopy(tree)
    for _ in range(dice.choice((1, 1, 2, 3))):
        places = list(_places(tree))
        if not places:
            return dice.choice(ODD_VALUES)
        holder, key = dice.choice(places)
        way = dice.randrange(8)
        if way <= 4:
            holder[key] = copy.deepcopy(dice.choice(ODD_VALUES))
        elif way == 5:
            del holder[key]
        elif way == 6 and isinstance(holder, dict):
            odd = dice.choice(ODD_TEXTS)
            holder[f"{key}{odd}" if dice.random() < 0.5 else odd] = holder[key]
        else:
            other_holder, other_key = dice.choice(places)
            holder[key] = copy.deepcopy(other_holder[other_key]) if other_key in _keys(other_holder) else None
    return tree


def _keys(holder: Any) -> Any:
    return holder.keys() if isinstance(holder, dict) else range(len(holder))


def _places(tree: Any) -> Any:
    """Each holder in a tree with each of its keys."""
    for key in _keys(tree) if isinstance(tree, dict | list) else ():
        yield tree, key
        yield from _places(tree[key])


def _in_characters(dice: random.Random, text: str) -> str:
    at = dice.randrange(len(text) + 1)
    end = min(len(text), at + dice.choice((0, 0, 1, 1, 3, 20)))
    return text[:at] + dice.choice((dice.choice(ODD_TEXTS), "")) + text[end:]


def _in_a_value(dice: random.Random, text: str) -> str:
    """What follows a ':' or '-' in a line becomes something odd."""
    lines = text.split("\n")
    marked = [number for number, line in enumerate(lines) if ": " in line or line.lstrip().startswith("- ")]
    if not marked:
        return _in_characters(dice, text)
    number = dice.choice(marked)
    head = lines[number].partition(": ")[0] + ": " if ": " in lines[number] else lines[number].partition("- ")[0] + "- "
    odd = dice.choice(ODD_VALUES)
    lines[number] = head + (odd if isinstance(odd, str) else repr(odd)[:6000])
    return "\n".join(lines)


def _in_a_number(dice: random.Random, text: str) -> str:
    places = [at for at, character in enumerate(text) if character.isdigit()]
    if not places:
        return _in_characters(dice, text)
    at = dice.choice(places)
    return (
        text[:at]
        + dice.choice(("0", "-1", "9" * 30, "9" * 400, "9" * 5000, "1e9", "1e400", "-0", "0.5", ""))
        + text[at + 1 :]
    )


def _in_lines(dice: random.Random, text: str) -> str:
    lines = text.split("\n")
    first, second = dice.randrange(len(lines)), dice.randrange(len(lines))
    way = dice.randrange(6)
    if way == 0:
        del lines[first]
    elif way == 1:
        lines.insert(second, lines[first])
    elif way == 2:
        lines[first], lines[second] = lines[second], lines[first]
    elif way == 3:
        lines[first] = " " * dice.choice((1, 2, 5)) + lines[first]
    elif way == 4:
        lines[first] = lines[first].lstrip()
    else:
        lines[first:second] = []
    return "\n".join(lines)


_TEXT_WAYS: tuple[Callable[[random.Random, str], str], ...] = (
    _in_characters,
    _in_a_value,
    _in_a_value,
    _in_a_number,
    _in_lines,
)
