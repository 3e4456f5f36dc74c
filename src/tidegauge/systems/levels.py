"""Which levels a system can give."""

from __future__ import annotations

from tidegauge.durability.levels import NODES_FOR_REPLICATION, describe_choice, level_named
from tidegauge.errors import UserError
from tidegauge.model.level import LevelChoice
from tidegauge.systems.api import System


def refuse_impossible(system: System, choice: LevelChoice, version: str, nodes: int) -> None:
    """Raise `UserError`, saying what is possible, if a system can't give a level in this shape."""
    wanted = level_named(choice.level)
    possible = system.possible_levels(version, nodes)
    if any(p.level == choice.level and choice.form in ("", p.form) for p in possible):
        return
    offers = ", ".join(describe_choice(p) for p in possible)
    form = f" in the form '{choice.form}'" if choice.form else ""
    why = ""
    if wanted.replication_sync and nodes < NODES_FOR_REPLICATION:
        shape = "one node has" if nodes == 1 else f"{nodes} nodes have"
        why = f": {shape} no majority to replicate to, and level {wanted.number} means that {wanted.meaning}"
    raise UserError(
        f"{system.name} on {nodes} node{'s' if nodes > 1 else ''} can't give level {choice.level}{form}{why}.",
        f"Possible here: {offers}.",
    )
