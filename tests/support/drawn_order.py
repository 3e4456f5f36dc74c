"""An order of tests that is drawn, so that a limit of time reaches others each time."""

from __future__ import annotations

import random
from collections.abc import Mapping

SHARE_OF_OFTEN = 0.1
"""The part of an order, at its begin, in which those are that are to run often."""


def draw_order(groups: Mapping[str, bool], seed: int) -> list[str]:
    """Return the names of groups of tests in the order of a seed. Of each: whether it is to run often."""
    dice = random.Random(seed)
    places = {name: dice.random() * (SHARE_OF_OFTEN if groups[name] else 1.0) for name in sorted(groups)}
    return sorted(places, key=places.__getitem__)
