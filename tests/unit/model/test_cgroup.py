"""How cgroups are called where people read of them."""

from __future__ import annotations

import pytest

from tidegauge.model.cgroup import cgroup_pattern, short_cgroup

CONTAINER = "3f9a0b1c2d3e4f50" * 4
POD = "1f2e3d4c-5b6a-7980-abcd-ef0123456789"


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("", ""),
        ("/", ""),
        ("/ci.slice", "ci.slice"),
        ("/user.slice/app-org.gnome.Terminal.slice", "app-org.gnome.Terminal.slice"),
        (f"/docker/{CONTAINER}", "docker/3f9a0b1c2d3e"),
        (f"/docker/{CONTAINER}/init.scope", "docker/3f9a0b1c2d3e"),
        (f"/system.slice/docker-{CONTAINER}.scope", "docker-3f9a0b1c2d3e.scope"),
        (f"/machine.slice/libpod-{CONTAINER}.scope/container", "libpod-3f9a0b1c2d3e.scope"),
        (f"/kubepods/burstable/pod{POD}/{CONTAINER}", "pod1f2e3d4c/3f9a0b1c2d3e"),
        (
            f"/kubepods.slice/kubepods-pod{POD.replace('-', '_')}.slice/cri-containerd-{CONTAINER}.scope",
            "cri-containerd-3f9a0b1c2d3e.scope",
        ),
        (f"/{CONTAINER[:32]}", "3f9a0b1c2d3e"),
        ("/tenants/0123456789ab", "0123456789ab"),
    ],
)
def test_long_ids_are_cut_and_what_tells_apart_stays(place: str, shown: str) -> None:
    assert short_cgroup(place) == shown


def test_a_pattern_finds_the_directory() -> None:
    assert cgroup_pattern("/sys/fs/cgroup/cpu/gen") == "/sys/fs/cgroup/cpu/gen"
    path = f"/sys/fs/cgroup/kubepods/pod{POD}/{CONTAINER}"
    assert cgroup_pattern(path) == "/sys/fs/cgroup/kubepods/pod1f2e3d4c*/3f9a0b1c2d3e*"
