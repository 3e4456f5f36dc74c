"""Names and tags that users give to runs, and the run that is meant by a name, a tag or the beginning of a date."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from tidegauge.errors import UserError, did_you_mean
from tidegauge.model.labels import LAST_WEEK, NEWEST
from tidegauge.numbers import duration, parse_time
from tidegauge.store.read import is_run, read_run_head, run_directories

WEEK = timedelta(days=7)
_EARLY = timedelta(hours=12)
"""By how much a run "a week before" may be younger: nightly jobs do not begin to the second."""


@dataclass(frozen=True)
class _LabelledRun:
    """A run as far as choosing it needs: no trial of it is read. `started_at` is "" where run.json can't be read."""

    path: Path
    started_at: str = ""
    campaign: str = ""
    finished: bool = False
    label: str = ""
    tags: tuple[str, ...] = ()


def _ignore(text: str) -> None:
    """Takes what nobody wants to be told."""


def find_run(runs_directory: Path, wanted: str, say: Callable[[str], None] = _ignore) -> Path:
    """The directory of the run that is meant; where several are, the newest, which is then said.

    Args:
        wanted: "latest" or "last", a directory's name, a path, a name or a tag that a user gave, or the beginning of
            a directory's name, such as its date; the first of these that fits decides.
        say: takes the sentence that tells which of several runs was chosen.

    Raises:
        UserError: none fits; the message names the nearest.
    """
    paths = run_directories(runs_directory)
    names = [path.name for path in paths]
    if wanted in NEWEST and not paths:
        raise UserError(f"There are no runs in {runs_directory} yet.", "Start one with `tidegauge quick`.")
    if wanted in names:
        return runs_directory / wanted
    if wanted not in NEWEST and is_run(Path(wanted)):
        return Path(wanted)
    runs = [_read_labels(path) for path in paths]
    if wanted in NEWEST:
        return _newest_of(runs).path
    ways = (
        ("the name of", [run for run in runs if run.label == wanted]),
        ("a tag of", [run for run in runs if wanted in run.tags]),
        ("how the names begin of", [run for run in runs if run.path.name.startswith(wanted)]),
    )
    fitting = next(((what, some) for what, some in ways if some and wanted), None)
    if fitting is None:
        given = [label for run in runs for label in (run.label, *run.tags) if label]
        raise UserError(
            f"No run '{wanted}' in {runs_directory}{did_you_mean(wanted, [*names, *dict.fromkeys(given)])}.",
            "`tidegauge runs` lists what there is; --runs-dir chooses another directory.",
        )
    what, some = fitting
    newest = _newest_of(some)
    if len(some) > 1:
        say(f"'{wanted}' is {what} {len(some)} runs; the newest is taken: {newest.path.name}.")
    return newest.path


def _read_labels(path: Path) -> _LabelledRun:
    try:
        head = read_run_head(path)
    except UserError:
        return _LabelledRun(path)
    finished = head.status == "finished"
    return _LabelledRun(path, head.started_at, head.name, finished, head.label or "", head.tags or ())


def _newest_of(runs: Sequence[_LabelledRun]) -> _LabelledRun:
    return max(runs, key=lambda run: (run.started_at, run.path.name))


def find_baseline(runs_directory: Path, wanted: str, run: Path, say: Callable[[str], None] = _ignore) -> Path | None:
    """The earlier run to compare another with; None if there is none of its kind yet.

    Args:
        wanted: "last-week": the newest that began at least a week earlier (less half a day); a name, a tag or the
            beginning of a directory's name: the newest of these that is earlier. All of them are finished runs of the
            same campaign as `run`. A directory's whole name, or a path: that run, whatever it is.
        run: the directory of the run that is compared.

    Raises:
        UserError: no run at all has such a name, tag or directory.
    """
    paths = run_directories(runs_directory)
    if wanted in [path.name for path in paths] or (wanted not in (*NEWEST, LAST_WEEK) and is_run(Path(wanted))):
        return find_run(runs_directory, wanted)
    later = _read_labels(run)
    earlier = [
        candidate
        for candidate in map(_read_labels, paths)
        if candidate.finished and candidate.campaign == later.campaign and candidate.started_at < later.started_at
    ]
    if wanted == LAST_WEEK:
        fitting = [candidate for candidate in earlier if _age_between(candidate, later) >= WEEK - _EARLY]
    elif wanted in NEWEST:
        fitting = earlier
    else:
        find_run(runs_directory, wanted)
        fitting = [
            candidate
            for candidate in earlier
            if wanted in (candidate.label, *candidate.tags) or candidate.path.name.startswith(wanted)
        ]
    if not fitting:
        return None
    newest = _newest_of(fitting)
    age = _age_between(newest, later)
    age_words = f"{age / timedelta(days=1):.1f} days" if age >= timedelta(days=1) else duration(age.total_seconds())
    say(f"'{wanted}' is {newest.path.name}, {age_words} earlier.")
    return newest.path


def _age_between(earlier: _LabelledRun, later: _LabelledRun) -> timedelta:
    try:
        return parse_time(later.started_at) - parse_time(earlier.started_at)
    except ValueError:
        return timedelta(0)
