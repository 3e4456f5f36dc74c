"""What a picture that stands alone, pasted into a document, must say of the run that it is from."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidegauge.model.workload import Workload
from tidegauge.numbers import local_time, plural
from tidegauge.report import fairness
from tidegauge.report.facts import RunFacts
from tidegauge.store.read import StoredRun

_PARTS: Mapping[str, Callable[[Workload], str]] = {
    # What others fill topics with nobody says.
    "message size": lambda load: str(load.payload) if load.producers else "messages of others",
    "topics": lambda load: ", ".join(load.existing_topics) or plural(load.topics, "topic"),
    "partitions": lambda load: "" if load.existing_topics else f"{plural(load.partitions, 'partition')} each",
    "producers": lambda load: f"{plural(load.producers, 'producer')} a topic" if load.producers else "nobody who sends",
    "subscriptions": lambda load: (
        f"{plural(load.subscriptions, 'subscription')} x {plural(load.consumers, 'consumer')}"
        if load.subscriptions
        else "nobody who reads"
    ),
}
"""What of a workload decides figures at first sight, by what it is called where a run has several."""


def provenance_words(run: StoredRun) -> str:
    """The run, its workload and its host: "Run quick of 2026-11-28 12:08: 1 KiB messages, 1 topic ... 2 CPUs (Xeon)".

    What several workloads of a run do not share is named as varying, since a picture may be of any of them.
    """
    mark = f" {fairness.MARK} terms." if run.terms.unequal else ""
    head = f"Run {run.name} of {local_time(run.started_at)}"
    words_by_part = {
        name: list(dict.fromkeys(words(spec.workload) for spec in run.specs)) for name, words in _PARTS.items()
    }
    words_by_part["compression"] = [f"compression {codec}" for codec in _codecs_of_run(run)]
    shared = [words[0] for words in words_by_part.values() if len(words) == 1 and words[0]]
    varying = [name for name, words in words_by_part.items() if len(words) > 1]
    load = ", ".join([*shared, *([f"{', '.join(varying)} vary"] if varying else [])])
    return f"{head}{f': {load}' if load else ''}.{mark} {RunFacts(run).host}".rstrip()


def _codecs_of_run(run: StoredRun) -> list[str]:
    """What clients compressed with, as they reported it; before that what each system's were to have."""
    reported = [result.sending.compression for result in run.measured if result.sending is not None]
    planned = [
        spec.sending.compression if spec.sending is not None else spec.workload.client.compression.value
        for spec in run.specs
        if spec.workload.producers
    ]
    return list(dict.fromkeys(reported or planned))
