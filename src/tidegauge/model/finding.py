"""What an experiment found that is more than the figures of one trial: a rate, a curve, a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

from tidegauge.model.attest import Attestation

Cell = str | int | float | None
"""A value of a finding's table: words, a number (of the unit that its head names), or nothing."""


@dataclass(frozen=True)
class Above:
    """Why the rate above a sustainable one is not: the kind of clause that was broken, the clause, and the outcome."""

    kind: str = ""
    clause: str = ""
    outcome: str = ""


@dataclass(frozen=True)
class GoalFound:
    """What a search found for one of its goals; the fields are the keys in its stored form.

    Attributes:
        goal: its name.
        limits: the latencies that had to hold, in words.
        sustainable_msgs_per_s: as confirmed; None where no rate was.
        lower_msgs_per_s, upper_msgs_per_s: the bracket in which the search ended.
        above: what was broken at the upper end.
        stepped_down: how many rates failed their confirmation before.
        problem: why it is not decided, or "".
        remark: what a reader should know though it is decided, or "".
    """

    goal: str = ""
    limits: tuple[str, ...] = ()
    decided: bool = False
    sustainable_msgs_per_s: float | None = None
    lower_msgs_per_s: float | None = None
    upper_msgs_per_s: float | None = None
    above: Above | None = None
    confirmation_trial_id: str | None = None
    confirmation_mb_per_s: float | None = None
    stepped_down: int = 0
    problem: str = ""
    remark: str = ""


@dataclass(frozen=True)
class CurvePoint:
    """One load of a curve; the fields are the keys in its stored form.

    Attributes:
        share: of the rate that counts as full.
        state: "sustained", or what was not.
        validity: of the trial.
    """

    share: float = 0.0
    trial_id: str = ""
    offered_msgs_per_s: float | None = None
    msgs_per_s: float | None = None
    response_p50_ms: float | None = None
    response_p99_ms: float | None = None
    end_to_end_p99_ms: float | None = None
    state: str = ""
    validity: str = ""


Part = TypeVar("Part", GoalFound, CurvePoint)
_GOALS, _POINTS, _TRIAL = "goals", "points", "trial_id"
COUNTED = "of"
"""The key of what a search for the smallest number counts."""


@dataclass(frozen=True)
class Finding:
    """One experiment's answer for one system in one block. Stored as JSON and shown by reports as it is.

    Attributes:
        finding_id: the step that found it, "0003-max-throughput-kafka": its trials' names begin with it.
        decided: False where the question stays open; `summary` then says why.
        summary: the answer, a sentence for each thing asked.
        rows: the answer as a table: each row maps the columns' heads, units included, to its cells.
        details: the same and more for programs as it is stored: JSON-able, units in the names. Written by
            `search_details` and `curve_details`, read by `goals`, `points`, `has_limits`, `published_trial_id` and
            `figure`.
        figures: its figures that thresholds and comparisons may name (`statistics.figures.FINDING_FIGURES`).
        refuted: whether the durability level that was tested was refuted.
        attestations: to be kept beyond the run, for later ones with the same settings.
        point: of the campaign's sweep (see `TrialSpec`); whoever keeps the finding fills it in.
    """

    finding_id: str
    experiment: str
    system: str
    block: int
    decided: bool
    summary: tuple[str, ...]
    rows: tuple[Mapping[str, Cell], ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)
    point: Mapping[str, str] = field(default_factory=dict)
    refuted: bool = False
    attestations: tuple[Attestation, ...] = ()

    @property
    def goals(self) -> tuple[GoalFound, ...]:
        """What a search found, goal by goal; of several the first stands for it."""
        return _parts_from_stored(GoalFound, self.details.get(_GOALS))

    @property
    def points(self) -> tuple[CurvePoint, ...]:
        """The loads of a curve."""
        return _parts_from_stored(CurvePoint, self.details.get(_POINTS))

    @property
    def has_limits(self) -> bool:
        """Whether a search asked for limits of latency, too, of a goal or of all."""
        return bool(self.details.get("limits")) or any(goal.limits for goal in self.goals)

    @property
    def published_trial_id(self) -> str | None:
        """The trial whose figures it publishes: that of late readers, or the confirmation of a search's first goal."""
        return self.goals[0].confirmation_trial_id if self.goals else self.details.get(_TRIAL)

    @property
    def counted(self) -> str:
        """What a search for the smallest number counts: "partitions"; "" of what is no such search."""
        return str(self.details.get(COUNTED, ""))

    def with_goals(self, goals: Sequence[GoalFound]) -> Finding:
        """This search with other answers."""
        return replace(self, details={**self.details, _GOALS: [asdict(goal) for goal in goals]})

    def figure(self, name: str) -> float | None:
        """One of its figures; None where it has none. Runs stored before there were `figures` have it elsewhere."""
        for place in (self.figures, self.details, asdict(self.goals[0]) if self.goals else {}):
            value = place.get(name)
            if value is not None:
                return float(value)
        return None


def search_details(trials: int, goals: Sequence[GoalFound]) -> dict[str, Any]:
    """The stored form of a search of so many trials."""
    return {"trials": trials, _GOALS: [asdict(goal) for goal in goals]}


def curve_details(full_rate_msgs_per_s: float, points: Sequence[CurvePoint]) -> dict[str, Any]:
    """The stored form of a curve up to multiples of a rate."""
    return {"full_rate_msgs_per_s": full_rate_msgs_per_s, _POINTS: [asdict(point) for point in points]}


def _parts_from_stored(kind: type[Part], stored: object) -> tuple[Part, ...]:
    """Reads the stored form. Keys of other versions are left out, and those that are missing keep their defaults."""
    from tidegauge.plain import typed_value  # Help and plans show no findings, and need not wait for what reads them.

    listed = stored if isinstance(stored, (list, tuple)) else ()
    return tuple(typed_value(kind, content) for content in listed if isinstance(content, Mapping))
