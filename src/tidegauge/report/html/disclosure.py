"""What a sceptic needs: trials, settings against defaults, what was run on what, and how to do it again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tidegauge.fairness import normal_settings
from tidegauge.model.trial import LoadResult, MeasuredResult, TrialResult
from tidegauge.numbers import duration, in_unit, plural
from tidegauge.places import is_file
from tidegauge.plain import Parts, differing, flatten, grouped, json_parts
from tidegauge.report.ending import command_words, variables_before
from tidegauge.report.loads import brief_load
from tidegauge.report.plots.model import DataTable, Details
from tidegauge.statistics.figures import FIGURES, Figure, Shown, figures_shown
from tidegauge.store.details import TrialDetails
from tidegauge.store.read import StoredRun, StoredTrial

DIFFERENCES_MAX = 20


@dataclass(frozen=True)
class SystemSettings:
    """What was in force for one system, in its first trial.

    Attributes:
        changed: settings of servers and clients that are not the default, with the default where it is known.
        unknown: of which the system does not say whether they are; `client_unknown`: the same of its clients.
        defaults: known to be the default; `client_defaults`: the same of its clients, by their library.
        differences: where later trials had other settings, topics' names apart.
        others: how many later trials there are; `unread`: of how many trials no settings were read back.
    """

    system: str
    trial_id: str
    distribution: DataTable
    changed: DataTable
    unknown: DataTable
    defaults: DataTable
    client_unknown: DataTable
    client_defaults: DataTable
    jvm_flags: tuple[str, ...]
    differences: tuple[str, ...]
    others: int = 0
    unread: int = 0

    @property
    def unread_words(self) -> str:
        """That settings of some trials are not known, with what is known of the others; "" where those of all are."""
        if not self.unread:
            return ""
        alike = "; its others had the same, apart from ports and directories" if self.others else ""
        return f"No settings were read back in {plural(self.unread, 'trial')}{'' if self.differences else alike}."


def trial_rows(run: StoredRun) -> DataTable:
    """Every trial with what became of it, the discarded ones too."""
    shown = (figure.head for figure in figures_shown(Shown.TRIALS))
    heads = ("trial", "validity", "system", "load", *shown, "warm-up", "cores: client, server", "why")
    rows = tuple(_trial_row(trial) for trial in run.trials)
    if len(run.sessions) < 2:
        return DataTable(heads, rows)
    numbered = zip(rows, run.trials, strict=True)
    return DataTable((*heads, "session"), tuple((*row, str(trial.session)) for row, trial in numbered))


def _trial_row(trial: StoredTrial) -> tuple[str, ...]:
    result = trial.result
    system = trial.spec.system if trial.spec else ""
    shown = figures_shown(Shown.TRIALS)
    if result is None:
        return (trial.trial_id, f"no result: {trial.status}", system, "", *[""] * len(shown), "", "", trial.why)
    used = (FIGURES[name] for name in ("worker_cpu_cores", "server_cpu_cores"))
    # What makes it not valid; remarks stand with the experiment.
    remarks = [plural(len(result.warnings), "remark")] if result.warnings else []
    return (
        trial.trial_id,
        result.validity.shown,
        system,
        brief_load(result),
        *(_figure_cell(figure, result) for figure in shown),
        _warm_up_words(result) if isinstance(result, LoadResult) else "",
        ", ".join(_figure_cell(figure, result) for figure in used),
        "; ".join((*map(str, result.reasons), *remarks)),
    )


def _figure_cell(figure: Figure, result: TrialResult) -> str:
    return in_unit(figure.value_in(result) if isinstance(result, MeasuredResult) else None, figure.unit)


def _warm_up_words(result: LoadResult) -> str:
    """A warm-up in words, with the compiling left for the window where that can be read in two digits."""
    left = result.jit_cpus or 0.0
    compiling = f", then {left:.2f} CPUs compiling" if left >= 0.005 else ""
    return f"{duration(result.warmup_s)}, {'steady' if result.steady else 'never steady'}{compiling}"


def settings(run: StoredRun, details: Details) -> list[SystemSettings]:
    """For each system what its first trial with settings had, and in what later ones differed."""
    specs_and_details = ((trial.spec, details[trial.trial_id]) for trial in run.trials)
    by_system = grouped((spec.system, trial) for spec, trial in specs_and_details if spec is not None)
    read = {system: [trial for trial in trials if trial.settings] for system, trials in sorted(by_system.items())}
    return [
        replace(_settings_of_system(system, trials), unread=len(by_system[system]) - len(trials))
        for system, trials in read.items()
        if trials
    ]


def _settings_of_system(system: str, trials: Sequence[TrialDetails]) -> SystemSettings:
    first = trials[0]
    server, client = _settings_in(first.settings, "server"), _settings_in(first.settings, "client")
    differences = [line for other in trials[1:] for line in _other_settings(first, other)]
    more = len(differences) - DIFFERENCES_MAX
    changed = tuple(
        tuple(_value_text(setting.get(key)) for key in ("scope", "name", "value", "default_value"))
        for setting in (*client, *server)
        if setting.get("is_default") is False
    )
    return SystemSettings(
        system=system,
        trial_id=first.trial.trial_id,
        distribution=DataTable(
            ("distribution", ""), tuple((str(k), _value_text(v)) for k, v in first.distribution.items())
        ),
        # With what they differ from, as far as servers and client libraries say.
        changed=DataTable(("where", "setting", "value", "default"), changed),
        unknown=_setting_rows(setting for setting in server if setting.get("is_default") is None),
        defaults=_setting_rows(setting for setting in server if setting.get("is_default") is True),
        client_unknown=_setting_rows(setting for setting in client if setting.get("is_default") is None),
        client_defaults=_setting_rows(setting for setting in client if setting.get("is_default") is True),
        jvm_flags=tuple(map(str, first.settings.get("server_jvm_flags") or ())),
        differences=(*differences[:DIFFERENCES_MAX], *([f"and {more} more"] if more > 0 else [])),
        others=len(trials) - 1,
    )


def _settings_in(content: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    items = content.get(key)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _setting_rows(settings: Any) -> DataTable:
    rows = (tuple(_value_text(setting.get(key)) for key in ("scope", "name", "value")) for setting in settings)
    return DataTable(("where", "setting", "value"), tuple(rows))


def _value_text(value: object) -> str:
    return "" if value is None else str(value)


_OF_EACH_TRIAL = ("cluster.id", "so far", "port", "Port")
"""Ends of settings that differ by their nature, beside places, ports and topics: names drawn at random, counters."""


def _other_settings(first: TrialDetails, other: TrialDetails) -> Iterator[str]:
    """What a trial had otherwise than the first; of what only one of them has, such as consumers, nothing."""
    sides = [_by_scope(first), _by_scope(other)]
    for place in sides[0].keys() & sides[1].keys():
        for name, (_, value) in differing([side[place] for side in sides], "not there"):
            yield f"{other.trial.trial_id}: {place[1]}: {name} = {value}"


def _by_scope(trial: TrialDetails) -> dict[tuple[str, str], dict[str, str]]:
    """Settings in force without what names a trial's own places, by kind and scope."""
    settings_in_force = normal_settings(trial.disclosed.settings) if trial.disclosed else {}
    by_scope: dict[tuple[str, str], dict[str, str]] = {}
    for (kind, scope, name), value in settings_in_force.items():
        if not name.endswith(_OF_EACH_TRIAL):
            by_scope.setdefault((kind, scope), {})[name] = value
    return by_scope


def environment_rows(environment: Mapping[str, Any]) -> DataTable:
    """Everything that environment.json says, one line a fact."""
    facts = (
        (name, ", ".join(map(str, value)) if isinstance(value, list) else _value_text(value))
        for name, value in flatten(environment, _fact_parts)
        if name != "schema"
    )
    return DataTable(("what", "value"), tuple((name, text) for name, text in facts if text))


def _fact_parts(value: Any) -> Parts | None:
    """A list of words is one fact; other lists are numbered as people count."""
    if not isinstance(value, list):
        return json_parts(value)
    nested = any(isinstance(item, dict | list) for item in value)
    return [(str(number), item) for number, item in enumerate(value, 1)] if nested else None


@dataclass(frozen=True)
class Again:
    """How to make the same run again: what to save as which file, and the command.

    `file` "": there is nothing to save. `kept`: the command's files are in the run's directory. `here`: the command
    where the run was made, whose files are still there; "" if they are not. `needs`: other files that it names.
    """

    file: str
    command: str
    kept: bool = False
    here: str = ""
    needs: tuple[str, ...] = ()


def how_to_run_again(run: StoredRun, omb_files: Sequence[str]) -> Again:
    """How to make a run again: from its campaign and the options given, or from OMB's files, which are kept with it.

    Args:
        omb_files: names of the files in the run's directory `omb`; () for a campaign.
    """
    before = variables_before(run)
    if omb_files:
        workloads = [f"omb/{name}" for name in omb_files if not name.startswith("driver-")]
        drivers = [part for name in omb_files if name.startswith("driver-") for part in ("--driver", f"omb/{name}")]
        return Again("", f"{before}{shlex.join(['tidegauge', 'omb', *workloads, *drivers])}", kept=True)
    words = command_words(run, ["run", "campaign.yaml"])
    command = f"{before}{shlex.join(['tidegauge', *words])}"
    if words[0] == "attest":
        return Again("", command)
    path = Path(run.campaign_path)
    is_here = path.is_absolute() and is_file(path)
    local_words = ["tidegauge", *command_words(run, ["run", str(path)])]
    local_command = f"{before}{shlex.join(local_words)}" if is_here else ""
    return Again("campaign.yaml", command, here=local_command, needs=_files_needed(run))


def _files_needed(run: StoredRun) -> tuple[str, ...]:
    """Files that a run's campaign or its options name: with bodies or keys of messages, of a cluster, of a fleet."""
    workloads = [spec.workload for spec in run.planned]
    of_messages = [workload.payload.file for workload in workloads]
    of_keys = [workload.key_file.path for workload in workloads if workload.key_file is not None]
    of_options = [str(run.overrides[key]) for key in ("attach", "fleet") if run.overrides.get(key)]
    return tuple(dict.fromkeys(path for path in (*of_options, *of_messages, *of_keys) if path))


def version_words(run: StoredRun) -> str:
    """Which Tidegauge made the run."""
    tool = run.facts("tidegauge")
    commit = tool.get("git_commit")
    changed = " with local changes" if tool.get("git_modified") else ""
    return f"Tidegauge {run.tidegauge_version}" + (f", commit {commit}{changed}" if commit else "")
