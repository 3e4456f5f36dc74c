"""What results took of the machine's ceilings, as bars below a line at 100 %."""

from __future__ import annotations

from collections.abc import Sequence

from tidegauge.numbers import percent
from tidegauge.report.plots.model import Axis, Form, Line, Mark, Plot, Series
from tidegauge.report.usage import Used
from tidegauge.usage.shares import Ceiling, Share

_GROUP_WIDTH = 0.8
"""Of all bars at one ceiling, of the room between two."""


def share_bars(found: Sequence[Used], prefix: str) -> list[Plot]:
    """One plot for each disk of each experiment and point of a sweep: the systems side by side at each ceiling."""
    groups: dict[str, list[Used]] = {}
    for one in found:
        if one.shares:
            groups.setdefault(one.label.replace(f" {one.result.spec.label}", "", 1), []).append(one)
    plots = []
    for number, (name, own) in enumerate(groups.items(), 1):
        disks = list(dict.fromkeys(share.where for one in own for share in one.shares if share.where)) or [""]
        for place, disk in enumerate(disks, 1):
            title = f"{name}, {disk}" if len(disks) > 1 else name
            plots.append(_plot(title, own, disk, f"{prefix}-{number}-shares" + (f"-{place}" if place > 1 else "")))
    return plots


def _plot(name: str, found: Sequence[Used], disk: str, plot_id: str) -> Plot:
    """`disk`: which one, beside what there is once."""
    ceilings = [of for of in Ceiling if any(_share(one, of, disk) for one in found)]
    width = _GROUP_WIDTH / len(found)
    series = []
    told = []
    for number, one in enumerate(found):
        shares = {place: share for place, of in enumerate(ceilings) if (share := _share(one, of, disk))}
        system, offset = one.result.spec.system, (number - (len(found) - 1) / 2) * width
        series.append(
            Series(
                system,
                "",
                tuple(place + offset for place in shares),
                tuple(share.share * 100 for share in shares.values()),
                Mark.BARS,
                notes=tuple(f"({share.basis})" for share in shares.values()),
                width=0.9 * width,
            )
        )
        told += [f"{system} {percent(share.share)} of {share.of}" for share in shares.values()]
    return Plot(
        plot_id=plot_id,
        title=f"Share of ceilings: {name}",
        told=f"Bars are shares of what the machine did at most, which is the line at 100 %: {'; '.join(told)}.",
        x=Axis("ceiling", form=Form.WORDS, names=tuple(map(str, ceilings))),
        y=Axis("% of the ceiling", form=Form.SHARE, from_zero=True),
        series=tuple(series),
        lines=(Line(100.0, "ceiling"),),
    )


def _share(one: Used, of: Ceiling, disk: str) -> Share | None:
    return one.share(of, disk) or one.share(of, "")
