"""The reports that Tidegauge knows: data files of this package."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tidegauge.config.source import raise_problems, read_source
from tidegauge.config.validate import validate
from tidegauge.errors import UserError, nearest
from tidegauge.published.model import Report

_DATA = Path(__file__).parent / "data"


def report_names() -> list[str]:
    """Names of all reports, as campaigns write them."""
    return sorted(path.stem for path in _DATA.glob("*.yaml"))


@cache
def report(name: str) -> Report:
    """A report by its name. Raises `UserError` naming the nearest if there is none."""
    if name not in report_names():
        raise UserError(
            f"There is no published report '{name}'{nearest(name, report_names())}.",
            f"There are: {', '.join(report_names())}.",
        )
    return read_report(_DATA / f"{name}.yaml")


def read_report(path: Path) -> Report:
    """A report's data file. Raises `UserError` with every problem and its line."""
    source = read_source(path, "published report")
    found = validate(Report, source.data, source, ())
    raise_problems([source], "published report")
    if found is None:
        raise UserError(f"{path}: the report could not be read.")
    return found
