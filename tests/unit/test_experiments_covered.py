"""Every experiment runs on every system's real servers in the tests that always run: which one, and that it does."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tidegauge.experiments.registry import experiments
from tidegauge.systems import registry

INTEGRATION = Path(__file__).parents[1] / "integration"
NOT_A_SYSTEM = ("null",)
"""Kept in memory by the worker itself: what it is for is measuring Tidegauge."""

_KAFKA = {
    "peak": "test_main_job.py::test_both_systems_have_both_experiments",
    "latency": "test_main_job.py::test_both_systems_have_both_experiments",
    "catch-up": "test_catching_up.py::test_a_backlog_is_built_read_away_and_nothing_is_lost",
    "mixed": "test_catching_up.py::test_readers_that_keep_up_are_apart_from_the_one_that_catches_up",
    "curve": "test_max_throughput.py::test_the_search_came_to_a_finding_for_each_goal",
    "max-throughput": "test_max_throughput.py::test_the_search_came_to_a_finding_for_each_goal",
}
_IN_SHORT = "test_experiments_{system}.py::test_it_measures_and_accounts_for_every_message"
_READ = "test_experiments_attached.py::test_read_finds_everything_that_is_there"
_ATTEST_IN_SHORT = "test_attest_{system}.py::test_one_node_at_level_4_loses"

COVERED: dict[str, dict[str, str]] = {
    **{
        name: {
            "kafka": test,
            "pulsar": _IN_SHORT.format(system="pulsar"),
            "rabbitmq": _IN_SHORT.format(system="rabbitmq"),
        }
        for name, test in _KAFKA.items()
    },
    "read": dict.fromkeys(("kafka", "pulsar", "rabbitmq"), _READ),
    "attest": {system: _ATTEST_IN_SHORT.format(system=system) for system in ("kafka", "pulsar", "rabbitmq")},
}
"""By experiment and system, the test that runs it on real servers and is not slow. A sweep of each system is in
test_experiments_attached.py, among the slow ones; test_resume.py always runs one."""

PAIRS = [(experiment, system, test) for experiment, tests in COVERED.items() for system, test in tests.items()]


def test_the_table_has_every_experiment_on_every_system() -> None:
    systems = set(registry.all_systems()) - set(NOT_A_SYSTEM)
    assert set(COVERED) == set(experiments()), "name here the test that runs a new experiment on real servers"
    assert {name: set(tests) for name, tests in COVERED.items()} == dict.fromkeys(COVERED, systems)


@pytest.mark.parametrize(("experiment", "system", "test"), PAIRS, ids=lambda value: str(value).partition("::")[0])
def test_the_test_is_there_and_always_runs(experiment: str, system: str, test: str) -> None:
    name, _, function = test.partition("::")
    tree = ast.parse((INTEGRATION / name).read_text())
    (found,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function)
    marks = [ast.unparse(mark) for mark in found.decorator_list]
    marks += [
        ast.unparse(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    assert not [mark for mark in marks if "slow" in mark]
    text = (INTEGRATION / name).read_text() + (INTEGRATION / "experiments_in_short.py").read_text()
    assert experiment in text
    assert f'"{system}"' in text or f"[{system}" in text
