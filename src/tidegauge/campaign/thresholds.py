"""`thresholds` of a campaign: each checked against what the campaign has, with the line of what is wrong."""

from __future__ import annotations

from collections.abc import Sequence

from tidegauge.campaign.model import Point, SystemChoice
from tidegauge.config.source import Source
from tidegauge.thresholds.grammar import EXAMPLES, Known, parse_threshold

KEY = "thresholds"


def read_thresholds(source: Source, points: Sequence[Point]) -> tuple[str, ...]:
    """The campaign's thresholds in order. Problems are noted in `source`.

    Args:
        points: what the campaign has, at every point of its sweep; none if it could not be read, and then the names
            of experiments and systems are not checked.
    """
    listed = source.data.get(KEY, [])
    if not isinstance(listed, list):
        source.complain((KEY,), f"must be a list of conditions, {EXAMPLES}")
        return ()
    known = _known(points) if points else None
    found = []
    for index, text in enumerate(listed):
        try:
            found.append(parse_threshold(text, known).text)
        except ValueError as error:
            source.complain((KEY, index), str(error))
    return tuple(dict.fromkeys(found))


def _known(points: Sequence[Point]) -> Known:
    campaigns = [point.campaign for point in points]
    values: dict[str, dict[str, None]] = {}
    for point in points:
        for axis, value in point.values.items():
            values.setdefault(axis, {})[value] = None
    return Known(
        experiments=list(dict.fromkeys(choice.name for one in campaigns for choice in one.experiments)),
        systems=list(dict.fromkeys(_label(system) for one in campaigns for system in one.systems)),
        point={axis: list(there_are) for axis, there_are in values.items()},
    )


def _label(system: SystemChoice) -> str:
    version = system.attach.label if system.attach else system.version
    return f"{system.name}@{version}" if version else system.name
