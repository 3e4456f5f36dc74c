"""Entries of the cache that are sent to another host: whole, once, and never damaged."""

from __future__ import annotations

import io
import json
import os
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from tidegauge.distribution import cache, sending
from tidegauge.distribution.sending import Inbox, Parcel
from tidegauge.errors import UserError
from tidegauge.model.server import Distribution


@pytest.fixture
def entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One in this host's cache."""
    monkeypatch.setenv("TIDEGAUGE_CACHE", str(tmp_path / "here"))
    made = tmp_path / "here/distributions/kafka-4.3.1-abc"
    (made / "root/bin").mkdir(parents=True)
    (made / "root/bin/start").write_text("#!/bin/sh\n")
    (made / "root/bin/start").chmod(0o755)
    (made / "root/run").symlink_to("/bin/sh")
    (made / "large").write_bytes(os.urandom(3_000_000))
    cache.write_manifest(made, "recipe", "maven central")
    return made


def digest(entry: Path) -> str:
    return cache.digest_and_source(entry)[0]


def parcel(entry: Path) -> Parcel:
    return Parcel(entry, f"distributions/{entry.name}", digest(entry), "kafka 4.3.1")


@pytest.fixture
def inbox(entry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Inbox:
    """Another host's."""
    monkeypatch.setattr(sending, "_PIECE_BYTES", 1 << 20)
    monkeypatch.setenv("TIDEGAUGE_CACHE", str(tmp_path / "there"))
    return Inbox()


def test_an_entry_arrives_as_it_is(entry: Path, inbox: Inbox, tmp_path: Path) -> None:
    place = "distributions/kafka-4.3.1-abc"
    assert not inbox.holds(place, digest(entry))
    pieces: list[int] = []
    sending.send_parcel(parcel(entry), lambda piece: (pieces.append(len(piece)), inbox.take(piece))[1])
    assert max(pieces) == 1 << 20
    inbox.keep(place, digest(entry))
    there = tmp_path / "there" / place
    assert cache.damage_of_entry(there, "recipe", "") == []
    assert os.access(there / "root/bin/start", os.X_OK)
    assert (there / "root/run").readlink() == Path("/bin/sh")
    assert inbox.holds(place, digest(entry))
    (there / "large").write_text("damaged")
    assert not inbox.holds(place, digest(entry))
    # It takes the place of what is damaged, by the same inbox.
    sending.send_parcel(parcel(entry), inbox.take)
    inbox.keep(place, digest(entry))
    assert cache.damage_of_entry(there, "recipe", "") == []


def test_a_link_to_a_file_of_the_hosts_own_counts_by_no_hosts_content(entry: Path) -> None:
    sums = cache.sums_of(entry)
    assert sorted(sums) == ["large", "root/bin/start"]
    (entry / "root/inner").symlink_to("bin/start")
    assert cache.sums_of(entry)["root/inner"] == sums["root/bin/start"]
    # Earlier versions recorded what it led to.
    (entry / "root/inner").unlink()
    manifest = json.loads((entry / "manifest.json").read_text())
    before = digest(entry)
    manifest["files"]["root/run"] = "0" * 64
    (entry / "manifest.json").write_text(json.dumps(manifest))
    assert cache.damage_of_entry(entry, "recipe", "") == []
    assert digest(entry) == before


def test_what_is_cut_off_is_not_kept(entry: Path, inbox: Inbox, tmp_path: Path) -> None:
    pieces: list[bytes] = []
    sending.send_parcel(parcel(entry), pieces.append)
    for piece in pieces[:-1]:
        inbox.take(piece)
    with pytest.raises(UserError, match="distributions/x arrived damaged"):
        inbox.keep("distributions/x", digest(entry))
    assert [path.name for path in (tmp_path / "there/distributions").iterdir()] == [".x.lock"]


def test_a_file_is_kept_by_what_is_in_it(inbox: Inbox, tmp_path: Path) -> None:
    payload = tmp_path / "payload.bin"
    payload.write_bytes(b"messages")
    sent = sending.file_parcel(payload)
    sending.send_parcel(sent, inbox.take)
    inbox.keep(sent.place, sent.digest)
    assert sending.path_on_hosts(sent).read_bytes() == b"messages"
    assert inbox.holds(sent.place, sent.digest)
    payload.write_bytes(b"others")
    other = sending.file_parcel(payload)
    assert not inbox.holds(other.place, other.digest)


def test_a_directory_is_kept_by_what_is_in_it(inbox: Inbox, tmp_path: Path) -> None:
    payloads = tmp_path / "payloads"
    payloads.mkdir()
    for name in ("a", "b"):
        (payloads / name).write_text(name)
    sent = sending.file_parcel(payloads)
    sending.send_parcel(sent, inbox.take)
    inbox.keep(sent.place, sent.digest)
    assert {path.name: path.read_text() for path in sending.path_on_hosts(sent).iterdir()} == {"a": "a", "b": "b"}
    (payloads / "b").write_text("another")
    other = sending.file_parcel(payloads)
    assert not inbox.holds(other.place, other.digest)


def test_only_what_is_in_the_cache_is_an_entry(entry: Path) -> None:
    files = Distribution("kafka", "4.3.1", entry / "root/bin", None, "", digest(entry), "maven central")
    assert sending.entry_parcel(files) == parcel(entry)
    assert sending.entry_parcel(replace(files, directory=Path("/opt/kafka"))) is None


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/tmp/tidegauge-outside", "link/x", "link"])
def test_nothing_is_unpacked_outside_of_its_directory(entry: Path, inbox: Inbox, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    target = outside / "x" if name == "link" else outside
    name = str(outside / "x") if name.startswith("/") else name
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, str(target)
        archive.addfile(link)
        member = tarfile.TarInfo(name)
        member.size = 4
        archive.addfile(member, io.BytesIO(b"evil"))
    inbox.take(stream.getvalue())
    with pytest.raises(UserError, match=r"outside of its directory|arrived damaged"):
        inbox.keep("distributions/x", digest(entry))
    assert list(outside.iterdir()) == []
    assert not (tmp_path / "there/x").exists()
