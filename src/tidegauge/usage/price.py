"""What a result costs, from the price of a host for an hour. Pure."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from tidegauge.model.trial import TrialResult, Validity

PRICE_HELP = "a number, with a currency if you like: 0.34, '0.34 USD' or '0.34 EUR'"
_PRICE = re.compile(r"([0-9]+(?:\.[0-9]+)?)(?:\s+([A-Za-z]{1,8}))?")


@dataclass(frozen=True)
class Price:
    """Money for one host for an hour. `currency` is the user's word for it, "" if they gave none."""

    per_host_hour: float
    currency: str = ""

    def __str__(self) -> str:
        return " ".join(part for part in (f"{self.per_host_hour:g}", self.currency) if part)


@dataclass(frozen=True)
class Cost:
    """What a result's rate costs.

    Attributes:
        hosts: that were paid for: this machine; of a cluster that others run, its nodes and this machine.
        per_gb_per_s_hour: to carry 10^9 bytes of message values a second for an hour.
        per_billion_messages: to have 10^9 messages acknowledged.
        currency: as the user gave it.
    """

    hosts: int
    per_gb_per_s_hour: float
    per_billion_messages: float
    currency: str


def parse_price(value: object) -> Price:
    """A `Price` from 0.34, "0.34" or "0.34 USD". Raises `ValueError` that says what is allowed."""
    if isinstance(value, Price):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        amount, currency = float(value), ""
    else:
        match = _PRICE.fullmatch(value.strip()) if isinstance(value, str) else None
        if not match:
            raise ValueError(f"must be {PRICE_HELP}")
        amount, currency = float(match.group(1)), match.group(2) or ""
    if not math.isfinite(amount) or amount <= 0:
        raise ValueError("must be above 0")
    return Price(amount, currency)


def cost(result: TrialResult, price: Price) -> Cost | None:
    """What it costs to go on at the result's rate; None for an INVALID one, or one that moved nothing."""
    if result.validity is Validity.INVALID or result.msgs_per_s <= 0 or result.mb_per_s <= 0:
        return None
    hosts = result.spec.nodes + 1 if result.spec.attached else 1
    per_hour = hosts * price.per_host_hour
    return Cost(
        hosts=hosts,
        per_gb_per_s_hour=per_hour / (result.mb_per_s / 1e3),
        per_billion_messages=per_hour / (result.msgs_per_s * 3600) * 1e9,
        currency=price.currency,
    )
