"""Mutants of what users hand in: each is taken, or refused with one message and exit code 2, in seconds of CPU time.

Nothing is started: files are read, and planned where they can be. `TIDEGAUGE_FUZZ_SEED` draws other mutants; one that
fails is named by its kind, the seed and its number, which make it again.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from mutating import ODD_VALUES, mutated_bytes, mutated_text

from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.campaign.read.one_line import BENCH, CommandLine, compose_line
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.cli.main import run_command
from tidegauge.errors import UserError
from tidegauge.fleet.file import read_fleet_file
from tidegauge.omb.translate import translate_all
from tidegauge.systems.registry import all_systems

ROOT = Path(__file__).parents[2]
SEED = os.environ.get("TIDEGAUGE_FUZZ_SEED", "33")
COUNT, COUNT_SLOW = 300, 10_000
AT_ONCE = 500
CPU_S_MAX = 6.0
"""Of one mutant. A calm machine needs a hundredth of it for most, and one of those with the most trials a third."""

NULL = """\
name: tiny
systems: ["null"]
durability: 4
workload: {message-size: 200B, producers: 2}
experiments:
  - {name: latency, rate: 1000, warm-up-min: 1s, warm-up-max: 2s, measure: 3s, drain-max: 8s}
"""
CLUSTERS = """\
systems:
  - name: kafka
    producer: {metadata.max.age.ms: 60000}
    attach:
      bootstrap-servers: h1:9092, h2:9092
      tls: {ca: ca.pem, verify-host: false}
      auth: {method: plain, user: u, password: {file: secret.txt}}
      topic-prefix: mine-
      label: east
  - name: pulsar
    version: "4.0.6"
    attach:
      service-url: pulsar://h1:6650,h2:6650
      admin-url: http://h1:8080
      auth: {method: token, token: {env: T}}
  - name: rabbitmq
    attach: {uris: "amqp://h1:5672", management-url: "http://h1:15672", stream-uris: "rabbitmq-stream://h1:5552"}
"""
PROPERTIES = """\
bootstrap.servers=h1:9093
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\
  username="u" password="hunter2";
ssl.truststore.type=PEM
ssl.truststore.location=../ca.pem
linger.ms=20
fetch.min.bytes=9
request.timeout.ms=1000
"""
FLEETS = (
    """\
launcher: ray
address: 10.77.0.1:6379
network: 10.77.0.0/24
clock: {drift-ppm: 20, width-max: 2ms}
roles:
  servers: {label: {role: server}, count: 3, nodes-per-host: 2}
  loads: {label: {role: load}, count: 2, workers-per-host: 2}
  keeper: {label: {role: keeper}, count: 1}
""",
    "launcher: ray\naddress: auto\n",
)
CAMPAIGNS = sorted((ROOT / "campaigns").rglob("*.yaml"))
OMB = ROOT / "tests/omb_files"
OPTIONS = {
    "run": "level systems repeat data-dir price-per-host-hour threshold heap runs-dir direct-memory in-flight workers "
    "attach fleet scale prometheus resume junit",
    "attest": "level form nodes cuts scenario file-system seed data-dir markdown",
    "omb": "driver time-scale output-directory level form heap in-flight worker-heap",
    "compare": "noise runs-dir",
    "show": "runs-dir junit",
    "runs": "runs-dir",
    "published": "runs-dir",
}
SENSIBLE = (
    "1",
    "2",
    "3",
    "4",
    "0",
    "kafka",
    "kafka@4.3.1",
    "null",
    "null,kafka",
    "1GiB",
    "auto",
    "0.5",
    "brief",
    "last",
)
CONDITIONS = ("p99 < 10", "response_ms_p99 < 10", "lost <= 0", "acked_msgs_per_s > 1k", "latency/null: lost == 0")


def take_campaign(dice: random.Random, place: Path) -> None:
    base = dice.choice(CAMPAIGNS)
    path = write(dice, place / "campaigns" / base.name, base.read_text())
    plan_campaign(parse_campaign(path, {}, sorted(all_systems())))


def take_omb(dice: random.Random, place: Path) -> None:
    workload = dice.choice(sorted((OMB / "workloads").glob("*.yaml")))
    driver = dice.choice(sorted((OMB / "drivers").glob("*.yaml")))
    mutates_workload = dice.random() < 0.5
    paths = [
        write(dice, place / "omb" / kind / file.name, file.read_text(), mutates is mutates_workload)
        for kind, file, mutates in (("workloads", workload, True), ("drivers", driver, False))
    ]
    for translation in translate_all(paths[:1], paths[1:], managed=dice.random() < 0.5, time_scale=1.0):
        plan_campaign(translation.campaign)


def take_attach(dice: random.Random, place: Path) -> None:
    path = write(dice, place / "clusters.yaml", CLUSTERS)
    base = dice.choice(CAMPAIGNS)
    plan_campaign(parse_campaign(base, {"attach": str(path)}, sorted(all_systems())))


def take_properties(dice: random.Random, place: Path) -> None:
    """The file of Kafka's own tools, whose password must be in no message, and in nothing that a run would keep."""
    path = write(dice, place / "client.properties", PROPERTIES)
    try:
        line = CommandLine(BENCH, "kafka", dice.choice((None, "h1")), rate="5", partitions=1, client_properties=path)
        composed = compose_line(line)
        campaign = composed.campaign(place / "line", composed.text())
    except UserError as error:
        assert "hunter2" not in f"{error.message} {error.hint}"
        raise
    plan_campaign(campaign)
    assert "hunter2" not in f"{composed.text()} {campaign.notes}"


def take_fleet(dice: random.Random, place: Path) -> None:
    read_fleet_file(write(dice, place / "fleet.yaml", dice.choice(FLEETS)))


def take_options(dice: random.Random, place: Path) -> None:
    """The command itself, in this process. Verbs that write, or look at the machine, are left out."""
    verb = dice.choice([*OPTIONS, "run", "run"])
    campaign = place / "null.yaml"
    campaign.write_text(NULL)
    begin = {
        "run": [str(campaign), "--dry-run"],
        "attest": [dice.choice(SENSIBLE), "--dry-run"],
        "omb": [str(OMB / "workloads/1-topic-1-partition.yaml"), "--dry-run"],
        "compare": ["last", "last"],
        "published": ["last"],
    }
    arguments = [verb, *begin.get(verb, [])]
    names = OPTIONS[verb].split()
    for name in dice.sample(names, min(len(names), dice.choice((1, 1, 2, 3)))):
        arguments += [f"--{name}", value_of(dice, name)]
    if dice.random() < 0.3:
        arguments.append("--json")
    code = run_command(arguments)
    assert code in (0, UserError.exit_code), f"exit code {code} of {arguments}"
    if code == UserError.exit_code:
        raise UserError("The command has said why.")


def value_of(dice: random.Random, name: str) -> str:
    kind = dice.random()
    if kind < 0.4:
        return dice.choice(SENSIBLE)
    if name == "threshold" and kind < 0.8:
        return fit_for_an_argument(mutated_text(dice, dice.choice(CONDITIONS)))
    return fit_for_an_argument(str(dice.choice([odd for odd in ODD_VALUES if odd != 10**400])))


def fit_for_an_argument(text: str) -> str:
    """No argument can hold a NUL, and what is no UTF-8 comes as Python has it."""
    return os.fsdecode(text.replace("\0", "").encode("utf-8", "surrogatepass"))


def put_no_file(dice: random.Random, path: Path) -> None:
    """Something else where a file is expected."""
    kind = dice.choice(("nothing", "directory", "fifo", "/dev/zero", "/dev/null", "/proc/kmsg", "loop", "empty"))
    path.unlink(missing_ok=True)
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "empty":
        path.touch()
    elif kind != "nothing":
        path.symlink_to(path.name if kind == "loop" else kind)


def remove(path: Path) -> None:
    """Make room for the next mutant."""
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


def write(dice: random.Random, path: Path, text: str, mutate: bool = True) -> Path:
    """The file, or a mutant of it."""
    remove(path)
    if mutate and dice.random() < 0.03:
        put_no_file(dice, path)
    elif mutate and dice.random() < 0.1:
        path.write_bytes(mutated_bytes(dice, text.encode()))
    else:
        path.write_bytes((mutated_text(dice, text) if mutate else text).encode("utf-8", "surrogatepass"))
    return path


KINDS: dict[str, Callable[[random.Random, Path], None]] = {
    "campaign": take_campaign,
    "omb": take_omb,
    "attach": take_attach,
    "properties": take_properties,
    "fleet": take_fleet,
    "options": take_options,
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where mutants lie: beside what the files that they are made of name."""
    for directory in ("campaigns", "workloads"):
        shutil.copytree(ROOT / directory, tmp_path / directory)
    shutil.copytree(OMB, tmp_path / "omb")
    (tmp_path / "ca.pem").write_text("PEM")
    (tmp_path / "secret.txt").write_text("hunter2")
    (tmp_path / "here").mkdir()
    for directory in ("campaigns", "here"):
        (tmp_path / directory / "loop").symlink_to("loop")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("TIDEGAUGE_RUNS", str(tmp_path / "runs"))
    monkeypatch.delenv("TIDEGAUGE_DEBUG", raising=False)
    return tmp_path


def problem_of(kind: str, number: int, place: Path, outcomes: Counter[str]) -> str:
    """What is wrong with how a mutant was answered; "" if nothing is."""
    dice = random.Random(f"{SEED} {kind} {number}")
    began_s = time.process_time()
    try:
        KINDS[kind](dice, place)
        outcomes["taken"] += 1
    except UserError as error:
        outcomes["refused"] += 1
        if error.exit_code != UserError.exit_code or not error.message.strip():
            return f"exit code {error.exit_code}, message '{error.message}'"
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:500]
    took_s = time.process_time() - began_s
    return f"took {took_s:.1f} s of CPU time" if took_s > CPU_S_MAX else ""


@pytest.mark.parametrize("kind", KINDS)
def test_a_mutant_is_taken_or_refused(kind: str, place: Path) -> None:
    outcomes: Counter[str] = Counter()
    problems = {number: problem_of(kind, number, place, outcomes) for number in range(COUNT)}
    assert {number: problem for number, problem in problems.items() if problem} == {}, f"seed {SEED}"
    # Of both kinds, else it would not be mutants that were tried.
    assert outcomes["refused"] > COUNT // 20


@pytest.mark.slow
@pytest.mark.scattered
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", range(COUNT, COUNT + COUNT_SLOW, AT_ONCE))
@pytest.mark.parametrize("kind", KINDS)
def test_each_of_many_mutants_is_taken_or_refused(kind: str, first: int, place: Path) -> None:
    outcomes: Counter[str] = Counter()
    problems = {number: problem_of(kind, number, place, outcomes) for number in range(first, first + AT_ONCE)}
    assert {number: problem for number, problem in problems.items() if problem} == {}, f"seed {SEED}"
