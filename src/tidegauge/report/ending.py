"""How a run ended: why, which remarks are worth acting on, and the commands to go on with."""

from __future__ import annotations

import ast
import contextlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from tidegauge.config.fields import DATA_KEYS, option_of
from tidegauge.limiting.disturbance import OTHERS_SHARE_MIN
from tidegauge.model.attest import Means, refuting
from tidegauge.model.disturbance import SWITCH, Disturbed, Harm
from tidegauge.model.finding import Finding
from tidegauge.model.reason import ReasonKind
from tidegauge.model.trial import LoadResult, LoadSpec, MeasuredResult, TrialResult, Validity
from tidegauge.model.use import Limiting
from tidegauge.numbers import as_sentence, capitalized, of_all, plural
from tidegauge.plain import grouped
from tidegauge.report import thresholds
from tidegauge.report.compare import REPEATS_FIRST
from tidegauge.report.facts import RunFacts
from tidegauge.report.layout import shown_path
from tidegauge.report.levels import Standing, by_point, standing
from tidegauge.report.names import SystemNames
from tidegauge.store.files import CAMPAIGN_FILE
from tidegauge.store.omb import kept_omb_files
from tidegauge.store.read import StoredRun
from tidegauge.thresholds import ThresholdOutcome, repeats_may_decide

ONCE_FIXED = "Once its cause is fixed, run it again: "
_OF_CRASHES = "A crash leaves what the kernel holds, and only a power cut could show that lost. What was found"


def command_words(run: StoredRun, verb: Sequence[str], repeat: int | None = None) -> list[str]:
    """What follows `tidegauge`: `verb` (["quick"], ["run", FILE]) with its options; `attest` for an attestation.

    `repeat`: the repeats to ask for instead of those that the run had.
    """
    options = dict(run.overrides or _overrides_as_text(run.environment))
    attestation = options.get("experiments")
    if isinstance(attestation, list):
        return ["attest", *_attest_words(options, attestation[0])]
    if repeat is not None:
        options["repeat"] = repeat
    arguments = [word for key, value in options.items() for word in option_words(key, value)]
    return [*verb, *arguments, *(["--allow-unequal"] if run.terms.allowed else [])]


def variables_before(run: StoredRun) -> str:
    """What must stand before the command for the same validity: the variable that let disturbances decide nothing."""
    return f"{SWITCH}=report " if any(result.is_excused for result in run.measured) else ""


def option_words(key: str, value: object) -> list[str]:
    """An option, once for each of several values."""
    values = value if isinstance(value, list) else [value]
    return [word for item in values for word in (option_of(key), str(item))]


def _attest_words(overrides: Mapping[str, Any], options: Mapping[str, Any]) -> list[str]:
    """System and options of the verb `attest`, whose campaign is made from these alone."""
    level = overrides.get("durability")
    form = {"durability": level["level"], "form": level["form"]} if isinstance(level, dict) else {}
    values = {**overrides, **form, "cuts": options.get("cuts"), "scenario": options.get("scenarios")}
    values["file-system"] = options.get("file-system") if options.get("means") == Means.POWER else None
    keys = ("durability", "form", "nodes", "cuts", "scenario", "file-system", "seed", *DATA_KEYS)
    arguments = [word for key in keys if values.get(key) is not None for word in option_words(key, values[key])]
    arguments += ["--second-cut"] if options.get("second-cut") else []
    arguments += ["--crash"] if options.get("means") == Means.CRASH else []
    return [*map(str, overrides.get("systems", [])), *arguments]


def _overrides_as_text(environment: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a run that was made when each value was still kept as Python writes it."""
    campaign = environment.get("campaign")
    overrides = campaign.get("overrides") if isinstance(campaign, Mapping) else None
    values: dict[str, Any] = dict(overrides) if isinstance(overrides, Mapping) else {}
    for key, text in values.items():
        if str(text).startswith("["):
            with contextlib.suppress(ValueError, SyntaxError):
                values[key] = ast.literal_eval(text)
    return values


@dataclass(frozen=True)
class RunAdvice:
    """One thing to act on. `bad`: figures must not be used as they are; `remedy`: what to do, "" where `text` says.

    `failed_trial`: the trial that failed, if that is what it is about.
    """

    text: str
    remedy: str
    bad: bool = False
    failed_trial: str = ""


@dataclass(frozen=True)
class Worth:
    """What is worth acting on, the worst first; `more`: how many remarks and notes a full report has beside."""

    advice: tuple[RunAdvice, ...]
    more: int


_CAREFUL = " (campaigns/careful.yaml does)"
_MOVED = (ReasonKind.WARM_UP_UNSTEADY, ReasonKind.UNSTEADY)
_CLOSE_OTHERS = "close other programs, or use a machine with more CPUs"
_ADVISED: tuple[tuple[tuple[ReasonKind, ...], str, str], ...] = (
    ((ReasonKind.CPU_WAIT,), "the clients waited for a CPU", _CLOSE_OTHERS),
    (
        (ReasonKind.DISK_SLOW,),
        "the disk was slow already",
        "see whether something else writes to it, or keep the data on another",
    ),
    (
        (ReasonKind.NOT_KEPT_UP,),
        "the system did not keep up with the rate",
        "give a lower rate: these times grow with the trial",
    ),
    (
        (ReasonKind.GENERATOR_FIRST,),
        "the generator was at its limit first",
        "add producers, or CPUs: the system may do more",
    ),
    (
        (ReasonKind.NEAR_GENERATOR,),
        "the load generator was near its limit",
        "use more of them (--workers), or more CPUs",
    ),
    (_MOVED, "figures still moved while measured, or just before", ""),
)
"""Kinds of warnings, what they are about in words, and what to do; "" where trials decide it."""


def worth_acting_on(facts: RunFacts) -> Worth:
    """What is worth acting on: durability, trials that failed or may not be used, systems left out, then warnings."""
    run, names, results = facts.run, facts.names, facts.asked
    advice = [*_durability_advice(run), *_failed_trials_advice(facts)]
    for validity in (Validity.INVALID, Validity.DOUBTFUL):
        affected = [result for result in results if result.validity is validity]
        if affected:
            words = f"{where_words(affected, len(results), names)}: {validity.shown}, {_first_reason(affected)}"
            advice.append(RunAdvice(words, _first_remedy(affected[0]), bad=validity is Validity.INVALID))
    advice += [RunAdvice(note.text, "") for note in run.left_out]
    covered = len(run.left_out)
    for kinds, words, remedy in _ADVISED:
        affected = [result for result in results if result.is_warned_of(*kinds)]
        if ReasonKind.NOT_KEPT_UP in kinds:
            # Of an INVALID trial nobody knows whether it was the system.
            affected = [result for result in affected if result.validity is not Validity.INVALID]
        covered += sum(warning.kind in kinds for result in affected for warning in result.warnings)
        if affected:
            waited = ReasonKind.CPU_WAIT in kinds
            busy = f"{words} ({busy_words(affected)})" if waited else words
            steadier = _for_steadier_figures(run, affected) if kinds == _MOVED else ""
            advised = _for_more_cpu(affected) if waited else steadier or remedy
            advice.append(RunAdvice(f"{where_words(affected, len(results), names)} {busy}", advised))
    noted = [result for result in results if any(disturbance.harm is Harm.NOTED for disturbance in result.disturbances)]
    if noted:
        noted.sort(key=lambda result: not result.is_excused)
        worst = next(disturbance for disturbance in noted[0].disturbances if disturbance.harm is Harm.NOTED)
        as_in = ", in the first of them" if len(noted) > 1 else ""
        excused = "" if worst.excused is None else f", which {SWITCH}=report let decide nothing"
        words = f"{where_words(noted, len(results), names)}{as_in} {worst.words}{excused}"
        advice.append(RunAdvice(words, worst.remedy))
        covered += sum(disturbance.harm is Harm.NOTED for result in noted for disturbance in result.disturbances)
    reasons = sum(bool(result.reasons) for result in results)
    remarks = sum(len(result.reasons) + len(result.warnings) + len(result.errors) for result in results)
    return Worth(tuple(advice), remarks - reasons + len(run.notes) + len(run.terms.advice) - covered)


def where_words(affected: Sequence[TrialResult], trials: int, names: SystemNames) -> str:
    """ "In 3 of 6 trials (peak: Kafka, Pulsar; latency: Kafka)"; "In both trials" needs no places."""
    by_experiment = grouped((result.spec.experiment, names.name_of(result.spec.system)) for result in affected)
    places = "; ".join(f"{name}: {', '.join(sorted(set(systems)))}" for name, systems in by_experiment.items())
    where = f"In {of_all(len(affected), trials, 'trial')}"
    return where if len(affected) == trials else f"{where} ({places})"


def busy_words(results: Sequence[MeasuredResult]) -> str:
    """How busy the machine was in the first of these trials that says so, "" for none."""
    for result in results:
        if result.limiting is not None and result.limiting.used:
            return f"{result.limiting.used}: {result.limiting.users}"
    warnings = (warning for result in results for warning in result.warnings)
    return next((warning.text for warning in warnings if warning.kind is ReasonKind.CPU_WAIT), "")


def reason_words(result: TrialResult) -> str:
    """The first reason why a trial is not VALID, without what to do about it."""
    return result.reasons[0].without_remedy if result.reasons else "no reason is recorded"


def _first_reason(results: Sequence[TrialResult]) -> str:
    """Why the first of several is not VALID: its figures, and its reason, need not be those of the others."""
    words = reason_words(results[0])
    return f"the first because {words}" if len(results) > 1 else words


def _first_remedy(result: TrialResult) -> str:
    """What to do about the first of its reasons that says so; "" if none does."""
    return next((reason.remedy for reason in result.reasons if reason.remedy), "")


def _durability_advice(run: StoredRun) -> list[RunAdvice]:
    """Advice on the worst that is to be said of durability, with the points of a sweep where it holds."""
    stands = standing(run.results)
    if not run.results or stands is Standing.KEPT:
        return []
    where = [at for at, results in by_point(run.results) if at and standing(results) is stands]
    at = f" at {'; '.join(where)}" if where else ""
    return [
        RunAdvice(f"Durability{at}: {stands.value}", "`tidegauge show` names the settings that decide it", bad=True)
    ]


def _failed_trials_advice(facts: RunFacts) -> list[RunAdvice]:
    named_trials = [
        (f"{facts.names.name_of(trial.spec.system)}'s {trial.spec.experiment}" if trial.spec else trial.trial_id, trial)
        for trial in facts.unfinished
        if trial.status != "running"
    ]
    return [
        RunAdvice(
            f"{who} {'was ' if trial.status == 'interrupted' else ''}{trial.status_words}",
            "",
            bad=True,
            failed_trial=trial.trial_id,
        )
        for who, trial in named_trials
    ]


class End(StrEnum):
    """The outcome of a run, by the order in which one hides the next."""

    INTERRUPTED = "interrupted"
    FAILED = "failed"
    THRESHOLD = "threshold missed"
    REFUTED = "durability refuted"
    BROKEN = "messages broken"
    INVALID = "question open"
    GOOD = "good"


@dataclass(frozen=True)
class Ending:
    """`why`: what happened; `what`: what to do, with the command. Both are complete sentences, "" for a GOOD end.

    `failed_trial`: the first trial that failed, where the end is about it.
    """

    end: End
    why: str = ""
    what: str = ""
    failed_trial: str = ""


def ending(run: StoredRun, program: str = "tidegauge", *, reason_shown: bool = False) -> Ending:
    """How a run ended: the first of `End` that is so. `program`: how the user calls Tidegauge.

    `reason_shown`: whether why the run failed was just shown, and is not to be said again.
    """
    if run.status != "finished":
        return _ending_of_unfinished(run, program, reason_shown)
    facts = RunFacts(run)
    ruled, names, results = facts.rulings, facts.names, facts.asked
    missed = [ruling for ruling in ruled if ruling.outcome is ThresholdOutcome.MISSED]
    if missed:
        outcomes = list(thresholds.outcomes(ruled).values())
        number = outcomes.count(ThresholdOutcome.MISSED)
        why = f"{number} of {plural(len(outcomes), 'threshold')} missed, first {thresholds.sentence(missed[0])}"
        return Ending(End.THRESHOLD, as_sentence(why), f"All of them: {program} show {shown_path(run.path)}")
    refuted = [finding for finding in run.findings if finding.refuted]
    if refuted:
        who = names.name_of(refuted[0].system)
        why = f"what {who} acknowledged {_broken_how(refuted[0])}: durability is refuted"
        return Ending(End.REFUTED, as_sentence(why), f"The witness: {program} show {shown_path(run.path)}")
    broken = [result for result in results if result.lost or result.corrupt]
    if broken:
        # Of one that arrived damaged nobody knows if it was acknowledged.
        lost, damaged = sum(bool(result.lost) for result in broken), sum(bool(result.corrupt) for result in broken)
        what = "acknowledged messages were lost" if lost else "messages arrived damaged"
        if lost and damaged:
            # Of several trials some may have the one, and others the other.
            in_each = lost == damaged == len(broken)
            what += ", and messages arrived damaged" if in_each else ", or messages arrived damaged"
        why = f"{where_words(broken, len(results), names)} {what}"
        # Of what others sent nobody knows which it was, and servers of others keep their logs.
        which = "Examples of them" if any(isinstance(result, LoadResult) for result in broken) else "All figures"
        others = all(result.spec.attached for result in broken)
        logs = "" if others else f"; the servers' logs: {shown_path(run.path / 'trials')}/*/logs"
        return Ending(End.BROKEN, as_sentence(why), f"{which}: {program} show {shown_path(run.path)} --json{logs}")
    return _invalid_or_good_ending(facts, program)


def _broken_how(finding: Finding) -> str:
    """What became of acknowledged messages, and in what: a power cut, or what is less than one."""
    refuted = refuting(finding.attestations)
    label = next((attestation.label for attestation in refuted), "")
    became = "was damaged, or not there each time it was read,"
    if not any(attestation.cuts_with_damage for attestation in refuted):
        became = "was lost"
    elif any(attestation.lost for attestation in refuted):
        became = f"was lost, and some {became}"
    return f"{became} ({label})" if label else f"{became} in a power cut"


def _invalid_or_good_ending(facts: RunFacts, program: str) -> Ending:
    """The end of a finished run: INVALID where something asked has no answer, else GOOD."""
    run, names, results = facts.run, facts.names, facts.asked
    invalid = [result for result in results if result.validity is Validity.INVALID]
    again = again_words(run, program)
    if invalid:
        where = where_words(invalid, len(results), names)
        # That it was busy in another trial made nothing of these INVALID, nor in one whose level is not known.
        slowed = [one for one in invalid if not (one.reasons and one.reasons[0].kind in _OF_NO_MACHINE)]
        busy = busy_words(slowed)
        machine = ""
        if busy:
            # A quota makes threads wait beside free CPUs. Of a fleet it is one of several hosts.
            full = _full_cpus(slowed)
            machine = f" {capitalized(busy)}." if full is None else f" CPUs{_after(full.subject)} were busy ({busy})."
        why = as_sentence(f"{where} the figures may not be used: {_first_reason(invalid)}")
        return Ending(End.INVALID, f"{why}{machine}", f"{_before_again(invalid, slowed if busy else [])}{again}")
    undecided = [finding for finding in run.findings if not finding.decided]
    if undecided:
        first = undecided[0]
        why = f"{first.experiment} has no answer for {names.name_of(first.system)}: {first.summary[0]}"
        what = f"{ONCE_FIXED}{again}"
        if _is_left_open_by_crashes(first):
            what = f"{_OF_CRASHES}: {program} show {shown_path(run.path)}"
        return Ending(End.INVALID, as_sentence(why), what)
    undecided_rulings = [ruling for ruling in facts.rulings if ruling.outcome is ThresholdOutcome.NOT_DECIDED]
    if undecided_rulings:
        why = f"a threshold could not be decided, {thresholds.sentence(undecided_rulings[0])}"
        repeats = max(REPEATS_FIRST, 2 * run.blocks_measured)
        more = f"With more repeats: {again_words(run, program, repeats)}"
        rest = f"What is known of it: {program} show {shown_path(run.path)}"
        return Ending(End.INVALID, as_sentence(why), more if repeats_may_decide(undecided_rulings[0]) else rest)
    return Ending(End.GOOD)


def _is_left_open_by_crashes(finding: Finding) -> bool:
    """Whether it is an attestation by crashes that lost nothing, as those of servers whose data the kernel holds do."""
    crashes = [attestation for attestation in finding.attestations if attestation.means is Means.CRASH]
    return bool(crashes) and all(attestation.cuts and not attestation.lost for attestation in crashes)


_OF_NO_MACHINE = (ReasonKind.LEVEL, ReasonKind.COLLECTED, ReasonKind.ABORTED)
"""What makes a trial INVALID however busy the machine was."""


def _after(subject: str) -> str:
    return f" {subject}" if subject else ""


def _full_cpus(results: Sequence[MeasuredResult]) -> Limiting | None:
    """The first limit of these trials that was a host whose CPUs were all busy; None without one."""
    limits = (result.limiting for result in results)
    return next((limiting for limiting in limits if limiting is not None and limiting.used), None)


def _before_again(invalid: Sequence[MeasuredResult], busy: Sequence[MeasuredResult]) -> str:
    """What to do before a run of which something is INVALID is made again: what helps against its cause.

    `busy`: those of them that a busy machine, or a lack of CPUs, may have made INVALID.
    """
    invalid_remedies = [one.remedy for result in invalid for one in result.disturbances if one.harm is Harm.INVALID]
    remedies = [*invalid_remedies, *([] if busy else filter(None, map(_first_remedy, invalid)))]
    if not remedies and busy and _full_cpus(busy) is None:
        remedies = [_for_more_cpu(busy)]
    if not remedies and busy:
        # What helps a machine that was busy: that others leave it, unless it was busy without them.
        if _without_others(busy):
            # What goes as fast as it goes has no rate to be lowered.
            if all(result.offered_msgs_per_s is None for result in busy):
                return "On a machine with more CPUs run it again: "
            return "On a machine with more CPUs, or at a lower rate, run it again: "
        return "Close other programs and run it again: "
    if not remedies:
        return ONCE_FIXED
    return f"{capitalized(remedies[0])}. Then run it again: "


def _without_others(busy: Sequence[MeasuredResult]) -> bool:
    """Whether programs that are no part of these trials are known to have had next to nothing of the CPUs."""
    shares = [
        account.disturbing / account.cpus
        for result in busy
        for account in result.accounts
        if account.disturbing is not None
    ]
    return bool(shares) and max(shares) < OTHERS_SHARE_MIN


def _for_more_cpu(waited: Sequence[MeasuredResult]) -> str:
    """What gives clients a CPU that waited for one: a quota that held them back is the first that helps.

    It may have held only one of their threads, so where others disturbed them, too, that is not all.
    """
    disturbances = [disturbance for result in waited for disturbance in result.disturbances]
    quota = next((disturbance.remedy for disturbance in disturbances if disturbance.what is Disturbed.QUOTA), "")
    if quota:
        others = any(disturbance.what is Disturbed.CPU for disturbance in disturbances)
        return f"{quota}; and {_CLOSE_OTHERS}" if others else quota
    if _without_others(waited):
        return "use a machine with more CPUs (other programs took next to none)"
    return _CLOSE_OTHERS


def _for_steadier_figures(run: StoredRun, unsteady: Sequence[MeasuredResult]) -> str:
    """What makes figures steadier: a longer window, or of more messages; a longer warm-up where that alone was not."""
    moved = [result.spec for result in unsteady if result.is_warned_of(ReasonKind.UNSTEADY)]
    counted = [isinstance(spec, LoadSpec) and spec.messages > 0 for spec in moved]
    more = "allow a longer warm-up"
    if moved:
        more = (
            "measure more messages" if all(counted) else f"measure longer{', or more messages' if any(counted) else ''}"
        )
    # Other campaigns may be as long already.
    return f"{more}{_CAREFUL if _is_quick(run) else ''}"


def _is_quick(run: StoredRun) -> bool:
    """Whether it is a run of the campaign that has a verb of its own."""
    return run.name == Path(run.campaign_path).stem == "quick"


def _ending_of_unfinished(run: StoredRun, program: str, reason_shown: bool) -> Ending:
    kept_words = f"{len(run.results)} of {run.trials_expected} trials are kept"
    next_step = _next_step(run, program)
    if run.status == "interrupted":
        return Ending(End.INTERRUPTED, f"Interrupted; {kept_words}.", next_step)
    failed = [trial for trial in run.trials if trial.status == "failed"]
    if not failed:
        reason = (run.reason or run.status).rstrip(".")
        return Ending(End.FAILED, as_sentence(kept_words if reason_shown else f"{reason}; {kept_words}"), next_step)
    first = failed[0]
    which = first.trial_id if reason_shown else f"{first.trial_id} ({first.why or first.status})"
    many = f"{plural(len(failed), 'trial')} failed, first {which}"
    return Ending(End.FAILED, as_sentence(f"{many}; {kept_words}"), next_step, first.trial_id)


def _next_step(run: StoredRun, program: str) -> str:
    """What to do about a run that did not finish: to change what keeps it from that comes first."""
    if run.can_go_on:
        return f"To go on with it: {program} run --resume {shown_path(run.path)}"
    again = again_words(run, program)
    if not any(trial.settings_refused for trial in run.trials):
        return f"Start it again: {again}"
    # What options said is in the run's own campaign, which stays as it is.
    is_own_copy = Path(run.campaign_path) == run.path / CAMPAIGN_FILE
    return f"Change what the client refuses, and start it again{'.' if is_own_copy else f': {again}'}"


def again_words(run: StoredRun, program: str, repeat: int | None = None, *, by_file: bool = False) -> str:
    """The command that makes the run's campaign again with its options, repeated so often if given.

    `by_file`: name the campaign's file also where there is a shorter command.
    """
    program, path = variables_before(run) + program, Path(run.campaign_path)
    drivers = [name.removeprefix("driver-") for name in kept_omb_files(run.path) if name.startswith("driver-")]
    if drivers:
        # Where the driver file is, the run does not know: what it keeps of it has no password.
        words = ["omb", shown_path(path), "--driver", drivers[0]]
        with_repeats = "" if repeat is None else f", with --repeat {repeat}"
        options = f"(the driver file by its path, and the options that you gave{with_repeats})"
        return f"{program} {shlex.join(words)} {options}"
    verb = ["quick"] if _is_quick(run) and not by_file else ["run", shown_path(path) if path.name else "CAMPAIGN"]
    return f"{program} {shlex.join(command_words(run, verb, repeat))}"
