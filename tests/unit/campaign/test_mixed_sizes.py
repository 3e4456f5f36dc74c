"""Messages of several sizes: how a campaign asks for them, what is refused, and what the worker is given."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from null_worker import order

from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.config.workload import parse_message_size
from tidegauge.errors import UserError
from tidegauge.model.message_sizes import HEADER_BYTES, MessageSizes, SizeKind
from tidegauge.model.workload import Payload, Workload
from tidegauge.report.loads import brief_workloads, workload_words
from tidegauge.worker.messages import prepare_request

NAMES = ("pulsar", "null")


def workload(directory: Path, keys: str, system: str = "'null'") -> Workload:
    file = directory / "campaign.yaml"
    file.write_text(
        f"name: sizes\ndurability: 4\nsystems: [{system}]\nworkload: {{{keys}}}\n"
        "experiments: [{name: latency, rate: 100}]\n"
    )
    parsed = parse_campaign(file, {}, NAMES)
    plan_campaign(parsed)
    return parsed.workload


@pytest.mark.parametrize(
    "text",
    ["{100B: 70%, 1KiB: 25%, 64KiB: 5%}", "100B 70%, 1KiB 25%, 64KiB 5%", "{64KiB: 5%, 100B: 70%, 1024: 25%}"],
)
def test_a_mix_can_be_asked_for(tmp_path: Path, text: str) -> None:
    quoted = text if text.startswith("{") else f'"{text}"'
    payload = workload(tmp_path, f"message-size: {quoted}").payload
    assert payload.sizes == MessageSizes(SizeKind.MIXED, (100, 1024, 65536), (0.7, 0.25, 0.05))
    assert payload.message_bytes == round(payload.sizes.mean_bytes)


def test_lognormal_sizes_can_be_asked_for() -> None:
    sizes = parse_message_size("lognormal 1KiB p99 64KiB")
    assert sizes == MessageSizes(SizeKind.LOGNORMAL, median_bytes=1024, p99_bytes=65536)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{100B: 70%, 1KiB: 25%}", "shares must be above 0% and 100% together, and are 95%"),
        ("{100B: 70%, 1KiB: 30}", "must be a share such as 5%"),
        ("{100B: 100%, 1KiB: 0%}", "shares must be above 0%"),
        ("{40B: 70%, 1KiB: 30%}", "of several sizes each must be 48B to 20MiB"),
        ("{100B: 70%, 30MiB: 30%}", "of several sizes each must be 48B to 20MiB"),
        ("{1024: 70%, 1KiB: 30%}", "names a size twice"),
        ("{100B: 99.9%, 10MiB: 0.1%}", "of this mix fit in the 16 MiB"),
        ("'100B 70%, 1KiB'", "must be sizes with their shares"),
        ("lognormal 1KiB", "must have a median and a p99, such as 'lognormal 1KiB p99 64KiB'"),
        ("lognormal 64KiB p99 1KiB", "must have a p99 above its median"),
        ("{}", "must be sizes with their shares"),
        ("[1KiB]", "must be a size such as 100B"),
    ],
)
def test_what_can_not_be_is_refused_at_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(UserError) as caught:
        workload(tmp_path, f"message-size: {text}")
    assert complaint in caught.value.message
    assert "campaign.yaml:4: workload.message-size" in caught.value.message


def test_lines_of_a_file_are_messages(tmp_path: Path) -> None:
    (tmp_path / "orders.jsonl").write_bytes(b'{"id":1}\r\n\n{"id":22}\n{"id":333}')
    payload = workload(tmp_path, "payload-file: orders.jsonl").payload
    assert payload.sizes == MessageSizes(
        SizeKind.LINES, given=3, given_bytes_mean=HEADER_BYTES + 9.0, given_bytes_most=HEADER_BYTES + 10
    )
    message = prepare_request(order(workload=Workload(payload=payload))).payload
    assert message.given
    assert list(message.sizes) == []
    assert (message.message_bytes, message.message_bytes_max) == (57, 58)


@pytest.mark.parametrize("key", ["message-size: 1KiB", "random-share: 0.5", "payload-bodies: 3"])
def test_lines_are_as_they_are(tmp_path: Path, key: str) -> None:
    (tmp_path / "orders.ndjson").write_text("{}\n")
    with pytest.raises(UserError, match=f"{key.partition(':')[0]}.*can't be given beside a payload-file of lines"):
        workload(tmp_path, f"payload-file: orders.ndjson, {key}")


def test_a_file_without_lines_and_one_too_large_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n\n")
    (tmp_path / "large.jsonl").write_bytes(b"x" * ((16 << 20) + 1))
    for name, complaint in (("empty", "all lines are empty"), ("large", "16 MiB are kept: take fewer lines")):
        with pytest.raises(UserError, match=complaint):
            workload(tmp_path, f"payload-file: {name}.jsonl")


def test_files_of_a_directory_are_messages(tmp_path: Path) -> None:
    (tmp_path / "orders").mkdir()
    for name, body in (("b.bin", b"1\n2"), ("a.bin", b"12345"), ("empty", b""), (".hidden", b"1")):
        (tmp_path / "orders" / name).write_bytes(body)
    load = workload(tmp_path, "payload-file: orders")
    assert load.payload.sizes == MessageSizes(
        SizeKind.FILES, given=2, given_bytes_mean=HEADER_BYTES + 4.0, given_bytes_most=HEADER_BYTES + 5
    )
    assert prepare_request(order(workload=Workload(payload=load.payload))).payload.given
    assert workload_words(load).startswith("Messages of the 2 files of a directory (up to 53 B; 52 B on average)")


def test_a_directory_that_is_no_set_of_messages_is_refused(tmp_path: Path) -> None:
    for name in ("empty", "deep", "large", "linked"):
        (tmp_path / name).mkdir()
    (tmp_path / "deep" / "inner").mkdir()
    (tmp_path / "linked" / "away").symlink_to("/etc/hostname")
    for part in range(2):
        (tmp_path / "large" / str(part)).write_bytes(bytes(9 << 20))
    for name, complaint in (
        ("empty", "/empty': it has no file with anything in it"),
        ("deep", "holds 'inner', which is no file: keep messages, a file each, in a directory alone"),
        ("linked", "holds 'away', which is no file"),
        ("large", "has 2 files of together 18 MiB; 65,536 and 16 MiB are kept: take fewer"),
    ):
        with pytest.raises(UserError, match=re.escape(complaint)):
            workload(tmp_path, f"payload-file: {name}")


def test_several_sizes_are_not_cut_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("text")
    with pytest.raises(UserError, match="several sizes take generated bodies"):
        workload(tmp_path, "payload-file: text.txt, message-size: {100B: 70%, 1KiB: 30%}")


def test_limits_of_systems_are_those_of_the_largest(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"'6291456B': Apache Pulsar takes messages of at most"):
        workload(tmp_path, "message-size: {5632KiB: 50%, 6MiB: 50%}", "pulsar")
    assert workload(tmp_path, "message-size: {1KiB: 50%, 64KiB: 50%}", "pulsar").payload.message_bytes_max == 65536


def test_the_worker_gets_a_size_for_each_body() -> None:
    sizes = MessageSizes(SizeKind.MIXED, (100, 1024), (0.5, 0.5))
    message = prepare_request(order(workload=Workload(payload=Payload(562, sizes=sizes)))).payload
    assert sorted(message.sizes) == sizes.pool_bytes()
    assert list(message.sizes) != sorted(message.sizes)
    assert (message.message_bytes, message.message_bytes_max, message.given) == (562, 1024, False)
    alike = prepare_request(order()).payload
    assert (list(alike.sizes), alike.message_bytes, alike.message_bytes_max) == ([], 100, 100)


def test_the_load_is_named_with_its_sizes(tmp_path: Path) -> None:
    load = workload(tmp_path, "message-size: {100B: 50%, 300B: 50%}")
    words = "essages of mixed sizes (50% 100 B, 50% 300 B; 200 B on average)"
    assert workload_words(load).startswith(f"M{words}; 1 topic")
    assert brief_workloads([load]).startswith(f"m{words}, 1 topic")
