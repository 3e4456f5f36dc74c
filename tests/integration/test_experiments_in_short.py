"""Each experiment on a real Pulsar and RabbitMQ, as short as it can be; those of Kafka have tests of their own."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest
from command import NEVER_BROKEN, Place, valid_unless_starved

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]

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
durability: 4
deployment: shared
workload: {{message-size: 1KiB, partitions: 2}}
experiments:
"""


@dataclass
class Short:
    """A finished run of all of them on one system."""

    place: Place
    system: str

    @cached_property
    def report(self) -> dict[str, Any]:
        """What `tidegauge show --json` says."""
        found: dict[str, Any] = json.loads(self.place.run("show", "last", "--json").stdout)
        return found

    def trials(self, experiment: str) -> list[dict[str, Any]]:
        """Results of an experiment's trials, those towards a finding too."""
        ended = [result for part in self.report["experiments"] for result in part["results"]]
        every = [*ended, *self.report["exploratory_trials"]]
        return [result for result in every if result["spec"]["experiment"] == experiment]

    def check(self, experiment: str) -> None:
        """Whether it measured at the level asked for, accounted for every message, and came to a finding."""
        trials = self.trials(experiment)
        assert trials, f"no trial of {experiment}"
        for trial in trials:
            assert trial["spec"]["system"].startswith(f"{self.system}@")
            assert (trial["level"]["level"], trial["level"]["problems"]) == (4, [])
            assert trial["acked"] > 0
            assert trial["response"]["count"] > 0
            for subscription in trial["subscriptions"]:
                assert subscription["received"] >= trial["acked"]
                for anomaly in ("lost", "duplicated", "reordered", "corrupt", "foreign"):
                    assert subscription[anomaly] == 0, (trial["spec"]["trial_id"], anomaly)
        if experiment in FINDINGS:
            (finding,) = (found for found in self.report["findings"] if found["experiment"] == experiment)
            assert finding["summary"]


@pytest.fixture(scope="module", params=["pulsar", "rabbitmq"])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Short:
    """All of them in one campaign, on a system that is started once."""
    system = request.param
    if system == "rabbitmq" and shutil.which("apt-get") is None:
        pytest.skip("RabbitMQ comes from Debian's packages")
    place = Place(tmp_path_factory.mktemp(system))
    experiments = "".join(f"  - {{name: {name}, {options[1:]}\n" for name, options in OPTIONS.items())
    done = place.run("run", str(place.write(_HEAD.format(system=system) + experiments)), timeout_s=500)
    valid_unless_starved(done, place, NEVER_BROKEN)
    return Short(place, system)


@pytest.mark.parametrize("experiment", OPTIONS)
def test_it_measures_and_accounts_for_every_message(whole: Short, experiment: str) -> None:
    whole.check(experiment)


def test_nothing_is_left_behind(whole: Short) -> None:
    assert whole.place.left_behind() == []
