"""One trial from an empty data directory to a result, and back to an empty machine.

Everything that is started is registered for its end at once, so that the order of clean-up is the reverse of the order
of starting, whatever ends the trial: its result, a failure, or an interruption. A trial that shares its servers leaves
them, once it has its result, to the next (`SharedServers`), which uses topics of its own and warms up anew.
"""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime

from tidegauge.campaign.plan.fairness import FairnessWatch
from tidegauge.campaign.run.recorded import OtherwiseError
from tidegauge.campaign.run.resources import RunResources
from tidegauge.campaign.run.running_trial import (
    SharedServers,
    Subject,
    TrialSetup,
    make_ready,
    server_directories,
    start_trial,
)
from tidegauge.campaign.run.trial.attest import AttestProcedure, ServersGoneError
from tidegauge.campaign.run.trial.load import LoadProcedure
from tidegauge.campaign.run.trial.procedure import Result, TrialProcedure
from tidegauge.campaign.run.trial.read import ReadProcedure
from tidegauge.errors import AgentGoneError, RunFailedError
from tidegauge.model import disk_needs
from tidegauge.model.attest import AttestOutcome
from tidegauge.model.trial import AnyResult, AnySpec, AttestResult, AttestSpec, LoadSpec, ReadSpec, Spec, TrialSpec
from tidegauge.store.trial import TrialStore

GENERATORS_MAX = 3
"""Of load generators that failed one after the other in the same cycle of an attestation."""


def run_trial(
    spec: AnySpec,
    subject: Subject,
    resources: RunResources,
    store: TrialStore,
    shared: SharedServers | None = None,
    *,
    before: AttestOutcome | None = None,
    fairness: FairnessWatch | None = None,
) -> AnyResult:
    """Carry out one trial and store its result.

    Its phases, in their order:

    1. *fetch*: the system's files. They are there: `execute` has got them before the first trial of the run.
    2. *settle*: caches are dropped, disks and CPUs are as calm as they get.
    3. *start*: servers, or others' cluster, and the load generator.
    4. *ready*: a message went there and back, and all nodes take part.
    5. *prepare*: topics and clients, the level and the settings in force, whoever makes faults.
    6. *warm-up*: the load, until its figures are steady.
    7. *measure*: the window. With late readers it is *before*, *during* and *after* (`catch_up.py`).
    8. *drain*: no more is sent, and consumers receive what they still miss.
    9. *stop*: what was started ends, the last first; servers that trials share go on.

    A trial that reads has *read* in the place of 6 to 8, an attestation *attest*: cycles of a load and cuts of power.

    Args:
        shared: where a trial that shares its servers finds and leaves them; what it keeps is ended before a trial that
            wants its own, and when a trial fails.
        before: what the cycles of an attestation found before it was interrupted.
        fairness: compares what the trial finds in force with the trials of other systems.

    Raises:
        StartFailedError: server or worker did not start, or a server ended.
        LevelMismatchError: the system is not at the level asked for.
        OtherwiseError: the settings in force are not those of an attestation's cycles before.
        RunFailedError: the worker ended, the disk is full, the agent is gone, a cut could not be carried out; not of an
            attestation whose cycles before have found something.
    """
    shared = shared or SharedServers()
    if shared.wanted != _identity_of_servers(spec, subject) or not spec.leaves_servers:
        shared.close()
    if before is not None:
        # At once, so that a session that comes to nothing costs none of the cycles.
        store.write_cycles(before)
    running = shared.earlier_trial
    try:
        if isinstance(spec, AttestSpec):
            return _carry_out_attestation(TrialSetup(spec, subject, resources, store), before, shared)
        if isinstance(spec, ReadSpec):
            return _carry_out_procedure(
                ReadProcedure(), TrialSetup(spec, subject, resources, store, running, fairness), shared
            )
        return _carry_out_procedure(
            LoadProcedure(), TrialSetup(spec, subject, resources, store, running, fairness), shared
        )
    except BaseException:
        shared.close()
        raise


def _carry_out_attestation(
    setup: TrialSetup[AttestSpec], before: AttestOutcome | None, shared: SharedServers
) -> AttestResult:
    """Go through the phases, and again with new servers after a cycle that could not be finished.

    What cycles found is the result, even where new servers fail. Where it was the load generator, `GENERATORS_MAX` in a
    row, or the agent, cycles stay as they are, and resuming the run goes on with them.
    """
    gone: ServersGoneError | None = None
    failures = 0
    while True:
        procedure = AttestProcedure(before, gone)
        try:
            if gone is not None:
                setup.resources.observer(gone.note_of_new_servers())
                setup.store.make_data_directories()
            return _carry_out_procedure(procedure, setup, shared)
        except ServersGoneError as error:
            is_stuck = gone is not None and len(gone.result.attest.cycles) == len(error.result.attest.cycles)
            failures = 0 if error.error is None else failures + 1 if is_stuck else 1
            if error.error is not None and failures >= GENERATORS_MAX:
                raise error.error from None
            gone = error
        except (RunFailedError, OtherwiseError) as error:
            # Its own may be behind an error of the end of its servers.
            gone = procedure.gone or gone
            if gone is None or procedure.is_whole or isinstance(error, AgentGoneError):
                raise
            setup.resources.observer(gone.note_of_end(error))
            setup.store.finish(gone.result, gone.totals)
            return gone.result


def _carry_out_procedure(
    procedure: TrialProcedure[Spec, Result], setup: TrialSetup[Spec], shared: SharedServers
) -> Result:
    """Go through the phases from *settle* on."""
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    with ExitStack() as cleanup:
        _take_directories(setup, cleanup)
        settled = procedure.settle(setup, cleanup)
        trial = start_trial(setup, settled, cleanup)
        trial = make_ready(setup, trial)
        trial, level = procedure.prepare(trial, cleanup)
        result, totals = procedure.carry_out_trial(trial, level, started_at)
        setup.store.finish(result, totals)
        procedure.clear_up(trial)
        if not setup.spec.leaves_servers:
            trial.phase("stop")
        elif setup.earlier_trial is None:
            shared.keep(trial, _identity_of_servers(setup.spec, setup.subject), cleanup)
    return result


def _take_directories(setup: TrialSetup[Spec], cleanup: ExitStack) -> None:
    """See that there is room for a window's messages, and that what servers write goes with the trial.

    Raises `DiskFullError`, `RunFailedError`.
    """
    spec, store, resources = setup.spec, setup.store, setup.resources
    if not (spec.attached or isinstance(spec, AttestSpec)):
        disks, look = store.disks or (store.data_directory,), resources.host.free_space
        needed = disk_needs.needed_rooms(spec, disks, store.journal_disks, look, resources.hosts_of_nodes)
        disk_needs.check_before(spec.trial_id, needed)
    for place in server_directories(store):
        resources.host.track_directory(place)
        cleanup.callback(resources.host.remove_directory, place)


def _identity_of_servers(spec: TrialSpec, subject: Subject) -> str:
    """A text that is equal for trials which could use the same servers."""
    return f"{subject.wanted} {spec.limits if isinstance(spec, LoadSpec) else None}"
