"""Renders the pages: templates, styles and script are files of this package and stand inline in every page.

Everything that comes from a run is escaped by Jinja2. Behind that stands a second wall: the page's own policy allows
no script but the one whose digest it names, and no request at all.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tidegauge import __version__
from tidegauge.comparison.history import RunHistory
from tidegauge.numbers import local_time, plural
from tidegauge.report import fairness, levels, published
from tidegauge.report.facts import RunFacts
from tidegauge.report.history import NOT_TESTED, history_notes
from tidegauge.report.html import disclosure
from tidegauge.report.html.answer import answer
from tidegauge.report.html.first_table import first_table
from tidegauge.report.html.hosts import hosts_table
from tidegauge.report.html.index_rows import index_heads
from tidegauge.report.html.sections import sections
from tidegauge.report.plots.model import LOOKS, Details, Plot, data_table, look
from tidegauge.report.plots.overview import overview
from tidegauge.report.terminal import WORDS
from tidegauge.store.omb import kept_omb_files
from tidegauge.store.read import StoredRun

PERCENTILE_WORDS = {
    "p50": "half of the messages waited longer",
    "p95": "1 of 20 messages waited longer",
    "p99": "1 of 100 messages waited longer",
    "p99.9": "1 of 1,000 messages waited longer",
    "max": "the longest wait that was measured",
}
"""What the heads of columns mean, for a reader's pointer."""


def report_page(run: StoredRun, details: Details) -> str:
    """The whole report of a run, whatever state it is in."""
    from tidegauge.report.plots.draw import page_drawing  # An index has no plots and need not wait for matplotlib.

    all_sections = sections(run, details)
    places = system_places(run)
    first_screen = answer(run)
    facts = RunFacts(run)
    return render_page(
        "report.html.j2",
        "report.js",
        run=run,
        answer=first_screen,
        first_table=first_table(run, first_screen.verdicts),
        anchors={section.title: section.anchor for section in all_sections},
        picture=overview(run, facts.within),
        percentiles=PERCENTILE_WORDS,
        sections=all_sections,
        drawing=lambda plot: page_drawing(plot, places),
        data_table=data_table,
        systems=[(name, look(place), place) for name, place in places.items()],
        places=places,
        looks=LOOKS,
        words=WORDS,
        host=facts.host,
        hosts=hosts_table(run),
        where=facts.where,
        levels=levels,
        witnesses=[
            (result.spec.trial_id, result.spec.system, f"{syncs.agreement.value}: {syncs.words}")
            for result in run.results
            if (syncs := result.level.syncs) is not None
        ],
        mark=fairness.MARK,
        published=published,
        sessions=facts.sessions,
        trials=disclosure.trial_rows(run),
        settings=disclosure.settings(run, details),
        environment=disclosure.environment_rows(run.environment),
        again=disclosure.how_to_run_again(run, kept_omb_files(run.path)),
        version=disclosure.version_words(run),
        started=local_time(run.started_at),
        labels=run.labels.words,
    )


def index_page(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table of many runs, the newest first, that a reader can sort."""
    labelled = any(row["labels"] for row in rows)
    return render_page("index.html.j2", "index.js", rows=rows, looks=LOOKS, labelled=labelled, heads=index_heads())


def history_page(history: RunHistory, link: Callable[[StoredRun], str], chosen: str = "") -> str:
    """Figures over many runs with what changed.

    Args:
        link: the way to a run's report; "" if it has none.
        chosen: by what runs were chosen, in words; "" = these are all.
    """
    from tidegauge.report.html.history_parts import history_places, page_changes, page_parts
    from tidegauge.report.plots.draw import page_drawing

    places = history_places(history)
    changes = list(page_changes(history))
    count_of_changes = sum(len(figure.changes) for part in history.parts for figure in part.figures)
    headline = f"{plural(count_of_changes, 'change')} in" if changes else "No change found in"
    return render_page(
        "history.html.j2",
        "report.js",
        title=f"{headline} {history.figures_tested} series" if history.figures_tested else NOT_TESTED,
        chosen=chosen,
        changes=changes,
        notes=history_notes(history),
        parts=list(page_parts(history, lambda plot: page_drawing(plot, places), link)),
        looks=LOOKS,
    )


def live_page(name: str, address: str) -> str:
    """A page that follows a run, by asking for its state once a second. `address`: the run's name as part of a URL."""
    return render_page("live.html.j2", "live.js", name=name, address=address, looks=LOOKS)


def system_places(run: StoredRun) -> dict[str, int]:
    """The place of each system among those of the run, by name: it decides its look in every plot."""
    planned = {spec.system for spec in run.planned}
    begun = {trial.spec.system for trial in run.trials if trial.spec is not None}
    return {system: place for place, system in enumerate(sorted(planned | begun))}


def plots_of(run: StoredRun, details: Details) -> list[Plot]:
    """Every plot of a run's report, for files of their own; the one that stands first comes first."""
    picture = overview(run, RunFacts(run).within)
    return [*([picture] if picture else []), *(plot for section in sections(run, details) for plot in section.plots)]


def render_page(template: str, script: str, **content: Any) -> str:
    """A page of a template, with its styles and its script in it."""
    text = f"{_asset_text(script)}{_asset_text('tables.js')}"
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return (
        template_environment()
        .get_template(template)
        .render(
            css=Markup(_asset_text("report.css")), script=Markup(text), digest=digest, tidegauge=__version__, **content
        )
    )


@cache
def template_environment() -> Environment:
    """Templates of pages and their macros; what a page is given is escaped."""
    return Environment(
        loader=PackageLoader("tidegauge.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _asset_text(name: str) -> str:
    return (resources.files("tidegauge.report.html") / "assets" / name).read_text(encoding="utf-8")
