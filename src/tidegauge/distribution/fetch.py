"""Files from a Maven repository over https, checked against its checksums; the machine's authorities for Java.

A bundled Java runtime trusts only the authorities it came with. On a machine whose way out is a proxy with its own
authority, Python works (it uses the system's list) and that Java does not. So it is given the system's list.
"""

from __future__ import annotations

import hashlib
import os
import re
import ssl
import struct
import urllib.error
import urllib.request
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path

from tidegauge.atomic import replace_file
from tidegauge.distribution.cache import Progress, Report
from tidegauge.distribution.coordinates import Coordinate
from tidegauge.errors import TidegaugeError, UserError

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
        body += struct.pack(">I", TRUSTED_CERTIFICATE) + _java_utf(f"ca-{number}") + struct.pack(">q", 0)
        body += _java_utf("X.509") + struct.pack(">I", len(der)) + der
    return body + hashlib.sha1(PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()


def write_trust_store(directory: Path) -> Path | None:
    """Write the machine's authorities for Java into `directory`; None if the machine has no list."""
    bundle = system_bundle()
    if bundle is None:
        return None
    store = directory / "trust.jks"
    replace_file(store, jks_from_pem(bundle.read_text(encoding="latin-1")), shared=True)
    return store


def _java_utf(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">H", len(data)) + data


MAVEN_CENTRAL = "https://repo.maven.apache.org/maven2"
TIMEOUT_S = 60
CHUNK_BYTES = 1 << 20
NOTE_EVERY_BYTES = 50 * CHUNK_BYTES
NOT_FOUND = 404


class AbsentError(TidegaugeError):
    """The repository answered, and it does not have the file."""


class UnreachableError(UserError):
    """The repository could not be asked."""


def repository_url(environment: Mapping[str, str] | None = None) -> str:
    """Base address of the repository: $MAVEN_REPO, else a mirror in ~/.m2/settings.xml, else Maven Central."""
    env = os.environ if environment is None else environment
    if env.get("MAVEN_REPO"):
        return env["MAVEN_REPO"].rstrip("/")
    settings = Path(env.get("HOME", "~")).expanduser() / ".m2" / "settings.xml"
    try:
        return mirror_of_central(settings.read_bytes()) or MAVEN_CENTRAL
    except OSError:
        return MAVEN_CENTRAL


def without_credentials(text: str) -> str:
    """A text with "user:password@" taken out of every address in it, fit for messages and records. Pure."""
    return re.sub(r"(://)[^/\s@]+@", r"\1", text)


def shown_repository() -> str:
    """The repository's address as it may be shown and recorded."""
    return without_credentials(repository_url())


def mirror_of_central(settings_xml: bytes) -> str:
    """Address of the mirror that a Maven settings file names for Central, "" if it names none. Pure."""
    try:
        root = ET.fromstring(settings_xml)  # Which knows its encoding.
    except (ET.ParseError, LookupError, ValueError):
        return ""
    for mirror in root.iterfind(".//{*}mirror"):
        covered = {part.strip() for part in mirror.findtext("{*}mirrorOf", "").split(",")}
        if {"*", "central", "external:*"} & covered and "!central" not in covered:
            return mirror.findtext("{*}url", "").strip().rstrip("/")
    return ""


def fetch_text(url: str) -> str:
    """A small text. Raises `AbsentError` or `UnreachableError`."""
    with _open_url(url) as reply:
        return _read_reply(reply, url).decode("utf-8", "replace")


def fetch_artifact(coordinate: Coordinate, target: Path, report: Report, sha512: str = "") -> None:
    """Download an artifact to `target`, checked against `sha512` if given, else the repository's own checksum.

    Raises `AbsentError`, `UnreachableError`, or `UserError` if the checksum does not match.
    """
    url = f"{repository_url()}/{coordinate.path}"
    algorithm, expected = ("sha512", sha512) if sha512 else _published_checksum(url)
    checksum = _download_file(url, target, algorithm, f"{coordinate.artifact} {coordinate.version}", report)
    if checksum != expected.lower():
        target.unlink()
        raise UserError(
            f"{without_credentials(url)} arrived damaged: its {algorithm} checksum is not the published one.",
            "Run the command again; if it stays so, the repository or a proxy on the way to it is at fault.",
        )


def _download_file(url: str, target: Path, algorithm: str, name: str, report: Report) -> str:
    """Write a file and return its checksum."""
    digest, done_bytes = hashlib.new(algorithm), 0
    with _open_url(url) as reply, target.open("wb") as file:
        total = int(reply.headers.get("Content-Length") or 0)
        while chunk := _read_reply(reply, url, CHUNK_BYTES):
            file.write(chunk)
            digest.update(chunk)
            done_bytes += len(chunk)
            if done_bytes % NOTE_EVERY_BYTES < len(chunk) and total > NOTE_EVERY_BYTES:
                report(Progress(f"Fetching {name}", f"{done_bytes >> 20} of {total >> 20} MiB."))
    if done_bytes < total:
        target.unlink()
        shown_url = without_credentials(url)
        raise UnreachableError(
            f"{shown_url} broke off after {done_bytes:,} of {total:,} bytes.", "Run the command again."
        )
    return digest.hexdigest()


def _read_reply(reply, url: str, bytes_max: int | None = None) -> bytes:  # type: ignore[no-untyped-def]
    try:
        return bytes(reply.read(bytes_max))
    except (OSError, HTTPException) as error:
        raise UnreachableError(f"{without_credentials(url)} broke off: {error}.", "Run the command again.") from error


def _published_checksum(url: str) -> tuple[str, str]:
    for algorithm in ("sha512", "sha256", "sha1"):
        try:
            fields = fetch_text(f"{url}.{algorithm}").split()
        except AbsentError:
            continue
        if fields:
            return algorithm, fields[0]
    raise AbsentError(f"{without_credentials(url)} is not there, or has no checksum.")


def _open_url(url: str):  # type: ignore[no-untyped-def]  # urllib's reply has no public type
    bundle = system_bundle()
    shown_url = without_credentials(url)
    context = ssl.create_default_context(cafile=str(bundle) if bundle else None)
    request = urllib.request.Request(url, headers={"User-Agent": "tidegauge"})
    try:
        return urllib.request.urlopen(request, timeout=TIMEOUT_S, context=context)
    except urllib.error.HTTPError as error:
        if error.code == NOT_FOUND:
            raise AbsentError(f"{shown_url} does not exist.") from error
        raise UnreachableError(
            f"{shown_url} could not be fetched: the server answered {error.code} {error.reason}.",
            "Run the command again later, or name another repository in the environment variable MAVEN_REPO.",
        ) from error
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise UnreachableError(
            f"{shown_url} could not be fetched: {without_credentials(str(reason))}.",
            "Connect to the network, or name a repository that can be reached in the environment variable MAVEN_REPO.",
        ) from error
