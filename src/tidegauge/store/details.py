"""What a trial disclosed beside its result, read back; "" and {} for whatever is missing or damaged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from tidegauge.model.host import HostLink
from tidegauge.plain import grouped
from tidegauge.statistics.histograms import EMPTY, Histogram, add_histograms
from tidegauge.store.documents import mapping_of, part_of, read_object, typed_or_none
from tidegauge.store.hlog import each_interval
from tidegauge.store.read import StoredRun, StoredTrial
from tidegauge.store.seconds import each_second
from tidegauge.store.tables import condense_stream
from tidegauge.store.telemetry import metric_rows, use_rows


@dataclass(frozen=True)
class Disclosed:
    """Settings as they were read back, and the files and Java that ran.

    Attributes:
        settings: ("server" or "client", scope, name) to value, as the system words them.
        server_java, client_java: "" where there is none, or it was not stored.
        digest: of the distribution's files.
        jvm_flags, worker_flags: of the servers' JVMs, and of the load generator's.
    """

    settings: Mapping[tuple[str, str, str], str]
    server_java: str
    client_java: str
    digest: str
    jvm_flags: tuple[str, ...]
    worker_flags: tuple[str, ...] = ()


def read_disclosed(trial: StoredTrial) -> Disclosed:
    """What a trial's settings.json and distribution.json hold. Never raises for what can't be read."""
    return _disclosed_from(_read_settings(trial.directory), _read_distribution(trial.directory))


class _Settings(TypedDict, total=False):
    """What of settings.json is read."""

    server: list[Mapping[str, Any]]
    client: list[Mapping[str, Any]]
    server_jvm_flags: list[str]
    worker: Mapping[str, Any] | None


def _read_settings(directory: Path) -> Mapping[str, Any]:
    """What was in force; {} unless it has the shape that it must have."""
    return typed_or_none(_Settings, read_object(directory / "settings.json")) or {}


def _read_distribution(directory: Path) -> Mapping[str, Any]:
    return mapping_of(part_of(directory / "distribution.json", "distribution"))


def _disclosed_from(settings: Mapping[str, Any], distribution: Mapping[str, Any]) -> Disclosed:
    settings_by_name = {
        (kind, str(setting.get("scope", "")), str(setting.get("name", ""))): str(setting.get("value", ""))
        for kind in ("server", "client")
        for setting in settings.get(kind, ())
    }
    worker = mapping_of(settings.get("worker"))
    return Disclosed(
        settings=settings_by_name,
        server_java=str(distribution.get("java_version") or ""),
        client_java=str(worker.get("java_version") or ""),
        digest=str(distribution.get("digest") or ""),
        jvm_flags=tuple(settings.get("server_jvm_flags", ())),
        worker_flags=tuple(map(str, flags)) if isinstance(flags := worker.get("jvm_flags"), list) else (),
    )


@dataclass(frozen=True)
class ChangedSetting:
    """A setting of clients that is not what their library takes by itself.

    `values`: in force, each once where trials differ, the library's own too; `default`: the library's own.
    """

    scope: str
    name: str
    values: tuple[str, ...]
    default: str


def changed_clients(trials: Iterable[StoredTrial]) -> list[ChangedSetting]:
    """What differed from its default in these trials; without what has none, as addresses. Never raises for a file."""
    settings = [setting for trial in trials for setting in _read_settings(trial.directory).get("client", ())]
    values = grouped((_place_of_setting(setting), str(setting.get("value", ""))) for setting in settings)
    defaults = {
        _place_of_setting(setting): str(setting["default_value"])
        for setting in settings
        if setting.get("is_default") is False and setting.get("default_value") is not None
    }
    return [ChangedSetting(*key, tuple(dict.fromkeys(values[key])), default) for key, default in defaults.items()]


def _place_of_setting(setting: Mapping[str, Any]) -> tuple[str, str]:
    return str(setting.get("scope", "")), str(setting.get("name", ""))


END_TO_END = "end-to-end"
SECONDS_MAX = 3600
"""Rows of one trial that are kept, so that a report of a trial of days takes no more memory than one of an hour."""


@dataclass(frozen=True)
class TrialDetails:
    """A trial with its seconds, its distributions and what was disclosed about it.

    Attributes:
        seconds: rows of `seconds.parquet`, or of `seconds.jsonl` while it goes; of very many see `condense_rows`.
        window_ns: the measured window on the host's monotonic clock; None where the trial has no result.
        histograms: of the window, by tag: "response", "end-to-end/sub-0".
        settings, distribution, witness: the objects of these files; {} where there is none.
        disclosed: the settings once more, by name.
    """

    trial: StoredTrial
    seconds: tuple[Mapping[str, Any], ...]
    window_ns: tuple[int, int] | None
    histograms: Mapping[str, Histogram] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    distribution: Mapping[str, Any] = field(default_factory=dict)
    witness: Mapping[str, Any] = field(default_factory=dict)
    page_cache: Mapping[str, Any] = field(default_factory=dict)
    disclosed: Disclosed | None = None
    use: tuple[Mapping[str, Any], ...] = ()
    """What was used, a row a second (`store.telemetry.use_rows`)."""
    metrics: tuple[Mapping[str, Any], ...] = ()
    """What servers reported of themselves (`store.telemetry.metric_rows`)."""
    links: Mapping[str, HostLink] = field(default_factory=dict)
    """What the links of a fleet's hosts were measured to carry, by address."""


def read_details(trial: StoredTrial) -> TrialDetails:
    """Everything that reports show of a trial. Never raises for a file that can't be read."""
    directory = trial.directory
    settings, distribution = _read_settings(directory), _read_distribution(directory)
    return TrialDetails(
        trial=trial,
        seconds=_read_second_rows(directory),
        use=use_rows(directory, SECONDS_MAX),
        metrics=metric_rows(directory, SECONDS_MAX),
        window_ns=_window_of_result(read_object(directory / "result.json") or {}),
        histograms=_read_histograms(directory / "window.hlog"),
        settings=settings,
        distribution=distribution,
        witness=read_object(directory / "witness.json") or {},
        disclosed=_disclosed_from(settings, distribution),
        page_cache=mapping_of(part_of(directory / "trial.json", "page_cache")),
    )


def details_of(run: StoredRun) -> dict[str, TrialDetails]:
    """Everything that reports show of a run's trials, by their ids."""
    hosts = run.facts("hosts").items()
    links = {address: typed_or_none(HostLink, mapping_of(at_work).get("link")) for address, at_work in hosts}
    known_links = {address: link for address, link in links.items() if link is not None}
    return {trial.trial_id: replace(read_details(trial), links=known_links) for trial in run.trials}


def _read_second_rows(directory: Path) -> tuple[Mapping[str, Any], ...]:
    try:
        return tuple(condense_stream(each_second(directory), SECONDS_MAX))
    except (OSError, ValueError):  # pyarrow's own errors are ValueErrors
        return ()


def _window_of_result(result: Mapping[str, Any]) -> tuple[int, int] | None:
    try:
        window = result["totals"]["window"]
        return int(window["from_mono_ns"]), int(window["until_mono_ns"])
    except (KeyError, TypeError, ValueError):
        return None


def _read_histograms(path: Path) -> dict[str, Histogram]:
    by_tag: dict[str, Histogram] = {}
    try:
        for interval in each_interval(path):
            by_tag[interval.tag] = add_histograms(by_tag.get(interval.tag, EMPTY), interval.histogram)
    except (OSError, ValueError, IndexError):
        return {}
    return by_tag


WINDOW_SECONDS_MAX = 3600
"""Decoding a second's histogram takes a fraction of a millisecond: a report must not take minutes for a day of them."""
_DRIFT_NS = 50_000_000
"""By which edges of seconds may be off the window's: a few milliseconds, more where the generator is short of CPU."""
STRETCHES_MAX = 240
"""Histograms held at once; more would take memory and show no more."""


def window_rows(details: TrialDetails) -> list[Mapping[str, Any]]:
    """The rows of `seconds.parquet` that lie in the window; [] where they are not known."""
    if details.window_ns is None:
        return []
    begin, end = details.window_ns
    begin, end = begin - _DRIFT_NS, end + _DRIFT_NS
    return [row for row in details.seconds if row["from_mono_ns"] >= begin and row["until_mono_ns"] <= end]


def response_by_stretch(details: TrialDetails) -> list[Histogram]:
    """Response times of equal stretches of the window, of a second each, or so many that there are `STRETCHES_MAX`.

    By when acknowledgements came. [] for a window of more than `WINDOW_SECONDS_MAX`, and where logs can't be read. A
    log counts, in ms, from its first interval, which is the first second with an acknowledgement.
    """
    rows = window_rows(details)
    base = next((row["from_mono_ns"] for row in details.seconds if row["acked_msgs"]), None)
    if base is None or not rows or len(rows) > WINDOW_SECONDS_MAX:
        return []
    seconds = -(-len(rows) // STRETCHES_MAX)
    stretch_of = {round((row["from_mono_ns"] - base) / 1e6): place // seconds for place, row in enumerate(rows)}
    by_stretch: dict[int, Histogram] = {}
    try:
        for interval in each_interval(details.trial.directory / "response.hlog"):
            # The stretch of the second that begins then, as far as rounding allows.
            start_ms = round(interval.start_s * 1000)
            stretch = next((stretch_of[at] for at in (start_ms, start_ms - 1, start_ms + 1) if at in stretch_of), None)
            if stretch is not None:
                by_stretch[stretch] = add_histograms(by_stretch.get(stretch, EMPTY), interval.histogram)
    except (OSError, ValueError, IndexError):
        return []
    return [by_stretch[stretch] for stretch in sorted(by_stretch)]
