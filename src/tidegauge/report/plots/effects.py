"""What each field of a design does, as a picture: a point for each, with its interval, the largest on top."""

from __future__ import annotations

from collections.abc import Sequence

from tidegauge.report.effects import SweepEffects, effects_sentence
from tidegauge.report.plots.model import Axis, Form, Line, Mark, Plot, Scale, Series
from tidegauge.report.tables import axis_name

_BESIDE = 0.16
"""How much of the room between two fields lies between the points of two systems at one."""


def effects_plot(sweeps: Sequence[SweepEffects], plot_id: str, context: str) -> Plot | None:
    """The picture of all systems' effects; None without any."""
    if not sweeps:
        return None
    figure, fields = sweeps[0].figure, [effect.axis for effect in sweeps[0].effects.effects]
    series = tuple(_series_of_system(sweep, fields, (number, len(sweeps))) for number, sweep in enumerate(sweeps))
    words = "; ".join(f"{sweep.system}: {effects_sentence(sweep)}" for sweep in sweeps)
    reading = f"Point: {figure} at a field's value with the highest, by that at its value with the lowest."
    if any(line.low for line in series):
        reading += " Whisker: the 95% interval, of all fields at once."
    if any(line.hollow[place] for line in series if line.low for place in range(len(line.hollow))):
        reading += " Hollow: not more than chance."
    if any(not line.low for line in series):
        reading += " Hollow without a whisker: too few points to tell it from chance."
    names = tuple(_name_of_field(field, sweeps) for field in fields)
    x_axis = Axis("field", form=Form.WORDS, names=names)
    y_axis = Axis(f"{figure}, times as high", Scale.LOG, Form.SHORT, unit="times as high")
    return Plot(
        plot_id,
        f"What each field does to the {figure}",
        f"{words}.",
        x_axis,
        y_axis,
        series,
        lines=(Line(1.0, "no effect"),),
        context=context,
        reading=reading,
        lying=True,
    )


def _name_of_field(field: str, sweeps: Sequence[SweepEffects]) -> str:
    """A field, and below it from which to which of its values the figure rises, where that is so of every system."""
    ways = {
        (effect.lowest, effect.highest)
        for sweep in sweeps
        for effect in sweep.effects.effects
        if effect.axis == field and effect.is_shown
    }
    (lowest, highest), *others = ways or {("", "")}
    return axis_name(field) if others or not lowest else f"{axis_name(field)}\n{lowest} to {highest}"


def _series_of_system(sweep: SweepEffects, fields: Sequence[str], number_of: tuple[int, int]) -> Series:
    """One system's points, beside those of the others. `number_of`: which of how many systems it is."""
    number, systems = number_of
    beside = (number - (systems - 1) / 2) * _BESIDE
    by_axis = {effect.axis: effect for effect in sweep.effects.effects}
    effects = [by_axis[field] for field in fields if field in by_axis]
    ratios = tuple(effect.ratio for effect in effects)
    with_interval = all(effect.low is not None for effect in effects)
    return Series(
        sweep.system,
        "",
        tuple(fields.index(effect.axis) + beside for effect in effects),
        ratios,
        Mark.POINTS,
        tuple(effect.low or 1.0 for effect in effects) if with_interval else (),
        tuple(effect.high or 1.0 for effect in effects) if with_interval else (),
        hollow=tuple(not effect.is_shown for effect in effects),
        notes=tuple(f"{effect.lowest} to {effect.highest}" for effect in effects),
    )
