"""What others do to a trial: waiting until CPUs are calm before it, and what they did to it afterwards."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from tidegauge.agent.api import Host
from tidegauge.errors import UserError, did_you_mean
from tidegauge.limiting.decide import MET
from tidegauge.limiting.disturbance import CPU_NOTED, MeasuredTrial, as_noted, cpu_accounts, disturbances, others_share
from tidegauge.limiting.window_use import WindowUse
from tidegauge.model.disturbance import SWITCH, Disturbance, Harm
from tidegauge.model.events import Note, Observer
from tidegauge.model.reason import Reason, ReasonKind
from tidegauge.model.trial import MeasuredResult, Validity
from tidegauge.model.use import Limiting, Sample
from tidegauge.numbers import join_with_and
from tidegauge.statistics.classify import rate_not_reached

_CHOICES = ["decide", "report"]

CALM_S_MAX = 10.0
"""How long a trial waits for others to leave the CPUs."""
_ANSWER_S_MAX = 3.0
"""Without a look for so long, nobody looks."""
_POLL_S = 0.25

Result = TypeVar("Result", bound=MeasuredResult)


def disturbance_decides() -> bool:
    """Whether what others disturb makes trials DOUBTFUL and INVALID. Raises `UserError`."""
    choice = os.environ.get(SWITCH, "").lower() or "decide"
    if choice not in _CHOICES:
        raise UserError(f"{SWITCH}={choice}{did_you_mean(choice, _CHOICES)}: allowed are {join_with_and(_CHOICES)}.")
    return choice == "decide"


def with_disturbances(result: Result, measured: MeasuredTrial, use: WindowUse | None, *, decides: bool) -> Result:
    """The result with who used the hosts beside it and, if that decides, as valid as it leaves it. Pure."""
    if use is None:
        return result
    disturbances_seen = disturbances(measured, use)
    disturbances_seen = disturbances_seen if decides else as_noted(disturbances_seen)
    noted = [
        Reason(ReasonKind.DISTURBED, disturbance.words)
        for disturbance in disturbances_seen
        if disturbance.harm is Harm.NOTED
    ]
    reasons = tuple(reason_of(disturbance) for disturbance in disturbances_seen if disturbance.harm is not Harm.NOTED)
    worst = disturbances_seen[0].harm if reasons else Harm.NOTED
    # What makes figures INVALID is the first that is said of them: it is why the load generator was late, too.
    first = worst is Harm.INVALID or result.validity is Validity.VALID
    order = list(Validity)
    as_validity = {Harm.NOTED: Validity.VALID, Harm.DOUBTFUL: Validity.DOUBTFUL, Harm.INVALID: Validity.INVALID}
    return replace(
        result,
        validity=max(result.validity, as_validity[worst], key=order.index),
        reasons=(*reasons, *result.reasons) if first else (*result.reasons, *reasons),
        warnings=(*result.warnings, *noted),
        disturbances=disturbances_seen,
        accounts=cpu_accounts(measured, use),
    )


def with_load_hosts_judged(result: Result, limits: Sequence[Limiting]) -> Result:
    """The result by what was at its end on its load hosts. Pure.

    INVALID if less than was offered came through. Of a trial that went as fast as it went the rate is that of these
    hosts, and so no more than a bound for the system: DOUBTFUL.

    `limits`: as `limiting.decide.limits_of_load_hosts` names them.
    """
    offered = result.offered_msgs_per_s
    if not limits or (offered is not None and not (offered and result.is_warned_of(ReasonKind.NOT_KEPT_UP))):
        return result
    limits_words = join_with_and([limiting.words for limiting in limits])
    words = f"the load generator's host was at its end, and not the system: {limits_words}"
    remedy = "give the load generator more of that, or more hosts (tidegauge fleet check)"
    if offered is None:
        reason = Reason(ReasonKind.HELD_BACK, f"{words}; the system may do more", remedy)
        validity = max(result.validity, Validity.DOUBTFUL, key=list(Validity).index)
        return replace(result, validity=validity, reasons=(*result.reasons, reason))
    reached = rate_not_reached(result.msgs_per_s, offered)
    reason = Reason(ReasonKind.HELD_BACK, f"{words}; {reached.text}", f"{remedy}; or offer a lower rate")
    return replace(
        result,
        validity=Validity.INVALID,
        reasons=(reason, *result.reasons),
        # That it did not keep up would be said of the system.
        warnings=tuple(reached if warning.kind is ReasonKind.NOT_KEPT_UP else warning for warning in result.warnings),
    )


def reason_of(disturbance: Disturbance) -> Reason:
    """Why a trial is not VALID, and what to do about it."""
    return Reason(ReasonKind.DISTURBED, disturbance.words, disturbance.remedy)


def rate_counts(result: MeasuredResult) -> bool:
    """Whether a trial's answer is a rate: it went as fast as it goes, or did not reach what was offered."""
    return result.offered_msgs_per_s is None or result.msgs_per_s < MET * result.offered_msgs_per_s


def await_calm_cpus(
    host: Host,
    observer: Observer,
    trial_id: str,
    *,
    seconds_max: float = CALM_S_MAX,
    now_s: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Wait until others leave the CPUs of all hosts in a look, or time is up; say so if that took long.

    A host that nobody looks at is not waited for. Raises `RunFailedError` if the agent is gone.
    """
    begun_s = now_s()
    seen = max([0, *(sample.number for sample in host.samples(0))])
    busy: Sample | None = None
    while True:
        sleep(_POLL_S)
        samples = host.samples(seen)
        waited_s = now_s() - begun_s
        if samples:
            last = samples[-1]
            seen = last.number
            shares = [others_share(last.host, last.length_s)]
            shares += [others_share(other.use, other.seconds) for other in last.others]
            if all(share < CPU_NOTED for share in shares):
                if busy is not None:
                    observer(
                        Note(f"{trial_id}: waited {waited_s:.0f} s for other programs to end ({_busy_programs(busy)}).")
                    )
                return
            busy = last
        if waited_s >= (seconds_max if busy is not None else _ANSWER_S_MAX):
            if busy is not None:
                waited_words = f"waited {waited_s:.0f} s in vain for other programs to end ({_busy_programs(busy)})"
                observer(Note(f"{trial_id}: {waited_words}, and began beside them."))
            return


def _busy_programs(sample: Sample) -> str:
    """The programs that used most, with their CPUs."""
    worst: Sequence[str] = [
        f"{program.name}{f' on {program.host}' if program.host else ''} {program.cpu_s / sample.length_s:.2f}"
        for program in sorted(sample.programs, key=lambda program: -program.cpu_s)[:3]
        if program.cpu_s > 0
    ]
    return f"CPUs: {join_with_and(worst)}" if worst else "programs that can't be seen from here"
