"""Every sentence on what a host can do and how it is set up: where it is said, and where it would be false."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from planted_files import V2, plant
from run_samples import spec
from sentence_scenes import Scene, Stage, make_tests
from sentence_templates import Claim, claims_of, modules_of, templates_of
from terminal_scenes import diagnosed

from tidegauge.errors import TidegaugeError
from tidegauge.hosts import (
    abilities,
    ceilings_measure,
    cgroups,
    commands,
    fuse_disk,
    loop_disk,
    memory,
    space,
    storage,
)
from tidegauge.hosts.abilities import advise, try_abilities
from tidegauge.hosts.ceilings_disk import Stream, doubts_of
from tidegauge.hosts.clock import ClockQuality
from tidegauge.model.host import UNBOUNDED, FreeSpace, HostFacts
from tidegauge.model.server import Handles
from tidegauge.model.workload import Arrival

MODULES = modules_of("hosts")
NO_SENTENCES = (
    # What abilities are called.
    "power cut on ext4",
    "power cut on xfs",
    "loss of unsynced pages",
    "rate limit of a link",
    # Patterns of what the kernel writes, and rules that it is given.
    "^(?:model name|Processor",
    "-(?P<thread>",
    ": sched_process_fork: ",
    "numgen random mod",
    "type filter hook",
    "meta l4proto",
    "ip saddr ",
    "ip daddr ",
    "ether type ip",
    "add table ",
    "delete table ",
    "{} ip daddr",
    "{} meta nfproto",
    "tcp dport ",
)
DISK = {
    "mount_point": "/data", "file_system": "xfs", "mount_options": "rw,noatime", "devices": "nvme0n1",
    "write_cache": "write back", "scheduler": "none", "rotational": "0",
}  # fmt: skip
HOST = HostFacts(
    hostname="good", kernel="Linux 6.1", distribution="Debian", cpu_model="EPYC", cpus=16, cpu_governor="performance",
    memory_bytes=64 << 30, swap_bytes=0, clock_source="tsc", transparent_huge_pages="madvise",
    cgroup_limits={"version": "v2"}, disks={"/data": DISK},
)  # fmt: skip
CLOCK = ClockQuality("tsc", ("tsc", "hpet"), True, 4.0, 1, 20, 25.0, ())
MANY, GIB = Handles(files=1_048_576, maps=1_048_576), 1 << 30


# What it can do

NEEDS = abilities._PROBES


def able(*missing: str) -> Scene:
    """What `doctor` says where these abilities are missing, and no others."""

    def scene(stage: Stage) -> Any:
        probes = [
            replace(probe, refusal=lambda name=probe.name: "not here" if name in missing else "") for probe in NEEDS
        ]
        stage.patch.setattr(abilities, "_PROBES", tuple(probes))
        tried = try_abilities()
        return diagnosed(abilities=tried), [ability.remedy for ability in tried if not ability.possible]

    return scene


def reason_for(name: str, change: Callable[[Stage], Any]) -> Scene:
    """Why an ability is missing, after a change of the host."""

    def scene(stage: Stage) -> Any:
        change(stage)
        return next(probe for probe in NEEDS if probe.name == name).tried().reason

    return scene


def of_user(number: int) -> Callable[[Stage], Any]:
    return lambda stage: stage.patch.setattr(os, "geteuid", lambda: number)


def with_pressure(*, is_there: bool) -> Callable[[Stage], Any]:
    def change(stage: Stage) -> None:
        if is_there:
            plant(stage.path, {"proc/pressure/io": ""})
        stage.patch.setattr(abilities, "Path", lambda path: stage.path / path.removeprefix("/"))

    return change


def groups(place: tuple[Path, int] | OSError | None, *, may_write: bool = True) -> Scene:
    def scene(stage: Stage) -> Any:
        def place_of(_: Path) -> tuple[Path, int] | None:
            if isinstance(place, OSError):
                raise place
            return place

        stage.patch.setattr(cgroups, "_place_for_groups", place_of)
        stage.patch.setattr(os, "access", lambda *_: may_write)
        return cgroups.memory_refusal()

    return scene


def capable(rights: str, *tools: str) -> Scene:
    """Whether root in a process with these capabilities and with a PATH of nothing may use these tools."""

    def scene(stage: Stage) -> Any:
        plant(stage.path, {"proc/self/status": f"CapEff:\t{rights}\n"})
        of_user(0)(stage)
        stage.patch.setenv("PATH", str(stage.path))
        return commands.capability_refusal("CAP_SYS_ADMIN", tools, stage.path)

    return scene


def fuse(*commands_there: str, opens: bool = True) -> Scene:
    def scene(stage: Stage) -> Any:
        of_user(1000)(stage)
        stage.patch.setattr(fuse_disk.shutil, "which", lambda name: name if name in commands_there else None)
        stage.patch.setattr(os, "access", lambda *_: opens)
        return fuse_disk.refusal()

    return scene


def loop(*, devices: bool = True, file_system: bool = True) -> Scene:
    def scene(stage: Stage) -> Any:
        stage.patch.setattr(commands, "capability_refusal", lambda *_: "")
        if devices:
            plant(stage.path, {"dev/loop-control": ""})
        stage.patch.setattr(loop_disk, "Path", lambda path: stage.path / path.removeprefix("/"))
        stage.patch.setattr(loop_disk, "_kernel_has", lambda _: file_system)
        return loop_disk.refusal("xfs")

    return scene


# How it is set up


def advised(
    clock: ClockQuality = CLOCK, handles: Handles = MANY, swappiness: str = "60", **changes: Any
) -> Scene:  # fmt: skip
    """What `doctor` says of a host with these facts."""
    return lambda _: diagnosed(advice=advise(replace(HOST, **changes), clock, handles, swappiness))


def with_disk(**changes: str) -> Scene:
    return advised(disks={"/data": {**DISK, **changes}})


def ticking(**changes: Any) -> Scene:
    return advised(replace(CLOCK, **changes))


def reasons_in_json(**changes: str) -> Scene:
    """Why each thing about a disk matters, which `--json` has of what is good, too."""
    host = replace(HOST, disks={"/data": {**DISK, **changes}})
    return lambda _: [advice.why for advice in advise(host, CLOCK, MANY)]


# What it has, and what was measured of it

MEMINFO = {"proc/meminfo": "MemTotal: 8192000 kB\nMemAvailable: 4096000 kB\n"}


def available(**files: str) -> Scene:
    def scene(stage: Stage) -> Any:
        planted = {f"sys/fs/cgroup/user/{name.replace('_', '.')}": text for name, text in files.items()}
        lowest = {"sys/fs/cgroup/user/run/memory.max": "max\n"}
        return str(memory.memory_available(plant(stage.path, {**V2, **MEMINFO, **lowest, **planted})))

    return scene


def written_back(script: str) -> Scene:
    """What is said of `sync` as a script that does this; of none if it is empty."""

    def scene(stage: Stage) -> Any:
        if script:
            tool = stage.path / "bin" / "sync"
            plant(stage.path, {"bin/sync": f"#!/bin/sh\n{script}\n"})
            tool.chmod(0o755)
        path = f":{os.environ['PATH']}" if script else ""
        stage.patch.setenv("PATH", f"{stage.path / 'bin'}{path}")
        return memory.write_back([stage.path], 0.3)

    return scene


def room(free_gib: int) -> Scene:
    def scene(stage: Stage) -> Any:
        stage.patch.setattr(storage.shutil, "disk_usage", lambda _: SimpleNamespace(free=free_gib * GIB))
        made = spec(experiment="peak")
        closed = replace(made, workload=replace(made.workload, arrival=Arrival.CLOSED_LOOP))
        return space.room_note([closed], space.FullSpeed(1.1e9), [stage.path])

    return scene


def filling(free_bytes: int, falls_by: float) -> Scene:
    """What ends a run whose disk has so much room left, which goes by so much a second."""

    def scene(stage: Stage) -> Any:
        looks = space.FreeRoom()
        stage.patch.setattr(looks, "falls_by", lambda _: falls_by)
        return caught(lambda: space.check_during([FreeSpace(Path("/data"), 1, free_bytes)], looks))

    return scene


def caught(call: Callable[[], Any]) -> Any:
    """What a call returns, or the error that it raises."""
    try:
        return call() or ""
    except (TidegaugeError, OSError) as error:
        return error


def state_of_root(mode: int) -> Scene:
    """What root is told of a state directory of its own with these rights."""

    def scene(stage: Stage) -> Any:
        stage.path.chmod(mode)
        real = stage.path.stat()
        status = SimpleNamespace(st_uid=0, st_gid=0, st_mode=real.st_mode)
        of_user(0)(stage)
        return caught(lambda: storage.check_owner(SimpleNamespace(stat=lambda: status)))  # type: ignore[arg-type]

    return scene


def owner(number: int) -> Scene:
    return lambda _: storage.owner_of(SimpleNamespace(st_uid=number))  # type: ignore[arg-type]


def made_by(number: int) -> Scene:
    """What user 1000 is told of a directory in a place for everybody that this user made."""

    def scene(stage: Stage) -> Any:
        (stage.path / "d").mkdir()
        real = (stage.path / "d").lstat()
        of_user(1000)(stage)
        stage.patch.delenv("SUDO_UID", raising=False)
        place = SimpleNamespace(lstat=lambda: SimpleNamespace(st_uid=number, st_mode=real.st_mode))
        return caught(lambda: storage._check_shared_place(place))  # type: ignore[arg-type]

    return scene


def sustained(took: float | None, *, direct: bool = True, free: int = 1 << 40, seconds: float = 0.2) -> Scene:
    """What is said while sustained writes are measured on a disk that took so much of them, and after it."""

    def scene(stage: Stage) -> Any:
        steps: list[str] = []

        def sustain(*given: Any, **_: Any) -> float | None:
            given[3]()  # It looks at what waits in memory.
            return took

        measure: Any = SimpleNamespace(direct=direct, sequential_file=stage.path / "file", sustain=sustain)

        def step(name: str, _: float) -> float:
            steps.append(name)
            return 0.1

        stage.patch.setattr(ceilings_measure, "dirty_limit_bytes", lambda name="": 1 << 30)
        stage.patch.setattr(ceilings_measure.shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
        stage.patch.setattr(ceilings_measure, "idle_words", lambda *_: "")
        effort = replace(ceilings_measure.BRIEF, sustain_s=seconds, fill_s=0.1)
        written = Stream(1e9, 4, (1e9,) * 4)
        found = ceilings_measure._measure_sustained(measure, ("ext4 on vda", "254:0"), written, effort, step)
        return steps, found

    return scene


def synced(*, files: bool) -> Scene:
    """The steps while syncs are measured, or those of sustained writes alone."""
    if not files:
        return sustained(1e8)

    def scene(_: Stage) -> Any:
        steps: list[str] = []

        def step(name: str, _: float) -> float:
            steps.append(name)
            return 0.1

        measure: Any = SimpleNamespace(sync=lambda *_: None)
        ceilings_measure._measure_syncs(measure, "ext4 on vda", ceilings_measure.BRIEF, step)
        return steps

    return scene


def idle(busy_ms: int) -> Scene:
    return lambda _: ceilings_measure.idle_words((0.0, 0), (10.0, busy_ms))


def doubted(*, direct: bool = True, last: float = 1e9) -> Scene:
    return lambda _: doubts_of(direct, Stream(1e9, 4, (1e9, 1e9, 1e9, last)), None)


SCENES: dict[str, Scene] = {
    "nothing is missing": able(),
    **{f"without {probe.name}": able(probe.name) for probe in NEEDS},
    "a user": reason_for("root", of_user(1000)),
    "root": reason_for("root", of_user(0)),
    "pressure figures": reason_for("pressure figures", with_pressure(is_there=True)),
    "no pressure figures": reason_for("pressure figures", with_pressure(is_there=False)),
    "a look that fails": lambda _: replace(NEEDS[0], refusal=lambda: int("no number")).tried(),  # type: ignore[arg-type,return-value]
    "cgroups that can not be read": groups(PermissionError(13, "Permission denied")),
    "no cgroup for memory": groups(None),
    "a cgroup of root's": groups((Path("/sys/fs/cgroup"), 2), may_write=False),
    "a cgroup to write": groups((Path("/sys/fs/cgroup"), 2)),
    "a container of few rights": capable("0"),
    "a container of all rights": capable("1ffffffffff"),
    "a tool is missing": capable("1ffffffffff", "nft"),
    "libfuse without its example": fuse(),
    "libfuse, no device": fuse("passthrough_ll", opens=False),
    "libfuse without its package": fuse("passthrough_ll"),
    "libfuse": fuse("passthrough_ll", "fusermount3"),
    "no loop devices": loop(devices=False),
    "no xfs": loop(file_system=False),
    "loop devices and xfs": loop(),
    "a good machine": advised(),
    "powersave": advised(cpu_governor="powersave"),
    "no governor": advised(cpu_governor=""),
    "swap": advised(swap_bytes=8 << 30),
    "swap that is hardly used": advised(swap_bytes=8 << 30, swappiness="1"),
    "huge pages": advised(transparent_huge_pages="always"),
    "a slow clock, tsc there": ticking(source="hpet"),
    "a slow clock, none better": ticking(source="hpet", available=("hpet",)),
    "a clock that nobody sets": ticking(synchronised=False, error_ms_max=16_000.0),
    "a clock far off": ticking(error_ms_max=250.0),
    "a clock that does not say": ticking(error_ms_max=None, synchronised=None),
    "a quota": advised(cgroup_limits={"version": "v2", "cpus": "1.5"}),
    "few files": advised(handles=replace(MANY, files=1024)),
    "few maps": advised(handles=replace(MANY, maps=65_530)),
    "no bounds": advised(handles=Handles(UNBOUNDED, UNBOUNDED)),
    "two CPUs": advised(cpus=2),
    "no disk": advised(disks={}),
    "a strange cache": with_disk(write_cache="unknown"),
    "no cache known": with_disk(write_cache=""),
    "a turning disk": with_disk(rotational="1", devices="sda"),
    "bfq": with_disk(scheduler="bfq"),
    "tmpfs": with_disk(file_system="tmpfs"),
    "nfs": with_disk(file_system="nfs4"),
    "btrfs": with_disk(file_system="btrfs"),
    "nobarrier": with_disk(mount_options="rw,nobarrier"),
    "discard": with_disk(mount_options="rw,discard"),
    "xfs, in JSON": reasons_in_json(),
    "tmpfs, in JSON": reasons_in_json(file_system="tmpfs"),
    "memory of the machine": available(),
    "memory of a cgroup": available(
        memory_max=f"{2 * GIB}\n", memory_current=f"{GIB}\n", memory_stat="anon 1\ninactive_file 0\n"
    ),
    "sync that hangs": written_back("exec sleep 60"),
    "sync that works": written_back("exit 0"),
    "no sync": written_back(""),
    "little room": room(20),
    "much room": room(2000),
    "a disk that fills fast": filling(4 * GIB, 4e9),
    "a disk that is full": filling(1, 0.0),
    "a state directory for all": state_of_root(0o777),
    "a state directory of root's": state_of_root(0o700),
    "a user with a name": owner(0),
    "a user without a name": owner(54_321),
    "a place made by another": made_by(54_321),
    "a place made by root": made_by(0),
    "sustained writes": sustained(1e8),
    "sustained writes, none wanted": sustained(1e8, seconds=0.0),
    "sustained writes into memory": sustained(None),
    "sustained writes without direct I/O": sustained(1e8, direct=False),
    "sustained writes of days": sustained(1e8, seconds=1e6),
    "sustained writes on a small disk": sustained(1e8, free=GIB),
    "syncs": synced(files=True),
    "a disk with time to spare": idle(100),
    "a disk that is busy": idle(9900),
    "no direct I/O": doubted(direct=False),
    "a bandwidth that falls": doubted(last=1e8),
    "a steady bandwidth": doubted(),
}


def claims_on_abilities() -> list[Claim]:
    """What an ability is for, what happens without it and how to have it are said only where it is missing."""
    listed = {template.text for template in templates_of("hosts/abilities.py")}
    texts = {
        text: probe.name for probe in NEEDS for text in (probe.used_for, probe.without, probe.remedy) if text in listed
    }
    return [Claim(text, f"without {name}", "nothing is missing") for text, name in texts.items()]


def advises(scene: str, *templates: str, but_not: str = "a good machine") -> list[Claim]:
    return claims_of(scene, but_not, *templates)


CLAIMS = [
    *claims_on_abilities(),
    Claim("could not be tried: {}", "a look that fails", "a user"),
    Claim("this is user {}", "a user", "root"),
    Claim("the kernel reports none", "no pressure figures", "pressure figures"),
    # abilities.py: advice
    *advises("powersave", "a CPU that is clocked down when idle"),
    *advises("no governor", "not shown (the hypervisor decides)"),
    *advises("swap", "a swapped page of a broker", "swapoff -a, or sysctl", but_not="swap that is hardly used"),
    *advises("swap", "{} GiB, swappiness {}"),
    *advises("huge pages", "the kernel stops a process to make huge pages", "echo madvise > "),
    *advises("a slow clock, tsc there", "every message's times are read"),
    *advises("a slow clock, tsc there", "echo {} > /sys/devices/system", but_not="a slow clock, none better"),
    *advises("a slow clock, none better", "Take a machine whose kernel", but_not="a slow clock, tsc there"),
    *advises("a good machine", "a reading costs {} ns", "{} usable, {} GiB of memory", but_not="nothing is missing"),
    *advises("a clock that nobody sets", "on one machine only one clock", "nothing keeps it in step", "Run chrony or"),
    *advises("a clock that does not say", "the kernel does not say"),
    *advises("a good machine", "at most {} ms off", "kept in step, {}", but_not="a clock that nobody sets"),
    *advises("a clock far off", "Wait, or use a nearer NTP server."),
    *advises("a quota", "servers and load share what the cgroup", "Give the container whole CPUs"),
    *advises("few files", "servers keep a file open for every segment", "ulimit -Hn {}"),
    *advises("few files", "{} a process (hard limit)", but_not="no bounds"),
    *advises("few maps", "servers that map their logs", "sysctl vm.max_map_count"),
    *advises("two CPUs", "servers and load run on the same CPUs here", "Mind the limiting resource"),
    *advises("a strange cache", "a write-back cache makes every fsync"),
    *advises("a good machine", "write cache of {}", but_not="no cache known"),
    *advises("a good machine", "file system of {}", "mount options of {}", but_not="no disk"),
    *advises("a turning disk", "it syncs some hundred times a second", "Use an SSD if production"),
    *advises("bfq", "bfq and kyber hold requests back", "echo none > "),
    *advises("tmpfs", "memory has no fsync"),
    *advises("nfs", "figures would include the network", "Use a local disk: "),
    *advises("btrfs", "it writes changes to a new place", "Use ext4 or xfs: "),
    *advises("xfs, in JSON", "fsync means different work on each", but_not="tmpfs, in JSON"),
    *advises("nobarrier", "nobarrier makes fsync a promise"),
    *advises("discard", "Run fstrim before measuring"),
    # what the tools and the kernel allow
    Claim("cgroups can't be read: {}", "cgroups that can not be read", "no cgroup for memory"),
    Claim("no cgroup of this machine controls", "no cgroup for memory", "a cgroup of root's"),
    Claim("{} can't be written: needs root", "a cgroup of root's", "a cgroup to write"),
    Claim("needs {}, which this container", "a container of few rights", "a container of all rights"),
    Claim("{} can't be found", "a tool is missing", "a container of all rights"),
    Claim("{}, an example program of libfuse 3", "libfuse without its example", "libfuse, no device"),
    Claim("{} can't be opened", "libfuse, no device", "libfuse without its package"),
    Claim("fusermount3 can't be found", "libfuse without its package", "libfuse"),
    Claim("the kernel has no loop devices", "no loop devices", "no xfs"),
    Claim("the kernel has no {}", "no xfs", "loop devices and xfs"),
    # memory.py, space.py, storage.py
    Claim("of the machine's {} MiB", "memory of the machine", "memory of a cgroup"),
    Claim("of the {} MiB that the cgroup", "memory of a cgroup", "memory of the machine"),
    Claim("sync can't be run: {}", "no sync", "sync that hangs"),
    Claim("not all was on the disk of {}", "sync that hangs", "sync that works"),
    Claim("A trial as fast as it goes may write", "little room", "much room"),
    Claim(" and {} MB less each second", "a disk that fills fast", "a disk that is full"),
    Claim("can be written by others", "a state directory for all", "a state directory of root's"),
    Claim("the user {} ({})", "a user with a name", "a user without a name"),
    Claim("{} belongs to {}, who made it", "a place made by another", "a place made by root"),
    # ceilings_disk.py, ceilings_measure.py
    Claim("the file system takes no direct I/O", "no direct I/O", "a bandwidth that falls"),
    Claim("the {} bandwidth fell from {}", "a bandwidth that falls", "a steady bandwidth"),
    Claim("{}: sustained writes, up to {}", "sustained writes", "sustained writes without direct I/O"),
    Claim("{}: sustained writes, up to {}", "sustained writes", "sustained writes, none wanted"),
    Claim("{}: not measured sustained", "sustained writes without direct I/O", "sustained writes"),
    Claim("memory took all that could be written", "sustained writes into memory", "sustained writes"),
    Claim("the disk was busy only {}", "a disk with time to spare", "a disk that is busy"),
    Claim("what is written there may never", "sustained writes without direct I/O", "sustained writes of days"),
    Claim("it would take up to {}", "sustained writes of days", "sustained writes on a small disk"),
    *claims_of(
        "sustained writes on a small disk",
        "sustained writes of days",
        "it would write up to {}",
        "{} are free, of which {}",
    ),
    Claim("{}: {} of {} KiB appends", "syncs", "sustained writes"),
    Claim("{}: fdatasync in {} files", "syncs", "sustained writes"),
]
texts, test_every_sentence_is_listed, test_a_sentence_is_said_where_it_is_true_and_not_beside = make_tests(
    MODULES, SCENES, CLAIMS, NO_SENTENCES, may_be_silent=True
)


def test_every_scene_is_of_a_claim() -> None:
    told = {scene for claim in CLAIMS for scene in (claim.true_in, claim.false_in)}
    # What is said of several abilities alike is claimed with the last of them.
    assert {scene for scene in SCENES.keys() - told if not scene.startswith("without ")} == set()
