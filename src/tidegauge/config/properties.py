"""Java's properties, as `java.util.Properties.load(Reader)` reads them, each with its line.

Written here since messages name lines: a library that gives them would be one more package to install, for these rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BLANK = " \t\f"
_ENDS_OPEN = re.compile(r"(?<!\\)(?:\\\\)*\\$")
"""An odd number of backslashes: the line goes on in the next."""
_LINE = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.)|$)", re.DOTALL)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_LETTERS = {control: letter for letter, control in _CONTROLS.items()}
_KEY_ESCAPED, _VALUE_ESCAPED = re.compile(r"[\\\t\n\r\f =:#!]"), re.compile(r"[\\\t\n\r\f]|\A ")


PROPERTIES_MAX = 500
"""Of one file or block: clients have fewer settings, and each that they don't have is compared with all of these."""
JAAS = "sasl.jaas.config"
"""The property in which Java's clients have who they are, with the password."""
CLIENT_SECRET_PROPERTY = "sasl.oauthbearer.client.credentials.client.secret"
"""The property with the secret by which they get tokens, unless it stands in the one before."""
_JAAS_OPTION = re.compile(
    r"""(?<![\w.])([\w.]+)\s*=\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|([^\s;"']+))""", re.DOTALL
)


@dataclass(frozen=True)
class JavaProperty:
    """A key with its value. `line`: the first of its lines, from 1."""

    line: int
    key: str
    value: str


def parse_properties(text: str) -> Iterator[JavaProperty]:
    """Yields what a text has, in its order, a key as often as it is given. Pure."""
    for number, line in _whole_lines(text):
        if match := _LINE.fullmatch(line):
            yield JavaProperty(number, _unescape(match[1]), _unescape(match[2]))


def write_property(key: str, value: str) -> str:
    """The line that is read as this key and value. Pure."""
    return f"{_escape(key, _KEY_ESCAPED)}={_escape(value, _VALUE_ESCAPED)}\n"


def _escape(text: str, escaped: re.Pattern[str]) -> str:
    return escaped.sub(lambda match: f"\\{_LETTERS.get(match[0], match[0])}", text)


def _whole_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments and blank ones, those that are continued as one."""
    numbered = iter(enumerate(re.split(r"\r\n|\r|\n", text), 1))
    for number, line in numbered:
        last_part = line.lstrip(_BLANK)
        if not last_part or last_part[0] in "#!":
            continue
        parts = []
        while _ENDS_OPEN.search(last_part):
            parts.append(last_part[:-1])
            last_part = next(numbered, (0, ""))[1].lstrip(_BLANK)
        yield number, "".join([*parts, last_part])


def _unescape(text: str) -> str:
    """What a text with escapes means. Two of them may be the halves of one character."""
    units = _ESCAPE.sub(
        lambda escape: chr(int(escape[1], 16)) if escape[1] else _CONTROLS.get(escape[2], escape[2]), text
    )
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def jaas_options(text: str) -> dict[str, str]:
    """The options in an entry of a JAAS configuration: `Module required username="u" password="p";`. Pure."""
    options = {}
    for match in _JAAS_OPTION.finditer(text):
        quoted = match[2] if match[2] is not None else match[3]
        options[match[1]] = match[4] if quoted is None else re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
    return options
