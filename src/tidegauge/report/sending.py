"""How clients are set, in words: how producers batch and compress, and what differs from a library's own defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidegauge.model.sending import Sending
from tidegauge.model.trial import MeasuredResult, TrialSpec
from tidegauge.model.workload import Workload
from tidegauge.numbers import join_first, plural, size, trimmed
from tidegauge.plain import grouped
from tidegauge.store.details import ChangedSetting, changed_clients
from tidegauge.store.read import StoredRun

VALUES_MAX = 3
"""Of a setting that differs from trial to trial; the page has all."""
VALUE_CHARS_MAX = 40


def sending_words(sending: Sending, message_bytes_min: int) -> str:
    """ "batches to 128 KiB or 1 ms, compression none, at most 5,000 messages in flight for each producer".

    `message_bytes_min`: no message is smaller, so a batch of no more bytes has one.
    """
    in_flight = plural(int(sending.in_flight_messages), "message")
    batches = _batch_words(sending, message_bytes_min)
    return f"{batches}, compression {sending.compression}, at most {in_flight} in flight for each producer"


def _batch_words(sending: Sending, message_bytes_min: int) -> str:
    if sending.batch_bytes is None:
        return f"no batches ({sending.instead})" if sending.instead else "no batches"
    if not sending.batch_bytes:
        return "no batches"
    if sending.batch_bytes <= message_bytes_min:
        return f"one message in each batch ({size(int(sending.batch_bytes))} at most)"
    batches = f"batches to {size(int(sending.batch_bytes))}"
    if sending.batch_delay_ms is None:
        return f"{batches} ({sending.instead})" if sending.instead else batches
    return (
        f"{batches} or {trimmed(sending.batch_delay_ms)} ms" if sending.batch_delay_ms else f"{batches}, without delay"
    )


def sending_asked(workload: Workload) -> Sending:
    """What a workload asks of every system, for trials of an earlier version, which say no more."""
    client = workload.client
    size_bytes = client.batch_bytes_max if client.batch_bytes_max > 1 else 0
    return Sending(size_bytes, client.batch_delay_ms_max, client.compression.value, workload.in_flight_messages())


def planned_words(trials: Sequence[TrialSpec]) -> str:
    """How producers of these trials are to send, in a sentence; "" where nothing is sent."""
    return _sending_sentence({trial.system: (trial.sending, trial.workload) for trial in trials})


def reported_words(results: Sequence[MeasuredResult]) -> str:
    """How producers of these trials sent, in a sentence: as they reported it, as far as they did."""
    return _sending_sentence(
        {result.spec.system: (result.sending or result.spec.sending, result.spec.workload) for result in results}
    )


CHANGED_TITLE = "Client settings that differ from the library's own default (in brackets)"
"""What stands above `changed_words`."""


def changed_settings(run: StoredRun) -> dict[str, list[ChangedSetting]]:
    """What the clients of each system had other than by default. Systems without any are left out."""
    trials = grouped((trial.spec.system, trial) for trial in run.trials if trial.spec is not None)
    changed = {system: changed_clients(each) for system, each in sorted(trials.items())}
    return {system: settings for system, settings in changed.items() if settings}


def changed_words(run: StoredRun) -> list[str]:
    """For each system what its clients had other than by default: "kafka@4.3.1: producer: linger.ms=1 (5)"."""
    words = []
    for system, settings in changed_settings(run).items():
        by_scope = grouped(
            (one.scope, f"{one.name}={join_first([*map(_cut, one.values)], VALUES_MAX, ' or ')} ({_cut(one.default)})")
            for one in settings
        )
        each = [f"{scope}: {', '.join(words_of_scope)}" for scope, words_of_scope in by_scope.items()]
        words.append(f"{system}: {'; '.join(each)}")
    return words


def _cut(value: str) -> str:
    return value if len(value) <= VALUE_CHARS_MAX else f"{value[: VALUE_CHARS_MAX - 3]}..."


def _sending_sentence(systems: Mapping[str, tuple[Sending | None, Workload]]) -> str:
    """How clients of systems send. Systems alike are named together, and none where all are alike."""
    by_words = grouped(
        (sending_words(sending or sending_asked(workload), workload.payload.message_bytes_min), (system, sending))
        for system, (sending, workload) in sorted(systems.items())
        if workload.producers
    )
    if not by_words:
        return ""
    read_back = [bool(sending and sending.read_back) for alike in by_words.values() for _, sending in alike]
    how = ", read back" if all(read_back) else ", as asked" if not any(read_back) else ""
    parts = []
    for words, alike in by_words.items():
        names = f"{', '.join(system for system, _ in alike)}: " if len(by_words) > 1 else ""
        libraries = list(dict.fromkeys(sending.library for _, sending in alike if sending and sending.library))
        with_what = f" ({'; '.join(libraries)})" if libraries else ""
        parts.append(f"{names}{words}{with_what}")
    return f"Clients{how}: {'; '.join(parts)}."
