"""RabbitMQ's files: what is found in a directory, what is asked of apt, and how the cache keeps it."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tidegauge.distribution.coordinates import version_numbers
from tidegauge.errors import UserError
from tidegauge.systems.rabbitmq import provision
from tidegauge.systems.rabbitmq.config import find_layout
from tidegauge.systems.rabbitmq.provision import (
    Apt,
    AptError,
    apt_configuration,
    apt_failure,
    needed_packages,
    suites_for,
    upstream_version,
)

PRINT_URIS = """\
Reading package lists...
'http://deb.debian.org/debian/pool/main/g/glibc/libc6_2.43-7_amd64.deb' libc6_2.43-7_amd64.deb 1866392 MD5Sum:12de
'http://x/python3_3.13_amd64.deb' python3_3.13_amd64.deb 1 MD5Sum:1
'http://x/erlang-base_29.deb' erlang-base_1%3a29.1.2+dfsg-1_amd64.deb 1 MD5Sum:1
'http://x/rabbitmq-server_4.3.6-1_all.deb' rabbitmq-server_4.3.6-1_all.deb 1 MD5Sum:1
'http://x/libssl3t64_3.6_amd64.deb' libssl3t64_3.6_amd64.deb 1 MD5Sum:1
'http://x/libc6-dev_3.6_amd64.deb' libc6-dev_3.6_amd64.deb 1 MD5Sum:1
"""


def make_server(folder: Path, erlang: Path | None = None) -> None:
    """Files that look like an unpacked server, and an Erlang."""
    (folder / "sbin").mkdir(parents=True)
    (folder / "sbin/rabbitmq-server").touch()
    (folder / "plugins/rabbit-4.3.6").mkdir(parents=True)
    if erlang is not None:
        erlang.mkdir(parents=True)
        (erlang / "erl").touch()
        (erlang / "epmd").touch()


@pytest.mark.parametrize(
    ("server", "erlang"),
    [
        ("usr/lib/rabbitmq/lib/rabbitmq_server-4.3.6", "usr/lib/erlang/bin"),
        ("lib/rabbitmq_server-4.3.6", "lib/erlang/bin"),
        ("rabbitmq_server-4.3.6", "erlang/bin"),
        (".", "lib/erlang/bin"),
    ],
)
def test_a_server_is_found_where_archives_and_packages_put_it(tmp_path: Path, server: str, erlang: str) -> None:
    make_server(tmp_path / server, tmp_path / erlang)
    layout = find_layout(tmp_path)
    assert layout.version == "4.3.6"
    assert layout.start_script == tmp_path / server / "sbin/rabbitmq-server"
    assert layout.epmd == tmp_path / erlang / "epmd"


def test_of_several_servers_the_newest_is_taken(tmp_path: Path) -> None:
    for version in ("3.10.8", "4.0.5", "3.9.1"):
        make_server(tmp_path / f"lib/rabbitmq_server-{version}")
    (tmp_path / "erlang/bin").mkdir(parents=True)
    for name in ("erl", "epmd"):
        (tmp_path / "erlang/bin" / name).touch()
    assert find_layout(tmp_path).version == "4.0.5"


def test_directories_that_can_not_be_used_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="there is no such directory"):
        find_layout(tmp_path / "nothing")
    with pytest.raises(UserError, match=r"does not hold RabbitMQ: no sbin/rabbitmq-server"):
        find_layout(tmp_path)
    make_server(tmp_path / "rabbitmq_server-4.3.6")
    with pytest.raises(UserError, match="needs Erlang, and there is no `erl`"):
        find_layout(tmp_path)


def test_a_directory_is_taken_as_it_is(tmp_path: Path) -> None:
    make_server(tmp_path / "rabbitmq_server-4.3.6", tmp_path / "erlang/bin")
    distribution = provision.provision(str(tmp_path), lambda _: None)
    assert (distribution.version, distribution.directory) == ("4.3.6", tmp_path)
    assert distribution.source == f"directory {tmp_path}"


def test_only_what_the_server_needs_is_fetched() -> None:
    assert needed_packages(PRINT_URIS) == [
        "erlang-base=1:29.1.2+dfsg-1",
        "libc6=2.43-7",
        "libssl3t64=3.6",
        "rabbitmq-server=4.3.6-1",
    ]


def test_versions() -> None:
    assert upstream_version("3.10.8-1.1+deb12u1") == "3.10.8"
    assert upstream_version("1:4.3.6-1") == "4.3.6"
    assert version_numbers("3.10.8-1.1") == (3, 10, 8)
    assert version_numbers("4.3") == (4, 3, 0)
    assert suites_for("3.10.8")[0] == "bookworm"
    assert suites_for("4.3.6")[0] == "forky"
    assert suites_for("3.12.1")[-2:] == ["forky", "sid"]
    assert len(suites_for("4.0.5")) == len(set(suites_for("4.0.5"))) == 5


def test_a_private_apt_keeps_of_the_machines_settings_how_to_reach_mirrors(tmp_path: Path) -> None:
    inherited = 'Acquire::http::Proxy "http://p:1";\nAcquire::Check-Valid-Until "false";\nDir::State "/var/lib/apt";\n'
    text = apt_configuration(tmp_path, "sid", inherited + 'APT::Update::Post-Invoke:: "rm -rf /";\n')
    assert 'Acquire::http::Proxy "http://p:1";' in text
    assert 'Acquire::Check-Valid-Until "false";' in text
    assert "/var/lib/apt" not in text
    assert "Post-Invoke" not in text
    assert f'Dir::State "{tmp_path}/state";' in text


@pytest.mark.parametrize(
    ("complaint", "words"),
    [
        ("Failed to fetch http://x  Temporary failure resolving 'x'", "can't be reached"),
        ("GPG error: http://x sid InRelease: The following signatures: NO_PUBKEY 6ED0", "can't be trusted"),
        ("Write error - write (28: No space left on device)", "the disk is full"),
        ("Unable to locate package rabbitmq-server", "apt-get failed: Unable to locate package"),
    ],
)
def test_what_apt_complains_about_is_reported(complaint: str, words: str) -> None:
    error = apt_failure("apt-get", [complaint])
    assert words in error.message
    assert error.hint


def test_a_system_without_apt_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AptError, match="this system has no apt-get and no dpkg-deb"):
        Apt("sid", tmp_path).update()


class FakeDebian:
    """Stands for apt: counts what was fetched; fails on demand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
        self.fetched = 0
        self.offline = False
        self.breaks = False
        monkeypatch.setenv("TIDEGAUGE_CACHE", str(cache))
        monkeypatch.setattr(Apt, "update", lambda _apt: self.update())
        monkeypatch.setattr(Apt, "versions", lambda of: {"4.3.6": "4.3.6-1"} if of.suite == "sid" else {})
        monkeypatch.setattr(Apt, "packages", lambda _apt, version: [f"rabbitmq-server={version}"])
        monkeypatch.setattr(Apt, "download", lambda _apt, packages, target: self.download(packages, target))
        monkeypatch.setattr(provision, "unpack_package", lambda _package, target: self.unpack(target))
        monkeypatch.setattr(provision, "INSTALLED", cache / "not-installed")
        monkeypatch.setattr(provision, "relocate", lambda _tree, _final: None)
        monkeypatch.setattr(provision, "check_runs", lambda _final: self.check())

    def update(self) -> None:
        if self.offline:
            raise apt_failure("apt-get", ["Could not resolve 'deb.debian.org'"])

    def download(self, packages: Sequence[str], target: Path) -> list[Path]:
        self.fetched += 1
        (target / "p.deb").write_text(" ".join(packages))
        return [target / "p.deb"]

    def unpack(self, target: Path) -> None:
        (target / "file").write_text("content")

    def check(self) -> None:
        if self.breaks:
            raise UserError("it does not run here.")


@pytest.fixture
def debian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDebian:
    return FakeDebian(monkeypatch, tmp_path / "cache")


def get() -> str:
    return provision.provision("4.3.6", lambda _: None).digest


def test_packages_are_fetched_once(debian: FakeDebian, tmp_path: Path) -> None:
    distribution = provision.provision("4.3.6", lambda _: None)
    assert distribution.source == "debian sid, rabbitmq-server 4.3.6-1"
    assert distribution.directory == tmp_path / "cache/distributions/rabbitmq-4.3.6/root"
    assert "p.deb" in (tmp_path / "cache/distributions/rabbitmq-4.3.6/packages.txt").read_text()
    debian.offline = True
    assert get() == distribution.digest
    assert debian.fetched == 1


def test_a_damaged_or_moved_entry_is_fetched_again(
    debian: FakeDebian, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = get()
    (tmp_path / "cache/distributions/rabbitmq-4.3.6/root/file").write_text("other")
    notes: list[str] = []
    assert provision.provision("4.3.6", notes.append).digest == digest
    assert "not usable (root/file is damaged)" in notes[0]
    assert debian.fetched == 2
    (tmp_path / "cache/distributions/rabbitmq-4.3.6/root/file").write_text("other")
    debian.offline = True
    with pytest.raises(UserError, match=r"not usable \(root/file is damaged\)\. .*can't be reached"):
        get()
    debian.offline = False
    assert get() == digest
    assert debian.fetched == 3
    (tmp_path / "cache").rename(tmp_path / "elsewhere")
    monkeypatch.setenv("TIDEGAUGE_CACHE", str(tmp_path / "elsewhere"))
    assert get() == digest
    assert debian.fetched == 4


def test_what_does_not_run_is_not_kept(debian: FakeDebian, tmp_path: Path) -> None:
    debian.breaks = True
    with pytest.raises(UserError, match="does not run here"):
        get()
    assert not list((tmp_path / "cache/distributions").glob("*rabbitmq-4.3.6*/**/file"))
    debian.breaks = False
    get()
    assert debian.fetched == 2


def test_a_version_that_is_nowhere_names_the_nearest(debian: FakeDebian) -> None:
    with pytest.raises(UserError, match=r"rabbitmq 4\.4\.0 is in no release of Debian") as raised:
        provision.provision("4.4.0", lambda _: None)
    assert "4.3.6" in raised.value.hint
    assert debian.fetched == 0


def test_offline_without_the_files_is_reported(debian: FakeDebian) -> None:
    debian.offline = True
    with pytest.raises(UserError, match=r"rabbitmq 4\.3\.6 is not in the cache\. Debian's archive can't be reached"):
        get()


def test_erlang_scripts_run_below_a_path_with_a_space(tmp_path: Path) -> None:
    script = tmp_path / "bin/erl"
    script.parent.mkdir()
    script.write_text(f'ROOTDIR=/{provision.ERLANG}\necho "$ROOTDIR"\n')
    provision._rename_root(tmp_path, Path("/a home/erlang"))
    assert subprocess.run(["sh", script], capture_output=True, text=True, check=True).stdout == "/a home/erlang\n"


def test_the_loader_comes_from_the_packages(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no C library"):
        provision.find_loader(tmp_path)
    folder = tmp_path / "lib/x86_64-linux-gnu"
    folder.mkdir(parents=True)
    (folder / "ld-2.31.so").touch()
    (folder / "ld-linux-x86-64.so.2").symlink_to("/lib/x86_64-linux-gnu/ld-2.31.so")
    assert provision.find_loader(tmp_path) == folder / "ld-2.31.so"
    assert provision.KEYRING.is_absolute()
