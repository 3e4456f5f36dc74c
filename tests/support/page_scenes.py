"""Runs, pictures and comparisons as texts, for the tests of sentences: each kind made once, and changed in little.

What is made of the gallery's runs is read from the models of pages and pictures, since what they say is there.
"""

from __future__ import annotations

import fcntl
import html
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from gallery_samples import GALLERY, Maker, loaded, trial
from report_samples import KAFKA
from rich.console import Console, RenderableType
from sentence_templates import OWN_WORDS_MIN, SOURCE, WORDS_MIN, Template

from tidegauge import store
from tidegauge.comparison.compared_trials import ComparedTrials, sort_compared_trials
from tidegauge.model.disturbance import HostAccount
from tidegauge.model.load import ClockBound
from tidegauge.model.trial import AnyResult, LoadResult, RateRule
from tidegauge.model.use import Limiting, Resource
from tidegauge.report import distributions
from tidegauge.report.distributions import Within
from tidegauge.report.html.answer import answer
from tidegauge.report.html.disclosure import trial_rows
from tidegauge.report.html.page import report_page
from tidegauge.report.html.sections import sections
from tidegauge.report.plots.draw import Drawing
from tidegauge.report.plots.model import Details, Plot
from tidegauge.report.plots.overview import overview
from tidegauge.store.read import StoredRun

_WIDE = 10_000
_S = 1_000_000_000


def many_points(runs: Path) -> Path:
    """One system at nine numbers of partitions."""
    maker = Maker(runs, "many-points")
    for number in range(9):
        maker.trial(loaded(trial(KAFKA, "latency", number + 1, point={"partitions": str(2**number)})))
    return maker.done()


def two_rates(runs: Path) -> Path:
    """One system at two rates, and no most."""
    maker = Maker(runs, "two-rates")
    for number, rate in enumerate((20_000.0, 40_000.0), 1):
        maker.trial(
            loaded(replace(trial(KAFKA, "latency", number), msgs_per_s=rate, rate_rule=RateRule(f"{rate:.0f}")))
        )
    return maker.done()


RUNS: Mapping[str, Callable[[Path], Path]] = {
    **GALLERY,
    "many-points": many_points,
    "two-rates": two_rates,
}


def _stored_run(name: str) -> Path:
    """Returns a run's directory. Of the processes that share the tests, the first that asks makes it for all."""
    place = Path(os.environ["TIDEGAUGE_GALLERY_RUNS"]) / name
    place.mkdir(exist_ok=True)
    finished = place / "path"
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not finished.exists():
            finished.write_text(str(RUNS[name](place)))
    return Path(finished.read_text())


@cache
def run_named(name: str) -> tuple[StoredRun, Details]:
    """A run of the gallery with what was stored of its trials."""
    run = store.load_run(_stored_run(name))
    return run, store.details_of(run)


def with_results(run: StoredRun, change: Callable[[Any], AnyResult]) -> StoredRun:
    """The run with each of its results changed, and their trials' specs likewise."""
    trials = []
    for one in run.trials:
        result = change(one.result) if one.result is not None else None
        trials.append(replace(one, result=result, spec=result.spec if result is not None else one.spec))
    return replace(run, trials=tuple(trials), planned=tuple(one.spec for one in trials if one.spec is not None))


def one_run(**changes: object) -> StoredRun:
    """One trial of one system at one rate, with fields of its result changed."""
    return with_results(run_named("one-system")[0], lambda result: replace(result, **changes))


def run_of(*results: LoadResult, **changes: object) -> StoredRun:
    """A run that has these results."""
    run, _ = run_named("one-system")
    trials = [replace(run.trials[0], trial_id=one.spec.trial_id, spec=one.spec, result=one) for one in results]
    specs = tuple(one.spec for one in results)
    return replace(run, trials=tuple(trials), planned=specs, **changes)  # type: ignore[arg-type]


def block_of(name: str, experiment: str) -> tuple[ComparedTrials, Details]:
    """The table of an experiment."""
    run, details = run_named(name)
    return next(block for block in sort_compared_trials(run.results) if block.experiment == experiment), details


def account(busy: float = 0.5, others: float | None = 0.02) -> HostAccount:
    """Who used two CPUs."""
    return HostAccount("", 2, busy, 0.2, 0.2, 0.0, 0.0, 0.0, others, 0.0, None)


def limited_by(resource: Resource) -> Limiting:
    return Limiting(resource, "", 0.97, "busy")


CLOCKS = (ClockBound(1, 2, -30_000.0, 54_000.0),)


def answered(run: StoredRun) -> Iterator[str]:
    """The first screen, without the sentences that other modules make."""
    found = answer(run)
    yield found.headline
    for badge in found.badges:
        yield badge.text
        yield badge.sentence
    yield from found.unsaid


def plotted(plots: Iterable[Plot]) -> Iterator[str]:
    """All that pictures say, text by text."""
    for plot in plots:
        yield from (plot.title, plot.description, plot.context, plot.reading)
        for axis in (plot.x, plot.y):
            yield from (axis.label, axis.meaning, *axis.names, *(words for _, words in axis.ticks))
        for series in plot.series:
            yield from (series.name, *series.notes, *(f"{cell.verdict}\n{cell.note}" for cell in series.cells))
        yield from (span.label for span in plot.spans)
        yield from (line.label for line in plot.lines)


def sectioned(run: StoredRun, details: Details) -> Iterator[str]:
    """The parts about each experiment, with their pictures."""
    for section in sections(run, details):
        for part in section.parts:
            yield from (part.title, part.words, *part.notes)
        yield from plotted(section.plots)


def first_picture(run: StoredRun, *within: Within) -> Iterator[str]:
    """The one that stands first in a report. `within`: instead of the intervals that its trials have."""
    picture = overview(run, within or distributions.intervals_within_trials(run))
    return plotted([picture] if picture is not None else [])


def whole(run: StoredRun, details: Details) -> Iterator[str]:
    """Everything of a page that its own modules say."""
    yield from answered(run)
    yield from first_picture(run)
    yield from sectioned(run, details)
    for row in trial_rows(run).rows:
        yield from row


def page(run: StoredRun, details: Details, omb_files: Sequence[str] = ()) -> list[str]:
    """The texts of a report's page and its labels, without what is drawn. `omb_files`: kept with the run."""
    nothing = Drawing("", ())
    with (
        mock.patch("tidegauge.report.plots.draw.page_drawing", lambda _plot, _places: nothing),
        mock.patch("tidegauge.report.html.page.kept_omb_files", lambda _path: list(omb_files)),
    ):
        return page_texts(report_page(run, details))


def page_texts(text: str) -> list[str]:
    """What stands between a page's tags, and what its labels and titles say."""
    shown = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
    labels = re.findall(r'(?:aria-label|title)="([^"]*)"', shown)
    return [html.unescape(part) for part in (*labels, *re.split(r"<[^>]*>", shown)) if part.strip()]


@cache
def page_templates() -> list[Template]:
    """The sentences of the pages' own templates, with "{}" for what is put in."""
    return [
        Template(path.name, 0, " ".join(text.split()))
        for path in sorted((SOURCE / "report/html/templates").glob("*.j2"))
        for text in _template_texts(path.read_text())
        if _says_something(text)
    ]


def _says_something(text: str) -> bool:
    own_words = re.findall(r"[A-Za-z][A-Za-z'-]+", text)
    return len(own_words) >= OWN_WORDS_MIN and len(own_words) + text.count("{}") >= WORDS_MIN


def _template_texts(source: str) -> Iterator[str]:
    """Between tags of the page and of the template, in labels, and strings that the template puts in."""
    source = re.sub(r"\{#.*?#\}|<(script|style)\b.*?</\1>", "", source, flags=re.DOTALL)
    for code in re.findall(r"\{[{%](.*?)[}%]\}", source, flags=re.DOTALL):
        yield from re.findall(r'"([^"]*)"', code)
    source = re.sub(r"\{\{.*?\}\}", "{}", re.sub(r"\{%.*?%\}", "<>", source, flags=re.DOTALL), flags=re.DOTALL)
    yield from re.findall(r'(?:aria-label|title)="([^"<]*)"', source)
    yield from re.split(r"<[^>]*>", source)


def printed(shown: RenderableType) -> str:
    """What a terminal of any width has, in one text."""
    out = io.StringIO()
    Console(file=out, width=_WIDE, markup=False, highlight=False).print(shown, crop=False)
    return out.getvalue()


def with_rows(details: Details, **rows: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Details:
    """Rows of every trial changed: of `seconds`, or of `use`, which is made of the seconds."""
    changed = {}
    for name, one in details.items():
        made = {kind: tuple(change(row) for row in one.seconds) for kind, change in rows.items()}
        changed[name] = replace(one, **made)  # type: ignore[arg-type]
    return changed


def use_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A second in which some of everything was used."""
    amounts = (
        "server_cpu_s", "host_cpu_percent", "others_cpu_percent", "server_resident_bytes", "server_gc_pause_s",
        "disk_written_bytes", "disk_read_bytes", "disk_flushes", "disk_busy_percent", "io_stall_percent",
        "cpu_stall_percent", "loopback_bytes", "server_context_switches", "network_sent_bytes",
        "disk_written_bytes of vdb",
    )  # fmt: skip
    return {"from_mono_ns": row["from_mono_ns"], "until_mono_ns": row["until_mono_ns"], **dict.fromkeys(amounts, 1.0)}


def metric_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A second in which servers reported something."""
    return {"from_mono_ns": row["from_mono_ns"], "until_mono_ns": row["until_mono_ns"], "log_flush_ms of kafka-1": 1.0}


def idle_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A second in which nothing waited, and the load generator used nothing."""
    nothing = (
        "backlog_msgs", "in_flight_msgs", "worker_cpu_s", "gc_pause_s", "heap_used_bytes", "own_lag_max_ms",
        "blocked_s", "received_msgs",
    )  # fmt: skip
    return {**row, **dict.fromkeys(nothing, 0)}


def lasting(details: Details, seconds: int, apart_s: int = 1) -> Details:
    """The same trials with so many rows, each so long, all like the one in the middle."""

    def rows(one: Any) -> tuple[dict[str, Any], ...]:
        like, begin = one.seconds[len(one.seconds) // 2], one.seconds[0]["from_mono_ns"]
        step = apart_s * _S
        edges = ((begin + number * step, begin + (number + 1) * step) for number in range(seconds))
        return tuple({**like, "from_mono_ns": low, "until_mono_ns": high} for low, high in edges)

    return {name: replace(one, seconds=rows(one)) for name, one in details.items()}
