"""A fleet of two hosts that are network namespaces, from `fleet head` to `fleet down`, over Ray itself."""

from __future__ import annotations

import ipaddress
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from fleet_hosts import NEEDS, Namespace, ip, namespaces
from patience import wait_for

pytestmark = NEEDS
AHEAD_S = 7200
"""So far is the monotonic clock of the second host ahead."""


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Namespace]]:
    places = [tmp_path_factory.mktemp(f"host-{number}") for number in (1, 2)]
    ahead = ("unshare", "--time", "--monotonic", str(AHEAD_S), "--fork")
    with namespaces(places, "10.213.7", [(), ahead]) as made:
        yield made


def test_two_hosts_become_a_fleet_and_leave_nothing(hosts: list[Namespace], tmp_path: Path) -> None:
    head, other = hosts
    begun = head.tidegauge("fleet", "head", "--role", "server")
    assert begun.returncode == 0, begun.stderr
    assert "fleet join 10.213.7.1:6379 --token token --role server" in begun.stdout

    # By the very command that was printed; another token, later, is not taken.
    wrong = tmp_path / "wrong"
    wrong.touch(mode=0o600)
    wrong.write_text("0" * 64)
    token = tmp_path / "token"
    token.touch(mode=0o600)
    token.write_text((head.state / "fleet/token").read_text())
    joined = other.tidegauge("fleet", "join", "10.213.7.1:6379", "--token", str(token), "--role", "load")
    assert joined.returncode == 0, joined.stderr
    again = other.tidegauge("fleet", "join", "10.213.7.1:6379", "--token", str(wrong))
    assert again.returncode == 2
    assert "This host is in a fleet already: its head is 10.213.7.1:6379." in again.stderr
    assert (other.state / "fleet/token").read_text() == token.read_text()

    assert [(host["address"], host["role"], host["alive"]) for host in head.json("fleet", "status")["hosts"]] == [
        ("10.213.7.1", "server", True),
        ("10.213.7.2", "load", True),
    ]
    check(head, tmp_path)
    comes_back(head, other)
    assert all(entered_by_nobody(host) == "" for host in hosts)
    assert not listens(head, METRICS_OF_HEAD)
    if shutil.which("nft"):
        assert "Ray is reached at 10.213.7.1 only" in " ".join(begun.stdout.split())
        assert reaches(other, "10.213.7.1")
        ip(f"-n {head.name} addr add 10.213.77.1/32 dev lo")
        ip(f"-n {other.name} route add 10.213.77.1 via 10.213.7.1")
        # It listens there as well.
        assert reaches(head, "10.213.77.1")
        assert not reaches(other, "10.213.77.1")
        ip(f"-n {head.name} addr del 10.213.77.1/32 dev lo")

    for host in reversed(hosts):
        assert host.tidegauge("fleet", "down").returncode == 0
        assert host.processes == []
        if shutil.which("nft"):
            line = ["ip", "netns", "exec", host.name, "nft", "list", "tables"]
            assert subprocess.run(line, check=True, capture_output=True, text=True).stdout == ""


def comes_back(head: Namespace, other: Namespace) -> None:
    """Ray that ended on a host is started again there by itself."""

    def raylets() -> list[int]:
        return [process.pid for process in other.processes if process.name() == "raylet"]

    def states() -> list[bool]:
        return [host["alive"] for host in head.json("fleet", "status")["hosts"]]

    (pid,) = raylets()
    psutil.Process(pid).kill()
    wait_for(lambda: raylets() not in ([], [pid]), 300.0, "Ray runs again")
    wait_for(lambda: states() == [True, True], 300.0, "it is in the fleet again")


METRICS_OF_HEAD = 7008
"""Ray's own figures, for which it wants no token."""
ENTERS = """
import os, sys
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
for path in sys.argv[1:]:
    try:
        os.stat(path)
    except PermissionError:
        continue
    print(path)
"""


def entered_by_nobody(host: Namespace) -> str:
    """Of Ray's sockets, its session and logs on a host those that another user gets at. It opens them to everybody."""
    line = ["ip", "netns", "exec", host.name, "cat", "/proc/net/unix"]
    listed = subprocess.run(line, check=True, capture_output=True, text=True).stdout.splitlines()
    sockets = {path for entry in listed if "tidegauge-ray-" in (path := entry.split()[-1])}
    assert sockets, "Ray has sockets"
    directory = Path(json.loads((host.state / "fleet/node.json").read_text())["directory"])
    files = [*directory.rglob("*.log"), *directory.rglob("*.err")]
    assert files, "Ray has logs"
    line = [sys.executable, "-c", ENTERS, *map(str, (*sockets, *files, directory / "r"))]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout


def listens(host: Namespace, port: int) -> bool:
    asks = f"import socket; socket.create_connection(('{host.address}', {port}), 5)"
    line = ["ip", "netns", "exec", host.name, sys.executable, "-c", asks]
    return subprocess.run(line, check=False, capture_output=True).returncode == 0


def reaches(host: Namespace, address: str) -> bool:
    """Whether Ray's control service takes a connection from a host at an address."""
    asks = f"import socket; socket.create_connection(('{address}', 6379), 5)"
    line = ["ip", "netns", "exec", host.name, sys.executable, "-c", asks]
    return subprocess.run(line, check=False, capture_output=True).returncode == 0


def check(head: Namespace, tmp_path: Path) -> None:
    """Every host and link was looked at, and the clock that is ahead is so within the bound."""
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(
        "launcher: ray\nnetwork: 10.213.7.0/24\nclock: {width-max: 1s}\n"
        "roles: {servers: {label: {role: server}, count: 1}, load: {label: {role: load}, count: 2}}\n"
    )
    found = head.json("fleet", "check", str(fleet))
    assert found["problems"] == [
        "The fleet has 1 host of role load, and needs 2: tidegauge fleet join ADDRESS --role load on 1 more host."
    ]
    assert set(found["disks"]) == {"10.213.7.1"}
    to_other, to_head = found["links"]
    assert (to_other["from_address"], to_other["to_address"]) == ("10.213.7.1", "10.213.7.2")
    assert all(link["bytes_per_s"] > 0 for link in found["links"])
    low_ns, high_ns = to_other["offset_ns"]
    assert low_ns <= AHEAD_S * 1e9 <= high_ns
    assert to_head["offset_ns"] == [-high_ns, -low_ns]


def certificates(hosts: list[Namespace], directory: Path) -> list[Path]:
    """A directory for each host, as an authority of somebody's own would fill it."""
    now, name = datetime.now(UTC), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "fleet")])
    signer = ec.generate_private_key(ec.SECP256R1())

    def signed(subject: x509.Name, key: ec.EllipticCurvePrivateKey, *extensions: x509.ExtensionType) -> bytes:
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(name).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        return builder.sign(signer, hashes.SHA256()).public_bytes(Encoding.PEM)

    authority = signed(name, signer, x509.BasicConstraints(ca=True, path_length=0))
    made = []
    for host in hosts:
        place, key = directory / host.name, ec.generate_private_key(ec.SECP256R1())
        place.mkdir()
        own = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host.address)])
        addresses = [x509.IPAddress(ipaddress.ip_address(address)) for address in (host.address, "127.0.0.1")]
        (place / "tls.crt").write_bytes(signed(own, key, x509.SubjectAlternativeName(addresses)))
        (place / "tls.key").touch(mode=0o600)
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (place / "tls.key").write_bytes(pem)
        (place / "ca.crt").write_bytes(authority)
        made.append(place)
    return made


ASKS = """
import socket, ssl, sys
directory, place = sys.argv[1:]
address, port = place.split(":")
context = ssl.create_default_context(cafile=f"{directory}/ca.crt")
context.load_cert_chain(f"{directory}/tls.crt", f"{directory}/tls.key")
with context.wrap_socket(socket.create_connection((address, int(port))), server_hostname=address) as way:
    print(dict(name for part in way.getpeercert()["subject"] for name in part)["commonName"])
"""


def tls_names(host: Namespace, directory: Path, place: str) -> str:
    """Whose certificate is shown at an address and port to who has one of the same authority."""
    line = ["ip", "netns", "exec", host.name, sys.executable, "-c", ASKS, str(directory), place]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.slow
def test_ray_speaks_tls_where_it_is_asked_to(hosts: list[Namespace], tmp_path: Path) -> None:
    head, other = hosts
    of_head, of_other = certificates(hosts, tmp_path)
    begun = head.tidegauge("fleet", "head", "--role", "server", "--tls", str(of_head))
    assert begun.returncode == 0, begun.stderr
    token = tmp_path / "token"
    token.touch(mode=0o600)
    token.write_text((head.state / "fleet/token").read_text())
    given = ("fleet", "join", "10.213.7.1:6379", "--token", str(token), "--role", "load")
    joined = other.tidegauge(*given, "--tls", str(of_other))
    assert joined.returncode == 0, joined.stderr
    assert [host["address"] for host in other.json("fleet", "status")["hosts"]] == ["10.213.7.1", "10.213.7.2"]
    assert tls_names(other, of_other, "10.213.7.1:6379") == "10.213.7.1"
    for host in reversed(hosts):
        assert host.tidegauge("fleet", "down").returncode == 0
        assert host.processes == []
