"""Every sentence of pages, pictures, comparisons and claims: a run in which it is said, one where it would be false.

The two differ in as little as makes it false. Titles, names of axes and notes of pictures are sentences, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import pytest
from attestation_samples import attestation
from compared_runs import BEFORE, blocks_of
from guarantee_samples import planned
from history_samples import disclosed, nightly_results, nightly_run
from page_scenes import (
    CLOCKS,
    account,
    answered,
    block_of,
    first_picture,
    idle_row,
    lasting,
    limited_by,
    metric_row,
    one_run,
    page,
    page_templates,
    page_texts,
    plotted,
    printed,
    run_named,
    run_of,
    sectioned,
    use_row,
    whole,
    with_results,
    with_rows,
)
from published_samples import pair, trial
from published_samples import run_of as measured_of_results
from reasons import reasons_of
from repeated_reports import repeated_report
from report_samples import KAFKA, PULSAR, ceilings
from rich.console import Group
from run_samples import result, spec
from sentence_templates import Claim, Template, claims_of, outlived, template_of, unlisted
from shown_runs import rendered
from variant_samples import p99_result, run_with_variants
from variant_samples import run_of as run_of_results

from tidegauge.campaign.read.published import measured_of
from tidegauge.comparison.across import RunComparison, compare_runs, examined_together
from tidegauge.comparison.compared_trials import ComparedTrials
from tidegauge.comparison.contests import contests_of_run
from tidegauge.comparison.differences import Difference, DisclosedRun, others_words
from tidegauge.comparison.history import history_of_runs
from tidegauge.comparison.within import ratios_of_compared
from tidegauge.errors import UserError
from tidegauge.model.attest import AttestVerdict as CutVerdict
from tidegauge.model.attest import Means
from tidegauge.model.disturbance import Disturbance, Disturbed, Harm
from tidegauge.model.finding import Finding
from tidegauge.model.level import EarlierCuts, LevelChoice, LevelFinding
from tidegauge.model.reason import Reason, ReasonKind
from tidegauge.model.tilt import EQUAL_TERMS, Severity, Stage, Terms, Tilt
from tidegauge.model.trial import LoadResult, Validity
from tidegauge.model.use import Resource
from tidegauge.model.variant import SameWithin, Variant
from tidegauge.model.workload import KeyFile, Keys, Payload, SubscriptionType
from tidegauge.published import PublishedScale
from tidegauge.published.examine import Choice, examine, report_named
from tidegauge.published.verdict import ClaimVerdict, Grade, PublishedOutcome
from tidegauge.report import across, compare, usage
from tidegauge.report.contests import contest_line, contest_notes, points_clause, variants_line
from tidegauge.report.distributions import Within
from tidegauge.report.effects import effects_notes, effects_of_findings, effects_sentence, planned_design_words
from tidegauge.report.facts import RunFacts
from tidegauge.report.html.answer import answer
from tidegauge.report.html.comparison import comparison_page, comparison_plots
from tidegauge.report.html.first_table import first_table
from tidegauge.report.html.index_rows import index_row
from tidegauge.report.html.page import history_page, index_page
from tidegauge.report.html.whole_report import whole_report_page
from tidegauge.report.markdown import run_markdown
from tidegauge.report.names import names_of
from tidegauge.report.plots.contests import contest_plots
from tidegauge.report.plots.context import context_of_findings, context_of_trials, context_of_unfinished
from tidegauge.report.plots.curves import load_plots, percentile_plots
from tidegauge.report.plots.draw import Drawing
from tidegauge.report.plots.effects import effects_plot
from tidegauge.report.plots.heat import heat_maps
from tidegauge.report.plots.model import Details
from tidegauge.report.plots.overview import share_bars, sustainable_bars, throughput_bars
from tidegauge.report.plots.published import table_plots
from tidegauge.report.plots.sweep import Spot, points_left_out
from tidegauge.report.plots.sweep import axis_across as swept_axis
from tidegauge.report.plots.timeline import MAIN, RESOURCES, timelines, trial_timelines
from tidegauge.report.provenance import provenance_words
from tidegauge.report.published import examined_in, published_parts, published_plan
from tidegauge.report.terminal import run_report
from tidegauge.report.verdicts import verdicts
from tidegauge.report.whole_report import WholeReportFacts, whole_report, whole_report_markdown
from tidegauge.statistics.designs import Design, design_points
from tidegauge.statistics.figures import SUSTAINABLE
from tidegauge.statistics.intervals import Interval, Method, compare_unpaired
from tidegauge.store.details import Disclosed
from tidegauge.store.read import StoredRun

MODULES = (
    *(f"report/html/{name}.py" for name in ("answer", "disclosure", "first_table", "hosts", "page", "sections")),
    *(f"report/plots/{name}.py" for name in ("context", "curves", "draw", "effects", "model", "overview", "sweep")),
    *(f"report/plots/{name}.py" for name in ("compared", "draw_cells", "heat", "paper")),
    "report/html/comparison.py",
    *("report/whole_report.py", "report/html/whole_report.py", "report/plots/published.py"),
    "report/plots/timeline.py",
    *(
        f"report/{name}.py"
        for name in ("across", "compare", "effects", "published", "provenance", "markdown", "junit", "envelopes")
    ),
    *(f"comparison/{name}.py" for name in ("across", "compared_trials", "differences", "within")),
    *("report/contests.py", "report/plots/contests.py", "comparison/contests.py"),
)
NO_SENTENCES = (
    '<svg viewBox="0 0 {} {}" aria-hidden="true">',  # What is drawn, and not said.
    "M15.5 2h3v2.5h2.5v3h-2.5v2.5h-3v-2.5h-2.5v-3h2.5Z",
    "`fleet head` and `fleet join` with --json.",  # What a schema is of: it describes a file, and no run.
    "`fleet check` with --json; see `FleetCheck`.",
)
Scene = Callable[[], Iterable[str]]
SCENES: dict[str, Scene] = {}


def _whole(name: str) -> Scene:
    return lambda: whole(*run_named(name))


def _one(**changes: object) -> Scene:
    """The first screen of one trial with fields of its result changed."""
    return lambda: answered(one_run(**changes))


def _subscribed(**changes: object) -> dict[str, object]:
    (only,) = run_named("one-system")[0].measured[0].subscriptions
    return {"subscriptions": (replace(only, **changes),)}  # type: ignore[arg-type]


def _spec(**changes: object) -> dict[str, object]:
    return {"spec": replace(run_named("one-system")[0].measured[0].spec, **changes)}  # type: ignore[arg-type]


def _worked(**changes: object) -> dict[str, object]:
    spec = run_named("one-system")[0].measured[0].spec
    return _spec(workload=replace(spec.workload, **changes))  # type: ignore[arg-type]


def _loaded_from_here() -> StoredRun:
    """A fleet of servers, measured from a host that does not say its name."""
    run, _ = run_named("fleet")
    servers = {address: at_work for address, at_work in run.facts("hosts").items() if at_work["nodes"]}
    return replace(run, environment={"host": {"cpus": 4}, "hosts": servers})


def _late_and_worse() -> StoredRun:
    """Of two trials whose load generator was late one is INVALID for it."""
    validities = iter((Validity.INVALID, Validity.DOUBTFUL))
    reasons = reasons_of("the load generator itself was late: its own lag at p99 is 20 ms", kind=ReasonKind.OWN_LAG)
    return with_results(_two(), lambda result: replace(result, validity=next(validities), reasons=reasons))


def _two(**changes: object) -> StoredRun:
    """Two systems with a valid trial each. `changes`: of Pulsar's result."""
    valid = {"validity": Validity.VALID, "reasons": ()}

    def change(one: LoadResult) -> LoadResult:
        return replace(one, **valid, **(changes if one.spec.system == PULSAR else {}))  # type: ignore[arg-type]

    return with_results(run_named("all-invalid")[0], change)


def _other_experiment() -> StoredRun:
    other = next(one.spec for one in run_named("all-invalid")[0].results if one.spec.system == PULSAR)
    return _two(spec=replace(other, experiment="other"))


def _limited_search() -> StoredRun:
    """A search whose goals have a limit of latency."""
    run, _ = run_named("search-of-blocks")
    limits = ("response p99 <= 5 ms",)
    found = [one.with_goals([replace(goal, limits=limits) for goal in one.goals]) for one in run.findings]
    return replace(run, findings=tuple(found))


def _without(name: str, keep: Callable[[Any], bool]) -> StoredRun:
    run, _ = run_named(name)
    return replace(run, trials=tuple(one for one in run.trials if keep(one)))


def _lost_in_cuts(lost: int = 5, damaging_cuts: int = 0) -> StoredRun:
    """What some cuts broke: lost, or without any loss damaged."""
    run, _ = run_named("attest")
    (found,) = run.findings
    broken = attestation(verdict=CutVerdict.REFUTED, losing_cuts=2, lost=lost, damaging_cuts=damaging_cuts)
    return replace(run, findings=(replace(found, refuted=True, attestations=(broken,)),))


def _crashed() -> StoredRun:
    """Crashes of processes instead of cuts of the power."""
    run, _ = run_named("attest")
    (found,) = run.findings
    return replace(run, findings=(replace(found, attestations=(attestation(means=Means.CRASH),)),))


def _some_unread() -> StoredRun:
    run, _ = run_named("sweep-of-levels")
    first = run.results[0].spec.trial_id
    return with_results(run, lambda one: replace(one, subscriptions=()) if one.spec.trial_id == first else one)


def _verified() -> StoredRun:
    def change(one: Any) -> Any:
        (only,) = one.subscriptions
        return replace(one, subscriptions=(replace(only, verified=500_000, foreign=0),))

    return with_results(run_named("reading-alone")[0], change)


def _claimed(verdict: ClaimVerdict) -> StoredRun:
    run, _ = run_named("published")
    assert run.published is not None
    first, *others = run.published.claims
    return replace(run, published=replace(run.published, claims=(replace(first, verdict=verdict), *others)))


def _attested(*systems: str) -> StoredRun:
    def change(one: LoadResult) -> LoadResult:
        said = "attested: 0 lost in 9 cuts (all)" if one.spec.system in systems else "claimed only"
        return replace(one, level=replace(one.level, attested=EarlierCuts.from_text(said)))

    return with_results(_two(), change)


_LEVEL = LevelFinding(3, ("as set",))
_COMPILED = {
    "jit_cpus": 0.5,
    "warnings": reasons_of("the load generator was still being compiled while measured", kind=ReasonKind.COMPILING),
}
_NOTED = Disturbance(Disturbed.CPU, Harm.NOTED, "other programs took 0.20 of 2 CPUs", "end them")
_WAITED = {
    "warnings": (
        Reason(
            ReasonKind.CPU_WAIT,
            "load threads waited for a CPU for 0.4 s in each second",
            conclusion="this host is short of CPU",
        ),
    )
}

SCENES |= {
    **{
        name: _whole(name)
        for name in (
            "one-system", "three-blocks", "sweep-of-levels", "search-of-a-sweep", "search-of-blocks",
            "curves-of-a-sweep", "catch-up", "several-load-generators", "fleet", "reading-alone", "attest",
            "all-invalid", "nothing-acknowledged", "cut-off", "many-points", "two-rates", "schedule", "sweep-of-rates",
            "search-of-a-long-sweep", "search-with-doubt", "mixed",
        )
    },
    "search with limits": lambda: sectioned(_limited_search(), run_named("search-of-blocks")[1]),
    "steps without a finding": lambda: answered(replace(run_named("search-of-blocks")[0], findings=())),
    "nothing": lambda: answered(replace(run_named("sample")[0], trials=(), findings=())),
    "direction confirmed": lambda: answered(_claimed(ClaimVerdict.DIRECTION)),
    "claim confirmed": lambda: answered(_claimed(ClaimVerdict.CONFIRMED)),
    "two systems": lambda: answered(_two()),
    "two systems apart": lambda: answered(_other_experiment()),
    "level unknown": _one(level=LevelFinding(None, ())),
    "level not as asked": _one(level=LevelFinding(4, (), ("acks=1",))),
    "level refuted": _one(level=replace(_LEVEL, attested=EarlierCuts.from_text("REFUTED: 3 lost in 9 cuts (all)"))),
    "level attested": _one(level=replace(_LEVEL, attested=EarlierCuts.from_text("attested: 0 lost in 9 cuts (all)"))),
    "one of two attested": lambda: answered(_attested(KAFKA)),
    "both attested": lambda: answered(_attested(KAFKA, PULSAR)),
    "none attested": lambda: answered(_attested()),
    "nothing received": lambda: answered(one_run(acked=0, **_subscribed(received=0))),
    "nobody read": _one(subscriptions=()),
    "some were not read": lambda: answered(_some_unread()),
    "behind": lambda: answered(one_run(**_subscribed(backlog=9))),
    "behind, and some lost": lambda: answered(one_run(**_subscribed(backlog=9, lost=1))),
    "some lost": lambda: answered(one_run(**_subscribed(backlog=9, lost=9))),
    "checksums": lambda: answered(_verified()),
    "generator late in part": _one(
        validity=Validity.DOUBTFUL,
        reasons=reasons_of(
            "the load generator itself was late: its own lag at p99 is 5 ms of a response of 20 ms",
            kind=ReasonKind.OWN_LAG,
        ),
    ),
    "generator late": _one(
        validity=Validity.INVALID,
        reasons=reasons_of("the load generator itself was late: its own lag at p99 is 20 ms", kind=ReasonKind.OWN_LAG),
    ),
    "generator late and worse": lambda: answered(_late_and_worse()),
    "consumers slow": _one(
        validity=Validity.INVALID,
        reasons=reasons_of(
            "the load generator's own consumers were too slow, so end-to-end times and backlog are not the system's: "
            "sub-0 consumer 0",
            kind=ReasonKind.BUSY_CONSUMER,
        ),
    ),
    "host held back": _one(
        validity=Validity.INVALID, reasons=reasons_of("its host or link was slow", kind=ReasonKind.HELD_BACK)
    ),
    "host held back, or servers slow": _one(
        validity=Validity.DOUBTFUL, reasons=reasons_of("its host or link was slow", kind=ReasonKind.HELD_BACK)
    ),
    "servers of its topics slow, invalid for its level": _one(
        validity=Validity.INVALID,
        reasons=(
            *reasons_of("the level is unknown", kind=ReasonKind.LEVEL),
            *reasons_of("its host or link was slow", kind=ReasonKind.HELD_BACK),
        ),
    ),
    "client CPU": _one(limiting=limited_by(Resource.CLIENT_CPU)),
    "host CPU": _one(limiting=limited_by(Resource.HOST_CPU)),
    "disk": _one(limiting=limited_by(Resource.DISK)),
    "full CPUs": _one(accounts=(account(busy=2.0),)),
    "waited for a CPU": _one(**_WAITED),
    "compiling": lambda: whole(one_run(**_COMPILED), run_named("one-system")[1]),
    "disturbed and not judged": _one(disturbances=(replace(_NOTED, excused=Harm.INVALID),)),
    "disturbed a little": _one(disturbances=(_NOTED,)),
    "never warm": _one(
        warnings=reasons_of(
            "the load generator never became warm: its JIT compiler took 0.3 of a CPU in its last 5 s",
            kind=ReasonKind.COLD,
        )
    ),
    "near the generator's limit": _one(
        warnings=reasons_of(
            "the rate was near the load generator's own limit: 80% of what can be made and checked",
            kind=ReasonKind.NEAR_GENERATOR,
        )
    ),
    "negative times": lambda: answered(one_run(**_subscribed(negative_latency=3))),
    "clocks bounded": lambda: answered(one_run(clocks=CLOCKS, **_spec(load_hosts=2, apart=True))),
    "clocks not recorded": lambda: answered(one_run(**_spec(load_hosts=2, apart=True))),
    "nobody read what several hosts sent": lambda: answered(
        one_run(subscriptions=(), clocks=CLOCKS, **_spec(load_hosts=2, apart=True))
    ),
    "level of one unknown": lambda: answered(
        with_results(
            run_named("sample")[0],
            lambda one: replace(one, level=LevelFinding(None, ())) if one.spec.system == KAFKA else one,
        )
    ),
    "no servers": lambda: answered(one_run(**_spec(serverless=True))),
    "servers of others beside servers of ours": lambda: answered(
        _two(spec=replace(_two().results[1].spec, attached=True))
    ),
    "servers of others": lambda: answered(one_run(**_spec(attached=True))),
    "crashes": lambda: answered(_crashed()),
    "lost in cuts": lambda: answered(_lost_in_cuts()),
    "damaged in cuts": lambda: answered(_lost_in_cuts(0)),
    "lost and damaged in cuts": lambda: answered(_lost_in_cuts(5, damaging_cuts=1)),
    "short messages": lambda: answered(one_run(**_worked(payload=Payload(10)))),
    "a shared subscription": lambda: answered(one_run(**_worked(subscription_type=SubscriptionType.SHARED))),
    "not all repeated": lambda: answered(
        _without("three-blocks", lambda one: one.spec.block == 0 or one.spec.experiment == "peak")
    ),
    "page of a load": lambda: page(*run_named("one-system")),
    "page of a load whose campaign is there": lambda: page(
        replace(run_named("one-system")[0], campaign_path=__file__), run_named("one-system")[1]
    ),
    "page of keys from a file": lambda: page(
        replace(
            run_named("one-system")[0],
            campaign_path=__file__,
            planned=tuple(
                replace(one, workload=replace(one.workload, keys=Keys.FROM_FILE, key_file=KeyFile("/users", 3, 2, 0.5)))
                for one in run_named("one-system")[0].planned
            ),
        ),
        run_named("one-system")[1],
    ),
    "page of cuts": lambda: page(*run_named("attest")),
    "page of a fleet": lambda: page(*run_named("fleet")),
    "page of a fleet with load generators here": lambda: page(_loaded_from_here(), run_named("fleet")[1]),
}  # fmt: skip


CLAIMS = [
    Claim("Trials have finished, but no experiment has", "steps without a finding", "search-of-blocks"),
    Claim("No trial has finished, so there is no answer", "nothing", "steps without a finding"),
    Claim(" (which is higher, not by how much)", "direction confirmed", "claim confirmed"),
    Claim("Settings in force compared: equal terms{}.", "two systems", "two systems apart"),
    Claim("No two systems were measured in the same experiment", "two systems apart", "two systems"),
    Claim("Level NOT as asked", "level not as asked", "one-system"),
    Claim("{}, REFUTED by power cuts", "level refuted", "level attested"),
    Claim("not attested of all", "one of two attested", "both attested"),
    Claim("No cut of the power attests it of {}", "one of two attested", "both attested"),
    Claim("No message was acknowledged, so there was none", "nothing received", "one-system"),
    Claim("{} messages checked: {}{}", "one-system", "nobody read"),
    Claim("Each of {} acknowledged messages was looked for", "one-system", "behind"),
    Claim("Each of {} acknowledged messages was looked for", "some lost", "behind, and some lost"),
    Claim("{} Damage was not checked of messages without", "short messages", "one-system"),
    Claim("{} Order was not checked of shared", "a shared subscription", "short messages"),
    Claim(", damaged or not in every read after {}", "damaged in cuts", "lost in cuts"),
    Claim(", damaged or not in every read after {}", "lost and damaged in cuts", "lost in cuts"),
    Claim("Of {} acknowledged messages, as far as is known: ", "behind", "one-system"),
    Claim("Of {} acknowledged messages, as far as is known: ", "behind, and some lost", "some lost"),
    Claim("{} In {} nobody read.", "some were not read", "sweep-of-levels"),
    Claim("Nobody read, so nothing is known of loss", "nobody read", "one-system"),
    Claim("{} messages checked: corrupt {}", "checksums", "reading-alone"),
    Claim("Of {} messages read {} carry checksums", "reading-alone", "one-system"),
    Claim("In {} the load generator itself was late", "generator late", "consumers slow"),
    Claim("Generator was late in {}", "generator late", "consumers slow"),
    Claim(", which is a part of its times", "generator late in part", "generator late"),
    Claim(", and spoilt {} of them", "generator late and worse", "generator late"),
    Claim("In {} the load generator's own consumers", "consumers slow", "generator late"),
    Claim("Generator's consumers slow in {}", "consumers slow", "generator late"),
    Claim("In {} a load generator's {}.", "host held back", "consumers slow"),
    Claim("own host or link held it back, and not", "host held back", "host held back, or servers slow"),
    Claim(
        "own host or link held it back, and not",
        "host held back",
        "servers of its topics slow, invalid for its level",
    ),
    Claim("host or link held it back, or the servers", "host held back, or servers slow", "host held back"),
    Claim("Generator was held back in {}", "host held back", "consumers slow"),
    Claim("The load generator was the limit in {}, not", "client CPU", "host CPU"),
    Claim("In {} all CPUs of a host were busy", "host CPU", "disk"),
    Claim("Generator may be limited: all CPUs busy", "host CPU", "disk"),
    Claim("In {} {}: what was measured may in part", "waited for a CPU", "one-system"),
    Claim("Generator may be limited in {}", "waited for a CPU", "one-system"),
    Claim("nearly all CPUs were busy", "full CPUs", "waited for a CPU"),
    Claim("load threads waited for a CPU", "waited for a CPU", "full CPUs"),
    Claim("the load generator was still being compiled", "compiling", "never warm"),
    Claim("the load generator never became warm", "never warm", "compiling"),
    Claim("the rate was near the load generator's own limit", "near the generator's limit", "waited for a CPU"),
    Claim("What limited {} was not recorded.", "one-system", "disk"),
    Claim("Generator: head-room not recorded", "one-system", "disk"),
    Claim("Generator was not the limit", "disk", "one-system"),
    Claim("In no trial was the load generator's CPU the limit.", "disk", "client CPU"),
    Claim("{} messages seem to have arrived before they were", "negative times", "one-system"),
    Claim("In {} load generators were on several hosts", "clocks not recorded", "clocks bounded"),
    Claim("Messages went from host to host.", "clocks bounded", "one-system"),
    Claim("Clocks known to \u00b1{} us", "clocks bounded", "clocks not recorded"),
    Claim("One clock for all times", "one-system", "clocks not recorded"),
    Claim("Messages are sent and received on one host", "one-system", "clocks not recorded"),
    Claim("Messages are sent and received on one host", "one-system", "nobody read"),
    Claim("Messages are sent and received on one host", "one-system", "nobody read what several hosts sent"),
    Claim("In {} load generators were on several hosts", "clocks not recorded", "nobody read what several hosts sent"),
    Claim("Messages went from host to host.", "clocks bounded", "nobody read what several hosts sent"),
    Claim("Nobody read: from the send to the acknowledgement", "nobody read", "one-system"),
    Claim("One clock for each time", "nobody read", "one-system"),
    Claim("Level UNKNOWN of some", "level of one unknown", "one-system"),
    Claim("Other programs disturbed {}, which {}=report let", "disturbed and not judged", "disturbed a little"),
    Claim(", {} disturbed and not judged", "disturbed and not judged", "disturbed a little"),
    Claim("{} with remarks, such as: {}.", "waited for a CPU", "one-system"),
    Claim("What these cuts broke says nothing of other settings", "lost in cuts", "attest"),
    Claim("Cuts that lost nothing are no proof", "attest", "lost in cuts"),
    Claim("Repeated within one run: another day", "three-blocks", "not all repeated"),
    Claim("Some of these were measured once only, and all within one run", "not all repeated", "three-blocks"),
    Claim("Found once, in trials of at most {}", "search-of-a-sweep", "steps without a finding"),
    Claim("; and {} of {}", "search-of-a-sweep", "one-system"),
    Claim("One trial each, of at most {}", "one-system", "three-blocks"),
    Claim("{} that others run: what else they did", "servers of others", "one-system"),
    Claim("{} Of the rest: {}", "servers of others beside servers of ours", "servers of others"),
    Claim("Servers on hosts of their own, the clients {}", "clocks bounded", "one-system"),
    Claim("There were no servers: these are figures of the load generator", "no servers", "one-system"),
    Claim("{} of each system on one machine with the clients", "one-system", "clocks bounded"),
    Claim(", and not that the level survives a power cut", "one-system", "attest"),
    Claim(", and not that the level survives a power cut", "crashes", "attest"),
    # Disclosure, page, parts about experiments.
    Claim(", then {} CPUs compiling", "compiling", "one-system"),
    Claim("half of the messages waited longer", "page of a load", "page of cuts"),
    Claim("1 of 20 messages waited longer", "page of a load", "page of cuts"),
    Claim("1 of 100 messages waited longer", "page of a load", "page of cuts"),
    Claim("1 of 1,000 messages waited longer", "page of a load", "page of cuts"),
    Claim("the longest wait that was measured", "page of a load", "page of cuts"),
    Claim("{} points of a sweep", "sweep-of-levels", "one-system"),
    Claim("Plots and further tables of the first {} points", "many-points", "sweep-of-levels"),
    Claim("At {}: {}. Not all other points have the same load.", "sweep-of-rates", "sweep-of-levels"),
    Claim("Confirmations of the first {} of {} points", "search-of-a-long-sweep", "search-of-a-sweep"),
    Claim("Each system at the rate that was found", "search-of-blocks", "search of equal rates"),
    Claim("{}No figure of it is a result.", "cut-off", "one-system"),
]


def _percentiles(change: Callable[[LoadResult], LoadResult] = lambda one: one, name: str = "three-blocks") -> list[str]:
    block, details = block_of(name, "latency")
    changed = ComparedTrials("latency", tuple(change(one) for one in block.loads))
    return [*plotted(percentile_plots(changed, details, "x"))]


_POINTS = [{"partitions": str(n), "batch": str(m)} for n in range(1, 13) for m in range(1, 11)]


def _peaks(change: Callable[[LoadResult], LoadResult] = lambda one: one) -> list[str]:
    block, _ = block_of("three-blocks", "peak")
    return [*plotted(throughput_bars(ComparedTrials("peak", tuple(change(one) for one in block.loads)), "x"))]


def _two_subscriptions() -> list[str]:
    block, details = block_of("one-system", "latency")
    (load,) = block.loads
    (only,) = load.subscriptions
    both = replace(load, subscriptions=(only, replace(only, name="sub-1")))
    known = details[load.spec.trial_id]
    (tag,) = [tag for tag in known.histograms if tag.startswith("end-to-end")]
    times = {**known.histograms, "end-to-end/sub-1": known.histograms[tag]}
    changed = {**details, load.spec.trial_id: replace(known, histograms=times)}
    return [*plotted(percentile_plots(ComparedTrials("latency", (both,)), changed, "x"))]


def _first_invalid(one: LoadResult) -> LoadResult:
    return replace(one, validity=Validity.INVALID) if one.spec.block == 0 else one


def _moved() -> Iterable[str]:
    run, _ = run_named("one-system")
    interval = Interval(7.8, 7.0, 9.0, 12, Method.WITHIN_TRIAL, 0.1)
    name = run.results[0].spec.trial_id
    return first_picture(run, Within(name, "latency", KAFKA, "response p99", "ms", interval))


def _last_of_sweep_doubtful() -> StoredRun:
    run, _ = run_named("sweep-of-levels")
    last = run.results[-1].spec.trial_id
    return with_results(run, lambda one: replace(one, validity=Validity.DOUBTFUL) if one.spec.trial_id == last else one)


def _curves(state: str) -> list[str]:
    """Curves over the load, of which the first load has this state; "" = its own."""
    run, _ = run_named("curves-of-a-sweep")
    findings = []
    for finding in run.findings:
        first, *others = finding.details["points"]
        points = [{**first, "state": state or first["state"]}, *others]
        findings.append(replace(finding, details={**finding.details, "points": points}))
    return [*plotted(load_plots(findings, run.results, "x"))]


def _first_of_sweep_invalid() -> StoredRun:
    run, _ = run_named("sweep-of-levels")
    first = run.results[0].spec.trial_id
    return with_results(run, lambda one: replace(one, validity=Validity.INVALID) if one.spec.trial_id == first else one)


def _without_receipts() -> list[str]:
    block, details = block_of("one-system", "latency")
    response = {
        name: replace(one, histograms={"response": one.histograms["response"]}) for name, one in details.items()
    }
    return [*plotted(percentile_plots(block, response, "x"))]


def _rates(name: str, change: Callable[[Finding], Finding] = lambda one: one) -> list[str]:
    """The bars of confirmed rates."""
    run, _ = run_named(name)
    return [*plotted(sustainable_bars(tuple(map(change, run.findings)), run.results, "x", names_of(run)))]


def _first_unconfirmed(one: Finding) -> Finding:
    if one.finding_id != "0001-max-throughput-kafka":
        return one
    return one.with_goals([replace(goal, sustainable_msgs_per_s=None) for goal in one.goals])


def _ceilings(name: str, *, known: bool = True) -> list[str]:
    """What a page says of shares of ceilings and of cost."""
    run, _ = run_named(name)
    run = replace(run, ceilings=ceilings() if known else None)
    rows = [row for row in usage.rows(run) if row.is_throughput]
    return [*usage.notes(run, rows), *plotted(share_bars(rows, "x"))]


def _drawn(name: str, change: Callable[[Any], Any], charts: Any = MAIN) -> list[str]:
    """Lines over time of the latencies, with changed details."""
    block, details = block_of(name, "latency")
    return [*plotted(timelines(block, change(details), "x", charts))]


def _many_repeats() -> list[str]:
    block, details = block_of("one-system", "latency")
    return [*plotted(timelines(ComparedTrials("latency", block.results * 7), details, "x", MAIN))]


def _cut_off() -> list[str]:
    run, details = run_named("cut-off")
    (cut,) = [one for one in run.trials if one.result is None]
    return [*plotted(trial_timelines(details[cut.trial_id], PULSAR, "x", MAIN))]


def _never_chased() -> list[str]:
    """Late readers that never began."""
    run, details = run_named("catch-up")
    before = {"during": "before", "after": "before"}
    return [
        *sectioned(
            run, with_rows(details, seconds=lambda row: {**row, "phase": before.get(row["phase"], row["phase"])})
        )
    ]


def _axis(*systems: str) -> list[str]:
    """The axis of a sweep over levels."""
    spots = [
        Spot({"durability": level}, system, "bypass" if system == PULSAR else "", 1.0, 1.0, 1.0)
        for system in systems
        for level in ("2 bypass", "4")
    ]
    return [swept_axis(spots, [spot.point for spot in spots], "durability").axis.label]


def _of_findings(*, measured: bool) -> list[str]:
    run, _ = run_named("search-of-blocks")
    return [context_of_findings(run.findings, run.results if measured else [])]


def _schedules(*others: str) -> list[str]:
    run, _ = run_named("schedule")
    return [context_of_trials([*run.results, *(one for name in others for one in run_named(name)[0].results)])]


def _watched() -> list[str]:
    run, details = run_named("one-system")
    return [*sectioned(run, with_rows(details, use=use_row, metrics=metric_row))]


def _watched_beside_others() -> list[str]:
    run, details = run_named("one-system")
    use = {"host_cpu_percent of 10.0.0.2": 1.0}
    return [*sectioned(run, with_rows(details, use=lambda row: use_row(row) | use))]


def _unwatched() -> list[str]:
    run, details = run_named("one-system")
    idle = with_rows(details, seconds=idle_row)
    return [*sectioned(run, {name: replace(one, use=()) for name, one in idle.items()})]


def _looped(experiment: str) -> list[str]:
    block, details = block_of("three-blocks", experiment)
    return [*plotted(timelines(block, details, "x", RESOURCES))]


def _first_table(run: StoredRun) -> list[str]:
    """What stands below the figures beside the first picture."""
    table = first_table(run, verdicts(RunFacts(run)))
    return [*table.notes, *table.table.labels] if table is not None else []


def _first_table_without_room() -> list[str]:
    """Of two experiments with three systems only one fits."""
    with mock.patch("tidegauge.report.html.first_table.ROWS_MAX", 3):
        return _first_table(run_named("three-blocks")[0])


def _designed(
    places: Sequence[Sequence[int]], repeats: int = 1, factor: float = 4.0, known: int | None = None
) -> list[str]:
    """What is said of sustainable rates that the third field of a design moves by a factor for each value.

    `known`: of so many points a rate was found; None = of all.
    """
    points = [{f"axis{axis}": str(place) for axis, place in enumerate(point)} for point in places]
    findings = []
    for block, (number, point) in product(range(repeats), enumerate(points)):
        rate = 1e4 * factor ** int(point.get("axis2", 0)) * (1 + (7 * number + 5 * block) % 11 / 1e3)
        figures = {SUSTAINABLE: rate} if known is None or number < known else {}
        name = f"f{block}-{number}"
        findings.append(Finding(name, "max-throughput", KAFKA, block, True, ("",), figures=figures, point=point))
    sweeps = effects_of_findings(findings)
    said = [words for sweep in sweeps for words in (effects_sentence(sweep), *effects_notes(sweep))]
    picture = effects_plot(sweeps, "effects", "")
    drawn = [picture.title, picture.reading, picture.y.label] if picture is not None else []
    return [*said, *drawn, planned_design_words(points)]


def _two_sweeps() -> list[str]:
    """Of a sweep with too many points for one picture the first of several."""
    with mock.patch("tidegauge.report.plots.sweep.POINTS_SHOWN_MAX", 5):
        return list(first_picture(run_named("sweep-of-three")[0]))


SCENES |= {
    "all of one schedule": _schedules,
    "one with a schedule": lambda: _schedules("one-system"),
    "findings without trials": lambda: _of_findings(measured=False),
    "findings with trials": lambda: _of_findings(measured=True),
    "context of a cut-off trial": lambda: [context_of_unfinished(spec(experiment="peak"), "interrupted")],
    "context of a finished trial": lambda: [context_of_trials([result(spec(experiment="peak"))])],
    "repeats": _percentiles,
    "repeats, one INVALID": lambda: _percentiles(_first_invalid),
    "repeats, one INVALID and all of another": lambda: _percentiles(
        lambda one: replace(one, validity=Validity.INVALID)
        if one.spec.block == 0 or one.spec.system != KAFKA
        else one,
        "sample",
    ),
    "no receipts": _without_receipts,
    "rates of a sweep": lambda: _rates("search-of-a-sweep"),
    "rates of goals": lambda: _rates("search-of-goals"),
    "two subscriptions": _two_subscriptions,
    "search of equal rates": lambda: sectioned(
        with_results(run_named("search-of-blocks")[0], lambda one: replace(one, offered_msgs_per_s=1_000.0)),
        run_named("search-of-blocks")[1],
    ),
    "repeated picture, one INVALID": lambda: first_picture(
        with_results(run_named("three-blocks")[0], _first_invalid)
    ),
    "repeated peaks": _peaks,
    "repeated peaks, one INVALID": lambda: _peaks(_first_invalid),
    "picture of two sweeps": _two_sweeps,
    "first table of one trial": lambda: _first_table(one_run()),
    "first table of repeats": lambda: _first_table(run_named("three-blocks")[0]),
    "first table, INVALID": lambda: _first_table(one_run(validity=Validity.INVALID)),
    "first table without room": _first_table_without_room,
    "a pairwise design": lambda: _designed(design_points(Design.PAIRWISE, (3, 3, 3, 3)), repeats=2),
    "a pairwise design with a gap": lambda: _designed(design_points(Design.PAIRWISE, (3, 3, 3, 3))[1:], repeats=2),
    "a design of one at a time": lambda: _designed(design_points(Design.ONE_AT_A_TIME, (3, 3, 3)), repeats=3),
    "a design of few points": lambda: _designed(design_points(Design.ONE_AT_A_TIME, (2, 2, 2)), known=3),
    "a design of few repeats": lambda: _designed(design_points(Design.ONE_AT_A_TIME, (2, 2, 2)), repeats=2),
    "a design without effects": lambda: _designed(design_points(Design.PAIRWISE, (3, 3, 3, 3)), factor=1.0),
    "all combinations": lambda: _designed(design_points(Design.FULL, (2, 2))),
    "a half of all combinations": lambda: _designed(
        [(a, b, a ^ b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)], repeats=3
    ),
    "source of one trial": lambda: [provenance_words(one_run())],
    "picture of all points": lambda: first_picture(run_named("sweep-of-three")[0]),
    "points without a picture": lambda: [points_left_out(_POINTS)],
    "points with a picture": lambda: ["all of them", points_left_out(_POINTS[:20])],
    "loads of a sweep": lambda: answer(run_named("sweep-of-settings")[0]).loads,
    "loads of one trial": lambda: answer(one_run()).loads,
    "curve": lambda: _curves(""),
    "curve with an INVALID load": lambda: _curves("INVALID"),
    "a sweep with a DOUBTFUL trial": lambda: first_picture(_last_of_sweep_doubtful()),
    "rates of blocks": lambda: _rates("search-of-blocks"),
    "rates of a sweep, one not confirmed": lambda: _rates("search-of-a-sweep", _first_unconfirmed),
    "shares": lambda: _ceilings("three-blocks"),
    "cost alone": lambda: _ceilings("three-blocks", known=False),
    "shares of a search": lambda: _ceilings("search-of-blocks"),
    "picture of rates and times": lambda: first_picture(run_named("three-blocks")[0]),
    "picture of one trial that moved": _moved,
    "picture of one trial": lambda: first_picture(run_named("one-system")[0]),
    "picture of two rates": lambda: first_picture(run_named("two-rates")[0]),
    "picture of rates": lambda: first_picture(
        _without("three-blocks", lambda one: one.spec.experiment == "peak")
    ),
    "repeated sweep": _whole("sweep-of-settings"),
    "picture of a sweep": lambda: first_picture(run_named("sweep-of-levels")[0]),
    "sweep of levels, one INVALID": lambda: first_picture(_first_of_sweep_invalid()),
    "levels with a form": lambda: _axis(KAFKA, PULSAR),
    "levels without a form": lambda: _axis(KAFKA),
    "watched": _watched,
    "watched beside other hosts": _watched_beside_others,
    "not watched": _unwatched,
    "schedule's lag": lambda: _looped("latency"),
    "closed loop's lag": lambda: _looped("peak"),
    "seven repeats": _many_repeats,
    "lines over time": lambda: _drawn("one-system", lambda details: details),
    "lines of three repeats": lambda: _drawn("three-blocks", lambda details: details),
    "lines of ten minutes": lambda: _drawn("one-system", lambda details: lasting(details, 600)),
    "lines of hours": lambda: _drawn("one-system", lambda details: lasting(details, 200, apart_s=24)),
    "faults": lambda: _drawn("faults", lambda details: details),
    "cut off while it was measured": _cut_off,
    "late readers never began": _never_chased,
}  # fmt: skip


CLAIMS += [
    Claim(" with a schedule of rates", "all of one schedule", "one with a schedule"),
    Claim("{}; level not known", "findings without trials", "findings with trials"),
    Claim("Of each system all trials merged.", "repeats", "repeats, one INVALID"),
    Claim("Of each system all trials merged that are not INVALID.", "repeats, one INVALID", "repeats"),
    Claim(
        "Of each system all trials merged that are not INVALID.",
        "repeats, one INVALID",
        "repeats, one INVALID and all of another",
    ),
    Claim("Of each system that has any the", "repeats, one INVALID and all of another", "repeats, one INVALID"),
    *claims_of(
        "one-system", "nothing-acknowledged",
        "Response time by percentile", "from the intended send to the acknowledgement",
        "share of messages that took at most so long", "Latency {}; a flat line is steady",
    ),
    *claims_of(
        "one-system", "no receipts",
        "End-to-end latency by percentile", "from the intended send to the receipt",
    ),
    *claims_of(
        "curves-of-a-sweep", "search-of-blocks",
        "Median response time against load", "Latency at each load offered.",
        "{}: {} ms at {} msg/s, {} ms at {} msg/s",
    ),
    Claim("At each share the slowest subscription.", "two subscriptions", "one-system"),
    Claim("Hollow: not sustained, or INVALID.", "curve with an INVALID load", "curve"),
    Claim("Hollow: not sustained, DOUBTFUL or INVALID.", "all-invalid", "one-system"),
    Claim(" Hollow: a DOUBTFUL trial confirmed it.", "search-with-doubt", "search-of-a-sweep"),
    Claim(" Hollow: some of its trials are DOUBTFUL.", "a sweep with a DOUBTFUL trial", "sweep-of-levels"),
    Claim("At {} it differs in what their values say.", "loads of a sweep", "loads of one trial"),
    *claims_of(
        "search-of-blocks", "curves-of-a-sweep",
        "Steps of the search{}", "{}: {} trials, {} sustained", "Filled: sustained{}; hollow: not, or INVALID.{}",
        "{} tried one after the other. {} {}.", "trial of the search",
    ),
    Claim(", limits of latency left aside", "search with limits", "search-of-blocks"),
    Claim(" One line for each block.", "search-of-blocks", "search-of-a-sweep"),
    Claim("1 of 100 messages waited longer", "picture of one trial", "picture of rates"),
    Claim(" No bar: no rate was confirmed.", "rates of a sweep, one not confirmed", "rates of a sweep"),
    Claim("Bar: the confirmed rate, {}.", "rates of blocks", "rates of a sweep"),
    Claim("Bar: the confirmed rate; whisker: the bracket", "rates of a sweep", "rates of blocks"),
    *claims_of(
        "shares", "cost alone",
        "Share of ceilings: {}", "Bars are shares of {}, which is the line at 100 %",
        "what the machine did at most when that was measured",
    ),
    Claim("Bar: the trial with the middle rate, where", "shares", "shares of a search"),
    Claim("Bar: the trial that confirmed the rate.", "shares of a search", "shares"),
    Claim("Logarithmic: equal distances are equal factors.", "picture of one trial", "picture of rates"),
    Claim("Bold: the mean of the trials, its 95% interval", "picture of rates and times", "picture of one trial"),
    Claim("Whiskers of one trial: 95% within it", "picture of one trial that moved", "picture of rates and times"),
    Claim("INVALID trials are left out where", "repeated picture, one INVALID", "picture of rates and times"),
    Claim(" INVALID trials are left out where", "repeated peaks, one INVALID", "repeated peaks"),
    Claim("Of repeated trials: geometric means of", "first table of repeats", "first table of one trial"),
    Claim("{}: a closed loop, whose times hide waiting.", "first table of repeats", "first table of one trial"),
    Claim("Figures of an INVALID trial are shown,", "first table, INVALID", "first table of one trial"),
    Claim("{}: too many rows to stand here", "first table without room", "first table of repeats"),
    Claim("What each field does to the {}", "a pairwise design", "all combinations"),
    Claim("Point: {} at a field's value", "a pairwise design", "all combinations"),
    Claim("{}, times as high", "a pairwise design", "all combinations"),
    Claim("What two axes do together is not", "a pairwise design", "a design of one at a time"),
    Claim("Each effect is that at the base point", "a design of one at a time", "a pairwise design"),
    Claim("one at a time: from one point on", "a design of one at a time", "a pairwise design"),
    Claim("{} of {} pairs", "a pairwise design with a gap", "a pairwise design"),
    Claim("pairwise: {} of values of two fields", "a pairwise design", "a design of one at a time"),
    Claim("too few points to tell what moves", "a design of few points", "a pairwise design"),
    Claim("no field that moves the {} more", "a design without effects", "a pairwise design"),
    Claim("{} ({} from {} to {})", "a pairwise design", "a design without effects"),
    Claim("{} moved by {}{}", "a pairwise design", "a design without effects"),
    Claim("{}: {} of {} points ({}).", "a pairwise design", "all combinations"),
    Claim("Too few points for intervals", "a design of few points", "a pairwise design"),
    Claim("Intervals hold for all values of all", "a pairwise design", "a design of few points"),
    Claim("several effects of one size hide", "a design without effects", "a pairwise design"),
    Claim("Without repeats {}", "a design without effects", "a design of few repeats"),
    Claim("With so few repeats {}", "a design of few repeats", "a design without effects"),
    Claim(" Whisker: the 95% interval, of all fields", "a pairwise design", "a design of few points"),
    Claim(" Hollow: not more than chance.", "a design without effects", "a design of few points"),
    Claim(" Hollow without a whisker: too few points", "a design of few points", "a pairwise design"),
    Claim("{} of the sweep{}", "all combinations", "source of one trial"),
    Claim("{} of {} points", "a pairwise design", "all combinations"),
    Claim("In these points the effect of {} is", "a half of all combinations", "a design without effects"),
    Claim("what {} and {} do together", "a half of all combinations", "a design without effects"),
    Claim("{} ({} of it)", "a half of all combinations", "a design without effects"),
    Claim("Run {} of {}", "source of one trial", "first table of one trial"),
    Claim("{} at each of {} points", "picture of all points", "picture of two sweeps"),
    Claim(" One of {} such pictures of this run.", "picture of two sweeps", "picture of a sweep"),
    Claim("Pictures of the first {} of {} values", "points without a picture", "points with a picture"),
    Claim(" No rate was confirmed of {}.", "rates of goals", "rates of blocks"),
    Claim("Upright lines: the most that a system took,", "picture of rates and times", "picture of two rates"),
    Claim("{} {} ms at {} msg/s", "picture of two rates", "picture of one trial"),
    Claim("Response p99 at each rate, and the most", "picture of rates and times", "picture of two rates"),
    Claim("Response p99 at each rate.", "picture of two rates", "picture of rates and times"),
    Claim("Response time against load", "picture of two rates", "picture of one trial"),
    Claim("geometric mean of the trials; whisker", "repeated sweep", "sweep-of-levels"),
    Claim("{}: {} at {}, {} at {}", "picture of a sweep", "sweep of levels, one INVALID"),
    Claim(" No point: no trial that may be used has", "sweep of levels, one INVALID", "sweep-of-levels"),
    Claim("Without those that read late.", "mixed", "one-system"),
    Claim("durability level (form: {})", "levels with a form", "levels without a form"),
    *claims_of(
        "one-system", "reading-alone",
        "Messages acknowledged in each second", "Response time over time", "response p99 of each second, ms",
        "p99 of the response time in each second", "End-to-end latency over time", "end-to-end p99 of each second, ms",
        "p99 of the end-to-end latency in each second",
    ),
    Claim("Messages received in each second", "reading-alone", "one-system"),
    *claims_of(
        "watched", "not watched",
        "CPU of the servers", "cores, all server processes together", "CPU seconds a second that all server processes",
        "CPU of the host", "% of its CPUs, whoever used them", "Share of the CPUs that were busy on the host",
        "CPU of other programs", "% of the CPUs of the host", "Share of the CPUs that programs which are no part",
        "Memory of the servers", "Memory of all server processes together", "GC pauses of the servers",
        "ms in each second", "Time that garbage collection stopped servers in each second",
        "Bytes written to the disks that were watched", "Bytes read from the disks that were watched",
        "Cache flushes of the disks", ": those of the servers' data where Tidegauge starts servers",
        "How often a second the disks that were watched", "Share of the time for which the busiest",
        "Share of the time in which a task on the host that ran the trial waited for I/O",
        "Share of the time in which a task on the host that ran the trial waited for a CPU",
        "Bytes sent over loopback of the host", "Context switches of the servers",
        "How often a thread of any server was given a CPU", "Bytes that the host which ran the trial sent over",
        "Bytes written to that disk, whoever wrote them", "{}, as servers reported it; the {} of several",
        "Messages that all subscriptions together received",
        "messages not received yet", "Messages that the slowest subscription had yet", "messages not acknowledged yet",
        "Messages sent and not yet acknowledged", "CPU of the load generator",
        "CPU seconds a second that the load generator used", "GC pauses of the load generator",
        "Time that garbage collection stopped the load generator", "Heap of the load generator",
        "Heap that the load generator used", "Time that producers waited for the system",
    ),
    *claims_of(
        "schedule's lag", "closed loop's lag",
        "Lag of the load generator itself", "largest in each second, ms", "How late the load generator was by itself",
    ),
    *claims_of(
        "watched beside other hosts", "watched",
        "CPU of the command's host", "CPU of other programs on the command's host",
        "Waiting for I/O on the command's host", "Waiting for a CPU on the command's host",
        "Over loopback of the command's host", "Over the network from the command's host",
    ),
    Claim("Share of that host's CPUs that were busy", "several-load-generators", "one-system"),
    *claims_of("fleet", "one-system", "MB/s over its network", "Bytes that this host {} a second over its network"),
    Claim("its link can carry at most {}", "fleet", "several-load-generators"),
    Claim("what its link can carry is not known", "several-load-generators", "fleet"),
    Claim("The same on all of them: {}.", "page of a fleet", "page of a load"),
    Claim("link out/in, MB/s", "page of a fleet", "page of a load"),
    Claim("host of the command", "page of a fleet with load generators here", "page of a fleet"),
    Claim("One line for each trial; the first ones only", "seven repeats", "lines of three repeats"),
    Claim("One line for each trial.", "lines of three repeats", "lines over time"),
    Claim("Of each {} the least and the largest value.", "lines of ten minutes", "lines over time"),
    Claim("More shaded: more systems still had the fault.", "faults", "lines over time"),
    Claim("Drain rate: by how much the backlog shrank", "catch-up", "reading-alone"),
    Claim("Of the slowest reader that is not late.", "mixed", "catch-up"),
    Claim("Late readers' times hold how long they had to wait.", "catch-up", "mixed"),
    Claim("{}: median {}, largest {}", "lines over time", "lines of hours"),
    Claim("seconds since measuring began", "lines over time", "cut off while it was measured"),
    Claim("seconds since load began", "cut off while it was measured", "lines over time"),
    Claim("{} from {} to {} s", "faults", "lines over time"),
    *claims_of(
        "catch-up", "late readers never began",
        "Backlog while readers catch up", "messages, largest of the late readers", "Messages yet to be read",
        "Reading rate of late readers", "received by late readers, msg/s", "Messages read in each second",
        "{}; 0 is when the late readers begin. {}.", "seconds since late readers began",
        "{}: largest {}, at the end {}",
        "p99 of the end-to-end latency in each second, of the slowest subscription, late",
    ),
]  # fmt: skip


def _disclosed(run: StoredRun, threads: str = "8", digest: str = "ab12") -> DisclosedRun:
    settings = {("server", "broker 1", "num.io.threads"): threads}
    systems = {one.spec.system for one in run.results}
    return DisclosedRun(run, {system: Disclosed(settings, "25", "25", digest, ("-Xmx1g",)) for system in systems})


def _compared(
    first: Sequence[LoadResult],
    second: Sequence[LoadResult],
    *,
    looked: bool = True,
    disclosed: Sequence[str] = (),
    **run: Any,
) -> RunComparison:
    """Two runs of the same on the same host.

    `looked`: whether somebody did at what else ran there. `disclosed`: what was in the second.
    """
    seen: dict[str, Any] = {"accounts": (account(),)} if looked else {}
    runs = [run_of(*(replace(one, **seen) for one in each), **run) for each in (first, second)]
    return compare_runs([_disclosed(runs[0]), _disclosed(runs[1], *disclosed)], allow_unequal=True)


def _told(comparison: RunComparison) -> list[str]:
    return [printed(across.report(across.ComparisonFacts(comparison)))]


def _kafka(*scales: float, **changes: Any) -> list[LoadResult]:
    return blocks_of(KAFKA, *(scales or BEFORE), **changes)


def _asked_to(**changes: Any) -> list[LoadResult]:
    return [replace(one, spec=replace(one.spec, **changes)) for one in _kafka()]


def _losing(**changes: int) -> list[LoadResult]:
    first, *others = _kafka()
    (only,) = first.subscriptions
    return [replace(first, subscriptions=(replace(only, **changes),)), *others]


def _unequal_by(rule: str) -> Terms:
    tilt = Tilt(rule, Severity.UNEQUAL, Stage.IN_FORCE, (KAFKA, PULSAR), "w", "w", "a", "s", "r")
    return Terms((tilt,), (), True)


def _searches(*, decided: bool) -> list[str]:
    """Two runs of the same search beside the same latencies."""
    runs = []
    for answered_too in (True, decided):
        answer = Finding(KAFKA, "max-throughput", KAFKA, 0, answered_too, (), figures={"sustainable_msgs_per_s": 4e4})
        searched = [
            replace(one, spec=replace(one.spec, experiment="max-throughput", exploratory=True)) for one in _kafka()
        ]
        runs.append(run_of(*_kafka(), *searched, findings=(answer,)))
    return _told(compare_runs([_disclosed(run) for run in runs], allow_unequal=True))


def _refused(*second: LoadResult) -> list[str]:
    return _refused_runs(_kafka(), second)


def _refused_runs(*each: Sequence[LoadResult]) -> list[str]:
    with pytest.raises(UserError) as refusal:
        compare_runs([_disclosed(run_of(*results)) for results in each], allow_unequal=False)
    return [str(refusal.value), refusal.value.hint]


def _differing(*kinds: str, later: Sequence[LoadResult] = ()) -> list[str]:
    """Something of each of these kinds is not the same."""
    differing = tuple(Difference(kind, f"number {place}", ("1", "2")) for place, kind in enumerate(kinds))
    return _told(replace(_compared(_kafka(), later or _kafka()), differences=differing))


def _within(kafka: Sequence[LoadResult], pulsar: Sequence[LoadResult]) -> list[str]:
    """What is said of two systems of one run."""
    return [compare.sentence(ratio) for ratio in ratios_of_compared(ComparedTrials("latency", (*kafka, *pulsar)))]


def _pulsar(*blocks: int, **changes: Any) -> list[LoadResult]:
    made = blocks_of(PULSAR, *[1.5] * len(blocks), **changes)
    return [replace(one, spec=replace(one.spec, block=block)) for one, block in zip(made, blocks, strict=True)]


def _searched() -> list[str]:
    found = [
        Finding(system, "max-throughput", system, 0, True, (), figures={"sustainable_msgs_per_s": rate})
        for system, rate in ((KAFKA, 40_000.0), (PULSAR, 50_000.0))
    ]
    run = replace(run_named("search-of-a-sweep")[0], findings=tuple(found))
    return [compare.sentence(ratio) for ratio in compare.ratios_of(run)]


def _ruled(above: Sequence[float], below: Sequence[float], steps: float = 0.0) -> list[str]:
    found = compare_unpaired(above, below, True, resolution=steps)
    assert found is not None
    return [compare.verdict_words(found)]


def _objected(of_both: bool = False, **changes: Any) -> list[str]:
    """Why two systems of one table are not compared; without a reason the comparison itself."""
    kafka = [replace(one, **(changes if of_both else {})) for one in _kafka(1.0)]
    block = ComparedTrials("latency", (*kafka, *_pulsar(0, **changes)))
    return [compare.objection(block) or compare.sentence(ratios_of_compared(block)[0])]


def _terminal(keep: Callable[[Any], bool]) -> list[str]:
    return [printed(run_report(_without("three-blocks", keep)))]


_CHOICE = Choice("streamnative-2020", ("publish-p99-pulsar-below",), ("one machine",))


def _published(choice: Choice = _CHOICE, **changes: Any) -> PublishedOutcome:
    outcome = examine(report_named(choice.report), choice, measured_of_results(*pair(50.0, 10.0)))
    return replace(outcome, claims=tuple(replace(claim, **changes) for claim in outcome.claims))


def _ruled_on(outcome: PublishedOutcome) -> list[str]:
    return [printed(Group(*published_parts(outcome, "", False)))]


def _planned(choice: Choice, blocks: int = 1) -> list[str]:
    numbers = [(level, block) for level in (1, 2, 3) for block in range(blocks)]
    trials = [trial(system, level=level, block=block) for level, block in numbers for system in ("kafka", "pulsar")]
    return [printed(Group(*published_plan(choice, trials)))]


def _planned_cuts() -> list[str]:
    choice = Choice("streamnative-2020", ("kafka-may-lose-at-power-cut",))
    return [printed(Group(*published_plan(choice, [planned("kafka")])))]


def _together(**changes: Any) -> list[str]:
    """A published report's claims over two runs, of which the second is changed."""
    first = replace(run_named("published")[0], meaning={"memory": "1 GiB"})
    runs = [first, replace(first, **changes)]
    measured = [measured_of(run_named("published")[0])] * 2
    outcome = examined_together([_CHOICE, _CHOICE], runs, measured)
    facts = whole_report(report_named("streamnative-2020"), runs, measured, outcome)
    return [printed(across.published_runs(facts)), *outcome.doubts]


def _apart_from(name: str) -> Any:
    environment = run_named("published")[0].environment
    return {**environment, "host": {**environment["host"], "hostname": name}}


def _attached() -> Any:
    planned = run_named("published")[0].planned
    return tuple(replace(one, attached=True, choice=LevelChoice(1, as_found=True)) for one in planned)


def _alone() -> list[str]:
    run = run_named("published")[0]
    assert run.published is not None
    facts = whole_report(report_named("streamnative-2020"), [run], [measured_of(run)], run.published)
    return [printed(across.published_runs(facts))]


def _others(*shares: float | None) -> list[str]:
    """What others had of the CPUs, trial by trial."""
    seen = [(account(others=None if share is None else 2 * share),) for share in shares]
    return [others_words(run_of(*(replace(one, accounts=had) for one, had in zip(_kafka(), seen, strict=False))))]


def _disturbing(excused: Harm | None) -> list[str]:
    """What others disturbed in a trial, and whether that decided nothing."""
    harm = Harm.INVALID if excused is None else Harm.NOTED
    disturbance = Disturbance(Disturbed.CPU, harm, "others had 0.8 of 2 CPUs", "stop them", excused=excused)
    (one, *_) = _kafka()
    return [others_words(run_of(replace(one, accounts=(account(others=0.8),), disturbances=(disturbance,))))]


SCENES |= {
    "the same twice": lambda: _told(_compared(_kafka(), _kafka())),
    "the same within a time": lambda: _told(replace(_compared(_kafka(), _kafka()), same_within=SameWithin(ms=1.0))),
    "the same, and nobody looked": lambda: _told(_compared(_kafka(), _kafka(), looked=False)),
    "files not recorded": lambda: _told(_compared(_kafka(), _kafka(), disclosed=("8", ""))),
    "other settings": lambda: _told(_compared(_kafka(), _kafka(), disclosed=("16",))),
    "25 other settings": lambda: _differing(*["settings"] * 25),
    "one setting differs": lambda: _differing("settings"),
    "everything differs": lambda: _differing("host", "software", "settings", "campaign"),
    "everything differs, the figures too": lambda: _differing(
        "host", "software", "settings", "campaign", later=_kafka(1.0, 1.4, 0.7)
    ),
    "once each": lambda: _told(_compared(_kafka(1.0), _kafka(0.7))),
    "a side is INVALID": lambda: _told(_compared(_kafka(), _kafka(validity=Validity.INVALID))),
    "one trial is INVALID": lambda: _told(
        _compared(_kafka(), [replace(_kafka()[0], validity=Validity.INVALID), *_kafka()[1:]])
    ),
    "another length": lambda: _told(_compared(_kafka(), _asked_to(measure_s=60.0))),
    "another workload": lambda: _told(
        _compared(_kafka(), _asked_to(workload=replace(spec().workload, partitions=77)))
    ),
    "an open search": lambda: _searches(decided=False),
    "two searches": lambda: _searches(decided=True),
    "a loss": lambda: _told(_compared(_kafka(), _losing(lost=3))),
    "still behind": lambda: _told(_compared(_kafka(), _losing(backlog=3))),
    "a loss, and some of which nobody knows": lambda: _told(_compared(_kafka(), _losing(lost=3, backlog=9))),
    "a system more": lambda: _told(_compared([*_kafka(), *_pulsar(0, 1, 2, 3, 4)], _kafka())),
    "a trial that can't be read": lambda: _told(
        replace(_compared(_kafka(), _kafka()), unreadable=("B: trial 0001 has a result that can't be read",))
    ),
    "another level": lambda: _told(_compared(_kafka(), _kafka(level=LevelFinding(4, ())))),
    "unequal levels in both": lambda: _told(_compared(_kafka(), _kafka(), terms=_unequal_by("level"))),
    "unequal delays in both": lambda: _told(_compared(_kafka(), _kafka(), terms=_unequal_by("batch-delay"))),
    "refused for its level": lambda: _refused(*_kafka(level=LevelFinding(4, ()))),
    "refused for having no figure": lambda: _refused_runs([], []),
    "refused for having nothing": lambda: _refused(*_pulsar(0)),
    "within a run": lambda: [compare.HOW_SURE, *_within(_kafka(), _pulsar(0, 1, 2))],
    "compared in Markdown": lambda: across.markdown(_compared(_kafka(), _kafka())).splitlines(),
    "a run in Markdown": lambda: run_markdown(run_named("one-system")[0]).splitlines(),
    "three blocks": lambda: _within(_kafka(1.0, 1.1, 0.9), _pulsar(0, 1, 2)),
    "one trial each": lambda: _within(_kafka(1.0), _pulsar(0)),
    "one block in common": lambda: _within(_kafka(1.0, 1.1), _pulsar(0)),
    "no block in common": lambda: _within(_kafka(1.0, 1.1), _pulsar(2)),
    "no blocks in common": lambda: _within(_kafka(1.0, 1.1), _pulsar(2, 3, 4)),
    "doubtful figures": lambda: _within(_kafka(1.0), _pulsar(0, validity=Validity.DOUBTFUL)),
    "one search each": _searched,
    "interval": lambda: [compare.estimate([1.0, 1.1, 1.2]).span_words()],  # type: ignore[union-attr]
    "range": lambda: [compare.estimate([1.0, 1.1]).span_words()],  # type: ignore[union-attr]
    "steps": lambda: _ruled([1.05] * 8, [1.0] * 8, 0.1),
    "too few": lambda: _ruled([1.05], [1.0]),
    "calm and equal": lambda: _ruled([1.0, 1.001, 1.002], [1.0, 1.001, 1.002]),
    "noisy": lambda: _ruled([1.0, 1.3, 0.9], [1.0, 1.0, 1.05]),
    "hopeless": lambda: _ruled([1.0, 8.0, 0.125], [1.0, 8.0, 0.125]),
    "levels differ": lambda: _objected(level=LevelFinding(4, ())),
    "one side is INVALID": lambda: _objected(validity=Validity.INVALID),
    "both sides are INVALID": lambda: _objected(of_both=True, validity=Validity.INVALID),
    "comparable": _objected,
    "terminal of blocks": lambda: _terminal(lambda one: True),
    "terminal of one block": lambda: _terminal(lambda one: one.spec.block == 0),
    "absolute": lambda: [examined_in(claim) for claim in _published(grade=Grade.ABSOLUTE).claims],
    "ordering": lambda: [examined_in(claim) for claim in _published(grade=Grade.ORDERING).claims],
    "contradiction": lambda: _ruled_on(_published(contradiction="by its own figures")),
    "no contradiction": lambda: _ruled_on(_published(contradiction="")),
    "plan of shares": lambda: _planned(_CHOICE),
    "plan of three repeats": lambda: _planned(_CHOICE, 3),
    "plan of cuts": _planned_cuts,
    "plan of its own rates": lambda: _planned(replace(_CHOICE, scale=PublishedScale.ORIGINAL)),
    "rates in bytes": lambda: _ruled_on(_published(Choice("confluent-2020", ("kafka-twice-pulsar-at-own-levels",)))),
    "the same run twice": _together,
    "a run of another host": lambda: _together(environment=_apart_from("two")),
    "a run of an unknown host": lambda: _together(environment={**run_named("published")[0].environment, "host": {}}),
    "a run that is silent": lambda: _together(meaning=None),
    "a run of an attached cluster": lambda: _together(planned=_attached()),
    "one run of claims": _alone,
    "others had little": lambda: _others(0.02),
    "others had much": lambda: _others(0.4),
    "others had much in one trial": lambda: _others(0.4, None),
    "others not recorded": lambda: _others(None),
    "others disturbed": lambda: _disturbing(None),
    "others excused": lambda: _disturbing(Harm.INVALID),
}  # fmt: skip
CLAIMS += [
    Claim("these figures are not known to be at the same", "another level", "the same twice"),
    Claim("Could not be read", "a trial that can't be read", "the same twice"),
    Claim("Nothing that was recorded differs", "the same twice", "other settings"),
    Claim(": host and what else ran on it, software", "the same twice", "the same, and nobody looked"),
    Claim("{}: not recorded in {}: {}", "the same, and nobody looked", "the same twice"),
    Claim("what else ran on it", "the same, and nobody looked", "other settings"),
    Claim("which files were run", "files not recorded", "the same twice"),
    Claim("{}: the same{}", "one setting differs", "everything differs, the figures too"),
    Claim("{}: {} more (--json has all)", "25 other settings", "one setting differs"),
    Claim("no figure that both have: every trial of a side", "a side is INVALID", "one trial is INVALID"),
    Claim("x: the ratio of the geometric means over blocks", "the same twice", "once each"),
    Claim("x: the ratio of two figures, too few", "once each", "the same twice"),
    Claim("Ratio of the geometric means over blocks, then", "the same within a time", "the same twice"),
    Claim("{} Runs were measured at different times", "the same twice", "within a run"),
    Claim("A ratio is taken within one run", "the same run twice", "one run of claims"),
    Claim("## {}Tidegauge: runs compared", "compared in Markdown", "a run in Markdown"),
    Claim("<details><summary>What differs ({})</summary>", "compared in Markdown", "a run in Markdown"),
    Claim("Run `{}`, Tidegauge {}.", "a run in Markdown", "compared in Markdown"),
    # How two systems of one run relate.
    Claim("{} interval over {} trials", "interval", "range"),
    Claim("range of {} trials", "range", "interval"),
    Claim("one trial each is no evidence of a difference", "one trial each", "three blocks"),
    Claim("one block that both have is no evidence", "one block in common", "no block in common"),
    Claim("no block that both have, and one block", "no block in common", "one block in common"),
    Claim("one search each is no evidence of a difference", "one search each", "one trial each"),
    Claim("x: the geometric mean of the ratios of the blocks", "terminal of blocks", "terminal of one block"),
    Claim(" Some of these figures are doubtful, see above.", "doubtful figures", "one trial each"),
    Claim("{} and {} blocks, not paired", "no blocks in common", "three blocks"),
    Claim("the same within the noise threshold ({})", "calm and equal", "noisy"),
    Claim("not decided, the difference is within the steps", "steps", "too few"),
    Claim("not decided, since {}", "too few", "steps"),
    Claim("not decided, and more than {} blocks", "hopeless", "noisy"),
    Claim("not decided, about {} blocks would show", "noisy", "hopeless"),
    Claim("{}: not compared, since the systems are not known", "levels differ", "comparable"),
    Claim("{}: not compared with {}, which {} no valid trial.", "one side is INVALID", "comparable"),
    Claim("{}: not compared with {}, which {} no valid trial.", "one side is INVALID", "both sides are INVALID"),
    Claim("{}: nothing is compared, since no system", "both sides are INVALID", "one side is INVALID"),
    # Claims of published reports.
    Claim("tidegauge reproduce {} --only {}", "part of a report", "whole report"),
    Claim("{} of its {} published figures have one of ours", "whole report", "no contradiction"),
    Claim("To measure what is missing: {}", "part of a report", "whole report"),
    Claim("Filled: measured here, the median with the range", "page of a whole report", "page of claims"),
    Claim("{} of {} DOUBTFUL", "report with a DOUBTFUL trial", "page of a whole report"),
    Claim("absolute value, never decided", "absolute", "ordering"),
    Claim("the report contradicts itself here", "contradiction", "no contradiction"),
    Claim("Examines {} of: {}", "plan of shares", "no contradiction"),
    Claim("Rates are found here, or shares of what was found", "plan of shares", "plan of its own rates"),
    Claim("Rates are found here, or shares of what was found", "plan of shares", "plan of cuts"),
    Claim("If all came out as published, {} of {} would be decided", "plan of shares", "no contradiction"),
    Claim("{}; with --repeat {}, {}.", "plan of shares", "plan of three repeats"),
    Claim("{} --scale brief is a first look.", "plan of shares", "plan of its own rates"),
    Claim("Rates and amounts are the report's own", "plan of its own rates", "plan of shares"),
    Claim("A verdict is one of {}; absolute values are never", "no contradiction", "plan of shares"),
    Claim("these runs on the machine of each", "the same run twice", "one run of claims"),
    Claim("this run on this machine", "one run of claims", "the same run twice"),
    Claim("Units of the report: {}; both figures", "rates in bytes", "no contradiction"),
    # Runs beside each other.
    Claim("These runs are not known to be at the same", "refused for its level", "refused for having nothing"),
    Claim("neither has a figure that is compared", "refused for having no figure", "refused for having nothing"),
    Claim("Compare runs of one level, or allow it", "refused for its level", "refused for having nothing"),
    Claim("{} is an unequal comparison itself ({})", "unequal levels in both", "unequal delays in both"),
    Claim("{} differs: {} in {}, {} in {}", "another length", "the same twice"),
    Claim("the workload differs (see what differs of", "another workload", "the same twice"),
    Claim("{} {} lost in {}", "a loss", "the same twice"),
    Claim("whether {} were lost in {} is not known", "still behind", "a loss"),
    Claim("whether {} were lost in {} is not known", "a loss, and some of which nobody knows", "a loss"),
    Claim("{} in {}: not decided in {}", "an open search", "two searches"),
    Claim("{} of {} {} INVALID and left out", "one trial is INVALID", "the same twice"),
    Claim("the host differs: {}", "a run of another host", "the same run twice"),
    Claim("the host is not recorded in {}", "a run of an unknown host", "the same run twice"),
    Claim("memory and settings of the servers are not", "a run that is silent", "the same run twice"),
    Claim("clusters that others run were attached: whether", "a run of an attached cluster", "the same run twice"),
    Claim("only in {}: {}", "a system more", "the same twice"),
    Claim("under {} of the CPUs{}", "others had little", "others had much"),
    Claim("; not recorded in {}", "others had much in one trial", "others had much"),
    Claim(", not judged in {} ({}=report)", "others excused", "others disturbed"),
    Claim("{} of the CPUs{}{}", "others had much", "others not recorded"),
]


def _described() -> Details:
    """One trial with settings of each kind."""
    _, details = run_named("one-system")
    each = [{"scope": "broker 1", "name": f"a{number}", "value": "1"} for number in range(3)]
    settings = [{**one, "is_default": state} for one, state in zip(each, (None, True, False), strict=True)]
    return {
        name: replace(one, settings={"server": settings, "client": settings, "server_jvm_flags": ["-Xmx1g"]})
        for name, one in details.items()
    }


def _changed_later() -> list[str]:
    """A setting that has another value in a later trial."""
    run, details = run_named("sample")
    name = run.trials[-1].trial_id
    last = details[name]
    assert last.disclosed is not None
    disclosed = dict.fromkeys(last.disclosed.settings, "2")
    return page(run, {**details, name: replace(last, disclosed=replace(last.disclosed, settings=disclosed))})


def _read_but_once() -> list[str]:
    """Of the last trial no settings were read back."""
    run, details = run_named("sample")
    name = run.trials[-1].trial_id
    return page(run, {**details, name: replace(details[name], settings={})})


def _two_page(terms: Terms = EQUAL_TERMS) -> list[str]:
    return page(replace(_two(), terms=terms), run_named("all-invalid")[1])


def _claims_page(contradiction: str) -> list[str]:
    run, details = run_named("published")
    assert run.published is not None
    claims = tuple(replace(claim, contradiction=contradiction) for claim in run.published.claims)
    return page(replace(run, published=replace(run.published, claims=claims)), details)


def _long_page() -> list[str]:
    run, details = run_named("one-system")
    return page(run, lasting(details, 600))


def _index(*names: str) -> list[str]:
    return page_texts(index_page([index_row(run_named(name)[0], "") for name in names]))


def _history_page(scales: Sequence[float]) -> list[str]:
    runs = [nightly_run(night, nightly_results([scale])) for night, scale in enumerate(scales)]
    return page_texts(history_page(history_of_runs(runs, disclosed), lambda run: ""))


@cache
def _repeated_report(*only: str) -> WholeReportFacts:
    with TemporaryDirectory() as directory:
        return repeated_report(Path(directory), "streamnative-2022", only=only)


def _doubtful_report() -> list[str]:
    tables = [t for _, figures in _repeated_report().sections for figure in figures for t in figure.beside.tables]
    rows = [replace(row, cells=tuple(replace(cell, doubtful=1) for cell in row.cells)) for row in tables[0].rows]
    plots = table_plots(replace(tables[0], rows=tuple(rows)), "x")
    return [note for plot in plots for series in plot.series for note in series.notes]


def _whole_report_page(only: Sequence[str]) -> list[str]:
    facts = _repeated_report(*only)
    return page_texts(whole_report_page(facts, lambda run: [], lambda run: ""))


CLAIMS += [
    Claim("No change found in", "history without a change", "history of a change"),
    Claim("No settings were read back in {}", "page of settings that a trial did not read", "page of a sample"),
    Claim("; its others had the same", "page of settings that a trial did not read", "page of changed settings"),
]
SCENES |= {
    "history without a change": lambda: _history_page([1.0] * 10),
    "history of a change": lambda: _history_page([1.0] * 6 + [2.0] * 6),
    "page of nothing": lambda: page(replace(run_named("sample")[0], trials=(), findings=()), {}),
    "page of a sample": lambda: page(*run_named("sample")),
    "page of ten minutes": _long_page,
    "page of a long search": lambda: page(*run_named("search-of-a-long-sweep")),
    "page of settings": lambda: page(run_named("one-system")[0], _described()),
    "page of changed settings": _changed_later,
    "page of settings that a trial did not read": _read_but_once,
    "page of two systems": _two_page,
    "page of unequal terms": lambda: _two_page(_unequal_by("batch-delay")),
    "page of terms that nobody allowed": lambda: _two_page(replace(_unequal_by("batch-delay"), allowed=False)),
    "page of claims": lambda: _claims_page(""),
    "page of a contradiction": lambda: _claims_page("by its own figures"),
    "whole report": lambda: [whole_report_markdown(_repeated_report())],
    "part of a report": lambda: [whole_report_markdown(_repeated_report("latency"))],
    "report with a DOUBTFUL trial": _doubtful_report,
    "page of a whole report": lambda: _whole_report_page([]),
    "page of a part of a report": lambda: _whole_report_page(["latency"]),
    "page of OMB's files": lambda: page(*run_named("one-system"), ("workload.yaml", "driver-kafka.yaml")),
    "index of a run": lambda: _index("one-system"),
    "index of none": _index,
}
PAGE_CLAIMS = [
    Claim("Runs; the heads of the columns sort them", "index of a run", "index of none"),
    Claim("There are no runs yet.", "index of none", "index of a run"),
    Claim("Figures of every experiment; the heads", "index of a run", "index of none"),
    Claim("Choose two runs or more to see the command", "index of a run", "index of none"),
    Claim("Geometric means over the usable trials of each experiment.", "index of a run", "index of none"),
    Claim("{} Left and right arrows read the points", "page of a load", "page of cuts"),
    Claim("{} rows in between are left out", "page of ten minutes", "page of a load"),
    Claim("The figures are: {}.", "page of a load", "page of cuts"),
    Claim("Each of {} points", "page of a long search", "page of a load"),
    Claim("No trial has finished, so no level was found.", "page of nothing", "page of a load"),
    Claim("What this does not say", "page of a load", "page of nothing"),
    Claim("More of the same trials: {} plot{}", "page of a load", "page of cuts"),
    Claim("Each second is in", "page of a load", "page of cuts"),
    *claims_of(
        "page of a sample", "page of a load",
        "What was seen of syncs in each trial", "The second witness: system calls seen before acknowledgements",
        "Systems shown in the plots", "Files that were run",
    ),
    *claims_of(
        "page of settings", "page of a load",
        ": settings that differ from the default", ": settings whose default is not known",
        ": settings at their default", ": settings of the clients whose default is not known",
        ": settings of the clients at their default", "Different from the default",
        "Settings whose default the system does not report ({})", "Settings at their default ({})",
        "Settings of the clients whose default their library", "Settings of the clients at their default ({})",
        "{} JVM flags of the servers", "Those of trial {}.", "As they were reported while it ran.",
    ),
    Claim("No settings were read back.", "page of a load", "page of settings"),
    Claim("In its other trials the same settings", "page of a sample", "page of settings"),
    Claim("Other trials had other settings:", "page of changed settings", "page of a sample"),
    Claim("On the machine of the run, with", "page of a load whose campaign is there", "page of a load"),
    Claim(", in the run's directory, where these files", "page of OMB's files", "page of a load"),
    Claim("The files are in the run's directory, and they", "page of OMB's files", "page of a load"),
    Claim("Save this as {}", "page of a load", "page of OMB's files"),
    Claim("; it needs these as well: {}", "page of keys from a file", "page of a load"),
    Claim(", and have the files that it names", "page of keys from a file", "page of a load"),
    Claim("The report contradicts itself here: {}", "page of a contradiction", "page of claims"),
    Claim("{}: the systems were not on equal terms", "page of unequal terms", "page of two systems"),
    Claim(", which was allowed with --allow-unequal", "page of unequal terms", "page of terms that nobody allowed"),
    Claim("Nothing was found that puts the systems on", "page of two systems", "page of unequal terms"),
    Claim("There is one system alone", "page of a load", "page of two systems"),
    Claim("Why {} not decided", "page of a whole report", "page of a part of a report"),
    Claim("To measure what is missing:", "page of a part of a report", "page of a whole report"),
]  # fmt: skip
LABELS = (
    "{}: Tidegauge, runs compared",
    "Tidegauge &middot; runs compared",
    "Tidegauge: history of runs",
    "Skip to the content",  # Parts of every page, whatever it is about.
    "What stands behind the badges",
    "How to reproduce it",
    "What might speak against these figures",
    "Parts of the report",
    "Tidegauge &middot; {} &middot; {}",
    "to put it right",
    "own lag at most, ms",
    "{} more experiment{}",
    "Every trial, the discarded ones too. An INVALID trial is neither",
    "This page needs JavaScript; without it, the terminal shows",
    "Back to the newest trial",
    "Tidegauge &middot; a published report, repeated",  # Heads of its page, which it has whatever came out.
    "Hosts, and what differs",
    "Hollow and grey: published",
    "The name of a trial that has ended shows its seconds",
)


def _variants(p99_ms: Mapping[str, Sequence[float]], **changes: object) -> Iterable[str]:
    """Variants with these figures on every medium, their pictures too."""
    return _of_contests(run_with_variants(p99_ms, **changes))  # type: ignore[arg-type]


def _of_contests(run: StoredRun) -> Iterable[str]:
    plots = [plot for one in contests_of_run(run) if one.lead for plot in contest_plots(one, run, "x")]
    lines = [contest_line(contest) for contest in contests_of_run(run)]
    notes = [note for contest in contests_of_run(run) for note in contest_notes(contest)]
    return (
        rendered(run_report(run), 1000), *lines, *notes, *(f"{plot.title}\n{plot.description}" for plot in plots),
        variants_line(run), points_clause([contest for contest in contests_of_run(run) if contest.lead]),
    )  # fmt: skip


def _variants_with(field: str, value: object, of: str = "linger-20") -> Iterable[str]:
    """Two variants, of which all trials of one have a field of its own."""
    run = run_with_variants(_APART)
    results = [replace(one, **{field: value}) if one.spec.point["variant"] == of else one for one in run.results]  # type: ignore[arg-type,type-var]
    return _of_contests(run_of_results(results, run.variants))


def _swept_points(points: int, repeats: int = 3) -> Iterable[str]:
    """Two levels at so many numbers of partitions."""
    results = [
        p99_result({"partitions": str(n), "durability": level}, block, 2.0 + n + block / 100, number)
        for number, (n, level, block) in enumerate(product(range(points), ("3", "4"), range(repeats)), 1)
    ]
    return _of_contests(run_of_results(results))


def _stepped_variants() -> Iterable[str]:
    """Variants whose sustainable rates are equal to the last digit, within the steps of their searches."""
    run = run_with_variants({"linger-0": (3.0,), "linger-20": (3.0,)})
    findings = [
        Finding(f"{block}-{name}", "latency", "kafka@4.3.1", block, True, (), figures={"sustainable_msgs_per_s": rate},
                point={"variant": name})
        for name, rate in (("linger-0", 1000.0), ("linger-20", 1040.0)) for block in range(3)
    ]  # fmt: skip
    undecided = [replace(finding, decided=False) for finding in findings if finding.point["variant"] == "linger-0"]
    both = _of_contests(replace(run, findings=tuple(findings)))
    return (*both, *_of_contests(replace(run, findings=(*findings[3:], *undecided))))


def _all_variants_invalid_for_several_reasons() -> Iterable[str]:
    """All variants INVALID: five trials were late, one had lost a message as well."""
    run = run_with_variants(_APART, validity=Validity.INVALID, reasons=_LATE)
    (first, *others) = run.results
    lost = replace(first, reasons=(Reason(ReasonKind.LOST, "a message was lost"),))
    return _of_contests(run_of_results([lost, *others], run.variants))


_APART = {"linger-0": (3.0, 3.1, 2.9), "linger-20": (22.0, 22.3, 21.8)}
_LATE = (Reason(ReasonKind.OWN_LAG, "the load generator was late"),)
SCENES |= {
    "variants": lambda: _variants(_APART),
    "three variants": lambda: _variants({**_APART, "1": (2.0, 2.1, 1.9)}),
    "variants twice": lambda: _variants({name: values[:2] for name, values in _APART.items()}),
    "variants not decided": lambda: _variants({"linger-0": (3.0, 3.1, 2.9, 3.0), "1": (3.6, 2.9, 3.3, 2.8)}),
    "variants far from decided": lambda: _variants({"linger-0": (1.0, 1.0, 1.0, 1.0), "1": (9.0, 0.11, 9.1, 0.1)}),
    "variants alike": lambda: _of_contests(
        replace(run_with_variants(_APART), variants=(Variant("linger-0"), Variant("linger-20")))
    ),
    "variants at two levels": lambda: _variants_with("level", LevelFinding(4, ("acks",))),
    "variants at an unknown level": lambda: _variants_with("level", LevelFinding(None, ("acks",))),
    "variants at two rates": lambda: _variants_with("offered_msgs_per_s", 30_000.0),
    "variants once": lambda: _variants({name: values[:1] for name, values in _APART.items()}),
    "a variant is DOUBTFUL": lambda: _variants_with("validity", Validity.DOUBTFUL),
    "variants of unequal blocks": lambda: _variants({**_APART, "linger-20": _APART["linger-20"][:2]}),
    "three variants, one of few blocks": lambda: _variants(
        {**_APART, "linger-5": tuple(3 * value for value in _APART["linger-0"][:2])}
    ),
    "a variant is INVALID": lambda: _variants_with("validity", Validity.INVALID),
    "all variants are INVALID": lambda: _variants(_APART, validity=Validity.INVALID),
    "all variants are INVALID for a reason": lambda: _variants(_APART, validity=Validity.INVALID, reasons=_LATE),
    "variants are INVALID for several reasons": _all_variants_invalid_for_several_reasons,
    "a variant does not keep up": lambda: _variants_with("warnings", (Reason(ReasonKind.NOT_KEPT_UP, "less"),)),
    "a variant has no trial": lambda: _of_contests(
        run_of_results(run_with_variants({"linger-0": (3.0, 3.1, 2.9)}).results, run_with_variants(_APART).variants)
    ),
    "variants that were searched": _stepped_variants,
    "points of a short sweep": lambda: _swept_points(3),
    "points of a long sweep": lambda: _swept_points(14),
    "points of a sweep measured twice": lambda: _swept_points(3, 2),
}
CLAIMS += [
    Claim("{} have the same settings (A/A)", "variants alike", "variants"),
    Claim("{} {} no interval ({} do)", "variants twice", "variants"),
    Claim("Figures are geometric means over blocks", "variants", "one trial each"),
    Claim(", over the {} that both have", "variants of unequal blocks", "variants"),
    Claim(", over the blocks that both have", "variants of unequal blocks", "variants"),
    Claim(" Hollow: some of its trials are DOUBTFUL.", "a variant is DOUBTFUL", "variants"),
    Claim(" Hollow: one of the two has DOUBTFUL trials.", "a variant is DOUBTFUL", "variants"),
    Claim("the difference is within the steps in which the figure", "variants that were searched", "variants"),
    Claim("about {} may decide", "variants not decided", "variants far from decided"),
    Claim("more than {} repeats would be needed", "variants far from decided", "variants twice"),
    Claim("no figure that may be used", "all variants are INVALID", "variants"),
    Claim("{}; the {} intervals against {} hold together", "three variants", "variants"),
    Claim("{}; the {} intervals against {} hold together", "three variants", "three variants, one of few blocks"),
    Claim("{}; the interval against {} is of {}", "three variants, one of few blocks", "three variants"),
    Claim("{}; intervals of {}", "variants", "variants twice"),
    Claim("{}; intervals of {}", "variants", "three variants, one of few blocks"),
    Claim(", so the range of the blocks is shown", "variants twice", "variants"),
    Claim("Over {} to {}", "variants of unequal blocks", "variants"),
    Claim(", so the range of the blocks is shown", "variants of unequal blocks", "variants once"),
    Claim("The same: the whole interval lies {}.", "variants", "one trial each"),
    Claim("Points of the sweep compared, each value", "points of a short sweep", "variants"),
    Claim("no point is compared with another", "points of a sweep measured twice", "points of a short sweep"),
    Claim("... and {} more in the report and in --json", "points of a long sweep", "points of a short sweep"),
    Claim("Mark: geometric mean over blocks", "variants", "all variants are INVALID"),
    Claim("Mark: geometric mean over blocks", "variants", "variants once"),
    Claim(" (of fewer than {} blocks their range)", "variants of unequal blocks", "variants twice"),
    Claim(" (of fewer than {} blocks their range)", "variants of unequal blocks", "variants"),
    Claim("{},{} for such a reason: {}", "all variants are INVALID for a reason", "a variant is INVALID"),
    Claim("{},{} for such a reason: {}", "variants are INVALID for several reasons", "all variants are INVALID"),
    Claim("Whisker: {} interval; shaded: the same {}", "variants", "all variants are INVALID"),
    Claim("{}{}: difference from {}", "variants", "all variants are INVALID"),
    Claim("the durability level differs too: {}", "variants at two levels", "variants"),
    Claim("at level {} ({})", "variants at two levels", "variants at two rates"),
    Claim("at an unknown level", "variants at an unknown level", "variants at two levels"),
    Claim("the offered rate differs too: {}", "variants at two rates", "variants at two levels"),
    Claim("{} has no result", "a variant has no trial", "variants"),
    Claim("{} of {} {} INVALID and left out", "a variant is INVALID", "variants"),
    Claim("{} did not keep up with the offered rate", "a variant does not keep up", "variants"),
    Claim("not decided for {}", "variants that were searched", "variants"),
]


def _heat_maps(run: StoredRun, *systems: str) -> Iterable[str]:
    """What the heat maps of these systems say, of all where none is named."""
    facts = RunFacts(run)
    plots = [plot for sweep in facts.tables for plot in heat_maps(sweep, facts, "x")]
    return plotted(plot for plot in plots if not systems or plot.systems[0] in systems)


def _two_axes(keep: Callable[[Any], bool] = lambda _result: True) -> StoredRun:
    run, _ = run_named("sweep-of-two-axes")
    return replace(run, trials=tuple(one for one in run.trials if one.result is not None and keep(one.result)))


def _pictured(comparison: RunComparison, kind: str = "ratios") -> Iterable[str]:
    """What the pictures of two runs say that are of ratios, or of differences."""
    plots = comparison_plots(across.ComparisonFacts(comparison))
    return plotted(plot for plot in plots if kind in plot.plot_id)


def _page_of(comparison: RunComparison) -> Iterable[str]:
    """The texts of the page of compared runs, without what is drawn."""
    with mock.patch("tidegauge.report.plots.draw.page_drawing", lambda _plot, _places: Drawing("", ())):
        return page_texts(comparison_page(across.ComparisonFacts(comparison)))


def _within_1_ms() -> RunComparison:
    runs = [run_of(*_kafka()), run_of(*_kafka())]
    return compare_runs([_disclosed(run) for run in runs], allow_unequal=True, same_within=SameWithin(ms=1.0))


SCENES |= {
    "heat map": lambda: _heat_maps(_two_axes()),
    "heat map of one block": lambda: _heat_maps(_two_axes(lambda result: result.spec.block == 0)),
    "heat map of Kafka": lambda: _heat_maps(_two_axes(), KAFKA),
    "page of two runs": lambda: _page_of(_compared(_kafka(1.0), _kafka(1.0))),
    "page of a run that can't be read": lambda: _page_of(
        replace(_compared(_kafka(1.0), _kafka(1.0)), unreadable=("B: trial 0001 has a result that can't be read",))
    ),
    "pictured ratios": lambda: _pictured(_compared(_kafka(), _kafka())),
    "pictured differences": lambda: _pictured(_within_1_ms(), "differences"),
    "pictured ratios, doubtful": lambda: _pictured(_compared(_kafka(), _kafka(validity=Validity.DOUBTFUL))),
    "pictured ratios of one trial each": lambda: _pictured(_compared(_kafka(1.0), _kafka(0.7))),
}
CLAIMS += [
    Claim("{} of {} by {} and {}", "heat map", "picture of a sweep"),
    Claim("{}: from {} to {}", "heat map", "picture of a sweep"),
    Claim("Cell: geometric mean of the {}.", "heat map", "heat map of one block"),
    Claim("In a cell's second line: how it compares with {} in the same row", "heat map", "heat map of one block"),
    Claim("'-': no trial that may be used has the figure.", "heat map", "heat map of Kafka"),
    Claim("Point: the figure in {} divided by that in {}.", "pictured ratios", "pictured differences"),
    Claim("Point: the figure in {} minus that in {}.", "pictured differences", "pictured ratios"),
    Claim("Shaded: the same within {}.", "pictured ratios", "pictured differences"),
    Claim("{} minus {}, ms", "pictured differences", "pictured ratios"),
    Claim("Shaded: at most {} ms either way.", "pictured differences", "pictured ratios"),
    Claim("Hollow, doubtful: some trials are DOUBTFUL.", "pictured ratios, doubtful", "pictured ratios"),
    Claim("Hollow without a whisker: too few blocks", "pictured ratios of one trial each", "pictured ratios"),
]


PAGE_CLAIMS.append(Claim("Could not be read", "page of a run that can't be read", "page of two runs"))


def _page_template(claim: Claim) -> Template:
    return next(template for template in page_templates() if template.text.startswith(claim.template.strip()))


@cache
def _texts(scene: str) -> tuple[str, ...]:
    return tuple(filter(None, SCENES[scene]()))


def test_every_sentence_is_listed() -> None:
    assert unlisted(MODULES, CLAIMS, NO_SENTENCES) == []
    assert outlived(MODULES, NO_SENTENCES) == []


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.template[:50])
def test_a_sentence_is_said_where_it_is_true_and_not_where_it_is_false(claim: Claim) -> None:
    _check(template_of(claim, MODULES), claim)


def test_every_sentence_of_a_page_is_listed() -> None:
    begun = (*(claim.template for claim in PAGE_CLAIMS), *LABELS)
    assert [one.text for one in page_templates() if not one.text.startswith(begun)] == []
    assert [text for text in LABELS if not any(one.text.startswith(text) for one in page_templates())] == []


@pytest.mark.parametrize("claim", PAGE_CLAIMS, ids=lambda claim: claim.template[:50])
def test_a_page_says_it_where_it_is_true_and_not_where_it_is_false(claim: Claim) -> None:
    _check(_page_template(claim), claim)


def _check(template: Template, claim: Claim) -> None:
    assert any(map(template.is_in, _texts(claim.true_in))), "it is not said where it is true"
    false = _texts(claim.false_in)
    assert false, "a scene without a word shows nothing"
    assert [text for text in false if template.is_in(text)] == [], "it is said where it is false"


_CONSUMERS = Reason(ReasonKind.BUSY_CONSUMER, "the load generator's own consumers were too slow: sub-0 consumer 0")
_LATE_IN_PART = Reason(ReasonKind.OWN_LAG, "the load generator itself was late: its own lag at p99 is 5 ms of 20 ms")


def test_a_load_generator_that_was_late_in_part_did_not_spoil_what_its_consumers_spoilt() -> None:
    said = " ".join(answered(one_run(validity=Validity.INVALID, reasons=(_CONSUMERS, _LATE_IN_PART))))
    assert "the load generator itself was late, which is a part of its times" in said


def test_full_cpus_of_a_servers_host_limit_no_load_generator_elsewhere() -> None:
    full = replace(limited_by(Resource.HOST_CPU), subject="of 10.0.0.2")
    servers = replace(account(busy=2.0), host="10.0.0.2", generators=0.0)
    clients = replace(account(), host="10.0.0.9", servers=0.0)
    apart = " ".join(answered(one_run(limiting=full, accounts=(servers, clients))))
    assert "Generator was not the limit" in apart and "all CPUs" not in apart
    together = " ".join(answered(one_run(limiting=full, accounts=(replace(servers, generators=0.5), clients))))
    assert "Generator may be limited: all CPUs busy" in together


def test_what_is_no_step_of_a_search_is_called_by_its_experiment() -> None:
    def exploratory(one: LoadResult) -> LoadResult:
        steps = replace(one.spec, experiment="curve", exploratory=True)
        return replace(one, spec=steps) if one.spec.system == PULSAR else one

    said = " ".join(answered(with_results(_two(), exploratory)))
    assert "; and 1 step of curve" in said and "search" not in said


def test_steps_of_goals_with_limits_are_said_to_be_judged_without_these() -> None:
    run, details = run_named("search-of-blocks")
    reading = "Filled: sustained; hollow"
    assert any(reading in text for text in sectioned(run, details))
    limited = list(sectioned(_limited_search(), details))
    assert any("Filled: sustained, limits of latency left aside; hollow" in text for text in limited)
    assert not any(reading in text for text in limited)


def test_of_servers_of_others_beside_servers_of_ours_each_is_said_what_it_leaves_open() -> None:
    _, of_others = _two().results
    (unsaid,) = [text for text in _texts("servers of others beside servers of ours") if "that others run" in text]
    assert unsaid.startswith(f"Servers of {of_others.spec.system} that others run: ")
    assert "Of the rest: one node of each system on one machine with the clients" in unsaid
