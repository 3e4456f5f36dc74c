"""Keys drawn by Zipf's law: how a campaign asks for them, what is refused, and what the worker is given."""

from __future__ import annotations

from pathlib import Path

import pytest
from null_worker import order

from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.errors import UserError
from tidegauge.model.workload import Keys, Workload
from tidegauge.report.loads import workload_words
from tidegauge.worker.messages import prepare_request


def workload(directory: Path, keys: str) -> Workload:
    file = directory / "campaign.yaml"
    file.write_text(f"name: keys\nsystems: ['null']\nworkload: {{{keys}}}\nexperiments: [peak]\n")
    return parse_campaign(file, {}, ("null",)).workload


def test_the_exponent_is_taken_and_has_a_default(tmp_path: Path) -> None:
    assert workload(tmp_path, "keys: zipf").zipf_exponent == 0.99
    drawn = workload(tmp_path, "keys: zipf, zipf-exponent: 1.5, distinct-keys: 1000")
    assert (drawn.keys, drawn.zipf_exponent, drawn.distinct_keys) == (Keys.ZIPF, 1.5, 1000)
    request = prepare_request(order(workload=drawn))
    assert (request.keys, request.zipf_exponent, request.distinct_keys) == (4, 1.5, 1000)


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ("zipf-exponent: 1.5", "workload.zipf-exponent: needs 'keys: zipf'"),
        ("keys: random, zipf-exponent: 1.5", "workload.zipf-exponent: needs 'keys: zipf'"),
        ("keys: zipf, distinct-keys: 2000000", "workload.distinct-keys: '2000000': zipf takes up to 1,000,000"),
        ("keys: zipf, zipf-exponent: 0", "workload.zipf-exponent"),
        ("keys: zipf, zipf-exponent: 11", "workload.zipf-exponent"),
        ("keys: zip", "did you mean 'zipf'?"),
    ],
)
def test_what_can_not_be_is_refused(tmp_path: Path, keys: str, complaint: str) -> None:
    with pytest.raises(UserError) as caught:
        workload(tmp_path, keys)
    assert complaint in caught.value.message


def test_the_commonest_keys_share_is_that_of_the_formula() -> None:
    """With exponent 1 over 10,000 keys it is 1 / H(10,000), the harmonic number."""
    assert Workload(keys=Keys.ZIPF, zipf_exponent=1.0).most_frequent_key_share() == pytest.approx(
        1 / 9.787606, rel=1e-6
    )
    assert Workload(keys=Keys.RANDOM, distinct_keys=50).most_frequent_key_share() == pytest.approx(0.02)
    assert Workload().most_frequent_key_share() == 0.0


def test_the_load_says_how_messages_get_their_keys(tmp_path: Path) -> None:
    drawn = "by Zipf's law (exponent 0.99; 10% have the commonest)"
    assert workload_words(workload(tmp_path, "keys: zipf")).startswith(
        f"1 KiB messages, each with one of 10,000 keys, drawn {drawn}; 1 topic"
    )
    assert workload_words(workload(tmp_path, "keys: round-robin, distinct-keys: 5")).startswith(
        "1 KiB messages, each with one of 5 keys, drawn in turn; 1 topic"
    )
