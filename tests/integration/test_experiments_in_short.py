"""Each experiment on a real Pulsar and RabbitMQ, in short; those of Kafka have tests of their own."""

from __future__ import annotations

import pytest
from experiments_in_short import OPTIONS, Short, measured

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


def test_a_trial_on_rabbitmq_accounts_for_every_message(tmp_path_factory: pytest.TempPathFactory) -> None:
    short = measured("rabbitmq", tmp_path_factory.mktemp("latency"), names=("latency",))
    short.check("latency")
    assert short.place.left_behind() == []


@pytest.fixture(scope="module", params=["pulsar", "rabbitmq"])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Short:
    return measured(request.param, tmp_path_factory.mktemp(request.param))


@pytest.mark.slow
@pytest.mark.parametrize("experiment", OPTIONS)
def test_it_measures_and_accounts_for_every_message(whole: Short, experiment: str) -> None:
    whole.check(experiment)


@pytest.mark.slow
def test_nothing_is_left_behind(whole: Short) -> None:
    assert whole.place.left_behind() == []
