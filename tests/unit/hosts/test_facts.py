"""Facts from prepared /proc and /sys trees, and from this host."""

from __future__ import annotations

from pathlib import Path

import pytest
from planted_files import V2, plant

from tidegauge.cli.running import tool_facts
from tidegauge.hosts.cgroups import cgroup_limits
from tidegauge.hosts.facts import cpu_model, host_facts
from tidegauge.hosts.storage import choice_in_force, disk_facts, mount_of, parse_mountinfo


def test_cgroup_v2_reports_the_tightest_of_all_levels(tmp_path: Path) -> None:
    root = plant(
        tmp_path,
        V2
        | {
            "sys/fs/cgroup/user/memory.max": "1000000\n",
            "sys/fs/cgroup/user/run/memory.max": "max\n",
            "sys/fs/cgroup/user/cpu.max": "max 100000\n",
            "sys/fs/cgroup/user/run/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/user/run/io.max": "8:0 rbps=max wbps=1048576\n",
            "sys/fs/cgroup/user/run/cpuset.cpus": "0-1\n",
        },
    )
    assert cgroup_limits(root) == {
        "version": "v2",
        "memory_bytes": "1000000",
        "cpus": "1.5",
        "cpuset": "0-1",
        "io": "8:0 rbps=max wbps=1048576",
    }


def test_cgroup_v2_without_limits(tmp_path: Path) -> None:
    root = plant(tmp_path, V2 | {"sys/fs/cgroup/user/run/memory.max": "max\n"})
    assert cgroup_limits(root) == {"version": "v2"}


def test_cgroup_v1(tmp_path: Path) -> None:
    base = "sys/fs/cgroup"
    root = plant(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/job\n2:cpu,cpuacct:/job\n3:cpuset:/\n7:blkio:/\n1:name=systemd:/\n",
            "proc/self/mountinfo": (
                "1 0 0:1 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                "2 0 0:2 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
                "3 0 0:3 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
                "4 0 0:4 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n"
            ),
            f"{base}/memory/memory.limit_in_bytes": "9223372036854771712\n",
            f"{base}/memory/job/memory.limit_in_bytes": "2147483648\n",
            f"{base}/cpu/cpu.cfs_quota_us": "-1\n",
            f"{base}/cpu/cpu.cfs_period_us": "100000\n",
            f"{base}/cpu/job/cpu.cfs_quota_us": "50000\n",
            f"{base}/cpu/job/cpu.cfs_period_us": "100000\n",
            f"{base}/cpuset/cpuset.cpus": "0-3\n",
            f"{base}/blkio/blkio.throttle.write_iops_device": "7:0 100\n",
        },
    )
    assert cgroup_limits(root) == {
        "version": "v1",
        "memory_bytes": "2147483648",
        "cpus": "0.5",
        "io": "write_iops 7:0 100",
    }


def test_cgroup_in_a_container_that_sees_only_its_part_of_the_tree(tmp_path: Path) -> None:
    root = plant(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/docker/abc\n",
            "proc/self/mountinfo": "1 0 0:1 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "1048576\n",
        },
    )
    assert cgroup_limits(root)["memory_bytes"] == "1048576"


MOUNTS = (
    "22 1 254:0 / / rw,relatime - ext4 /dev/vda1 rw\n"
    "23 22 0:5 / /mnt/with\\040space rw - tmpfs tmpfs rw\n"
    "24 22 253:0 / /data rw,noatime - xfs /dev/mapper/data rw,noquota\n"
    "25 24 7:0 / /data rw - ext4 /dev/loop0 rw\n"
)


@pytest.mark.parametrize(
    ("path", "file_system", "source"),
    [
        ("/home/x", "ext4", "/dev/vda1"),
        ("/mnt/with space/x", "tmpfs", "tmpfs"),
        ("/data", "ext4", "/dev/loop0"),
        ("/database", "ext4", "/dev/vda1"),
    ],
)
def test_the_mount_that_holds_a_path(path: str, file_system: str, source: str) -> None:
    mount = mount_of(Path(path), parse_mountinfo(MOUNTS))
    assert mount is not None
    assert (mount.file_system, mount.source) == (file_system, source)


def test_disk_facts_look_through_partitions_and_device_mapper(tmp_path: Path) -> None:
    root = plant(
        tmp_path,
        {
            "proc/self/mountinfo": "24 22 253:0 / / rw,noatime - xfs /dev/mapper/data rw,noquota\n",
            "sys/devices/dm-0/queue/scheduler": "none\n",
            "sys/devices/sda/queue/scheduler": "none [mq-deadline] kyber\n",
            "sys/devices/sda/queue/write_cache": "write back\n",
            "sys/devices/sda/device/model": "Fast Disk  \n",
            "sys/devices/sda/sda1/partition": "1\n",
        },
    )
    for link, target in {"dev/block/253:0": "dm-0", "devices/dm-0/slaves/sda1": "sda/sda1"}.items():
        path = root / "sys" / link
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(root / "sys/devices" / target)
    assert disk_facts(Path("/"), root) == {
        "mount_point": "/",
        "file_system": "xfs",
        "mount_options": "rw,noatime",
        "file_system_options": "rw,noquota",
        "source": "/dev/mapper/data",
        "devices": "dm-0 on sda",
        "write_cache": "write back",
        "scheduler": "dm-0: none; sda: mq-deadline",
        "model": "Fast Disk",
    }


OVERLAY = "24 22 0:40 / / rw - overlay overlay rw,lowerdir=/lower,upperdir={upper},workdir=/work{more}\n"


@pytest.mark.parametrize(
    ("mounts", "files", "expected"),
    [
        ("24 22 0:5 / / rw - tmpfs tmpfs rw\n", {}, "tmpfs at /"),
        ("24 22 0:5 / / rw - ramfs ramfs rw\n", {}, "ramfs at /"),
        ("24 22 1:0 / / rw - ext4 /dev/ram0 rw\n", {"1:0": "ram0"}, "ext4 at /, on ram0"),
        ("24 22 252:0 / / rw - btrfs /dev/zram0 rw\n", {"252:0": "zram0"}, "btrfs at /, on zram0"),
        (
            "24 22 7:0 / / rw - ext4 /dev/loop0 rw\n25 24 0:5 / /dev/shm rw - tmpfs tmpfs rw\n",
            {"7:0": "loop0", "loop0": "/dev/shm/image"},
            "ext4 at /, on loop0 in tmpfs at /dev/shm",
        ),
        (OVERLAY.format(upper="/dev/shm", more="") + "25 24 0:5 / /dev/shm rw - tmpfs tmpfs rw\n", {}, "on tmpfs at"),
        (OVERLAY.format(upper="/upper", more=",volatile"), {}, "overlay at /, mounted volatile"),
        # What lies outside of a container can't be looked at from inside.
        (OVERLAY.format(upper="/not/there", more=""), {}, None),
        ("24 22 254:0 / / rw - ext4 /dev/vda rw\n", {"254:0": "vda"}, None),
        (
            "24 22 7:0 / / rw - ext4 /dev/loop0 rw\n25 24 254:0 / /dev/shm rw - xfs /dev/vda rw\n",
            {"7:0": "loop0", "loop0": "/dev/shm/image", "254:0": "vda"},
            None,
        ),
    ],
)
def test_what_is_in_memory_is_on_no_disk(
    tmp_path: Path, mounts: str, files: dict[str, str], expected: str | None
) -> None:
    root = plant(tmp_path, {"proc/self/mountinfo": mounts})
    for number, name in files.items():
        device = root / "sys/devices" / (number if number.startswith("loop") else name)
        (device / "loop").mkdir(parents=True, exist_ok=True)
        if number.startswith("loop"):
            (device / "loop/backing_file").write_text(f"{name}\n")
        else:
            (root / "sys/dev/block").mkdir(parents=True, exist_ok=True)
            (root / "sys/dev/block" / number).symlink_to(device)
    memory = disk_facts(Path("/"), root).get("in_memory")
    assert memory is None if expected is None else expected in (memory or "")


def test_the_choice_in_brackets() -> None:
    assert choice_in_force("always [madvise] never") == "madvise"
    assert choice_in_force("none") == "none"


def test_cpu_model() -> None:
    assert cpu_model("processor\t: 0\nmodel\t\t: 85\nmodel name\t: Some CPU @ 2 GHz\n") == "Some CPU @ 2 GHz"
    assert cpu_model("processor: 0\n") == ""


def test_facts_of_an_empty_host_are_empty_and_no_error(tmp_path: Path) -> None:
    facts = host_facts([Path("/nowhere/at/all")], root=tmp_path)
    assert (facts.memory_bytes, facts.clock_source, facts.cgroup_limits) == (0, "", {})
    assert facts.disks == {"/nowhere/at/all": {}}


def test_facts_of_this_host(tmp_path: Path) -> None:
    facts = host_facts([tmp_path / "not made yet"])
    assert facts.memory_bytes > 0
    assert facts.cpus > 0
    assert facts.clock_source
    assert facts.kernel.startswith("Linux ")
    disk = facts.disks[str(tmp_path / "not made yet")]
    assert disk["file_system"]
    assert tmp_path.is_relative_to(disk["mount_point"])


def test_commit_is_reported_only_in_a_checkout(tmp_path: Path) -> None:
    assert tool_facts(tmp_path / "site-packages" / "tidegauge").keys() == {"version"}
    root = Path(__file__).resolve().parents[3]
    if (root / ".git").exists():
        assert len(tool_facts()["git_commit"]) == 40


def test_only_what_the_kernel_escapes_separates_mounts() -> None:
    odd = "/data\u00a0one\u2028two\x85three"
    text = f"24 22 253:0 / {odd} rw,noatime - xfs /dev/sda rw\n25 22 253:1 / /b\\040c rw - ext4 /dev/sdb rw\n"
    assert [mount.mount_point for mount in parse_mountinfo(text)] == [odd, "/b c"]
    assert parse_mountinfo("") == []
