"""One cycle of an attestation: load on a topic of its own, the acts of its scenario, and everything read afterwards.

What was acknowledged is known from the history that the worker keeps outside what is cut. A message is called lost only
if no whole read found it, of two at least; then the servers' data files are searched for it too. Where clients can
choose whose copy they read, each node's is read as well.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from tidegauge.attestation.classification import Anomalies, find_anomalies
from tidegauge.attestation.data_files import Copy, Message
from tidegauge.attestation.evidence import History, Longs, Read, last_positions, load_read, read_history, read_of
from tidegauge.attestation.judging import at_stake
from tidegauge.attestation.scenario import target_nodes
from tidegauge.campaign.run.running_trial import RunningTrial, await_complete, await_ready, missing_parts
from tidegauge.campaign.run.trial.order import load_order
from tidegauge.campaign.run.trial_nodes import TrialNodes
from tidegauge.errors import StartFailedError
from tidegauge.model.attest import CLEAN, Act, ActKind, CutOutcome, Cycle, CycleOutcome, Means
from tidegauge.model.faults import FaultExtent, FaultKind
from tidegauge.model.message import LOST, CommittedPositions, Fate, FoundMessage
from tidegauge.model.server import Setting
from tidegauge.model.trial import AttestSpec
from tidegauge.systems.api import node_of
from tidegauge.worker.api import LoadOrder, Positions

GRACE_S = 75.0
"""For outcomes of what is still in flight when the load ends: what is written after the first read began would be in
the second only. Longer than clients wait for one, but for RabbitMQ's queues, where it may be twice `OUTCOME_S_MAX`."""
OUTCOME_S_MAX = 60.0
"""A message without an outcome for so long is given up: longer than servers take to serve again."""
AFTER_SHARE = 0.1
"""Of the rate, once nothing more is cut."""
READ_S_MAX = 60.0
ACKED_AGAIN_S_MAX = 60.0
_POLL_S = 0.05
_SETTLE_S = 0.5
_COPIES_NAMED = 5


@dataclass
class CycleWatch:
    """What a cycle saw while it went. `held` are the nodes held back; `frozen_ns` and `mounted_ns` are of the last cut.

    `files`: the nodes' data files when the load began, and when servers last served again.

    `back_ns`: of each cut, until when what arrives had been acknowledged before it. Only where no node had power is
    that later than the freeze: else it may come from one that goes on.
    """

    cuts: list[CutOutcome] = field(default_factory=list)
    back_ns: list[int] = field(default_factory=list)
    frozen_ns: int = 0
    mounted_ns: int = 0
    files: frozenset[str] = frozenset()
    held: set[int] = field(default_factory=set)
    unavailable: str = ""


def _nodes_hit(trial: RunningTrial, numbers: Sequence[int]) -> TrialNodes:
    """These nodes, to be held back or cut."""
    deployed_nodes = trial.deployment.nodes
    directories = [directory for number in numbers for directory in node_of(deployed_nodes, number).directories]
    disks = tuple(
        disk
        for disk in trial.store.disks
        if any(disk == directory or disk in directory.parents for directory in directories)
    )
    rig = trial.resources.host.rig
    return TrialNodes(tuple(numbers), trial.deployment, rig, disks, {}, lambda: missing_parts(trial, ()))


@dataclass(frozen=True)
class Prepared:
    """A cycle's topic and clients, ready; what the servers said of it."""

    order: LoadOrder
    settings: tuple[Setting, ...]
    client_settings: tuple[Setting, ...]
    leader: int


def prepare_cycle(trial: RunningTrial[AttestSpec], cycle: Cycle) -> Prepared:
    """Make the topic and its clients. Raises `StartFailedError`, `RunFailedError`."""
    evidence = trial.store.make_evidence_directory(f"cycle-{cycle.number:04d}")
    topic = f"{trial.topics.names(1)[0]}-{cycle.number}"
    spec = replace(trial.spec, seed=trial.spec.seed + cycle.number)
    order = load_order(spec, trial.subject.system, trial.deployment, (topic,), evidence)
    # The last subscription keeps its messages, wherever one has a copy of its own, until they are read back.
    order = replace(
        order, history_directory=str(evidence), outcome_timeout_s=OUTCOME_S_MAX, subscriptions_start_paused=1
    )
    client_settings = trial.worker.prepare(order)
    settings = await_complete(trial, order.topic_names, trial.ready_s_max)
    leaders = trial.deployment.leaders(settings)
    # Where each subscription has a queue of its own, the last one's is read back.
    leader = leaders[max(leaders)] if leaders else 1
    return Prepared(order, tuple(settings), tuple(client_settings), leader)


def run_cycle(trial: RunningTrial[AttestSpec], cycle: Cycle, prepared: Prepared) -> CycleOutcome:
    """Carry out a prepared cycle. Servers that do not serve again are reported, not raised.

    Raises `RunFailedError` if the worker or the agent fails.
    """
    order, watch = prepared.order, CycleWatch()
    if cycle.acts:
        watch.files = _list_data_files(trial, [node.number for node in trial.deployment.nodes])
    trial.worker.start()
    began_s = time.monotonic()
    before: CommittedPositions | None = None
    try:
        for act in cycle.acts:
            _keep_up(trial, (_acked_again(trial) if act.when_acked else began_s) + act.after_s)
            if act.kind is not ActKind.RELEASE and before is None:
                # Before the first node is held as well: one that stands can't be asked.
                before = trial.worker.committed_positions(order)
            _carry_out_act(trial, act, prepared.leader, watch)
            began_s = time.monotonic()
        _keep_up(trial, began_s + cycle.tail_s)
        if cycle.acts:
            # What the load asks for while servers recover is a debt that it pays off before anything can be read.
            trial.worker.set_rate(AFTER_SHARE * trial.spec.msgs_per_s)
            _await_serving(trial, watch)
            await_complete(trial, order.topic_names, trial.ready_s_max)
            _acked_again(trial)
    except StartFailedError as error:
        watch.unavailable = error.message
    finally:
        _release_nodes(trial, sorted(watch.held), watch)
    trial.worker.stop_producers(GRACE_S)
    history = read_history(Path(order.history_directory), order.trial_number)
    cuts = tuple(at_stake(history, cut) for cut in watch.cuts)
    outcome = CycleOutcome(cycle.number, cycle.scenario, cuts, int(history.acknowledged.sum()))
    if watch.unavailable:
        outcome = replace(outcome, unreadable=(watch.unavailable,), doubts=history.doubts, served=False)
        return _not_served(trial, outcome, history, watch.back_ns, order.trial_number)
    last = history.last_positions(watch.frozen_ns)
    reads = [_read_once(trial, order, name, last) for name in ("first read", "second read")]
    pairs = [] if before is None else [(before, trial.worker.committed_positions(order))]
    reads += _read_replicas(trial, order, reads)
    anomalies = find_anomalies(history, reads, pairs, [cut.frozen_mono_ns for cut in cuts], watch.back_ns)
    # Seconds from the last freeze (0 = there was none) to the first acknowledgement after it; None without either.
    first_ns = history.first_acknowledged_after(watch.frozen_ns) if watch.frozen_ns else -1
    outcome = replace(outcome, first_publish_s=(first_ns - watch.frozen_ns) / 1e9 if first_ns > 0 else None)
    return _with_anomalies(trial, outcome, history, anomalies, order.trial_number)


def _not_served(
    trial: RunningTrial, outcome: CycleOutcome, history: History, back_ns: Sequence[int], trial_id: int
) -> CycleOutcome:
    """Servers that do not serve again can't be read, their data files can: what is in none of them is lost.

    BookKeeper without syncs has been seen to refuse a whole topic for good, because the end of its journal was torn.
    Nothing is said where a node kept its power, since that one may hold messages in memory only, or where no message
    at all is found.
    """
    if not outcome.cuts or set(outcome.cuts[-1].nodes) != {node.number for node in trial.deployment.nodes}:
        return outcome
    in_files = _find_copies(trial, history, np.flatnonzero(history.acknowledged), trial_id)
    sent = [history.row(int(row)) for row in np.flatnonzero(history.acknowledged)]
    stored = [message for message in sent if (message.producer, message.sequence) in in_files]
    if not stored:
        return outcome
    messages_found = [
        FoundMessage(message.producer, message.sequence, message.partition, message.position) for message in stored
    ]
    files = replace(read_of("data files", messages_found), began_ns=back_ns[-1])
    anomalies = find_anomalies(history, [files], cuts_ns=[cut.frozen_mono_ns for cut in outcome.cuts], back_ns=back_ns)
    # A message in a file that no server serves is neither kept nor lost.
    counts = {**anomalies.counts, Fate.KEPT: 0}
    counts[Fate.UNREADABLE] += anomalies.counts[Fate.KEPT]
    figures = replace(anomalies, counts=counts, unreadable=outcome.unreadable, reordered=0).figures()
    return replace(outcome, figures=figures, witness=anomalies.witness, in_files=0 if anomalies.lost else None)


def _keep_up(trial: RunningTrial, until_s: float) -> None:
    """Wait until an instant (monotonic s). Raises what must end the trial."""
    while (left_s := until_s - time.monotonic()) > 0:
        time.sleep(min(left_s, 1.0))
        trial.check()


def _acked_again(trial: RunningTrial) -> float:
    """Wait until messages are acknowledged although a node is held back, and return that instant (monotonic s).

    What was on its way before does not count. After `ACKED_AGAIN_S_MAX` it goes on without: nothing was acknowledged
    without that node then, as the history shows.
    Raises `RunFailedError` if something has ended.
    """
    time.sleep(_SETTLE_S)
    acked_before = trial.worker.counts().acked
    deadline_s = time.monotonic() + ACKED_AGAIN_S_MAX
    while trial.worker.counts().acked <= acked_before and time.monotonic() < deadline_s:
        time.sleep(_POLL_S)
        trial.check()
    return time.monotonic()


def _carry_out_act(trial: RunningTrial[AttestSpec], act: Act, leader: int, watch: CycleWatch) -> None:
    nodes = target_nodes(act, trial.spec.nodes, leader)
    if act.kind is ActKind.HOLD:
        watch.held.update(nodes)
        FaultKind.PAUSE.procedure.impose_on(_nodes_hit(trial, nodes), FaultExtent())
    elif act.kind is ActKind.RELEASE:
        _release_nodes(trial, nodes, watch)
    else:
        _cut_nodes(trial, nodes, watch)
        if act.again_after_s is not None:
            time.sleep(act.again_after_s)
            _cut_nodes(trial, nodes, watch)
            # What was acknowledged is judged by the first of the two; how long it all took by the second.
            first, second = watch.cuts[-2:]
            checks = {**second.checks, **{disk: check for disk, check in first.checks.items() if check != CLEAN}}
            watch.cuts[-2:] = [
                replace(
                    second,
                    frozen_mono_ns=first.frozen_mono_ns,
                    checks=checks,
                    cuts=2,
                    files_begun=first.files_begun,
                )
            ]
            watch.back_ns.pop()
        if act.until_complete:
            _await_serving(trial, watch)


def _release_nodes(trial: RunningTrial, nodes: Sequence[int], watch: CycleWatch) -> None:
    held_nodes = [number for number in nodes if number in watch.held]
    watch.held.difference_update(held_nodes)
    if held_nodes:
        FaultKind.PAUSE.procedure.lift_from(_nodes_hit(trial, held_nodes))


def _cut_nodes(trial: RunningTrial[AttestSpec], numbers: Sequence[int], watch: CycleWatch) -> None:
    """Power off for these nodes, and on again. Raises `StartFailedError`, `RunFailedError`."""
    kind = FaultKind.KILL if trial.spec.attest.means is Means.CRASH else FaultKind.POWER_CUT
    nodes = _nodes_hit(trial, numbers)
    files_begun = _list_data_files(trial, numbers) - watch.files
    asked_ns = time.monotonic_ns()
    report = kind.procedure.impose_on(nodes, FaultExtent())
    frozen_ns = mounted_ns = time.monotonic_ns()
    checks: Mapping[str, str] = {}
    if report is not None:
        asked_ns, frozen_ns, mounted_ns = report.asked_ns, report.frozen_ns, report.mounted_ns
        checks = {
            Path(disk.place).name: CLEAN if disk.is_clean else disk.report or "not clean" for disk in report.disks
        }
    watch.frozen_ns, watch.mounted_ns = frozen_ns, mounted_ns
    watch.back_ns.append(mounted_ns if len(numbers) == len(trial.deployment.nodes) else frozen_ns)
    # It was cut, whether or not the servers can be started again.
    watch.cuts.append(
        CutOutcome(
            nodes=nodes.numbers,
            frozen_mono_ns=frozen_ns,
            freeze_s=(frozen_ns - asked_ns) / 1e9,
            down_s=(mounted_ns - frozen_ns) / 1e9,
            checks=checks,
            files_begun=len(files_begun),
        )
    )
    kind.procedure.lift_from(nodes)
    watch.cuts[-1] = replace(watch.cuts[-1], restart_s=(time.monotonic_ns() - mounted_ns) / 1e9)


def _list_data_files(trial: RunningTrial, numbers: Sequence[int]) -> frozenset[str]:
    """See `Host.list_data_files`: of these nodes."""
    nodes = [node_of(trial.deployment.nodes, number) for number in numbers]
    return frozenset(
        trial.resources.host.list_data_files([directory for node in nodes for directory in node.directories])
    )


def _await_serving(trial: RunningTrial, watch: CycleWatch) -> None:
    """Wait until a message goes there and back and all nodes take part. Raises `StartFailedError`."""
    await_ready(trial)
    # What servers begin while they recover is no log that rolled.
    watch.files |= _list_data_files(trial, [node.number for node in trial.deployment.nodes])
    if watch.cuts and watch.cuts[-1].serve_s is None:
        watch.cuts[-1] = replace(watch.cuts[-1], serve_s=(time.monotonic_ns() - watch.mounted_ns) / 1e9)


def _read_replicas(trial: RunningTrial, order: LoadOrder, before: Sequence[Read]) -> list[Read]:
    """What each node's own copy holds, where the system lets clients choose; all copies were in sync before.

    Last of all, since it may change which node leads. Raises `RunFailedError`.
    """
    spec, system = trial.spec, trial.subject.system
    each_has_one = 1 < spec.nodes <= order.replication_factor
    if not each_has_one or not system.serves_replicas(spec.choice, order.workload):
        return []
    last = last_positions(before)
    nodes = range(1, spec.nodes + 1)
    return [_read_once(trial, order, f"read from node {node}", last, node) for node in nodes]


def _read_once(trial: RunningTrial, order: LoadOrder, name: str, last: Positions, node: int = 0) -> Read:
    """Read everything once. Raises `RunFailedError`."""
    keeper = f"sub-{order.workload.subscriptions - 1}"
    file = Path(order.history_directory) / f"{name.replace(' ', '-')}.log"
    read_back = trial.worker.read_back(order, keeper, file, READ_S_MAX, node=node, last=last)
    return load_read(name, read_back, order.trial_number)


def _with_anomalies(
    trial: RunningTrial, outcome: CycleOutcome, history: History, anomalies: Anomalies, trial_id: int
) -> CycleOutcome:
    """The cycle with what was found; what is lost was looked for in the servers' data files first."""
    in_files, files = _count_in_files(trial, history, anomalies, trial_id) if anomalies.lost else (None, ())
    return replace(
        outcome,
        figures=anomalies.figures(),
        witness=anomalies.witness,
        positions=anomalies.positions,
        unreadable=anomalies.unreadable,
        in_files=in_files,
        files=files,
        doubts=history.doubts,
    )


def _count_in_files(
    trial: RunningTrial, history: History, anomalies: Anomalies, trial_id: int
) -> tuple[int, tuple[str, ...]]:
    """How many of the lost messages are in the servers' data files, and where the first of them are."""
    nodes = {directory: node.number for node in trial.deployment.nodes for directory in node.directories}
    copies = _find_copies(trial, history, np.flatnonzero(np.isin(anomalies.fates, LOST)), trial_id)
    return len(copies), tuple(
        _copy_words(message, copies[message], nodes) for message in sorted(copies)[:_COPIES_NAMED]
    )


def _find_copies(
    trial: RunningTrial, history: History, rows: Longs, trial_id: int
) -> Mapping[Message, tuple[Copy, ...]]:
    """Where the servers' data files hold these rows of a history."""
    directories = [directory for node in trial.deployment.nodes for directory in node.directories]
    messages = [(int(history.producer[row]), int(history.sequence[row])) for row in rows]
    return trial.resources.host.find_copies(directories, trial_id, messages)


def _copy_words(message: Message, copies: Sequence[Copy], nodes: Mapping[Path, int]) -> str:
    """ "message 7 of producer 1: node 2, topic-0/00.log at byte 4096"."""
    places = []
    for copy in copies:
        directory = next(place for place in nodes if place in copy.file.parents)
        places.append(f"node {nodes[directory]}, {copy.file.relative_to(directory)} at byte {copy.offset}")
    producer, sequence = message
    return f"message {sequence} of producer {producer}: {'; '.join(places)}"
