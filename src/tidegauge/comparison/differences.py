"""What differs between runs beside their figures: hosts, versions, settings, campaigns. Pure.

Values that name a run's own places (its directory, its ports, its topics) differ always and say nothing: they are
made equal first.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from tidegauge.fairness import normal_settings, without_places
from tidegauge.limiting.disturbance import OTHERS_SHARE_MIN
from tidegauge.model.disturbance import SWITCH
from tidegauge.model.trial import family
from tidegauge.numbers import plural, rounded, size
from tidegauge.plain import Parts, differing, flatten, grouped, json_parts
from tidegauge.store.details import Disclosed
from tidegauge.store.read import StoredRun

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""What runs are called that are put beside each other, in order."""
NOT_THERE = "not given"
NOT_RECORDED = "not recorded"
_DIGEST_LENGTH = 12
"""Of digests that are shown."""

KINDS = ("labels", "host", "others", "software", "settings", "campaign")
"""Of facts, in the order in which differences are listed; what else ran on a host is one of the host's."""
_HOST = (
    "hostname",
    "cpu_model",
    "cpus",
    "cpu_governor",
    "memory_bytes",
    "swap_bytes",
    "kernel",
    "distribution",
    "clock_source",
    "transparent_huge_pages",
    "cgroup_limits",
)


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same in all runs. `values` are those of each run, in order.

    `kind`: "host", "software", "settings" or "campaign"; of a history "labels", too.
    """

    kind: str
    what: str
    values: tuple[str, ...]

    @property
    def words(self) -> str:
        """ "kernel: Linux 6.1 in A, Linux 6.18 in B"."""
        sides = ", ".join(f"{value} in {LETTERS[place]}" for place, value in enumerate(self.values))
        return f"{self.what}: {sides}"


@dataclass(frozen=True)
class DisclosedRun:
    """A run with what the trials of each of its systems disclosed, together (`merge_disclosed`)."""

    run: StoredRun
    disclosed: Mapping[str, Disclosed]


def merge_disclosed(trials: Sequence[Disclosed]) -> Disclosed:
    """What trials of one system disclosed as one, without their own places: of a setting all values that it had.

    Of digests their beginnings.
    """
    values: dict[tuple[str, str, str], set[str]] = {}
    for trial in trials:
        for key, value in normal_settings(trial.settings).items():
            values.setdefault(key, set()).add(value)

    def all_of(field: Callable[[Disclosed], str]) -> str:
        return ", ".join(sorted({field(trial) for trial in trials} - {""}))

    return Disclosed(
        {key: " and ".join(sorted(of_setting)) for key, of_setting in values.items()},
        all_of(lambda trial: trial.server_java),
        all_of(lambda trial: trial.client_java),
        all_of(lambda trial: trial.digest[:_DIGEST_LENGTH]),
        tuple(dict.fromkeys(without_places(flag) for trial in trials for flag in trial.jvm_flags)),
        tuple(dict.fromkeys(without_places(flag) for trial in trials for flag in trial.worker_flags)),
    )


Facts = Mapping[str, Mapping[str, str]]
"""What was recorded, by kind (see `Difference`) and by what it is."""


def differences_of_runs(runs: Sequence[DisclosedRun]) -> list[Difference]:
    """Everything that differs: hosts and what else ran on them first, then software, settings and campaigns."""
    return differences_of_facts([{**facts_of_run(one.run), **facts_of_trials(one)} for one in runs])


def differences_of_facts(sides: Sequence[Facts]) -> list[Difference]:
    """Everything that differs of what was recorded on several sides."""
    return [
        difference
        for kind in KINDS
        for difference in _differences_of_kind(kind, [side.get(kind, {}) for side in sides])
    ]


def facts_of_run(run: StoredRun) -> Facts:
    """What was recorded of a run as a whole: host and campaign."""
    return {"host": _host_facts(run), "campaign": _campaign_values(run)}


def facts_of_trials(disclosed: DisclosedRun) -> Facts:
    """What was recorded of a run's trials: what else ran beside them, software, and settings in force."""
    return {
        "others": {"other programs": others_words(disclosed.run)},
        "software": _software_versions(disclosed),
        "settings": _settings_in_force(disclosed),
    }


@dataclass(frozen=True)
class Unrecorded:
    """Something that was not recorded in some runs, so that nobody knows whether it is the same in all.

    `kind`: as in `Difference`; `letters`: of these runs.
    """

    kind: str
    what: str
    letters: tuple[str, ...]


def unrecorded_facts(runs: Sequence[DisclosedRun]) -> list[Unrecorded]:
    """What some run did not record of all that `differences_of_runs` looks at.

    What one run has alone is a difference as well.
    """
    looked_at: tuple[tuple[str, str, Callable[[DisclosedRun], bool]], ...] = (
        ("host", "what it is", lambda each: bool(each.run.facts("host"))),
        ("host", "what else ran on it", lambda each: others_words(each.run) != NOT_RECORDED),
        ("software", "which files were run", lambda each: any(files.digest for files in each.disclosed.values())),
        ("settings", "any of them", lambda each: any(files.settings for files in each.disclosed.values())),
        ("campaign", "its text", lambda each: bool(each.run.campaign_text)),
    )
    missing = (
        Unrecorded(
            kind, what, tuple(letter for letter, each in zip(LETTERS, runs, strict=False) if not is_recorded(each))
        )
        for kind, what, is_recorded in looked_at
    )
    return [gap for gap in (*missing, *_settings_unrecorded(runs)) if gap.letters]


def _settings_unrecorded(runs: Sequence[DisclosedRun]) -> Iterator[Unrecorded]:
    """Systems of which a run has no settings, though it has some of others."""
    for system in dict.fromkeys(system for each in runs for system in each.run.systems):
        letters = tuple(
            letter
            for letter, each in zip(LETTERS, runs, strict=False)
            if system in each.run.systems and any(files.settings for files in each.disclosed.values())
            if system not in each.disclosed or not each.disclosed[system].settings
        )
        yield Unrecorded("settings", f"those of {system}", letters)


def others_words(run: StoredRun) -> str:
    """How much of the CPUs others had in a run's trials, in the one with least and in that with most, and who."""
    accounts = [account for result in run.measured for account in result.accounts]
    shares = [
        ((account.disturbing or 0.0) + account.stolen) / account.cpus
        for account in accounts
        if account.disturbing is not None
    ]
    if not shares:
        return NOT_RECORDED
    kinds = sorted({disturbance.what.value for result in run.measured for disturbance in result.disturbances})
    disturbed = f"; disturbed: {', '.join(kinds)}" if kinds else ""
    excused = sum(result.is_excused for result in run.measured)
    disturbed += f", not judged in {plural(excused, 'trial')} ({SWITCH}=report)" if excused else ""
    unseen = sum(all(account.disturbing is None for account in result.accounts) for result in run.measured)
    disturbed += f"; not recorded in {plural(unseen, 'trial')}" if unseen else ""
    if max(shares) < OTHERS_SHARE_MIN:
        return f"under {OTHERS_SHARE_MIN:.0%} of the CPUs{disturbed}"
    by_name = grouped((program.title, program.cpus) for account in accounts for program in account.programs)
    worst = sorted(by_name, key=lambda name: -max(by_name[name]))[:3]
    named = f" ({', '.join(worst)})" if worst else ""
    low, high = f"{min(shares):.0%}", f"{max(shares):.0%}"
    return f"{high if low == high else f'{low} to {high}'} of the CPUs{named}{disturbed}"


def host_differences(runs: Sequence[StoredRun]) -> list[Difference]:
    """What differs of the hosts alone."""
    return differences_of_facts([{"host": _host_facts(run)} for run in runs])


def settings_digest(disclosed: Disclosed) -> str:
    """Twelve hex digits over all settings in force, equal where the settings are."""
    plain = {" ".join(key): value for key, value in normal_settings(disclosed.settings).items()}
    return hashlib.sha256(repr(sorted(plain.items())).encode()).hexdigest()[:_DIGEST_LENGTH]


def _differences_of_kind(kind: str, sides: Sequence[Mapping[str, str]]) -> list[Difference]:
    shown = "host" if kind == "others" else kind
    return [Difference(shown, what, values) for what, values in differing(sides, NOT_THERE)]


def _host_facts(run: StoredRun) -> dict[str, str]:
    """What hosts are that did something of a run: the one of the command, those of a fleet's servers, of its load."""
    hosts = [at_work for at_work in run.facts("hosts").values() if isinstance(at_work, Mapping)]
    by_kind = {
        prefix: [at_work.get("facts") or {} for at_work in hosts if at_work.get(key)]
        for prefix, key in (("servers' ", "nodes"), ("load generators' ", "load_generators"))
    }
    # That of the command counts only where something ran on it.
    by_kind[""] = [] if by_kind["load generators' "] else [run.facts("host")]
    return {
        f"{prefix}{name}": value
        for prefix, all_facts in by_kind.items()
        if all_facts
        for name, value in _facts_of_hosts(all_facts).items()
        # Of several hosts the names say nothing.
        if not (prefix and name == "hostname")
    }


def _facts_of_hosts(all_facts: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What is so of hosts together, each value once."""
    by_name = {
        name.removesuffix("_bytes").replace("_", " "): "; ".join(
            dict.fromkeys(_fact_in_words(name, facts.get(name)) for facts in all_facts)
        )
        for name in _HOST
    }
    disks = [facts.get("disks") for facts in all_facts]
    parts = [disk for each in disks if isinstance(each, Mapping) for disk in each.values() if isinstance(disk, Mapping)]
    for name in ("file_system", "mount_options", "write_cache", "scheduler"):
        kinds = sorted({str(disk[name]) for disk in parts if disk.get(name)})
        by_name[f"disk {name.replace('_', ' ')}"] = ", ".join(kinds) or NOT_THERE
    return by_name


def _fact_in_words(name: str, value: Any) -> str:
    if value in (None, "", {}):
        return NOT_THERE
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={part}" for key, part in sorted(value.items()))
    if name.endswith("_bytes") and isinstance(value, int):
        return f"{rounded(value / (1 << 30))} GiB" if value >= 1 << 30 else size(value)
    return str(value)


def _software_versions(disclosed: DisclosedRun) -> dict[str, str]:
    run = disclosed.run
    tool = run.facts("tidegauge")
    commit = f"{str(tool.get('git_commit', ''))[:12]}{' (modified)' if tool.get('git_modified') else ''}"
    versions = {
        "Tidegauge": " ".join(part for part in (run.tidegauge_version, commit) if part),
        "Python": str(run.facts("python").get("version", NOT_THERE)),
    }
    for name, labels in grouped((family(system), system) for system in run.systems).items():
        versions[name] = ", ".join(labels)
        details = [disclosed.disclosed[label] for label in labels if label in disclosed.disclosed]
        for subject, values in (
            ("files", [files.digest for files in details]),
            ("servers' Java", [files.server_java for files in details]),
            ("clients' Java", [files.client_java for files in details]),
        ):
            versions[f"{name}, {subject}"] = ", ".join(sorted(set(filter(None, values)))) or NOT_THERE
    return versions


def _settings_in_force(run: DisclosedRun) -> dict[str, str]:
    """Settings in force, and the JVM flags of servers. By name without its version, so that versions compare."""
    in_force: dict[str, str] = {}
    for name, labels in grouped((family(label), label) for label in sorted(run.disclosed)).items():
        for label in labels:
            title = name if len(labels) == 1 else label
            disclosed = run.disclosed[label]
            for (kind, scope, setting), value in normal_settings(disclosed.settings).items():
                in_force[f"{title}, {kind}{f', {scope}' if scope else ''}: {setting}"] = value
            in_force[f"{title}, JVM flags"] = " ".join(map(without_places, disclosed.jvm_flags)) or NOT_THERE
    return in_force


def _campaign_values(run: StoredRun) -> dict[str, str]:
    """The campaign's keys with their values, and what the command line put in their place."""
    text = run.campaign_text
    by_key = {}
    try:
        content = YAML(typ="safe", pure=True).load(io.StringIO(text)) if text else {}
        values = flatten(content, _yaml_parts) if isinstance(content, Mapping) else [("text", text)]
        by_key = {key: str(value) for key, value in values}
    except (YAMLError, ValueError):
        by_key = {"text": text}
    overrides = run.facts("campaign").get("overrides")
    for key, value in overrides.items() if isinstance(overrides, Mapping) else ():
        by_key = {
            name: old for name, old in by_key.items() if name != key and not name.startswith((f"{key}.", f"{key}["))
        }
        by_key[f"{key} (command line)"] = str(value)
    return by_key


def _yaml_parts(value: Any) -> Parts | None:
    """An empty list is a value too: somebody wrote it."""
    return json_parts(value) or None
