"""Doubles are no wider than what they stand for: a double is asked nothing that the real thing is not, and likewise."""

from __future__ import annotations

import inspect

import attest_doubles
import campaign_doubles
import loopback_fleet
import pytest
import witness_scenes
from backlog_worker import BacklogWorker
from doubles_compared import differences, methods_of

from tidegauge.agent.api import Host
from tidegauge.campaign.run.resources import RunResources
from tidegauge.experiments.procedure import Lab
from tidegauge.fleet.api import Launcher, Remote
from tidegauge.model.rig import Rig
from tidegauge.store.run import RunStore
from tidegauge.store.trial import TrialStore
from tidegauge.systems.api import Deployment, System
from tidegauge.worker.api import LoadWorker

STANDS_FOR: dict[type, type] = {
    campaign_doubles.FakeWorker: LoadWorker,
    campaign_doubles.FakeDeployment: Deployment,
    campaign_doubles.FakeSystem: System,
    campaign_doubles.FakeResources: RunResources,
    campaign_doubles.FakeHost: Host,
    campaign_doubles.FakeTrialStore: TrialStore,
    campaign_doubles.FakeRunStore: RunStore,
    campaign_doubles.FakeLab: Lab,
    attest_doubles.Worker: LoadWorker,
    attest_doubles.Rig: Rig,
    attest_doubles.Host: Host,
    attest_doubles.Deployment: Deployment,
    attest_doubles.System: System,
    witness_scenes.Watched: Host,
    BacklogWorker: LoadWorker,
    loopback_fleet.InProcess: Remote,
    loopback_fleet.Loopback: Launcher,
}
"""Doubles that tests share; those of one file are compared there. Fields are what a test sets or looks at."""
LISTED_IN = (campaign_doubles, attest_doubles, loopback_fleet)
"""Files whose classes that have methods of their own are all listed, or said to be none of these."""
NO_DOUBLES = (campaign_doubles.Journal, attest_doubles.World)
"""What tests look into."""


@pytest.mark.parametrize(("double", "real"), STANDS_FOR.items(), ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_a_double_is_no_wider_than_what_it_stands_for(double: type, real: type) -> None:
    assert differences(double, real) == []


def test_every_shared_double_is_listed() -> None:
    classes = [
        kind
        for module in LISTED_IN
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__ and methods_of(kind)
    ]
    assert [kind for kind in classes if kind not in STANDS_FOR and kind not in NO_DOUBLES] == []


class Wide:
    """Of `Remote`, with an argument and a method too many."""

    def call(self, method: str, *arguments: object, timeout_s: float, again: bool = False) -> object:
        return method, arguments, timeout_s, again

    def end(self) -> None:
        pass

    def ended(self) -> bool:
        return True


def test_what_only_a_double_has_is_named() -> None:
    call, ended = differences(Wide, Remote)
    assert call.startswith("call(self, method: 'str', *arguments: 'object', timeout_s: 'float', again: 'bool' = False)")
    assert ended == "ended: Remote has no such method"
