"""Reasons and warnings of trials as tests make and compare them."""

from __future__ import annotations

from collections.abc import Iterable

from tidegauge.model.reason import Reason, ReasonKind


def reasons_of(*texts: str, kind: ReasonKind = ReasonKind.OTHER) -> tuple[Reason, ...]:
    """Make reasons of one kind, or of none in particular."""
    return tuple(Reason(kind, text) for text in texts)


def texts_of(reasons: Iterable[Reason]) -> tuple[str, ...]:
    """The whole sentences, as reports show them."""
    return tuple(map(str, reasons))


WAITED = reasons_of("load threads waited for a CPU for 0.34 s", kind=ReasonKind.CPU_WAIT)
NOT_KEPT_UP = reasons_of("the system did not keep up: 8,000 of 20,000 msg/s (40%)", kind=ReasonKind.NOT_KEPT_UP)
