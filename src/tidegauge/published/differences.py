"""What a plan differs in from what a report's tests were run with, as far as both can be known. Pure.

What the report states stands in its data file, what is done here in the plan, and only the comparison is shown. What
can't be compared is a sentence of the data file, with the plans that it holds for. So a campaign can't disclose the
differences of another scale, or of systems that it doesn't measure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidegauge.model.trial import CONFIRMATION, LoadSpec, TrialSpec, family
from tidegauge.model.workload import Arrival, LateReaders
from tidegauge.numbers import count, join_with_and, plural, size, trimmed
from tidegauge.plain import grouped
from tidegauge.published.model import (
    FIGURES,
    LATENCY,
    MAX_THROUGHPUT,
    MILLISECONDS,
    PEAK,
    Planned,
    PublishedReport,
)

_Value = int | float
_MS_PER_S = 1000
_MEMORY = {"heap": ("heap", 0), "direct_memory": ("direct memory", 1)}
"""Memory of server processes that Tidegauge starts: in words, and which of `ServerSetup.memory_bytes` it is."""


@dataclass(frozen=True)
class Compared:
    """A setting: its words, its values in a trial (of none, if the trial has no such thing), and one value in words.

    `sorted`: values that are words stand in the order of the alphabet, and not in the campaign's.
    """

    words: str
    value_in_trial: Callable[[TrialSpec], _Value | str | None]
    shown: Callable[[_Value], str]
    sorted: bool = False


def differences_from_report(report: PublishedReport, tests: Sequence[str], planned: Planned) -> tuple[str, ...]:
    """What is not as in these tests of the report, in a sentence each; what the report doesn't state is not compared.

    A value is different where none of the tests had it: a plan may leave out points that a report has.
    """
    if not planned.trials:
        return ()
    settings = [*_setting_differences(report, tests, planned), *_memory_differences(report, tests, planned)]
    return (
        *_host_differences(report, planned),
        *_version_differences(report, planned.trials),
        *_window_difference(planned.trials),
        *_send_time_difference(planned.figures),
        *_limit_differences(planned.trials),
        *_sentences_merged(settings, len(_by_system(planned.trials))),
        *_own_setting_differences(report, planned),
        *(difference.text for difference in report.differs if difference.where.holds(planned)),
    )


def _by_system(trials: Sequence[TrialSpec]) -> dict[str, list[TrialSpec]]:
    return grouped((family(trial.system), trial) for trial in trials)


def _host_differences(report: PublishedReport, planned: Planned) -> Iterator[str]:
    """What shares a host here and had hosts of its own there."""
    hosts = planned.hosts
    servers = [point for points in planned.servers.values() for point in points]
    if hosts.one_machine:
        own_disks = all(point.own_disks for point in servers)
        shared = "CPUs and memory" if own_disks else "CPUs, memory and disk"
        # Where a system does without one, its controllers are servers as any.
        keeper = " (with ZooKeeper)" if any(point.has_keeper for point in servers) else ""
        yield f"servers{keeper} and clients share the {shared} of one machine; the report's had hosts of their own"
        return
    if hosts.load_hosts != report.load_hosts and (hosts.load_hosts == 1 or report.load_hosts):
        theirs = report.load_hosts or "several"
        our_hosts = "one host" if hosts.load_hosts == 1 else plural(hosts.load_hosts, "host")
        yield f"the load comes from {our_hosts}; the report's came from {theirs}"
    if hosts.nodes_on_a_host > 1:
        yield f"up to {hosts.nodes_on_a_host} nodes share a host; the report's had hosts of their own"
    if any(point.has_keeper for point in servers) and not hosts.keeper_apart:
        yield "ZooKeeper shares the host of node 1; the report's had hosts of its own"


def _version_differences(report: PublishedReport, trials: Sequence[TrialSpec]) -> Iterator[str]:
    """Versions other than the report's. A cluster that others run may have any: its label does not say it."""
    for system in dict.fromkeys(trial.system for trial in trials if not trial.attached):
        name, _, version = system.partition("@")
        theirs = report.versions.get(name, "")
        if theirs and not f"{version}.".startswith(f"{theirs.partition(' ')[0]}."):
            yield f"{name}: version {version} here, in the report {theirs}"


def _window_difference(trials: Sequence[TrialSpec]) -> Iterator[str]:
    """A producer's window. OpenMessaging Benchmark, which all of the reports used, has no bound of its own."""
    windows = sorted({trial.workload.in_flight_messages() for trial in trials if trial.workload.producers})
    if windows:
        others = f", in other trials up to {windows[-1]:,}" if len(windows) > 1 else ""
        yield f"a producer has at most {windows[0]:,} unacknowledged messages{others}; the report's had no such bound"


def _send_time_difference(figures: Sequence[str]) -> Iterator[str]:
    """From when latencies count: OpenMessaging Benchmark counts from the send itself."""
    if any(FIGURES[name].unit == MILLISECONDS for name in figures):
        yield "latencies count from the time at which a message was to be sent; the report's from the actual send"


def _limit_differences(trials: Sequence[TrialSpec]) -> Iterator[str]:
    """What servers may use in tests with a backlog, where it is less than the machine has."""
    loads = [trial for trial in trials if isinstance(trial, LoadSpec)]
    limits = [load.limits for load in loads if load.late is not None and load.limits is not None]
    sizes = dict.fromkeys(_size_in_bytes(limit.memory_bytes) for limit in limits if limit.memory_bytes is not None)
    if sizes:
        most = join_with_and([*sizes])
        yield f"a server process may use {most} of memory, page cache included; the report's had what their hosts had"
    if any(limit.direct_io for limit in limits):
        yield "data is on a loop device with direct I/O, which is not cached by the machine; the report's was on disks"


def _setting_differences(report: PublishedReport, tests: Sequence[str], planned: Planned) -> Iterator[tuple[str, str]]:
    """System and sentence of each setting that is different."""
    for system, trials in _by_system(planned.trials).items():
        for name, compared in COMPARED.items():
            theirs = _values_stated(report, tests, system, name)
            examined = [trial for trial in trials if name != "measure" or trial.experiment in planned.experiments]
            ours = list(dict.fromkeys(value for value in map(compared.value_in_trial, examined) if value is not None))
            if theirs and any(value not in theirs for value in ours):
                yield system, _difference_sentence(compared, ours, theirs)


def _values_stated(report: PublishedReport, tests: Sequence[str], system: str, name: str) -> list[_Value | str]:
    """What the tests had; nothing where one of them does not say."""
    stated = [report.stated(test, system, name) for test in tests]
    return sorted({value for values in stated for value in values}) if all(stated) else []


def _memory_differences(report: PublishedReport, tests: Sequence[str], planned: Planned) -> Iterator[tuple[str, str]]:
    """System and sentence of each size of memory of a server process that is different."""
    for system in _by_system(planned.trials):
        points = planned.servers.get(system, ())
        for name, (memory, index) in _MEMORY.items():
            theirs = _values_stated(report, tests, system, name)
            for process in dict.fromkeys(process for point in points for process in point.memory_bytes):
                sizes = {point.memory_bytes[process][index] for point in points if process in point.memory_bytes}
                ours = sorted(size for size in sizes if size > 0)
                if theirs and any(size not in theirs for size in ours):
                    yield (
                        system,
                        _difference_sentence(
                            Compared(f"{memory} of a {process}", lambda _: None, _size_in_bytes), ours, theirs
                        ),
                    )


def _difference_sentence(compared: Compared, ours: Sequence[_Value | str], theirs: Sequence[_Value | str]) -> str:
    return f"{compared.words}: {_values_words(compared, ours)} here, {_values_words(compared, theirs)} in the report"


def _values_words(compared: Compared, values: Sequence[_Value | str]) -> str:
    numbers = sorted(value for value in values if not isinstance(value, str))
    words = [value for value in values if isinstance(value, str)]
    return join_with_and([*(sorted(words) if compared.sorted else words), *map(compared.shown, numbers)])


def _sentences_merged(sentences: Sequence[tuple[str, str]], systems: int) -> Iterator[str]:
    """Each sentence once, with the systems that it holds for unless it holds for all."""
    for sentence, named in grouped((sentence, system) for system, sentence in sentences).items():
        yield sentence if len(named) == systems else f"{join_with_and(named)}: {sentence}"


def _own_setting_differences(report: PublishedReport, planned: Planned) -> Iterator[str]:
    """Settings of a system's own that the report states."""
    for system, servers in planned.servers.items():
        stated = report.own_settings.get(system)
        if stated is None or not any(trial.system.startswith(f"{system}@") for trial in planned.trials):
            continue
        yield from _differing_settings(system, [server.settings for server in servers], stated.server)
        yield from _differing_settings(system, [server.producer for server in servers], stated.producer)
        yield from _differing_settings(system, [server.consumer for server in servers], stated.consumer)


def _differing_settings(system: str, ours: Sequence[Mapping[str, str]], theirs: Mapping[str, str]) -> Iterator[str]:
    for name, value in theirs.items():
        values = dict.fromkeys(settings.get(name, "the product's default") for settings in ours)
        if list(values) != [value]:
            yield f"{system}: {name}: {join_with_and(list(values))} here, {value} in the report"


def _rate_chosen(trial: TrialSpec) -> _Value | str | None:
    """The offered rate of a trial if it was chosen, not found; else None."""
    closed_loop = trial.workload.arrival is Arrival.CLOSED_LOOP
    if not isinstance(trial, LoadSpec) or trial.experiment == MAX_THROUGHPUT or closed_loop:
        return None
    return str(trial.rate_rule) if trial.msgs_per_s is None or trial.rate_rule.is_share else trial.msgs_per_s


def _backlog_bytes(trial: TrialSpec) -> _Value | None:
    late = _late_readers(trial)
    return late.backlog_msgs * trial.workload.payload.message_bytes if late is not None else None


def _examined_length_s(trial: TrialSpec) -> _Value | None:
    """How long a trial measures, in seconds, if its own figures are examined.

    One that ends with a backlog has no length of its own.
    """
    searched = trial.experiment == MAX_THROUGHPUT
    examined = trial.rate_rule == CONFIRMATION if searched else trial.experiment in (LATENCY, PEAK)
    return trial.measure_s if examined else None


def _subscriptions_reading(trial: TrialSpec) -> int:
    """Subscriptions that read all the time, or late ones where all are."""
    readers = _late_readers(trial)
    late = readers.subscriptions if readers is not None else 0
    return trial.workload.subscriptions - late or late


def _late_readers(trial: TrialSpec) -> LateReaders | None:
    return trial.late if isinstance(trial, LoadSpec) else None


def _size_in_bytes(size_bytes: _Value) -> str:
    return size(size_bytes, whole="bytes")


COMPARED: Mapping[str, Compared] = {
    "nodes": Compared("nodes", lambda trial: trial.nodes, count),
    "level": Compared("levels of durability", lambda trial: trial.choice.level, count),
    "form": Compared("form of the level", lambda trial: trial.choice.form or None, str, sorted=True),
    "message_size": Compared("message size", lambda trial: trial.workload.payload.message_bytes, _size_in_bytes),
    "partitions": Compared("partitions", lambda trial: trial.workload.partitions, count),
    "producers": Compared("producers", lambda trial: trial.workload.producers, count),
    "consumers": Compared("consumers of a subscription", lambda trial: trial.workload.consumers, count),
    "subscriptions": Compared("subscriptions", _subscriptions_reading, count),
    "batch_size": Compared("batch size", lambda trial: trial.workload.client.batch_bytes_max, _size_in_bytes),
    "batch_delay": Compared(
        "batch delay",
        lambda trial: trial.workload.client.batch_delay_ms_max / _MS_PER_S,
        lambda seconds: f"{trimmed(seconds * _MS_PER_S)} ms",
    ),
    "rate": Compared("offered rate", _rate_chosen, lambda rate: f"{count(rate)} msg/s"),
    "backlog": Compared("backlog", _backlog_bytes, _size_in_bytes),
    "measure": Compared("length of a trial", _examined_length_s, lambda seconds: f"{seconds:,.12g} s"),
}
"""What is compared, by the key of `model.SettingsOfTest`."""
