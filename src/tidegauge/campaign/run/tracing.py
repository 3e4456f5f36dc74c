"""What became of messages that consumers did not receive: looked for by a fresh reader before anybody speaks of loss.

First from where the servers say that a subscription has come, which finds what is late at the cost of reading just
that; what is not there is looked for from the beginning, and once more when servers have had time to show what they
have. No cost where nothing is missing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from tidegauge.campaign.run.running_trial import RunningTrial
from tidegauge.errors import GeneratorFailedError, RunFailedError
from tidegauge.model.load import SubscriptionTotals, TotalFigures, Traced
from tidegauge.numbers import plural
from tidegauge.worker.api import LoadOrder, LoadWorker
from tidegauge.worker.sequences import Missing, account_for_missing, union_of_missing

TRACE_S_MAX = 60.0
"""For all subscriptions of a trial together: what is not found by then is not known."""
SETTLE_S = 30.0
"""After so long servers show what they have: a queue has taken back what was under way, and a leader has given up
a copy that no longer follows (Kafka's `replica.lag.time.max.ms`), up to which alone it can be read."""


def trace_missing(trial: RunningTrial, totals: TotalFigures) -> tuple[TotalFigures, Mapping[str, Traced]]:
    """The totals once consumers are closed, and what became of what each subscription misses; {} if none does.

    Raises `GeneratorFailedError` if the load generator is gone.
    """
    behind = [sub.name for sub in totals.subscriptions if sub.lost]
    if not behind:
        return totals, {}
    worker, order = trial.worker, trial.order
    words = plural(max(sub.lost for sub in totals.subscriptions), "message")
    trial.phase("search", f"for {words} that consumers did not receive", TRACE_S_MAX)
    deadline_s = time.monotonic() + TRACE_S_MAX
    try:
        # Closed, so that servers take back what they had sent, and nothing arrives while it is looked for.
        worker.close_consumers(behind)
        totals = worker.totals()
        still_missing = [sub for sub in totals.subscriptions if sub.name in behind and sub.lost]
        missing = worker.missing([sub.name for sub in still_missing])
    except GeneratorFailedError:
        raise
    except RunFailedError as error:
        return totals, {
            sub.name: Traced(untraced=sub.lost, why=error.message) for sub in totals.subscriptions if sub.lost
        }
    return totals, {
        sub.name: _trace_subscription(worker, order, sub, missing[sub.name], deadline_s) for sub in still_missing
    }


def _trace_subscription(
    worker: LoadWorker, order: LoadOrder | None, sub: SubscriptionTotals, missing: Missing, deadline_s: float
) -> Traced:
    assert order is not None
    present: Missing = {}
    began_s = deadline_s - TRACE_S_MAX
    for whole, at_s in ((False, began_s), (True, began_s), (False, began_s + SETTLE_S)):
        time.sleep(max(0.0, at_s - time.monotonic()))
        try:
            trace = worker.trace(order, sub.name, max(1.0, deadline_s - time.monotonic()), whole=whole)
        except GeneratorFailedError:
            raise
        except RunFailedError as error:
            return account_for_missing(missing, present, unattributed=sub.corrupt_unattributed, why=error.message)
        present = union_of_missing(present, trace.present)
        account = partial(
            account_for_missing, missing, present, unattributed=sub.corrupt_unattributed, why=trace.why_incomplete,
            gone=trace.gone,
        )  # fmt: skip
        if not account().lost:
            break
    result = account(discarded_max=sub.discarded_max)
    if result.untraced and not result.why:
        held = plural(sub.discarded_max, "message")
        return replace(result, why=f"consumers' clients discarded deliveries that may have held up to {held}")
    return result
