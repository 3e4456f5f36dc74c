"""Amazon's IAM through Amazon's library: as far as a broker that is not Amazon's can tell.

What is seen is that the library is found, makes a login of the key given, and asks the broker for its own mechanism.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from secure_kafka import Broker, broker

from tidegauge.distribution.cache import cache_directory
from tidegauge.distribution.login_libraries import fetch_login_library, has_login_library
from tidegauge.errors import UserError
from tidegauge.systems.kafka import MSK_IAM, MSK_IAM_LIBRARY

__all__ = ["broker"]
pytestmark = [pytest.mark.integration, pytest.mark.slow]

SECRET_KEY = "canary-of-the-secret-key"


@pytest.fixture(scope="module", autouse=True)
def library() -> Iterator[None]:
    """The library, which is afterwards on the class path only if it was before."""
    was_there = has_login_library("kafka", MSK_IAM)
    try:
        fetch_login_library("kafka", MSK_IAM_LIBRARY, lambda _: None)
    except UserError as error:
        pytest.skip(f"Amazon's library is not available here: {error.message}")
    yield
    if not was_there:
        (cache_directory() / "login-libraries" / "kafka" / MSK_IAM).unlink()


def test_amazons_library_logs_in(broker: Broker) -> None:
    key = {"auth__user": "AKIDEXAMPLE", "auth__password": SECRET_KEY}
    message = broker.secured.refusal(broker.tls("SECURE", auth__method=MSK_IAM, **key))
    assert "does not take this SASL mechanism" in message
    assert "AWS_MSK_IAM" in message
    assert SECRET_KEY not in message + broker.secured.worker_log.read_text()
