"""What puts the systems of a comparison on unequal terms, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rich.console import RenderableType

from tidegauge.model.tilt import Stage, Terms, Tilt
from tidegauge.numbers import plural
from tidegauge.report.layout import Paragraph, bullet

MARK = "UNEQUAL"
"""Stands wherever figures of an unequal comparison are shown."""


def mark(unequal: Sequence[object]) -> str:
    """What stands before a sentence with such figures; "" where nothing is unequal."""
    return f"{MARK}: " if unequal else ""


def headline(terms: Terms) -> str:
    """Two sentences on an unequal comparison; "" if it is none."""
    if not terms.unequal:
        return ""
    reasons = ["allowed with --allow-unequal"] if terms.allowed else []
    if any(tilt.stage is Stage.IN_FORCE for tilt in terms.unequal):
        reasons.append("seen in what was in force")
    count = plural(len(terms.unequal), "difference")
    why = ", ".join(filter(None, (count, " and ".join(reasons))))
    return f"{MARK} comparison ({why}). Its figures are not on equal terms:"


def run_parts(terms: Terms) -> Iterable[RenderableType]:
    """What a run's report says before any figure."""
    head = "To know when comparing (--json adds amounts, sources and remedies):"
    return _terms_parts(terms, headline(terms), head, lambda tilt: f"{tilt.rule}: {tilt.what}: {tilt.why}.")


def plan_parts(terms: Terms) -> Iterable[RenderableType]:
    """What a plan says of the fairness of its comparison."""
    verdict = "It will run, marked as unequal" if terms.allowed else "It is refused unless --allow-unequal is given"
    return _terms_parts(terms, f"{MARK} comparison. {verdict}:", "To know when comparing:", Tilt.paragraph)


def _terms_parts(terms: Terms, head: str, advice_head: str, advice: Callable[[Tilt], str]) -> Iterable[RenderableType]:
    if terms.unequal:
        yield Paragraph(head, style="bold red")
        yield from (bullet(tilt.paragraph(), "red") for tilt in terms.unequal)
    if terms.advice:
        yield Paragraph(advice_head)
        yield from map(bullet, map(advice, terms.advice))
