"""`curve`: latency against load, from little to more than the system sustains; each point is one trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import AfterValidator, Field

from tidegauge.config.fields import AbsoluteRate, Share
from tidegauge.experiments.max_throughput import first_sustainable
from tidegauge.experiments.procedure import Experiment, Lab, PreconditionError, ServersChoice, ShortTrialOptions
from tidegauge.model.finding import Cell, CurvePoint, Finding, curve_details
from tidegauge.model.trial import LoadResult, LoadSpec, RateRule, ServerReuse, TrialSpec, Validity, trial_id_in_step
from tidegauge.numbers import count, trimmed
from tidegauge.search.goals import Goal, PassFail, judge_goal
from tidegauge.statistics.figures import FIGURES

NAME = "curve"
_SHARES = [tenth / 10 for tenth in range(1, 12)]
_SUSTAINED = Goal("sustained")


def _check_shares(shares: list[float]) -> list[float]:
    if sorted(set(shares)) != shares or shares[0] <= 0 or shares[-1] > 3:
        raise ValueError("must rise, from above 0% to at most 300%")
    return shares


class CurveOptions(ShortTrialOptions):
    """Keys of `curve` in a campaign."""

    full_rate: AbsoluteRate | None = None
    shares: Annotated[list[Share], Field(min_length=1, max_length=50), AfterValidator(_check_shares)] = _SHARES
    servers: ServersChoice = ServerReuse.SHARED


def _plan_trials(options: CurveOptions, base: TrialSpec) -> tuple[LoadSpec, ...]:
    full_rate_words = "sustainable" if options.full_rate is None else f"{trimmed(options.full_rate)} msg/s"
    return tuple(
        options.load(
            replace(
                base, trial_id=trial_id_in_step(base.trial_id, number + 1), servers=options.servers, exploratory=True
            ),
            None if options.full_rate is None else options.full_rate * share,
            RateRule(f"{share:.0%} of {full_rate_words}", is_share=True),
        )
        for number, share in enumerate(options.shares)
    )


def _run_trials(options: CurveOptions, planned: tuple[LoadSpec, ...], lab: Lab) -> None:
    full = options.full_rate or first_sustainable(lab.findings).get(planned[0].system)
    if full is None:
        raise PreconditionError(
            f"{planned[0].system} has no sustainable rate in this run, so its curve has no scale.",
            "See why max-throughput confirmed none, or give 'full-rate' in messages a second.",
        )
    results = []
    try:
        for number, (share, spec) in enumerate(zip(options.shares, planned, strict=True)):
            results.append(lab.run_trial(replace(spec, msgs_per_s=full * share)))
            lab.announce_decision(
                f"{share:.0%} of {count(full)} msg/s: {_state_of_load(results[-1])}.", planned[number + 1 :]
            )
    finally:
        if results:
            step_id = planned[0].step_id
            lab.record_finding(_curve_finding(step_id, full, options.shares, results, len(planned)))


def _state_of_load(result: LoadResult) -> str:
    """ "sustained", or what was not."""
    if result.validity is Validity.INVALID:
        return "INVALID"
    verdict = judge_goal(_SUSTAINED, result)
    return "sustained" if verdict.outcome is PassFail.PASS else f"not sustained ({verdict.kind})"


def _curve_finding(
    step_id: str, full: float, shares: Sequence[float], results: Sequence[LoadResult], planned: int
) -> Finding:
    spec = results[0].spec
    points = [_point_of_load(share, result) for share, result in zip(shares, results, strict=False)]
    invalid = [result.spec.trial_id for result in results if result.validity is Validity.INVALID]
    loads = "1 load" if len(results) == 1 else f"{len(results)} loads"
    times = "response (p50, p99) and end-to-end" if spec.workload.subscriptions else "response (p50, p99)"
    summary = f"{times} at {loads} up to {shares[len(results) - 1]:.0%} of {count(full)} msg/s"
    if len(results) < planned:
        summary += f"; {planned - len(results)} more were not measured"
    if invalid:
        summary += f"; INVALID, and no answer of the system: {', '.join(invalid)}"
    return Finding(
        finding_id=step_id,
        experiment=NAME,
        system=spec.system,
        block=spec.block,
        decided=len(invalid) < len(results) and len(results) == planned,
        summary=(summary,),
        rows=tuple(map(_row_of_point, points)),
        details=curve_details(full, points),
    )


def _row_of_point(point: CurvePoint) -> dict[str, Cell]:
    return {
        "load": f"{point.share:.0%}",
        "offered msg/s": point.offered_msgs_per_s,
        "msg/s": point.msgs_per_s,
        "p50, ms": point.response_p50_ms,
        "p99, ms": point.response_p99_ms,
        "end-to-end p99, ms": point.end_to_end_p99_ms,
        "state": point.state,
    }


def _point_of_load(share: float, result: LoadResult) -> CurvePoint:
    return CurvePoint(
        share=share,
        trial_id=result.spec.trial_id,
        offered_msgs_per_s=result.offered_msgs_per_s,
        msgs_per_s=result.msgs_per_s,
        response_p50_ms=result.response.p50_ms,
        response_p99_ms=result.response.p99_ms,
        end_to_end_p99_ms=FIGURES["end_to_end_ms_p99"].value_in(result),
        state=_state_of_load(result),
        validity=result.validity.value,
    )


def _objection_to_options(options: CurveOptions, earlier: Sequence[str]) -> str:
    if options.full_rate is None and "max-throughput" not in earlier:
        return "needs a max-throughput experiment listed before this one; add 'max-throughput', or give 'full-rate'"
    return ""


EXPERIMENT = Experiment(
    name=NAME,
    summary="latency against load, from a tenth of the sustainable rate to more than it",
    options=CurveOptions,
    plan=_plan_trials,
    run=_run_trials,
    objection=_objection_to_options,
)
