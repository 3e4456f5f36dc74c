"""Every experiment that builds its own load, as short as it can be, on one system in one campaign."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from command import NEVER_BROKEN, Place, valid_unless_starved

_WARM_UP = "warm-up-min: 1s, warm-up-max: 1s"
_CHASE = f"{{rate: 2000, backlog: 4000 messages, {_WARM_UP}, measure: 1s, drain-max: 60s}}"
OPTIONS = {
    "peak": f"{{{_WARM_UP}, measure: 1s, drain-max: 60s}}",
    "latency": f"{{rate: 500, {_WARM_UP}, measure: 2s, drain-max: 30s}}",
    "catch-up": _CHASE,
    "mixed": _CHASE,
    "curve": f"{{full-rate: 1000, shares: [50%, 100%], {_WARM_UP}, measure: 1s, drain-max: 30s}}",
    # Rates that nothing fails at: the highest is tried at once, and confirmed.
    "max-throughput": "{min-rate: 300, max-rate: 600, width: 50%, trials-max: 3, measure: 8s, confirm: 8s, "
    f"{_WARM_UP}, drain-max: 30s}}",
}
FINDINGS = ("catch-up", "mixed", "curve", "max-throughput")
"""Experiments that find more than the figures of a trial."""

_HEAD = """
name: short
systems: [{system}]
durability: {level}
deployment: shared
workload: {{message-size: 1KiB, partitions: 2, subscriptions: {subscriptions}}}
experiments:
"""


@dataclass
class Short:
    """A finished run of all of them on one system."""

    place: Place
    system: str
    level: int

    @cached_property
    def report(self) -> dict[str, Any]:
        """What `tidegauge show --json` says."""
        found: dict[str, Any] = json.loads(self.place.run("show", "last", "--json").stdout)
        return found

    def trials(self, experiment: str) -> list[dict[str, Any]]:
        """Results of an experiment's trials, those towards a finding too."""
        ended = [one for part in self.report["experiments"] for one in part["results"]]
        return [one for one in [*ended, *self.report["exploratory_trials"]] if one["spec"]["experiment"] == experiment]

    def check(self, experiment: str) -> None:
        """Whether it measured at the level asked for, accounted for every message, and came to a finding."""
        trials = self.trials(experiment)
        assert trials, f"no trial of {experiment}"
        for trial in trials:
            assert trial["spec"]["system"].startswith(f"{self.system}@")
            assert (trial["level"]["level"], trial["level"]["problems"]) == (self.level, [])
            assert trial["acked"] > 0
            assert trial["response"]["count"] > 0
            for subscription in trial["subscriptions"]:
                assert subscription["received"] >= trial["acked"]
                for anomaly in ("lost", "duplicated", "reordered", "corrupt", "foreign"):
                    assert subscription[anomaly] == 0, (trial["spec"]["trial_id"], anomaly)
        if experiment in FINDINGS:
            (finding,) = (one for one in self.report["findings"] if one["experiment"] == experiment)
            assert finding["summary"]


def measured(
    system: str, root: Path, level: int = 4, subscriptions: int = 1, names: Iterable[str] = tuple(OPTIONS)
) -> Short:
    """Run every experiment, or those of these names, on a system that is started once."""
    if system == "rabbitmq" and shutil.which("apt-get") is None:
        pytest.skip("RabbitMQ comes from Debian's packages")
    place = Place(root)
    text = _HEAD.format(system=system, level=level, subscriptions=subscriptions)
    text += "".join(f"  - {{name: {name}, {OPTIONS[name][1:]}\n" for name in names)
    done = place.run("run", str(place.write(text)), timeout_s=500)
    valid_unless_starved(done, place, NEVER_BROKEN)
    return Short(place, system, level)
