"""Where RabbitMQ and Erlang are in a directory: an unpacked package, an installed one, or the generic archive."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from tidegauge.errors import UserError

SERVER_FOLDERS = (".", "rabbitmq_server-*", "lib/rabbitmq_server-*", "usr/lib/rabbitmq/lib/rabbitmq_server-*")
ERLANG_FOLDERS = ("usr/lib/erlang/bin", "lib/erlang/bin", "erlang/bin")
VERSION = re.compile(r"\d+\.\d+\.\d+(?:[-.\w]*)?")


@dataclass(frozen=True)
class Layout:
    """A server's files.

    Attributes:
        version: "4.3.6", as the files say.
        server: the folder with sbin/ and plugins/.
        erlang: the folder with `erl`.
        epmd: Erlang's port mapper.
    """

    version: str
    server: Path
    erlang: Path
    epmd: Path

    @property
    def start_script(self) -> Path:
        """Starts a node in the foreground. Not the package's wrapper, which changes to another user."""
        return self.server / "sbin" / "rabbitmq-server"


def find_layout(directory: Path) -> Layout:
    """The server in a directory, with the Erlang beside it or, failing that, the one on PATH. Raises `UserError`."""
    if not directory.is_dir():
        raise UserError(
            f"rabbitmq@{directory}: there is no such directory.", "Give the folder of an unpacked RabbitMQ."
        )
    server = find_server(directory)
    if server is None:
        raise UserError(
            f"{directory} does not hold RabbitMQ: no sbin/rabbitmq-server in it or in its rabbitmq_server-* folders.",
            "Give the folder of the unpacked archive (rabbitmq_server-4.x.y), /usr/lib/rabbitmq, or a package's tree.",
        )
    version = version_of(server)
    if not version:
        raise UserError(f"{server} does not tell its version.", "Keep the folder's name: rabbitmq_server-4.x.y.")
    erlang = _find_erlang(directory)
    if erlang is None:
        raise UserError(
            f"RabbitMQ {version} in {directory} needs Erlang, and there is no `erl` beside it or on PATH.",
            "Install Erlang (Debian: erlang-base with the modules that rabbitmq-server needs), or give no directory: "
            "then both are fetched.",
        )
    epmd = _find_epmd(erlang)
    if epmd is None:
        raise UserError(f"Erlang in {erlang} has no epmd.", "Install all of Erlang.")
    return Layout(version, server, erlang, epmd)


def find_server(directory: Path) -> Path | None:
    """The newest server folder in a directory, None if there is none."""
    found = [path for pattern in SERVER_FOLDERS for path in _folders(directory, pattern)]
    servers = [path for path in found if (path / "sbin" / "rabbitmq-server").is_file()]
    return max(servers, key=lambda path: version_numbers(version_of(path)), default=None)


def version_of(server: Path) -> str:
    """The version that a server folder's name or its core plugin tells, "" if neither does."""
    plugins = (path.name for path in sorted((server / "plugins").glob("rabbit-[0-9]*")))
    for name in (server.resolve().name.removeprefix("rabbitmq_server-"), *plugins):
        text = name.removeprefix("rabbit-").removesuffix(".ez")
        if VERSION.fullmatch(text):
            return text
    return ""


def version_numbers(version: str) -> tuple[int, int, int]:
    """(4, 3, 6) of "4.3.6"; zeros for what is not told. Pure."""
    numbers = [int(part) for part in re.findall(r"\d+", version.partition("-")[0])[:3]]
    return tuple([*numbers, 0, 0, 0][:3])  # type: ignore[return-value]


def _folders(directory: Path, pattern: str) -> list[Path]:
    return [directory] if pattern == "." else sorted(directory.glob(pattern))


def _find_erlang(directory: Path) -> Path | None:
    beside = (directory / folder for folder in ERLANG_FOLDERS)
    found = next((path for path in beside if (path / "erl").is_file()), None)
    if found is not None:
        return found
    on_path = shutil.which("erl")
    return Path(on_path).parent if on_path else None


def _find_epmd(erlang: Path) -> Path | None:
    real = (erlang / "erl").resolve().parent
    candidates = [erlang / "epmd", real / "epmd", *sorted(real.parent.glob("erts-*/bin/epmd"))]
    return next((path for path in candidates if path.is_file()), None)
