"""A system that Tidegauge does not know, measured like those that it knows.

Its package is laid out beside Tidegauge as an installer does, and once installed by pip.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from command import PATIENCE_S, Place, valid_unless_starved
from java_source import java_of_build

from tidegauge.worker.archive import worker_class_path

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
TOYLOG = Path(__file__).parents[1] / "toylog"
SERVICE = "META-INF/services/io.tidegauge.worker.api.DriverFactory"

SHORT = """
name: short
systems: [toylog]
durability: 3
workload: {message-size: 1KiB}
experiments:
  - {name: latency, rate: 500, warm-up-min: 1s, warm-up-max: 2s, measure: 3s, drain-max: 8s}
"""


def build_driver(jar: Path, scratch: Path) -> None:
    """Compile it against the load generator's interface, and nothing else."""
    class_path = ":".join(str(path) for path in worker_class_path("null"))
    javac = java_of_build().with_name("javac")
    sources = sorted((TOYLOG / "driver").rglob("*.java"))
    subprocess.run([javac, "--release", "17", "-cp", class_path, "-d", scratch, *sources], check=True)
    jar.parent.mkdir()
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr(SERVICE, "toylog.ToylogFactory\n")
        for path in scratch.rglob("*.class"):
            archive.write(path, path.relative_to(scratch))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the package as an installer leaves it: code, jars, and what its pyproject.toml says of it."""
    root = tmp_path_factory.mktemp("outside")
    site = root / "site"
    shutil.copytree(TOYLOG / "toylog", site / "toylog", ignore=shutil.ignore_patterns("__pycache__"))
    build_driver(site / "toylog/worker/toylog.jar", root / "classes")
    project = tomllib.loads((TOYLOG / "pyproject.toml").read_text())["project"]
    described = site / f"{project['name']}-{project['version']}.dist-info"
    described.mkdir()
    name, version = project["name"], project["version"]
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    groups = project["entry-points"].items()
    lines = [
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in points.items()) for group, points in groups
    ]
    (described / "entry_points.txt").write_text("\n".join(lines))
    return site


@pytest.fixture(scope="module")
def installed(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory into which pip has installed the package, with the driver's jars that were built for `site`."""
    root = tmp_path_factory.mktemp("installed")
    shutil.copytree(TOYLOG, root / "source", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(site / "toylog/worker", root / "source/toylog/worker")
    subprocess.run([Path(sys.base_prefix) / "bin/python3", "-m", "venv", root / "venv"], check=True)
    pip = [root / "venv/bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--target", root / "site", root / "source"], check=True)
    return root / "site"


@pytest.fixture
def place(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH")))))
    return Place(tmp_path)


def test_it_is_measured_every_message_checked_and_its_level_read_back(place: Place) -> None:
    done = place.run("run", str(place.write(SHORT)), timeout_s=3 * PATIENCE_S)
    valid_unless_starved(done, place)
    shown = json.loads(place.run("show", "last", "--json").stdout)
    (result,) = shown["experiments"][0]["results"]
    assert result["spec"]["system"] == "toylog@1.0"
    assert result["acked"] > 500
    (subscription,) = result["subscriptions"]
    assert subscription["received"] >= result["acked"]
    assert [subscription[what] for what in ("lost", "duplicated", "reordered", "corrupt", "backlog")] == [0] * 5
    assert "level 3" in done.stdout
    assert "Toylog" in done.stdout
    assert place.left_behind() == []


# In `make test`: test_three_nodes.py has a level that is not as asked.
@pytest.mark.slow
@pytest.mark.often
def test_a_server_that_does_not_sync_is_found_out(place: Place, site: Path) -> None:
    """The level is what the running server says, not what it was asked for."""
    server = site / "toylog/server.py"
    whole = server.read_text()
    server.write_text(
        whole.replace("Server(given.port, given.directory, given.fsync)", "Server(given.port, given.directory, False)")
    )
    try:
        done = place.run("run", str(place.write(SHORT)), timeout_s=3 * PATIENCE_S)
    finally:
        server.write_text(whole)
    assert done.returncode == 1, done.printed
    assert "level 4" in done.stdout + done.stderr, done.printed


def test_what_it_can_not_do_is_refused_with_the_reason(place: Place) -> None:
    place.write(SHORT.replace("{message-size: 1KiB}", "{message-size: 1KiB, subscription-type: shared}"))
    done = place.run("run", "campaign.yaml", "--dry-run")
    assert done.returncode == 2, done.printed
    assert "Toylog has no shared subscriptions" in done.stderr


@pytest.mark.slow
def test_quick_measures_it_as_pip_installs_it(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(installed), os.environ.get("PYTHONPATH")))))
    place = Place(tmp_path)
    done = place.run("quick", "--systems", "toylog", timeout_s=4 * PATIENCE_S)
    valid_unless_starved(done, place)
    assert "Toylog" in done.stdout
    assert place.left_behind() == []
