"""Debian's packages of one suite, by a private apt: the system's apt state is neither read nor changed; no root needed.

apt checks the archive's signature against Debian's keyring and every package against the signed list.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tidegauge.errors import UserError

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


class AptError(UserError):
    """apt could not do what was asked; the message says why."""


class NoConnectionError(AptError):
    """The archive can't be reached at all, so asking it for another suite is no use."""


@dataclass(frozen=True)
class Apt:
    """A private apt for one suite of Debian, with its state in `folder`."""

    suite: str
    folder: Path
    mirror: str = MIRROR

    def update(self) -> None:
        """Fetch the suite's signed package list. Raises `AptError`."""
        _require("apt-get", "dpkg-deb")
        if not KEYRING.is_file():
            raise AptError(
                f"Packages are fetched from Debian, and its keys are not here ({KEYRING}).",
                "Install the package debian-archive-keyring, or install RabbitMQ and give its directory.",
            )
        self._prepare()
        self._run(UPDATE_S_MAX, "apt-get", "-q", "update")

    def versions(self) -> dict[str, str]:
        """RabbitMQ's versions in this suite: upstream version ("4.3.6") to package version ("4.3.6-1")."""
        found = re.findall(r"^\s*\S+\s*\|\s*(\S+)\s*\|", self._run(60, "apt-cache", "madison", PACKAGE), re.MULTILINE)
        return {upstream_version(version): version for version in reversed(found)}

    def packages(self, package_version: str) -> list[str]:
        """ "name=version" of every package needed to run the server, as apt resolves them."""
        output = self._run(60, "apt-get", "-y", "-q", "--print-uris", "install", f"{PACKAGE}={package_version}")
        return needed_packages(output)

    def download(self, packages: Sequence[str], target: Path) -> list[Path]:
        """Fetch packages into a directory, checked. Returns the files, sorted."""
        self._run(DOWNLOAD_S_MAX, "apt-get", "-q", "download", *packages, cwd=target)
        return sorted(target.glob("*.deb"))

    def remove(self) -> None:
        """Drop the package lists: they are large and soon out of date."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _prepare(self) -> None:
        for name in ("state/lists/partial", "cache/archives/partial", "etc/parts"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "state/status").touch()
        (self.folder / "etc/sources.list").write_text(f"deb [signed-by={KEYRING}] {self.mirror} {self.suite} main\n")
        inherited = _run_plain(["apt-config", "dump"], None, 60, None)
        (self.folder / "apt.conf").write_text(configuration(self.folder, self.suite, inherited))

    def _run(self, seconds_max: int, *argv: str, cwd: Path | None = None) -> str:
        return _run_plain(argv, self.folder / "apt.conf", seconds_max, cwd)


def configuration(folder: Path, suite: str, inherited: str) -> str:
    """apt.conf for a private apt. Of the machine's own settings only those about mirrors are kept. Pure."""
    network = [line for line in inherited.splitlines() if INHERITED.match(line)]
    own = {
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
    return "".join([*(f"{line}\n" for line in network), *(f'{key} "{value}";\n' for key, value in own.items())])


def needed_packages(print_uris: str) -> list[str]:
    """ "name=version" of what is needed, from `apt-get --print-uris`. Pure.

    Each line is 'URI' NAME_VERSION_ARCHITECTURE.deb SIZE HASH, with ":" of the version as %3a.
    """
    files = re.findall(r"^'[^']+' (\S+?)_(\S+?)_\w+\.deb ", print_uris, re.MULTILINE)
    return sorted(f"{name}={version.replace('%3a', ':')}" for name, version in files if NEEDED.fullmatch(name))


def upstream_version(package_version: str) -> str:
    """ "4.3.6" of "1:4.3.6-1+deb13u2". Pure."""
    return package_version.rpartition(":")[2].partition("-")[0].partition("+")[0]


def unpack(package: Path, target: Path) -> None:
    """Unpack a package's files. Raises `AptError`."""
    _run_plain(["dpkg-deb", "-x", str(package), str(target)], None, 300, None)


def _require(*programs: str) -> None:
    missing = [name for name in programs if shutil.which(name) is None]
    if missing:
        raise AptError(
            f"RabbitMQ is fetched as Debian packages, and this system has no {' and no '.join(missing)}.",
            "Install RabbitMQ and give its directory: rabbitmq@/usr/lib/rabbitmq.",
        )


def _run_plain(argv: Sequence[str], config: Path | None, seconds_max: int, cwd: Path | None) -> str:
    """Standard output of a program. Raises `AptError` with its first complaint."""
    env = {**os.environ, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
    if config is not None:
        env["APT_CONFIG"] = str(config)
    try:
        done = subprocess.run(argv, env=env, cwd=cwd, capture_output=True, text=True, timeout=seconds_max, check=False)
    except subprocess.TimeoutExpired as error:
        raise AptError(f"{argv[0]} took over {seconds_max} s.", "Check the network and run it again.") from error
    except OSError as error:
        raise AptError(f"{argv[0]} can't be run: {error.strerror}.") from error
    complaints = re.findall(r"^[EW]: (.+)", done.stderr, re.MULTILINE)
    # `update` ends well though a list could not be fetched, if it has an older one; there is never an older one here.
    if done.returncode != 0 or (argv[-1] == "update" and UNREACHABLE.search(done.stderr)):
        raise failure(argv[0], complaints or done.stderr.strip().splitlines()[-1:] or [f"code {done.returncode}"])
    return done.stdout


def failure(program: str, complaints: Sequence[str]) -> AptError:
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
