"""Certificates for tests: an authority of the test's own, and what it signs. Files are PEM."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

KEY_BITS = 2048
LOOPBACK = ("127.0.0.1", "localhost")
ELSEWHERE = ("elsewhere.example",)


@dataclass(frozen=True)
class Issued:
    """A certificate with its private key (PKCS 8): each in a file, and both in one."""

    certificate: Path
    key: Path
    both: Path


@dataclass(frozen=True)
class Authority:
    """Who signs: its own certificate is what clients are to trust."""

    directory: Path
    certificate_path: Path
    certificate: x509.Certificate
    key: rsa.RSAPrivateKey

    def issue(self, name: str, hosts: tuple[str, ...] = LOOPBACK, days: int = 30) -> Issued:
        """A certificate for these hosts and for a client called `name`; expired if `days` is negative."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=KEY_BITS)
        names = [_general_name(host) for host in hosts]
        builder = _builder(_name(name), self.certificate.subject, key, days)
        certificate = builder.add_extension(x509.SubjectAlternativeName(names), critical=False).sign(
            self.key, hashes.SHA256()
        )
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        public = certificate.public_bytes(serialization.Encoding.PEM)
        issued = Issued(*(self.directory / f"{name}{ending}" for ending in (".crt", ".key", ".pem")))
        issued.certificate.write_bytes(public)
        issued.key.write_bytes(private)
        issued.both.write_bytes(private + public)
        return issued


def make_authority(directory: Path, name: str = "tests") -> Authority:
    """A new authority with its files below `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    key = rsa.generate_private_key(public_exponent=65537, key_size=KEY_BITS)
    constraints = x509.BasicConstraints(ca=True, path_length=None)
    builder = _builder(_name(f"authority {name}"), _name(f"authority {name}"), key, 60)
    certificate = builder.add_extension(constraints, critical=True).sign(key, hashes.SHA256())
    path = directory / f"{name}-ca.crt"
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return Authority(directory, path, certificate, key)


def _builder(subject: x509.Name, issuer: x509.Name, key: rsa.RSAPrivateKey, days: int) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    until = now + timedelta(days=days)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(now, until) - timedelta(days=2))
        .not_valid_after(until)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
