"""Others' results of the OpenMessaging Benchmark (OMB) beside a run's figures in its terms, and what it does to them.

No ratio is given and no verdict: one measurement has no interval, and its durability is not known.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group

from tidegauge.numbers import count, join_with_and, ms, plural
from tidegauge.report.envelopes import OmbResultContent, OmbResults
from tidegauge.report.layout import Column, WordTable, headed_bullets, heading
from tidegauge.store.omb_results import OmbResult

_RATE = "publish_msgs_per_s"
_ROWS = {
    _RATE: "published, msg/s",
    "failed_msgs_per_s": "failed, msg/s",
    "consume_msgs_per_s": "consumed, msg/s",
    **{
        f"{series}_ms_{figure}": f"{title} {'max' if figure == 'max' else figure.replace('p999', 'p99.9')}, ms"
        for series, title in (
            ("publish", "publish from the send"),
            ("delay", "wait before the send"),
            ("end_to_end", "end to end"),
            ("response", "response time (not in OMB)"),
        )
        for figure in ("p50", "p99", "p999", "max")
    },
}
_FACTS = {
    "message_bytes": "bytes a message",
    "topics": "topics",
    "partitions": "partitions of each topic",
    "producers": "producers of each topic",
    "consumers": "consumers of each subscription",
}
_SAME_RATE = 1.05
_NOT_THERE = "-"


def show_omb_results(results: Sequence[OmbResult]) -> Group:
    """The table and the remarks, for people."""
    rows = [row for row in _ROWS if any(row in result.figures for result in results)]
    shown = [Column("figure", tuple(_ROWS[row] for row in rows))]
    for letter, result in zip(_letters(results), results, strict=True):
        cells = (
            _NOT_THERE if (value := result.figures.get(row)) is None else (ms(value) if "_ms_" in row else count(value))
            for row in rows
        )
        shown.append(Column(letter, tuple(cells)))
    names = [
        f"{letter}: {result.name} ({'measured by OMB' if result.theirs else 'measured by Tidegauge'}: "
        f"{result.workload}, {result.driver})"
        for letter, result in zip(_letters(results), results, strict=True)
    ]
    return Group(
        *headed_bullets("Results", names),
        heading("In OMB's terms:"),
        WordTable(tuple(shown)),
        *headed_bullets("What OMB's way of measuring does to these figures", remarks_on_omb(results)),
    )


def omb_results_content(results: Sequence[OmbResult]) -> OmbResults:
    """The same as JSON."""
    content = [
        OmbResultContent(
            name=result.name,
            measured_by="OMB" if result.theirs else "Tidegauge",
            workload=result.workload,
            driver=result.driver,
            figures=result.figures,
        )
        for result in results
    ]
    return OmbResults(schema="tidegauge.ombresults/1", results=content, remarks=remarks_on_omb(results))


def remarks_on_omb(results: Sequence[OmbResult]) -> list[str]:
    """What OMB's method does to its figures, and what keeps these results from being the same question."""
    theirs = [(letter, one) for letter, one in zip(_letters(results), results, strict=True) if one.theirs]
    with_delay = [letter for letter, one in theirs if "delay_ms_p99" in one.figures]
    without = [letter for letter, _ in theirs if letter not in with_delay]
    whole = [letter for letter, one in theirs if one.whole_ms]
    cut = [letter for letter, one in theirs if one.is_cut]
    remarks = []
    if with_delay:
        remarks.append(
            f"{join_with_and(with_delay)}: publish latency begins with the actual send; what a message waited before "
            "is in another histogram, so percentiles of the response time can't be made of both."
        )
    if without:
        remarks.append(
            f"{join_with_and(without)}: publish latency begins with the actual send, and what a message waited before "
            "was not recorded: a producer that fell behind looks fast."
        )
    if whole:
        remarks.append(
            f"{join_with_and(whole)}: end-to-end latency is a difference of two wall clocks in whole ms, and values of "
            "0 or less were left out."
        )
    if cut:
        remarks.append(f"{join_with_and(cut)}: latencies were cut at 60 s.")
    for letter, one in theirs:
        if one.rates:
            remarks.append(
                f"{letter}: the rate went from {count(one.rates[0])} to {count(one.rates[1])} msg/s between periods, "
                "as where OMB searches for a rate while it measures: latencies are of all of these rates."
            )
    remarks += [*_remarks_on_trials(results), *_differences(results)]
    letters = join_with_and([letter for letter, _ in theirs])
    return [
        *remarks,
        f"{letters}: loss, order and damage were not checked, and the durability level is not in the file.",
        "One measurement has no interval: no ratio is given, and no verdict.",
    ]


def _remarks_on_trials(results: Sequence[OmbResult]) -> list[str]:
    """What the trials of ours are whose figures are shown."""
    remarks = []
    for letter, one in zip(_letters(results), results, strict=True):
        if one.repeats > 1 or one.left_out:
            left_out = f"; {one.left_out} more INVALID, left out" if one.left_out else ""
            trials = plural(one.repeats, "trial")
            remarks.append(f"{letter}: figures are geometric means of {trials}, of maxima the largest{left_out}.")
        if one.validity:
            remarks.append(
                f"{letter}: this trial is {one.validity}: its figures are shown, and `tidegauge show` says why."
            )
    return remarks


def _differences(results: Sequence[OmbResult]) -> list[str]:
    """What the results don't have in common."""
    letters = _letters(results)
    sentences = []
    for fact, title in _FACTS.items():
        values = {letter: one.facts[fact] for letter, one in zip(letters, results, strict=True) if fact in one.facts}
        if len(set(values.values())) > 1:
            sentences.append(f"Not the same: {_by_letter(values)} {title}.")
    with_rates = [(letter, one.figures.get(_RATE)) for letter, one in zip(letters, results, strict=True)]
    rates = {letter: rate for letter, rate in with_rates if rate is not None}
    if rates and max(rates.values()) > _SAME_RATE * min(rates.values()):
        sentences.append(f"Not the same: {_by_letter(rates)} msg/s published, and latencies depend on the rate.")
    return sentences


def _by_letter(values: dict[str, float]) -> str:
    return ", ".join(f"{letter} {count(value)}" for letter, value in values.items())


def _letters(results: Sequence[OmbResult]) -> list[str]:
    return [chr(ord("A") + place) for place in range(len(results))]
