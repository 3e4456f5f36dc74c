"""Setting up: what is said before it begins, fetches that fail or are interrupted in the middle, and the next try."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tidegauge.campaign.plan.memory import Workers, memory_needs
from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.distribution.cache import cache_directory
from tidegauge.distribution.maven import unpack_archive
from tidegauge.errors import UserError
from tidegauge.hosts.memory import this_machine
from tidegauge.model.host import MemoryAvailable
from tidegauge.systems import registry
from tidegauge.worker import site

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

import jdk  # noqa: E402
import preflight  # noqa: E402


class Registry(ThreadingHTTPServer):
    """Files of a directory, for pip and Maven. `fails`: "503" answers so, "cut" ends in the middle, "hang" waits."""

    fails = ""
    asked = threading.Event()
    go_on = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Who is answered badly may leave early: no reason for a traceback among the tests' own lines."""


class Handler(SimpleHTTPRequestHandler):
    server: Registry

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self.server.asked.set()
        if self.server.fails == "503":
            self.send_error(503)
        elif self.server.fails == "cut":
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
            self.wfile.write(b"<half")
            self.close_connection = True
        else:
            if self.server.fails == "hang":
                self.server.go_on.wait(120)
            super().do_GET()


@pytest.fixture
def loopback(tmp_path: Path) -> Iterator[Registry]:
    (tmp_path / "registry").mkdir()
    server = Registry(("127.0.0.1", 0), partial(Handler, directory=str(tmp_path / "registry")))
    server.asked, server.go_on = threading.Event(), threading.Event()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.go_on.set()
    server.shutdown()
    server.server_close()
    thread.join()


class TestPreflight:
    def test_a_path_that_would_be_split(self) -> None:
        assert "contains a colon" in preflight.path_obstacles(Path("/home/me/a:b"))[0]
        assert preflight.path_obstacles(Path("/home/me/a b")) == []

    def test_a_directory_that_will_do(self, tmp_path: Path) -> None:
        assert preflight.directory_obstacles(tmp_path / "new/deep", 1, "Move") == []
        assert list(tmp_path.iterdir()) == []

    def test_too_little_space(self, tmp_path: Path) -> None:
        (obstacle,) = preflight.directory_obstacles(tmp_path, 1 << 40, "Move it")
        assert "1,099,511,627,776 are needed there. Move it." in obstacle

    def test_a_file_in_the_way(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        assert "file is no directory" in preflight.directory_obstacles(tmp_path / "file/cache", 0, "Move")[0]

    def test_noexec(self) -> None:
        if not os.statvfs("/proc").f_flag & os.ST_NOEXEC:
            pytest.skip("/proc is mounted without noexec here")
        assert "mounted with noexec" in preflight.directory_obstacles(Path("/proc/self"), 0, "Move")[0]

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    def test_not_ours(self) -> None:
        assert "belongs to somebody else" in preflight.directory_obstacles(Path("/usr/tidegauge"), 0, "Move")[0]

    def test_below_a_directory_that_may_not_be_entered(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        real = os.stat

        def refused(path: object, **more: Any) -> os.stat_result:
            if str(path).startswith(f"{tmp_path}/"):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            return real(path, **more)  # type: ignore[arg-type]

        monkeypatch.setattr(os, "stat", refused)
        monkeypatch.setattr(os, "access", lambda *_: False)
        (obstacle,) = preflight.directory_obstacles(tmp_path / "of-another/cache", 0, "Move")
        assert f"{tmp_path} is read-only, or belongs to somebody else" in obstacle

    def test_no_jdk_and_no_way_to_one(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setattr(preflight, "machine_jdk", lambda _tools: None)
        assert "without apt-get and dpkg" in preflight.jdk_obstacles()[0]
        monkeypatch.setattr(preflight, "machine_jdk", lambda _tools: tmp_path)
        assert preflight.jdk_obstacles() == []

    def test_a_space_where_servers_keep_files(self) -> None:
        assert "TIDEGAUGE_RUNS" in preflight.space_obstacles("TIDEGAUGE_RUNS", Path("/home/a b/runs"))[0]
        assert preflight.space_obstacles("TIDEGAUGE_RUNS", Path("/home/ab/runs")) == []

    def test_memory_for_one_system(self) -> None:
        campaign = parse_campaign(ROOT / "campaigns/quick.yaml", {}, sorted(registry.all_systems()))
        workers = Workers(plan_campaign(campaign).trials, campaign.worker, this_machine())
        needed_mb = min(need.total_mb for need in memory_needs(campaign, workers))
        assert preflight.memory_obstacles(MemoryAvailable(needed_mb, "of it")) == []
        assert "End other programs" in preflight.memory_obstacles(MemoryAvailable(needed_mb - 1, "of it"))[0]


class TestUnpack:
    @staticmethod
    def archive(path: Path, *members: tarfile.TarInfo) -> Path:
        with tarfile.open(path, "w:gz") as tar:
            for member in members:
                member.size = 2 if member.isfile() else 0
                tar.addfile(member, io.BytesIO(b"hi"))
        return path

    def test_programs_stay_executable(self, tmp_path: Path) -> None:
        program, text = tarfile.TarInfo("maven/bin/mvn"), tarfile.TarInfo("maven/README")
        program.mode, text.mode = 0o755, 0o644
        unpack_archive(self.archive(tmp_path / "a.tar.gz", program, text), tmp_path / "out")
        assert os.access(tmp_path / "out/maven/bin/mvn", os.X_OK)
        assert not (tmp_path / "out/maven/README").stat().st_mode & 0o111
        assert (tmp_path / "out/maven/README").read_text() == "hi"

    @pytest.mark.parametrize("name", ["../out-of-it", "a/../../b", "/tmp/absolute", "link"])
    def test_what_leads_out_is_refused(self, tmp_path: Path, name: str) -> None:
        member = tarfile.TarInfo(name)
        if name == "link":
            member.type, member.linkname = tarfile.SYMTYPE, "/etc"
        with pytest.raises(UserError, match="no file below"):
            unpack_archive(self.archive(tmp_path / "a.tar.gz", member), tmp_path / "out")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar.gz"]


FAKE_UV = """#!/bin/sh
[ "$1" = --version ] && echo "uv {version}" && exit
echo "$@" >> uv-calls
"""


@pytest.fixture(scope="module")
def without_venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has pip and not venv, as Debian's without python3-venv: it needs a tenth of venv's time."""
    folder = tmp_path_factory.mktemp("without venv")
    subprocess.run([sys.executable, "-m", "venv", folder / "real"], check=True)
    script = folder / "python3"
    script.write_text(f'#!/bin/sh\n[ "$2" != venv ] || exit 1\nexec "{folder}/real/bin/python" "$@"\n')
    script.chmod(0o755)
    return script


class TestBootstrap:
    """With the real pip, and in place of uv a script that notes how it is called."""

    @pytest.fixture
    def checkout(self, tmp_path: Path) -> Path:
        checkout = tmp_path / "a checkout"
        for name in ("scripts", "src/tidegauge/distribution", "src/tidegauge/hosts", "src/tidegauge/model"):
            shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("__init__.py", "errors.py", "numbers.py", "places.py"):
            shutil.copy(ROOT / "src/tidegauge" / name, checkout / "src/tidegauge" / name)
        return checkout

    @pytest.fixture
    def environment(self, tmp_path: Path, loopback: Registry) -> dict[str, str]:
        version = next(
            line.partition("=")[2].strip()
            for line in (ROOT / "scripts/bootstrap.sh").read_text().splitlines()
            if line.startswith("UV_VERSION=")
        )
        folder = tmp_path / "registry/simple/uv"
        folder.mkdir(parents=True)
        name = f"uv-{version}-py3-none-any.whl"
        with zipfile.ZipFile(folder / name, "w") as wheel:
            script = zipfile.ZipInfo(f"uv-{version}.data/scripts/uv")
            script.external_attr = (stat.S_IFREG | 0o755) << 16
            wheel.writestr(script, FAKE_UV.format(version=version))
            info = f"uv-{version}.dist-info"
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: uv\nVersion: {version}\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
        (folder / "index.html").write_text(f'<!DOCTYPE html><a href="{name}">{name}</a>')
        return {
            "HOME": str(tmp_path / "home"),
            "PATH": "/usr/bin:/bin",
            "BASE_PYTHON": sys.executable,
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": f"{loopback.url}/simple",
            "PIP_RETRIES": "0",
            "PIP_NO_CACHE_DIR": "1",
        }

    @staticmethod
    def set_up(checkout: Path, environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [checkout / "scripts/bootstrap.sh", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=250, check=False)

    @pytest.mark.parametrize("fails", [pytest.param("503", marks=pytest.mark.slow), "cut"])
    def test_a_package_index_that_fails(
        self, checkout: Path, environment: dict[str, str], loopback: Registry, without_venv: Path, fails: str
    ) -> None:
        if fails == "cut":
            environment["BASE_PYTHON"] = str(without_venv)
        loopback.fails = fails
        done = self.set_up(checkout, environment)
        assert done.returncode == 1
        assert "could not be fetched from the Python package index" in done.stderr
        assert "Check the network" in done.stderr
        assert "Traceback" not in done.stderr
        loopback.fails = ""
        done = self.set_up(checkout, environment)
        assert done.returncode == 0, done.stderr
        assert "sync --quiet --locked --no-dev" in (checkout / "uv-calls").read_text()

    def test_interrupted_and_resumed(
        self, checkout: Path, environment: dict[str, str], loopback: Registry, without_venv: Path
    ) -> None:
        environment["BASE_PYTHON"] = str(without_venv)
        loopback.fails = "hang"
        process = subprocess.Popen(
            [checkout / "scripts/bootstrap.sh"],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert loopback.asked.wait(200)
        os.killpg(process.pid, signal.SIGINT)
        said = process.communicate(timeout=200)[1]
        assert process.returncode == 130
        assert "The same command resumes" in said
        loopback.fails = ""
        loopback.go_on.set()
        done = self.set_up(checkout, environment)
        assert done.returncode == 0, done.stderr

    def test_later_calls_of_uv(self, checkout: Path, environment: dict[str, str], without_venv: Path) -> None:
        """Tools for tests are kept once they are there; with a mirror the lock file is exported to it.

        uv refuses `--extra` beside `--all-extras`, which a fleet's host needs.
        """
        environment["BASE_PYTHON"] = str(without_venv)
        assert self.set_up(checkout, environment, "--fleet").returncode == 0
        call_for_fleet = (checkout / "uv-calls").read_text()
        assert "--all-extras" in call_for_fleet
        assert "--extra " not in call_for_fleet
        (checkout / "uv-calls").unlink()
        assert self.set_up(checkout, environment, "--dev").returncode == 0
        (checkout / ".venv").mkdir()
        (checkout / ".venv/.dev-ready").touch()
        assert self.set_up(checkout, environment).returncode == 0
        mirror = {"UV_DEFAULT_INDEX": "http://mirror.test/simple"}
        assert self.set_up(checkout, environment | mirror).returncode == 0
        calls = (checkout / "uv-calls").read_text().splitlines()
        assert [call.split()[0] for call in calls] == ["sync", "sync", "venv", "export", "pip"]
        assert not any("--no-dev" in call for call in calls)

    def test_packages_that_cannot_be_installed(
        self, checkout: Path, environment: dict[str, str], loopback: Registry, without_venv: Path
    ) -> None:
        """The real uv against a mirror that fails."""
        uv = ROOT / ".tools/uv/bin/uv"
        if not uv.exists():
            pytest.skip("this checkout uses a uv from elsewhere")
        (checkout / ".tools/uv/bin").mkdir(parents=True)
        (checkout / ".tools/uv/bin/uv").symlink_to(uv)
        for name in ("pyproject.toml", "uv.lock"):
            shutil.copy(ROOT / name, checkout / name)
        environment |= {"UV_DEFAULT_INDEX": f"{loopback.url}/simple", "UV_HTTP_RETRIES": "0", "UV_NO_CACHE": "1"}
        environment["BASE_PYTHON"] = str(without_venv)
        loopback.fails = "503"
        done = self.set_up(checkout, environment)
        assert done.returncode == 1
        assert "503" in done.stderr
        assert "could not be installed (see above)" in done.stderr
        assert "UV_DEFAULT_INDEX" in done.stderr

    def test_an_obstacle_is_said_before_anything_is_fetched(
        self, checkout: Path, environment: dict[str, str], loopback: Registry
    ) -> None:
        environment["TIDEGAUGE_CACHE"] = "/proc/self/cache"
        done = self.set_up(checkout, environment)
        assert done.returncode == 1
        assert "/proc/self/cache" in done.stderr
        assert "Nothing was fetched" in done.stderr
        assert not loopback.asked.is_set()


class TestMavenBuild:
    POM = """<project><modelVersion>4.0.0</modelVersion><artifactId>a</artifactId><packaging>pom</packaging>
    <parent><groupId>test</groupId><artifactId>parent</artifactId><version>1</version><relativePath/></parent></project>
    """
    PARENT = """<project><modelVersion>4.0.0</modelVersion><groupId>test</groupId><artifactId>parent</artifactId>
    <version>1</version><packaging>pom</packaging></project>"""

    def test_a_repository_that_fails(self, tmp_path: Path, loopback: Registry) -> None:
        folder = tmp_path / "registry/test/parent/1"
        folder.mkdir(parents=True)
        (folder / "parent-1.pom").write_text(self.PARENT)
        (folder / "parent-1.pom.sha1").write_text(hashlib.sha1(self.PARENT.encode()).hexdigest())
        (tmp_path / "pom.xml").write_text(self.POM)
        command = [sys.executable, ROOT / "scripts/mvn.py", "-q", "-B", "-f", tmp_path / "pom.xml", "validate"]
        (tmp_path / "a home").mkdir()
        environment = {**os.environ, "MAVEN_REPO": loopback.url, "HOME": str(tmp_path / "a home")}
        environment.setdefault("TIDEGAUGE_CACHE", str(cache_directory()))
        run = partial(
            subprocess.run, command, env=environment, capture_output=True, text=True, timeout=250, check=False
        )
        for loopback.fails, why in (("503", "503"), ("cut", "Premature end")):
            done = run()
            assert done.returncode == 1
            assert f"test:parent:pom:1 could not be fetched from {loopback.url}" in done.stderr
            assert why in done.stderr
            assert "MAVEN_REPO" in done.stderr
        loopback.fails = ""
        done = run()
        assert done.returncode == 0, done.stdout + done.stderr
        assert (tmp_path / "a home/.m2/repository/test/parent/1/parent-1.pom").exists()


class TestJdk:
    @pytest.fixture
    def packages(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A machine without a JDK, with programs in place of apt-get and dpkg; returns where they are."""
        programs = tmp_path / "bin"
        programs.mkdir()
        monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
        monkeypatch.setattr(jdk, "machine_jdk", lambda _tools: None)
        self.program(programs / "apt-get", 'case "$*" in *download*) touch a.deb;; esac')
        return programs

    @staticmethod
    def program(path: Path, text: str) -> None:
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def test_packages_that_cannot_be_fetched(self, tmp_path: Path, packages: Path) -> None:
        self.program(packages / "apt-get", 'echo "E: Failed to fetch http://debian.test/x.deb 503" >&2; exit 100')
        with pytest.raises(UserError) as caught:
            jdk.find_or_fetch_jdk(tmp_path / "tools")
        assert "Failed to fetch http://debian.test/x.deb 503" in caught.value.message
        assert "run make again" in caught.value.hint

    def test_one_cut_off_while_unpacked_is_not_taken_for_whole(self, tmp_path: Path, packages: Path) -> None:
        home = "usr/lib/jvm/java-17-openjdk-amd64"
        made = f'mkdir -p "$3/{home}/bin" "$3/{home}/lib/security"; echo x > "$3/{home}/lib/security/cacerts"'
        self.program(packages / "dpkg", f"{made}; exit 2")
        with pytest.raises(UserError):
            jdk.find_or_fetch_jdk(tmp_path / "tools")
        assert not (tmp_path / "tools/jdk").exists()
        javac = f'printf "#!/bin/sh\\necho javac 17.0.1\\n" > "$3/{home}/bin/javac"; chmod +x "$3/{home}/bin/javac"'
        self.program(packages / "dpkg", f"{made}; {javac}")
        assert jdk.find_or_fetch_jdk(tmp_path / "tools") == tmp_path / "tools/jdk" / home
        assert sorted(path.name for path in (tmp_path / "tools").iterdir()) == ["jdk"]


def test_native_libraries_are_not_unpacked_where_they_cannot_be_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEGAUGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(site.tempfile, "gettempdir", lambda: str(tmp_path))
    assert site.Installation().find("null").scratch == tmp_path
    monkeypatch.setattr(site.os, "statvfs", lambda _place: SimpleNamespace(f_flag=os.ST_NOEXEC))
    assert site.Installation().find("null").scratch == tmp_path / "cache/scratch"
