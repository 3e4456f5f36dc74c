"""Each experiment on a real Pulsar, in short (see `tests/unit/test_experiments_covered.py`)."""

from __future__ import annotations

import pytest
from experiments_in_short import OPTIONS, Short, measured

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Short:
    return measured("pulsar", tmp_path_factory.mktemp("pulsar"))


@pytest.mark.parametrize("experiment", OPTIONS)
def test_it_measures_and_accounts_for_every_message(short: Short, experiment: str) -> None:
    short.check(experiment)


def test_nothing_is_left_behind(short: Short) -> None:
    assert short.place.left_behind() == []
