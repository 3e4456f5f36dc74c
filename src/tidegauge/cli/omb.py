"""Running files of the OpenMessaging Benchmark from the command line: one run for each workload on each driver."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tidegauge import store
from tidegauge.campaign.model import WORKER_HEAP
from tidegauge.campaign.read.overriding import in_mb, parse_direct_memory, parse_heap
from tidegauge.cli.options import NO_FILES, WantedFiles
from tidegauge.cli.output import (
    EXIT_FAILED,
    EXIT_GOOD,
    EXIT_INTERRUPTED,
    EXIT_INVALID,
    EXIT_THRESHOLD,
    Output,
    error_content,
)
from tidegauge.cli.planning import Ready, check_directory, prepare_campaign
from tidegauge.config.fields import quantity_between
from tidegauge.config.units import parse_size_bytes
from tidegauge.errors import UserError
from tidegauge.model.events import Note, Observer
from tidegauge.model.labels import NO_LABELS, RunLabels
from tidegauge.model.trial import LoadResult, ReadResult
from tidegauge.numbers import trimmed
from tidegauge.omb.files import kept_driver, kept_workload
from tidegauge.omb.translate import Chosen, Translation, translate_all
from tidegauge.report.envelopes import Omb, OmbRun
from tidegauge.report.layout import bullet, heading
from tidegauge.report.lists import plan_list
from tidegauge.report.summary import plan_summary, run_summary

TIME_SCALE_MIN = 0.001
_WORST_FIRST = (EXIT_INTERRUPTED, EXIT_FAILED, UserError.exit_code, EXIT_INVALID, EXIT_THRESHOLD)


@dataclass(frozen=True)
class OmbRequest:
    """What the user asked for. `output_directory` None = results stay in the runs' directories only.

    `worker_heap` is of the load generator, such as "1GiB"; None = what each workload needs. `heap` and `direct_memory`
    are of each node of servers started here, `level` and `form` their durability level; `in_flight` of each producer.
    `workers` is how many load generators carry out each workload together, all on this host; `fleet` a file of hosts.
    The others from `repeat` on are as of a campaign's run, for each workload on each driver.
    """

    workloads: Sequence[Path]
    drivers: Sequence[Path]
    managed: bool
    time_scale: float
    runs_directory: Path
    output_directory: Path | None
    dry_run: bool
    worker_heap: str | None = None
    level: int | None = None
    form: str = ""
    heap: str | None = None
    direct_memory: str | None = None
    in_flight: int | None = None
    workers: int = 1
    repeat: int = 1
    thresholds: Sequence[str] = ()
    files: WantedFiles = NO_FILES
    live: bool = False
    prometheus: int | None = None
    labels: RunLabels = NO_LABELS
    prometheus_push: str | None = None
    fleet: Path | None = None


def run_omb(request: OmbRequest, out: Output) -> int:
    """Run each workload on each driver. Returns the worst exit code. Raises `UserError` before anything was started."""
    if not TIME_SCALE_MIN <= request.time_scale <= 1:
        raise UserError(f"--time-scale {trimmed(request.time_scale)}: must be from {trimmed(TIME_SCALE_MIN)} to 1.")
    if not request.drivers:
        raise UserError("A driver file is needed.", "Give one or several: --driver driver-kafka/kafka-latency.yaml")
    directory = request.output_directory
    if directory is not None:
        check_directory("--output-directory", directory)
        if not request.dry_run:
            _make_output_directory(directory)
    request.files.check()
    check_directory("--runs-dir", request.runs_directory)
    chosen = _chosen_options(request)
    translations = translate_all(request.workloads, request.drivers, request.managed, request.time_scale, chosen)
    # Each run has one system, so there is nothing to be unequal to; what is particular about it is marked all the same.
    ready = [
        (translation, prepare_campaign(translation.campaign, request.dry_run, allow_unequal=True))
        for translation in translations
    ]
    if request.dry_run:
        _show_plans(ready, request.runs_directory, out)
        return EXIT_GOOD
    from tidegauge.cli.reports import prometheus_observers

    codes, contents = [], []
    with prometheus_observers(request.prometheus, request.prometheus_push, out) as watchers:
        for number, (translation, prepared) in enumerate(ready, 1):
            files = request.files.of_run(number) if len(ready) > 1 else request.files
            code, content = _run_translation(translation, prepared, replace(request, files=files), out, watchers)
            codes.append(code)
            contents.append(content)
            if code == EXIT_INTERRUPTED:
                break
    if out.as_json:
        out.show("", Omb(schema="tidegauge.omb/1", runs=contents))
    return next((code for code in _WORST_FIRST if code in codes), EXIT_GOOD)


def _chosen_options(request: OmbRequest) -> Chosen:
    """What the command line says instead of the files. Raises `UserError`."""
    of_servers = {
        "--level": request.level,
        "--form": request.form,
        "--heap": request.heap,
        "--direct-memory": request.direct_memory,
    }
    options_given = [option for option, value in of_servers.items() if value]
    if options_given and not request.managed:
        raise UserError(
            f"{options_given[0]} is only for servers that Tidegauge starts: it needs --managed.",
            "Without --managed, clusters that run already are measured, and they keep their own settings.",
        )
    if request.form and request.level is None:
        raise UserError("--form is one of a durability level: it needs --level.")
    return Chosen(
        level=request.level or 0,
        form=request.form,
        heap_mb=_size_mb("--heap", request.heap, parse_heap),
        direct_memory_mb=_size_mb("--direct-memory", request.direct_memory, parse_direct_memory),
        in_flight=request.in_flight or 0,
        worker_heap_mb=_size_mb("--worker-heap", request.worker_heap, _worker_heap) or 0,
        workers=request.workers,
        repeat=request.repeat,
        thresholds=tuple(request.thresholds),
        fleet=str(request.fleet.absolute()) if request.fleet else "",
    )


def _worker_heap(text: str) -> int:
    return quantity_between(*WORKER_HEAP, parse_size_bytes)(parse_size_bytes(text))


def _size_mb(option: str, text: str | None, parse: Callable[[str], int]) -> int | None:
    """A size in MiB; None = it was left to us. Raises `UserError`."""
    try:
        return None if text is None else in_mb(parse(text))
    except ValueError as error:
        raise UserError(f"{option} {text}: {error}.") from error


def _title_of_run(translation: Translation) -> str:
    return f"Workload {translation.workload.name} on driver {translation.driver.name}"


def _show_plans(ready: Sequence[tuple[Translation, Ready]], runs: Path, out: Output) -> None:
    content: list[OmbRun] = []
    parts: list[RenderableType] = []
    for translation, prepared in ready:
        plan = prepared.shown_plan
        summary: Any = plan_summary(plan)
        content.append({**_names_of_files(translation), "notes": translation.notes, "plan": summary})
        parts += [heading(f"{_title_of_run(translation)}:"), *(bullet(note) for note in translation.notes), Text("")]
        parts += [plan_list(plan, prepared.full_speed(runs), prepared.places(runs)), Text("")]
    out.show(Group(*parts), Omb(schema="tidegauge.omb/1", runs=content))


def _names_of_files(translation: Translation) -> OmbRun:
    return OmbRun(
        workload=translation.workload.name,
        driver=translation.driver.name,
        workload_file=str(translation.workload.source.path),
        driver_file=str(translation.driver.source.path),
    )


def _run_translation(
    translation: Translation, ready: Ready, request: OmbRequest, out: Output, watchers: Sequence[Observer]
) -> tuple[int, OmbRun]:
    """Run one workload on one driver: exit code, content. What fails is reported, and the next goes on, as in OMB."""
    from tidegauge.cli.reports import keep_report, live_page
    from tidegauge.cli.running import CODES, create_run_directory, run_prepared, write_wanted
    from tidegauge.report.ending import ending
    from tidegauge.report.screen import run_screen

    began = datetime.now()
    texts = {
        f"workload-{translation.workload.source.path.name}": kept_workload(translation.workload),
        f"driver-{translation.driver.source.path.name}": kept_driver(translation.driver),
    }
    both = "---\n".join(f"# {name}\n{text.rstrip()}\n" for name, text in texts.items())
    run = create_run_directory(request.runs_directory, ready.campaign, both.encode(), request.labels)
    run.unequal_allowed = True
    run.thresholds = ready.campaign.thresholds
    store.keep_omb_files(run.path, texts)
    out.say(f"{_title_of_run(translation)}:")
    notes = [*map(Note, translation.notes), *ready.left_out]
    with live_page(request.live, run.path, out):
        failure = run_prepared(ready, run, out, notes, watchers=watchers)
    stored = store.load_run(run.path)
    keep_report(stored, out)
    write_wanted(request.files, stored, out)
    written, why = _write_results(translation, stored, began, request.output_directory)
    out.say(_words_on_results(written, why))
    summary: Any = run_summary(stored)
    content: OmbRun = {
        **_names_of_files(translation),
        "omb_results": [str(path) for path in written],
        "report": summary,
    }
    if failure is not None:
        out.error(failure, with_json=False)
        content["error"] = error_content(failure)
    ended = ending(stored, out.program, reason_shown=failure is not None)
    code = failure.exit_code if failure is not None else CODES[ended.end]
    if not out.as_json:
        out.show(run_screen(stored, ended, code, out.program), {})
    return code, content


def _make_output_directory(directory: Path) -> None:
    """Raise `UserError` before anything is measured if results can't be written there."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if not os.access(directory, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise UserError(
            f"--output-directory {directory}: nothing can be written there: {error.strerror}.",
            "Name another, or leave the option out: results are in the runs' directories too.",
        ) from error


def _words_on_results(written: Sequence[Path], why_not: str) -> str:
    return f"OMB's JSON: {', '.join(map(str, written))}" if written else f"No JSON for OMB was written: {why_not}."


def _write_results(
    translation: Translation, run: store.StoredRun, began: datetime, output: Path | None
) -> tuple[list[Path], str]:
    """Where OMB's JSON was written, in the run's directory and where the user wants it; else why there is none."""
    trials = _trials_with_figures(run)
    if not trials:
        only_read = any(isinstance(stored_trial.result, ReadResult) for stored_trial in run.trials)
        otherwise = "OMB's fields are of messages that are sent" if only_read else "no rate was confirmed"
        reasons = [stored_trial.reason for stored_trial in run.trials if stored_trial.reason] or [
            run.reason or otherwise
        ]
        return [], reasons[0].rstrip(".")
    driver = translation.driver.name.replace("/", "-")
    names = translation.workload.name, translation.driver.name
    paths: list[Path] = []
    for block, trial in trials.items():
        repeat = f"-{block + 1}" if block else ""
        name = f"{translation.workload.label}-{driver}-{began:%Y-%m-%d-%H-%M-%S}{repeat}.json"
        for path in (run.path / name, *([output / name] if output else [])):
            workload, period_s = translation.campaign.workload, translation.workload.fields.period_s
            store.write_omb_result(trial, names, workload, path, period_s)
            paths.append(path)
    return paths, ""


def _trials_with_figures(run: store.StoredRun) -> dict[int, store.StoredTrial]:
    """By repeat, the trial whose figures stand for it: the confirmation of a search, else the only one."""
    trials: dict[int, store.StoredTrial] = {}
    for trial in run.trials:
        result = trial.result
        if isinstance(result, LoadResult) and (trial.trial_id in run.confirmed or not result.spec.exploratory):
            trials.setdefault(result.spec.block, trial)
    return trials
