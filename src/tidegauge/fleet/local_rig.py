"""The controller's side of the rig: each call is carried out by the agent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from tidegauge.fleet import wire
from tidegauge.fleet.rig_api import Ability, CutReport, Network
from tidegauge.model.host import FileSystem


class Call(Protocol):
    """Asks the agent and waits for its answer."""

    def __call__(self, call: str, timeout_s: float | None = None, **arguments: object) -> Any:
        """Raises `RunFailedError`."""
        ...


class LocalRig:
    """`Rig` on this machine. All methods may be called from any thread; the agent does one thing at a time."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def refusals(self) -> Mapping[Ability, str]:
        """See `Rig.refusals`."""
        refused: dict[Ability, str] = self._call("refusals")
        return refused

    def make_disk(self, place: Path, size_bytes: int, file_system: FileSystem = "ext4") -> None:
        """See `Rig.make_disk`."""
        self._call("make_disk", place=_plain(place), size_bytes=size_bytes, file_system=file_system)

    def remove_disk(self, place: Path) -> None:
        """See `Rig.remove_disk`."""
        self._call("remove_disk", place=_plain(place))

    def cut_power(self, processes: Sequence[str], places: Sequence[Path]) -> CutReport:
        """See `Rig.cut_power`."""
        return wire.cut_from_json(
            self._call("cut_power", processes=list(processes), places=[_plain(place) for place in places])
        )

    def throttle_disk(self, place: Path, bytes_per_s: int | None = None, ops_per_s: int | None = None) -> None:
        """See `Rig.throttle_disk`."""
        self._call("throttle_disk", place=_plain(place), bytes_per_s=bytes_per_s, ops_per_s=ops_per_s)

    def hang_disk(self, place: Path) -> None:
        """See `Rig.hang_disk`."""
        self._call("hang_disk", place=_plain(place))

    def unhang_disk(self, place: Path) -> None:
        """See `Rig.unhang_disk`."""
        self._call("unhang_disk", place=_plain(place))

    def kill(self, processes: Sequence[str]) -> None:
        """See `Rig.kill`."""
        self._call("kill", processes=list(processes))

    def pause(self, processes: Sequence[str]) -> None:
        """See `Rig.pause`."""
        self._call("pause", processes=list(processes))

    def resume(self, processes: Sequence[str]) -> None:
        """See `Rig.resume`."""
        self._call("resume", processes=list(processes))

    def make_network(self, nodes: Sequence[str]) -> Network:
        """See `Rig.make_network`."""
        return wire.network_from_json(self._call("make_network", nodes=list(nodes)))

    def remove_network(self) -> None:
        """See `Rig.remove_network`."""
        self._call("remove_network")

    def partition(self, sources: Collection[str], targets: Collection[str], both_ways: bool = True) -> None:
        """See `Rig.partition`."""
        self._call("partition", sources=list(sources), targets=list(targets), both_ways=both_ways)

    def heal(self) -> None:
        """See `Rig.heal`."""
        self._call("heal")

    def lose_packets(self, node: str, share: float) -> None:
        """See `Rig.lose_packets`."""
        self._call("lose_packets", node=node, share=share)

    def limit_rate(self, node: str, bytes_per_s: int | None) -> None:
        """See `Rig.limit_rate`."""
        self._call("limit_rate", node=node, bytes_per_s=bytes_per_s)

    def lift_all(self) -> None:
        """See `Rig.lift_all`."""
        self._call("lift_all")


def _plain(place: Path) -> str:
    """As the kernel names it: absolute and without links, so that both sides mean the same directory."""
    return str(place.parent.resolve() / place.name)
