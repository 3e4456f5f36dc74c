"""A realm of Kerberos for tests: a server of tickets in Java, with files of keys."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from java_source import java_of_build

from tidegauge.distribution.coordinates import Coordinate, Recipe
from tidegauge.distribution.resolve import provision
from tidegauge.errors import UserError

REALM = "TESTS.EXAMPLE"
VERSION = "2.1.1"
KERBY = Recipe(
    system="kerby",
    version=VERSION,
    root=Coordinate("org.apache.kerby", "kerb-simplekdc", VERSION),
    extra=(Coordinate("org.slf4j", "slf4j-simple", "1.7.36"),),
)


@dataclass(frozen=True)
class Realm:
    """Where the realm's servers are written, and the keys of its principals."""

    config: Path
    keytab: Path


@contextmanager
def kerberos(directory: Path, port: int, *principals: str) -> Iterator[Realm]:
    """Serve tickets to these principals. Skips the test where the server can't be fetched."""
    try:
        jars = provision(KERBY, lambda _: None).directory
    except UserError as error:
        pytest.skip(f"Apache Kerby is not available here: {error.message}")
    directory.mkdir(parents=True)
    keytab, log = directory / "keys.keytab", directory / "log"
    source = Path(__file__).with_name("KerberosServer.java")
    command = [java_of_build(), "-cp", f"{jars}/*", source, directory, str(port), keytab, *principals]
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True) as server,
    ):
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            assert "ready" in server.stdout.readline(), log.read_text()
            yield Realm(directory / "krb5.conf", keytab)
        finally:
            server.stdin.close()
            server.wait(30)
