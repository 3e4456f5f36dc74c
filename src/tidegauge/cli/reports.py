"""What is made of stored runs: their reports and index, live pages, comparisons, and published claims over several.

What draws or compares is imported when there is something to draw or to compare: it must cost neither the start of a
command nor a measurement.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegauge import store
from tidegauge.cli.ending import error_of_crash
from tidegauge.cli.options import WantedFiles
from tidegauge.cli.output import EXIT_GOOD, Output
from tidegauge.errors import RunFailedError, TidegaugeError, UserError
from tidegauge.extras import PLOTS, command_for, has_package, require_package
from tidegauge.numbers import plural
from tidegauge.places import check_path, is_directory, is_file
from tidegauge.report.layout import shown_path

if TYPE_CHECKING:
    from tidegauge.live.server import LiveServer
    from tidegauge.model.events import Observer
    from tidegauge.report.whole_report import WholeReportFacts


LOOPBACK = "127.0.0.1"
_TOKEN_BYTES = 18
_FILE_NAME_CHARS_MAX = 200


def serve(runs_directory: Path, bind: str, port: int, out: Output) -> int:
    """Serve until interrupted, which is how it is meant to end. Raises `UserError`, `RunFailedError`."""
    from tidegauge.live.server import LiveServer, is_loopback

    if not is_directory(runs_directory):
        raise UserError(f"There is no directory {runs_directory}.", "Start a run with `tidegauge quick`.")
    token = "" if is_loopback(bind) else secrets.token_urlsafe(_TOKEN_BYTES)
    server = LiveServer(runs_directory, bind, port, token)
    out.say(f"Runs in {runs_directory}: {server.url()}")
    if token:
        out.say("Whoever has this address can read them; the connection is not encrypted. Ctrl-C ends it.")
    with suppress(KeyboardInterrupt):
        server.serve()
    return EXIT_GOOD


@contextmanager
def live_page(wanted: bool, run: Path, out: Output) -> Iterator[None]:
    """Serve the page of a run as long as it goes, if wanted. That it can't be served harms no run: it is reported."""
    server = _start_live_page(run, out) if wanted else None
    try:
        yield
    finally:
        if server is not None:
            server.close()


@contextmanager
def prometheus_observers(port: int | None, push_url: str | None, out: Output) -> Iterator[list[Observer]]:
    """Serve, or send, figures for Prometheus as long as a run goes, if that was asked for. Raises `UserError`."""
    with ExitStack() as observing:
        observers: list[Observer] = []
        if port is not None:
            from tidegauge.live.exporter import Exporter

            exporter = observing.enter_context(Exporter(port))
            out.say(f"Prometheus: {exporter.url}")
            observers.append(exporter)
        if push_url is not None:
            from tidegauge.live.pushing import Pusher

            observers.append(observing.enter_context(Pusher(push_url, out.alert)))
        yield observers


def _start_live_page(run: Path, out: Output) -> LiveServer | None:
    from tidegauge.live.server import LiveServer

    try:
        server = LiveServer(run.parent, LOOPBACK, 0)
    except RunFailedError as error:
        out.alert(f"No live page: {error.message}")
        return None
    server.start()
    out.say(f"Live: {server.live_url(run)}")
    if sys.stdout.isatty():
        with suppress(webbrowser.Error, OSError):
            webbrowser.get()  # Raises where there is none, as over SSH.
            webbrowser.open(server.live_url(run))
    return server


SWITCH = "TIDEGAUGE_REPORT"
"""Environment variable: "off" = runs write no report by themselves (many short runs in a script)."""


def keep_report(run: store.StoredRun, out: Output) -> None:
    """Write the report of a run that has just ended. Never raises: what was measured is kept either way."""
    if os.environ.get(SWITCH, "").lower() == "off":
        return
    if not has_package("matplotlib"):
        out.alert(
            f"No report was written. For one: {command_for('matplotlib')} and `tidegauge report {run.path.name}`."
        )
        return
    out.say("Writing the report ...")
    try:
        _write_report(run, run.path / store.REPORT_NAME)
    except TidegaugeError as error:
        out.alert(
            f"The report could not be written: {error.message} Try again with `tidegauge report {run.path.name}`."
        )
    except Exception as error:
        out.error(error_of_crash(error, run.path), with_json=False)


def make_report(
    name: str,
    runs_directory: Path,
    out: Output,
    *,
    output: Path | None,
    svg: Path | None,
    png: Path | None,
    csv: Path | None,
) -> int:
    """Carry out `tidegauge report`: beside the run's files without `output`.

    No plots are written without `svg` and `png`, no tables without `csv`.

    Raises `UserError`, `RunFailedError`.
    """
    path = store.find_run(runs_directory, name, out.alert)
    run = store.load_run(path)
    check_output(output)
    page, plots = _write_report(run, output or path / store.REPORT_NAME), _write_plots(run, svg, png)
    tables = _write_tables(run, csv, out) if csv is not None else []
    places = [
        f"{plural(len(files), name)} in {' and '.join(sorted({shown_path(file.parent) for file in files}))}"
        for files, name in ((plots, "plot"), (tables, "table"))
        if files
    ]
    _show_written([page, *plots, *tables], out, "; ".join(places))
    return EXIT_GOOD


def _write_tables(run: store.StoredRun, directory: Path, out: Output) -> list[Path]:
    """Write the CSV tables. Seconds that can't be read are left out, and that is said. Raises `RunFailedError`."""
    from tidegauge.report.csv_tables import findings_csv, results_csv, seconds_csv

    def read_seconds(trial: store.StoredTrial) -> Sequence[Mapping[str, Any]]:
        try:
            return store.read_seconds(trial.directory)
        except (OSError, ValueError) as error:
            out.alert(f"The seconds of {trial.trial_id} can't be read and are left out: {error}.")
            return ()

    files = {
        "results.csv": results_csv(run),
        "findings.csv": findings_csv(run),
        "seconds.csv": seconds_csv(run, read_seconds),
    }
    return store.write_files(directory, files)


def check_output(output: Path | None) -> None:
    """Raise `UserError` if a file that was asked for is a directory, or can't have such a name."""
    if output is not None:
        check_path(output)
        if is_directory(output):
            raise UserError(f"{output} is a directory.", "Give --output the name of a file.")


def show_schema(name: str | None, output: Path | None, out: Output) -> int:
    """Carry out `tidegauge schema`. Raises `UserError`, `RunFailedError`."""
    from tidegauge.report.envelopes import Schemas
    from tidegauge.report.schemas import file_name, json_schemas, schema_named

    if name is None and output is None:
        names = list(json_schemas())
        out.show("\n".join(names), Schemas(schema="tidegauge.schemas/1", schemas=names))
        return EXIT_GOOD
    schemas = list(json_schemas().values()) if name is None else [schema_named(name)]
    if output is None:
        Output(as_json=True).show("", schemas[0])
        return EXIT_GOOD
    note = f"{plural(len(schemas) - 1, 'schema')} beside it" if name is None else ""
    texts = {
        file_name(schema["properties"]["schema"]["const"]): json.dumps(schema, indent=2) + "\n" for schema in schemas
    }
    _show_written(store.write_files(output, {path: text.encode() for path, text in texts.items()}), out, note)
    return EXIT_GOOD


def make_index(runs_directory: Path, output: Path | None, out: Output) -> int:
    """Carry out `tidegauge index`. Raises `UserError`, `RunFailedError`."""
    from tidegauge.report.html.index_rows import index_row
    from tidegauge.report.html.page import index_page

    if not is_directory(runs_directory):
        raise UserError(f"There is no directory {runs_directory}.", "Start a run with `tidegauge quick`.")
    check_output(output)
    path = output or runs_directory / store.INDEX_NAME
    runs = list(reversed(store.list_runs(runs_directory)))
    rows = [index_row(run, link_to_report(run.path, path.parent)) for run in runs]
    store.write_page(path, index_page(rows))
    without = sum(not row["href"] for row in rows)
    note = f"{plural(without, 'run')} without a report: make one with tidegauge report RUN" if without else ""
    _show_written([path], out, note)
    return EXIT_GOOD


def load_runs(names: Sequence[str], runs_directory: Path, done: str, out: Output) -> list[store.StoredRun]:
    """Load different runs, not too many of them to be `done` what they are named for. Raises `UserError`."""
    from tidegauge.comparison.differences import LETTERS

    if len(names) > len(LETTERS):
        raise UserError(f"{len(names)} runs are too many; at most {len(LETTERS)} can be {done} at once.")
    paths = [store.find_run(runs_directory, name, out.alert).resolve() for name in names]
    twice = sorted({path.name for path in paths if paths.count(path) > 1})
    if twice:
        raise UserError(f"{', '.join(twice)} is given twice.", "Name different runs.")
    return [store.load_run(path) for path in paths]


def examine_runs(names: Sequence[str], runs_directory: Path, files: WantedFiles, out: Output) -> int:
    """Examine runs, or those that repeat a report that is named. Raises `UserError` if they don't belong together."""
    from tidegauge.published.examine import report_names

    files.check()
    if len(names) == 1 and names[0] in report_names():
        runs = _newest_runs_of_report(names[0], runs_directory, out)
    else:
        runs = load_runs(names, runs_directory, "examined", out)
    show_report(examined_report(runs, out), files, out)
    return EXIT_GOOD


def examined_report(runs: Sequence[store.StoredRun], out: Output) -> WholeReportFacts:
    """What runs of one report's campaigns say of it. Raises `UserError` if they must not be put together."""
    from tidegauge.campaign.read.published import choice_of, measured_of
    from tidegauge.comparison.across import examined_together
    from tidegauge.published.examine import examine, report_named
    from tidegauge.report.whole_report import whole_report

    choices = []
    for run in runs:
        choice = choice_of(run)
        if choice is None:
            raise UserError(
                f"{run.path.name}: its campaign, {run.name}, examines no claims of a published report.",
                "Name runs of campaigns that have `published`: see docs/published.md.",
            )
        if not run.results:
            raise UserError(f"{run.path.name} has no trial with a readable result.")
        choices.append(choice)
    report, measured = report_named(choices[0].report), list(map(measured_of, runs))
    alone = len(runs) == 1
    outcome = examine(report, choices[0], measured[0]) if alone else examined_together(choices, runs, measured)
    return whole_report(report, runs, measured, outcome)


def show_report(facts: WholeReportFacts, files: WantedFiles, out: Output) -> None:
    """Print the verdicts, and write the page and the Markdown that are wanted. Raises `UserError`."""
    from tidegauge.report.across import published_runs, published_runs_content
    from tidegauge.report.html.page import plots_of
    from tidegauge.report.html.whole_report import whole_report_page
    from tidegauge.report.whole_report import whole_report_markdown

    if files.html is not None:
        require_package("matplotlib", PLOTS)
    directory = files.html.parent if files.html is not None else Path()
    files.write(
        lambda: b"",
        lambda: whole_report_markdown(facts),
        lambda: whole_report_page(
            facts,
            lambda run: plots_of(run, store.details_of(run)),
            lambda run: link_to_report(run.path, directory),
        ),
    )
    out.show(published_runs(facts), published_runs_content(facts))
    for path in filter(None, (files.html, files.markdown)):
        out.say(f"Written: {shown_path(path)}")


def _newest_runs_of_report(report: str, runs_directory: Path, out: Output) -> list[store.StoredRun]:
    """The newest runs of a report's campaigns, and older ones of what these have not measured, the newest last.

    All are at the scale of the newest. Raises `UserError` if there is no run.
    """
    runs = [
        run
        for run in store.list_runs(runs_directory)
        if run.published is not None and run.published.report == report and run.results
    ]
    if not runs:
        raise UserError(
            f"{runs_directory} has no run that repeats {report}.", f"Run it: {out.program} reproduce {report}"
        )
    scale = next(run.published.scale for run in reversed(runs) if run.published is not None)
    at_scale = [run for run in runs if run.published is not None and run.published.scale == scale]
    if others := {run.name for run in runs} - {run.name for run in at_scale}:
        out.alert(
            f"Left out, since the newest run is at the {scale} scale and these are not: {', '.join(sorted(others))}"
        )
    # The newest may have measured one of a campaign's systems only.
    chosen: list[store.StoredRun] = []
    measured: set[tuple[object, ...]] = set()
    for run in reversed(at_scale):
        parts = {
            (run.name, result.spec.experiment, result.spec.system, result.spec.choice, *result.spec.point.items())
            for result in run.results
        }
        if not parts <= measured:
            chosen.insert(0, run)
        measured |= parts
    return chosen


def _write_report(run: store.StoredRun, path: Path) -> Path:
    require_package("matplotlib", PLOTS)
    from tidegauge.report.html.page import report_page

    return store.write_page(path, report_page(run, store.details_of(run)))


def _write_plots(run: store.StoredRun, svg: Path | None, png: Path | None) -> list[Path]:
    if svg is None and png is None:
        return []
    require_package("matplotlib", PLOTS)
    from tidegauge.report.html.page import plots_of, system_places
    from tidegauge.report.plots.draw import png_file, svg_file
    from tidegauge.report.provenance import provenance_words

    plots, places, source = plots_of(run, store.details_of(run)), system_places(run), provenance_words(run)
    written: list[Path] = []
    for directory, ending, draw in ((svg, "svg", svg_file), (png, "png", png_file)):
        if directory is not None:
            names = _file_names([plot.plot_id for plot in plots])
            files = {f"{name}.{ending}": draw(plot, places, source) for name, plot in zip(names, plots, strict=True)}
            written += store.write_files(directory, files)
    return written


def _file_names(plot_ids: Sequence[str]) -> list[str]:
    """A name for a file of each plot, without what would make it a path: experiments, hosts and disks may be anybody's.

    What is then alike is numbered.
    """
    names: list[str] = []
    for plot_id in plot_ids:
        name = re.sub(r"[^\w.-]+", "-", plot_id)[:_FILE_NAME_CHARS_MAX]
        names.append(f"{name}-{len(names) + 1}" if name in names else name)
    return names


def link_to_report(run: Path, page_directory: Path) -> str:
    """The way from a page to a run's report; "" if there is none."""
    report = run / store.REPORT_NAME
    return Path(os.path.relpath(report, page_directory)).as_posix() if is_file(report) else ""


def _show_written(written: Sequence[Path], out: Output, note: str) -> None:
    from tidegauge.report.envelopes import Files

    text = "\n".join([f"Written: {shown_path(written[0])}", *([f"  {note}"] if note else [])])
    out.show(text, Files(schema="tidegauge.files/1", files=[str(path.absolute()) for path in written]))
