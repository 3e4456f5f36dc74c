"""How a threshold is written.

    threshold = wanted OPERATOR NUMBER { "in" EXPERIMENT | "of" SYSTEM | "at" KEY=VALUE }
    wanted    = FIGURE | "ratio(" SYSTEM "," SYSTEM ")." FIGURE
    VALUE     = word, or "several words"
    OPERATOR  = "<" | "<=" | ">" | ">=" | "==" | "!="

One line, a handful of words and no nesting: a regular expression and the checks below tell more of what is wrong than
a parser generator's "unexpected token" would, and need no further dependency.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from tidegauge.errors import nearest
from tidegauge.statistics.figures import FIGURES, Kind, known_names
from tidegauge.thresholds.model import OPERATORS, Threshold, is_system

EXAMPLES = "such as 'response_ms_p99 < 10', 'lost == 0' or 'ratio(kafka, pulsar).msgs_per_s > 0.9'"
FORM = "FIGURE OPERATOR NUMBER, then if you like 'in EXPERIMENT', 'of SYSTEM', 'at KEY=VALUE'"

_RATIO = re.compile(r"ratio\(\s*(?P<above>[^\s,()]+)\s*,\s*(?P<below>[^\s,()]+)\s*\)\s*\.\s*")
_WANTED = re.compile(r"(?P<figure>[A-Za-z_][\w.-]*)\s*(?P<operator>[<>=!]+)\s*(?P<limit>[^\s<>=!]+)\s*")
_SCOPE = re.compile(r"(?P<word>\S+)\s+(?P<value>(?:\"[^\"]*\"|[^\s\"])+)\s*")
_AT = re.compile(r"(?P<key>[^=,\"]+)=(?P<value>\"[^\"]*\"|[^,\"]+)(?:,|$)")


@dataclass(frozen=True)
class Known:
    """What a threshold may speak of.

    Attributes:
        systems: labels ("kafka@4.3.1") or names.
        point: keys of a sweep with the values that they take.
    """

    experiments: Collection[str]
    systems: Collection[str]
    point: Mapping[str, Collection[str]] = field(default_factory=dict)


def parse_threshold(text: object, known: Known | None = None) -> Threshold:
    """A threshold from its text.

    Args:
        known: what the campaign has; None where that was checked before.

    Raises:
        ValueError: what is wrong with it, with the nearest name that would do.
    """
    if not isinstance(text, str):
        raise ValueError(f"must be text: {FORM}, {EXAMPLES}")
    rest = text.strip()
    above = below = ""
    if ratio := _RATIO.match(rest):
        above, below, rest = ratio["above"], ratio["below"], rest[ratio.end() :]
    elif rest.startswith("ratio"):
        raise ValueError(f"'{text}': a ratio is written ratio(SYSTEM, SYSTEM).FIGURE OPERATOR NUMBER")
    wanted = _WANTED.match(rest)
    if wanted is None:
        raise ValueError(f"'{text}': must be {FORM}, {EXAMPLES}")
    figure, sign = _figure(wanted["figure"], bool(above)), _operator(wanted["operator"], wanted["figure"])
    scope = _scope(rest[wanted.end() :], text)
    made = Threshold(
        text=" ".join(text.split()),
        figure=figure,
        operator=sign,
        limit=_limit(wanted["limit"]),
        above=above,
        below=below,
        experiment=scope.get("in", ""),
        system=scope.get("of", ""),
        point=_point(scope.get("at", "")),
    )
    if made.is_ratio and made.system:
        raise ValueError(f"'{text}': a ratio names its two systems already, so 'of {made.system}' has no meaning")
    if known is not None:
        _check(made, known)
    return made


def _figure(name: str, ratio: bool) -> str:
    names = known_names()
    if name not in names:
        raise ValueError(f"unknown figure '{name}'{nearest(name, names)}; known: {', '.join(names)}")
    if ratio and name in FIGURES and FIGURES[name].kind is Kind.COUNTED:
        raise ValueError(f"'{name}' is a count, often 0, so a ratio of it says nothing; ask it of each system")
    return name


def _operator(sign: str, name: str) -> str:
    if sign not in OPERATORS:
        raise ValueError(f"'{sign}' is no comparison; there are {', '.join(sorted(OPERATORS))}")
    counted = name in FIGURES and FIGURES[name].kind is Kind.COUNTED
    if sign in ("==", "!=") and not counted:
        raise ValueError(f"'{name}' is measured and never exactly equal to anything: use <, <=, > or >=")
    return sign


def _limit(text: str) -> float:
    try:
        limit = float(text)
    except ValueError:
        limit = math.nan
    if not math.isfinite(limit):
        raise ValueError(f"'{text}' is no number; write it without a unit, which stands in the figure's name")
    return limit


def _scope(rest: str, text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    while rest:
        part = _SCOPE.match(rest)
        if part is None or part["word"] not in ("in", "of", "at"):
            raise ValueError(f"'{text}': '{rest}' is not understood; only 'in EXPERIMENT', 'of SYSTEM', 'at KEY=VALUE'")
        word, value = part["word"], part["value"]
        if word in found and word != "at":
            raise ValueError(f"'{text}': '{word}' is given twice; write a threshold for each")
        found[word] = f"{found[word]},{value}" if word in found else value
        rest = rest[part.end() :]
    return found


def _point(text: str) -> dict[str, str]:
    found = {}
    while text:
        part = _AT.match(text)
        if part is None:
            raise ValueError(f"'at {text}': a point of a sweep is written KEY=VALUE, such as partitions=100")
        found[part["key"]] = part["value"].strip('"')
        text = text[part.end() :]
    return found


def _check(made: Threshold, known: Known) -> None:
    if made.experiment and made.experiment not in known.experiments:
        raise ValueError(_absent("experiment", made.experiment, known.experiments))
    names = sorted({*known.systems, *(label.partition("@")[0] for label in known.systems)})
    for system in filter(None, (made.system, made.above, made.below)):
        if not any(is_system(system, label) for label in known.systems):
            raise ValueError(_absent("system", system, names))
    for key, value in made.point.items():
        if key not in known.point:
            raise ValueError(_absent("swept key", key, known.point))
        if value not in known.point[key]:
            raise ValueError(_absent(f"value of {key}", value, known.point[key]))


def _absent(what: str, name: str, there_are: Collection[str]) -> str:
    listed = ", ".join(there_are) or "none"
    return f"the campaign has no {what} '{name}'{nearest(name, [*there_are])}; it has {listed}"
