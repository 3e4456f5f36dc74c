"""What results took of the machine's ceilings, as bars below a line at 100 %."""

from __future__ import annotations

from collections.abc import Sequence

from tidegauge.report.numbers import percent
from tidegauge.report.plots.model import Axis, Form, Line, Mark, Plot, Series
from tidegauge.report.usage import Used


def share_bars(found: Sequence[Used], prefix: str) -> list[Plot]:
    """One plot for each experiment and point of a sweep, whose systems stand side by side at each ceiling."""
    groups: dict[str, list[Used]] = {}
    for one in found:
        if one.shares:
            groups.setdefault(one.label.replace(f" {one.result.spec.system}", "", 1), []).append(one)
    return [_plot(name, own, f"{prefix}-{number}-shares") for number, (name, own) in enumerate(groups.items(), 1)]


def _plot(name: str, found: Sequence[Used], plot_id: str) -> Plot:
    ceilings = list(dict.fromkeys((share.of, share.where) for one in found for share in one.shares))
    several_disks = len({where for _, where in ceilings if where}) > 1
    names: list[str] = []
    places: dict[int, tuple[list[float], list[float], list[str]]] = {}
    told = []
    for of, where in ceilings:
        for number, one in enumerate(found):
            share = one.share(of, where)
            if share is None:
                continue
            x, y, notes = places.setdefault(number, ([], [], []))
            x.append(float(len(names)))
            y.append(share.share * 100)
            notes.append(f"({share.basis})")
            names.append(f"{of}, {where}" if several_disks and where else str(of))
            told.append(f"{one.result.spec.system} {percent(share.share)} of {of}")
    series = tuple(
        Series(found[number].result.spec.system, "", tuple(x), tuple(y), Mark.BARS, notes=tuple(notes))
        for number, (x, y, notes) in places.items()
    )
    return Plot(
        plot_id=plot_id,
        title=f"Share of ceilings: {name}",
        told=f"Bars are shares of what the machine did at most, which is the line at 100 %: {'; '.join(told)}.",
        x=Axis("ceiling", form=Form.WORDS, names=tuple(names)),
        y=Axis("% of the ceiling", form=Form.PERCENT, from_zero=True),
        series=series,
        lines=(Line(100.0, "ceiling"),),
    )
