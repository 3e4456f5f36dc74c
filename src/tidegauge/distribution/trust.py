"""The machine's certificate authorities as a Java key store.

A bundled Java runtime trusts only the authorities it came with. On a machine whose way out is a proxy with its own
authority, Python works (it uses the system's list) and that Java does not. So it is given the system's list.
"""

from __future__ import annotations

import hashlib
import os
import re
import ssl
import struct
from pathlib import Path

JKS_MAGIC, JKS_VERSION, TRUSTED_CERTIFICATE = 0xFEEDFEED, 2, 2
PASSWORD = "changeit"  # Java's well-known default: the store holds public certificates only.
PEM = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


def system_bundle() -> Path | None:
    """The file with this machine's certificate authorities, as Python's own https uses it; None if there is none."""
    paths = ssl.get_default_verify_paths()
    candidates = (os.environ.get("SSL_CERT_FILE"), paths.cafile, "/etc/ssl/certs/ca-certificates.crt")
    return next((Path(name) for name in candidates if name and Path(name).is_file()), None)


def jks_from_pem(pem: str) -> bytes:
    """A Java key store (JKS) of the certificates in a PEM text; other text in it is ignored. Pure."""
    certificates = [ssl.PEM_cert_to_DER_cert(block) for block in PEM.findall(pem)]
    body = struct.pack(">III", JKS_MAGIC, JKS_VERSION, len(certificates))
    for number, der in enumerate(certificates):
        body += struct.pack(">I", TRUSTED_CERTIFICATE) + _utf(f"ca-{number}") + struct.pack(">q", 0)
        body += _utf("X.509") + struct.pack(">I", len(der)) + der
    return body + hashlib.sha1(PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()


def write_trust_store(directory: Path) -> Path | None:
    """Write the machine's authorities for Java into `directory`; None if the machine has no list."""
    bundle = system_bundle()
    if bundle is None:
        return None
    store = directory / "trust.jks"
    part = directory / f"trust.jks.{os.getpid()}"
    part.write_bytes(jks_from_pem(bundle.read_text(encoding="latin-1")))
    part.replace(store)
    return store


def _utf(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">H", len(data)) + data
