"""What clusters of others report of themselves, asked before a run begins: a load generator connects and makes nothing.

So a level that a cluster can't have is known before there is a run, and what a topic gets of which nobody says more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegauge.campaign.plan.contenders import case_of
from tidegauge.campaign.plan.plan import Step
from tidegauge.campaign.read.auth import read_secrets
from tidegauge.campaign.run.topics import Attachment
from tidegauge.durability import level_named
from tidegauge.errors import TidegaugeError
from tidegauge.model.level import AS_FOUND, LevelChoice, LevelFinding
from tidegauge.model.server import Setting
from tidegauge.numbers import plural
from tidegauge.systems.api import System, expected_level
from tidegauge.systems.attach import AttachChoice
from tidegauge.systems.attached import product_words
from tidegauge.worker.brief_worker import BriefWorkers


@dataclass(frozen=True)
class AskedCluster:
    """What a cluster reported of its servers, without secrets. `nodes`: how many there are; None if it does not say."""

    settings: tuple[Setting, ...]
    nodes: int | None


class ClusterBook:
    """The clusters of a command, each asked once."""

    def __init__(self, workers: BriefWorkers) -> None:
        self._workers = workers
        self._asked: dict[str, AskedCluster | TidegaugeError] = {}

    def ask(self, system: System, choice: AttachChoice, label: str, level: LevelChoice = AS_FOUND) -> AskedCluster:
        """What the cluster reports now, or reported before. `label` names it in messages.

        Raises `UserError` if a secret can't be read, `RunFailedError` with the reason if the cluster does not answer:
        the same each time, as one that is silent is not waited for again.
        """
        key = f"{system.name} {choice}"
        if key not in self._asked:
            try:
                self._asked[key] = self._ask_now(system, choice, label, level)
            except TidegaugeError as error:
                self._asked[key] = error
        answer = self._asked[key]
        if isinstance(answer, TidegaugeError):
            raise answer
        return answer

    def _ask_now(self, system: System, choice: AttachChoice, label: str, level: LevelChoice) -> AskedCluster:
        way = Attachment(choice, "", "", read_secrets(choice, label))
        cluster = way.cluster(system, level)
        with self._workers.open_worker(system.driver) as worker:
            settings = cluster.read_back(lambda names: worker.describe(system.driver, cluster.connection, names), [])
        return AskedCluster(tuple(way.without_secrets(settings)), cluster.nodes_in(settings))


def level_to_expect(step: Step, asked: AskedCluster) -> LevelFinding | None:
    """What level a step's topics will have on a cluster, by what it reports; None where that can't be said before.

    Its problems say why that is not the level asked for.
    """
    spec, contender = step.trials[0], step.contender
    if spec.workload.existing_topics or asked.nodes is None:
        return None
    case = case_of(replace(spec, nodes=asked.nodes), contender.system, contender.implementation)
    return expected_level(contender.implementation, case, asked.settings)


def expected_level_words(label: str, asked: AskedCluster, finding: LevelFinding | None) -> str:
    """A sentence on what a cluster reported, and which level follows from it; "" if it said nothing."""
    if asked.nodes is None:
        return ""
    nodes, product = plural(asked.nodes, "node"), product_words(asked.settings)
    cluster = f"{label}, which is {product}," if product else label
    if finding is None or finding.level is None:
        return f"{cluster} has {nodes}. Its level is read back during the run."
    why = "; ".join(finding.reasoning)
    return f"{cluster} has {nodes}. Level {finding.level}, {level_named(finding.level).name}, is to be expected: {why}."
