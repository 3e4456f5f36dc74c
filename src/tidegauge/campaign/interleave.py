"""In which order the trials of a block are made. Pure, and decided by the seed alone.

A block holds every experiment on every system at every point once. Systems take turns, so that what changes slowly on
the host (heat, neighbours, a filling disk) touches all of them alike instead of the one measured last; the order of
systems and of points is drawn anew for each block, so that nobody is always first.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tidegauge.model.trial import Servers


@dataclass(frozen=True)
class Seat:
    """One experiment on one system at one point, by their numbers in the campaign."""

    point: int
    experiment: int
    system: int


@dataclass(frozen=True)
class Entry:
    """A system at a point. `identity` is the same at every point, `deployment` where the same servers would do."""

    identity: str
    deployment: str


def interleaved(
    entries: Sequence[Sequence[Entry]], experiments: int, seed: int, block: int, deployment: Servers
) -> list[Seat]:
    """The seats of one block in order. `entries[p]` are the systems at point `p`.

    With a deployment for each trial: points by lot; at each the experiments in their order; for each of these the
    systems by lot. With servers that go on: the experiments in their order; for each the systems by lot; for each of
    these its points by lot, those that could use the same servers one after the other.
    """
    points = list(range(len(entries)))
    if deployment is Servers.FRESH:
        random.Random(f"{seed} points {block}").shuffle(points)
        return [
            Seat(point, experiment, system)
            for point in points
            for experiment in range(experiments)
            for system in _by_lot(len(entries[point]), seed, block, experiment, point if len(points) > 1 else None)
        ]
    return [seat for number in range(experiments) for seat in _on_shared(entries, number, seed, block)]


def _by_lot(count: int, seed: int, block: int, experiment: int, point: int | None) -> list[int]:
    order = list(range(count))
    where = "" if point is None else f" {point}"
    random.Random(f"{seed} order {block} {experiment}{where}").shuffle(order)
    return order


def _on_shared(entries: Sequence[Sequence[Entry]], experiment: int, seed: int, block: int) -> list[Seat]:
    identities = list(dict.fromkeys(entry.identity for here in entries for entry in here))
    points = list(range(len(entries)))
    random.Random(f"{seed} points {block} {experiment}").shuffle(points)
    seats = []
    for number in _by_lot(len(identities), seed, block, experiment, None):
        alike: dict[str, list[Seat]] = {}
        for point in points:
            for system, entry in enumerate(entries[point]):
                if entry.identity == identities[number]:
                    alike.setdefault(entry.deployment, []).append(Seat(point, experiment, system))
        seats += [seat for together in alike.values() for seat in together]
    return seats
