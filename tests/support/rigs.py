"""What tests of the rig share: a process that writes and syncs, and a search for everything that may be left."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tidegauge.agent.api import ProcessSpec
from tidegauge.agent.local import LocalHost
from tidegauge.agent.rig import refusals_of_this_host
from tidegauge.hosts import procfs
from tidegauge.model.rig import Ability

MIB = 1 << 20
SIZE_BYTES = {"ext4": 64 * MIB, "xfs": 320 * MIB, "fuse": 0}
RECORD_BYTES = 512
MEMORY_BYTES = 256 * MIB
WRITER = """
import os, struct, sys, threading, time
place, acknowledged, synced = sys.argv[1], sys.argv[2], sys.argv[3] == "synced"
def write(name):
    data = os.open(f"{place}/{name}", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    acknowledgements = os.open(f"{acknowledged}-{name}", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    number = os.fstat(data).st_size // 512
    while True:
        os.write(data, struct.pack("<Q", number) * 64)
        if synced:
            os.fdatasync(data)
        else:
            time.sleep(0.001)
        os.write(acknowledgements, struct.pack("<Q", number))
        number += 1
for name in ("a", "b"):
    threading.Thread(target=write, args=(name,)).start()
"""
"""Two threads, each appending records to a file of its own; what is durable (or only written) is recorded elsewhere."""


def refused(*abilities: Ability) -> str:
    """Why one of these is not available here; "" if all can."""
    found = refusals_of_this_host()
    return "; ".join(f"{ability}: {found[ability]}" for ability in abilities if ability in found)


def writer(root: Path, place: Path, synced: bool = True, name: str = "writer", **more: object) -> ProcessSpec:
    """The process; it records in `root/NAME-a` and `root/NAME-b`."""
    argv = (sys.executable, "-c", WRITER, str(place), str(root / name), "synced" if synced else "written")
    log = str(root / f"{name}.log")
    return ProcessSpec(name, argv, {"PATH": os.defpath}, str(root), log, stop_grace_s=5.0, **more)  # type: ignore[arg-type]


def acknowledged(root: Path, name: str = "writer") -> dict[str, int]:
    """How many records each thread was promised to be there. A number that was cut off in the middle doesn't count."""
    files = {thread: root / f"{name}-{thread}" for thread in "ab"}
    return {thread: file.stat().st_size // 8 if file.exists() else 0 for thread, file in files.items()}


def readable(place: Path) -> dict[str, int]:
    """How many records, each with its right number and whole, a disk has from the start on."""
    found = {}
    for thread in "ab":
        data = (place / thread).read_bytes() if (place / thread).exists() else b""
        count = 0
        while data[count * RECORD_BYTES : (count + 1) * RECORD_BYTES] == struct.pack("<Q", count) * 64:
            count += 1
        found[thread] = count
    return found


def disks_left(root: Path) -> list[str]:
    """Mounts and loop devices below a directory."""
    found = [f"mount {line}" for line in Path("/proc/self/mountinfo").read_text().splitlines() if f"{root}/" in line]
    found += [
        f"loop device {entry}: {file}"
        for entry in Path("/sys/block").glob("loop*/loop/backing_file")
        if str(root) in (file := _text(entry))
    ]
    return found


def leftovers(root: Path, agent_id: str) -> list[str]:
    """Everything of an agent, or of disks below `root`, that is still there."""
    found = disks_left(root)
    found += [f"image {path}" for path in root.glob("**/*.img")]
    found += [f"namespace {path}" for path in Path("/run/netns").glob(f"*{agent_id}*")]
    found += [f"interface {path}" for path in Path("/sys/class/net").glob(f"tg{agent_id[:8]}*")]
    tables = _printed("nft", "list", "tables")
    found += [f"table {line}" for line in tables.splitlines() if agent_id in line]
    found += [f"group {path}" for path in Path("/sys/fs/cgroup").glob(f"**/tidegauge-{agent_id}*")]
    found += [
        f"process {stat.pid} ({stat.state})"
        for stat in procfs.all_stats()
        if not stat.ended and procfs.marker_of(stat.pid).startswith(agent_id)
    ]
    return found + throttles()


def throttles() -> list[str]:
    """Limits on loop devices that have no file any more: nobody's, and so for whoever gets the device next."""
    found = []
    for file in Path("/sys/fs/cgroup").glob("blkio/blkio.throttle.*_device"):
        for line in _text(file).splitlines():
            number = line.split()[0]
            if number.startswith("7:") and not Path(f"/sys/dev/block/{number}/loop/backing_file").exists():
                found.append(f"{file.name} {line}")
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _printed(*command: str) -> str:
    """What a tool prints; nothing where it is not, as on the PATH of many who are not root."""
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def steps(host: LocalHost, tmp_path: Path) -> list[Callable[[], object]]:
    """What an attestation or a faulted trial asks of the rig."""
    rig, place = host.rig, tmp_path / "disk"
    return [
        lambda: rig.make_disk(place, SIZE_BYTES["ext4"]),
        lambda: rig.make_network(["a", "b"]),
        lambda: host.start(writer(tmp_path, place, network_node="a", memory_bytes_max=MEMORY_BYTES)),
        lambda: rig.throttle_disk(place, 4 * MIB, 500),
        lambda: rig.partition(["a"], ["b"]),
        lambda: rig.lose_packets("b", 0.1),
        lambda: rig.limit_rate("a", MIB),
        lambda: rig.hang_disk(place),
        lambda: rig.cut_power(["writer"], [place]),
        lambda: host.start(writer(tmp_path, place)),
        lambda: rig.pause(["writer"]),
        lambda: rig.hang_disk(place),
        rig.lift_all,
        lambda: rig.kill(["writer"]),
        rig.remove_network,
        lambda: rig.remove_disk(place),
    ]
