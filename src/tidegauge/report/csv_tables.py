"""A run's results and seconds as CSV, for other programs: plain numbers, and units last in the names of columns.

A figure has the name by which thresholds call it; counts, which are of messages, end with `_msgs`. A cell is
empty where a figure is not known.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tidegauge.model.trial import AttestResult, LoadSpec
from tidegauge.statistics.figures import FIGURES, FINDING_FIGURES, Figure, FigureKind
from tidegauge.store.read import StoredRun, StoredTrial
from tidegauge.store.seconds import COLUMNS

Row = Mapping[str, Any]
SECONDS_COLUMNS = (*COLUMNS, "phase")
"""What of a second is one number or word; what each subscription had is in seconds.parquet alone."""


def column_of(figure: Figure) -> str:
    """The column of a trial's figure: "response_ms_p99", "lost_msgs"."""
    return f"{figure.name}_msgs" if figure.kind is FigureKind.COUNTED else figure.name


def results_csv(run: StoredRun) -> bytes:
    """A row for each trial, in the order in which they were measured, those without a result and search steps too."""
    axes = _columns_of_axes([trial.spec.point for trial in run.trials if trial.spec is not None])
    rows = [_row_of_trial(run, trial, axes) for trial in run.trials]
    identity = (
        *("run", "label", "tags", "campaign", "trial_id", "experiment", "system", "form", "block"),
        *axes.values(),
        *("status", "validity", "reasons", "exploratory", "started_at", "durability_level", "nodes"),
        *("message_bytes", "offered_msgs_per_s", "measured_s"),
    )
    return _csv_of_rows((*identity, *map(column_of, FIGURES.values())), rows)


def _row_of_trial(run: StoredRun, trial: StoredTrial, axes: Mapping[str, str]) -> Row:
    row: dict[str, Any] = {
        **_row_of_run(run),
        "trial_id": trial.trial_id,
        "status": trial.status,
        "started_at": trial.started_at,
    }
    spec, result = trial.spec, trial.result
    if spec is not None:
        row |= {
            "experiment": spec.experiment,
            "system": spec.system,
            "form": spec.form,
            "block": spec.block,
            "exploratory": spec.exploratory,
            "nodes": spec.nodes,
            "message_bytes": spec.workload.payload.message_bytes,
            "offered_msgs_per_s": spec.msgs_per_s if isinstance(spec, LoadSpec) else None,
            **{axes[axis]: value for axis, value in spec.point.items()},
        }
    if result is None:
        return row | {"reasons": trial.why}
    row |= {
        "validity": result.validity.value,
        "reasons": "; ".join(map(str, result.reasons)),
        "durability_level": result.level.level,
    }
    if isinstance(result, AttestResult):
        return row
    row |= {"offered_msgs_per_s": result.offered_msgs_per_s, "measured_s": result.measured_s}
    return row | {column_of(figure): figure.value_in(result) for figure in FIGURES.values()}


def _row_of_run(run: StoredRun) -> Row:
    return {
        "run": run.path.name,
        "label": run.labels.label,
        "tags": ";".join(run.labels.tags),
        "campaign": run.name,
    }


def findings_csv(run: StoredRun) -> bytes:
    """A row for each finding, such as a sustainable rate."""
    axes = _columns_of_axes([finding.point for finding in run.findings])
    rows = [
        {
            **_row_of_run(run),
            "finding_id": finding.finding_id,
            "experiment": finding.experiment,
            "system": finding.system,
            "block": finding.block,
            "decided": finding.decided,
            "summary": " ".join(finding.summary),
            **{axes[axis]: value for axis, value in finding.point.items()},
            **{name: figure.value_in(finding) for name, figure in FINDING_FIGURES.items()},
        }
        for finding in run.findings
    ]
    identity = ("run", "label", "tags", "campaign", "finding_id", "experiment", "system", "block", *axes.values())
    return _csv_of_rows((*identity, "decided", "summary", *FINDING_FIGURES), rows)


def seconds_csv(run: StoredRun, read_seconds: Callable[[StoredTrial], Iterable[Row]]) -> bytes:
    """A row for each second of each trial, warm-up and drain too, beginning with what it is of."""
    identity = ("experiment", "system", "block")
    rows = (
        {
            "run": run.path.name,
            "trial_id": trial.trial_id,
            **{name: getattr(trial.spec, name, None) for name in identity},
            **second,
        }
        for trial in run.trials
        for second in read_seconds(trial)
    )
    return _csv_of_rows(("run", "trial_id", *identity, *SECONDS_COLUMNS), rows)


def _columns_of_axes(points: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The column of each axis of a sweep: "producer.linger.ms" is `point_producer_linger_ms`."""
    columns: dict[str, str] = {}
    for axis in dict.fromkeys(axis for point in points for axis in point):
        plain_name = "point_" + re.sub(r"\W+", "_", axis)
        taken = sum(column == plain_name for column in columns.values())
        columns[axis] = f"{plain_name}_{taken + 1}" if taken else plain_name
    return columns


def _csv_of_rows(columns: Sequence[str], rows: Iterable[Row]) -> bytes:
    """RFC 4180 with a line of heads, in UTF-8. What is not there, or is no number, is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell_of_value(row.get(column)) for column in columns])
    # A directory's name may be no Unicode.
    return text.getvalue().encode("utf-8", "replace")


_FORMULA = re.compile(r"(?![+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?\Z)[=+@\t\r-]")
"""How a text begins that spreadsheets carry out, unless it is a number."""


def _cell_of_value(value: Any) -> Any:
    """Truth in the words that pandas and DuckDB read; a float by its shortest exact form.

    What a spreadsheet would take for a formula is marked as text: a run may be anybody's.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and _FORMULA.match(value):
        return f"'{value}"
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value
