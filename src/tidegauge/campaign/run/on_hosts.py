"""What the hosts of a fleet are asked, and sent, before the first trial: by objects that the launcher makes on them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tidegauge.agent.local import LocalHost
from tidegauge.campaign.run.ceilings import ceilings_here
from tidegauge.distribution.cache import cache_directory
from tidegauge.distribution.sending import Inbox, Parcel, entry_parcel, send_parcel, tool_parcel
from tidegauge.errors import RunFailedError, UserError
from tidegauge.fleet.api import Launcher, Remote
from tidegauge.hosts.facts import host_facts, load_bounds
from tidegauge.hosts.memory import Machine, this_machine
from tidegauge.hosts.space import chosen_disk
from tidegauge.model.ceilings import RunCeilings
from tidegauge.model.host import FleetHost, HostFacts, LoadBounds
from tidegauge.model.server import Distribution
from tidegauge.systems import registry
from tidegauge.worker.site import Installation, Installed

_FETCH_S_MAX = 1800.0
_PIECE_S_MAX = 120.0


class OnHost:
    """An object on a host, which does there before a run what would be done here."""

    def machine(self) -> Machine:
        """What processes may use there."""
        return this_machine()

    def bounds(self) -> LoadBounds:
        """What a process may have there, and what the host has for load generators."""
        return load_bounds()

    def facts(self, places: Sequence[Path]) -> HostFacts:
        """What the host is, and what holds these places."""
        return host_facts(places)

    def check_disks(self, directories: Sequence[str]) -> None:
        """Raises `UserError` if one of the directories chosen for data is not there."""
        for directory in directories:
            chosen_disk(directory)

    def ceilings(self, data: Sequence[Path], journals: Sequence[Path]) -> RunCeilings:
        """What its disks can do at most. Raises `TidegaugeError`, `OSError`."""
        with LocalHost.open() as host:
            return ceilings_here(data, journals, host)

    def provision(self, system: str, version: str) -> Distribution:
        """The files of a system. Raises `UserError` if the host can't have them."""
        return registry.system_named(system).provision(version, lambda _text: None)


def workers_installed_on(
    launcher: Launcher, hosts: Sequence[FleetHost], drivers: Iterable[str]
) -> dict[tuple[str, str], Installed]:
    """What hosts have for workers, by their address and a driver.

    Raises `RunFailedError` if it is not what is here.
    """
    installed: dict[tuple[str, str], Installed] = {}
    for driver in drivers:
        local_installation = Installation().with_digest(driver)
        for address, remote_installation in call_on_each_host(
            launcher, hosts, Installation, "with_digest", driver
        ).items():
            if remote_installation.digest != local_installation.digest:
                raise RunFailedError(
                    f"The load generator on {address} is not the same as here.",
                    "Give all hosts the same Tidegauge; in a checkout, the same commit and `make build`.",
                )
            if remote_installation.java.version != local_installation.java.version:
                raise RunFailedError(
                    f"The load generator on {address} would run on Java {remote_installation.java.version}, here on "
                    f"{local_installation.java.version}.",
                    "Give all hosts the same Java.",
                )
            installed[address, driver] = remote_installation
    return installed


@contextlib.contextmanager
def _remote_object_on(launcher: Launcher, host: FleetHost, kind: Callable[[], object]) -> Iterator[Remote]:
    """An object on a host. What its methods raise becomes a `RunFailedError` with the host's address."""
    remote = launcher.start(host, kind)
    try:
        yield remote
    except UserError as error:
        raise RunFailedError(f"{host.address}: {error.message}", error.hint) from error
    except OSError as error:
        raise RunFailedError(f"{host.address}: {error.strerror or error}.") from error
    finally:
        remote.end()


def call_on_each_host(
    launcher: Launcher, hosts: Sequence[FleetHost], kind: Callable[[], object], method: str, *arguments: object
) -> dict[str, Any]:
    """What an object on each host answers, by address, all at once. Raises `RunFailedError` if one can't."""

    def ask(host: FleetHost) -> Any:
        with _remote_object_on(launcher, host, kind) as remote:
            return remote.call(method, *arguments, timeout_s=_FETCH_S_MAX)

    with ThreadPoolExecutor(max(1, len(hosts))) as pool:
        return {host.address: answer for host, answer in zip(hosts, pool.map(ask, hosts), strict=True)}


def provision_on_hosts(
    launcher: Launcher, hosts: Sequence[FleetHost], distribution: Distribution, say: Callable[[str], None]
) -> None:
    """See that hosts have a system's files as they are here; those in this host's cache are sent to who lacks them.

    Raises `RunFailedError` if they differ, or are not available there.
    """
    parcels = [entry_parcel(distribution), *map(tool_parcel, registry.system_named(distribution.system).tools())]
    for parcel in parcels:
        if parcel is not None:
            send_to_each_host(launcher, hosts, parcel, say)
    for address, remote_distribution in call_on_each_host(
        launcher, hosts, OnHost, "provision", distribution.system, distribution.version
    ).items():
        if problem := difference_of_files(distribution, remote_distribution):
            raise RunFailedError(
                f"{distribution.system} {distribution.version} on {address} is not what it is here: {problem}.",
                "Give all hosts the same Java, the same cache directory (TIDEGAUGE_CACHE) and the same files.",
            )


def send_to_each_host(
    launcher: Launcher, hosts: Sequence[FleetHost], parcel: Parcel, say: Callable[[str], None]
) -> None:
    """Send a parcel to the hosts that lack it, and say to which. Raises `RunFailedError`."""

    interrupted = threading.Event()

    def send_to_host(host: FleetHost) -> bool:
        with _remote_object_on(launcher, host, Inbox) as inbox:

            def take(piece: bytes) -> None:
                if interrupted.is_set():
                    raise RunFailedError(f"{parcel.name} was not sent to {host.address}: interrupted.")
                inbox.call("take", piece, timeout_s=_PIECE_S_MAX)

            if (remote_cache := inbox.call("cache", timeout_s=_FETCH_S_MAX)) != str(cache_directory()):
                raise RunFailedError(
                    f"{host.address} has its cache in {remote_cache}, this host in {cache_directory()}.",
                    "Give all hosts the same cache directory (TIDEGAUGE_CACHE, or the same home).",
                )
            if inbox.call("holds", parcel.place, parcel.digest, timeout_s=_FETCH_S_MAX):
                return False
            send_parcel(parcel, take)
            inbox.call("keep", parcel.place, parcel.digest, timeout_s=_FETCH_S_MAX)
            return True

    with ThreadPoolExecutor(max(1, len(hosts))) as pool:
        try:
            lacked = [host.address for host, sent in zip(hosts, pool.map(send_to_host, hosts), strict=True) if sent]
        except BaseException:
            # Whoever waits for the others would wait for all that they have yet to send.
            interrupted.set()
            raise
    if lacked:
        say(f"Sent {parcel.name} to {', '.join(lacked)}.")


def difference_of_files(local: Distribution, remote: Distribution) -> str:
    """What of a system's files is not the same on two hosts, this one first; "" if all is."""
    for name in ("digest", "directory", "java_version", "java_home"):
        local_value, remote_value = getattr(local, name), getattr(remote, name)
        if local_value != remote_value:
            return f"its {name.replace('_', ' ')} is {remote_value or 'none'} instead of {local_value or 'none'}"
    return ""
