"""Keys from the lines of a file: how a campaign asks for them, what is refused, and what the worker is given."""

from __future__ import annotations

from pathlib import Path

import pytest
from null_worker import order

from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.errors import UserError
from tidegauge.model.workload import KeyFile, Keys, Workload
from tidegauge.report.loads import workload_words
from tidegauge.worker.messages import prepare_request


def workload(directory: Path, keys: str, system: str = "'null'") -> Workload:
    file = directory / "campaign.yaml"
    file.write_text(f"name: keys\nsystems: [{system}]\nworkload: {{{keys}}}\nexperiments: [peak]\n")
    return parse_campaign(file, {}, ("null", "pulsar")).workload


def test_lines_are_keys(tmp_path: Path) -> None:
    (tmp_path / "keys.txt").write_bytes("müller\r\nmeier\n\nmüller\nschmidt".encode())
    load = workload(tmp_path, "keys: from-file, key-file: keys.txt")
    assert load.key_file == KeyFile(str(tmp_path / "keys.txt"), lines=4, distinct=3, commonest_share=0.5)
    assert (load.keys, load.distinct_keys) == (Keys.FROM_FILE, 3)
    assert load.most_frequent_key_share() == 0.5
    request = prepare_request(order(workload=load))
    assert (request.keys, request.key_file) == (5, str(tmp_path / "keys.txt"))
    assert prepare_request(order()).key_file == ""
    assert workload_words(load).startswith(
        "1 KiB messages, with keys from the lines of a file in turn (4 lines, 3 keys; 50% have the commonest); 1 topic"
    )


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ("key-file: keys.txt", "workload.key-file: needs 'keys: from-file'"),
        ("keys: zipf, key-file: keys.txt", "workload.key-file: needs 'keys: from-file'"),
        ("keys: from-file", "workload.keys: 'from-file': name the file in 'key-file'"),
        ("keys: from-file, key-file: keys.txt, distinct-keys: 5", "distinct-keys: can't be given beside a key-file"),
        ("keys: from-file, key-file: nowhere", "'nowhere': there is no such file"),
        ("keys: from-file, key-file: .", "'.': it is no file"),
        ("keys: from-file, key-file: empty", "/empty': all lines are empty"),
        ("keys: from-file, key-file: long", "/long': a key has 1,025 bytes; at most 1,024 are taken"),
        ("keys: from-file, key-file: many", "/many': 1,000,001 lines; at most 1,000,000 are kept"),
        ("keys: from-file, key-file: binary", "no UTF-8 text"),
        ("keys: from-file, key-file: large", "/large' has 18 MiB; 16 MiB are kept: take fewer lines"),
    ],
)
def test_what_can_not_be_is_refused(tmp_path: Path, keys: str, complaint: str) -> None:
    for name, content in (
        ("keys.txt", b"a"),
        ("empty", b"\n\r\n"),
        ("long", b"x" * 1_025),
        ("many", b"k\n" * 1_000_001),
        ("binary", b"\xff\xfe"),
        ("large", bytes(18 << 20)),
    ):
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError) as caught:
        workload(tmp_path, keys)
    assert complaint in caught.value.message
    assert "campaign.yaml:3: workload." in caught.value.message


def test_the_order_of_too_many_keys_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "keys.txt").write_text("\n".join(map(str, range(500_000))))
    with pytest.raises(UserError, match=r"workload\.key-file: '500000': key-shared keeps the order of each key"):
        workload(
            tmp_path, "keys: from-file, key-file: keys.txt, subscription-type: key-shared, consumers: 100", "pulsar"
        )
