"""Who may speak to whom in a run: an authority of the run's own, whose key never leaves the controller.

Hosts make their own keys and are sent certificates, so that nothing secret passes through the launcher. A controller
may only ask and an agent only answer: another host's certificate opens no agent.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

VALID = timedelta(days=30)
"""Longer than any run."""
_CLOCKS_APART = timedelta(days=1)
"""Wall clocks of hosts may differ by so much."""


class Authority:
    """The run's authority, and the controller's own key and certificate."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _x509_name_of("tidegauge run")
        constraint = x509.BasicConstraints(ca=True, path_length=0)
        self.certificate_pem = self._certify_key(self._name, self._key.public_key(), constraint)

    def sign(self, request_pem: str, address: str) -> str:
        """A certificate for the agent at an IPv4 address that made this request. Raises `ValueError` if it is none."""
        request = x509.load_pem_x509_csr(request_pem.encode())
        if not request.is_signature_valid:
            raise ValueError("the request was not made by who holds its key")
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.IPv4Address(address))])
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        return self._certify_key(_x509_name_of(address), request.public_key(), usage, names)

    def controller_context(self) -> ssl.SSLContext:
        """The TLS context of connections to agents: it checks their certificate and address, and shows its own."""
        context = _tls_context(ssl.PROTOCOL_TLS_CLIENT, *self.controller_keys(), self.certificate_pem)
        context.check_hostname = True
        return context

    def controller_keys(self) -> tuple[str, str]:
        """A new key of the controller's, and its certificate, PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
        return _key_text(key), self._certify_key(_x509_name_of("controller"), key.public_key(), usage)

    def _certify_key(
        self,
        subject: x509.Name,
        key: CertificatePublicKeyTypes,
        restriction: x509.ExtensionType,
        names: x509.SubjectAlternativeName | None = None,
    ) -> str:
        """Certify a key: what it may be used for, and the addresses that it is of. Returns the certificate, PEM."""
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _CLOCKS_APART)
            .not_valid_after(now + VALID)
            .add_extension(restriction, critical=True)
        )
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


def make_request() -> tuple[str, str]:
    """A host's new key, and the request for a certificate for it, both PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(_x509_name_of("agent")).sign(key, hashes.SHA256())
    return _key_text(key), request.public_bytes(Encoding.PEM).decode()


def agent_context(key_pem: str, certificate_pem: str, authority_pem: str) -> ssl.SSLContext:
    """An agent's TLS context, which lets in only the run's controller. Raises `ssl.SSLError` for what does not fit."""
    return _tls_context(ssl.PROTOCOL_TLS_SERVER, key_pem, certificate_pem, authority_pem)


def _tls_context(protocol: ssl._SSLMethod, key_pem: str, certificate_pem: str, authority_pem: str) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=authority_pem)
    with _file_in_memory(key_pem + certificate_pem) as path:
        context.load_cert_chain(path)
    return context


@contextlib.contextmanager
def _file_in_memory(text: str) -> Iterator[str]:
    """A file that is on no disk, since `ssl` reads keys from files alone."""
    number = os.memfd_create("key")
    try:
        os.write(number, text.encode())
        yield f"/proc/self/fd/{number}"
    finally:
        os.close(number)


def _x509_name_of(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _key_text(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
