"""A real NATS server with TLS, passwords and NKeys: who gets in, and what the others are answered."""

from __future__ import annotations

import base64
import binascii
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from certificates import ELSEWHERE, Authority, Issued, make_authority
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from patience import Patience

from tidegauge.agent.local import LocalHost
from tidegauge.errors import AccessRefusedError, TidegaugeError
from tidegauge.systems import registry
from tidegauge.systems.nats.provision import PROGRAM
from tidegauge.systems.servers import is_listening
from tidegauge.worker.client import GrpcWorker
from tidegauge.worker.launch import start_worker

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(300)]

PASSWORD = "correct-horse-battery"
USER, SEED = 20 << 3, 18 << 3
"""The first bits of NKeys: of users, and of seeds."""


def encode(raw: bytes) -> str:
    """As NATS writes keys: with a checksum, in base 32."""
    return base64.b32encode(raw + binascii.crc_hqx(raw, 0).to_bytes(2, "little")).decode().rstrip("=")


def make_nkey(secret: bytes) -> tuple[str, str]:
    """The public key of a user, and its seed."""
    public = Ed25519PrivateKey.from_private_bytes(secret).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return encode(bytes([USER]) + public), encode(bytes([SEED | USER >> 5, (USER & 31) << 3]) + secret)


@dataclass
class Server:
    """A server of others, as a worker reaches it."""

    port: int
    monitoring: int
    worker: GrpcWorker
    authority: Authority
    seed: str

    def connection(self, scheme: str = "tls", **settings: str) -> dict[str, str]:
        """With the tests' authority; "__" in a keyword stands for the dot of a setting's name."""
        ca = {"tls.ca.path": str(self.authority.certificate_path)} if scheme == "tls" else {}
        return {
            "servers": f"{scheme}://127.0.0.1:{self.port}",
            "monitoringUrl": f"http://127.0.0.1:{self.monitoring}",
            **ca,
            **{key.replace("__", "."): value for key, value in settings.items()},
        }

    def refusal(self, connection: dict[str, str]) -> str:
        """Why the worker is kept out; nothing of the secrets is said."""
        with pytest.raises(AccessRefusedError) as caught:
            self.worker.probe("nats", connection, 10.0)
        assert PASSWORD not in caught.value.message
        assert self.seed not in caught.value.message
        assert "\n" not in caught.value.message
        return caught.value.message


@contextmanager
def running(directory: Path, authority: Authority, shown: Issued) -> Iterator[Server]:
    nats = registry.system_named("nats")
    program = nats.provision(nats.default_version, lambda _: None).directory / PROGRAM
    public, seed = make_nkey(bytes(range(32)))
    with LocalHost.open() as host:
        (directory / "logs").mkdir()
        port, monitoring = host.free_ports(2)
        config = directory / "nats.conf"
        config.write_text(
            f'listen: "127.0.0.1:{port}"\nhttp: "127.0.0.1:{monitoring}"\n'
            f'jetstream {{ store_dir: "{directory}/data" }}\n'
            f'tls {{ cert_file: "{shown.certificate}", key_file: "{shown.key}" }}\n'
            f'authorization {{ users: [{{user: alice, password: "{PASSWORD}"}}, {{nkey: {public}}}] }}\n'
        )
        with (directory / "nats.log").open("w") as log:
            server = subprocess.Popen([program, "-c", config], stderr=log)
        try:
            patience = Patience(20)
            while not is_listening("127.0.0.1", port) and not patience.is_over():
                time.sleep(0.05)
            worker = start_worker(host, "nats", directory / "logs")
            yield Server(port, monitoring, worker, authority, seed)
            worker.close()
        finally:
            server.terminate()
            server.wait()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    directory = tmp_path_factory.mktemp("nats")
    authority = make_authority(directory / "tls")
    with running(directory, authority, authority.issue("shown")) as found:
        yield found


def test_a_password_and_a_key_get_in(server: Server, tmp_path: Path) -> None:
    by_password = server.connection(auth__method="password", auth__user="alice", auth__password=PASSWORD)
    assert server.worker.probe("nats", by_password, 30.0) > 0
    assert server.worker.probe("nats", server.connection(auth__method="nkey", auth__token=server.seed), 30.0) > 0
    (tmp_path / "seed").write_text(f"{server.seed}\n")
    in_file = server.connection(auth__method="nkey", auth__token__path=str(tmp_path / "seed"))
    assert server.worker.probe("nats", in_file, 30.0) > 0
    described = server.worker.describe("nats", by_password, [])
    assert ("sync_interval", "120s") in {(setting.name, setting.value) for setting in described}


def test_others_are_kept_out_with_the_reason(server: Server) -> None:
    wrong = server.connection(auth__method="password", auth__user="alice", auth__password="not the one")
    assert "wrong password or unknown user" in server.refusal(wrong)
    assert "without credentials" in server.refusal(server.connection())
    assert "wants TLS" in server.refusal(server.connection("nats"))
    _, other = make_nkey(bytes(32))
    assert "wrong password or unknown user" in server.refusal(server.connection(auth__method="nkey", auth__token=other))
    with pytest.raises(TidegaugeError, match="begins with SU") as caught:
        server.worker.probe("nats", server.connection(auth__method="nkey", auth__token="SUWRONGSEED"), 10.0)
    assert "SUWRONGSEED" not in caught.value.message


def test_a_certificate_of_another_host_or_authority_is_refused(server: Server, tmp_path: Path) -> None:
    login = {"auth__method": "password", "auth__user": "alice", "auth__password": PASSWORD}
    stranger = make_authority(tmp_path / "stranger").certificate_path
    assert "TLS failed" in server.refusal(server.connection(tls__ca__path=str(stranger), **login))
    (tmp_path / "elsewhere").mkdir()
    shown = server.authority.issue("elsewhere", ELSEWHERE)
    with running(tmp_path / "elsewhere", server.authority, shown) as other:
        assert "TLS failed" in other.refusal(other.connection(**login))
        assert other.worker.probe("nats", other.connection(tls__verify__host="false", **login), 30.0) > 0
