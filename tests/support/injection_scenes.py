"""Faults that are injected into doubles, with a recorder of what was done when."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from patience import wait_for

from tidegauge.agent.api import Rig
from tidegauge.campaign.run.injection import Injector
from tidegauge.model.faults import Fault, FaultKind
from tidegauge.model.trial import LoadSpec
from tidegauge.systems.api import KEEPER, Deployment, Node

NODES = tuple(Node(number, (f"a-{number}", f"b-{number}"), ()) for number in (1, 2, 3))
DISKS = {number: Path(f"/disk/{number}") for number in (1, 2, 3)}
LINKS = {KEEPER: "keeper", **{number: f"node-{number}" for number in (1, 2, 3)}}
CUT_NS = 12_345


class Recorder:
    """Writes down each call, in order, with the time; calls named in `fail` raise."""

    def __init__(self, fail: Mapping[str, Exception] | None = None) -> None:
        self.calls: list[tuple[str, ...]] = []
        self.nodes = NODES
        self.fail = dict(fail or {})

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.calls.append((name, *map(str, arguments), *(f"{key}={value}" for key, value in named.items())))
            if name in self.fail:
                raise self.fail[name]
            return SimpleNamespace(asked_ns=CUT_NS)

        return call

    @property
    def names(self) -> list[str]:
        return [call[0] for call in self.calls]


@contextmanager
def injecting(
    recorder: Recorder,
    *faults: Fault,
    leaders: Callable[[], Mapping[str, int]] = lambda: {"t-0": 2, "t-1": 3},
    missing: Callable[[], str] = lambda: "",
    seed: int = 1,
) -> Iterator[Injector]:
    spec = cast(LoadSpec, SimpleNamespace(seed=seed, faults=faults, system="kafka@1"))
    injector = Injector(spec, cast(Deployment, recorder), cast(Rig, recorder), DISKS, LINKS, leaders, missing)
    try:
        yield injector
    finally:
        injector.close()


def done(recorder: Recorder, *faults: Fault, **more: Any) -> Injector:
    """Carry the faults out to their end."""
    with injecting(recorder, *faults, **more) as injector:
        injector.begin_faults(time.monotonic_ns())
        wait_for(lambda: not injector.has_faults_to_come, 30, "the faults")
        injector.check()
        return injector


def fault(kind: FaultKind, target: str = "leader", **more: Any) -> Fault:
    return Fault(kind, 0.05, target, 0.05 if kind.procedure.lasts else 0.0, **more)
