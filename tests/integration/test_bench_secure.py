"""`bench` and `ab` with the file of Kafka's own tools, on a real broker with TLS and passwords: as a user does it."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest
from certificates import make_authority
from command import Done, Place, valid_unless_starved, wait_until_measuring
from secure_kafka import PASSWORD, SCRAM_MODULE, Broker, broker

from tidegauge.config.properties import write_property

pytestmark = [pytest.mark.integration, pytest.mark.slow]
__all__ = ["broker"]

SHORT = [word for pair in ("warm-up-min=1s", "warm-up-max=2s", "drain-max=8s") for word in ("--set", pair)]
LINE = ["--rate", "300", "--duration", "3s", *SHORT]
REFUSED_S_MAX = 30.0
"""A load generator is started and asks once; what waits for a cluster that never comes takes minutes."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Where temporary files lie as well, so that they are looked through."""
    (tmp_path / "place" / "tmp").mkdir(parents=True)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "place" / "tmp"))
    place = Place(tmp_path / "place", reports=True)
    yield place
    assert place.strays() == []


def jaas(password: str = PASSWORD) -> str:
    quoted = password.replace("\\", "\\\\").replace('"', '\\"')
    return f'{SCRAM_MODULE} required username="alice" password="{quoted}";'


def client_properties(broker: Broker, place: Place, **changes: str | None) -> Path:
    """Such a file, outside of the place; "__" in a keyword stands for a dot, and None leaves a setting out."""
    settings: dict[str, str | None] = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": jaas(),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(broker.secured.authority.certificate_path),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(broker.client.both),
        "linger.ms": "7",
        **{key.replace("__", "."): value for key, value in changes.items()},
    }
    path = place.root.parent / "client.properties"
    path.write_text("".join(write_property(key, value) for key, value in settings.items() if value is not None))
    return path


def needles(broker: Broker) -> list[bytes]:
    """What must be nowhere, in the spellings that files may have it in."""
    key = broker.client.key.read_text()
    spellings = [PASSWORD, PASSWORD.replace('"', '\\"'), quote(PASSWORD), "horse", jaas(), SCRAM_MODULE]
    spellings += [base64.b64encode(PASSWORD.encode()).decode(), "PRIVATE KEY", *key.splitlines()[1:-1]]
    return [spelling.encode() for spelling in spellings]


def assert_nothing_kept(broker: Broker, place: Place, *texts: str) -> None:
    """None of it is in a file of the run, the state or the temporary directory, nor in these texts."""
    forbidden = needles(broker)
    files = [path for path in place.root.rglob("*") if path.is_file() and not path.is_symlink()]
    for path in files:
        content = path.read_bytes()
        assert [needle for needle in forbidden if needle in content] == [], path
    for text in texts:
        assert [needle for needle in forbidden if needle in text.encode()] == [], text


def commands_of(pid: int) -> list[str]:
    """What everybody can see of a command and all that it started."""
    command = psutil.Process(pid)
    return [" ".join(process.cmdline()) for process in (command, *command.children(recursive=True))]


@pytest.mark.parametrize(
    "line", [["bench"], ["ab", "-L", "producer.linger.ms=0,5", "--repeat", "1"]], ids=["bench", "ab"]
)
def test_it_measures_and_no_secret_is_anywhere(broker: Broker, place: Place, line: list[str]) -> None:
    file = client_properties(broker, place)
    address = f"127.0.0.1:{broker.ports['SECURE']}"
    verb, *more = line
    process = place.start(verb, "kafka", address, "--client-properties", str(file), *LINE, *more)
    wait_until_measuring(place, process)
    commands = commands_of(process.pid)
    assert any("io.tidegauge" in command for command in commands), "the load generator is among them"
    assert_nothing_kept(broker, place, *commands)
    done = process.finish(200)
    valid_unless_starved(done, place)
    shown = place.run("show", "last")
    assert_nothing_kept(broker, place, done.stdout, done.stderr, shown.stdout)
    kept = {path.name for path in place.only_run().rglob("*") if path.is_file()}
    assert {"report.html", "campaign.yaml", "worker.log", "settings.json", "result.json"} <= kept
    assert str(file) in (place.only_run() / "campaign.yaml").read_text(), "where the password is, is no secret"


def refused(broker: Broker, place: Place, listener: str, **changes: str | None) -> Done:
    """`bench` against a listener that does not let it in: it says why in one sentence, soon, and makes no run."""
    file = client_properties(broker, place, **changes)
    began_s = time.monotonic()
    done = place.run("bench", "kafka", f"127.0.0.1:{broker.ports[listener]}", "--client-properties", str(file), *LINE)
    assert time.monotonic() - began_s < REFUSED_S_MAX * (1 + 3 * done.starved)
    assert done.returncode in (1, 2), done.printed
    assert "Traceback" not in done.printed
    assert len([text for text in done.stderr.splitlines() if text.startswith("Error: ")]) == 1, done.printed
    assert not place.runs.exists() or not list(place.runs.iterdir())
    assert_nothing_kept(broker, place, done.stdout, done.stderr)
    return done


NO_PASSWORD = {"sasl__mechanism": None, "sasl__jaas__config": None}
NO_TLS = {"ssl__truststore__location": None, "ssl__keystore__location": None}


@pytest.mark.parametrize(
    ("listener", "changes", "says"),
    [
        ("SECURE", {"sasl__jaas__config": jaas("not the one")}, "wrong password or unknown user"),
        ("SECURE", {"sasl__mechanism": "SCRAM-SHA-256"}, "does not take this SASL mechanism"),
        ("SECURE", {**NO_TLS}, "the server's certificate is not trusted"),
        ("SECURE", {"security__protocol": "SASL_PLAINTEXT", **NO_TLS}, "wants TLS"),
        ("SECURE", {"security__protocol": None, **NO_PASSWORD, **NO_TLS}, "wants TLS"),
        ("SECURE", {"security__protocol": "SSL", **NO_PASSWORD}, "wants SASL"),
        ("SASL", {"security__protocol": None, **NO_PASSWORD, **NO_TLS}, "wants SASL"),
        (
            "MUTUAL",
            {"security__protocol": "SSL", **NO_PASSWORD, "ssl__keystore__location": None},
            "wants a client certificate",
        ),
        ("PLAINTEXT", {}, "speaks no TLS at this port"),
        ("ELSEWHERE", {"security__protocol": "SSL", **NO_PASSWORD}, "for another host name"),
        ("EXPIRED", {"security__protocol": "SSL", **NO_PASSWORD}, "the server's certificate has expired"),
        (
            "CONTROLLER",
            {"security__protocol": None, **NO_PASSWORD, **NO_TLS},
            "A KRaft controller listens at this port",
        ),
    ],
)
def test_who_is_kept_out_is_told_why_and_where_to_look(
    broker: Broker, place: Place, listener: str, changes: dict[str, str | None], says: str
) -> None:
    done = refused(broker, place, listener, **changes)
    assert done.returncode == 1
    assert says in " ".join(done.stderr.split()), done.printed
    assert "client.properties says of" in done.stderr


def test_another_authority_is_not_trusted(broker: Broker, place: Place) -> None:
    other = make_authority(place.root.parent / "other")
    done = refused(broker, place, "SECURE", ssl__truststore__location=str(other.certificate_path))
    assert "the server's certificate is not trusted" in done.stderr


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"sasl__jaas__config": None}, "SCRAM-SHA-512 needs a username and a password in sasl.jaas.config"),
        ({"sasl__mechanism": None}, "sasl.mechanism is not given, so it is GSSAPI"),
        ({"ssl__truststore__location": "/nowhere/ca.pem"}, "there is no such file"),
        ({"ssl__truststore__type": None}, "only PEM is read"),
    ],
)
def test_what_the_file_lacks_is_said_before_anything_is_started(
    broker: Broker, place: Place, changes: dict[str, str | None], says: str
) -> None:
    done = refused(broker, place, "SECURE", **changes)
    assert done.returncode == 2
    assert "client.properties:" in done.stderr
    assert says in done.stderr
